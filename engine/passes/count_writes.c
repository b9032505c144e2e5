#include "engine/passes/count_writes.h"

#include <string.h>

#include "engine/graph/op.h"
#include "engine/passes/variable_handles.h"

/*
 * First what every node follows from: constants, one variable, or more than that.  Then each
 * variable with writes is looked at by itself; there are few.
 */
enum { CONSTANT = UINT32_MAX - 1, MORE = SP_NO_VARIABLE };

/* Variables that are looked at, each of which takes a walk over the graph: keeps hostile ones
 * linear. */
enum { MOST_VARIABLES = 1024 };

typedef struct counting {
	sp_graph *graph;
	const uint32_t *variables; /* [nodes] */
	bool *is_fed;              /* [nodes] */
	bool *is_fetched;          /* [nodes] */
	uint32_t *follows;         /* [nodes] CONSTANT, MORE, or the handle of the one variable */
	bool *is_read;             /* [nodes] somebody reads a value of this node */
	bool *has_part;            /* [nodes] for shows() */
	bool *is_looked_at;        /* [nodes] of a variable's first handle */
} counting;

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

static bool is_write(const sp_node *node)
{
	return is_op(node, "AssignVariableOp") || is_op(node, "AssignAddVariableOp") ||
	       is_op(node, "AssignSubVariableOp");
}

static uint32_t joined(uint32_t a, uint32_t b)
{
	if (a == CONSTANT || a == b)
		return b;
	return b == CONSTANT ? a : MORE;
}

static uint32_t find_source(const counting *co, const sp_node *node)
{
	static const unsigned varying = SP_OP_STATEFUL | SP_OP_READS_VARIABLE | SP_OP_LOAD_ONLY |
					SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD | SP_OP_PER_REQUEST |
					SP_OP_CONTROL | SP_OP_ARGUMENT;
	uint32_t source = CONSTANT;

	if (node->op == NULL || node->region != 0)
		return MORE;
	if (is_op(node, "ReadVariableOp"))
		return sp_variable_of(co->variables, node);
	if ((node->op->flags & varying) != 0)
		return MORE;
	for (size_t i = 0; i < node->input_count; i++)
		source = joined(source, co->follows[node->inputs[i].node]);
	return source;
}

/* SP_COUNT_BYTES of numbers at most. */
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
		if (shape->shape->dims[i] < 0 || shape->shape->dims[i] > SP_COUNT_BYTES)
			return false;
		count *= (size_t)shape->shape->dims[i];
		if (count > SP_COUNT_BYTES)
			return false;
	}
	return size != 0 && count * size <= SP_COUNT_BYTES;
}

/* Whether the write at `i`, of the variable `handle`, says nothing of a request. */
static bool counts(const counting *co, uint32_t i, uint32_t handle)
{
	const sp_node *node = &co->graph->nodes[i];
	uint32_t source;

	if (node->region != 0 || node->input_count != 2 || co->is_read[i])
		return false;
	source = co->follows[node->inputs[1].node];
	return source == CONSTANT || source == handle;
}

static bool is_random(const sp_node *node)
{
	static const char prefix[] = "Stateless";

	return strncmp(node->op_name, prefix, sizeof(prefix) - 1) == 0 &&
	       (node->op->flags & SP_OP_CONTROL) == 0;
}

/* Whether more than random numbers comes of what is read of the variable. */
static bool shows(const counting *co, uint32_t handle)
{
	static const unsigned doing = SP_OP_STATEFUL | SP_OP_TAKES_DEAD | SP_OP_MAKES_DEAD |
				      SP_OP_CONTROL;
	const sp_graph *graph = co->graph;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		const sp_node *node = &graph->nodes[i];
		bool has_part = is_op(node, "ReadVariableOp") &&
				sp_variable_of(co->variables, node) == handle;

		for (size_t k = 0; k < node->input_count; k++)
			has_part |= co->has_part[node->inputs[k].node];
		co->has_part[i] = has_part && node->op != NULL && !is_random(node) &&
				  !(is_write(node) &&
				    sp_variable_of(co->variables, node) == handle);
		if (has_part && (node->op == NULL ||
				 (co->has_part[i] && (co->is_fetched[i] || node->region != 0 ||
						      (node->op->flags & doing) != 0))))
			return true;
	}
	return false;
}

static bool is_count(const counting *co, uint32_t handle)
{
	const sp_graph *graph = co->graph;

	if (!is_small(&graph->nodes[handle]) || shows(co, handle))
		return false;
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (is_write(&graph->nodes[i]) &&
		    sp_variable_of(co->variables, &graph->nodes[i]) == handle &&
		    !counts(co, i, handle))
			return false;
	return true;
}

static void set_op(sp_node *node, const char *name)
{
	node->op_name = name;
	node->op = sp_op_find(name);
}

static void take(const counting *co, uint32_t handle)
{
	sp_graph *graph = co->graph;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		sp_node *node = &graph->nodes[i];

		if ((!is_write(node) && !is_op(node, "ReadVariableOp")) ||
		    sp_variable_of(co->variables, node) != handle)
			continue;
		if (is_op(node, "ReadVariableOp"))
			set_op(node, "_ReadCount");
		else if (is_op(node, "AssignVariableOp"))
			set_op(node, "_WriteCount");
		else
			set_op(node, is_op(node, "AssignAddVariableOp") ? "_AddToCount"
									: "_TakeFromCount");
	}
}

static void look(counting *co)
{
	const sp_graph *graph = co->graph;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		const sp_node *node = &graph->nodes[i];

		co->follows[i] = co->is_fed[i] ? (uint32_t)MORE : find_source(co, node);
		for (size_t k = 0; k < node->input_count; k++)
			co->is_read[node->inputs[k].node] = true;
	}
}

static bool *mark(const sp_graph *graph, const uint32_t *nodes, size_t count)
{
	bool *marks = sp_arena_zeros(graph->arena, graph->node_count, sizeof(*marks));

	for (size_t i = 0; marks != NULL && i < count; i++)
		marks[nodes[i]] = true;
	return marks;
}

sp_status sp_graph_take_counts(sp_graph *graph, const sp_count_ends *ends, sp_error *err)
{
	counting co = {.graph = graph};

	co.is_fed = mark(graph, ends->fed, ends->fed_count);
	co.is_fetched = mark(graph, ends->fetched, ends->fetched_count);
	co.follows = sp_arena_array(graph->arena, graph->node_count, sizeof(*co.follows));
	co.is_read = mark(graph, NULL, 0);
	co.has_part = mark(graph, NULL, 0);
	co.is_looked_at = mark(graph, NULL, 0);
	if (co.is_fed == NULL || co.is_fetched == NULL || co.follows == NULL ||
	    co.is_read == NULL || co.has_part == NULL || co.is_looked_at == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	SP_TRY(sp_graph_find_variables(graph, &co.variables, err));
	look(&co);
	for (size_t i = 0, looks = 0; i < graph->node_count && looks < MOST_VARIABLES; i++) {
		uint32_t handle = sp_variable_of(co.variables, &graph->nodes[i]);

		if (!is_write(&graph->nodes[i]) || handle == SP_NO_VARIABLE ||
		    co.is_looked_at[handle])
			continue;
		co.is_looked_at[handle] = true;
		looks++;
		if (is_count(&co, handle))
			take(&co, handle);
	}
	return SP_OK;
}
