#ifndef SP_ENGINE_OPS_LIST_SUM_H
#define SP_ENGINE_OPS_LIST_SUM_H

#include "engine/graph/op.h"

/*
 * Sums and zeros of lists of tensors, which gradients of loops need.  The inputs are VARIANT; lists
 * of lists, and variants that are not lists, are SP_UNSUPPORTED.
 */

/* Output 0 becomes a copy of the list in input 0 whose elements are zeros or empty strings. */
SP_MUST_CHECK sp_status sp_list__zeros_like(const sp_call *call);

/*
 * Output 0 becomes the elementwise sum of the input lists, which hold numbers and have the same
 * length.  An element that is unset in some lists is the sum of those where it is set.
 */
SP_MUST_CHECK sp_status sp_list__sum(const sp_call *call);

#endif
