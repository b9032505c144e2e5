#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/checkpoint.h"
#include "tests/support/golden.h"
#include "tests/support/paths.h"

/*
 * serving_tool as a person runs it, on bundles that TensorFlow has written.
 * scripts/make_embedding_fixtures.py says what is in them: element d of the row
 * of a key is key % 9973 * 0.5 + d / 8.
 */
static char folder[SP_PATH_SIZE];
static char output[1 << 20];

/* snprintf() that fails the test rather than cut something off. */
static void print_to(char *out, size_t size, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(out, size, fmt, args);
	va_end(args);
	assert_true(length >= 0 && (size_t)length < size);
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	return 0;
}

static const char *fixture(const char *name)
{
	static char path[SP_PATH_SIZE];
	char relative[256];

	print_to(relative, sizeof(relative), "tests/golden/embeddings/%s", name);
	return sp_source_path(path, relative);
}

/* The tool's exit status; what it writes goes to `output`. */
static int run(const char *arguments)
{
	const char *build = getenv("builddir");
	char command[4 * SP_PATH_SIZE];
	size_t size;
	FILE *pipe;
	int status;

	print_to(command, sizeof(command), "%s/serving_tool %s 2>%s/stderr",
		 build != NULL ? build : ".", arguments, folder);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	size = fread(output, 1, sizeof(output) - 1, pipe);
	output[size] = '\0';
	status = pclose(pipe);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int run_on(const char *command, const char *path, const char *rest)
{
	char arguments[2 * SP_PATH_SIZE];

	print_to(arguments, sizeof(arguments), "%s %s %s", command, path, rest);
	return run(arguments);
}

static cJSON *parsed(void)
{
	cJSON *json = cJSON_Parse(output);

	if (json == NULL)
		fail_msg("not JSON: %.200s", output);
	return json;
}

static const cJSON *member(const cJSON *json, const char *key)
{
	const cJSON *found = cJSON_GetObjectItem(json, key);

	if (found == NULL)
		fail_msg("no '%s' in %.300s", key, output);
	return found;
}

static double number(const cJSON *json, const char *key)
{
	return member(json, key)->valuedouble;
}

/* The item of `list` whose member `key` is `text`. */
static const cJSON *item(const cJSON *list, const char *key, const char *text)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list)
		if (strcmp(member(one, key)->valuestring, text) == 0)
			return one;
	fail_msg("no %s '%s' in %.300s", key, text, output);
	return NULL;
}

static bool error_says(const char *text)
{
	char path[2 * SP_PATH_SIZE], line[2000] = "";
	FILE *f;

	print_to(path, sizeof(path), "%s/stderr", folder);
	f = fopen(path, "r");
	if (fread(line, 1, sizeof(line) - 1, f) == 0)
		line[0] = '\0';
	fclose(f);
	return strstr(line, text) != NULL;
}

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
	assert_int_equal(run_on("inspect --json", fixture("formats"), "--top=12"), 0);
	json = parsed();
	table = item(member(member(json, "checkpoint"), "tables"), "name", "seen");
	assert_true(number(table, "rows") == 100);
	assert_true(number(table, "dim") == 4);
	assert_true(number(table, "parts") == 1);
	assert_true(number(table, "rows_with_frequency") == 100);
	assert_true(number(table, "keys_not_admitted") == 1);
	assert_string_equal(member(table, "key_dtype")->valuestring, "DT_INT64");
	for (int i = 0; i < 100; i++) {
		double n = norm(37 * i, 4);

		least = fmin(least, n);
		greatest = fmax(greatest, n);
		sum += n;
	}
	table = member(table, "l2_norm");
	assert_true(fabs(number(table, "min") - least) < 1e-6 * least);
	assert_true(fabs(number(table, "mean") - sum / 100) < 1e-6 * sum / 100);
	assert_true(fabs(number(table, "max") - greatest) < 1e-6 * greatest);

	/* Ten keys have been seen ten times, the next ones nine times. */
	table = item(member(member(json, "checkpoint"), "tables"), "name", "seen");
	cJSON_ArrayForEach (one, member(table, "top_keys")) {
		int64_t key = (int64_t)number(one, "key");

		assert_true(number(one, "frequency") == (keys < 10 ? 10 : 9));
		assert_true(number(one, "frequency") == (double)(key / 37 % 10 + 1));
		keys++;
	}
	assert_int_equal(keys, 12);

	table = item(member(member(json, "checkpoint"), "tables"), "name", "ten");
	assert_true(number(table, "parts") == 10);
	table = item(member(member(json, "checkpoint"), "tables"), "name", "beyond");
	assert_true(number(table, "rows") == 100);
	assert_true(number(table, "rows_with_frequency") == 80);
	cJSON_Delete(json);
}

