#ifndef SP_ENGINE_STATIC_SHAPES_INTERNAL_H
#define SP_ENGINE_STATIC_SHAPES_INTERNAL_H

#include "engine/static_shapes.h"

/*
 * The inside of static_shapes: static_shapes.c walks the graph, shape_rules.c (with what its rules
 * share in shape_parts.c, and more of them in shape_windows.c and shape_products.c) says what shape
 * an operator makes of its inputs, size_lists.c what sizes are in a list that a graph computes of
 * shapes, to make other shapes of it; region_shapes.c knows loops and branches.
 *
 * A list of sizes is kept as the shape it would be, so it has a rank, and names where there are no
 * numbers.
 *
 * A shape that is open has the node in dims[0] that it was first that of: operators that keep a
 * shape hand it on.
 */

/* An element of a list of sizes of which nothing is known.  Names are below it. */
static const int64_t SP_SOME_SIZE = -1;

typedef struct sp_shape_inference {
	const sp_graph *graph;
	const bool *fed;
	sp_static_shape *shapes;     /* [nodes] */
	sp_static_shape *lists;      /* [nodes] what a size or a vector of sizes holds; of a
				      * TensorArray the shape that all its elements have */
	bool *alike;                 /* [nodes] */
	sp_static_outputs **outputs; /* [nodes] */
	int64_t last_name;

	/* [nodes] of a variable of a loop: a bit for each dimension that does not stay what it is
	 * at first.  `loosened`: in this walk some got more of them, and another one has to follow.
	 */
	uint16_t *loose;
	bool loosened;

	/* [nodes] of open shapes: another one that is the same, and whether some reader demands a
	 * number of dimensions; of those that are the same it stands at the end of the chain. */
	uint32_t *same;
	bool *demanded;

	/* What operators that want things to be equal say of them in this walk: [nodes] the shape
	 * of an open one, at the end of its chain, and [name] the number or the other name that a
	 * name stands for, or NO_NAME; there are names behind the last of the list. */
	sp_static_shape *learned;
	bool *merged; /* [nodes] whether an operator wants an open one to be like another; there,
			 too */
	int64_t *equal;
	size_t equal_count;
	struct sp_lesson *lessons; /* what was learned of a shape that something was known of */
	sp_arena *arena;
	bool out_of_memory;
} sp_shape_inference;

