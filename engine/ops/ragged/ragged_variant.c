#include "engine/ops/array/array.h"
#include "engine/ops/list/list.h"
#include "engine/ops/ragged/ragged.h"

/*
 * RaggedTensorToVariant: a ragged tensor as one variant or, with `batched_input`, an array of its
 * rows, so that a loop can process rows one by one. RaggedTensorFromVariant: the inverse; the rows
 * of an array become the rows of a ragged tensor.
 */
typedef struct ragged_state {
	bool batched;
	sp_dtype values, splits;
	int64_t input_rank; /* -1: inferred from output_ragged_rank */
	size_t output_rank;
} ragged_state;

static sp_status new_state(sp_prepare *prepare, ragged_state **out, sp_error *err)
{
	ragged_state *state = *out = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "a ragged tensor");
	SP_TRY(sp_node_attr_type(prepare->node, "Tvalues", SP_INVALID_DTYPE, &state->values, err));
	SP_TRY(sp_node_attr_type(prepare->node, "Tsplits", SP_INT64, &state->splits, err));
	if (sp_dtype_size(state->values) == 0 || state->values == SP_RESOURCE)
		return sp_prepare_unsupported(prepare, state->values, err);
	if (state->splits != SP_INT32 && state->splits != SP_INT64)
		return sp_prepare_unsupported(prepare, state->splits, err);
	return SP_OK;
}

/* ------------------------------------------------------------------ to a variant */

