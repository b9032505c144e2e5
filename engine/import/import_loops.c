#include <string.h>

#include "base/size.h"
#include "engine/import/import_internal.h"

/*
 * Loops of graphs from before functions.  A variable goes round like this, and
 * all that lies between Enter and Exit is in the loop's frame:
 *
 *     first -> Enter -> Merge ----------> Switch:0 -> Exit -> ...
 *                         ^   \-> LoopCond -^  :1 -> body
 *                         |                          |
 *                         +---- NextIteration <------+
 *
 * First what is wanted is followed to all it needs, round the loops, too; then
 * those nodes are put in an order that ignores the ways back, and each gets the
 * frame of its inputs.  The condition is what LoopCond needs; the rest is the
 * body.  Merge and Switch:1 become the variable, Exit an output of the loop, an
 * Enter that is not a variable's another name of its input.
 */

static const uint32_t NONE = UINT32_MAX;

enum { MAX_FRAME_DEPTH = 64 };

typedef enum role {
	PLAIN = 0,
	ENTER,  /* of a value that does not change */
	FIRST,  /* the Enter of a variable */
	MERGE,  /* of a variable */
	SWITCH, /* of a variable */
	NEXT,
	LEAVE, /* Exit */
	COND,
} role;

typedef struct mark {
	role role;
	uint32_t frame;    /* the innermost it is in, or NONE */
	uint32_t variable; /* of MERGE, SWITCH, LEAVE: which of its frame's */
	uint32_t merge;    /* of FIRST and NEXT while they look for it: their Merge, or NONE */
	bool is_live;
	bool in_condition;
} mark;

typedef struct frame {
	uint32_t outer; /* the frame around, or NONE */
	int depth;
	uint32_t cond;     /* LoopCond, or NONE */
	bool in_condition; /* of the frame around */
	bool is_walked;
	sp_owner *owner;
	uint32_t *merges; /* one per variable */
	size_t merge_count;
	size_t merge_capacity;
} frame;

/* A node's inputs, resolved: a row of `edges`. */
typedef struct edge {
	uint32_t node; /* NONE: an argument */
	uint32_t port;
	bool control;
} edge;

typedef struct sp_loops {
	mark *marks;
	frame *frames;
	size_t frame_count;
} sp_loops;

typedef struct finder {
	sp_importer *im;
	sp_scope *scope;
	sp_loops *loops;
	mark *marks;
	size_t *first_edge; /* [nodes] */
	edge *edges;
	size_t edge_count;
	size_t edge_capacity;
	uint32_t *order; /* the live nodes; while they are found: the list of those to look at */
	size_t live_count;
	size_t frame_capacity;
	sp_map frame_names;
	bool has_enter;
} finder;

static bool is_one_of(const char *op, const char *name)
{
	return strcmp(op, name) == 0 || (strncmp(op, "Ref", 3) == 0 && strcmp(op + 3, name) == 0);
}

bool sp_import__is_loop_op(const char *op)
{
	return is_one_of(op, "Enter") || is_one_of(op, "Exit") || is_one_of(op, "NextIteration") ||
	       strcmp(op, "LoopCond") == 0;
}

static const sp_node_def *def_of(const finder *fi, uint32_t node)
{
	return &fi->scope->nodes[node];
}

/* Why the loops are not understood; the first reason counts.  Always false. */
static bool refuse(finder *fi, uint32_t node, const char *why)
{
	if (fi->scope->loops_error == NULL)
		fi->scope->loops_error = sp_arena_printf(
			fi->im->arena, "a loop that cannot be understood: '%s%s' %s",
			fi->scope->prefix, def_of(fi, node)->name, why);
	if (fi->scope->loops_error == NULL)
		fi->scope->loops_error = "a loop that cannot be understood";
	return false;
}

/* ------------------------------------------------------------ what is live */

