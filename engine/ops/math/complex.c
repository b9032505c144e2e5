#include "engine/ops/math/complex.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "engine/ops/math/binary.h"

/*
 * Conj, Real, Imag, ComplexAbs, Angle and Complex.
 */

/* CMPLX(), which clang lacks with this C library.  re + im * I would lose signs of zero and NaN. */
#define MAKE(name, part)                                  \
	static inline part complex name(part re, part im) \
	{                                                 \
		const part parts[] = {re, im};            \
		part complex z;                           \
                                                          \
		memcpy(&z, parts, sizeof(z));             \
		return z;                                 \
	}

MAKE(make_c64, float)
MAKE(make_c128, double)

/* exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2: no cancellation near 0. */
double complex sp_complex__expm1d(double complex z)
{
	double a = creal(z), b = cimag(z), half = sin(b / 2);

	return make_c128(expm1(a) * cos(b) - 2 * half * half, exp(a) * sin(b));
}

float complex sp_complex__expm1f(float complex z)
{
	return (float complex)sp_complex__expm1d(z);
}

/*
 * Kahan's formula: the rounding error of 1 + z cancels in log(1 + z) / ((1 + z) - 1).
 */
double complex sp_complex__log1pd(double complex z)
{
	double complex one_more = 1 + z;

	if (one_more == 1)
		return z;
	if (isinf(creal(z)) || isinf(cimag(z)))
		return clog(one_more);
	return z * (clog(one_more) / (one_more - 1));
}

float complex sp_complex__log1pf(float complex z)
{
	return (float complex)sp_complex__log1pd(z);
}

typedef void part_fn(const void *from, void *to, size_t count);

#define PART(type, part_type, name, expression)                             \
	static void name##_##type(const void *from, void *to, size_t count) \
	{                                                                   \
		const sp_element_##type *elements = from;                   \
		part_type *results = to;                                    \
                                                                            \
		for (size_t i = 0; i < count; i++) {                        \
			sp_element_##type z = elements[i];                  \
                                                                            \
			results[i] = expression;                            \
		}                                                           \
	}

PART(c64, float, real, crealf(z))
PART(c128, double, real, creal(z))
PART(c64, float, imag, cimagf(z))
PART(c128, double, imag, cimag(z))
PART(c64, float, absolute, cabsf(z))
PART(c128, double, absolute, cabs(z))
PART(c64, float, angle, cargf(z))
PART(c128, double, angle, carg(z))
PART(c64, float complex, conjugate, conjf(z))
PART(c128, double complex, conjugate, conj(z))

void sp_complex__conjugate(void *to, const void *from, size_t count, sp_dtype dtype)
{
	(dtype == SP_COMPLEX64 ? conjugate_c64 : conjugate_c128)(from, to, count);
}

typedef struct part_state {
	part_fn *kernel;
	sp_dtype result;
} part_state;

/* The dtype of the real and imaginary parts. */
static sp_dtype part_of(sp_dtype dtype)
{
	return dtype == SP_COMPLEX64 ? SP_FLOAT : SP_DOUBLE;
}

static sp_status prepare_part(sp_prepare *prepare, part_fn *c64, part_fn *c128, sp_error *err)
{
	part_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype, wanted;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	dtype = prepare->in_dtypes[0];
	if (!sp_dtype_is_complex(dtype))
		return sp_prepare_unsupported(prepare, dtype, err);
	state->kernel = dtype == SP_COMPLEX64 ? c64 : c128;
	state->result = c64 == conjugate_c64 ? dtype : part_of(dtype);
	SP_TRY(sp_node_attr_type(prepare->node, "Tout", SP_FLOAT, &wanted, err));
	if (c64 != conjugate_c64 && wanted != state->result)
		return sp_error_set(err, SP_UNSUPPORTED, "%s of %s to %s is not supported",
				    prepare->node->op_name, sp_dtype_name(dtype),
				    sp_dtype_name(wanted));
	return sp_prepare_outputs(prepare, 1, state->result, err);
}

static sp_status run_part(const sp_call *call)
{
	const part_state *state = call->state;

	SP_TRY(sp_call_output_over(call, 0, 0, state->result));
	state->kernel(call->in[0]->data, call->out[0]->data, call->in[0]->count);
	return SP_OK;
}

#define PART_OP(op_name, part)                                              \
	static sp_status prepare_##part(sp_prepare *prepare, sp_error *err) \
	{                                                                   \
		return prepare_part(prepare, part##_c64, part##_c128, err); \
	}                                                                   \
	const sp_op sp_op_##op_name = {.name = #op_name, .prepare = prepare_##part, .run = run_part}

PART_OP(Real, real);
PART_OP(Imag, imag);
PART_OP(ComplexAbs, absolute);
PART_OP(Angle, angle);

PART_OP(Conj, conjugate);

SP_BINARY_KERNEL(f32, compose, float, c64, make_c64(a, b))
SP_BINARY_KERNEL(f64, compose, double, c128, make_c128(a, b))

static const sp_binary compose_c64 = {.kernels = {[SP_FLOAT] = compose_f32},
				      .result = SP_COMPLEX64};
static const sp_binary compose_c128 = {.kernels = {[SP_DOUBLE] = compose_f64},
				       .result = SP_COMPLEX128};

static sp_status prepare_complex(sp_prepare *prepare, sp_error *err)
{
	sp_dtype wanted;

	SP_TRY(sp_node_attr_type(prepare->node, "Tout", SP_COMPLEX64, &wanted, err));
	return sp_binary__prepare(prepare, wanted == SP_COMPLEX128 ? &compose_c128 : &compose_c64,
				  err);
}

SP_DEFINE_OP(Complex, NULL, 0, prepare_complex, sp_binary__run);
