#ifndef SP_ENGINE_KERNELS_PACKED_PRODUCT_H
#define SP_ENGINE_KERNELS_PACKED_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/tensor/workspace.h"

/*
 * Rows times a matrix that is packed once, by oneDNN's matmul, on the caller's thread:
 *
 *     y[m, n] = sum_k x[m, k] * w[k, n] + bias[n]
 *
 * It is made ready for a fixed list of row counts; other counts are cut and padded to those, so
 * a request of any size prepares nothing.
 *
 * Numerics: float32 sums in oneDNN's order: with AVX-512 one running sum of fused
 *           multiply-adds per element.
 * Memory:   oneDNN itself makes and frees a few small blocks per call for the
 *           list of its arguments; nothing else is allocated while running.
 * Threads:  immutable once created; any number of threads may run it at once.
 */
typedef struct sp_packed_product sp_packed_product;

typedef struct sp_packed_spec {
	size_t k;             /* >= 1 */
	size_t n;             /* >= 1 */
	const float *weights; /* packed, not kept */
	size_t row, column;   /* strides of the weights */
	const float *bias;    /* [n] or NULL; copied */
} sp_packed_spec;

SP_MUST_CHECK sp_status sp_packed_product_create(sp_packed_product **out,
						 const sp_packed_spec *spec, sp_error *err);

/* NULL is fine. */
void sp_packed_product_destroy(sp_packed_product *product);

/*
 * x [m, k], y [m, n]; they must not overlap.  Rows that need padding are
 * copied through scratch of `workspace`.
 */
SP_MUST_CHECK sp_status sp_packed_product_run(const sp_packed_product *product, const float *x,
					      size_t m, float *y, sp_workspace *workspace,
					      sp_error *err);

enum { SP_PACKED_COLUMNS = 64 };

/* Weights of some columns: those of row i begin at weights + i * stride. */
typedef struct sp_packed_panel {
	const float *weights;
	size_t stride;
	size_t width; /* that may be read; what is right of the last column counts for nothing */
} sp_packed_panel;

/*
 * SP_PACKED_COLUMNS columns, or those that are left, from `column`, a multiple of that, on.  False
 * when oneDNN packed them in a way that this does not know.
 */
bool sp_packed_product_panel(const sp_packed_product *product, size_t column, sp_packed_panel *out);

#endif
