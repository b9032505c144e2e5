#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/elements.h"
#include "engine/stablehlo/ops/scalar_code.h"
#include "engine/stablehlo/ops/strided_window.h"

/*
 * XlaReduceWindow of input, init_value, window_dimensions, window_strides, base_dilations,
 * window_dilations [rank each], padding [rank, 2]: reduces each window by the attribute
 * `computation`: a = f(a, x), starting from a = init_value.  Padding and holes are skipped.
 *
 * Numerics: the elements of a window are taken in row-major order.  A running total (a window over
 * all of one dimension that moves along it, which jax writes for cumsum) of an associative function
 * is computed from the previous one.
 */
typedef struct window_state {
	const sp_scalar_code *code;
	bool is_free;
} window_state;

static sp_status prepare_reduce(sp_prepare *prepare, sp_error *err)
{
	window_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtypes[2];
	sp_scalar_types types = {dtypes, 2, dtypes, 1};

	SP_NEED_MEMORY(state, err, "an operator");
	SP_TRY(sp_prepare_types(prepare, "E E index index index index index -> E", err));
	dtypes[0] = dtypes[1] = prepare->in_dtypes[0];
	SP_TRY(sp_scalar_code__make(&state->code, prepare, "computation", &types, err));
	state->is_free = sp_scalar_code__is_associative(state->code);
	return SP_OK;
}

/* ------------------------------------------------------------ the windows */

typedef struct windows {
	int rank;
	sp_strided_window along[SP_MAX_RANK];
	sp_shape places;
	int64_t strides[SP_MAX_RANK]; /* of the input, in elements */
} windows;

/* The inputs. */
enum { SIZE = 2, STRIDE, DILATION, WINDOW_DILATION, PADDING };

static sp_status need_list(const sp_call *call, size_t i, size_t count)
{
	SP_TRY(sp_call_need_rank(call, i, 1));
	if (call->in[i]->count != count)
		return sp_call_invalid(call, "input %zu has %zu elements for rank %zu", i,
				       call->in[i]->count, count);
	return SP_OK;
}

static int64_t number(const sp_call *call, size_t i, int d)
{
	return sp_tensor_index(call->in[i], (size_t)d);
}

static sp_status plan_windows(const sp_call *call, windows *w)
{
	const sp_shape *shape = &call->in[0]->shape;
	int64_t elements = 1;

	*w = (windows){.rank = shape->rank, .places = {.rank = shape->rank}};
	for (size_t i = SIZE; i < PADDING; i++)
		SP_TRY(need_list(call, i, (size_t)shape->rank));
	SP_TRY(sp_call_need_rank(call, PADDING, 2));
	if (call->in[PADDING]->shape.dims[0] != shape->rank ||
	    call->in[PADDING]->shape.dims[1] != 2)
		return sp_call_invalid(call, "padding is not [%d,2]", shape->rank);
	for (int d = 0; d < shape->rank; d++) {
		w->along[d] = (sp_strided_window){
			.size = number(call, SIZE, d),
			.stride = number(call, STRIDE, d),
			.dilation = number(call, DILATION, d),
			.window_dilation = number(call, WINDOW_DILATION, d),
			.low = number(call, PADDING, 2 * d),
			.high = number(call, PADDING, 2 * d + 1)};
		SP_TRY(sp_strided_window__plan(&w->along[d], call, d, shape->dims[d],
					       &w->places.dims[d]));
		if (__builtin_mul_overflow(elements, w->along[d].size, &elements) ||
		    elements > INT32_MAX)
			return sp_call_invalid(call, "a window has too many elements");
	}
	sp_strided_copy__strides(shape, 1, w->strides);
	return SP_OK;
}

/*
 * The offset of element `k` of the window at `place`, in the first `rank` dimensions; -1: outside.
 */
static int64_t find(const windows *w, int rank, const int64_t *place, const int64_t *k)
{
	int64_t at = 0;

	for (int d = 0; d < rank; d++) {
		int64_t i = sp_strided_window__at(&w->along[d], place[d], k[d]);

		if (i < 0)
			return -1;
		at += i * w->strides[d];
	}
	return at;
}

/* ----------------------------------------------------------- the reduction */

typedef struct reducing {
	const windows *w;
	const sp_scalar_run *run;
	size_t size;
	char *gathered; /* 2 * SP_SCALAR_LANES elements */
	int64_t sizes[SP_MAX_RANK];
} reducing;

/* Positions in a line at which element k of the window is an input element, with those elements. */
typedef struct batch {
	int64_t places[SP_SCALAR_LANES];
	size_t count;
} batch;

static void flush(const reducing *r, char *line, batch *b)
{
	char *a = r->gathered, *x = a + SP_SCALAR_LANES * r->size;

	for (size_t i = 0; i < b->count; i++)
		sp_element__copy(a, i, line, (size_t)b->places[i], r->size);
	sp_scalar_run__apply(r->run, (const void *[]){a, x}, (void *[]){a}, b->count);
	for (size_t i = 0; i < b->count; i++)
		sp_element__copy(line, (size_t)b->places[i], a, i, r->size);
	b->count = 0;
}

