#include "engine/regroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/op.h"
#include "engine/optimizer_names.h"
#include "engine/reduce_strength.h"
#include "engine/static_shapes.h"

/* Trees with more shapes than this stay as they are; there are two or three. */
enum { MOST_SHAPES = 8 };

typedef struct leaf {
	sp_port port;
	sp_static_shape shape;
} leaf;

typedef struct regrouping {
	sp_graph *graph;
	const bool *fed, *kept;
	bool sums; /* or products */
	sp_static_shapes shapes;
	uint32_t *readers; /* [nodes] edges from nodes that are run */
	bool *awaited;     /* [nodes] a node waits for it */
	bool *added;       /* [nodes] not run, or of a tree whose sums were looked at */
	bool *paired;      /* [nodes] the same for pairs; what was added is not paired any more */
	sp_optimizer_names names;
	sp_error *err;

	/* The tree at hand. */
	leaf *leaves; /* [edges] from left to right */
	size_t leaf_count;
	leaf *open;         /* [edges + 1] to look at, the next one last */
	uint32_t *absorbed; /* [nodes] */
	size_t absorbed_count;
	uint32_t piles[MOST_SHAPES]; /* a leaf of each shape */
	size_t pile_count;
} regrouping;

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
}

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

/* ------------------------------------------------------------------- shapes */

/* Whether `shape` is `whole` but for what is repeated. */
static bool fits(const sp_static_shape *shape, const sp_static_shape *whole)
{
	int32_t shift = whole->rank - shape->rank;

	if (shape->rank < 0 || shift < 0)
		return false;
	for (int32_t i = 0; i < shape->rank; i++)
		if (shape->dims[i] != whole->dims[i + shift] && shape->dims[i] != 1)
			return false;
	return true;
}

static bool equal(const sp_static_shape *a, const sp_static_shape *b)
{
	return a->rank == b->rank && a->rank >= 0 &&
	       memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(a->dims[0])) == 0;
}

/* The product of the sizes, and how many names of `shape` the other does not have. */
static double known_size(const sp_static_shape *shape, const sp_static_shape *other, int *names)
{
	bool met[SP_MAX_RANK] = {false};
	double size = 1;

	*names = 0;
	for (int32_t i = 0; i < shape->rank; i++) {
		int32_t k = 0;

		if (shape->dims[i] > 0)
			size *= (double)shape->dims[i];
		if (shape->dims[i] >= 0)
			continue;
		while (k < other->rank && (met[k] || other->dims[k] != shape->dims[i]))
			k++;
		if (k < other->rank)
			met[k] = true;
		else
			++*names;
	}
	return size;
}

/* Whether TensorFlow takes `a` for the smaller one; of some pairs it takes neither. */
static bool is_smaller(const sp_static_shape *a, const sp_static_shape *b)
{
	int names_of_a, names_of_b;
	double size_of_a = known_size(a, b, &names_of_a), size_of_b = known_size(b, a, &names_of_b);

	if (names_of_a == 0 && names_of_b == 0)
		return size_of_a < size_of_b;
	return names_of_a == 0 && size_of_a <= size_of_b;
}

/* -------------------------------------------------------------- the trees */

static bool is_taken(const sp_node *node, sp_dtype *dtype)
{
	return node->op != NULL &&
	       sp_node_attr_type(node, "T", SP_INVALID_DTYPE, dtype, NULL) == SP_OK &&
	       (*dtype == SP_FLOAT || *dtype == SP_DOUBLE || *dtype == SP_HALF ||
		*dtype == SP_BFLOAT16);
}

/* An operator that takes two in any order. */
static bool is_pair(const sp_node *node, sp_dtype *dtype)
{
	return node->input_count == 2 &&
	       (is_op(node, "Add") || is_op(node, "AddV2") || is_op(node, "Mul")) &&
	       is_taken(node, dtype);
}

static bool is_sum(const sp_node *node, sp_dtype *dtype)
{
	if (is_op(node, "AddN"))
		return node->input_count != 0 && is_taken(node, dtype);
	return !is_op(node, "Mul") && is_pair(node, dtype);
}

