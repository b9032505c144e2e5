#include <string.h>

#include "engine/import/import_internal.h"

/*
 * Loops of graphs from before functions.  All nodes between Enter and Exit are in the loop's frame,
 * and a loop variable is a cycle of five nodes:
 *
 *     initial -> Enter -> Merge ----------> Switch:0 -> Exit -> ...
 *                           ^   \-> LoopCond -^  :1 -> body
 *                           |                          |
 *                           +---- NextIteration <------+
 *
 * The analysis of a scope:
 *
 *   1. find_live    the nodes that the wanted ones depend on, with their inputs resolved
 *   2. sort         a topological order without the back edges (NextIteration -> Merge)
 *   3. set_frames   the frame of each node: that of its inputs, or of its own name for an Enter
 *   4. set_roles    the Merge, Switch, Exit and LoopCond of each variable and loop
 *   5. check_roles  refuses readers that have no meaning in a structured loop
 *   6. find_conditions   what LoopCond depends on is the condition; the rest of a frame is the body
 *   7. make_owners  the loops as import.c takes them
 *
 * Afterwards a Merge and a Switch:1 mean the variable, an Exit an output of the loop, and an Enter
 * of a value that does not change means its input.
 *
 * A graph that does not fit leaves the first reason in scope->loops_error, which ends the analysis.
 */

static const uint32_t NONE = UINT32_MAX;

enum { MAX_FRAME_DEPTH = 64, MAX_IDENTITIES = 64 };

typedef enum role {
	PLAIN = 0,
	INVARIANT, /* Enter of a loop-invariant value */
	ENTER,     /* of a variable */
	MERGE,     /* of a variable */
	SWITCH,    /* of a variable */
	NEXT,
	EXIT,
	COND,
} role;

typedef struct loop_node {
	role role;
	uint32_t frame;      /* the innermost that it is in, or NONE */
	uint32_t variable;   /* of MERGE, SWITCH, EXIT: its number in the frame */
	uint32_t merge;      /* of an Enter: the Merge that reads it, or NONE */
	uint32_t next_enter; /* of an Enter: another one of its frame, or NONE */
	bool is_live;
	bool in_condition;
} loop_node;

typedef struct frame {
	uint32_t outer; /* the frame around it, or NONE */
	int depth;
	uint32_t cond;     /* LoopCond, or NONE */
	bool in_condition; /* of the frame around it */
	uint32_t enters;   /* the first Enter; next_enter leads to the others */
	sp_owner *owner;
	uint32_t *merges; /* one per variable */
	size_t merge_count, merge_capacity;
} frame;

/* An input of a node, resolved. */
typedef struct edge {
	uint32_t node; /* NONE: an argument, or nothing */
	uint32_t port;
	bool control;
} edge;

typedef struct sp_loops {
	loop_node *nodes; /* [nodes of the scope] */
	frame *frames;
	size_t frame_count;
} sp_loops;

typedef struct finder {
	sp_importer *im;
	sp_scope *scope;
	sp_loops *loops;
	loop_node *nodes;   /* loops->nodes */
	size_t *first_edge; /* [nodes] in `edges`: those of a node are consecutive */
	edge *edges;
	size_t edge_count, edge_capacity;
	uint32_t *order; /* the live nodes */
	size_t live_count;
	size_t frame_capacity;
	sp_map frame_names;
} finder;

/* Whether `op` is `name`, or its variant for reference types: "RefEnter". */
static bool is_kind(const char *op, const char *name)
{
	return strcmp(op, name) == 0 || (strncmp(op, "Ref", 3) == 0 && strcmp(op + 3, name) == 0);
}

bool sp_import__is_loop_op(const char *op)
{
	return is_kind(op, "Enter") || is_kind(op, "Exit") || is_kind(op, "NextIteration") ||
	       strcmp(op, "LoopCond") == 0;
}

static const sp_node_def *def_of(const finder *fi, uint32_t node)
{
	return &fi->scope->nodes[node];
}

static const edge *edges_of(const finder *fi, uint32_t node, size_t *count)
{
	*count = def_of(fi, node)->input_count;
	return fi->edges + fi->first_edge[node];
}

