#include "engine/import/lower.h"

#include <string.h>

#include "engine/graph/op.h"
#include "engine/graph/rewrite.h"
#include "engine/import/front_end.h"

/*
 * One walk over the sorted list writes a new list, and records for every old node the number of the
 * new one and, for a reference variable, the number of the node that reads its value.
 */

static const uint32_t NONE = SP_REWRITE_NONE;

typedef struct lowering {
	sp_rewrite rw;
	uint32_t *reads; /* [old nodes] the ReadVariableOp of a reference variable, or NONE */
} lowering;

/* What an operator on a variable becomes; SP_OPCODE_NONE for all others. */
static sp_opcode lowered(sp_opcode opcode)
{
	switch (opcode) {
	case SP_OPCODE_Assign:
		return SP_OPCODE_AssignVariableOp;
	case SP_OPCODE_AssignAdd:
		return SP_OPCODE_AssignAddVariableOp;
	case SP_OPCODE_AssignSub:
		return SP_OPCODE_AssignSubVariableOp;
	case SP_OPCODE_IsVariableInitialized:
		return SP_OPCODE_VarIsInitializedOp;
	case SP_OPCODE_ResourceGather:
		return SP_OPCODE_GatherV2;
	case SP_OPCODE_ResourceGatherNd:
		return SP_OPCODE_GatherNd;
	default:
		return SP_OPCODE_NONE;
	}
}

/* `node` with one more attribute. */
static sp_status add_attr(lowering *lo, sp_node *node, const sp_attr *attr)
{
	sp_attr *attrs = sp_arena_copy(lo->rw.graph->arena, node->attrs, node->attr_count,
				       node->attr_count + 1, sizeof(*attrs));

	if (attrs == NULL)
		return sp_rewrite_no_memory(&lo->rw);
	attrs[node->attr_count++] = *attr;
	node->attrs = attrs;
	return SP_OK;
}

/* A ReadVariableOp on port `handle` that yields `dtype`, for `node`. */
static sp_status add_read(lowering *lo, const sp_node *node, sp_port handle, sp_dtype dtype,
			  uint32_t *at)
{
	sp_node read = {.input_count = 1, .region = node->region};
	sp_attr attr = {.name = "dtype", .kind = SP_ATTR_TYPE, .type = dtype};
	sp_port *input = sp_arena_array(lo->rw.graph->arena, 1, sizeof(*input));

	if (input == NULL)
		return sp_rewrite_no_memory(&lo->rw);
	*input = handle;
	read.inputs = input;
	read.name = sp_arena_printf(lo->rw.graph->arena, "%s/value", node->name);
	if (read.name == NULL)
		return sp_rewrite_no_memory(&lo->rw);
	sp_node_set_op(&read, SP_OPCODE_ReadVariableOp);
	SP_TRY(add_attr(lo, &read, &attr));
	return sp_rewrite_add(&lo->rw, &read, at);
}

/* The new numbers of a node's inputs; reference variables are read unless `keep_reference`. */
static sp_status move_edges(lowering *lo, sp_node *node, bool keep_reference)
{
	const sp_port *old = node->inputs;
	sp_port *inputs;

	SP_TRY(sp_rewrite_edges(&lo->rw, node));
	inputs = (sp_port *)node->inputs;
	for (size_t i = keep_reference ? 1 : 0; i < node->input_count; i++)
		if (lo->reads[old[i].node] != NONE)
			inputs[i].node = lo->reads[old[i].node];
	return SP_OK;
}

static sp_status lower_variable(lowering *lo, sp_node *node, size_t old)
{
	sp_dtype dtype;

	SP_TRY(sp_node_attr_type(node, "dtype", SP_INVALID_DTYPE, &dtype, lo->rw.err));
	sp_node_set_op(node, SP_OPCODE_VarHandleOp);
	SP_TRY(sp_rewrite_add(&lo->rw, node, &lo->rw.moved[old]));
	return add_read(lo, node, (sp_port){lo->rw.moved[old], 0}, dtype, &lo->reads[old]);
}

static sp_status lower_assign(lowering *lo, sp_node *node, sp_opcode opcode)
{
	const sp_attr *type = sp_node_attr(node, "T");
	sp_attr dtype;

	sp_node_set_op(node, opcode);
	if (type == NULL)
		return SP_OK;
	dtype = *type;
	dtype.name = "dtype";
	return add_attr(lo, node, &dtype);
}

/* A gather through a handle becomes a read and a gather along axis batch_dims. */
static sp_status lower_gather(lowering *lo, sp_node *node)
{
	sp_port *inputs = (sp_port *)node->inputs; /* sp_rewrite_edges() left room for one more */
	sp_dtype dtype;
	int64_t batch_dims;
	uint32_t at;

	if (node->input_count != 2)
		return sp_error_set(lo->rw.err, SP_INVALID, "node '%s' takes 2 inputs, not %zu",
				    node->name, node->input_count);
	SP_TRY(sp_node_attr_type(node, "dtype", SP_INVALID_DTYPE, &dtype, lo->rw.err));
	SP_TRY(sp_node_attr_int(node, "batch_dims", 0, &batch_dims, lo->rw.err));
	SP_TRY(add_read(lo, node, inputs[0], dtype, &at));
	inputs[0] = (sp_port){at, 0};
	sp_node_set_op(node, lowered(node->opcode));
	if (node->opcode == SP_OPCODE_GatherNd)
		return SP_OK;
	SP_TRY(sp_rewrite_add_int32(&lo->rw, node, (int32_t)batch_dims, &at));
	inputs[node->input_count++] = (sp_port){at, 0};
	return SP_OK;
}

static sp_status lower_node(lowering *lo, size_t old)
{
	sp_node node = lo->rw.graph->nodes[old];
	sp_opcode opcode = lowered(node.opcode);
	bool is_gather = node.opcode == SP_OPCODE_ResourceGather ||
			 node.opcode == SP_OPCODE_ResourceGatherNd;
	bool is_assign = opcode != SP_OPCODE_NONE && !is_gather;

	SP_TRY(move_edges(lo, &node, is_assign));
	if (node.opcode == SP_OPCODE_VariableV2 || node.opcode == SP_OPCODE_Variable)
		return lower_variable(lo, &node, old);
	if (is_assign)
		SP_TRY(lower_assign(lo, &node, opcode));
	else if (is_gather)
		SP_TRY(lower_gather(lo, &node));
	else
		SP_TRY(sp_front_ends_lower(&node, lo->rw.nodes, lo->rw.graph->arena, lo->rw.err));
	return sp_rewrite_add(&lo->rw, &node, &lo->rw.moved[old]);
}

sp_status sp_graph_lower(sp_graph *graph, sp_error *err)
{
	size_t count = graph->node_count;
	lowering lo;

	SP_TRY(sp_rewrite_begin(&lo.rw, graph, err));
	lo.reads = sp_arena_array(graph->arena, count, sizeof(*lo.reads));
	if (lo.reads == NULL)
		return sp_rewrite_no_memory(&lo.rw);
	memset(lo.reads, 0xff, count * sizeof(*lo.reads));
	for (size_t i = 0; i < count; i++) {
		sp_status status = lower_node(&lo, i);

		if (status != SP_OK)
			return sp_error_prefix(err, status, "node '%s' (%s)", graph->nodes[i].name,
					       graph->nodes[i].op_name);
	}
	/* The name of a reference variable stands for its value. */
	for (size_t i = 0; i < count; i++)
		if (lo.reads[i] != NONE)
			lo.rw.moved[i] = lo.reads[i];
	sp_rewrite_finish(&lo.rw);
	return SP_OK;
}
