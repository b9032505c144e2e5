#ifndef SP_API_HOST_ROUTES_JOB_HERE_H
#define SP_API_HOST_ROUTES_JOB_HERE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/model/models.h"
#include "api/host/worker.h"
#include "base/budget.h"
#include "base/status.h"

/*
 * Jobs that an I/O thread does itself.  To wake a worker and to be woken by it costs 10 to 50 us,
 * which is more than many a job.  But while it computes, an I/O thread neither reads nor writes,
 * and workers are idle.  It does a job itself if all of this holds:
 *
 * - The body has at most 64 KB and is not compressed, so that its size bounds what there is to
 * read.
 * - Jobs of the model with bodies of about that size take at most SP_HERE_MOST_NS by their moving
 *   average (metrics/job_costs.h), which rises fast: two or three long jobs in a row, and the next
 *   ones go to the workers.
 * - The client is alone (sp_http_request_is_alone()): nobody else waits meanwhile, and no worker
 *   could have shared the work.  Jobs of at most SP_HERE_CHEAP_NS take less time than handing them
 *   over does; they are done here in any case.
 *
 * A job that turns out to be long delays the other clients of this thread once, for its length.
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
