#include "engine/tensor/tensor_list.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

sp_status sp_list_new(const sp_call *call, sp_tensor *out, const sp_list *like, size_t count,
		      size_t capacity)
{
	sp_shape shape;
	size_t bytes;
	sp_list *list;

	if (capacity < count)
		capacity = count;
	if (!sp_size_mul(&bytes, capacity, sizeof(sp_tensor)) ||
	    !sp_size_add(&bytes, bytes, sizeof(*list)) || bytes > INT64_MAX)
		return sp_call_invalid(call, "a list of %zu elements is too large", count);
	shape = sp_shape_vector((int64_t)bytes);
	SP_TRY(sp_workspace_tensor(call->workspace, out, SP_UINT8, &shape, call->err));
	list = out->data;
	*list = *like;
	list->count = count;
	list->capacity = capacity;
	memset(list->items, 0, count * sizeof(sp_tensor));
	out->dtype = SP_VARIANT;
	out->shape = sp_shape_scalar();
	out->count = 1;
	return SP_OK;
}

sp_status sp_list_create(const sp_call *call, size_t i, const sp_list *like, size_t count,
			 size_t capacity)
{
	return sp_list_new(call, call->out[i], like, count, capacity);
}

sp_status sp_list_box(const sp_call *call, sp_tensor *out, const sp_tensor *value)
{
	const sp_list like = {.dtype = value->dtype,
			      .shape = {.rank = -1},
			      .max_count = -1,
			      .kind = SP_LIST_RAGGED};

	SP_TRY(sp_list_new(call, out, &like, 1, 1));
	sp_list_set(call, sp_tensor_list(out), 0, value);
	return SP_OK;
}

sp_status sp_list_modify(const sp_call *call, size_t i, size_t from, size_t capacity, sp_list **out)
{
	const sp_tensor *in = call->in[from];
	const sp_list *list = sp_tensor_list(in);
	sp_list *copy;
	bool shared = false;

	/* A list that becomes an element of itself is two lists. */
	for (size_t k = 0; k < call->in_count; k++)
		shared |= k != from && call->in[k]->block == in->block;
	if (!shared && from < 64 && (call->in_dies >> from & 1) && sp_tensor_is_sole(in) &&
	    list->capacity >= capacity) {
		sp_call_forward(call, i, from, &in->shape);
		*out = sp_tensor_list(call->out[i]);
		return SP_OK;
	}
	SP_TRY(sp_list_create(call, i, list, list->count, capacity));
	copy = sp_tensor_list(call->out[i]);
	for (size_t k = 0; k < list->count; k++) {
		copy->items[k] = list->items[k];
		sp_tensor_retain(&copy->items[k]);
	}
	*out = copy;
	return SP_OK;
}

void sp_list_set(const sp_call *call, sp_list *list, size_t i, const sp_tensor *value)
{
	sp_tensor old = list->items[i];

	if (value != NULL) {
		int depth = sp_tensor_depth(value);

		list->items[i] = *value;
		list->depth = depth > list->depth ? depth : list->depth;
		sp_tensor_retain(value);
	} else {
		list->items[i] = (sp_tensor){0};
	}
	if (sp_tensor_is_set(&old))
		sp_workspace_release(call->workspace, &old);
}

