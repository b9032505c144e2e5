#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "processor/updater/updater.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/paths.h"
#include "tests/support/text_models.h"
#include "tests/support/time_double.h"

/*
 * A folder of checkpoints in files without content: the double does not read them.  Time is the
 * test's own: the updater looks every 20 ms of it, and sp_time_pass() returns when the updater has
 * done all that is due and waits again.
 */
enum { BEGIN_MS = 1000 };
static char checkpoints[SP_PATH_SIZE];
static char savedmodel[SP_PATH_SIZE];
static sp_config config;
static sp_published *published;
static sp_updater *updater;
static sp_error err;

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

static size_t count_lines(const char *text)
{
	size_t count = 0;

	pthread_mutex_lock(&lines_lock);
	for (const char *at = lines; (at = strstr(at, text)) != NULL; at++)
		count++;
	pthread_mutex_unlock(&lines_lock);
	return count;
}

static void make_full(void)
{
	sp_checkpoint_folder_add_folder(checkpoints, "v1");
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-100.index", "");
	sp_checkpoint_folder_add_file(checkpoints, "v1/checkpoint", "");
}

static void make_delta(int step)
{
	if (step == 110)
		sp_checkpoint_folder_add_folder(checkpoints, "v1/.incremental_checkpoint");
	sp_checkpoint_folder_add_delta(checkpoints, step);
}

