#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "storage/lookup_internal.h"

/*
 * A run is a pipeline over the keys of all lookups as if they were one: ask for
 * a key's pilot; some keys later read it and ask for its slot; some keys later
 * read that.  While one key is answered, the memory of those behind it is on its
 * way, whatever table they belong to.
 */
enum {
	LOCATE_AFTER = 32, /* keys between asking for a pilot and reading it */
	ANSWER_AFTER = 96,
	RING = 128,
	SCALED_KEYS = 10, /* fewer are scaled, as many are divided: TensorFlow's rounding */
};

_Static_assert(RING > ANSWER_AFTER && (RING & (RING - 1)) == 0, "a place is free when it is taken");

/* Goes over the keys of all lookups; each stage has its own. */
typedef struct cursor {
	const sp_lookup *lookup;
	size_t lookups_left; /* this one included */
	size_t key;
} cursor;

/* The sum that an output row has so far. */
typedef struct pool {
	size_t segment;
	float divisor;
	bool open;
} pool;

typedef struct pipeline {
	sp_rows_probe base[RING];
	sp_rows_probe overlay[RING];
	sp_misses *misses; /* of the lookup that is being answered; NULL: of none */
	pool pool;         /* likewise */
} pipeline;

/* --------------------------------------------------------------- pooling */

static void close_segment(const sp_lookup *lookup, pool *p)
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

/* Adds one stored row as key `key` of the lookup. */
static void add_to_segment(const sp_lookup *lookup, pool *p, size_t key, sp_stored_row row)
{
	const sp_pooling *pooling = lookup->pooling;
	size_t segment = (size_t)pooling->segments[key];
	float weight = pooling->weights != NULL ? pooling->weights[key] : 1.0f;

	if (p->open && p->segment != segment)
		close_segment(lookup, p);
	if (!p->open)
		*p = (pool){.segment = segment, .open = true};
	p->divisor += pooling->combiner == SP_COMBINE_SQRTN ? weight * weight : weight;
	row.codec->accumulate(lookup->table->rules->dim, weight, row.data,
			      lookup->rows + segment * lookup->stride);
}

static void clear_segments(const sp_lookup *lookup)
{
	for (size_t s = 0; s < lookup->pooling->segment_count; s++)
		memset(lookup->rows + s * lookup->stride, 0,
		       lookup->table->rules->dim * sizeof(float));
}

void sp_lookup__pool(const sp_lookup *lookup, const float *elements)
{
	const sp_row_codec *codec = sp_row_codec_find(SP_ROW_FP32);
	pool p = {0};

	clear_segments(lookup);
	for (size_t i = 0; i < lookup->count; i++)
		add_to_segment(lookup, &p, i,
			       (sp_stored_row){elements + i * lookup->table->rules->dim, codec});
	if (p.open)
		close_segment(lookup, &p);
}

/* ---------------------------------------------------------------- stages */

/* Empty lookups have no key, and plain ones go their own way. */
static cursor first_key(const sp_lookup *lookups, size_t count)
{
	for (; count != 0 && (lookups->count == 0 || sp_lookup__is_plain(lookups, false)); count--)
		lookups++;
	return (cursor){.lookup = lookups, .lookups_left = count};
}

static inline void next_key(cursor *c)
{
	if (++c->key == c->lookup->count)
		*c = first_key(c->lookup + 1, c->lookups_left - 1);
}

static inline void start(pipeline *p, const cursor *c, size_t at)
{
	const sp_table *table = c->lookup->table;
	int64_t key = c->lookup->keys[c->key];

	if (table->base != NULL)
		sp_rows__start(table->base, key, &p->base[at]);
	if (table->overlay != NULL)
		sp_rows__start(table->overlay, key, &p->overlay[at]);
}

static inline void locate(pipeline *p, const cursor *c, size_t at)
{
	const sp_table *table = c->lookup->table;

	if (table->base != NULL)
		sp_rows__fetch_slot(table->base, &p->base[at]);
	if (table->overlay != NULL)
		sp_rows__fetch_slot(table->overlay, &p->overlay[at]);
}

/* The stored row of a key; false when no layer in memory has it. */
static inline bool find_row(const sp_table *table, const pipeline *p, size_t at, int64_t key,
			    sp_stored_row *row)
{
	return (table->overlay != NULL &&
		sp_rows__row(table->overlay, &p->overlay[at], key, row)) ||
	       (table->base != NULL && sp_rows__row(table->base, &p->base[at], key, row));
}

static const float *absent_row(const sp_lookup *lookup, size_t i)
{
	const sp_table_rules *rules = lookup->table->rules;

	return sp_table__absent_row(rules, lookup->keys[i],
				    lookup->fallback != NULL ? lookup->fallback + i * rules->dim
							     : NULL);
}

/* Leaves the key to the slower tier; false when there is none that could have it. */
static bool pass_on(const sp_lookup *lookup, sp_misses *misses, size_t i, float *to)
{
	int64_t key = lookup->keys[i];

	if (misses == NULL || misses->keys == NULL || key == SP_ROWS_EMPTY_KEY ||
	    key == SP_ROWS_DELETED_KEY)
		return false;
	misses->keys[misses->count] = key;
	misses->places[misses->count] = to;
	misses->at[misses->count++] = i;
	return true;
}

