#include <tgmath.h>

#include "engine/ops/math/unary.h"

/*
 * Activations.  A NaN stays a NaN in all of them.
 *
 * Numerics: engine/kernels/float_functions.h; half and bfloat16 are computed in float and rounded
 * once.
 */
#define FOR_WIDE(KERNEL, ...)    \
	KERNEL(f32, __VA_ARGS__) \
	KERNEL(f64, __VA_ARGS__)

/* `function` computes rows of floats; the expression `of_double` computes a double x. */
#define ACTIVATION(name, function, of_double) \
	SP_UNARY_FLOAT(name, function)        \
	SP_UNARY_NARROW(name, function)       \
	SP_UNARY_VALUE(f64, name, of_double)

ACTIVATION(Sigmoid, sp_float_sigmoid, 1 / (1 + exp(-x)))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Sigmoid, 1 / (1 + exp(-x)))
SP_UNARY_OP(Sigmoid, SP_INVALID_DTYPE, SP_TABLE_FIELD(Sigmoid));

SP_FOR_FLOATING(SP_UNARY_VALUE, Softsign, x / (1 + fabs(x)))
SP_UNARY_OP(Softsign, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Softsign));

ACTIVATION(Elu, sp_float_elu, x < 0 ? exp(x) - 1 : x)
SP_UNARY_OP(Elu, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Elu));

/* Klambauer et al., "Self-Normalizing Neural Networks", 2017: scale and scale * alpha. */
static const double selu_scale = 1.0507009873554804934193349852946;
static const double selu_scale_alpha = 1.7580993408473768599402175208123;

ACTIVATION(Selu, sp_float_selu, x < 0 ? selu_scale_alpha * (exp(x) - 1) : selu_scale * x)
SP_UNARY_OP(Selu, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Selu));

/* -2 - log(2^-52): above it log(1 + exp(x)) equals x in double, below its negative exp(x). */
#define SOFTPLUS_EDGE 34.0436534
ACTIVATION(Softplus, sp_float_softplus,
	   x > SOFTPLUS_EDGE ? x : (x < -SOFTPLUS_EDGE ? exp(x) : log1p(exp(x))))
SP_UNARY_OP(Softplus, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Softplus));

/* Comparisons with NaN are false, so a NaN passes through. */
#define RELU(type, name, ...)  SP_UNARY_VALUE(type, name, x < 0 ? 0 : x)
#define RELU6(type, name, ...) SP_UNARY_VALUE(type, name, x < 0 ? 0 : (x > 6 ? 6 : x))

/* The bits of negative numbers lie between those of -0 and those of a negative NaN. */
#define RELU_NARROW(type, name, infinity)                                                     \
	static void name##_##type(const void *from, void *to, size_t count)                   \
	{                                                                                     \
		const uint16_t *elements = from;                                              \
		uint16_t *results = to;                                                       \
                                                                                              \
		for (size_t i = 0; i < count; i++)                                            \
			results[i] = elements[i] > 0x8000 && elements[i] <= 0x8000 + infinity \
					     ? 0                                              \
					     : elements[i];                                   \
	}

FOR_WIDE(RELU, Relu, )
RELU_NARROW(f16, Relu, 0x7c00)
RELU_NARROW(bf16, Relu, 0x7f80)
SP_FOR_SIGNED(RELU, Relu, )
SP_FOR_UNSIGNED(SP_UNARY_VALUE, Relu, x)
SP_UNARY_OP(Relu, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Relu));

SP_FOR_FLOATING(RELU6, Relu6, )
SP_FOR_SIGNED(RELU6, Relu6, )
SP_FOR_UNSIGNED(SP_UNARY_VALUE, Relu6, x > 6 ? 6 : x)
SP_UNARY_OP(Relu6, SP_INVALID_DTYPE, SP_TABLE_NUMBER(Relu6));