static int set_up(void **state)
{
	(void)state;
	lines[0] = '\0';
	sp_log_set_sink(note, NULL);
	sp_temp_make(checkpoints);
	sp_source_path(savedmodel, "tests/golden/ev-ctr/model");
	memset(&sp_the_model_double, 0, sizeof(sp_the_model_double));
	config = (sp_config){.signature_name = "serving_default",
			     .savedmodel_dir = savedmodel,
			     .checkpoint_dir = checkpoints,
			     .session_num = 2,
			     .session_workspace_bytes = 1 << 20,
			     .update_poll_interval_ms = 20,
			     .init_timeout_minutes = 0};
	assert_ok(sp_published_create(&published, 2, &err), &err);
	updater = NULL;
	sp_time_begin(BEGIN_MS, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_updater_close(updater);
	sp_published_destroy(published);
	sp_temp_remove(checkpoints);
	assert_int_equal(sp_the_model_double.alive, 0);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

/* ------------------------------------------------------------ the first version */

static const sp_version *start(void)
{
	assert_ok(sp_updater_open(&updater, &config, published, &err), &err);
	return sp_published_get(published);
}

static void refuse(sp_status status, const char *text)
{
	size_t waits = sp_time_waits();

	assert_int_equal(sp_updater_open(&updater, &config, published, &err), status);
	assert_non_null(strstr(err.text, text));
	assert_int_equal(sp_time_waits(), waits);
	assert_null(updater);
}

static void without_checkpoint_dir_the_savedmodel_serves(void **state)
{
	const sp_version *version;

	(void)state;
	config.checkpoint_dir = NULL;
	config.reference_kernels = true;
	version = start();
	assert_string_equal(sp_the_model_double.savedmodel_dir, savedmodel);
	assert_string_equal(sp_the_model_double.checkpoint_prefix, "");
	assert_string_equal(sp_the_model_double.signature_name, "serving_default");
	assert_true(sp_the_model_double.reference);
	assert_string_equal(version->checkpoint_prefix, "");
	assert_int_equal(version->full_step, -1);
	assert_int_equal(version->delta_step, -1);
	assert_int_equal(sp_session_set_count(version->runtime->sessions), 3);
	assert_int_equal(sp_updater_rollback(updater, NULL, &err), SP_UNSUPPORTED);
	assert_int_equal(sp_updater_pin(updater, 1, -1, NULL, &err), SP_UNSUPPORTED);
	assert_ok(sp_updater_reload(updater, NULL, &err), &err);
	assert_int_equal(sp_the_model_double.fulls, 2);
	sp_updater_close(NULL);
}

static void a_checkpoint_and_its_delta(void **state)
{
	const sp_version *version;
	char expected[SP_PATH_SIZE + 100];

	(void)state;
	make_full();
	make_delta(110);
	snprintf(expected, sizeof(expected), "%s/v1/model.ckpt-100", checkpoints);
	version = start();
	assert_string_equal(version->checkpoint_prefix, expected);
	assert_non_null(strstr(version->delta_prefix, "incremental_model.ckpt-110"));
	assert_int_equal(version->full_step, 100);
	assert_int_equal(version->delta_step, 110);
}

static void without_a_savedmodel_nothing_is_waited_for(void **state)
{
	(void)state;
	config.savedmodel_dir = "/no/such/folder";
	config.init_timeout_minutes = -1;
	refuse(SP_NOT_FOUND, "savedmodel_dir: no saved_model.pb in '/no/such/folder'");
	config.checkpoint_dir = NULL;
	refuse(SP_NOT_FOUND, "/no/such/folder");
	sp_source_path(savedmodel, "tests/golden/tf1-frozen-graph/model");
	config.savedmodel_dir = savedmodel;
	refuse(SP_UNSUPPORTED, "'frozen.pb', a graph: configuration key 'graph_file' serves it");
	assert_int_equal(sp_the_model_double.loads, 0);
}

static void zero_minutes_do_not_wait(void **state)
{
	(void)state;
	refuse(SP_NOT_FOUND, "no complete version in checkpoint_dir");
	make_full();
	sp_the_model_double.files = SP_CORRUPT;
	refuse(SP_CORRUPT, "is missing");
}

static void what_is_complete_and_broken_is_not_waited_for(void **state)
{
	static const sp_status statuses[] = {SP_UNSUPPORTED, SP_NO_MEMORY, SP_CORRUPT,
					     SP_NOT_FOUND,   SP_IO,        SP_BUSY};

	(void)state;
	make_full();
	config.init_timeout_minutes = -1;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 6;
	refuse(SP_UNSUPPORTED, "load 1 says unsupported");
	refuse(SP_NO_MEMORY, "load 2 says no_memory");
	refuse(SP_CORRUPT, "load 3 says corrupt");
	refuse(SP_NOT_FOUND, "load 4 says not_found"); /* a tensor, of another model */
	refuse(SP_IO, "load 5 says io");
	refuse(SP_BUSY, "load 6 says busy");
	config.signature_name = "nobody";
	refuse(SP_INVALID, "no signature 'nobody'");
}

/* Whether or not a version is there. */
static void a_warmup_file_that_cannot_be_read_is_not_waited_for(void **state)
{
	(void)state;
	config.init_timeout_minutes = -1;
	config.warmup_file_name = "/no/such/file";
	refuse(SP_NOT_FOUND, "warmup_file_name: ");
	assert_non_null(strstr(err.text, "/no/such/file"));
	config.warmup_file_name = checkpoints; /* a folder */
	refuse(SP_IO, "warmup_file_name: ");
	make_full();
	refuse(SP_IO, "warmup_file_name: ");
	assert_int_equal(sp_the_model_double.loads, 0);
}

static void a_broken_delta_leaves_the_full_checkpoint(void **state)
{
	static const sp_status statuses[] = {SP_CORRUPT};
	const sp_version *version;
	char *json;

	(void)state;
	make_full();
	make_delta(110);
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 1;
	version = start();
	assert_null(version->delta_prefix);
	assert_int_equal(version->full_step, 100);
	json = sp_catalog_json(sp_updater_catalog(updater));
	assert_non_null(strstr(json, "\"delta_step\":110,\"state\":\"refused\""));
	assert_non_null(strstr(json, "load 1 says corrupt"));
	assert_non_null(strstr(json, "\"delta_step\":-1,\"state\":\"live\""));
	sp_free(json);
}

static void copy_checkpoint(int64_t now_ms)
{
	if (now_ms == BEGIN_MS + 300)
		make_full();
}

static void a_version_that_comes_late_is_found(void **state)
{
	(void)state;
	config.init_timeout_minutes = -1;
	sp_time_begin(BEGIN_MS, copy_checkpoint);
	assert_int_equal(start()->full_step, 100);
	assert_int_equal(sp_time_now_ms(), BEGIN_MS + 320);
}

/* --------------------------------------------------------------- later versions */

/*
 * Ten looks.  The real millisecond, for a state that does not come at once, is for what depends on
 * the time of day, which is not the test's: how old a file is.
 */
static void let_it_look(void)
{
	sp_time_pass(200);
}

static void wait_a_little(int round)
{
	sp_time_pass(round == 0 ? 0 : 20);
	if (round > 100)
		usleep(1000);
}

/* Waits until that is live. */
static void assert_live(int64_t full_step, int64_t delta_step)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_found_version live;

	for (int i = 0; i < 5000; i++) {
		wait_a_little(i);
		sp_arena_reset(arena);
		assert_ok(sp_catalog_live(sp_updater_catalog(updater), &live, arena, &err), &err);
		if (live.full_step == full_step && live.delta_step == delta_step)
			break;
	}
	assert_int_equal(live.full_step, full_step);
	assert_int_equal(live.delta_step, delta_step);
	sp_arena_destroy(arena);
}

/* Waits until the versions' states hold `text`. */
static void assert_told(const char *text)
{
	char *json = NULL;

	for (int i = 0; i < 5000; i++) {
		wait_a_little(i);
		sp_free(json);
		json = sp_catalog_json(sp_updater_catalog(updater));
		assert_non_null(json);
		if (strstr(json, text) != NULL)
			break;
	}
	assert_non_null(strstr(json, text));
	sp_free(json);
}

static char *versions(void)
{
	char *json = sp_catalog_json(sp_updater_catalog(updater));

	assert_non_null(json);
	return json;
}

/* How often that version is listed. */
static void assert_listed(int64_t full_step, int64_t delta_step, size_t want)
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

static void assert_not_told(const char *text)
{
	char *json = versions();

	if (strstr(json, text) != NULL)
		fail_msg("%s in %s", text, json);
	sp_free(json);
}

/* How long something newer is known. */
static long lag_ms(void)
{
	char *json = versions();
	const char *at = strstr(json, "\"lag_ms\":");
	long lag;

	assert_non_null(at);
	lag = strtol(at + strlen("\"lag_ms\":"), NULL, 10);
	sp_free(json);
	return lag;
}

/* A request that lasts holds its version, and no longer than it lasts. */
static void a_delta_is_published_and_the_old_version_drains(void **state)
{
	const sp_version *pinned;

	(void)state;
	make_full();
	start();
	pinned = sp_published_pin(published, 1);
	make_delta(110);
	assert_live(100, 110);
	assert_told("\"delta_step\":-1,\"state\":\"draining\"");
	assert_int_equal(pinned->delta_step, -1);
	sp_published_unpin(published, 1);
	assert_told("\"delta_step\":-1,\"state\":\"retired\"");
	assert_int_equal(sp_the_model_double.opens, 1);
	assert_int_equal(sp_the_model_double.fulls, 1);
	assert_int_equal(sp_the_model_double.alive, 3); /* the model, its full weights, the delta */
}

static void a_refused_delta_is_tried_again_when_it_changes(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT};
	size_t loads;

	(void)state;
	make_full();
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 2;
	start();
	make_delta(110);
	assert_told("\"state\":\"refused\"");
	assert_live(100, -1);
	loads = sp_the_model_double.loads;
	let_it_look();
	assert_int_equal(sp_the_model_double.loads, loads);
	sp_checkpoint_folder_add_file(
		checkpoints, "v1/.incremental_checkpoint/incremental_model.ckpt-110.index", "x");
	assert_live(100, 110);
}

