#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model_loader/version/load_environment.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/*
 * Tables that are loaded at once: "a" ... "h", whose row of key k is k and the number of the
 * table, over and over.  Those of odd numbers have more rows, so that others overtake them.
 */
enum { DIM = 4, TABLES = 8, FEW = 60, MANY = 3000, THREADS = 4 };

static char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 32];
static sp_arena *arena;
static sp_load_policy policy;
static sp_ssd_store *store;
static sp_load_environment *environment;
static sp_resource items[TABLES];
static sp_resources list;
static sp_error err;

static size_t rows_of(size_t table)
{
	return table % 2 != 0 ? MANY : FEW;
}

static float element(size_t table, int64_t key, size_t d)
{
	return d % 2 == 0 ? (float)key : (float)table;
}

static void write_checkpoint(void)
{
	static char names[2 * TABLES][16];
	static int64_t keys[MANY];
	sp_checkpoint_tensor tensors[2 * TABLES];
	float *rows[TABLES];

	for (int64_t k = 0; k < MANY; k++)
		keys[k] = 3 * k + 1;
	for (size_t t = 0; t < TABLES; t++) {
		int64_t count = (int64_t)rows_of(t);

		rows[t] = malloc(rows_of(t) * DIM * sizeof(float));
		for (size_t i = 0; i < rows_of(t) * DIM; i++)
			rows[t][i] = element(t, keys[i / DIM], i % DIM);
		snprintf(names[2 * t], sizeof(names[0]), "%c-keys", 'a' + (int)t);
		snprintf(names[2 * t + 1], sizeof(names[0]), "%c-values", 'a' + (int)t);
		tensors[2 * t] = (sp_checkpoint_tensor){.name = names[2 * t],
							.dtype = SP_INT64,
							.rank = 1,
							.dims = {count, 0},
							.data = keys};
		tensors[2 * t + 1] = (sp_checkpoint_tensor){.name = names[2 * t + 1],
							    .dtype = SP_FLOAT,
							    .rank = 2,
							    .dims = {count, DIM},
							    .data = rows[t]};
	}
	sp_checkpoint_write(prefix, tensors, 2 * TABLES, 1);
	for (size_t t = 0; t < TABLES; t++)
		free(rows[t]);
}

static int set_up(void **state)
{
	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(folder);
	snprintf(prefix, sizeof(prefix), "%s/model.ckpt-1", folder);
	write_checkpoint();
	arena = sp_arena_create(64 << 10);
	policy = (sp_load_policy){.threads = THREADS};
	environment = NULL;
	store = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_load_environment_destroy(environment);
	sp_ssd_store_release(store);
	sp_arena_destroy(arena);
	sp_temp_remove(folder);
	return 0;
}

/* ---------------------------------------------------------------------- loads */

static void use_ssd(void)
{
	char path[SP_PATH_SIZE + 16];
	const sp_ssd_store_options options = {
		.path = path, .model = "m", .version = "v", .cache_bytes = 1, .readers = 2};

	snprintf(path, sizeof(path), "%s/ssd", folder);
	assert_ok(sp_ssd_store_open(&store, &options, &err), &err);
}

/* `indices` of the tables, in this order. */
static sp_status load(const uint32_t *indices, size_t count)
{
	static const char *const names[TABLES] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	static const float zeros[DIM];
	const sp_tensor defaults = {.dtype = SP_FLOAT, .count = DIM, .data = (void *)zeros};
	const sp_embedding_options settings = {.default_value_dim = 1,
					       .false_positive_probability = -1.0f,
					       .default_rows = &defaults};
	const sp_load_environment_options options = {
		.checkpoint_prefix = prefix, .policy = &policy, .ssd = store, .file_root = folder};
	const sp_environment *e;

	sp_load_environment_destroy(environment);
	environment = NULL;
	list = (sp_resources){.items = items, .count = TABLES};
	SP_TRY(sp_load_environment_create(&environment, &options, arena, &err));
	e = &environment->calls;
	for (size_t t = 0; t < TABLES; t++) {
		sp_embedding_import from = {sp_bytes_of(prefix), sp_bytes_of(names[t]), 0, 1,
					    false};

		items[t] = (sp_resource){.kind = SP_RESOURCE_EMBEDDING,
					 .name = names[t],
					 .dtype = SP_FLOAT,
					 .key_dtype = SP_INT64,
					 .shape = {.rank = 1, .dims = {DIM}}};
		SP_TRY(e->create_embedding(e->context, &items[t], &settings, &err));
		SP_TRY(e->import_embedding(e->context, &items[t], &from, &err));
	}
	return sp_load_environment_load_tables(environment, &list, indices, count, &err);
}

static const uint32_t in_order[TABLES] = {0, 1, 2, 3, 4, 5, 6, 7};
static const uint32_t backwards[TABLES] = {7, 6, 5, 4, 3, 2, 1, 0};

static void check_table(size_t t)
{
	const int64_t last = 3 * (int64_t)rows_of(t) - 2, keys[] = {1, last, last + 3};
	float rows[3 * DIM];

	assert_non_null(items[t].table);
	assert_ok(sp_table_lookup(items[t].table, keys, 3, NULL, rows, &err), &err);
	for (size_t d = 0; d < DIM; d++) {
		assert_true(rows[d] == element(t, 1, d));
		assert_true(rows[DIM + d] == element(t, last, d));
		assert_true(rows[2 * DIM + d] == 0);
	}
}

