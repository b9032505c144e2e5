#include <math.h>
#include <string.h>

#include "engine/ops/embedding/embedding_columns.h"
#include "engine/ops/sparse/sparse_segment.h"

/* Rows of a table, each times its weight. */
typedef struct weighted_rows {
	const float *table;
	size_t width;
	const int64_t *keys;
	const float *weights;
	size_t count;
} weighted_rows;

static void add_weighted(float *sum, const weighted_rows *rows)
{
	memset(sum, 0, rows->width * sizeof(*sum));
	for (size_t i = 0; i < rows->count; i++) {
		const float *row = rows->table + (size_t)rows->keys[i] * rows->width;

		for (size_t j = 0; j < rows->width; j++)
			sum[j] += row[j] * rows->weights[i];
	}
}

/* The divisor of the weighted sum. */
static float divisor_of(const weighted_rows *rows, sp_combiner combiner)
{
	float sum = 0;

	for (size_t i = 0; i < rows->count; i++) {
		float weight = rows->weights[i];

		sum += combiner == SP_COMBINE_MEAN ? weight : weight * weight;
	}
	return combiner == SP_COMBINE_MEAN ? sum : sqrtf(sum);
}

static void divide(float *row, size_t width, float divisor, bool zero_is_zero)
{
	if (zero_is_zero && divisor == 0)
		memset(row, 0, width * sizeof(*row));
	else
		for (size_t j = 0; j < width; j++)
			row[j] /= divisor;
}

/* One row of the output from `count` >= 1 keys. */
static void combine(float *row, size_t width, const float *table, const sp_pooling *pooling,
		    const int64_t *keys, const float *weights, size_t count)
{
	const weighted_rows rows = {table, width, keys, weights, count};

	if (weights == NULL) {
		sp_sparse_rows_pool(
			row, &(sp_sparse_rows){table, width, keys, count, pooling->combiner});
		return;
	}
	add_weighted(row, &rows);
	if (pooling->combiner != SP_COMBINE_SUM)
		divide(row, width, divisor_of(&rows, pooling->combiner),
		       pooling->zero_divisor_is_zero);
}

void sp_column_combine(float *rows, size_t width, const float *table, const int64_t *keys,
		       size_t count, const sp_pooling *pooling)
{
	size_t end = 0;

	if (width == 0)
		return;
	if (pooling == NULL) {
		for (size_t i = 0; i < count; i++)
			memcpy(rows + i * width, table + (size_t)keys[i] * width,
			       width * sizeof(*rows));
		return;
	}
	for (size_t segment = 0; segment < pooling->segment_count; segment++) {
		float *row = rows + segment * width;
		size_t i = end;

		while (end < count && pooling->segments[end] == (int64_t)segment)
			end++;
		if (i == end)
			memset(row, 0, width * sizeof(*row));
		else
			combine(row, width, table, pooling, keys + i,
				pooling->weights != NULL ? pooling->weights + i : NULL, end - i);
	}
}