/* Ends the analysis; the first reason is kept. */
static void refuse(finder *fi, uint32_t node, const char *why)
{
	sp_scope *scope = fi->scope;

	if (scope->loops_error != NULL)
		return;
	scope->loops_error = sp_arena_printf(fi->im->arena,
					     "a loop that cannot be understood: '%s%s' %s",
					     scope->prefix, def_of(fi, node)->name, why);
	if (scope->loops_error == NULL)
		scope->loops_error = "a loop that cannot be understood";
}

static bool is_refused(const finder *fi)
{
	return fi->scope->loops_error != NULL;
}

/* --------------------------------------------------------- 1. live nodes */

/* False for a reference to nothing: import.c reports it if the node is reached. */
static bool resolve(const finder *fi, const char *ref, edge *out)
{
	sp_bytes name, argument;
	uint64_t found;

	*out = (edge){.node = NONE, .control = ref[0] == '^'};
	if (!sp_import__split_reference(ref, fi->scope->function != NULL, &name, &argument,
					&out->port) ||
	    !sp_map_get(fi->scope->names, name, &found))
		return false;
	/* The second outputs of Switch and Merge; other operators of loops have one output. */
	if (sp_bytes_equal_text(argument, "output_true") ||
	    sp_bytes_equal_text(argument, "value_index"))
		out->port = 1;
	if (found < SP_ARGUMENT)
		out->node = (uint32_t)found;
	return true;
}

static void make_live(finder *fi, const edge *to)
{
	if (to->node == NONE || fi->nodes[to->node].is_live)
		return;
	fi->nodes[to->node].is_live = true;
	fi->order[fi->live_count++] = to->node;
}

static sp_status find_live(finder *fi, const char *const *wanted, size_t wanted_count)
{
	edge e;

	for (size_t i = 0; i < wanted_count; i++)
		if (resolve(fi, wanted[i], &e))
			make_live(fi, &e);
	for (size_t at = 0; at < fi->live_count; at++) {
		const sp_node_def *def = def_of(fi, fi->order[at]);

		fi->first_edge[fi->order[at]] = fi->edge_count;
		for (size_t i = 0; i < def->input_count; i++) {
			if (!SP_ARENA_GROW(fi->im->scratch, fi->edges, fi->edge_capacity,
					   fi->edge_count, 1))
				return sp_import__no_memory(fi->im);
			(void)resolve(fi, def->inputs[i], &e);
			fi->edges[fi->edge_count++] = e;
			make_live(fi, &e);
		}
	}
	return SP_OK;
}

/* ---------------------------------------------------------- 2. the order */

static bool is_back_edge(const finder *fi, uint32_t reader, const edge *e)
{
	return e->node != NONE && !e->control && is_kind(def_of(fi, reader)->op, "Merge") &&
	       is_kind(def_of(fi, e->node)->op, "NextIteration");
}

/*
 * Kahn's algorithm.  The readers of a node are a linked list of edges: newest[node] is the first
 * and older[edge] the next, both plus 1; reader[edge] is the node that the edge leads to.
 */
static sp_status sort(finder *fi)
{
	size_t nodes = fi->scope->node_count, count, ready = 0;
	uint32_t *waits = sp_arena_zeros(fi->im->scratch, nodes, sizeof(*waits));
	size_t *newest = sp_arena_zeros(fi->im->scratch, nodes, sizeof(*newest));
	size_t *older = sp_arena_array(fi->im->scratch, fi->edge_count, sizeof(*older));
	uint32_t *reader = sp_arena_array(fi->im->scratch, fi->edge_count, sizeof(*reader));
	uint32_t *order = sp_arena_array(fi->im->scratch, fi->live_count, sizeof(*order));

	if (waits == NULL || newest == NULL || older == NULL || reader == NULL || order == NULL)
		return sp_import__no_memory(fi->im);
	for (size_t at = 0; at < fi->live_count; at++) {
		uint32_t node = fi->order[at];
		const edge *edges = edges_of(fi, node, &count);

		for (size_t i = 0; i < count; i++) {
			size_t number = (size_t)(edges + i - fi->edges);

			if (edges[i].node == NONE || is_back_edge(fi, node, &edges[i]))
				continue;
			waits[node]++;
			reader[number] = node;
			older[number] = newest[edges[i].node];
			newest[edges[i].node] = number + 1;
		}
		if (waits[node] == 0)
			order[ready++] = node;
	}
	for (size_t done = 0; done < ready; done++)
		for (size_t e = newest[order[done]]; e != 0; e = older[e - 1])
			if (--waits[reader[e - 1]] == 0)
				order[ready++] = reader[e - 1];
	for (size_t at = 0; ready < fi->live_count && at < fi->live_count; at++)
		if (waits[fi->order[at]] != 0)
			refuse(fi, fi->order[at], "is part of a cycle");
	fi->order = order;
	return SP_OK;
}

