#include "engine/static_shapes_internal.h"

#include <string.h>

typedef sp_static_shape shape;

shape sp_shapes__of_rank(sp_shape_inference *in, int64_t rank)
{
	shape out = sp_shapes__unknown();

	if (rank < 0 || rank > SP_MAX_RANK)
		return out;
	out.rank = (int32_t)rank;
	for (int32_t i = 0; i < out.rank; i++)
		out.dims[i] = sp_shapes__new_name(in);
	return out;
}

shape sp_shapes__vector(int64_t n)
{
	return (shape){.rank = 1, .dims = {n}};
}

int64_t sp_shapes__attr_int(const sp_node *node, const char *name, int64_t fallback)
{
	int64_t found;

	return sp_node_attr_int(node, name, fallback, &found, NULL) == SP_OK ? found : -1;
}

bool sp_shapes__attr_bool(const sp_node *node, const char *name)
{
	bool found;

	return sp_node_attr_bool(node, name, false, &found, NULL) == SP_OK && found;
}

bool sp_shapes__axis_of(const sp_shape_inference *in, const sp_node *node, size_t k, int32_t rank,
			int32_t *axis)
{
	const sp_tensor *found = sp_shapes__constant(in, node, k);
	int64_t at;

	if (found == NULL || found->count != 1)
		return false;
	at = sp_tensor_index(found, 0);
	at = at < 0 ? at + rank : at;
	*axis = (int32_t)at;
	return at >= 0 && at < rank;
}

int64_t sp_shapes__plus(sp_shape_inference *in, int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return a == 0 ? b : a;
	return a > 0 && b > 0 && a < INT32_MAX && b < INT32_MAX ? a + b : sp_shapes__new_name(in);
}

int64_t sp_shapes__times(sp_shape_inference *in, int64_t a, int64_t b)
{
	if (a == 1 || b == 1)
		return a == 1 ? b : a;
	return a >= 0 && b >= 0 && a < INT32_MAX && b < INT32_MAX ? a * b : sp_shapes__new_name(in);
}

shape sp_shapes__merge(const shape *a, const shape *b)
{
	bool a_says_all = true, b_says_all = true;
	shape out;

	if (a->rank == SP_RANK_UNKNOWN || b->rank == SP_RANK_UNKNOWN)
		return a->rank > b->rank ? *a : *b;
	if (a->rank == SP_RANK_OPEN || b->rank == SP_RANK_OPEN)
		return b->rank == SP_RANK_OPEN ? *a : *b;
	if (a->rank != b->rank)
		return sp_shapes__unknown();
	for (int32_t i = 0; i < a->rank; i++) {
		a_says_all &= a->dims[i] >= 0 || b->dims[i] < 0;
		b_says_all &= b->dims[i] >= 0 || a->dims[i] < 0;
	}
	out = !a_says_all && b_says_all ? *b : *a;
	if (a_says_all || b_says_all)
		return out;
	out.handle = 0;
	for (int32_t i = 0; i < a->rank; i++)
		out.dims[i] = a->dims[i] >= 0 ? a->dims[i] : b->dims[i];
	return out;
}

int64_t sp_shapes__merge_dims(sp_shape_inference *in, int64_t a, int64_t b)
{
	sp_shapes__unify(in, a, b);
	return a < 0 && b >= 0 ? b : a;
}

/* A dimension of the result of an operator that repeats what is 1. */
static int64_t broadcast_dim(sp_shape_inference *in, int64_t a, int64_t b)
{
	if (a == b || a > 1)
		return a;
	if (b > 1)
		return b;
	if (a == 1 || b == 1)
		return a == 1 ? b : a;
	return sp_shapes__new_name(in);
}

shape sp_shapes__merge_inputs(sp_shape_inference *in, shape *a, shape *b)
{
	shape merged = sp_shapes__merge(a, b);

	if (a->handle != 0 && a->handle == b->handle)
		return *a;
	if (a->rank >= 0 && b->rank >= 0 && a->rank != b->rank)
		return merged;
	sp_shapes__equate(in, a, b);
	if (merged.handle == 0) {
		sp_shapes__equate(in, a, &merged);
		sp_shapes__equate(in, b, &merged);
	}
	return merged;
}

shape sp_shapes__broadcast(sp_shape_inference *in, const shape *a, const shape *b)
{
	const shape *longer = a->rank >= b->rank ? a : b, *other = longer == a ? b : a;
	shape out = *longer;
	int32_t shift = longer->rank - other->rank;

	if (other->rank < 0)
		return *other;
	for (int32_t i = shift; i < out.rank; i++)
		out.dims[i] = broadcast_dim(in, out.dims[i], other->dims[i - shift]);
	return out;
}

bool sp_shapes__is_known(const shape *from, shape *out)
{
	if (from->rank < 0)
		*out = *from;
	return from->rank >= 0;
}

shape sp_shapes__with_rank(sp_shape_inference *in, shape *from, int64_t rank)
{
	shape said;

	if (from->rank >= 0)
		return *from;
	said = sp_shapes__of_rank(in, rank);
	sp_shapes__equate(in, from, &said);
	return said;
}

shape sp_shapes__with_rank_of(sp_shape_inference *in, const sp_node *node, size_t k, shape *from)
{
	shape rows = sp_shapes__input(in, node, k);

	return rows.rank > 0 && rows.dims[0] >= 0 ? sp_shapes__with_rank(in, from, rows.dims[0])
						  : *from;
}

shape sp_shapes__from_list(sp_shape_inference *in, const sp_node *node, size_t k)
{
	const shape *list = sp_shapes__list(in, node, k);
	shape of_list = sp_shapes__input(in, node, k), out = *list;

	if (list->rank < 0)
		return of_list.rank == 1 ? sp_shapes__of_rank(in, of_list.dims[0])
					 : sp_shapes__unknown();
	for (int32_t i = 0; i < out.rank; i++)
		out.dims[i] = out.dims[i] == SP_SOME_SIZE ? sp_shapes__new_name(in) : out.dims[i];
	return out;
}

shape sp_shapes__declared(sp_shape_inference *in, const sp_node *node, const char *name)
{
	const sp_attr *attr = sp_node_attr(node, name);
	shape out = sp_shapes__unknown();

	if (attr == NULL || attr->kind != SP_ATTR_SHAPE || attr->shape->rank < 0)
		return out;
	out.rank = attr->shape->rank;
	for (int32_t i = 0; i < out.rank; i++)
		out.dims[i] = attr->shape->dims[i] >= 0 ? attr->shape->dims[i]
							: sp_shapes__new_name(in);
	return out;
}

int64_t sp_shapes__size_of(sp_shape_inference *in, const sp_node *node, size_t k)
{
	const shape *list = sp_shapes__list(in, node, k);

	return list->rank == 1 && list->dims[0] >= 0 ? list->dims[0] : sp_shapes__new_name(in);
}

shape sp_shapes__several(int64_t count, const shape *one)
{
	shape out = sp_shapes__vector(count);

	for (int32_t i = 0; i < one->rank; i++)
		sp_shapes__append(&out, one->dims[i]);
	return one->rank < 0 ? *one : out;
}
