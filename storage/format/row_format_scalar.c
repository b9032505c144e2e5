#include <math.h>
#include <stdint.h>
#include <string.h>

#include "storage/format/row_format_internal.h"

/* The definition of the formats: all instruction sets give these results. */

static float element_at(const void *elements, size_t d)
{
	float element;

	memcpy(&element, (const char *)elements + d * sizeof(element), sizeof(element));
	return element;
}

static uint32_t bits_of(float element)
{
	uint32_t bits;

	memcpy(&bits, &element, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float element;

	memcpy(&element, &bits, sizeof(element));
	return element;
}

/* ------------------------------------------------------------------- fp32 */

static void fp32_encode(size_t dim, const void *elements, void *row)
{
	memcpy(row, elements, dim * sizeof(float));
}

static void fp32_decode(size_t dim, const void *row, float *elements)
{
	memcpy(elements, row, dim * sizeof(float));
}

static void fp32_accumulate(size_t dim, float weight, const void *row, float *sum)
{
	for (size_t d = 0; d < dim; d++)
		sum[d] += weight * element_at(row, d);
}

/* ------------------------------------------------------------------- fp16 */

/* Values below 2^-14 have fixed steps of 2^-24, which adding 0.5 leaves in the lowest bits. */
static uint16_t fp16_of(float element)
{
	uint32_t bits = bits_of(element), sign = bits >> 16 & 0x8000u;
	uint32_t magnitude = bits & 0x7fffffffu;

	if (magnitude > 0x7f800000u) /* NaN: keep the upper bits and make it quiet */
		return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
	if (magnitude >= 0x47800000u) /* 65536 and above */
		return (uint16_t)(sign | 0x7c00u);
	if (magnitude < 0x38800000u)
		return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
	/* A carry out of the mantissa raises the exponent, as it should. */
	magnitude += 0xfffu + (magnitude >> 13 & 1u);
	return (uint16_t)(sign | ((magnitude - 0x38000000u) >> 13));
}

static float float_of_fp16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;

	if (magnitude >= 0x7c00u) /* infinity, NaN */
		return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13 |
				(magnitude > 0x7c00u ? 0x400000u : 0));
	if (magnitude < 0x400u)
		return float_of(sign | bits_of((float)magnitude * 0x1p-24f));
	return float_of(sign | ((magnitude << 13) + 0x38000000u));
}

static uint16_t half_at(const void *row, size_t d)
{
	uint16_t half;

	memcpy(&half, (const char *)row + d * sizeof(half), sizeof(half));
	return half;
}

static void fp16_encode(size_t dim, const void *elements, void *row)
{
	for (size_t d = 0; d < dim; d++) {
		uint16_t half = fp16_of(element_at(elements, d));

		memcpy((char *)row + d * sizeof(half), &half, sizeof(half));
	}
}

static void fp16_decode(size_t dim, const void *row, float *elements)
{
	for (size_t d = 0; d < dim; d++)
		elements[d] = float_of_fp16(half_at(row, d));
}

static void fp16_accumulate(size_t dim, float weight, const void *row, float *sum)
{
	for (size_t d = 0; d < dim; d++)
		sum[d] += weight * float_of_fp16(half_at(row, d));
}

/* ------------------------------------------------------------------- bf16 */

static void bf16_encode(size_t dim, const void *elements, void *row)
{
	for (size_t d = 0; d < dim; d++) {
		uint32_t bits = bits_of(element_at(elements, d));
		uint16_t half;

		if ((bits & 0x7fffffffu) > 0x7f800000u)
			bits |= 0x400000u; /* else rounding could turn a NaN into an infinity */
		else
			bits += 0x7fffu + (bits >> 16 & 1u);
		half = (uint16_t)(bits >> 16);
		memcpy((char *)row + d * sizeof(half), &half, sizeof(half));
	}
}

static void bf16_decode(size_t dim, const void *row, float *elements)
{
	for (size_t d = 0; d < dim; d++)
		elements[d] = float_of((uint32_t)half_at(row, d) << 16);
}

static void bf16_accumulate(size_t dim, float weight, const void *row, float *sum)
{
	for (size_t d = 0; d < dim; d++)
		sum[d] += weight * float_of((uint32_t)half_at(row, d) << 16);
}

