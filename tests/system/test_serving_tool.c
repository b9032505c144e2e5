#include "tests/support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/checkpoint.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/tool.h"

/*
 * serving_tool inspect, get and image.  scripts/make_embedding_fixtures.py says what is in the
 * bundles: element d of the row of a key is key % 9973 * 0.5 + d / 8.
 */

static double element(int64_t key, int d)
{
	return (double)(key % 9973) * 0.5 + d * 0.125;
}

static double norm(int64_t key, int dim)
{
	double sum = 0;

	for (int d = 0; d < dim; d++)
		sum += element(key, d) * element(key, d);
	return sqrt(sum);
}

/* ------------------------------------------------------------------- inspect */

static void inspect_counts_and_measures(void **state)
{
	double least = INFINITY, greatest = 0, sum = 0;
	const cJSON *table, *one;
	cJSON *json;
	int keys = 0;

	(void)state;
	assert_int_equal(sp_tool_run_on("inspect --json", sp_tool_fixture("formats"), "--top=12"),
			 0);
	json = sp_tool_parsed();
	table = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "seen");
	assert_true(sp_tool_number(table, "rows") == 100);
	assert_true(sp_tool_number(table, "dim") == 4);
	assert_true(sp_tool_number(table, "parts") == 1);
	assert_true(sp_tool_number(table, "rows_with_frequency") == 100);
	assert_true(sp_tool_number(table, "keys_not_admitted") == 1);
	assert_string_equal(sp_tool_member(table, "key_dtype")->valuestring, "DT_INT64");
	for (int i = 0; i < 100; i++) {
		double n = norm(37 * i, 4);

		least = fmin(least, n);
		greatest = fmax(greatest, n);
		sum += n;
	}
	table = sp_tool_member(table, "l2_norm");
	assert_true(fabs(sp_tool_number(table, "min") - least) < 1e-6 * least);
	assert_true(fabs(sp_tool_number(table, "mean") - sum / 100) < 1e-6 * sum / 100);
	assert_true(fabs(sp_tool_number(table, "max") - greatest) < 1e-6 * greatest);

	/* Ten keys have been seen ten times, the next ones nine times. */
	table = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "seen");
	cJSON_ArrayForEach (one, sp_tool_member(table, "top_keys")) {
		int64_t key = (int64_t)sp_tool_number(one, "key");

		assert_true(sp_tool_number(one, "frequency") == (keys < 10 ? 10 : 9));
		assert_true(sp_tool_number(one, "frequency") == (double)(key / 37 % 10 + 1));
		keys++;
	}
	assert_int_equal(keys, 12);

	table = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "ten");
	assert_true(sp_tool_number(table, "parts") == 10);
	table = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "beyond");
	assert_true(sp_tool_number(table, "rows") == 100);
	assert_true(sp_tool_number(table, "rows_with_frequency") == 80);
	cJSON_Delete(json);
}

static bool is_among(const cJSON *keys, int64_t key)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, keys)
		if (sp_tool_number(one, "key") == (double)key)
			return true;
	return false;
}

/* Of the keys that training has seen nine times, most have their rows on an SSD tier. */
static void inspect_ranks_keys_of_an_ssd_tier(void **state)
{
	const cJSON *keys, *one;
	char path[SP_PATH_SIZE];
	cJSON *json;

	(void)state;
	sp_source_path(path, "tests/golden/ev-ctr-ssd/checkpoints");
	assert_int_equal(sp_tool_run_on("inspect --json --top=4", path, ""), 0);
	json = sp_tool_parsed();
	keys = sp_tool_member(
		sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "user_embedding"),
		"top_keys");
	assert_int_equal(cJSON_GetArraySize(keys), 4);
	cJSON_ArrayForEach (one, keys)
		assert_true(sp_tool_number(one, "frequency") == 9);
	assert_true(is_among(keys, 104)); /* of the SSD */
	cJSON_Delete(json);
}

