#ifndef SP_ENGINE_OPS_WIDE_PRODUCT_H
#define SP_ENGINE_OPS_WIDE_PRODUCT_H

#include "engine/graph/op.h"
#include "engine/ops/math/cast.h"
#include "engine/ops/nn/gemm.h"

/*
 * Matrix products of inputs 0 and 1 for XLA's dots and convolutions: computed in the type of the
 * result, which holds every value of both inputs' types.
 *
 * Numerics: engine/ops/nn/gemm.h.  Half and bfloat16 are multiplied and summed as float and rounded
 * once; integers wrap around.
 */
typedef struct sp_wide_product {
	sp_gemm_fn *multiply;
	sp_cast_fn *widen[2]; /* for an input of another type than `computed`, else NULL */
	sp_cast_fn *narrow;   /* from `computed` to `result` if they differ, else NULL */
	sp_dtype computed, result;
} sp_wide_product;

/* States output 0, of type `result`.  SP_UNSUPPORTED for other combinations of types. */
SP_MUST_CHECK sp_status sp_wide_product__prepare(sp_prepare *prepare, sp_wide_product *out,
						 sp_dtype result, sp_error *err);

/* Replaces *data, `count` elements of input i, by a copy in the type `computed` if that differs. */
SP_MUST_CHECK sp_status sp_wide_product__widen(const sp_call *call, const sp_wide_product *product,
					       size_t i, size_t count, const char **data);

#endif
