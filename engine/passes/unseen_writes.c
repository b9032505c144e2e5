#include "engine/passes/unseen_writes.h"

#include <string.h>

#include "engine/graph/op.h"
#include "engine/passes/variable_handles.h"

typedef struct sight {
	const sp_graph *graph;
	const uint32_t *variables; /* [nodes] */
	bool *is_needed;      /* [nodes] for its value, by an answer or something that is done */
	bool *is_seen;        /* [nodes] of a variable's first handle: a handle of it is needed */
	size_t *first_port;   /* [nodes] of a bundle, its inputs in the next one */
	bool *is_port_needed; /* [inputs of bundles] */
} sight;

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

static bool is_write(const sp_node *node)
{
	static const char scatter[] = "ResourceScatter";

	return node->input_count >= 2 && node->region == 0 &&
	       (is_op(node, "AssignVariableOp") || is_op(node, "AssignAddVariableOp") ||
		is_op(node, "AssignSubVariableOp") ||
		strncmp(node->op_name, scatter, sizeof(scatter) - 1) == 0);
}

/* What a node does besides its value, or that it may be left out. */
static bool does_more(const sp_node *node)
{
	static const unsigned doing = SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_TAKES_DEAD |
				      SP_OP_MAKES_DEAD | SP_OP_CONTROL;

	return node->op == NULL || node->region != 0 || (node->op->flags & doing) != 0;
}

/*
 * An IdentityN hands on each input for itself: what JAX exports bundles all that a function is
 * given with all that it gives.
 */
static bool is_bundle(const sp_node *node)
{
	return is_op(node, "IdentityN") && node->region == 0;
}

static bool list_bundles(sight *s)
{
	size_t count = s->graph->node_count, ports = 0;

	s->first_port = sp_arena_zeros(s->graph->arena, count, sizeof(*s->first_port));
	for (size_t i = 0; s->first_port != NULL && i < count; i++) {
		s->first_port[i] = ports;
		ports += is_bundle(&s->graph->nodes[i]) ? s->graph->nodes[i].input_count : 0;
	}
	s->is_port_needed = sp_arena_zeros(s->graph->arena, ports, sizeof(*s->is_port_needed));
	return s->first_port != NULL && s->is_port_needed != NULL;
}

static void need(sight *s, sp_port port)
{
	const sp_node *node = &s->graph->nodes[port.node];

	s->is_needed[port.node] = true;
	if (is_bundle(node) && port.port < node->input_count)
		s->is_port_needed[s->first_port[port.node] + port.port] = true;
}

static void need_all(sight *s, uint32_t i)
{
	s->is_needed[i] = true;
	for (size_t k = 0; k < s->graph->nodes[i].input_count; k++)
		need(s, (sp_port){i, (uint32_t)k});
}

/* Inputs stand before the nodes that take them, or in a region with them. */
static void find_uses(sight *s)
{
	for (size_t i = s->graph->node_count; i-- > 0;) {
		const sp_node *node = &s->graph->nodes[i];

		if (is_write(node) || (!s->is_needed[i] && !does_more(node)))
			continue;
		if (s->variables[i] != SP_NO_VARIABLE)
			s->is_seen[s->variables[i]] = true;
		for (size_t k = 0; k < node->input_count; k++)
			if (!is_bundle(node) || s->is_port_needed[s->first_port[i] + k])
				need(s, node->inputs[k]);
	}
}

sp_status sp_graph_drop_unseen_writes(sp_graph *graph, const uint32_t *fetched, size_t count,
				      sp_error *err)
{
	sight s = {.graph = graph};

	s.is_needed = sp_arena_zeros(graph->arena, graph->node_count, sizeof(*s.is_needed));
	s.is_seen = sp_arena_zeros(graph->arena, graph->node_count, sizeof(*s.is_seen));
	if (s.is_needed == NULL || s.is_seen == NULL || !list_bundles(&s))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	for (size_t i = 0; i < count; i++)
		need_all(&s, fetched[i]);
	SP_TRY(sp_graph_find_variables(graph, &s.variables, err));
	find_uses(&s);
	for (size_t i = 0; i < graph->node_count; i++) {
		sp_node *node = &graph->nodes[i];
		uint32_t variable = sp_variable_of(s.variables, node);

		if (!is_write(node) || variable == SP_NO_VARIABLE || s.is_seen[variable])
			continue;
		*node = (sp_node){.name = node->name,
				  .op_name = "NoOp",
				  .op = sp_op_find("NoOp"),
				  .controls = node->controls,
				  .control_count = node->control_count};
	}
	return SP_OK;
}