static void check_all(void)
{
	for (size_t t = 0; t < TABLES; t++)
		check_table(t);
}

static void all_of_them_are_loaded(void **state)
{
	(void)state;
	for (size_t threads = 0; threads <= TABLES + 1; threads++) {
		policy.threads = threads;
		assert_ok(load(in_order, TABLES), &err);
		check_all();
	}
}

static void those_that_are_not_asked_for_have_no_table(void **state)
{
	static const uint32_t some[] = {6, 1, 6};

	(void)state;
	assert_ok(load(some, 3), &err);
	for (size_t t = 0; t < TABLES; t++)
		if (t == 1 || t == 6)
			check_table(t);
		else
			assert_null(items[t].table);
	/* The rest comes later, and what is there stays. */
	assert_ok(sp_load_environment_load_tables(environment, &list, in_order, TABLES, &err),
		  &err);
	check_all();
}

static void they_are_built_on_an_ssd_and_found_there(void **state)
{
	(void)state;
	use_ssd();
	for (int start = 0; start < 2; start++) {
		assert_ok(load(backwards, TABLES), &err);
		check_all();
		for (size_t t = 0; t < TABLES; t++)
			assert_non_null(sp_table_count(items[t].table).tier);
	}
}

static void they_come_from_an_image(void **state)
{
	char path[SP_PATH_SIZE + 16];

	(void)state;
	snprintf(path, sizeof(path), "%s/images", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	policy.image_folder = path;
	for (int start = 0; start < 2; start++) { /* the first one makes it */
		assert_ok(load(backwards, TABLES), &err);
		assert_int_equal((environment->embeddings.image.image != NULL), start == 1);
		sp_embedding_set_use_image(&environment->embeddings);
		assert_non_null(environment->embeddings.image.image);
		check_all();
	}
}

/* ------------------------------------------------------------------- failures */

/* A byte of the rows of a table; its tensors lie in the order of their names. */
static void break_rows(size_t table)
{
	size_t at = rows_of(table) * sizeof(int64_t) + 5;

	for (size_t t = 0; t < table; t++)
		at += rows_of(t) * (sizeof(int64_t) + DIM * sizeof(float));
	sp_checkpoint_break(prefix, (int64_t)at);
}

/* Also when one behind it is known to be broken long before. */
static void the_first_that_fails_is_told_of(void **state)
{
	(void)state;
	break_rows(2);
	break_rows(5);
	for (int again = 0; again < 20; again++) {
		assert_int_equal(load(in_order, TABLES), SP_CORRUPT);
		assert_non_null(strstr(err.text, "c-values"));
		check_table(0);
		check_table(1);
		assert_null(items[2].table);
		assert_null(items[5].table);
		assert_int_equal(load(backwards, TABLES), SP_CORRUPT);
		assert_non_null(strstr(err.text, "f-values"));
		check_table(7);
		check_table(6);
	}
}

static void the_first_that_fails_on_an_ssd_is_told_of(void **state)
{
	(void)state;
	break_rows(3);
	break_rows(4);
	use_ssd();
	for (int again = 0; again < 3; again++) {
		assert_int_equal(load(in_order, TABLES), SP_CORRUPT);
		assert_non_null(strstr(err.text, "d-values"));
	}
}

static void a_handle_without_a_variable_fails_before_anything_is_read(void **state)
{
	static const uint32_t none[] = {0};

	(void)state;
	assert_ok(load(none, 0), &err);
	list.items = &(sp_resource){.kind = SP_RESOURCE_EMBEDDING, .name = "nobody"};
	list.count = 1;
	assert_int_equal(sp_load_environment_load_tables(environment, &list, none, 1, &err),
			 SP_INVALID);
	assert_non_null(strstr(err.text, "nobody"));
}

static void check_allocations(void)
{
	int64_t successes = 0;
	sp_status status;

	do {
		sp_alloc_fail_after(successes);
		status = load(in_order, TABLES);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		successes += 1 + successes / 16;
	} while (status != SP_OK);
	check_all();
	assert_true(successes > 100);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	check_allocations();
}

static void every_failed_allocation_on_an_ssd_is_reported(void **state)
{
	(void)state;
	use_ssd();
	check_allocations();
}

static void loading_ends_when_the_processor_closes(void **state)
{
	const atomic_bool closing = true;

	(void)state;
	policy.closing = &closing;
	assert_int_equal(load(in_order, TABLES), SP_BUSY);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_of_them_are_loaded),
		TEST(those_that_are_not_asked_for_have_no_table),
		TEST(they_are_built_on_an_ssd_and_found_there),
		TEST(they_come_from_an_image),
		TEST(the_first_that_fails_is_told_of),
		TEST(the_first_that_fails_on_an_ssd_is_told_of),
		TEST(a_handle_without_a_variable_fails_before_anything_is_read),
		TEST(every_failed_allocation_is_reported),
		TEST(every_failed_allocation_on_an_ssd_is_reported),
		TEST(loading_ends_when_the_processor_closes),
	};

	return cmocka_run_group_tests_name("sets of embeddings", tests, NULL, NULL);
}
