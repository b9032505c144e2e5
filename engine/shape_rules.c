#include "engine/static_shapes_internal.h"

#include <string.h>

#include "engine/constants.h"

typedef sp_static_shape shape;

static void same(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);

	sp_shapes__hand_on(in, &from, out);
}

static void binary(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape a = sp_shapes__input(in, node, 0), b = sp_shapes__input(in, node, 1);

	*out = sp_shapes__broadcast(in, &a, &b);
}

/* Of shapes that do not fit, some are answered with one truth. */
static void compared(sp_shape_inference *in, const sp_node *node, shape *out)
{
	bool strict;

	if (sp_node_attr_bool(node, "incompatible_shape_error", true, &strict, NULL) == SP_OK &&
	    strict)
		binary(in, node, out);
}

/* TensorFlow's optimizer makes functions of one input of some powers. */
static void power(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const char *op = NULL;

	if (node->input_count == 2 && !in->fed[node->inputs[1].node])
		op = sp_power_op(&in->graph->nodes[node->inputs[1].node]);
	if (op != NULL && strcmp(op, "_Cube") != 0)
		same(in, node, out);
	else
		binary(in, node, out);
}

static void ternary(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape of = sp_shapes__input(in, node, 0);
	shape a = sp_shapes__input(in, node, 1), b = sp_shapes__input(in, node, 2);

	a = sp_shapes__broadcast(in, &a, &b);
	*out = sp_shapes__broadcast(in, &of, &a);
}

static void select_one(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape a = sp_shapes__input(in, node, 1), b = sp_shapes__input(in, node, 2);

	a = sp_shapes__merge_inputs(in, &a, &b);
	sp_shapes__hand_on(in, &a, out);
}

static shape merge_all(sp_shape_inference *in, const sp_node *node)
{
	shape all = sp_shapes__unknown();

	for (size_t k = node->input_count; k-- > 0;) {
		shape next = sp_shapes__input(in, node, k);

		all = k + 1 == node->input_count ? next : sp_shapes__merge_inputs(in, &next, &all);
	}
	return all;
}

static void all_equal(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape all = merge_all(in, node);

	sp_shapes__hand_on(in, &all, out);
}

static void ensure(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0), wanted = sp_shapes__declared(in, node, "shape");

	sp_shapes__give_handle(in, &wanted);
	if (wanted.rank >= 0)
		from = sp_shapes__merge_inputs(in, &wanted, &from);
	sp_shapes__hand_on(in, &from, out);
}

static void of_value(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_attr *attr = sp_node_attr(node, "value");

	(void)in;
	if (attr == NULL || attr->kind != SP_ATTR_TENSOR)
		return;
	out->rank = attr->tensor->shape.rank;
	for (int32_t i = 0; i < out->rank; i++)
		out->dims[i] = attr->tensor->shape.dims[i];
}

static void of_variable(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_node *handle = node->input_count == 1 ? &in->graph->nodes[node->inputs[0].node]
						       : NULL;

	if (handle == NULL || in->fed[node->inputs[0].node] ||
	    strcmp(handle->op_name, "VarHandleOp") != 0)
		return;
	*out = sp_shapes__declared(in, handle, "shape");
}

static void bias_add(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape bias = sp_shapes__input(in, node, 1);
	sp_bytes format;

	if (sp_node_attr_bytes(node, "data_format", "NHWC", &format, NULL) != SP_OK ||
	    !sp_bytes_equal_text(format, "NHWC"))
		return;
	*out = sp_shapes__input(in, node, 0);
	if (out->rank > 0 && bias.rank == 1)
		out->dims[out->rank - 1] = sp_shapes__merge_dims(in, out->dims[out->rank - 1],
								 bias.dims[0]);
}

/* The one dimension without a number, or -1; *product of the others.  False if there are several.
 */
static bool one_name(sp_shape_inference *in, const shape *of, int32_t *at, int64_t *product)
{
	*at = -1;
	*product = 1;
	for (int32_t i = 0; i < of->rank; i++) {
		if (of->dims[i] >= 0) {
			*product = sp_shapes__times(in, *product, of->dims[i]);
			continue;
		}
		if (*at >= 0)
			return false;
		*at = i;
	}
	return *product > 0;
}

