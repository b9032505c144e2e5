#include "api/host/worker.h"

#include <stdatomic.h>

#include "api/host/routes/routes.h"
#include "base/alloc.h"
#include "base/thread.h"

struct sp_workers {
	sp_serving *serving;
	sp_thread_group *threads;
	sp_thread_group *orders;  /* NULL without --admin_routes */
	sp_thread_group *metrics; /* NULL without --metrics_path */
	atomic_size_t next;       /* index in `requests` that the next thread takes */
	size_t count;
	sp_json_request *requests[]; /* [count], one for each of `threads` */
};

static void compute(void *context)
{
	sp_workers *workers = context;
	sp_serving *serving = workers->serving;
	sp_json_request *json = workers->requests[atomic_fetch_add(&workers->next, 1)];
	sp_http_request *request;
	bool large = false;

	while ((request = sp_request_queue_pop(serving->queue, &large)) != NULL) {
		if (sp_http_request_begin(request))
			sp_route_predict_compute(serving, json, request);
		sp_counter_add(&serving->counters.ended, 1);
	}
}

static void carry_out_orders(void *context)
{
	const sp_serving *serving = context;
	sp_http_request *request;

	while ((request = sp_queue_pop(serving->orders)) != NULL)
		if (sp_http_request_begin(request))
			sp_route_admin_carry_out(serving, request);
}

static void write_metrics(void *context)
{
	const sp_serving *serving = context;
	sp_http_request *request;

	while ((request = sp_queue_pop(serving->scrapes)) != NULL)
		if (sp_http_request_begin(request))
			sp_route_metrics_write(serving, request);
}

static sp_status start(sp_workers *workers, sp_error *err)
{
	sp_serving *serving = workers->serving;

	for (size_t i = 0; i < serving->worker_count; i++) {
		workers->requests[i] = sp_json_request_create();
		if (workers->requests[i] == NULL)
			return sp_error_set(err, SP_NO_MEMORY, "no memory for the workers");
		sp_json_request_set_budget(workers->requests[i], &serving->memory);
		workers->count++;
	}
	SP_TRY(sp_thread_group_create(&workers->threads, workers->count, "worker", compute, workers,
				      err));
	if (*serving->flags->metrics_path != '\0')
		SP_TRY(sp_thread_group_create(&workers->metrics, 1, "metrics", write_metrics,
					      serving, err));
	if (serving->flags->admin_routes)
		SP_TRY(sp_thread_group_create(&workers->orders, 1, "orders", carry_out_orders,
					      serving, err));
	return SP_OK;
}

sp_status sp_workers_create(sp_workers **out, sp_serving *serving, sp_error *err)
{
	sp_workers *workers = sp_alloc_zero(
		1, sizeof(*workers) + serving->worker_count * sizeof(sp_json_request *));
	sp_status status;

	if (workers == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the workers");
	workers->serving = serving;
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
	sp_thread_group_destroy(workers->orders);
	sp_thread_group_destroy(workers->metrics);
	for (size_t i = 0; i < workers->count; i++)
		sp_json_request_destroy(workers->requests[i]);
	sp_free(workers);
}
