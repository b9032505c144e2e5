#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "model_loader/embedding/bucket_offsets.h"
#include "model_loader/version/weights.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/*
 * What `serving_tool verify` calls broken is not loaded, and what is not loaded it calls broken:
 * versions of tests/golden/ev-rows, a full checkpoint and a delta on it, each with one thing wrong.
 */
enum { KEYS = 6, DIM = 64, MOST = 8 };

/* In the order of their buckets. */
static const int64_t keys[KEYS] = {1, 1001, 2, 7, 500, 999};
static const int64_t counts[KEYS + 1] = {1, 1, 1, 1, 1, 1, 1};
static int32_t offsets[SP_BUCKETS + 1];
static int64_t odd_keys[KEYS]; /* a test's own */
static int32_t odd_offsets[SP_BUCKETS + 1];

static const sp_checkpoint_tensor of_full[] = {
	{.name = "dense", .dtype = SP_FLOAT, .rank = 1, .dims = {4}, .value = 1},
	{.name = "seldom", .dtype = SP_FLOAT, .rank = 2, .dims = {8, 2}, .value = 1},
	{.name = "table-freqs", .dtype = SP_INT64, .rank = 1, .dims = {KEYS}, .data = counts},
	{.name = "table-keys", .dtype = SP_INT64, .rank = 1, .dims = {KEYS}, .data = keys},
	{.name = "table-partition_offset",
	 .dtype = SP_INT32,
	 .rank = 1,
	 .dims = {SP_BUCKETS + 1},
	 .data = offsets},
	{.name = "table-values", .dtype = SP_FLOAT, .rank = 2, .dims = {KEYS, DIM}, .value = 1},
	{.name = "table-versions", .dtype = SP_INT64, .rank = 1, .dims = {KEYS}, .data = counts},
};

static const sp_checkpoint_tensor of_delta[] = {
	{.name = "dense", .dtype = SP_FLOAT, .rank = 1, .dims = {4}, .value = 2},
	{.name = "seldom", .dtype = SP_FLOAT, .rank = 2, .dims = {8, 2}, .value = 2},
	{.name = "table-incr_partition_offset",
	 .dtype = SP_INT32,
	 .rank = 1,
	 .dims = {SP_BUCKETS + 1},
	 .data = offsets},
	{.name = "table-sparse_incr_freqs",
	 .dtype = SP_INT64,
	 .rank = 1,
	 .dims = {KEYS},
	 .data = counts},
	{.name = "table-sparse_incr_keys",
	 .dtype = SP_INT64,
	 .rank = 1,
	 .dims = {KEYS},
	 .data = keys},
	{.name = "table-sparse_incr_values",
	 .dtype = SP_FLOAT,
	 .rank = 2,
	 .dims = {KEYS, DIM},
	 .value = 2},
	{.name = "table-sparse_incr_versions",
	 .dtype = SP_INT64,
	 .rank = 1,
	 .dims = {KEYS},
	 .data = counts},
};
enum {
	FULL = sizeof(of_full) / sizeof(of_full[0]),
	DELTA = sizeof(of_delta) / sizeof(of_delta[0])
};

static char folder[SP_PATH_SIZE], model_dir[SP_PATH_SIZE];
static char full_prefix[2 * SP_PATH_SIZE], delta_prefix[2 * SP_PATH_SIZE];
static sp_error err;

