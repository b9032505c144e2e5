#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model_loader/version/weights.h"
#include "storage/table/layers_fold.h"
#include "storage/table/table_builder.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/* The model of tests/golden/ev-rows with keys 0 ... KEYS - 1, and deltas on it. */
enum { KEYS = 300, DIM = 64 };

typedef struct scene {
	char folder[SP_PATH_SIZE];
	sp_model *model;
	sp_weights *full;
	sp_weights *delta; /* even keys are 1001 */
} scene;

static sp_error err;

/* Keys 0, step, 2 step ... */
static void write_version(const char *prefix, float value, int step, int is_delta)
{
	int64_t keys[KEYS];
	sp_rows_version version = {.prefix = prefix,
				   .keys = keys,
				   .value = value,
				   .seldom = is_delta ? 0 : value,
				   .is_delta = is_delta};

	for (int key = 0; key < KEYS; key += step)
		keys[version.count++] = key;
	sp_checkpoint_write_rows(&version);
}

static sp_status load_delta(sp_weights **out, const scene *s, sp_weights *base, float value,
			    int step)
{
	char prefix[SP_PATH_SIZE + 16];

	snprintf(prefix, sizeof(prefix), "%s/delta", s->folder);
	write_version(prefix, value, step, 1);
	return sp_weights_load_delta(out, base, &(sp_weights_options){.delta_prefix = prefix},
				     &err);
}

static int set_up(void **state)
{
	static scene s;
	char path[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16];
	sp_model_options options = {
		.savedmodel_dir = sp_source_path(path, "tests/golden/ev-rows/model"),
		.signature_name = "serving_default",
		.from_checkpoint = true};

	*state = &s;
	sp_temp_make(s.folder);
	snprintf(prefix, sizeof(prefix), "%s/full", s.folder);
	write_version(prefix, 1000, 1, 0);
	assert_ok(sp_model_open(&s.model, &options, &err), &err);
	assert_ok(sp_weights_load(&s.full, s.model,
				  &(sp_weights_options){.checkpoint_prefix = prefix}, &err),
		  &err);
	assert_ok(load_delta(&s.delta, &s, s.full, 1001, 2), &err);
	return 0;
}

/* Whoever a test has destroyed already, it has set to NULL. */
static int tear_down(void **state)
{
	scene *s = *state;

	sp_weights_destroy(s->delta);
	sp_weights_destroy(s->full);
	sp_model_destroy(s->model);
	sp_temp_remove(s->folder);
	return 0;
}

static sp_status fold(sp_weights **out, sp_weights *weights)
{
	const sp_layers_fold_options options = {.threads = 1};
	sp_layers_fold *f;
	sp_table *folded;
	bool done = false;
	sp_status status = SP_OK;

	SP_TRY(sp_layers_fold_create(&f, sp_weights_table(weights, 0), &options, &err));
	while (status == SP_OK && !done)
		status = sp_layers_fold_step(f, 1000, &done, &err);
	if (status == SP_OK)
		status = sp_layers_fold_freeze(f, &folded, &err);
	if (status == SP_OK) {
		status = sp_weights_fold(out, weights, 0, folded, &err);
		sp_table_destroy(folded);
	}
	sp_layers_fold_destroy(f);
	return status;
}

/* Keys that `step` divides have one value, other even ones another, odd ones 1000. */
static void check_rows(const sp_weights *weights, int step, float value, float even)
{
	float row[DIM];

	assert_int_equal(sp_weights_table_count(weights), 1);
	for (int64_t key = 0; key < KEYS; key++) {
		float want = key % step == 0 ? value : key % 2 == 0 ? even : 1000;

		assert_ok(sp_table_lookup(sp_weights_table(weights, 0), &key, 1, NULL, row, &err),
			  &err);
		for (int d = 0; d < DIM; d++)
			assert_true(row[d] == want);
	}
}

