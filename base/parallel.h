#ifndef SP_BASE_PARALLEL_H
#define SP_BASE_PARALLEL_H

#include <stddef.h>

#include "base/status.h"

/*
 * A parallel loop: calls step(context, i) once for every i below `count`, in ascending order of
 * starts.
 *
 * threads  number of threads including the caller's; fewer are used if they cannot be started
 *
 * After a failure no more steps start, and the failure with the smallest i is returned.
 */
typedef sp_status sp_parallel_step(void *context, size_t i, sp_error *err);

SP_MUST_CHECK sp_status sp_parallel_run(size_t threads, size_t count, sp_parallel_step *step,
					void *context, sp_error *err);

/* How many processors this thread may run on; at least 1. */
size_t sp_parallel_processors(void);

#endif
