#ifndef SP_STORAGE_FORMAT_ROW_FORMAT_INTERNAL_H
#define SP_STORAGE_FORMAT_ROW_FORMAT_INTERNAL_H

#include "storage/format/row_format.h"

/* Codes of int8 are -127..127, those of int4 -8..7. */
enum { SP_ROW_INT8_MAX = 127, SP_ROW_INT4_MIN = -8, SP_ROW_INT4_MAX = 7 };

/* The code of an element is element * factor, rounded; code * scale decodes it. */
typedef struct sp_row_scale {
	float scale;
	float factor; /* 0: every code is 0 */
} sp_row_scale;

/* Rows of smaller magnitude are stored as zeros: the reciprocal of the scale would overflow. */
#define SP_ROW_LEAST 0x1p-100f

/* `greatest` and `least` are the extremes of a row; one is not finite if any element is not. */
sp_row_scale sp_row__int8_scale(float greatest, float least);
sp_row_scale sp_row__int4_scale(float greatest, float least);

/* One codec for each format.  The scalar ones define the results of all others. */
extern const sp_row_codec sp_row__codecs_scalar[SP_ROW_FORMATS];
#if defined(__x86_64__)
extern const sp_row_codec sp_row__codecs_avx2[SP_ROW_FORMATS];
extern const sp_row_codec sp_row__codecs_avx512[SP_ROW_FORMATS];

/* Encoders of both the AVX2 and the AVX-512 codecs. */
void sp_row__fp32_encode_avx2(size_t dim, const void *elements, void *row);
void sp_row__fp16_encode_avx2(size_t dim, const void *elements, void *row);
void sp_row__bf16_encode_avx2(size_t dim, const void *elements, void *row);
void sp_row__int8_encode_avx2(size_t dim, const void *elements, void *row);
void sp_row__int4_encode_avx2(size_t dim, const void *elements, void *row);
#endif

#endif