/* --------------------------------------------------------- 3. the frames */

/* The frame in which the outputs of a node are visible. */
static uint32_t outer_frame(const finder *fi, uint32_t node)
{
	uint32_t f = fi->nodes[node].frame;

	return fi->nodes[node].role == EXIT && f != NONE ? fi->loops->frames[f].outer : f;
}

static int depth_of(const finder *fi, uint32_t f)
{
	return f == NONE ? 0 : fi->loops->frames[f].depth;
}

static bool is_inside(const finder *fi, uint32_t f, uint32_t outer)
{
	while (f != outer && f != NONE)
		f = fi->loops->frames[f].outer;
	return f == outer;
}

/* The frame that an Enter leads into: the one of its name inside `outer`. */
static sp_status enter_frame(finder *fi, uint32_t node, uint32_t outer, uint32_t *out)
{
	const sp_node_def *def = def_of(fi, node);
	const sp_attr *name = sp_attr_find(def->attrs, def->attr_count, "frame_name");
	sp_bytes text = name != NULL && name->kind == SP_ATTR_BYTES ? name->bytes
								    : (sp_bytes){"", 0};
	char *key = sp_arena_alloc(fi->im->scratch, sizeof(outer) + text.size);
	sp_loops *loops = fi->loops;
	uint64_t number;

	if (key == NULL)
		return sp_import__no_memory(fi->im);
	memcpy(key, &outer, sizeof(outer));
	if (text.size != 0)
		memcpy(key + sizeof(outer), text.data, text.size);
	text = (sp_bytes){key, sizeof(outer) + text.size};
	if (sp_map_get(&fi->frame_names, text, &number)) {
		*out = (uint32_t)number;
		return SP_OK;
	}
	*out = (uint32_t)loops->frame_count;
	if (!SP_ARENA_GROW(fi->im->scratch, loops->frames, fi->frame_capacity, loops->frame_count,
			   1) ||
	    sp_map_put(&fi->frame_names, text, *out) == SP_MAP_NO_MEMORY)
		return sp_import__no_memory(fi->im);
	loops->frames[loops->frame_count++] = (frame){
		.outer = outer, .depth = depth_of(fi, outer) + 1, .cond = NONE, .enters = NONE};
	return SP_OK;
}

/* The role of operators that have only one; set_roles() finds the others. */
static role role_of(const char *op)
{
	return is_kind(op, "Enter")           ? INVARIANT
	       : is_kind(op, "Exit")          ? EXIT
	       : is_kind(op, "NextIteration") ? NEXT
	       : strcmp(op, "LoopCond") == 0  ? COND
					      : PLAIN;
}

/* The innermost frame of a node's inputs; all of them must be nested in each other. */
static uint32_t frame_of_inputs(finder *fi, uint32_t node)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);
	uint32_t innermost = NONE;

	for (size_t i = 0; i < count; i++) {
		uint32_t f;

		if (edges[i].node == NONE || is_back_edge(fi, node, &edges[i]))
			continue;
		f = outer_frame(fi, edges[i].node);
		if (depth_of(fi, f) > depth_of(fi, innermost)) {
			uint32_t shallow = innermost;

			innermost = f;
			f = shallow;
		}
		if (!is_inside(fi, innermost, f))
			refuse(fi, node, "has inputs from loops that do not lie in each other");
	}
	return innermost;
}