static int set_up(void **state)
{
	char command[4 * SP_PATH_SIZE];

	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	memset(offsets, 0, sizeof(offsets));
	for (size_t i = 0; i < KEYS; i++)
		offsets[keys[i] % SP_BUCKETS + 1]++;
	for (int b = 0; b < SP_BUCKETS; b++)
		offsets[b + 1] += offsets[b];
	sp_source_path(model_dir, "tests/golden/ev-rows/model");
	sp_temp_make(folder);
	snprintf(command, sizeof(command),
		 "mkdir -p %s/v1/.incremental_checkpoint && touch %s/v1/checkpoint", folder,
		 folder);
	assert_int_equal(system(command), 0);
	snprintf(full_prefix, sizeof(full_prefix), "%s/v1/model.ckpt-100", folder);
	snprintf(delta_prefix, sizeof(delta_prefix), "%s/v1/.incremental_checkpoint/inc.ckpt-110",
		 folder);
	sp_checkpoint_write(full_prefix, of_full, FULL, 1);
	sp_checkpoint_write(delta_prefix, of_delta, DELTA, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	return 0;
}

/* What the processor would do with the two. */
static sp_status load(void)
{
	sp_model_options options = {.savedmodel_dir = model_dir,
				    .signature_name = "serving_default",
				    .from_checkpoint = true};
	sp_weights *full = NULL, *delta = NULL;
	sp_model *model;
	sp_status status;

	assert_ok(sp_model_open(&model, &options, &err), &err);
	status = sp_weights_load(&full, model,
				 &(sp_weights_options){.checkpoint_prefix = full_prefix}, &err);
	if (status == SP_OK)
		status = sp_weights_load_delta(
			&delta, full, &(sp_weights_options){.delta_prefix = delta_prefix}, &err);
	sp_weights_destroy(delta);
	sp_weights_destroy(full);
	sp_model_destroy(model);
	return status;
}

/* Whether the tool finds a problem. */
static bool finds_problem(void)
{
	const char *build = getenv("builddir");
	char command[4 * SP_PATH_SIZE];
	int status;

	snprintf(command, sizeof(command), "%s/serving_tool verify --model=%s %s >/dev/null 2>&1",
		 build != NULL ? build : ".", model_dir, folder);
	status = system(command);
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 0, 1);
	return WEXITSTATUS(status) != 0;
}

static void check_broken(const char *what)
{
	sp_status status = load();

	if (status == SP_OK || status == SP_NOT_FOUND)
		fail_msg("%s: a load is %s", what, sp_status_name(status));
	if (!finds_problem())
		fail_msg("%s: verify finds nothing, a load: %s", what, err.text);
}

/* ------------------------------------------------------------------------- tensors */

/* A tensor in place of one, or without dtype none at all. */
typedef struct change {
	const char *what, *name;
	sp_checkpoint_tensor to;
} change;

static void write_changed(const char *prefix, const sp_checkpoint_tensor *all, size_t count,
			  const char *name, const sp_checkpoint_tensor *to)
{
	sp_checkpoint_tensor tensors[MOST];
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		tensors[kept] = all[i];
		if (strcmp(all[i].name, name) == 0) {
			tensors[kept] = *to;
			tensors[kept].name = name;
		}
		kept += tensors[kept].dtype != SP_INVALID_DTYPE;
	}
	sp_checkpoint_write(prefix, tensors, kept, 1);
}

static void check_changes(const char *prefix, const sp_checkpoint_tensor *all, size_t count,
			  const change *changes, size_t change_count)
{
	for (size_t i = 0; i < change_count; i++) {
		write_changed(prefix, all, count, changes[i].name, &changes[i].to);
		check_broken(changes[i].what);
	}
	sp_checkpoint_write(prefix, all, count, 1);
	assert_ok(load(), &err);
	assert_false(finds_problem());
}

#define VECTOR(type, count, bytes)                                           \
	{                                                                    \
		.dtype = type, .rank = 1, .dims = {(count)}, .data = (bytes) \
	}
#define MATRIX(type, rows, width)                                               \
	{                                                                       \
		.dtype = type, .rank = 2, .dims = {(rows), (width)}, .value = 1 \
	}

static void what_is_right_is_loaded(void **state)
{
	(void)state;
	assert_ok(load(), &err);
	assert_false(finds_problem());
}

static void tensors_of_a_full_checkpoint_that_do_not_fit(void **state)
{
	const change changes[] = {
		{"no variable", "dense", {0}},
		{"a longer variable", "dense", VECTOR(SP_FLOAT, 5, NULL)},
		{"a variable of integers", "dense", VECTOR(SP_INT64, 4, counts)},
		{"no keys", "table-keys", {0}},
		{"fewer keys", "table-keys", VECTOR(SP_INT64, KEYS - 1, keys)},
		{"narrow keys", "table-keys", VECTOR(SP_INT32, KEYS, keys)},
		{"no rows", "table-values", {0}},
		{"fewer rows", "table-values", MATRIX(SP_FLOAT, KEYS - 1, DIM)},
		{"wide rows", "table-values", MATRIX(SP_FLOAT, KEYS, DIM + 1)},
		{"too many frequencies", "table-freqs", VECTOR(SP_INT64, KEYS + 1, counts)},
		{"narrow frequencies", "table-freqs", VECTOR(SP_INT32, KEYS, counts)},
		{"too many versions", "table-versions", VECTOR(SP_INT64, KEYS + 1, counts)},
		{"narrow versions", "table-versions", VECTOR(SP_INT32, KEYS, counts)},
		{"fewer offsets", "table-partition_offset", VECTOR(SP_INT32, SP_BUCKETS, offsets)},
		{"wide offsets", "table-partition_offset", VECTOR(SP_INT64, KEYS, counts)},
	};

	(void)state;
	check_changes(full_prefix, of_full, FULL, changes, sizeof(changes) / sizeof(changes[0]));
}

