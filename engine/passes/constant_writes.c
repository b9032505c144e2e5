#include "engine/passes/constant_writes.h"

#include <string.h>

#include "engine/graph/op.h"
#include "engine/graph/rewrite.h"

/*
 * Writes a new list: first the nodes that follow from constants, then the rest in its order, with
 * the writes of a variable right after the node that reads it, which is before all readers of that
 * node.
 */

static const uint32_t NONE = SP_REWRITE_NONE;

typedef struct rewriter {
	sp_rewrite rw;
	bool *constant; /* [old nodes] a constant expression outside of all regions */
	uint32_t *next; /* [old nodes] of a read, its first write; of a write, the next write */
	uint32_t *last; /* [old nodes] of a read, its last write */
	size_t found;
} rewriter;

static bool is_constant(const rewriter *wr, const sp_node *node)
{
	if (node->op == NULL || node->region != 0 ||
	    (node->op->flags & (SP_OP_AT_REQUEST | SP_OP_READS_VARIABLE)) != 0)
		return false;
	for (size_t i = 0; i < node->input_count; i++)
		if (!wr->constant[node->inputs[i].node])
			return false;
	for (size_t i = 0; i < node->control_count; i++)
		if (!wr->constant[node->controls[i]])
			return false;
	return true;
}

/* The read of the variable that `node` writes constants into, or NONE. */
static uint32_t variable_read(const rewriter *wr, const sp_node *node)
{
	const sp_node *read;

	if (node->opcode != SP_OPCODE_ScatterUpdate || node->input_count != 3 || node->region != 0)
		return NONE;
	read = &wr->rw.graph->nodes[node->inputs[0].node];
	if (read->opcode != SP_OPCODE_ReadVariableOp || read->region != 0)
		return NONE;
	if (!wr->constant[node->inputs[1].node] || !wr->constant[node->inputs[2].node])
		return NONE;
	return node->inputs[0].node;
}

static void find_writes(rewriter *wr)
{
	for (uint32_t i = 0; i < wr->rw.graph->node_count; i++) {
		const sp_node *node = &wr->rw.graph->nodes[i];
		uint32_t at = variable_read(wr, node);

		wr->constant[i] = is_constant(wr, node);
		if (at == NONE)
			continue;
		wr->next[wr->last[at] != NONE ? wr->last[at] : at] = i;
		wr->last[at] = i;
		wr->found++;
	}
}

/* Adds the variable's value after write `old`; node `value` is its value before. */
static sp_status add_write(rewriter *wr, uint32_t old, uint32_t value)
{
	sp_rewrite *rw = &wr->rw;
	const sp_node *write = &rw->graph->nodes[old];
	sp_arena *arena = rw->graph->arena;
	sp_port *inputs = sp_arena_array(arena, 5, sizeof(*inputs));
	sp_node rows = {.name = sp_arena_printf(arena, "%s/rows", write->name),
			.inputs = inputs,
			.input_count = 2};
	sp_node result = *write;
	uint32_t axis, at;

	if (inputs == NULL || rows.name == NULL)
		return sp_rewrite_no_memory(rw);
	SP_TRY(sp_rewrite_add_int32(rw, write, -1, &axis));
	inputs[0] = sp_rewrite_port(rw, write->inputs[1]);
	inputs[1] = (sp_port){axis, 0};
	sp_node_set_op(&rows, SP_OPCODE_ExpandDims);
	SP_TRY(sp_rewrite_add(rw, &rows, &at));
	inputs[2] = (sp_port){value, 0};
	inputs[3] = (sp_port){at, 0};
	inputs[4] = sp_rewrite_port(rw, write->inputs[2]);
	result.inputs = inputs + 2;
	result.control_count = 0;
	sp_node_set_op(&result, SP_OPCODE_TensorScatterUpdate);
	return sp_rewrite_add(rw, &result, &rw->moved[old]);
}

static sp_status write_list(rewriter *wr)
{
	sp_rewrite *rw = &wr->rw;

	for (uint32_t i = 0; i < rw->graph->node_count; i++)
		if (wr->constant[i])
			SP_TRY(sp_rewrite_move(rw, i));
	for (uint32_t i = 0; i < rw->graph->node_count; i++) {
		if (rw->moved[i] != NONE)
			continue;
		SP_TRY(sp_rewrite_move(rw, i));
		for (uint32_t at = wr->next[i]; at != NONE; at = wr->next[at]) {
			SP_TRY(add_write(wr, at, rw->moved[i]));
			rw->moved[i] = rw->moved[at]; /* readers of the variable read this */
		}
	}
	return SP_OK;
}

/* ------------------------------------------------------- redundant writes */

/* The value behind identities and shape checks. */
static sp_port source_of(const sp_graph *graph, sp_port value)
{
	for (;;) {
		const sp_node *node = &graph->nodes[value.node];

		if (value.port >= node->input_count)
			return value;
		switch (node->opcode) {
		case SP_OPCODE_Identity:
		case SP_OPCODE_IdentityN:
		case SP_OPCODE_StopGradient:
		case SP_OPCODE_EnsureShape:
			value = node->inputs[value.port];
			break;
		default:
			return value;
		}
	}
}

static bool writes_back_its_value(const sp_graph *graph, const sp_node *node)
{
	const sp_node *read;
	sp_port to, from;

	if (node->opcode != SP_OPCODE_AssignVariableOp || node->input_count != 2 ||
	    node->region != 0)
		return false;
	read = &graph->nodes[source_of(graph, node->inputs[1]).node];
	if (read->opcode != SP_OPCODE_ReadVariableOp || read->input_count != 1 || read->region != 0)
		return false;
	to = source_of(graph, node->inputs[0]);
	from = source_of(graph, read->inputs[0]);
	return to.node == from.node && to.port == from.port &&
	       graph->nodes[to.node].opcode == SP_OPCODE_VarHandleOp;
}

static void drop_redundant_writes(sp_graph *graph)
{
	for (size_t i = 0; i < graph->node_count; i++) {
		sp_node *node = &graph->nodes[i];

		if (!writes_back_its_value(graph, node))
			continue;
		node->input_count = 0;
		node->attr_count = 0;
		sp_node_set_op(node, SP_OPCODE_NoOp);
	}
}

sp_status sp_graph_fold_constant_writes(sp_graph *graph, sp_error *err)
{
	size_t count = graph->node_count;
	rewriter wr = {.found = 0};

	drop_redundant_writes(graph);
	SP_TRY(sp_rewrite_begin(&wr.rw, graph, err));
	wr.constant = sp_arena_zeros(graph->arena, count, sizeof(*wr.constant));
	wr.next = sp_arena_array(graph->arena, count, sizeof(*wr.next));
	wr.last = sp_arena_array(graph->arena, count, sizeof(*wr.last));
	if (wr.constant == NULL || wr.next == NULL || wr.last == NULL)
		return sp_rewrite_no_memory(&wr.rw);
	memset(wr.next, 0xff, count * sizeof(*wr.next));
	memset(wr.last, 0xff, count * sizeof(*wr.last));
	find_writes(&wr);
	if (wr.found == 0)
		return SP_OK;
	SP_TRY(write_list(&wr));
	sp_rewrite_finish(&wr.rw);
	return SP_OK;
}