static void of_a_key_that_is_there_twice_the_later_row_is_ranked(void **state)
{
	const cJSON *keys, *one;
	int times = 0;
	cJSON *json;

	(void)state;
	assert_int_equal(
		sp_tool_run_on("inspect --json --top=100", sp_tool_fixture("ssd/full"), ""), 1);
	json = sp_tool_parsed();
	keys = sp_tool_member(
		sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "both"),
		"top_keys");
	cJSON_ArrayForEach (one, keys)
		if (sp_tool_number(one, "key") == 3663) {
			assert_true(sp_tool_number(one, "frequency") == 3); /* the SSD's is 10 */
			times++;
		}
	assert_int_equal(times, 1);
	cJSON_Delete(json);
}

/* DeepRec writes 0 for every key of a delta whose table it does not count. */
static void a_key_that_was_not_counted_has_no_frequency(void **state)
{
	static const int64_t keys[] = {1, 2, 3}, freqs[] = {0, 5, 0};
	static const float rows[6];
	const sp_checkpoint_tensor tensors[] = {
		{.name = "t-sparse_incr_freqs",
		 .dtype = SP_INT64,
		 .rank = 1,
		 .dims = {3},
		 .data = freqs},
		{.name = "t-sparse_incr_keys",
		 .dtype = SP_INT64,
		 .rank = 1,
		 .dims = {3},
		 .data = keys},
		{.name = "t-sparse_incr_values",
		 .dtype = SP_FLOAT,
		 .rank = 2,
		 .dims = {3, 2},
		 .data = rows},
	};
	char path[2 * SP_PATH_SIZE];
	const cJSON *found;
	cJSON *json;

	(void)state;
	sp_tool_print(path, sizeof(path), "%s/delta", sp_tool_folder);
	sp_checkpoint_write(path, tensors, sizeof(tensors) / sizeof(tensors[0]), 1);
	assert_int_equal(sp_tool_run_on("inspect --json", path, ""), 0);
	json = sp_tool_parsed();
	found = sp_tool_member(
		sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "t"),
		"top_keys");
	assert_int_equal(cJSON_GetArraySize(found), 1);
	assert_true(is_among(found, 2));
	cJSON_Delete(json);
	assert_int_equal(sp_tool_run_on("get --json", path, "t 1 2"), 0);
	json = sp_tool_parsed();
	found = sp_tool_member(json, "keys");
	assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(found, 0), "frequency"));
	assert_true(sp_tool_number(cJSON_GetArrayItem(found, 1), "frequency") == 5);
	cJSON_Delete(json);
}

static void only_frequencies_that_can_be_read_are_counted(void **state)
{
	const cJSON *tables;
	cJSON *json;

	(void)state;
	assert_int_equal(sp_tool_run_on("inspect --json --quick", sp_tool_fixture("formats"), ""),
			 0);
	json = sp_tool_parsed();
	tables = sp_tool_member(sp_tool_member(json, "checkpoint"), "tables");
	assert_true(sp_tool_number(sp_tool_item(tables, "name", "float_freqs"),
				   "rows_with_frequency") == 0);
	assert_true(sp_tool_number(sp_tool_item(tables, "name", "long_freqs"),
				   "rows_with_frequency") == 100);
	cJSON_Delete(json);
}

static void inspect_quickly_reads_no_rows(void **state)
{
	const cJSON *table;
	cJSON *json;

	(void)state;
	assert_int_equal(sp_tool_run_on("--quick inspect --json", sp_tool_fixture("formats"), ""),
			 0);
	json = sp_tool_parsed();
	table = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			     "seen32");
	assert_string_equal(sp_tool_member(table, "key_dtype")->valuestring, "DT_INT32");
	assert_null(cJSON_GetObjectItem(table, "l2_norm"));
	assert_null(cJSON_GetObjectItem(table, "top_keys"));
	cJSON_Delete(json);
}

