#include <math.h>

#include "engine/kernels/float_special.h"
#include "engine/ops/ops.h"
#include "engine/ops/math/binary.h"

/*
 * The incomplete gamma and beta functions, in float and double:
 *
 *   Igamma(a, x)      P(a, x), the regularized lower incomplete gamma function
 *   Igammac(a, x)     Q(a, x) = 1 - P(a, x)
 *   Betainc(a, b, x)  I_x(a, b), the regularized incomplete beta function; each input is a scalar
 *                     or has the shape that the other non-scalar inputs have
 *
 * NaN unless a, b > 0 and x >= 0 (for Betainc also x <= 1).
 *
 * Numerics: float by kernels/float_special.h.  In double the relative error grows with the
 * parameters, about 1e-16 times the largest, because of the power in front of the sum.
 */

/* Bounds every series and continued fraction, whatever the parameters. */
enum { MOST_TERMS = 20000 };

static const double epsilon = 0x1p-53;

/* x^a e^-x / gamma(a) */
static double gamma_front(double a, double x)
{
	return exp(a * log(x) - x - lgamma_r(a, &(int){0}));
}

/* Sum of x^n / (a (a + 1) ... (a + n)), for x below a + 1. */
static double gamma_series(double a, double x)
{
	double term = 1 / a, sum = term;

	for (int n = 1; n < MOST_TERMS && term > sum * epsilon; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * gamma_front(a, x);
}

/* Lentz's method replaces a divisor of 0 by a tiny number. */
static double nonzero(double x)
{
	return fabs(x) < 0x1p-1000 ? 0x1p-1000 : x;
}

/* The continued fraction of Q(a, x) by Lentz's method, for x > a. */
static double gamma_fraction(double a, double x)
{
	double b = x + 1 - a, c = 0x1p1000, d = 1 / nonzero(b), h = d;

	for (int n = 1; n < MOST_TERMS; n++) {
		double step, factor = -n * (n - a);

		b += 2;
		d = 1 / nonzero(factor * d + b);
		c = nonzero(b + factor / c);
		step = c * d;
		h *= step;
		if (fabs(step - 1) <= epsilon)
			break;
	}
	return h * gamma_front(a, x);
}

static double gamma_below(double a, double x)
{
	if (x == 0)
		return 0;
	if (!(a > 0 && x > 0))
		return NAN;
	if (isinf(a))
		return 0;
	if (isinf(x))
		return 1;
	return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

static double gamma_above(double a, double x)
{
	if (!(a > 0 && x >= 0))
		return NAN;
	if (isinf(x))
		return 0;
	if (isinf(a) || x == 0)
		return 1;
	return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

#define INCOMPLETE(op, of_float, of_double)               \
	SP_BINARY_KERNEL(f32, op, float, f32, of_float)   \
	SP_BINARY_KERNEL(f64, op, double, f64, of_double) \
	SP_BINARY_OP(op, SP_INVALID_DTYPE, NULL, [SP_FLOAT] = op##_f32, [SP_DOUBLE] = op##_f64)

INCOMPLETE(Igamma, sp_float_igamma(a, b), gamma_below(a, b));
INCOMPLETE(Igammac, sp_float_igammac(a, b), gamma_above(a, b));

/* ---------------------------------------------------------------------- beta */

/* The continued fraction by Lentz's method, two of its steps at a time. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), h = d;

	for (int n = 1; n < MOST_TERMS; n++) {
		double even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
		double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)), step;

		d = 1 / nonzero(1 + even * d);
		c = nonzero(1 + even / c);
		h *= d * c;
		d = 1 / nonzero(1 + odd * d);
		c = nonzero(1 + odd / c);
		step = d * c;
		h *= step;
		if (fabs(step - 1) <= epsilon)
			break;
	}
	return h;
}

static double beta_below(double a, double b, double x)
{
	double front;
	int sign;

	if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || isinf(a) || isinf(b))
		return NAN;
	if (x == 0 || x == 1)
		return x;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
		    b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static sp_status prepare_beta(sp_prepare *prepare, sp_error *err)
{
	sp_dtype dtype;

	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	dtype = prepare->in_dtypes[0];
	SP_TRY(sp_prepare_input_dtype(prepare, 1, dtype, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, dtype, err));
	if (dtype != SP_FLOAT && dtype != SP_DOUBLE)
		return sp_prepare_unsupported(prepare, dtype, err);
	return sp_prepare_outputs(prepare, 1, dtype, err);
}

/* Scalars broadcast; all other inputs must have the same shape. */
static sp_status common_shape(const sp_call *call, sp_shape *shape)
{
	char one[SP_SHAPE_TEXT_SIZE], other[SP_SHAPE_TEXT_SIZE];

	*shape = call->in[0]->shape;
	for (size_t i = 1; i < 3; i++) {
		const sp_shape *next = &call->in[i]->shape;

		if (shape->rank == 0)
			*shape = *next;
		else if (next->rank != 0 && !sp_shape_equal(shape, next))
			return sp_call_invalid(call, "shapes %s and %s differ",
					       sp_shape_text(shape, one),
					       sp_shape_text(next, other));
	}
	return SP_OK;
}

static float float_at(const sp_tensor *t, size_t i)
{
	return sp_tensor_f32(t)[t->shape.rank == 0 ? 0 : i];
}

static double double_at(const sp_tensor *t, size_t i)
{
	return sp_tensor_f64(t)[t->shape.rank == 0 ? 0 : i];
}

static sp_status run_beta(const sp_call *call)
{
	sp_shape shape;
	sp_tensor *out = call->out[0];

	SP_TRY(common_shape(call, &shape));
	SP_TRY(sp_call_output(call, 0, call->in[0]->dtype, &shape));
	for (size_t i = 0; i < out->count; i++)
		if (out->dtype == SP_FLOAT)
			sp_tensor_f32(out)[i] = sp_float_betainc(float_at(call->in[0], i),
								 float_at(call->in[1], i),
								 float_at(call->in[2], i));
		else
			sp_tensor_f64(out)[i] = beta_below(double_at(call->in[0], i),
							   double_at(call->in[1], i),
							   double_at(call->in[2], i));
	return SP_OK;
}

const sp_op sp_op_Betainc = {.name = "Betainc", .prepare = prepare_beta, .run = run_beta};
