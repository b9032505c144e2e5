#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { MAX_BYTES = 256 << 20, FIRST_ARENA = 64 << 10 };

/*
 * A separate thread writes the page, so that workers and orders neither delay it nor wait for it.
 */
void sp_route_metrics(sp_serving *serving, sp_http_request *request)
{
	sp_http_method method = sp_http_request_head(request)->method;

	sp_http_request_set_tag(request, SP_REQUEST_METRICS);
	if (method != SP_HTTP_GET && method != SP_HTTP_HEAD)
		sp_http_request_fail(request, 405, "Method not allowed");
	else if (!sp_queue_try_push(serving->scrapes, request))
		sp_http_request_fail(request, 503, "too many scrapes are waiting");
}

/* ----------------------------------------------------- on the thread for metrics */

static void write_host(sp_buffer *out, const sp_serving *serving)
{
	sp_http_server_load load;

	sp_http_server_get_load(serving->server, &load);
	sp_metrics_write_host(out, &(sp_host_state){
					   .model_name = serving->flags->model_name,
					   .ready = atomic_load(&serving->available),
					   .worker_count = serving->worker_count,
					   .connections = load.open,
					   .connections_dropped = load.dropped,
					   .connections_refused = load.turned_away,
					   .memory = &serving->memory,
					   .started = serving->started,
					   .counters = &serving->counters,
				   });
}

static sp_status write_model(sp_buffer *out, const sp_serving *serving, sp_error *err)
{
	char *json = serving_processor_versions(serving->model.processor);
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_versions_report report;
	sp_status status;

	if (json == NULL || arena == NULL)
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the metrics");
	else
		status = sp_versions_report_read(&report, json, arena, err);
	if (status == SP_OK)
		sp_metrics_write_model(out, serving->flags->model_name, &report);
	sp_arena_destroy(arena);
	serving_processor_free(json);
	return status;
}

void sp_route_metrics_write(const sp_serving *serving, sp_http_request *request)
{
	sp_status status = SP_OK;
	sp_buffer body;
	sp_error err;

	sp_buffer_init(&body, MAX_BYTES);
	write_host(&body, serving);
	if (atomic_load(&serving->available))
		status = write_model(&body, serving, &err);
	if (status != SP_OK)
		sp_route__fail(request, sp_route__http_status(status), &err);
	else
		sp_http_request_answer(request,
				       &(sp_http_answer){.status = 200,
							 .content_type = SP_METRICS_CONTENT_TYPE,
							 .body = &body});
	sp_buffer_fini(&body);
}
