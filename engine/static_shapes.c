#include "engine/static_shapes_internal.h"

#include <stdlib.h>
#include <string.h>

typedef sp_static_shape shape;

/* ------------------------------------------------------- what rules ask for */

shape sp_shapes__input(const sp_shape_inference *in, const sp_node *node, size_t k)
{
	const sp_static_shapes known = {
		.shapes = in->shapes, .alike = in->alike, .outputs = in->outputs};

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
	const sp_node *from;
	const sp_attr *value;

	if (k >= node->input_count || in->fed[node->inputs[k].node])
		return NULL;
	from = &in->graph->nodes[node->inputs[k].node]; /* one of a loop waits for its round */
	value = strcmp(from->op_name, "Const") == 0 ? sp_node_attr(from, "value") : NULL;
	return value != NULL && value->kind == SP_ATTR_TENSOR &&
			       (value->tensor->dtype == SP_INT32 ||
				value->tensor->dtype == SP_INT64)
		       ? value->tensor
		       : NULL;
}

static int compare_rules(const void *name, const void *rule)
{
	return strcmp(name, ((const sp_shape_rule *)rule)->op);
}

const sp_shape_rule *sp_shapes__find(const sp_shape_rule *sorted, size_t count, const char *op)
{
	return bsearch(op, sorted, count, sizeof(*sorted), compare_rules);
}

/* --------------------------------------------------------------- the walks */

/* Loops whose variables settle later than this are not known. */
enum { MOST_WALKS = 4 };

static void look_at(sp_shape_inference *in, size_t i)
{
	const sp_node *node = &in->graph->nodes[i];
	const sp_shape_rule *rule;

	in->at = (uint32_t)i;
	in->shapes[i] = in->fed[i] ? sp_shapes__open() : sp_shapes__unknown();
	in->lists[i] = sp_shapes__unknown();
	in->alike[i] = in->handed_on = false;
	rule = in->fed[i] || node->op == NULL ? NULL : sp_shapes__rule(node->op_name);
	if (rule != NULL) {
		rule->infer(in, node, &in->shapes[i]);
		in->alike[i] = rule->alike;
	}
	if (!in->handed_on)
		in->shapes[i].handle = 0;
	sp_shapes__give_handle(in, &in->shapes[i]);
	if (in->fed[i] || node->op == NULL)
		return;
	rule = sp_shapes__list_rule(node->op_name);
	if (rule != NULL)
		rule->infer(in, node, &in->lists[i]);
}

static sp_status walk(sp_shape_inference *in, sp_arena *arena)
{
	in->last_name = SP_SOME_SIZE;
	in->loosened = false;
	sp_shapes__begin_classes(in);
	for (size_t i = 0; i < in->graph->node_count; i++) {
		look_at(in, i);
		if (in->graph->nodes[i].region_count != 0 && !in->fed[i])
			SP_TRY(sp_shapes__infer_owner(in, arena, i));
	}
	return in->out_of_memory ? SP_NO_MEMORY : SP_OK;
}

/* Until a walk through all loops finds what it began with. */
static sp_status walk_until_settled(sp_shape_inference *in, sp_arena *arena)
{
	SP_TRY(walk(in, arena));
	for (int walks = 1; in->loosened; walks++) {
		if (walks == MOST_WALKS)
			sp_shapes__forget_variables(in);
		SP_TRY(walk(in, arena));
	}
	return SP_OK;
}

static bool make_room(sp_shape_inference *in, sp_arena *arena)
{
	size_t count = in->graph->node_count;

	in->shapes = sp_arena_array(arena, count, sizeof(*in->shapes));
	in->lists = sp_arena_array(arena, count, sizeof(*in->lists));
	in->alike = sp_arena_array(arena, count, sizeof(*in->alike));
	in->outputs = sp_arena_zeros(arena, count, sizeof(*in->outputs));
	in->loose = sp_arena_zeros(arena, count, sizeof(*in->loose));
	return in->shapes != NULL && in->lists != NULL && in->alike != NULL &&
	       in->outputs != NULL && in->loose != NULL;
}

sp_status sp_static_shapes_infer(const sp_graph *graph, const bool *fed, sp_arena *arena,
				 sp_static_shapes *out, sp_error *err)
{
	sp_shape_inference in = {.graph = graph, .fed = fed, .arena = arena};
	const shape *told;

	if (!make_room(&in, arena) || walk_until_settled(&in, arena) != SP_OK ||
	    sp_shapes__tell_classes(&in, &told) != SP_OK)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	*out = (sp_static_shapes){.shapes = in.shapes,
				  .alike = in.alike,
				  .outputs = in.outputs,
				  .count = graph->node_count,
				  .told = told};
	return SP_OK;
}

void sp_static_shapes_tell(sp_static_shapes *shapes)
{
	for (size_t i = 0; i < shapes->count; i++) {
		sp_static_outputs *outputs = shapes->outputs[i];

		shapes->shapes[i] = shapes->told[shapes->shapes[i].handle];
		for (size_t k = 0; outputs != NULL && k < outputs->count; k++)
			outputs->shapes[k] = shapes->told[outputs->shapes[k].handle];
	}
}

sp_static_shape sp_static_shape_of(const sp_static_shapes *shapes, sp_port port)
{
	const sp_static_outputs *outputs = shapes->outputs[port.node];

	if (outputs != NULL)
		return port.port < outputs->count ? outputs->shapes[port.port]
						  : sp_shapes__unknown();
	return port.port == 0 || shapes->alike[port.node] ? shapes->shapes[port.node]
							  : sp_shapes__unknown();
}

bool sp_static_shape_is_open(const sp_static_shapes *shapes, sp_port port)
{
	sp_static_shape of = sp_static_shape_of(shapes, port);

	return of.rank == SP_RANK_OPEN && shapes->told[of.handle].rank == SP_RANK_OPEN;
}
