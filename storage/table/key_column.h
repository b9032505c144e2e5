#ifndef SP_STORAGE_TABLE_KEY_COLUMN_H
#define SP_STORAGE_TABLE_KEY_COLUMN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A number for each of many keys, such as how often training has seen a key.  A column stores its
 * own keys: it may have keys that the table lacks, and does not depend on the layout of rows.
 *
 * A column may lie over another one, in which the keys that it lacks are looked up.  Keys -1 and -2
 * are never held.
 *
 * Memory: about 13 bytes a key, 17 if any number exceeds `absent` by 2^32 or more; 16 more while it
 * is built.
 *
 * Threads: immutable once created; retain and release are thread-safe.
 */
typedef struct sp_key_column sp_key_column;

/* Adds numbers[i] of keys[i]; the last number of a repeated key stays. */
typedef sp_status sp_key_column_take(void *to, const int64_t *keys, const int64_t *numbers,
				     size_t count, sp_error *err);

typedef struct sp_key_column_options {
	/*
	 * The number of a key that neither this column nor those below have.  Smaller numbers are
	 * raised to it.
	 */
	int64_t absent;

	sp_key_column *below;    /* the column below; a reference is taken; NULL: none */
	size_t threads;          /* threads to build with; 0 is 1 */
	const atomic_bool *stop; /* true: SP_BUSY soon; NULL: never */

	/*
	 * Passes all keys to `take`, in pieces of any size.  Called twice; must pass the same keys.
	 */
	sp_status (*feed)(void *context, sp_key_column_take *take, void *to, sp_error *err);
	void *context;
} sp_key_column_options;

/* Errors: those of feed(), SP_NO_MEMORY, SP_BUSY.  `options` are not needed afterwards. */
SP_MUST_CHECK sp_status sp_key_column_create(sp_key_column **out,
					     const sp_key_column_options *options, sp_error *err);

/* Adds a reference and returns `column`.  NULL is fine, here and below. */
sp_key_column *sp_key_column_retain(sp_key_column *column);
void sp_key_column_release(sp_key_column *column);

/* The lowest column of the stack; `column` itself if nothing is below. */
sp_key_column *sp_key_column_bottom(sp_key_column *column);

/* numbers[i] = the number of keys[i]. */
void sp_key_column_read(const sp_key_column *column, const int64_t *keys, size_t count,
			int64_t *numbers);

/* Bytes of memory, those of the columns below included. */
size_t sp_key_column_footprint(const sp_key_column *column);

/*
 * Upper bound of the bytes of a column of `keys` keys, without rounding to pages; SIZE_MAX on
 * overflow.
 */
size_t sp_key_column_expected_size(size_t keys);

#endif