static bool is_among(const cJSON *keys, int64_t key)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, keys)
		if (number(one, "key") == (double)key)
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
	assert_int_equal(run_on("inspect --json --top=4", path, ""), 0);
	json = parsed();
	keys = member(item(member(member(json, "checkpoint"), "tables"), "name", "user_embedding"),
		      "top_keys");
	assert_int_equal(cJSON_GetArraySize(keys), 4);
	cJSON_ArrayForEach (one, keys)
		assert_true(number(one, "frequency") == 9);
	assert_true(is_among(keys, 104)); /* of the SSD */
	cJSON_Delete(json);
}

static void of_a_key_that_is_there_twice_the_later_row_is_ranked(void **state)
{
	const cJSON *keys, *one;
	int times = 0;
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("inspect --json --top=100", fixture("ssd/full"), ""), 1);
	json = parsed();
	keys = member(item(member(member(json, "checkpoint"), "tables"), "name", "both"),
		      "top_keys");
	cJSON_ArrayForEach (one, keys)
		if (number(one, "key") == 3663) {
			assert_true(number(one, "frequency") == 3); /* the SSD's is 10 */
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
	print_to(path, sizeof(path), "%s/delta", folder);
	sp_checkpoint_write(path, tensors, sizeof(tensors) / sizeof(tensors[0]), 1);
	assert_int_equal(run_on("inspect --json", path, ""), 0);
	json = parsed();
	found = member(item(member(member(json, "checkpoint"), "tables"), "name", "t"), "top_keys");
	assert_int_equal(cJSON_GetArraySize(found), 1);
	assert_true(is_among(found, 2));
	cJSON_Delete(json);
	assert_int_equal(run_on("get --json", path, "t 1 2"), 0);
	json = parsed();
	found = member(json, "keys");
	assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(found, 0), "frequency"));
	assert_true(number(cJSON_GetArrayItem(found, 1), "frequency") == 5);
	cJSON_Delete(json);
}

static void only_frequencies_that_can_be_read_are_counted(void **state)
{
	const cJSON *tables;
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("inspect --json --quick", fixture("formats"), ""), 0);
	json = parsed();
	tables = member(member(json, "checkpoint"), "tables");
	assert_true(number(item(tables, "name", "float_freqs"), "rows_with_frequency") == 0);
	assert_true(number(item(tables, "name", "long_freqs"), "rows_with_frequency") == 100);
	cJSON_Delete(json);
}

static void inspect_quickly_reads_no_rows(void **state)
{
	const cJSON *table;
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("--quick inspect --json", fixture("formats"), ""), 0);
	json = parsed();
	table = item(member(member(json, "checkpoint"), "tables"), "name", "seen32");
	assert_string_equal(member(table, "key_dtype")->valuestring, "DT_INT32");
	assert_null(cJSON_GetObjectItem(table, "l2_norm"));
	assert_null(cJSON_GetObjectItem(table, "top_keys"));
	cJSON_Delete(json);
}

