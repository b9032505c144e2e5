#include <string.h>

#include "engine/ops/array/array.h"
#include "engine/ops/array/strided_copy.h"
#include "engine/ops/array/elements.h"
#include "engine/stablehlo/ops/scalar_code.h"
#include "engine/stablehlo/ops/dimension_numbers.h"

/*
 * Reductions by a function of scalars, the attribute `reducer`, along the dimensions in the
 * attribute `dimensions_to_reduce`.
 *
 *     XlaReduce            `input`, `init_value`: a = reducer(a, x), starting from a = init_value
 *     XlaVariadicReduce    N inputs of one shape and type, then N initial scalars:
 *     XlaVariadicReduceV2  a0, a1, ... = reducer(a0, a1, ..., x0, x1, ...); V2 of any types
 *
 * Numerics: elements are taken in row-major order, except by sums, products and other associative
 * reducers along the last dimensions: these reduce SP_SCALAR_LANES at a time, then combine the
 * lanes by halves, and the initial value last.  XLA's order differs.
 */
enum { MOST_OPERANDS = SP_SCALAR_ENDS / 2 };

typedef struct reduce_state {
	const sp_scalar_code *reducer;
	sp_dim_list dims; /* to reduce */
	size_t operands;
	bool is_free; /* elements may be taken in any order */
} reduce_state;

static sp_status read_dims(const sp_prepare *prepare, sp_dim_list *out, sp_error *err)
{
	const sp_attr *list;

	SP_TRY(sp_node_attr_list(prepare->node, "dimensions_to_reduce", SP_ATTR_INT, &list, err));
	if (list->count > SP_MAX_RANK)
		return sp_error_set(err, SP_INVALID, "%zu dimensions to reduce", list->count);
	out->count = (int)list->count;
	for (int i = 0; i < out->count; i++)
		out->dims[i] = list->i_list[i];
	return SP_OK;
}

static sp_status prepare_reduce(sp_prepare *prepare, sp_error *err)
{
	reduce_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtypes[2 * MOST_OPERANDS];
	sp_scalar_types types = {.arguments = dtypes, .results = dtypes};
	size_t n = prepare->in_count / 2;

	SP_NEED_MEMORY(state, err, "an operator");
	if (n == 0 || n > MOST_OPERANDS || prepare->in_count != 2 * n)
		return sp_error_set(err, SP_INVALID, "%s of %zu inputs", prepare->node->op_name,
				    prepare->in_count);
	for (size_t i = 0; i < n; i++) {
		SP_TRY(sp_array__movable(prepare, prepare->in_dtypes[i], err));
		SP_TRY(sp_prepare_input_dtype(prepare, n + i, prepare->in_dtypes[i], err));
		dtypes[i] = dtypes[n + i] = prepare->in_dtypes[i];
	}
	types.argument_count = 2 * n;
	types.result_count = n;
	state->operands = n;
	SP_TRY(read_dims(prepare, &state->dims, err));
	SP_TRY(sp_scalar_code__make(&state->reducer, prepare, "reducer", &types, err));
	state->is_free = sp_scalar_code__is_associative(state->reducer);
	SP_TRY(sp_prepare_outputs(prepare, n, SP_INVALID_DTYPE, err));
	memcpy(prepare->out_dtypes, dtypes, n * sizeof(*dtypes));
	return SP_OK;
}

/* ------------------------------------------------------------- the shapes */

typedef struct layout {
	sp_shape out;
	size_t kept, reduced; /* number of elements of a result, and of the reduced dimensions */
	bool reduced_last;    /* the reduced dimensions are the last ones, or */
	bool reduced_first;
} layout;

static sp_status check_shapes(const sp_call *call)
{
	const reduce_state *state = call->state;
	const sp_shape *shape = &call->in[0]->shape;

	for (size_t i = 0; i < state->operands; i++) {
		if (!sp_shape_equal(shape, &call->in[i]->shape))
			return sp_call_invalid(call,
					       "input %zu does not have the shape of the first", i);
		SP_TRY(sp_call_need_rank(call, state->operands + i, 0));
	}
	return sp_dim_list__check(&state->dims, call, shape->rank, "dimensions_to_reduce");
}

static void plan(const reduce_state *state, const sp_shape *shape, layout *l)
{
	*l = (layout){.kept = 1, .reduced = 1, .reduced_last = true, .reduced_first = true};
	for (int d = 0; d < shape->rank; d++) {
		size_t dim = (size_t)shape->dims[d];

		if (sp_dim_list__has(&state->dims, d)) {
			l->reduced_first &= l->kept == 1;
			l->reduced *= dim;
		} else {
			l->reduced_last &= l->reduced == 1;
			l->kept *= dim;
			l->out.dims[l->out.rank++] = shape->dims[d];
		}
	}
}

