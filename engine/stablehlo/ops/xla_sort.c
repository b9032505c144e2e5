#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/elements.h"
#include "engine/stablehlo/ops/scalar_code.h"

/*
 * XlaVariadicSort: a stable sort of `inputs`, of one shape, along `dimension`, -1 for the last. The
 * attribute `comparator` tells whether element x goes before y, for elements x and y of all inputs:
 * comparator(x0, y0, x1, y1, ...).
 *
 * Each line is sorted by merging runs of 1, 2, 4, ... positions.  The next comparisons of all
 * merges in all lines are made together, so that the cost of each step of the comparator is spread
 * over many elements.
 */
enum { MOST_OPERANDS = SP_SCALAR_ENDS / 2 };

typedef struct sort_state {
	const sp_scalar_code *comparator;
	size_t operands;
} sort_state;

/* The operands laid out line by line, and the order of each line, as positions. */
typedef struct sorter {
	size_t operands, lines, length;
	const char *data[MOST_OPERANDS];
	size_t sizes[MOST_OPERANDS];
	uint32_t *order, *spare; /* [lines, length] */
	sp_scalar_run run;
	bool reads[2 * MOST_OPERANDS]; /* arguments that the comparator reads */
	const void *arguments[2 * MOST_OPERANDS];
} sorter;

/* --------------------------------------------------------------- merging */

/* Two runs of a line, which become one at `to`. */
typedef struct merge {
	const uint32_t *left, *left_end, *right, *right_end;
	uint32_t *to;
	size_t line; /* the position of its first element */
} merge;

/* Argument 2k is operand k of the right run, argument 2k + 1 of the left one. */
static void load(const sorter *s, const merge *m, size_t lane)
{
	for (size_t a = 0; a < 2 * s->operands; a++)
		if (s->reads[a])
			sp_element__copy((void *)s->arguments[a], lane, s->data[a / 2],
					 m->line + (a % 2 == 0 ? *m->right : *m->left),
					 s->sizes[a / 2]);
}

/* Copies the rest of one run when the other is exhausted; false until then. */
static bool finish(merge *m)
{
	size_t left = (size_t)(m->left_end - m->left), right = (size_t)(m->right_end - m->right);

	if (left != 0 && right != 0)
		return false;
	memcpy(m->to, left != 0 ? m->left : m->right, (left + right) * sizeof(*m->to));
	return true;
}