static sp_status set_frames(finder *fi)
{
	for (size_t at = 0; at < fi->live_count && !is_refused(fi); at++) {
		uint32_t node = fi->order[at];
		loop_node *n = &fi->nodes[node];

		n->role = role_of(def_of(fi, node)->op);
		n->merge = NONE;
		n->frame = frame_of_inputs(fi, node);
		if (n->role == INVARIANT) {
			SP_TRY(enter_frame(fi, node, n->frame, &n->frame));
			n->next_enter = fi->loops->frames[n->frame].enters;
			fi->loops->frames[n->frame].enters = node;
		}
		if (depth_of(fi, n->frame) > MAX_FRAME_DEPTH)
			refuse(fi, node, "lies in too many loops");
		if (n->frame == NONE && n->role != PLAIN)
			refuse(fi, node, "is in no loop");
	}
	return SP_OK;
}

/* ---------------------------------------------------------- 4. the roles */

/* A Merge of an Enter and a NextIteration of the same frame is a variable. */
static sp_status set_merge(finder *fi, uint32_t node)
{
	loop_node *n = &fi->nodes[node], *enter, *next;
	size_t count, data = 0;
	const edge *edges = edges_of(fi, node, &count);
	bool goes_back = false;
	frame *f;

	for (size_t i = 0; i < count; i++) {
		data += !edges[i].control;
		goes_back |= is_back_edge(fi, node, &edges[i]);
	}
	if (!goes_back)
		return SP_OK; /* of a condition */
	enter = edges[0].node != NONE ? &fi->nodes[edges[0].node] : NULL;
	next = count > 1 && edges[1].node != NONE ? &fi->nodes[edges[1].node] : NULL;
	if (data != 2 || edges[0].control || enter == NULL || enter->role != INVARIANT ||
	    next == NULL || edges[1].control || next->role != NEXT || next->frame != n->frame) {
		refuse(fi, node, "does not merge an Enter with a NextIteration");
		return SP_OK;
	}
	if (enter->merge != NONE) {
		refuse(fi, node, "shares its Enter with another Merge");
		return SP_OK;
	}
	enter->merge = node;
	f = &fi->loops->frames[n->frame];
	if (!SP_ARENA_GROW(fi->im->scratch, f->merges, f->merge_capacity, f->merge_count, 1))
		return sp_import__no_memory(fi->im);
	n->role = MERGE;
	n->variable = (uint32_t)f->merge_count;
	f->merges[f->merge_count++] = node;
	return SP_OK;
}

/* A Switch on a LoopCond switches a variable of that loop; others belong to conditions. */
static void set_switch(finder *fi, uint32_t node)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);
	loop_node *n = &fi->nodes[node];

	if (count < 2 || edges[1].control || edges[1].node == NONE ||
	    fi->nodes[edges[1].node].role != COND)
		return;
	if (edges[0].control || edges[0].node == NONE || fi->nodes[edges[0].node].role != MERGE ||
	    fi->nodes[edges[0].node].frame != n->frame ||
	    fi->nodes[edges[1].node].frame != n->frame) {
		refuse(fi, node, "does not switch a variable of its loop");
		return;
	}
	n->role = SWITCH;
	n->variable = fi->nodes[edges[0].node].variable;
}

static void set_exit(finder *fi, uint32_t node)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);
	const loop_node *from = count != 0 && edges[0].node != NONE ? &fi->nodes[edges[0].node]
								    : NULL;

	if (from == NULL || from->role != SWITCH || edges[0].port != 0 || edges[0].control)
		refuse(fi, node, "does not take a variable out of a loop");
	else
		fi->nodes[node].variable = from->variable;
}

/* In topological order a Merge comes before its Switch, and that before its Exit. */
static sp_status set_roles(finder *fi)
{
	for (size_t at = 0; at < fi->live_count && !is_refused(fi); at++) {
		uint32_t node = fi->order[at];
		const loop_node *n = &fi->nodes[node];
		const char *op = def_of(fi, node)->op;

		if (is_kind(op, "Merge")) {
			SP_TRY(set_merge(fi, node));
		} else if (is_kind(op, "Switch")) {
			set_switch(fi, node);
		} else if (n->role == EXIT) {
			set_exit(fi, node);
		} else if (n->role == COND) {
			if (fi->loops->frames[n->frame].cond != NONE)
				refuse(fi, node, "is the second condition of its loop");
			fi->loops->frames[n->frame].cond = node;
		}
	}
	return SP_OK;
}

