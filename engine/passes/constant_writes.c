#include "engine/passes/constant_writes.h"

#include <string.h>

#include "engine/graph/op.h"

/*
 * A new list is written: first what follows from constants, then the rest in its order,
 * the writes of a variable right behind the node that reads it.  So they stand before
 * every other reader.
 */

static const uint32_t NONE = UINT32_MAX;

typedef struct writing {
	sp_graph *graph;
	sp_node *nodes; /* the new list */
	size_t count;
	bool *constant;  /* [old nodes] follows from constants, outside of regions */
	uint32_t *moved; /* [old nodes] */
	uint32_t *next;  /* [old nodes] of a read: its first write; of a write: the one after */
	uint32_t *last;  /* [old nodes] of a read with writes: the last one */
	size_t found;
	sp_error *err;
} writing;

static sp_status no_memory(writing *wr)
{
	return sp_error_set(wr->err, SP_NO_MEMORY, "no memory for the graph");
}

static bool is_constant(const writing *wr, const sp_node *node)
{
	static const unsigned varying = SP_OP_STATEFUL | SP_OP_READS_VARIABLE | SP_OP_LOAD_ONLY |
					SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD | SP_OP_PER_REQUEST |
					SP_OP_CONTROL | SP_OP_ARGUMENT;

	if (node->op == NULL || (node->op->flags & varying) != 0 || node->region != 0)
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
static uint32_t written(const writing *wr, const sp_node *node)
{
	const sp_node *read;

	if (strcmp(node->op_name, "ScatterUpdate") != 0 || node->input_count != 3 ||
	    node->region != 0)
		return NONE;
	read = &wr->graph->nodes[node->inputs[0].node];
	if (strcmp(read->op_name, "ReadVariableOp") != 0 || read->region != 0)
		return NONE;
	if (!wr->constant[node->inputs[1].node] || !wr->constant[node->inputs[2].node])
		return NONE;
	return node->inputs[0].node;
}

static void find_writes(writing *wr)
{
	for (uint32_t i = 0; i < wr->graph->node_count; i++) {
		const sp_node *node = &wr->graph->nodes[i];
		uint32_t at = written(wr, node);

		wr->constant[i] = is_constant(wr, node);
		if (at == NONE)
			continue;
		wr->next[wr->last[at] != NONE ? wr->last[at] : at] = i;
		wr->last[at] = i;
		wr->found++;
	}
}

static sp_status add(writing *wr, const sp_node *node, uint32_t old)
{
	sp_node moved = *node;
	sp_port *inputs = sp_arena_array(wr->graph->arena, node->input_count, sizeof(*inputs));
	uint32_t *controls = sp_arena_array(wr->graph->arena, node->control_count,
					    sizeof(*controls));

	if (inputs == NULL || controls == NULL)
		return no_memory(wr);
	for (size_t i = 0; i < node->input_count; i++)
		inputs[i] = (sp_port){wr->moved[node->inputs[i].node], node->inputs[i].port};
	for (size_t i = 0; i < node->control_count; i++)
		controls[i] = wr->moved[node->controls[i]];
	moved.inputs = inputs;
	moved.controls = controls;
	wr->moved[old] = (uint32_t)wr->count;
	wr->nodes[wr->count++] = moved;
	return SP_OK;
}

static void set_op(sp_node *node, const char *name)
{
	node->op_name = name;
	node->op = sp_op_find(name);
}

/* The constant -1, for the axis that ExpandDims adds. */
static sp_status add_axis(writing *wr, const char *name)
{
	sp_arena *arena = wr->graph->arena;
	sp_shape shape = sp_shape_scalar();
	sp_tensor *tensor = sp_arena_zeros(arena, 1, sizeof(*tensor));
	sp_attr *attrs = sp_arena_array(arena, 2, sizeof(*attrs));
	sp_node *node = &wr->nodes[wr->count];

	*node = (sp_node){.name = sp_arena_printf(arena, "%s/axis", name), .attr_count = 2};
	if (tensor == NULL || attrs == NULL || node->name == NULL)
		return no_memory(wr);
	SP_TRY(sp_tensor_create(tensor, arena, SP_INT32, &shape, wr->err));
	sp_tensor_i32(tensor)[0] = -1;
	attrs[0] = (sp_attr){.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_INT32};
	attrs[1] = (sp_attr){.name = "value", .kind = SP_ATTR_TENSOR, .tensor = tensor};
	node->attrs = attrs;
	set_op(node, "Const");
	wr->count++;
	return SP_OK;
}

/* What the write `old` leaves in the variable whose value so far is node `value`. */
static sp_status add_write(writing *wr, uint32_t old, uint32_t value)
{
	sp_arena *arena = wr->graph->arena;
	const sp_node *write = &wr->graph->nodes[old];
	sp_node rows = {.input_count = 2}, result = *write;
	sp_port *ends = sp_arena_array(arena, 5, sizeof(*ends));

	rows.name = sp_arena_printf(arena, "%s/rows", write->name);
	if (ends == NULL || rows.name == NULL)
		return no_memory(wr);
	SP_TRY(add_axis(wr, write->name));
	ends[0] = (sp_port){wr->moved[write->inputs[1].node], write->inputs[1].port};
	ends[1] = (sp_port){(uint32_t)wr->count - 1, 0};
	rows.inputs = ends;
	set_op(&rows, "ExpandDims");
	wr->nodes[wr->count++] = rows;
	ends[2] = (sp_port){value, 0};
	ends[3] = (sp_port){(uint32_t)wr->count - 1, 0};
	ends[4] = (sp_port){wr->moved[write->inputs[2].node], write->inputs[2].port};
	result.inputs = ends + 2;
	result.control_count = 0;
	set_op(&result, "TensorScatterUpdate");
	wr->moved[old] = (uint32_t)wr->count;
	wr->nodes[wr->count++] = result;
	return SP_OK;
}

static sp_status write_list(writing *wr)
{
	const sp_graph *graph = wr->graph;

	for (uint32_t i = 0; i < graph->node_count; i++)
		if (wr->constant[i])
			SP_TRY(add(wr, &graph->nodes[i], i));
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (wr->constant[i] || wr->moved[i] != NONE)
			continue;
		SP_TRY(add(wr, &graph->nodes[i], i));
		for (uint32_t at = wr->next[i]; at != NONE; at = wr->next[at]) {
			SP_TRY(add_write(wr, at, wr->moved[i]));
			wr->moved[i] = wr->moved[at]; /* who reads the variable reads this */
		}
	}
	return SP_OK;
}

