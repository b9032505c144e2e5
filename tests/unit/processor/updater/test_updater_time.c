#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/model_double.h"
#include "tests/support/text_models.h"
#include "tests/support/time_double.h"
#include "tests/support/updater_scene.h"

/*
 * What the updater does with hours: looks, retries and lines in the log, on a
 * clock of the test's own.  Nothing here takes the time that it is about.
 */
enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
#define HOURS(n) ((int64_t)(n)*HOUR)

static char folder[SP_PATH_SIZE + 16]; /* of versions */
static atomic_size_t lines;
static char awaited[128];
static atomic_bool told; /* whether a line has held it */

static void watch_log(void *context, int level, const char *line)
{
	(void)context;
	if (level < SP_LOG_INFO)
		return;
	atomic_fetch_add(&lines, 1);
	if (strstr(line, awaited) != NULL)
		atomic_store(&told, true);
}

static void await_line(const char *text)
{
	snprintf(awaited, sizeof(awaited), "%s", text);
	atomic_store(&told, false);
	atomic_store(&lines, 0);
}

/* Another log, other times, and a folder that is not there yet. */
static int set_up(void **state)
{
	sp_scene_set_up(state);
	await_line("no such line");
	sp_log_set_sink(watch_log, NULL);
	sp_scene.config.update_poll_interval_ms = SECOND;
	snprintf(folder, sizeof(folder), "%s/checkpoints", sp_scene.checkpoints);
	sp_scene.config.checkpoint_dir = folder;
	sp_time_begin(0, NULL);
	return 0;
}

static void make_full(void)
{
	sp_checkpoint_folder_make(folder);
	sp_checkpoint_folder_add_file(folder, "v1/model.ckpt-100.index", "");
}

static sp_status open_updater(void)
{
	return sp_updater_open(&sp_scene.updater, &sp_scene.config, sp_scene.published,
			       &sp_scene.err);
}

static void assert_live(int64_t full_step, int64_t delta_step)
{
	const sp_version *version = sp_published_pin(sp_scene.published, 0);

	assert_int_equal(version->full_step, full_step);
	assert_int_equal(version->delta_step, delta_step);
	sp_published_unpin(sp_scene.published, 0);
}

/* ------------------------------------------------------------ init_timeout_minutes */

static void one_minute_is_a_minute(void **state)
{
	(void)state;
	sp_scene.config.init_timeout_minutes = 1;
	await_line("waiting for a complete version");
	assert_int_equal(open_updater(), SP_NOT_FOUND);
	assert_non_null(strstr(sp_scene.err.text, "after 1 minutes"));
	assert_int_equal(sp_time_now_ms(), MINUTE);
	assert_int_equal(sp_time_waits(), MINUTE / SECOND);
	assert_true(told);
	assert_true(lines <= 2);
}

static void come_in_the_evening(int64_t now_ms)
{
	if (now_ms == HOURS(10))
		make_full();
}

/* For ever is ten hours, with a line a minute. */
static void minus_one_waits_for_ever(void **state)
{
	(void)state;
	sp_scene.config.init_timeout_minutes = -1;
	sp_time_begin(0, come_in_the_evening);
	await_line("waiting for a complete version");
	(void)sp_scene_start();
	assert_int_equal(sp_time_now_ms(), HOURS(10) + SECOND);
	assert_true(told);
	assert_in_range(lines, 590, 610);
	assert_live(100, -1);
}

/* A shard that is missing is waited for as long as the folder is. */
static void what_is_not_complete_is_waited_for(void **state)
{
	(void)state;
	make_full();
	sp_scene.config.init_timeout_minutes = 3;
	sp_the_model_double.files = SP_CORRUPT;
	assert_int_equal(open_updater(), SP_CORRUPT);
	assert_int_equal(sp_time_now_ms(), 3 * MINUTE);
	assert_int_equal(sp_the_model_double.loads, 0);
	assert_true(lines <= 10);
}

/* Of another model, with all its files: there is nothing that time would mend. */
static void what_cannot_be_loaded_is_not_waited_for(void **state)
{
	static const sp_status statuses[] = {SP_NOT_FOUND};

	(void)state;
	make_full();
	sp_scene.config.init_timeout_minutes = -1;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 1;
	assert_int_equal(open_updater(), SP_NOT_FOUND);
	assert_non_null(strstr(sp_scene.err.text, "load 1 says not_found"));
	assert_int_equal(sp_time_now_ms(), 0);
	assert_int_equal(sp_time_waits(), 0);
}

/* ----------------------------------------------------------------- an hour without */

static void start(void)
{
	make_full();
	(void)sp_scene_start();
	sp_time_pass(0);
}

