#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/elements.h"
#include "engine/stablehlo/ops/scalar_code.h"
#include "engine/stablehlo/ops/strided_window.h"

/*
 * Windows over any dimensions.
 *
 *     XlaReduceWindow      input, init_value, window_dimensions, window_strides, base_dilations,
 *                          window_dilations [rank each], padding [rank, 2]: reduces the elements
 *                          of each window by the attribute `computation`, a = f(a, x), starting
 *                          with init_value
 *     XlaSelectAndScatter  operand, window_dimensions, window_strides, padding, source, init_value:
 *                          each element of source is combined by `scatter` into the output, which
 *                          starts as init_value, at the element of its window that `select`
 *                          selects: the selected element s is replaced by x unless select(s, x)
 *
 * Padding and holes are skipped.
 *
 * Numerics: the elements of a window are combined in row-major order.  A running total (a window as
 * long as a dimension that moves along it, which jax exports for cumsum) of an associative function
 * is computed from the preceding total.
 */
typedef struct window_state {
	const sp_scalar_code *code;
	const sp_scalar_code *select;
	bool is_associative;
} window_state;

static sp_status prepare_code(sp_prepare *prepare, const char *name, bool compares,
			      const sp_scalar_code **out, sp_error *err)
{
	sp_dtype result = compares ? SP_BOOL : prepare->in_dtypes[0];
	sp_dtype arguments[] = {prepare->in_dtypes[0], prepare->in_dtypes[0]};
	sp_scalar_types types = {arguments, 2, &result, 1};

	return sp_scalar_code__make(out, prepare, name, &types, err);
}

static sp_status prepare_reduce(sp_prepare *prepare, sp_error *err)
{
	window_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, 7, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, prepare->in_dtypes[0], err));
	for (size_t i = 2; i < 7; i++)
		SP_TRY(sp_prepare_input_index(prepare, i, err));
	SP_TRY(prepare_code(prepare, "computation", false, &state->code, err));
	state->is_associative = sp_scalar_code__is_associative(state->code);
	return SP_OK;
}

static sp_status prepare_scatter(sp_prepare *prepare, sp_error *err)
{
	window_state *state = sp_prepare_state(prepare, sizeof(*state));

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_array__prepare(prepare, 6, err));
	for (size_t i = 1; i < 4; i++)
		SP_TRY(sp_prepare_input_index(prepare, i, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 4, prepare->in_dtypes[0], err));
	SP_TRY(sp_prepare_input_dtype(prepare, 5, prepare->in_dtypes[0], err));
	SP_TRY(prepare_code(prepare, "scatter", false, &state->code, err));
	return prepare_code(prepare, "select", true, &state->select, err);
}

/* ------------------------------------------------------------ the windows */

typedef struct windows {
	int rank;
	sp_strided_window along[SP_MAX_RANK];
	sp_shape places;
	int64_t strides[SP_MAX_RANK]; /* of the input, in elements */
} windows;

/* The indices of the inputs with these numbers; 0: no such input, the numbers are 1. */
typedef struct window_inputs {
	size_t size, stride, dilation, window_dilation, padding;
} window_inputs;

static sp_status need_list(const sp_call *call, size_t i, size_t count)
{
	SP_TRY(sp_array__need_rank(call, i, 1));
	if (call->in[i]->count != count)
		return sp_call_invalid(call, "input %zu has %zu elements for rank %zu", i,
				       call->in[i]->count, count);
	return SP_OK;
}

static int64_t number(const sp_call *call, size_t i, int d)
{
	return i != 0 ? sp_tensor_index(call->in[i], (size_t)d) : 1;
}

static sp_status plan_windows(const sp_call *call, const window_inputs *in, windows *w)
{
	const sp_shape *shape = &call->in[0]->shape;
	const size_t lists[] = {in->size, in->stride, in->dilation, in->window_dilation};
	int64_t elements = 1;

	*w = (windows){.rank = shape->rank, .places = {.rank = shape->rank}};
	for (size_t i = 0; i < 4; i++)
		if (lists[i] != 0)
			SP_TRY(need_list(call, lists[i], (size_t)shape->rank));
	SP_TRY(sp_array__need_rank(call, in->padding, 2));
	if (call->in[in->padding]->shape.dims[0] != shape->rank ||
	    call->in[in->padding]->shape.dims[1] != 2)
		return sp_call_invalid(call, "padding is not [%d,2]", shape->rank);
	for (int d = 0; d < shape->rank; d++) {
		w->along[d] = (sp_strided_window){
			.size = number(call, in->size, d),
			.stride = number(call, in->stride, d),
			.dilation = number(call, in->dilation, d),
			.window_dilation = number(call, in->window_dilation, d),
			.low = number(call, in->padding, 2 * d),
			.high = number(call, in->padding, 2 * d + 1)};
		SP_TRY(sp_strided_window__plan(&w->along[d], call, d, shape->dims[d],
					       &w->places.dims[d]));
		if (__builtin_mul_overflow(elements, w->along[d].size, &elements) ||
		    elements > INT32_MAX)
			return sp_call_invalid(call, "a window has too many elements");
	}
	sp_strided_copy__strides(shape, 1, w->strides);
	return SP_OK;
}

