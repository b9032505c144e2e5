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

/* The end of a chain of the same shapes, which gets shorter on the way. */
static uint32_t end_of_chain(sp_shape_inference *in, uint32_t at)
{
	while (in->same[at] != at) {
		in->same[at] = in->same[in->same[at]];
		at = in->same[at];
	}
	return at;
}

static uint32_t end_of(sp_shape_inference *in, const shape *of)
{
	return end_of_chain(in, (uint32_t)of->dims[0]);
}

void sp_shapes__demand(sp_shape_inference *in, const shape *of)
{
	if (of->rank == SP_RANK_OPEN)
		in->demanded[end_of(in, of)] = true;
}

void sp_shapes__join(sp_shape_inference *in, const shape *a, const shape *b)
{
	uint32_t from = end_of(in, a), to = end_of(in, b);

	if (from == to)
		return;
	in->demanded[to] |= in->demanded[from];
	in->same[from] = to;
	if (in->learned[from].rank >= 0)
		sp_shapes__learn(in, b, &in->learned[from], true);
	in->merged[to] = true;
}

/* ------------------------------------------------------------ what is equal */

static const int64_t NO_NAME = INT64_MIN;

/* Of the last name there is none yet. */
static size_t index_of(int64_t name)
{
	return (size_t)(SP_SOME_SIZE - 1 - name);
}

static bool stands_for_another(const int64_t *equal, size_t count, int64_t dim)
{
	return dim < SP_SOME_SIZE && index_of(dim) < count && equal[index_of(dim)] != NO_NAME;
}

/* Chains of names get shorter on the way, too. */
static int64_t meaning_of(int64_t *equal, size_t count, int64_t dim)
{
	while (stands_for_another(equal, count, dim)) {
		int64_t *next = &equal[index_of(dim)];

		if (stands_for_another(equal, count, *next))
			*next = equal[index_of(*next)];
		dim = *next;
	}
	return dim;
}

static bool make_room_for(sp_shape_inference *in, int64_t name)
{
	size_t count = in->equal_count, needed = 2 * (index_of(name) + 32);
	int64_t *equal;

	if (index_of(name) < count)
		return true;
	equal = sp_arena_array(in->arena, needed, sizeof(*equal));
	if (equal == NULL)
		return false;
	for (size_t i = 0; i < needed; i++)
		equal[i] = i < count ? in->equal[i] : NO_NAME;
	in->equal = equal;
	in->equal_count = needed;
	return true;
}

void sp_shapes__unify(sp_shape_inference *in, int64_t a, int64_t b)
{
	a = meaning_of(in->equal, in->equal_count, a);
	b = meaning_of(in->equal, in->equal_count, b);
	if (a == b || a == SP_SOME_SIZE || b == SP_SOME_SIZE || (a >= 0 && b >= 0))
		return;
	if (a >= 0) {
		int64_t other = a;

		a = b;
		b = other;
	}
	if (make_room_for(in, a))
		in->equal[index_of(a)] = b;
	else
		in->out_of_memory = true;
}

struct sp_lesson {
	shape of, what;
	struct sp_lesson *before;
};

static void note(sp_shape_inference *in, const shape *of, const shape *what)
{
	struct sp_lesson *lesson = sp_arena_alloc(in->arena, sizeof(*lesson));

	if (lesson == NULL) {
		in->out_of_memory = true;
		return;
	}
	*lesson = (struct sp_lesson){*of, *what, in->lessons};
	in->lessons = lesson;
}

