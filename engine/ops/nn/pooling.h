#ifndef SP_ENGINE_OPS_POOLING_H
#define SP_ENGINE_OPS_POOLING_H

#include "engine/graph/op.h"

/*
 * Many embedding rows to one, as DeepRec's fused lookups combine them:
 *
 *   sum     sum(w x)
 *   mean    sum(w x) / n
 *   sqrtn   sum(w x) / sqrt(n)
 *
 * n being how many rows there were, whatever their weights: other than
 * embedding_lookup_sparse(), which divides by what the weights sum up to.  A row
 * that nothing was added to is zeros.
 *
 * Numerics: float32, in the order in which rows are added, each product rounded: with u = 2^-24
 * and s the sum of the terms' sizes a sum of n rows is within (n + 1) * u * s of the exact one.
 * DeepRec's kernels have other orders: products with weights are not rounded, and
 * FusedEmbeddingSparsePostLookUp begins at the last row.  Theirs are within the same bound.
 *
 * Threads: one thread at a time.
 */
typedef enum sp_pool_combiner { SP_POOL_SUM, SP_POOL_MEAN, SP_POOL_SQRTN } sp_pool_combiner;

typedef struct sp_pool {
	float *rows;     /* [count, dim], zeros at first */
	int32_t *counts; /* [count] rows added to each, zeros at first */
	size_t count, dim;
	float max_norm; /* rows longer than that are shortened to it; < 0: none are */
} sp_pool;

/* Attribute "combiner": "sum", "mean" or "sqrtn"; `fallback` NULL: it must be there. */
SP_MUST_CHECK sp_status sp_pool__read_combiner(const sp_prepare *prepare, const char *fallback,
					       sp_pool_combiner *out, sp_error *err);

/* Sets rows and counts to zeros; max_norm is -1. */
void sp_pool__init(sp_pool *pool, float *rows, int32_t *counts, size_t count, size_t dim);

/* rows[row] += weight * embedding; row < count.  It is counted. */
void sp_pool__add(sp_pool *pool, size_t row, const float *embedding, float weight);

/* The same where the rows have been counted already. */
void sp_pool__sum(sp_pool *pool, size_t row, const float *embedding, float weight);

/* After the last row. */
void sp_pool__finish(sp_pool *pool, sp_pool_combiner combiner);

#endif
