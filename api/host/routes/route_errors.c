#include "api/host/routes/route_errors.h"

#include <string.h>

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

/* Whether a comma-separated list contains the word. */
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

bool sp_route__find_model(const sp_serving *serving, sp_http_request *request,
			  const sp_model_path *path)
{
	bool available = atomic_load(&serving->available);
	bool known = strcmp(path->name, serving->flags->model_name) == 0;
	sp_error err;

	if (known && path->has_label && !list_has(serving->flags->version_labels, path->label)) {
		sp_error_set(&err, SP_INVALID, "Unrecognized servable version label: %s",
			     path->label);
		sp_route__fail(request, 400, &err);
		return false;
	}
	if (known && available &&
	    (!path->has_version || path->version == sp_served_model_version(&serving->model)))
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
