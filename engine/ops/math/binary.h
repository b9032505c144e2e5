#ifndef SP_ENGINE_OPS_BINARY_H
#define SP_ENGINE_OPS_BINARY_H

#include "engine/kernels/narrow.h"
#include "engine/graph/op.h"
#include "engine/ops/math/broadcast.h"
#include "engine/ops/array/element_types.h"

/*
 * Elementwise binary operators with broadcasting.  An operator is defined by its name and an
 * expression of the values `a` and `b`.  Each element type gets its own loops, for two arrays and
 * for an array and a scalar.
 *
 * Both inputs have the same type; the output has it too, or is bool.  A loop
 * may run in place.
 *
 * Numerics: half and bfloat16 compute in float and round once.
 */
typedef struct sp_binary_run {
	const void *left, *right;
	void *out;
	size_t count;
	size_t left_step, right_step; /* 0 or 1, not both 0 */
} sp_binary_run;

typedef void sp_binary_fn(const sp_binary_run *run);

/* Runs `floats` on the half or bfloat16 operands, converted to float block by block. */
void sp_binary__by_float(const sp_binary_run *run, sp_binary_fn *floats, sp_widen_fn *widen,
			 sp_narrow_fn *narrow);

typedef struct sp_binary {
	sp_binary_fn *kernels[SP_DTYPE_COUNT]; /* by dtype of the inputs */
	sp_dtype result;                       /* SP_INVALID_DTYPE: the inputs' dtype */

	/*
	 * Returns an error text for an invalid right operand, else NULL.  Called before a kernel
	 * runs on at least one element.  May be NULL: every operand is valid.
	 */
	const char *(*complaint)(const sp_tensor *right);

	/*
	 * The float kernel is vectorized and much slower than a copy, so the short runs of a
	 * broadcast are gathered into longer ones.
	 */
	bool is_costly;
} sp_binary;

typedef struct sp_binary_state {
	const sp_binary *binary;
	sp_binary_fn *kernel;
	sp_dtype result;
} sp_binary_state;

/* `state` is zeroed and lies at prepare->state; it may be the first member of a larger state. */
sp_status sp_binary__prepare_state(sp_prepare *prepare, const sp_binary *binary,
				   sp_binary_state *state, sp_error *err);

/* The same; allocates the state. */
sp_status sp_binary__prepare(sp_prepare *prepare, const sp_binary *binary, sp_error *err);

sp_status sp_binary__run(const sp_call *call);

#define SP_BINARY_LOOP(type, value_type, out_type, A, B, expression) \
	for (size_t i = 0; i < count; i++) {                         \
		value_type a = (value_type)SP_LOAD_##type(x[A]);     \
		value_type b = (value_type)SP_LOAD_##type(y[B]);     \
                                                                     \
		results[i] = SP_STORE_##out_type(expression);        \
	}

/* The loops name_TYPE over elements of `type`, computing in `value_type`, into elements of
 * `out_type`. */
#define SP_BINARY_KERNEL(type, name, value_type, out_type, expression)                   \
	static void name##_##type(const sp_binary_run *run)                              \
	{                                                                                \
		const sp_element_##type *x = run->left, *y = run->right;                 \
		sp_element_##out_type *results = run->out;                               \
		size_t count = run->count; /* a local, so that stores cannot alias it */ \
                                                                                         \
		if (run->left_step == 0) {                                               \
			const sp_element_##type x0 = *x;                                 \
			x = &x0;                                                         \
			SP_BINARY_LOOP(type, value_type, out_type, 0, i, expression)     \
		} else if (run->right_step == 0) {                                       \
			const sp_element_##type y0 = *y;                                 \
			y = &y0;                                                         \
			SP_BINARY_LOOP(type, value_type, out_type, i, 0, expression)     \
		} else {                                                                 \
			SP_BINARY_LOOP(type, value_type, out_type, i, i, expression)     \
		}                                                                        \
	}

/* For the SP_FOR_... lists: the output has the input type, or is bool (SP_BINARY_BOOL). */
#define SP_BINARY_VALUE(type, name, expression) \
	SP_BINARY_KERNEL(type, name, sp_value_##type, type, expression)
#define SP_BINARY_WRAP(type, name, expression) \
	SP_BINARY_KERNEL(type, name, sp_wrap_##type, type, expression)
#define SP_BINARY_BOOL(type, name, expression) \
	SP_BINARY_KERNEL(type, name, sp_value_##type, b8, expression)

/* The loops name_f16 and name_bf16, which call name_f32. */
#define SP_BINARY_NARROW(name)                                                               \
	static void name##_f16(const sp_binary_run *run)                                     \
	{                                                                                    \
		sp_binary__by_float(run, name##_f32, sp_widen_half, sp_narrow_half);         \
	}                                                                                    \
	static void name##_bf16(const sp_binary_run *run)                                    \
	{                                                                                    \
		sp_binary__by_float(run, name##_f32, sp_widen_bfloat16, sp_narrow_bfloat16); \
	}

/* The loops of the four floating types. */
#define SP_BINARY_LOOPS(name, expression)      \
	SP_BINARY_VALUE(f32, name, expression) \
	SP_BINARY_VALUE(f64, name, expression) \
	SP_BINARY_NARROW(name)

/* The operator `op_name`; the other arguments initialize its sp_binary. */
#define SP_BINARY_DEFINE(op_name, ...)                                         \
	static sp_status prepare_##op_name(sp_prepare *prepare, sp_error *err) \
	{                                                                      \
		static const sp_binary binary = {__VA_ARGS__};                 \
                                                                               \
		return sp_binary__prepare(prepare, &binary, err);              \
	}                                                                      \
	const sp_op sp_op_##op_name = {                                        \
		.name = #op_name, .prepare = prepare_##op_name, .run = sp_binary__run}

/* The same, from its result type, complaint and table entries. */
#define SP_BINARY_OP(op_name, op_result, op_complaint, ...)                      \
	SP_BINARY_DEFINE(op_name, .kernels = {__VA_ARGS__}, .result = op_result, \
			 .complaint = op_complaint)

/* An operator on the four floating types and the complex ones. */
#define SP_BINARY_FIELD(name, expression)                 \
	SP_BINARY_LOOPS(name, expression)                 \
	SP_FOR_COMPLEX(SP_BINARY_VALUE, name, expression) \
	SP_BINARY_OP(name, SP_INVALID_DTYPE, NULL, SP_TABLE_FIELD(name))

/* An operator on all numbers, complex ones too, in which integers wrap around. */
#define SP_BINARY_ARITHMETIC(name, expression)           \
	SP_BINARY_LOOPS(name, expression)                \
	SP_FOR_INTEGER(SP_BINARY_WRAP, name, expression) \
	SP_FOR_COMPLEX(SP_BINARY_WRAP, name, expression) \
	SP_BINARY_OP(name, SP_INVALID_DTYPE, NULL, SP_TABLE_ARITHMETIC(name))

#endif
