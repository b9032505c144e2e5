#include <string.h>

#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/host/metrics/openmetrics.h"
#include "api/host/routes/model_states.h"
#include "api/host/routes/route_errors.h"
#include "api/host/routes/routes.h"

enum { MAX_BYTES = 256 << 20 };

static void write_host(sp_buffer *out, const sp_serving *serving, const sp_model_state *models,
		       size_t count)
{
	static const sp_observer none = {0};
	const sp_observer *observer = serving->observer != NULL ? serving->observer : &none;
	sp_http_server_load load;

	sp_http_server_get_load(serving->server, &load);
	sp_metrics_write_host(out,
			      &(sp_host_state){
				      .worker_count = serving->worker_count,
				      .connections = load.open,
				      .connections_dropped = load.dropped,
				      .connections_refused = load.turned_away,
				      .memory = &serving->memory,
				      .started = serving->started,
				      .counters = &serving->counters,
				      .lines_dropped = sp_observer_lines_dropped(observer),
				      .traces_sent = sp_span_export_sent(observer->spans),
				      .traces_dropped = sp_span_export_dropped(observer->spans),
				      .models = models,
				      .model_count = count,
			      });
}

static sp_status write_all(sp_buffer *out, const sp_serving *serving, sp_arena *arena,
			   sp_error *err)
{
	sp_model_state *models;
	size_t count;

	SP_TRY(sp_route__model_states(serving, &models, &count, arena, err));
	write_host(out, serving, models, count);
	sp_metrics_write_models(out, models, count);
	return SP_OK;
}

/* Whether the client takes OpenMetrics, as Prometheus does. */
static bool accepts_openmetrics(const sp_http_request *request)
{
	static const char type[] = "application/openmetrics-text";
	sp_bytes accepted = sp_http_head_get(sp_http_request_head(request), "accept");

	return accepted.size != 0 &&
	       memmem(accepted.data, accepted.size, type, sizeof(type) - 1) != NULL;
}

static void convert(sp_buffer *body)
{
	sp_buffer page = *body;

	sp_buffer_init(body, MAX_BYTES);
	sp_openmetrics_write(body, (sp_bytes){page.data, page.size});
	sp_buffer_fini(&page);
}

static void write_page(sp_serving *serving, sp_worker *worker, sp_http_request *request)
{
	bool open_metrics = accepts_openmetrics(request);
	sp_buffer body;
	sp_error err;
	sp_status status;

	sp_buffer_init(&body, MAX_BYTES);
	status = write_all(&body, serving, worker->arena, &err);
	if (open_metrics && status == SP_OK && !body.failed)
		convert(&body);
	if (status != SP_OK)
		sp_route__fail(request, sp_route__http_status(status), &err);
	else
		sp_http_request_answer(
			request,
			&(sp_http_answer){.status = 200,
					  .content_type = open_metrics ? SP_OPENMETRICS_CONTENT_TYPE
								       : SP_METRICS_CONTENT_TYPE,
					  .body = &body});
	sp_buffer_fini(&body);
}

/*
 * A separate thread writes the page, so that workers and orders neither delay it nor wait for it.
 */
void sp_route_metrics(sp_serving *serving, sp_http_request *request)
{
	sp_serving_tag(request, SP_REQUEST_METRICS, NULL);
	sp_route__enqueue_scrape(serving, request, write_page);
}
