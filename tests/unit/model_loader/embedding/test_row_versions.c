#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model_loader/embedding/row_versions.h"
#include "storage/table/table_builder.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

enum { DIM = 2, MANY = 300000 };

static char work[SP_PATH_SIZE];
static char prefix[SP_PATH_SIZE + 32];
static sp_bundle *bundle;
static sp_arena *arena;
static sp_embedding embedding;
static sp_key_column *versions;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(work);
	snprintf(prefix, sizeof(prefix), "%s/model.ckpt-1", work);
	bundle = NULL;
	versions = NULL;
	arena = sp_arena_create(4096);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_key_column_release(versions);
	sp_bundle_close(bundle);
	sp_arena_destroy(arena);
	sp_temp_remove(work);
	return 0;
}

static sp_checkpoint_tensor vector(const char *name, const int64_t *data, int64_t count)
{
	return (sp_checkpoint_tensor){
		.name = name, .dtype = SP_INT64, .rank = 1, .dims = {count, 0}, .data = data};
}

static sp_checkpoint_tensor matrix(const char *name, const float *data, int64_t count)
{
	return (sp_checkpoint_tensor){
		.name = name, .dtype = SP_FLOAT, .rank = 2, .dims = {count, DIM}, .data = data};
}

/* An embedding "t" of int64 keys, with `known` versions unless that is negative. */
static void write_full(const int64_t *keys, int64_t count, const int64_t *steps, int64_t known)
{
	float *rows = test_calloc((size_t)count * DIM + 1, sizeof(*rows));
	sp_checkpoint_tensor tensors[] = {
		vector("t-keys", keys, count),
		matrix("t-values", rows, count),
		vector("t-versions", steps, known),
	};

	sp_checkpoint_write(prefix, tensors, known >= 0 ? 3 : 2, 1);
	test_free(rows);
}

static sp_status try_to_find(sp_dtype key_dtype)
{
	sp_embedding_spec spec = {.name = "t",
				  .key_dtype = key_dtype,
				  .dtype = SP_FLOAT,
				  .dim = DIM,
				  .partition_num = 1};

	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	return sp_embedding_find(&embedding, &spec, bundle, NULL, arena, &err);
}

static void find(sp_dtype key_dtype)
{
	assert_ok(try_to_find(key_dtype), &err);
}

static sp_status create(void)
{
	return sp_row_versions_create(&versions, &embedding.full, false, 2, &err);
}

static int64_t step_of(int64_t key)
{
	int64_t step = 0;

	if (versions != NULL)
		sp_key_column_read(versions, &key, 1, &step);
	return step;
}

static void each_key_has_its_step(void **state)
{
	static const int64_t keys[] = {7, -5, 0, INT64_MAX, 9, -1, -2};
	static const int64_t steps[] = {100, 200, 300, UINT32_MAX, 0, 8, 9};

	(void)state;
	write_full(keys, 7, steps, 7);
	find(SP_INT64);
	assert_ok(create(), &err);
	assert_int_equal(step_of(7), 100);
	assert_int_equal(step_of(-5), 200);
	assert_int_equal(step_of(0), 300);
	assert_true(step_of(INT64_MAX) == UINT32_MAX);
	assert_int_equal(step_of(9), 0);
}

/* They take twice the memory then. */
static void steps_may_be_beyond_32_bits(void **state)
{
	static const int64_t keys[] = {1, 2};
	static const int64_t steps[] = {INT64_C(5000000000), 3};

	(void)state;
	write_full(keys, 2, steps, 2);
	find(SP_INT64);
	assert_ok(create(), &err);
	assert_true(step_of(1) == 5000000000);
	assert_int_equal(step_of(2), 3);
}

static void of_a_key_that_is_there_twice_the_later_counts(void **state)
{
	static const int64_t keys[] = {1, 2, 1};
	static const int64_t steps[] = {30, 20, 10};

	(void)state;
	write_full(keys, 3, steps, 3);
	find(SP_INT64);
	assert_ok(create(), &err);
	assert_int_equal(step_of(1), 10);
}

static void what_is_not_there_is_unknown(void **state)
{
	static const int64_t keys[] = {1, 2, 3};
	static const int64_t steps[] = {30, -1};

	(void)state;
	write_full(keys, 3, steps, 2);
	find(SP_INT64);
	assert_ok(create(), &err);
	assert_int_equal(step_of(1), 30);
	assert_int_equal(step_of(2), 0);
	assert_int_equal(step_of(3), 0);
}

