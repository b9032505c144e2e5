#include "engine/ops/list/list.h"

#include <string.h>

#include "base/size.h"

sp_status sp_list__refuse_lists(const sp_prepare *prepare, sp_error *err)
{
	const sp_list_state *state = prepare->state;

	return state->dtype != SP_VARIANT ? SP_OK
					  : sp_prepare_unsupported(prepare, SP_VARIANT, err);
}

sp_status sp_list__prepare(sp_prepare *prepare, const char *types, const char *dtype_name,
			   sp_error *err)
{
	sp_list_state *state = sp_prepare_state(prepare, sizeof(*state));

	SP_NEED_MEMORY(state, err, "a list");
	SP_TRY(sp_prepare_types(prepare, types, err));
	state->shape.rank = -1;
	if (dtype_name == NULL)
		return SP_OK;
	SP_TRY(sp_node_attr_type(prepare->node, dtype_name, SP_INVALID_DTYPE, &state->dtype, err));
	if (state->dtype == SP_VARIANT || sp_dtype_size(state->dtype) != 0)
		return SP_OK;
	return sp_prepare_unsupported(prepare, state->dtype, err);
}

sp_status sp_list__shape_attr(const sp_prepare *prepare, const char *name, sp_partial_shape *out,
			      sp_error *err)
{
	const sp_attr *attr = sp_node_attr(prepare->node, name);

	*out = (sp_partial_shape){.rank = -1};
	if (attr == NULL)
		return SP_OK;
	if (attr->kind != SP_ATTR_SHAPE)
		return sp_error_set(err, SP_INVALID, "attribute '%s' is not a shape", name);
	*out = *attr->shape;
	return SP_OK;
}

sp_status sp_list__input(const sp_call *call, size_t i, const sp_list **out)
{
	const sp_list_state *state = call->state;

	if (call->in[i]->shape.rank != 0 || sp_tensor_list(call->in[i])->kind != SP_LIST_PLAIN)
		return sp_call_invalid(call, "Input handle is not a list.");
	*out = sp_tensor_list(call->in[i]);
	if (state->dtype == SP_INVALID_DTYPE || state->dtype == (*out)->dtype)
		return SP_OK;
	return sp_call_invalid(call, "Invalid data types; op elements %s but list elements %s",
			       sp_dtype_name(state->dtype), sp_dtype_name((*out)->dtype));
}

sp_status sp_list__shape_input(const sp_call *call, size_t i, const sp_list *list,
			       sp_partial_shape *out)
{
	sp_partial_shape wanted;
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	SP_TRY(sp_partial_shape_from(call, i, &wanted));
	if (sp_partial_shape_merge(&wanted, &list->shape, out))
		return SP_OK;
	return sp_call_invalid(call, "shape %s contradicts the list's element shape %s",
			       sp_partial_shape_text(&wanted, a),
			       sp_partial_shape_text(&list->shape, b));
}

sp_status sp_list__index(const sp_call *call, size_t i, size_t count, size_t *out)
{
	int64_t index;

	SP_TRY(sp_call_scalar(call, i, &index));
	if (index < 0 || (uint64_t)index >= count)
		return sp_call_invalid(call,
				       "Trying to access element %lld in a list with %zu elements.",
				       (long long)index, count);
	*out = (size_t)index;
	return SP_OK;
}

sp_status sp_list__check_shape(const sp_call *call, const sp_list *list, const sp_shape *shape)
{
	char a[SP_SHAPE_TEXT_SIZE], b[SP_SHAPE_TEXT_SIZE];

	if (sp_partial_shape_matches(&list->shape, shape))
		return SP_OK;
	return sp_call_invalid(call, "a tensor of shape %s does not fit a list of elements %s",
			       sp_shape_text(shape, a), sp_partial_shape_text(&list->shape, b));
}

sp_status sp_list__check_value(const sp_call *call, const sp_list *list, const sp_tensor *value)
{
	SP_TRY(sp_list__check_shape(call, list, &value->shape));
	return sp_list_check_depth(call, value);
}