static void reshape(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	int64_t from_product, product;
	int32_t from_at, at;

	*out = sp_shapes__from_list(in, node, 1);
	if (out->rank < 0 || from.rank < 0 || !one_name(in, &from, &from_at, &from_product) ||
	    !one_name(in, out, &at, &product) || at < 0)
		return;
	if (from_at < 0)
		out->dims[at] = from_product / product;
	else if (from_product == product)
		out->dims[at] = from.dims[from_at];
}

static void listed(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = sp_shapes__from_list(in, node, 0);
}

static void listed_second(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = sp_shapes__from_list(in, node, 1);
}

static void listed_third(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = sp_shapes__from_list(in, node, 2);
}

static void expand(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	int32_t axis;

	if (!sp_shapes__is_known(&from, out) ||
	    !sp_shapes__axis_of(in, node, 1, from.rank + 1, &axis))
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i <= from.rank; i++) {
		if (i == axis)
			sp_shapes__append(out, 1);
		if (i < from.rank)
			sp_shapes__append(out, from.dims[i]);
	}
}

static void squeeze(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	const sp_attr *dims;
	bool gone[SP_MAX_RANK] = {false};

	if (!sp_shapes__is_known(&from, out) ||
	    sp_node_attr_list(node, "squeeze_dims", SP_ATTR_INT, &dims, NULL) != SP_OK)
		return;
	for (size_t i = 0; i < dims->count; i++) {
		int64_t at = dims->i_list[i] < 0 ? dims->i_list[i] + from.rank : dims->i_list[i];

		if (at < 0 || at >= from.rank)
			return;
		gone[at] = true;
	}
	for (int32_t i = 0; i < from.rank && dims->count == 0; i++) {
		if (from.dims[i] < 0)
			return;
		gone[i] = from.dims[i] == 1;
	}
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < from.rank; i++)
		if (!gone[i])
			sp_shapes__append(out, from.dims[i]);
}

/* The order of the dimensions: a constant, or a list that is computed of constants. */
static bool order_of(sp_shape_inference *in, const sp_node *node, shape *order)
{
	const sp_tensor *perm = sp_shapes__constant(in, node, 1);

	if (perm == NULL) {
		*order = *sp_shapes__list(in, node, 1);
		for (int32_t i = 0; i < order->rank; i++)
			if (order->dims[i] < 0)
				return false;
		return order->rank >= 0 && sp_shapes__input(in, node, 1).rank == 1;
	}
	*order = sp_shapes__scalar();
	for (size_t i = 0; i < perm->count; i++)
		sp_shapes__append(order, sp_tensor_index(perm, i));
	return order->rank >= 0 && perm->shape.rank == 1;
}

static void transpose(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0), order;

	from = sp_shapes__with_rank_of(in, node, 1, &from);
	if (!sp_shapes__is_known(&from, out))
		return;
	if (!order_of(in, node, &order)) {
		*out = sp_shapes__of_rank(in, from.rank);
		return;
	}
	if (from.rank != order.rank)
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < from.rank; i++) {
		int64_t at = order.dims[i];

		at = at < 0 ? at + from.rank : at;
		if (at < 0 || at >= from.rank) {
			*out = sp_shapes__unknown();
			return;
		}
		sp_shapes__append(out, from.dims[at]);
	}
}

/* `out` without and `joined` of the axis of a concatenation, or neither when nothing is known. */
static void concat(sp_shape_inference *in, const sp_node *node, shape *out)
{
	bool axis_last = strcmp(node->op_name, "ConcatV2") == 0;
	size_t first = axis_last ? 0 : 1, count = node->input_count - 1;
	int32_t axis = 0;
	int64_t joined = 0;

	for (size_t k = first + count; node->input_count > 1 && k-- > first;) {
		shape next = sp_shapes__input(in, node, k);
		int64_t length;

		if (next.rank >= 0 &&
		    !sp_shapes__axis_of(in, node, axis_last ? count : 0, next.rank, &axis)) {
			*out = sp_shapes__unknown();
			return;
		}
		length = next.rank >= 0 ? next.dims[axis] : sp_shapes__new_name(in);
		joined = k == first + count - 1 ? length : sp_shapes__plus(in, joined, length);
		if (next.rank >= 0)
			next.dims[axis] = 1;
		sp_shapes__unify_all(in, &next, out);
		*out = sp_shapes__merge(&next, out);
	}
	if (out->rank >= 0)
		out->dims[axis] = joined;
}