/* The offset of window element `k` at `place` over the first `rank` dimensions; -1: none. */
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

/* --------------------------------------------------------- XlaReduceWindow */

typedef struct reducing {
	const windows *w;
	const sp_scalar_run *run;
	size_t size;
	char *gathered; /* 2 * SP_SCALAR_LANES elements */
	int64_t sizes[SP_MAX_RANK];
} reducing;

/* Places of a line whose window element k is an element of the input. */
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

/* Combines window element `k` of the last dimension into all places of a line. */
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

/* Computes the output line by line, and for each line the window element by element. */
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

/* The dimension along which windows are running totals (from its end if *back); -1: none. */
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
	static const window_inputs inputs = {2, 3, 4, 5, 6};
	const window_state *state = call->state;
	const sp_tensor *in = call->in[0];
	reducing r = {.size = sp_dtype_size(in->dtype)};
	sp_scalar_run run;
	bool back = false;
	windows w;
	int d;

	SP_TRY(plan_windows(call, &inputs, &w));
	SP_TRY(sp_array__need_rank(call, 1, 0));
	SP_TRY(sp_call_output(call, 0, in->dtype, &w.places));
	if (call->out[0]->count == 0)
		return SP_OK;
	sp_elements__fill(call->out[0]->data, call->out[0]->count, call->in[1]->data, r.size);
	if (in->count == 0)
		return SP_OK;
	SP_TRY(sp_scalar_run__start(&run, call, state->code));
	r.w = &w;
	r.run = &run;
	r.gathered = sp_call_bytes(call, 2 * SP_SCALAR_LANES, r.size);
	if (r.gathered == NULL)
		return sp_call_no_memory(call);
	for (int i = 0; i < w.rank; i++)
		r.sizes[i] = w.along[i].size;
	d = state->is_associative ? running_dimension(&w, &in->shape, &back) : -1;
	if (d >= 0)
		run_totals(&r, &in->shape, d, back, call->out[0]->data, in->data);
	else if (w.rank == 0)
		sp_scalar_run__apply(&run, (const void *[]){call->in[1]->data, in->data},
				     (void *[]){call->out[0]->data}, 1);
	else
		reduce_windows(&r, call->out[0]->data, in->data);
	return SP_OK;
}

/* ----------------------------------------------------- XlaSelectAndScatter */

/* The element that `select` selects in the window at `place`; -1 if the window has no elements. */
static int64_t select_element(const windows *w, const sp_scalar_run *select, const int64_t *place,
			      const char *in, size_t size)
{
	int64_t k[SP_MAX_RANK] = {0}, sizes[SP_MAX_RANK], chosen = -1;

	for (int d = 0; d < w->rank; d++)
		sizes[d] = w->along[d].size;
	do {
		int64_t at = find(w, w->rank, place, k);
		bool stays = true;

		if (at < 0)
			continue;
		if (chosen < 0)
			chosen = at;
		else
			sp_scalar_run__apply(select,
					     (const void *[]){in + (size_t)chosen * size,
							      in + (size_t)at * size},
					     (void *[]){&stays}, 1);
		if (!stays)
			chosen = at;
	} while (sp_strided_window__step(k, w->rank, sizes));
	return chosen;
}

static sp_status run_scatter(const sp_call *call)
{
	static const window_inputs inputs = {.size = 1, .stride = 2, .padding = 3};
	const window_state *state = call->state;
	const sp_tensor *in = call->in[0], *source = call->in[4];
	size_t size = sp_dtype_size(in->dtype);
	const char *from = source->data;
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];
	int64_t place[SP_MAX_RANK] = {0};
	sp_scalar_run select, scatter;
	windows w;

	SP_TRY(plan_windows(call, &inputs, &w));
	SP_TRY(sp_array__need_rank(call, 5, 0));
	if (!sp_shape_equal(&w.places, &source->shape))
		return sp_call_invalid(call, "source is %s, not %s",
				       sp_shape_text(&source->shape, a),
				       sp_shape_text(&w.places, b));
	SP_TRY(sp_call_output(call, 0, in->dtype, &in->shape));
	if (in->count == 0)
		return SP_OK;
	sp_elements__fill(call->out[0]->data, in->count, call->in[5]->data, size);
	if (source->count == 0)
		return SP_OK;
	SP_TRY(sp_scalar_run__start(&select, call, state->select));
	SP_TRY(sp_scalar_run__start(&scatter, call, state->code));
	do {
		int64_t at = select_element(&w, &select, place, in->data, size);
		char *to = (char *)call->out[0]->data + (size_t)(at < 0 ? 0 : at) * size;

		if (at >= 0)
			sp_scalar_run__apply(&scatter, (const void *[]){to, from}, (void *[]){to},
					     1);
		from += size;
	} while (sp_strided_window__step(place, w.rank, w.places.dims));
	return SP_OK;
}

SP_DEFINE_OP(XlaReduceWindow, NULL, 0, prepare_reduce, run_reduce);
SP_DEFINE_OP(XlaSelectAndScatter, NULL, 0, prepare_scatter, run_scatter);
