#ifndef SP_STORAGE_FORMAT_PACKED_ROW_H
#define SP_STORAGE_FORMAT_PACKED_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "storage/format/row_format.h"

/*
 * Packed rows: at least 32 float32 elements with the row's key in unused bits, so that a slot is as
 * large as the row: a row of 32 elements takes two cache lines instead of three.
 *
 * A float32 whose magnitude is between 2^-47 and 2^17, as of nearly all elements of embeddings,
 * needs only 6 of its 8 bits of exponent: the bits of its magnitude, read as an integer, minus
 * those of 2^-47 are below 2^29.  So two bits are free in each of the first 32 elements:
 *
 *   bits 0-28   the magnitude as an integer, minus that of 2^-47; 0 for a zero
 *   bits 29-30  of element i: bits 2i and 2i + 1 of ~key
 *   bit 31      the sign
 *
 * A slot of zero bytes has key -1, which no row has: it is empty.
 *
 * A row with any other value among its first 32 elements, such as 2^-47 itself, 200,000 or a NaN,
 * is an outlier.  It is stored elsewhere (storage/rows/rows.h), and its slot holds its key and its
 * number: bits 0-28 of element 0 are 1, those of elements 1 and 2 are the upper and the lower half
 * of the number.  A row whose element 0 would get 1 in these bits is an outlier, too.
 *
 * Numerics: nothing is rounded.  Threads: pure.
 */
enum { SP_PACKED_ELEMENTS = 32 };

#define SP_PACKED_LOW        UINT32_C(0x1fffffff)
#define SP_PACKED_KEY        UINT32_C(0x60000000)
#define SP_PACKED_MIN        UINT32_C(0x28000000) /* 2^-47 */
#define SP_PACKED_NO_OUTLIER UINT64_MAX
#define SP_PACKED_MAX_NUMBER ((UINT64_C(1) << 58) - 1)

typedef struct sp_packed_codec {
	/* decode() and accumulate() of rows that are not outliers; encode is NULL */
	sp_row_codec row;

	bool (*holds)(const void *row, int64_t key); /* whether the row has this key */

	/* elements [dim]; false for an outlier, which leaves `row` undefined */
	bool (*pack)(size_t dim, int64_t key, const void *elements, void *row);
} sp_packed_codec;

/* The fastest codec that this processor supports. */
const sp_packed_codec *sp_packed_codec_find(void);

int64_t sp_packed_row_key(const void *row);

/* Writes the slot of an outlier; number <= SP_PACKED_MAX_NUMBER. */
void sp_packed_row_refer(size_t dim, int64_t key, uint64_t number, void *row);

/* The number of the outlier that the slot refers to, or SP_PACKED_NO_OUTLIER. */
static inline uint64_t sp_packed_row_outlier(const void *row)
{
	uint32_t bits[3];

	memcpy(bits, row, sizeof(bits));
	if (__builtin_expect((bits[0] & SP_PACKED_LOW) != 1, 1))
		return SP_PACKED_NO_OUTLIER;
	return (uint64_t)(bits[1] & SP_PACKED_LOW) << 29 | (bits[2] & SP_PACKED_LOW);
}

/* Whether at most one in 32 rows of [count, dim] is an outlier, by a sample of a few hundred. */
bool sp_packed_row_suits(size_t dim, const void *rows, size_t count);

#endif