static void a_full_checkpoint_that_is_written_anew_is_loaded_anew(void **state)
{
	size_t loads;

	(void)state;
	make_full();
	start();
	loads = sp_the_model_double.loads;
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-100.index", "other");
	let_it_look();
	assert_int_equal(sp_the_model_double.loads, loads + 1);
	assert_told("\"moves\":{\"discovered\":2,\"loading\":2,\"warming\":2,\"live\":2,"
		    "\"draining\":1,\"retired\":1,");
	assert_told("{\"versions\":[{\"full\":\"");
	assert_listed(100, -1, 1);
	assert_live(100, -1);
}

static void orders(void **state)
{
	size_t loads;

	(void)state;
	make_full();
	start();
	assert_int_equal(sp_updater_rollback(updater, NULL, &err), SP_NOT_FOUND);
	make_delta(110);
	assert_live(100, 110);
	make_delta(120);
	assert_live(100, 120);

	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, 110);
	let_it_look();
	assert_live(100, 110); /* what was left does not come back by itself */
	make_delta(130);
	assert_live(100, 130);

	assert_ok(sp_updater_pin(updater, 100, 120, NULL, &err), &err);
	make_delta(140);
	let_it_look();
	assert_live(100, 120);
	assert_int_equal(sp_updater_pin(updater, 100, 125, NULL, &err), SP_NOT_FOUND);
	assert_live(100, 120);
	assert_ok(sp_updater_pin(updater, -1, -1, NULL, &err), &err);
	assert_live(100, 140);

	loads = sp_the_model_double.loads;
	assert_ok(sp_updater_reload(updater, NULL, &err), &err);
	assert_int_equal(sp_the_model_double.loads, loads + 2); /* all of it, with its delta */
	assert_live(100, 140);
}

/* A rollback over a delta needs nothing from disk, one to another full checkpoint does. */
static void a_rollback_over_a_delta_loads_nothing(void **state)
{
	size_t loads;

	(void)state;
	make_full();
	start();
	make_delta(110);
	assert_live(100, 110);
	loads = sp_the_model_double.loads;
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, -1);
	assert_int_equal(sp_the_model_double.loads, loads);
	assert_ok(sp_updater_pin(updater, 100, 110, NULL, &err), &err);
	assert_ok(sp_updater_pin(updater, 100, -1, NULL, &err), &err);
	assert_int_equal(sp_the_model_double.fulls, 1);
}

static void an_order_that_fails_leaves_all_as_it_was(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_OK, SP_IO, SP_IO};

	(void)state;
	make_full();
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 4;
	start();
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	assert_live(200, -1);
	assert_int_equal(sp_updater_rollback(updater, NULL, &err), SP_IO);
	assert_non_null(strstr(err.text, "load 3 says io"));
	assert_live(200, -1);
	assert_int_equal(sp_updater_reload(updater, NULL, &err), SP_IO);
	assert_live(200, -1);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, -1);
	let_it_look();
	assert_live(100, -1);
}

/* ------------------------------------------------------------------ going back */

static void make_deltas(void)
{
	make_full();
	for (int step = 110; step <= 140; step += 10)
		make_delta(step);
}

/* Each version that was live, once, and then none. */
static void a_rollback_goes_back_as_often_as_there_are_versions(void **state)
{
	(void)state;
	make_full();
	start();
	for (int step = 110; step <= 140; step += 10) {
		make_delta(step);
		assert_live(100, step);
	}
	for (int step = 130; step >= 110; step -= 10) {
		assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
		assert_live(100, step);
	}
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, -1);
	assert_int_equal(sp_updater_rollback(updater, NULL, &err), SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "no older one on the disk"));
	let_it_look();
	assert_live(100, -1);
	assert_told("\"rollbacks\":4");
	assert_listed(100, 140, 1);
	make_delta(150);
	assert_live(100, 150);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, -1);
}

/* A process that has only just started knows no version that was live before. */
static void a_rollback_finds_older_versions_on_the_disk(void **state)
{
	static const int64_t steps[][2] = {{100, 130}, {100, 120}, {100, 110}, {100, -1},
					   {50, 60},   {50, -1},   {9, -1}};

	(void)state;
	make_deltas();
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-50.index", "");
	sp_checkpoint_folder_add_delta(checkpoints, 60);
	sp_checkpoint_folder_add_folder(checkpoints, "old");
	sp_checkpoint_folder_add_file(checkpoints, "old/model.ckpt-9.index", "");
	sp_checkpoint_folder_add_file(checkpoints, "old/checkpoint", "");
	sp_checkpoint_folder_set_time(checkpoints, "old/checkpoint", 1000);
	start();
	assert_live(100, 140);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
		assert_live(steps[i][0], steps[i][1]);
	}
	assert_int_equal(sp_updater_rollback(updater, NULL, &err), SP_NOT_FOUND);
	let_it_look();
	assert_live(9, -1);
}

