#include "engine/dtype.h"

#include <string.h>

#include "base/bytes.h"

static const struct {
	const char *name;
	size_t size;
} dtypes[SP_DTYPE_COUNT] = {
	[SP_INVALID_DTYPE] = {"DT_INVALID", 0},
	[SP_FLOAT] = {"DT_FLOAT", 4},
	[SP_DOUBLE] = {"DT_DOUBLE", 8},
	[SP_INT32] = {"DT_INT32", 4},
	[SP_UINT8] = {"DT_UINT8", 1},
	[SP_INT16] = {"DT_INT16", 2},
	[SP_INT8] = {"DT_INT8", 1},
	[SP_STRING] = {"DT_STRING", sizeof(sp_bytes)},
	[SP_COMPLEX64] = {"DT_COMPLEX64", 8},
	[SP_INT64] = {"DT_INT64", 8},
	[SP_BOOL] = {"DT_BOOL", 1},
	[SP_QINT8] = {"DT_QINT8", 1},
	[SP_QUINT8] = {"DT_QUINT8", 1},
	[SP_QINT32] = {"DT_QINT32", 4},
	[SP_BFLOAT16] = {"DT_BFLOAT16", 2},
	[SP_QINT16] = {"DT_QINT16", 2},
	[SP_QUINT16] = {"DT_QUINT16", 2},
	[SP_UINT16] = {"DT_UINT16", 2},
	[SP_COMPLEX128] = {"DT_COMPLEX128", 16},
	[SP_HALF] = {"DT_HALF", 2},
	[SP_RESOURCE] = {"DT_RESOURCE", 8},
	[SP_VARIANT] = {"DT_VARIANT", 0},
	[SP_UINT32] = {"DT_UINT32", 4},
	[SP_UINT64] = {"DT_UINT64", 8},
};

static bool is_known(sp_dtype dtype)
{
	return (unsigned)dtype < SP_DTYPE_COUNT;
}

size_t sp_dtype_size(sp_dtype dtype)
{
	return is_known(dtype) ? dtypes[dtype].size : 0;
}

const char *sp_dtype_name(sp_dtype dtype)
{
	return is_known(dtype) ? dtypes[dtype].name : "DT_INVALID";
}

bool sp_dtype_is_floating(sp_dtype dtype)
{
	return dtype == SP_FLOAT || dtype == SP_DOUBLE || dtype == SP_HALF || dtype == SP_BFLOAT16;
}

bool sp_dtype_is_integer(sp_dtype dtype)
{
	switch (dtype) {
	case SP_INT8:
	case SP_INT16:
	case SP_INT32:
	case SP_INT64:
	case SP_UINT8:
	case SP_UINT16:
	case SP_UINT32:
	case SP_UINT64:
		return true;
	default:
		return false;
	}
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

float sp_half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t fraction = half & 0x3ff;

	if (exponent == 31) /* infinity, NaN */
		return float_of(sign | 0x7f800000u | fraction << 13);
	if (exponent != 0)
		return float_of(sign | (exponent + 112) << 23 | fraction << 13);
	/* Zero and subnormals: fraction * 2^-24, exact in a float. */
	return sign != 0 ? -(float)fraction * 0x1p-24f : (float)fraction * 0x1p-24f;
}

/* Drops the lowest `shift` bits of `value`, rounding to nearest, ties to even. */
static uint32_t round_off(uint32_t value, int shift)
{
	uint32_t half = 1u << (shift - 1);
	uint32_t rest = value & ((1u << shift) - 1);
	uint32_t kept = value >> shift;

	return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t sp_half_from_float(float value)
{
	uint32_t bits = bits_of(value);
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t magnitude = bits & 0x7fffffff;
	int exponent = (int)(magnitude >> 23) - 127;

	if (magnitude > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00);
	if (exponent >= 16)
		return (uint16_t)(sign | 0x7c00);
	if (exponent >= -14) /* a carry out of the fraction rightly raises the exponent */
		return (uint16_t)(sign | (round_off(magnitude, 13) - (112u << 10)));
	if (exponent >= -25) /* subnormal: the fraction with its leading one, shifted down */
		return (uint16_t)(sign |
				  round_off((magnitude & 0x7fffff) | 0x800000, -exponent - 1));
	return sign;
}

float sp_bfloat16_to_float(uint16_t value)
{
	return float_of((uint32_t)value << 16);
}

uint16_t sp_bfloat16_from_float(float value)
{
	uint32_t bits = bits_of(value);

	if ((bits & 0x7fffffff) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)round_off(bits, 16);
}
