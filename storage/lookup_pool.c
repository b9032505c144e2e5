#include <math.h>
#include <string.h>

#include "storage/lookup_internal.h"

enum {
	SCALED_KEYS = 10, /* fewer are scaled, as many are divided: TensorFlow's rounding */
	GATHERED = 8192,  /* elements of rows that are gathered, and then summed, at once */
};

void sp_row_pool__close(const sp_lookup *lookup, sp_row_pool *p)
{
	const sp_pooling *pooling = lookup->pooling;
	float *sum = lookup->rows + p->segment * lookup->stride;
	float divisor = pooling->combiner == SP_COMBINE_SQRTN ? sqrtf(p->divisor) : p->divisor;
	size_t dim = lookup->table->rules->dim;

	p->open = false;
	if (pooling->combiner == SP_COMBINE_SUM)
		return;
	if (pooling->weights == NULL && p->divisor < SCALED_KEYS) {
		for (size_t d = 0; d < dim; d++)
			sum[d] *= 1 / divisor;
		return;
	}
	if (divisor == 0.0f && pooling->zero_divisor_is_zero)
		memset(sum, 0, dim * sizeof(*sum));
	else
		for (size_t d = 0; d < dim; d++)
			sum[d] /= divisor;
}

void sp_row_pool__add(const sp_lookup *lookup, sp_row_pool *p, size_t key, sp_stored_row row)
{
	const sp_pooling *pooling = lookup->pooling;
	size_t segment = (size_t)pooling->segments[key];
	float weight = pooling->weights != NULL ? pooling->weights[key] : 1.0f;

	if (p->open && p->segment != segment)
		sp_row_pool__close(lookup, p);
	if (!p->open)
		*p = (sp_row_pool){.segment = segment, .open = true};
	p->divisor += pooling->combiner == SP_COMBINE_SQRTN ? weight * weight : weight;
	row.codec->accumulate(lookup->table->rules->dim, weight, row.data,
			      lookup->rows + segment * lookup->stride);
}

void sp_row_pool__clear(const sp_lookup *lookup)
{
	for (size_t s = 0; s < lookup->pooling->segment_count; s++)
		memset(lookup->rows + s * lookup->stride, 0,
		       lookup->table->rules->dim * sizeof(float));
}

/* Rows [count] of the keys from `first` on. */
static void pool_rows(const sp_lookup *lookup, sp_row_pool *p, size_t first, const float *rows,
		      size_t count)
{
	const sp_row_codec *codec = sp_row_codec_find(SP_ROW_FP32);
	size_t dim = lookup->table->rules->dim;

	for (size_t i = 0; i < count; i++, rows += dim) {
		size_t key = first + i;

		if (sp_row_pool__is_alone(lookup->pooling, key, lookup->count))
			memcpy(lookup->rows +
				       (size_t)lookup->pooling->segments[key] * lookup->stride,
			       rows, dim * sizeof(*rows));
		else
			sp_row_pool__add(lookup, p, key, (sp_stored_row){rows, codec});
	}
}

void sp_lookup__pool(const sp_lookup *lookup, const float *elements)
{
	sp_row_pool p = {0};

	sp_row_pool__clear(lookup);
	pool_rows(lookup, &p, 0, elements, lookup->count);
	if (p.open)
		sp_row_pool__close(lookup, &p);
}

/*
 * The rows of some keys are gathered where they stay in cache, and then summed:
 * what gathers them waits for memory, and what sums them would be in its way.
 */
void sp_lookup__pool_plain(const sp_lookup *lookup)
{
	_Alignas(64) float elements[GATHERED];
	size_t dim = lookup->table->rules->dim, most = GATHERED / dim;
	sp_lookup some = *lookup;
	sp_row_pool p = {0};

	some.rows = elements;
	some.stride = dim;
	sp_row_pool__clear(lookup);
	for (size_t first = 0; first < lookup->count; first += most) {
		some.keys = lookup->keys + first;
		some.count = lookup->count - first < most ? lookup->count - first : most;
		sp_lookup__gather_plain(&some);
		pool_rows(lookup, &p, first, elements, some.count);
	}
	if (p.open)
		sp_row_pool__close(lookup, &p);
}

bool sp_lookup__pools_plain(const sp_lookup *lookup)
{
	enum { FEWEST = 64 };

	return lookup->table->rules->dim <= GATHERED / FEWEST;
}
