#ifndef SP_MODEL_LOADER_CHECKPOINT_KEY_NUMBERS_H
#define SP_MODEL_LOADER_CHECKPOINT_KEY_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/tensor/dtype.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * Reads two tensors of an EmbeddingVariable side by side: its keys, and an int64 for each key, such
 * as NAME-keys and NAME-freqs.  The second one may be shorter or missing: the other keys then have
 * no number.
 */
typedef struct sp_key_numbers {
	const sp_bundle *bundle;
	const char *name;    /* of the variable or part */
	const char *keys;    /* suffix of the first tensor's name: "-keys" */
	const char *numbers; /* suffix of the second one's: "-freqs" */
	sp_dtype key_dtype;
} sp_key_numbers;

/* `count` keys, and the numbers of the first `known` of them. */
typedef struct sp_key_numbers_piece {
	const int64_t *keys;
	const int64_t *numbers; /* [known] */
	size_t count;
	size_t known;
} sp_key_numbers_piece;

enum { SP_KEY_NUMBERS_PIECE = 4096 }; /* largest number of keys in a piece */

typedef sp_status sp_key_numbers_take(void *context, const sp_key_numbers_piece *piece,
				      sp_error *err);

/* SP_CORRUPT unless `keys` is a vector of key_dtype and `numbers` (NULL is fine) one of int64. */
SP_MUST_CHECK sp_status sp_key_numbers_check(const sp_bundle *bundle, const sp_bundle_entry *keys,
					     sp_dtype key_dtype, const sp_bundle_entry *numbers,
					     sp_error *err);

/*
 * Hands all of it to `take`, piece by piece, in order; nothing when there are no
 * keys.  What was taken counts after SP_OK only.  SP_CORRUPT when the tensors
 * contradict each other or their checksums; else `take`'s errors, SP_IO and
 * SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_key_numbers_read(const sp_key_numbers *from, sp_key_numbers_take *take,
					    void *context, sp_error *err);

/* How many keys the index tells of; 0 when it has no such tensor. */
SP_MUST_CHECK sp_status sp_key_numbers_count(const sp_key_numbers *from, size_t *count,
					     sp_error *err);

#endif
