#ifndef SP_ENGINE_OPS_LIST_JOIN_H
#define SP_ENGINE_OPS_LIST_JOIN_H

#include "engine/ops/list/list.h"

/* Joins the elements of a list to one tensor. */

/*
 * Output i becomes [count, element]: elements indices[0 ... count - 1], which are in range, or all
 * in order for NULL.  The elements must have one shape, which fits `partial`; unset ones are zeros.
 */
SP_MUST_CHECK sp_status sp_list__stack(const sp_call *call, size_t i, const sp_list *list,
				       const int32_t *indices, size_t count,
				       sp_partial_shape partial);

/*
 * Output 0 becomes the elements concatenated along their first dimension, output 1 the int64 vector
 * of their lengths.  `partial` is the shape of an element.  lengths [length_count] has the lengths
 * of unset elements.
 */
SP_MUST_CHECK sp_status sp_list__concat(const sp_call *call, const sp_list *list,
					sp_partial_shape partial, const int64_t *lengths,
					size_t length_count);

#endif
