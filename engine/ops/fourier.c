#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "engine/ops/array.h"
#include "engine/ops/matrices.h"

/*
 * Fourier transforms of the last one, two or three dimensions (FFT2D, ...); fft_length has a
 * number for each of them:
 *
 *   FFT, IFFT  of complex numbers, as many as there are; IFFT divides by their number
 *   RFFT       of the first fft_length real ones: of the last dimension the first
 *              fft_length / 2 + 1 results, of which the others are mirror images
 *   IRFFT      back: fft_length real ones of fft_length / 2 + 1
 *
 * Numerics: in double, rounded once.  Lengths that are no power of two go through one
 * of more than twice the length (Bluestein); all are of order n log n.
 */
typedef double complex number;

#define MAX_AXES 3

typedef struct fourier_state {
	bool real, inverse;
	int axes; /* how many of the last dimensions */
	sp_dtype from, to;
} fourier_state;

/* Everything that depends on the length alone. */
typedef struct fourier_plan {
	size_t n, padded; /* padded: a power of two; n itself if it is one */
	number *roots;    /* [padded / 2] exp(-2 pi i k / padded) */
	number *chirp;    /* [n] exp(-pi i k^2 / n); NULL without padding */
	number *filter;   /* [padded] the transform of its mirror image */
	number *work;     /* [padded] */
} fourier_plan;

static number turn(double part)
{
	return cos(2 * M_PI * part) - I * sin(2 * M_PI * part);
}

/* x[i] and x[j] change places where j is i with its bits turned around. */
static void reverse_bits(number *x, size_t n)
{
	for (size_t i = 1, j = 0; i < n; i++) {
		size_t bit = n >> 1;

		for (; (j & bit) != 0; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			number other = x[i];

			x[i] = x[j];
			x[j] = other;
		}
	}
}

/* In place, of plan->padded numbers. */
static void transform_padded(const fourier_plan *plan, number *x)
{
	size_t n = plan->padded;

	reverse_bits(x, n);
	for (size_t half = 1; half < n; half *= 2)
		for (size_t i = 0; i < n; i += 2 * half)
			for (size_t k = 0; k < half; k++) {
				number a = x[i + k];
				number b = x[i + k + half] * plan->roots[k * (n / 2 / half)];

				x[i + k] = a + b;
				x[i + k + half] = a - b;
			}
}

/* The inverse by the transform of the conjugates; not divided. */
static void conjugate(number *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = conj(x[i]);
}

/* In place, of plan->n numbers: a product of chirps becomes a convolution. */
static void transform(const fourier_plan *plan, number *x)
{
	number *work = plan->work;

	if (plan->chirp == NULL) {
		transform_padded(plan, x);
		return;
	}
	memset(work, 0, plan->padded * sizeof(*work));
	for (size_t i = 0; i < plan->n; i++)
		work[i] = x[i] * plan->chirp[i];
	transform_padded(plan, work);
	for (size_t i = 0; i < plan->padded; i++)
		work[i] = conj(work[i] * plan->filter[i]);
	transform_padded(plan, work);
	for (size_t i = 0; i < plan->n; i++)
		x[i] = conj(work[i]) * plan->chirp[i] / (double)plan->padded;
}

static void fill_chirp(fourier_plan *plan)
{
	memset(plan->filter, 0, plan->padded * sizeof(*plan->filter));
	for (size_t k = 0; k < plan->n; k++) {
		/* k^2 / 2n turns, whole ones left out; k < 2^31 */
		double part = (double)(k * k % (2 * plan->n)) / (2 * (double)plan->n);

		plan->chirp[k] = turn(part);
		plan->filter[k] = conj(plan->chirp[k]);
		if (k != 0)
			plan->filter[plan->padded - k] = plan->filter[k];
	}
	transform_padded(plan, plan->filter);
}

static sp_status make_plan(const sp_call *call, size_t n, fourier_plan *plan)
{
	*plan = (fourier_plan){.n = n, .padded = 1};
	if (n > INT32_MAX / 4)
		return sp_call_invalid(call, "%zu numbers are too many to transform", n);
	while (plan->padded < n)
		plan->padded *= 2;
	if (plan->padded != n) {
		plan->padded *= 2;
		plan->chirp = sp_call_bytes(call, n, sizeof(*plan->chirp));
		plan->filter = sp_call_bytes(call, plan->padded, sizeof(*plan->filter));
		plan->work = sp_call_bytes(call, plan->padded, sizeof(*plan->work));
		if (plan->chirp == NULL || plan->filter == NULL || plan->work == NULL)
			return sp_call_no_memory(call);
	}
	plan->roots = sp_call_bytes(call, plan->padded, sizeof(*plan->roots));
	if (plan->roots == NULL)
		return sp_call_no_memory(call);
	for (size_t k = 0; k < plan->padded / 2; k++)
		plan->roots[k] = turn((double)k / (double)plan->padded);
	if (plan->chirp != NULL)
		fill_chirp(plan);
	return SP_OK;
}