static void inspect_tells_a_person(void **state)
{
	char path[SP_PATH_SIZE];

	(void)state;
	assert_int_equal(run_on("inspect", sp_source_path(path, "tests/golden/ev-ctr/model"), ""),
			 0);
	assert_non_null(strstr(output, "kind: saved_model\n"));
	assert_non_null(strstr(output, "  - name: serving_default\n"));
	assert_non_null(strstr(output, "      - {name: price, tensor: price:0, dtype: DT_FLOAT, "
				       "shape: [-1]}\n"));
	assert_non_null(strstr(output, "      filter: counter\n      filter_freq: 3\n"));
	assert_non_null(strstr(output, "    - name: dense_0/kernel\n      dtype: DT_FLOAT\n"
				       "      shape: [17, 16]\n      bytes: 1088 (1.1 KiB)\n"));
}

/* ----------------------------------------------------------------------- get */

static void expect_row(const cJSON *answer, int64_t key, int dim, double plus)
{
	const cJSON *row = member(answer, "row");

	assert_true(number(answer, "key") == (double)key);
	assert_int_equal(cJSON_GetArraySize(row), dim);
	for (int d = 0; d < dim; d++)
		assert_true(cJSON_GetArrayItem(row, d)->valuedouble == element(key, d) + plus);
}

static void get_finds_rows_and_says_what_is_not_there(void **state)
{
	const cJSON *keys;
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("get --json", fixture("formats"), "seen 3663 1 37 999983 3663 -37"),
			 0);
	json = parsed();
	assert_true(number(json, "dim") == 4);
	keys = member(json, "keys");
	assert_int_equal(cJSON_GetArraySize(keys), 6);
	expect_row(cJSON_GetArrayItem(keys, 0), 3663, 4, 0);
	assert_true(number(cJSON_GetArrayItem(keys, 0), "frequency") == 10);
	assert_true(cJSON_IsFalse(member(cJSON_GetArrayItem(keys, 1), "found")));
	expect_row(cJSON_GetArrayItem(keys, 2), 37, 4, 0);
	assert_true(cJSON_IsTrue(member(cJSON_GetArrayItem(keys, 3), "not_admitted")));
	expect_row(cJSON_GetArrayItem(keys, 4), 3663, 4, 0);
	assert_true(cJSON_IsFalse(member(cJSON_GetArrayItem(keys, 5), "found")));
	cJSON_Delete(json);

	assert_int_equal(run_on("get --json", fixture("formats"), "ten 37"), 0);
	json = parsed();
	keys = cJSON_GetArrayItem(member(json, "keys"), 0);
	expect_row(keys, 37, 4, 0);
	assert_string_equal(member(keys, "part")->valuestring, "ten/part_7");
	cJSON_Delete(json);
}

static void rows_of_an_ssd_tier_are_rows_too(void **state)
{
	const cJSON *keys;
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("get --json", fixture("ssd/full"), "header 0 3663 999983"), 0);
	json = parsed();
	keys = member(json, "keys");
	expect_row(cJSON_GetArrayItem(keys, 0), 0, 4, 0);
	expect_row(cJSON_GetArrayItem(keys, 1), 3663, 4, 0); /* of the SSD */
	assert_true(number(cJSON_GetArrayItem(keys, 1), "frequency") == 10);
	cJSON_Delete(json);

	/* The newer row is in the tensor: all its elements are 5. */
	assert_int_equal(run_on("get --json", fixture("ssd/full"), "both 3663 3626"), 0);
	json = parsed();
	keys = member(json, "keys");
	assert_true(
		cJSON_GetArrayItem(member(cJSON_GetArrayItem(keys, 0), "row"), 1)->valuedouble ==
		5);
	expect_row(cJSON_GetArrayItem(keys, 1), 3626, 4, 0);
	cJSON_Delete(json);

	/* Some tables of this fixture have spoiled records. */
	assert_int_equal(run_on("inspect --json", fixture("ssd/full"), ""), 1);
	json = parsed();
	keys = item(member(member(json, "checkpoint"), "tables"), "name", "header");
	assert_true(number(keys, "rows_of_ssd_tier") == 40);
	keys = item(member(member(json, "checkpoint"), "tables"), "name", "gone_file");
	assert_non_null(member(keys, "problem"));
	cJSON_Delete(json);
	assert_int_equal(run_on("verify --json", fixture("ssd/full"), ""), 1);
	assert_non_null(strstr(output, "gone_file"));
	assert_null(strstr(output, "\"where\":\"header\""));
}

