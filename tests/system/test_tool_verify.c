#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/checkpoint.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/tool.h"

/* serving_tool verify: which damage it sees, and what of a model is missing or does not fit. */

static bool has_problem(const cJSON *json, const char *where, const char *what)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, sp_tool_member(json, "problems"))
		if (strcmp(sp_tool_member(one, "where")->valuestring, where) == 0 &&
		    strstr(sp_tool_member(one, "what")->valuestring, what) != NULL)
			return true;
	return false;
}

static void verify_finds_what_is_wrong_with_rows(void **state)
{
	cJSON *json;

	(void)state;
	assert_int_equal(sp_tool_run_on("verify --json", sp_tool_fixture("formats"), ""), 1);
	json = sp_tool_parsed();
	assert_true(cJSON_IsFalse(sp_tool_member(json, "ok")));
	assert_true(has_problem(json, "signed", "2 keys are -1 or -2"));
	assert_true(has_problem(json, "many", "1 rows repeat an earlier key, the first is 30"));
	assert_false(has_problem(json, "seen", ""));
	assert_false(has_problem(json, "ten/part_7", ""));
	assert_false(has_problem(json, "beyond", ""));
	cJSON_Delete(json);
}

static void verify_is_content_with_what_is_right(void **state)
{
	char path[SP_PATH_SIZE], model[SP_PATH_SIZE], rest[2 * SP_PATH_SIZE];

	(void)state;
	sp_tool_print(rest, sizeof(rest), "--model=%s",
		      sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	assert_int_equal(
		sp_tool_run_on("verify",
			       sp_source_path(path, "tests/golden/ev-ctr-checkpoint/checkpoints"),
			       rest),
		0);
	assert_non_null(strstr(sp_tool_output, "problems: none\nok: yes\n"));
}

static void copy_checkpoint(void)
{
	char command[4 * SP_PATH_SIZE], path[SP_PATH_SIZE];

	sp_tool_print(command, sizeof(command), "cp %s/model.ckpt-100.* %s",
		      sp_source_path(path, "tests/golden/ev-ctr-checkpoint/checkpoints/20240101"),
		      sp_tool_folder);
	assert_int_equal(system(command), 0);
}

static void verify_sees_every_damage(void **state)
{
	char path[2 * SP_PATH_SIZE], data[2 * SP_PATH_SIZE], index[2 * SP_PATH_SIZE];
	struct stat info;
	FILE *f;

	(void)state;
	copy_checkpoint();
	sp_tool_print(path, sizeof(path), "%s/model.ckpt-100", sp_tool_folder);
	sp_tool_print(data, sizeof(data), "%s/model.ckpt-100.data-00000-of-00001", sp_tool_folder);
	sp_tool_print(index, sizeof(index), "%s/model.ckpt-100.index", sp_tool_folder);
	assert_int_equal(sp_tool_run_on("verify", path, ""), 0);
	assert_int_equal(stat(data, &info), 0);
	for (long at = 0; at < info.st_size; at += info.st_size / 13) {
		int byte;

		f = fopen(data, "r+b");
		fseek(f, at, SEEK_SET);
		byte = fgetc(f);
		fseek(f, at, SEEK_SET);
		fputc(byte ^ 4, f);
		fclose(f);
		if (sp_tool_run_on("verify --json", path, "") != 1)
			fail_msg("byte %ld", at);
		assert_non_null(strstr(sp_tool_output, "checksum"));
		f = fopen(data, "r+b");
		fseek(f, at, SEEK_SET);
		fputc(byte, f);
		fclose(f);
	}
	assert_int_equal(sp_tool_run_on("verify", path, ""), 0);
	assert_int_equal(truncate(data, info.st_size - 1), 0);
	assert_int_equal(sp_tool_run_on("verify", path, ""), 1);
	assert_int_equal(unlink(data), 0);
	assert_int_equal(sp_tool_run_on("verify", path, ""), 1);
	assert_non_null(strstr(sp_tool_output, "missing"));
	copy_checkpoint();
	f = fopen(index, "r+b");
	fseek(f, 20, SEEK_SET);
	fputc(0x7f, f);
	fclose(f);
	assert_int_equal(sp_tool_run_on("verify", path, ""), 1);
}

static void verify_misses_what_the_graph_wants(void **state)
{
	char model[SP_PATH_SIZE], rest[2 * SP_PATH_SIZE];
	cJSON *json;

	(void)state;
	sp_tool_print(rest, sizeof(rest), "--model=%s",
		      sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	assert_int_equal(sp_tool_run_on("verify --json", sp_tool_fixture("shards"), rest), 1);
	json = sp_tool_parsed();
	assert_true(has_problem(json, "item_embedding", "it is missing"));
	assert_true(has_problem(json, "dense_0/kernel", "the graph restores it"));
	cJSON_Delete(json);
}

static void verify_misses_what_a_part_has_lost(void **state)
{
	cJSON *json;

	(void)state;
	assert_int_equal(sp_tool_run_on("verify --json", sp_tool_fixture("broken"), ""), 1);
	json = sp_tool_parsed();
	assert_true(has_problem(json, "lost/part_1", "it has '-values' but no '-keys'"));
	assert_false(has_problem(json, "lost/part_0", ""));
	assert_true(has_problem(json, "gap", "one of them is number 2"));
	cJSON_Delete(json);
}

static const int64_t some_keys[] = {1, 2, 3};
static const int32_t narrow_keys[] = {1, 2, 3};

static void verify_compares_no_rows_that_are_damaged_with_the_graph(void **state)
{
	const sp_checkpoint_tensor tensors[] = {
		{.name = "user_embedding-keys",
		 .dtype = SP_INT64,
		 .rank = 1,
		 .dims = {3},
		 .data = some_keys},
		{.name = "user_embedding-values", .dtype = SP_FLOAT, .rank = 2, .dims = {2, 8}},
	};
	char path[SP_PATH_SIZE], model[SP_PATH_SIZE], rest[2 * SP_PATH_SIZE];
	cJSON *json;

	(void)state;
	sp_tool_print(path, sizeof(path), "%s/damaged", sp_tool_folder);
	sp_tool_print(rest, sizeof(rest), "--model=%s",
		      sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	sp_checkpoint_write(path, tensors, sizeof(tensors) / sizeof(tensors[0]), 1);
	assert_int_equal(sp_tool_run_on("verify --json", path, rest), 1);
	json = sp_tool_parsed();
	assert_true(has_problem(json, "user_embedding", "not as many rows as keys"));
	assert_false(has_problem(json, "user_embedding", "the graph's"));
	cJSON_Delete(json);
}

static void write_versions(const char *full, const char *delta)
{
	const sp_checkpoint_tensor of_full[] = {
		{.name = "dense_0/bias", .dtype = SP_FLOAT, .rank = 1, .dims = {17}},
		{.name = "dense_0/kernel",
		 .dtype = SP_INT64,
		 .rank = 1,
		 .dims = {3},
		 .data = some_keys},
		{.name = "item_embedding-keys",
		 .dtype = SP_INT64,
		 .rank = 1,
		 .dims = {3},
		 .data = some_keys},
		{.name = "item_embedding-values", .dtype = SP_FLOAT, .rank = 2, .dims = {3, 8}},
		{.name = "user_embedding-keys",
		 .dtype = SP_INT32,
		 .rank = 1,
		 .dims = {3},
		 .data = narrow_keys},
		{.name = "user_embedding-values", .dtype = SP_FLOAT, .rank = 2, .dims = {3, 6}},
	};
	const sp_checkpoint_tensor of_delta[] = {
		{.name = "item_embedding-sparse_incr_keys",
		 .dtype = SP_INT32,
		 .rank = 1,
		 .dims = {3},
		 .data = narrow_keys},
		{.name = "item_embedding-sparse_incr_values",
		 .dtype = SP_FLOAT,
		 .rank = 2,
		 .dims = {3, 8}},
		{.name = "lonely-sparse_incr_keys",
		 .dtype = SP_INT64,
		 .rank = 1,
		 .dims = {3},
		 .data = some_keys},
		{.name = "user_embedding-sparse_incr_keys",
		 .dtype = SP_INT32,
		 .rank = 1,
		 .dims = {3},
		 .data = narrow_keys},
		{.name = "user_embedding-sparse_incr_values",
		 .dtype = SP_FLOAT,
		 .rank = 2,
		 .dims = {3, 8}},
	};

	sp_checkpoint_write(full, of_full, sizeof(of_full) / sizeof(of_full[0]), 1);
	sp_checkpoint_write(delta, of_delta, sizeof(of_delta) / sizeof(of_delta[0]), 1);
}

static void verify_compares_with_the_graph_and_a_delta_with_its_base(void **state)
{
	char command[2 * SP_PATH_SIZE], path[2 * SP_PATH_SIZE], full[3 * SP_PATH_SIZE];
	char delta[3 * SP_PATH_SIZE], model[SP_PATH_SIZE], rest[2 * SP_PATH_SIZE];
	cJSON *json;

	(void)state;
	sp_tool_print(path, sizeof(path), "%s/other", sp_tool_folder);
	sp_tool_print(command, sizeof(command),
		      "mkdir -p %s/other/v/.incremental_checkpoint && touch %s/other/v/checkpoint",
		      sp_tool_folder, sp_tool_folder);
	assert_int_equal(system(command), 0);
	sp_tool_print(full, sizeof(full), "%s/v/model.ckpt-1", path);
	sp_tool_print(delta, sizeof(delta), "%s/v/.incremental_checkpoint/inc.ckpt-2", path);
	write_versions(full, delta);
	sp_tool_print(rest, sizeof(rest), "--model=%s",
		      sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	assert_int_equal(sp_tool_run_on("verify --json", path, rest), 1);
	json = sp_tool_parsed();
	assert_true(has_problem(json, "dense_0/bias", "[17], which is not the graph's shape"));
	assert_true(has_problem(json, "dense_0/kernel", "DT_INT64, the graph's DT_FLOAT"));
	assert_true(has_problem(json, "user_embedding", "6 elements, the graph's 8"));
	assert_true(has_problem(json, "user_embedding", "keys are DT_INT32, the graph's DT_INT64"));
	assert_true(has_problem(json, "user_embedding", "8 elements, the full checkpoint's 6"));
	assert_true(
		has_problem(json, "item_embedding", "DT_INT32, the full checkpoint's DT_INT64"));
	assert_true(has_problem(json, "lonely", "no '-sparse_incr_values'"));
	assert_false(has_problem(json, "item_embedding", "graph"));
	cJSON_Delete(json);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, sp_tool_set_up, sp_tool_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(verify_finds_what_is_wrong_with_rows),
		CASE(verify_is_content_with_what_is_right),
		CASE(verify_sees_every_damage),
		CASE(verify_misses_what_the_graph_wants),
		CASE(verify_misses_what_a_part_has_lost),
		CASE(verify_compares_no_rows_that_are_damaged_with_the_graph),
		CASE(verify_compares_with_the_graph_and_a_delta_with_its_base),
	};

	return cmocka_run_group_tests_name("tool_verify", tests, NULL, NULL);
}
