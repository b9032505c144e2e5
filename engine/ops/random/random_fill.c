#include "engine/ops/random/random_fill.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/*
 * Numbers are drawn in groups: four of up to 32 bits, or two of 64 bits.  A group uses 128 bits of
 * the stream.  A group of the truncated normal distribution uses as many as it needs and starts at
 * a fixed position (RESERVED_PER_NUMBER).
 */
typedef union group {
	uint16_t u16[4];
	uint32_t u32[4];
	uint64_t u64[2];
	float f32[4];
	double f64[2];
} group;

static size_t group_size(sp_dtype dtype)
{
	return sp_dtype_size(dtype) == 8 ? 2 : 4;
}

bool sp_random__supports(sp_random_kind kind, sp_dtype dtype)
{
	switch (kind) {
	case SP_RANDOM_UNIFORM:
	case SP_RANDOM_NORMAL:
	case SP_RANDOM_TRUNCATED:
		return sp_dtype_is_floating(dtype);
	case SP_RANDOM_INTEGER:
		return dtype == SP_INT32 || dtype == SP_INT64;
	case SP_RANDOM_BITS:
		return dtype == SP_INT32 || dtype == SP_INT64 || dtype == SP_UINT32 ||
		       dtype == SP_UINT64;
	}
	return false;
}

/* A uniform number in [0, 1), a multiple of 2^-23. */
static float unit_float(uint32_t bits)
{
	return (float)(bits & 0x7fffff) * 0x1p-23f;
}

/* A uniform number in [0, 1), a multiple of 2^-52. */
static double unit_double(uint32_t high, uint32_t low)
{
	return (double)((uint64_t)(high & 0xfffff) << 32 | low) * 0x1p-52;
}

static void draw_uniform(sp_dtype dtype, const uint32_t bits[4], group *out)
{
	if (dtype == SP_DOUBLE) {
		out->f64[0] = unit_double(bits[0], bits[1]);
		out->f64[1] = unit_double(bits[2], bits[3]);
		return;
	}
	for (int i = 0; i < 4; i++) {
		if (dtype == SP_FLOAT)
			out->f32[i] = unit_float(bits[i]);
		else if (dtype == SP_HALF)
			out->u16[i] = sp_half_from_float((float)(bits[i] & 0x3ff) * 0x1p-10f);
		else
			out->u16[i] = sp_bfloat16_from_float((float)(bits[i] & 0x7f) * 0x1p-7f);
	}
}

/* Two normal numbers from two uniform ones. */
static void box_muller_float(uint32_t a, uint32_t b, float out[2])
{
	float u = fmaxf(unit_float(a), 1e-7f); /* avoids log(0) */
	float radius = sqrtf(-2.0f * logf(u));
	float angle = (float)(2.0 * M_PI * (double)unit_float(b));

	sincosf(angle, &out[0], &out[1]);
	out[0] *= radius;
	out[1] *= radius;
}

static void box_muller_double(const uint32_t bits[4], double out[2])
{
	double u = fmax(unit_double(bits[0], bits[1]), 1e-7);
	double radius = sqrt(-2.0 * log(u));

	sincos(2 * M_PI * unit_double(bits[2], bits[3]), &out[0], &out[1]);
	out[0] *= radius;
	out[1] *= radius;
}

/* Sets element i of a group of float, half or bfloat16. */
static void set_float(sp_dtype dtype, group *out, size_t i, float value)
{
	if (dtype == SP_FLOAT)
		out->f32[i] = value;
	else if (dtype == SP_HALF)
		out->u16[i] = sp_half_from_float(value);
	else
		out->u16[i] = sp_bfloat16_from_float(value);
}

static void draw_normal(sp_dtype dtype, const uint32_t bits[4], group *out)
{
	if (dtype == SP_DOUBLE) {
		box_muller_double(bits, out->f64);
		return;
	}
	for (size_t i = 0; i < 4; i += 2) {
		float pair[2];

		box_muller_float(bits[i], bits[i + 1], pair);
		set_float(dtype, out, i, pair[0]);
		set_float(dtype, out, i + 1, pair[1]);
	}
}

static void draw_truncated_double(sp_philox *generator, group *out)
{
	for (size_t filled = 0; filled < 2;) {
		uint32_t bits[4];
		double pair[2];

		sp_philox__next(generator, bits);
		box_muller_double(bits, pair);
		for (int i = 0; i < 2 && filled < 2; i++)
			if (fabs(pair[i]) < 2.0)
				out->f64[filled++] = pair[i];
	}
}

static void draw_truncated(sp_dtype dtype, sp_philox *generator, group *out)
{
	if (dtype == SP_DOUBLE) {
		draw_truncated_double(generator, out);
		return;
	}
	for (size_t filled = 0; filled < 4;) {
		uint32_t bits[4];
		float pair[2];

		sp_philox__next(generator, bits);
		for (size_t half = 0; half < 4; half += 2) {
			box_muller_float(bits[half], bits[half + 1], pair);
			for (int i = 0; i < 2 && filled < 4; i++)
				if (fabsf(pair[i]) < 2.0f)
					set_float(dtype, out, filled++, pair[i]);
		}
	}
}

static void draw_integers(const sp_random_recipe *recipe, const uint32_t bits[4], group *out)
{
	uint64_t low = (uint64_t)recipe->low, range = (uint64_t)recipe->high - low;

	for (int i = 0; i < 4; i++) {
		if (recipe->dtype == SP_INT32)
			out->u32[i] = (uint32_t)low + (uint32_t)(bits[i] % range);
		else if (i < 2)
			out->u64[i] = low + ((uint64_t)bits[2 * i + 1] << 32 | bits[2 * i]) % range;
	}
}

static void draw(const sp_random_recipe *recipe, sp_philox *generator, group *out)
{
	uint32_t bits[4];

	if (recipe->kind == SP_RANDOM_TRUNCATED) {
		draw_truncated(recipe->dtype, generator, out);
		return;
	}
	sp_philox__next(generator, bits);
	switch (recipe->kind) {
	case SP_RANDOM_UNIFORM:
		draw_uniform(recipe->dtype, bits, out);
		return;
	case SP_RANDOM_NORMAL:
		draw_normal(recipe->dtype, bits, out);
		return;
	case SP_RANDOM_INTEGER:
		draw_integers(recipe, bits, out);
		return;
	default:
		memcpy(out, bits, sizeof(bits));
	}
}

void sp_random__fill(const sp_random_recipe *recipe, sp_philox generator, void *out, size_t count)
{
	/* The distance in the stream between the starts of two truncated groups, per number. */
	enum { RESERVED_PER_NUMBER = 256 / 4 };
	size_t size = sp_dtype_size(recipe->dtype), n = group_size(recipe->dtype);
	group drawn;

	assert(sp_random__supports(recipe->kind, recipe->dtype));
	for (size_t i = 0; i < count; i += n) {
		sp_philox place = generator;

		draw(recipe, &place, &drawn);
		memcpy((char *)out + i * size, &drawn, (count - i < n ? count - i : n) * size);
		sp_philox__skip(&generator,
				recipe->kind == SP_RANDOM_TRUNCATED ? n * RESERVED_PER_NUMBER : 1);
	}
}