/* VERSION/checkpoint, full and delta as a trainer leaves them. */
static void make_checkpoint_dir(void)
{
	char command[8 * SP_PATH_SIZE];

	print_to(
		command, sizeof(command),
		"v=%s/c/v1; mkdir -p $v/.incremental_checkpoint && touch $v/checkpoint && "
		"for f in index data-00000-of-00001; do "
		"cp %s.$f $v/model.ckpt-1.$f && "
		"cp $(echo %s | sed 's/full$/delta/').$f $v/.incremental_checkpoint/inc.ckpt-2.$f; "
		"done",
		folder, fixture("full"), fixture("full"));
	assert_int_equal(system(command), 0);
}

static void a_delta_goes_over_the_full_checkpoint(void **state)
{
	char path[2 * SP_PATH_SIZE];
	const cJSON *tables, *keys;
	cJSON *json;

	(void)state;
	make_checkpoint_dir();
	print_to(path, sizeof(path), "%s/c", folder);
	assert_int_equal(run_on("inspect --json --quick", path, ""), 0);
	json = parsed();
	tables = member(member(json, "delta"), "tables");
	assert_true(cJSON_GetArraySize(tables) > 0);
	assert_true(number(item(tables, "name", "four"), "parts") == 4);
	item(tables, "name", "whole");
	cJSON_Delete(json);
	assert_int_equal(run_on("get --json", path, "whole 37 74 123456789012345"), 0);
	json = parsed();
	keys = member(json, "keys");
	expect_row(cJSON_GetArrayItem(keys, 0), 37, (int)number(json, "dim"), 1000);
	assert_true(cJSON_IsTrue(member(cJSON_GetArrayItem(keys, 0), "from_delta")));
	expect_row(cJSON_GetArrayItem(keys, 1), 74, (int)number(json, "dim"), 0);
	expect_row(cJSON_GetArrayItem(keys, 2), 123456789012345, (int)number(json, "dim"), 1000);
	cJSON_Delete(json);
}

/* -------------------------------------------------------------------- verify */

static bool has_problem(const cJSON *json, const char *where, const char *what)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, member(json, "problems"))
		if (strcmp(member(one, "where")->valuestring, where) == 0 &&
		    strstr(member(one, "what")->valuestring, what) != NULL)
			return true;
	return false;
}

static void verify_finds_what_is_wrong_with_rows(void **state)
{
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("verify --json", fixture("formats"), ""), 1);
	json = parsed();
	assert_true(cJSON_IsFalse(member(json, "ok")));
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
	print_to(rest, sizeof(rest), "--model=%s",
		 sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	assert_int_equal(run_on("verify",
				sp_source_path(path, "tests/golden/ev-ctr-checkpoint/checkpoints"),
				rest),
			 0);
	assert_non_null(strstr(output, "problems: none\nok: yes\n"));
}

static void copy_checkpoint(void)
{
	char command[4 * SP_PATH_SIZE], path[SP_PATH_SIZE];

	print_to(command, sizeof(command), "cp %s/model.ckpt-100.* %s",
		 sp_source_path(path, "tests/golden/ev-ctr-checkpoint/checkpoints/20240101"),
		 folder);
	assert_int_equal(system(command), 0);
}

