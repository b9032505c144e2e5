#ifndef SP_ENGINE_OPS_LIST_JOIN_H
#define SP_ENGINE_OPS_LIST_JOIN_H

#include "engine/ops/list/list.h"

/*
 * Elements of a list side by side in one tensor.
 */

/*
 * Output i becomes [count, element]: elements indices[0 ... count - 1], or all
 * of them in order for NULL; each is in the list.  Elements must be of one shape
 * that fits `partial`; unset ones are zeros.
 */
SP_MUST_CHECK sp_status sp_list__stack(const sp_call *call, size_t i, const sp_list *list,
				       const int32_t *indices, size_t count,
				       sp_partial_shape partial);

/*
 * Output 0 becomes the elements one behind the other along their first dimension,
 * output 1 the int64 vector of how long each is.  `partial` is the shape of an
 * element.  lengths [length_count] says how long unset elements are.
 */
SP_MUST_CHECK sp_status sp_list__concat(const sp_call *call, const sp_list *list,
					sp_partial_shape partial, const int64_t *lengths,
					size_t length_count);

#endif