/* Combines element `k` of the last dimension with all positions of a line. */
static void join_line(const reducing *r, int64_t k, char *line, const char *row)
{
	int last = r->w->rank - 1;
	const sp_strided_window *s = &r->w->along[last];
	int64_t shift = k * s->window_dilation - s->low, places = r->w->places.dims[last];
	batch b = {.count = 0};

	if (s->stride == 1 && s->dilation == 1) {
		int64_t first = shift < 0 ? -shift : 0;
		int64_t end = s->spread - shift < places ? s->spread - shift : places;

		if (first < end)
			sp_scalar_run__apply(
				r->run,
				(const void *[]){line + (size_t)first * r->size,
						 row + (size_t)(first + shift) * r->size},
				(void *[]){line + (size_t)first * r->size}, (size_t)(end - first));
		return;
	}
	for (int64_t i = 0; i < places; i++) {
		int64_t at = sp_strided_window__at(s, i, k);

		if (at < 0)
			continue;
		sp_element__copy(r->gathered, SP_SCALAR_LANES + b.count, row, (size_t)at, r->size);
		b.places[b.count++] = i;
		if (b.count == SP_SCALAR_LANES)
			flush(r, line, &b);
	}
	if (b.count != 0)
		flush(r, line, &b);
}

/* Goes line by line over the positions, and for each line over the elements of the window. */
static void reduce_windows(const reducing *r, char *out, const char *in)
{
	const windows *w = r->w;
	int outer = w->rank - 1;
	size_t line = (size_t)w->places.dims[outer] * r->size;
	int64_t place[SP_MAX_RANK] = {0};

	do {
		int64_t k[SP_MAX_RANK] = {0};

		do {
			int64_t row = find(w, outer, place, k);

			if (row >= 0)
				for (int64_t i = 0; i < r->sizes[outer]; i++)
					join_line(r, i, out, in + (size_t)row * r->size);
		} while (sp_strided_window__step(k, outer, r->sizes));
		out += line;
	} while (sp_strided_window__step(place, outer, w->places.dims));
}

/* The dimension of running totals, which start at its end if *back; -1: there is none. */
static int running_dimension(const windows *w, const sp_shape *shape, bool *back)
{
	int found = -1;

	for (int d = 0; d < w->rank; d++) {
		const sp_strided_window *s = &w->along[d];
		int64_t rest = shape->dims[d] - 1;

		if (s->stride != 1 || s->dilation != 1 || s->window_dilation != 1)
			return -1;
		if (s->size == 1 && s->low == 0 && s->high == 0)
			continue;
		if (found >= 0 || s->size != shape->dims[d] || s->low + s->high != rest ||
		    (s->low != rest && s->high != rest))
			return -1;
		found = d;
		*back = s->low == 0;
	}
	return found;
}

/* `out` holds the initial values. */
static void run_totals(const reducing *r, const sp_shape *shape, int d, bool back, char *out,
		       const char *in)
{
	size_t inner = (size_t)sp_shape_product(shape, d + 1, shape->rank),
	       n = (size_t)shape->dims[d];
	size_t outer = (size_t)sp_shape_product(shape, 0, d), row = inner * r->size;

	for (size_t o = 0; o < outer; o++)
		for (size_t i = 0; i < n; i++) {
			size_t at = (o * n + (back ? n - 1 - i : i)) * row;
			const char *before = i == 0 ? out + at
					     : back ? out + at + row
						    : out + at - row;

			sp_scalar_run__apply(r->run, (const void *[]){before, in + at},
					     (void *[]){out + at}, inner);
		}
}

static sp_status run_reduce(const sp_call *call)
{
	const window_state *state = call->state;
	const sp_tensor *in = call->in[0];
	reducing r = {.size = sp_dtype_size(in->dtype)};
	sp_scalar_run run;
	bool back = false;
	windows w;
	int d;

	SP_TRY(plan_windows(call, &w));
	SP_TRY(sp_call_need_rank(call, 1, 0));
	SP_TRY(sp_call_output(call, 0, in->dtype, &w.places));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_elements__fill(call->out[0]->data, call->out[0]->count, call->in[1]->data, r.size);
	if (in->count == 0)
		return SP_OK;
	SP_TRY(sp_scalar_run__start(&run, call, state->code));
	r.w = &w;
	r.run = &run;
	SP_CALL_BYTES(r.gathered, call, 2 * SP_SCALAR_LANES, r.size);
	for (int i = 0; i < w.rank; i++)
		r.sizes[i] = w.along[i].size;
	d = state->is_free ? running_dimension(&w, &in->shape, &back) : -1;
	if (d >= 0)
		run_totals(&r, &in->shape, d, back, call->out[0]->data, in->data);
	else if (w.rank == 0)
		sp_scalar_run__apply(&run, (const void *[]){call->in[1]->data, in->data},
				     (void *[]){call->out[0]->data}, 1);
	else
		reduce_windows(&r, call->out[0]->data, in->data);
	return SP_OK;
}

SP_DEFINE_OP(XlaReduceWindow, NULL, 0, prepare_reduce, run_reduce);
