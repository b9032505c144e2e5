#include "engine/ops/list/list.h"

/*
 * Many lists at once, which is what loops become when they are vectorized:
 * TensorListPushBackBatch adds row i of a tensor to list i of an array,
 * TensorListConcatLists joins the lists of two arrays one by one.
 */

/* *out becomes a list like `like` with the elements of both, and room for one more. */
static sp_status join(const sp_call *call, sp_tensor *out, const sp_list *like, const sp_list *a,
		      const sp_list *b)
{
	size_t more = b != NULL ? b->count : 0;
	sp_list *list;

	SP_TRY(sp_list_new(call, out, like, a->count + more, a->count + more + 1));
	list = sp_tensor_list(out);
	for (size_t i = 0; i < a->count; i++)
		sp_list_set(call, list, i, &a->items[i]);
	for (size_t i = 0; i < more; i++)
		sp_list_set(call, list, a->count + i, &b->items[i]);
	return SP_OK;
}

/* List i of an input, of the element type that the operator says. */
static sp_status list_at(const sp_call *call, size_t input, size_t i, const sp_list **out)
{
	const sp_list_state *state = call->state;
	const sp_tensor *t = sp_variant_at(call->in[input], i);

	if (!sp_tensor_is_set(t) || sp_tensor_list(t)->kind != SP_LIST_PLAIN)
		return sp_call_invalid(call, "handle at index %zu is not a list", i);
	*out = sp_tensor_list(t);
	if ((*out)->dtype == state->dtype)
		return SP_OK;
	return sp_call_invalid(call, "Invalid data types; op elements %s but list elements %s",
			       sp_dtype_name(state->dtype), sp_dtype_name((*out)->dtype));
}

/* Element i of output 0, which has the shape of the input: the list itself for a scalar. */
static void give(const sp_call *call, size_t i, sp_tensor *list)
{
	if (call->in[0]->shape.rank == 0) {
		*call->out[0] = *list;
		return;
	}
	sp_variants_set(call->out[0], i, list);
	sp_workspace_release(call->workspace, list);
}

static sp_status make_output(const sp_call *call)
{
	if (call->in[0]->shape.rank == 0)
		return SP_OK;
	return sp_variants_create(call, 0, &call->in[0]->shape);
}

static sp_status prepare_push(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, 2, 0, "element_dtype", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, state->dtype, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status push_row(const sp_call *call, size_t i, sp_list_cut *cut)
{
	sp_tensor piece = sp_list__cut_take(cut, i, 1, true), joined;
	const sp_list *list;

	SP_TRY(list_at(call, 0, i, &list));
	SP_TRY(sp_list__check_value(call, list, &piece));
	SP_TRY(join(call, &joined, list, list, NULL));
	sp_tensor_list(&joined)->items[list->count] = (sp_tensor){0};
	sp_tensor_list(&joined)->count++;
	sp_list_set(call, sp_tensor_list(&joined), list->count, &piece);
	give(call, i, &joined);
	return SP_OK;
}

static sp_status run_push(const sp_call *call)
{
	const sp_tensor *in = call->in[0], *rows = call->in[1];
	sp_list_cut cut;

	if (in->shape.rank != 1 || rows->shape.rank == 0 ||
	    rows->shape.dims[0] != in->shape.dims[0])
		return sp_call_invalid(call, "lists and rows must be as many, in a vector and in a "
					     "tensor of rank 1 at least");
	SP_TRY(make_output(call));
	SP_TRY(sp_list__cut_begin(call, rows, in->count, &cut));
	for (size_t i = 0; i < in->count; i++)
		SP_TRY(push_row(call, i, &cut));
	sp_list__cut_end(call, &cut);
	return SP_OK;
}

static sp_status prepare_join(sp_prepare *prepare, sp_error *err)
{
	sp_list_state *state;

	SP_TRY(sp_list__prepare(prepare, 2, 0, "element_dtype", &state, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_VARIANT, err));
	return sp_prepare_outputs(prepare, 1, SP_VARIANT, err);
}

static sp_status run_join(const sp_call *call)
{
	const sp_tensor *in = call->in[0];
	const sp_list *a, *b;
	sp_tensor joined;
	sp_list like;

	if (!sp_shape_equal(&in->shape, &call->in[1]->shape))
		return sp_call_invalid(call, "two arrays of lists of different shapes");
	SP_TRY(make_output(call));
	for (size_t i = 0; i < in->count; i++) {
		SP_TRY(list_at(call, 0, i, &a));
		SP_TRY(list_at(call, 1, i, &b));
		like = *a;
		if (!sp_partial_shape_merge(&a->shape, &b->shape, &like.shape))
			return sp_call_invalid(call,
					       "lists %zu have element shapes that contradict each "
					       "other",
					       i);
		SP_TRY(join(call, &joined, &like, a, b));
		give(call, i, &joined);
	}
	return SP_OK;
}

const sp_op sp_op_TensorListPushBackBatch = {
	.name = "TensorListPushBackBatch",
	.flags = SP_OP_PER_REQUEST,
	.prepare = prepare_push,
	.run = run_push,
};

const sp_op sp_op_TensorListConcatLists = {
	.name = "TensorListConcatLists",
	.flags = SP_OP_PER_REQUEST,
	.prepare = prepare_join,
	.run = run_join,
};