static bool resolve(const finder *fi, const char *ref, edge *out)
{
	sp_bytes name, argument;
	uint64_t found;

	out->control = ref[0] == '^';
	if (!sp_import__split_reference(ref, fi->scope->function != NULL, &name, &argument,
					&out->port) ||
	    !sp_map_get(fi->scope->names, name, &found))
		return false;
	/* Among the operators that matter here only Switch has two outputs. */
	if (sp_bytes_equal_text(argument, "output_true") ||
	    sp_bytes_equal_text(argument, "value_index"))
		out->port = 1;
	out->node = found >= SP_ARGUMENT ? NONE : (uint32_t)found;
	return true;
}

static void make_live(finder *fi, const edge *to)
{
	if (to->node == NONE || fi->marks[to->node].is_live)
		return;
	fi->marks[to->node].is_live = true;
	fi->order[fi->live_count++] = to->node;
}

static sp_status grow_edges(finder *fi, size_t more)
{
	size_t capacity = 2 * (fi->edge_count + more);
	edge *edges;

	if (fi->edge_count + more <= fi->edge_capacity)
		return SP_OK;
	edges = sp_arena_array(fi->im->scratch, capacity, sizeof(*edges));
	if (edges == NULL)
		return sp_import__no_memory(fi->im);
	if (fi->edge_count != 0)
		memcpy(edges, fi->edges, fi->edge_count * sizeof(*edges));
	fi->edges = edges;
	fi->edge_capacity = capacity;
	return SP_OK;
}

/* What leads nowhere is left for the walk to name, where it is reached. */
static sp_status find_live(finder *fi, const char *const *wanted, size_t wanted_count)
{
	edge e;

	for (size_t i = 0; i < wanted_count; i++)
		if (resolve(fi, wanted[i], &e))
			make_live(fi, &e);
	for (size_t at = 0; at < fi->live_count; at++) {
		uint32_t node = fi->order[at];
		const sp_node_def *def = def_of(fi, node);

		SP_TRY(grow_edges(fi, def->input_count));
		fi->first_edge[node] = fi->edge_count;
		fi->has_enter |= is_one_of(def->op, "Enter");
		for (size_t i = 0; i < def->input_count; i++) {
			edge *to = &fi->edges[fi->edge_count++];

			if (!resolve(fi, def->inputs[i], to))
				to->node = NONE;
			make_live(fi, to);
		}
	}
	return SP_OK;
}

static const edge *edges_of(const finder *fi, uint32_t node, size_t *count)
{
	*count = def_of(fi, node)->input_count;
	return fi->edges + fi->first_edge[node];
}

/* -------------------------------------------------------------- the order */

/* The way back of a loop. */
static bool is_back_edge(const finder *fi, uint32_t reader, const edge *e)
{
	return e->node != NONE && !e->control && is_one_of(def_of(fi, reader)->op, "Merge") &&
	       is_one_of(def_of(fi, e->node)->op, "NextIteration");
}

/*
 * Puts the live nodes in an order where inputs stand first, but for the ways
 * back.  `readers` is a list of readers per node, threaded through the edges.
 */
static sp_status sort(finder *fi, bool *sorted)
{
	size_t nodes = fi->scope->node_count, count, ready = 0, done = 0;
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
	for (; done < ready; done++)
		for (size_t e = newest[order[done]]; e != 0; e = older[e - 1])
			if (--waits[reader[e - 1]] == 0)
				order[ready++] = reader[e - 1];
	*sorted = ready == fi->live_count;
	for (size_t at = 0; !*sorted && at < fi->live_count; at++)
		if (waits[fi->order[at]] != 0) {
			refuse(fi, fi->order[at], "is part of a cycle");
			break;
		}
	fi->order = order;
	return SP_OK;
}

/* ------------------------------------------------------------- the frames */

