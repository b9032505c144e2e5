#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/paths.h"
#include "tests/support/text_models.h"

/* SavedModels whose files change while they are served, by the exported functions. */

static char work[SP_PATH_SIZE], one[SP_PATH_SIZE + 16], two[SP_PATH_SIZE + 16];
static void *model;

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	(void)state;
	serving_processor_set_log(ignore_line, NULL);
	sp_temp_make(work);
	snprintf(one, sizeof(one), "%s/1", work);
	snprintf(two, sizeof(two), "%s/2", work);
	model = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	serving_processor_destroy(model);
	sp_temp_remove(work);
	serving_processor_set_log(NULL, NULL);
	return 0;
}

static void open_model(const char *folder, const char *more)
{
	char config[SP_PATH_SIZE + 512];

	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"serving_default\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\", \"update_poll_interval_ms\": 20%s}",
		 folder, more);
	model = serving_processor_create(config, NULL);
	assert_non_null(model);
}

/* The line that the word is in; -2 when there is no answer. */
static int64_t line_of(const char *word)
{
	static const int64_t dims[] = {1};
	const serving_processor_bytes text = {word, strlen(word)};
	const serving_processor_tensor input = {"word", SERVING_PROCESSOR_STRING, 1, dims, 1,
						&text};
	serving_processor_result *result = NULL;
	int64_t line = -2;

	if (serving_processor_run(model, NULL, &input, 1, NULL, 0, &result, NULL) ==
	    SERVING_PROCESSOR_OK)
		line = *(const int64_t *)serving_processor_result_tensor(result, 0)->data;
	serving_processor_result_free(result);
	return line;
}

static void await_line(const char *word, int64_t line)
{
	for (int i = 0; i < 2000 && line_of(word) != line; i++)
		usleep(5000);
	assert_int_equal(line_of(word), line);
}

static bool is_told(const char *text)
{
	char *versions = serving_processor_versions(model);
	bool found = strstr(versions, text) != NULL;

	serving_processor_free(versions);
	return found;
}

static void await_told(const char *text)
{
	for (int i = 0; i < 2000 && !is_told(text); i++)
		usleep(5000);
	assert_true(is_told(text));
}

/* Everything that was counted of versions; for free(). */
static char *counts(void)
{
	char *versions = serving_processor_versions(model), *start, *copy;

	start = strstr(versions, "\"counts\"");
	*strstr(start, ",\"memory\"") = '\0';
	copy = strdup(start);
	serving_processor_free(versions);
	return copy;
}

#define NO_SETTLING ", \"savedmodel_settle_ms\": 0"

static void write_words(const char *folder, const char *words)
{
	sp_text_models_write_file(folder, "assets/words.txt", words);
	sp_text_models_write_words(folder);
}

/* --------------------------------------------------------------------- cases */

static void an_asset_that_is_completed_later(void **state)
{
	(void)state;
	write_words(one, "a\nb\n");
	open_model(one, NO_SETTLING);
	assert_int_equal(line_of("b"), 1);
	assert_int_equal(line_of("c"), -1);
	sp_text_models_write_file(one, "assets/words.txt", "a\nb\nc\nd\n");
	await_line("c", 2);
	await_line("d", 3);
	await_told("\"retired\":1");
	assert_int_equal(
		serving_processor_give_order(model, SERVING_PROCESSOR_RELOAD, -1, -1, NULL, NULL),
		SERVING_PROCESSOR_OK);
	assert_int_equal(line_of("c"), 2);
}

static void an_asset_of_a_numbered_savedmodel(void **state)
{
	(void)state;
	write_words(one, "a\n");
	open_model(work, NO_SETTLING);
	write_words(two, "a\nb\n");
	await_line("b", 1);
	sp_text_models_write_file(two, "assets/words.txt", "a\nb\nc\n");
	await_line("c", 2);
	/* Back is the version before, not itself as it was. */
	assert_int_equal(
		serving_processor_give_order(model, SERVING_PROCESSOR_ROLLBACK, -1, -1, NULL, NULL),
		SERVING_PROCESSOR_OK);
	assert_int_equal(line_of("b"), -1);
}

static bool sums(void)
{
	serving_processor_handle *live = serving_processor_acquire(model);
	const serving_processor_signature *signature = serving_processor_handle_signature(live,
											  NULL);
	bool does = strcmp(signature->outputs[0]->alias, "sum") == 0;

	serving_processor_release(live);
	return does;
}

static void a_graph_that_is_written_anew(void **state)
{
	(void)state;
	write_words(one, "a\n");
	open_model(one, NO_SETTLING);
	sp_text_models_write_sum(one, &(sp_sum_model){"serving_default", "sum", 1, 1});
	for (int i = 0; i < 2000 && !sums(); i++)
		usleep(5000);
	assert_true(sums());
}

