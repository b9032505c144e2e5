#ifndef SP_STORAGE_SSD_READ_POOL_H
#define SP_STORAGE_SSD_READ_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/ssd/read_plan.h"

/*
 * Threads that read from the disk for requests where io_uring (storage/ssd/read_rings.h) is not
 * available: a single thread that reads block after block would leave most of a device idle.
 *
 * A call splits its blocks into jobs of a few blocks, queues them and sleeps until all are done.
 * Jobs and their memory belong to the pool, so a call returns at its deadline even while the disk
 * has not answered its jobs.
 *
 * A thread allocates when a block is larger than any it has read before.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_read_pool sp_read_pool;

/* threads >= 1. */
SP_MUST_CHECK sp_status sp_read_pool_create(sp_read_pool **out, size_t threads, sp_error *err);

/* Only when no call is running.  NULL is fine. */
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
