#ifndef SP_API_HOST_ROUTES_JOB_HERE_H
#define SP_API_HOST_ROUTES_JOB_HERE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/model/models.h"
#include "api/host/worker.h"
#include "base/budget.h"
#include "base/status.h"

/*
 * Jobs that an I/O thread runs itself.  Handing a job to a worker and waking the I/O thread again
 * costs 10 to 50 us, more than many jobs take.  While it computes, however, an I/O thread neither
 * reads nor writes.  So it runs a job itself if all of these conditions hold:
 *
 * - The body has at most 64 KB and is not compressed: its size bounds the work of reading it.
 * - Jobs of the model with bodies of about that size take at most SP_HERE_MOST_NS by their moving
 *   average (metrics/job_costs.h).  The average rises fast: after two or three long jobs the next
 *   ones go to the workers.
 * - The client is the only one of this thread (sp_http_request_is_alone()), or the average is at
 *   most SP_HERE_CHEAP_NS, which is less than handing the job over costs.
 *
 * A job that takes longer than expected delays the other clients of this thread once.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_jobs_here sp_jobs_here;

#define SP_HERE_MOST_NS  INT64_C(200000)
#define SP_HERE_CHEAP_NS INT64_C(5000)

/* threads: that may do jobs at the same time; beyond that, jobs are for the workers. */
SP_MUST_CHECK sp_status sp_jobs_here_create(sp_jobs_here **out, size_t threads, sp_budget *memory,
					    sp_error *err);

/* NULL is fine. */
void sp_jobs_here_destroy(sp_jobs_here *here);

/*
 * Called by the handler of requests.  False: the request has not been touched and is for a worker.
 * Otherwise it has been answered.
 */
bool sp_jobs_here_try(sp_jobs_here *here, struct sp_serving *serving, sp_http_request *request,
		      sp_job *job, sp_model *model);

#endif
