#ifndef SP_ENGINE_TENSOR_LIST_H
#define SP_ENGINE_TENSOR_LIST_H

#include <assert.h>

#include "engine/graph/graph_def.h"
#include "engine/graph/op.h"

/*
 * A list of tensors, the value of a scalar VARIANT tensor: what TensorList and
 * TensorArray operators work on.  It lies in a block of the workspace and holds a
 * reference on each element's block.  An element may be unset.  Elements may be
 * VARIANT, too, as deep as SP_LIST_MAX_DEPTH: so nothing that goes down a list
 * needs much of the stack.
 *
 * A VARIANT tensor with dimensions is an array: an sp_tensor per element, each a
 * scalar VARIANT or unset.  It may show a part of a larger one.
 *
 * Like any tensor a list does not change once it is made; who holds it alone may
 * change it in place, so that writing n elements costs n and not n squared.
 *
 * The flow of a TensorArray is its list: an array is what was written to it on
 * the way to where it is read.
 *
 * A ragged tensor that is handed on as one value is a list of its splits, outermost
 * first, and its values behind them; a tensor in a box is one without splits.
 *
 * An optional is a list of its components, each of a type of its own, or of nothing.
 *
 * Threads: one thread at a time.
 */
enum { SP_LIST_MAX_DEPTH = 8 };

/* What a list stands for; operators take only the kind that they are for. */
typedef enum sp_list_kind {
	SP_LIST_PLAIN,
	SP_LIST_RAGGED,
	SP_LIST_OPTIONAL,
	SP_LIST_STACK, /* the one that changes in place (engine/ops/list/stack.c) */
} sp_list_kind;

typedef struct sp_list {
	sp_dtype dtype;         /* of the elements; of the values of a ragged tensor */
	sp_partial_shape shape; /* that every element has */
	size_t count;
	size_t capacity;
	int64_t max_count; /* -1: none; of TensorList */
	int depth;         /* the most of the elements: sp_tensor_depth() */
	sp_list_kind kind;

	/* Of a TensorArray. */
	bool is_array;
	bool is_dynamic;    /* grows when it is written past its end */
	bool has_one_shape; /* the first element written sets the shape */

	sp_tensor items[];
} sp_list;

/* All of an array, at the head of its block. */
typedef struct sp_variants {
	size_t count;
	sp_tensor items[];
} sp_variants;

static inline sp_list *sp_tensor_list(const sp_tensor *t)
{
	assert(t->dtype == SP_VARIANT && t->shape.rank == 0);
	return t->data;
}

/* 0; of a VARIANT one more than that of what it holds. */
int sp_tensor_depth(const sp_tensor *t);

/*
 * Output i becomes a new list like `like` (all but its elements), with `count`
 * unset elements and room for `capacity`.
 */
SP_MUST_CHECK sp_status sp_list_create(const sp_call *call, size_t i, const sp_list *like,
				       size_t count, size_t capacity);

/* The same as a tensor of the caller's. */
SP_MUST_CHECK sp_status sp_list_new(const sp_call *call, sp_tensor *out, const sp_list *like,
				    size_t count, size_t capacity);

/* *out becomes a box with the tensor: one more reference to it. */
SP_MUST_CHECK sp_status sp_list_box(const sp_call *call, sp_tensor *out, const sp_tensor *value);

/*
 * Output i becomes the list of input `from` for changing, with room for
 * `capacity` elements: the very list when nobody else will look at it and it has
 * the room, else a copy that shares the elements.
 */
SP_MUST_CHECK sp_status sp_list_modify(const sp_call *call, size_t i, size_t from, size_t capacity,
				       sp_list **out);

/*
 * Element i becomes the tensor, or unset for NULL; the old one is given back.  The
 * value is not too deep: sp_list_check_depth().
 */
void sp_list_set(const sp_call *call, sp_list *list, size_t i, const sp_tensor *value);

/* SP_UNSUPPORTED when the value is too deep to be an element of a list. */
SP_MUST_CHECK sp_status sp_list_check_depth(const sp_call *call, const sp_tensor *value);

/* -------------------------------------------------------------- arrays */

/* Output i becomes an array of that shape, of one dimension at least, all unset. */
SP_MUST_CHECK sp_status sp_variants_create(const sp_call *call, size_t i, const sp_shape *shape);

/* Element i of a VARIANT tensor; a scalar is its only element. */
static inline const sp_tensor *sp_variant_at(const sp_tensor *t, size_t i)
{
	assert(t->dtype == SP_VARIANT);
	return t->shape.rank == 0 ? t : (const sp_tensor *)t->data + i;
}

/* Element i of an array, which is unset, becomes one more reference to the value. */
void sp_variants_set(sp_tensor *array, size_t i, const sp_tensor *value);

/* -------------------------------------------------------------- the shapes */

/* "[2,?]", "<unknown>" */
const char *sp_partial_shape_text(const sp_partial_shape *shape, char text[SP_SHAPE_TEXT_SIZE]);

bool sp_partial_shape_matches(const sp_partial_shape *partial, const sp_shape *shape);

/* True and *out when no dimension is unknown. */
bool sp_partial_shape_is_full(const sp_partial_shape *partial, sp_shape *out);

/* What holds for both; false when they contradict each other. */
bool sp_partial_shape_merge(const sp_partial_shape *a, const sp_partial_shape *b,
			    sp_partial_shape *out);

sp_partial_shape sp_partial_shape_of(const sp_shape *shape);

/*
 * A partial shape given as a tensor: a vector with -1 where a dimension is
 * unknown, or the scalar -1 for an unknown rank.
 */
SP_MUST_CHECK sp_status sp_partial_shape_from(const sp_call *call, size_t i, sp_partial_shape *out);

#endif
