#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/model_double.h"
#include "tests/support/time_double.h"
#include "tests/support/updater_scene.h"

/* The first version: what is served, what is waited for, and what fails at once. */

static void without_checkpoint_dir_the_savedmodel_serves(void **state)
{
	const sp_version *version;

	(void)state;
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene.config.reference_kernels = true;
	version = sp_scene_start();
	assert_string_equal(sp_the_model_double.savedmodel_dir, sp_scene.savedmodel);
	assert_string_equal(sp_the_model_double.checkpoint_prefix, "");
	assert_string_equal(sp_the_model_double.signature_name, "serving_default");
	assert_true(sp_the_model_double.reference);
	assert_string_equal(version->checkpoint_prefix, "");
	assert_int_equal(version->full_step, -1);
	assert_int_equal(version->delta_step, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		SP_UNSUPPORTED);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 1, -1, NULL, &sp_scene.err),
		SP_UNSUPPORTED);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_RELOAD, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	assert_int_equal(sp_the_model_double.fulls, 2);
	sp_updater_close(NULL);
}

static void a_checkpoint_and_its_delta(void **state)
{
	const sp_version *version;
	char expected[SP_PATH_SIZE + 100];

	(void)state;
	sp_scene_make_full();
	sp_scene_make_delta(110);
	snprintf(expected, sizeof(expected), "%s/v1/model.ckpt-100", sp_scene.checkpoints);
	version = sp_scene_start();
	assert_string_equal(version->checkpoint_prefix, expected);
	assert_non_null(strstr(version->delta_prefix, "incremental_model.ckpt-110"));
	assert_int_equal(version->full_step, 100);
	assert_int_equal(version->delta_step, 110);
}

static void without_a_savedmodel_nothing_is_waited_for(void **state)
{
	(void)state;
	sp_scene.config.savedmodel_dir = "/no/such/folder";
	sp_scene.config.init_timeout_minutes = -1;
	sp_scene_refuse(SP_NOT_FOUND, "savedmodel_dir: no saved_model.pb in '/no/such/folder'");
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene_refuse(SP_NOT_FOUND, "/no/such/folder");
	sp_source_path(sp_scene.savedmodel, "tests/golden/tf1-frozen-graph/model");
	sp_scene.config.savedmodel_dir = sp_scene.savedmodel;
	sp_scene_refuse(SP_UNSUPPORTED,
			"'frozen.pb', a graph: configuration key 'graph_file' serves it");
	assert_int_equal(sp_the_model_double.loads, 0);
}

static void zero_minutes_do_not_wait(void **state)
{
	(void)state;
	sp_scene_refuse(SP_NOT_FOUND, "no complete version in checkpoint_dir");
	sp_scene_make_full();
	sp_the_model_double.files = SP_CORRUPT;
	sp_scene_refuse(SP_CORRUPT, "is missing");
}

static void what_is_complete_and_broken_is_not_waited_for(void **state)
{
	static const sp_status statuses[] = {SP_UNSUPPORTED, SP_NO_MEMORY, SP_CORRUPT,
					     SP_NOT_FOUND,   SP_IO,        SP_BUSY};

	(void)state;
	sp_scene_make_full();
	sp_scene.config.init_timeout_minutes = -1;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 6;
	sp_scene_refuse(SP_UNSUPPORTED, "load 1 says unsupported");
	sp_scene_refuse(SP_NO_MEMORY, "load 2 says no_memory");
	sp_scene_refuse(SP_CORRUPT, "load 3 says corrupt");
	sp_scene_refuse(SP_NOT_FOUND, "load 4 says not_found"); /* a tensor, of another model */
	sp_scene_refuse(SP_IO, "load 5 says io");
	sp_scene_refuse(SP_BUSY, "load 6 says busy");
	sp_scene.config.signature_name = "nobody";
	sp_scene_refuse(SP_INVALID, "no signature 'nobody'");
}