/* The frame in which others see a node's outputs. */
static uint32_t outer_frame(const finder *fi, uint32_t node)
{
	uint32_t f = fi->marks[node].frame;

	return fi->marks[node].role == LEAVE && f != NONE ? fi->loops->frames[f].outer : f;
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

/* The frame of that name inside `outer`. */
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
	if (loops->frame_count == fi->frame_capacity) {
		size_t capacity = 2 * fi->frame_capacity + 8;
		frame *frames = sp_arena_array(fi->im->scratch, capacity, sizeof(*frames));

		if (frames == NULL)
			return sp_import__no_memory(fi->im);
		if (loops->frame_count != 0)
			memcpy(frames, loops->frames, loops->frame_count * sizeof(*frames));
		loops->frames = frames;
		fi->frame_capacity = capacity;
	}
	*out = (uint32_t)loops->frame_count;
	loops->frames[loops->frame_count++] = (frame){
		.outer = outer, .depth = depth_of(fi, outer) + 1, .cond = NONE};
	return sp_map_put(&fi->frame_names, text, *out) == SP_MAP_NO_MEMORY
		       ? sp_import__no_memory(fi->im)
		       : SP_OK;
}

/* The role of a node by its operator alone; a Merge may turn out to be a variable's. */
static role role_of(const finder *fi, uint32_t node)
{
	const char *op = def_of(fi, node)->op;

	return is_one_of(op, "Enter")           ? ENTER
	       : is_one_of(op, "Exit")          ? LEAVE
	       : is_one_of(op, "NextIteration") ? NEXT
	       : strcmp(op, "LoopCond") == 0    ? COND
						: PLAIN;
}

/* The innermost frame among those of a node's inputs, which lie in each other. */
static bool frame_of_inputs(finder *fi, uint32_t node, uint32_t *out)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);

	*out = NONE;
	for (size_t i = 0; i < count; i++) {
		uint32_t f;

		if (edges[i].node == NONE || is_back_edge(fi, node, &edges[i]))
			continue;
		f = outer_frame(fi, edges[i].node);
		if (depth_of(fi, f) > depth_of(fi, *out)) {
			uint32_t shallow = *out;

			*out = f;
			f = shallow;
		}
		if (!is_inside(fi, *out, f))
			return refuse(fi, node,
				      "has inputs from loops that do not lie in each other");
	}
	return true;
}

static sp_status set_frames(finder *fi, bool *ok)
{
	*ok = true;
	for (size_t at = 0; at < fi->live_count && *ok; at++) {
		uint32_t node = fi->order[at], f;
		mark *m = &fi->marks[node];

		m->role = role_of(fi, node);
		m->merge = NONE;
		*ok = frame_of_inputs(fi, node, &f);
		if (*ok && m->role == ENTER)
			SP_TRY(enter_frame(fi, node, f, &f));
		m->frame = f;
		if (*ok && depth_of(fi, f) > MAX_FRAME_DEPTH)
			*ok = refuse(fi, node, "lies in too many loops");
		if (*ok && f == NONE && m->role != PLAIN)
			*ok = refuse(fi, node, "is in no loop");
	}
	return SP_OK;
}

/* ---------------------------------------------------------- the variables */

static sp_status add_merge(finder *fi, frame *f, uint32_t node)
{
	if (f->merge_count == f->merge_capacity) {
		size_t capacity = 2 * f->merge_capacity + 8;
		uint32_t *merges = sp_arena_array(fi->im->scratch, capacity, sizeof(*merges));

		if (merges == NULL)
			return sp_import__no_memory(fi->im);
		if (f->merge_count != 0)
			memcpy(merges, f->merges, f->merge_count * sizeof(*merges));
		f->merges = merges;
		f->merge_capacity = capacity;
	}
	fi->marks[node].role = MERGE;
	fi->marks[node].variable = (uint32_t)f->merge_count;
	f->merges[f->merge_count++] = node;
	return SP_OK;
}

