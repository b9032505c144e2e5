#include "engine/ops/math/list_sum.h"

#include "engine/ops/list/list.h"
#include "engine/ops/math/add.h"

static sp_status find_list(const sp_call *call, size_t i, const sp_list **out)
{
	const sp_tensor *in = call->in[i];

	if (in->shape.rank != 0 || sp_tensor_list(in)->kind != SP_LIST_PLAIN)
		return sp_error_set(call->err, SP_UNSUPPORTED, "input %zu is not a list", i);
	*out = sp_tensor_list(in);
	if ((*out)->dtype == SP_VARIANT)
		return sp_error_set(call->err, SP_UNSUPPORTED, "lists of lists are not supported");
	return SP_OK;
}

sp_status sp_list__zeros_like(const sp_call *call)
{
	const sp_list *list;
	sp_list *out;

	SP_TRY(find_list(call, 0, &list));
	SP_TRY(sp_list_new(call, call->out[0], list, list->count, list->count));
	out = sp_tensor_list(call->out[0]);
	for (size_t i = 0; i < list->count; i++) {
		sp_tensor zeros;

		if (!sp_tensor_is_set(&list->items[i]))
			continue;
		SP_TRY(sp_workspace_tensor(call->workspace, &zeros, list->dtype,
					   &list->items[i].shape, call->err));
		sp_list__clear(list->dtype, zeros.data, zeros.count);
		sp_list_set(call, out, i, &zeros);
		sp_workspace_release(call->workspace, &zeros);
	}
	return SP_OK;
}

/* Adds `value` to element i of `to`; unset elements count as zero. */
static sp_status add_element(const sp_call *call, sp_list *to, size_t i, const sp_tensor *value)
{
	const sp_tensor *before = &to->items[i];
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];
	sp_tensor sum;

	if (!sp_tensor_is_set(value))
		return SP_OK;
	if (!sp_tensor_is_set(before)) {
		sp_list_set(call, to, i, value);
		return SP_OK;
	}
	if (!sp_shape_equal(&before->shape, &value->shape))
		return sp_call_invalid(call, "elements %zu of the lists have shapes %s and %s", i,
				       sp_shape_text(&before->shape, a),
				       sp_shape_text(&value->shape, b));
	SP_TRY(sp_workspace_tensor(call->workspace, &sum, to->dtype, &value->shape, call->err));
	sp_add__binary.kernels[to->dtype](&(sp_binary_run){.left = before->data,
							   .right = value->data,
							   .out = sum.data,
							   .count = sum.count,
							   .left_step = 1,
							   .right_step = 1});
	sp_list_set(call, to, i, &sum);
	sp_workspace_release(call->workspace, &sum);
	return SP_OK;
}

static sp_status add_list(const sp_call *call, sp_list *to, const sp_list *list)
{
	if (list->dtype != to->dtype)
		return sp_call_invalid(call, "cannot add lists of %s and %s",
				       sp_dtype_name(to->dtype), sp_dtype_name(list->dtype));
	if (list->count != to->count)
		return sp_call_invalid(call, "cannot add lists of %zu and %zu elements", to->count,
				       list->count);
	if (!sp_partial_shape_merge(&to->shape, &list->shape, &to->shape))
		return sp_call_invalid(call, "the lists have elements of different shapes");
	for (size_t i = 0; i < list->count; i++)
		SP_TRY(add_element(call, to, i, &list->items[i]));
	return SP_OK;
}

sp_status sp_list__sum(const sp_call *call)
{
	const sp_list *list;
	sp_list *out;

	SP_TRY(find_list(call, 0, &list));
	if (sp_add__binary.kernels[list->dtype] == NULL)
		return sp_error_set(call->err, SP_UNSUPPORTED,
				    "the sum of lists of %s is not supported",
				    sp_dtype_name(list->dtype));
	SP_TRY(sp_list_new(call, call->out[0], list, list->count, list->count));
	out = sp_tensor_list(call->out[0]);
	for (size_t i = 0; i < list->count; i++)
		if (sp_tensor_is_set(&list->items[i]))
			sp_list_set(call, out, i, &list->items[i]);
	for (size_t k = 1; k < call->in_count; k++) {
		SP_TRY(find_list(call, k, &list));
		SP_TRY(add_list(call, out, list));
	}
	return SP_OK;
}
