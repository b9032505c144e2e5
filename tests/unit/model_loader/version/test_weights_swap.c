#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model_loader/version/weights_swap.h"
#include "tests/support/paths.h"
#include "tests/support/table_model.h"

/* The model of tests/golden/ev-tables: full checkpoints 1000 and 2000, and delta 1500 on the first.
 */
enum { TABLES = SP_TABLE_MODEL_TABLES };

typedef struct scene {
	sp_table_model files;
	char first[SP_PATH_SIZE], second[SP_PATH_SIZE], delta_prefix[SP_PATH_SIZE];
	sp_model *model;
	sp_weights *full;
	sp_weights *delta;
} scene;

static const sp_load_policy policy = {.threads = 1};
static sp_error err;

static void write_second(const scene *s, bool broken)
{
	sp_table_model_write(&s->files, &(sp_table_model_version){
						.full = 2000, .value = 2000, .broken = broken});
}

static int set_up(void **state)
{
	static scene s;
	char path[SP_PATH_SIZE];
	sp_model_options options = {
		.savedmodel_dir = sp_source_path(path, "tests/golden/ev-tables/model"),
		.signature_name = "serving_default",
		.from_checkpoint = true};

	*state = &s;
	sp_table_model_init(&s.files, (const size_t[]){20000, 30000, 10000});
	sp_table_model_write(&s.files, &(sp_table_model_version){.full = 1000, .value = 1000});
	sp_table_model_write(&s.files,
			     &(sp_table_model_version){.full = 1000, .delta = 1500, .value = 1500});
	write_second(&s, false);
	snprintf(s.first, sizeof(s.first), "%s/v1/model.ckpt-1000", s.files.checkpoints);
	snprintf(s.second, sizeof(s.second), "%s/v1/model.ckpt-2000", s.files.checkpoints);
	snprintf(s.delta_prefix, sizeof(s.delta_prefix),
		 "%s/v1/.incremental_checkpoint/incremental_model.ckpt-1500", s.files.checkpoints);
	assert_ok(sp_model_open(&s.model, &options, &err), &err);
	assert_ok(sp_weights_load(&s.full, s.model,
				  &(sp_weights_options){.checkpoint_prefix = s.first}, &err),
		  &err);
	assert_ok(sp_weights_load_delta(&s.delta, s.full,
					&(sp_weights_options){.delta_prefix = s.delta_prefix},
					&err),
		  &err);
	return 0;
}

/* Whoever a test has destroyed already, it has set to NULL. */
static int tear_down(void **state)
{
	scene *s = *state;

	sp_weights_destroy(s->delta);
	sp_weights_destroy(s->full);
	sp_model_destroy(s->model);
	sp_table_model_fini(&s->files);
	return 0;
}

static sp_status begin(sp_weights_swap **out, const scene *s, sp_weights *from, size_t limit)
{
	sp_weights_options options = {
		.checkpoint_prefix = s->second, .policy = &policy, .memory_limit = limit};

	return sp_weights_swap_create(out, from, &options, &err);
}

static float value_of(const sp_weights *weights, const char *name)
{
	float row[16] = {0};
	int64_t key = 7;

	for (size_t i = 0; i < sp_weights_table_count(weights); i++) {
		const sp_table *table = sp_weights_table(weights, i);

		if (strcmp(sp_table_name(table), name) == 0)
			assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	}
	return row[15];
}

static void check(const sp_weights *weights, float first, float second, float third)
{
	assert_int_equal(sp_weights_table_count(weights), TABLES);
	assert_non_null(sp_weights_snapshot(weights));
	assert_float_equal(value_of(weights, "first"), first, 0);
	assert_float_equal(value_of(weights, "second"), second, 0);
	assert_float_equal(value_of(weights, "third"), third, 0);
}

/* The largest first: second, first, third. */
static void one_table_after_the_other(void **state)
{
	scene *s = *state;
	sp_weights *mixture, *next, *new;
	sp_weights_swap *swap;

	assert_ok(begin(&swap, s, s->delta, 0), &err);
	assert_int_equal(sp_weights_swap_count(swap), TABLES);
	check(s->delta, 1500, 1500, 1500);
	assert_ok(sp_weights_swap_next(swap, &mixture, &err), &err);
	assert_int_equal(sp_weights_swap_loaded(swap), 1);
	check(mixture, 1500, 2000, 1500);
	check(s->delta, 1500, 1500, 1500);

	/* What a mixture needs of what was there before goes with it. */
	sp_weights_destroy(s->delta);
	sp_weights_destroy(s->full);
	s->delta = s->full = NULL;
	check(mixture, 1500, 2000, 1500);
	assert_ptr_equal(sp_weights_base(mixture), mixture);
	assert_null(sp_weights_image(mixture));
	assert_false(sp_weights_are_broken(mixture));

	assert_ok(sp_weights_swap_next(swap, &next, &err), &err);
	sp_weights_destroy(mixture);
	check(next, 2000, 2000, 1500);
	assert_ok(sp_weights_swap_next(swap, &mixture, &err), &err);
	sp_weights_destroy(next);
	check(mixture, 2000, 2000, 2000);
	assert_ok(sp_weights_swap_finish(swap, &new, &err), &err);
	sp_weights_swap_destroy(swap);
	sp_weights_destroy(mixture);
	check(new, 2000, 2000, 2000);

	/* They are weights as any others. */
	assert_ok(sp_weights_load_delta(
			  &next, new, &(sp_weights_options){.delta_prefix = s->delta_prefix}, &err),
		  &err);
	check(next, 1500, 1500, 1500);
	sp_weights_destroy(new);
	sp_weights_destroy(next);
}

