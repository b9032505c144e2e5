#include "engine/first_come.h"
#include "engine/static_shapes_internal.h"

/*
 * What operators want to be equal, in the way of TensorFlow's SymbolicShapeManager, down to what it
 * forgets: classes are trees, what a class is called stands at the root, and the root of the higher
 * tree stays.  A root that has no name yet takes that of the two that have just been found equal,
 * and not that of the other root.
 *
 * So it counts what comes first, and TensorFlow has its nodes in another order than we: first come,
 * first served, from those that wait for nobody.
 */

typedef sp_static_shape shape;

/* ------------------------------------------------------------------ shapes */

static bool make_room_for_handle(sp_shape_inference *in)
{
	size_t needed = 2 * in->handle_count + 64;
	sp_shape_class *classes;

	if (in->handle_count < in->handle_room)
		return true;
	classes = sp_arena_array(in->arena, needed, sizeof(*classes));
	if (classes == NULL)
		return false;
	for (size_t i = 1; i < in->handle_count; i++)
		classes[i] = in->classes[i];
	in->classes = classes;
	in->handle_room = needed;
	return true;
}

void sp_shapes__give_handle(sp_shape_inference *in, shape *of)
{
	uint32_t handle = (uint32_t)in->handle_count;

	if (of->rank == SP_RANK_UNKNOWN || of->handle != 0)
		return;
	if (!make_room_for_handle(in)) {
		in->out_of_memory = true;
		return;
	}
	of->handle = handle;
	in->classes[handle] = (sp_shape_class){.own = *of, .parent = handle, .called = handle};
	in->handle_count++;
}

/* Trees get lower on the way. */
static uint32_t root_of(sp_shape_inference *in, uint32_t handle)
{
	sp_shape_class *classes = in->classes;

	while (classes[handle].parent != handle) {
		classes[handle].parent = classes[classes[handle].parent].parent;
		handle = classes[handle].parent;
	}
	return handle;
}

static void join(sp_shape_inference *in, uint32_t a, uint32_t b)
{
	uint32_t root = root_of(in, a), other = root_of(in, b);
	sp_shape_class *classes = in->classes;

	if (root == other)
		return;
	if (classes[root].height < classes[other].height) {
		join(in, b, a);
		return;
	}
	classes[root].height += classes[root].height == classes[other].height;
	classes[other].parent = root;
	if (classes[classes[root].called].own.rank < 0)
		classes[root].called = classes[a].own.rank >= 0 ? a : b;
}

/* -------------------------------------------------------------- dimensions */

/* Of the last name there is none yet. */
static size_t index_of(int64_t name)
{
	return (size_t)(SP_SOME_SIZE - 1 - name);
}

static int64_t name_at(size_t index)
{
	return SP_SOME_SIZE - 1 - (int64_t)index;
}

static bool make_room_for_name(sp_shape_inference *in, int64_t name)
{
	size_t room = in->name_room, needed = 2 * (index_of(name) + 32);
	sp_name_class *names;

	if (index_of(name) < room)
		return true;
	names = sp_arena_array(in->arena, needed, sizeof(*names));
	if (names == NULL)
		return false;
	for (size_t i = 0; i < needed; i++)
		names[i] = i < room ? in->names[i]
				    : (sp_name_class){.parent = name_at(i), .called = name_at(i)};
	in->names = names;
	in->name_room = needed;
	return true;
}

static int64_t root_of_name(sp_name_class *names, int64_t name)
{
	while (names[index_of(name)].parent != name) {
		sp_name_class *at = &names[index_of(name)];

		at->parent = names[index_of(at->parent)].parent;
		name = at->parent;
	}
	return name;
}

/* Each number that stands somewhere is a dimension for itself, and the only one of its class. */
static void call_by_number(sp_shape_inference *in, int64_t name, int64_t number)
{
	sp_name_class *root = &in->names[index_of(root_of_name(in->names, name))];

	if (root->height == 0)
		root->height = 1;
	if (root->called >= 0 && root->called != number)
		in->contradicted = true;
	root->called = number;
}

static void join_names(sp_shape_inference *in, int64_t a, int64_t b)
{
	int64_t root = root_of_name(in->names, a), other = root_of_name(in->names, b);
	sp_name_class *of_root = &in->names[index_of(root)];
	sp_name_class *of_other = &in->names[index_of(other)];

	if (root == other)
		return;
	if (of_root->height < of_other->height) {
		join_names(in, b, a);
		return;
	}
	of_root->height += of_root->height == of_other->height;
	of_other->parent = root;
}

