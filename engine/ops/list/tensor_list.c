#include "engine/ops/list/list.h"

#include <stdint.h>

#include "engine/ops/array/array.h"

/*
 * TensorFlow 2's lists, operators on single elements.  A list belongs to one request, so the
 * operators are never folded or shared between requests.
 */

/* -------------------------------------------------------------- new lists */

/* EmptyTensorList(shape, most elements), TensorListReserve(shape, elements) */
static sp_status prepare_new(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "index int32 -> variant", "element_dtype", err);
}

static sp_status run_new(const sp_call *call, bool reserve)
{
	const sp_list_state *state = call->state;
	sp_list like = {.dtype = state->dtype, .max_count = -1};
	int64_t n;

	SP_TRY(sp_partial_shape_from(call, 0, &like.shape));
	SP_TRY(sp_call_scalar(call, 1, &n));
	if (!reserve) {
		like.max_count = n;
		return sp_list_new(call, call->out[0], &like, 0, n > 0 && n < 64 ? (size_t)n : 8);
	}
	if (n < 0)
		return sp_call_invalid(call, "cannot reserve %lld elements", (long long)n);
	return sp_list_new(call, call->out[0], &like, (size_t)n, (size_t)n);
}

static sp_status run_empty(const sp_call *call)
{
	return run_new(call, false);
}

static sp_status run_reserve(const sp_call *call)
{
	return run_new(call, true);
}

/* ------------------------------------------------------------ one element */

/* An unset element reads as zeros, in a shape merged from all that are known. */
static sp_status give_unset(const sp_call *call, size_t out, const sp_list *list,
			    size_t shape_input, bool look_at_others)
{
	sp_partial_shape partial;
	sp_shape shape;
	char text[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_list__shape_input(call, shape_input, list, &partial));
	for (size_t i = 0; look_at_others && i < list->count; i++) {
		sp_partial_shape other = sp_partial_shape_of(&list->items[i].shape);

		if (sp_partial_shape_is_full(&partial, &shape))
			break;
		if (sp_tensor_is_set(&list->items[i]) &&
		    !sp_partial_shape_merge(&partial, &other, &partial))
			return sp_call_invalid(call,
					       "the elements of the list have several shapes");
	}
	if (!sp_partial_shape_is_full(&partial, &shape))
		return sp_call_invalid(call, "the element is not set, and its shape is only %s",
				       sp_partial_shape_text(&partial, text));
	return sp_list__zeros(call, out, list->dtype, &shape);
}

static sp_status prepare_get(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant int32 index -> @element_dtype", "element_dtype",
				err);
}

static sp_status run_get(const sp_call *call)
{
	const sp_list *list;
	size_t i;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_list__index(call, 1, list->count, &i));
	if (!sp_tensor_is_set(&list->items[i]))
		return give_unset(call, 0, list, 2, true);
	sp_list__give(call, 0, &list->items[i]);
	return SP_OK;
}

static sp_status prepare_set(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, "variant int32 @element_dtype -> variant", "element_dtype",
				err));
	state = prepare->state;
	return sp_node_attr_bool(prepare->node, "resize_if_index_out_of_bounds", false,
				 &state->grows, err);
}

static void shorten(const sp_call *call, sp_list *list, size_t count)
{
	while (list->count > count) {
		sp_list_set(call, list, list->count - 1, NULL);
		list->count--;
	}
}

static sp_status run_set(const sp_call *call)
{
	const sp_list_state *state = call->state;
	const sp_list *list;
	sp_list *to;
	int64_t index;
	size_t i, count;

	SP_TRY(sp_list__input(call, 0, &list));
	count = list->count;
	SP_TRY(sp_call_scalar(call, 1, &index));
	if (state->grows && index >= 0 && (uint64_t)index >= count)
		count = (size_t)index + 1;
	SP_TRY(sp_list__index(call, 1, count, &i));
	SP_TRY(sp_list__check_value(call, list, call->in[2]));
	SP_TRY(sp_list_modify(call, 0, 0, count, &to));
	sp_list_set(call, to, i, call->in[2]);
	return SP_OK;
}

static sp_status prepare_push(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant @element_dtype -> variant", "element_dtype", err);
}