static void gather_key(pipeline *p, const cursor *c, size_t at)
{
	const sp_lookup *lookup = c->lookup;
	const sp_table *table = lookup->table;
	size_t i = c->key, dim = table->rules->dim;
	float *to = lookup->rows + i * lookup->stride;
	sp_stored_row row;

	if (find_row(table, p, at, lookup->keys[i], &row))
		row.codec->decode(dim, row.data, to);
	else if (!pass_on(lookup, p->misses, i, to))
		memcpy(to, absent_row(lookup, i), dim * sizeof(*to));
}

static void pool_key(pipeline *p, const cursor *c, size_t at)
{
	const sp_lookup *lookup = c->lookup;
	sp_stored_row row;

	if (!find_row(lookup->table, p, at, lookup->keys[c->key], &row))
		row = (sp_stored_row){absent_row(lookup, c->key), sp_row_codec_find(SP_ROW_FP32)};
	add_to_segment(lookup, &p->pool, c->key, row);
	if (c->key + 1 == lookup->count)
		close_segment(lookup, &p->pool);
}

static inline void answer(pipeline *p, const cursor *c, size_t at)
{
	if (c->lookup->pooling != NULL)
		pool_key(p, c, at);
	else
		gather_key(p, c, at);
}

void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses)
{
	cursor starting = first_key(lookups, count), locating = starting, answering = starting;
	size_t keys = 0;
	pipeline p;

	if (count == 1 && sp_lookup__is_plain(lookups, true)) {
		sp_lookup__gather_plain(lookups);
		return;
	}
	p.pool.open = false;
	for (size_t i = 0; i < count; i++) {
		if (sp_lookup__is_plain(&lookups[i], false)) {
			sp_lookup__gather_plain(&lookups[i]);
			continue;
		}
		keys += lookups[i].count;
		if (lookups[i].pooling != NULL)
			clear_segments(&lookups[i]);
	}
	for (size_t t = 0; keys != 0 && t < keys + ANSWER_AFTER; t++) {
		if (t >= ANSWER_AFTER) {
			p.misses = misses != NULL ? &misses[answering.lookup - lookups] : NULL;
			answer(&p, &answering, (t - ANSWER_AFTER) % RING);
			next_key(&answering);
		}
		if (t < keys) {
			start(&p, &starting, t % RING);
			next_key(&starting);
		}
		if (t >= LOCATE_AFTER && t - LOCATE_AFTER < keys) {
			locate(&p, &locating, (t - LOCATE_AFTER) % RING);
			next_key(&locating);
		}
	}
}

/* ------------------------------------------------------------------- API */

static sp_status check_segments(const sp_lookup *lookup, sp_error *err)
{
	const int64_t *segments = lookup->pooling->segments;
	int64_t least = 0;

	for (size_t i = 0; i < lookup->count; i++) {
		if (segments[i] < least || (uint64_t)segments[i] >= lookup->pooling->segment_count)
			return sp_error_set(err, SP_INVALID,
					    "segment %lld of key %zu does not follow %lld or is "
					    "not below %zu",
					    (long long)segments[i], i, (long long)least,
					    lookup->pooling->segment_count);
		least = segments[i];
	}
	return SP_OK;
}

/* Asks or tells the guards of what the lookup reads. */
static sp_status guard_rows(const sp_lookup *lookup, const sp_rows *rows, bool before,
			    sp_error *err)
{
	if (rows == NULL || rows->guard == NULL)
		return SP_OK;
	if (!before)
		return rows->guard->confirm(rows->owner, err);
	return rows->guard->prepare(rows->owner, rows, lookup->keys, lookup->count, err);
}

sp_status sp_lookup__guard(const sp_lookup *lookups, size_t count, bool before, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const sp_table *table = lookups[i].table;
		sp_status status = guard_rows(&lookups[i], table->overlay, before, err);

		if (status == SP_OK)
			status = guard_rows(&lookups[i], table->base, before, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "table '%s'", table->rules->name);
	}
	return SP_OK;
}

sp_status sp_lookup_run(const sp_lookup *lookups, size_t count, void *scratch, int64_t deadline_ns,
			sp_error *err)
{
	bool tiers = false;

	for (size_t i = 0; i < count; i++) {
		tiers = tiers || lookups[i].table->below != NULL;
		if (lookups[i].pooling != NULL)
			SP_TRY(check_segments(&lookups[i], err));
	}
	SP_TRY(sp_lookup__guard(lookups, count, true, err));
	if (tiers)
		SP_TRY(sp_lookup__run_with_tiers(lookups, count, scratch, deadline_ns, err));
	else
		sp_lookup__run_in_memory(lookups, count, NULL);
	return sp_lookup__guard(lookups, count, false, err);
}

sp_status sp_table_lookup(const sp_table *table, const int64_t *keys, size_t count,
			  const float *fallback, float *rows, sp_error *err)
{
	sp_lookup lookup = {.table = table,
			    .keys = keys,
			    .count = count,
			    .fallback = fallback,
			    .rows = rows,
			    .stride = table->rules->dim};
	size_t size = sp_lookup_scratch(&lookup, 1);
	void *scratch = NULL;
	sp_status status;

	if (size != 0 && (scratch = sp_alloc_aligned(64, size)) == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to look up %zu keys", count);
	status = sp_lookup_run(&lookup, 1, scratch, 0, err);
	sp_free(scratch);
	return status;
}
