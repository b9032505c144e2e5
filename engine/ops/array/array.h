#ifndef SP_ENGINE_OPS_ARRAY_H
#define SP_ENGINE_OPS_ARRAY_H

#include "engine/graph/op.h"

/* Helpers of the operators that move elements. */

/* The most outputs an attribute may ask for. */
#define SP_ARRAY_MAX_OUTPUTS 65536

/* SP_UNSUPPORTED unless elements of that type are plain bytes of a known size: not VARIANT. */
SP_MUST_CHECK sp_status sp_array__movable(const sp_prepare *prepare, sp_dtype dtype, sp_error *err);

/* An int attribute that says how many outputs there are: 1 ... SP_ARRAY_MAX_OUTPUTS. */
SP_MUST_CHECK sp_status sp_array__output_count(const sp_prepare *prepare, const char *name,
					       size_t *out, sp_error *err);

/* Type attribute `name`, int32 or int64. */
SP_MUST_CHECK sp_status sp_array__index_type(const sp_prepare *prepare, const char *name,
					     sp_dtype fallback, sp_dtype *out, sp_error *err);

/*
 * A shape given as a vector or, with `scalar_too`, a scalar that stands for a vector of one.
 * SP_INVALID when a dimension is negative, SP_UNSUPPORTED above SP_MAX_RANK.
 */
SP_MUST_CHECK sp_status sp_array__shape(const sp_call *call, size_t i, bool scalar_too,
					sp_shape *out);

/* Checks that a rank can be represented: SP_UNSUPPORTED when not. */
SP_MUST_CHECK sp_status sp_array__rank(const sp_call *call, int64_t rank);

/* Output i becomes input `from`, unchanged. */
void sp_array__pass(const sp_call *call, size_t i, size_t from);

/*
 * Output 0 becomes input 0, about to be changed: its own bytes, or a copy where they may not be
 * overwritten or `is_shared`, another input having the same bytes.
 */
SP_MUST_CHECK sp_status sp_array__take_over(const sp_call *call, bool is_shared);

/* Writes `value`, which fits, as element i of an int16, int32 or int64 tensor. */
static inline void sp_array__put_index(const sp_tensor *t, size_t i, int64_t value)
{
	if (t->dtype == SP_INT32)
		((int32_t *)t->data)[i] = (int32_t)value;
	else if (t->dtype == SP_INT16)
		((int16_t *)t->data)[i] = (int16_t)value;
	else
		((int64_t *)t->data)[i] = value;
}

#endif