/* A Merge of an Enter and a NextIteration of the same frame is a variable. */
static sp_status look_at_merge(finder *fi, uint32_t node, bool *ok)
{
	size_t count, data = 0;
	const edge *edges = edges_of(fi, node, &count);
	bool goes_back = false;

	for (size_t i = 0; i < count; i++) {
		data += !edges[i].control;
		goes_back |= is_back_edge(fi, node, &edges[i]);
	}
	if (!goes_back)
		return SP_OK;
	if (data != 2 || edges[0].control || edges[1].control || edges[0].node == NONE ||
	    edges[1].node == NONE || fi->marks[edges[0].node].role != ENTER ||
	    fi->marks[edges[1].node].role != NEXT ||
	    fi->marks[edges[1].node].frame != fi->marks[node].frame) {
		*ok = refuse(fi, node, "does not merge the way into a loop with its way back");
		return SP_OK;
	}
	if (fi->marks[edges[0].node].merge != NONE) {
		*ok = refuse(fi, node, "shares its way into the loop");
		return SP_OK;
	}
	fi->marks[edges[0].node].merge = node;
	return add_merge(fi, &fi->loops->frames[fi->marks[node].frame], node);
}

static bool look_at_cond(finder *fi, uint32_t node)
{
	frame *f = &fi->loops->frames[fi->marks[node].frame];

	if (f->cond != NONE)
		return refuse(fi, node, "is the second condition of its loop");
	f->cond = node;
	return true;
}

/* A Switch on a LoopCond switches a variable of that loop. */
static bool look_at_switch(finder *fi, uint32_t node)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);
	mark *m = &fi->marks[node];

	if (count < 2 || edges[1].control || edges[1].node == NONE ||
	    fi->marks[edges[1].node].role != COND)
		return true;
	if (edges[0].control || edges[0].node == NONE || fi->marks[edges[0].node].role != MERGE ||
	    fi->marks[edges[0].node].frame != m->frame ||
	    fi->marks[edges[1].node].frame != m->frame)
		return refuse(fi, node, "does not switch a variable of its loop");
	m->role = SWITCH;
	m->variable = fi->marks[edges[0].node].variable;
	return true;
}

static bool look_at_exit(finder *fi, uint32_t node)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);
	const mark *from = count != 0 && edges[0].node != NONE ? &fi->marks[edges[0].node] : NULL;

	if (from == NULL || from->role != SWITCH || edges[0].port != 0 || edges[0].control)
		return refuse(fi, node, "does not take a variable out of a loop");
	fi->marks[node].variable = from->variable;
	return true;
}

/* What may not be read: the end of a loop inside it, its way in or back by others than Merge. */
static bool check_readers(finder *fi, uint32_t node)
{
	size_t count;
	const edge *edges = edges_of(fi, node, &count);
	role reader = fi->marks[node].role;

	for (size_t i = 0; i < count; i++) {
		const mark *from = edges[i].node != NONE ? &fi->marks[edges[i].node] : NULL;

		if (from == NULL)
			continue;
		if (from->role == NEXT && !(reader == MERGE && !edges[i].control))
			return refuse(fi, node, "reads the next round of a loop");
		if (from->role == ENTER && from->merge != NONE && reader != MERGE &&
		    !edges[i].control)
			return refuse(fi, node, "reads a variable before the first round");
		if (from->role == MERGE && edges[i].port == 1)
			return refuse(fi, node, "asks where a variable comes from");
		if (from->role == SWITCH && edges[i].port == 0 && reader != LEAVE &&
		    !edges[i].control)
			return refuse(fi, node, "runs at the end of a loop only");
	}
	return true;
}

/* Four walks, as each needs the last one's roles. */
static sp_status find_variables(finder *fi, bool *ok)
{
	*ok = true;
	for (size_t at = 0; at < fi->live_count && *ok; at++)
		if (is_one_of(def_of(fi, fi->order[at])->op, "Merge"))
			SP_TRY(look_at_merge(fi, fi->order[at], ok));
		else if (fi->marks[fi->order[at]].role == COND)
			*ok = look_at_cond(fi, fi->order[at]);
	for (size_t at = 0; at < fi->live_count && *ok; at++)
		if (is_one_of(def_of(fi, fi->order[at])->op, "Switch"))
			*ok = look_at_switch(fi, fi->order[at]);
	for (size_t at = 0; at < fi->live_count && *ok; at++)
		if (fi->marks[fi->order[at]].role == LEAVE)
			*ok = look_at_exit(fi, fi->order[at]);
	for (size_t at = 0; at < fi->live_count && *ok; at++)
		*ok = check_readers(fi, fi->order[at]);
	for (size_t at = 0; at < fi->live_count && *ok; at++) {
		mark *m = &fi->marks[fi->order[at]];

		if (m->role != PLAIN && fi->loops->frames[m->frame].cond == NONE)
			*ok = refuse(fi, fi->order[at], "is in a loop without a condition");
		if (m->role == ENTER && m->merge != NONE)
			m->role = FIRST;
	}
	return SP_OK;
}

