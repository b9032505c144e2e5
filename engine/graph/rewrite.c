#include "engine/graph/rewrite.h"

#include <string.h>

sp_status sp_rewrite_no_memory(const sp_rewrite *rw)
{
	return sp_error_set(rw->err, SP_NO_MEMORY, "no memory for the graph");
}

sp_status sp_rewrite_begin(sp_rewrite *rw, sp_graph *graph, sp_error *err)
{
	*rw = (sp_rewrite){.graph = graph, .err = err};
	rw->moved = sp_arena_array(graph->arena, graph->node_count, sizeof(*rw->moved));
	if (rw->moved == NULL)
		return sp_rewrite_no_memory(rw);
	memset(rw->moved, 0xff, graph->node_count * sizeof(*rw->moved));
	return SP_OK;
}

sp_status sp_rewrite_add(sp_rewrite *rw, const sp_node *node, uint32_t *at)
{
	/* Most graphs keep their size. */
	size_t more = rw->count == 0 ? rw->graph->node_count + 16 : 1;

	if (!SP_ARENA_GROW(rw->graph->arena, rw->nodes, rw->capacity, rw->count, more) ||
	    rw->capacity > UINT32_MAX)
		return sp_rewrite_no_memory(rw);
	*at = (uint32_t)rw->count;
	rw->nodes[rw->count++] = *node;
	return SP_OK;
}

sp_status sp_rewrite_edges(const sp_rewrite *rw, sp_node *node)
{
	sp_arena *arena = rw->graph->arena;
	sp_port *inputs = sp_arena_array(arena, node->input_count + 1, sizeof(*inputs));
	uint32_t *controls = sp_arena_array(arena, node->control_count, sizeof(*controls));

	if (inputs == NULL || controls == NULL)
		return sp_rewrite_no_memory(rw);
	for (size_t i = 0; i < node->input_count; i++)
		inputs[i] = sp_rewrite_port(rw, node->inputs[i]);
	for (size_t i = 0; i < node->control_count; i++)
		controls[i] = rw->moved[node->controls[i]];
	node->inputs = inputs;
	node->controls = controls;
	return SP_OK;
}

sp_status sp_rewrite_move(sp_rewrite *rw, uint32_t old)
{
	sp_node node = rw->graph->nodes[old];

	SP_TRY(sp_rewrite_edges(rw, &node));
	return sp_rewrite_add(rw, &node, &rw->moved[old]);
}

sp_status sp_rewrite_add_int32(sp_rewrite *rw, const sp_node *user, int32_t value, uint32_t *at)
{
	sp_arena *arena = rw->graph->arena;
	sp_shape shape = sp_shape_scalar();
	sp_tensor *tensor = sp_arena_zeros(arena, 1, sizeof(*tensor));
	sp_attr *attrs = sp_arena_array(arena, 2, sizeof(*attrs));
	sp_node node = {.name = sp_arena_printf(arena, "%s/axis", user->name),
			.attrs = attrs,
			.attr_count = 2,
			.region = user->region};

	if (tensor == NULL || attrs == NULL || node.name == NULL)
		return sp_rewrite_no_memory(rw);
	SP_TRY(sp_tensor_create(tensor, arena, SP_INT32, &shape, rw->err));
	sp_tensor_i32(tensor)[0] = value;
	attrs[0] = (sp_attr){.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_INT32};
	attrs[1] = (sp_attr){.name = "value", .kind = SP_ATTR_TENSOR, .tensor = tensor};
	sp_node_set_op(&node, SP_OPCODE_Const);
	return sp_rewrite_add(rw, &node, at);
}

void sp_rewrite_finish(sp_rewrite *rw)
{
	sp_map *names = &rw->graph->names;

	for (size_t i = 0; i < names->count; i++)
		names->entries[i].value = rw->moved[names->entries[i].value];
	rw->graph->nodes = rw->nodes;
	rw->graph->node_count = rw->count;
}
