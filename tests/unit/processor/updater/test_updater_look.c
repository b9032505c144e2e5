#include "tests/support/cmocka.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/text_models.h"
#include "tests/support/time_double.h"
#include "tests/support/updater_scene.h"

/* Later versions: deltas, other full checkpoints, files that change, come or go. */

/* A request that lasts holds its version, and no longer than it lasts. */
static void a_delta_is_published_and_the_old_version_drains(void **state)
{
	const sp_version *pinned;

	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	pinned = sp_published_pin(sp_scene.published, 1);
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	sp_scene_assert_told("\"delta_step\":-1,\"state\":\"draining\"");
	assert_int_equal(pinned->delta_step, -1);
	sp_published_unpin(sp_scene.published, 1);
	sp_scene_assert_told("\"delta_step\":-1,\"state\":\"retired\"");
	assert_int_equal(sp_the_model_double.opens, 1);
	assert_int_equal(sp_the_model_double.fulls, 1);
	assert_int_equal(sp_the_model_double.alive, 3); /* the model, its full weights, the delta */
}

static void a_refused_delta_is_tried_again_when_it_changes(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT};
	size_t loads;

	(void)state;
	sp_scene_make_full();
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 2;
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_told("\"state\":\"refused\"");
	sp_scene_assert_live(100, -1);
	loads = sp_the_model_double.loads;
	sp_scene_let_it_look();
	assert_int_equal(sp_the_model_double.loads, loads);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "v1/.incremental_checkpoint/incremental_model.ckpt-110.index",
				      "x");
	sp_scene_assert_live(100, 110);
}

/* What may pass is tried again and again, and is one refusal. */
static void a_refusal_is_told_and_counted_once(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_IO, SP_IO, SP_IO, SP_IO,
					     SP_IO, SP_IO, SP_IO, SP_IO, SP_IO};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 10;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_told("\"state\":\"refused\"");
	sp_time_pass(1000);
	assert_int_equal(sp_the_model_double.loads, 3);
	sp_scene_assert_told("\"state\":\"refused\"");
	sp_scene_assert_told("\"refusals\":{\"io\":1},");
	sp_scene_assert_told("\"refused\":1},");
	assert_int_equal(sp_scene_count_lines(" is refused"), 1);
	/* Other files are another matter. */
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "v1/.incremental_checkpoint/incremental_model.ckpt-110.index",
				      "x");
	sp_scene_assert_told("\"refusals\":{\"io\":2},");
	assert_int_equal(sp_scene_count_lines(" is refused"), 2);
}

static void a_full_checkpoint_that_is_written_anew_is_loaded_anew(void **state)
{
	size_t loads;

	(void)state;
	sp_scene_make_full();
	sp_scene_start();
	loads = sp_the_model_double.loads;
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-100.index", "other");
	sp_scene_let_it_look();
	assert_int_equal(sp_the_model_double.loads, loads + 1);
	sp_scene_assert_told("\"moves\":{\"discovered\":2,\"loading\":2,\"warming\":2,\"live\":2,"
			     "\"draining\":1,\"retired\":1,");
	sp_scene_assert_told("{\"versions\":[{\"full\":\"");
	sp_scene_assert_listed(100, -1, 1);
	sp_scene_assert_live(100, -1);
}

static void a_delta_waits_for_data_without_an_index_and_no_longer(void **state)
{
	(void)state;
	sp_scene.config.update_wait_for_full_seconds = 0.5;
	sp_scene_make_full();
	sp_scene_start();
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-105.data-00000-of-00002",
				      "");
	sp_scene_make_delta(110);
	sp_scene_assert_told("\"full_step\":100,\"delta_step\":110,\"state\":\"discovered\"");
	sp_scene_assert_told(
		"delta 110 waits for full checkpoint 105, whose data is there without its index");
	sp_scene_assert_live(100, 110);
	sp_scene_assert_told("\"full_step\":100,\"delta_step\":110,\"state\":\"live\"");
	sp_scene_assert_not_told("discovered\",\"for_ms");
	/* The save went on after all. */
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-105.index", "");
	sp_scene_assert_live(105, 110);
}