/* ----------------------------------------------------------------- operators */

static sp_status prepare_any(sp_prepare *prepare, int axes, bool real, bool inverse, sp_error *err)
{
	fourier_state *state = sp_prepare_state(prepare, sizeof(*state));
	const char *attr = !real ? NULL : (inverse ? "Treal" : "Tcomplex");
	sp_dtype fallback = inverse ? SP_FLOAT : SP_COMPLEX64, dtype;
	bool wide;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, real ? 2 : 1, err));
	dtype = prepare->in_dtypes[0];
	wide = dtype == SP_DOUBLE || dtype == SP_COMPLEX128;
	*state = (fourier_state){
		.real = real, .inverse = inverse, .axes = axes, .from = dtype, .to = dtype};
	if (real) {
		SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
		SP_TRY(sp_node_attr_type(prepare->node, attr, fallback, &state->to, err));
	}
	if (dtype != (real && !inverse ? (wide ? SP_DOUBLE : SP_FLOAT)
				       : (wide ? SP_COMPLEX128 : SP_COMPLEX64)))
		return sp_prepare_unsupported(prepare, dtype, err);
	if (state->to != (real && inverse ? (wide ? SP_DOUBLE : SP_FLOAT)
					  : (wide ? SP_COMPLEX128 : SP_COMPLEX64)))
		return sp_prepare_unsupported(prepare, state->to, err);
	return sp_prepare_outputs(prepare, 1, state->to, err);
}

/* A box of numbers to transform: its lengths, and how much of each dimension the input gives. */
typedef struct box {
	size_t lengths[MAX_AXES], taken[MAX_AXES], made[MAX_AXES];
	size_t count; /* the product of the lengths */
	fourier_plan plans[MAX_AXES];
	number *x, *line;
} box;

static sp_status check_length(const sp_call *call, int64_t length, int64_t taken, int64_t row)
{
	bool empty = call->in[0]->count == 0;

	if (length < 0 || (length == 0 && !empty))
		return sp_call_invalid(call, "fft_length %lld is out of range", (long long)length);
	if (!empty && taken > row)
		return sp_call_invalid(call, "%lld numbers are wanted of rows of %lld",
				       (long long)taken, (long long)row);
	return SP_OK;
}

static sp_status read_lengths(const sp_call *call, box *b, sp_shape *shape)
{
	const fourier_state *state = call->state;
	const sp_tensor *in = call->in[0];

	if (in->shape.rank < state->axes)
		return sp_call_invalid(call, "rank %d is below the %d dimensions to transform",
				       in->shape.rank, state->axes);
	if (state->real &&
	    (call->in[1]->shape.rank != 1 || call->in[1]->count != (size_t)state->axes))
		return sp_call_invalid(call, "fft_length must be a vector of %d", state->axes);
	*shape = in->shape;
	for (int i = 0; i < state->axes; i++) {
		int64_t *dim = &shape->dims[shape->rank - state->axes + i];
		int64_t length = state->real ? sp_tensor_index(call->in[1], (size_t)i) : *dim;
		bool halved = state->real && i == state->axes - 1 && length > 0;
		int64_t half = halved ? length / 2 + 1 : length;

		SP_TRY(check_length(call, length, state->inverse ? half : length, *dim));
		b->lengths[i] = (size_t)length;
		b->taken[i] = (size_t)(state->inverse ? half : length);
		b->made[i] = (size_t)(state->inverse ? length : half);
		*dim = (int64_t)b->made[i];
	}
	return SP_OK;
}

static sp_status make_box(const sp_call *call, box *b)
{
	const fourier_state *state = call->state;
	size_t longest = 0;

	b->count = 1;
	for (int i = 0; i < state->axes; i++) {
		SP_TRY(make_plan(call, b->lengths[i], &b->plans[i]));
		longest = b->lengths[i] > longest ? b->lengths[i] : longest;
		if (!sp_size_mul(&b->count, b->count, b->lengths[i]))
			return sp_call_invalid(call, "the numbers to transform are too many");
	}
	b->x = sp_call_bytes(call, b->count, sizeof(*b->x));
	b->line = sp_call_bytes(call, longest, sizeof(*b->line));
	return b->x == NULL || b->line == NULL ? sp_call_no_memory(call) : SP_OK;
}

/* Element `place` of a box is element `other` of the tensor. */
typedef void at_fn(const sp_call *call, box *b, size_t place, size_t other);

