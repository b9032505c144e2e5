#ifndef SP_STORAGE_FORMAT_ROW_FORMAT_H
#define SP_STORAGE_FORMAT_ROW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How a row of float32 elements is stored.  All numbers are little endian.
 *
 *   fp32   float32 [dim]
 *   fp16   IEEE 754 binary16 [dim], rounded to nearest even, overflow to infinity
 *   bf16   the upper half of a float32 [dim], rounded to nearest even
 *   int8   float32 scale, int8 code [dim]:   element = scale * code, scale = max|element| / 127
 *   int4   float32 scale, uint8 [(dim + 1) / 2]: two codes of 4 bits in a byte, two's
 *          complement, the lower nibble first; |scale| = max|element| / 8
 *
 * Codes are rounded to nearest even and lie in -127..127 and -8..7; the scale of
 * int4 has the sign that gives the largest element the code -8.  A row whose
 * largest magnitude is below 2^-100 is stored as zeros; a row with a NaN or an
 * infinity decodes to NaN throughout in int8 and int4.
 *
 * Numerics: decoding and accumulating give the same bits on every instruction set: a product is
 * rounded before it is added.  So does encoding, except for the payload of NaNs.
 *
 * Threads: pure.
 */
typedef enum sp_row_format {
	SP_ROW_FP32,
	SP_ROW_FP16,
	SP_ROW_BF16,
	SP_ROW_INT8,
	SP_ROW_INT4,
	SP_ROW_FORMATS, /* how many there are */
} sp_row_format;

/* "fp32", "fp16", "bf16", "int8", "int4". */
const char *sp_row_format_name(sp_row_format format);

/* Bytes of a stored row; it needs no alignment. */
size_t sp_row_format_size(sp_row_format format, size_t dim);

/* The functions for one format, with the best instruction set of this processor. */
typedef struct sp_row_codec {
	/* elements: float32 [dim], at any address; row: sp_row_format_size() bytes. */
	void (*encode)(size_t dim, const void *elements, void *row);

	/* elements [dim] */
	void (*decode)(size_t dim, const void *row, float *elements);

	/* sum[d] += weight * element[d] */
	void (*accumulate)(size_t dim, float weight, const void *row, float *sum);
} sp_row_codec;

const sp_row_codec *sp_row_codec_find(sp_row_format format);

#endif
