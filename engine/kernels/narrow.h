#ifndef SP_ENGINE_KERNELS_NARROW_H
#define SP_ENGINE_KERNELS_NARROW_H

#include <stddef.h>
#include <stdint.h>

#include "engine/tensor/dtype.h"

/*
 * Vectorized conversion of half and bfloat16 arrays to float and back.
 *
 * Widening is exact.  Narrowing rounds to nearest, ties to even; overflow gives infinity; NaN stays
 * NaN, with unspecified payload.
 *
 * `from` and `to` do not overlap.  Threads: pure.
 */
typedef void sp_widen_fn(const uint16_t *from, float *to, size_t count);
typedef void sp_narrow_fn(const float *from, uint16_t *to, size_t count);

sp_widen_fn sp_widen_half, sp_widen_bfloat16;
sp_narrow_fn sp_narrow_half, sp_narrow_bfloat16;

/* The function for half or bfloat16; NULL for other types. */
sp_widen_fn *sp_widen_find(sp_dtype dtype);
sp_narrow_fn *sp_narrow_find(sp_dtype dtype);

#endif
