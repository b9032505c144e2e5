#ifndef SP_BASE_THREAD_POOL_H
#define SP_BASE_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * Threads that run jobs in the order in which these were added.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_thread_pool sp_thread_pool;

/* The first member of a caller's struct, which stays until run() is called; run() may free it. */
typedef struct sp_thread_pool_job {
	void (*run)(struct sp_thread_pool_job *job, bool cancelled);
} sp_thread_pool_job;

/* `capacity` >= 1: jobs that may wait.  Threads are named and started as a sp_thread_group. */
SP_MUST_CHECK sp_status sp_thread_pool_create(sp_thread_pool **out, size_t threads, size_t capacity,
					      const char *name, sp_error *err);

/* False, and the job is not run, when `capacity` jobs wait or the pool is being destroyed. */
bool sp_thread_pool_try_add(sp_thread_pool *pool, sp_thread_pool_job *job);

/*
 * Waits for the jobs that have begun; those that wait are run with `cancelled`.  Not from a job.
 * NULL is fine.
 */
void sp_thread_pool_destroy(sp_thread_pool *pool);

#endif