static sp_status run_push(const sp_call *call)
{
	const sp_list *list;
	sp_list *to;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_list__check_value(call, list, call->in[1]));
	if (list->max_count != -1 &&
	    (list->max_count < 0 || list->count >= (uint64_t)list->max_count))
		return sp_call_invalid(call, "the list is full: %zu elements of at most %lld",
				       list->count, (long long)list->max_count);
	SP_TRY(sp_list_modify(call, 0, 0, list->count + 1, &to));
	sp_list_set(call, to, to->count - 1, call->in[1]);
	return SP_OK;
}

static sp_status prepare_pop(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant index -> variant @element_dtype", "element_dtype",
				err);
}

static sp_status run_pop(const sp_call *call)
{
	const sp_list *list;
	const sp_tensor *last;
	sp_list *to;

	SP_TRY(sp_list__input(call, 0, &list));
	if (list->count == 0)
		return sp_call_invalid(call, "Trying to pop from an empty list.");
	last = &list->items[list->count - 1];
	if (sp_tensor_is_set(last))
		sp_list__give(call, 1, last);
	else
		SP_TRY(give_unset(call, 1, list, 1, false));
	SP_TRY(sp_list_modify(call, 0, 0, list->count, &to));
	shorten(call, to, to->count - 1);
	return SP_OK;
}

/* ---------------------------------------------------------- the whole list */

static sp_status prepare_length(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant -> int32", NULL, err);
}

static sp_status run_length(const sp_call *call)
{
	const sp_list *list;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_call_output_scalar(call, 0, SP_INT32));
	*sp_tensor_i32(call->out[0]) = (int32_t)list->count;
	return SP_OK;
}

static sp_status prepare_resize(sp_prepare *prepare, sp_error *err)
{
	return sp_list__prepare(prepare, "variant int32 -> variant", NULL, err);
}

static sp_status run_resize(const sp_call *call)
{
	const sp_list *list;
	sp_list *to;
	int64_t size;

	SP_TRY(sp_list__input(call, 0, &list));
	SP_TRY(sp_call_scalar(call, 1, &size));
	if (size < 0)
		return sp_call_invalid(call, "a list cannot be resized to %lld", (long long)size);
	SP_TRY(sp_list_modify(call, 0, 0, (size_t)size, &to));
	shorten(call, to, (size_t)size);
	return SP_OK;
}

static sp_status prepare_shape(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, "variant", NULL, err));
	state = prepare->state;
	SP_TRY(sp_array__index_type(prepare, "shape_type", SP_INVALID_DTYPE, &state->index_type,
				    err));
	return sp_prepare_outputs(prepare, 1, state->index_type, err);
}

static sp_status run_shape(const sp_call *call)
{
	const sp_list_state *state = call->state;
	const sp_list *list;
	sp_shape shape;

	SP_TRY(sp_list__input(call, 0, &list));
	shape = list->shape.rank < 0 ? sp_shape_scalar() : sp_shape_vector(list->shape.rank);
	SP_TRY(sp_call_output(call, 0, state->index_type, &shape));
	if (list->shape.rank < 0)
		sp_array__put_index(call->out[0], 0, -1);
	for (int d = 0; d < list->shape.rank; d++)
		sp_array__put_index(call->out[0], (size_t)d, list->shape.dims[d]);
	return SP_OK;
}

SP_DEFINE_OP(EmptyTensorList, NULL, SP_OP_PER_REQUEST, prepare_new, run_empty);
SP_DEFINE_OP(TensorListElementShape, NULL, SP_OP_PER_REQUEST, prepare_shape, run_shape);
SP_DEFINE_OP(TensorListGetItem, NULL, SP_OP_PER_REQUEST, prepare_get, run_get);
SP_DEFINE_OP(TensorListLength, NULL, SP_OP_PER_REQUEST, prepare_length, run_length);
SP_DEFINE_OP(TensorListPopBack, "output_handle tensor", SP_OP_PER_REQUEST, prepare_pop, run_pop);
SP_DEFINE_OP(TensorListPushBack, NULL, SP_OP_PER_REQUEST, prepare_push, run_push);
SP_DEFINE_OP(TensorListReserve, NULL, SP_OP_PER_REQUEST, prepare_new, run_reserve);
SP_DEFINE_OP(TensorListResize, NULL, SP_OP_PER_REQUEST, prepare_resize, run_resize);
SP_DEFINE_OP(TensorListSetItem, NULL, SP_OP_PER_REQUEST, prepare_set, run_set);