static void all_but_the_table_is_shared(void **state)
{
	scene *s = *state;
	sp_weights *folded;

	assert_int_equal(sp_weights_table_count(s->delta), 1);
	assert_ok(fold(&folded, s->delta), &err);
	check_rows(s->delta, 2, 1001, 1001);
	check_rows(s->full, 1, 1000, 1000);
	assert_false(sp_weights_are_folded(s->delta));
	assert_false(sp_weights_are_folded(s->full));
	assert_true(sp_weights_are_folded(folded));
	assert_true(sp_weights_are_folded(sp_weights_base(folded)));
	assert_ptr_not_equal(sp_weights_base(folded), s->full);
	assert_null(sp_weights_snapshot(sp_weights_base(folded)));
	assert_non_null(sp_weights_snapshot(folded));

	/* What was folded outlives what it was folded from. */
	sp_weights_destroy(s->delta);
	sp_weights_destroy(s->full);
	s->delta = s->full = NULL;
	check_rows(folded, 2, 1001, 1001);
	assert_null(sp_weights_image(folded));
	assert_false(sp_weights_are_broken(folded));
	sp_weights_destroy(folded);
}

/* In whatever order they go. */
static void the_first_ones_may_stay_longer(void **state)
{
	scene *s = *state;
	sp_weights *folded, *again;

	assert_ok(fold(&folded, s->delta), &err);
	assert_ok(fold(&again, s->delta), &err);
	sp_weights_destroy(folded);
	sp_weights_destroy(s->full);
	s->full = NULL;
	check_rows(s->delta, 2, 1001, 1001);
	check_rows(again, 2, 1001, 1001);
	sp_weights_destroy(again);
	check_rows(s->delta, 2, 1001, 1001);
}

/* Folded, another delta over it, folded again, and so on: as the days go by. */
static void one_fold_upon_the_other(void **state)
{
	scene *s = *state;
	sp_weights *live, *next;

	assert_ok(fold(&live, s->delta), &err);
	sp_weights_destroy(s->delta);
	sp_weights_destroy(s->full);
	s->delta = s->full = NULL;
	for (int i = 2; i < 6; i++) {
		assert_ok(load_delta(&next, s, sp_weights_base(live), 1000 + (float)i, 2), &err);
		sp_weights_destroy(live);
		check_rows(next, 2, 1000 + (float)i, 0);
		assert_ok(fold(&live, next), &err);
		sp_weights_destroy(next);
		check_rows(live, 2, 1000 + (float)i, 0);
	}
	/* Keys 0, 4, 8 ... alone are no successor; all keys are. */
	assert_int_equal(load_delta(&next, s, sp_weights_base(live), 2000, 4), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "75 of the 150 keys"));
	assert_ok(load_delta(&next, s, sp_weights_base(live), 2000, 1), &err);
	check_rows(next, 1, 2000, 0);
	sp_weights_destroy(live);
	sp_weights_destroy(next);
}

static void without_memory_all_is_as_it_was(void **state)
{
	scene *s = *state;
	sp_weights *folded = NULL;
	sp_status status = SP_NO_MEMORY;
	int allowed = 0;

	for (; status != SP_OK; allowed++) {
		sp_alloc_fail_after(allowed);
		status = fold(&folded, s->delta);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || (status == SP_NO_MEMORY && folded == NULL));
		assert_true(allowed < 200);
	}
	assert_true(allowed > 15);
	check_rows(s->delta, 2, 1001, 1001);
	check_rows(folded, 2, 1001, 1001);
	sp_weights_destroy(folded);
	assert_ok(load_delta(&folded, s, s->full, 1002, 4), &err);
	check_rows(folded, 4, 1002, 1000);
	sp_weights_destroy(folded);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(all_but_the_table_is_shared),
		CASE(the_first_ones_may_stay_longer),
		CASE(one_fold_upon_the_other),
		CASE(without_memory_all_is_as_it_was),
	};

	return cmocka_run_group_tests_name("weights_fold", tests, NULL, NULL);
}