/* ---------------------------------------------------------- 5. the checks */

/* Why a node may not read what it reads; NULL when it may. */
static const char *bad_read(const loop_node *from, const edge *e, role reader)
{
	if (from->role == NEXT && !(reader == MERGE && !e->control))
		return "reads the next iteration of a loop";
	if (from->role == MERGE && e->port == 1)
		return "reads value_index of a loop's Merge";
	if (e->control)
		return NULL;
	if (from->role == INVARIANT && from->merge != NONE && reader != MERGE)
		return "reads a variable before the first iteration";
	if (from->role == SWITCH && e->port == 0 && reader != EXIT)
		return "reads a value that exists only after the loop";
	return NULL;
}

static void check_roles(finder *fi)
{
	for (size_t at = 0; at < fi->live_count; at++) {
		uint32_t node = fi->order[at];
		const loop_node *n = &fi->nodes[node];
		size_t count;
		const edge *edges = edges_of(fi, node, &count);

		for (size_t i = 0; i < count; i++) {
			const char *why = edges[i].node == NONE
						  ? NULL
						  : bad_read(&fi->nodes[edges[i].node], &edges[i],
							     n->role);

			if (why != NULL)
				refuse(fi, node, why);
		}
	}
	for (size_t at = 0; at < fi->live_count; at++) {
		loop_node *n = &fi->nodes[fi->order[at]];

		if (n->role != PLAIN && fi->loops->frames[n->frame].cond == NONE)
			refuse(fi, fi->order[at], "is in a loop without a condition");
		if (n->role == INVARIANT && n->merge != NONE)
			n->role = ENTER;
	}
}

/* ----------------------------------------------------- 6. the conditions */

/* Pushes the inputs of a node that lie in frame `number` and are not marked yet. */
static void push_inputs(finder *fi, uint32_t node, uint32_t number, uint32_t *stack, size_t *depth)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);

	for (size_t i = 0; i < count; i++) {
		loop_node *from = edges[i].node != NONE ? &fi->nodes[edges[i].node] : NULL;

		if (from == NULL || from->in_condition || outer_frame(fi, edges[i].node) != number)
			continue;
		from->in_condition = true;
		if (*depth <= fi->live_count)
			stack[(*depth)++] = edges[i].node;
		else
			refuse(fi, node, "depends on more nodes than there are");
	}
}

/*
 * Marks what the condition of frame `number` depends on.  A loop inside it belongs to the condition
 * as a whole: from one of its Exits the walk goes on at the inputs of all its Enters.
 */
static void walk_condition(finder *fi, uint32_t number, uint32_t *stack, bool *is_walked)
{
	size_t depth = 0;

	stack[depth++] = fi->loops->frames[number].cond;
	while (depth != 0) {
		uint32_t node = stack[--depth];
		const loop_node *n = &fi->nodes[node];

		if (n->role == EXIT && n->frame != number) {
			frame *inner = &fi->loops->frames[n->frame];

			if (is_walked[n->frame])
				continue;
			is_walked[n->frame] = inner->in_condition = true;
			for (uint32_t e = inner->enters; e != NONE; e = fi->nodes[e].next_enter)
				push_inputs(fi, e, number, stack, &depth);
		} else if (n->role != MERGE && n->role != INVARIANT && n->role != ENTER) {
			push_inputs(fi, node, number, stack, &depth);
		}
	}
}

static sp_status find_conditions(finder *fi)
{
	size_t frames = fi->loops->frame_count;
	uint32_t *stack = sp_arena_array(fi->im->scratch, fi->live_count + 1, sizeof(*stack));
	bool *is_walked = sp_arena_zeros(fi->im->scratch, frames, sizeof(*is_walked));

	if (stack == NULL || is_walked == NULL)
		return sp_import__no_memory(fi->im);
	for (uint32_t f = 0; f < frames; f++)
		if (fi->loops->frames[f].cond != NONE)
			walk_condition(fi, f, stack, is_walked);
	return SP_OK;
}

/* --------------------------------------------------------- 7. the owners */

