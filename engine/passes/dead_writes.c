#include "engine/passes/dead_writes.h"

#include "engine/graph/op.h"
#include "engine/passes/variable_handles.h"

typedef struct liveness {
	const sp_graph *graph;
	const uint32_t *variables; /* [nodes] */
	bool *is_needed; /* [nodes] its value is live: an answer or an effect depends on it */
	bool *is_live; /* [nodes] of a variable's first handle: a handle of the variable is live */
	size_t *first_port;   /* [nodes] of a bundle, its first entry in is_port_needed */
	bool *is_port_needed; /* [inputs of bundles] */
} liveness;

static bool is_write(const sp_node *node)
{
	if (node->input_count < 2 || node->region != 0)
		return false;
	switch (node->opcode) {
	case SP_OPCODE_AssignVariableOp:
	case SP_OPCODE_AssignAddVariableOp:
	case SP_OPCODE_AssignSubVariableOp:
	case SP_OPCODE_ResourceScatterAdd:
	case SP_OPCODE_ResourceScatterDiv:
	case SP_OPCODE_ResourceScatterMax:
	case SP_OPCODE_ResourceScatterMin:
	case SP_OPCODE_ResourceScatterMul:
	case SP_OPCODE_ResourceScatterNdAdd:
	case SP_OPCODE_ResourceScatterNdMax:
	case SP_OPCODE_ResourceScatterNdMin:
	case SP_OPCODE_ResourceScatterNdSub:
	case SP_OPCODE_ResourceScatterNdUpdate:
	case SP_OPCODE_ResourceScatterSub:
	case SP_OPCODE_ResourceScatterUpdate:
		return true;
	default:
		return false;
	}
}

/* Whether the node may do more than compute its value; unknown operators and regions may. */
static bool has_effect(const sp_node *node)
{
	const unsigned effects = SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_TAKES_DEAD |
				 SP_OP_MAKES_DEAD | SP_OP_CONTROL;

	return node->op == NULL || node->region != 0 || (node->op->flags & effects) != 0;
}

/*
 * An IdentityN forwards each input independently and is followed output by output: graphs that JAX
 * exports have one with all arguments and all results of a function.
 */
static bool is_bundle(const sp_node *node)
{
	return node->opcode == SP_OPCODE_IdentityN && node->region == 0;
}

static bool list_bundles(liveness *s)
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

static void need(liveness *s, sp_port port)
{
	const sp_node *node = &s->graph->nodes[port.node];

	s->is_needed[port.node] = true;
	if (is_bundle(node) && port.port < node->input_count)
		s->is_port_needed[s->first_port[port.node] + port.port] = true;
}

static void need_all(liveness *s, uint32_t i)
{
	s->is_needed[i] = true;
	for (size_t k = 0; k < s->graph->nodes[i].input_count; k++)
		need(s, (sp_port){i, (uint32_t)k});
}

/*
 * Goes backwards, so that all readers of a node have been seen; nodes in regions are always live.
 */
static void find_live(liveness *s)
{
	for (size_t i = s->graph->node_count; i-- > 0;) {
		const sp_node *node = &s->graph->nodes[i];

		if (is_write(node) || (!s->is_needed[i] && !has_effect(node)))
			continue;
		if (s->variables[i] != SP_NO_VARIABLE)
			s->is_live[s->variables[i]] = true;
		for (size_t k = 0; k < node->input_count; k++)
			if (!is_bundle(node) || s->is_port_needed[s->first_port[i] + k])
				need(s, node->inputs[k]);
	}
}

sp_status sp_graph_drop_dead_writes(sp_graph *graph, const uint32_t *fetched, size_t count,
				    sp_error *err)
{
	liveness s = {.graph = graph};

	s.is_needed = sp_arena_zeros(graph->arena, graph->node_count, sizeof(*s.is_needed));
	s.is_live = sp_arena_zeros(graph->arena, graph->node_count, sizeof(*s.is_live));
	if (s.is_needed == NULL || s.is_live == NULL || !list_bundles(&s))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	for (size_t i = 0; i < count; i++)
		need_all(&s, fetched[i]);
	SP_TRY(sp_graph_find_variables(graph, &s.variables, err));
	find_live(&s);
	for (size_t i = 0; i < graph->node_count; i++) {
		sp_node *node = &graph->nodes[i];
		uint32_t variable = sp_variable_of(s.variables, node);

		if (!is_write(node) || variable == SP_NO_VARIABLE || s.is_live[variable])
			continue;
		*node = (sp_node){.name = node->name,
				  .controls = node->controls,
				  .control_count = node->control_count};
		sp_node_set_op(node, SP_OPCODE_NoOp);
	}
	return SP_OK;
}