static void pack(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape one = merge_all(in, node);
	int64_t axis = sp_shapes__attr_int(node, "axis", 0);

	if (!sp_shapes__is_known(&one, out))
		return;
	axis = axis < 0 ? axis + one.rank + 1 : axis;
	if (axis < 0 || axis > one.rank)
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i <= one.rank; i++) {
		if (i == axis)
			sp_shapes__append(out, (int64_t)node->input_count);
		if (i < one.rank)
			sp_shapes__append(out, one.dims[i]);
	}
}

static void unpack(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	int64_t axis = sp_shapes__attr_int(node, "axis", 0);

	axis = axis < 0 ? axis + from.rank : axis;
	if (from.rank < 1 || axis < 0 || axis >= from.rank)
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < from.rank; i++)
		if (i != axis)
			sp_shapes__append(out, from.dims[i]);
}

static void split(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 1);
	int64_t parts = sp_shapes__attr_int(node, "num_split", 0);
	int32_t axis;

	if (from.rank < 0 || parts < 1 || !sp_shapes__axis_of(in, node, 0, from.rank, &axis))
		return;
	*out = from;
	if (parts != 1)
		out->dims[axis] = from.dims[axis] >= 0 ? from.dims[axis] / parts
						       : sp_shapes__new_name(in);
}

static void slice(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_tensor *begin = sp_shapes__constant(in, node, 1);
	const sp_tensor *size = sp_shapes__constant(in, node, 2);
	shape from = sp_shapes__input(in, node, 0);

	from = sp_shapes__with_rank_of(in, node, 1, &from);
	if (begin == NULL || size == NULL || from.rank < 0 || begin->count != size->count ||
	    size->count != (size_t)from.rank)
		return;
	*out = from;
	for (int32_t i = 0; i < from.rank; i++) {
		int64_t at = sp_tensor_index(begin, (size_t)i);
		int64_t length = sp_tensor_index(size, (size_t)i);

		if (length >= 0)
			out->dims[i] = length;
		else if (at != 0)
			out->dims[i] = from.dims[i] >= at && at > 0 ? from.dims[i] - at
								    : sp_shapes__new_name(in);
	}
}

bool sp_shapes__masked(const sp_node *node, const char *mask, size_t i)
{
	return (sp_shapes__attr_int(node, mask, 0) >> i & 1) != 0;
}

int64_t sp_shapes__slice_length(sp_shape_inference *in, const sp_node *node, size_t i,
				int64_t length)
{
	int64_t begin = sp_tensor_index(sp_shapes__constant(in, node, 1), i);
	int64_t end = sp_tensor_index(sp_shapes__constant(in, node, 2), i);

	if (length < 0 || sp_tensor_index(sp_shapes__constant(in, node, 3), i) != 1)
		return sp_shapes__new_name(in);
	begin = begin < 0 ? begin + length : begin;
	end = end < 0 ? end + length : end;
	begin = begin < 0 || sp_shapes__masked(node, "begin_mask", i) ? 0 : begin;
	end = end > length || sp_shapes__masked(node, "end_mask", i) ? length : end;
	return end > begin ? end - begin : 0;
}

bool sp_shapes__has_slices(const sp_shape_inference *in, const sp_node *node)
{
	const sp_tensor *begin = sp_shapes__constant(in, node, 1);
	const sp_tensor *end = sp_shapes__constant(in, node, 2);
	const sp_tensor *step = sp_shapes__constant(in, node, 3);

	return begin != NULL && end != NULL && step != NULL && begin->count == end->count &&
	       begin->count == step->count && begin->count <= SP_MAX_RANK;
}

static void strided_slice(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	int32_t at = 0, taken = 0, ellipses = 0, count;

	if (!sp_shapes__is_known(&from, out) || !sp_shapes__has_slices(in, node))
		return;
	count = (int32_t)sp_shapes__constant(in, node, 1)->count;
	for (int32_t i = 0; i < count; i++) {
		taken += !sp_shapes__masked(node, "ellipsis_mask", (size_t)i) &&
			 !sp_shapes__masked(node, "new_axis_mask", (size_t)i);
		ellipses += sp_shapes__masked(node, "ellipsis_mask", (size_t)i);
	}
	if (taken > from.rank || ellipses > 1)
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < count; i++) {
		if (sp_shapes__masked(node, "ellipsis_mask", (size_t)i))
			for (int32_t rest = from.rank - taken; rest > 0; rest--, at++)
				sp_shapes__append(out, from.dims[at] >= 0
							       ? from.dims[at]
							       : sp_shapes__new_name(in));
		else if (sp_shapes__masked(node, "new_axis_mask", (size_t)i))
			sp_shapes__append(out, 1);
		else if (sp_shapes__masked(node, "shrink_axis_mask", (size_t)i))
			at++;
		else
			sp_shapes__append(
				out, sp_shapes__slice_length(in, node, (size_t)i, from.dims[at++]));
	}
	for (; at < from.rank; at++)
		sp_shapes__append(out,
				  from.dims[at] >= 0 ? from.dims[at] : sp_shapes__new_name(in));
}

