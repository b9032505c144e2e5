#include "engine/ops/list/list_join.h"

/* TensorFlow 2's lists, operators on whole lists: joining to a tensor, splitting one. */

/* ---------------------------------------------------------------- joining */

static sp_status prepare_stack(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, "variant index -> @element_dtype", "element_dtype", err));
	state = prepare->state;
	return sp_node_attr_int(prepare->node, "num_elements", -1, &state->num_elements, err);
}

static sp_status run_stack(const sp_call *call)
{
	const sp_list_state *state = call->state;
	const sp_list *list;
	sp_partial_shape shape;
	sp_shape full;
	char text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_list__input(call, 0, &list));
	if (state->num_elements != -1 && (uint64_t)state->num_elements != list->count)
		return sp_call_invalid(call, "a list of %lld elements was expected, not of %zu",
				       (long long)state->num_elements, list->count);
	SP_TRY(sp_list__shape_input(call, 1, list, &shape));
	if (list->count == 0 && !sp_partial_shape_is_full(&shape, &full))
		return sp_call_invalid(call, "the list is empty, and its shape is only %s",
				       sp_partial_shape_text(&shape, text));
	return sp_list__stack(call, 0, list, NULL, list->count, shape);
}

static sp_status prepare_gather(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant int32 index -> @element_dtype", "element_dtype",
				err);
}

static sp_status run_gather(const sp_call *call)
{
	const sp_tensor *indices = call->in[1];
	const sp_list *list;
	sp_partial_shape shape;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_list__shape_input(call, 2, list, &shape));
	for (size_t k = 0; k < indices->count; k++) {
		int32_t i = sp_tensor_i32(indices)[k];

		if (i < 0 || (size_t)i >= list->count)
			return sp_call_invalid(call,
					       "Index %d out of range; list only has %zu elements.",
					       i, list->count);
	}
	return sp_list__stack(call, 0, list, indices->count != 0 ? sp_tensor_i32(indices) : NULL,
			      indices->count, shape);
}

static sp_status prepare_concat(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_list__prepare(prepare, "variant index int64 -> @element_dtype int64",
				"element_dtype", err));
	return sp_list__refuse_lists(prepare, err);
}

static sp_status run_concat(const sp_call *call)
{
	const sp_list *list;
	sp_partial_shape shape;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_list__shape_input(call, 1, list, &shape));
	return sp_list__concat(call, list, shape,
			       call->in[2]->count != 0 ? sp_tensor_i64(call->in[2]) : NULL,
			       call->in[2]->count);
}

/* ---------------------------------------------------------------- cutting */

static sp_status prepare_from_tensor(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "@element_dtype index -> variant", "element_dtype", err);
}

static sp_status run_from_tensor(const sp_call *call)
{
	const sp_list_state *state = call->state;
	const sp_tensor *t = call->in[0];
	sp_list like = {.dtype = state->dtype, .max_count = -1};
	size_t n;

	SP_TRY(sp_partial_shape_from(call, 1, &like.shape));
	SP_TRY(sp_list__check_rows(call, t, &like));
	n = (size_t)t->shape.dims[0];
	SP_TRY(sp_list_new(call, call->out[0], &like, n, n));
	return sp_list__scatter(call, t, NULL, sp_tensor_list(call->out[0]));
}

/* TensorListScatter(tensor, indices, shape); V2 has the number of elements as the last input */
static sp_status prepare_scatter(sp_prepare *prepare, sp_error *err)
{
	const char *types = prepare->in_count == 4 ? "@element_dtype int32 index int32 -> variant"
						   : "@element_dtype int32 index -> variant";

	return sp_list__prepare(prepare, types, "element_dtype", err);
}

static sp_status run_scatter(const sp_call *call)
{
	const sp_list_state *state = call->state;
	sp_list like = {.dtype = state->dtype, .max_count = -1};
	int64_t wanted = -1;
	size_t count;

	SP_TRY(sp_partial_shape_from(call, 2, &like.shape));
	SP_TRY(sp_list__check_rows(call, call->in[0], &like));
	SP_TRY(sp_list__check_indices(call, call->in[0], call->in[1], &count));
	if (call->in_count == 4)
		SP_TRY(sp_call_scalar(call, 3, &wanted));
	if (wanted < -1)
		return sp_call_invalid(call, "num_elements is %lld, below -1", (long long)wanted);
	if (wanted >= 0 && (uint64_t)wanted < count)
		return sp_call_invalid(call, "index %zu is not in a list of %lld", count - 1,
				       (long long)wanted);
	if (wanted >= 0)
		count = (size_t)wanted;
	SP_TRY(sp_list_new(call, call->out[0], &like, count, count));
	return sp_list__scatter(call, call->in[0], call->in[1], sp_tensor_list(call->out[0]));
}

static sp_status prepare_scatter_into(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant @element_dtype int32 -> variant", "element_dtype",
				err);
}

static sp_status run_scatter_into(const sp_call *call)
{
	const sp_list *list;
	sp_list *to;
	size_t count;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_list__check_rows(call, call->in[1], list));
	SP_TRY(sp_list__check_indices(call, call->in[1], call->in[2], &count));
	SP_TRY(sp_list_modify(call, 0, 0, count, &to));
	return sp_list__scatter(call, call->in[1], call->in[2], to);
}

SP_DEFINE_OP(TensorListConcatV2, "tensor lengths", SP_OP_PER_REQUEST, prepare_concat, run_concat);
SP_DEFINE_OP(TensorListFromTensor, NULL, SP_OP_PER_REQUEST, prepare_from_tensor, run_from_tensor);
SP_DEFINE_OP(TensorListGather, NULL, SP_OP_PER_REQUEST, prepare_gather, run_gather);
SP_DEFINE_OP(TensorListScatter, NULL, SP_OP_PER_REQUEST, prepare_scatter, run_scatter);
SP_DEFINE_OP(TensorListScatterIntoExistingList, NULL, SP_OP_PER_REQUEST, prepare_scatter_into,
	     run_scatter_into);
SP_DEFINE_OP(TensorListScatterV2, NULL, SP_OP_PER_REQUEST, prepare_scatter, run_scatter);
SP_DEFINE_OP(TensorListStack, NULL, SP_OP_PER_REQUEST, prepare_stack, run_stack);
