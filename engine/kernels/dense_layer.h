#ifndef SP_ENGINE_KERNELS_DENSE_LAYER_H
#define SP_ENGINE_KERNELS_DENSE_LAYER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/*
 * A fully connected layer whose weights are packed at creation:
 *
 *     y[m, n] = activation(sum_k x[m, k] * w[k, n] + bias[n])
 *
 * Numerics: float32, the error bound of float_product.h for k terms and the bias.  NaN stays NaN.
 * Threads: immutable once created; any number of threads may run it at once.
 */
typedef struct sp_dense_layer sp_dense_layer;

typedef enum sp_activation { SP_ACTIVATION_NONE, SP_ACTIVATION_RELU } sp_activation;

typedef struct sp_dense_spec {
	size_t k; /* 0: every sum is 0 */
	size_t n;
	const float *weights; /* [k, n], or [n, k] when transposed; packed, not kept */
	bool transposed;
	const float *bias; /* [n] or NULL; copied */
	sp_activation activation;
} sp_dense_spec;

SP_MUST_CHECK sp_status sp_dense_layer_create(sp_dense_layer **out, const sp_dense_spec *spec,
					      sp_error *err);

/* NULL is allowed. */
void sp_dense_layer_destroy(sp_dense_layer *layer);

size_t sp_dense_layer_inputs(const sp_dense_layer *layer);  /* k */
size_t sp_dense_layer_outputs(const sp_dense_layer *layer); /* n */

/* x [m, k], y [m, n]; they must not overlap.  Allocates nothing. */
void sp_dense_layer_run(const sp_dense_layer *layer, const float *x, size_t m, float *y);

#endif