/* Looked for every second, told of twice, found within the next. */
static void an_hour_away(void (*take_away)(const char *), void (*bring_back)(const char *))
{
	char away[SP_PATH_SIZE + 16];
	size_t waits;

	snprintf(away, sizeof(away), "%s/away", sp_scene.checkpoints);
	start();
	sp_checkpoint_folder_add_delta(folder, 110);
	sp_time_pass(SECOND);
	assert_live(100, 110);
	sp_checkpoint_folder_add_delta(folder, 120);
	take_away(away);
	await_line("the old one stays live");
	waits = sp_time_waits();
	sp_time_pass(HOUR);
	assert_live(100, 110);
	assert_int_equal(sp_time_waits() - waits, HOUR / SECOND);
	assert_true(told);
	assert_int_equal(lines, 1);
	bring_back(away);
	await_line("can be looked for again");
	sp_time_pass(SECOND);
	assert_live(100, 120);
	assert_true(told);
	sp_time_pass(HOUR);
	assert_true(lines <= 10);
	assert_int_equal(sp_the_model_double.fulls, 1);
}

static void move_away(const char *away)
{
	assert_int_equal(rename(folder, away), 0);
}

static void move_back(const char *away)
{
	assert_int_equal(rename(away, folder), 0);
}

static void a_folder_is_gone_for_an_hour(void **state)
{
	(void)state;
	an_hour_away(move_away, move_back);
}

/* A link to itself cannot be read by anybody, the superuser neither. */
static void make_unreadable(const char *away)
{
	move_away(away);
	assert_int_equal(symlink(folder, folder), 0);
}

static void make_readable(const char *away)
{
	assert_int_equal(unlink(folder), 0);
	move_back(away);
}

static void a_folder_is_unreadable_for_an_hour(void **state)
{
	(void)state;
	an_hour_away(make_unreadable, make_readable);
}

/* ------------------------------------------------------------- an hour of waiting */

/* Said when it begins, and once a minute. */
static void a_delta_without_its_shard_is_told_every_minute(void **state)
{
	(void)state;
	sp_scene.config.update_poll_interval_ms = HOUR;
	start();
	sp_the_model_double.files = SP_CORRUPT;
	sp_checkpoint_folder_add_delta(folder, 110);
	await_line("version 100+110 is discovered (discovered for ");
	sp_time_pass(HOUR);
	assert_live(100, -1);
	sp_time_pass(MINUTE);
	assert_true(told);
	atomic_store(&lines, 0);
	sp_time_pass(HOUR);
	assert_in_range(lines, 58, 62);
	sp_the_model_double.files = SP_OK;
	sp_checkpoint_folder_add_file(
		folder, "v1/.incremental_checkpoint/incremental_model.ckpt-110.index", "x");
	sp_time_pass(MINUTE);
	assert_live(100, 110);
	await_line("discovered");
	sp_time_pass(HOUR);
	assert_false(told);
}

static void a_delta_that_waits_for_a_full_checkpoint_is_told_every_minute(void **state)
{
	(void)state;
	sp_scene.config.update_wait_for_full_seconds = 31536000;
	start();
	sp_checkpoint_folder_add_file(folder, "v1/model.ckpt-105.data-00000-of-00002", "");
	sp_checkpoint_folder_add_delta(folder, 110);
	await_line("waits for full checkpoint 105");
	sp_time_pass(SECOND);
	assert_true(told);
	atomic_store(&lines, 0);
	sp_time_pass(HOUR);
	assert_in_range(lines, 58, 62);
	assert_live(100, -1);
}

/* ------------------------------------------------------------------------- retries */

/* Once more after three seconds, and then not before its files change. */
static void a_broken_version_is_tried_twice(void **state)
{
	static const sp_status statuses[] = {SP_OK, SP_CORRUPT, SP_CORRUPT};

	(void)state;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 3;
	start();
	sp_checkpoint_folder_add_delta(folder, 110);
	sp_time_pass(SECOND);
	assert_int_equal(sp_the_model_double.loads, 2);
	sp_time_pass(2 * SECOND);
	assert_int_equal(sp_the_model_double.loads, 2);
	sp_time_pass(2 * SECOND);
	assert_int_equal(sp_the_model_double.loads, 3);
	await_line("no such line");
	sp_time_pass(HOUR);
	assert_int_equal(sp_the_model_double.loads, 3);
	assert_int_equal(lines, 0);
	assert_live(100, -1);
	sp_checkpoint_folder_add_file(
		folder, "v1/.incremental_checkpoint/incremental_model.ckpt-110.index", "x");
	sp_time_pass(SECOND);
	assert_live(100, 110);
}

/* A disk that is out of order for an hour: 1, 2, 4, ... 60, 60 seconds, and good again by itself.
 */
static void what_may_pass_is_tried_ever_less_often(void **state)
{
	static sp_status statuses[100];

	(void)state;
	for (size_t i = 1; i < 100; i++)
		statuses[i] = SP_IO;
	sp_the_model_double.statuses = statuses;
	sp_the_model_double.status_count = 100;
	start();
	sp_checkpoint_folder_add_delta(folder, 110);
	sp_time_pass(HOUR);
	assert_in_range(sp_the_model_double.loads, 60, 70);
	assert_true(lines <= 2 * 70);
	assert_live(100, -1);
	sp_the_model_double.status_count = 0;
	sp_time_pass(MINUTE + SECOND);
	assert_live(100, 110);
}

/* ----------------------------------------------------------------------- settling */

enum { SETTLE = 10 * MINUTE };