void sp_list__clear(sp_dtype dtype, void *to, size_t count)
{
	sp_bytes *texts = to;

	if (count == 0)
		return;
	if (dtype != SP_STRING) {
		memset(to, 0, count * sp_dtype_size(dtype));
		return;
	}
	for (size_t i = 0; i < count; i++)
		texts[i] = (sp_bytes){"", 0};
}

sp_status sp_list__zeros(const sp_call *call, size_t i, sp_dtype dtype, const sp_shape *shape)
{
	if (dtype == SP_VARIANT)
		return sp_call_invalid(call, "Trying to read a list that was never set.");
	SP_TRY(sp_call_output(call, i, dtype, shape));
	sp_list__clear(dtype, call->out[i]->data, call->out[i]->count);
	return SP_OK;
}

void sp_list__give(const sp_call *call, size_t i, const sp_tensor *value)
{
	*call->out[i] = *value;
	sp_tensor_retain(value);
}

/* ---------------------------------------------------------- pieces of a tensor */

/*
 * A piece is a view of the tensor if its address has the alignment of tensors; otherwise all pieces
 * are copied, each aligned, to one block that they share.
 */
sp_status sp_list__cut_begin(const sp_call *call, const sp_tensor *from, size_t pieces,
			     sp_list_cut *out)
{
	size_t bytes = from->count * sp_dtype_size(from->dtype), padding;
	int64_t rows = from->shape.dims[0];
	sp_shape room;

	*out = (sp_list_cut){.from = *from, .row = rows != 0 ? bytes / (size_t)rows : 0};
	out->shape.rank = from->shape.rank - 1;
	memcpy(out->shape.dims, from->shape.dims + 1,
	       (size_t)out->shape.rank * sizeof(out->shape.dims[0]));
	if (out->row % 64 == 0) {
		out->held = *from;
		sp_tensor_retain(from);
		return SP_OK;
	}
	if (!sp_size_mul(&padding, pieces, 64) || !sp_size_add(&bytes, bytes, padding) ||
	    bytes > INT64_MAX)
		return sp_call_invalid(call, "a list of %zu elements is too large", pieces);
	room = sp_shape_vector((int64_t)bytes);
	return sp_workspace_tensor(call->workspace, &out->held, SP_UINT8, &room, call->err);
}

sp_tensor sp_list__cut_take(sp_list_cut *cut, size_t first, size_t rows, bool drop)
{
	sp_tensor piece = {.dtype = cut->from.dtype, .block = cut->held.block};
	const char *from = cut->from.data;
	size_t bytes = rows * cut->row;

	if (cut->from.dtype == SP_VARIANT && cut->shape.rank == 0)
		return *sp_variant_at(&cut->from, first);
	if (cut->from.dtype == SP_VARIANT) {
		piece.shape = cut->shape;
		piece.count = (size_t)sp_shape_product(&cut->shape, 0, cut->shape.rank);
		piece.data = (sp_tensor *)cut->from.data + first * piece.count;
		return piece;
	}
	piece.count = bytes / sp_dtype_size(piece.dtype);
	piece.shape = cut->shape;
	if (!drop) {
		memmove(piece.shape.dims + 1, piece.shape.dims,
			(size_t)piece.shape.rank * sizeof(piece.shape.dims[0]));
		piece.shape.dims[0] = (int64_t)rows;
		piece.shape.rank++;
	}
	if (bytes != 0)
		from += first * cut->row;
	piece.data = (void *)from;
	if (cut->row % 64 != 0) {
		piece.data = (char *)cut->held.data + cut->used;
		if (bytes != 0)
			memcpy(piece.data, from, bytes);
		cut->used += (bytes + 63) / 64 * 64;
	}
	return piece;
}

void sp_list__cut_end(const sp_call *call, sp_list_cut *cut)
{
	sp_workspace_release(call->workspace, &cut->held);
}

static sp_status need_rows(const sp_call *call, const sp_tensor *t)
{
	if (t->shape.rank != 0)
		return SP_OK;
	return sp_call_invalid(call, "Tensor must be at least a vector, but saw shape: []");
}

