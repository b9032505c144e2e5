#include "api/host/metrics/job_costs.h"

enum { LEAST_CLASS = 1 << 10, RISE = 2, FALL = 16, DELAY_NS = 100000 };

static size_t class_of(size_t size)
{
	size_t class = 0;

	while (class < SP_COST_CLASSES && size > (size_t)LEAST_CLASS << class)
		class ++;
	return class;
}

int64_t sp_job_costs_get(const sp_job_costs *costs, size_t body_bytes)
{
	size_t class = class_of(body_bytes);
	int64_t ns = 0;

	if (class < SP_COST_CLASSES)
		ns = atomic_load_explicit(&costs->ns[class], memory_order_relaxed);
	return ns != 0 ? ns : -1;
}

void sp_job_costs_note(sp_job_costs *costs, size_t body_bytes, int64_t ns)
{
	size_t class = class_of(body_bytes);
	int64_t average;

	if (class == SP_COST_CLASSES)
		return;
	average = atomic_load_explicit(&costs->ns[class], memory_order_relaxed);
	if (average != 0 && ns > 4 * average + DELAY_NS)
		ns = 4 * average + DELAY_NS;
	if (average != 0)
		ns = average + (ns - average) / (ns > average ? RISE : FALL);
	atomic_store_explicit(&costs->ns[class], ns > 0 ? ns : 1, memory_order_relaxed);
}
