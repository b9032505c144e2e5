#include "engine/passes/dead_outputs.h"

#include <string.h>

/*
 * A walk from the kept nodes to all that they depend on.  Nodes that own regions are followed
 * output by output: an output of a condition depends on the result of each branch for it, and a
 * variable of a loop on its initial value and on the body's result for it.
 */

static const uint32_t NONE = UINT32_MAX;

/* Which inputs of a node that owns regions belong to which of its outputs. */
typedef struct outputs {
	size_t first; /* the first input of output 0; those of the others follow */
	size_t step;  /* distance to the next input of the same output */
	size_t count;
} outputs;

typedef struct pass {
	sp_graph *graph;
	const bool *kept;
	outputs *owners;    /* [nodes] count 0 for nodes that own no regions */
	size_t *first_read; /* [nodes] of an owner, its first output in `is_read` and `numbers` */
	bool *is_read;      /* [outputs of owners] */
	bool *is_live;      /* [nodes] */
	sp_port *variable;  /* [nodes] loop and number of a LoopVariable, else node NONE */
	uint32_t *numbers;  /* [outputs of owners] the new numbers; NONE: removed */
	sp_port *stack;     /* outputs to visit; port NONE: the node without its outputs */
	size_t depth, capacity;
	bool overflows; /* the stack was too small */
} pass;

static outputs outputs_of(const sp_node *node)
{
	size_t count;

	if (node->region_count == 0 || node->input_count == 0)
		return (outputs){0, 0, 0};
	count = (node->input_count - 1) / node->region_count;
	return sp_node_is_loop(node) ? (outputs){0, count + 1, count} : (outputs){1, count, count};
}

/* Whether input k of an owner belongs to no output: a selector or condition. */
static bool is_plain(const outputs *of, size_t k)
{
	return k < of->first || of->count == 0 || (k - of->first) % of->step >= of->count;
}

/* Notes which LoopVariables are those of loop i. */
static void note_variables(pass *d, uint32_t i)
{
	const sp_node *node = &d->graph->nodes[i];

	if (!sp_node_is_loop(node))
		return;
	for (uint32_t k = 0; k < d->owners[i].count; k++)
		d->variable[node->inputs[k].node] = (sp_port){i, k};
}

/* ----------------------------------------------------------------- the walk */

static void push(pass *d, uint32_t node, uint32_t port)
{
	if (d->depth < d->capacity)
		d->stack[d->depth++] = (sp_port){node, port};
	else
		d->overflows = true;
}

/* Visits an output of an owner, once. */
static void read_output(pass *d, uint32_t i, uint32_t port)
{
	const sp_node *node = &d->graph->nodes[i];
	const outputs *of = &d->owners[i];

	if (port >= of->count || d->is_read[d->first_read[i] + port])
		return;
	d->is_read[d->first_read[i] + port] = true;
	for (size_t k = of->first + port; k < node->input_count; k += of->step)
		push(d, node->inputs[k].node, node->inputs[k].port);
}

/* Visits a node, once. */
static void read_node(pass *d, uint32_t i)
{
	const sp_node *node = &d->graph->nodes[i];
	const outputs *of = &d->owners[i];

	if (d->is_live[i])
		return;
	d->is_live[i] = true;
	for (size_t k = 0; k < node->input_count; k++)
		if (is_plain(of, k))
			push(d, node->inputs[k].node, node->inputs[k].port);
	for (size_t k = 0; k < node->control_count; k++)
		push(d, node->controls[k], NONE);
	for (uint32_t port = 0; d->kept[i] && port < of->count; port++)
		read_output(d, i, port);
	if (d->variable[i].node != NONE)
		read_output(d, d->variable[i].node, d->variable[i].port);
}

static void walk(pass *d)
{
	for (uint32_t i = 0; i < d->graph->node_count; i++) {
		if (d->kept[i])
			push(d, i, NONE);
		while (d->depth != 0) {
			sp_port port = d->stack[--d->depth];

			read_node(d, port.node);
			read_output(d, port.node, port.port);
		}
	}
}

/* --------------------------------------------------------------- removing */