int sp_tensor_depth(const sp_tensor *t)
{
	int deepest = 0;

	if (t->dtype != SP_VARIANT)
		return 0;
	for (size_t i = 0; i < t->count; i++) {
		const sp_tensor *item = sp_variant_at(t, i);
		int depth = sp_tensor_is_set(item) ? sp_tensor_list(item)->depth : 0;

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest + 1;
}

sp_status sp_list_check_depth(const sp_call *call, const sp_tensor *value)
{
	if (sp_tensor_depth(value) < SP_LIST_MAX_DEPTH)
		return SP_OK;
	return sp_error_set(call->err, SP_UNSUPPORTED, "lists in lists deeper than %d",
			    SP_LIST_MAX_DEPTH);
}

/* -------------------------------------------------------------- arrays */

sp_status sp_variants_create(const sp_call *call, size_t i, const sp_shape *shape)
{
	sp_tensor *out = call->out[i];
	size_t count, bytes;
	sp_variants *all;
	sp_shape room;

	if (!sp_shape_count(shape, &count) || !sp_size_mul(&bytes, count, sizeof(sp_tensor)) ||
	    !sp_size_add(&bytes, bytes, sizeof(*all)) || bytes > INT64_MAX)
		return sp_call_invalid(call, "an array of lists is too large");
	room = sp_shape_vector((int64_t)bytes);
	SP_TRY(sp_workspace_tensor(call->workspace, out, SP_UINT8, &room, call->err));
	all = out->data;
	memset(all, 0, bytes);
	all->count = count;
	*out = (sp_tensor){.dtype = SP_VARIANT,
			   .shape = *shape,
			   .count = count,
			   .data = all->items,
			   .block = out->block};
	return SP_OK;
}

void sp_variants_set(sp_tensor *array, size_t i, const sp_tensor *value)
{
	((sp_tensor *)array->data)[i] = *value;
	sp_tensor_retain(value);
}

/* -------------------------------------------------------------- the shapes */

const char *sp_partial_shape_text(const sp_partial_shape *shape, char text[SP_SHAPE_TEXT_SIZE])
{
	size_t used = 0;

	if (shape->rank < 0)
		return strcpy(text, "<unknown>");
	text[used++] = '[';
	for (int i = 0; i < shape->rank; i++) {
		char dim[24] = "?";

		if (shape->dims[i] >= 0)
			snprintf(dim, sizeof(dim), "%lld", (long long)shape->dims[i]);
		used += (size_t)snprintf(text + used, SP_SHAPE_TEXT_SIZE - used, "%s%s",
					 i != 0 ? "," : "", dim);
	}
	memcpy(text + used, "]", 2);
	return text;
}

bool sp_partial_shape_matches(const sp_partial_shape *partial, const sp_shape *shape)
{
	if (partial->rank < 0)
		return true;
	if (partial->rank != shape->rank)
		return false;
	for (int i = 0; i < shape->rank; i++)
		if (partial->dims[i] >= 0 && partial->dims[i] != shape->dims[i])
			return false;
	return true;
}

bool sp_partial_shape_is_full(const sp_partial_shape *partial, sp_shape *out)
{
	if (partial->rank < 0)
		return false;
	out->rank = partial->rank;
	for (int i = 0; i < partial->rank; i++) {
		if (partial->dims[i] < 0)
			return false;
		out->dims[i] = partial->dims[i];
	}
	return true;
}

bool sp_partial_shape_merge(const sp_partial_shape *a, const sp_partial_shape *b,
			    sp_partial_shape *out)
{
	sp_partial_shape merged = a->rank < 0 ? *b : *a;

	if (a->rank >= 0 && b->rank >= 0) {
		if (a->rank != b->rank)
			return false;
		for (int i = 0; i < a->rank; i++) {
			if (merged.dims[i] < 0)
				merged.dims[i] = b->dims[i];
			else if (b->dims[i] >= 0 && b->dims[i] != merged.dims[i])
				return false;
		}
	}
	*out = merged;
	return true;
}

sp_partial_shape sp_partial_shape_of(const sp_shape *shape)
{
	sp_partial_shape partial = {.rank = shape->rank};

	memcpy(partial.dims, shape->dims, (size_t)shape->rank * sizeof(shape->dims[0]));
	return partial;
}

sp_status sp_partial_shape_from(const sp_call *call, size_t i, sp_partial_shape *out)
{
	const sp_tensor *in = call->in[i];

	if (in->shape.rank == 0) {
		if (sp_tensor_index(in, 0) != -1)
			return sp_call_invalid(call, "a shape must be a vector, or the scalar -1");
		*out = (sp_partial_shape){.rank = -1};
		return SP_OK;
	}
	if (in->shape.rank != 1)
		return sp_call_invalid(call, "a shape must be a vector, not of rank %d",
				       in->shape.rank);
	if (in->count > SP_MAX_RANK)
		return sp_error_set(call->err, SP_UNSUPPORTED, "rank %zu is above the supported %d",
				    in->count, SP_MAX_RANK);
	out->rank = (int32_t)in->count;
	for (size_t d = 0; d < in->count; d++) {
		out->dims[d] = sp_tensor_index(in, d);
		if (out->dims[d] < -1)
			return sp_call_invalid(call, "dimension %zu of a shape is %lld", d,
					       (long long)out->dims[d]);
	}
	return SP_OK;
}
