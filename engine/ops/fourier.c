#include "engine/kernels/fourier_transform.h"

#include "engine/ops/array.h"

/*
 * Fourier transforms of the last one, two or three dimensions (FFT2D, ...); fft_length has a
 * number for each of them:
 *
 *   FFT, IFFT  of complex numbers, as many as there are; IFFT divides by their number
 *   RFFT       of the first fft_length real ones: of the last dimension the first
 *              fft_length / 2 + 1 results, of which the others are mirror images
 *   IRFFT      back: fft_length real ones of fft_length / 2 + 1
 *
 * Numerics: TensorFlow's bits (engine/kernels/fourier_transform.h), of double as far as the C
 * library's sines and cosines are the same.  Of complex numbers the last dimension is transformed
 * first, then, of three, the middle one and the first; real numbers come first of all, or last, and
 * the other dimensions between them in order.  What divides is one factor, rounded, in the first
 * of the transforms, or in the one to real numbers.
 */
enum { MAX_AXES = SP_FOURIER_DIMS - 1 };

typedef struct fourier_state {
	bool real, inverse;
	int axes; /* how many of the last dimensions */
	sp_dtype from, to;
} fourier_state;

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

/* The lengths, how much of each dimension the input gives, and how much comes out. */
typedef struct box {
	size_t lengths[MAX_AXES], taken[MAX_AXES], made[MAX_AXES];
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

/* A tensor as lines see it: the dimensions before those that are transformed are one. */
typedef struct layout {
	void *data;
	size_t counts[SP_FOURIER_DIMS], steps[SP_FOURIER_DIMS];
} layout;

static layout lay_out(const fourier_state *state, void *data, const sp_shape *shape,
		      const size_t *counts)
{
	layout l = {.data = data};
	size_t step = 1;

	for (int i = 0; i < SP_FOURIER_DIMS; i++) {
		int axis = state->axes - 1 - i;
		int to = SP_FOURIER_DIMS - 1 - i;

		l.steps[to] = step;
		l.counts[to] = axis >= 0 ? counts[axis] : 1;
		if (axis >= 0)
			step *= (size_t)shape->dims[shape->rank - 1 - i];
	}
	l.steps[0] = step;
	l.counts[0] = (size_t)sp_shape_product(shape, 0, shape->rank - state->axes);
	return l;
}

typedef sp_status transform_fn(sp_workspace *workspace, const sp_fourier_lines *lines);

/* Dimension `axis` of those that are transformed. */
static sp_status transform(const sp_call *call, const box *b, int axis, const layout *from,
			   const layout *to, double scale, transform_fn *run)
{
	const fourier_state *state = call->state;
	sp_fourier_lines lines = {
		.n = b->lengths[axis],
		.axis = SP_FOURIER_DIMS - state->axes + axis,
		.from = from->data,
		.to = to->data,
		.wide = state->from == SP_DOUBLE || state->from == SP_COMPLEX128,
		.forward = !state->inverse,
		.alone = call->in[0]->shape.rank == 1,
		.scale = scale,
	};

	if (lines.n > INT32_MAX / 4)
		return sp_call_invalid(call, "%zu numbers are too many to transform", lines.n);
	for (int i = 0; i < SP_FOURIER_DIMS; i++) {
		lines.counts[i] = to->counts[i];
		lines.from_steps[i] = from->steps[i];
		lines.to_steps[i] = to->steps[i];
	}
	return run(call->workspace, &lines) == SP_OK ? SP_OK : sp_call_no_memory(call);
}

/* Complex numbers, of the first `axes` of the dimensions; `scale` with the first one. */
static sp_status transform_complex(const sp_call *call, const box *b, int axes, const layout *from,
				   const layout *to, double scale)
{
	const fourier_state *state = call->state;
	int order[MAX_AXES] = {0, 1, 2};

	/* Neighbours in memory first, if they do not stay where they are. */
	for (int i = 1; i < axes && from != to; i++)
		if (from->steps[SP_FOURIER_DIMS - state->axes + i] == 1) {
			order[0] = i;
			order[i] = 0;
			break;
		}
	for (int i = 0; i < axes; i++) {
		SP_TRY(transform(call, b, order[i], from, to, scale, sp_fourier_complex));
		from = to;
		scale = 1;
	}
	return SP_OK;
}

static sp_status transform_to_real(const sp_call *call, const box *b, layout from, const layout *to,
				   double scale)
{
	const fourier_state *state = call->state;
	int others = state->axes - 1;
	size_t count = from.counts[0];
	sp_shape shape = call->in[0]->shape;
	layout between;

	if (others > 0) {
		for (int i = 0; i < state->axes; i++) {
			shape.dims[shape.rank - state->axes + i] = (int64_t)b->taken[i];
			count *= b->taken[i];
		}
		between = lay_out(state, sp_call_bytes(call, count, sp_dtype_size(state->from)),
				  &shape, b->taken);
		if (between.data == NULL)
			return sp_call_no_memory(call);
		SP_TRY(transform_complex(call, b, others, &from, &between, 1));
		from = between;
	}
	return transform(call, b, others, &from, to, scale, sp_fourier_to_real);
}

static sp_status run_fourier(const sp_call *call)
{
	const fourier_state *state = call->state;
	const sp_tensor *in = call->in[0], *out = call->out[0];
	layout from, to;
	double scale = 1;
	sp_shape shape;
	box b;

	SP_TRY(read_lengths(call, &b, &shape));
	SP_TRY(sp_call_output(call, 0, state->to, &shape));
	if (out->count == 0)
		return SP_OK;
	if (in->count == 0)
		return sp_call_invalid(call, "there is nothing to transform");
	from = lay_out(state, in->data, &in->shape, b.taken);
	to = lay_out(state, out->data, &shape, b.made);
	for (int i = 0; state->inverse && i < state->axes; i++)
		scale *= (double)b.lengths[i];
	scale = 1 / scale;
	if (!state->real)
		return transform_complex(call, &b, state->axes, &from, &to, scale);
	if (state->inverse)
		return transform_to_real(call, &b, from, &to, scale);
	SP_TRY(transform(call, &b, state->axes - 1, &from, &to, 1, sp_fourier_of_real));
	return transform_complex(call, &b, state->axes - 1, &to, &to, 1);
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