static void unify(sp_shape_inference *in, int64_t a, int64_t b)
{
	int64_t last = a < b ? a : b;

	if (!make_room_for_name(in, last))
		in->out_of_memory = true;
	else if (a < 0 && b < 0)
		join_names(in, a, b);
	else
		call_by_number(in, last, a < 0 ? b : a);
}

/* -------------------------------------------------------------- the wishes */

static void wish(sp_shape_inference *in, sp_shape_wish one)
{
	size_t needed = 2 * in->wish_count + 64;
	sp_shape_wish *wishes;

	if (in->wish_count == in->wish_room) {
		wishes = sp_arena_array(in->arena, needed, sizeof(*wishes));
		if (wishes == NULL) {
			in->out_of_memory = true;
			return;
		}
		for (size_t i = 0; i < in->wish_count; i++)
			wishes[i] = in->wishes[i];
		in->wishes = wishes;
		in->wish_room = needed;
	}
	one.node = in->at;
	in->wishes[in->wish_count++] = one;
}

void sp_shapes__equate(sp_shape_inference *in, shape *a, shape *b)
{
	sp_shapes__give_handle(in, a);
	sp_shapes__give_handle(in, b);
	if (in->out_of_memory || a->handle == 0 || b->handle == 0)
		return;
	wish(in, (sp_shape_wish){.of_shapes = true, .a = a->handle, .b = b->handle});
	sp_shapes__unify_all(in, a, b);
}

void sp_shapes__unify_all(sp_shape_inference *in, const shape *a, const shape *b)
{
	for (int32_t i = 0; a->rank == b->rank && i < a->rank; i++)
		sp_shapes__unify(in, a->dims[i], b->dims[i]);
}

void sp_shapes__unify(sp_shape_inference *in, int64_t a, int64_t b)
{
	if (a != b && a != SP_SOME_SIZE && b != SP_SOME_SIZE && (a < 0 || b < 0))
		wish(in, (sp_shape_wish){.a = a, .b = b});
}

void sp_shapes__begin_classes(sp_shape_inference *in)
{
	in->handle_count = 1;
	in->wish_count = 0;
}

/* Those of a node stand together. */
static void grant_wishes_of(sp_shape_inference *in, uint32_t node, size_t first)
{
	for (size_t i = first; i < in->wish_count && in->wishes[i].node == node; i++) {
		const sp_shape_wish *one = &in->wishes[i];

		if (one->of_shapes)
			join(in, (uint32_t)one->a, (uint32_t)one->b);
		else
			unify(in, one->a, one->b);
	}
}

static bool grant_wishes(sp_shape_inference *in)
{
	size_t count = in->graph->node_count;
	uint32_t *order = sp_graph_first_come(in->graph, in->arena);
	size_t *first = sp_arena_array(in->arena, count, sizeof(*first));

	if (order == NULL || first == NULL)
		return false;
	for (size_t i = 0; i < count; i++)
		first[i] = in->wish_count;
	for (size_t i = in->wish_count; i-- > 0;)
		first[in->wishes[i].node] = i;
	for (size_t i = 0; i < count; i++)
		grant_wishes_of(in, order[i], first[order[i]]);
	return !in->out_of_memory;
}

/* --------------------------------------------------------------- the answer */

static int64_t told_dim(sp_shape_inference *in, int64_t dim)
{
	return dim < SP_SOME_SIZE && index_of(dim) < in->name_room
		       ? in->names[index_of(root_of_name(in->names, dim))].called
		       : dim;
}

sp_status sp_shapes__tell_classes(sp_shape_inference *in, const shape **told)
{
	shape *all = sp_arena_array(in->arena, in->handle_count, sizeof(*all));

	if (all == NULL || !grant_wishes(in))
		return SP_NO_MEMORY;
	all[0] = sp_shapes__unknown();
	for (uint32_t i = 1; i < in->handle_count; i++) {
		uint32_t called = in->contradicted ? i : in->classes[root_of(in, i)].called;

		all[i] = in->classes[called].own;
		for (int32_t k = 0; k < all[i].rank && !in->contradicted; k++)
			all[i].dims[k] = told_dim(in, all[i].dims[k]);
	}
	*told = all;
	return SP_OK;
}
