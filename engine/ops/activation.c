#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops.h"
#include "engine/ops/unary.h"

/*
 * Activations.  A NaN stays a NaN in all of them.
 *
 * Numerics: half and bfloat16 round after every step where TensorFlow does.
 */

/* x as half or bfloat16 would hold it. */
static inline float round_f16(float x)
{
	return SP_LOAD_f16(SP_STORE_f16(x));
}

static inline float round_bf16(float x)
{
	return SP_LOAD_bf16(SP_STORE_bf16(x));
}

#define FOR_NARROW(KERNEL, ...)  \
	KERNEL(f16, __VA_ARGS__) \
	KERNEL(bf16, __VA_ARGS__)
#define FOR_WIDE(KERNEL, ...)    \
	KERNEL(f32, __VA_ARGS__) \
	KERNEL(f64, __VA_ARGS__)

/* power / (1 + power), 1 where the power is infinite. */
static inline float share_f16(float power)
{
	return isinf(power) ? 1 : power / round_f16(1 + power);
}

static inline float share_bf16(float power)
{
	return isinf(power) ? 1 : power / round_bf16(1 + power);
}

#define SIGMOID(type, name)  SP_UNARY_VALUE(type, name, share_##type(round_##type(exp(x))))
#define SOFTSIGN(type, name) SP_UNARY_VALUE(type, name, x / round_##type(1 + fabs(x)))
#define ELU(type, name)      SP_UNARY_VALUE(type, name, x < 0 ? round_##type(exp(x)) - 1 : x)

SP_UNARY_FLOAT(Sigmoid, sp_float_sigmoid)
SP_UNARY_VALUE(f64, Sigmoid, 1 / (1 + exp(-x)))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Sigmoid, 1 / (1 + exp(-x)))
FOR_NARROW(SIGMOID, Sigmoid)
SP_UNARY_OP(Sigmoid, SP_INVALID_DTYPE, SP_TABLE_FIELD(Sigmoid));

FOR_WIDE(SP_UNARY_VALUE, Softsign, x / (1 + fabs(x)))
FOR_NARROW(SOFTSIGN, Softsign)
SP_UNARY_OP(Softsign, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Softsign));

SP_UNARY_FLOAT(Elu, sp_float_elu)
SP_UNARY_VALUE(f64, Elu, x < 0 ? exp(x) - 1 : x)
FOR_NARROW(ELU, Elu)
SP_UNARY_OP(Elu, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Elu));

/* Klambauer et al., "Self-Normalizing Neural Networks", 2017: scale and scale * alpha. */
static const double selu_scale = 1.0507009873554804934193349852946;
static const double selu_scale_alpha = 1.7580993408473768599402175208123;

#define SELU(type, name)                                                      \
	SP_UNARY_VALUE(type, name,                                            \
		       x < 0 ? round_##type((float)selu_scale_alpha) *        \
				       round_##type(round_##type(exp(x)) - 1) \
			     : round_##type((float)selu_scale) * x)

SP_UNARY_FLOAT(Selu, sp_float_selu)
SP_UNARY_VALUE(f64, Selu, x < 0 ? selu_scale_alpha * (exp(x) - 1) : selu_scale * x)
FOR_NARROW(SELU, Selu)
SP_UNARY_OP(Selu, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Selu));

/* log(1 + exp(x)), in the three pieces TensorFlow takes it in. */
#define SOFTPLUS(type, name, edge) \
	SP_UNARY_VALUE(type, name, x > edge ? x : (x < -edge ? exp(x) : log1p(exp(x))))

#define SOFTPLUS_NARROW(type, name, edge) \
	SP_UNARY_VALUE(type, name,        \
		       x > edge ? x : (x < -edge ? exp(x) : log1p(round_##type(exp(x)))))

/* The edges are -2 - log(epsilon) of the element type, half's epsilon being 2^-13 there. */
SP_UNARY_FLOAT(Softplus, sp_float_softplus)
SOFTPLUS(f64, Softplus, 34.0436534)
SOFTPLUS_NARROW(f16, Softplus, 7.0117188F)
SOFTPLUS_NARROW(bf16, Softplus, 2.84375F)
SP_UNARY_OP(Softplus, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Softplus));

/* `<` is false for NaN, which thus passes through. */
#define RELU(type, name, ...)  SP_UNARY_VALUE(type, name, x < 0 ? 0 : x)
#define RELU6(type, name, ...) SP_UNARY_VALUE(type, name, x < 0 ? 0 : (x > 6 ? 6 : x))

SP_FOR_FLOATING(RELU, Relu, )
SP_FOR_SIGNED(RELU, Relu, )
SP_FOR_UNSIGNED(SP_UNARY_VALUE, Relu, x)
SP_UNARY_OP(Relu, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Relu));

SP_FOR_FLOATING(RELU6, Relu6, )
SP_FOR_SIGNED(RELU6, Relu6, )
SP_FOR_UNSIGNED(SP_UNARY_VALUE, Relu6, x > 6 ? 6 : x)
SP_UNARY_OP(Relu6, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Relu6));
