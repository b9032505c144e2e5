#ifndef SP_API_HOST_METRICS_JOB_COSTS_H
#define SP_API_HOST_METRICS_JOB_COSTS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How long the jobs of a model take: a moving average for each size of bodies, up to 1 KB, 2 KB,
 * ... 64 KB.  A longer job raises the average by half of the difference, a shorter one lowers it by
 * a sixteenth.  A job counts as at most four times the average plus 100 us, because its thread may
 * have waited for a core.  All zero is the initial state.
 *
 * Threads: thread-safe; of two notes at the same time one may be lost.
 */
enum { SP_COST_CLASSES = 7 };

typedef struct sp_job_costs {
	atomic_int_least64_t ns[SP_COST_CLASSES];
} sp_job_costs;

/* -1: none of that size was noted yet, or the body is larger than 64 KB. */
int64_t sp_job_costs_get(const sp_job_costs *costs, size_t body_bytes);

void sp_job_costs_note(sp_job_costs *costs, size_t body_bytes, int64_t ns);

#endif
