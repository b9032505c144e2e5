#include "engine/passes/session_variables.h"

#include "engine/graph/op.h"
#include "engine/passes/variable_handles.h"
#include "engine/tensor/resource.h"

/* What the value of a node depends on, unless it is exactly one variable. */
enum { NOTHING = UINT32_MAX - 1, ANYTHING = SP_NO_VARIABLE };

/* Bounds the time for a hostile graph: each candidate takes a walk over the graph. */
enum { MOST_CANDIDATES = 1024 };

typedef struct finder {
	sp_graph *graph;
	const uint32_t *variables; /* [nodes] */
	bool *is_fetched;          /* [nodes] */
	uint32_t *depends_on;      /* [nodes] NOTHING, ANYTHING or the handle of one variable */
	bool *is_read;             /* [nodes] some node has it as a data input */
	bool *is_tainted;          /* [nodes] scratch of influences_answers() */
} finder;

static bool is_write(const sp_node *node)
{
	return node->opcode == SP_OPCODE_AssignVariableOp ||
	       node->opcode == SP_OPCODE_AssignAddVariableOp ||
	       node->opcode == SP_OPCODE_AssignSubVariableOp;
}

static bool is_read_of(const finder *f, const sp_node *node, uint32_t handle)
{
	return node->opcode == SP_OPCODE_ReadVariableOp &&
	       sp_variable_of(f->variables, node) == handle;
}

static bool is_write_of(const finder *f, const sp_node *node, uint32_t handle)
{
	return is_write(node) && sp_variable_of(f->variables, node) == handle;
}

static uint32_t find_dependence(const finder *f, const sp_node *node)
{
	uint32_t all = NOTHING;

	if (node->op == NULL || node->region != 0)
		return ANYTHING;
	if (node->opcode == SP_OPCODE_ReadVariableOp)
		return sp_variable_of(f->variables, node);
	if ((node->op->flags & (SP_OP_AT_REQUEST | SP_OP_READS_VARIABLE)) != 0)
		return ANYTHING;
	for (size_t i = 0; i < node->input_count; i++) {
		uint32_t one = f->depends_on[node->inputs[i].node];

		if (all == NOTHING)
			all = one;
		else if (one != NOTHING && one != all)
			all = ANYTHING;
	}
	return all;
}

/* Whether the declared size of the variable is known and at most SP_SESSION_VARIABLE_BYTES. */
static bool is_small(const sp_node *handle)
{
	const sp_attr *shape = sp_node_attr(handle, "shape");
	size_t count = 1, size;
	sp_dtype dtype;

	if (sp_node_attr_type(handle, "dtype", SP_INVALID_DTYPE, &dtype, NULL) != SP_OK ||
	    shape == NULL || shape->kind != SP_ATTR_SHAPE || shape->shape->rank < 0 ||
	    dtype == SP_STRING || dtype == SP_RESOURCE)
		return false;
	size = sp_dtype_size(dtype);
	for (int i = 0; i < shape->shape->rank; i++) {
		int64_t dim = shape->shape->dims[i];

		if (dim < 0 || dim > SP_SESSION_VARIABLE_BYTES)
			return false;
		count *= (size_t)dim;
		if (count > SP_SESSION_VARIABLE_BYTES)
			return false;
	}
	return size != 0 && count * size <= SP_SESSION_VARIABLE_BYTES;
}

static bool is_random_draw(const sp_node *node)
{
	switch (node->opcode) {
	case SP_OPCODE_StatelessRandomGetAlg:
	case SP_OPCODE_StatelessRandomGetKeyCounter:
	case SP_OPCODE_StatelessRandomGetKeyCounterAlg:
	case SP_OPCODE_StatelessRandomNormal:
	case SP_OPCODE_StatelessRandomNormalV2:
	case SP_OPCODE_StatelessRandomUniform:
	case SP_OPCODE_StatelessRandomUniformFullInt:
	case SP_OPCODE_StatelessRandomUniformFullIntV2:
	case SP_OPCODE_StatelessRandomUniformInt:
	case SP_OPCODE_StatelessRandomUniformIntV2:
	case SP_OPCODE_StatelessRandomUniformV2:
	case SP_OPCODE_StatelessTruncatedNormal:
	case SP_OPCODE_StatelessTruncatedNormalV2:
		return true;
	default:
		return false;
	}
}

