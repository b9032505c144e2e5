#include <math.h>
#include <string.h>

#include "storage/table/lookup_internal.h"

void sp_lookup__clear_pools(const sp_lookup *lookup)
{
	for (size_t s = 0; s < lookup->pooling->segment_count; s++)
		memset(lookup->rows + s * lookup->stride, 0,
		       lookup->table->rules->dim * sizeof(float));
}

static void divide(const sp_pooling *pooling, float *sum, size_t dim, float divisor)
{
	if (pooling->combiner == SP_COMBINE_SQRTN)
		divisor = sqrtf(divisor);
	if (divisor == 0.0f && pooling->zero_divisor_is_zero)
		memset(sum, 0, dim * sizeof(*sum));
	else
		for (size_t d = 0; d < dim; d++)
			sum[d] /= divisor;
}

void sp_lookup__pool_rows(const sp_lookup *lookup, size_t first, size_t count, sp_stored_row rows,
			  size_t row_size, float *divisor)
{
	const sp_pooling *pooling = lookup->pooling;
	const float *weights = pooling->weights;
	const int64_t *segments = pooling->segments;
	size_t dim = lookup->table->rules->dim;
	const char *row = rows.data;

	for (size_t i = first, end = first + count; i < end;) {
		int64_t segment = segments[i];
		float *sum = lookup->rows + (size_t)segment * lookup->stride;

		if (i == 0 || segments[i - 1] != segment) {
			*divisor = 0.0f;
			if (weights == NULL) {
				rows.codec->decode(dim, row, sum);
				i++, row += row_size;
				if (i == lookup->count || segments[i] != segment)
					continue; /* a segment of one key: the row is the answer */
				*divisor = 1.0f;
			}
		}
		for (; i < end && segments[i] == segment; i++, row += row_size) {
			float weight = weights != NULL ? weights[i] : 1.0f;

			*divisor += pooling->combiner == SP_COMBINE_SQRTN ? weight * weight
									  : weight;
			rows.codec->accumulate(dim, weight, row, sum);
		}
		if (pooling->combiner != SP_COMBINE_SUM &&
		    (i == lookup->count || segments[i] != segment))
			divide(pooling, sum, dim, *divisor);
	}
}
