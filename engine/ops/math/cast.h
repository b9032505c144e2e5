#ifndef SP_ENGINE_OPS_CAST_H
#define SP_ENGINE_OPS_CAST_H

#include <stddef.h>

#include "engine/tensor/dtype.h"

/*
 * Conversion between numbers, complex ones too, and between numbers and bool.
 * Of a complex number a real one takes the real part.
 *
 * To bool: whether it is not zero.  To an integer: a float is cut off at its
 * point, an integer keeps its low bits.  To a float: the nearest, ties to even;
 * half and bfloat16 come by way of float.
 *
 * A float past the range of int32, int64 or uint64 becomes the value that x86
 * conversion instructions stand in for it (the most negative number, for uint64
 * 2^63), and so does NaN; narrower integers and uint32 are the low bits of the
 * conversion to int32 and int64.
 */
typedef void sp_cast_fn(const void *from, void *to, size_t count);

/* NULL when there is no such conversion, and for one from a type to itself. */
sp_cast_fn *sp_cast__find(sp_dtype from, sp_dtype to);

#endif