/* ---------------------------------------------------------- the condition */

/*
 * Marks what the condition of frame `number` needs.  A loop inside it belongs
 * there as a whole: from one of its Exits the walk goes on at all its Enters.
 */
static void walk_condition(finder *fi, uint32_t number, uint32_t *stack, const size_t *first_enter,
			   const uint32_t *enters)
{
	size_t depth = 0;

	stack[depth++] = fi->loops->frames[number].cond;
	while (depth != 0) {
		uint32_t node = stack[--depth];
		mark *m = &fi->marks[node];
		size_t count;
		const edge *edges = edges_of(fi, node, &count);

		if (m->role == LEAVE && m->frame != number) {
			frame *inner = &fi->loops->frames[m->frame];

			if (inner->is_walked)
				continue;
			inner->is_walked = inner->in_condition = true;
			for (size_t e = first_enter[m->frame]; e < first_enter[m->frame + 1]; e++) {
				edges = edges_of(fi, enters[e], &count);
				for (size_t i = 0; i < count; i++)
					if (edges[i].node != NONE &&
					    outer_frame(fi, edges[i].node) == number &&
					    !fi->marks[edges[i].node].in_condition) {
						fi->marks[edges[i].node].in_condition = true;
						stack[depth++] = edges[i].node;
					}
			}
			continue;
		}
		if (m->role == MERGE || m->role == ENTER || m->role == FIRST)
			continue;
		for (size_t i = 0; i < count; i++)
			if (edges[i].node != NONE && outer_frame(fi, edges[i].node) == number &&
			    !fi->marks[edges[i].node].in_condition) {
				fi->marks[edges[i].node].in_condition = true;
				stack[depth++] = edges[i].node;
			}
	}
}

static sp_status find_conditions(finder *fi)
{
	size_t frames = fi->loops->frame_count;
	size_t *first_enter = sp_arena_zeros(fi->im->scratch, frames + 2, sizeof(*first_enter));
	uint32_t *enters = sp_arena_array(fi->im->scratch, fi->live_count, sizeof(*enters));
	uint32_t *stack = sp_arena_array(fi->im->scratch, fi->live_count + 1, sizeof(*stack));

	if (first_enter == NULL || enters == NULL || stack == NULL)
		return sp_import__no_memory(fi->im);
	for (size_t at = 0; at < fi->live_count; at++) {
		const mark *m = &fi->marks[fi->order[at]];

		if (m->role == ENTER || m->role == FIRST)
			first_enter[m->frame + 2]++;
	}
	for (size_t f = 2; f < frames + 2; f++)
		first_enter[f] += first_enter[f - 1];
	for (size_t at = 0; at < fi->live_count; at++) {
		const mark *m = &fi->marks[fi->order[at]];

		if (m->role == ENTER || m->role == FIRST)
			enters[first_enter[m->frame + 1]++] = fi->order[at];
	}
	for (uint32_t f = 0; f < frames; f++)
		if (fi->loops->frames[f].cond != NONE)
			walk_condition(fi, f, stack, first_enter, enters);
	return SP_OK;
}

/* -------------------------------------------------------------- the owners */