/* Whether no iteration changes the variable: its NextIteration reads its own Switch. */
static bool is_constant(const finder *fi, uint32_t merge)
{
	size_t count;
	uint32_t node = edges_of(fi, merge, &count)[1].node; /* the NextIteration */

	for (int hops = 0; hops < MAX_IDENTITIES; hops++) {
		const edge *edges = edges_of(fi, node, &count);

		if (count == 0 || edges[0].node == NONE)
			return false;
		node = edges[0].node;
		if (fi->nodes[node].role == SWITCH)
			return fi->nodes[node].frame == fi->nodes[merge].frame &&
			       fi->nodes[node].variable == fi->nodes[merge].variable;
		if (!is_kind(def_of(fi, node)->op, "Identity"))
			return false;
	}
	return false;
}

static sp_status make_owner(finder *fi, frame *f)
{
	sp_owner *owner = sp_arena_zeros(fi->im->scratch, 1, sizeof(*owner));
	sp_variable *variables = sp_arena_zeros(fi->im->scratch, f->merge_count,
						sizeof(*variables));

	if (owner == NULL || variables == NULL)
		return sp_import__no_memory(fi->im);
	f->owner = owner;
	*owner = (sp_owner){.kind = SP_OWNER_LOOP,
			    .in = fi->scope,
			    .node = f->cond,
			    .variables = variables,
			    .variable_count = f->merge_count};
	for (size_t i = 0; i < f->merge_count; i++) {
		uint32_t merge = f->merges[i];
		size_t count;
		const edge *edges = edges_of(fi, merge, &count);

		variables[i] = (sp_variable){
			.first = sp_import__data_input(def_of(fi, edges[0].node), 0),
			.next = sp_import__data_input(def_of(fi, edges[1].node), 0),
			.merge = def_of(fi, merge)->name,
			.is_constant = is_constant(fi, merge)};
		if (variables[i].first == NULL || variables[i].next == NULL)
			refuse(fi, merge, "lacks an input");
	}
	sp_import__number_variables(owner);
	return SP_OK;
}

/* The control inputs of a loop's own nodes become those of the loop. */
static sp_status gather_controls(finder *fi)
{
	size_t *capacities = sp_arena_zeros(fi->im->scratch, fi->loops->frame_count,
					    sizeof(*capacities));

	if (capacities == NULL)
		return sp_import__no_memory(fi->im);
	for (size_t at = 0; at < fi->live_count; at++) {
		const loop_node *n = &fi->nodes[fi->order[at]];
		const sp_node_def *def = def_of(fi, fi->order[at]);
		sp_owner *owner;

		if (n->role == PLAIN)
			continue;
		owner = fi->loops->frames[n->frame].owner;
		for (size_t i = 0; i < def->input_count; i++) {
			if (def->inputs[i][0] != '^')
				continue;
			if (!SP_ARENA_GROW(fi->im->scratch, owner->controls, capacities[n->frame],
					   owner->control_count, 1))
				return sp_import__no_memory(fi->im);
			owner->controls[owner->control_count++] = def->inputs[i];
		}
	}
	return SP_OK;
}

static sp_status make_owners(finder *fi, const char *const *wanted, size_t wanted_count)
{
	for (size_t f = 0; f < fi->loops->frame_count; f++)
		SP_TRY(make_owner(fi, &fi->loops->frames[f]));
	SP_TRY(gather_controls(fi));
	for (size_t i = 0; i < wanted_count && fi->scope->function != NULL; i++) {
		edge e;

		if (resolve(fi, wanted[i], &e) && e.node != NONE && outer_frame(fi, e.node) != NONE)
			refuse(fi, e.node, "is returned from inside a loop");
	}
	return SP_OK;
}

/* ---------------------------------------------------------- the analysis */

static bool has_live_enter(const finder *fi)
{
	for (size_t at = 0; at < fi->live_count; at++)
		if (is_kind(def_of(fi, fi->order[at])->op, "Enter"))
			return true;
	return false;
}

static sp_status analyse(finder *fi, const char *const *wanted, size_t wanted_count)
{
	SP_TRY(find_live(fi, wanted, wanted_count));
	if (!has_live_enter(fi))
		return SP_OK;
	SP_TRY(sort(fi));
	if (!is_refused(fi))
		SP_TRY(set_frames(fi));
	if (!is_refused(fi))
		SP_TRY(set_roles(fi));
	if (!is_refused(fi))
		check_roles(fi);
	if (is_refused(fi))
		return SP_OK;
	SP_TRY(find_conditions(fi));
	SP_TRY(make_owners(fi, wanted, wanted_count));
	if (!is_refused(fi))
		fi->scope->loops = fi->loops;
	return SP_OK;
}