/* The shape that input k of an operator has if that is not refused. */
static sp_static_shape shape_of_input(const regrouping *r, uint32_t i, size_t k)
{
	const sp_node *node = &r->graph->nodes[i];

	return is_op(node, "AddN") ? r->shapes.shapes[i]
				   : sp_static_shape_of(&r->shapes, node->inputs[k]);
}

/* An operator whose inputs are known to fit what it makes. */
static bool is_fitting(const regrouping *r, uint32_t i)
{
	const sp_node *node = &r->graph->nodes[i];

	if (r->fed[i] || node->control_count != 0)
		return false;
	for (size_t k = 0; k < node->input_count; k++) {
		sp_static_shape shape = shape_of_input(r, i, k);

		if (!fits(&shape, &r->shapes.shapes[i]))
			return false;
	}
	return true;
}

/* Whether a tree may put node i elsewhere. */
static bool is_free(const regrouping *r, uint32_t i)
{
	return !r->added[i] && !r->kept[i] && !r->awaited[i] && is_fitting(r, i);
}

/*
 * Whether the tree of `root` takes what `port` is; `op` is NULL for sums of any kind.  What runs
 * elsewhere stays there.
 */
static bool is_absorbed(const regrouping *r, uint32_t root, sp_port port, const char *op,
			sp_dtype dtype)
{
	const sp_node *node = &r->graph->nodes[port.node];
	sp_dtype other;

	return port.port == 0 && r->readers[port.node] == 1 &&
	       node->region == r->graph->nodes[root].region &&
	       (op == NULL ? is_sum(node, &other)
			   : !r->paired[port.node] && is_pair(node, &other) && is_op(node, op) &&
				     sp_node_attr(node, SP_LATE_PRODUCT) == NULL) &&
	       other == dtype && is_free(r, port.node);
}

static bool comes_first(const regrouping *r, const sp_node *reader, sp_port a, sp_port b)
{
	const char *first = sp_optimizer_name_of(&r->names, reader, a);
	const char *second = sp_optimizer_name_of(&r->names, reader, b);

	return first == NULL || second == NULL || strcmp(first, second) <= 0;
}

/* The inputs of node i are next, two of them in the order of their names. */
static void open_inputs(regrouping *r, uint32_t i, size_t *open)
{
	const sp_node *node = &r->graph->nodes[i];
	bool swap = node->input_count == 2 &&
		    !comes_first(r, node, node->inputs[0], node->inputs[1]);

	for (size_t left = node->input_count; left-- > 0;) {
		size_t k = swap ? 1 - left : left;

		r->open[(*open)++] = (leaf){node->inputs[k], shape_of_input(r, i, k)};
	}
}

static void grow_tree(regrouping *r, uint32_t root, const char *op, sp_dtype dtype)
{
	size_t open = 0;

	r->leaf_count = r->absorbed_count = 0;
	open_inputs(r, root, &open);
	while (open != 0) {
		leaf next = r->open[--open];

		if (!is_absorbed(r, root, next.port, op, dtype)) {
			r->leaves[r->leaf_count++] = next;
			continue;
		}
		r->absorbed[r->absorbed_count++] = next.port.node;
		open_inputs(r, next.port.node, &open);
	}
	for (size_t i = 0; i < r->absorbed_count; i++) {
		bool *seen = op == NULL ? r->added : r->paired;

		seen[r->absorbed[i]] = seen[root] = true;
	}
}

static const sp_static_shape *shape_of_pile(const regrouping *r, size_t pile)
{
	return &r->leaves[r->piles[pile]].shape;
}

static size_t pile_of(const regrouping *r, const leaf *one)
{
	size_t pile = 0;

	while (pile < r->pile_count && !equal(&one->shape, shape_of_pile(r, pile)))
		pile++;
	return pile;
}

/* Sorts the leaves by shape; false if there are too many, or one does not fit the root's. */
static bool pile_leaves(regrouping *r, uint32_t root)
{
	r->pile_count = 0;
	for (uint32_t i = 0; i < r->leaf_count; i++) {
		size_t pile = pile_of(r, &r->leaves[i]);

		if (pile == MOST_SHAPES || !fits(&r->leaves[i].shape, &r->shapes.shapes[root]))
			return false;
		if (pile == r->pile_count)
			r->piles[r->pile_count++] = i;
	}
	return true;
}