static void what_is_gone_or_broken_is_passed_over(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_OK, SP_OK, SP_OK, SP_CORRUPT};
	char path[SP_PATH_SIZE + 100];

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 5;
	make_full();
	start();
	for (int step = 110; step <= 130; step += 10) {
		make_delta(step);
		assert_live(100, step);
	}
	/* 120 is in memory and needs no files; 110 is read again, and 100 in its place. */
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, 120);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, -1);
	assert_int_equal(count_lines("version 100+110 is passed over by a rollback"), 1);

	make_delta(140);
	assert_live(100, 140);
	make_delta(150);
	assert_live(100, 150);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	assert_live(200, -1);
	snprintf(path, sizeof(path),
		 "%s/v1/.incremental_checkpoint/incremental_model.ckpt-150.index", checkpoints);
	assert_int_equal(unlink(path), 0);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, 140);
}

/* What is left by a rollback is one version, which is refused, and says by whose order. */
static void a_rollback_is_told(void **state)
{
	(void)state;
	make_full();
	start();
	make_delta(110);
	assert_live(100, 110);
	assert_int_equal(lag_ms(), 0);
	sp_time_pass(60);
	assert_ok(sp_updater_rollback(updater, "10.0.0.7:\n4711", &err), &err);
	/* Since the rollback, not since it came. */
	assert_int_equal(lag_ms(), 0);
	assert_int_equal(count_lines("rollback by order of 10.0.0.7:?4711: "
				     "from version 100+110 to 100"),
			 1);
	assert_told("\"delta_step\":110,\"state\":\"refused\"");
	assert_told("\"why\":\"rolled back by order of 10.0.0.7:?4711\",\"newer\":true,"
		    "\"reason\":\"rolled_back\"}");
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":110,");
	assert_told("\"refusals\":{}");
	assert_listed(100, 110, 1);
	assert_listed(100, -1, 1);
	let_it_look();
	assert_true(lag_ms() >= 200);
	assert_listed(100, 110, 1);
	/* Its files change, and it is another one. */
	sp_checkpoint_folder_add_file(
		checkpoints, "v1/.incremental_checkpoint/incremental_model.ckpt-110.index", "x");
	assert_live(100, 110);
	assert_int_equal(lag_ms(), 0);
	assert_listed(100, 110, 1);
	assert_not_told("rolled_back");
}

/* ------------------------------------------------------------------------ pins */

static void a_pin_is_told_and_newer_versions_are_seen(void **state)
{
	size_t loads;

	(void)state;
	make_full();
	start();
	make_delta(110);
	assert_live(100, 110);
	assert_not_told("\"pinned\":");
	assert_ok(sp_updater_pin(updater, 100, -1, "ann", &err), &err);
	assert_int_equal(count_lines("pin by order of ann: from version 100+110 to 100"), 1);
	assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":-1,\"for_ms\":");
	assert_told("\"by\":\"ann\"}");
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":110,");
	loads = sp_the_model_double.loads;
	make_delta(120);
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":120,");
	assert_told("\"delta_step\":120,\"state\":\"discovered\"");
	assert_told("\"why\":\"100 is pinned by order of ann\",\"newer\":true}");
	let_it_look();
	assert_true(lag_ms() >= 200);
	assert_live(100, -1);
	assert_int_equal(sp_the_model_double.loads, loads);
	assert_int_equal(sp_updater_pin(updater, 100, 125, "ann", &err), SP_NOT_FOUND);
	assert_int_equal(count_lines("pin by order of ann has failed, 100 is live: "), 1);
	assert_told("\"pins\":1}");
	assert_ok(sp_updater_pin(updater, -1, -1, NULL, &err), &err);
	assert_live(100, 120);
	assert_int_equal(lag_ms(), 0);
	assert_int_equal(count_lines("unpin by order of the host: from version 100 to 100"), 1);
	assert_not_told("\"pinned\":");
	assert_not_told("is pinned by");
	assert_told("\"pins\":2}");
}

/* The order fails as a whole: no part of that version is served. */
static void a_pin_is_served_exactly_or_not_at_all(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_OK, SP_CORRUPT};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 3;
	make_full();
	start();
	sp_checkpoint_folder_add_folder(checkpoints, "v1/.incremental_checkpoint");
	assert_ok(sp_updater_pin(updater, 100, -1, NULL, &err), &err);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	sp_checkpoint_folder_add_delta(checkpoints, 210);
	assert_int_equal(sp_updater_pin(updater, 200, 210, NULL, &err), SP_CORRUPT);
	assert_live(100, -1);
	let_it_look();
	assert_live(100, -1);
	assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":-1,");
}

