#include "engine/ops/list/list_join.h"

/*
 * TensorArrays, the lists of TensorFlow 1.
 *
 * In TensorFlow an array is an object behind a handle, and a scalar called flow orders its reads
 * and writes.  Here the flow is the list itself: a read sees the writes that its flow depends on.
 * The handle is ignored.  So clear_after_read and TensorArrayClose have no effect: a graph that
 * works in TensorFlow cannot tell.
 *
 * Before the third version the handle was a string, and the flow began as a constant beside the
 * array; the array's second output replaces it (engine/import/import_locate.c).  TensorArrayPack
 * and TensorArrayUnpack gather and scatter all elements.
 *
 * TensorArrayGradV3 and the like are not supported.
 */

static sp_status prepare_any(sp_prepare *prepare, sp_dtype handle, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare_new(prepare, 1, "dtype", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_INT32, err));
	SP_TRY(sp_list__shape_attr(prepare, "element_shape", &state->shape, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "dynamic_size", false, &state->is_dynamic, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "identical_element_shapes", false,
				 &state->has_one_shape, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, SP_VARIANT, err));
	prepare->out_dtypes[0] = handle;
	return SP_OK;
}

static sp_status prepare_array(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, SP_RESOURCE, err);
}

static sp_status prepare_old_array(sp_prepare *prepare, sp_error *err)
{
	return prepare_any(prepare, SP_STRING, err);
}

static sp_status make_array(const sp_call *call)
{
	const sp_list_state *state = call->state;
	sp_list like = {.dtype = state->dtype,
			.shape = state->shape,
			.max_count = -1,
			.is_array = true,
			.is_dynamic = state->is_dynamic,
			.has_one_shape = state->has_one_shape};
	int64_t size;

	SP_TRY(sp_call_scalar(call, 0, &size));
	if (size < 0)
		return sp_call_invalid(call, "Size should be >= 0.");
	return sp_list_create(call, 1, &like, (size_t)size, (size_t)size);
}

static sp_status run_array(const sp_call *call)
{
	static const uint64_t no_resource = UINT64_MAX;

	*call->out[0] = (sp_tensor){.dtype = SP_RESOURCE, .count = 1, .data = (void *)&no_resource};
	return make_array(call);
}

static sp_status run_old_array(const sp_call *call)
{
	static const sp_bytes no_name = {"", 0};

	*call->out[0] = (sp_tensor){.dtype = SP_STRING, .count = 1, .data = (void *)&no_name};
	return make_array(call);
}

static sp_status check_handle(const sp_prepare *prepare, sp_error *err)
{
	if (prepare->in_dtypes[0] == SP_STRING)
		return SP_OK;
	return sp_prepare_input_dtype(prepare, 0, SP_RESOURCE, err);
}

/* Input 0 is the handle, input `flow` the list of the array. */
static sp_status prepare_on_array(sp_prepare *prepare, size_t inputs, size_t flow,
				  const char *dtype_name, sp_list_state **out, sp_error *err)
{
	SP_TRY(sp_list__prepare(prepare, inputs, flow, dtype_name, out, err));
	return check_handle(prepare, err);
}

/* Checks an index to write; a dynamic array grows to include it. */
static sp_status check_index(const sp_call *call, const sp_list *list, int64_t index)
{
	if (index >= 0 && ((uint64_t)index < list->count || list->is_dynamic))
		return SP_OK;
	return sp_call_invalid(call,
			       "Tried to use index %lld but array is not resizeable and size is: "
			       "%zu",
			       (long long)index, list->count);
}

/* The writable array with at least `count` elements; its capacity grows by doubling. */
static sp_status modify(const sp_call *call, size_t flow, size_t count, sp_list **out)
{
	const sp_list *list = sp_tensor_list(call->in[flow]);

	SP_TRY(sp_list_modify(call, 0, flow, count <= list->capacity ? list->capacity : 2 * count,
			      out));
	while ((*out)->count < count)
		(*out)->items[(*out)->count++] = (sp_tensor){0};
	return SP_OK;
}