/* Whether the way back of a variable brings what the variable already holds. */
static bool is_constant(const finder *fi, uint32_t merge)
{
	size_t count;
	uint32_t node = edges_of(fi, merge, &count)[1].node; /* its NextIteration */

	for (int hops = 0; hops < 64; hops++) {
		const edge *edges = edges_of(fi, node, &count);
		const char *op;

		if (count == 0 || edges[0].node == NONE)
			return false;
		node = edges[0].node;
		if (fi->marks[node].role == SWITCH)
			return fi->marks[node].frame == fi->marks[merge].frame &&
			       fi->marks[node].variable == fi->marks[merge].variable;
		op = def_of(fi, node)->op;
		if (strcmp(op, "Identity") != 0 && strcmp(op, "RefIdentity") != 0)
			return false;
	}
	return false;
}

static const char *variable_input(const finder *fi, uint32_t merge, size_t i)
{
	size_t count;
	const edge *edges = edges_of(fi, merge, &count);

	return sp_import__data_input(def_of(fi, edges[i].node), 0);
}

static sp_status make_owner(finder *fi, uint32_t number)
{
	frame *f = &fi->loops->frames[number];
	sp_owner *owner = sp_arena_zeros(fi->im->scratch, 1, sizeof(*owner));

	f->owner = owner;
	if (owner == NULL)
		return sp_import__no_memory(fi->im);
	*owner = (sp_owner){.kind = SP_OWNER_LOOP,
			    .in = fi->scope,
			    .node = f->cond,
			    .variable_count = f->merge_count};
	owner->variables = sp_arena_zeros(fi->im->scratch, f->merge_count,
					  sizeof(*owner->variables));
	if (owner->variables == NULL)
		return sp_import__no_memory(fi->im);
	for (size_t i = 0; i < f->merge_count; i++) {
		sp_variable *v = &owner->variables[i];

		v->first = variable_input(fi, f->merges[i], 0);
		v->next = variable_input(fi, f->merges[i], 1);
		v->merge = def_of(fi, f->merges[i])->name;
		v->is_constant = is_constant(fi, f->merges[i]);
		if (v->first == NULL || v->next == NULL) {
			refuse(fi, f->merges[i], "lacks an input");
			return SP_OK;
		}
	}
	sp_import__number_variables(owner);
	return SP_OK;
}

/* The control edges of what a loop is made of become its own. */
static sp_status gather_controls(finder *fi)
{
	const char **list = NULL;
	size_t *counts = sp_arena_zeros(fi->im->scratch, fi->loops->frame_count, sizeof(*counts));

	if (counts == NULL)
		return sp_import__no_memory(fi->im);
	for (int fill = 0; fill < 2; fill++) {
		for (size_t at = 0; at < fi->live_count; at++) {
			const mark *m = &fi->marks[fi->order[at]];
			const sp_node_def *def = def_of(fi, fi->order[at]);

			if (m->role == PLAIN)
				continue;
			for (size_t i = 0; i < def->input_count; i++)
				if (def->inputs[i][0] == '^') {
					sp_owner *owner = fi->loops->frames[m->frame].owner;

					if (fill)
						((const char **)
							 owner->controls)[owner->control_count++] =
							def->inputs[i];
					else
						counts[m->frame]++;
				}
		}
		for (size_t f = 0; !fill && f < fi->loops->frame_count; f++) {
			list = sp_arena_array(fi->im->scratch, counts[f], sizeof(*list));
			if (list == NULL)
				return sp_import__no_memory(fi->im);
			fi->loops->frames[f].owner->controls = list;
		}
	}
	return SP_OK;
}

static sp_status make_owners(finder *fi)
{
	for (uint32_t f = 0; f < fi->loops->frame_count; f++)
		SP_TRY(make_owner(fi, f));
	return gather_controls(fi);
}

/* ------------------------------------------------------------- the finding */

static sp_status find(finder *fi, const char *const *wanted, size_t wanted_count)
{
	bool ok = true;

	SP_TRY(find_live(fi, wanted, wanted_count));
	if (!fi->has_enter)
		return SP_OK;
	SP_TRY(sort(fi, &ok));
	if (ok)
		SP_TRY(set_frames(fi, &ok));
	if (ok)
		SP_TRY(find_variables(fi, &ok));
	if (!ok)
		return SP_OK;
	SP_TRY(find_conditions(fi));
	SP_TRY(make_owners(fi));
	for (size_t i = 0; i < wanted_count && fi->scope->function != NULL; i++) {
		edge e;

		if (resolve(fi, wanted[i], &e) && e.node != NONE && outer_frame(fi, e.node) != NONE)
			refuse(fi, e.node, "is returned from inside a loop");
	}
	if (fi->scope->loops_error == NULL)
		fi->scope->loops = fi->loops;
	return SP_OK;
}

