#include <string.h>

#include "storage/table/lookup_internal.h"

/*
 * A pipeline over the keys of all lookups.  Stages, some keys apart: prefetch the pilot of a key;
 * read it and prefetch the slot; read the slot.  While one key is answered, the memory of the
 * following ones is being fetched, whatever table they belong to.
 */
enum {
	BURST = 8,         /* keys that go through a stage together */
	LOCATE_AFTER = 32, /* keys between the prefetch of a pilot and its use */
	ANSWER_AFTER = 96,
	RING = 128,
};

_Static_assert(RING >= ANSWER_AFTER + BURST && (RING & (RING - 1)) == 0,
	       "an entry of the ring is free when it is used again");
_Static_assert(LOCATE_AFTER % BURST == 0 && ANSWER_AFTER % BURST == 0,
	       "all stages begin with the same keys");

/* A position among the keys of all lookups; each stage has its own. */
typedef struct cursor {
	const sp_lookup *lookup;
	size_t lookups_left; /* including this one */
	size_t key;
} cursor;

typedef struct pipeline {
	sp_rows_probe base[RING];
	sp_rows_probe overlay[RING];
	sp_misses *misses; /* of the current lookup; NULL: not collected */
	float divisor;     /* of the current segment */
	size_t absent;     /* keys of the current lookup */
	size_t tally;      /* where keys are counted */
} pipeline;

/* ---------------------------------------------------------------- stages */

/* Skips lookups that have no keys and those that sp_lookup__run_plain() answers. */
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

/*
 * The stored row of a key; false if no layer in memory has it.  Not inlined: the loop would run out
 * of registers, which makes lookups of fp16 rows take half as long again.
 */
static __attribute__((noinline)) bool find_row(const sp_table *table, const pipeline *p, size_t at,
					       int64_t key, sp_stored_row *row)
{
	return (table->overlay != NULL &&
		sp_rows__row(table->overlay, &p->overlay[at], key, row)) ||
	       (table->base != NULL && sp_rows__row(table->base, &p->base[at], key, row));
}

static const float *absent_row(pipeline *p, const sp_lookup *lookup, size_t i)
{
	const sp_table_rules *rules = lookup->table->rules;

	p->absent++;
	return sp_table__absent_row(rules, lookup->keys[i],
				    lookup->fallback != NULL ? lookup->fallback + i * rules->dim
							     : NULL);
}

/* Adds the key to the misses; false if no slower tier can have it. */
static bool pass_on(const sp_lookup *lookup, sp_misses *misses, size_t i, float *to)
{
	int64_t key = lookup->keys[i];

	if (misses == NULL || misses->keys == NULL || key == SP_KEY_EMPTY || key == SP_KEY_DELETED)
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
		memcpy(to, absent_row(p, lookup, i), dim * sizeof(*to));
}

static void pool_key(pipeline *p, const cursor *c, size_t at)
{
	const sp_lookup *lookup = c->lookup;
	sp_stored_row row;

	if (!find_row(lookup->table, p, at, lookup->keys[c->key], &row))
		row = (sp_stored_row){absent_row(p, lookup, c->key),
				      sp_row_codec_find(SP_ROW_FP32)};
	sp_lookup__pool_rows(lookup, c->key, 1, row, 0, &p->divisor);
}

static inline void answer(pipeline *p, const cursor *c, size_t at)
{
	const sp_lookup *lookup = c->lookup;

	if (lookup->pooling != NULL)
		pool_key(p, c, at);
	else
		gather_key(p, c, at);
	if (c->key + 1 == lookup->count) {
		size_t asked = p->misses != NULL ? p->misses->count : 0;

		sp_lookup__count(lookup, p->tally, lookup->count - asked, p->absent);
		p->absent = 0;
	}
}

/* The keys of a stage in one step: `count` entries of the ring from `at` on. */
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

/* Answers all `keys` keys of the lookups from `first` on. */
static void run_pipeline(cursor first, const sp_lookup *lookups, size_t keys, sp_misses *misses)
{
	cursor starting = first, locating = first, fetching = first, answering = first;
	size_t burst = sp_lookup__in_bursts() ? BURST : 1;
	pipeline p;

	p.divisor = 0;
	p.absent = 0;
	p.tally = sp_lookup__tally();
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

void sp_lookup__run_in_memory(const sp_lookup *lookups, size_t count, sp_misses *misses)
{
	size_t keys = 0;

	for (size_t i = 0; i < count; i++) {
		if (sp_lookup__is_plain(&lookups[i], count == 1)) {
			size_t held = sp_lookup__run_plain(&lookups[i]);

			sp_lookup__count(&lookups[i], sp_lookup__tally(), lookups[i].count,
					 lookups[i].count - held);
			continue;
		}
		keys += lookups[i].count;
		if (lookups[i].pooling != NULL)
			sp_lookup__clear_pools(&lookups[i]);
	}
	if (keys != 0)
		run_pipeline(first_key(lookups, count), lookups, keys, misses);
}
