#ifndef SP_STORAGE_SSD_READ_PLAN_H
#define SP_STORAGE_SSD_READ_PLAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/sst/sst_run.h"

/*
 * Which blocks to read for the keys of a call; used by storage/ssd/read_rings.h.
 */

enum { SP_READ_RUNS = 2 };

/* Keys of one table that the cache lacks. */
typedef struct sp_read_request sp_read_request;
struct sp_read_request {
	sp_sst_run *const
		*runs;    /* [run_count] newest first: the first run that has a key has its row */
	size_t run_count; /* <= SP_READ_RUNS */
	const int64_t *keys; /* [count] ascending as unsigned numbers, without repeats */
	size_t count;
	atomic_uint_least64_t *bytes_read; /* increased by each read */
	void *owner;                       /* context of take() */

	/*
	 * Instead of runs, keys and bytes_read: where the bytes for i are.  take() gets all of
	 * them; if they cannot be read, NULL, and the call goes on.
	 */
	sp_sst_place (*place)(const sp_read_request *request, size_t i);
};

/* Receives the row of request->keys[i]; NULL: absent. */
typedef void sp_read_take(const sp_read_request *request, size_t i, const void *row);

/* A call and its progress. */
typedef struct sp_read_plan {
	const sp_read_request *requests; /* [count] */
	size_t count;
	sp_read_take *take;
	size_t request, key; /* the next key to plan */
} sp_read_plan;

/* A block to read for the keys [first, first + count) of a request. */
typedef struct sp_block_read {
	const sp_read_request *request;
	size_t run; /* index of the run in the request */
	size_t first, count;
	sp_sst_place place;
} sp_block_read;

/* The next block; false when no key is left.  Passes keys that are certainly absent to take(). */
bool sp_read_plan_next(sp_read_plan *plan, sp_block_read *out);

/*
 * Checks the bytes read, [read->place.span], and passes the rows in them to `take`.  *again: the
 * key is not in this block but an older run may have it; `read` is then that run's block.
 */
SP_MUST_CHECK sp_status sp_block_read_finish(sp_block_read *read, const void *bytes,
					     sp_read_take *take, bool *again, sp_error *err);

#endif
