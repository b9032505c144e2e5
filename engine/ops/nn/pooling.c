#include "engine/ops/nn/pooling.h"

#include <math.h>
#include <string.h>

sp_status sp_pool__read_combiner(const sp_prepare *prepare, const char *fallback,
				 sp_pool_combiner *out, sp_error *err)
{
	sp_bytes name;

	SP_TRY(sp_node_attr_bytes(prepare->node, "combiner", fallback, &name, err));
	if (sp_bytes_equal_text(name, "sum"))
		*out = SP_POOL_SUM;
	else if (sp_bytes_equal_text(name, "mean"))
		*out = SP_POOL_MEAN;
	else if (sp_bytes_equal_text(name, "sqrtn"))
		*out = SP_POOL_SQRTN;
	else
		return sp_error_set(err, SP_INVALID,
				    "combiner must be sum, mean or sqrtn, not '%.*s'",
				    (int)name.size, name.data);
	return SP_OK;
}

void sp_pool__init(sp_pool *pool, float *rows, int32_t *counts, size_t count, size_t dim)
{
	*pool = (sp_pool){
		.rows = rows, .counts = counts, .count = count, .dim = dim, .max_norm = -1};
	if (count == 0)
		return;
	memset(rows, 0, count * dim * sizeof(*rows));
	memset(counts, 0, count * sizeof(*counts));
}

static float length_of(const float *x, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sqrtf(sum);
}

void sp_pool__sum(sp_pool *pool, size_t row, const float *embedding, float weight)
{
	float *to = pool->rows + row * pool->dim;

	if (pool->max_norm >= 0) {
		float length = length_of(embedding, pool->dim);

		if (length > pool->max_norm)
			weight *= pool->max_norm / length;
	}
	for (size_t i = 0; i < pool->dim; i++)
		to[i] += weight * embedding[i];
}

void sp_pool__add(sp_pool *pool, size_t row, const float *embedding, float weight)
{
	sp_pool__sum(pool, row, embedding, weight);
	pool->counts[row]++;
}

void sp_pool__finish(sp_pool *pool, sp_pool_combiner combiner)
{
	if (combiner == SP_POOL_SUM)
		return;
	for (size_t row = 0; row < pool->count; row++) {
		float n = (float)pool->counts[row], *to = pool->rows + row * pool->dim;
		float divisor = combiner == SP_POOL_MEAN ? n : sqrtf(n);

		if (n > 1)
			for (size_t i = 0; i < pool->dim; i++)
				to[i] /= divisor;
	}
}