static void rows_of_other_servers_are_waited_for(void **state)
{
	static const sp_status statuses[] = {SP_IO, SP_IO, SP_IO, SP_OK, SP_CORRUPT, SP_IO};

	(void)state;
	sp_scene_make_full();
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 6;
	sp_scene.config.shard_peers = "127.0.0.1:1";
	sp_scene_refuse(SP_IO, "after 0 minutes: load 1 says io");
	sp_scene.config.init_timeout_minutes = 1;
	assert_int_equal(sp_scene_start()->full_step, 100);
	assert_int_equal(sp_the_model_double.loads, 4);
	assert_int_equal(sp_time_now_ms(), SP_SCENE_BEGIN_MS + 3000); /* after 1 and 2 seconds */
	sp_updater_close(sp_scene.updater);
	sp_scene.updater = NULL;
	sp_scene_refuse(SP_CORRUPT, "load 5 says corrupt");
}

/* Whether or not a version is there. */
static void a_warmup_file_that_cannot_be_read_is_not_waited_for(void **state)
{
	(void)state;
	sp_scene.config.init_timeout_minutes = -1;
	sp_scene.config.warmup_file_name = "/no/such/file";
	sp_scene_refuse(SP_NOT_FOUND, "warmup_file_name: ");
	assert_non_null(strstr(sp_scene.err.text, "/no/such/file"));
	sp_scene.config.warmup_file_name = sp_scene.checkpoints; /* a folder */
	sp_scene_refuse(SP_IO, "warmup_file_name: ");
	sp_scene_make_full();
	sp_scene_refuse(SP_IO, "warmup_file_name: ");
	assert_int_equal(sp_the_model_double.loads, 0);
}

static void a_broken_delta_leaves_the_full_checkpoint(void **state)
{
	static const sp_status statuses[] = {SP_CORRUPT};
	const sp_version *version;

	(void)state;
	sp_scene_make_full();
	sp_scene_make_delta(110);
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 1;
	version = sp_scene_start();
	assert_null(version->delta_prefix);
	assert_int_equal(version->full_step, 100);
	sp_scene_assert_told("\"delta_step\":110,\"state\":\"refused\"");
	sp_scene_assert_told("load 1 says corrupt");
	sp_scene_assert_told("\"delta_step\":-1,\"state\":\"live\"");
}

static void copy_checkpoint(int64_t now_ms)
{
	if (now_ms == SP_SCENE_BEGIN_MS + 300)
		sp_scene_make_full();
}

static void a_version_that_comes_late_is_found(void **state)
{
	(void)state;
	sp_scene.config.init_timeout_minutes = -1;
	sp_time_begin(SP_SCENE_BEGIN_MS, copy_checkpoint);
	assert_int_equal(sp_scene_start()->full_step, 100);
	assert_int_equal(sp_time_now_ms(), SP_SCENE_BEGIN_MS + 320);
}

/* Whatever it waits for: here for an hour to be over. */
static void closing_ends_the_wait(void **state)
{
	(void)state;
	sp_scene.config.update_poll_interval_ms = 3600000;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_let_it_look();
	sp_updater_close(sp_scene.updater);
	sp_scene.updater = NULL;
	assert_int_equal(sp_time_now_ms(), SP_SCENE_BEGIN_MS + 200);
}

static void processors_to_keep_to(void **state)
{
	static const char *const wrong[] = {"", "x", "1-", "3-1", "0,", "0,,1", "0-99999", "-1"};

	(void)state;
	sp_scene_make_full();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		sp_scene.config.model_update_cpus = wrong[i];
		sp_scene_refuse(SP_INVALID, "model_update_cpus");
	}
	sp_scene.config.model_update_cpus = "0-1,0";
	sp_scene.config.model_update_nice = 3;
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, sp_scene_set_up, sp_scene_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(without_checkpoint_dir_the_savedmodel_serves),
		CASE(a_checkpoint_and_its_delta),
		CASE(without_a_savedmodel_nothing_is_waited_for),
		CASE(zero_minutes_do_not_wait),
		CASE(what_is_complete_and_broken_is_not_waited_for),
		CASE(rows_of_other_servers_are_waited_for),
		CASE(a_warmup_file_that_cannot_be_read_is_not_waited_for),
		CASE(a_broken_delta_leaves_the_full_checkpoint),
		CASE(a_version_that_comes_late_is_found),
		CASE(closing_ends_the_wait),
		CASE(processors_to_keep_to),
	};

	return cmocka_run_group_tests_name("updater_start", tests, NULL, NULL);
}
