#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { MAX_BYTES = 256 << 20 };

static void write_host(sp_buffer *out, const sp_serving *serving, const sp_model_state *models,
		       size_t count)
{
	sp_http_server_load load;

	sp_http_server_get_load(serving->server, &load);
	sp_metrics_write_host(out, &(sp_host_state){
					   .worker_count = serving->worker_count,
					   .connections = load.open,
					   .connections_dropped = load.dropped,
					   .connections_refused = load.turned_away,
					   .memory = &serving->memory,
					   .started = serving->started,
					   .counters = &serving->counters,
					   .models = models,
					   .model_count = count,
				   });
}

/* NULL, which is not told, for a model without versions. */
static const sp_version_statuses *read_statuses(const sp_serving *serving, const char *name,
						sp_arena *arena)
{
	const sp_model_selector selector = {.name = sp_bytes_of(name)};
	sp_version_statuses *list = sp_arena_zeros(arena, 1, sizeof(*list));

	if (list == NULL ||
	    sp_models_statuses(serving->models, &selector, list, arena, NULL) != SP_OK)
		return NULL;
	return list;
}

/* What the library reports of the newest version; no report where none is open. */
static sp_status read_report(const sp_serving *serving, sp_model_state *model, sp_arena *arena,
			     sp_error *err)
{
	sp_versions_report *report = sp_arena_zeros(arena, 1, sizeof(*report));
	char *json, *copy = NULL;
	sp_servable servable;

	if (sp_models_acquire_processor(serving->models, sp_bytes_of(model->name), &servable,
					err) != SP_OK)
		return SP_OK;
	json = serving_processor_versions(servable.served->processor);
	sp_servable_release(&servable);
	if (json != NULL)
		copy = sp_arena_text(arena, sp_bytes_of(json));
	serving_processor_free(json);
	if (report == NULL || copy == NULL)
		return sp_no_memory(err, "the metrics");
	model->report = report;
	return sp_versions_report_read(report, copy, arena, err);
}

static sp_status write_all(sp_buffer *out, const sp_serving *serving, sp_arena *arena,
			   sp_error *err)
{
	const sp_model_summary *list;
	sp_model_state *models;
	size_t count;

	SP_TRY(sp_models_list(serving->models, &list, &count, arena, err));
	models = sp_arena_zeros(arena, count, sizeof(*models));
	if (models == NULL)
		return sp_no_memory(err, "the metrics");
	for (size_t i = 0; i < count; i++) {
		models[i] = (sp_model_state){
			.name = list[i].model->name,
			.ready = list[i].ready,
			.counters = &list[i].model->counters,
			.thread_pool_name = serving->thread_pool_name,
			.versions = list[i].versions,
			.runs = list[i].runs,
			.statuses = read_statuses(serving, list[i].model->name, arena),
			.version_count = list[i].version_count};
		SP_TRY(read_report(serving, &models[i], arena, err));
	}
	write_host(out, serving, models, count);
	sp_metrics_write_models(out, models, count);
	return SP_OK;
}

static void write_page(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	sp_buffer body;
	sp_error err;
	sp_status status;

	sp_buffer_init(&body, MAX_BYTES);
	status = write_all(&body, serving, worker->arena, &err);
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

	sp_serving_tag(request, SP_REQUEST_METRICS, NULL);
	if (!sp_route__is_get(request))
		sp_route__refuse_method(request, "GET, HEAD");
	else if (!sp_request_queue_try_push(serving->scrapes, &item, 0))
		sp_http_request_fail(request, 503, "too many scrapes are waiting");
}