static void inspect_tells_a_person(void **state)
{
	char path[SP_PATH_SIZE];

	(void)state;
	assert_int_equal(
		sp_tool_run_on("inspect", sp_source_path(path, "tests/golden/ev-ctr/model"), ""),
		0);
	assert_non_null(strstr(sp_tool_output, "kind: saved_model\n"));
	assert_non_null(strstr(sp_tool_output, "  - name: serving_default\n"));
	assert_non_null(strstr(sp_tool_output,
			       "      - {name: price, tensor: price:0, dtype: DT_FLOAT, "
			       "shape: [-1]}\n"));
	assert_non_null(strstr(sp_tool_output, "      filter: counter\n      filter_freq: 3\n"));
	assert_non_null(strstr(sp_tool_output,
			       "    - name: dense_0/kernel\n      dtype: DT_FLOAT\n"
			       "      shape: [17, 16]\n      bytes: 1088 (1.1 KiB)\n"));
}

/* ----------------------------------------------------------------------- get */

static void expect_row(const cJSON *answer, int64_t key, int dim, double plus)
{
	const cJSON *row = sp_tool_member(answer, "row");

	assert_true(sp_tool_number(answer, "key") == (double)key);
	assert_int_equal(cJSON_GetArraySize(row), dim);
	for (int d = 0; d < dim; d++)
		assert_true(cJSON_GetArrayItem(row, d)->valuedouble == element(key, d) + plus);
}

static void get_finds_rows_and_says_what_is_not_there(void **state)
{
	const cJSON *keys;
	cJSON *json;

	(void)state;
	assert_int_equal(sp_tool_run_on("get --json", sp_tool_fixture("formats"),
					"seen 3663 1 37 999983 3663 -37"),
			 0);
	json = sp_tool_parsed();
	assert_true(sp_tool_number(json, "dim") == 4);
	keys = sp_tool_member(json, "keys");
	assert_int_equal(cJSON_GetArraySize(keys), 6);
	expect_row(cJSON_GetArrayItem(keys, 0), 3663, 4, 0);
	assert_true(sp_tool_number(cJSON_GetArrayItem(keys, 0), "frequency") == 10);
	assert_true(cJSON_IsFalse(sp_tool_member(cJSON_GetArrayItem(keys, 1), "found")));
	expect_row(cJSON_GetArrayItem(keys, 2), 37, 4, 0);
	assert_true(cJSON_IsTrue(sp_tool_member(cJSON_GetArrayItem(keys, 3), "not_admitted")));
	expect_row(cJSON_GetArrayItem(keys, 4), 3663, 4, 0);
	assert_true(cJSON_IsFalse(sp_tool_member(cJSON_GetArrayItem(keys, 5), "found")));
	cJSON_Delete(json);

	assert_int_equal(sp_tool_run_on("get --json", sp_tool_fixture("formats"), "ten 37"), 0);
	json = sp_tool_parsed();
	keys = cJSON_GetArrayItem(sp_tool_member(json, "keys"), 0);
	expect_row(keys, 37, 4, 0);
	assert_string_equal(sp_tool_member(keys, "part")->valuestring, "ten/part_7");
	cJSON_Delete(json);
}