static void what_is_broken_is_refused_once(void **state)
{
	char *before, *after;

	(void)state;
	write_words(one, "a\n");
	open_model(one, NO_SETTLING);
	sp_text_models_write_file(one, "saved_model.pbtxt", "{{{");
	await_told("\"state\":\"refused\"");
	/* Beside the one that is always tried again after three seconds. */
	before = counts();
	usleep(300 * 1000);
	after = counts();
	assert_string_equal(after, before);
	free(before);
	free(after);
	assert_int_equal(line_of("a"), 0);
	write_words(one, "b\na\n");
	await_line("a", 1);
}

static void what_is_deleted_is_served_on(void **state)
{
	char away[SP_PATH_SIZE + 64], *before, *after;

	(void)state;
	write_words(one, "a\nb\n");
	open_model(one, NO_SETTLING);
	before = counts();
	snprintf(away, sizeof(away), "%s/assets/words.txt", one);
	assert_int_equal(unlink(away), 0);
	usleep(100 * 1000);
	sp_temp_remove(one);
	usleep(200 * 1000);
	after = counts();
	assert_string_equal(after, before);
	free(before);
	free(after);
	assert_int_equal(line_of("b"), 1);
	assert_false(is_told("\"state\":\"discovered\""));

	/* Under the same name comes another. */
	write_words(one, "a\nb\nc\n");
	await_line("c", 2);
}

static void what_is_moved_away_is_served_on(void **state)
{
	char away[SP_PATH_SIZE + 64], *before, *after;

	(void)state;
	write_words(one, "a\nb\n");
	open_model(work, NO_SETTLING);
	before = counts();
	snprintf(away, sizeof(away), "%s/old", work);
	assert_int_equal(rename(one, away), 0);
	usleep(200 * 1000);
	assert_int_equal(rename(away, one), 0);
	usleep(200 * 1000);
	after = counts();
	assert_string_equal(after, before);
	free(before);
	free(after);
	assert_int_equal(line_of("b"), 1);
}

static void what_is_the_same_to_read_changes_nothing(void **state)
{
	char *before, *after;

	(void)state;
	write_words(one, "a\nb\n");
	open_model(one, NO_SETTLING);
	before = counts();
	sp_text_models_write_file(one, "assets/.words.txt.swp", "x");
	sp_text_models_write_file(one, "assets/words.txt~", "x");
	sp_text_models_write_file(one, "fingerprint.pb", "x");
	write_words(one, "a\nb\n"); /* once more */
	usleep(200 * 1000);
	after = counts();
	assert_string_equal(after, before);
	free(before);
	free(after);
}

static void a_version_that_has_just_changed_waits(void **state)
{
	(void)state;
	sp_text_models_write_sum(one, &(sp_sum_model){"serving_default", "sum", 1, 1});
	open_model(work, ", \"savedmodel_settle_ms\": 3600000");
	write_words(two, "a\n");
	await_told("\"full_step\":2,\"delta_step\":-1,\"state\":\"discovered\"");
	await_told("savedmodel_settle_ms");
	assert_true(is_told("\"full_step\":1,\"delta_step\":-1,\"state\":\"live\""));
	/* An order does not wait. */
	assert_int_equal(
		serving_processor_give_order(model, SERVING_PROCESSOR_RELOAD, -1, -1, NULL, NULL),
		SERVING_PROCESSOR_OK);
	assert_int_equal(line_of("a"), 0);
}

static void and_is_live_when_it_has_settled(void **state)
{
	(void)state;
	write_words(one, "a\n");
	open_model(work, ", \"savedmodel_settle_ms\": 300, \"init_timeout_minutes\": 0");
	assert_int_equal(line_of("a"), 0);
	write_words(two, "a\nb\n");
	await_line("b", 1);
	sp_text_models_write_file(two, "assets/words.txt", "a\nb\nc\n");
	await_line("c", 2);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(an_asset_that_is_completed_later),
		CASE(an_asset_of_a_numbered_savedmodel),
		CASE(a_graph_that_is_written_anew),
		CASE(what_is_broken_is_refused_once),
		CASE(what_is_deleted_is_served_on),
		CASE(what_is_moved_away_is_served_on),
		CASE(what_is_the_same_to_read_changes_nothing),
		CASE(a_version_that_has_just_changed_waits),
		CASE(and_is_live_when_it_has_settled),
	};

	return cmocka_run_group_tests_name("changed_files", tests, NULL, NULL);
}