static bool may_have_loops(const sp_scope *scope)
{
	for (size_t i = 0; i < scope->node_count; i++)
		if (is_one_of(scope->nodes[i].op, "Enter"))
			return true;
	return false;
}

sp_status sp_import__find_loops(sp_importer *im, sp_scope *scope, const char *const *wanted,
				size_t wanted_count)
{
	finder fi = {.im = im, .scope = scope};
	size_t nodes = scope->node_count;

	if (!may_have_loops(scope))
		return SP_OK;
	fi.loops = sp_arena_zeros(im->scratch, 1, sizeof(*fi.loops));
	fi.marks = sp_arena_zeros(im->scratch, nodes, sizeof(*fi.marks));
	fi.first_edge = sp_arena_zeros(im->scratch, nodes, sizeof(*fi.first_edge));
	fi.order = sp_arena_array(im->scratch, nodes, sizeof(*fi.order));
	if (fi.loops == NULL || fi.marks == NULL || fi.first_edge == NULL || fi.order == NULL)
		return sp_import__no_memory(im);
	for (size_t i = 0; i < nodes; i++)
		fi.marks[i].frame = NONE;
	fi.loops->marks = fi.marks;
	sp_map_init(&fi.frame_names, im->scratch);
	return find(&fi, wanted, wanted_count);
}

/* --------------------------------------------------------------- the asking */

bool sp_import__in_loop(const sp_scope *scope, uint32_t node)
{
	const mark *m;

	if (scope->loops == NULL)
		return false;
	m = &scope->loops->marks[node];
	if (m->frame == NONE || m->role == COND)
		return m->frame != NONE;
	return m->role != LEAVE || scope->loops->frames[m->frame].outer != NONE;
}

uint32_t sp_import__loop_region(const sp_scope *scope, uint32_t node)
{
	const mark *m = &scope->loops->marks[node];
	uint32_t f = m->frame;
	bool in_condition = m->in_condition;

	/* The loop itself stands outside of it. */
	if (f != NONE && m->role == COND) {
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
	const mark *m = &scope->loops->marks[node];
	const frame *f = m->frame != NONE ? &scope->loops->frames[m->frame] : NULL;
	const sp_variable *v;

	*out = (sp_loop_meaning){0};
	switch (m->role) {
	case PLAIN:
		return false;
	case ENTER:
	case FIRST:
	case COND:
	case NEXT:
		out->ref = sp_import__data_input(&scope->nodes[node], 0);
		return out->ref != NULL;
	case MERGE:
	case SWITCH:
	case LEAVE:
		break;
	}
	v = &f->owner->variables[m->variable];
	if (v->is_constant && !(control && m->role == LEAVE)) {
		out->ref = v->first;
		return true;
	}
	if (m->role != LEAVE) {
		out->variable = v;
		return true;
	}
	out->is_output = true;
	out->loop = f->cond;
	out->port = v->number;
	return true;
}

sp_status sp_import__open_loop(sp_importer *im, sp_scope *scope, uint32_t cond)
{
	const mark *m = &scope->loops->marks[cond];
	sp_owner *owner = m->role == COND ? scope->loops->frames[m->frame].owner : NULL;

	if (owner == NULL)
		return SP_OK; /* not a loop's that anything needs */
	owner->region_count = 2;
	SP_TRY(sp_import__add_regions(im, sp_import__loop_region(scope, cond), 2,
				      &owner->first_region));
	im->graph->around[owner->first_region + 1] = owner->first_region;
	scope->places[cond].owner = owner;
	return SP_OK;
}
