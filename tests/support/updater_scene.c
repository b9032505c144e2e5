#include "tests/support/updater_scene.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/cmocka.h"
#include "tests/support/model_double.h"
#include "tests/support/time_double.h"

struct sp_updater_scene sp_scene;

/* Lines of the log, as far as a test looks at them. */
static char lines[1 << 16];
static pthread_mutex_t lines_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(void *context, int level, const char *line)
{
	size_t size;

	(void)context;
	(void)level;
	pthread_mutex_lock(&lines_lock);
	size = strlen(lines);
	snprintf(lines + size, sizeof(lines) - size, "%s\n", line);
	pthread_mutex_unlock(&lines_lock);
}

size_t sp_scene_count_lines(const char *text)
{
	size_t count = 0;

	pthread_mutex_lock(&lines_lock);
	for (const char *at = lines; (at = strstr(at, text)) != NULL; at++)
		count++;
	pthread_mutex_unlock(&lines_lock);
	return count;
}

void sp_scene_make_full(void)
{
	sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "v1");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/model.ckpt-100.index", "");
	sp_checkpoint_folder_add_file(sp_scene.checkpoints, "v1/checkpoint", "");
}

void sp_scene_make_delta(int step)
{
	if (step == 110)
		sp_checkpoint_folder_add_folder(sp_scene.checkpoints, "v1/.incremental_checkpoint");
	sp_checkpoint_folder_add_delta(sp_scene.checkpoints, step);
}

int sp_scene_set_up(void **state)
{
	(void)state;
	lines[0] = '\0';
	sp_log_set_sink(note, NULL);
	sp_temp_make(sp_scene.checkpoints);
	sp_source_path(sp_scene.savedmodel, "tests/golden/ev-ctr/model");
	memset(&sp_the_model_double, 0, sizeof(sp_the_model_double));
	sp_scene.config = (sp_config){.signature_name = "serving_default",
				      .savedmodel_dir = sp_scene.savedmodel,
				      .checkpoint_dir = sp_scene.checkpoints,
				      .session_num = 2,
				      .session_workspace_bytes = 1 << 20,
				      .update_poll_interval_ms = 20,
				      .init_timeout_minutes = 0};
	assert_ok(sp_published_create(&sp_scene.published, 2, &sp_scene.err), &sp_scene.err);
	sp_scene.updater = NULL;
	sp_time_begin(SP_SCENE_BEGIN_MS, NULL);
	return 0;
}

int sp_scene_tear_down(void **state)
{
	(void)state;
	sp_updater_close(sp_scene.updater);
	sp_published_destroy(sp_scene.published);
	sp_temp_remove(sp_scene.checkpoints);
	assert_int_equal(sp_the_model_double.alive, 0);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

/* Valid until time passes: only then does the updater close versions. */
static const sp_version *live_version(void)
{
	const sp_version *live = sp_published_pin(sp_scene.published, 0);

	sp_published_unpin(sp_scene.published, 0);
	return live;
}

const sp_version *sp_scene_start(void)
{
	assert_ok(sp_updater_open(&sp_scene.updater, &sp_scene.config, sp_scene.published,
				  &sp_scene.err),
		  &sp_scene.err);
	return live_version();
}

void sp_scene_refuse(sp_status status, const char *text)
{
	size_t waits = sp_time_waits();

	assert_int_equal(sp_updater_open(&sp_scene.updater, &sp_scene.config, sp_scene.published,
					 &sp_scene.err),
			 status);
	assert_non_null(strstr(sp_scene.err.text, text));
	assert_int_equal(sp_time_waits(), waits);
	assert_null(sp_scene.updater);
}

void sp_scene_let_it_look(void)
{
	sp_time_pass(200);
}

/*
 * The real millisecond, for a state that does not come at once, is for what depends on the time of
 * day, which is not the test's: how old a file is.
 */
static void wait_a_little(int round)
{
	sp_time_pass(round == 0 ? 0 : 20);
	if (round > 100)
		usleep(1000);
}

void sp_scene_assert_live(int64_t full_step, int64_t delta_step)
{
	const sp_version *live;

	for (int i = 0; i < 5000; i++) {
		wait_a_little(i);
		live = live_version();
		if (live->full_step == full_step && live->delta_step == delta_step)
			break;
	}
	assert_int_equal(live->full_step, full_step);
	assert_int_equal(live->delta_step, delta_step);
}

void sp_scene_assert_told(const char *text)
{
	char *json = NULL;

	for (int i = 0; i < 5000; i++) {
		wait_a_little(i);
		sp_free(json);
		json = sp_catalog_json(sp_updater_catalog(sp_scene.updater));
		assert_non_null(json);
		if (strstr(json, text) != NULL)
			break;
	}
	assert_non_null(strstr(json, text));
	sp_free(json);
}

static char *versions(void)
{
	char *json = sp_catalog_json(sp_updater_catalog(sp_scene.updater));

	assert_non_null(json);
	return json;
}

void sp_scene_assert_listed(int64_t full_step, int64_t delta_step, size_t want)
{
	char *json = versions(), text[100];
	size_t count = 0;

	snprintf(text, sizeof(text), "\"full_step\":%lld,\"delta_step\":%lld,\"state\"",
		 (long long)full_step, (long long)delta_step);
	for (const char *at = json; (at = strstr(at, text)) != NULL; at++)
		count++;
	assert_int_equal(count, want);
	sp_free(json);
}

void sp_scene_assert_not_told(const char *text)
{
	char *json = versions();

	if (strstr(json, text) != NULL)
		fail_msg("%s in %s", text, json);
	sp_free(json);
}

long sp_scene_lag_ms(void)
{
	char *json = versions();
	const char *at = strstr(json, "\"lag_ms\":");
	long lag;

	assert_non_null(at);
	lag = strtol(at + strlen("\"lag_ms\":"), NULL, 10);
	sp_free(json);
	return lag;
}

void sp_scene_remove_file(const char *name)
{
	char path[SP_PATH_SIZE + 100];

	snprintf(path, sizeof(path), "%s/%s", sp_scene.checkpoints, name);
	assert_int_equal(unlink(path), 0);
}
