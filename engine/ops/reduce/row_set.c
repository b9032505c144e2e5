#include "engine/ops/reduce/row_set.h"

#include <string.h>

#include "base/hash.h"

/*
 * Elements other than strings are converted to uint64_t words; equal elements give equal words.  A
 * slot keeps half of its row's hash, so most unequal rows are rejected without reading them.
 */

bool sp_rows__comparable(sp_dtype dtype)
{
	return sp_dtype_is_integer(dtype) || sp_dtype_is_floating(dtype) || dtype == SP_BOOL ||
	       dtype == SP_STRING;
}

static inline uint64_t float_word(float value, bool *is_nan)
{
	uint32_t bits;

	*is_nan |= value != value;
	value += 0.0f; /* -0.0f becomes 0.0f */
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint64_t double_word(double value, bool *is_nan)
{
	uint64_t bits;

	*is_nan |= value != value;
	value += 0.0;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint64_t word_of(sp_dtype dtype, const void *data, size_t i, bool *is_nan)
{
	uint16_t half;

	switch (dtype) {
	case SP_INT64:
	case SP_UINT64:
		return ((const uint64_t *)data)[i];
	case SP_INT32:
	case SP_UINT32:
		return ((const uint32_t *)data)[i];
	case SP_INT16:
	case SP_UINT16:
		return ((const uint16_t *)data)[i];
	case SP_FLOAT:
		return float_word(((const float *)data)[i], is_nan);
	case SP_DOUBLE:
		return double_word(((const double *)data)[i], is_nan);
	case SP_HALF:
		half = ((const uint16_t *)data)[i];
		*is_nan |= (half & 0x7fff) > 0x7c00;
		return half;
	case SP_BFLOAT16:
		half = ((const uint16_t *)data)[i];
		*is_nan |= (half & 0x7fff) > 0x7f80;
		return half;
	default:
		return ((const uint8_t *)data)[i];
	}
}

/* The XOR of both halves of the 128-bit product. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Adds `word` to `hash` with two multiplications by secret words.  SipHash would cost more than the
 * table lookup.
 */
static inline uint64_t mix(const uint64_t key[2], uint64_t hash, uint64_t word)
{
	hash = fold(hash ^ word ^ key[0], key[1] | 1);
	return fold(hash ^ key[1], key[0] | 1);
}

/* The index in `data` of element k of row i. */
static inline size_t place(const sp_rows *rows, size_t i, size_t k)
{
	return (k / rows->inner * rows->n + i) * rows->inner + k % rows->inner;
}

static uint64_t hash_of(const uint64_t key[2], const sp_rows *rows, size_t i, bool *is_nan)
{
	size_t size = rows->outer * rows->inner;
	uint64_t hash = 0;

	for (size_t k = 0; k < size; k++) {
		size_t at = size == 1 ? i : place(rows, i, k);
		uint64_t word;

		if (rows->dtype == SP_STRING) {
			sp_bytes text = ((const sp_bytes *)rows->data)[at];

			word = sp_siphash13(key, text.data, text.size);
		} else {
			word = word_of(rows->dtype, rows->data, at, is_nan);
		}
		hash = mix(key, hash, word);
	}
	return hash;
}

/* Compares two rows without NaN. */
static bool equal(const sp_rows *a, size_t i, const sp_rows *b, size_t j)
{
	size_t size = a->outer * a->inner;
	bool is_nan = false;

	for (size_t k = 0; k < size; k++) {
		size_t x = size == 1 ? i : place(a, i, k), y = size == 1 ? j : place(b, j, k);

		if (a->dtype == SP_STRING) {
			if (!sp_bytes_equal(((const sp_bytes *)a->data)[x],
					    ((const sp_bytes *)b->data)[y]))
				return false;
		} else if (word_of(a->dtype, a->data, x, &is_nan) !=
			   word_of(b->dtype, b->data, y, &is_nan)) {
			return false;
		}
	}
	return true;
}

sp_status sp_row_set__init(sp_row_set *set, const sp_call *call, const sp_rows *rows)
{
	size_t slots = 4;

	if (rows->n > INT32_MAX)
		return sp_call_invalid(call, "%zu rows are too many to compare", rows->n);
	while (slots < 2 * rows->n)
		slots *= 2;
	set->rows = *rows;
	set->mask = slots - 1;
	SP_CALL_ARRAY(set->slots, call, slots);
	memset(set->slots, 0, slots * sizeof(*set->slots));
	return SP_OK;
}

/* The slot of a row equal to row i of `other`, or the free slot for it. */
static uint64_t *find(const sp_row_set *set, const sp_rows *other, size_t i, uint64_t hash)
{
	for (size_t at = hash & set->mask;; at = (at + 1) & set->mask) {
		uint64_t slot = set->slots[at];

		if (slot == 0 ||
		    (slot >> 32 == hash >> 32 && equal(&set->rows, (uint32_t)slot - 1, other, i)))
			return &set->slots[at];
	}
}

size_t sp_row_set__number(sp_row_set *set, uint32_t *ids, uint32_t *firsts)
{
	const uint64_t *key = sp_hash_process_key();
	size_t count = 0;

	for (size_t i = 0; i < set->rows.n; i++) {
		bool is_nan = false;
		uint64_t hash = hash_of(key, &set->rows, i, &is_nan);
		uint64_t *slot = is_nan ? NULL : find(set, &set->rows, i, hash);

		if (slot != NULL && *slot != 0) {
			ids[i] = ids[(uint32_t)*slot - 1];
			continue;
		}
		if (slot != NULL)
			*slot = (hash >> 32 << 32) | (i + 1);
		firsts[count] = (uint32_t)i;
		ids[i] = (uint32_t)count++;
	}
	return count;
}

bool sp_row_set__has(const sp_row_set *set, const sp_rows *other, size_t i)
{
	bool is_nan = false;
	uint64_t hash = hash_of(sp_hash_process_key(), other, i, &is_nan);

	return !is_nan && *find(set, other, i, hash) != 0;
}