sp_status sp_import__find_loops(sp_importer *im, sp_scope *scope, const char *const *wanted,
				size_t wanted_count)
{
	finder fi = {.im = im, .scope = scope};
	size_t nodes = scope->node_count, at = 0;

	while (at < nodes && !is_kind(scope->nodes[at].op, "Enter"))
		at++;
	if (at == nodes)
		return SP_OK; /* as in almost all graphs */
	fi.loops = sp_arena_zeros(im->scratch, 1, sizeof(*fi.loops));
	fi.nodes = sp_arena_zeros(im->scratch, nodes, sizeof(*fi.nodes));
	fi.first_edge = sp_arena_zeros(im->scratch, nodes, sizeof(*fi.first_edge));
	fi.order = sp_arena_array(im->scratch, nodes, sizeof(*fi.order));
	if (fi.loops == NULL || fi.nodes == NULL || fi.first_edge == NULL || fi.order == NULL)
		return sp_import__no_memory(im);
	for (size_t i = 0; i < nodes; i++)
		fi.nodes[i].frame = NONE;
	fi.loops->nodes = fi.nodes;
	sp_map_init(&fi.frame_names, im->scratch);
	return analyse(&fi, wanted, wanted_count);
}

/* ------------------------------------------------------------ the results */

bool sp_import__in_loop(const sp_scope *scope, uint32_t node)
{
	const loop_node *n;

	if (scope->loops == NULL)
		return false;
	n = &scope->loops->nodes[node];
	if (n->frame == NONE || n->role == COND)
		return n->frame != NONE;
	return n->role != EXIT || scope->loops->frames[n->frame].outer != NONE;
}

uint32_t sp_import__region_of(const sp_scope *scope, uint32_t node)
{
	const loop_node *n;
	bool in_condition;
	uint32_t f;

	if (scope->loops == NULL)
		return scope->region;
	n = &scope->loops->nodes[node];
	f = n->frame;
	in_condition = n->in_condition;
	/* The loop itself stands in the place of its LoopCond, outside of its frame. */
	if (f != NONE && n->role == COND) {
		in_condition = scope->loops->frames[f].in_condition;
		f = scope->loops->frames[f].outer;
	}
	if (f == NONE)
		return scope->region;
	return scope->loops->frames[f].owner->first_region + !in_condition;
}

bool sp_import__loop_meaning(const sp_scope *scope, uint32_t node, bool control,
			     sp_loop_meaning *out)
{
	const loop_node *n = &scope->loops->nodes[node];
	const frame *f = n->frame != NONE ? &scope->loops->frames[n->frame] : NULL;
	const sp_variable *v;

	*out = (sp_loop_meaning){0};
	if (n->role == PLAIN)
		return false;
	if (n->role != MERGE && n->role != SWITCH && n->role != EXIT) {
		out->ref = sp_import__data_input(&scope->nodes[node], 0);
		return out->ref != NULL;
	}
	v = &f->owner->variables[n->variable];
	if (v->is_constant && !(control && n->role == EXIT)) {
		out->ref = v->first;
	} else if (n->role != EXIT) {
		out->variable = v;
	} else {
		out->is_output = true;
		out->loop = f->cond;
		out->port = v->number;
	}
	return true;
}

sp_status sp_import__open_loop(sp_importer *im, sp_scope *scope, uint32_t cond)
{
	const loop_node *n = &scope->loops->nodes[cond];
	sp_owner *owner = n->role == COND ? scope->loops->frames[n->frame].owner : NULL;

	if (owner == NULL)
		return SP_OK; /* the LoopCond of a loop that nothing needs */
	owner->region_count = 2;
	SP_TRY(sp_import__add_regions(im, sp_import__region_of(scope, cond), 2,
				      &owner->first_region));
	im->graph->around[owner->first_region + 1] = owner->first_region;
	scope->places[cond].owner = owner;
	return SP_OK;
}
