#ifndef SP_STORAGE_READ_POOL_H
#define SP_STORAGE_READ_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/rocks.h"

/*
 * Threads that read from the disk for requests, many blocks at a time: one
 * thread that reads block after block would leave most of a device idle.
 *
 * A request splits what it misses into jobs of a few keys, hands them out and
 * sleeps until all rows have come.  A job's memory is the pool's, so a request
 * whose time is over leaves at once, whatever its jobs still wait for.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_read_pool sp_read_pool;

/* threads >= 1. */
SP_MUST_CHECK sp_status sp_read_pool_create(sp_read_pool **out, size_t threads, sp_error *err);

/* No calls may be under way.  NULL is fine. */
void sp_read_pool_destroy(sp_read_pool *pool);

/* Keys of one RocksDB folder that a call misses. */
typedef struct sp_read_request {
	const sp_rocks *rocks;
	const int64_t *keys; /* [count], as sp_rocks_read() wants them */
	size_t count;
	void *owner; /* for take() */
} sp_read_request;

/*
 * Row of request->keys[i]; NULL: absent.  Called by the threads that read, several at
 * once for different keys, and never after sp_read_pool_run() has returned.
 */
typedef void sp_read_take(const sp_read_request *request, size_t i, const void *row);

/*
 * Reads all keys of all requests.  deadline_ns is on sp_clock_now_ns()'s
 * clock; 0: none.  On failure *failed is the request that failed first, as far
 * as it is one (else SIZE_MAX), and some rows may have been taken.
 */
SP_MUST_CHECK sp_status sp_read_pool_run(sp_read_pool *pool, const sp_read_request *requests,
					 size_t count, sp_read_take *take, int64_t deadline_ns,
					 size_t *failed, sp_error *err);

/* Waits until no job reads `rocks` any more: those that were left behind, too. */
void sp_read_pool_drain(sp_read_pool *pool, const sp_rocks *rocks);

#endif