/*
 * From the smallest to the largest.  False where TensorFlow's order hangs on how its tables lie in
 * memory: that of the first two is free, as they are added to each other.
 */
static bool sort_piles(regrouping *r)
{
	for (size_t i = 1; i < r->pile_count; i++)
		for (size_t k = i;
		     k > 0 && is_smaller(shape_of_pile(r, k), shape_of_pile(r, k - 1)); k--) {
			uint32_t other = r->piles[k];

			r->piles[k] = r->piles[k - 1];
			r->piles[k - 1] = other;
		}
	for (size_t i = 0; i < r->pile_count; i++)
		for (size_t k = i + 1; k < r->pile_count; k++)
			if (k > 1 && !is_smaller(shape_of_pile(r, i), shape_of_pile(r, k)))
				return false;
	return true;
}

/* ---------------------------------------------------------------- new sums */

/* What TensorFlow calls a node that it makes in place of `old`. */
static const char *new_name(sp_arena *arena, const char *rule, const char *old)
{
	const char *slash = strrchr(old, '/');
	int scope = slash != NULL ? (int)(slash + 1 - old) : 0;

	return sp_arena_printf(arena, "%.*sArithmeticOptimizer/%s_%s", scope, old, rule,
			       old + scope);
}

/* The same for a part of a tree, or for all of it: what is left to write then is nothing. */
static const char *part_name(const regrouping *r, const char *root, size_t left, const char *part,
			     size_t number)
{
	char rule[64] = "AddOpsRewrite";

	if (left != 0)
		snprintf(rule, sizeof(rule), "AddOpsRewrite_%s_%zu", part, number);
	return new_name(r->graph->arena, rule, root);
}

/* Node i becomes the sum of `inputs`. */
static sp_status write_sum(regrouping *r, uint32_t i, const sp_port *inputs, size_t count,
			   sp_dtype dtype, const char *name)
{
	sp_node *node = &r->graph->nodes[i];
	sp_attr *attrs = sp_arena_array(r->graph->arena, 2, sizeof(*attrs));

	if (attrs == NULL || name == NULL)
		return no_memory(r->err);
	attrs[0] = (sp_attr){.name = "T", .kind = SP_ATTR_TYPE, .type = dtype};
	attrs[1] = (sp_attr){.name = "N", .kind = SP_ATTR_INT, .i = (int64_t)count};
	node->op_name = count == 2 ? "AddV2" : "AddN";
	node->op = sp_op_find(node->op_name);
	node->inputs = inputs;
	node->input_count = count;
	node->attrs = attrs;
	node->attr_count = count == 2 ? 1 : 2;
	r->names.own[i] = name;
	return SP_OK;
}

/* The next node of the tree to write to: the root is the last of `left`. */
static uint32_t take_node(regrouping *r, uint32_t root, size_t *left)
{
	return --*left == 0 ? root : r->absorbed[*left - 1];
}

/* The sum of a pile of `count` leaves, which takes a node if there are several. */
static sp_status add_pile(regrouping *r, const leaf *first, size_t count, uint32_t i,
			  sp_dtype dtype, const char *name)
{
	sp_port *inputs = sp_arena_array(r->graph->arena, count, sizeof(*inputs));
	size_t found = 0;

	if (inputs == NULL)
		return no_memory(r->err);
	for (const leaf *one = first; found < count; one++)
		if (equal(&one->shape, &first->shape))
			inputs[found++] = one->port;
	return write_sum(r, i, inputs, count, dtype, name);
}

static sp_status add_two(regrouping *r, sp_port a, sp_port b, uint32_t i, sp_dtype dtype,
			 const char *name)
{
	sp_port *inputs = sp_arena_array(r->graph->arena, 2, sizeof(*inputs));

	if (inputs == NULL)
		return no_memory(r->err);
	inputs[0] = a;
	inputs[1] = b;
	return write_sum(r, i, inputs, 2, dtype, name);
}