static void tensors_of_a_delta_that_do_not_fit(void **state)
{
	const change changes[] = {
		{"a longer variable", "dense", VECTOR(SP_FLOAT, 5, NULL)},
		{"no keys", "table-sparse_incr_keys", {0}},
		{"fewer keys", "table-sparse_incr_keys", VECTOR(SP_INT64, KEYS - 1, keys)},
		{"narrow keys", "table-sparse_incr_keys", VECTOR(SP_INT32, KEYS, keys)},
		{"no rows", "table-sparse_incr_values", {0}},
		{"fewer rows", "table-sparse_incr_values", MATRIX(SP_FLOAT, KEYS - 1, DIM)},
		{"wide rows", "table-sparse_incr_values", MATRIX(SP_FLOAT, KEYS, DIM + 1)},
		{"too many frequencies", "table-sparse_incr_freqs",
		 VECTOR(SP_INT64, KEYS + 1, counts)},
		{"too many versions", "table-sparse_incr_versions",
		 VECTOR(SP_INT64, KEYS + 1, counts)},
		{"narrow versions", "table-sparse_incr_versions", VECTOR(SP_INT32, KEYS, counts)},
		{"fewer offsets", "table-incr_partition_offset",
		 VECTOR(SP_INT32, SP_BUCKETS, offsets)},
	};

	(void)state;
	check_changes(delta_prefix, of_delta, DELTA, changes, sizeof(changes) / sizeof(changes[0]));
}

static sp_checkpoint_tensor seldom_keys = {
	.name = "seldom-sparse_incr_keys", .dtype = SP_INT64, .rank = 1, .dims = {2}};
static sp_checkpoint_tensor seldom_values = {.name = "seldom-sparse_incr_values",
					     .dtype = SP_FLOAT,
					     .rank = 2,
					     .dims = {2, 2},
					     .value = 2};

/* `keys` and `values` may be NULL. */
static void write_rows_of_a_variable(const sp_checkpoint_tensor *row_keys,
				     const sp_checkpoint_tensor *values)
{
	sp_checkpoint_tensor tensors[3] = {of_delta[0]};
	size_t count = 1;

	if (row_keys != NULL)
		tensors[count++] = *row_keys;
	if (values != NULL)
		tensors[count++] = *values;
	sp_checkpoint_write(delta_prefix, tensors, count, 1);
}

static void rows_of_a_variable_that_do_not_fit(void **state)
{
	static const int64_t rows[] = {0, 7}, beyond[] = {0, 8};
	sp_checkpoint_tensor odd = seldom_values;

	(void)state;
	seldom_keys.data = rows;
	write_rows_of_a_variable(&seldom_keys, &seldom_values);
	assert_ok(load(), &err);
	assert_false(finds_problem());
	write_rows_of_a_variable(&seldom_keys, NULL);
	check_broken("no rows");
	write_rows_of_a_variable(NULL, &seldom_values);
	check_broken("no row numbers");
	odd.dims[1] = 3;
	write_rows_of_a_variable(&seldom_keys, &odd);
	check_broken("wide rows");
	seldom_keys.data = beyond;
	write_rows_of_a_variable(&seldom_keys, &seldom_values);
	check_broken("a row beyond the variable");
}

static void a_delta_of_another_model(void **state)
{
	static const sp_checkpoint_tensor other = {
		.name = "foo_w", .dtype = SP_FLOAT, .rank = 1, .dims = {4}, .value = 2};

	(void)state;
	sp_checkpoint_write(delta_prefix, &other, 1, 1);
	check_broken("another model's delta");
}

/* ------------------------------------------------------------------- bucket offsets */

static void set_first(void)
{
	odd_offsets[0] = 1;
}

static void set_negative(void)
{
	odd_offsets[0] = -1;
}