static void verify_sees_every_damage(void **state)
{
	char path[2 * SP_PATH_SIZE], data[2 * SP_PATH_SIZE], index[2 * SP_PATH_SIZE];
	struct stat info;
	FILE *f;

	(void)state;
	copy_checkpoint();
	print_to(path, sizeof(path), "%s/model.ckpt-100", folder);
	print_to(data, sizeof(data), "%s/model.ckpt-100.data-00000-of-00001", folder);
	print_to(index, sizeof(index), "%s/model.ckpt-100.index", folder);
	assert_int_equal(run_on("verify", path, ""), 0);
	assert_int_equal(stat(data, &info), 0);
	for (long at = 0; at < info.st_size; at += info.st_size / 13) {
		int byte;

		f = fopen(data, "r+b");
		fseek(f, at, SEEK_SET);
		byte = fgetc(f);
		fseek(f, at, SEEK_SET);
		fputc(byte ^ 4, f);
		fclose(f);
		if (run_on("verify --json", path, "") != 1)
			fail_msg("byte %ld", at);
		assert_non_null(strstr(output, "checksum"));
		f = fopen(data, "r+b");
		fseek(f, at, SEEK_SET);
		fputc(byte, f);
		fclose(f);
	}
	assert_int_equal(run_on("verify", path, ""), 0);
	assert_int_equal(truncate(data, info.st_size - 1), 0);
	assert_int_equal(run_on("verify", path, ""), 1);
	assert_int_equal(unlink(data), 0);
	assert_int_equal(run_on("verify", path, ""), 1);
	assert_non_null(strstr(output, "missing"));
	copy_checkpoint();
	f = fopen(index, "r+b");
	fseek(f, 20, SEEK_SET);
	fputc(0x7f, f);
	fclose(f);
	assert_int_equal(run_on("verify", path, ""), 1);
}

