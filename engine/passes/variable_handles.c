#include "engine/passes/variable_handles.h"

#include "base/map.h"

/* A key that is equal for all handles of one variable; NULL when out of memory. */
static const char *key_of(sp_graph *graph, const sp_node *handle)
{
	sp_bytes name, container;

	if (sp_node_attr_bytes(handle, "shared_name", "", &name, NULL) != SP_OK ||
	    sp_node_attr_bytes(handle, "container", "", &container, NULL) != SP_OK ||
	    name.size == 0)
		return sp_arena_printf(graph->arena, "node %s", handle->name);
	return sp_arena_printf(graph->arena, "name %.*s/%.*s", (int)container.size,
			       (const char *)container.data, (int)name.size,
			       (const char *)name.data);
}

/* Finds the first handle with the same key. */
static sp_status find_first(sp_graph *graph, sp_map *handles, uint32_t handle, uint32_t *first,
			    sp_error *err)
{
	const char *key = key_of(graph, &graph->nodes[handle]);
	uint64_t found = handle;

	if (key == NULL || (!sp_map_get(handles, sp_bytes_of(key), &found) &&
			    sp_map_add(handles, sp_bytes_of(key), handle) != SP_MAP_ADDED))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	*first = (uint32_t)found;
	return SP_OK;
}

sp_status sp_graph_find_variables(sp_graph *graph, const uint32_t **variables, sp_error *err)
{
	uint32_t *out = sp_arena_array(graph->arena, graph->node_count, sizeof(*out));
	sp_map handles;

	SP_NEED_MEMORY(out, err, "the graph");
	sp_map_init(&handles, graph->arena);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const sp_node *node = &graph->nodes[i];

		out[i] = SP_NO_VARIABLE;
		if (node->opcode == SP_OPCODE_VarHandleOp)
			SP_TRY(find_first(graph, &handles, i, &out[i], err));
		else if (node->opcode == SP_OPCODE_Identity && node->region == 0)
			out[i] = sp_variable_of(out, node);
	}
	*variables = out;
	return SP_OK;
}
