#include "api/host/routes/job_here.h"

#include <stdatomic.h>

#include "api/host/routes/serving.h"
#include "base/alloc.h"
#include "base/clock.h"

typedef struct place {
	atomic_bool taken;
	sp_worker worker;
} place;

struct sp_jobs_here {
	size_t count;
	place places[];
};

sp_status sp_jobs_here_create(sp_jobs_here **out, size_t threads, sp_budget *memory, sp_error *err)
{
	sp_jobs_here *here = sp_alloc_zero(1, sizeof(*here) + threads * sizeof(place));

	if (here == NULL)
		return sp_no_memory(err, "the workers");
	for (; here->count < threads; here->count++) {
		sp_status status = sp_worker_init(&here->places[here->count].worker, memory, err);

		if (status != SP_OK) {
			sp_worker_fini(&here->places[here->count].worker);
			sp_jobs_here_destroy(here);
			return status;
		}
		atomic_init(&here->places[here->count].taken, false);
	}
	*out = here;
	return SP_OK;
}

void sp_jobs_here_destroy(sp_jobs_here *here)
{
	if (here == NULL)
		return;
	for (size_t i = 0; i < here->count; i++)
		sp_worker_fini(&here->places[i].worker);
	sp_free(here);
}

static place *take(sp_jobs_here *here)
{
	for (size_t i = 0; i < here->count; i++)
		if (!atomic_exchange_explicit(&here->places[i].taken, true, memory_order_acquire))
			return &here->places[i];
	return NULL;
}

static bool is_compressed(const sp_http_request *request)
{
	const sp_http_head *head = sp_http_request_head(request);

	return sp_http_head_get(head, "content-encoding").size != 0 ||
	       sp_http_head_get(head, "grpc-encoding").size != 0;
}

/* Whether the rule in the header allows it. */
static bool is_for_here(const sp_http_request *request, int64_t cost)
{
	bool alone = sp_http_request_is_alone(request); /* asked for each: it remembers */

	return cost >= 0 && cost <= SP_HERE_MOST_NS && (alone || cost <= SP_HERE_CHEAP_NS) &&
	       !is_compressed(request);
}

bool sp_jobs_here_try(sp_jobs_here *here, struct sp_serving *serving, sp_http_request *request,
		      sp_job *job, sp_model *model)
{
	size_t size = sp_http_request_body(request).size;
	int64_t began;
	place *at;

	if (here == NULL || model == NULL ||
	    !is_for_here(request, sp_job_costs_get(&model->counters.costs, size)))
		return false;
	at = take(here);
	if (at == NULL)
		return false;
	sp_counter_add(&model->counters.begun, 1);
	if (sp_http_request_begin(request)) {
		began = sp_clock_now_ns();
		sp_serving_begin(serving, request, began);
		job(serving, &at->worker, request);
		sp_job_costs_note(&model->counters.costs, size, sp_clock_now_ns() - began);
		sp_arena_reset(at->worker.arena);
	}
	sp_counter_add(&model->counters.ended, 1);
	atomic_store_explicit(&at->taken, false, memory_order_release);
	return true;
}
