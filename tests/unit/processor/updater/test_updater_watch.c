#include "tests/support/cmocka.h"

#include <stdio.h>
#include <unistd.h>

#include "processor/updater/updater.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/paths.h"

/* The updater looks once an hour by itself: what is found at once, the file system has told of. */

static bool is_live(sp_published *published, int64_t full_step, int64_t delta_step)
{
	const sp_version *live = sp_published_pin(published, 0);
	bool is = live->full_step == full_step && live->delta_step == delta_step;

	sp_published_unpin(published, 0);
	return is;
}

static void await_live(sp_published *published, int64_t full_step, int64_t delta_step)
{
	for (int i = 0; i < 20000 && !is_live(published, full_step, delta_step); i++)
		usleep(1000);
	assert_true(is_live(published, full_step, delta_step));
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
	await_live(published, 100, 110);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	await_live(published, 200, -1);
	/* Nothing but the time tells that nobody writes the data of 205 any more. */
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-205.data-00000-of-00002", "");
	sp_checkpoint_folder_add_delta(checkpoints, 210);
	await_live(published, 200, 210);
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
