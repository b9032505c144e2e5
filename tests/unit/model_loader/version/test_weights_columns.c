#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "model_loader/version/weights.h"
#include "storage/table/layers_fold.h"
#include "tests/support/paths.h"

/*
 * Frequencies and versions on the way from one version of a model to the next:
 * tests/golden/ev-frequency, whose graph asks the frequencies of both tables and
 * the versions of "strict"; scripts/golden/make_ev_frequency.py trains it.
 */
static sp_model *model;
static sp_weights *full, *delta;
static sp_error err;

static sp_status load_full(sp_weights **out, const char *prefix)
{
	char path[SP_PATH_SIZE];

	sp_source_path(path, prefix);
	return sp_weights_load(out, model, &(sp_weights_options){.checkpoint_prefix = path}, &err);
}

static sp_status load_delta(sp_weights **out, sp_weights *base, const char *prefix)
{
	char path[SP_PATH_SIZE];

	sp_source_path(path, prefix);
	return sp_weights_load_delta(out, base, &(sp_weights_options){.delta_prefix = path}, &err);
}

#define FOLDER     "tests/golden/ev-frequency/"
#define FIRST      FOLDER "checkpoints/v1/model.ckpt-10"
#define DELTA_NAME "checkpoints/v1/.incremental_checkpoint/incremental_model.ckpt-"
#define DELTA_11   FOLDER "timeline/01/" DELTA_NAME "11"
#define DELTA_12   FOLDER "timeline/02/" DELTA_NAME "12"

static int set_up(void **state)
{
	char path[SP_PATH_SIZE];
	sp_model_options options = {.savedmodel_dir = sp_source_path(path, FOLDER "model"),
				    .signature_name = "serving_default",
				    .from_checkpoint = true};

	(void)state;
	full = delta = NULL;
	assert_ok(sp_model_open(&model, &options, &err), &err);
	assert_ok(load_full(&full, FIRST), &err);
	assert_ok(load_delta(&delta, full, DELTA_11), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_weights_destroy(delta);
	sp_weights_destroy(full);
	sp_model_destroy(model);
	return 0;
}

static size_t number_of(const sp_weights *weights, const char *name)
{
	size_t i = 0;

	while (strcmp(sp_table_name(sp_weights_table(weights, i)), name) != 0)
		i++;
	return i;
}

/* How often `name` says that key 9 was seen, and when last. */
static void check_nine(const sp_weights *weights, const char *name, int64_t seen, int64_t last)
{
	const sp_table *table = sp_weights_table(weights, number_of(weights, name));
	const int64_t key = 9;
	int64_t have;

	sp_table_read_column(table, SP_TABLE_FREQUENCIES, &key, 1, &have);
	assert_int_equal(have, seen);
	assert_int_equal(sp_table_has_column(table, SP_TABLE_VERSIONS), last >= 0);
	if (last < 0)
		return;
	sp_table_read_column(table, SP_TABLE_VERSIONS, &key, 1, &have);
	assert_int_equal(have, last);
}

/* Key 9 was seen in steps 4 and 11, and twice in step 12; "strict" admits it then. */
static void tables_have_what_the_graph_asks_them(void **state)
{
	sp_weights *next;

	(void)state;
	assert_int_equal(sp_weights_table_count(full), 2);
	check_nine(full, "plain", 1, -1);
	check_nine(full, "strict", 1, 4);
	check_nine(delta, "plain", 2, -1);
	check_nine(delta, "strict", 1, 4);
	assert_ok(load_delta(&next, full, DELTA_12), &err);
	check_nine(next, "plain", 4, -1);
	check_nine(next, "strict", 4, 12);
	check_nine(full, "strict", 1, 4);
	sp_weights_destroy(next);
}

static void fold(sp_weights **out, sp_weights *weights, const char *name)
{
	const sp_layers_fold_options options = {.threads = 1};
	size_t i = number_of(weights, name);
	sp_layers_fold *f;
	sp_table *folded;
	bool done = false;

	assert_ok(sp_layers_fold_create(&f, sp_weights_table(weights, i), &options, &err), &err);
	while (!done)
		assert_ok(sp_layers_fold_step(f, 1000, &done, &err), &err);
	assert_ok(sp_layers_fold_freeze(f, &folded, &err), &err);
	assert_ok(sp_weights_fold(out, weights, i, folded, &err), &err);
	sp_table_destroy(folded);
	sp_layers_fold_destroy(f);
}

static void they_stay_when_a_delta_is_folded(void **state)
{
	sp_weights *folded, *next, *again;

	(void)state;
	fold(&folded, delta, "plain");
	check_nine(folded, "plain", 2, -1);
	check_nine(folded, "strict", 1, 4);
	assert_ok(load_delta(&next, sp_weights_base(folded), DELTA_12), &err);
	check_nine(next, "plain", 4, -1);
	check_nine(next, "strict", 4, 12);
	fold(&again, next, "plain");
	check_nine(again, "plain", 4, -1);
	sp_weights_destroy(folded);
	sp_weights_destroy(next);
	check_nine(again, "plain", 4, -1);
	check_nine(again, "strict", 4, 12);
	sp_weights_destroy(again);
}

/* A checkpoint of another model is refused. */
static void what_cannot_be_loaded_leaves_what_is(void **state)
{
	sp_weights *none;

	(void)state;
	assert_int_not_equal(load_full(&none, "tests/golden/ev-rows/checkpoints/v1/model.ckpt-1"),
			     SP_OK);
	check_nine(delta, "plain", 2, -1);
	check_nine(full, "strict", 1, 4);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tables_have_what_the_graph_asks_them),
		TEST(they_stay_when_a_delta_is_folded),
		TEST(what_cannot_be_loaded_leaves_what_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