/* An element may be written only once. */
static sp_status check_unset(const sp_call *call, const sp_list *list, size_t i)
{
	if (i >= list->count || !sp_tensor_is_set(&list->items[i]))
		return SP_OK;
	return sp_call_invalid(call,
			       "Could not write to TensorArray index %zu because it has "
			       "already been written to.",
			       i);
}

/* Checks that an element can be read. */
static sp_status check_readable(const sp_call *call, const sp_list *list, int64_t index)
{
	if (index >= 0 && (uint64_t)index < list->count)
		return SP_OK;
	return sp_call_invalid(call, "Tried to read from index %lld but array size is: %zu",
			       (long long)index, list->count);
}

static sp_status put(const sp_call *call, sp_list *list, size_t i, const sp_tensor *value)
{
	SP_TRY(sp_list__check_value(call, list, value));
	SP_TRY(check_unset(call, list, i));
	sp_list_set(call, list, i, value);
	if (list->has_one_shape)
		list->shape = sp_partial_shape_of(&value->shape);
	return SP_OK;
}

/* ------------------------------------------------------------ one element */

/* Writes one value at an index, or the rows of a tensor at several. */
static sp_status prepare_write(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, 4, 3, "T", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, state->dtype, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_write(const sp_call *call)
{
	const sp_list *list;
	sp_list *to;
	int64_t index;

	SP_TRY(sp_list__input(call, 3, &list));
	SP_TRY(sp_call_scalar(call, 1, &index));
	SP_TRY(check_index(call, list, index));
	SP_TRY(modify(call, 3, (size_t)index < list->count ? list->count : (size_t)index + 1, &to));
	return put(call, to, (size_t)index, call->in[2]);
}

static sp_status prepare_read(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, 3, 2, "dtype", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_INT32, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status run_read(const sp_call *call)
{
	const sp_list *list;
	sp_shape shape;
	int64_t index;

	SP_TRY(sp_list__input(call, 2, &list));
	SP_TRY(sp_call_scalar(call, 1, &index));
	SP_TRY(check_readable(call, list, index));
	if (sp_tensor_is_set(&list->items[index])) {
		sp_list__give(call, 0, &list->items[index]);
		return SP_OK;
	}
	if (!sp_partial_shape_is_full(&list->shape, &shape))
		return sp_call_invalid(call,
				       "Could not read from TensorArray index %lld.  Furthermore, "
				       "the element shape is not fully defined.",
				       (long long)index);
	return sp_list__zeros(call, 0, list->dtype, &shape);
}

/* -------------------------------------------------------- several elements */

/* Joins elements into a tensor; the last input is `flow`. */
static sp_status prepare_stack(sp_prepare *prepare, size_t flow, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, flow + 1, flow, "dtype", &state, err));
	SP_TRY(sp_list__shape_attr(prepare, "element_shape", &state->shape, err));
	return sp_prepare_outputs(prepare, 1, state->dtype, err);
}

static sp_status prepare_gather(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(prepare_stack(prepare, 2, err));
	return sp_prepare_input_dtype(prepare, 1, SP_INT32, err);
}

/* The element shape: the attribute's, merged with the array's. */
static sp_status merged_shape(const sp_call *call, const sp_list *list, sp_partial_shape *out)
{
	const sp_list_state *state = call->state;
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	if (sp_partial_shape_merge(&state->shape, &list->shape, out))
		return SP_OK;
	return sp_call_invalid(call, "element shape %s contradicts the array's %s",
			       sp_partial_shape_text(&state->shape, a),
			       sp_partial_shape_text(&list->shape, b));
}

static sp_status run_gather(const sp_call *call)
{
	const sp_tensor *indices = call->in[1];
	const sp_list *list;
	sp_partial_shape shape;

	SP_TRY(sp_list__input(call, 2, &list));
	SP_TRY(merged_shape(call, list, &shape));
	if (indices->shape.rank != 1)
		return sp_call_invalid(call, "indices must be a vector, not of rank %d",
				       indices->shape.rank);
	for (size_t k = 0; k < indices->count; k++)
		SP_TRY(check_readable(call, list, sp_tensor_i32(indices)[k]));
	return sp_list__stack(call, 0, list, indices->count != 0 ? sp_tensor_i32(indices) : NULL,
			      indices->count, shape);
}