sp_status sp_list__check_rows(const sp_call *call, const sp_tensor *t, const sp_list *like)
{
	sp_shape row = {.rank = t->shape.rank - 1};

	SP_TRY(need_rows(call, t));
	SP_TRY(sp_list_check_depth(call, t));
	for (int d = 0; d < row.rank; d++)
		row.dims[d] = t->shape.dims[d + 1];
	return sp_list__check_shape(call, like, &row);
}

sp_status sp_list__check_indices(const sp_call *call, const sp_tensor *t, const sp_tensor *indices,
				 size_t *count)
{
	*count = 0;
	if (indices->shape.rank != 1)
		return sp_call_invalid(call,
				       "Expected indices to be a vector, but received rank %d",
				       indices->shape.rank);
	if (indices->count != (uint64_t)t->shape.dims[0])
		return sp_call_invalid(
			call, "Expected len(indices) == tensor.shape[0], but saw: %zu vs. %lld",
			indices->count, (long long)t->shape.dims[0]);
	for (size_t k = 0; k < indices->count; k++) {
		int32_t i = sp_tensor_i32(indices)[k];

		if (i < 0)
			return sp_call_invalid(call, "indices must not be negative");
		if ((size_t)i >= *count)
			*count = (size_t)i + 1;
	}
	return SP_OK;
}

sp_status sp_list__scatter(const sp_call *call, const sp_tensor *t, const sp_tensor *indices,
			   sp_list *list)
{
	size_t rows = (size_t)t->shape.dims[0];
	sp_list_cut cut;

	SP_TRY(sp_list__cut_begin(call, t, rows, &cut));
	for (size_t k = 0; k < rows; k++) {
		sp_tensor piece = sp_list__cut_take(&cut, k, 1, true);

		sp_list_set(call, list, indices != NULL ? (size_t)sp_tensor_i32(indices)[k] : k,
			    &piece);
	}
	sp_list__cut_end(call, &cut);
	return SP_OK;
}

/* ------------------------------------------------------------- making lists */

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

sp_status sp_list_modify(const sp_call *call, size_t i, size_t from, size_t count, sp_list **out)
{
	const sp_tensor *in = call->in[from];
	const sp_list *list = sp_tensor_list(in);
	size_t capacity = count <= list->capacity ? list->capacity : 2 * count;
	sp_list *own;
	bool shared = false;

	/* A list that becomes an element of itself must be copied. */
	for (size_t k = 0; k < call->in_count; k++)
		shared |= k != from && call->in[k]->block == in->block;
	if (!shared && from < 64 && (call->in_dies >> from & 1) && sp_tensor_is_sole(in) &&
	    count <= list->capacity) {
		sp_call_forward(call, i, from, &in->shape);
		own = sp_tensor_list(call->out[i]);
	} else {
		SP_TRY(sp_list_new(call, call->out[i], list, list->count, capacity));
		own = sp_tensor_list(call->out[i]);
		for (size_t k = 0; k < list->count; k++) {
			own->items[k] = list->items[k];
			sp_tensor_retain(&own->items[k]);
		}
	}
	while (own->count < count)
		own->items[own->count++] = (sp_tensor){0};
	*out = own;
	return SP_OK;
}

/* 0; for VARIANT, one more than the depth of its elements. */
static int depth_of(const sp_tensor *t)
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

void sp_list_set(const sp_call *call, sp_list *list, size_t i, const sp_tensor *value)
{
	sp_tensor old = list->items[i];

	if (value != NULL) {
		int depth = depth_of(value);

		list->items[i] = *value;
		list->depth = depth > list->depth ? depth : list->depth;
		sp_tensor_retain(value);
	} else {
		list->items[i] = (sp_tensor){0};
	}
	if (sp_tensor_is_set(&old))
		sp_workspace_release(call->workspace, &old);
}

sp_status sp_list_check_depth(const sp_call *call, const sp_tensor *value)
{
	if (depth_of(value) < SP_LIST_MAX_DEPTH)
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
