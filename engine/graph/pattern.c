#include "engine/graph/pattern.h"

#include "engine/graph/op.h"

bool sp_pattern_is_early(const sp_graph *graph, const bool *early, size_t i)
{
	const sp_node *node = &graph->nodes[i];
	bool is_early = node->op != NULL && (node->op->flags & SP_OP_AT_REQUEST) == 0;

	for (size_t k = 0; k < node->input_count; k++)
		is_early &= early[node->inputs[k].node];
	for (size_t k = 0; k < node->control_count; k++)
		is_early &= early[node->controls[k]];
	return is_early;
}

const sp_tensor *sp_pattern_constant(const sp_graph *graph, sp_port port)
{
	const sp_node *node = sp_pattern_made_by(graph, port, SP_OPCODE_Const, 0);
	const sp_attr *value = node != NULL ? sp_node_attr(node, "value") : NULL;

	return value != NULL && value->kind == SP_ATTR_TENSOR ? value->tensor : NULL;
}

static bool is_index(const sp_tensor *tensor)
{
	return tensor != NULL && (tensor->dtype == SP_INT32 || tensor->dtype == SP_INT64);
}

bool sp_pattern_integer(const sp_graph *graph, sp_port port, int64_t *value)
{
	const sp_tensor *constant = sp_pattern_constant(graph, port);

	if (!is_index(constant) || constant->count != 1)
		return false;
	*value = sp_tensor_index(constant, 0);
	return true;
}

bool sp_pattern_is_integer(const sp_graph *graph, sp_port port, int64_t value)
{
	int64_t found;

	return sp_pattern_integer(graph, port, &found) && found == value;
}

bool sp_pattern_is_vector(const sp_graph *graph, sp_port port, const int64_t *values, size_t count)
{
	const sp_tensor *constant = sp_pattern_constant(graph, port);

	if (!is_index(constant) || constant->shape.rank != 1 || constant->count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sp_tensor_index(constant, i) != values[i])
			return false;
	return true;
}

bool sp_pattern_attr_int(const sp_node *node, const char *name, int64_t value)
{
	int64_t found;

	return sp_node_attr_int(node, name, 0, &found, NULL) == SP_OK && found == value;
}

bool sp_pattern_attr_type(const sp_node *node, const char *name, sp_dtype value)
{
	sp_dtype found;

	return sp_node_attr_type(node, name, SP_INVALID_DTYPE, &found, NULL) == SP_OK &&
	       found == value;
}

bool sp_pattern_is_element(const sp_graph *graph, sp_port port, sp_port vector, int64_t i)
{
	const sp_node *slice = sp_pattern_made_by(graph, port, SP_OPCODE_StridedSlice, 4);
	int64_t end = i + 1, one = 1;

	return slice != NULL && sp_pattern_same(slice->inputs[0], vector) &&
	       sp_pattern_is_vector(graph, slice->inputs[1], &i, 1) &&
	       sp_pattern_is_vector(graph, slice->inputs[2], &end, 1) &&
	       sp_pattern_is_vector(graph, slice->inputs[3], &one, 1) &&
	       sp_pattern_attr_int(slice, "shrink_axis_mask", 1) &&
	       sp_pattern_attr_int(slice, "begin_mask", 0) &&
	       sp_pattern_attr_int(slice, "end_mask", 0) &&
	       sp_pattern_attr_int(slice, "ellipsis_mask", 0) &&
	       sp_pattern_attr_int(slice, "new_axis_mask", 0);
}

bool sp_pattern_is_dimension(const sp_graph *graph, sp_port port, sp_port of, int64_t axis)
{
	const sp_node *slice = &graph->nodes[port.node];
	const sp_node *shape = slice->input_count != 0 ? sp_pattern_made_by(graph, slice->inputs[0],
									    SP_OPCODE_Shape, 1)
						       : NULL;

	return shape != NULL && sp_pattern_same(shape->inputs[0], of) &&
	       sp_pattern_is_element(graph, port, slice->inputs[0], axis);
}
