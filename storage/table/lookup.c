#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "storage/table/lookup_internal.h"

/*
 * A run is a pipeline over the keys of all lookups as if they were one: ask for
 * a key's pilot; some keys later read it and ask for its slot; some keys later
 * read that.  While one key is answered, the memory of those behind it is on its
 * way, whatever table they belong to.
 */
enum {
	BURST = 8,         /* keys that go through a stage together */
	LOCATE_AFTER = 32, /* keys between asking for a pilot and reading it */
	ANSWER_AFTER = 96,
	RING = 128,
};

_Static_assert(RING >= ANSWER_AFTER + BURST && (RING & (RING - 1)) == 0,
	       "a place is free when it is taken");
_Static_assert(LOCATE_AFTER % BURST == 0 && ANSWER_AFTER % BURST == 0,
	       "all stages begin with the same keys");

/* Goes over the keys of all lookups; each stage has its own. */
typedef struct cursor {
	const sp_lookup *lookup;
	size_t lookups_left; /* this one included */
	size_t key;
} cursor;

typedef struct pipeline {
	sp_rows_probe base[RING];
	sp_rows_probe overlay[RING];
	sp_misses *misses; /* of the lookup that is being answered; NULL: of none */
	sp_row_pool pool;  /* likewise */
} pipeline;

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
		sp_rows__find_slot(table->base, &p->base[at]);
	if (table->overlay != NULL)
		sp_rows__find_slot(table->overlay, &p->overlay[at]);
}

SP_ROWS_FETCHES void fetch(pipeline *p, const cursor *c, size_t at)
{
	const sp_table *table = c->lookup->table;

	if (table->base != NULL)
		sp_rows__fetch(p->base[at].at.slot, table->base->shape.slot_size);
	if (table->overlay != NULL)
		sp_rows__fetch(p->overlay[at].at.slot, table->overlay->shape.slot_size);
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
	size_t segment = (size_t)lookup->pooling->segments[c->key];
	sp_stored_row row;

	if (!find_row(lookup->table, p, at, lookup->keys[c->key], &row))
		row = (sp_stored_row){absent_row(lookup, c->key), sp_row_codec_find(SP_ROW_FP32)};
	if (sp_row_pool__is_alone(lookup->pooling, c->key, lookup->count))
		row.codec->decode(lookup->table->rules->dim, row.data,
				  lookup->rows + segment * lookup->stride);
	else
		sp_row_pool__add(lookup, &p->pool, c->key, row);
	if (c->key + 1 == lookup->count && p->pool.open)
		sp_row_pool__close(lookup, &p->pool);
}

static inline void answer(pipeline *p, const cursor *c, size_t at)
{
	if (c->lookup->pooling != NULL)
		pool_key(p, c, at);
	else
		gather_key(p, c, at);
}

/* The keys of one step that a stage has: as many as there are, from `at` on. */
typedef struct step {
	size_t at;
	size_t count;
} step;

static inline step step_of(size_t t, size_t after, size_t keys, size_t burst)
{
	size_t first = t - after;

	if (t < after || first >= keys)
		return (step){0};
	return (step){.at = first % RING, .count = keys - first < burst ? keys - first : burst};
}

/* All keys of the lookups from `first` on; as many as `keys`. */
static void run_pipeline(cursor first, const sp_lookup *lookups, size_t keys, sp_misses *misses,
			 float *lanes)
{
	cursor starting = first, locating = first, fetching = first, answering = first;
	size_t burst = sp_lookup__in_bursts() ? BURST : 1;
	pipeline p;

	p.pool = (sp_row_pool){.lanes = lanes};
	for (size_t t = 0; t < keys + ANSWER_AFTER; t += burst) {
		step answered = step_of(t, ANSWER_AFTER, keys, burst);
		step started = step_of(t, 0, keys, burst);
		step located = step_of(t, LOCATE_AFTER, keys, burst);

		for (size_t i = 0; i < answered.count; i++, next_key(&answering)) {
			p.misses = misses != NULL ? &misses[answering.lookup - lookups] : NULL;
			answer(&p, &answering, answered.at + i);
		}
		for (size_t i = 0; i < started.count; i++, next_key(&starting))
			start(&p, &starting, started.at + i);
		for (size_t i = 0; i < located.count; i++, next_key(&locating))
			locate(&p, &locating, located.at + i);
		for (size_t i = 0; i < located.count; i++, next_key(&fetching))
			fetch(&p, &fetching, located.at + i);
	}
}

void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses,
			      float *lanes)
{
	size_t keys = 0;

	for (size_t i = 0; i < count; i++) {
		if (sp_lookup__is_plain(&lookups[i], count == 1)) {
			sp_lookup__run_plain(&lookups[i], lanes);
			continue;
		}
		keys += lookups[i].count;
		if (lookups[i].pooling != NULL)
			sp_row_pool__clear(&lookups[i]);
	}
	if (keys != 0)
		run_pipeline(first_key(lookups, count), lookups, keys, misses, lanes);
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

static sp_status prepare_rows(const sp_lookup *lookup, const sp_rows *rows, int64_t deadline_ns,
			      sp_error *err)
{
	if (rows == NULL || rows->guard == NULL)
		return SP_OK;
	return rows->guard->prepare(rows->owner, rows, lookup->keys, lookup->count, deadline_ns,
				    err);
}

sp_status sp_lookup__prepare(const sp_lookup *lookups, size_t count, int64_t deadline_ns,
			     sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const sp_table *table = lookups[i].table;
		sp_status status = prepare_rows(&lookups[i], table->overlay, deadline_ns, err);

		if (status == SP_OK)
			status = prepare_rows(&lookups[i], table->base, deadline_ns, err);
		if (status != SP_OK)
			return sp_error_prefix(err, status, "table '%s'", table->rules->name);
	}
	return SP_OK;
}

static sp_status confirm_rows(const sp_rows *rows, sp_error *err)
{
	if (rows == NULL || rows->guard == NULL)
		return SP_OK;
	return rows->guard->confirm(rows->owner, err);
}

sp_status sp_lookup__confirm(const sp_lookup *lookups, size_t count, sp_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const sp_table *table = lookups[i].table;
		sp_status status = confirm_rows(table->overlay, err);

		if (status == SP_OK)
			status = confirm_rows(table->base, err);
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
	SP_TRY(sp_lookup__prepare(lookups, count, deadline_ns, err));
	if (tiers)
		SP_TRY(sp_lookup__run_with_tiers(lookups, count, scratch, deadline_ns, err));
	else
		sp_lookup__run_in_memory(lookups, count, NULL, scratch);
	return sp_lookup__confirm(lookups, count, err);
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
	status = sp_lookup_run(&lookup, 1, scratch, sp_clock_now_ns() + SP_TABLE_PATIENCE_NS, err);
	sp_free(scratch);
	return status;
}
