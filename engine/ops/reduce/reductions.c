#include <tgmath.h>

#include "engine/ops/ops.h"
#include "engine/ops/reduce/reduce_float.h"
#include "engine/ops/reduce/reduce_rounded.h"

/*
 * Sum, Prod, Mean, Max, Min, EuclideanNorm, All and Any.
 *
 * Of no elements: 0, 1, NaN (0 for integers and complex numbers), the lowest and the highest number
 * there is (infinities for floats), 0, true and false.
 */

/* KERNEL(type, accumulator, name, ...) for each type, with its accumulator. */
#define FOR_FLOATING(KERNEL, ...)        \
	KERNEL(f32, float, __VA_ARGS__)  \
	KERNEL(f64, double, __VA_ARGS__) \
	KERNEL(f16, float, __VA_ARGS__)  \
	KERNEL(bf16, float, __VA_ARGS__)

/* Not half and bfloat16, whose steps round (engine/ops/reduce/reduce_rounded.h), nor float. */
#define FOR_WIDE(KERNEL, ...)                   \
	KERNEL(f64, double, __VA_ARGS__)        \
	KERNEL(c64, float complex, __VA_ARGS__) \
	KERNEL(c128, double complex, __VA_ARGS__)

/* Unsigned, so that a sum that does not fit wraps around; what is divided needs its sign. */
#define ACCUMULATE(type, acc, name, ...) SP_REDUCE_KERNEL(type, name, acc, __VA_ARGS__)
#define WRAPPING(type, name, ...)        SP_REDUCE_KERNEL(type, name, uint64_t, __VA_ARGS__)
#define SIGNED(type, name, sum, ...)                                                      \
	SP_REDUCE_KERNEL(type, name, int64_t, 0, x, (int64_t)((uint64_t)a + (uint64_t)b), \
			 __VA_ARGS__)

/* A kernel of engine/ops/reduce/reduce_rounded.h, and what it makes of nothing. */
#define ROUNDED(type, name, kernel, nothing)                  \
	static void name##_##type(sp_reduce_plan *plan)       \
	{                                                     \
		sp_rounded__##kernel##_##type(plan);          \
	}                                                     \
	static void name##_empty_##type(sp_reduce_plan *plan) \
	{                                                     \
		uint16_t *out = plan->out;                    \
                                                              \
		for (size_t i = 0; i < plan->out_count; i++)  \
			out[i] = SP_STORE_##type(nothing);    \
	}

/* A kernel of engine/ops/reduce/reduce_float.h, and what it makes of nothing. */
#define FLOAT(name, kernel, nothing)                         \
	static void name##_f32(sp_reduce_plan *plan)         \
	{                                                    \
		kernel(plan);                                \
	}                                                    \
	static void name##_empty_f32(sp_reduce_plan *plan)   \
	{                                                    \
		float *out = plan->out;                      \
                                                             \
		for (size_t i = 0; i < plan->out_count; i++) \
			out[i] = nothing;                    \
	}

/* TensorFlow sums bfloat16 in float, but half in half. */
FLOAT(sum, sp_float__total, 0)
FOR_WIDE(ACCUMULATE, sum, 0, x, a + b, a)
ACCUMULATE(bf16, float, sum, 0, x, a + b, a)
ROUNDED(f16, sum, total, 0)
SP_FOR_INTEGER(WRAPPING, sum, 0, x, a + b, a)
SP_REDUCE_OP(Sum, sum, SP_TABLE_ARITHMETIC);

FLOAT(product, sp_float__product, 1)
FOR_WIDE(ACCUMULATE, product, 1, x, (a) * (b), a)
ROUNDED(f16, product, product, 1)
ROUNDED(bf16, product, product, 1)
SP_FOR_INTEGER(WRAPPING, product, 1, x, (a) * (b), a)
SP_REDUCE_OP(Prod, product, SP_TABLE_ARITHMETIC);

/* 0 / 0 is the NaN of an empty mean. */
FLOAT(mean, sp_float__mean, NAN)
ACCUMULATE(f64, double, mean, 0, x, a + b, a / n)
ROUNDED(f16, mean, mean, NAN)
ROUNDED(bf16, mean, mean, NAN)
ACCUMULATE(c64, float complex, mean, 0, x, a + b, n == 0 ? 0 : a / n)
ACCUMULATE(c128, double complex, mean, 0, x, a + b, n == 0 ? 0 : a / n)
SP_FOR_SIGNED(SIGNED, mean, , n == 0 ? 0 : a / (int64_t)n)
SP_FOR_UNSIGNED(WRAPPING, mean, 0, x, a + b, n == 0 ? 0 : a / n)
SP_REDUCE_OP(Mean, mean, SP_TABLE_ARITHMETIC);

/* A NaN anywhere is the result. */
#define LARGER  a > b || a != a ? a : b
#define SMALLER a < b || a != a ? a : b

FOR_FLOATING(ACCUMULATE, max, -INFINITY, x, LARGER, a)
FOR_FLOATING(ACCUMULATE, min, INFINITY, x, SMALLER, a)

#define EXTREMES(type, acc, least, most)                             \
	SP_REDUCE_KERNEL(type, max, acc, least, x, a > b ? a : b, a) \
	SP_REDUCE_KERNEL(type, min, acc, most, x, a < b ? a : b, a)

EXTREMES(i8, int8_t, INT8_MIN, INT8_MAX)
EXTREMES(i16, int16_t, INT16_MIN, INT16_MAX)
EXTREMES(i32, int32_t, INT32_MIN, INT32_MAX)
EXTREMES(i64, int64_t, INT64_MIN, INT64_MAX)
EXTREMES(u8, uint8_t, 0, UINT8_MAX)
EXTREMES(u16, uint16_t, 0, UINT16_MAX)
EXTREMES(u32, uint32_t, 0, UINT32_MAX)
EXTREMES(u64, uint64_t, 0, UINT64_MAX)
SP_REDUCE_OP(Max, max, SP_TABLE_NUMBER);
SP_REDUCE_OP(Min, min, SP_TABLE_NUMBER);

FLOAT(norm, sp_float__norm, 0)
ACCUMULATE(f64, double, norm, 0, (x) * (x), a + b, sqrt(a))
ACCUMULATE(f16, float, norm, 0, (x) * (x), a + b, sqrt(a))
ACCUMULATE(bf16, float, norm, 0, (x) * (x), a + b, sqrt(a))
ACCUMULATE(c64, float complex, norm, 0, x *conj(x), a + b, sqrt(a))
ACCUMULATE(c128, double complex, norm, 0, x *conj(x), a + b, sqrt(a))

/* Of integers cut off at the point.  A sum that wraps around to less than 0 has no root. */
#define ROOT(sum) ((sum) > 0 ? (uint64_t)sqrt((double)(sum)) : 0)
#define INTEGER_NORM(type, name)                                                   \
	SP_REDUCE_KERNEL(type, name, uint64_t, 0, (uint64_t)x *(uint64_t)x, a + b, \
			 ROOT(SP_STORE_##type(a)))
SP_FOR_INTEGER(INTEGER_NORM, norm)
SP_REDUCE_OP(EuclideanNorm, norm, SP_TABLE_ARITHMETIC);

SP_REDUCE_KERNEL(b8, all, bool, true, x, (a) && (b), a)
SP_REDUCE_KERNEL(b8, any, bool, false, x, a || b, a)
#define TABLE_BOOL(name) [SP_BOOL] = name##_b8
SP_REDUCE_OP(All, all, TABLE_BOOL);
SP_REDUCE_OP(Any, any, TABLE_BOOL);