static void rows_of_an_ssd_tier_are_rows_too(void **state)
{
	const cJSON *keys;
	cJSON *json;

	(void)state;
	assert_int_equal(
		sp_tool_run_on("get --json", sp_tool_fixture("ssd/full"), "header 0 3663 999983"),
		0);
	json = sp_tool_parsed();
	keys = sp_tool_member(json, "keys");
	expect_row(cJSON_GetArrayItem(keys, 0), 0, 4, 0);
	expect_row(cJSON_GetArrayItem(keys, 1), 3663, 4, 0); /* of the SSD */
	assert_true(sp_tool_number(cJSON_GetArrayItem(keys, 1), "frequency") == 10);
	cJSON_Delete(json);

	/* The newer row is in the tensor: all its elements are 5. */
	assert_int_equal(
		sp_tool_run_on("get --json", sp_tool_fixture("ssd/full"), "both 3663 3626"), 0);
	json = sp_tool_parsed();
	keys = sp_tool_member(json, "keys");
	assert_true(cJSON_GetArrayItem(sp_tool_member(cJSON_GetArrayItem(keys, 0), "row"), 1)
			    ->valuedouble == 5);
	expect_row(cJSON_GetArrayItem(keys, 1), 3626, 4, 0);
	cJSON_Delete(json);

	/* Some tables of this fixture have spoiled records. */
	assert_int_equal(sp_tool_run_on("inspect --json", sp_tool_fixture("ssd/full"), ""), 1);
	json = sp_tool_parsed();
	keys = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			    "header");
	assert_true(sp_tool_number(keys, "rows_of_ssd_tier") == 40);
	keys = sp_tool_item(sp_tool_member(sp_tool_member(json, "checkpoint"), "tables"), "name",
			    "gone_file");
	assert_non_null(sp_tool_member(keys, "problem"));
	cJSON_Delete(json);
	assert_int_equal(sp_tool_run_on("verify --json", sp_tool_fixture("ssd/full"), ""), 1);
	assert_non_null(strstr(sp_tool_output, "gone_file"));
	assert_null(strstr(sp_tool_output, "\"where\":\"header\""));
}

/* VERSION/checkpoint, full and delta as a trainer leaves them. */
static void make_checkpoint_dir(void)
{
	char command[8 * SP_PATH_SIZE];

	sp_tool_print(
		command, sizeof(command),
		"v=%s/c/v1; mkdir -p $v/.incremental_checkpoint && touch $v/checkpoint && "
		"for f in index data-00000-of-00001; do "
		"cp %s.$f $v/model.ckpt-1.$f && "
		"cp $(echo %s | sed 's/full$/delta/').$f $v/.incremental_checkpoint/inc.ckpt-2.$f; "
		"done",
		sp_tool_folder, sp_tool_fixture("full"), sp_tool_fixture("full"));
	assert_int_equal(system(command), 0);
}

static void a_delta_goes_over_the_full_checkpoint(void **state)
{
	char path[2 * SP_PATH_SIZE];
	const cJSON *tables, *keys;
	cJSON *json;

	(void)state;
	make_checkpoint_dir();
	sp_tool_print(path, sizeof(path), "%s/c", sp_tool_folder);
	assert_int_equal(sp_tool_run_on("inspect --json --quick", path, ""), 0);
	json = sp_tool_parsed();
	tables = sp_tool_member(sp_tool_member(json, "delta"), "tables");
	assert_true(cJSON_GetArraySize(tables) > 0);
	assert_true(sp_tool_number(sp_tool_item(tables, "name", "four"), "parts") == 4);
	sp_tool_item(tables, "name", "whole");
	cJSON_Delete(json);
	assert_int_equal(sp_tool_run_on("get --json", path, "whole 37 74 123456789012345"), 0);
	json = sp_tool_parsed();
	keys = sp_tool_member(json, "keys");
	expect_row(cJSON_GetArrayItem(keys, 0), 37, (int)sp_tool_number(json, "dim"), 1000);
	assert_true(cJSON_IsTrue(sp_tool_member(cJSON_GetArrayItem(keys, 0), "from_delta")));
	expect_row(cJSON_GetArrayItem(keys, 1), 74, (int)sp_tool_number(json, "dim"), 0);
	expect_row(cJSON_GetArrayItem(keys, 2), 123456789012345, (int)sp_tool_number(json, "dim"),
		   1000);
	cJSON_Delete(json);
}

/* --------------------------------------------------------------------- image */

