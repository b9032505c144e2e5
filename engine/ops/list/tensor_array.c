#include "engine/ops/list/list_join.h"

/*
 * TensorArrays, the lists of TensorFlow 1.
 *
 * In TensorFlow an array is an object behind a handle, and a scalar called flow orders its reads
 * and writes.  Here the flow is the list itself: a read sees the writes that its flow depends on.
 * The handle is ignored.  So clear_after_read and TensorArrayClose have no effect: a graph that
 * works in TensorFlow cannot tell.
 *
 * TensorArrayGradV3 and the like are not supported.
 */

static sp_status prepare_array(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, "int32 -> resource variant", "dtype", err));
	state = prepare->state;
	SP_TRY(sp_list__shape_attr(prepare, "element_shape", &state->shape, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "dynamic_size", false, &state->is_dynamic, err));
	return sp_node_attr_bool(prepare->node, "identical_element_shapes", false,
				 &state->has_one_shape, err);
}

static sp_status run_array(const sp_call *call)
{
	static const uint64_t no_resource = UINT64_MAX;
	const sp_list_state *state = call->state;
	sp_list like = {.dtype = state->dtype,
			.shape = state->shape,
			.max_count = -1,
			.is_dynamic = state->is_dynamic,
			.has_one_shape = state->has_one_shape};
	int64_t size;

	SP_TRY(sp_call_scalar(call, 0, &size));
	if (size < 0)
		return sp_call_invalid(call, "Size should be >= 0.");
	*call->out[0] = (sp_tensor){.dtype = SP_RESOURCE, .count = 1, .data = (void *)&no_resource};
	return sp_list_new(call, call->out[1], &like, (size_t)size, (size_t)size);
}

/* Checks an index to write; a dynamic array grows to include it. */
static sp_status check_index(const sp_call *call, const sp_list *list, int64_t index)
{
	if (index >= 0 && ((uint64_t)index < list->count || list->is_dynamic))
		return SP_OK;
	return sp_call_invalid(call, "index %lld is not in an array of fixed size %zu",
			       (long long)index, list->count);
}

/* An element may be written only once. */
static sp_status check_unset(const sp_call *call, const sp_list *list, size_t i)
{
	if (i >= list->count || !sp_tensor_is_set(&list->items[i]))
		return SP_OK;
	return sp_call_invalid(call, "element %zu of the array is already written", i);
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
	return sp_list__prepare(prepare, "resource int32 @T variant -> variant", "T", err);
}

static sp_status run_write(const sp_call *call)
{
	const sp_list *list;
	sp_list *to;
	int64_t index;

	SP_TRY(sp_list__input(call, 3, &list));
	SP_TRY(sp_call_scalar(call, 1, &index));
	SP_TRY(check_index(call, list, index));
	SP_TRY(sp_list_modify(call, 0, 3, (size_t)index + 1, &to));
	return put(call, to, (size_t)index, call->in[2]);
}

static sp_status prepare_read(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "resource int32 variant -> @dtype", "dtype", err);
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
		return sp_call_invalid(call, "element %lld is not set, and its shape is not known",
				       (long long)index);
	return sp_list__zeros(call, 0, list->dtype, &shape);
}

/* -------------------------------------------------------- several elements */

static sp_status prepare_gather(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, "resource int32 variant -> @dtype", "dtype", err));
	state = prepare->state;
	return sp_list__shape_attr(prepare, "element_shape", &state->shape, err);
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
	SP_TRY(sp_call_need_rank(call, 1, 1));
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
	SP_TRY(sp_list_modify(call, 0, 3, count, &to));
	SP_TRY(sp_list__scatter(call, value, indices, to));
	if (to->has_one_shape && indices->count != 0)
		to->shape = sp_partial_shape_of(&to->items[sp_tensor_i32(indices)[0]].shape);
	return SP_OK;
}

static sp_status prepare_concat(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, "resource variant -> @dtype int64", "dtype", err));
	SP_TRY(sp_list__refuse_lists(prepare, err));
	state = prepare->state;
	return sp_list__shape_attr(prepare, "element_shape_except0", &state->shape, err);
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

/* ------------------------------------------------------------- the array */

static sp_status prepare_size(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "resource variant -> int32", NULL, err);
}

static sp_status run_size(const sp_call *call)
{
	const sp_list *list;

	SP_TRY(sp_list__input(call, 1, &list));
	SP_TRY(sp_call_output_scalar(call, 0, SP_INT32));
	*sp_tensor_i32(call->out[0]) = (int32_t)list->count;
	return SP_OK;
}

static sp_status run_close(const sp_call *call)
{
	(void)call;
	return SP_OK;
}

SP_DEFINE_TYPED_OP(TensorArrayCloseV3, NULL, SP_OP_PER_REQUEST, "resource ->", run_close);
SP_DEFINE_OP(TensorArrayConcatV3, "value lengths", SP_OP_PER_REQUEST, prepare_concat, run_concat);
SP_DEFINE_OP(TensorArrayGatherV3, NULL, SP_OP_PER_REQUEST, prepare_gather, run_gather);
SP_DEFINE_OP(TensorArrayReadV3, NULL, SP_OP_PER_REQUEST, prepare_read, run_read);
SP_DEFINE_OP(TensorArrayScatterV3, NULL, SP_OP_PER_REQUEST, prepare_write, run_scatter);
SP_DEFINE_OP(TensorArraySizeV3, NULL, SP_OP_PER_REQUEST, prepare_size, run_size);
SP_DEFINE_OP(TensorArrayWriteV3, NULL, SP_OP_PER_REQUEST, prepare_write, run_write);
SP_DEFINE_OP(TensorArrayV3, "handle flow", SP_OP_PER_REQUEST, prepare_array, run_array);
