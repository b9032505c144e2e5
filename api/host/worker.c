#include "api/host/worker.h"

#include <stdatomic.h>

#include "api/host/routes/route.h"
#include "base/alloc.h"

struct sp_workers {
	sp_host *host;
	sp_thread_group *threads;
	sp_thread_group *clerk;   /* for orders, which may wait long; NULL without --admin_routes */
	sp_thread_group *scraped; /* for metrics, however busy the others are; NULL without */
	atomic_size_t next;       /* for each thread to take one of `requests` */
	size_t count;
	sp_json_request *requests[];
};

static void work(void *context)
{
	sp_workers *workers = context;
	sp_host *host = workers->host;
	sp_json_request *json = workers->requests[atomic_fetch_add(&workers->next, 1)];
	sp_http_request *request;
	bool large = false;

	while ((request = sp_request_queue_pop(host->queue, &large)) != NULL) {
		if (sp_http_request_begin(request))
			sp_route_predict_compute(host, json, request);
		sp_counter_add(&host->counters.ended, 1);
	}
}

static void take_orders(void *context)
{
	sp_host *host = context;
	sp_http_request *request;

	while ((request = sp_queue_pop(host->orders)) != NULL)
		if (sp_http_request_begin(request))
			sp_route_admin_obey(host, request);
}

static void take_scrapes(void *context)
{
	sp_host *host = context;
	sp_http_request *request;

	while ((request = sp_queue_pop(host->scrapes)) != NULL)
		if (sp_http_request_begin(request))
			sp_route_metrics_write(host, request);
}

static sp_status start(sp_workers *workers, sp_error *err)
{
	for (size_t i = 0; i < workers->host->worker_count; i++) {
		workers->requests[i] = sp_json_request_create();
		if (workers->requests[i] == NULL)
			return sp_error_set(err, SP_NO_MEMORY, "no memory for the workers");
		sp_json_request_set_budget(workers->requests[i], &workers->host->memory);
		workers->count++;
	}
	SP_TRY(sp_thread_group_create(&workers->threads, workers->count, "worker", work, workers,
				      err));
	if (*workers->host->flags->metrics_path != '\0')
		SP_TRY(sp_thread_group_create(&workers->scraped, 1, "metrics", take_scrapes,
					      workers->host, err));
	if (!workers->host->flags->admin_routes)
		return SP_OK;
	return sp_thread_group_create(&workers->clerk, 1, "orders", take_orders, workers->host,
				      err);
}

sp_status sp_workers_create(sp_workers **out, sp_host *host, sp_error *err)
{
	sp_workers *workers = sp_alloc_zero(
		1, sizeof(*workers) + host->worker_count * sizeof(sp_json_request *));
	sp_status status;

	if (workers == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the workers");
	workers->host = host;
	status = start(workers, err);
	if (status != SP_OK) {
		sp_workers_destroy(workers);
		return status;
	}
	*out = workers;
	return SP_OK;
}

void sp_workers_destroy(sp_workers *workers)
{
	if (workers == NULL)
		return;
	sp_thread_group_destroy(workers->threads);
	sp_thread_group_destroy(workers->clerk);
	sp_thread_group_destroy(workers->scraped);
	for (size_t i = 0; i < workers->count; i++)
		sp_json_request_destroy(workers->requests[i]);
	sp_free(workers);
}