/* Returns how many outputs remain; dead nodes keep all. */
static size_t number_outputs(pass *d, uint32_t i)
{
	uint32_t next = 0;

	for (size_t k = 0; k < d->owners[i].count; k++) {
		size_t at = d->first_read[i] + k;

		d->numbers[at] = !d->is_live[i] || d->is_read[at] ? next++ : NONE;
	}
	return next;
}

static void drop_inputs(const pass *d, uint32_t i, sp_port *inputs)
{
	sp_node *node = &d->graph->nodes[i];
	const outputs *of = &d->owners[i];
	size_t count = 0;

	for (size_t k = 0; k < node->input_count; k++)
		if (is_plain(of, k) ||
		    d->numbers[d->first_read[i] + (k - of->first) % of->step] != NONE)
			inputs[count++] = node->inputs[k];
	node->inputs = inputs;
	node->input_count = count;
}

/*
 * An input from a removed output gets port NONE, which does not exist: its reader is dead itself.
 */
static bool renumber_inputs(const pass *d, sp_node *node)
{
	sp_port *inputs = NULL;

	for (size_t k = 0; k < node->input_count; k++) {
		sp_port from = node->inputs[k];

		if (from.port >= d->owners[from.node].count ||
		    d->numbers[d->first_read[from.node] + from.port] == from.port)
			continue;
		if (inputs == NULL) {
			inputs = sp_arena_copy(d->graph->arena, node->inputs, node->input_count,
					       node->input_count, sizeof(*inputs));
			if (inputs == NULL)
				return false;
			node->inputs = inputs;
		}
		inputs[k].port = d->numbers[d->first_read[from.node] + from.port];
	}
	return true;
}

static bool drop(pass *d)
{
	sp_graph *graph = d->graph;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		sp_port *inputs;

		if (number_outputs(d, i) == d->owners[i].count)
			continue;
		inputs = sp_arena_array(graph->arena, graph->nodes[i].input_count, sizeof(*inputs));
		if (inputs == NULL)
			return false;
		drop_inputs(d, i, inputs);
	}
	for (size_t i = 0; i < graph->node_count; i++)
		if (!renumber_inputs(d, &graph->nodes[i]))
			return false;
	return true;
}

/* --------------------------------------------------------------------- all */

static bool set_up(pass *d, sp_arena *scratch)
{
	const sp_graph *graph = d->graph;
	size_t count = graph->node_count, edges = count, results = 0;

	d->owners = sp_arena_array(scratch, count, sizeof(*d->owners));
	d->first_read = sp_arena_array(scratch, count, sizeof(*d->first_read));
	d->is_live = sp_arena_zeros(scratch, count, sizeof(*d->is_live));
	d->variable = sp_arena_array(scratch, count, sizeof(*d->variable));
	if (d->owners == NULL || d->first_read == NULL || d->is_live == NULL || d->variable == NULL)
		return false;
	memset(d->variable, 0xff, count * sizeof(*d->variable));
	for (uint32_t i = 0; i < count; i++) {
		d->owners[i] = outputs_of(&graph->nodes[i]);
		d->first_read[i] = results;
		results += d->owners[i].count;
		edges += graph->nodes[i].input_count + graph->nodes[i].control_count;
		note_variables(d, i);
	}
	/* Every edge is pushed once: by its node, or by the one output that it belongs to. */
	d->capacity = edges;
	d->stack = sp_arena_array(scratch, edges, sizeof(*d->stack));
	d->is_read = sp_arena_zeros(scratch, results, sizeof(*d->is_read));
	d->numbers = sp_arena_array(scratch, results, sizeof(*d->numbers));
	return d->stack != NULL && d->is_read != NULL && d->numbers != NULL;
}

sp_status sp_graph_drop_dead_outputs(sp_graph *graph, const bool *kept, sp_error *err)
{
	pass d = {.graph = graph, .kept = kept};
	sp_arena *scratch;
	bool done = false;

	if (graph->region_count <= 1) /* the graph itself */
		return SP_OK;
	scratch = sp_arena_create(64 << 10);
	if (scratch != NULL && set_up(&d, scratch)) {
		walk(&d);
		done = !d.overflows && drop(&d);
	}
	sp_arena_destroy(scratch);
	if (d.overflows)
		return sp_error_set(err, SP_INTERNAL, "the graph has more edges than were counted");
	return done ? SP_OK : sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
}
