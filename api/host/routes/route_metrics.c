#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { MAX_BYTES = 256 << 20, FIRST_ARENA = 64 << 10 };

static void write_host(sp_buffer *out, const sp_serving *serving, const sp_servable *servable)
{
	sp_http_server_load load;

	sp_http_server_get_load(serving->server, &load);
	sp_metrics_write_host(out, &(sp_host_state){
					   .model_name = servable->model->name,
					   .ready = servable->served != NULL,
					   .worker_count = serving->worker_count,
					   .connections = load.open,
					   .connections_dropped = load.dropped,
					   .connections_refused = load.turned_away,
					   .memory = &serving->memory,
					   .started = serving->started,
					   .counters = &serving->counters,
					   .model = &servable->model->counters,
				   });
}

static sp_status write_model(sp_buffer *out, const sp_servable *servable, sp_error *err)
{
	char *json = serving_processor_versions(servable->served->processor);
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_versions_report report;
	sp_status status;

	if (json == NULL || arena == NULL)
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the metrics");
	else
		status = sp_versions_report_read(&report, json, arena, err);
	if (status == SP_OK)
		sp_metrics_write_model(out, servable->model->name, &report);
	sp_arena_destroy(arena);
	serving_processor_free(json);
	return status;
}

static void write_page(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_servable servable;
	sp_buffer body;
	sp_error err;
	sp_status status;

	(void)worker;
	sp_buffer_init(&body, MAX_BYTES);
	status = sp_models_acquire_processor(
		serving->models, sp_bytes_of(serving->flags->model_name), &servable, &err);
	write_host(&body, serving, &servable);
	if (status == SP_OK)
		status = write_model(&body, &servable, &err);
	else if (status == SP_BUSY)
		status = SP_OK;
	sp_servable_release(&servable);
	if (status != SP_OK)
		sp_route__fail(request, sp_route__http_status(status), &err);
	else
		sp_http_request_answer(request,
				       &(sp_http_answer){.status = 200,
							 .content_type = SP_METRICS_CONTENT_TYPE,
							 .body = &body});
	sp_buffer_fini(&body);
}

/*
 * A separate thread writes the page, so that workers and orders neither delay it nor wait for it.
 */
void sp_route_metrics(sp_serving *serving, sp_http_request *request)
{
	sp_queued item = {.request = request, .job = write_page};
	sp_http_method method = sp_http_request_head(request)->method;

	sp_serving_tag(request, SP_REQUEST_METRICS, NULL);
	if (method != SP_HTTP_GET && method != SP_HTTP_HEAD)
		sp_http_request_fail(request, 405, "Method not allowed");
	else if (!sp_request_queue_try_push(serving->scrapes, &item, 0))
		sp_http_request_fail(request, 503, "too many scrapes are waiting");
}
