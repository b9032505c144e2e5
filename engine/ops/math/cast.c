#include "engine/ops/math/cast.h"

#include <string.h>

#include "engine/kernels/narrow.h"
#include "engine/ops/ops.h"
#include "engine/ops/array/element_types.h"

/* C leaves conversions out of range undefined, so they get the result of x86 explicitly. */
static inline int32_t to_i32(double x)
{
	return x > -0x1p31 - 1 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
}

static inline int64_t to_i64(double x)
{
	return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t to_u64(double x)
{
	if (x >= 0x1p63 && x < 0x1p64)
		return (uint64_t)x;
	return (uint64_t)to_i64(x);
}

/* Conversions of a value x of a floating type. */
#define TO_f32(x)  (x)
#define TO_f64(x)  (x)
#define TO_f16(x)  ((float)(x))
#define TO_bf16(x) ((float)(x))
#define TO_c64(x)  ((float)(x))
#define TO_c128(x) ((double)(x))
#define TO_i8(x)   to_i32(x)
#define TO_i16(x)  to_i32(x)
#define TO_i32(x)  to_i32(x)
#define TO_i64(x)  to_i64(x)
#define TO_u8(x)   to_i32(x)
#define TO_u16(x)  to_i32(x)
#define TO_u32(x)  to_i64(x)
#define TO_u64(x)  to_u64(x)
#define TO_b8(x)   ((x) != 0)

#define CAST(to_type, from_type, expression)                                               \
	static void from_##from_type##_##to_type(const void *from, void *to, size_t count) \
	{                                                                                  \
		const sp_element_##from_type *elements = from;                             \
		sp_element_##to_type *results = to;                                        \
                                                                                           \
		for (size_t i = 0; i < count; i++) {                                       \
			sp_value_##from_type x = SP_LOAD_##from_type(elements[i]);         \
                                                                                           \
			results[i] = SP_STORE_##to_type(expression);                       \
		}                                                                          \
	}

#define CAST_FLOATING(to_type, from_type)  CAST(to_type, from_type, TO_##to_type(x))
#define CAST_INTEGER(to_type, from_type)   CAST(to_type, from_type, x)
#define CAST_REAL_PART(to_type, from_type) CAST(to_type, from_type, REAL_TO_##to_type(x))

/* Conversions of a complex value x. */
#define REAL_TO_f32(x)  creal(x)
#define REAL_TO_f64(x)  creal(x)
#define REAL_TO_f16(x)  ((float)creal(x))
#define REAL_TO_bf16(x) ((float)creal(x))
#define REAL_TO_c64(x)  (x)
#define REAL_TO_c128(x) (x)
#define REAL_TO_i8(x)   to_i32(creal(x))
#define REAL_TO_i16(x)  to_i32(creal(x))
#define REAL_TO_i32(x)  to_i32(creal(x))
#define REAL_TO_i64(x)  to_i64(creal(x))
#define REAL_TO_u8(x)   to_i32(creal(x))
#define REAL_TO_u16(x)  to_i32(creal(x))
#define REAL_TO_u32(x)  to_i64(creal(x))
#define REAL_TO_u64(x)  to_u64(creal(x))
#define REAL_TO_b8(x)   (creal(x) != 0)

#define CASTS(CAST_ONE, from_type)             \
	SP_FOR_ARITHMETIC(CAST_ONE, from_type) \
	CAST_ONE(b8, from_type)

CASTS(CAST_FLOATING, f32)
CASTS(CAST_FLOATING, f64)
CASTS(CAST_FLOATING, f16)
CASTS(CAST_FLOATING, bf16)
CASTS(CAST_REAL_PART, c64)
CASTS(CAST_REAL_PART, c128)
CASTS(CAST_INTEGER, i8)
CASTS(CAST_INTEGER, i16)
CASTS(CAST_INTEGER, i32)
CASTS(CAST_INTEGER, i64)
CASTS(CAST_INTEGER, u8)
CASTS(CAST_INTEGER, u16)
CASTS(CAST_INTEGER, u32)
CASTS(CAST_INTEGER, u64)
CASTS(CAST_INTEGER, b8)

#define CASTS_FROM(from_type)                                                            \
	{                                                                                \
		SP_TABLE_ARITHMETIC(from_##from_type), [SP_BOOL] = from_##from_type##_b8 \
	}

static sp_cast_fn *const casts[SP_DTYPE_COUNT][SP_DTYPE_COUNT] = {
	[SP_FLOAT] = CASTS_FROM(f32),     [SP_DOUBLE] = CASTS_FROM(f64),
	[SP_HALF] = CASTS_FROM(f16),      [SP_BFLOAT16] = CASTS_FROM(bf16),
	[SP_COMPLEX64] = CASTS_FROM(c64), [SP_COMPLEX128] = CASTS_FROM(c128),
	[SP_INT8] = CASTS_FROM(i8),       [SP_INT16] = CASTS_FROM(i16),
	[SP_INT32] = CASTS_FROM(i32),     [SP_INT64] = CASTS_FROM(i64),
	[SP_UINT8] = CASTS_FROM(u8),      [SP_UINT16] = CASTS_FROM(u16),
	[SP_UINT32] = CASTS_FROM(u32),    [SP_UINT64] = CASTS_FROM(u64),
	[SP_BOOL] = CASTS_FROM(b8),
};

static void half_to_float(const void *from, void *to, size_t count)
{
	sp_widen_half(from, to, count);
}

static void bfloat16_to_float(const void *from, void *to, size_t count)
{
	sp_widen_bfloat16(from, to, count);
}

static void float_to_half(const void *from, void *to, size_t count)
{
	sp_narrow_half(from, to, count);
}

static void float_to_bfloat16(const void *from, void *to, size_t count)
{
	sp_narrow_bfloat16(from, to, count);
}

sp_cast_fn *sp_cast__find(sp_dtype from, sp_dtype to)
{
	if (to == SP_FLOAT && from == SP_HALF)
		return half_to_float;
	if (to == SP_FLOAT && from == SP_BFLOAT16)
		return bfloat16_to_float;
	if (from == SP_FLOAT && to == SP_HALF)
		return float_to_half;
	if (from == SP_FLOAT && to == SP_BFLOAT16)
		return float_to_bfloat16;
	return from == to ? NULL : casts[from][to];
}

/*
 * Casts with Truncate = true: the mantissa bits that do not fit are cleared first, so that the
 * rounding of SP_STORE_... changes nothing.  TensorFlow truncates for these four pairs only.
 */
static float truncate_float(float x, uint32_t mask)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits &= mask;
	memcpy(&x, &bits, sizeof(bits));
	return x;
}

static double truncate_double(double x, uint64_t mask)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits &= mask;
	memcpy(&x, &bits, sizeof(bits));
	return x;
}

