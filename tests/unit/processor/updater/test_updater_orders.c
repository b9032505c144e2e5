#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/time_double.h"
#include "tests/support/updater_scene.h"

/* Orders: reload, rollback and pin. */

static void orders(void **state)
{
	size_t loads;

	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	sp_scene_make_delta(120);
	sp_scene_assert_live(100, 120);

	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, 110);
	sp_scene_let_it_look();
	sp_scene_assert_live(100, 110); /* what was left does not come back by itself */
	sp_scene_make_delta(130);
	sp_scene_assert_live(100, 130);

	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 120, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_make_delta(140);
	sp_scene_let_it_look();
	sp_scene_assert_live(100, 120);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 125, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	sp_scene_assert_live(100, 120);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(100, 140);

	loads = sp_the_model_double.loads;
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_RELOAD, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	assert_int_equal(sp_the_model_double.loads, loads + 2); /* all of it, with its delta */
	sp_scene_assert_live(100, 140);
}

static void an_order_that_fails_leaves_all_as_it_was(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_OK, SP_IO, SP_IO};

	(void)state;
	sp_scene_make_full();
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 4;
	sp_scene_start();
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.index", "");
	sp_scene_assert_live(200, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		SP_IO);
	assert_non_null(strstr(sp_scene.err.text, "load 3 says io"));
	sp_scene_assert_live(200, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_RELOAD, -1, -1, NULL, &sp_scene.err),
		SP_IO);
	sp_scene_assert_live(200, -1);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, -1);
	sp_scene_let_it_look();
	sp_scene_assert_live(100, -1);
}

static void make_deltas(void)
{
	sp_scene_make_full();
	for (int step = 110; step <= 140; step += 10)
		sp_scene_make_delta(step);
}

/* A rollback over a delta needs nothing from disk, one to another full checkpoint does. */
static void a_rollback_over_a_delta_loads_nothing(void **state)
{
	size_t loads;

	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	loads = sp_the_model_double.loads;
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, -1);
	assert_int_equal(sp_the_model_double.loads, loads);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 110, NULL, &sp_scene.err),
		  &sp_scene.err);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	assert_int_equal(sp_the_model_double.fulls, 1);
}

/* Each version that was live, once, and then none. */
static void a_rollback_goes_back_as_often_as_there_are_versions(void **state)
{
	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	for (int step = 110; step <= 140; step += 10) {
		sp_scene_make_delta(step);
		sp_scene_assert_live(100, step);
	}
	for (int step = 130; step >= 110; step -= 10) {
		assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL,
					   &sp_scene.err),
			  &sp_scene.err);
		sp_scene_assert_live(100, step);
	}
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	assert_non_null(strstr(sp_scene.err.text, "no older one on the disk"));
	sp_scene_let_it_look();
	sp_scene_assert_live(100, -1);
	sp_scene_assert_told("\"rollbacks\":4");
	sp_scene_assert_listed(100, 140, 1);
	sp_scene_make_delta(150);
	sp_scene_assert_live(100, 150);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, -1);
}

/* A process that has only just started knows no version that was live before. */
static void a_rollback_finds_older_versions_on_the_disk(void **state)
{
	static const int64_t steps[][2] = {{100, 130}, {100, 120}, {100, 110}, {100, -1},
					   {50, 60},   {50, -1},   {9, -1}};

	(void)state;
	make_deltas();
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-50.index", "");
	sp_checkpoint_folder_add_delta(sp_scene.checkpoints, 60);
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "old");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "old/model.ckpt-9.index", "");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "old/checkpoint", "");
	sp_checkpoint_folder_set_time(sp_scene.checkpoints, "old/checkpoint", 1000);
	sp_scene_start();
	sp_scene_assert_live(100, 140);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL,
					   &sp_scene.err),
			  &sp_scene.err);
		sp_scene_assert_live(steps[i][0], steps[i][1]);
	}
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	sp_scene_let_it_look();
	sp_scene_assert_live(9, -1);
}