static void an_image_holds_what_the_checkpoint_does(void **state)
{
	char base[SP_PATH_SIZE], rest[4 * SP_PATH_SIZE], image[2 * SP_PATH_SIZE];
	const cJSON *keys;
	double rows[8];
	cJSON *json;
	FILE *f;

	(void)state;
	sp_source_path(base, "tests/golden/ev-ctr-checkpoint");
	sp_tool_print(rest, sizeof(rest), "%s/checkpoints --json --model=%s/model --out=%s/images",
		      base, base, sp_tool_folder);
	assert_int_equal(sp_tool_run_on("image", rest, ""), 0);
	json = sp_tool_parsed();
	sp_tool_print(image, sizeof(image), "%s", sp_tool_member(json, "image")->valuestring);
	cJSON_Delete(json);

	sp_tool_print(rest, sizeof(rest), "%s/checkpoints", base);
	assert_int_equal(sp_tool_run_on("get --json", rest, "item_embedding 6594463425999497017"),
			 0);
	json = sp_tool_parsed();
	keys = sp_tool_member(cJSON_GetArrayItem(sp_tool_member(json, "keys"), 0), "row");
	for (int d = 0; d < 8; d++)
		rows[d] = cJSON_GetArrayItem(keys, d)->valuedouble;
	cJSON_Delete(json);
	assert_int_equal(
		sp_tool_run_on("get --json", image, "item_embedding 6594463425999497017 -2"), 0);
	json = sp_tool_parsed();
	keys = sp_tool_member(cJSON_GetArrayItem(sp_tool_member(json, "keys"), 0), "row");
	for (int d = 0; d < 8; d++)
		assert_true(rows[d] == cJSON_GetArrayItem(keys, d)->valuedouble);
	assert_true(cJSON_IsFalse(
		sp_tool_member(cJSON_GetArrayItem(sp_tool_member(json, "keys"), 1), "found")));
	cJSON_Delete(json);

	assert_int_equal(sp_tool_run_on("inspect --json", image, ""), 0);
	json = sp_tool_parsed();
	assert_int_equal(cJSON_GetArraySize(sp_tool_member(json, "tables")), 2);
	cJSON_Delete(json);
	assert_int_equal(sp_tool_run_on("verify", image, ""), 0);

	f = fopen(image, "r+b");
	fseek(f, -1, SEEK_END);
	fputc(0x55, f);
	fclose(f);
	assert_int_equal(sp_tool_run_on("verify", image, ""), 1);
	assert_non_null(strstr(sp_tool_output, "is broken"));
	assert_int_equal(access(image, F_OK), 0);
	assert_int_equal(sp_tool_run_on("inspect", image, ""), 1);
	assert_int_equal(truncate(image, 100000), 0);
	assert_int_equal(sp_tool_run_on("verify", image, ""), 1);
}

/* A configuration says all of it, and settings are part of the image's name. */
static void an_image_follows_the_configuration(void **state)
{
	char base[SP_PATH_SIZE], path[2 * SP_PATH_SIZE];
	cJSON *json;
	FILE *f;

	(void)state;
	sp_source_path(base, "tests/golden/ev-ctr-checkpoint");
	sp_tool_print(path, sizeof(path), "%s/config.json", sp_tool_folder);
	f = fopen(path, "w");
	fprintf(f,
		"{\"savedmodel_dir\": \"%s/model\", \"checkpoint_dir\": \"%s/checkpoints\", "
		"\"signature_name\": \"serving_default\", \"model_store_type\": \"local\", "
		"\"feature_store_type\": \"memory\", \"serialize_protocol\": \"protobuf\", "
		"\"ev_row_format\": \"int8\", \"ev_image_path\": \"%s/images\"}",
		base, base, sp_tool_folder);
	fclose(f);
	assert_int_equal(sp_tool_run_on("image --json", path, ""), 0);
	json = sp_tool_parsed();
	sp_tool_print(path, sizeof(path), "%s", sp_tool_member(json, "image")->valuestring);
	cJSON_Delete(json);
	assert_int_equal(sp_tool_run_on("inspect", path, ""), 0);
	assert_non_null(strstr(sp_tool_output, "row_format: int8"));
}

