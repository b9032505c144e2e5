#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/updater_scene.h"

/* Numbered SavedModels, each with its own weights. */

static void make_numbered(const char *number, const char *text)
{
	char name[64];

	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, number);
	snprintf(name, sizeof(name), "%s/saved_model.pb", number);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, name, text);
}

static void numbered_savedmodels_are_served(void **state)
{
	(void)state;
	make_numbered("9", "");
	make_numbered("10", "");
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "11"); /* on its way */
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "tmp");
	sp_scene.config.savedmodel_dir = sp_scene.checkpoints;
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene_start();
	sp_scene_assert_live(10, -1);
	sp_scene_assert_told("\"full_step\":11,\"delta_step\":-1,\"state\":\"discovered\"");
	sp_scene_assert_told("SavedModel 11 waits for ");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "11/saved_model.pb", "");
	sp_scene_assert_live(11, -1);
	assert_non_null(strstr(sp_the_model_double.savedmodel_dir, "/11"));
	assert_int_equal(sp_the_model_double.opens, 2);
	sp_scene_assert_told("\"full_step\":10,\"delta_step\":-1,\"state\":\"retired\"");
	sp_scene_let_it_look();
	assert_int_equal(sp_the_model_double.alive, 2); /* the first model is gone */

	sp_scene_remove_file("11/saved_model.pb");
	sp_scene_assert_live(10, -1);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 9, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(9, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 8, -1, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(10, -1);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(9, -1);
	sp_scene_let_it_look();
	sp_scene_assert_live(9, -1);
	make_numbered("12", "");
	sp_scene_assert_live(12, -1);
}

static void one_number_twice_is_told_once(void **state)
{
	(void)state;
	make_numbered("01", "");
	make_numbered("1", "");
	sp_scene.config.savedmodel_dir = sp_scene.checkpoints;
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene_start();
	sp_scene_assert_live(1, -1);
	assert_non_null(strstr(sp_the_model_double.savedmodel_dir, "/1"));
	sp_scene_let_it_look();
	assert_int_equal(sp_scene_count_lines("mean number"), 1);
	make_numbered("9223372036854775807", "");
	sp_scene_assert_live(INT64_MAX, -1);
	sp_scene_assert_told("\"full_step\":9223372036854775807,");
	make_numbered("9223372036854775808", ""); /* no number */
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(1, -1);
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_PIN, INT64_MAX, -1, NULL,
				   &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(INT64_MAX, -1);
	assert_int_equal(sp_scene_count_lines("mean number"), 1);
}

static void one_goes_back_to_smaller_numbers(void **state)
{
	char path[SP_PATH_SIZE + 32];

	(void)state;
	make_numbered("7", "");
	make_numbered("9", "");
	make_numbered("12", "");
	sp_scene.config.savedmodel_dir = sp_scene.checkpoints;
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene_start();
	sp_scene_assert_live(12, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_PIN, 9, 3, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(9, -1);
	assert_ok(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		&sp_scene.err);
	sp_scene_assert_live(7, -1);
	assert_int_equal(
		sp_updater_order(sp_scene.updater, SP_ORDER_ROLLBACK, -1, -1, NULL, &sp_scene.err),
		SP_NOT_FOUND);
	sp_scene_let_it_look();
	sp_scene_assert_live(7, -1);
	sp_scene_assert_told("\"newest\":{\"full_step\":12,");
	/* What one has gone back from is deleted. */
	snprintf(path, sizeof(path), "%s/12/saved_model.pb", sp_scene.checkpoints);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	sp_scene_assert_told("\"newest\":{\"full_step\":9,");
	sp_scene_let_it_look();
	sp_scene_assert_listed(12, -1, 0);
	sp_scene_assert_listed(9, -1, 1);
}

static void a_numbered_savedmodel_may_be_broken(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT};

	(void)state;
	make_numbered("1", "");
	sp_scene.config.savedmodel_dir = sp_scene.checkpoints;
	sp_scene.config.checkpoint_dir = NULL;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 2;
	sp_scene_start();
	make_numbered("2", "");
	sp_scene_assert_told("\"full_step\":2,\"delta_step\":-1,\"state\":\"refused\"");
	sp_scene_assert_live(1, -1);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "2/saved_model.pb", "other");
	sp_scene_assert_live(2, -1);
}

static void its_recorded_requests_are_answered_first(void **state)
{
	(void)state;
	make_numbered("1", "");
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "1/assets.extra");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "1/assets.extra/tf_serving_warmup_requests", "");
	sp_scene.config.savedmodel_dir = sp_scene.checkpoints;
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene_start();
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "2");
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "2/assets.extra");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "2/assets.extra/tf_serving_warmup_requests", "no TFRecord");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "2/saved_model.pb", "");
	sp_scene_assert_told(
		"tf_serving_warmup_requests: record 0: it ends in the length of a record");
	sp_scene_assert_live(1, -1);
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "2/assets.extra/tf_serving_warmup_requests", "");
	assert_ok(sp_updater_order(sp_scene.updater, SP_ORDER_RELOAD, -1, -1, NULL, &sp_scene.err),
		  &sp_scene.err);
	sp_scene_assert_live(2, -1);
}

static void a_warm_up_that_was_mended_is_tried_again(void **state)
{
	(void)state;
	make_numbered("1", "");
	sp_scene.config.savedmodel_dir = sp_scene.checkpoints;
	sp_scene.config.checkpoint_dir = NULL;
	sp_scene_start();
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "2");
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "2/assets.extra");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "2/assets.extra/tf_serving_warmup_requests", "no TFRecord");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "2/saved_model.pb", "");
	sp_scene_assert_told("\"state\":\"refused\"");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints,
				      "2/assets.extra/tf_serving_warmup_requests", "");
	sp_scene_assert_live(2, -1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, sp_scene_set_up, sp_scene_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(numbered_savedmodels_are_served),
		CASE(one_number_twice_is_told_once),
		CASE(one_goes_back_to_smaller_numbers),
		CASE(a_numbered_savedmodel_may_be_broken),
		CASE(its_recorded_requests_are_answered_first),
		CASE(a_warm_up_that_was_mended_is_tried_again),
	};

	return cmocka_run_group_tests_name("updater_numbered", tests, NULL, NULL);
}
