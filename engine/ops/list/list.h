#ifndef SP_ENGINE_OPS_LIST_H
#define SP_ENGINE_OPS_LIST_H

#include "engine/graph/op.h"
#include "engine/tensor/tensor_list.h"

/* Helpers of the operators on lists (TensorList*, TensorArray*). */

/* Attributes of a list operator. */
typedef struct sp_list_state {
	sp_dtype dtype;                 /* of the elements */
	sp_partial_shape shape;         /* of the elements, or of all but their dimension 0 */
	sp_dtype index_type;            /* of TensorListElementShape */
	int64_t num_elements;           /* of TensorListStack; -1: any number */
	bool grows;                     /* TensorListSetItem may write past the end */
	bool is_dynamic, has_one_shape; /* TensorArrayV3 */
} sp_list_state;

/* sp_prepare_types(), and a state with the type that attribute `dtype_name` has (NULL: none). */
SP_MUST_CHECK sp_status sp_list__prepare(sp_prepare *prepare, const char *types,
					 const char *dtype_name, sp_error *err);

/* SP_UNSUPPORTED when the elements are lists: they cannot be cut or joined. */
SP_MUST_CHECK sp_status sp_list__refuse_lists(const sp_prepare *prepare, sp_error *err);

/* A shape attribute; unknown when it is absent. */
SP_MUST_CHECK sp_status sp_list__shape_attr(const sp_prepare *prepare, const char *name,
					    sp_partial_shape *out, sp_error *err);

/* The list of input i; its element type is the operator's. */
SP_MUST_CHECK sp_status sp_list__input(const sp_call *call, size_t i, const sp_list **out);

/* The shape in input i, merged with the list's. */
SP_MUST_CHECK sp_status sp_list__shape_input(const sp_call *call, size_t i, const sp_list *list,
					     sp_partial_shape *out);

/* A scalar int32 that must lie in [0, count). */
SP_MUST_CHECK sp_status sp_list__index(const sp_call *call, size_t i, size_t count, size_t *out);

/* SP_INVALID unless an element of that shape may be in the list. */
SP_MUST_CHECK sp_status sp_list__check_shape(const sp_call *call, const sp_list *list,
					     const sp_shape *shape);

/* The same for a value; SP_UNSUPPORTED when it is nested too deep. */
SP_MUST_CHECK sp_status sp_list__check_value(const sp_call *call, const sp_list *list,
					     const sp_tensor *value);

/* Output i becomes a tensor of zeros or empty strings. */
SP_MUST_CHECK sp_status sp_list__zeros(const sp_call *call, size_t i, sp_dtype dtype,
				       const sp_shape *shape);

/* Output i becomes one more reference to the tensor. */
void sp_list__give(const sp_call *call, size_t i, const sp_tensor *value);

/* Writes `count` zeros or empty strings at `to`. */
void sp_list__clear(sp_dtype dtype, void *to, size_t count);

/* ---------------------------------------------------------- pieces of a tensor */

/* A tensor cut along its first dimension, for elements of a list. */
typedef struct sp_list_cut {
	sp_tensor from;
	sp_shape shape; /* of a piece: the first dimension is dropped or replaced */
	size_t row;     /* bytes of one index of the first dimension */
	sp_tensor held; /* the bytes of the pieces; released at the end */
	size_t used;
} sp_list_cut;

/* `pieces` is the largest number of pieces; those of an array of lists are its elements. */
SP_MUST_CHECK sp_status sp_list__cut_begin(const sp_call *call, const sp_tensor *from,
					   size_t pieces, sp_list_cut *out);

/*
 * `rows` indices of the first dimension from `first` on; with `drop`, `rows` is 1 and the piece
 * lacks that dimension.  The piece is for sp_list_set().
 */
sp_tensor sp_list__cut_take(sp_list_cut *cut, size_t first, size_t rows, bool drop);
void sp_list__cut_end(const sp_call *call, sp_list_cut *cut);

/*
 * SP_INVALID unless `indices` is an int32 vector with one nonnegative element per row of `from`.
 * *count is the largest plus one.
 */
SP_MUST_CHECK sp_status sp_list__check_indices(const sp_call *call, const sp_tensor *from,
					       const sp_tensor *indices, size_t *count);

/* Sets element indices[i] of the list to row i, or i for NULL; the indices were checked. */
SP_MUST_CHECK sp_status sp_list__scatter(const sp_call *call, const sp_tensor *from,
					 const sp_tensor *indices, sp_list *list);

/* SP_INVALID when `from` is a scalar or its rows do not fit the list. */
SP_MUST_CHECK sp_status sp_list__check_rows(const sp_call *call, const sp_tensor *from,
					    const sp_list *list);

/* ------------------------------------------------------------- making lists */

/* *out becomes a new list with the attributes of `like` and `count` unset elements. */
SP_MUST_CHECK sp_status sp_list_new(const sp_call *call, sp_tensor *out, const sp_list *like,
				    size_t count, size_t capacity);

/*
 * Output i becomes a writable version of the list in input `from`, of `count` elements at least:
 * the list itself if nobody else reads it and it has the capacity, else a copy that shares the
 * elements.  The capacity doubles, so that n pushes cost O(n).
 */
SP_MUST_CHECK sp_status sp_list_modify(const sp_call *call, size_t i, size_t from, size_t count,
				       sp_list **out);

/*
 * Element i becomes one more reference to the tensor, or unset for NULL; the old element is
 * released. The value's depth was checked by sp_list_check_depth().
 */
void sp_list_set(const sp_call *call, sp_list *list, size_t i, const sp_tensor *value);

/* SP_UNSUPPORTED when the value is nested too deep to be an element of a list. */
SP_MUST_CHECK sp_status sp_list_check_depth(const sp_call *call, const sp_tensor *value);

/* -------------------------------------------------------------- arrays */

/* Output i becomes an array of that shape, of rank 1 or more, with all elements unset. */
SP_MUST_CHECK sp_status sp_variants_create(const sp_call *call, size_t i, const sp_shape *shape);

/* Sets element i of an array, which was unset, to one more reference to the value. */
void sp_variants_set(sp_tensor *array, size_t i, const sp_tensor *value);

/*
 * A partial shape given as a tensor: a vector with -1 where a dimension is
 * unknown, or the scalar -1 for an unknown rank.
 */
SP_MUST_CHECK sp_status sp_partial_shape_from(const sp_call *call, size_t i, sp_partial_shape *out);

#endif