/* How many leaves each pile has; returns how many nodes their sum takes. */
static size_t count_leaves(const regrouping *r, size_t counts[MOST_SHAPES])
{
	size_t nodes = r->pile_count - 1;

	memset(counts, 0, MOST_SHAPES * sizeof(*counts));
	for (size_t i = 0; i < r->leaf_count; i++)
		nodes += ++counts[pile_of(r, &r->leaves[i])] == 2;
	return nodes;
}

static sp_status write_tree(regrouping *r, uint32_t root, sp_dtype dtype)
{
	const char *name = r->names.own[root];
	size_t counts[MOST_SHAPES], left = count_leaves(r, counts);
	sp_port sum = {0};
	uint32_t i;

	if (left == 0 || left > r->absorbed_count + 1)
		return SP_OK;
	for (size_t pile = 0; pile < r->pile_count; pile++) {
		const leaf *first = &r->leaves[r->piles[pile]];
		sp_port one = first->port;

		if (counts[pile] > 1) {
			one = (sp_port){take_node(r, root, &left), 0};
			SP_TRY(add_pile(r, first, counts[pile], one.node, dtype,
					part_name(r, name, left, "Leaf", pile)));
		}
		if (pile == 0) {
			sum = one;
			continue;
		}
		i = take_node(r, root, &left);
		SP_TRY(add_two(r, sum, one, i, dtype,
			       part_name(r, name, left, "Internal", pile - 1)));
		sum = (sp_port){i, 0};
	}
	return SP_OK;
}

static sp_status regroup_sum(regrouping *r, uint32_t root, sp_dtype dtype)
{
	grow_tree(r, root, NULL, dtype);
	if (r->absorbed_count == 0 || !pile_leaves(r, root) || !sort_piles(r))
		return SP_OK;
	return write_tree(r, root, dtype);
}

/* ------------------------------------------------------- small things first */

/* Whether a sort by size has but one outcome. */
static bool is_order(const regrouping *r)
{
	bool less[MOST_SHAPES][MOST_SHAPES];
	size_t n = r->pile_count;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			less[i][k] = is_smaller(shape_of_pile(r, i), shape_of_pile(r, k));
	for (size_t i = 0; i < n * n * n; i++) {
		size_t a = i % n, b = i / n % n, c = i / n / n;
		bool apart = less[a][c] || less[c][a];

		if ((less[a][b] && less[b][c] && !less[a][c]) ||
		    (apart && !less[a][b] && !less[b][a] && !less[b][c] && !less[c][b]))
			return false;
	}
	return true;
}

/* The leaves in `open`, from the smallest to the largest; those of one size stay in their order. */
static void sort_leaves(regrouping *r)
{
	size_t ranks[MOST_SHAPES] = {0}, count = 0;

	for (size_t i = 0; i < r->pile_count; i++)
		for (size_t k = 0; k < r->pile_count; k++)
			ranks[i] += is_smaller(shape_of_pile(r, k), shape_of_pile(r, i));
	for (size_t rank = 0; rank < r->pile_count; rank++)
		for (size_t i = 0; i < r->leaf_count; i++)
			if (ranks[pile_of(r, &r->leaves[i])] == rank)
				r->open[count++] = r->leaves[i];
}

static sp_status set_inputs(regrouping *r, uint32_t i, sp_port a, sp_port b)
{
	sp_port *inputs = sp_arena_array(r->graph->arena, 2, sizeof(*inputs));

	if (inputs == NULL)
		return no_memory(r->err);
	inputs[0] = a;
	inputs[1] = b;
	r->graph->nodes[i].inputs = inputs;
	r->shapes.shapes[i].rank =
		SP_RANK_UNKNOWN; /* it has another one now, which TensorFlow forgets, too */
	return SP_OK;
}

/*
 * Joins the sorted leaves two by two: the first two, and what comes of it goes to the end, or to
 * the front again where the next two differ in size.  Of an odd number the largest joins last.
 */
