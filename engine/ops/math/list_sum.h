#ifndef SP_ENGINE_OPS_LIST_SUM_H
#define SP_ENGINE_OPS_LIST_SUM_H

#include "engine/graph/op.h"

/*
 * Sums and zeros of lists of tensors, which gradients of loops need. The inputs are VARIANT; lists
 * of lists, and variants that are no lists, are SP_UNSUPPORTED.
 */

/* Output 0 becomes the list of input 0 with zeros, or empty texts, for elements. */
SP_MUST_CHECK sp_status sp_list__zeros_like(const sp_call *call);

/*
 * Output 0 becomes the list of the sums of the inputs' elements; lists of one length, of numbers.
 * Where an element is unset in some of them, it is the sum of the others.
 */
SP_MUST_CHECK sp_status sp_list__sum(const sp_call *call);

#endif
