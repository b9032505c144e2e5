#ifndef SP_STORAGE_FRESH_FRESH_H
#define SP_STORAGE_FRESH_FRESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Rows of a model's tables that arrive while the tables are in use, for example from a trainer's
 * stream, under multi-version concurrency control.
 *
 * One writer thread puts rows and commits them.  A commit makes a new state, in which all rows put
 * since the previous commit are visible, in all tables.  A reader pins the newest state and sees
 * that one until it unpins it, whatever is committed meanwhile.
 *
 * A visible row does not change.  A newer row of the same key has its own memory and a pointer to
 * the older row, whose memory is reused when no pinned state sees it any more.  So readers take no
 * lock and never wait, and a commit is one store.
 *
 * Threads: put, commit and reclaim are for the writer thread; pin and unpin for the owner of the
 * slot; everything else is thread-safe.
 */
typedef struct sp_fresh sp_fresh;

/* The rows of one table. */
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

/* Keys with their rows, in the layout of a message. */
typedef struct sp_fresh_entries {
	const char *bytes; /* [count] of key and dim float32, at any address */
	size_t count;
	size_t key_size;  /* 4: int32; 8: int64 */
	int64_t step;     /* global step of the training; SP_FRESH_NO_STEP: unknown */
	bool only_finite; /* drop rows with elements that are not finite */
} sp_fresh_entries;

/* Rows of unknown steps are newer than those of all checkpoints. */
#define SP_FRESH_NO_STEP INT64_MAX

/* Progress of put(), which adds to these. */
typedef struct sp_fresh_done {
	size_t entries;    /* put or dropped */
	size_t reserved;   /* of these dropped: keys -1 and -2 */
	size_t not_finite; /* of these dropped */
} sp_fresh_done;

/*
 * Puts entries, beginning with number done->entries; of a repeated key the last row stays.  SP_BUSY
 * if the memory limit is reached, or SP_NO_MEMORY: the call may be repeated with the same `done`
 * after reclaim().
 */
SP_MUST_CHECK sp_status sp_fresh_put(sp_fresh *fresh, size_t table, const sp_fresh_entries *entries,
				     sp_fresh_done *done);

/* Makes the rows put since the last commit visible; calls reclaim(). */
void sp_fresh_commit(sp_fresh *fresh);

/* Makes the memory of replaced rows that no pinned state sees reusable. */
void sp_fresh_reclaim(sp_fresh *fresh);

/* ------------------------------------------------------------------- readers */

/* A pinned state, seen by one version of the model. */
typedef struct sp_fresh_view {
	const sp_fresh *fresh;
	uint64_t state;
	int64_t after_step; /* rows of this step or earlier are not seen: the version has them */
} sp_fresh_view;

/* Valid until the slot is unpinned. */
void sp_fresh_pin(sp_fresh_view *out, sp_fresh *fresh, size_t slot, int64_t after_step);
void sp_fresh_unpin(sp_fresh *fresh, size_t slot);

enum { SP_FRESH_BLOCK = 32 }; /* keys whose memory is prefetched together */

/*
 * found[i]: the row of keys[i], float32 [dim], valid as long as the view; NULL: the view has none.
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