static sp_status run_scatter(const sp_call *call)
{
	const sp_tensor *indices = call->in[1], *value = call->in[2];
	const sp_list *list;
	sp_list *to;
	size_t count;

	SP_TRY(sp_list__input(call, 3, &list));
	SP_TRY(sp_list__check_rows(call, value, list));
	SP_TRY(sp_list__check_indices(call, value, indices, &count));
	if (count != 0)
		SP_TRY(check_index(call, list, (int64_t)count - 1));
	for (size_t k = 0; k < indices->count; k++)
		SP_TRY(check_unset(call, list, (size_t)sp_tensor_i32(indices)[k]));
	SP_TRY(modify(call, 3, count > list->count ? count : list->count, &to));
	SP_TRY(sp_list__scatter(call, value, indices, to));
	if (to->has_one_shape && indices->count != 0)
		to->shape = sp_partial_shape_of(&to->items[sp_tensor_i32(indices)[0]].shape);
	return SP_OK;
}

static sp_status prepare_pack(sp_prepare *prepare, sp_error *err)
{
	return prepare_stack(prepare, 1, err);
}

static sp_status run_pack(const sp_call *call)
{
	const sp_list *list;
	sp_partial_shape shape;

	SP_TRY(sp_list__input(call, 1, &list));
	SP_TRY(merged_shape(call, list, &shape));
	return sp_list__stack(call, 0, list, NULL, list->count, shape);
}

static sp_status prepare_unpack(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, 3, 2, "T", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->dtype, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_unpack(const sp_call *call)
{
	const sp_tensor *value = call->in[1];
	const sp_list *list;
	sp_list_cut cut;
	sp_list *to;
	size_t n;

	SP_TRY(sp_list__input(call, 2, &list));
	SP_TRY(sp_list__check_rows(call, value, list));
	n = (size_t)value->shape.dims[0];
	if (n != list->count && !(list->is_dynamic && n > list->count))
		return sp_call_invalid(call, "%zu rows for an array of %zu elements", n,
				       list->count);
	SP_TRY(modify(call, 2, n, &to));
	SP_TRY(sp_list__cut_begin(call, value, n, &cut));
	for (size_t i = 0; i < n; i++) {
		sp_tensor piece = sp_list__cut_take(&cut, i, 1, true);

		SP_TRY(put(call, to, i, &piece));
	}
	sp_list__cut_end(call, &cut);
	return SP_OK;
}

static sp_status prepare_concat(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, 2, 1, "dtype", &state, err));
	SP_TRY(sp_list__refuse_lists(prepare, err));
	SP_TRY(sp_list__shape_attr(prepare, "element_shape_except0", &state->shape, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, state->dtype, err));
	prepare->out_dtypes[1] = SP_INT64;
	return SP_OK;
}

static sp_status run_concat(const sp_call *call)
{
	const sp_list_state *state = call->state;
	sp_partial_shape shape = {.rank = -1};
	const sp_list *list;

	SP_TRY(sp_list__input(call, 1, &list));
	for (size_t i = 0; i < list->count; i++)
		if (!sp_tensor_is_set(&list->items[i]))
			return sp_call_invalid(call, "Could not read from TensorArray index %zu.",
					       i);
	if (state->shape.rank >= 0 && state->shape.rank < SP_MAX_RANK) {
		shape.rank = state->shape.rank + 1;
		shape.dims[0] = -1;
		for (int d = 0; d < state->shape.rank; d++)
			shape.dims[d + 1] = state->shape.dims[d];
	}
	return sp_list__concat(call, list, shape, NULL, 0);
}

