#include <math.h>
#include <string.h>

#include "engine/ops/embedding/embedding_columns.h"
#include "engine/ops/sparse/sparse_segment.h"

enum { LANES = 8, SUMS = 4, LONG_SEGMENT = 16 };

/* Rows of a table, each times its weight, as SegmentSum adds them up. */
typedef struct weighted_rows {
	const float *table;
	size_t width;
	const int64_t *keys;
	const float *weights;
	size_t count;
} weighted_rows;

/* sum += weight * columns `column` ... `end` - 1 of row i. */
static void add_row(float *sum, const weighted_rows *rows, size_t i, size_t column, size_t end)
{
	const float *row = rows->table + (size_t)rows->keys[i] * rows->width;

	for (size_t j = column; j < end; j++)
		sum[j - column] += row[j] * rows->weights[i];
}

/* LANES columns of many rows: four sums side by side, and the rows after the last four. */
static void add_lanes(float *sum, const weighted_rows *rows, size_t column)
{
	float sums[SUMS][LANES] = {{0}};
	size_t whole = rows->count - rows->count % SUMS;

	for (size_t i = 0; i < whole; i++)
		add_row(sums[i % SUMS], rows, i, column, column + LANES);
	for (size_t s = 1; s < SUMS; s++)
		for (size_t l = 0; l < LANES; l++)
			sums[0][l] += sums[s][l];
	for (size_t i = whole; i < rows->count; i++)
		add_row(sums[0], rows, i, column, column + LANES);
	memcpy(sum, sums[0], sizeof(sums[0]));
}

static void add_weighted(float *sum, const weighted_rows *rows)
{
	size_t column = 0;

	for (; rows->count >= LONG_SEGMENT && column + LANES <= rows->width; column += LANES)
		add_lanes(sum + column, rows, column);
	memset(sum + column, 0, (rows->width - column) * sizeof(*sum));
	for (size_t i = 0; i < rows->count; i++)
		add_row(sum + column, rows, i, column, rows->width);
}

/* What the weighted sum is divided by. */
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
