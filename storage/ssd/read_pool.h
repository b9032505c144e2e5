#ifndef SP_STORAGE_SSD_READ_POOL_H
#define SP_STORAGE_SSD_READ_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/ssd/read_plan.h"

/*
 * Threads that read from the disk for requests where io_uring is not available
 * (storage/ssd/read_rings.h): one thread that reads block after block would leave most of
 * a device idle.
 *
 * A call splits its blocks into jobs of a few blocks, queues them and sleeps until all are done.
 * Jobs and their memory belong to the pool, so a call returns at once when its time is
 * over, whatever its jobs still wait for.
 *
 * A thread allocates when a block is larger than any it has read before.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_read_pool sp_read_pool;

/* threads >= 1. */
SP_MUST_CHECK sp_status sp_read_pool_create(sp_read_pool **out, size_t threads, sp_error *err);

/* No calls may be under way.  NULL is fine. */
void sp_read_pool_destroy(sp_read_pool *pool);

/*
 * Reads all keys of all requests; `take` is called by the threads that read, several at
 * once for different keys, and never after this has returned.  deadline_ns is on
 * sp_clock_now_ns()'s clock; 0: none.  On failure *failed is the request that failed
 * first, SIZE_MAX when no single one did, and some rows may have been taken.
 */
SP_MUST_CHECK sp_status sp_read_pool_run(sp_read_pool *pool, const sp_read_request *requests,
					 size_t count, sp_read_take *take, int64_t deadline_ns,
					 size_t *failed, sp_error *err);

#endif
