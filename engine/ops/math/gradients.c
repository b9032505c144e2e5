#include <complex.h>
#include <math.h>

#include "engine/ops/math/binary.h"

/*
 * Gradients of elementwise operators y = f(x), dy being the gradient of y.  Inputs of one shape:
 *
 *   (y, dy)  TanhGrad, SigmoidGrad, SqrtGrad, RsqrtGrad, InvGrad, ReciprocalGrad
 *   (dy, x)  ReluGrad, Relu6Grad, SoftplusGrad, SoftsignGrad
 *   (dy, y)  EluGrad, SeluGrad
 *
 * A dy that is not finite times a slope of 0 is NaN, as in TensorFlow.
 *
 * The first six take complex numbers, too.  Then y is conjugated, except by TanhGrad and
 * SigmoidGrad, as in TensorFlow 2.15.
 *
 * Numerics: half and bfloat16 round after every step; complex numbers are computed in double.
 */
#define ROUND_f32(value)  (value)
#define ROUND_f64(value)  (value)
#define ROUND_f16(value)  SP_ROUND_f16(value)
#define ROUND_bf16(value) SP_ROUND_bf16(value)

static sp_status run_same_shape(const sp_call *call)
{
	const sp_shape *left = &call->in[0]->shape, *right = &call->in[1]->shape;
	char left_text[SP_SHAPE_TEXT_SIZE], right_text[SP_SHAPE_TEXT_SIZE];

	if (!sp_shape_equal(left, right))
		return sp_call_invalid(call, "inputs must have the same shape, not %s and %s",
				       sp_shape_text(left, left_text),
				       sp_shape_text(right, right_text));
	return sp_binary__run(call);
}

#define GRADIENT_OP(op_name, ...)                                              \
	static sp_status prepare_##op_name(sp_prepare *prepare, sp_error *err) \
	{                                                                      \
		static const sp_binary binary = {.kernels = {__VA_ARGS__},     \
						 .result = SP_INVALID_DTYPE};  \
                                                                               \
		return sp_binary__prepare(prepare, &binary, err);              \
	}                                                                      \
	const sp_op sp_op_##op_name = {                                        \
		.name = #op_name, .prepare = prepare_##op_name, .run = run_same_shape}

/* Inputs of one shape need one of the loops of SP_BINARY_VALUE. */
#define KERNEL(type, name, expression)                                        \
	static void name##_##type(const sp_binary_run *run)                   \
	{                                                                     \
		const sp_element_##type *x = run->left, *y = run->right;      \
		sp_element_##type *results = run->out;                        \
		size_t count = run->count;                                    \
                                                                              \
		SP_BINARY_LOOP(type, sp_value_##type, type, i, i, expression) \
	}

/* STEPS(type, R): the expression of a and b; R rounds an intermediate result. */
#define LOOPS(name, STEPS)                       \
	KERNEL(f32, name, STEPS(f32, ROUND_f32)) \
	KERNEL(f64, name, STEPS(f64, ROUND_f64)) \
	KERNEL(f16, name, STEPS(f16, ROUND_f16)) \
	KERNEL(bf16, name, STEPS(bf16, ROUND_bf16))
#define GRADIENT(name, STEPS) \
	LOOPS(name, STEPS)    \
	GRADIENT_OP(name, SP_TABLE_FLOATING(name));

#define TANH(type, R)    b *R(1 - R(a * a))
#define SIGMOID(type, R) R(b *a) * R(1 - a)
#define SQRT(type, R)    R((sp_value_##type)0.5 * b) / a
#define RSQRT(type, R)   R((sp_value_##type) - 0.5 * R(b * a)) * R(a *a)
#define INV(type, R)     -R(b *a) * a

LOOPS(TanhGrad, TANH)
SP_FOR_COMPLEX(KERNEL, TanhGrad, b *(1 - a * a))
GRADIENT_OP(TanhGrad, SP_TABLE_FIELD(TanhGrad));
LOOPS(SigmoidGrad, SIGMOID)
SP_FOR_COMPLEX(KERNEL, SigmoidGrad, b *a *(1 - a))
GRADIENT_OP(SigmoidGrad, SP_TABLE_FIELD(SigmoidGrad));
LOOPS(SqrtGrad, SQRT)
SP_FOR_COMPLEX(KERNEL, SqrtGrad, b == 0 ? 0 : 0.5 * b / conj(a))
GRADIENT_OP(SqrtGrad, SP_TABLE_FIELD(SqrtGrad));
LOOPS(RsqrtGrad, RSQRT)
SP_FOR_COMPLEX(KERNEL, RsqrtGrad, b == 0 ? 0 : -0.5 * b * conj(a) * (conj(a) * conj(a)))
GRADIENT_OP(RsqrtGrad, SP_TABLE_FIELD(RsqrtGrad));
LOOPS(InvGrad, INV)
SP_FOR_COMPLEX(KERNEL, InvGrad, -b *conj(a) * conj(a))
GRADIENT_OP(InvGrad, SP_TABLE_FIELD(InvGrad));
GRADIENT_OP(ReciprocalGrad, SP_TABLE_FIELD(InvGrad));

/* ------------------------------------------------------ activation functions */

#define EXP_f32  expf
#define EXP_f64  exp
#define EXP_f16  expf
#define EXP_bf16 expf
#define ABS_f32  fabsf
#define ABS_f64  fabs
#define ABS_f16  fabsf
#define ABS_bf16 fabsf

static const double SCALE = 1.0507009873554804934193349852946;
static const double SCALE_ALPHA = 1.7580993408473768599402175208123;

#define CONSTANT(type, R, value) R((sp_value_##type)(value))
#define RELU(type, R)            a *(sp_value_##type)(b > 0)
#define RELU6(type, R)           a *(sp_value_##type)(b > 0 && b < 6)
#define ELU(type, R)             b < 0 ? R(b + 1) * a : a
#define SELU(type, R)            b < 0 ? a *R(b + CONSTANT(type, R, SCALE_ALPHA)) : a *CONSTANT(type, R, SCALE)
#define SOFTPLUS(type, R)        a / R(R(EXP_##type(-b)) + 1)
#define SOFTSIGN(type, R)        a / R(R(1 + ABS_##type(b)) * R(1 + ABS_##type(b)))

LOOPS(ReluGrad, RELU)
SP_FOR_INTEGER(KERNEL, ReluGrad, a *(b > 0))
GRADIENT_OP(ReluGrad, SP_TABLE_FLOATING(ReluGrad), SP_TABLE_INTEGER(ReluGrad));
LOOPS(Relu6Grad, RELU6)
SP_FOR_INTEGER(KERNEL, Relu6Grad, a *(b > 0 && b < 6))
GRADIENT_OP(Relu6Grad, SP_TABLE_FLOATING(Relu6Grad), SP_TABLE_INTEGER(Relu6Grad));
GRADIENT(EluGrad, ELU)
GRADIENT(SeluGrad, SELU)
GRADIENT(SoftplusGrad, SOFTPLUS)
GRADIENT(SoftsignGrad, SOFTSIGN)