static sp_status prepare_to(sp_prepare *prepare, sp_error *err)
{
	size_t rank = prepare->in_count - 1;
	ragged_state *state;

	SP_TRY(new_state(prepare, &state, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "batched_input", false, &state->batched, err));
	if (prepare->in_count == 0 || (state->batched && rank == 0))
		return sp_error_set(err, SP_INVALID, "%s has %zu inputs", prepare->node->op_name,
				    prepare->in_count);
	for (size_t i = 0; i < rank; i++)
		SP_TRY(sp_prepare_input_dtype(prepare, i, state->splits, err));
	SP_TRY(sp_prepare_input_dtype(prepare, rank, state->values, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

/* Creates a ragged list of `items` unset items. */
static sp_status new_list(const sp_call *call, size_t items, sp_tensor *out)
{
	const ragged_state *state = call->state;
	sp_list like = {.dtype = state->values,
			.shape = {.rank = -1},
			.max_count = -1,
			.kind = SP_LIST_RAGGED};

	return sp_list_new(call, out, &like, items, items);
}

/* Copies splits first ... last of `from`, rebased to begin at 0, to item `i` of the list. */
static sp_status take_splits(const sp_call *call, sp_list *list, size_t i, const sp_splits *from,
			     size_t first, size_t last)
{
	const ragged_state *state = call->state;
	sp_shape shape = sp_shape_vector((int64_t)(last - first) + 1);
	sp_tensor splits;

	SP_TRY(sp_workspace_tensor(call->workspace, &splits, state->splits, &shape, call->err));
	for (size_t k = first; k <= last; k++) {
		int64_t at = from->at[k] - from->at[first];

		sp_array__put_index(&splits, k - first, at);
	}
	sp_list_set(call, list, i, &splits);
	sp_workspace_release(call->workspace, &splits);
	return SP_OK;
}

/* Takes row `row` of the batch by following its range through all levels. */
static sp_status take_row(const sp_call *call, const sp_splits *splits, size_t row,
			  sp_list_cut *values, sp_list *list)
{
	size_t rank = call->in_count - 1;
	size_t first = (size_t)splits[0].at[row], last = (size_t)splits[0].at[row + 1];
	sp_tensor piece;

	for (size_t k = 1; k < rank; k++) {
		SP_TRY(take_splits(call, list, k - 1, &splits[k], first, last));
		first = (size_t)splits[k].at[first];
		last = (size_t)splits[k].at[last];
	}
	piece = sp_list__cut_take(values, first, last - first, false);
	sp_list_set(call, list, rank - 1, &piece);
	return SP_OK;
}

static sp_status fill_rows(const sp_call *call, const sp_splits *splits, sp_list_cut *values,
			   sp_tensor *rows)
{
	for (size_t i = 0; i < splits[0].rows; i++) {
		SP_TRY(new_list(call, call->in_count - 1, &rows[i]));
		SP_TRY(take_row(call, splits, i, values, sp_tensor_list(&rows[i])));
	}
	return SP_OK;
}

static sp_status run_batched(const sp_call *call)
{
	size_t rank = call->in_count - 1, n;
	sp_splits *splits;
	sp_list_cut values;
	sp_tensor *rows;
	sp_shape shape;

	SP_TRY(sp_splits__read_all(call, rank, true, &splits));
	n = splits[0].rows;
	SP_CALL_ARRAY(rows, call, n);
	SP_TRY(sp_list__cut_begin(call, call->in[rank], n, &values));
	SP_TRY(fill_rows(call, splits, &values, rows));
	sp_list__cut_end(call, &values);
	shape = sp_shape_vector((int64_t)n);
	SP_TRY(sp_variants_create(call, 0, &shape));
	for (size_t i = 0; i < n; i++) {
		sp_variants_set(call->out[0], i, &rows[i]);
		sp_workspace_release(call->workspace, &rows[i]);
	}
	return SP_OK;
}

static sp_status run_to(const sp_call *call)
{
	sp_list *list;

	if (((const ragged_state *)call->state)->batched)
		return run_batched(call);
	SP_TRY(new_list(call, call->in_count, call->out[0]));
	list = sp_tensor_list(call->out[0]);
	for (size_t i = 0; i < call->in_count; i++)
		sp_list_set(call, list, i, call->in[i]);
	return SP_OK;
}

/* ---------------------------------------------------------------- from a variant */

static sp_status prepare_from(sp_prepare *prepare, sp_error *err)
{
	ragged_state *state;
	int64_t rank;

	SP_TRY(new_state(prepare, &state, err));
	SP_TRY(sp_prepare_types(prepare, "variant", err));
	SP_TRY(sp_node_attr_int(prepare->node, "input_ragged_rank", -1, &state->input_rank, err));
	SP_TRY(sp_node_attr_int(prepare->node, "output_ragged_rank", -1, &rank, err));
	if (rank < 0 || rank > SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED, "a ragged rank of %lld", (long long)rank);
	state->output_rank = (size_t)rank;
	SP_TRY(sp_prepare_outputs(prepare, state->output_rank + 1, state->splits, err));
	prepare->out_dtypes[rank] = state->values;
	return SP_OK;
}

/* Splits inside a variant come from the model and have not been checked before. */
static sp_status check_splits(const sp_call *call, const sp_tensor *splits)
{
	const ragged_state *state = call->state;

	if (splits->dtype != state->splits)
		return sp_call_invalid(call, "Expected row_splits Tensor dtype: %s, found: %s",
				       sp_dtype_name(state->splits), sp_dtype_name(splits->dtype));
	if (splits->shape.rank != 1 || splits->count == 0 || sp_tensor_index(splits, 0) != 0)
		return sp_call_invalid(call, "ragged splits must be a vector that begins with 0");
	for (size_t k = 1; k < splits->count; k++)
		if (sp_tensor_index(splits, k) < sp_tensor_index(splits, k - 1))
			return sp_call_invalid(call, "ragged splits must be sorted");
	return SP_OK;
}

static sp_status check_component(const sp_call *call, const sp_tensor *t, size_t i, size_t rank)
{
	const ragged_state *state = call->state;
	const sp_list *list = sp_tensor_is_set(t) ? sp_tensor_list(t) : NULL;

	if (list == NULL || list->kind != SP_LIST_RAGGED)
		return sp_call_invalid(call, "element %zu is not a RaggedTensorVariant", i);
	if (list->count != rank + 1)
		return sp_call_invalid(call, "the input has ragged rank %zu, not %zu",
				       list->count - 1, rank);
	if (list->dtype != state->values)
		return sp_call_invalid(call, "Expected values Tensor dtype: %s, found: %s",
				       sp_dtype_name(state->values), sp_dtype_name(list->dtype));
	if (list->items[rank].shape.rank == 0)
		return sp_call_invalid(call, "Ragged values must have rank >= 1");
	for (size_t k = 0; k < rank; k++)
		SP_TRY(check_splits(call, &list->items[k]));
	return SP_OK;
}

/* The number of rows of component i at level `level`; level `rank` is the values. */
static size_t rows_at(const sp_tensor *variants, size_t i, size_t level, size_t rank)
{
	const sp_tensor *item = &sp_tensor_list(sp_variant_at(variants, i))->items[level];

	return level == rank ? (size_t)item->shape.dims[0] : item->count - 1;
}

/* Output `output` becomes the splits of the components: one row each. */
static sp_status join_rows(const sp_call *call, size_t output, size_t rank)
{
	const ragged_state *state = call->state;
	const sp_tensor *in = call->in[0];

	SP_TRY(sp_splits__create(call, output, state->splits, in->count));
	for (size_t i = 0; i < in->count; i++)
		SP_TRY(sp_splits__append(call, output, i, (int64_t)rows_at(in, i, 0, rank)));
	return SP_OK;
}

/* Output `output` becomes the concatenated splits of one level of the components. */
static sp_status join_splits(const sp_call *call, size_t output, size_t level, size_t rank)
{
	const ragged_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t rows = 0, row = 0;

	for (size_t i = 0; i < in->count; i++)
		rows += rows_at(in, i, level, rank);
	SP_TRY(sp_splits__create(call, output, state->splits, rows));
	for (size_t i = 0; i < in->count; i++) {
		const sp_tensor *s = &sp_tensor_list(sp_variant_at(in, i))->items[level];

		for (size_t k = 1; k < s->count; k++)
			SP_TRY(sp_splits__append(call, output, row++,
						 sp_tensor_index(s, k) -
							 sp_tensor_index(s, k - 1)));
	}
	return SP_OK;
}

/* The shape of all values together: that of the first component, with the rows of all. */
static sp_status values_shape(const sp_call *call, size_t rank, sp_shape *out)
{
	const sp_tensor *in = call->in[0];
	int64_t rows = 0;

	*out = sp_shape_vector(0);
	for (size_t i = 0; i < in->count; i++) {
		sp_shape shape = sp_tensor_list(sp_variant_at(in, i))->items[rank].shape;
		int64_t own = shape.dims[0];

		if (i == 0)
			*out = shape;
		shape.dims[0] = out->dims[0];
		if (shape.rank != out->rank || (own != 0 && !sp_shape_equal(&shape, out)))
			return sp_call_invalid(call,
					       "the values of component %zu have another shape", i);
		rows += own;
	}
	out->dims[0] = rows;
	return SP_OK;
}

static sp_status join_values(const sp_call *call, size_t rank)
{
	const ragged_state *state = call->state;
	const sp_tensor *in = call->in[0];
	size_t size = sp_dtype_size(state->values);
	sp_shape shape;
	char *to;

	SP_TRY(values_shape(call, rank, &shape));
	SP_TRY(sp_call_output(call, state->output_rank, state->values, &shape));
	to = call->out[state->output_rank]->data;
	for (size_t i = 0; i < in->count; i++) {
		const sp_tensor *v = &sp_tensor_list(sp_variant_at(in, i))->items[rank];

		if (v->count != 0)
			memcpy(to, v->data, v->count * size);
		to += v->count * size;
	}
	return SP_OK;
}

/* The rows of a two-dimensional array are of one length. */
static sp_status outer_splits(const sp_call *call)
{
	const ragged_state *state = call->state;
	const sp_shape *shape = &call->in[0]->shape;

	SP_TRY(sp_splits__create(call, 0, state->splits, (size_t)shape->dims[0]));
	for (int64_t i = 0; i < shape->dims[0]; i++)
		SP_TRY(sp_splits__append(call, 0, (size_t)i, shape->dims[1]));
	return SP_OK;
}

static sp_status find_rank(const sp_call *call, size_t *out)
{
	const ragged_state *state = call->state;
	int64_t dims = call->in[0]->shape.rank, rank = (int64_t)state->output_rank - dims;

	if (rank < 0 || (state->input_rank != -1 && state->input_rank != rank))
		return sp_call_invalid(call,
				       "output_ragged_rank must be equal to input_ragged_rank + "
				       "encoded_ragged.dims(): %zu, %lld and %lld",
				       state->output_rank, (long long)state->input_rank,
				       (long long)dims);
	if (dims > 2)
		return sp_error_set(call->err, SP_UNSUPPORTED,
				    "an array of ragged tensors of %lld dimensions",
				    (long long)dims);
	*out = (size_t)rank;
	return SP_OK;
}

static sp_status run_from(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	size_t dims = (size_t)in->shape.rank, rank = 0;

	SP_TRY(find_rank(call, &rank));
	for (size_t i = 0; i < in->count; i++)
		SP_TRY(check_component(call, sp_variant_at(in, i), i, rank));
	if (dims == 0) {
		for (size_t i = 0; i <= rank; i++)
			sp_list__give(call, i, &sp_tensor_list(in)->items[i]);
		return SP_OK;
	}
	if (dims == 2)
		SP_TRY(outer_splits(call));
	SP_TRY(join_rows(call, dims - 1, rank));
	for (size_t level = 0; level < rank; level++)
		SP_TRY(join_splits(call, dims + level, level, rank));
	return join_values(call, rank);
}

SP_DEFINE_OP(RaggedTensorToVariant, "encoded_ragged", SP_OP_PER_REQUEST, prepare_to, run_to);
SP_DEFINE_OP(RaggedTensorFromVariant, "output_nested_splits:output_ragged_rank output_dense_values",
	     0, prepare_from, run_from);