/* As long as it waits; then the version that it belongs to is another. */
static void what_waits_no_longer_is_not_listed(void **state)
{
	(void)state;
	sp_scene.config.update_wait_for_full_seconds = 3600;
	sp_scene_make_full();
	sp_scene_start();
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-105.data-00000-of-00001",
				      "");
	sp_scene_make_delta(110);
	sp_scene_assert_told("waits for full checkpoint 105");
	sp_scene_assert_live(100, -1);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-105.index", "");
	sp_scene_assert_live(105, 110);
	sp_scene_let_it_look();
	sp_scene_assert_not_told("waits for");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.data-00000-of-00001",
				      "");
	sp_scene_make_delta(210);
	sp_scene_assert_told("waits for full checkpoint 200");
	sp_scene_remove_file("v1/.incremental_checkpoint/incremental_model.ckpt-210.index");
	sp_scene_let_it_look();
	sp_scene_assert_not_told("waits for");
	sp_scene_assert_live(105, 110);
}

static void leftovers_hold_nothing_up(void **state)
{
	(void)state;
	sp_scene.config.update_wait_for_full_seconds = 3600;
	sp_scene_make_full();
	sp_scene_start();
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "v1/model.ckpt-105.data-00000-of-00001.tempstate2092", "");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "v1/.model.ckpt-105.data-00000-of-00001.crc", "");
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
}

static void what_is_deleted_is_no_alarm(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 2;
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_told("\"state\":\"refused\"");
	sp_scene_let_it_look();
	assert_true(sp_scene_lag_ms() >= 200);
	sp_scene_remove_file("v1/.incremental_checkpoint/incremental_model.ckpt-110.index");
	sp_time_pass(20);
	assert_int_equal(sp_scene_lag_ms(), 0);
	sp_scene_assert_listed(100, 110, 0);
	assert_int_equal(sp_scene_count_lines("version 100+110 is forgotten, its files are gone: "),
			 1);
	sp_scene_assert_told("\"newest\":{\"full_step\":100,\"delta_step\":-1,\"lag_ms\":0}");

	/* One that was never complete. */
	sp_the_model_double.files = SP_CORRUPT;
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.index", "");
	sp_scene_assert_told("\"full_step\":200,\"delta_step\":-1,\"state\":\"discovered\"");
	sp_scene_assert_told("\"newest\":{\"full_step\":200,");
	sp_scene_remove_file("v1/model.ckpt-200.index");
	sp_time_pass(20);
	assert_int_equal(sp_scene_lag_ms(), 0);
	sp_scene_assert_listed(200, -1, 0);
}

/* In place of the one in the source tree. */
static void make_savedmodel(void)
{
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, ".savedmodel");
	snprintf(sp_scene.savedmodel, sizeof(sp_scene.savedmodel), "%.4000s/.savedmodel",
		 sp_scene.checkpoints);
	sp_text_models_write_file(sp_scene.savedmodel, "saved_model.pb", "");
	sp_text_models_write_file(sp_scene.savedmodel, "assets/words.txt", "one");
}

static void await_opens(size_t count)
{
	sp_scene_let_it_look();
	assert_int_equal(sp_the_model_double.opens, count);
}

static void a_graph_and_its_assets_are_read_anew_under_a_checkpoint(void **state)
{
	(void)state;
	make_savedmodel();
	sp_scene_make_full();
	sp_scene_make_delta(110);
	sp_scene_start();
	sp_text_models_write_file(sp_scene.savedmodel, "assets/words.txt", "one two");
	await_opens(2);
	sp_scene_assert_told("\"retired\":1");
	sp_scene_assert_live(100, 110);
	sp_text_models_write_file(sp_scene.savedmodel, "saved_model.pb", "other");
	await_opens(3);
	sp_scene_assert_live(100, 110);
	/* Those that come after it share what was read last. */
	sp_scene_make_delta(120);
	sp_scene_assert_live(100, 120);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.index", "");
	sp_scene_assert_live(200, -1);
	assert_int_equal(sp_the_model_double.opens, 3);
}