/* A rollback has refused it; a pin on it is a word that counts more. */
static void a_pin_ends_what_a_rollback_has_refused(void **state)
{
	(void)state;
	make_full();
	start();
	make_delta(110);
	assert_live(100, 110);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(100, -1);
	assert_ok(sp_updater_pin(updater, 100, 110, NULL, &err), &err);
	assert_ok(sp_updater_pin(updater, 100, -1, NULL, &err), &err);
	assert_ok(sp_updater_pin(updater, -1, -1, NULL, &err), &err);
	assert_live(100, 110);
}

static void a_pin_goes_along_with_a_rollback(void **state)
{
	(void)state;
	make_full();
	start();
	make_delta(110);
	assert_live(100, 110);
	make_delta(120);
	assert_live(100, 120);
	assert_ok(sp_updater_pin(updater, 100, 120, NULL, &err), &err);
	make_delta(130);
	assert_ok(sp_updater_rollback(updater, "bob", &err), &err);
	assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":110,");
	let_it_look();
	assert_live(100, 110);
	assert_ok(sp_updater_pin(updater, -1, -1, NULL, &err), &err);
	assert_live(100, 130);
}

static void restart(void)
{
	sp_updater_close(updater);
	updater = NULL;
	sp_published_destroy(published);
	assert_ok(sp_published_create(&published, 2, &err), &err);
}

static void a_pin_survives_a_restart_with_a_pin_file(void **state)
{
	static char path[SP_PATH_SIZE + 8];
	char folder[SP_PATH_SIZE + 8], text[64] = "";
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/pin", checkpoints);
	config.pin_file = path;
	make_deltas();
	start();
	assert_live(100, 140);
	assert_ok(sp_updater_pin(updater, 100, 120, NULL, &err), &err);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "100+120\n");

	restart();
	start();
	assert_live(100, 120);
	let_it_look();
	assert_live(100, 120);
	assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":120,");
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":140,");
	assert_told("\"by\":\"the pin_file '");
	assert_true(lag_ms() >= 200);

	/* What cannot be written is not ordered. */
	snprintf(folder, sizeof(folder), "%s/pin.new", checkpoints);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(sp_updater_pin(updater, 100, 110, NULL, &err), SP_IO);
	assert_non_null(strstr(err.text, "pin_file"));
	assert_live(100, 120);
	assert_told("\"pinned\":{\"full_step\":100,\"delta_step\":120,");
	assert_int_equal(rmdir(folder), 0);

	/* A pin that fails leaves the one that holds. */
	assert_int_equal(sp_updater_pin(updater, 100, 115, NULL, &err), SP_NOT_FOUND);
	restart();
	start();
	assert_live(100, 120);
	assert_ok(sp_updater_pin(updater, -1, -1, NULL, &err), &err);
	assert_live(100, 140);
	assert_int_not_equal(access(path, F_OK), 0);
	restart();
	start();
	assert_live(100, 140);
}

static void a_pin_that_cannot_be_served_fails_the_start(void **state)
{
	static char path[SP_PATH_SIZE + 8];

	(void)state;
	snprintf(path, sizeof(path), "%s/pin", checkpoints);
	config.pin_file = path;
	make_full();
	sp_checkpoint_folder_add_file(checkpoints, "pin", "90+95\n");
	refuse(SP_NOT_FOUND, "version 90+95 is pinned by order of the pin_file '");
	assert_int_equal(sp_the_model_double.loads, 0);
	sp_checkpoint_folder_add_file(checkpoints, "pin", "latest\n");
	refuse(SP_INVALID, "holds no version such as 100 or 100+110, but 'latest?'");
	sp_checkpoint_folder_add_file(checkpoints, "pin", "");
	refuse(SP_INVALID, "holds no version");
	sp_checkpoint_folder_add_file(checkpoints, "pin", "100");
	start();
	assert_live(100, -1);
}

/* ------------------------------------------------------------- ends of an alarm */

static void what_is_deleted_is_no_alarm(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT};
	char path[SP_PATH_SIZE + 100];

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 2;
	make_full();
	start();
	make_delta(110);
	assert_told("\"state\":\"refused\"");
	let_it_look();
	assert_true(lag_ms() >= 200);
	snprintf(path, sizeof(path),
		 "%s/v1/.incremental_checkpoint/incremental_model.ckpt-110.index", checkpoints);
	assert_int_equal(unlink(path), 0);
	sp_time_pass(20);
	assert_int_equal(lag_ms(), 0);
	assert_listed(100, 110, 0);
	assert_int_equal(count_lines("version 100+110 is forgotten, its files are gone: "), 1);
	assert_told("\"newest\":{\"full_step\":100,\"delta_step\":-1,\"lag_ms\":0}");

	/* One that was never complete. */
	sp_the_model_double.files = SP_CORRUPT;
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	assert_told("\"full_step\":200,\"delta_step\":-1,\"state\":\"discovered\"");
	assert_told("\"newest\":{\"full_step\":200,");
	snprintf(path, sizeof(path), "%s/v1/model.ckpt-200.index", checkpoints);
	assert_int_equal(unlink(path), 0);
	sp_time_pass(20);
	assert_int_equal(lag_ms(), 0);
	assert_listed(200, -1, 0);
}