void sp_shapes__learn(sp_shape_inference *in, const shape *of, const shape *what, bool merged)
{
	uint32_t end;

	if (of->rank != SP_RANK_OPEN) {
		for (int32_t i = 0; of->rank == what->rank && i < of->rank; i++)
			sp_shapes__unify(in, of->dims[i], what->dims[i]);
		return;
	}
	end = end_of(in, of);
	in->merged[end] |= merged;
	if (in->learned[end].rank < 0)
		in->learned[end] = *what;
	else
		note(in, of, what);
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

	in->shapes[i] = in->lists[i] = sp_shapes__unknown();
	in->same[i] = (uint32_t)i;
	in->learned[i] = sp_shapes__unknown();
	in->demanded[i] = in->merged[i] = in->alike[i] = false;
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

static sp_status walk(sp_shape_inference *in, sp_arena *arena)
{
	in->last_name = SP_SOME_SIZE;
	in->loosened = false;
	in->lessons = NULL;
	for (size_t i = 0; i < in->equal_count; i++)
		in->equal[i] = NO_NAME;
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

static bool mean_the_same(const sp_shape_inference *in, const shape *a, const shape *b)
{
	for (int32_t i = 0; a->rank == b->rank && i < a->rank; i++)
		if (meaning_of(in->equal, in->equal_count, a->dims[i]) !=
		    meaning_of(in->equal, in->equal_count, b->dims[i]))
			return false;
	return a->rank == b->rank;
}

/*
 * Whether what is to be like another shape is learned in two ways that never came together: then
 * TensorFlow calls the other one by the names of either.
 */
static bool contradicts(sp_shape_inference *in)
{
	for (const struct sp_lesson *l = in->lessons; l != NULL; l = l->before) {
		uint32_t end = end_of(in, &l->of);

		if (in->merged[end] && !mean_the_same(in, &in->learned[end], &l->what))
			return true;
	}
	return false;
}

static bool make_room(sp_shape_inference *in, sp_arena *arena)
{
	size_t count = in->graph->node_count;

	in->shapes = sp_arena_array(arena, count, sizeof(*in->shapes));
	in->lists = sp_arena_array(arena, count, sizeof(*in->lists));
	in->alike = sp_arena_array(arena, count, sizeof(*in->alike));
	in->outputs = sp_arena_zeros(arena, count, sizeof(*in->outputs));
	in->loose = sp_arena_zeros(arena, count, sizeof(*in->loose));
	in->same = sp_arena_array(arena, count, sizeof(*in->same));
	in->demanded = sp_arena_array(arena, count, sizeof(*in->demanded));
	in->learned = sp_arena_array(arena, count, sizeof(*in->learned));
	in->merged = sp_arena_array(arena, count, sizeof(*in->merged));
	return in->shapes != NULL && in->lists != NULL && in->alike != NULL &&
	       in->outputs != NULL && in->loose != NULL && in->same != NULL &&
	       in->demanded != NULL && in->learned != NULL && in->merged != NULL;
}

sp_status sp_static_shapes_infer(const sp_graph *graph, const bool *fed, sp_arena *arena,
				 sp_static_shapes *out, sp_error *err)
{
	sp_shape_inference in = {.graph = graph, .fed = fed, .arena = arena};
	bool *open = sp_arena_zeros(arena, graph->node_count, sizeof(*open)), contradicted;

	if (open == NULL || !make_room(&in, arena) || walk_until_settled(&in, arena) != SP_OK)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	contradicted = contradicts(&in);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (in.shapes[i].rank == SP_RANK_OPEN)
			open[i] = !in.demanded[end_of(&in, &in.shapes[i])];
		in.learned[i] = in.learned[end_of_chain(&in, i)];
	}
	*out = (sp_static_shapes){.shapes = in.shapes,
				  .alike = in.alike,
				  .open = open,
				  .outputs = in.outputs,
				  .count = graph->node_count,
				  .learned = in.learned,
				  .equal = in.equal,
				  .equal_count = in.equal_count,
				  .contradicted = contradicted};
	return SP_OK;
}

static void tell(const sp_static_shapes *shapes, shape *of)
{
	if (of->rank == SP_RANK_OPEN && shapes->learned[of->dims[0]].rank >= 0)
		*of = shapes->learned[of->dims[0]];
	for (int32_t i = 0; i < of->rank; i++)
		of->dims[i] = meaning_of(shapes->equal, shapes->equal_count, of->dims[i]);
}

void sp_static_shapes_tell(sp_static_shapes *shapes)
{
	for (size_t i = 0; i < shapes->count && !shapes->contradicted; i++) {
		sp_static_outputs *outputs = shapes->outputs[i];

		tell(shapes, &shapes->shapes[i]);
		for (size_t k = 0; outputs != NULL && k < outputs->count; k++)
			tell(shapes, &outputs->shapes[k]);
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
	return sp_static_shape_of(shapes, port).rank == SP_RANK_OPEN && shapes->open[port.node];
}