static void run_merges(const sorter *s, merge *merges, size_t count)
{
	bool before[SP_SCALAR_LANES];
	void *result = before;

	for (;;) {
		for (size_t i = 0; i < count;)
			if (finish(&merges[i]))
				merges[i] = merges[--count];
			else
				i++;
		if (count == 0)
			return;
		for (size_t i = 0; i < count; i++)
			load(s, &merges[i], i);
		sp_scalar_run__apply(&s->run, s->arguments, &result, count);
		for (size_t i = 0; i < count; i++)
			*merges[i].to++ = before[i] ? *merges[i].right++ : *merges[i].left++;
	}
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Merges runs of `width` into runs of twice that, from order to spare. */
static void merge_runs(const sorter *s, size_t width)
{
	merge merges[SP_SCALAR_LANES];
	size_t count = 0;

	for (size_t line = 0; line < s->lines; line++)
		for (size_t at = 0; at < s->length; at += 2 * width) {
			size_t first = line * s->length, middle = at_most(at + width, s->length);
			const uint32_t *order = s->order + first;

			merges[count++] = (merge){.left = order + at,
						  .left_end = order + middle,
						  .right = order + middle,
						  .right_end = order +
							       at_most(at + 2 * width, s->length),
						  .to = s->spare + first + at,
						  .line = first};
			if (count == SP_SCALAR_LANES) {
				run_merges(s, merges, count);
				count = 0;
			}
		}
	run_merges(s, merges, count);
}

static void sort_lines(sorter *s)
{
	for (size_t i = 0; i < s->lines * s->length; i++)
		s->order[i] = (uint32_t)(i % s->length);
	for (size_t width = 1; width < s->length; width *= 2) {
		uint32_t *merged = s->spare;

		merge_runs(s, width);
		s->spare = s->order;
		s->order = merged;
	}
}

/* -------------------------------------------------------------- the lines */

/* The layout: lines along dimension d, whose elements are `inner` elements apart. */
typedef struct lines {
	size_t outer, length, inner;
} lines;

static lines lines_of(const sp_shape *shape, int d)
{
	return (lines){(size_t)sp_shape_product(shape, 0, d), (size_t)shape->dims[d],
		       (size_t)sp_shape_product(shape, d + 1, shape->rank)};
}

/* The operand line by line: the input itself or a copy. */
static sp_status lay_out(const sp_call *call, size_t i, const lines *l, const char **out)
{
	const sp_tensor *in = call->in[i];
	int64_t size = (int64_t)sp_dtype_size(in->dtype), n = (int64_t)l->length;
	int64_t inner = (int64_t)l->inner;
	sp_strided_copy strided = {.rank = 0};
	char *copy;

	*out = in->data;
	if (inner == 1)
		return SP_OK;
	SP_CALL_BYTES(copy, call, in->count, (size_t)size);
	sp_strided_copy__add(&strided, (int64_t)l->outer, inner * n * size, inner * n * size);
	sp_strided_copy__add(&strided, inner, n * size, size);
	sp_strided_copy__add(&strided, n, size, inner * size);
	sp_strided_copy__run(&strided, copy, in->data, (size_t)size);
	*out = copy;
	return SP_OK;
}

static void write_sorted(const sp_call *call, size_t i, const lines *l, const sorter *s)
{
	size_t size = sp_dtype_size(call->in[i]->dtype);
	void *out = call->out[i]->data;

	for (size_t line = 0; line < s->lines; line++) {
		size_t first = line * l->length;
		size_t to = line / l->inner * l->length * l->inner + line % l->inner;

		for (size_t k = 0; k < l->length; k++)
			sp_element__copy(out, to + k * l->inner, s->data[i],
					 first + s->order[first + k], size);
	}
}

static sp_status make_orders(const sp_call *call, sorter *s)
{
	s->order = sp_call_bytes(call, s->lines * s->length, sizeof(*s->order));
	s->spare = sp_call_bytes(call, s->lines * s->length, sizeof(*s->spare));
	return s->order == NULL || s->spare == NULL ? sp_call_no_memory(call) : SP_OK;
}

static sp_status check_shapes(const sp_call *call, size_t operands)
{
	for (size_t i = 1; i < operands; i++)
		if (!sp_shape_equal(&call->in[0]->shape, &call->in[i]->shape))
			return sp_call_invalid(call,
					       "input %zu does not have the shape of the first", i);
	return SP_OK;
}

/* -------------------------------------------------------------- the operator */

static sp_status prepare_sort(sp_prepare *prepare, sp_error *err)
{
	sort_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype arguments[2 * MOST_OPERANDS], result = SP_BOOL;
	sp_scalar_types types = {.arguments = arguments, .results = &result, .result_count = 1};
	size_t n = prepare->in_count - 1;

	SP_NEED_MEMORY(state, err, "an operator");
	if (prepare->in_count < 2 || n > MOST_OPERANDS)
		return sp_error_set(err, SP_INVALID, "%s of %zu inputs", prepare->node->op_name,
				    prepare->in_count);
	SP_TRY(sp_prepare_input_index(prepare, n, err));
	for (size_t i = 0; i < n; i++) {
		SP_TRY(sp_array__movable(prepare, prepare->in_dtypes[i], err));
		arguments[2 * i] = arguments[2 * i + 1] = prepare->in_dtypes[i];
	}
	types.argument_count = 2 * n;
	state->operands = n;
	SP_TRY(sp_scalar_code__make(&state->comparator, prepare, "comparator", &types, err));
	SP_TRY(sp_prepare_outputs(prepare, n, SP_INVALID_DTYPE, err));
	memcpy(prepare->out_dtypes, prepare->in_dtypes, n * sizeof(*prepare->out_dtypes));
	return SP_OK;
}

static sp_status start_comparator(const sp_call *call, sorter *s, const sort_state *state)
{
	for (size_t a = 0; a < 2 * s->operands; a++) {
		s->reads[a] = sp_scalar_code__reads(state->comparator, a);
		s->arguments[a] = s->reads[a]
					  ? sp_call_bytes(call, SP_SCALAR_LANES, s->sizes[a / 2])
					  : NULL;
		if (s->reads[a] && s->arguments[a] == NULL)
			return sp_call_no_memory(call);
	}
	return sp_scalar_run__start(&s->run, call, state->comparator);
}

static sp_status run_sort(const sp_call *call)
{
	const sort_state *state = call->state;
	const sp_shape *shape = &call->in[0]->shape;
	sorter s = {.operands = state->operands};
	int64_t dimension;
	lines l;
	int d;

	SP_TRY(check_shapes(call, state->operands));
	SP_TRY(sp_call_need_rank(call, state->operands, 0));
	SP_TRY(sp_call_scalar(call, state->operands, &dimension));
	if (dimension < -1)
		return sp_call_invalid(call, "dimension is %lld", (long long)dimension);
	SP_TRY(sp_call_axis(call, dimension, shape->rank, &d));
	for (size_t i = 0; i < s.operands; i++)
		SP_TRY(sp_call_output(call, i, call->in[i]->dtype, shape));
	if (call->in[0]->count == 0)
		return SP_OK;
	l = lines_of(shape, d);
	if (l.length > UINT32_MAX)
		return sp_call_no_memory(call);
	s.lines = l.outer * l.inner;
	s.length = l.length;
	for (size_t i = 0; i < s.operands; i++) {
		s.sizes[i] = sp_dtype_size(call->in[i]->dtype);
		SP_TRY(lay_out(call, i, &l, &s.data[i]));
	}
	SP_TRY(make_orders(call, &s));
	SP_TRY(start_comparator(call, &s, state));
	sort_lines(&s);
	for (size_t i = 0; i < s.operands; i++)
		write_sorted(call, i, &l, &s);
	return SP_OK;
}

SP_DEFINE_OP(XlaVariadicSort, "outputs:T", 0, prepare_sort, run_sort);