/* Whether the variable's value reaches results, regions or effects except by random draws. */
static bool influences_answers(const finder *f, uint32_t handle)
{
	const unsigned effects = SP_OP_STATEFUL | SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD |
				 SP_OP_CONTROL;
	const sp_graph *graph = f->graph;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		const sp_node *node = &graph->nodes[i];
		bool is_tainted = is_read_of(f, node, handle);

		for (size_t k = 0; k < node->input_count; k++)
			is_tainted |= f->is_tainted[node->inputs[k].node];
		if (is_tainted && node->op == NULL)
			return true;
		is_tainted &= node->op != NULL && !is_random_draw(node) &&
			      !is_write_of(f, node, handle);
		f->is_tainted[i] = is_tainted;
		if (is_tainted &&
		    (f->is_fetched[i] || node->region != 0 || (node->op->flags & effects) != 0))
			return true;
	}
	return false;
}

static bool qualifies(const finder *f, uint32_t handle)
{
	const sp_graph *graph = f->graph;

	if (!is_small(&graph->nodes[handle]) || influences_answers(f, handle))
		return false;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const sp_node *node = &graph->nodes[i];
		uint32_t source;

		if (!is_write_of(f, node, handle))
			continue;
		if (node->region != 0 || node->input_count != 2 || f->is_read[i])
			return false;
		source = f->depends_on[node->inputs[1].node];
		if (source != NOTHING && source != handle)
			return false;
	}
	return true;
}

static void replace_accesses(const finder *f, uint32_t handle)
{
	for (uint32_t i = 0; i < f->graph->node_count; i++) {
		sp_node *node = &f->graph->nodes[i];

		if (sp_variable_of(f->variables, node) != handle)
			continue;
		if (node->opcode == SP_OPCODE_ReadVariableOp)
			sp_node_set_op(node, SP_OPCODE_ReadSessionVariable);
		else if (node->opcode == SP_OPCODE_AssignVariableOp)
			sp_node_set_op(node, SP_OPCODE_WriteSessionVariable);
		else if (node->opcode == SP_OPCODE_AssignAddVariableOp)
			sp_node_set_op(node, SP_OPCODE_AddToSessionVariable);
		else if (node->opcode == SP_OPCODE_AssignSubVariableOp)
			sp_node_set_op(node, SP_OPCODE_SubtractFromSessionVariable);
	}
}

static bool *mark(const sp_graph *graph, const uint32_t *nodes, size_t count)
{
	bool *marks = sp_arena_zeros(graph->arena, graph->node_count, sizeof(*marks));

	for (size_t i = 0; marks != NULL && i < count; i++)
		marks[nodes[i]] = true;
	return marks;
}

sp_status sp_graph_make_session_variables(sp_graph *graph, const sp_request_boundary *ends,
					  sp_error *err)
{
	const bool *is_fed = mark(graph, ends->fed, ends->fed_count);
	bool *is_seen = mark(graph, NULL, 0); /* of a variable's first handle */
	finder f = {.graph = graph,
		    .is_fetched = mark(graph, ends->fetched, ends->fetched_count),
		    .depends_on = sp_arena_array(graph->arena, graph->node_count, sizeof(uint32_t)),
		    .is_read = mark(graph, NULL, 0),
		    .is_tainted = mark(graph, NULL, 0)};

	SP_NEED_MEMORY(is_fed != NULL && is_seen != NULL && f.is_fetched != NULL &&
			       f.depends_on != NULL && f.is_read != NULL && f.is_tainted != NULL,
		       err, "the graph");
	SP_TRY(sp_graph_find_variables(graph, &f.variables, err));
	for (uint32_t i = 0; i < graph->node_count; i++) {
		const sp_node *node = &graph->nodes[i];

		f.depends_on[i] = is_fed[i] ? (uint32_t)ANYTHING : find_dependence(&f, node);
		for (size_t k = 0; k < node->input_count; k++)
			f.is_read[node->inputs[k].node] = true;
	}
	for (size_t i = 0, candidates = 0; i < graph->node_count && candidates < MOST_CANDIDATES;
	     i++) {
		uint32_t handle = sp_variable_of(f.variables, &graph->nodes[i]);

		if (!is_write(&graph->nodes[i]) || handle == SP_NO_VARIABLE || is_seen[handle])
			continue;
		is_seen[handle] = true;
		candidates++;
		if (qualifies(&f, handle))
			replace_accesses(&f, handle);
	}
	return SP_OK;
}
