#include <math.h>
#include <string.h>

#include "base/size.h"
#include "storage/table/lookup_internal.h"

enum {
	SCALED_KEYS = 10,  /* fewer are scaled, as many are divided: TensorFlow's rounding */
	GATHERED = 8192,   /* elements of rows that are gathered, and then summed, at once */
	GROUP = 8,         /* rows without weights that are summed by themselves */
	LONG_SEGMENT = 16, /* of so many rows with weights there are several sums, */
	SUMS = 4,          /* side by side, */
	REGISTER = 8,      /* but of the columns behind the last so many */
};

size_t sp_row_pool__lanes(const sp_lookup *lookups, size_t count)
{
	size_t dim = 0, lanes;

	for (size_t i = 0; i < count; i++)
		if (lookups[i].pooling != NULL && lookups[i].table->rules->dim > dim)
			dim = lookups[i].table->rules->dim;
	return sp_size_mul(&lanes, dim, SUMS - 1) ? lanes : SIZE_MAX;
}

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

static void open_segment(const sp_lookup *lookup, sp_row_pool *p, size_t key)
{
	const int64_t *segments = lookup->pooling->segments;
	size_t end = key + 1;

	while (end < lookup->count && segments[end] == segments[key])
		end++;
	*p = (sp_row_pool){.lanes = p->lanes,
			   .segment = (size_t)segments[key],
			   .count = end - key,
			   .open = true};
}

/* The first rows one by one, then groups of eight. */
static void add_row(const sp_row_pool *p, size_t dim, sp_stored_row row, float *sum)
{
	size_t first = sp_pooling_first(p->count), place = (p->added - first) % GROUP;

	if (p->added < first) {
		row.codec->accumulate(dim, 1, row.data, sum);
		return;
	}
	if (place == 0)
		row.codec->decode(dim, row.data, p->lanes);
	else
		row.codec->accumulate(dim, 1, row.data, p->lanes);
	if (place == GROUP - 1)
		sp_row_codec_find(SP_ROW_FP32)->accumulate(dim, 1, p->lanes, sum);
}

/* Every fourth row into the same sum, but its last columns, which are all in `sum`. */
static void add_to_lane(size_t dim, float weight, sp_stored_row row, float *lane, float *sum)
{
	size_t whole = dim - dim % REGISTER, rest = (dim - whole) * sizeof(*sum);

	memcpy(lane + whole, sum + whole, rest);
	row.codec->accumulate(dim, weight, row.data, lane);
	memcpy(sum + whole, lane + whole, rest);
}

static void add_weighted(const sp_row_pool *p, size_t dim, float weight, sp_stored_row row,
			 float *sum)
{
	const sp_row_codec *fp32 = sp_row_codec_find(SP_ROW_FP32);
	size_t whole = p->count < LONG_SEGMENT ? 0 : p->count - p->count % SUMS;
	size_t lane = p->added % SUMS;

	if (p->added == 0 && whole != 0)
		memset(p->lanes, 0, (SUMS - 1) * dim * sizeof(*sum));
	if (p->added >= whole || lane == 0)
		row.codec->accumulate(dim, weight, row.data, sum);
	else
		add_to_lane(dim, weight, row, p->lanes + (lane - 1) * dim, sum);
	if (p->added + 1 == whole)
		for (lane = 0; lane < SUMS - 1; lane++)
			fp32->accumulate(dim - dim % REGISTER, 1, p->lanes + lane * dim, sum);
}

void sp_row_pool__add(const sp_lookup *lookup, sp_row_pool *p, size_t key, sp_stored_row row)
{
	const sp_pooling *pooling = lookup->pooling;
	size_t segment = (size_t)pooling->segments[key], dim = lookup->table->rules->dim;
	float weight = pooling->weights != NULL ? pooling->weights[key] : 1.0f;
	float *sum = lookup->rows + segment * lookup->stride;

	if (p->open && p->segment != segment)
		sp_row_pool__close(lookup, p);
	if (!p->open)
		open_segment(lookup, p, key);
	p->divisor += pooling->combiner == SP_COMBINE_SQRTN ? weight * weight : weight;
	if (pooling->weights != NULL)
		add_weighted(p, dim, weight, row, sum);
	else
		add_row(p, dim, row, sum);
	p->added++;
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

void sp_lookup__pool(const sp_lookup *lookup, const float *elements, float *lanes)
{
	sp_row_pool p = {.lanes = lanes};

	sp_row_pool__clear(lookup);
	pool_rows(lookup, &p, 0, elements, lookup->count);
	if (p.open)
		sp_row_pool__close(lookup, &p);
}

/*
 * The rows of some keys are gathered where they stay in cache, and then summed:
 * what gathers them waits for memory, and what sums them would be in its way.
 */
void sp_lookup__pool_plain(const sp_lookup *lookup, float *lanes)
{
	_Alignas(64) float elements[GATHERED];
	size_t dim = lookup->table->rules->dim, most = GATHERED / dim;
	sp_lookup some = *lookup;
	sp_row_pool p = {.lanes = lanes};

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