static sp_status prepare_split(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, 4, 3, "T", &state, err));
	SP_TRY(sp_list__refuse_lists(prepare, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->dtype, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_INT64, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_split(const sp_call *call)
{
	const sp_tensor *value = call->in[1], *lengths = call->in[2];
	const sp_list *list;
	sp_list *to;

	SP_TRY(sp_list__input(call, 3, &list));
	if (value->shape.rank == 0)
		return sp_call_invalid(call, "Expected value to be at least a vector");
	SP_TRY(sp_list__check_lengths(call, value, lengths));
	if (lengths->count != list->count && !(list->is_dynamic && lengths->count > list->count))
		return sp_call_invalid(
			call,
			"TensorArray's size is not equal to the size of lengths (%zu "
			"vs. %zu)",
			list->count, lengths->count);
	for (size_t i = 0; i < list->count; i++)
		SP_TRY(check_unset(call, list, i));
	SP_TRY(modify(call, 3, lengths->count, &to));
	SP_TRY(sp_list__split(call, value, lengths, to));
	for (size_t i = 0; i < to->count; i++) {
		SP_TRY(sp_list__check_shape(call, to, &to->items[i].shape));
		if (to->has_one_shape)
			to->shape = sp_partial_shape_of(&to->items[i].shape);
	}
	return SP_OK;
}

/* ------------------------------------------------------------- the array */

static sp_status prepare_size(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(prepare_on_array(prepare, 2, 1, NULL, &state, err));
	return sp_prepare_outputs(prepare, 1, SP_INT32, err);
}

static sp_status run_size(const sp_call *call)
{
	sp_shape scalar = sp_shape_scalar();
	const sp_list *list;

	SP_TRY(sp_list__input(call, 1, &list));
	SP_TRY(sp_call_output(call, 0, SP_INT32, &scalar));
	*sp_tensor_i32(call->out[0]) = (int32_t)list->count;
	return SP_OK;
}

static sp_status prepare_close(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	SP_TRY(check_handle(prepare, err));
	return sp_prepare_outputs(prepare, 0, SP_INVALID_DTYPE, err);
}

static sp_status run_close(const sp_call *call)
{
	(void)call;
	return SP_OK;
}

#define ARRAY(op, names, prepare_op, run_op)                  \
	const sp_op sp_op_##op = {.name = #op,                \
				  .outputs = names,           \
				  .flags = SP_OP_PER_REQUEST, \
				  .prepare = prepare_op,      \
				  .run = run_op}

ARRAY(TensorArrayClose, NULL, prepare_close, run_close);
ARRAY(TensorArrayConcat, "value lengths", prepare_concat, run_concat);
ARRAY(TensorArrayGather, NULL, prepare_gather, run_gather);
ARRAY(TensorArrayRead, NULL, prepare_read, run_read);
ARRAY(TensorArrayScatter, NULL, prepare_write, run_scatter);
ARRAY(TensorArraySize, NULL, prepare_size, run_size);
ARRAY(TensorArraySplit, NULL, prepare_split, run_split);
ARRAY(TensorArrayWrite, NULL, prepare_write, run_write);
ARRAY(TensorArrayCloseV2, NULL, prepare_close, run_close);
ARRAY(TensorArrayConcatV2, "value lengths", prepare_concat, run_concat);
ARRAY(TensorArrayGatherV2, NULL, prepare_gather, run_gather);
ARRAY(TensorArrayReadV2, NULL, prepare_read, run_read);
ARRAY(TensorArrayScatterV2, NULL, prepare_write, run_scatter);
ARRAY(TensorArraySizeV2, NULL, prepare_size, run_size);
ARRAY(TensorArraySplitV2, NULL, prepare_split, run_split);
ARRAY(TensorArrayWriteV2, NULL, prepare_write, run_write);
ARRAY(TensorArrayCloseV3, NULL, prepare_close, run_close);
ARRAY(TensorArrayConcatV3, "value lengths", prepare_concat, run_concat);
ARRAY(TensorArrayGatherV3, NULL, prepare_gather, run_gather);
ARRAY(TensorArrayReadV3, NULL, prepare_read, run_read);
ARRAY(TensorArrayScatterV3, NULL, prepare_write, run_scatter);
ARRAY(TensorArraySizeV3, NULL, prepare_size, run_size);
ARRAY(TensorArraySplitV3, NULL, prepare_split, run_split);
ARRAY(TensorArrayWriteV3, NULL, prepare_write, run_write);
ARRAY(TensorArray, NULL, prepare_old_array, run_old_array);
ARRAY(TensorArrayV2, NULL, prepare_old_array, run_old_array);
ARRAY(TensorArrayV3, "handle flow", prepare_array, run_array);
ARRAY(TensorArrayPack, NULL, prepare_pack, run_pack);
ARRAY(TensorArrayUnpack, NULL, prepare_unpack, run_unpack);