static sp_status pair_leaves(regrouping *r, uint32_t root)
{
	size_t first = 0, end = r->leaf_count & ~(size_t)1, left = r->absorbed_count;
	leaf *queue = r->open, last = queue[r->leaf_count - 1];

	while (end - first > 1) {
		uint32_t i = left != 0 ? r->absorbed[--left] : root;

		SP_TRY(set_inputs(r, i, queue[first].port, queue[first + 1].port));
		first += 2;
		if (end - first >= 2 && is_smaller(&queue[first].shape, &queue[first + 1].shape))
			queue[--first] = (leaf){.port = {i, 0}};
		else
			queue[end++] = (leaf){.port = {i, 0}};
	}
	return r->leaf_count % 2 != 0 ? set_inputs(r, root, queue[first].port, last.port) : SP_OK;
}

static sp_status regroup_pairs(regrouping *r, uint32_t root, sp_dtype dtype)
{
	grow_tree(r, root, r->graph->nodes[root].op_name, dtype);
	if (r->absorbed_count == 0 || !pile_leaves(r, root) || r->pile_count < 2 || !is_order(r))
		return SP_OK;
	sort_leaves(r);
	return pair_leaves(r, root);
}

static sp_status look_at(regrouping *r, uint32_t i)
{
	const sp_node *node = &r->graph->nodes[i];
	sp_dtype dtype;

	if (r->sums && is_sum(node, &dtype) && is_free(r, i))
		SP_TRY(regroup_sum(r, i, dtype));
	if (is_pair(node, &dtype) && r->sums != is_op(node, "Mul") && !r->added[i] &&
	    !r->paired[i] && is_fitting(r, i))
		SP_TRY(regroup_pairs(r, i, dtype));
	return SP_OK;
}

/* ---------------------------------------------------------- order of names */

typedef struct named {
	const char *name; /* "node", or "node:1" of another output than the first */
	sp_port port;
} named;

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* What it is called in the last passes, in which x * x has been made a square. */
static const char *last_name_of(const regrouping *r, sp_arena *scratch, const sp_node *reader,
				sp_port port)
{
	const sp_node *node = &r->graph->nodes[port.node];
	const char *name = sp_optimizer_name_of(&r->names, reader, port);

	if (name != NULL && is_op(node, "Mul") && node->input_count == 2 && !r->fed[port.node] &&
	    node->inputs[0].node == node->inputs[1].node &&
	    node->inputs[0].port == node->inputs[1].port)
		return new_name(scratch, "ReplaceMulWithSquare", name);
	return name;
}

static sp_status sort_inputs(regrouping *r, sp_arena *scratch, sp_node *node, bool last)
{
	sp_port *inputs = sp_arena_array(r->graph->arena, node->input_count, sizeof(*inputs));
	named *list = sp_arena_array(scratch, node->input_count, sizeof(*list));

	if (inputs == NULL || list == NULL)
		return no_memory(r->err);
	for (size_t k = 0; k < node->input_count; k++) {
		sp_port port = node->inputs[k];

		list[k] = (named){last ? last_name_of(r, scratch, node, port)
				       : sp_optimizer_name_of(&r->names, node, port),
				  port};
		if (list[k].name == NULL)
			return no_memory(r->err);
	}
	qsort(list, node->input_count, sizeof(*list), compare_names);
	for (size_t k = 0; k < node->input_count; k++)
		inputs[k] = list[k].port;
	node->inputs = inputs;
	return SP_OK;
}

static sp_status sort_all_inputs(regrouping *r, sp_arena *scratch, bool last)
{
	for (size_t i = 0; i < r->graph->node_count; i++) {
		sp_node *node = &r->graph->nodes[i];
		sp_dtype dtype;

		if (is_op(node, "AddN") && is_sum(node, &dtype))
			SP_TRY(sort_inputs(r, scratch, node, last));
	}
	return SP_OK;
}

/* -------------------------------------------------------------------- walk */

static void wake(uint32_t i, bool *live, uint32_t *found, size_t *count)
{
	if (live[i])
		return;
	live[i] = true;
	found[(*count)++] = i;
}