static void tile(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const shape *by = sp_shapes__list(in, node, 1);
	shape from = sp_shapes__input(in, node, 0);

	from = sp_shapes__with_rank_of(in, node, 1, &from);
	if (from.rank < 0 || by->rank != from.rank)
		return;
	*out = from;
	for (int32_t i = 0; i < from.rank; i++)
		out->dims[i] = by->dims[i] >= 0 ? sp_shapes__times(in, from.dims[i], by->dims[i])
						: sp_shapes__new_name(in);
}

static void pad(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_tensor *sizes = sp_shapes__constant(in, node, 1);
	shape from = sp_shapes__input(in, node, 0);

	from = sp_shapes__with_rank_of(in, node, 1, &from);
	if (!sp_shapes__is_known(&from, out))
		return;
	*out = sp_shapes__of_rank(in, from.rank);
	for (int32_t i = 0; i < from.rank && sizes != NULL; i++) {
		size_t at = 2 * (size_t)i;
		int64_t more = sizes->count == 2 * (size_t)from.rank
				       ? sp_shapes__plus(in, sp_tensor_index(sizes, at),
							 sp_tensor_index(sizes, at + 1))
				       : sp_shapes__new_name(in);

		out->dims[i] = sp_shapes__plus(in, from.dims[i], more);
	}
}

static void gather(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0), rows = sp_shapes__input(in, node, 1);
	int64_t batch = sp_shapes__attr_int(node, "batch_dims", 0);
	int32_t axis = 0;

	if (from.rank < 1 || rows.rank < 0 ||
	    (node->input_count > 2 && !sp_shapes__axis_of(in, node, 2, from.rank, &axis)))
		return;
	batch = batch < 0 ? batch + rows.rank : batch;
	if (batch < 0 || batch > rows.rank || batch > axis)
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < axis; i++)
		sp_shapes__append(out, from.dims[i]);
	for (int32_t i = (int32_t)batch; i < rows.rank; i++)
		sp_shapes__append(out, rows.dims[i]);
	for (int32_t i = axis + 1; i < from.rank; i++)
		sp_shapes__append(out, from.dims[i]);
}

static void gather_nd(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0), places = sp_shapes__input(in, node, 1);
	int64_t taken = places.rank > 0 ? places.dims[places.rank - 1] : -1;

	if (from.rank < 0 || taken < 0 || taken > from.rank)
		return;
	*out = places;
	out->rank--;
	for (int32_t i = (int32_t)taken; i < from.rank; i++)
		sp_shapes__append(out, from.dims[i]);
}

static void range(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_tensor *start = sp_shapes__constant(in, node, 0);
	const sp_tensor *limit = sp_shapes__constant(in, node, 1);
	const sp_tensor *step = sp_shapes__constant(in, node, 2);
	int64_t length;

	*out = sp_shapes__vector(sp_shapes__new_name(in));
	if (start == NULL || limit == NULL || step == NULL || start->count != 1 ||
	    limit->count != 1 || step->count != 1 || sp_tensor_index(step, 0) != 1)
		return;
	if (!__builtin_sub_overflow(sp_tensor_index(limit, 0), sp_tensor_index(start, 0), &length))
		out->dims[0] = length > 0 ? length : 0;
}

static void reduce(sp_shape_inference *in, const sp_node *node, shape *out)
{
	const sp_tensor *axes = sp_shapes__constant(in, node, 1);
	shape from = sp_shapes__input(in, node, 0);
	bool keep = sp_shapes__attr_bool(node, "keep_dims"), gone[SP_MAX_RANK] = {false};

	if (!sp_shapes__is_known(&from, out) || axes == NULL)
		return;
	for (size_t i = 0; i < axes->count; i++) {
		int64_t at = sp_tensor_index(axes, i);

		at = at < 0 ? at + from.rank : at;
		if (at < 0 || at >= from.rank)
			return;
		gone[at] = true;
	}
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < from.rank; i++)
		if (!gone[i] || keep)
			sp_shapes__append(out, gone[i] ? 1 : from.dims[i]);
}

