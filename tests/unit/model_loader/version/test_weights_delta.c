#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "model_loader/version/weights.h"
#include "tests/support/checkpoint.h"
#include "tests/support/paths.h"

/*
 * What a delta must have of its model, over tests/golden/ev-rows: the variables `dense` and
 * `seldom` and the embedding `table`, which all signatures read.
 */
enum { KEYS = 3, DIM = 64 };

static const int64_t keys[KEYS] = {1, 2, 3};
static const int64_t step = 110;

static const sp_checkpoint_tensor dense = {
	.name = "dense", .dtype = SP_FLOAT, .rank = 1, .dims = {4}, .value = 2};
static const sp_checkpoint_tensor seldom = {
	.name = "seldom", .dtype = SP_FLOAT, .rank = 2, .dims = {8, 2}, .value = 2};
static const sp_checkpoint_tensor seldom_keys = {
	.name = "seldom-sparse_incr_keys", .dtype = SP_INT64, .rank = 1, .dims = {3}, .data = keys};
static const sp_checkpoint_tensor seldom_values = {.name = "seldom-sparse_incr_values",
						   .dtype = SP_FLOAT,
						   .rank = 2,
						   .dims = {3, 2},
						   .value = 2};
static const sp_checkpoint_tensor table_keys = {
	.name = "table-sparse_incr_keys", .dtype = SP_INT64, .rank = 1, .dims = {3}, .data = keys};
static const sp_checkpoint_tensor table_values = {.name = "table-sparse_incr_values",
						  .dtype = SP_FLOAT,
						  .rank = 2,
						  .dims = {3, DIM},
						  .value = 2};
static const sp_checkpoint_tensor wide_values = {.name = "table-sparse_incr_values",
						 .dtype = SP_FLOAT,
						 .rank = 2,
						 .dims = {3, DIM + 1},
						 .value = 2};
static const sp_checkpoint_tensor foo_keys = {
	.name = "foo-sparse_incr_keys", .dtype = SP_INT64, .rank = 1, .dims = {3}, .data = keys};
static const sp_checkpoint_tensor foo_values = {.name = "foo-sparse_incr_values",
						.dtype = SP_FLOAT,
						.rank = 2,
						.dims = {3, DIM},
						.value = 2};
static const sp_checkpoint_tensor foo_w = {
	.name = "foo_w", .dtype = SP_FLOAT, .rank = 1, .dims = {4}, .value = 2};
static const sp_checkpoint_tensor global_step = {
	.name = "global_step", .dtype = SP_INT64, .rank = 0, .data = &step};

static char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16];
static sp_model *model;
static sp_weights *full;
static sp_error err;

static char said[SP_ERROR_TEXT_SIZE];

static void note_line(void *context, int level, const char *line)
{
	(void)context;
	if (level == SP_LOG_WARNING)
		snprintf(said, sizeof(said), "%s", line);
}

