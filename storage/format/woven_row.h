#ifndef SP_STORAGE_FORMAT_WOVEN_ROW_H
#define SP_STORAGE_FORMAT_WOVEN_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "storage/format/row_format.h"

/*
 * A row of at least 32 float32 elements that carries its key, so that it takes
 * not one byte more than the row: 32 elements and a key are two cache lines, and
 * with the key beside them they would be three.
 *
 * A float32 between 2^-47 and 2^17, as good as all elements of embeddings are,
 * needs 6 of its 8 bits of exponent.  Taken as an integer without its sign it is
 * below 2^29 once that of 2^-47 is subtracted; so two bits are free in each of
 * the first 32 elements:
 *
 *   bits 0-28   the magnitude as an integer, less that of 2^-47; 0 for a zero
 *   bits 29-30  of element i: bits 2i and 2i + 1 of ~key
 *   bit 31      the sign
 *
 * Memory of zeros is a row of zeros with the key -1, which nothing has: an empty
 * slot.
 *
 * A row with another element among the first 32, such as 2^-47 itself, 200,000
 * or a NaN, is an outlier.  It is kept elsewhere, and its place holds its key and
 * its number: bits 0-28 of element 0 are 1, those of element 1 are the upper and
 * those of element 2 the lower half of the number.  So the magnitude of element
 * 0 of other rows is not the least above 2^-47.
 *
 * Numerics: nothing is rounded.  Threads: pure.
 */
enum { SP_WOVEN_ELEMENTS = 32 };

#define SP_WOVEN_LOW         UINT32_C(0x1fffffff)
#define SP_WOVEN_KEY         UINT32_C(0x60000000)
#define SP_WOVEN_LEAST       UINT32_C(0x28000000) /* 2^-47 */
#define SP_WOVEN_NO_OUTLIER  UINT64_MAX
#define SP_WOVEN_MOST_NUMBER ((UINT64_C(1) << 58) - 1)

typedef struct sp_woven_codec {
	/* decode() and accumulate() of rows that are no outliers; encode is NULL. */
	sp_row_codec row;

	bool (*holds)(const void *row, int64_t key); /* whether that is its key */

	/* elements [dim]; false when they are an outlier: then `row` is not to be used. */
	bool (*weave)(size_t dim, int64_t key, const void *elements, void *row);
} sp_woven_codec;

/* For the processor at hand. */
const sp_woven_codec *sp_woven_codec_find(void);

int64_t sp_woven_row_key(const void *row);

/* What stands in the place of an outlier; number <= SP_WOVEN_MOST_NUMBER. */
void sp_woven_row_refer(size_t dim, int64_t key, uint64_t number, void *row);

/* The number of the outlier whose place this is, or SP_WOVEN_NO_OUTLIER. */
static inline uint64_t sp_woven_row_outlier(const void *row)
{
	uint32_t bits[3];

	memcpy(bits, row, sizeof(bits));
	if (__builtin_expect((bits[0] & SP_WOVEN_LOW) != 1, 1))
		return SP_WOVEN_NO_OUTLIER;
	return (uint64_t)(bits[1] & SP_WOVEN_LOW) << 29 | (bits[2] & SP_WOVEN_LOW);
}

/*
 * Whether weaving pays for rows such as these [count, dim]: no more than one in
 * 32 is an outlier.  Looks at a few hundred of them.
 */
bool sp_woven_row_suits(size_t dim, const void *rows, size_t count);

#endif
