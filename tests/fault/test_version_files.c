/*
 * Checkpoints whose files are cut short, changed, exchanged or missing, while a
 * model is served and when it starts; trainers that delete what is being read.
 * Whatever there is, an answer is wholly of a version that was written whole.
 */
#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/row_model.h"

enum { KEYS = 60 };

static const char config[] = ", \"update_poll_interval_ms\": 10";
static sp_row_model rows;

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	(void)state;
	sp_row_model_init(&rows, KEYS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_row_model_fini(&rows);
	return 0;
}

static double ask(void)
{
	return sp_row_model_ask(&rows, rows.keys, KEYS);
}

/* ------------------------------------------------------------- what is done to files */

/* A file of the full checkpoint, or of the delta on it. */
static const char *path_of(int full, int delta, const char *ending)
{
	static char path[SP_PATH_SIZE + 64];
	char prefix[SP_PATH_SIZE];

	sp_row_model_prefix(&rows, full, delta, prefix);
	snprintf(path, sizeof(path), "%s.%s", prefix, ending);
	return path;
}

#define INDEX "index"
#define DATA  "data-00000-of-00001"

static off_t size_of(const char *path)
{
	struct stat info;

	assert_int_equal(stat(path, &info), 0);
	return info.st_size;
}

static void cut(const char *path, off_t size)
{
	assert_int_equal(truncate(path, size), 0);
}

