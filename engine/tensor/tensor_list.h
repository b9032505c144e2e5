#ifndef SP_ENGINE_TENSOR_LIST_H
#define SP_ENGINE_TENSOR_LIST_H

#include <assert.h>

#include "engine/tensor/partial_shape.h"
#include "engine/tensor/tensor.h"

/*
 * A list of tensors, the value of a scalar VARIANT tensor: what TensorList and TensorArray
 * operators work on.  It is in a block of the workspace and holds a reference on the block of each
 * element.  An element may be unset.  Elements may be VARIANT, nested at most SP_LIST_MAX_DEPTH
 * deep, so that recursion over lists is bounded.
 *
 * A VARIANT tensor with dimensions is an array: an sp_tensor per element, each a scalar VARIANT or
 * unset.  It may be a view of a part of a larger array.
 *
 * A list is immutable like any tensor, but its only holder may change it in place, so that writing
 * n elements takes O(n) time.
 *
 * The flow of a TensorArray is its list: each write returns the next flow.
 *
 * A ragged tensor in one variant is a list of its splits, outermost first, and then its values.
 *
 * An optional is a list of its components, each of its own type; without a value it is empty.
 *
 * Threads: one thread at a time.
 */
enum { SP_LIST_MAX_DEPTH = 8 };

/* What a list represents; operators accept one kind only. */
typedef enum sp_list_kind {
	SP_LIST_PLAIN,
	SP_LIST_RAGGED,
	SP_LIST_OPTIONAL,
} sp_list_kind;

typedef struct sp_list {
	sp_dtype dtype;         /* of the elements; of the values of a ragged tensor */
	sp_partial_shape shape; /* that every element has */
	size_t count;
	size_t capacity;
	int64_t max_count; /* -1: none; of TensorList */
	int depth;         /* of nesting: 0 where no element is VARIANT */
	sp_list_kind kind;

	/* Of a TensorArray. */
	bool is_dynamic;    /* grows when it is written past its end */
	bool has_one_shape; /* the first element written sets the shape */

	sp_tensor items[];
} sp_list;

/* The header of an array's block. */
typedef struct sp_variants {
	size_t count;
	sp_tensor items[];
} sp_variants;

static inline sp_list *sp_tensor_list(const sp_tensor *t)
{
	assert(t->dtype == SP_VARIANT && t->shape.rank == 0);
	return t->data;
}

/* Element i of a VARIANT tensor; a scalar is its only element. */
static inline const sp_tensor *sp_variant_at(const sp_tensor *t, size_t i)
{
	assert(t->dtype == SP_VARIANT);
	return t->shape.rank == 0 ? t : (const sp_tensor *)t->data + i;
}

#endif
