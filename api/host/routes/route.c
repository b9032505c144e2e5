#include "api/host/routes/route.h"

#include <string.h>
#include <strings.h>

/* TensorFlow Serving's table, for what can happen here. */
int sp_route__http_status(sp_status status)
{
	switch (status) {
	case SP_OK:
		return 200;
	case SP_NOT_FOUND:
	case SP_INVALID:
		return 400;
	case SP_UNSUPPORTED:
		return 501;
	case SP_IO:
	case SP_NO_MEMORY:
	case SP_BUSY:
		return 503;
	case SP_DEADLINE:
		return 504;
	case SP_CORRUPT:
	case SP_INTERNAL:
		break;
	}
	return 500;
}

void sp_route__fail(sp_http_request *request, int status, const sp_error *err)
{
	sp_http_request_fail(request, status, err->text);
}

/* Whether `word` is one of a comma-separated list. */
static bool list_has(const char *list, const char *word)
{
	size_t size = strlen(word);

	while (*list != '\0') {
		size_t n = strcspn(list, ",");

		if (n == size && memcmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

bool sp_route__find_model(sp_host *host, sp_http_request *request, const sp_model_path *path)
{
	bool available = atomic_load(&host->available);
	bool known = strcmp(path->name, host->flags->model_name) == 0;
	sp_error err;

	if (known && path->has_label && !list_has(host->flags->version_labels, path->label)) {
		sp_error_set(&err, SP_INVALID, "Unrecognized servable version label: %s",
			     path->label);
		sp_route__fail(request, 400, &err);
		return false;
	}
	if (known && available &&
	    (!path->has_version || path->version == sp_served_model_version(&host->model)))
		return true;
	if (path->has_version)
		sp_error_set(&err, SP_NOT_FOUND,
			     "Servable not found for request: Specific(%s, %lld)", path->name,
			     (long long)path->version);
	else
		sp_error_set(&err, SP_NOT_FOUND, "Servable not found for request: Latest(%s)",
			     path->name);
	sp_route__fail(request, known && !available ? 503 : 404, &err);
	return false;
}

/* Of a model that is not ours nobody wants to see numbers. */
static sp_asked asked_by(const sp_host *host, const sp_model_path *path)
{
	static const sp_asked asked[] = {
		[SP_MODEL_STATUS] = SP_ASKED_STATUS,    [SP_MODEL_METADATA] = SP_ASKED_METADATA,
		[SP_MODEL_PREDICT] = SP_ASKED_PREDICT,  [SP_MODEL_CLASSIFY] = SP_ASKED_EXAMPLES,
		[SP_MODEL_REGRESS] = SP_ASKED_EXAMPLES, [SP_MODEL_VERSIONS] = SP_ASKED_ADMIN,
		[SP_MODEL_RELOAD] = SP_ASKED_ADMIN,     [SP_MODEL_ROLLBACK] = SP_ASKED_ADMIN,
		[SP_MODEL_PIN] = SP_ASKED_ADMIN,        [SP_MODEL_UNPIN] = SP_ASKED_ADMIN,
	};

	return strcmp(path->name, host->flags->model_name) == 0 ? asked[path->verb]
								: SP_ASKED_OTHER;
}

static void route_model(sp_host *host, sp_http_request *request)
{
	sp_model_path path;
	sp_error err;
	sp_status status = sp_model_path_parse(&path, sp_http_request_head(request), &err);

	if (status != SP_OK) {
		sp_route__fail(request, status == SP_NOT_FOUND ? 404 : 400, &err);
		return;
	}
	sp_http_request_set_tag(request, asked_by(host, &path));
	switch (path.verb) {
	case SP_MODEL_STATUS:
		sp_route_status(host, request, &path);
		break;
	case SP_MODEL_METADATA:
		sp_route_metadata(host, request, &path);
		break;
	case SP_MODEL_PREDICT:
		sp_route_predict(host, request, &path);
		break;
	case SP_MODEL_CLASSIFY:
	case SP_MODEL_REGRESS:
		sp_route_examples(host, request, &path);
		break;
	case SP_MODEL_VERSIONS:
	case SP_MODEL_RELOAD:
	case SP_MODEL_ROLLBACK:
	case SP_MODEL_PIN:
	case SP_MODEL_UNPIN:
		sp_route_admin(host, request, &path);
		break;
	}
}

void sp_route(sp_host *host, sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);

	if (*host->flags->metrics_path != '\0' &&
	    sp_bytes_equal_text(head->path, host->flags->metrics_path))
		sp_route_metrics(host, request);
	else if (sp_bytes_starts_with(head->path, "/healthz/"))
		sp_route_health(host, request);
	else if (head->method == SP_HTTP_OPTIONS && head->path.size >= 4 &&
		 strncasecmp(head->path.data, "/v1/", 4) == 0)
		sp_route_options(host, request);
	else if (!sp_route_log_level(host, request))
		route_model(host, request);
}
