#include <string.h>

#include "api/host/json_writer.h"
#include "api/host/route.h"

/* Only what is known: while a model given by its configuration loads, nothing is. */
static bool is_known(sp_host *host, const sp_model_path *path)
{
	if (strcmp(path->name, host->flags->model_name) != 0)
		return false;
	if (!atomic_load(&host->available) && host->model.version < 0)
		return false;
	return !path->has_version || path->version == sp_served_model_version(&host->model);
}

static void answer_unknown(sp_http_request *request, const sp_model_path *path)
{
	sp_error err;

	if (path->has_version)
		sp_error_set(&err, SP_NOT_FOUND, "Could not find version %lld of model %s",
			     (long long)path->version, path->name);
	else
		sp_error_set(&err, SP_NOT_FOUND, "Could not find any versions of model %s",
			     path->name);
	sp_route__fail(request, 404, &err);
}

void sp_route_status(sp_host *host, sp_http_request *request, const sp_model_path *path)
{
	bool available = atomic_load(&host->available);
	sp_buffer body;

	if (path->has_label && available && !sp_route__find_model(host, request, path))
		return;
	if (!is_known(host, path)) {
		answer_unknown(request, path);
		return;
	}
	sp_buffer_init(&body, 4096);
	sp_buffer_append_text(&body, "{\"model_version_status\":[{\"version\":\"");
	sp_json_write_i64(&body, sp_served_model_version(&host->model));
	sp_buffer_printf(&body,
			 "\",\"state\":\"%s\",\"status\":{\"error_code\":\"OK\","
			 "\"error_message\":\"\"}}]}",
			 available ? "AVAILABLE" : "LOADING");
	sp_http_request_answer(request, &(sp_http_answer){.status = 200, .body = &body});
	sp_buffer_fini(&body);
}