/* What may pass is tried again and again, and is one refusal. */
static void a_refusal_is_told_and_counted_once(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_IO, SP_IO, SP_IO, SP_IO,
					     SP_IO, SP_IO, SP_IO, SP_IO, SP_IO};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 10;
	make_full();
	start();
	make_delta(110);
	assert_told("\"state\":\"refused\"");
	sp_time_pass(1000);
	assert_int_equal(sp_the_model_double.loads, 3);
	assert_told("\"state\":\"refused\"");
	assert_told("\"refusals\":{\"io\":1},");
	assert_told("\"refused\":1},");
	assert_int_equal(count_lines(" is refused"), 1);
	/* Other files are another matter. */
	sp_checkpoint_folder_add_file(
		checkpoints, "v1/.incremental_checkpoint/incremental_model.ckpt-110.index", "x");
	assert_told("\"refusals\":{\"io\":2},");
	assert_int_equal(count_lines(" is refused"), 2);
}

/* Whatever it waits for: here for an hour to be over. */
static void closing_ends_the_wait(void **state)
{
	(void)state;
	config.update_poll_interval_ms = 3600000;
	make_full();
	start();
	let_it_look();
	sp_updater_close(updater);
	updater = NULL;
	assert_int_equal(sp_time_now_ms(), BEGIN_MS + 200);
}

/* ------------------------------------------------------------ what is to come */

static void remove_file(const char *name)
{
	char path[SP_PATH_SIZE + 100];

	snprintf(path, sizeof(path), "%s/%s", checkpoints, name);
	assert_int_equal(unlink(path), 0);
}

static void a_delta_waits_for_data_without_an_index_and_no_longer(void **state)
{
	(void)state;
	config.update_wait_for_full_seconds = 0.5;
	make_full();
	start();
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-105.data-00000-of-00002", "");
	make_delta(110);
	assert_told("\"full_step\":100,\"delta_step\":110,\"state\":\"discovered\"");
	assert_told(
		"delta 110 waits for full checkpoint 105, whose data is there without its index");
	assert_live(100, 110);
	assert_told("\"full_step\":100,\"delta_step\":110,\"state\":\"live\"");
	assert_not_told("discovered\",\"for_ms");
	/* The save went on after all. */
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-105.index", "");
	assert_live(105, 110);
}

/* As long as it waits; then the version that it belongs to is another. */
static void what_waits_no_longer_is_not_listed(void **state)
{
	(void)state;
	config.update_wait_for_full_seconds = 3600;
	make_full();
	start();
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-105.data-00000-of-00001", "");
	make_delta(110);
	assert_told("waits for full checkpoint 105");
	assert_live(100, -1);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-105.index", "");
	assert_live(105, 110);
	let_it_look();
	assert_not_told("waits for");
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.data-00000-of-00001", "");
	make_delta(210);
	assert_told("waits for full checkpoint 200");
	remove_file("v1/.incremental_checkpoint/incremental_model.ckpt-210.index");
	let_it_look();
	assert_not_told("waits for");
	assert_live(105, 110);
}

static void leftovers_hold_nothing_up(void **state)
{
	(void)state;
	config.update_wait_for_full_seconds = 3600;
	make_full();
	start();
	sp_checkpoint_folder_add_file(checkpoints,
				      "v1/model.ckpt-105.data-00000-of-00001.tempstate2092", "");
	sp_checkpoint_folder_add_file(checkpoints, "v1/.model.ckpt-105.data-00000-of-00001.crc",
				      "");
	make_delta(110);
	assert_live(100, 110);
}

/* ------------------------------------------------------- numbered SavedModels */

static void make_numbered(const char *number, const char *text)
{
	char name[64];

	sp_checkpoint_folder_add_folder(checkpoints, number);
	snprintf(name, sizeof(name), "%s/saved_model.pb", number);
	sp_checkpoint_folder_add_file(checkpoints, name, text);
}

static void numbered_savedmodels_are_served(void **state)
{
	char path[SP_PATH_SIZE + 32];
	(void)state;
	make_numbered("9", "");
	make_numbered("10", "");
	sp_checkpoint_folder_add_folder(checkpoints, "11"); /* on its way */
	sp_checkpoint_folder_add_folder(checkpoints, "tmp");
	config.savedmodel_dir = checkpoints;
	config.checkpoint_dir = NULL;
	start();
	assert_live(10, -1);
	assert_told("\"full_step\":11,\"delta_step\":-1,\"state\":\"discovered\"");
	assert_told("SavedModel 11 waits for ");
	sp_checkpoint_folder_add_file(checkpoints, "11/saved_model.pb", "");
	assert_live(11, -1);
	assert_non_null(strstr(sp_the_model_double.savedmodel_dir, "/11"));
	assert_int_equal(sp_the_model_double.opens, 2);
	assert_told("\"full_step\":10,\"delta_step\":-1,\"state\":\"retired\"");
	let_it_look();
	assert_int_equal(sp_the_model_double.alive, 2); /* the first model is gone */

	snprintf(path, sizeof(path), "%s/11/saved_model.pb", checkpoints);
	assert_int_equal(unlink(path), 0);
	assert_live(10, -1);
	assert_ok(sp_updater_pin(updater, 9, -1, NULL, &err), &err);
	assert_live(9, -1);
	assert_int_equal(sp_updater_pin(updater, 8, -1, NULL, &err), SP_NOT_FOUND);
	assert_ok(sp_updater_pin(updater, -1, -1, NULL, &err), &err);
	assert_live(10, -1);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(9, -1);
	let_it_look();
	assert_live(9, -1);
	make_numbered("12", "");
	assert_live(12, -1);
}

static atomic_size_t warnings; /* that name a number twice */

