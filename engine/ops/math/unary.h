#ifndef SP_ENGINE_OPS_UNARY_H
#define SP_ENGINE_OPS_UNARY_H

#include "engine/kernels/float_functions.h"
#include "engine/kernels/narrow.h"
#include "engine/graph/op.h"
#include "engine/ops/array/element_types.h"

/*
 * Elementwise unary operators.  An operator is defined by its name and an expression of the value
 * `x`.  Each element type gets its own loop.
 *
 * The output has the input's shape, and its type or bool; a loop may run in place.
 *
 * Numerics: float uses kernels/float_functions.h where that has the function; else float and double
 * call the C library (a few units in the last place).  Half and bfloat16 compute in float and round
 * once, with the functions of kernels/float_functions.h where TensorFlow vectorizes them, too.
 */
typedef void sp_unary_fn(const void *from, void *to, size_t count);

typedef struct sp_unary_state {
	sp_unary_fn *kernel;
	sp_dtype result;
} sp_unary_state;

/* `kernels` by dtype of the input; `result` SP_INVALID_DTYPE: the dtype of the input. */
sp_status sp_unary__prepare(sp_prepare *prepare, sp_unary_fn *const kernels[SP_DTYPE_COUNT],
			    sp_dtype result, sp_error *err);

sp_status sp_unary__run(const sp_call *call);

/* The loop name_TYPE over elements of `type`, computing in `value_type`, into elements of `out`. */
#define SP_UNARY_KERNEL(type, name, value_type, out, expression)                \
	static void name##_##type(const void *from, void *to, size_t count)     \
	{                                                                       \
		const sp_element_##type *elements = from;                       \
		sp_element_##out *results = to;                                 \
                                                                                \
		for (size_t i = 0; i < count; i++) {                            \
			value_type x = (value_type)SP_LOAD_##type(elements[i]); \
                                                                                \
			results[i] = SP_STORE_##out(expression);                \
		}                                                               \
	}

/* For the SP_FOR_... lists: the same type in and out; computing in sp_value_T or sp_wrap_T. */
#define SP_UNARY_VALUE(type, name, expression) \
	SP_UNARY_KERNEL(type, name, sp_value_##type, type, expression)
#define SP_UNARY_WRAP(type, name, expression) \
	SP_UNARY_KERNEL(type, name, sp_wrap_##type, type, expression)
#define SP_UNARY_BOOL(type, name, expression) \
	SP_UNARY_KERNEL(type, name, sp_value_##type, b8, expression)

/* The loop name_f32 by a function of kernels/float_functions.h. */
#define SP_UNARY_FLOAT(name, function)                                   \
	static void name##_f32(const void *from, void *to, size_t count) \
	{                                                                \
		function(from, to, count);                               \
	}

/*
 * Widens blocks of half or bfloat16 elements to float, applies `steps`, and narrows the results.
 * All blocks but the last are whole packets of kernels/float_functions.h.
 */
void sp_unary__by_float(const void *from, void *to, size_t count, sp_float_fn *steps,
			sp_widen_fn *widen, sp_narrow_fn *narrow);

/* The loops name_f16 and name_bf16 by such functions of floats. */
#define SP_UNARY_NARROW_BY(name, function_f16, function_bf16)                                     \
	static void name##_f16(const void *from, void *to, size_t count)                          \
	{                                                                                         \
		sp_unary__by_float(from, to, count, function_f16, sp_widen_half, sp_narrow_half); \
	}                                                                                         \
	static void name##_bf16(const void *from, void *to, size_t count)                         \
	{                                                                                         \
		sp_unary__by_float(from, to, count, function_bf16, sp_widen_bfloat16,             \
				   sp_narrow_bfloat16);                                           \
	}
#define SP_UNARY_NARROW(name, function) SP_UNARY_NARROW_BY(name, function, function)

/* The operator `name`, with kernels given as table entries. */
#define SP_UNARY_OP(op_name, result, ...)                                          \
	static sp_status prepare_##op_name(sp_prepare *prepare, sp_error *err)     \
	{                                                                          \
		static sp_unary_fn *const kernels[SP_DTYPE_COUNT] = {__VA_ARGS__}; \
                                                                                   \
		return sp_unary__prepare(prepare, kernels, result, err);           \
	}                                                                          \
	const sp_op sp_op_##op_name = {                                            \
		.name = #op_name, .prepare = prepare_##op_name, .run = sp_unary__run}

/* An operator on the four floating types. */
#define SP_UNARY_FLOATING(name, expression)               \
	SP_FOR_FLOATING(SP_UNARY_VALUE, name, expression) \
	SP_UNARY_OP(name, SP_INVALID_DTYPE, SP_TABLE_FLOATING(name))

/* On the floating and complex types; float, half and bfloat16 by `function`, the others by
 * `expression`. */
#define SP_UNARY_ELEMENTARY(name, function, expression)  \
	SP_UNARY_FLOAT(name, function)                   \
	SP_UNARY_NARROW(name, function)                  \
	SP_UNARY_VALUE(f64, name, expression)            \
	SP_FOR_COMPLEX(SP_UNARY_VALUE, name, expression) \
	SP_UNARY_OP(name, SP_INVALID_DTYPE, SP_TABLE_FIELD(name))

/* On the floating types; double by `of_double`, the others by `of_float`, both expressions of x. */
#define SP_UNARY_SINGLY(name, of_float, of_double) \
	SP_UNARY_VALUE(f32, name, of_float)        \
	SP_UNARY_VALUE(f16, name, of_float)        \
	SP_UNARY_VALUE(bf16, name, of_float)       \
	SP_UNARY_VALUE(f64, name, of_double)       \
	SP_UNARY_OP(name, SP_INVALID_DTYPE, SP_TABLE_FLOATING(name))

/* On the floating types; double by `of_double`, the others by the vectorized `function`. */
#define SP_UNARY_PACKETS(name, function, of_double) \
	SP_UNARY_FLOAT(name, function)              \
	SP_UNARY_NARROW(name, function)             \
	SP_UNARY_VALUE(f64, name, of_double)        \
	SP_UNARY_OP(name, SP_INVALID_DTYPE, SP_TABLE_FLOATING(name))

/* An operator on the floating and complex types. */
#define SP_UNARY_FIELD(name, expression)               \
	SP_FOR_FIELD(SP_UNARY_VALUE, name, expression) \
	SP_UNARY_OP(name, SP_INVALID_DTYPE, SP_TABLE_FIELD(name))

#endif