/* No tensor, an empty one, zeros, and DeepRec's -1. */
static void without_any_step_nothing_is_kept(void **state)
{
	static const int64_t keys[] = {1, 2};
	static const int64_t steps[][2] = {{5, 5}, {5, 5}, {0, 0}, {-1, -1}};
	static const int64_t known[] = {-1, 0, 2, 2};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		write_full(keys, 2, steps[i], known[i]);
		find(SP_INT64);
		assert_ok(create(), &err);
		assert_null(versions);
		assert_int_equal(step_of(1), 0);
		assert_int_equal(sp_key_column_footprint(versions), 0);
		sp_bundle_close(bundle);
	}
	bundle = NULL;
}

static void keys_may_be_int32(void **state)
{
	static const int32_t keys[] = {-7, 8};
	static const int64_t steps[] = {70, 80};
	static const float rows[2 * DIM];
	sp_checkpoint_tensor tensors[] = {
		{.name = "t-keys", .dtype = SP_INT32, .rank = 1, .dims = {2, 0}, .data = keys},
		matrix("t-values", rows, 2),
		vector("t-versions", steps, 2)};

	(void)state;
	sp_checkpoint_write(prefix, tensors, 3, 1);
	find(SP_INT32);
	assert_ok(create(), &err);
	assert_int_equal(step_of(-7), 70);
	assert_int_equal(step_of(8), 80);
}

static void many_rows_take_few_bytes(void **state)
{
	int64_t *keys = test_calloc(MANY, sizeof(*keys)),
		*steps = test_calloc(MANY, sizeof(*steps));

	(void)state;
	for (int64_t i = 0; i < MANY; i++) {
		keys[i] = i * 7919;
		steps[i] = 1 + i % 65521;
	}
	write_full(keys, MANY, steps, MANY);
	find(SP_INT64);
	assert_ok(create(), &err);
	for (int64_t i = 0; i < MANY; i++)
		assert_int_equal(step_of(i * 7919), 1 + i % 65521);
	/* 13 a row, and what rounding to large pages adds. */
	assert_true(sp_key_column_footprint(versions) < MANY * 13 + (2 << 20));
	test_free(keys);
	test_free(steps);
}

static void wrong_tensors_are_refused(void **state)
{
	static const int64_t keys[] = {1, 2};
	static const int64_t steps[] = {1, 2, 3};
	static const float rows[2 * DIM];
	sp_checkpoint_tensor tensors[] = {
		vector("t-keys", keys, 2),
		matrix("t-values", rows, 2),
		{.name = "t-versions", .dtype = SP_FLOAT, .rank = 1, .dims = {2, 0}}};

	(void)state;
	write_full(keys, 2, steps, 3);
	assert_int_equal(try_to_find(SP_INT64), SP_CORRUPT);
	assert_non_null(
		strstr(err.text, "'t-versions' is DT_INT64 [3], not at most 2 of DT_INT64"));
	sp_bundle_close(bundle);
	sp_checkpoint_write(prefix, tensors, 3, 1);
	assert_int_equal(try_to_find(SP_INT64), SP_CORRUPT);
	assert_non_null(strstr(err.text, "'t-versions' is DT_FLOAT"));
}

/* The last byte of the file is the last version's. */
static void a_wrong_checksum_is_noticed(void **state)
{
	static const int64_t keys[] = {1, 2};
	static const int64_t steps[] = {10, 20};
	char path[SP_PATH_SIZE + 64];
	int file;

	(void)state;
	write_full(keys, 2, steps, 2);
	snprintf(path, sizeof(path), "%s.data-00000-of-00001", prefix);
	file = open(path, O_WRONLY);
	assert_true(file >= 0);
	assert_int_equal(pwrite(file, "\x55", 1, lseek(file, 0, SEEK_END) - 7), 1);
	close(file);
	find(SP_INT64);
	assert_int_equal(create(), SP_CORRUPT);
	assert_null(versions);
}

/* Their versions are in a place of which nothing is known. */
static void rows_on_an_ssd_tier_are_refused(void **state)
{
	static const int64_t keys[] = {1, 2};
	static const int64_t steps[] = {10, 20};
	sp_embedding_part part;
	sp_embedding_rows rows;

	(void)state;
	write_full(keys, 2, steps, 2);
	find(SP_INT64);
	rows = embedding.full;
	part = rows.parts[0];
	part.ssd_record = "somewhere";
	rows.parts = &part;
	assert_int_equal(sp_row_versions_create(&versions, &rows, false, 1, &err), SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "update_old_key"));
}

