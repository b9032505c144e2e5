#include "tests/support/known_tables.h"

#include <stdlib.h>
#include <string.h>

#include "storage/rows/rows_builder.h"
#include "tests/support/cmocka.h"

static uint64_t random_state = 88172645463325252u;

uint64_t sp_known_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

float sp_known_element(size_t table, int64_t key, size_t d)
{
	return (float)((int64_t)(table * 31 + d * 7) + key % 101 - 50) / 16.0f;
}

int64_t sp_known_default_rows = 3;

int sp_known_shorter_way(void **state)
{
	(void)state;
	sp_known_default_rows = 4;
	return 0;
}

int sp_known_usual_way(void **state)
{
	(void)state;
	sp_known_default_rows = 3;
	return 0;
}

float sp_known_absent(int64_t key, size_t d)
{
	return (float)(key % sp_known_default_rows) + (float)d / 8.0f;
}

float sp_known_expected(size_t table, int64_t size, int64_t key, size_t d)
{
	return key >= 0 && key < size && key % 2 == 0 ? sp_known_element(table, key, d)
						      : sp_known_absent(key, d);
}

sp_rows *sp_known_rows(size_t table, size_t dim, int64_t first, int64_t end, sp_row_format format)
{
	sp_rows_options options = {.name = "t", .dim = dim, .format = format};
	size_t count = 0, most = (size_t)(end - first) / 2 + 1;
	int64_t *keys = malloc(most * sizeof(*keys));
	float *floats = malloc(most * dim * sizeof(*floats));
	sp_rows *rows;
	sp_error err;

	for (int64_t key = first; key < end; key += 2) {
		for (size_t d = 0; d < dim; d++)
			floats[count * dim + d] = sp_known_element(table, key, d);
		keys[count++] = key;
	}
	assert_ok(sp_rows_create(&rows, &options, keys, floats, count, &err), &err);
	free(keys);
	free(floats);
	return rows;
}

sp_table *sp_known_table(size_t dim, sp_rows *base, sp_tier *below)
{
	float defaults[4 * 128];
	size_t count = (size_t)sp_known_default_rows;
	sp_table_options options = {
		.name = "t", .dim = dim, .default_rows = defaults, .default_row_count = count};
	sp_table *table;
	sp_error err;

	for (size_t i = 0; i < count * dim; i++)
		defaults[i] = sp_known_absent((int64_t)(i / dim), i % dim);
	assert_ok(sp_table_create(&table, &options, base, below, &err), &err);
	sp_rows_release(base);
	sp_tier_release(below);
	return table;
}

/* Adds what a lookup adds to the counters of its table, but for keys that the double lacks. */
static void add_counts(sp_table_counters *sum, const sp_lookup *lookup)
{
	sp_table_layers layers = sp_table_get_layers(lookup->table);
	sp_stored_row row;

	for (size_t i = 0; i < lookup->count; i++) {
		int64_t key = lookup->keys[i];
		bool held = (layers.overlay != NULL && sp_rows_find(layers.overlay, key, &row)) ||
			    (layers.base != NULL && sp_rows_find(layers.base, key, &row));
		bool asked = !held && layers.below != NULL && key != -1 && key != -2;

		sum->keys++;
		sum->in_memory += !asked;
		sum->absent += !held && !asked;
	}
}

/* Also checks what is counted of a run that succeeds. */
sp_status sp_known_run(const sp_lookup *lookups, size_t count, sp_error *err)
{
	size_t size = sp_lookup_scratch(lookups, count);
	void *scratch = size != 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
	sp_table_counters *counted = calloc(count + 1, sizeof(*counted)), now;
	sp_status status;

	for (size_t i = 0; i < count; i++)
		counted[i] = sp_table_count(lookups[i].table);
	status = sp_lookup_run(lookups, count, scratch, 0, err);
	for (size_t i = 0; status == SP_OK && i < count; i++) {
		for (size_t k = 0; k < count; k++)
			if (lookups[k].table == lookups[i].table)
				add_counts(&counted[i], &lookups[k]);
		now = sp_table_count(lookups[i].table);
		assert_int_equal(now.keys, counted[i].keys);
		assert_int_equal(now.in_memory, counted[i].in_memory);
		assert_int_equal(now.absent, counted[i].absent);
	}
	free(counted);
	free(scratch);
	return status;
}

/* Locates with exactly the scratch that was asked for. */
sp_status sp_known_locate(const sp_table *table, const int64_t *keys, size_t count, int32_t *places,
			  sp_error *err)
{
	size_t size = sp_table_locate_scratch(table, count);
	void *scratch = size != 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
	sp_status status = sp_table_locate(table, keys, count, places, scratch, 0, err);

	free(scratch);
	return status;
}

/* ------------------------------------------------------------------ tiers */

int sp_known_tier_reads;

static size_t double_scratch(const sp_tier *tier, size_t count)
{
	(void)tier;
	return 3 * count;
}

static sp_status double_read(const sp_tier_read *reads, size_t count, void *scratch,
			     int64_t deadline_ns, sp_error *err)
{
	size_t keys = 0;

	(void)deadline_ns;
	sp_known_tier_reads++;
	for (size_t r = 0; r < count; r++) {
		sp_known_tier *t = (sp_known_tier *)reads[r].tier;

		if (t->failure != SP_OK)
			return sp_error_set(err, t->failure, "the double fails");
		t->calls++;
		t->keys += reads[r].count;
		keys += reads[r].count;
		for (size_t i = 0; i < reads[r].count; i++) {
			int64_t key = reads[r].keys[i];

			assert_true(key != -1 && key != -2);
			reads[r].found[i] = key >= t->first && key < t->end && key % 2 == 0;
			for (size_t d = 0; reads[r].found[i] && d < t->tier.dim; d++)
				reads[r].rows[i][d] = sp_known_element(t->table, key, d);
		}
	}
	memset(scratch, 0xee, 3 * keys);
	return SP_OK;
}

static void double_counters(const sp_tier *tier, sp_tier_counters *out)
{
	*out = (sp_tier_counters){.asked = ((const sp_known_tier *)tier)->keys};
}

static void double_destroy(sp_tier *tier)
{
	sp_known_tiers_destroyed++;
	free(tier);
}

static size_t double_footprint(const sp_tier *tier)
{
	(void)tier;
	return 1000;
}

static const sp_tier_kind double_kind = {.name = "double",
					 .scratch = double_scratch,
					 .read = double_read,
					 .counters = double_counters,
					 .footprint = double_footprint,
					 .destroy = double_destroy};

int sp_known_tiers_destroyed;

sp_known_tier *sp_known_tier_new(size_t table, size_t dim, int64_t first, int64_t end)
{
	sp_known_tier *t = calloc(1, sizeof(*t));

	*t = (sp_known_tier){.tier = {.kind = &double_kind, .dim = dim, .row_count = 5},
			     .table = table,
			     .first = first,
			     .end = end};
	atomic_init(&t->tier.references, 1);
	return t;
}
