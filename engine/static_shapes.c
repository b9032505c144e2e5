#include "engine/static_shapes_internal.h"

#include <stdlib.h>
#include <string.h>

#include "engine/pattern.h"

typedef sp_static_shape shape;

/* ------------------------------------------------------- what rules ask for */

shape sp_shapes__input(const sp_shape_inference *in, const sp_node *node, size_t k)
{
	const sp_static_shapes known = {.shapes = in->shapes, .alike = in->alike};

	return k < node->input_count ? sp_static_shape_of(&known, node->inputs[k])
				     : sp_shapes__unknown();
}

const shape *sp_shapes__list(const sp_shape_inference *in, const sp_node *node, size_t k)
{
	static const shape none = {.rank = SP_RANK_UNKNOWN};

	return k < node->input_count && node->inputs[k].port == 0 ? &in->lists[node->inputs[k].node]
								  : &none;
}

const sp_tensor *sp_shapes__constant(const sp_shape_inference *in, const sp_node *node, size_t k)
{
	const sp_tensor *found;

	if (k >= node->input_count || in->fed[node->inputs[k].node])
		return NULL;
	found = sp_pattern_constant(in->graph, node->inputs[k]);
	return found != NULL && (found->dtype == SP_INT32 || found->dtype == SP_INT64) ? found
										       : NULL;
}

/* The end of a chain of the same shapes, which gets shorter on the way. */
static uint32_t end_of(sp_shape_inference *in, const shape *of)
{
	uint32_t at = (uint32_t)of->dims[0];

	while (in->same[at] != at) {
		in->same[at] = in->same[in->same[at]];
		at = in->same[at];
	}
	return at;
}

void sp_shapes__demand(sp_shape_inference *in, const shape *of)
{
	if (of->rank == SP_RANK_OPEN)
		in->demanded[end_of(in, of)] = true;
}

void sp_shapes__join(sp_shape_inference *in, const shape *a, const shape *b)
{
	uint32_t from = end_of(in, a), to = end_of(in, b);

	in->demanded[to] |= in->demanded[from];
	in->same[from] = to;
}

static int compare_rules(const void *name, const void *rule)
{
	return strcmp(name, ((const sp_shape_rule *)rule)->op);
}

const sp_shape_rule *sp_shapes__find(const sp_shape_rule *sorted, size_t count, const char *op)
{
	return bsearch(op, sorted, count, sizeof(*sorted), compare_rules);
}

/* ------------------------------------------------------------ the one walk */

static void look_at(sp_shape_inference *in, size_t i)
{
	const sp_node *node = &in->graph->nodes[i];
	const sp_shape_rule *rule;

	in->shapes[i] = in->lists[i] = sp_shapes__unknown();
	in->same[i] = (uint32_t)i;
	if (in->fed[i])
		in->shapes[i] = sp_shapes__open(in, node);
	if (in->fed[i] || node->op == NULL)
		return;
	rule = sp_shapes__rule(node->op_name);
	if (rule != NULL) {
		rule->infer(in, node, &in->shapes[i]);
		in->alike[i] = rule->alike;
	}
	rule = sp_shapes__list_rule(node->op_name);
	if (rule != NULL)
		rule->infer(in, node, &in->lists[i]);
}

sp_status sp_static_shapes_infer(const sp_graph *graph, const bool *fed, sp_arena *arena,
				 sp_static_shapes *out, sp_error *err)
{
	sp_shape_inference in = {.graph = graph, .fed = fed, .last_name = SP_SOME_SIZE};
	bool *open;

	in.shapes = sp_arena_array(arena, graph->node_count, sizeof(*in.shapes));
	in.lists = sp_arena_array(arena, graph->node_count, sizeof(*in.lists));
	in.alike = sp_arena_zeros(arena, graph->node_count, sizeof(*in.alike));
	in.same = sp_arena_array(arena, graph->node_count, sizeof(*in.same));
	in.demanded = sp_arena_zeros(arena, graph->node_count, sizeof(*in.demanded));
	open = sp_arena_zeros(arena, graph->node_count, sizeof(*open));
	if (in.shapes == NULL || in.lists == NULL || in.alike == NULL || in.same == NULL ||
	    in.demanded == NULL || open == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	for (size_t i = 0; i < graph->node_count; i++)
		look_at(&in, i);
	for (size_t i = 0; i < graph->node_count; i++)
		open[i] = in.shapes[i].rank == SP_RANK_OPEN &&
			  !in.demanded[end_of(&in, &in.shapes[i])];
	*out = (sp_static_shapes){in.shapes, in.alike, open};
	return SP_OK;
}

sp_static_shape sp_static_shape_of(const sp_static_shapes *shapes, sp_port port)
{
	return port.port == 0 || shapes->alike[port.node] ? shapes->shapes[port.node]
							  : sp_shapes__unknown();
}

bool sp_static_shape_is_open(const sp_static_shapes *shapes, sp_port port)
{
	return sp_static_shape_of(shapes, port).rank == SP_RANK_OPEN && shapes->open[port.node];
}
