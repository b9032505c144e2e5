#ifndef SP_STORAGE_FRESH_FRESH_H
#define SP_STORAGE_FRESH_FRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Rows of a model's tables that arrive while the tables are in use, as from a trainer's stream.
 *
 * One thread puts rows and commits them.  A commit makes a new state: all rows put since the one
 * before become visible together, in all tables.  A reader pins the newest state and sees it until
 * it unpins, however many follow.
 *
 * A row is complete before it can be seen and does not change after.  A newer one of the same key
 * gets memory of its own and refers to the older one, which is used again once no pinned state sees
 * it.  So readers take no lock and never wait, and a commit is one store.
 *
 * Threads: put, commit and reclaim are one thread's, the writer's; pin and unpin are those of the
 * slot's owner; everything else is thread-safe.
 */
typedef struct sp_fresh sp_fresh;

/* Those of one table. */
typedef struct sp_fresh_rows sp_fresh_rows;

typedef struct sp_fresh_options {
	const size_t *dims; /* [table_count] elements of a row, >= 1 */
	size_t table_count;
	size_t reader_count; /* slots 0 to reader_count - 1 */
	size_t memory_limit; /* bytes of all rows and their indexes */
} sp_fresh_options;

SP_MUST_CHECK sp_status sp_fresh_create(sp_fresh **out, const sp_fresh_options *options,
					sp_error *err);

/* No state may be pinned.  NULL is fine. */
void sp_fresh_destroy(sp_fresh *fresh);

const sp_fresh_rows *sp_fresh_table(const sp_fresh *fresh, size_t table);

/* ------------------------------------------------------------------- the writer */

/* Keys with their rows, as a message has them. */
typedef struct sp_fresh_entries {
	const char *bytes; /* [count] of key and dim float32, at any address */
	size_t count;
	size_t key_size;  /* 4: int32; 8: int64 */
	int64_t step;     /* of the training; SP_FRESH_NO_STEP: unknown */
	bool only_finite; /* drop rows with elements that are not finite */
} sp_fresh_entries;

/* Rows of unknown steps are newer than those of all checkpoints. */
#define SP_FRESH_NO_STEP INT64_MAX

/* Counts what put() has done, in addition to what it holds. */
typedef struct sp_fresh_done {
	size_t entries;    /* of these entries, put or dropped */
	size_t marks;      /* dropped: keys -1 and -2 */
	size_t not_finite; /* dropped */
} sp_fresh_done;

/*
 * Puts entries from done->entries on; the last row of a repeated key stays.  SP_BUSY when the
 * memory limit is reached, and SP_NO_MEMORY: those counted in done->entries are put, and the call
 * may be repeated, after reclaim().
 */
SP_MUST_CHECK sp_status sp_fresh_put(sp_fresh *fresh, size_t table, const sp_fresh_entries *entries,
				     sp_fresh_done *done);

/* Makes the rows put since the last commit visible, and reclaims memory. */
void sp_fresh_commit(sp_fresh *fresh);

/* Makes memory of rows that no state sees usable again. */
void sp_fresh_reclaim(sp_fresh *fresh);

/* ------------------------------------------------------------------- readers */

/* A pinned state, as one version of the model sees it. */
typedef struct sp_fresh_view {
	const sp_fresh *fresh;
	uint64_t state;
	int64_t after_step; /* rows of this step and earlier ones are in the tables below: not seen
			     */
} sp_fresh_view;

/* Valid until the slot is unpinned. */
void sp_fresh_pin(sp_fresh_view *out, sp_fresh *fresh, size_t slot, int64_t after_step);
void sp_fresh_unpin(sp_fresh *fresh, size_t slot);

enum { SP_FRESH_BLOCK = 32 }; /* keys whose memory is fetched together */

/*
 * found[i] = the row of keys[i], float32 [dim], valid while the view is; NULL: the view has none.
 * count <= SP_FRESH_BLOCK.
 */
void sp_fresh_find(const sp_fresh_rows *rows, const sp_fresh_view *view, const int64_t *keys,
		   size_t count, const float **found);

/* ------------------------------------------------------------------- numbers */

typedef struct sp_fresh_counters {
	uint64_t keys;    /* that have a row */
	uint64_t bytes;   /* of memory */
	uint64_t commits; /* states made */
} sp_fresh_counters;

void sp_fresh_count(const sp_fresh *fresh, sp_fresh_counters *out);

#endif
