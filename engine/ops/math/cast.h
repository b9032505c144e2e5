#ifndef SP_ENGINE_OPS_CAST_H
#define SP_ENGINE_OPS_CAST_H

#include <stddef.h>

#include "engine/tensor/dtype.h"

/*
 * Conversion between numeric types, complex ones too, and between numbers and bool.  Complex to
 * real takes the real part.
 *
 * To bool: x != 0.  To an integer: floats are truncated towards zero, integers keep their low bits.
 * To a float: the nearest, ties to even; half and bfloat16 are converted by way of float.
 *
 * NaN, and a float out of the range of int32, int64 or uint64, becomes what the x86 conversion
 * instructions return: the most negative number, for uint64 2^63.  Narrower integers are the low
 * bits of the conversion to int32, uint32 those of the conversion to int64.
 */
typedef void sp_cast_fn(const void *from, void *to, size_t count);

/* NULL when there is no such conversion, and for one from a type to itself. */
sp_cast_fn *sp_cast__find(sp_dtype from, sp_dtype to);

#endif