/* ------------------------------------------------------------- int8, int4 */

/* The extremes of a row; one of them is infinite if any element is not finite. */
static void extremes(size_t dim, const void *elements, float *greatest, float *least)
{
	*greatest = -INFINITY;
	*least = INFINITY;
	for (size_t d = 0; d < dim; d++) {
		float element = element_at(elements, d);

		if (isnan(element))
			element = INFINITY;
		*greatest = element > *greatest ? element : *greatest;
		*least = element < *least ? element : *least;
	}
}

static int code_of(float element, sp_row_scale scale, int least, int greatest)
{
	float code = scale.factor != 0.0f ? rintf(element * scale.factor) : 0.0f;

	if (code > (float)greatest)
		return greatest;
	if (code < (float)least)
		return least;
	return (int)code;
}

static void int8_encode(size_t dim, const void *elements, void *row)
{
	int8_t *codes = (int8_t *)row + sizeof(float);
	float greatest, least;
	sp_row_scale scale;

	extremes(dim, elements, &greatest, &least);
	scale = sp_row__int8_scale(greatest, least);
	memcpy(row, &scale.scale, sizeof(scale.scale));
	for (size_t d = 0; d < dim; d++)
		codes[d] = (int8_t)code_of(element_at(elements, d), scale, -SP_ROW_INT8_MAX,
					   SP_ROW_INT8_MAX);
}

static void int8_decode(size_t dim, const void *row, float *elements)
{
	const int8_t *codes = (const int8_t *)row + sizeof(float);
	float scale = element_at(row, 0);

	for (size_t d = 0; d < dim; d++)
		elements[d] = scale * (float)codes[d];
}

static void int8_accumulate(size_t dim, float weight, const void *row, float *sum)
{
	const int8_t *codes = (const int8_t *)row + sizeof(float);
	float scale = element_at(row, 0);

	for (size_t d = 0; d < dim; d++)
		sum[d] += weight * (scale * (float)codes[d]);
}

static void int4_encode(size_t dim, const void *elements, void *row)
{
	uint8_t *codes = (uint8_t *)row + sizeof(float);
	float greatest, least;
	sp_row_scale scale;

	extremes(dim, elements, &greatest, &least);
	scale = sp_row__int4_scale(greatest, least);
	memcpy(row, &scale.scale, sizeof(scale.scale));
	memset(codes, 0, dim / 2 + dim % 2);
	for (size_t d = 0; d < dim; d++) {
		int code = code_of(element_at(elements, d), scale, SP_ROW_INT4_MIN,
				   SP_ROW_INT4_MAX);

		codes[d / 2] |= (uint8_t)((code & 15) << (d % 2 * 4));
	}
}

static float int4_code(const uint8_t *codes, size_t d)
{
	int nibble = codes[d / 2] >> (d % 2 * 4) & 15;

	return (float)((nibble ^ 8) - 8);
}

static void int4_decode(size_t dim, const void *row, float *elements)
{
	const uint8_t *codes = (const uint8_t *)row + sizeof(float);
	float scale = element_at(row, 0);

	for (size_t d = 0; d < dim; d++)
		elements[d] = scale * int4_code(codes, d);
}

static void int4_accumulate(size_t dim, float weight, const void *row, float *sum)
{
	const uint8_t *codes = (const uint8_t *)row + sizeof(float);
	float scale = element_at(row, 0);

	for (size_t d = 0; d < dim; d++)
		sum[d] += weight * (scale * int4_code(codes, d));
}

const sp_row_codec sp_row__codecs_scalar[SP_ROW_FORMATS] = {
	[SP_ROW_FP32] = {fp32_encode, fp32_decode, fp32_accumulate},
	[SP_ROW_FP16] = {fp16_encode, fp16_decode, fp16_accumulate},
	[SP_ROW_BF16] = {bf16_encode, bf16_decode, bf16_accumulate},
	[SP_ROW_INT8] = {int8_encode, int8_decode, int8_accumulate},
	[SP_ROW_INT4] = {int4_encode, int4_decode, int4_accumulate},
};
