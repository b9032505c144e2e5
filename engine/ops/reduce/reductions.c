#include <tgmath.h>

#include "engine/kernels/float_rows.h"
#include "engine/ops/reduce/reduce.h"

/*
 * Sum, Prod, Mean, Max, Min, EuclideanNorm, All and Any.
 *
 * Their results for no elements, in this order: 0, 1, NaN (0 for integers and complex numbers), the
 * lowest and the highest number of the type (infinities for floats), 0, true and false.
 */

/* Expands KERNEL(type, accumulator type, name, ...) for each type. */
#define FOR_FLOATING(KERNEL, ...)        \
	KERNEL(f32, float, __VA_ARGS__)  \
	KERNEL(f64, double, __VA_ARGS__) \
	KERNEL(f16, float, __VA_ARGS__)  \
	KERNEL(bf16, float, __VA_ARGS__)

#define FOR_COMPLEX(KERNEL, ...)                \
	KERNEL(c64, float complex, __VA_ARGS__) \
	KERNEL(c128, double complex, __VA_ARGS__)

/* All floating types but float, whose sums use SP_REDUCE_FLOAT_SUM. */
#define FOR_OTHERS(KERNEL, ...)          \
	KERNEL(f64, double, __VA_ARGS__) \
	KERNEL(f16, float, __VA_ARGS__)  \
	KERNEL(bf16, float, __VA_ARGS__)

/* Sums wrap around in an unsigned accumulator; a sum that is divided needs its sign (SIGNED). */
#define ACCUMULATE(type, acc, name, ...) SP_REDUCE_KERNEL(type, name, acc, __VA_ARGS__)
#define WRAPPING(type, name, ...)        SP_REDUCE_KERNEL(type, name, uint64_t, __VA_ARGS__)
#define SIGNED(type, name, sum, ...)                                                      \
	SP_REDUCE_KERNEL(type, name, int64_t, 0, x, (int64_t)((uint64_t)a + (uint64_t)b), \
			 __VA_ARGS__)

SP_REDUCE_FLOAT_SUM(sum, sp_float_sum, x, a)
FOR_OTHERS(ACCUMULATE, sum, 0, x, a + b, a)
FOR_COMPLEX(ACCUMULATE, sum, 0, x, a + b, a)
SP_FOR_INTEGER(WRAPPING, sum, 0, x, a + b, a)
SP_REDUCE_OP(Sum, sum, SP_TABLE_ARITHMETIC);

FOR_FLOATING(ACCUMULATE, product, 1, x, (a) * (b), a)
FOR_COMPLEX(ACCUMULATE, product, 1, x, (a) * (b), a)
SP_FOR_INTEGER(WRAPPING, product, 1, x, (a) * (b), a)
SP_REDUCE_OP(Prod, product, SP_TABLE_ARITHMETIC);

/* The mean of no elements is 0 / 0 = NaN. */
SP_REDUCE_FLOAT_SUM(mean, sp_float_sum, x, a / (float)n)
FOR_OTHERS(ACCUMULATE, mean, 0, x, a + b, a / n)
FOR_COMPLEX(ACCUMULATE, mean, 0, x, a + b, n == 0 ? 0 : a / n)
SP_FOR_SIGNED(SIGNED, mean, , n == 0 ? 0 : a / (int64_t)n)
SP_FOR_UNSIGNED(WRAPPING, mean, 0, x, a + b, n == 0 ? 0 : a / n)
SP_REDUCE_OP(Mean, mean, SP_TABLE_ARITHMETIC);

/* If any element is NaN, the result is NaN. */
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

SP_REDUCE_FLOAT_SUM(norm, sp_float_square_sum, (x) * (x), sqrtf(a))
FOR_OTHERS(ACCUMULATE, norm, 0, (x) * (x), a + b, sqrt(a))
FOR_COMPLEX(ACCUMULATE, norm, 0, x *conj(x), a + b, sqrt(a))

/* Integer norms are truncated; a sum that wrapped around to a negative number gives 0. */
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
