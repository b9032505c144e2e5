#ifndef SP_STORAGE_TABLE_KEY_COLUMN_H
#define SP_STORAGE_TABLE_KEY_COLUMN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * One number for each of many keys, beside the rows of a table: how often
 * training has seen a key, say.  It holds its keys itself, and so knows also
 * those that the table does not hold, and is the same wherever rows lie.
 *
 * A column may lie over another one, where the keys that it lacks are looked
 * for.  Keys -1 and -2 are never held (storage/rows/rows.h).
 *
 * Memory: about 13 bytes a key, 17 when some number is 2^32 or more above the one of
 * absent keys; 16 beside that while it is made.
 *
 * Threads: immutable once created; retain and release are thread-safe.
 */
typedef struct sp_key_column sp_key_column;

/* Takes numbers[i] of keys[i]; of a key that comes twice the later number counts. */
typedef sp_status sp_key_column_take(void *to, const int64_t *keys, const int64_t *numbers,
				     size_t count, sp_error *err);

typedef struct sp_key_column_options {
	/* The number of a key that neither it nor what it lies over has.  Lesser ones are
	 * raised to it. */
	int64_t absent;

	sp_key_column *below; /* what it lies over, of which it takes a reference; NULL: nothing */
	size_t threads;       /* that may place keys; 0 is 1 */
	const atomic_bool *stop; /* true: SP_BUSY soon; NULL: never */

	/* Hands all keys to `take`, in any pieces.  Called twice, for the same. */
	sp_status (*feed)(void *context, sp_key_column_take *take, void *to, sp_error *err);
	void *context;
} sp_key_column_options;

/* Errors are feed's, and SP_NO_MEMORY.  Nothing of `options` is needed afterwards. */
SP_MUST_CHECK sp_status sp_key_column_create(sp_key_column **out,
					     const sp_key_column_options *options, sp_error *err);

/* One reference more; gives `column`.  NULL is fine, here and below. */
sp_key_column *sp_key_column_retain(sp_key_column *column);
void sp_key_column_release(sp_key_column *column);

/* The lowest of those it lies over; itself when there is none. */
sp_key_column *sp_key_column_bottom(sp_key_column *column);

/* numbers[i] = that of keys[i]. */
void sp_key_column_read(const sp_key_column *column, const int64_t *keys, size_t count,
			int64_t *numbers);

/* Bytes of memory, those of what it lies over included. */
size_t sp_key_column_footprint(const sp_key_column *column);

/*
 * What one of so many keys takes at most, but for the rest of its last pages;
 * SIZE_MAX: too much to count.
 */
size_t sp_key_column_expected_size(size_t keys);

#endif