static void set_descending(void)
{
	odd_offsets[300] = odd_offsets[301] + 1;
}

static void set_beyond(void)
{
	odd_offsets[SP_BUCKETS] = KEYS + 1;
}

static void set_wild(void)
{
	odd_offsets[500] = INT32_MIN;
}

/* They ascend, but the first key lies in the bucket before its own. */
static void set_shifted(void)
{
	odd_offsets[1] = 1;
}

static void set_other_key(void)
{
	odd_keys[3] = 8;
}

static void set_negative_key(void)
{
	odd_keys[3] = -7;
}

static const struct {
	const char *what;
	void (*spoil)(void);
} spoils[] = {
	{"offsets that do not start with 0", set_first}, {"a negative offset", set_negative},
	{"offsets that descend", set_descending},        {"offsets beyond the rows", set_beyond},
	{"an offset far below the rows", set_wild},      {"offsets of other keys", set_shifted},
	{"a key outside its bucket", set_other_key},     {"a negative key", set_negative_key},
};

static void check_spoilt(const char *prefix, const sp_checkpoint_tensor *all, size_t count)
{
	for (size_t s = 0; s < sizeof(spoils) / sizeof(spoils[0]); s++) {
		sp_checkpoint_tensor tensors[MOST];

		memcpy(odd_offsets, offsets, sizeof(offsets));
		memcpy(odd_keys, keys, sizeof(keys));
		spoils[s].spoil();
		for (size_t i = 0; i < count; i++) {
			tensors[i] = all[i];
			if (tensors[i].data == offsets)
				tensors[i].data = odd_offsets;
			if (tensors[i].data == keys)
				tensors[i].data = odd_keys;
		}
		sp_checkpoint_write(prefix, tensors, count, 1);
		check_broken(spoils[s].what);
	}
	sp_checkpoint_write(prefix, all, count, 1);
}

static void offsets_that_are_wrong(void **state)
{
	(void)state;
	check_spoilt(full_prefix, of_full, FULL);
	check_spoilt(delta_prefix, of_delta, DELTA);
}

/* Rows behind the last bucket are older writers': they may be of any key. */
static void rows_behind_the_last_bucket_are_right(void **state)
{
	const change fewer = {"", "table-partition_offset",
			      VECTOR(SP_INT32, SP_BUCKETS + 1, odd_offsets)};

	(void)state;
	memset(odd_offsets, 0, sizeof(odd_offsets));
	write_changed(full_prefix, of_full, FULL, fewer.name, &fewer.to);
	assert_ok(load(), &err);
	assert_false(finds_problem());
}

/* ------------------------------------------------------------------------ checksums */

static size_t bytes_of(const sp_checkpoint_tensor *tensor)
{
	size_t bytes = sp_dtype_size(tensor->dtype);

	for (int d = 0; d < tensor->rank; d++)
		bytes *= (size_t)tensor->dims[d];
	return bytes;
}

/* Frequencies and versions are read by a load only for who asks for them. */
static bool is_read(const char *name)
{
	return strstr(name, "freqs") == NULL && strstr(name, "versions") == NULL;
}

static void check_flips(const char *prefix, const sp_checkpoint_tensor *all, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		size_t bytes = bytes_of(&all[i]);

		sp_checkpoint_break(prefix, (int64_t)(at + bytes / 2));
		if (is_read(all[i].name))
			check_broken(all[i].name);
		else
			assert_true(finds_problem());
		sp_checkpoint_break(prefix, (int64_t)(at + bytes / 2)); /* and back */
		at += bytes;
	}
	assert_ok(load(), &err);
	assert_false(finds_problem());
}

static void a_flipped_bit(void **state)
{
	(void)state;
	check_flips(full_prefix, of_full, FULL);
	check_flips(delta_prefix, of_delta, DELTA);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_right_is_loaded),
		CASE(tensors_of_a_full_checkpoint_that_do_not_fit),
		CASE(tensors_of_a_delta_that_do_not_fit),
		CASE(rows_of_a_variable_that_do_not_fit),
		CASE(a_delta_of_another_model),
		CASE(offsets_that_are_wrong),
		CASE(rows_behind_the_last_bucket_are_right),
		CASE(a_flipped_bit),
	};

	return cmocka_run_group_tests_name("what verify knows, loading knows", tests, NULL, NULL);
}
