#include <math.h>

#include "engine/ops/ops.h"
#include "engine/ops/array/array.h"

/*
 * RFFT and IRFFT, the Fourier transforms of real numbers along the last dimension:
 *
 *   RFFT   takes the first fft_length real numbers of a row and returns the first
 *          fft_length / 2 + 1 coefficients; the others are their conjugates
 *   IRFFT  takes the first fft_length / 2 + 1 coefficients of a row and returns fft_length real
 *          numbers, divided by fft_length.  The imaginary parts of coefficients that are real for
 *          real numbers are ignored.
 *
 * Numerics: computed in double by Stockham's algorithm and rounded once: a float is within one unit
 * in the last place.  The error in double is about log2(n) * 2^-52 times the sum of the inputs'
 * absolute values.
 * Time: n times the sum of n's prime factors per row.  SP_UNSUPPORTED above MAX_FACTOR.
 */
enum { MAX_FACTOR = 1024, MAX_FACTORS = 32 };

typedef struct fourier_state {
	bool inverse;
	bool wide; /* double and complex128; else float and complex64 */
	sp_dtype to;
} fourier_state;

static sp_status prepare(sp_prepare *prepare, sp_error *err)
{
	fourier_state *state = sp_prepare_state(prepare, sizeof(*state));
	bool inverse = prepare->node->op == &sp_op_IRFFT;
	const char *attr = inverse ? "Treal" : "Tcomplex";
	sp_dtype dtype, real, complex;

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "T int32", err));
	dtype = prepare->in_dtypes[0];
	state->inverse = inverse;
	state->wide = dtype == SP_DOUBLE || dtype == SP_COMPLEX128;
	real = state->wide ? SP_DOUBLE : SP_FLOAT;
	complex = state->wide ? SP_COMPLEX128 : SP_COMPLEX64;
	SP_TRY(sp_node_attr_type(prepare->node, attr, inverse ? SP_FLOAT : SP_COMPLEX64, &state->to,
				 err));
	if (dtype != (inverse ? complex : real))
		return sp_prepare_unsupported(prepare, dtype, err);
	if (state->to != (inverse ? real : complex))
		return sp_prepare_unsupported(prepare, state->to, err);
	return sp_prepare_outputs(prepare, 1, state->to, err);
}

/* ------------------------------------------------------- complex transforms */

typedef struct number {
	double re, im;
} number;

typedef struct plan {
	size_t n;
	size_t factors[MAX_FACTORS]; /* the prime factors of n */
	size_t factor_count;
	number *roots; /* [n]: exp(-2 pi i k / n), or its conjugate for the inverse */
	number *x, *y; /* [n] each: the input of a pass and its output */
} plan;

static number add_product(number sum, number a, number b)
{
	return (number){sum.re + a.re * b.re - a.im * b.im, sum.im + a.re * b.im + a.im * b.re};
}

/*
 * One pass over n numbers, which are `stride` interleaved transforms of `length`: splits each into
 * `factor` transforms of length / factor.
 */
static void pass(const plan *p, size_t factor, size_t length, size_t stride)
{
	size_t rest = length / factor;

	for (size_t k = 0; k < rest; k++)
		for (size_t i = 0; i < factor; i++) {
			number twiddle = p->roots[k * i * stride];
			size_t step = i * (p->n / factor);

			for (size_t s = 0; s < stride; s++) {
				number sum = {0, 0};
				size_t root = 0;

				for (size_t j = 0; j < factor; j++) {
					sum = add_product(sum, p->x[s + stride * (k + rest * j)],
							  p->roots[root]);
					root += step;
					root -= root >= p->n ? p->n : 0;
				}
				p->y[s + stride * (factor * k + i)] = add_product((number){0, 0},
										  sum, twiddle);
			}
		}
}

/* Replaces p->x by its transform; may exchange the pointers x and y. */
static void transform(plan *p)
{
	size_t length = p->n, stride = 1;

	for (size_t f = 0; f < p->factor_count; f++) {
		number *done = p->y;

		pass(p, p->factors[f], length, stride);
		p->y = p->x;
		p->x = done;
		length /= p->factors[f];
		stride *= p->factors[f];
	}
}

static sp_status make_plan(const sp_call *call, size_t n, plan *p)
{
	double sign = ((const fourier_state *)call->state)->inverse ? 1 : -1;
	size_t left = n;

	p->n = n;
	p->factor_count = 0;
	for (size_t factor = 2; left > 1; factor++) {
		if (factor > MAX_FACTOR)
			return sp_error_set(call->err, SP_UNSUPPORTED,
					    "fft_length %zu has a prime factor above %d", n,
					    (int)MAX_FACTOR);
		for (; left % factor == 0; left /= factor)
			p->factors[p->factor_count++] = factor;
	}
	SP_CALL_BYTES(p->roots, call, n, sizeof(number));
	SP_CALL_BYTES(p->x, call, n, sizeof(number));
	SP_CALL_BYTES(p->y, call, n, sizeof(number));
	for (size_t k = 0; k < n; k++) {
		double angle = 2 * M_PI * (double)k / (double)n;

		p->roots[k] = (number){cos(angle), sign * sin(angle)};
	}
	return SP_OK;
}