static int set_up(void **state)
{
	sp_rows_version version = {
		.prefix = prefix, .keys = keys, .count = KEYS, .value = 1, .seldom = 1};
	char path[SP_PATH_SIZE];
	sp_model_options options = {
		.savedmodel_dir = sp_source_path(path, "tests/golden/ev-rows/model"),
		.signature_name = "serving_default",
		.from_checkpoint = true};

	(void)state;
	said[0] = '\0';
	sp_log_set_sink(note_line, NULL);
	sp_temp_make(folder);
	snprintf(prefix, sizeof(prefix), "%s/full", folder);
	sp_checkpoint_write_rows(&version);
	assert_ok(sp_model_open(&model, &options, &err), &err);
	assert_ok(sp_weights_load(&full, model, &(sp_weights_options){.checkpoint_prefix = prefix},
				  &err),
		  &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_weights_destroy(full);
	sp_model_destroy(model);
	sp_temp_remove(folder);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

/* The tensors are in the order of their names. */
static sp_status load(const sp_checkpoint_tensor *tensors, size_t count)
{
	char path[SP_PATH_SIZE + 16];
	sp_weights *weights = NULL;
	sp_status status;

	snprintf(path, sizeof(path), "%s/delta-110", folder);
	sp_checkpoint_write(path, tensors, count, 1);
	status = sp_weights_load_delta(&weights, full, &(sp_weights_options){.delta_prefix = path},
				       &err);
	sp_weights_destroy(weights);
	return status;
}

#define LOAD(...)                                         \
	load((const sp_checkpoint_tensor[]){__VA_ARGS__}, \
	     sizeof((const sp_checkpoint_tensor[]){__VA_ARGS__}) / sizeof(sp_checkpoint_tensor))

static void check_names(const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(err.text, words[i]) == NULL)
			fail_msg("no '%s' in %s", words[i], err.text);
}

static void a_delta_of_another_model_is_refused(void **state)
{
	const char *const words[] = {"delta-110 has none of the model's 2 variables", "'foo_w'",
				     "'foo-sparse_incr_keys'", "it is of another model"};

	(void)state;
	assert_int_equal(LOAD(foo_keys, foo_values, foo_w), SP_CORRUPT);
	check_names(words, 4);
	/* All models count their steps. */
	assert_int_equal(LOAD(foo_w, global_step), SP_CORRUPT);
	check_names(words, 2);
	assert_int_equal(LOAD(global_step), SP_CORRUPT);
}

/* An embedding of the same name is no proof: DeepRec writes all variables. */
static void rows_alone_are_no_delta_of_the_model(void **state)
{
	(void)state;
	assert_int_equal(LOAD(table_keys, table_values), SP_CORRUPT);
	assert_non_null(strstr(err.text, "none of the model's 2 variables"));
}

static void an_embedding_may_be_missing(void **state)
{
	(void)state;
	assert_ok(LOAD(dense, seldom), &err);
	assert_string_equal(said, "");
	assert_ok(LOAD(dense, seldom, table_keys, table_values), &err);
	assert_string_equal(said, "");
}

static void rows_of_a_variable_count_as_the_variable(void **state)
{
	(void)state;
	assert_ok(LOAD(dense, seldom_keys, seldom_values), &err);
	assert_string_equal(said, "");
	assert_ok(LOAD(seldom_keys, seldom_values), &err);
	assert_non_null(strstr(said, "delta-110 lacks 1 of the model's 2 variables"));
	assert_non_null(strstr(said, "'dense'"));
}

static void a_variable_that_is_missing_is_told_of(void **state)
{
	(void)state;
	assert_ok(LOAD(dense, table_keys, table_values), &err);
	assert_non_null(strstr(said, "lacks 1 of the model's 2 variables"));
	assert_non_null(strstr(said, "'seldom'"));
}

static void rows_of_another_width_are_refused(void **state)
{
	(void)state;
	assert_int_equal(LOAD(dense, seldom, table_keys, wide_values), SP_CORRUPT);
	assert_non_null(strstr(err.text, "table-sparse_incr_values"));
}

/* What is there in full, and of another model, is never waited for. */
static void a_checkpoint_of_another_model_is_refused_for_good(void **state)
{
	const sp_checkpoint_tensor other[] = {foo_w, global_step}, no_table[] = {dense, seldom};
	char path[SP_PATH_SIZE + 16];
	sp_weights *weights = NULL;
	const sp_weights_options options = {.checkpoint_prefix = path};

	(void)state;
	snprintf(path, sizeof(path), "%s/other", folder);
	sp_checkpoint_write(path, other, 2, 1);
	assert_int_equal(sp_weights_load(&weights, model, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "has no tensor"));
	sp_checkpoint_write(path, no_table, 2, 1);
	assert_int_equal(sp_weights_load(&weights, model, &options, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "has no embedding 'table'"));
	snprintf(path, sizeof(path), "%s/nowhere", folder);
	assert_int_equal(sp_weights_load(&weights, model, &options, &err), SP_NOT_FOUND);
}

/* tests/golden/ev-unneeded has no variables, and its own weights. */
static void a_model_of_embeddings_alone_wants_rows_of_one(void **state)
{
	static const sp_checkpoint_tensor narrow = {.name = "table-sparse_incr_values",
						    .dtype = SP_FLOAT,
						    .rank = 2,
						    .dims = {3, 4},
						    .value = 2};
	char path[SP_PATH_SIZE], own[SP_PATH_SIZE + 32];
	sp_model_options options = {
		.savedmodel_dir = sp_source_path(path, "tests/golden/ev-unneeded/model"),
		.signature_name = "serving_default",
		.from_checkpoint = true};
	sp_model *variables = model;
	sp_weights *of_variables = full;

	(void)state;
	snprintf(own, sizeof(own), "%s/variables/variables", path);
	assert_ok(sp_model_open(&model, &options, &err), &err);
	assert_ok(sp_weights_load(&full, model, &(sp_weights_options){.checkpoint_prefix = own},
				  &err),
		  &err);
	said[0] = '\0';
	assert_int_equal(LOAD(foo_keys, foo_values, foo_w), SP_CORRUPT);
	assert_non_null(strstr(err.text, "none of the model's"));
	assert_non_null(strstr(err.text, "embedding"));
	assert_ok(LOAD(table_keys, narrow), &err);
	assert_string_equal(said, "");
	sp_weights_destroy(full);
	sp_model_destroy(model);
	model = variables;
	full = of_variables;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_delta_of_another_model_is_refused),
		CASE(rows_alone_are_no_delta_of_the_model),
		CASE(an_embedding_may_be_missing),
		CASE(rows_of_a_variable_count_as_the_variable),
		CASE(a_variable_that_is_missing_is_told_of),
		CASE(rows_of_another_width_are_refused),
		CASE(a_model_of_embeddings_alone_wants_rows_of_one),
		CASE(a_checkpoint_of_another_model_is_refused_for_good),
	};

	return cmocka_run_group_tests_name("deltas of weights", tests, NULL, NULL);
}
