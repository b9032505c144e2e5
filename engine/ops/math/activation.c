#include <float.h>
#include <tgmath.h>

#include "engine/kernels/float_functions.h"
#include "engine/ops/ops.h"
#include "engine/ops/math/unary.h"

/*
 * Activations.  A NaN stays a NaN in all of them.
 *
 * Numerics: half and bfloat16 round after every step where TensorFlow does.
 */

#define FOR_NARROW(KERNEL, name)         \
	KERNEL(f16, name, sp_round_half) \
	KERNEL(bf16, name, sp_round_bfloat16)
#define FOR_WIDE(KERNEL, ...)    \
	KERNEL(f32, __VA_ARGS__) \
	KERNEL(f64, __VA_ARGS__)

/* name_steps_TYPE(x, y, count): what becomes of x, given `power`, exp(x) rounded. */
#define BY_POWERS(type, name, round, expression)                                    \
	static void name##_steps_##type(const float *from, float *to, size_t count) \
	{                                                                           \
		float powers[BLOCK];                                                \
                                                                                    \
		for (size_t i = 0, n; i < count; i += n) {                          \
			n = count - i < BLOCK ? count - i : BLOCK;                  \
			sp_float_exp(from + i, powers, n);                          \
			round(powers, n);                                           \
			for (size_t j = 0; j < n; j++) {                            \
				float x = from[i + j], power = powers[j];           \
                                                                                    \
				to[i + j] = expression;                             \
			}                                                           \
		}                                                                   \
	}
#define NARROW_BY_POWERS(name) SP_UNARY_NARROW_BY(name, name##_steps_f16, name##_steps_bf16)

enum { BLOCK = 32 * SP_FLOAT_PACKET };

/*
 * power / (1 + power), and 1 where the power is infinite.  A division that is not always made would
 * not be a vector's.
 */
#define SIGMOID(type, name, round)                                                  \
	static void name##_steps_##type(const float *from, float *to, size_t count) \
	{                                                                           \
		float powers[BLOCK], sums[BLOCK];                                   \
                                                                                    \
		for (size_t i = 0, n; i < count; i += n) {                          \
			n = count - i < BLOCK ? count - i : BLOCK;                  \
			sp_float_exp(from + i, powers, n);                          \
			round(powers, n);                                           \
			for (size_t j = 0; j < n; j++)                              \
				sums[j] = 1 + powers[j];                            \
			round(sums, n);                                             \
			for (size_t j = 0; j < n; j++)                              \
				sums[j] = powers[j] / sums[j];                      \
			for (size_t j = 0; j < n; j++)                              \
				to[i + j] = powers[j] > FLT_MAX ? 1 : sums[j];      \
		}                                                                   \
	}
#define SOFTSIGN(type, name, round) SP_UNARY_VALUE(type, name, x / SP_ROUND_##type(1 + fabs(x)))
#define ELU(type, name, round)      BY_POWERS(type, name, round, x < 0 ? power - 1 : x)

SP_UNARY_FLOAT(Sigmoid, sp_float_sigmoid)
SP_UNARY_VALUE(f64, Sigmoid, 1 / (1 + exp(-x)))
SP_FOR_COMPLEX(SP_UNARY_VALUE, Sigmoid, 1 / (1 + exp(-x)))
FOR_NARROW(SIGMOID, Sigmoid)
NARROW_BY_POWERS(Sigmoid)
SP_UNARY_OP(Sigmoid, SP_INVALID_DTYPE, SP_TABLE_FIELD(Sigmoid));

FOR_WIDE(SP_UNARY_VALUE, Softsign, x / (1 + fabs(x)))
FOR_NARROW(SOFTSIGN, Softsign)
SP_UNARY_OP(Softsign, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Softsign));

SP_UNARY_FLOAT(Elu, sp_float_elu)
SP_UNARY_VALUE(f64, Elu, x < 0 ? exp(x) - 1 : x)
FOR_NARROW(ELU, Elu)
NARROW_BY_POWERS(Elu)
SP_UNARY_OP(Elu, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Elu));

/* Klambauer et al., "Self-Normalizing Neural Networks", 2017: scale and scale * alpha. */
static const double selu_scale = 1.0507009873554804934193349852946;
static const double selu_scale_alpha = 1.7580993408473768599402175208123;

#define SELU(type, name, round)                                                                 \
	BY_POWERS(type, name, round,                                                            \
		  x < 0 ? SP_ROUND_##type((float)selu_scale_alpha) * SP_ROUND_##type(power - 1) \
			: SP_ROUND_##type((float)selu_scale) * x)

SP_UNARY_FLOAT(Selu, sp_float_selu)
SP_UNARY_VALUE(f64, Selu, x < 0 ? selu_scale_alpha * (exp(x) - 1) : selu_scale * x)
FOR_NARROW(SELU, Selu)
NARROW_BY_POWERS(Selu)
SP_UNARY_OP(Selu, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Selu));

/* log(1 + exp(x)), in the three pieces TensorFlow takes it in. */
#define SOFTPLUS(type, name, edge) \
	SP_UNARY_VALUE(type, name, x > edge ? x : (x < -edge ? exp(x) : log1p(exp(x))))

/* Likewise; log1p of all powers at once. */
#define SOFTPLUS_NARROW(type, name, round, edge)                                            \
	static void name##_steps_##type(const float *from, float *to, size_t count)         \
	{                                                                                   \
		float powers[BLOCK], logs[BLOCK];                                           \
                                                                                            \
		for (size_t i = 0, n; i < count; i += n) {                                  \
			n = count - i < BLOCK ? count - i : BLOCK;                          \
			sp_float_exp(from + i, powers, n);                                  \
			round(powers, n);                                                   \
			sp_float_log1p(powers, logs, n);                                    \
			for (size_t j = 0; j < n; j++) {                                    \
				float x = from[i + j];                                      \
                                                                                            \
				to[i + j] = x > edge ? x : x < -edge ? powers[j] : logs[j]; \
			}                                                                   \
		}                                                                           \
	}

/* The edges are -2 - log(epsilon) of the element type, rounded; half's epsilon is 2^-13 there. */
SP_UNARY_FLOAT(Softplus, sp_float_softplus)
SOFTPLUS(f64, Softplus, 34.0436534)
SOFTPLUS_NARROW(f16, Softplus, sp_round_half, 7.0078125F)
SOFTPLUS_NARROW(bf16, Softplus, sp_round_bfloat16, 2.84375F)
NARROW_BY_POWERS(Softplus)
SP_UNARY_OP(Softplus, SP_INVALID_DTYPE, SP_TABLE_FLOATING(Softplus));

/* `<` is false for NaN, which thus passes through. */
#define RELU(type, name, ...)  SP_UNARY_VALUE(type, name, x < 0 ? 0 : x)
#define RELU6(type, name, ...) SP_UNARY_VALUE(type, name, x < 0 ? 0 : (x > 6 ? 6 : x))

/* What is less than zero and a number: the bits between those of -0 and of a NaN. */
#define RELU_NARROW(type, name, infinity)                                               \
	static void name##_##type(const void *from, void *to, size_t count)             \
	{                                                                               \
		const uint16_t *cells = from;                                           \
		uint16_t *results = to;                                                 \
                                                                                        \
		for (size_t i = 0; i < count; i++)                                      \
			results[i] = cells[i] > 0x8000 && cells[i] <= 0x8000 + infinity \
					     ? 0                                        \
					     : cells[i];                                \
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