static void count_warnings(void *context, int level, const char *line)
{
	(void)context;
	if (level == SP_LOG_WARNING && strstr(line, "mean number") != NULL)
		atomic_fetch_add(&warnings, 1);
}

static void one_number_twice_is_told_once(void **state)
{
	(void)state;
	sp_log_set_sink(count_warnings, NULL);
	make_numbered("01", "");
	make_numbered("1", "");
	config.savedmodel_dir = checkpoints;
	config.checkpoint_dir = NULL;
	start();
	assert_live(1, -1);
	assert_non_null(strstr(sp_the_model_double.savedmodel_dir, "/1"));
	let_it_look();
	assert_int_equal(warnings, 1);
	make_numbered("9223372036854775807", "");
	assert_live(INT64_MAX, -1);
	assert_told("\"full_step\":9223372036854775807,");
	make_numbered("9223372036854775808", ""); /* no number */
	assert_ok(sp_updater_pin(updater, 1, -1, NULL, &err), &err);
	assert_live(1, -1);
	assert_ok(sp_updater_pin(updater, INT64_MAX, -1, NULL, &err), &err);
	assert_live(INT64_MAX, -1);
	assert_int_equal(warnings, 1);
}

static void one_goes_back_to_smaller_numbers(void **state)
{
	char path[SP_PATH_SIZE + 32];

	(void)state;
	make_numbered("7", "");
	make_numbered("9", "");
	make_numbered("12", "");
	config.savedmodel_dir = checkpoints;
	config.checkpoint_dir = NULL;
	start();
	assert_live(12, -1);
	assert_int_equal(sp_updater_pin(updater, 9, 3, NULL, &err), SP_NOT_FOUND);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(9, -1);
	assert_ok(sp_updater_rollback(updater, NULL, &err), &err);
	assert_live(7, -1);
	assert_int_equal(sp_updater_rollback(updater, NULL, &err), SP_NOT_FOUND);
	let_it_look();
	assert_live(7, -1);
	assert_told("\"newest\":{\"full_step\":12,");
	/* What one has gone back from is deleted. */
	snprintf(path, sizeof(path), "%s/12/saved_model.pb", checkpoints);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_told("\"newest\":{\"full_step\":9,");
	let_it_look();
	assert_listed(12, -1, 0);
	assert_listed(9, -1, 1);
}

static void a_numbered_savedmodel_may_be_broken(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT};

	(void)state;
	make_numbered("1", "");
	config.savedmodel_dir = checkpoints;
	config.checkpoint_dir = NULL;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 2;
	start();
	make_numbered("2", "");
	assert_told("\"full_step\":2,\"delta_step\":-1,\"state\":\"refused\"");
	assert_live(1, -1);
	sp_checkpoint_folder_add_file(checkpoints, "2/saved_model.pb", "other");
	assert_live(2, -1);
}

static void its_recorded_requests_are_answered_first(void **state)
{
	(void)state;
	make_numbered("1", "");
	sp_checkpoint_folder_add_folder(checkpoints, "1/assets.extra");
	sp_checkpoint_folder_add_file(checkpoints, "1/assets.extra/tf_serving_warmup_requests", "");
	config.savedmodel_dir = checkpoints;
	config.checkpoint_dir = NULL;
	start();
	sp_checkpoint_folder_add_folder(checkpoints, "2");
	sp_checkpoint_folder_add_folder(checkpoints, "2/assets.extra");
	sp_checkpoint_folder_add_file(checkpoints, "2/assets.extra/tf_serving_warmup_requests",
				      "no TFRecord");
	sp_checkpoint_folder_add_file(checkpoints, "2/saved_model.pb", "");
	assert_told("tf_serving_warmup_requests: record 0: it ends in the length of a record");
	assert_live(1, -1);
	sp_checkpoint_folder_add_file(checkpoints, "2/assets.extra/tf_serving_warmup_requests", "");
	assert_ok(sp_updater_reload(updater, NULL, &err), &err);
	assert_live(2, -1);
}

/* ------------------------------------------------------- files that change */

/* In place of the one in the source tree. */
static void make_savedmodel(void)
{
	sp_checkpoint_folder_add_folder(checkpoints, ".savedmodel");
	snprintf(savedmodel, sizeof(savedmodel), "%.4000s/.savedmodel", checkpoints);
	sp_text_models_write_file(savedmodel, "saved_model.pb", "");
	sp_text_models_write_file(savedmodel, "assets/words.txt", "one");
}

static void await_opens(size_t count)
{
	let_it_look();
	assert_int_equal(sp_the_model_double.opens, count);
}

static void a_graph_and_its_assets_are_read_anew_under_a_checkpoint(void **state)
{
	(void)state;
	make_savedmodel();
	make_full();
	make_delta(110);
	start();
	sp_text_models_write_file(savedmodel, "assets/words.txt", "one two");
	await_opens(2);
	assert_told("\"retired\":1");
	assert_live(100, 110);
	sp_text_models_write_file(savedmodel, "saved_model.pb", "other");
	await_opens(3);
	assert_live(100, 110);
	/* Those that come after it share what was read last. */
	make_delta(120);
	assert_live(100, 120);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	assert_live(200, -1);
	assert_int_equal(sp_the_model_double.opens, 3);
}