static void what_is_gone_or_broken_is_passed_over(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_OK, SP_OK, SP_OK, SP_CORRUPT};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 5;
	sp_scene_make_full();
	sp_scene_start();
	for (int step = 110; step <= 130; step += 10) {
		sp_scene_make_delta(step);
		sp_scene_assert_live(100, step);
	}
	/* 120 is in memory and needs no files; 110 is read again, and 100 in its place. */
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, 120);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, -1);
	assert_int_equal(sp_scene_count_lines("version 100+110 is passed over by a rollback"), 1);

	sp_scene_make_delta(140);
	sp_scene_assert_live(100, 140);
	sp_scene_make_delta(150);
	sp_scene_assert_live(100, 150);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.index", "");
	sp_scene_assert_live(200, -1);
	sp_scene_remove_file("v1/.incremental_checkpoint/incremental_model.ckpt-150.index");
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, 140);
}

/* What is left by a rollback is one version, which is refused, and says by whose order. */
static void a_rollback_is_told(void **state)
{
	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	assert_int_equal(sp_scene_lag_ms(), 0);
	sp_time_pass(60);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, "10.0.0.7:\n4711",
				   &sp_scene.err),
		  &sp_scene.err);
	/* Since the rollback, not since it came. */
	assert_int_equal(sp_scene_lag_ms(), 0);
	assert_int_equal(sp_scene_count_lines("rollback by order of 10.0.0.7:?4711: "
					      "from version 100+110 to 100"),
			 1);
	sp_scene_assert_told("\"delta_step\":110,\"state\":\"refused\"");
	sp_scene_assert_told("\"why\":\"rolled back by order of 10.0.0.7:?4711\",\"newer\":true,"
			     "\"reason\":\"rolled_back\"}");
	sp_scene_assert_told("\"newest\":{\"full_step\":100,\"delta_step\":110,");
	sp_scene_assert_told("\"refusals\":{}");
	sp_scene_assert_listed(100, 110, 1);
	sp_scene_assert_listed(100, -1, 1);
	sp_scene_let_it_look();
	assert_true(sp_scene_lag_ms() >= 200);
	sp_scene_assert_listed(100, 110, 1);
	/* Its files change, and it is another one. */
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "v1/.incremental_checkpoint/incremental_model.ckpt-110.index",
				      "x");
	sp_scene_assert_live(100, 110);
	assert_int_equal(sp_scene_lag_ms(), 0);
	sp_scene_assert_listed(100, 110, 1);
	sp_scene_assert_not_told("rolled_back");
}

static void a_pin_is_told_and_newer_versions_are_seen(void **state)
{
	size_t loads;

	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	sp_scene_assert_not_told("\"pinned\":");
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, -1, "ann", &sp_scene.err),
		  &sp_scene.err);
	assert_int_equal(sp_scene_count_lines("pin by order of ann: from version 100+110 to 100"),
			 1);
	sp_scene_assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":-1,\"for_ms\":");
	sp_scene_assert_told("\"by\":\"ann\"}");
	sp_scene_assert_told("\"newest\":{\"full_step\":100,\"delta_step\":110,");
	loads = sp_the_model_double.loads;
	sp_scene_make_delta(120);
	sp_scene_assert_told("\"newest\":{\"full_step\":100,\"delta_step\":120,");
	sp_scene_assert_told("\"delta_step\":120,\"state\":\"discovered\"");
	sp_scene_assert_told("\"why\":\"100 is pinned by order of ann\",\"newer\":true}");
	sp_scene_let_it_look();
	assert_true(sp_scene_lag_ms() >= 200);
	sp_scene_assert_live(100, -1);
	assert_int_equal(sp_the_model_double.loads, loads);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 125, "ann", &sp_scene.err),
		SP_NOT_FOUND);
	assert_int_equal(sp_scene_count_lines("pin by order of ann has failed, 100 is live: "), 1);
	sp_scene_assert_told("\"pins\":1}");
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(100, 120);
	assert_int_equal(sp_scene_lag_ms(), 0);
	assert_int_equal(
		sp_scene_count_lines("unpin by order of the host: from version 100 to 100"), 1);
	sp_scene_assert_not_told("\"pinned\":");
	sp_scene_assert_not_told("is pinned by");
	sp_scene_assert_told("\"pins\":2}");
}

/* The order fails as a whole: no part of that version is served. */
static void a_pin_is_served_exactly_or_not_at_all(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_OK, SP_CORRUPT};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 3;
	sp_scene_make_full();
	sp_scene_start();
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "v1/.incremental_checkpoint");
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.index", "");
	sp_checkpoint_folder_add_delta(sp_scene.checkpoints, 210);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 200, 210, NULL, &sp_scene.err),
		SP_CORRUPT);
	sp_scene_assert_live(100, -1);
	sp_scene_let_it_look();
	sp_scene_assert_live(100, -1);
	sp_scene_assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":-1,");
}

