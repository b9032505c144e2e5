#include "engine/static_shapes_internal.h"

/*
 * Operators that make sizes of sizes: the shape of a tensor, cut apart, packed and joined, is how a
 * graph spells the shape of another one.  What holds tensors of one shape has that for its list.
 */

typedef sp_static_shape shape;

static void list_of_constant(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_attr *attr = sp_node_attr(node, "value");
	const sp_tensor *tensor = attr != NULL && attr->kind == SP_ATTR_TENSOR ? attr->tensor
									       : NULL;

	(void)in;
	if (tensor == NULL || (tensor->dtype != SP_INT32 && tensor->dtype != SP_INT64) ||
	    tensor->shape.rank > 1 || tensor->count > SP_MAX_RANK)
		return;
	*out = sp_shapes__scalar();
	for (size_t i = 0; i < tensor->count; i++)
		sp_shapes__append(out, sp_tensor_index(tensor, i));
	for (size_t i = 0; i < tensor->count; i++)
		if (sp_tensor_index(tensor, i) < SP_SOME_SIZE)
			*out = sp_shapes__unknown();
}

static void list_of_dims(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = sp_shapes__input(in, node, 0);
}

static void list_as_it_is(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = *sp_shapes__list(in, node, 0);
}

/* Names do not outlive a change of the type. */
static void list_cast(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = *sp_shapes__list(in, node, 0);
	for (int32_t i = 0; i < out->rank; i++)
		if (out->dims[i] < 0)
			*out = sp_shapes__unknown();
}

static void list_slice(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const shape *list = sp_shapes__list(in, node, 0);
	bool one = sp_shapes__masked(node, "shrink_axis_mask", 0);
	int64_t begin, length;

	if (list->rank < 0 || !sp_shapes__has_slices(in, node) ||
	    sp_shapes__constant(in, node, 1)->count != 1 ||
	    sp_tensor_index(sp_shapes__constant(in, node, 3), 0) != 1 ||
	    sp_shapes__masked(node, "ellipsis_mask", 0) ||
	    sp_shapes__masked(node, "new_axis_mask", 0))
		return;
	begin = sp_tensor_index(sp_shapes__constant(in, node, 1), 0);
	begin = begin < 0 ? begin + list->rank : begin;
	begin = begin < 0 || (sp_shapes__masked(node, "begin_mask", 0) && !one) ? 0 : begin;
	length = one ? 1 : sp_shapes__slice_length(in, node, 0, list->rank);
	if (begin > list->rank)
		return;
	*out = sp_shapes__scalar();
	for (int64_t i = begin; i < begin + length; i++)
		if (i < list->rank)
			sp_shapes__append(out, list->dims[i]);
		else
			*out = sp_shapes__unknown();
}

/* Names are lost, as they are in TensorFlow. */
static void list_pack(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape lists = sp_shapes__scalar();

	for (size_t k = 0; k < node->input_count; k++) {
		const shape *one = sp_shapes__list(in, node, k);

		if (sp_shapes__input(in, node, k).rank != 0)
			return;
		sp_shapes__append(&lists, one->rank == 1 && one->dims[0] >= 0 ? one->dims[0]
									      : SP_SOME_SIZE);
	}
	*out = lists;
}

static void list_concat(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape lists = sp_shapes__scalar();

	for (size_t k = 0; k + 1 < node->input_count; k++) {
		const shape *one = sp_shapes__list(in, node, k);

		if (one->rank < 0 || sp_shapes__input(in, node, k).rank != 1)
			return;
		for (int32_t i = 0; i < one->rank; i++)
			sp_shapes__append(&lists, one->dims[i]);
	}
	*out = lists;
}

static void list_range(sp_shape_inference *in, const sp_node *node, shape *out)
{
	int64_t ends[3]; /* start, limit and step */

	for (size_t k = 0; k < 3; k++) {
		const shape *one = sp_shapes__list(in, node, k);

		if (one->rank != 1 || one->dims[0] < 0 || one->dims[0] > INT32_MAX)
			return;
		ends[k] = one->dims[0];
	}
	if (ends[2] == 0)
		return;
	*out = sp_shapes__scalar();
	for (int64_t i = ends[0]; i < ends[1] && out->rank >= 0; i += ends[2])
		sp_shapes__append(out, i);
}

/* Open where TensorFlow's optimizer takes them for alike, of whatever shape. */
static void elements_of_array(sp_shape_inference *in, const sp_node *node, shape *out)
{
	bool alike;

	*out = sp_shapes__declared(in, node, "element_shape");
	if (sp_node_attr_bool(node, "identical_element_shapes", false, &alike, NULL) != SP_OK)
		alike = false;
	if (out->rank < 0 && alike)
		out->rank = SP_RANK_OPEN;
	for (int32_t i = 0; i < out->rank && !alike; i++)
		if (out->dims[i] < 0)
			*out = sp_shapes__unknown();
}

/* Sorted by name. */
static const sp_shape_rule list_rules[] = {
	{"Cast", list_cast, false},
	{"ConcatV2", list_concat, false},
	{"Const", list_of_constant, false},
	{"Identity", list_as_it_is, false},
	{"Pack", list_pack, false},
	{"Range", list_range, false},
	{"Shape", list_of_dims, false},
	{"StridedSlice", list_slice, false},
	{"TensorArrayV3", elements_of_array, false},
};

const sp_shape_rule *sp_shapes__list_rule(const char *op)
{
	return sp_shapes__find(list_rules, sizeof(list_rules) / sizeof(list_rules[0]), op);
}
