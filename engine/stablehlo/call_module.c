#include <string.h>

#include "engine/graph/op.h"
#include "engine/import/front_end.h"
#include "engine/stablehlo/translate.h"

/* The rank of a value according to the model file; -1 when it does not state it. */
static int noted_rank(const sp_node *nodes, sp_port port)
{
	const sp_attr *shapes = sp_node_attr(&nodes[port.node], "_output_shapes");

	if (shapes == NULL || shapes->kind != SP_ATTR_LIST || shapes->element != SP_ATTR_SHAPE ||
	    port.port >= shapes->count)
		return -1;
	return shapes->shape_list[port.port].rank;
}

static bool is_float(const sp_node *node, const char *attr)
{
	const sp_attr *type = sp_node_attr(node, attr);

	return type != NULL && type->kind == SP_ATTR_TYPE && type->type == SP_FLOAT;
}

/*
 * XlaDot or XlaDotV2 of two float matrices becomes MatMul, which packs constant weights and is
 * fused. The contracting dimensions must be 1 of the first matrix, and 0 or (transposed) 1 of the
 * second.
 */
static sp_status lower_dot(sp_node *node, const sp_node *nodes, sp_arena *arena, sp_error *err)
{
	static const char plain[] = "\x0a\x01\x01\x12\x01\x00",
			  transposed[] = "\x0a\x01\x01\x12\x01\x01";
	bool second = node->opcode == SP_OPCODE_XlaDotV2;
	const sp_attr *numbers = sp_node_attr(node, "dimension_numbers");
	bool transpose;
	sp_attr *attrs;

	if ((!second && node->opcode != SP_OPCODE_XlaDot) || node->input_count != 2 ||
	    numbers == NULL || numbers->kind != SP_ATTR_BYTES || numbers->bytes.size != 6)
		return SP_OK;
	if (second ? !is_float(node, "LhsT") || !is_float(node, "RhsT") ||
			     !is_float(node, "preferred_element_type")
		   : !is_float(node, "T"))
		return SP_OK;
	transpose = memcmp(numbers->bytes.data, transposed, 6) == 0;
	if ((!transpose && memcmp(numbers->bytes.data, plain, 6) != 0) ||
	    noted_rank(nodes, node->inputs[0]) != 2 || noted_rank(nodes, node->inputs[1]) != 2)
		return SP_OK;

	attrs = sp_arena_copy(arena, node->attrs, node->attr_count, node->attr_count + 2,
			      sizeof(*attrs));
	SP_NEED_MEMORY(attrs, err, "the graph");
	attrs[node->attr_count++] = (sp_attr){
		.name = "transpose_b", .kind = SP_ATTR_BOOL, .b = transpose};
	if (second)
		attrs[node->attr_count++] = (sp_attr){
			.name = "T", .kind = SP_ATTR_TYPE, .type = SP_FLOAT};
	node->attrs = attrs;
	sp_node_set_op(node, SP_OPCODE_MatMul);
	return SP_OK;
}

const sp_front_end sp_front_end_stablehlo = {
	.op = "XlaCallModule",
	.translate = sp_stablehlo_translate,
	.lower = lower_dot,
};