static void write_asset(const char *text)
{
	sp_text_models_write_file(sp_scene.savedmodel, "assets/words.txt", text);
}

/* Written by a machine whose clock is hours ahead: it is as old as we have seen it to be. */
static void write_future_asset(const char *text)
{
	const struct timespec ahead = {.tv_sec = time(NULL) + 100000};
	const struct timespec times[] = {ahead, ahead};
	char path[SP_PATH_SIZE + 32];

	write_asset(text);
	snprintf(path, sizeof(path), "%s/assets/words.txt", sp_scene.savedmodel);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_savedmodel(void)
{
	snprintf(sp_scene.savedmodel, sizeof(sp_scene.savedmodel), "%.4000s/savedmodel",
		 sp_scene.checkpoints);
	sp_text_models_write_file(sp_scene.savedmodel, "saved_model.pb", "");
	write_future_asset("one");
	sp_scene.config.savedmodel_settle_ms = SETTLE;
}

static void the_first_version_settles(void **state)
{
	(void)state;
	make_savedmodel();
	await_line("has just changed");
	start();
	assert_int_equal(sp_time_now_ms(), SETTLE);
	assert_true(told);
	assert_in_range(lines, 5, 20);
	assert_live(100, -1);
}

static void so_does_a_savedmodel_alone(void **state)
{
	(void)state;
	make_savedmodel();
	sp_scene.config.checkpoint_dir = NULL;
	(void)sp_scene_start();
	assert_int_equal(sp_time_now_ms(), SETTLE);
}

static void grow(int64_t now_ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%*s", (int)(1 + now_ms / SECOND % 7), "x");
	write_future_asset(text);
}

static void what_never_settles_is_not_waited_for_for_ever(void **state)
{
	(void)state;
	make_savedmodel();
	make_full();
	sp_time_begin(0, grow);
	assert_int_equal(open_updater(), SP_BUSY);
	assert_int_equal(sp_time_now_ms(), SETTLE);
	assert_non_null(strstr(sp_scene.err.text, "no complete version in checkpoint_dir"));
	assert_non_null(strstr(sp_scene.err.text, "savedmodel_settle_ms"));
	assert_int_equal(sp_the_model_double.loads, 0);
}

/* Deltas do not wait meanwhile: the graph in memory is what it was. */
static void what_changes_settles_before_it_is_read_anew(void **state)
{
	(void)state;
	make_savedmodel();
	start();
	assert_int_equal(sp_the_model_double.opens, 1);
	sp_checkpoint_folder_add_delta(folder, 110);
	sp_time_pass(SECOND);
	assert_live(100, 110);
	write_future_asset("three");
	sp_time_pass(SETTLE / 2);
	write_future_asset("eleven");
	sp_time_pass(SETTLE - MINUTE);
	assert_int_equal(sp_the_model_double.opens, 1);
	sp_time_pass(2 * MINUTE);
	assert_int_equal(sp_the_model_double.opens, 2);
	assert_live(100, 110);
	sp_time_pass(2 * SETTLE);
	assert_int_equal(sp_the_model_double.opens, 2);
}

/* -------------------------------------------------------------------------- clocks */

/* A monotonic clock that leaps ahead, as after a pause of the machine, is one look. */
static void a_clock_that_leaps_ahead_is_no_storm(void **state)
{
	size_t waits;

	(void)state;
	start();
	waits = sp_time_waits();
	sp_time_leap(HOURS(100));
	sp_checkpoint_folder_add_delta(folder, 110);
	sp_time_pass(SECOND);
	assert_live(100, 110);
	assert_true(sp_time_waits() - waits <= 2);
}

/* The system promises that it never goes back; should it, what is new is found all the same. */
static void a_clock_that_goes_back_stops_nothing(void **state)
{
	(void)state;
	sp_time_begin(HOURS(1000), NULL);
	start();
	sp_time_leap(-HOURS(100));
	sp_checkpoint_folder_add_delta(folder, 110);
	sp_time_pass(2 * SECOND);
	assert_live(100, 110);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, sp_scene_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(one_minute_is_a_minute),
		CASE(minus_one_waits_for_ever),
		CASE(what_is_not_complete_is_waited_for),
		CASE(what_cannot_be_loaded_is_not_waited_for),
		CASE(a_delta_without_its_shard_is_told_every_minute),
		CASE(a_delta_that_waits_for_a_full_checkpoint_is_told_every_minute),
		CASE(a_folder_is_gone_for_an_hour),
		CASE(a_folder_is_unreadable_for_an_hour),
		CASE(a_broken_version_is_tried_twice),
		CASE(what_may_pass_is_tried_ever_less_often),
		CASE(the_first_version_settles),
		CASE(so_does_a_savedmodel_alone),
		CASE(what_never_settles_is_not_waited_for_for_ever),
		CASE(what_changes_settles_before_it_is_read_anew),
		CASE(a_clock_that_leaps_ahead_is_no_storm),
		CASE(a_clock_that_goes_back_stops_nothing),
	};

	return cmocka_run_group_tests_name("updater_time", tests, NULL, NULL);
}