/* A rollback has refused it; a pin on it is a word that counts more. */
static void a_pin_ends_what_a_rollback_has_refused(void **state)
{
	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(100, -1);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 110, NULL, &sp_scene.err),
		  &sp_scene.err);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(100, 110);
}

static void a_pin_goes_along_with_a_rollback(void **state)
{
	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	sp_scene_make_delta(120);
	sp_scene_assert_live(100, 120);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 120, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_make_delta(130);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, "bob", &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":110,");
	sp_scene_let_it_look();
	sp_scene_assert_live(100, 110);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(100, 130);
}

static void restart(void)
{
	sp_updater_close(sp_scene.updater);
	sp_scene.updater = NULL;
	sp_published_destroy(sp_scene.published);
	assert_ok(sp_published_create(&sp_scene.published, 2, &sp_scene.err), &sp_scene.err);
}

static void a_pin_survives_a_restart_with_a_pin_file(void **state)
{
	static char path[SP_PATH_SIZE + 8];
	char folder[SP_PATH_SIZE + 8], text[64] = "";
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/pin", sp_scene.checkpoints);
	sp_scene.config.pin_file = path;
	make_deltas();
	sp_scene_start();
	sp_scene_assert_live(100, 140);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 120, NULL, &sp_scene.err),
		  &sp_scene.err);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "100+120\n");

	restart();
	sp_scene_start();
	sp_scene_assert_live(100, 120);
	sp_scene_let_it_look();
	sp_scene_assert_live(100, 120);
	sp_scene_assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":120,");
	sp_scene_assert_told("\"newest\":{\"full_step\":100,\"delta_step\":140,");
	sp_scene_assert_told("\"by\":\"the pin_file '");
	assert_true(sp_scene_lag_ms() >= 200);

	/* What cannot be written is not ordered. */
	snprintf(folder, sizeof(folder), "%s/pin.new", sp_scene.checkpoints);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 110, NULL, &sp_scene.err),
		SP_IO);
	assert_non_null(strstr(sp_scene.err.text, "pin_file"));
	sp_scene_assert_live(100, 120);
	sp_scene_assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":120,");
	assert_int_equal(rmdir(folder), 0);

	/* A pin that fails leaves the one that holds. */
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 100, 115, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	restart();
	sp_scene_start();
	sp_scene_assert_live(100, 120);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(100, 140);
	assert_int_not_equal(access(path, F_OK), 0);
	restart();
	sp_scene_start();
	sp_scene_assert_live(100, 140);
}

static void a_pin_that_cannot_be_served_fails_the_start(void **state)
{
	static char path[SP_PATH_SIZE + 8];

	(void)state;
	snprintf(path, sizeof(path), "%s/pin", sp_scene.checkpoints);
	sp_scene.config.pin_file = path;
	sp_scene_make_full();
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "pin", "90+95\n");
	sp_scene_refuse(SP_NOT_FOUND, "version 90+95 is pinned by order of the pin_file '");
	assert_int_equal(sp_the_model_double.loads, 0);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "pin", "latest\n");
	sp_scene_refuse(SP_INVALID, "holds no version such as 100 or 100+110, but 'latest?'");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "pin", "");
	sp_scene_refuse(SP_INVALID, "holds no version");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "pin", "100");
	sp_scene_start();
	sp_scene_assert_live(100, -1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, sp_scene_set_up, sp_scene_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(orders),
		CASE(an_order_that_fails_leaves_all_as_it_was),
		CASE(a_rollback_over_a_delta_loads_nothing),
		CASE(a_rollback_goes_back_as_often_as_there_are_versions),
		CASE(a_rollback_finds_older_versions_on_the_disk),
		CASE(what_is_gone_or_broken_is_passed_over),
		CASE(a_rollback_is_told),
		CASE(a_pin_is_told_and_newer_versions_are_seen),
		CASE(a_pin_is_served_exactly_or_not_at_all),
		CASE(a_pin_ends_what_a_rollback_has_refused),
		CASE(a_pin_goes_along_with_a_rollback),
		CASE(a_pin_survives_a_restart_with_a_pin_file),
		CASE(a_pin_that_cannot_be_served_fails_the_start),
	};

	return cmocka_run_group_tests_name("updater_orders", tests, NULL, NULL);
}
