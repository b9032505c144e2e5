#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/host/routes/route.h"

enum { MAX_BYTES = 256 << 20, FIRST_ARENA = 64 << 10 };

/* A thread of its own writes the page: neither requests nor orders wait for it, or it for them. */
void sp_route_metrics(sp_host *host, sp_http_request *request)
{
	sp_http_method method = sp_http_request_head(request)->method;

	sp_http_request_set_tag(request, SP_ASKED_METRICS);
	if (method != SP_HTTP_GET && method != SP_HTTP_HEAD)
		sp_http_request_fail(request, 405, "Method not allowed");
	else if (!sp_queue_try_push(host->scrapes, request))
		sp_http_request_fail(request, 503, "too many scrapes are waiting");
}

/* ----------------------------------------------------- on the thread for metrics */

static sp_status write_model(sp_buffer *out, const sp_host *host, sp_error *err)
{
	char *json = serving_processor_versions(host->model.processor);
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_versions_report report;
	sp_status status;

	if (json == NULL || arena == NULL)
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the metrics");
	else
		status = sp_versions_report_read(&report, json, arena, err);
	if (status == SP_OK)
		sp_metrics_write_model(out, host->flags->model_name, &report);
	sp_arena_destroy(arena);
	serving_processor_free(json);
	return status;
}

void sp_route_metrics_write(sp_host *host, sp_http_request *request)
{
	sp_status status = SP_OK;
	sp_buffer body;
	sp_error err;

	sp_buffer_init(&body, MAX_BYTES);
	sp_metrics_write_host(&body, host);
	if (atomic_load(&host->available))
		status = write_model(&body, host, &err);
	if (status != SP_OK)
		sp_route__fail(request, sp_route__http_status(status), &err);
	else
		sp_http_request_answer(request,
				       &(sp_http_answer){.status = 200,
							 .content_type = SP_METRICS_CONTENT_TYPE,
							 .body = &body});
	sp_buffer_fini(&body);
}
