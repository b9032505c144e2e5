#include "tests/support/cmocka.h"

#include <stdio.h>
#include <unistd.h>

#include "processor/updater/updater.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/paths.h"

/* The updater looks once an hour by itself: what is found at once, the file system has told of. */

static void await_live(const sp_updater *updater, int64_t full_step, int64_t delta_step)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_found_version live = {.full_step = -1};
	sp_error err;

	for (int i = 0; i < 20000; i++) {
		sp_arena_reset(arena);
		assert_ok(sp_catalog_live(sp_updater_catalog(updater), &live, arena, &err), &err);
		if (live.full_step == full_step && live.delta_step == delta_step)
			break;
		usleep(1000);
	}
	assert_int_equal(live.full_step, full_step);
	assert_int_equal(live.delta_step, delta_step);
	sp_arena_destroy(arena);
}

static void changes_are_seen_before_their_time(void **state)
{
	char work[SP_PATH_SIZE], checkpoints[SP_PATH_SIZE + 16], savedmodel[SP_PATH_SIZE];
	sp_published *published;
	sp_updater *updater;
	sp_config config;
	sp_error err;

	(void)state;
	sp_temp_make(work);
	snprintf(checkpoints, sizeof(checkpoints), "%s/checkpoints", work);
	sp_source_path(savedmodel, "tests/golden/ev-ctr/model");
	config = (sp_config){.signature_name = "serving_default",
			     .savedmodel_dir = savedmodel,
			     .checkpoint_dir = checkpoints,
			     .session_num = 1,
			     .session_workspace_bytes = 1 << 20,
			     .update_poll_interval_ms = 3600000,
			     .update_wait_for_full_seconds = 0.2};
	sp_checkpoint_folder_make(checkpoints);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-100.index", "");
	assert_ok(sp_published_create(&published, 1, &err), &err);
	assert_ok(sp_updater_open(&updater, &config, published, &err), &err);
	sp_checkpoint_folder_add_delta(checkpoints, 110);
	await_live(updater, 100, 110);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	await_live(updater, 200, -1);
	/* Nothing but the time tells that nobody writes the data of 205 any more. */
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-205.data-00000-of-00002", "");
	sp_checkpoint_folder_add_delta(checkpoints, 210);
	await_live(updater, 200, 210);
	sp_updater_close(updater);
	sp_published_destroy(published);
	sp_temp_remove(work);
	assert_int_equal(sp_the_model_double.alive, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_seen_before_their_time),
	};

	return cmocka_run_group_tests_name("updater_watch", tests, NULL, NULL);
}
