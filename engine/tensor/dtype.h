#ifndef SP_ENGINE_DTYPE_H
#define SP_ENGINE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Element types, numbered as TensorFlow's DataType (types.proto).  A reference type in a model file
 * (number + 100) is read as its base type.
 *
 * In memory: BOOL is one byte, 0 or 1.  STRING is an sp_bytes.  HALF and BFLOAT16 are their 16 bits
 * in a uint16_t.  RESOURCE is a uint64_t, the index of a resource (engine/tensor/resource.h).
 * COMPLEX64 and COMPLEX128 are two floats or doubles.
 *
 * Files may use the numbers up to SP_FILE_DTYPE_MAX; the types above it are internal.
 */
typedef enum sp_dtype {
	SP_INVALID_DTYPE = 0,
	SP_FLOAT = 1,
	SP_DOUBLE = 2,
	SP_INT32 = 3,
	SP_UINT8 = 4,
	SP_INT16 = 5,
	SP_INT8 = 6,
	SP_STRING = 7,
	SP_COMPLEX64 = 8,
	SP_INT64 = 9,
	SP_BOOL = 10,
	SP_QINT8 = 11,
	SP_QUINT8 = 12,
	SP_QINT32 = 13,
	SP_BFLOAT16 = 14,
	SP_QINT16 = 15,
	SP_QUINT16 = 16,
	SP_UINT16 = 17,
	SP_COMPLEX128 = 18,
	SP_HALF = 19,
	SP_RESOURCE = 20,
	SP_VARIANT = 21,
	SP_UINT32 = 22,
	SP_UINT64 = 23,
	SP_OBJECT, /* internal: engine/tensor/object.h */
	SP_DTYPE_COUNT,
} sp_dtype;

#define SP_FILE_DTYPE_MAX SP_UINT64

/* Bytes of one element; 0 for SP_INVALID_DTYPE, SP_VARIANT, SP_OBJECT and unknown numbers. */
size_t sp_dtype_size(sp_dtype dtype);

/* "DT_FLOAT", ...; "DT_INVALID" for an unknown number.  Never NULL. */
const char *sp_dtype_name(sp_dtype dtype);

/* float, double, half, bfloat16 */
bool sp_dtype_is_floating(sp_dtype dtype);

/* int8 ... int64, uint8 ... uint64; no bool, no quantized types */
bool sp_dtype_is_integer(sp_dtype dtype);

static inline uint32_t sp_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float sp_float_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * IEEE 754 binary16 <-> binary32: exact to binary32, rounded to nearest even to binary16; NaN stays
 * NaN.  Free of branches, so that the compiler vectorises loops.  engine/kernels/narrow.h converts
 * whole arrays.
 */
static inline float sp_half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, bits = (uint32_t)(half & 0x7fff) << 13;
	uint32_t wide = bits + (112u << 23) + (bits >= 31u << 23 ? 112u << 23 : 0);
	/* Subnormals: put a leading one before the fraction, then subtract it. */
	float small = sp_float_from_bits(bits + (113u << 23)) - 0x1p-14f;

	return sp_float_from_bits((bits < 1u << 23 ? sp_float_bits(small) : wide) | sign);
}

static inline uint16_t sp_half_from_float(float value)
{
	uint32_t bits = sp_float_bits(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
	/* A carry out of the fraction increments the exponent, up to infinity. */
	uint32_t half = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
	/* Subnormal results: adding 0.5 aligns the last bit of the float with that of the half. */
	uint32_t small = sp_float_bits(sp_float_from_bits(size) + 0.5f) - (126u << 23);

	half = size < 113u << 23 ? small : half;
	half = size >= 143u << 23 ? 0x7c00 : half;
	half = size > 255u << 23 ? 0x7e00 : half;
	return (uint16_t)(half | sign);
}

/* bfloat16 <-> binary32: exact to binary32, rounded to nearest even to bfloat16; NaN stays NaN. */
static inline float sp_bfloat16_to_float(uint16_t value)
{
	return sp_float_from_bits((uint32_t)value << 16);
}

static inline uint16_t sp_bfloat16_from_float(float value)
{
	uint32_t bits = sp_float_bits(value), rounded = bits + 0x7fff + (bits >> 16 & 1);

	return (uint16_t)(((bits & 0x7fffffff) > 255u << 23 ? bits | 0x400000 : rounded) >> 16);
}

#endif