#define CUT_OFF(from_type, to_type, cut, bits)                                            \
	static void cut_##from_type##_##to_type(const void *from, void *to, size_t count) \
	{                                                                                 \
		const sp_element_##from_type *elements = from;                            \
		sp_element_##to_type *results = to;                                       \
                                                                                          \
		for (size_t i = 0; i < count; i++)                                        \
			results[i] = SP_STORE_##to_type((float)cut(elements[i], bits));   \
	}

CUT_OFF(f64, f32, truncate_double, ~((UINT64_C(1) << 29) - 1))
CUT_OFF(f64, f16, truncate_double, ~((UINT64_C(1) << 42) - 1))
CUT_OFF(f32, f16, truncate_float, ~((UINT32_C(1) << 13) - 1))
CUT_OFF(f32, bf16, truncate_float, ~((UINT32_C(1) << 16) - 1))

static sp_cast_fn *find_cutting(sp_dtype from, sp_dtype to)
{
	if (from == SP_DOUBLE && to == SP_FLOAT)
		return cut_f64_f32;
	if (from == SP_DOUBLE && to == SP_HALF)
		return cut_f64_f16;
	if (from == SP_FLOAT && to == SP_HALF)
		return cut_f32_f16;
	if (from == SP_FLOAT && to == SP_BFLOAT16)
		return cut_f32_bf16;
	return sp_cast__find(from, to);
}

typedef struct cast_state {
	sp_cast_fn *kernel; /* NULL: the types are the same */
	sp_dtype to;
} cast_state;

static sp_status prepare_cast(sp_prepare *prepare, sp_error *err)
{
	cast_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype from;
	bool truncate;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "Truncate", false, &truncate, err));
	SP_TRY(sp_node_attr_type(prepare->node, "DstT", SP_INVALID_DTYPE, &state->to, err));
	from = prepare->in_dtypes[0];
	state->kernel = truncate ? find_cutting(from, state->to) : sp_cast__find(from, state->to);
	if (state->kernel == NULL && from != state->to)
		return sp_error_set(err, SP_UNSUPPORTED, "Cast of %s to %s is not supported",
				    sp_dtype_name(from), sp_dtype_name(state->to));
	return sp_prepare_outputs(prepare, 1, state->to, err);
}

static sp_status run_cast(const sp_call *call)
{
	const cast_state *state = call->state;
	const sp_tensor *x = call->in[0];

	if (state->kernel == NULL) {
		sp_call_forward(call, 0, 0, &x->shape);
		return SP_OK;
	}
	SP_TRY(sp_call_output_over(call, 0, 0, state->to));
	state->kernel(x->data, call->out[0]->data, x->count);
	return SP_OK;
}

SP_DEFINE_OP(Cast, NULL, 0, prepare_cast, run_cast);
