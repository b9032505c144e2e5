#include "engine/ops/list/list_join.h"

#include <string.h>

#include "base/size.h"

/* The common shape of the elements that are set. */
static sp_status one_shape(const sp_call *call, const sp_list *list, const int32_t *indices,
			   size_t count, sp_partial_shape partial, sp_shape *out)
{
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	for (size_t k = 0; k < count; k++) {
		const sp_tensor *item = &list->items[indices != NULL ? (size_t)indices[k] : k];
		sp_partial_shape shape = sp_partial_shape_of(&item->shape);

		if (sp_tensor_is_set(item) && !sp_partial_shape_merge(&partial, &shape, &partial))
			return sp_call_invalid(
				call, "element %zu has shape %s, which contradicts %s", k,
				sp_shape_text(&item->shape, a), sp_partial_shape_text(&partial, b));
	}
	if (sp_partial_shape_is_full(&partial, out))
		return SP_OK;
	return sp_call_invalid(call, "no element is set, and their shape is only %s",
			       sp_partial_shape_text(&partial, a));
}

/* Stacks lists into an array of lists; unset elements stay unset. */
static sp_status stack_lists(const sp_call *call, size_t i, const sp_list *list,
			     const int32_t *indices, size_t count, const sp_shape *shape)
{
	size_t each;

	SP_TRY(sp_variants_create(call, i, shape));
	each = count != 0 ? call->out[i]->count / count : 0;
	for (size_t k = 0; k < count; k++) {
		const sp_tensor *item = &list->items[indices != NULL ? (size_t)indices[k] : k];

		for (size_t j = 0; j < each && sp_tensor_is_set(item); j++)
			sp_variants_set(call->out[i], k * each + j, sp_variant_at(item, j));
	}
	return SP_OK;
}

sp_status sp_list__stack(const sp_call *call, size_t i, const sp_list *list, const int32_t *indices,
			 size_t count, sp_partial_shape partial)
{
	size_t size = sp_dtype_size(list->dtype);
	sp_shape element, shape = sp_shape_vector((int64_t)count);
	size_t each;
	char *to;

	SP_TRY(one_shape(call, list, indices, count, partial, &element));
	if (element.rank == SP_MAX_RANK)
		return sp_error_set(call->err, SP_UNSUPPORTED, "rank %d is above the supported %d",
				    SP_MAX_RANK + 1, SP_MAX_RANK);
	shape.rank = element.rank + 1;
	memcpy(shape.dims + 1, element.dims, (size_t)element.rank * sizeof(element.dims[0]));
	if (list->dtype == SP_VARIANT)
		return stack_lists(call, i, list, indices, count, &shape);
	SP_TRY(sp_call_output(call, i, list->dtype, &shape));
	each = count != 0 ? call->out[i]->count / count : 0;
	to = call->out[i]->data;
	for (size_t k = 0; k < count && each != 0; k++, to += each * size) {
		const sp_tensor *item = &list->items[indices != NULL ? (size_t)indices[k] : k];

		if (sp_tensor_is_set(item))
			memcpy(to, item->data, each * size);
		else
			sp_list__clear(list->dtype, to, each);
	}
	return SP_OK;
}

/* Merges the element shapes without their first dimension; elements are of rank 1 or more. */
static sp_status rest_shape(const sp_call *call, const sp_list *list, sp_partial_shape *partial)
{
	char text[SP_SHAPE_TEXT_SIZE];

	for (size_t k = 0; k < list->count; k++) {
		const sp_tensor *item = &list->items[k];
		sp_partial_shape shape = sp_partial_shape_of(&item->shape);

		if (!sp_tensor_is_set(item))
			continue;
		if (item->shape.rank == 0)
			return sp_call_invalid(call, "element %zu to concatenate is a scalar", k);
		shape.dims[0] = -1;
		if (partial->rank > 0 && partial->dims[0] >= 0 &&
		    partial->dims[0] != item->shape.dims[0])
			return sp_call_invalid(call, "element %zu is %lld long, not %lld", k,
					       (long long)item->shape.dims[0],
					       (long long)partial->dims[0]);
		if (!sp_partial_shape_merge(partial, &shape, partial))
			return sp_call_invalid(call, "element %zu has shape %s, unlike the others",
					       k, sp_shape_text(&item->shape, text));
	}
	for (int d = 1; d < partial->rank; d++)
		if (partial->dims[d] < 0)
			partial->rank = -1;
	if (partial->rank > 0)
		return SP_OK;
	return sp_call_invalid(call, "the shape of the elements to concatenate is not known");
}

/* The length of unset elements that no input states: the common length of the others. */
static int64_t common_length(const sp_list *list, const sp_partial_shape *partial)
{
	int64_t length = partial->dims[0];

	for (size_t k = 0; length < 0 && k < list->count; k++)
		if (sp_tensor_is_set(&list->items[k]))
			length = list->items[k].shape.dims[0];
	for (size_t k = 0; k < list->count; k++)
		if (sp_tensor_is_set(&list->items[k]) && list->items[k].shape.dims[0] != length)
			return -1;
	return length;
}

static sp_status find_lengths(const sp_call *call, const sp_list *list, int64_t common,
			      const int64_t *given, size_t given_count, int64_t *total)
{
	int64_t *lengths = sp_tensor_i64(call->out[1]);

	*total = 0;
	for (size_t k = 0; k < list->count; k++) {
		int64_t length = sp_tensor_is_set(&list->items[k]) ? list->items[k].shape.dims[0]
				 : k < given_count                 ? given[k]
								   : common;

		if (length < 0 || !sp_i64_add(total, *total, length))
			return sp_call_invalid(call, "element %zu is not set, leading_dims has %zu",
					       k, given_count);
		lengths[k] = length;
	}
	return SP_OK;
}

sp_status sp_list__concat(const sp_call *call, const sp_list *list, sp_partial_shape partial,
			  const int64_t *lengths, size_t length_count)
{
	sp_shape count = sp_shape_vector((int64_t)list->count), shape;
	int64_t common;
	size_t row;
	char *to;

	SP_TRY(rest_shape(call, list, &partial));
	common = common_length(list, &partial);
	SP_TRY(sp_call_output(call, 1, SP_INT64, &count));
	partial.dims[0] = 0;
	sp_partial_shape_is_full(&partial, &shape);
	SP_TRY(find_lengths(call, list, common, lengths, length_count, &shape.dims[0]));
	SP_TRY(sp_call_output(call, 0, list->dtype, &shape));
	row = shape.dims[0] != 0 ? call->out[0]->count / (size_t)shape.dims[0] : 0;
	to = call->out[0]->data;
	for (size_t k = 0; k < list->count && row != 0; k++) {
		size_t n = row * (size_t)sp_tensor_i64(call->out[1])[k];

		if (sp_tensor_is_set(&list->items[k]) && n != 0)
			memcpy(to, list->items[k].data, n * sp_dtype_size(list->dtype));
		else
			sp_list__clear(list->dtype, to, n);
		to += n * sp_dtype_size(list->dtype);
	}
	return SP_OK;
}
