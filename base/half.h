#ifndef SP_BASE_HALF_H
#define SP_BASE_HALF_H

#include <stdint.h>
#include <string.h>

/* Floats of 16 bits.  Threads: pure. */

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