static void flip(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void exchange(const char *ending)
{
	char a[SP_PATH_SIZE + 64], b[SP_PATH_SIZE + 64], c[SP_PATH_SIZE + 64];

	snprintf(a, sizeof(a), "%s", path_of(1, 1, ending));
	snprintf(b, sizeof(b), "%s", path_of(1, 2, ending));
	snprintf(c, sizeof(c), "%.4000s.exchanged", a);
	assert_int_equal(rename(a, c), 0);
	assert_int_equal(rename(b, a), 0);
	assert_int_equal(rename(c, b), 0);
}

/* Until the updater has looked twice, an answer is one of the two, and whole. */
static void assert_answers(double old, double new)
{
	for (int i = 0; i < 8; i++) {
		double value = ask();

		if (value != old && value != new)
			fail_msg("%g answers, neither %g nor %g", value, old, new);
		usleep(5000);
	}
}

/* ---------------------------------------------------------------------- while serving */

/* Spoils a delta in one of many ways; false when there are no more. */
static bool spoil(int delta, int way)
{
	off_t index = size_of(path_of(1, delta, INDEX)), data = size_of(path_of(1, delta, DATA));

	if (way < 8) {
		cut(path_of(1, delta, DATA), data * way / 8);
	} else if (way < 16) {
		cut(path_of(1, delta, INDEX), index * (way - 8) / 8);
	} else if (way < 32) {
		flip(path_of(1, delta, DATA), data * (way - 16) / 16);
	} else if (way < 48) {
		flip(path_of(1, delta, INDEX), index * (way - 32) / 16);
	} else if (way == 48) {
		unlink(path_of(1, delta, DATA));
	} else if (way == 49) {
		unlink(path_of(1, delta, INDEX));
	} else if (way == 50) {
		unlink(path_of(1, delta, DATA));
		mkdir(path_of(1, delta, DATA), 0700);
	} else {
		return false;
	}
	return true;
}

static void hold(void)
{
	assert_int_equal(serving_processor_give_order(rows.model, SERVING_PROCESSOR_PIN, 1000, -1,
						      NULL, NULL),
			 0);
}

static void let_go(void)
{
	assert_int_equal(
		serving_processor_give_order(rows.model, SERVING_PROCESSOR_PIN, -1, -1, NULL, NULL),
		0);
}

/* A flipped bit that means nothing may leave a delta as good as it was. */
static void broken_deltas_are_never_served(void **state)
{
	bool more = true;

	(void)state;
	sp_row_model_open(&rows, config);
	for (int way = 0; more; way++) {
		hold();
		sp_row_model_write_delta(&rows, 1, 1);
		more = spoil(1, way);
		let_go();
		assert_answers(1000, 1001);
		hold();
		rmdir(path_of(1, 1, DATA));
		sp_row_model_remove(&rows, 1, 1);
	}
	let_go();
	assert_answers(1000, 1000);
	sp_row_model_write_delta(&rows, 1, 1);
	assert_true(sp_row_model_await(&rows, 1001));
}

static void files_of_two_deltas_are_not_one(void **state)
{
	(void)state;
	sp_row_model_write_delta(&rows, 1, 1);
	sp_row_model_write_delta(&rows, 1, 2);
	exchange(DATA);
	sp_row_model_open(&rows, config);
	assert_true(ask() == 1000); /* the full checkpoint, without either */
	exchange(DATA);
	assert_true(sp_row_model_await(&rows, 1002));
}

static void a_broken_checkpoint_is_no_start(void **state)
{
	(void)state;
	flip(path_of(1, 0, DATA), 20);
	sp_row_model_open(&rows, config);
	assert_null(rows.model);
	sp_row_model_write_full(&rows, 1);
	cut(path_of(1, 0, DATA), 20);
	sp_row_model_open(&rows, config);
	assert_null(rows.model);
	sp_row_model_write_full(&rows, 1);
	sp_row_model_open(&rows, config);
	assert_true(ask() == 1000);
}

static void the_next_checkpoint_may_be_broken(void **state)
{
	(void)state;
	sp_row_model_open(&rows, config);
	hold();
	sp_row_model_write_full(&rows, 2);
	flip(path_of(2, 0, DATA), 300);
	let_go();
	assert_answers(1000, 1000);
	sp_row_model_write_full(&rows, 2);
	assert_true(sp_row_model_await(&rows, 2000));
}

/* --------------------------------------------------------------------- guards */

static void weights_that_are_no_numbers_are_refused(void **state)
{
	sp_rows_version version = {.keys = rows.keys, .count = 4, .value = NAN, .is_delta = 1};
	char prefix[SP_PATH_SIZE];

	(void)state;
	sp_row_model_open(&rows,
			  ", \"update_check_finite\": true, \"update_poll_interval_ms\": 10");
	sp_row_model_prefix(&rows, 1, 1, prefix);
	version.prefix = prefix;
	sp_checkpoint_write_rows(&version);
	assert_answers(1000, 1000);
	sp_row_model_write_delta(&rows, 1, 2);
	assert_true(sp_row_model_await(&rows, 1002));
}

/* From 1000 to 1001 the products move by 64 thousand, from 1000 to 2000 by 192 million. */
static void scores_that_leap_are_refused(void **state)
{
	char more[2 * SP_PATH_SIZE], request[SP_PATH_SIZE];
	char *json;

	(void)state;
	snprintf(more, sizeof(more),
		 ", \"update_poll_interval_ms\": 10, \"update_replay_file\": \"%s\","
		 "\"update_max_score_change\": 100000",
		 sp_source_path(request, "tests/golden/ev-rows/requests/000.request.pb"));
	sp_row_model_open(&rows, more);
	sp_row_model_write_delta(&rows, 1, 1);
	assert_true(sp_row_model_await(&rows, 1001));
	sp_row_model_write_full(&rows, 2);
	assert_answers(1001, 1001);
	usleep(100 * 1000);
	json = serving_processor_versions(rows.model);
	assert_non_null(strstr(json, "update_max_score_change"));
	serving_processor_free(json);
	/* An order is obeyed only if the guard agrees. */
	assert_int_equal(serving_processor_give_order(rows.model, SERVING_PROCESSOR_RELOAD, -1, -1,
						      NULL, NULL),
			 SERVING_PROCESSOR_CORRUPT);
	assert_answers(1001, 1001);
}

/* -------------------------------------------------------------- what trainers do */

static void a_trainer_deletes_what_is_served(void **state)
{
	(void)state;
	sp_row_model_open(&rows, config);
	sp_row_model_write_delta(&rows, 1, 1);
	assert_true(sp_row_model_await(&rows, 1001));
	/* Of the full checkpoint the index stays, or there is nothing a delta lies on. */
	assert_int_equal(unlink(path_of(1, 0, DATA)), 0);
	sp_row_model_remove(&rows, 1, 1);
	assert_answers(1001, 1001);
	sp_row_model_write_delta(&rows, 1, 2);
	assert_true(sp_row_model_await(&rows, 1002));
	sp_row_model_remove(&rows, 1, 2);
	sp_row_model_remove(&rows, 1, 0);
	assert_answers(1002, 1002);
	sp_row_model_write_full(&rows, 2);
	assert_true(sp_row_model_await(&rows, 2000));
}

/* Copied in the wrong order: the delta lies on a full checkpoint that is not there yet. */
static void a_delta_waits_for_its_full_checkpoint(void **state)
{
	char index[SP_PATH_SIZE + 64], aside[SP_PATH_SIZE + 64];

	(void)state;
	sp_row_model_open(&rows, config);
	hold();
	sp_row_model_write_full(&rows, 2);
	snprintf(index, sizeof(index), "%s", path_of(2, 0, INDEX));
	snprintf(aside, sizeof(aside), "%s/index", rows.work);
	assert_int_equal(rename(index, aside), 0);
	sp_row_model_write_delta(&rows, 2, 5);
	let_go();
	assert_answers(1000, 1000);
	assert_int_equal(rename(aside, index), 0);
	assert_true(sp_row_model_await(&rows, 2005));
}

/* A delta that is still being copied: its new full checkpoint is served alone meanwhile. */
static void a_full_checkpoint_does_not_wait_for_its_delta(void **state)
{
	char data[SP_PATH_SIZE + 64], aside[SP_PATH_SIZE + 64];

	(void)state;
	sp_row_model_open(&rows, config);
	hold();
	sp_row_model_write_full(&rows, 2);
	sp_row_model_write_delta(&rows, 2, 5);
	snprintf(data, sizeof(data), "%s", path_of(2, 5, DATA));
	snprintf(aside, sizeof(aside), "%s/data", rows.work);
	assert_int_equal(rename(data, aside), 0);
	let_go();
	assert_true(sp_row_model_await(&rows, 2000));
	assert_answers(2000, 2000);
	assert_int_equal(rename(aside, data), 0);
	assert_true(sp_row_model_await(&rows, 2005));
}

static void the_folder_goes_and_comes_back(void **state)
{
	char away[SP_PATH_SIZE];

	(void)state;
	sp_row_model_open(&rows, config);
	snprintf(away, sizeof(away), "%.3000s/away", rows.work);
	assert_int_equal(rename(rows.checkpoints, away), 0);
	assert_answers(1000, 1000);
	assert_int_equal(rename(away, rows.checkpoints), 0);
	sp_row_model_write_delta(&rows, 1, 3);
	assert_true(sp_row_model_await(&rows, 1003));
}

/* Times of change matter between folders only; in one folder steps do. */
static void a_clock_that_goes_back_hides_nothing(void **state)
{
	char checkpoint[SP_PATH_SIZE + 64];
	struct timespec future[2] = {{.tv_sec = 4000000000}, {.tv_sec = 4000000000}};

	(void)state;
	snprintf(checkpoint, sizeof(checkpoint), "%s/v1/checkpoint", rows.checkpoints);
	assert_int_equal(utimensat(AT_FDCWD, checkpoint, future, 0), 0);
	sp_row_model_open(&rows, config);
	sp_row_model_write_delta(&rows, 1, 1);
	assert_true(sp_row_model_await(&rows, 1001));
	sp_row_model_write_full(&rows, 2);
	assert_true(sp_row_model_await(&rows, 2000));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(broken_deltas_are_never_served),
		CASE(files_of_two_deltas_are_not_one),
		CASE(a_broken_checkpoint_is_no_start),
		CASE(the_next_checkpoint_may_be_broken),
		CASE(weights_that_are_no_numbers_are_refused),
		CASE(scores_that_leap_are_refused),
		CASE(a_trainer_deletes_what_is_served),
		CASE(a_delta_waits_for_its_full_checkpoint),
		CASE(a_full_checkpoint_does_not_wait_for_its_delta),
		CASE(the_folder_goes_and_comes_back),
		CASE(a_clock_that_goes_back_hides_nothing),
	};

	serving_processor_set_log(ignore_line, NULL);
	return cmocka_run_group_tests_name("version_files", tests, NULL, NULL);
}
