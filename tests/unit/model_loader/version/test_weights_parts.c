#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "model_loader/version/weights.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/*
 * The model of tests/golden/ev-parts, whose graph asks two parts of `city` by key % 1000 % 2, with
 * so few rows in each that these tell nothing, and deltas of other numbers of parts.
 *
 * The row of a key is the key in the full checkpoint, and key + 0.5 in a delta.
 */
enum { DIM = 3, KEYS = 4, MOST = 32 };

static const int64_t keys[KEYS] = {0, 1, 3, 8};
static const int64_t changed[] = {1, 3, 10};
enum { CHANGED = sizeof(changed) / sizeof(changed[0]) };

static char folder[SP_PATH_SIZE], full_prefix[SP_PATH_SIZE + 16], delta_prefix[SP_PATH_SIZE + 16];
static sp_model *model;
static sp_error err;

static int set_up(void **state)
{
	char path[SP_PATH_SIZE];
	sp_model_options options = {
		.savedmodel_dir = sp_source_path(path, "tests/golden/ev-parts/model"),
		.signature_name = "serving_default",
		.from_checkpoint = true};

	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(folder);
	snprintf(full_prefix, sizeof(full_prefix), "%s/full", folder);
	snprintf(delta_prefix, sizeof(delta_prefix), "%s/delta", folder);
	assert_ok(sp_model_open(&model, &options, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_model_destroy(model);
	sp_temp_remove(folder);
	return 0;
}

/* ------------------------------------------------------------------------ checkpoints */

typedef struct content {
	sp_checkpoint_tensor tensors[MOST];
	char names[MOST][64];
	int64_t keys[MOST][KEYS];
	float rows[MOST][KEYS * DIM];
	size_t count;
} content;

static content c;

static void add(const char *variable, const char *suffix, sp_checkpoint_tensor tensor)
{
	snprintf(c.names[c.count], sizeof(c.names[0]), "%s%s", variable, suffix);
	tensor.name = c.names[c.count];
	c.tensors[c.count++] = tensor;
}

/* Those of `some` that are of part `part` of `parts`. */
static void add_rows(const char *variable, const int64_t *some, size_t count, int64_t part,
		     int64_t parts, float plus, bool is_delta)
{
	int64_t *own = c.keys[c.count], kept = 0;
	float *rows = c.rows[c.count];

	for (size_t i = 0; i < count; i++) {
		if (some[i] % 1000 % parts != part)
			continue;
		for (int d = 0; d < DIM; d++)
			rows[kept * DIM + d] = (float)some[i] + plus;
		own[kept++] = some[i];
	}
	add(variable, is_delta ? "-sparse_incr_keys" : "-keys",
	    (sp_checkpoint_tensor){.dtype = SP_INT64, .rank = 1, .dims = {kept}, .data = own});
	add(variable, is_delta ? "-sparse_incr_values" : "-values",
	    (sp_checkpoint_tensor){
		    .dtype = SP_FLOAT, .rank = 2, .dims = {kept, DIM}, .data = rows});
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_checkpoint_tensor *)a)->name,
		      ((const sp_checkpoint_tensor *)b)->name);
}

/* `city` lies in the first `written` of `parts` parts; 1 of 1: without a number. */
static void write_version(const char *prefix, int64_t parts, int64_t written, bool is_delta)
{
	static const char *const others[] = {"item/multihash_0", "item/multihash_1", "user/block0",
					     "user/block1"};
	const int64_t *some = is_delta ? changed : keys;
	size_t count = is_delta ? CHANGED : KEYS;
	float plus = is_delta ? 0.5f : 0.0f;

	c.count = 0;
	add("bias", "",
	    (sp_checkpoint_tensor){.dtype = SP_FLOAT, .rank = 1, .dims = {DIM}, .value = 1});
	for (int64_t part = 0; part < written; part++) {
		char name[32];

		snprintf(name, sizeof(name), parts > 1 ? "city/part_%d" : "city", (int)part);
		add_rows(name, some, count, part, parts, plus, is_delta);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		add_rows(others[i], some, count, 0, 1, plus, is_delta);
	qsort(c.tensors, c.count, sizeof(c.tensors[0]), by_name);
	sp_checkpoint_write(prefix, c.tensors, c.count, 1);
}

/* ---------------------------------------------------------------------------- answers */

static const sp_table *table_of(const sp_weights *weights, const char *name)
{
	for (size_t i = 0; i < sp_weights_table_count(weights); i++)
		if (strcmp(sp_table_name(sp_weights_table(weights, i)), name) == 0)
			return sp_weights_table(weights, i);
	fail_msg("no table %s", name);
	return NULL;
}

/* What the graph is answered by the part that it asks for the key; below 0: none. */
static void check_row(const sp_weights *weights, int64_t key, float want)
{
	const sp_table *table;
	char name[32];
	float row[DIM];
	bool found;

	snprintf(name, sizeof(name), "city/part_%d", (int)(key % 2));
	table = table_of(weights, name);
	assert_int_equal(sp_table_contains(table, &key, 1, &found, NULL), SP_OK);
	assert_int_equal(found, want >= 0);
	if (!found)
		return;
	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	for (int d = 0; d < DIM; d++)
		if (row[d] != want)
			fail_msg("key %d is %g, not %g", (int)key, row[d], want);
}

static void check_rows(const sp_weights *weights)
{
	check_row(weights, 0, 0);
	check_row(weights, 1, 1.5f);
	check_row(weights, 2, -1);
	check_row(weights, 3, 3.5f);
	check_row(weights, 8, 8);
	check_row(weights, 10, 10.5f);
}

static void check(int64_t full_parts, int64_t delta_parts, int64_t written)
{
	sp_weights *full, *delta;

	write_version(full_prefix, full_parts, full_parts, false);
	write_version(delta_prefix, delta_parts, written, true);
	assert_ok(sp_weights_load(&full, model,
				  &(sp_weights_options){.checkpoint_prefix = full_prefix}, &err),
		  &err);
	assert_ok(sp_weights_load_delta(&delta, full,
					&(sp_weights_options){.delta_prefix = delta_prefix}, &err),
		  &err);
	check_rows(delta);
	sp_weights_destroy(delta);
	sp_weights_destroy(full);
}

static void a_delta_of_any_number_of_parts_is_taken(void **state)
{
	static const int64_t parts[] = {1, 2, 3, 4, 8};

	(void)state;
	for (size_t f = 0; f < sizeof(parts) / sizeof(parts[0]); f++)
		for (size_t d = 0; d < sizeof(parts) / sizeof(parts[0]); d++)
			check(parts[f], parts[d], parts[d]);
}

/* No key of the delta is of the third part: two are left, and none the less not the graph's two. */
static void the_last_parts_of_a_delta_may_be_missing(void **state)
{
	(void)state;
	check(2, 3, 2);
	check(4, 3, 2);
	check(2, 8, 4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_delta_of_any_number_of_parts_is_taken),
		CASE(the_last_parts_of_a_delta_may_be_missing),
	};

	return cmocka_run_group_tests_name("parts of weights", tests, NULL, NULL);
}
