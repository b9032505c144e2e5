#include "engine/passes/graph_sort.h"

#include <string.h>

static const uint32_t OPEN = UINT32_MAX - 1, UNSEEN = UINT32_MAX;

typedef struct frame {
	uint32_t node;
	uint32_t next; /* the next of its inputs, then controls, to visit */
} frame;

typedef struct sorter {
	const sp_graph *graph;
	uint32_t *moved; /* [nodes] the new number, or OPEN while on the stack, or UNSEEN */
	uint32_t *order; /* [nodes] */
	size_t count;
	frame *stack; /* [nodes] no node is on it twice */
	size_t depth;
} sorter;

static void push(sorter *so, uint32_t node)
{
	so->moved[node] = OPEN;
	so->stack[so->depth++] = (frame){node, 0};
}

/* The node that the k-th edge of `node` comes from; false past the last. */
static bool edge(const sp_node *node, uint32_t k, uint32_t *from)
{
	if (k < node->input_count) {
		*from = node->inputs[k].node;
		return true;
	}
	if (k - node->input_count >= node->control_count)
		return false;
	*from = node->controls[k - node->input_count];
	return true;
}

/* Depth-first: numbers `first` after all that it depends on; false in a cycle. */
static bool place(sorter *so, uint32_t first)
{
	push(so, first);
	while (so->depth != 0) {
		frame *top = &so->stack[so->depth - 1];
		uint32_t from;

		if (!edge(&so->graph->nodes[top->node], top->next++, &from)) {
			so->moved[top->node] = (uint32_t)so->count;
			so->order[so->count++] = top->node;
			so->depth--;
		} else if (so->moved[from] == OPEN) {
			return false;
		} else if (so->moved[from] == UNSEEN) {
			push(so, from);
		}
	}
	return true;
}

static sp_status move_edges(const sorter *so, sp_arena *arena, sp_node *node)
{
	sp_port *inputs = sp_arena_array(arena, node->input_count, sizeof(*inputs));
	uint32_t *controls = sp_arena_array(arena, node->control_count, sizeof(*controls));

	if (inputs == NULL || controls == NULL)
		return SP_NO_MEMORY;
	for (size_t k = 0; k < node->input_count; k++)
		inputs[k] = (sp_port){so->moved[node->inputs[k].node], node->inputs[k].port};
	for (size_t k = 0; k < node->control_count; k++)
		controls[k] = so->moved[node->controls[k]];
	node->inputs = inputs;
	node->controls = controls;
	return SP_OK;
}

static sp_status write(const sorter *so, sp_graph *graph, sp_graph_boundary *ends,
		       sp_arena *scratch)
{
	size_t count = graph->node_count;
	sp_node *nodes = sp_arena_array(graph->arena, count, sizeof(*nodes));
	bool *fed = sp_arena_array(scratch, count, sizeof(*fed));
	uint64_t *wanted = sp_arena_array(scratch, count, sizeof(*wanted));

	if (nodes == NULL || fed == NULL || wanted == NULL)
		return SP_NO_MEMORY;
	for (size_t i = 0; i < count; i++) {
		nodes[i] = graph->nodes[so->order[i]];
		SP_TRY(move_edges(so, graph->arena, &nodes[i]));
		fed[i] = ends->fed[so->order[i]];
		wanted[i] = ends->wanted[so->order[i]];
	}
	if (count != 0) {
		memcpy(ends->fed, fed, count * sizeof(*fed));
		memcpy(ends->wanted, wanted, count * sizeof(*wanted));
	}
	for (size_t i = 0; i < graph->names.count; i++)
		graph->names.entries[i].value = so->moved[graph->names.entries[i].value];
	graph->nodes = nodes;
	return SP_OK;
}

sp_status sp_graph_sort(sp_graph *graph, sp_graph_boundary *ends, sp_error *err)
{
	size_t count = graph->node_count;
	sp_arena *scratch = sp_arena_create(64 << 10);
	sorter so = {.graph = graph};
	sp_status status = SP_NO_MEMORY;

	if (scratch != NULL) {
		so.moved = sp_arena_array(scratch, count, sizeof(*so.moved));
		so.order = sp_arena_array(scratch, count, sizeof(*so.order));
		so.stack = sp_arena_array(scratch, count, sizeof(*so.stack));
	}
	if (so.moved != NULL && so.order != NULL && so.stack != NULL) {
		status = SP_OK;
		memset(so.moved, 0xff, count * sizeof(*so.moved));
		for (uint32_t i = 0; i < count && status == SP_OK; i++)
			if (so.moved[i] == UNSEEN && !place(&so, i))
				status = SP_INTERNAL;
	}
	if (status == SP_OK)
		status = write(&so, graph, ends, scratch);
	sp_arena_destroy(scratch);
	if (status == SP_OK)
		return SP_OK;
	return sp_error_set(err, status,
			    status == SP_NO_MEMORY
				    ? "no memory for the graph"
				    : "nodes of the graph depend on each other in a cycle");
}
