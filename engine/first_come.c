#include "engine/first_come.h"

/* Who waits for each node, one behind the other. */
typedef struct waiting {
	uint32_t *missing; /* [nodes] how many each still waits for */
	size_t *ends;      /* [nodes + 1] in the list; first where one's own begin */
	uint32_t *list;
} waiting;

static size_t edges_of(const sp_node *node)
{
	return node->input_count + node->control_count;
}

static uint32_t source_of(const sp_node *node, size_t edge)
{
	return edge < node->input_count ? node->inputs[edge].node
					: node->controls[edge - node->input_count];
}

static bool list_waiting(const sp_graph *graph, sp_arena *arena, waiting *w)
{
	size_t count = graph->node_count, edges = 0;

	w->missing = sp_arena_zeros(arena, count, sizeof(*w->missing));
	w->ends = sp_arena_zeros(arena, count + 1, sizeof(*w->ends));
	if (w->missing == NULL || w->ends == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < edges_of(&graph->nodes[i]); k++, edges++)
			w->ends[source_of(&graph->nodes[i], k) + 1]++;
	for (size_t i = 0; i < count; i++)
		w->ends[i + 1] += w->ends[i];
	w->list = sp_arena_array(arena, edges, sizeof(*w->list));
	if (w->list == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const sp_node *node = &graph->nodes[i];

		w->missing[i] = (uint32_t)edges_of(node);
		for (size_t k = 0; k < edges_of(node); k++)
			w->list[w->ends[source_of(node, k)]++] = i;
	}
	return true; /* where a node's list begins is where that of the one before ends */
}

uint32_t *sp_graph_first_come(const sp_graph *graph, sp_arena *arena)
{
	uint32_t *order = sp_arena_array(arena, graph->node_count, sizeof(*order));
	size_t end = 0;
	waiting w;

	if (order == NULL || !list_waiting(graph, arena, &w))
		return NULL;
	for (uint32_t i = 0; i < graph->node_count; i++)
		if (w.missing[i] == 0)
			order[end++] = i;
	for (size_t at = 0; at < end; at++) {
		size_t i = order[at] == 0 ? 0 : w.ends[order[at] - 1];

		for (; i < w.ends[order[at]]; i++)
			if (--w.missing[w.list[i]] == 0)
				order[end++] = w.list[i];
	}
	return order;
}
