#include <string.h>
#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops.h"
#include "engine/ops/binary.h"
#include "engine/ops/unary.h"

/*
 * Quotients and remainders.  An integer divided by zero is an error; a float
 * follows IEEE 754.
 *
 * The most negative integer divided by -1 does not fit, and traps on some
 * processors: -1 is never divided by, and the result wraps around.
 */
static const char *zero_divisor(const sp_tensor *right)
{
	static const char zero[8];
	size_t size = sp_dtype_size(right->dtype);
	const char *at = right->data;

	if (!sp_dtype_is_integer(right->dtype))
		return NULL;
	for (size_t i = 0; i < right->count; i++)
		if (memcmp(at + i * size, zero, size) == 0)
			return "integer division by zero";
	return NULL;
}

#define QUOTIENT(a, b)  (b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b))
#define REMAINDER(a, b) (b == -1 ? 0 : a % b)

/* The quotient rounds towards zero; one less where there is a rest and the signs differ. */
#define FLOOR_QUOTIENT(a, b) \
	(b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b - (a % b != 0 && (a < 0) != (b < 0))))

/* Has the sign of b. */
#define FLOOR_REMAINDER(a, b) (b == -1 ? 0 : a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b)

static float floor_remainder_float(float a, float b)
{
	float rest = fmod(a, b);

	return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double floor_remainder_double(double a, double b)
{
	double rest = fmod(a, b);

	return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

#define floor_remainder(a, b) \
	_Generic(a, float : floor_remainder_float, double : floor_remainder_double)(a, b)

SP_BINARY_FIELD(RealDiv, a / b);

SP_BINARY_LOOPS(Div, a / b)
SP_FOR_COMPLEX(SP_BINARY_VALUE, Div, a / b)
SP_FOR_SIGNED(SP_BINARY_VALUE, Div, QUOTIENT(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, Div, a / b)
SP_BINARY_OP(Div, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_ARITHMETIC(Div));

SP_FOR_FLOATING(SP_BINARY_VALUE, TruncateDiv, trunc(a / b))
SP_FOR_SIGNED(SP_BINARY_VALUE, TruncateDiv, QUOTIENT(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, TruncateDiv, a / b)
SP_BINARY_OP(TruncateDiv, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(TruncateDiv));

SP_FOR_FLOATING(SP_BINARY_VALUE, FloorDiv, floor(a / b))
SP_FOR_SIGNED(SP_BINARY_VALUE, FloorDiv, FLOOR_QUOTIENT(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, FloorDiv, a / b)
SP_BINARY_OP(FloorDiv, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(FloorDiv));

SP_FOR_FLOATING(SP_BINARY_VALUE, FloorMod, floor_remainder(a, b))
SP_FOR_SIGNED(SP_BINARY_VALUE, FloorMod, FLOOR_REMAINDER(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, FloorMod, a % b)
SP_BINARY_OP(FloorMod, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(FloorMod));

SP_FOR_FLOATING(SP_BINARY_VALUE, Mod, fmod(a, b))
SP_FOR_SIGNED(SP_BINARY_VALUE, Mod, REMAINDER(a, b))
SP_FOR_UNSIGNED(SP_BINARY_VALUE, Mod, a % b)
SP_BINARY_OP(Mod, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(Mod));
SP_BINARY_OP(TruncateMod, SP_INVALID_DTYPE, zero_divisor, SP_TABLE_NUMBER(Mod));

/* 0 where b is 0. */
SP_BINARY_FIELD(DivNoNan, b == 0 ? 0 : a / b);

/* 0 where a is 0, even if b is 0 too. */
SP_BINARY_FIELD(Xdivy, a == 0 ? 0 : a / b);

/*
 * RealDiv(x, c), once engine/reduce_strength.h has found that c is a constant: TensorFlow
 * multiplies with 1 / c then, as its operator Reciprocal has it.
 */
typedef struct times_state {
	sp_binary_state binary;
	bool inverted;
	sp_tensor reciprocals;
} times_state;

#define TABLE_SHORT(name) \
	[SP_FLOAT] = name##_f32, [SP_HALF] = name##_f16, [SP_BFLOAT16] = name##_bf16

SP_BINARY_VALUE(f32, times, (a) * (b))
SP_BINARY_NARROW(times)
SP_BINARY_VALUE(f32, over, a / b)
SP_BINARY_NARROW(over)
SP_UNARY_FLOAT(inverse, sp_float_reciprocal)
SP_UNARY_VALUE(f16, inverse, 1 / x)
SP_UNARY_VALUE(bf16, inverse, 1 / x)

static sp_status prepare_times_reciprocal(sp_prepare *prepare, sp_error *err)
{
	static const sp_binary product = {.kernels = {TABLE_SHORT(times)}};
	static const sp_binary quotient = {.kernels = {TABLE_SHORT(over)}};
	static sp_unary_fn *const inverses[SP_DTYPE_COUNT] = {TABLE_SHORT(inverse)};
	times_state *state = sp_prepare_state(prepare, sizeof(*state));
	const sp_tensor *by = prepare->in_count > 1 ? prepare->in_values[1] : NULL;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_binary__prepare_state(prepare, by != NULL ? &product : &quotient, &state->binary,
					err));
	if (by == NULL)
		return SP_OK;
	state->inverted = true;
	state->reciprocals = (sp_tensor){
		.dtype = by->dtype, .shape = by->shape, .count = by->count};
	state->reciprocals.data = sp_arena_array(prepare->arena, by->count,
						 sp_dtype_size(by->dtype));
	if (state->reciprocals.data == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	inverses[by->dtype](by->data, state->reciprocals.data, by->count);
	return SP_OK;
}

static sp_status run_times_reciprocal(const sp_call *call)
{
	const times_state *state = call->state;
	const sp_tensor *in[] = {call->in[0], &state->reciprocals};
	sp_call product = *call;

	if (!state->inverted)
		return sp_binary__run(call);
	product.in = in;
	product.in_dies &= 1; /* the reciprocals stay */
	return sp_binary__run(&product);
}

const sp_op sp_op__TimesReciprocal = {.name = "_TimesReciprocal",
				      .prepare = prepare_times_reciprocal,
				      .run = run_times_reciprocal};