static void what_is_gone_is_not_read_anew(void **state)
{
	size_t loads;

	(void)state;
	make_savedmodel();
	sp_scene_make_full();
	sp_scene_start();
	loads = sp_the_model_double.loads;
	sp_temp_remove(sp_scene.savedmodel);
	sp_scene_let_it_look();
	assert_int_equal(sp_the_model_double.loads, loads);
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);
	assert_int_equal(sp_the_model_double.opens, 1);
}

static void change_an_asset(void)
{
	sp_text_models_write_file(sp_scene.savedmodel, "assets/words.txt", "one two");
}

static void a_change_while_it_is_loaded_is_seen(void **state)
{
	(void)state;
	make_savedmodel();
	sp_scene_make_full();
	sp_the_model_double.while_loading = change_an_asset;
	sp_scene_start();
	await_opens(2);
	sp_scene_assert_told("\"retired\":1");
	sp_scene_let_it_look();
	assert_int_equal(sp_the_model_double.opens, 2);
}

static void rename_folder(const char *from, const char *to)
{
	assert_int_equal(rename(from, to), 0);
}

static bool is_live_still(int64_t full_step, int64_t delta_step)
{
	const sp_version *version = sp_published_pin(sp_scene.published, 0);
	bool same = version->full_step == full_step && version->delta_step == delta_step;

	sp_published_unpin(sp_scene.published, 0);
	return same;
}

/*
 * As when a network share is away for a time: what is live stays, and what was
 * written meanwhile is found once the folder is back.
 */
static void a_folder_may_be_away(void **state)
{
	char away[SP_PATH_SIZE + 8];

	(void)state;
	snprintf(away, sizeof(away), "%s.away", sp_scene.checkpoints);
	sp_scene_make_full();
	sp_scene_start();
	sp_scene_make_delta(110);
	sp_scene_assert_live(100, 110);

	/* Not there; then no folder. */
	rename_folder(sp_scene.checkpoints, away);
	sp_scene_let_it_look();
	assert_true(is_live_still(100, 110));
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_RELOAD, -1, -1, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	sp_checkpoint_folder_add_file("/", sp_scene.checkpoints, "a file");
	sp_scene_let_it_look();
	assert_true(is_live_still(100, 110));
	assert_int_equal(unlink(sp_scene.checkpoints), 0);

	/* There, and empty. */
	assert_int_equal(mkdir(sp_scene.checkpoints, 0700), 0);
	sp_scene_let_it_look();
	assert_true(is_live_still(100, 110));
	assert_int_equal(rmdir(sp_scene.checkpoints), 0);

	rename_folder(away, sp_scene.checkpoints);
	sp_scene_make_delta(120);
	sp_scene_assert_live(100, 120);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-200.index", "");
	sp_scene_assert_live(200, -1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, sp_scene_set_up, sp_scene_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_delta_is_published_and_the_old_version_drains),
		CASE(a_refused_delta_is_tried_again_when_it_changes),
		CASE(a_refusal_is_told_and_counted_once),
		CASE(a_full_checkpoint_that_is_written_anew_is_loaded_anew),
		CASE(a_delta_waits_for_data_without_an_index_and_no_longer),
		CASE(what_waits_no_longer_is_not_listed),
		CASE(leftovers_hold_nothing_up),
		CASE(what_is_deleted_is_no_alarm),
		CASE(a_graph_and_its_assets_are_read_anew_under_a_checkpoint),
		CASE(what_is_gone_is_not_read_anew),
		CASE(a_change_while_it_is_loaded_is_seen),
		CASE(a_folder_may_be_away),
	};

	return cmocka_run_group_tests_name("updater_look", tests, NULL, NULL);
}