static void choose(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);
	int32_t axis;

	if (from.rank < 1 || !sp_shapes__axis_of(in, node, 1, from.rank, &axis))
		return;
	*out = sp_shapes__scalar();
	for (int32_t i = 0; i < from.rank; i++)
		if (i != axis)
			sp_shapes__append(out, from.dims[i]);
}

static void one_hot(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);

	if (from.rank < 0 || sp_shapes__attr_int(node, "axis", -1) != -1)
		return;
	*out = from;
	sp_shapes__append(out, sp_shapes__size_of(in, node, 1));
}

static void top_k(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);

	if (!sp_shapes__is_known(&from, out) || from.rank < 1)
		return;
	*out = from;
	out->dims[from.rank - 1] = node->input_count > 1 ? sp_shapes__size_of(in, node, 1)
							 : sp_shapes__attr_int(node, "k", 0);
}

static void rank_of(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0);

	*out = sp_shapes__vector(from.rank >= 0 ? from.rank : sp_shapes__new_name(in));
}

static void no_dims(sp_shape_inference *in, const sp_node *node, shape *out)
{
	(void)in;
	(void)node;
	*out = sp_shapes__scalar();
}

/* As many rows are reversed as there are lengths. */
static void reverse_parts(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape lengths = sp_shapes__input(in, node, 1);
	int64_t batch = sp_shapes__attr_int(node, "batch_dim", 0);

	*out = sp_shapes__input(in, node, 0);
	if (out->rank < 0)
		return;
	if (batch < 0 || batch >= out->rank)
		*out = sp_shapes__unknown();
	else if (lengths.rank == 1)
		out->dims[batch] = sp_shapes__merge_dims(in, out->dims[batch], lengths.dims[0]);
}

/* Sums of rows of input 0, as many as the request says. */
static void segments(sp_shape_inference *in, const sp_node *node, shape *out)
{
	*out = sp_shapes__input(in, node, 0);
	if (out->rank > 0)
		out->dims[0] = sp_shapes__new_name(in);
	else
		*out = sp_shapes__unknown();
}

/* The same, as many as input 3 says. */
static void counted_segments(sp_shape_inference *in, const sp_node *node, shape *out)
{
	segments(in, node, out);
	if (out->rank > 0)
		out->dims[0] = sp_shapes__size_of(in, node, 3);
}

/* Sums of parts of input 0, which the dimensions of input 1 count. */
static void unsorted_segments(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape from = sp_shapes__input(in, node, 0), ids = sp_shapes__input(in, node, 1);

	if (!sp_shapes__is_known(&ids, out) || !sp_shapes__is_known(&from, out) ||
	    ids.rank > from.rank)
		return;
	for (int32_t i = 0; i < ids.rank; i++)
		sp_shapes__unify(in, from.dims[i], ids.dims[i]);
	*out = sp_shapes__vector(sp_shapes__size_of(in, node, 2));
	for (int32_t i = ids.rank; i < from.rank; i++)
		sp_shapes__append(out, from.dims[i]);
}

/* Of a TensorArray whose elements are not known to be alike, each reader knows for itself. */
static void gathered_elements(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape places = sp_shapes__input(in, node, 1), one = *sp_shapes__list(in, node, 0);

	one = one.rank == SP_RANK_UNKNOWN ? sp_shapes__declared(in, node, "element_shape") : one;
	one = one;
	*out = sp_shapes__several(places.rank == 1 ? places.dims[0] : sp_shapes__new_name(in),
				  &one);
}

static void element_of_array(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape one = *sp_shapes__list(in, node, 0);

	*out = one;
}

static void element_of_list(sp_shape_inference *in, const sp_node *node, shape *out)
{
	if (sp_shapes__input(in, node, 2).rank == 1)
		*out = sp_shapes__from_list(in, node, 2);
}

/* What is known of the elements is lost in a loop but for what input 1 says. */
static void stacked_elements(sp_shape_inference *in, const sp_node *node, shape *out)
{
	shape one = sp_shapes__from_list(in, node, 1);
	int64_t count = sp_shapes__attr_int(node, "num_elements", -1);

	if (sp_shapes__input(in, node, 1).rank == 1)
		*out = sp_shapes__several(count >= 0 ? count : sp_shapes__new_name(in), &one);
}