/* ------------------------------------------------------- a delta over a table */

static float row_of(const sp_table *table, int64_t key)
{
	float row[DIM];

	assert_ok(sp_table_lookup(table, &key, 1, NULL, row, &err), &err);
	assert_float_equal(row[0], row[1], 0);
	return row[0];
}

static void fill(float *rows, size_t count, float value)
{
	for (size_t i = 0; i < count * DIM; i++)
		rows[i] = value;
}

/*
 * Full checkpoint: rows of 1, keys 1 ... 6 at steps 100, 100, 100, 100, none, 100.
 * Delta: rows of 2, keys 1 ... 5 at 99, 100, 101, none, 50, and key 9, which is new.
 */
static void a_delta_takes_the_place_of_older_rows_alone(void **state)
{
	static const int64_t keys[] = {1, 2, 3, 4, 5, 6}, steps[] = {100, 100, 100, 100, 0, 100};
	static const int64_t delta_keys[] = {1, 2, 3, 4, 5, 9},
			     delta_steps[] = {99, 100, 101, 0, 50, 60};
	static const float want[] = {0, 1, 1, 2, 2, 2, 1, 0, 0, 2};
	float rows[6 * DIM], delta_rows[6 * DIM];
	sp_checkpoint_tensor tensors[] = {
		vector("t-keys", keys, 6),
		vector("t-sparse_incr_keys", delta_keys, 6),
		matrix("t-sparse_incr_values", delta_rows, 6),
		vector("t-sparse_incr_versions", delta_steps, 6),
		matrix("t-values", rows, 6),
		vector("t-versions", steps, 6),
	};
	sp_load_policy policy = {
		.threads = 1, .old_key = SP_OLD_KEY_REPLACE_IF_NEWER, .max_drift_percent = 200};
	sp_embedding_spec spec = {.name = "t",
				  .key_dtype = SP_INT64,
				  .dtype = SP_FLOAT,
				  .dim = DIM,
				  .partition_num = 1};
	sp_embedding found;
	sp_table *full, *table;

	(void)state;
	fill(rows, 6, 1);
	fill(delta_rows, 6, 2);
	sp_checkpoint_write(prefix, tensors, 6, 1);
	assert_ok(sp_bundle_open(&bundle, prefix, &err), &err);
	assert_ok(sp_embedding_find(&found, &spec, bundle, NULL, arena, &err), &err);
	assert_ok(sp_embedding_load_versions(&versions, &found, &spec, &policy, &err), &err);
	found.versions = versions;
	assert_ok(sp_embedding_load(&full, &found, &spec, &policy, NULL, &err), &err);
	assert_ok(sp_embedding_find_delta(&found, &found, &spec, bundle, arena, &err), &err);
	assert_ok(sp_embedding_load(&table, &found, &spec, &policy, full, &err), &err);
	for (int64_t key = 1; key < 10; key++)
		assert_float_equal(row_of(table, key), want[key], 0);
	sp_table_destroy(table);

	/* Of three rows that are taken, each moves by its own size: what stays does not count. */
	policy.max_drift_percent = 99;
	assert_int_equal(sp_embedding_load(&table, &found, &spec, &policy, full, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "moves its rows by 100 %"));

	/* Without versions on the one side or the other all rows are taken. */
	policy.max_drift_percent = 0;
	found.versions = NULL;
	assert_ok(sp_embedding_load(&table, &found, &spec, &policy, full, &err), &err);
	for (int64_t key = 1; key < 6; key++)
		assert_float_equal(row_of(table, key), 2, 0);
	sp_table_destroy(table);
	sp_table_destroy(full);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(each_key_has_its_step),
		CASE(steps_may_be_beyond_32_bits),
		CASE(of_a_key_that_is_there_twice_the_later_counts),
		CASE(what_is_not_there_is_unknown),
		CASE(without_any_step_nothing_is_kept),
		CASE(keys_may_be_int32),
		CASE(many_rows_take_few_bytes),
		CASE(wrong_tensors_are_refused),
		CASE(a_wrong_checksum_is_noticed),
		CASE(rows_on_an_ssd_tier_are_refused),
		CASE(a_delta_takes_the_place_of_older_rows_alone),
	};

	return cmocka_run_group_tests_name("row_versions", tests, NULL, NULL);
}