/* --------------------------------------------------------------------- usage */

static void a_wrong_command_line_is_2(void **state)
{
	(void)state;
	assert_int_equal(sp_tool_run(""), 2);
	assert_int_equal(sp_tool_run("nonsense x"), 2);
	assert_int_equal(sp_tool_run("inspect"), 2);
	assert_int_equal(sp_tool_run("inspect --such x"), 2);
	assert_int_equal(sp_tool_run("inspect -x y"), 2);
	assert_true(sp_tool_error_says("--help"));
	assert_int_equal(sp_tool_run("inspect --top=x y"), 2);
	assert_int_equal(sp_tool_run_on("inspect", sp_tool_fixture("full"), "more"), 2);
	assert_true(sp_tool_error_says("one word too many"));
	assert_int_equal(sp_tool_run_on("get", sp_tool_fixture("full"), "whole"), 2);
	assert_int_equal(sp_tool_run_on("get", sp_tool_fixture("full"), "whole x7"), 2);
	assert_true(sp_tool_error_says("'x7' is not a key"));
	assert_int_equal(
		sp_tool_run_on("get", sp_tool_fixture("full"), "whole 9223372036854775808"), 2);
	assert_string_equal(sp_tool_output, "");
	assert_int_equal(sp_tool_run_on("publish --model=m --name=n --row_format=fp8",
					sp_tool_fixture("full"), "unix:/nowhere"),
			 2);
	assert_true(sp_tool_error_says("--row_format is fp32, fp16, bf16, int8 or int4, not "
				       "'fp8'"));
}

static void what_is_not_there_is_1(void **state)
{
	cJSON *json;

	(void)state;
	assert_int_equal(sp_tool_run("inspect /nowhere"), 1);
	assert_true(sp_tool_error_says("/nowhere is no SavedModel"));
	assert_int_equal(sp_tool_run_on("get --json", sp_tool_fixture("full"), "no_such_table 7"),
			 1);
	json = sp_tool_parsed();
	assert_non_null(strstr(sp_tool_member(json, "error")->valuestring, "no_such_table"));
	cJSON_Delete(json);
	assert_int_equal(sp_tool_run("image /nowhere.json --out=/tmp"), 1);
}

static void help_and_version_are_told(void **state)
{
	static const char *const words[] = {"--help", "-h", "help", "inspect -h", "get --help"};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(sp_tool_run(words[i]), 0);
		assert_non_null(strstr(sp_tool_output, "usage: serving_tool"));
	}
	assert_int_equal(sp_tool_run("verify --version"), 0);
	assert_memory_equal(sp_tool_output, "serving_tool ", 13);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, sp_tool_set_up, sp_tool_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(inspect_counts_and_measures),
		CASE(inspect_ranks_keys_of_an_ssd_tier),
		CASE(of_a_key_that_is_there_twice_the_later_row_is_ranked),
		CASE(a_key_that_was_not_counted_has_no_frequency),
		CASE(only_frequencies_that_can_be_read_are_counted),
		CASE(inspect_quickly_reads_no_rows),
		CASE(inspect_tells_a_person),
		CASE(get_finds_rows_and_says_what_is_not_there),
		CASE(rows_of_an_ssd_tier_are_rows_too),
		CASE(a_delta_goes_over_the_full_checkpoint),
		CASE(an_image_holds_what_the_checkpoint_does),
		CASE(an_image_follows_the_configuration),
		CASE(a_wrong_command_line_is_2),
		CASE(what_is_not_there_is_1),
		CASE(help_and_version_are_told),
	};

	return cmocka_run_group_tests_name("serving_tool", tests, NULL, NULL);
}