/* From a mixture that a failure has left to another one. */
static void a_mixture_may_stay_and_be_swapped_again(void **state)
{
	scene *s = *state;
	sp_weights *mixture, *next, *last;
	sp_weights_swap *swap;

	write_second(s, true); /* its last table, the smallest */
	assert_ok(begin(&swap, s, s->full, 0), &err);
	assert_ok(sp_weights_swap_next(swap, &mixture, &err), &err);
	sp_weights_destroy(s->delta);
	sp_weights_destroy(s->full);
	s->delta = s->full = NULL;
	assert_ok(sp_weights_swap_next(swap, &next, &err), &err);
	sp_weights_destroy(mixture);
	assert_int_equal(sp_weights_swap_next(swap, &last, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "embedding 'third'"));
	assert_int_equal(sp_weights_swap_loaded(swap), 2);
	sp_weights_swap_destroy(swap);
	check(next, 2000, 2000, 1000);

	write_second(s, false);
	assert_ok(begin(&swap, s, next, 0), &err);
	assert_ok(sp_weights_swap_next(swap, &mixture, &err), &err);
	sp_weights_destroy(next);
	sp_weights_swap_destroy(swap);
	check(mixture, 2000, 2000, 1000);
	sp_weights_destroy(mixture);
}

/* Keys and rows of 80 bytes with their slots; three tables of 20, 30 and 10 thousand. */
static void memory_is_counted(void **state)
{
	scene *s = *state;
	size_t full = sp_weights_footprint(s->full), delta = sp_weights_footprint(s->delta);
	size_t rows = 60000 * 72, largest = 30000 * 72;
	sp_weights_options options = {.checkpoint_prefix = s->second, .policy = &policy};
	sp_weights *weights = NULL;
	sp_weights_swap *swap;

	assert_in_range(full, rows, rows + (16 << 20));
	assert_in_range(delta, rows, rows + (16 << 20)); /* it has all of the keys, too */

	/* What an index promises is a little more than the rows are. */
	options.memory_limit = rows;
	assert_int_equal(sp_weights_load(&weights, s->model, &options, &err), SP_NO_MEMORY);
	assert_non_null(strstr(err.text, "are left of model_update_memory_mb"));
	assert_null(weights);
	options.memory_limit = rows * 5 / 4;
	assert_ok(sp_weights_load(&weights, s->model, &options, &err), &err);
	sp_weights_destroy(weights);

	/* The variables alone may be too much. */
	options.memory_limit = 15;
	assert_int_equal(sp_weights_load(&weights, s->model, &options, &err), SP_NO_MEMORY);
	assert_non_null(strstr(err.text, "its variables alone take more"));

	assert_int_equal(begin(&swap, s, s->delta, largest), SP_NO_MEMORY);
	assert_non_null(strstr(err.text, "embedding 'second' alone takes up to"));
	check(s->delta, 1500, 1500, 1500);
	assert_ok(begin(&swap, s, s->delta,
			largest * 5 / 4 + sp_snapshot_footprint(sp_weights_snapshot(s->delta))),
		  &err);
	sp_weights_swap_destroy(swap);
	check(s->delta, 1500, 1500, 1500);
}

/* All of it; the weights that are there at the end are *out. */
static sp_status swap_all(sp_weights **out, const scene *s, sp_weights *from)
{
	sp_weights *last = NULL, *next;
	sp_weights_swap *swap;
	sp_status status = begin(&swap, s, from, 0);

	if (status != SP_OK)
		return status;
	while (status == SP_OK && sp_weights_swap_loaded(swap) < sp_weights_swap_count(swap)) {
		status = sp_weights_swap_next(swap, &next, &err);
		if (status != SP_OK)
			break;
		sp_weights_destroy(last);
		last = next;
	}
	if (status == SP_OK)
		status = sp_weights_swap_finish(swap, out, &err);
	sp_weights_swap_destroy(swap);
	sp_weights_destroy(last);
	return status;
}

static void without_memory_all_is_as_it_was(void **state)
{
	scene *s = *state;
	sp_weights *new = NULL;
	sp_status status = SP_NO_MEMORY;
	int allowed = 0;

	for (; status != SP_OK; allowed++) {
		sp_alloc_fail_after(allowed);
		status = swap_all(&new, s, s->delta);
		sp_alloc_fail_after(-1);
		if (status != SP_OK)
			assert_int_equal(status, SP_NO_MEMORY);
		assert_true(allowed < 5000);
	}
	assert_true(allowed > 50);
	check(s->delta, 1500, 1500, 1500);
	check(new, 2000, 2000, 2000);
	sp_weights_destroy(new);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(one_table_after_the_other),
		CASE(a_mixture_may_stay_and_be_swapped_again),
		CASE(memory_is_counted),
		CASE(without_memory_all_is_as_it_was),
	};

	return cmocka_run_group_tests_name("weights_swap", tests, NULL, NULL);
}
