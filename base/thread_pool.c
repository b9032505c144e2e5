#include "base/thread_pool.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/queue.h"
#include "base/thread.h"

struct sp_thread_pool {
	atomic_bool ending;
	sp_queue *queue;
	sp_thread_group *threads;
};

static void work(void *context)
{
	sp_thread_pool *pool = context;
	sp_thread_pool_job *job;

	while ((job = sp_queue_pop(pool->queue)) != NULL)
		job->run(job, atomic_load(&pool->ending));
}

sp_status sp_thread_pool_create(sp_thread_pool **out, size_t threads, size_t capacity,
				const char *name, sp_error *err)
{
	sp_thread_pool *pool = sp_alloc_zero(1, sizeof(*pool));
	sp_status status;

	if (pool != NULL)
		pool->queue = sp_queue_create(capacity);
	if (pool == NULL || pool->queue == NULL)
		status = sp_no_memory(err, "a queue of %zu jobs", capacity);
	else
		status = sp_thread_group_create(&pool->threads, threads, name, work, pool, err);
	if (status != SP_OK) {
		sp_thread_pool_destroy(pool);
		return status;
	}
	*out = pool;
	return SP_OK;
}

bool sp_thread_pool_try_add(sp_thread_pool *pool, sp_thread_pool_job *job)
{
	return sp_queue_try_push(pool->queue, job);
}

void sp_thread_pool_destroy(sp_thread_pool *pool)
{
	if (pool == NULL)
		return;
	atomic_store(&pool->ending, true);
	if (pool->queue != NULL)
		sp_queue_close(pool->queue);
	sp_thread_group_destroy(pool->threads);
	sp_queue_destroy(pool->queue);
	sp_free(pool);
}
