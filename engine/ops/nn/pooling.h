#ifndef SP_ENGINE_OPS_POOLING_H
#define SP_ENGINE_OPS_POOLING_H

#include "engine/graph/op.h"

/*
 * Combines several embedding rows into one, as DeepRec's fused lookups do:
 *
 *   sum     sum(w x)
 *   mean    sum(w x) / n
 *   sqrtn   sum(w x) / sqrt(n)
 *
 * n is the number of rows, whatever their weights.  (embedding_lookup_sparse() differs: it divides
 * by the sum of the weights.)  A row to which nothing was added is zeros.
 *
 * Numerics: float32, in the order of additions, each product rounded: with u = 2^-24 and s the sum
 * of the terms' absolute values the error of a sum of n rows is at most (n + 1) * u * s.  DeepRec's
 * kernels do not round products with weights, and FusedEmbeddingSparsePostLookUp starts with the
 * last row; their results are within the same bound.
 *
 * Threads: one thread at a time.
 */
typedef enum sp_pool_combiner { SP_POOL_SUM, SP_POOL_MEAN, SP_POOL_SQRTN } sp_pool_combiner;

typedef struct sp_pool {
	float *rows;     /* [count, dim]; initially zeros */
	int32_t *counts; /* [count] rows added to each; initially zeros */
	size_t count, dim;
	float max_norm; /* rows with a larger L2 norm are scaled down to it; < 0: no limit */
} sp_pool;

/* Attribute "combiner": "sum", "mean" or "sqrtn"; `fallback` NULL: it is required. */
SP_MUST_CHECK sp_status sp_pool__read_combiner(const sp_prepare *prepare, const char *fallback,
					       sp_pool_combiner *out, sp_error *err);

/* Sets rows and counts to zeros; max_norm is -1. */
void sp_pool__init(sp_pool *pool, float *rows, int32_t *counts, size_t count, size_t dim);

/* rows[row] += weight * embedding; counts[row]++.  row < count. */
void sp_pool__add(sp_pool *pool, size_t row, const float *embedding, float weight);

/* The same without counting: counts are already set. */
void sp_pool__sum(sp_pool *pool, size_t row, const float *embedding, float weight);

/* Divides the sums as the combiner says.  Call once, after the last row. */
void sp_pool__finish(sp_pool *pool, sp_pool_combiner combiner);

#endif
