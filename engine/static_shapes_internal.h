#ifndef SP_ENGINE_STATIC_SHAPES_INTERNAL_H
#define SP_ENGINE_STATIC_SHAPES_INTERNAL_H

#include "engine/static_shapes.h"

/*
 * The inside of static_shapes: static_shapes.c walks the graph, shape_rules.c (with what its rules
 * share in shape_parts.c, and more of them in shape_windows.c and shape_products.c) says what shape
 * an operator makes of its inputs, shape_classes.c what is to be equal, size_lists.c what sizes are
 * in a list that a graph computes of shapes, to make other shapes of it; region_shapes.c knows
 * loops and branches.
 *
 * A list of sizes is kept as the shape it would be, so it has a rank, and names where there are no
 * numbers.
 *
 * A shape that has been the output of a node has a handle, which operators that keep the shape hand
 * on; 0 is none.  Where two shapes are to be equal the classes of shape_classes.c say of the
 * handles what is known to all who have them.
 */

/* An element of a list of sizes of which nothing is known.  Names are below it. */
static const int64_t SP_SOME_SIZE = -1;

/* A shape among those that are to be equal to it. */
typedef struct sp_shape_class {
	sp_static_shape own;
	uint32_t parent; /* itself at the root, where the others are for all of the class */
	uint32_t height;
	uint32_t called; /* the handle whose own shape it has for all who ask at the end */
} sp_shape_class;

/* The same of a dimension without a number, of which `called` may be the number. */
typedef struct sp_name_class {
	int64_t parent, called;
	uint32_t height;
} sp_name_class;

/* Two handles that a node wants to be equal, or two dimensions. */
typedef struct sp_shape_wish {
	uint32_t node;
	bool of_shapes;
	int64_t a, b;
} sp_shape_wish;

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

	/* What is to be equal in this walk, in the order of the nodes, and what is in the end;
	 * there are names behind the last of the list. */
	uint32_t at; /* the node at hand */
	sp_shape_wish *wishes;
	size_t wish_count, wish_room;
	sp_shape_class *classes; /* [handles] */
	size_t handle_count, handle_room;
	sp_name_class *names; /* [names] */
	size_t name_room;
	bool contradicted; /* two numbers are to be equal: then nothing is */
	bool handed_on;    /* the rule at hand gives an input's shape itself, not one like it */
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

static inline sp_static_shape sp_shapes__open(void)
{
	return (sp_static_shape){.rank = SP_RANK_OPEN};
}

/* The output has the very shape, with its handle. */
static inline void sp_shapes__hand_on(sp_shape_inference *in, const sp_static_shape *from,
				      sp_static_shape *out)
{
	*out = *from;
	in->handed_on = true;
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

/* The rule of an operator among those that are sorted by name; NULL if there is none. */
const sp_shape_rule *sp_shapes__find(const sp_shape_rule *sorted, size_t count, const char *op);

/* -------------------------------------------------------- shape_classes.c */

/* A handle for a shape that has none, unless nothing is known of it. */
void sp_shapes__give_handle(sp_shape_inference *in, sp_static_shape *of);

/* Two shapes that an operator wants to be equal, or all their dimensions, or two of them. */
void sp_shapes__equate(sp_shape_inference *in, sp_static_shape *a, sp_static_shape *b);
void sp_shapes__unify_all(sp_shape_inference *in, const sp_static_shape *a,
			  const sp_static_shape *b);
void sp_shapes__unify(sp_shape_inference *in, int64_t a, int64_t b);

/* Nothing is equal yet; and what shape each handle has at the end. */
void sp_shapes__begin_classes(sp_shape_inference *in);
SP_MUST_CHECK sp_status sp_shapes__tell_classes(sp_shape_inference *in,
						const sp_static_shape **told);

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

/* The same of two dimensions, of which all who have them learn that they are equal. */
int64_t sp_shapes__merge_dims(sp_shape_inference *in, int64_t a, int64_t b);

/* The same with handles: what an operator that wants two equal shapes learns of them is known to
 * all who have them. */
sp_static_shape sp_shapes__merge_inputs(sp_shape_inference *in, sp_static_shape *a,
					sp_static_shape *b);

/* What two shapes become that are stretched to each other. */
sp_static_shape sp_shapes__broadcast(sp_shape_inference *in, const sp_static_shape *a,
				     const sp_static_shape *b);

/* False for a rule that needs a rank and has none; then what is known of its output is as little.
 */
bool sp_shapes__is_known(const sp_static_shape *from, sp_static_shape *out);

/* A shape that has to have that many dimensions, which all who read it learn. */
sp_static_shape sp_shapes__with_rank(sp_shape_inference *in, sp_static_shape *from, int64_t rank);

/* The same where input k has a row for each of them. */
sp_static_shape sp_shapes__with_rank_of(sp_shape_inference *in, const sp_node *node, size_t k,
					sp_static_shape *from);

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