/* Box `which` of `t`, the input or the output: `part` of each dimension counts. */

static void walk(const sp_call *call, box *b, size_t which, const sp_tensor *t, const size_t *part,
		 at_fn *at)
{
	const fourier_state *state = call->state;
	const int64_t *dims = t->shape.dims + t->shape.rank - state->axes;
	size_t lengths[MAX_AXES] = {1, 1, 1}, parts[MAX_AXES] = {1, 1, 1},
	       sizes[MAX_AXES] = {1, 1, 1};

	for (int i = 0; i < state->axes; i++) {
		lengths[MAX_AXES - state->axes + i] = b->lengths[i];
		parts[MAX_AXES - state->axes + i] = part[i];
		sizes[MAX_AXES - state->axes + i] = (size_t)dims[i];
	}
	for (size_t i = 0; i < parts[0]; i++)
		for (size_t j = 0; j < parts[1]; j++)
			for (size_t k = 0; k < parts[2]; k++)
				at(call, b, (i * lengths[1] + j) * lengths[2] + k,
				   ((which * sizes[0] + i) * sizes[1] + j) * sizes[2] + k);
}

static void read_at(const sp_call *call, box *b, size_t place, size_t other)
{
	b->x[place] = sp_matrices__get(call->in[0], other);
}

static void write_at(const sp_call *call, box *b, size_t place, size_t other)
{
	sp_matrices__put(call->out[0], other, b->x[place]);
}

/* What half a row says of the other half, before an inverse that gives real numbers. */
static void mirror(number *x, size_t n, size_t taken)
{
	x[0] = creal(x[0]);
	if (n % 2 == 0)
		x[n / 2] = creal(x[n / 2]);
	for (size_t i = taken; i < n; i++)
		x[i] = conj(x[n - i]);
}

static void transform_axis(const fourier_state *state, box *b, int axis)
{
	size_t n = b->lengths[axis], inner = 1;

	for (int i = axis + 1; i < state->axes; i++)
		inner *= b->lengths[i];
	for (size_t start = 0; start < b->count; start += n * inner)
		for (size_t at = start; at < start + inner; at++) {
			for (size_t i = 0; i < n; i++)
				b->line[i] = b->x[at + i * inner];
			if (state->real && state->inverse && axis == state->axes - 1)
				mirror(b->line, n, b->taken[axis]);
			if (state->inverse)
				conjugate(b->line, n);
			transform(&b->plans[axis], b->line);
			for (size_t i = 0; i < n; i++)
				b->x[at + i * inner] = state->inverse ? conj(b->line[i]) / (double)n
								      : b->line[i];
		}
}

static sp_status run_fourier(const sp_call *call)
{
	const fourier_state *state = call->state;
	const sp_tensor *in = call->in[0], *out = call->out[0];
	size_t boxes;
	sp_shape shape;
	box b;

	SP_TRY(read_lengths(call, &b, &shape));
	SP_TRY(sp_call_output(call, 0, state->to, &shape));
	if (out->count == 0)
		return SP_OK;
	if (in->count == 0)
		return sp_call_invalid(call, "there is nothing to transform");
	SP_TRY(make_box(call, &b));
	boxes = (size_t)sp_shape_product(&shape, 0, shape.rank - state->axes);
	for (size_t i = 0; i < boxes; i++) {
		/* Of mirror images the other half is made when its row's turn comes. */
		memset(b.x, 0, b.count * sizeof(*b.x));
		walk(call, &b, i, in, b.taken, read_at);
		for (int axis = 0; axis < state->axes; axis++)
			transform_axis(state, &b, axis);
		walk(call, &b, i, out, b.made, write_at);
	}
	return SP_OK;
}

#define FOURIER_OP(op, axes, real, inverse)                               \
	static sp_status prepare_##op(sp_prepare *prepare, sp_error *err) \
	{                                                                 \
		return prepare_any(prepare, axes, real, inverse, err);    \
	}                                                                 \
	const sp_op sp_op_##op = {.name = #op, .prepare = prepare_##op, .run = run_fourier};

FOURIER_OP(FFT, 1, false, false)
FOURIER_OP(FFT2D, 2, false, false)
FOURIER_OP(FFT3D, 3, false, false)
FOURIER_OP(IFFT, 1, false, true)
FOURIER_OP(IFFT2D, 2, false, true)
FOURIER_OP(IFFT3D, 3, false, true)
FOURIER_OP(RFFT, 1, true, false)
FOURIER_OP(RFFT2D, 2, true, false)
FOURIER_OP(RFFT3D, 3, true, false)
FOURIER_OP(IRFFT, 1, true, true)
FOURIER_OP(IRFFT2D, 2, true, true)
FOURIER_OP(IRFFT3D, 3, true, true)