/* Sorted by name. */
static const sp_shape_rule rules[] = {
	{"Abs", same, false},
	{"Acos", same, false},
	{"Acosh", same, false},
	{"Add", binary, false},
	{"AddN", all_equal, false},
	{"AddV2", binary, false},
	{"All", reduce, false},
	{"Any", reduce, false},
	{"ArgMax", choose, false},
	{"ArgMin", choose, false},
	{"AsString", same, false},
	{"Asin", same, false},
	{"Asinh", same, false},
	{"Atan", same, false},
	{"Atan2", binary, false},
	{"Atanh", same, false},
	{"AvgPool", sp_shapes__pool, false},
	{"AvgPool3D", sp_shapes__pool, false},
	{"BatchMatMul", sp_shapes__batch_product, false},
	{"BatchMatMulV2", sp_shapes__batch_product, false},
	{"BatchMatMulV3", sp_shapes__batch_product, false},
	{"BatchToSpaceND", sp_shapes__batch_to_space, false},
	{"BesselI0e", same, false},
	{"BesselI1e", same, false},
	{"BiasAdd", bias_add, false},
	{"BitwiseAnd", binary, false},
	{"BitwiseOr", binary, false},
	{"BitwiseXor", binary, false},
	{"BroadcastTo", listed_second, false},
	{"Bucketize", same, false},
	{"Cast", same, false},
	{"Ceil", same, false},
	{"CheckNumerics", same, false},
	{"ClipByValue", same, false},
	{"Complex", binary, false},
	{"Concat", concat, false},
	{"ConcatV2", concat, false},
	{"Const", of_value, false},
	{"Conv2D", sp_shapes__convolution, false},
	{"Conv2DBackpropInput", sp_shapes__convolution_back, false},
	{"Conv3D", sp_shapes__convolution, false},
	{"Cos", same, false},
	{"Cosh", same, false},
	{"Cumprod", same, false},
	{"Cumsum", same, false},
	{"CumulativeLogsumexp", same, false},
	{"DepthwiseConv2dNative", sp_shapes__convolution, false},
	{"Digamma", same, false},
	{"Div", binary, false},
	{"DivNoNan", binary, false},
	{"Einsum", sp_shapes__einsum, false},
	{"Elu", same, false},
	{"EnsureShape", ensure, false},
	{"Equal", compared, false},
	{"Erf", same, false},
	{"Erfc", same, false},
	{"Erfinv", same, false},
	{"Exp", same, false},
	{"ExpandDims", expand, false},
	{"Expm1", same, false},
	{"Fill", listed, false},
	{"Floor", same, false},
	{"FloorDiv", binary, false},
	{"FloorMod", binary, false},
	{"FusedBatchNorm", sp_shapes__batch_norm, false},
	{"FusedBatchNormV2", sp_shapes__batch_norm, false},
	{"FusedBatchNormV3", sp_shapes__batch_norm, false},
	{"Gather", gather, false},
	{"GatherNd", gather_nd, false},
	{"GatherV2", gather, false},
	{"Greater", binary, false},
	{"GreaterEqual", binary, false},
	{"Identity", same, false},
	{"Igamma", binary, false},
	{"Igammac", binary, false},
	{"Inv", same, false},
	{"IsFinite", same, false},
	{"IsInf", same, false},
	{"IsNan", same, false},
	{"L2Loss", no_dims, false},
	{"LeakyRelu", same, false},
	{"LeftShift", binary, false},
	{"Less", binary, false},
	{"LessEqual", binary, false},
	{"Lgamma", same, false},
	{"Log", same, false},
	{"Log1p", same, false},
	{"LogSoftmax", same, false},
	{"LogicalAnd", binary, false},
	{"LogicalNot", same, false},
	{"LogicalOr", binary, false},
	{"MatMul", sp_shapes__matrix_product, false},
	{"MatrixBandPart", same, false},
	{"Max", reduce, false},
	{"MaxPool", sp_shapes__pool, false},
	{"MaxPool3D", sp_shapes__pool, false},
	{"Maximum", binary, false},
	{"Mean", reduce, false},
	{"Merge", sp_shapes__merged, false},
	{"Min", reduce, false},
	{"Minimum", binary, false},
	{"MirrorPad", pad, false},
	{"Mod", binary, false},
	{"Mul", binary, false},
	{"MulNoNan", binary, false},
	{"Ndtri", same, false},
	{"Neg", same, false},
	{"NextAfter", binary, false},
	{"NotEqual", compared, false},
	{"OneHot", one_hot, false},
	{"OnesLike", same, false},
	{"Pack", pack, false},
	{"Pad", pad, false},
	{"PadV2", pad, false},
	{"Polygamma", binary, false},
	{"Pow", power, false},
	{"PreventGradient", same, false},
	{"Prod", reduce, false},
	{"Range", range, false},
	{"Rank", no_dims, false},
	{"ReadVariableOp", of_variable, false},
	{"RealDiv", binary, false},
	{"Reciprocal", same, false},
	{"Relu", same, false},
	{"Relu6", same, false},
	{"Reshape", reshape, false},
	{"ReverseSequence", reverse_parts, false},
	{"ReverseV2", same, false},
	{"RightShift", binary, false},
	{"Rint", same, false},
	{"Roll", same, false},
	{"Round", same, false},
	{"Rsqrt", same, false},
	{"ScatterNd", listed_third, false},
	{"SegmentMax", segments, false},
	{"SegmentMean", segments, false},
	{"SegmentMin", segments, false},
	{"SegmentProd", segments, false},
	{"SegmentSum", segments, false},
	{"Select", select_one, false},
	{"SelectV2", ternary, false},
	{"Selu", same, false},
	{"Shape", rank_of, false},
	{"Sigmoid", same, false},
	{"Sign", same, false},
	{"Sin", same, false},
	{"Sinh", same, false},
	{"Size", no_dims, false},
	{"Slice", slice, false},
	{"Softmax", same, false},
	{"Softplus", same, false},
	{"Softsign", same, false},
	{"SpaceToBatchND", sp_shapes__space_to_batch, false},
	{"SparseSegmentMean", segments, false},
	{"SparseSegmentMeanWithNumSegments", counted_segments, false},
	{"SparseSegmentSqrtN", segments, false},
	{"SparseSegmentSqrtNWithNumSegments", counted_segments, false},
	{"SparseSegmentSum", segments, false},
	{"SparseSegmentSumWithNumSegments", counted_segments, false},
	{"SparseTensorDenseMatMul", sp_shapes__sparse_product, false},
	{"SparseToDense", listed_second, false},
	{"Split", split, true},
	{"Sqrt", same, false},
	{"Square", same, false},
	{"SquaredDifference", binary, false},
	{"Squeeze", squeeze, false},
	{"StopGradient", same, false},
	{"StridedSlice", strided_slice, false},
	{"StringToHashBucketFast", same, false},
	{"StringToHashBucketStrong", same, false},
	{"StringToNumber", same, false},
	{"Sub", binary, false},
	{"Sum", reduce, false},
	{"Switch", same, true},
	{"Tan", same, false},
	{"Tanh", same, false},
	{"TensorArrayGatherV3", gathered_elements, false},
	{"TensorArrayReadV3", element_of_array, false},
	{"TensorListGetItem", element_of_list, false},
	{"TensorListStack", stacked_elements, false},
	{"TensorScatterAdd", same, false},
	{"TensorScatterMax", same, false},
	{"TensorScatterMin", same, false},
	{"TensorScatterSub", same, false},
	{"TensorScatterUpdate", same, false},
	{"Tile", tile, false},
	{"TopK", top_k, true},
	{"TopKV2", top_k, true},
	{"Transpose", transpose, false},
	{"TruncateDiv", binary, false},
	{"TruncateMod", binary, false},
	{"Unpack", unpack, true},
	{"UnsortedSegmentMax", unsorted_segments, false},
	{"UnsortedSegmentMin", unsorted_segments, false},
	{"UnsortedSegmentProd", unsorted_segments, false},
	{"UnsortedSegmentSum", unsorted_segments, false},
	{"Xdivy", binary, false},
	{"Xlog1py", binary, false},
	{"Xlogy", binary, false},
	{"ZerosLike", same, false},
	{"Zeta", binary, false},
	{"_Argument", sp_shapes__variable, false},
	{"_Cube", same, false},
	{"_RowElu", same, false},
	{"_ScaledCube", binary, false},
	{"_ScaledSquare", binary, false},
};

const sp_shape_rule *sp_shapes__rule(const char *op)
{
	return sp_shapes__find(rules, sizeof(rules) / sizeof(rules[0]), op);
}