/* The operand with its reduced dimensions first: the input itself or a copy. */
static sp_status lay_out(const sp_call *call, size_t i, const layout *l, const char **out)
{
	const reduce_state *state = call->state;
	const sp_tensor *in = call->in[i];
	size_t size = sp_dtype_size(in->dtype);
	int64_t strides[SP_MAX_RANK], to = (int64_t)(in->count * size);
	sp_strided_copy strided = {.rank = 0};
	char *copy;

	*out = in->data;
	if (l->reduced_first)
		return SP_OK;
	SP_CALL_BYTES(copy, call, in->count, size);
	sp_strided_copy__strides(&in->shape, size, strides);
	for (int kept = 0; kept < 2; kept++)
		for (int d = 0; d < in->shape.rank; d++) {
			if (sp_dim_list__has(&state->dims, d) == (kept == 1))
				continue;
			to /= in->shape.dims[d];
			sp_strided_copy__add(&strided, in->shape.dims[d], to, strides[d]);
		}
	sp_strided_copy__run(&strided, copy, in->data, size);
	*out = copy;
	return SP_OK;
}

/* -------------------------------------------------------------- the loops */

/* Reduces a strip of outputs side by side; the outputs hold the initial values. */
static void reduce_columns(const sp_call *call, const sp_scalar_run *run, const layout *l,
			   const char *const *data)
{
	enum { STRIP = 8 * SP_SCALAR_LANES };
	const reduce_state *state = call->state;
	const void *arguments[2 * MOST_OPERANDS];
	void *results[MOST_OPERANDS];
	size_t n = state->operands;

	for (size_t at = 0, width; at < l->kept; at += width) {
		width = l->kept - at < STRIP ? l->kept - at : STRIP;
		for (size_t r = 0; r < l->reduced; r++) {
			for (size_t i = 0; i < n; i++) {
				size_t size = sp_dtype_size(call->in[i]->dtype);

				results[i] = (char *)call->out[i]->data + at * size;
				arguments[i] = results[i];
				arguments[n + i] = data[i] + (r * l->kept + at) * size;
			}
			sp_scalar_run__apply(run, arguments, results, width);
		}
	}
}

/* Reduces one row into the first of `lanes`. */
static void reduce_row(const sp_scalar_run *run, const char *row, size_t count, char *lanes,
		       size_t size)
{
	size_t width = count < SP_SCALAR_LANES ? count : SP_SCALAR_LANES;
	void *results[] = {lanes};

	memcpy(lanes, row, width * size);
	for (size_t at = width, n; at < count; at += n) {
		n = count - at < width ? count - at : width;
		sp_scalar_run__apply(run, (const void *[]){lanes, row + at * size}, results, n);
	}
	while (width > 1) {
		size_t half = width / 2;

		width -= half;
		sp_scalar_run__apply(run, (const void *[]){lanes, lanes + width * size}, results,
				     half);
	}
}

static sp_status reduce_rows(const sp_call *call, const sp_scalar_run *run, const layout *l)
{
	size_t size = sp_dtype_size(call->in[0]->dtype);
	const char *in = call->in[0]->data;
	char *out = call->out[0]->data, *lanes = sp_call_bytes(call, SP_SCALAR_LANES, size);

	if (lanes == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < l->kept; i++) {
		reduce_row(run, in + i * l->reduced * size, l->reduced, lanes, size);
		memcpy(out + i * size, lanes, size);
	}
	for (size_t at = 0, n; at < l->kept; at += n) {
		void *results[] = {out + at * size};

		n = l->kept - at < SP_SCALAR_LANES ? l->kept - at : SP_SCALAR_LANES;
		sp_elements__fill(lanes, n, call->in[1]->data, size);
		sp_scalar_run__apply(run, (const void *[]){lanes, results[0]}, results, n);
	}
	return SP_OK;
}

static sp_status run_reduce(const sp_call *call)
{
	const reduce_state *state = call->state;
	const char *data[MOST_OPERANDS];
	sp_scalar_run run;
	layout l;

	SP_TRY(check_shapes(call));
	plan(state, &call->in[0]->shape, &l);
	for (size_t i = 0; i < state->operands; i++) {
		const sp_tensor *start = call->in[state->operands + i];

		SP_TRY(sp_call_output(call, i, start->dtype, &l.out));
		if (call->out[i]->count != 0)
			sp_elements__fill(call->out[i]->data, call->out[i]->count, start->data,
					  sp_dtype_size(start->dtype));
	}
	if (call->in[0]->count == 0)
		return SP_OK;
	SP_TRY(sp_scalar_run__start(&run, call, state->reducer));
	if (state->is_free && l.reduced_last && l.reduced > 1)
		return reduce_rows(call, &run, &l);
	for (size_t i = 0; i < state->operands; i++)
		SP_TRY(lay_out(call, i, &l, &data[i]));
	reduce_columns(call, &run, &l, data);
	return SP_OK;
}

SP_DEFINE_OP(XlaReduce, NULL, 0, prepare_reduce, run_reduce);
SP_DEFINE_OP(XlaVariadicReduce, "output:N", 0, prepare_reduce, run_reduce);
SP_DEFINE_OP(XlaVariadicReduceV2, "outputs:T", 0, prepare_reduce, run_reduce);