static void verify_misses_what_the_graph_wants(void **state)
{
	char model[SP_PATH_SIZE], rest[2 * SP_PATH_SIZE];
	cJSON *json;

	(void)state;
	print_to(rest, sizeof(rest), "--model=%s",
		 sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	assert_int_equal(run_on("verify --json", fixture("shards"), rest), 1);
	json = parsed();
	assert_true(has_problem(json, "item_embedding", "it is missing"));
	assert_true(has_problem(json, "dense_0/kernel", "the graph restores it"));
	cJSON_Delete(json);
}

static void verify_misses_what_a_part_has_lost(void **state)
{
	cJSON *json;

	(void)state;
	assert_int_equal(run_on("verify --json", fixture("broken"), ""), 1);
	json = parsed();
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
	print_to(path, sizeof(path), "%s/damaged", folder);
	print_to(rest, sizeof(rest), "--model=%s",
		 sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	sp_checkpoint_write(path, tensors, sizeof(tensors) / sizeof(tensors[0]), 1);
	assert_int_equal(run_on("verify --json", path, rest), 1);
	json = parsed();
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
	print_to(path, sizeof(path), "%s/other", folder);
	print_to(command, sizeof(command),
		 "mkdir -p %s/other/v/.incremental_checkpoint && touch %s/other/v/checkpoint",
		 folder, folder);
	assert_int_equal(system(command), 0);
	print_to(full, sizeof(full), "%s/v/model.ckpt-1", path);
	print_to(delta, sizeof(delta), "%s/v/.incremental_checkpoint/inc.ckpt-2", path);
	write_versions(full, delta);
	print_to(rest, sizeof(rest), "--model=%s",
		 sp_source_path(model, "tests/golden/ev-ctr-checkpoint/model"));
	assert_int_equal(run_on("verify --json", path, rest), 1);
	json = parsed();
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
	print_to(rest, sizeof(rest), "%s/checkpoints --json --model=%s/model --out=%s/images", base,
		 base, folder);
	assert_int_equal(run_on("image", rest, ""), 0);
	json = parsed();
	print_to(image, sizeof(image), "%s", member(json, "image")->valuestring);
	cJSON_Delete(json);

	print_to(rest, sizeof(rest), "%s/checkpoints", base);
	assert_int_equal(run_on("get --json", rest, "item_embedding 6594463425999497017"), 0);
	json = parsed();
	keys = member(cJSON_GetArrayItem(member(json, "keys"), 0), "row");
	for (int d = 0; d < 8; d++)
		rows[d] = cJSON_GetArrayItem(keys, d)->valuedouble;
	cJSON_Delete(json);
	assert_int_equal(run_on("get --json", image, "item_embedding 6594463425999497017 -2"), 0);
	json = parsed();
	keys = member(cJSON_GetArrayItem(member(json, "keys"), 0), "row");
	for (int d = 0; d < 8; d++)
		assert_true(rows[d] == cJSON_GetArrayItem(keys, d)->valuedouble);
	assert_true(cJSON_IsFalse(member(cJSON_GetArrayItem(member(json, "keys"), 1), "found")));
	cJSON_Delete(json);

	assert_int_equal(run_on("inspect --json", image, ""), 0);
	json = parsed();
	assert_int_equal(cJSON_GetArraySize(member(json, "tables")), 2);
	cJSON_Delete(json);
	assert_int_equal(run_on("verify", image, ""), 0);

	f = fopen(image, "r+b");
	fseek(f, -1, SEEK_END);
	fputc(0x55, f);
	fclose(f);
	assert_int_equal(run_on("verify", image, ""), 1);
	assert_non_null(strstr(output, "is broken"));
	assert_int_equal(access(image, F_OK), 0);
	assert_int_equal(run_on("inspect", image, ""), 1);
	assert_int_equal(truncate(image, 100000), 0);
	assert_int_equal(run_on("verify", image, ""), 1);
}

/* A configuration says all of it, and settings are part of the image's name. */
static void an_image_follows_the_configuration(void **state)
{
	char base[SP_PATH_SIZE], path[2 * SP_PATH_SIZE];
	cJSON *json;
	FILE *f;

	(void)state;
	sp_source_path(base, "tests/golden/ev-ctr-checkpoint");
	print_to(path, sizeof(path), "%s/config.json", folder);
	f = fopen(path, "w");
	fprintf(f,
		"{\"savedmodel_dir\": \"%s/model\", \"checkpoint_dir\": \"%s/checkpoints\", "
		"\"signature_name\": \"serving_default\", \"model_store_type\": \"local\", "
		"\"feature_store_type\": \"memory\", \"serialize_protocol\": \"protobuf\", "
		"\"ev_row_format\": \"int8\", \"ev_image_path\": \"%s/images\"}",
		base, base, folder);
	fclose(f);
	assert_int_equal(run_on("image --json", path, ""), 0);
	json = parsed();
	print_to(path, sizeof(path), "%s", member(json, "image")->valuestring);
	cJSON_Delete(json);
	assert_int_equal(run_on("inspect", path, ""), 0);
	assert_non_null(strstr(output, "row_format: int8"));
}

/* ---------------------------------------------------------------------- size */

static double owner(const char *name)
{
	cJSON *json = parsed();
	double bytes = member(member(json, "memory"), name)->valuedouble;

	cJSON_Delete(json);
	return bytes;
}

/* How near it is to what a host has is in test_memory. */
static void size_adds_up(void **state)
{
	char base[SP_PATH_SIZE], rest[4 * SP_PATH_SIZE], path[2 * SP_PATH_SIZE];
	double floats, codes;
	cJSON *json;

	(void)state;
	sp_source_path(base, "tests/golden/ev-ctr-checkpoint");
	print_to(path, sizeof(path), "%s/checkpoints", base);
	print_to(rest, sizeof(rest), "--json --sessions=3 --model=%s/model", base);
	assert_int_equal(run_on("size", path, rest), 0);
	json = parsed();
	assert_int_equal(cJSON_GetArraySize(member(json, "tables")), 2);
	assert_int_equal(member(cJSON_GetArrayItem(member(json, "tables"), 0), "rows")->valueint,
			 60);
	cJSON_Delete(json);
	floats = owner("tables");
	assert_int_equal(owner("session_count"), 3);
	assert_true(owner("total") == floats + owner("indexes") + owner("dense") +
					      owner("program") + owner("sessions"));
	assert_true(owner("headroom_for_swap") == floats + owner("indexes") + owner("dense"));

	/* The index alone, and other formats. */
	assert_int_equal(run_on("size --json --row_format=int4", path, ""), 0);
	codes = owner("tables");
	assert_true(codes > 0 && codes < floats);
	assert_true(owner("total") == codes + owner("indexes") + owner("dense"));
	assert_int_equal(run_on("size", path, ""), 0);
	assert_non_null(strstr(output, "note: with --model"));
}

static void what_has_no_size_is_refused(void **state)
{
	(void)state;
	assert_int_equal(run_on("size --row_format=int3", fixture("full"), ""), 2);
	assert_true(error_says("no such row format: 'int3'"));
	assert_int_equal(run("size --sessions=0 x"), 2);
	assert_int_equal(run("size --sessions=1025 x"), 2);
	assert_int_equal(run("size /nowhere.json"), 1);
}

/* --------------------------------------------------------------------- usage */

static void a_wrong_command_line_is_2(void **state)
{
	(void)state;
	assert_int_equal(run(""), 2);
	assert_int_equal(run("nonsense x"), 2);
	assert_int_equal(run("inspect"), 2);
	assert_int_equal(run("inspect --such x"), 2);
	assert_int_equal(run("inspect -x y"), 2);
	assert_true(error_says("--help"));
	assert_int_equal(run("inspect --top=x y"), 2);
	assert_int_equal(run_on("inspect", fixture("full"), "more"), 2);
	assert_true(error_says("one word too many"));
	assert_int_equal(run_on("get", fixture("full"), "whole"), 2);
	assert_int_equal(run_on("get", fixture("full"), "whole x7"), 2);
	assert_true(error_says("'x7' is not a key"));
	assert_int_equal(run_on("get", fixture("full"), "whole 9223372036854775808"), 2);
	assert_string_equal(output, "");
}

static void what_is_not_there_is_1(void **state)
{
	cJSON *json;

	(void)state;
	assert_int_equal(run("inspect /nowhere"), 1);
	assert_true(error_says("/nowhere is no SavedModel"));
	assert_int_equal(run_on("get --json", fixture("full"), "no_such_table 7"), 1);
	json = parsed();
	assert_non_null(strstr(member(json, "error")->valuestring, "no_such_table"));
	cJSON_Delete(json);
	assert_int_equal(run("image /nowhere.json --out=/tmp"), 1);
}

static void help_and_version_are_told(void **state)
{
	static const char *const words[] = {"--help", "-h", "help", "inspect -h", "get --help"};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(run(words[i]), 0);
		assert_non_null(strstr(output, "usage: serving_tool"));
	}
	assert_int_equal(run("verify --version"), 0);
	assert_memory_equal(output, "serving_tool ", 13);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

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
		CASE(verify_finds_what_is_wrong_with_rows),
		CASE(verify_is_content_with_what_is_right),
		CASE(verify_sees_every_damage),
		CASE(verify_misses_what_the_graph_wants),
		CASE(verify_misses_what_a_part_has_lost),
		CASE(verify_compares_no_rows_that_are_damaged_with_the_graph),
		CASE(verify_compares_with_the_graph_and_a_delta_with_its_base),
		CASE(an_image_holds_what_the_checkpoint_does),
		CASE(an_image_follows_the_configuration),
		CASE(size_adds_up),
		CASE(what_has_no_size_is_refused),
		CASE(a_wrong_command_line_is_2),
		CASE(what_is_not_there_is_1),
		CASE(help_and_version_are_told),
	};

	return cmocka_run_group_tests_name("serving_tool", tests, NULL, NULL);
}
