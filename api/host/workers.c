#include "api/host/workers.h"

#include <stdatomic.h>

#include "api/host/worker.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

enum { ORDERS, SCRAPES, OTHER_COUNT };

struct sp_workers {
	sp_serving *serving;
	sp_thread_group *threads, *orders, *scrapes;
	atomic_size_t next; /* index in `scratch` that the next of `threads` takes */
	size_t count;
	sp_worker others[OTHER_COUNT];
	sp_worker scratch[]; /* [count], one for each of `threads` */
};

static void do_job(sp_serving *serving, sp_worker *worker, const sp_queued *item)
{
	size_t size = sp_http_request_body(item->request).size;
	int64_t began = sp_clock_now_ns();

	sp_serving_begin(serving, item->request, began);
	item->job(serving, worker, item->request);
	sp_arena_reset(worker->arena);
	if (item->counters != NULL)
		sp_job_costs_note(&item->counters->costs, size, sp_clock_now_ns() - began);
}

static void carry_out(sp_serving *serving, sp_request_queue *queue, sp_worker *worker)
{
	bool large = false;
	sp_queued next;

	while (sp_request_queue_pop(queue, &next, &large)) {
		if (sp_http_request_begin(next.request))
			do_job(serving, worker, &next);
		if (next.counters != NULL)
			sp_counter_add(&next.counters->ended, 1); /* even if it has not begun */
	}
}

static void compute(void *context)
{
	sp_workers *workers = context;
	size_t own = atomic_fetch_add(&workers->next, 1);

	carry_out(workers->serving, workers->serving->queue, &workers->scratch[own]);
}

static void carry_out_orders(void *context)
{
	sp_workers *workers = context;

	carry_out(workers->serving, workers->serving->orders, &workers->others[ORDERS]);
}

static void write_metrics(void *context)
{
	sp_workers *workers = context;

	carry_out(workers->serving, workers->serving->scrapes, &workers->others[SCRAPES]);
}

static sp_status start(sp_workers *workers, sp_error *err)
{
	sp_serving *serving = workers->serving;

	for (; workers->count < serving->worker_count; workers->count++)
		SP_TRY(sp_worker_init(&workers->scratch[workers->count], &serving->memory, err));
	for (size_t i = 0; i < OTHER_COUNT; i++)
		SP_TRY(sp_worker_init(&workers->others[i], &serving->memory, err));
	SP_TRY(sp_thread_group_create(&workers->threads, workers->count, "worker", compute, workers,
				      err));
	SP_TRY(sp_thread_group_create(&workers->scrapes, 1, "metrics", write_metrics, workers,
				      err));
	return sp_thread_group_create(&workers->orders, 1, "orders", carry_out_orders, workers,
				      err);
}

sp_status sp_workers_create(sp_workers **out, sp_serving *serving, sp_error *err)
{
	sp_workers *workers = sp_alloc_zero(1, sizeof(*workers) +
						       serving->worker_count * sizeof(sp_worker));
	sp_status status;

	if (workers == NULL)
		return sp_no_memory(err, "the workers");
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
	sp_thread_group_destroy(workers->scrapes);
	for (size_t i = 0; i < workers->serving->worker_count; i++)
		sp_worker_fini(&workers->scratch[i]);
	for (size_t i = 0; i < OTHER_COUNT; i++)
		sp_worker_fini(&workers->others[i]);
	sp_free(workers);
}