/* Which nodes kept ones need. */
static bool *find_live(regrouping *r, sp_arena *scratch)
{
	bool *live = sp_arena_zeros(scratch, r->graph->node_count, sizeof(*live));
	uint32_t *found = r->absorbed;
	size_t count = 0;

	for (uint32_t i = 0; live != NULL && i < r->graph->node_count; i++)
		if (r->kept[i])
			wake(i, live, found, &count);
	while (count != 0) {
		const sp_node *node = &r->graph->nodes[found[--count]];

		for (size_t k = 0; k < node->input_count; k++)
			wake(node->inputs[k].node, live, found, &count);
		for (size_t k = 0; k < node->control_count; k++)
			wake(node->controls[k], live, found, &count);
	}
	return live;
}

/* Who reads what, among those. */
static void count_readers(regrouping *r, const bool *live)
{
	for (size_t i = 0; i < r->graph->node_count; i++) {
		const sp_node *node = &r->graph->nodes[i];

		for (size_t k = 0; k < node->input_count && live[i]; k++)
			r->readers[node->inputs[k].node]++;
		for (size_t k = 0; k < node->control_count && live[i]; k++)
			r->awaited[node->controls[k]] = true;
		r->added[i] = !live[i];
	}
}

static sp_status set_up(regrouping *r, sp_arena *scratch)
{
	size_t count = r->graph->node_count, edges = 0;
	const bool *live;

	for (size_t i = 0; i < count; i++)
		edges += r->graph->nodes[i].input_count;
	r->readers = sp_arena_zeros(scratch, count, sizeof(*r->readers));
	r->awaited = sp_arena_zeros(scratch, count, sizeof(*r->awaited));
	r->added = sp_arena_zeros(scratch, count, sizeof(*r->added));
	r->paired = sp_arena_zeros(scratch, count, sizeof(*r->paired));
	r->leaves = sp_arena_array(scratch, edges, sizeof(*r->leaves));
	r->open = sp_arena_array(scratch, edges + 1, sizeof(*r->open));
	r->absorbed = sp_arena_array(scratch, count, sizeof(*r->absorbed));
	if (r->readers == NULL || r->awaited == NULL || r->added == NULL || r->paired == NULL ||
	    r->leaves == NULL || r->open == NULL || r->absorbed == NULL)
		return no_memory(r->err);
	live = find_live(r, scratch);
	if (live == NULL)
		return no_memory(r->err);
	count_readers(r, live);
	SP_TRY(sp_optimizer_names_make(&r->names, r->graph, scratch, r->err));
	if (r->sums)
		SP_TRY(sort_all_inputs(r, scratch, false));
	SP_TRY(sp_static_shapes_infer(r->graph, r->fed, scratch, &r->shapes, r->err));
	sp_static_shapes_tell(&r->shapes);
	return SP_OK;
}

/* A sum that was written anew may stand behind what it reads. */
static sp_status sort_for_last_passes(regrouping *r, sp_arena *scratch)
{
	const bool *live = find_live(r, scratch);

	if (live == NULL || sp_optimizer_names_bypass(&r->names, live) != SP_OK)
		return no_memory(r->err);
	return sort_all_inputs(r, scratch, true);
}

static sp_status walk(regrouping *r, sp_arena *scratch)
{
	SP_TRY(set_up(r, scratch));
	for (uint32_t i = (uint32_t)r->graph->node_count; i-- > 0;) /* roots before their trees */
		SP_TRY(look_at(r, i));
	return r->sums ? sort_for_last_passes(r, scratch) : SP_OK;
}

static sp_status regroup(sp_graph *graph, const bool *fed, const bool *kept, bool sums,
			 sp_error *err)
{
	regrouping r = {.graph = graph, .fed = fed, .kept = kept, .sums = sums, .err = err};
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_status status = scratch != NULL ? walk(&r, scratch) : no_memory(err);

	sp_arena_destroy(scratch);
	return status;
}

sp_status sp_graph_regroup_sums(sp_graph *graph, const bool *fed, const bool *kept, sp_error *err)
{
	return regroup(graph, fed, kept, true, err);
}

sp_status sp_graph_regroup_products(sp_graph *graph, const bool *fed, const bool *kept,
				    sp_error *err)
{
	return regroup(graph, fed, kept, false, err);
}