static void what_is_gone_is_not_read_anew(void **state)
{
	size_t loads;

	(void)state;
	make_savedmodel();
	make_full();
	start();
	loads = sp_the_model_double.loads;
	sp_temp_remove(savedmodel);
	let_it_look();
	assert_int_equal(sp_the_model_double.loads, loads);
	make_delta(110);
	assert_live(100, 110);
	assert_int_equal(sp_the_model_double.opens, 1);
}

static void change_an_asset(void)
{
	sp_text_models_write_file(savedmodel, "assets/words.txt", "one two");
}

static void a_change_while_it_is_loaded_is_seen(void **state)
{
	(void)state;
	make_savedmodel();
	make_full();
	sp_the_model_double.while_loading = change_an_asset;
	start();
	await_opens(2);
	assert_told("\"retired\":1");
	let_it_look();
	assert_int_equal(sp_the_model_double.opens, 2);
}

static void a_warm_up_that_was_mended_is_tried_again(void **state)
{
	(void)state;
	make_numbered("1", "");
	config.savedmodel_dir = checkpoints;
	config.checkpoint_dir = NULL;
	start();
	sp_checkpoint_folder_add_folder(checkpoints, "2");
	sp_checkpoint_folder_add_folder(checkpoints, "2/assets.extra");
	sp_checkpoint_folder_add_file(checkpoints, "2/assets.extra/tf_serving_warmup_requests",
				      "no TFRecord");
	sp_checkpoint_folder_add_file(checkpoints, "2/saved_model.pb", "");
	assert_told("\"state\":\"refused\"");
	sp_checkpoint_folder_add_file(checkpoints, "2/assets.extra/tf_serving_warmup_requests", "");
	assert_live(2, -1);
}

/* ------------------------------------------------- a folder that is not there */

static void rename_folder(const char *from, const char *to)
{
	assert_int_equal(rename(from, to), 0);
}

static bool is_live_still(int64_t full_step, int64_t delta_step)
{
	const sp_version *version = sp_published_pin(published, 0);
	bool same = version->full_step == full_step && version->delta_step == delta_step;

	sp_published_unpin(published, 0);
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
	snprintf(away, sizeof(away), "%s.away", checkpoints);
	make_full();
	start();
	make_delta(110);
	assert_live(100, 110);

	/* Not there; then no folder. */
	rename_folder(checkpoints, away);
	let_it_look();
	assert_true(is_live_still(100, 110));
	assert_int_equal(sp_updater_reload(updater, NULL, &err), SP_NOT_FOUND);
	sp_checkpoint_folder_add_file("/", checkpoints, "a file");
	let_it_look();
	assert_true(is_live_still(100, 110));
	assert_int_equal(unlink(checkpoints), 0);

	/* There, and empty. */
	assert_int_equal(mkdir(checkpoints, 0700), 0);
	let_it_look();
	assert_true(is_live_still(100, 110));
	assert_int_equal(rmdir(checkpoints), 0);

	rename_folder(away, checkpoints);
	make_delta(120);
	assert_live(100, 120);
	sp_checkpoint_folder_add_file(checkpoints, "v1/model.ckpt-200.index", "");
	assert_live(200, -1);
}

static void processors_to_keep_to(void **state)
{
	static const char *const wrong[] = {"", "x", "1-", "3-1", "0,", "0,,1", "0-99999", "-1"};

	(void)state;
	make_full();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		config.model_update_cpus = wrong[i];
		refuse(SP_INVALID, "model_update_cpus");
	}
	config.model_update_cpus = "0-1,0";
	config.model_update_nice = 3;
	start();
	make_delta(110);
	assert_live(100, 110);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(without_checkpoint_dir_the_savedmodel_serves),
		CASE(a_checkpoint_and_its_delta),
		CASE(without_a_savedmodel_nothing_is_waited_for),
		CASE(zero_minutes_do_not_wait),
		CASE(what_is_complete_and_broken_is_not_waited_for),
		CASE(a_warmup_file_that_cannot_be_read_is_not_waited_for),
		CASE(a_broken_delta_leaves_the_full_checkpoint),
		CASE(a_version_that_comes_late_is_found),
		CASE(a_delta_is_published_and_the_old_version_drains),
		CASE(a_refused_delta_is_tried_again_when_it_changes),
		CASE(a_full_checkpoint_that_is_written_anew_is_loaded_anew),
		CASE(orders),
		CASE(a_rollback_over_a_delta_loads_nothing),
		CASE(closing_ends_the_wait),
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
		CASE(what_is_deleted_is_no_alarm),
		CASE(a_refusal_is_told_and_counted_once),
		CASE(numbered_savedmodels_are_served),
		CASE(a_delta_waits_for_data_without_an_index_and_no_longer),
		CASE(what_waits_no_longer_is_not_listed),
		CASE(leftovers_hold_nothing_up),
		CASE(one_number_twice_is_told_once),
		CASE(one_goes_back_to_smaller_numbers),
		CASE(a_numbered_savedmodel_may_be_broken),
		CASE(its_recorded_requests_are_answered_first),
		CASE(a_graph_and_its_assets_are_read_anew_under_a_checkpoint),
		CASE(what_is_gone_is_not_read_anew),
		CASE(a_change_while_it_is_loaded_is_seen),
		CASE(a_warm_up_that_was_mended_is_tried_again),
		CASE(a_folder_may_be_away),
		CASE(processors_to_keep_to),
		CASE(an_order_that_fails_leaves_all_as_it_was),
	};

	return cmocka_run_group_tests_name("updater", tests, NULL, NULL);
}