typedef struct sp_shape_rule {
	const char *op;
	/* `out` is the shape, or the list, of the node's output 0; unknown until the rule sets it.
	 */
	void (*infer)(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
	bool alike; /* all outputs have the shape */
} sp_shape_rule;

static inline int64_t sp_shapes__new_name(sp_shape_inference *in)
{
	return --in->last_name;
}

static inline sp_static_shape sp_shapes__unknown(void)
{
	return (sp_static_shape){.rank = SP_RANK_UNKNOWN};
}

static inline sp_static_shape sp_shapes__open(const sp_shape_inference *in, const sp_node *node)
{
	return (sp_static_shape){.rank = SP_RANK_OPEN, .dims = {node - in->graph->nodes}};
}

static inline sp_static_shape sp_shapes__scalar(void)
{
	return (sp_static_shape){.rank = 0};
}

/* One dimension more; unknown when there are as many as can be. */
static inline void sp_shapes__append(sp_static_shape *out, int64_t dim)
{
	if (out->rank < 0 || out->rank == SP_MAX_RANK)
		*out = sp_shapes__unknown();
	else
		out->dims[out->rank++] = dim;
}

/* -------------------------------------------------------- static_shapes.c */

/* The shape of input k. */
sp_static_shape sp_shapes__input(const sp_shape_inference *in, const sp_node *node, size_t k);

/* The sizes that input k holds; unknown when it is no size or vector of sizes.  Never NULL. */
const sp_static_shape *sp_shapes__list(const sp_shape_inference *in, const sp_node *node, size_t k);

/* The integers of the constant behind input k; NULL if it is none. */
const sp_tensor *sp_shapes__constant(const sp_shape_inference *in, const sp_node *node, size_t k);

/* A reader demands that a shape has some number of dimensions, or two that are open to be equal. */
void sp_shapes__demand(sp_shape_inference *in, const sp_static_shape *of);
void sp_shapes__join(sp_shape_inference *in, const sp_static_shape *a, const sp_static_shape *b);

/* Two dimensions that an operator wants to be equal. */
void sp_shapes__unify(sp_shape_inference *in, int64_t a, int64_t b);

/* The same of two shapes, one of which may be open; `merged`: both are those of nodes. */
void sp_shapes__learn(sp_shape_inference *in, const sp_static_shape *of,
		      const sp_static_shape *what, bool merged);

/* The rule of an operator among those that are sorted by name; NULL if there is none. */
const sp_shape_rule *sp_shapes__find(const sp_shape_rule *sorted, size_t count, const char *op);

/* ---------------------------------------------------------- shape_parts.c */

/* The shape that an attribute names, with new names where it has no numbers. */
sp_static_shape sp_shapes__declared(sp_shape_inference *in, const sp_node *node, const char *name);

/* A shape of that many dimensions of which nothing is known. */
sp_static_shape sp_shapes__of_rank(sp_shape_inference *in, int64_t rank);

sp_static_shape sp_shapes__vector(int64_t n);

/* Attributes; the fallback, and false, where there is none. */
int64_t sp_shapes__attr_int(const sp_node *node, const char *name, int64_t fallback);
bool sp_shapes__attr_bool(const sp_node *node, const char *name);

/* An axis of `rank` dimensions that input k names; false if it is not known. */
bool sp_shapes__axis_of(const sp_shape_inference *in, const sp_node *node, size_t k, int32_t rank,
			int32_t *axis);

/* The sum and the product of sizes. */
int64_t sp_shapes__plus(sp_shape_inference *in, int64_t a, int64_t b);
int64_t sp_shapes__times(sp_shape_inference *in, int64_t a, int64_t b);

/* What two shapes that an operator wants to be equal say together, in TensorFlow's choice of names.
 */
sp_static_shape sp_shapes__merge(const sp_static_shape *a, const sp_static_shape *b);

/* What an operator that wants two equal shapes learns of them is known to all who read them. */
sp_static_shape sp_shapes__merge_inputs(sp_shape_inference *in, const sp_static_shape *a,
					const sp_static_shape *b);

/* What two shapes become that are stretched to each other. */
sp_static_shape sp_shapes__broadcast(sp_shape_inference *in, const sp_static_shape *a,
				     const sp_static_shape *b);

/* What is open after an operator is so for itself: what is learned of the input says nothing of it.
 */
sp_static_shape sp_shapes__anew(const sp_shape_inference *in, const sp_node *node,
				sp_static_shape from);

/* False for a rule that needs a rank and has none; then what is known of its output is as little.
 */
bool sp_shapes__is_known(const sp_shape_inference *in, const sp_node *node,
			 const sp_static_shape *from, sp_static_shape *out);

/* A shape that has to have that many dimensions, which all who read it learn. */
sp_static_shape sp_shapes__with_rank(sp_shape_inference *in, const sp_static_shape *from,
				     int64_t rank);

/* The same where input k has a row for each of them. */
sp_static_shape sp_shapes__with_rank_of(sp_shape_inference *in, const sp_node *node, size_t k,
					const sp_static_shape *from);

/* The shape that the elements of input k are. */
sp_static_shape sp_shapes__from_list(sp_shape_inference *in, const sp_node *node, size_t k);

/* The number that input k holds, or a new name. */
int64_t sp_shapes__size_of(sp_shape_inference *in, const sp_node *node, size_t k);

/* `count` of what has the shape `one`. */
sp_static_shape sp_shapes__several(int64_t count, const sp_static_shape *one);

/* ---------------------------------------------------------- shape_rules.c */

/* What is known of the shapes that an operator makes; NULL if nothing is. */
const sp_shape_rule *sp_shapes__rule(const char *op);

/* Whether a StridedSlice says before any request what it takes: begin, end and step of each part.
 */
bool sp_shapes__has_slices(const sp_shape_inference *in, const sp_node *node);

/* Bit i of a mask of StridedSlice. */
bool sp_shapes__masked(const sp_node *node, const char *mask, size_t i);

/* How many of `length` elements the i-th part of a StridedSlice takes, which has slices. */
int64_t sp_shapes__slice_length(sp_shape_inference *in, const sp_node *node, size_t i,
				int64_t length);

/* --------------------------------------- shape_windows.c, shape_products.c */

/* Rules. */
void sp_shapes__convolution(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__convolution_back(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__pool(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__batch_norm(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__space_to_batch(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__batch_to_space(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__matrix_product(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__batch_product(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__sparse_product(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__einsum(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);

/* -------------------------------------------------------- region_shapes.c */

/* Of _Argument, a variable of a loop; and of what several ways lead to. */
void sp_shapes__variable(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);
void sp_shapes__merged(sp_shape_inference *in, const sp_node *node, sp_static_shape *out);

/* Outputs of the owner of regions, and what its variables lose.  SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_shapes__infer_owner(sp_shape_inference *in, sp_arena *arena, size_t i);

/* Nothing is known of the variables of loops. */
void sp_shapes__forget_variables(sp_shape_inference *in);

/* ----------------------------------------------------------- size_lists.c */

/* What is known of the sizes that an operator makes; NULL if nothing is. */
const sp_shape_rule *sp_shapes__list_rule(const char *op);

#endif