/* -------------------------------------------------- two rows of real numbers */

static double load(bool wide, const void *data, size_t i)
{
	return wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void store(bool wide, void *data, size_t i, double value)
{
	if (wide)
		((double *)data)[i] = value;
	else
		((float *)data)[i] = (float)value;
}

/* Rows of the input and the output; a complex element is two numbers. */
typedef struct rows {
	const void *from;
	void *to;
	size_t from_step, to_step; /* row lengths in elements */
	bool wide;
} rows;

/* Transforms rows a and b together, as real and imaginary parts; they may be the same row. */
static void forward(plan *p, const rows *r, size_t a, size_t b)
{
	size_t n = p->n, half = n / 2;

	for (size_t k = 0; k < n; k++)
		p->x[k] = (number){load(r->wide, r->from, a * r->from_step + k),
				   load(r->wide, r->from, b * r->from_step + k)};
	transform(p);
	for (size_t k = 0; k <= half; k++) {
		number z = p->x[k], mirror = p->x[(n - k) % n];

		store(r->wide, r->to, 2 * (a * r->to_step + k), (z.re + mirror.re) / 2);
		store(r->wide, r->to, 2 * (a * r->to_step + k) + 1, (z.im - mirror.im) / 2);
		if (b == a)
			continue;
		store(r->wide, r->to, 2 * (b * r->to_step + k), (z.im + mirror.im) / 2);
		store(r->wide, r->to, 2 * (b * r->to_step + k) + 1, (mirror.re - z.re) / 2);
	}
}

/* Coefficient k of a row; coefficients 0 and n / 2 are real. */
static number result(const rows *r, size_t row, size_t k, size_t n)
{
	size_t at = 2 * (row * r->from_step + k);
	bool real = k == 0 || 2 * k == n;

	return (number){load(r->wide, r->from, at), real ? 0 : load(r->wide, r->from, at + 1)};
}

static void inverse(plan *p, const rows *r, size_t a, size_t b)
{
	size_t n = p->n;

	for (size_t k = 0; k <= n / 2; k++) {
		number x = result(r, a, k, n), y = result(r, b, k, n);

		p->x[k] = (number){x.re - y.im, x.im + y.re};
		p->x[(n - k) % n] = (number){x.re + y.im, y.re - x.im};
	}
	transform(p);
	for (size_t k = 0; k < n; k++) {
		store(r->wide, r->to, a * r->to_step + k, p->x[k].re / (double)n);
		if (b != a)
			store(r->wide, r->to, b * r->to_step + k, p->x[k].im / (double)n);
	}
}

/* ----------------------------------------------------------------- a tensor */

/* Reads fft_length and computes the output shape. */
static sp_status read_length(const sp_call *call, sp_shape *shape, size_t *n)
{
	const fourier_state *state = call->state;
	const sp_tensor *in = call->in[0];
	int64_t length, half, row;

	if (in->shape.rank < 1)
		return sp_call_invalid(call, "the input must not be a scalar");
	if (call->in[1]->shape.rank != 1 || call->in[1]->count != 1)
		return sp_call_invalid(call, "fft_length must be a vector of 1");
	row = in->shape.dims[in->shape.rank - 1];
	length = sp_tensor_index(call->in[1], 0);
	if (length < 0 || (length == 0 && in->count != 0))
		return sp_call_invalid(call, "fft_length %lld is out of range", (long long)length);
	half = length > 0 ? length / 2 + 1 : 0;
	if (in->count != 0 && (state->inverse ? half : length) > row)
		return sp_call_invalid(call, "fft_length needs rows of %lld numbers, not %lld",
				       (long long)(state->inverse ? half : length), (long long)row);
	*shape = in->shape;
	shape->dims[shape->rank - 1] = state->inverse ? length : half;
	*n = (size_t)length;
	return SP_OK;
}

static sp_status run_fourier(const sp_call *call)
{
	const fourier_state *state = call->state;
	const sp_tensor *in = call->in[0];
	rows r = {.from = in->data, .wide = state->wide};
	size_t n = 0, count;
	sp_shape shape;
	plan p;

	SP_TRY(read_length(call, &shape, &n));
	SP_TRY(sp_call_output(call, 0, state->to, &shape));
	if (call->out[0]->count == 0)
		return SP_OK;
	if (in->count == 0)
		return sp_call_invalid(call, "the input has no elements");
	SP_TRY(make_plan(call, n, &p));
	r.to = call->out[0]->data;
	r.from_step = (size_t)in->shape.dims[in->shape.rank - 1];
	r.to_step = (size_t)shape.dims[shape.rank - 1];
	count = call->out[0]->count / r.to_step;
	for (size_t row = 0; row < count; row += 2)
		(state->inverse ? inverse : forward)(&p, &r, row, row + 1 < count ? row + 1 : row);
	return SP_OK;
}

SP_DEFINE_OP(RFFT, NULL, 0, prepare, run_fourier);
SP_DEFINE_OP(IRFFT, NULL, 0, prepare, run_fourier);