/* ---------------------------------------------------- what is written back */

/* The value behind names and checks of it. */
static sp_port source_of(const sp_graph *graph, sp_port value)
{
	static const char *const same[] = {"Identity", "IdentityN", "StopGradient", "EnsureShape"};
	bool found = true;

	while (found) {
		const sp_node *node = &graph->nodes[value.node];

		found = false;
		for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
			found |= strcmp(node->op_name, same[i]) == 0;
		found = found && value.port < node->input_count;
		if (found)
			value = node->inputs[value.port];
	}
	return value;
}

static bool writes_what_it_read(const sp_graph *graph, const sp_node *node)
{
	const sp_node *read;
	sp_port to, from;

	if (strcmp(node->op_name, "AssignVariableOp") != 0 || node->input_count != 2 ||
	    node->region != 0)
		return false;
	read = &graph->nodes[source_of(graph, node->inputs[1]).node];
	if (strcmp(read->op_name, "ReadVariableOp") != 0 || read->input_count != 1 ||
	    read->region != 0)
		return false;
	to = source_of(graph, node->inputs[0]);
	from = source_of(graph, read->inputs[0]);
	return to.node == from.node && to.port == from.port &&
	       strcmp(graph->nodes[to.node].op_name, "VarHandleOp") == 0;
}

static void drop_idle_writes(sp_graph *graph)
{
	for (size_t i = 0; i < graph->node_count; i++) {
		sp_node *node = &graph->nodes[i];

		if (!writes_what_it_read(graph, node))
			continue;
		node->input_count = 0;
		node->attr_count = 0;
		set_op(node, "NoOp");
	}
}

sp_status sp_graph_take_constant_writes(sp_graph *graph, sp_error *err)
{
	size_t count = graph->node_count;
	writing wr = {.graph = graph, .err = err};

	drop_idle_writes(graph);
	wr.constant = sp_arena_zeros(graph->arena, count, sizeof(*wr.constant));
	wr.moved = sp_arena_array(graph->arena, count, sizeof(*wr.moved));
	wr.next = sp_arena_array(graph->arena, count, sizeof(*wr.next));
	wr.last = sp_arena_array(graph->arena, count, sizeof(*wr.last));
	if (wr.constant == NULL || wr.moved == NULL || wr.next == NULL || wr.last == NULL)
		return no_memory(&wr);
	memset(wr.moved, 0xff, count * sizeof(*wr.moved));
	memset(wr.next, 0xff, count * sizeof(*wr.next));
	memset(wr.last, 0xff, count * sizeof(*wr.last));
	find_writes(&wr);
	if (wr.found == 0)
		return SP_OK;
	wr.nodes = sp_arena_array(graph->arena, count + 2 * wr.found, sizeof(*wr.nodes));
	if (wr.nodes == NULL)
		return no_memory(&wr);
	SP_TRY(write_list(&wr));
	for (size_t i = 0; i < graph->names.count; i++)
		graph->names.entries[i].value = wr.moved[graph->names.entries[i].value];
	graph->nodes = wr.nodes;
	graph->node_count = wr.count;
	return SP_OK;
}
