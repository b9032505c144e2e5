/*
 * What can happen to a version's files, at every step of loading it: each fault
 * just before each call by which the library reaches a file.  Whatever the two
 * are, an answer is wholly of a version that was written whole, nothing crashes,
 * and the next version that is whole is served.
 *
 * SP_FAULT_STEPS in the environment: 1 tries every step, 7 every seventh of them,
 * from where the seed says; else it is a few seconds' worth.
 */
#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/fault/file_steps.h"
#include "tests/support/row_model.h"

/* Three pieces of rows. */
enum { KEYS = 3000 };

static sp_row_model rows;

/* The version that is loaded: full checkpoint `full`, or delta `delta` on it. */
static int full, delta;
static char spare[SP_PATH_SIZE];  /* prefix of another good version for the same place */
static char before[SP_PATH_SIZE]; /* prefix of a copy of the one that came before */

static const char *const endings[] = {"index", "data-00000-of-00002", "data-00001-of-00002"};
enum { INDEX, FIRST, SECOND, FILES };

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static const char *file_of(const char *prefix, int which, char out[SP_PATH_SIZE + 64])
{
	snprintf(out, SP_PATH_SIZE + 64, "%s.%s", prefix, endings[which]);
	return out;
}

static const char *file(int which, char out[SP_PATH_SIZE + 64])
{
	char prefix[SP_PATH_SIZE];

	sp_row_model_prefix(&rows, full, delta, prefix);
	return file_of(prefix, which, out);
}

/* ---------------------------------------------------------------------- the faults */

static unsigned seed = 7;

static void cut(int which)
{
	char path[SP_PATH_SIZE + 64];
	struct stat info;

	if (stat(file(which, path), &info) == 0)
		(void)!truncate(path, (off_t)rand_r(&seed) % (info.st_size + 1));
}

static void flip(int which)
{
	char path[SP_PATH_SIZE + 64];
	int fd = open(file(which, path), O_RDWR);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0, at = rand_r(&seed) % (size + 1);
	unsigned char byte;

	if (size != 0 && pread(fd, &byte, 1, at) == 1) {
		byte ^= (unsigned char)(1 << rand_r(&seed) % 8);
		(void)!pwrite(fd, &byte, 1, at);
	}
	if (fd >= 0)
		close(fd);
}

static void delete (int which)
{
	char path[SP_PATH_SIZE + 64];

	unlink(file(which, path));
}

/* The file of another version gets its name, in one step. */
static void take_from(const char *prefix, int which)
{
	char from[SP_PATH_SIZE + 64], to[SP_PATH_SIZE + 64];

	rename(file_of(prefix, which, from), file(which, to));
}

static void cut_index(void)
{
	cut(INDEX);
}

static void cut_keys(void)
{
	cut(FIRST);
}

static void cut_rows(void)
{
	cut(SECOND);
}

static void flip_index(void)
{
	flip(INDEX);
}

static void flip_keys(void)
{
	flip(FIRST);
}

static void flip_rows(void)
{
	flip(SECOND);
}

static void delete_index(void)
{
	delete (INDEX);
}

static void delete_keys(void)
{
	delete (FIRST);
}

static void delete_rows(void)
{
	delete (SECOND);
}

static void delete_all(void)
{
	for (int i = 0; i < FILES; i++)
		delete (i);
}

static void exchange_shards(void)
{
	char a[SP_PATH_SIZE + 64], b[SP_PATH_SIZE + 64];

	syscall(SYS_renameat2, AT_FDCWD, file(FIRST, a), AT_FDCWD, file(SECOND, b),
		2 /* RENAME_EXCHANGE */);
}

static void index_of_before(void)
{
	take_from(before, INDEX);
}

static void rows_of_before(void)
{
	take_from(before, SECOND);
}

/* A trainer that starts again writes the same names. */
static void write_anew(void)
{
	for (int i = FILES; i-- > 0;)
		take_from(spare, i);
}

static void overwrite_rows(void)
{
	char from[SP_PATH_SIZE + 64], to[SP_PATH_SIZE + 64], bytes[4096];
	int in = open(file_of(spare, SECOND, from), O_RDONLY);
	int out = open(file(SECOND, to), O_WRONLY);
	ssize_t n;

	while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof(bytes))) > 0)
		(void)!write(out, bytes, (size_t)n);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
}

static const struct {
	const char *name;
	void (*act)(void);
} faults[] = {
	{"index cut short", cut_index},
	{"keys cut short", cut_keys},
	{"rows cut short", cut_rows},
	{"a bit of the index", flip_index},
	{"a bit of the keys", flip_keys},
	{"a bit of the rows", flip_rows},
	{"index deleted", delete_index},
	{"keys deleted", delete_keys},
	{"rows deleted", delete_rows},
	{"all deleted", delete_all},
	{"shards exchanged", exchange_shards},
	{"index of another version", index_of_before},
	{"rows of another version", rows_of_before},
	{"all written anew", write_anew},
	{"rows overwritten in place", overwrite_rows},
};

enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

/* ------------------------------------------------------------------------ one run */

static int stride(void)
{
	const char *wanted = getenv("SP_FAULT_STEPS");

	return wanted != NULL && atoi(wanted) > 0 ? atoi(wanted) : 41;
}

/* The files just written get another name, outside the checkpoints. */
static void put_aside(const char *name, char prefix[SP_PATH_SIZE])
{
	char from[SP_PATH_SIZE + 64], to[SP_PATH_SIZE + 64];

	snprintf(prefix, SP_PATH_SIZE, "%.2000s/%s", rows.work, name);
	for (int i = 0; i < FILES; i++)
		assert_int_equal(rename(file(i, from), file_of(prefix, i, to)), 0);
}

static void write_version(int f, int d)
{
	full = f;
	delta = d;
	if (d != 0)
		sp_row_model_write_delta(&rows, f, d);
	else
		sp_row_model_write_full(&rows, f);
}

/* Version f+d, and what the faults need beside it: two others of the same size. */
static void prepare(int f, int d)
{
	write_version(d != 0 ? f : f + 100, d != 0 ? d + 100 : 0);
	put_aside("spare", spare);
	write_version(d != 0 ? f : f + 200, d != 0 ? d + 200 : 0);
	put_aside("before", before);
	write_version(f, d);
}

static double value_of(int f, int d)
{
	return 1000.0 * f + d;
}

static double spare_value(void)
{
	return delta != 0 ? value_of(full, delta + 100) : value_of(full + 100, 0);
}

static void hold(int f)
{
	assert_int_equal(serving_processor_give_order(rows.model, SERVING_PROCESSOR_PIN, 1000 * f,
						      -1, NULL, NULL),
			 0);
}

static void let_go(void)
{
	assert_int_equal(
		serving_processor_give_order(rows.model, SERVING_PROCESSOR_PIN, -1, -1, NULL, NULL),
		0);
}

/* Until the updater has nothing more to do. */
static void settle(void)
{
	for (int i = 0; i < 20000 && sp_steps_rests() < 3; i++)
		usleep(500);
	assert_true(sp_steps_rests() >= 3);
}

/* Every answer is of one of the versions that were whole. */
static void check_answers(double old, size_t fault, size_t step)
{
	double value = 0;

	for (size_t i = 0; i < KEYS; i += 250) {
		value = sp_row_model_ask(&rows, rows.keys + i, 250);
		if (value != old && value != value_of(full, delta) && value != spare_value())
			fail_msg("%s before step %zu: %g answers", faults[fault].name, step, value);
	}
	if (!sp_steps_acted() && value != value_of(full, delta))
		fail_msg("%s: %g is live, and nothing has happened", faults[fault].name, value);
}

/* A full checkpoint that is written anew is noticed, whatever had been read of it by then. */
static void check_news(size_t fault)
{
	if (faults[fault].act == write_anew && !sp_row_model_await(&rows, spare_value()))
		fail_msg("%s, and nobody notices", faults[fault].name);
}

/* ------------------------------------------------------------------- the three ways in */

/* Each tries a fault before a step; false when there are not so many steps. */
typedef bool attempt(size_t fault, size_t step);

static bool load_delta(size_t fault, size_t step)
{
	bool acted;

	hold(1);
	prepare(1, 1);
	sp_steps_begin(step, faults[fault].act, false);
	let_go();
	settle();
	sp_steps_end();
	acted = sp_steps_acted();
	check_answers(value_of(1, 0), fault, step);

	hold(1);
	sp_row_model_remove(&rows, 1, 1);
	sp_row_model_write_delta(&rows, 1, 2);
	let_go();
	assert_true(sp_row_model_await(&rows, value_of(1, 2)));
	hold(1);
	sp_row_model_remove(&rows, 1, 2);
	return acted;
}

static int live = 1; /* full checkpoint */

static bool load_full(size_t fault, size_t step)
{
	bool acted;

	hold(live);
	prepare(live + 1, 0);
	sp_steps_begin(step, faults[fault].act, false);
	let_go();
	settle();
	sp_steps_end();
	acted = sp_steps_acted();
	check_answers(value_of(live, 0), fault, step);
	if (acted)
		check_news(fault);

	sp_row_model_write_full(&rows, live + 2);
	assert_true(sp_row_model_await(&rows, value_of(live + 2, 0)));
	sp_row_model_remove(&rows, live, 0);
	sp_row_model_remove(&rows, live + 1, 0);
	live += 2;
	return acted;
}

/* Beside the place of the next full checkpoint, and of a delta on that. */
static char next_full[SP_PATH_SIZE], next_delta[SP_PATH_SIZE];

/* The trainer writes both while the updater looks at what came before them. */
static void go_on(void)
{
	static const int order[] = {FIRST, SECOND, INDEX};
	char from[SP_PATH_SIZE + 64], to[SP_PATH_SIZE + 64];

	delta = 0;
	for (int i = 0; i < FILES; i++)
		rename(file_of(next_full, order[i], from), file(order[i], to));
	delta = 5;
	for (int i = 0; i < FILES; i++)
		rename(file_of(next_delta, order[i], from), file(order[i], to));
}

/* Delta 1 on the live checkpoint is there; then the next one and its delta 5. */
static bool look_while_the_trainer_goes_on(size_t step)
{
	bool acted;

	hold(live);
	sp_row_model_remove(&rows, live, 5);
	write_version(live + 1, 0);
	put_aside("next_full", next_full);
	write_version(live + 1, 5);
	put_aside("next_delta", next_delta);
	write_version(live, 1);
	full = live + 1;
	sp_steps_begin(step, go_on, false);
	let_go();
	while (sp_steps_rests() < 3) {
		double value = sp_row_model_ask(&rows, rows.keys, 250);

		if (value != value_of(live, 0) && value != value_of(live, 1) &&
		    value != value_of(live + 1, 0) && value != value_of(live + 1, 5))
			fail_msg("the trainer goes on before step %zu: %g answers", step, value);
	}
	sp_steps_end();
	acted = sp_steps_acted();
	if (!acted)
		go_on();
	assert_true(sp_row_model_await(&rows, value_of(live + 1, 5)));
	sp_row_model_remove(&rows, live, 0);
	sp_row_model_remove(&rows, live, 1);
	live++;
	return acted;
}

static const char config[] = ", \"update_poll_interval_ms\": 10, \"model_update_intra_threads\": 2";

static bool start(size_t fault, size_t step)
{
	bool acted;

	serving_processor_destroy(rows.model);
	prepare(1, 0);
	sp_steps_begin(step, faults[fault].act, true);
	sp_row_model_open(&rows, config);
	if (rows.model != NULL)
		settle();
	sp_steps_end();
	acted = sp_steps_acted();
	if (rows.model != NULL)
		check_answers(value_of(1, 0), fault, step);
	if (rows.model != NULL && acted)
		check_news(fault);
	assert_true(rows.model != NULL || acted);

	serving_processor_destroy(rows.model);
	write_version(1, 0);
	sp_row_model_open(&rows, config);
	assert_non_null(rows.model);
	assert_true(sp_row_model_ask(&rows, rows.keys, 250) == value_of(1, 0));
	return acted;
}

static void try_all(attempt *try, size_t fault_count)
{
	size_t by = (size_t)stride(), runs = 0;

	for (size_t fault = 0; fault < fault_count; fault++) {
		size_t step = (size_t)rand_r(&seed) % by;

		for (; try(fault, step); step += by)
			runs++;
		assert_true(by > 1 || step > 20);
	}
	print_message("%zu faults happened\n", runs);
	assert_true(runs > fault_count / 2);
}

/* --------------------------------------------------------------------------- images */

static char images[SP_PATH_SIZE];

/* The image in the folder, or what it becomes. */
static const char *image(char out[2 * SP_PATH_SIZE])
{
	const struct dirent *entry;
	DIR *folder = opendir(images);

	out[0] = '\0';
	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (strstr(entry->d_name, ".image") != NULL)
			snprintf(out, 2 * SP_PATH_SIZE, "%s/%s", images, entry->d_name);
	if (folder != NULL)
		closedir(folder);
	return out;
}

static void cut_image(void)
{
	char path[2 * SP_PATH_SIZE];
	struct stat info;

	if (stat(image(path), &info) == 0)
		(void)!truncate(path, (off_t)rand_r(&seed) % (info.st_size + 1));
}

static void delete_image(void)
{
	char path[2 * SP_PATH_SIZE];

	unlink(image(path));
}

static void empty_image(void)
{
	char path[2 * SP_PATH_SIZE];

	(void)!truncate(image(path), 0);
}

static void replace_image(void)
{
	char from[SP_PATH_SIZE + 64], other[SP_PATH_SIZE + 64], path[2 * SP_PATH_SIZE];

	snprintf(other, sizeof(other), "%.2000s/other", rows.work);
	(void)!link(file_of(spare, SECOND, from), other);
	rename(other, image(path));
}

static void no_folder_for_images(void)
{
	char away[SP_PATH_SIZE + 64];

	snprintf(away, sizeof(away), "%s.%u", images, rand_r(&seed));
	rename(images, away);
}

/* A bit is no fault here: in a file that is mapped and has been checked, nobody could see it. */
static const struct {
	const char *name;
	void (*act)(void);
} image_faults[] = {
	{"image cut short", cut_image},
	{"image deleted", delete_image},
	{"image emptied", empty_image},
	{"another file in its place", replace_image},
	{"its folder moved", no_folder_for_images},
};

enum { IMAGE_FAULTS = sizeof(image_faults) / sizeof(image_faults[0]) };

/*
 * Opened with an image there and opened without one, which makes it, by turns.
 * A request may fail meanwhile, and is never answered wrongly.
 */
static bool start_with_image(size_t fault, size_t step)
{
	char more[2 * SP_PATH_SIZE];
	bool acted;

	serving_processor_destroy(rows.model);
	if (step % 2 == 0)
		delete_image();
	snprintf(more, sizeof(more), "%s, \"ev_image_path\": \"%s\"", config, images);
	sp_steps_begin(step, image_faults[fault].act, true);
	sp_row_model_open(&rows, more);
	assert_non_null(rows.model);
	for (size_t i = 0; i < KEYS; i += 250) {
		double value = sp_row_model_ask(&rows, rows.keys + i, 250);

		if (value != value_of(1, 0) && value != -1)
			fail_msg("%s before step %zu: %g answers", image_faults[fault].name, step,
				 value);
	}
	sp_steps_end();
	acted = sp_steps_acted();
	for (size_t i = 0; i < KEYS; i += 250)
		for (int tries = 0; sp_row_model_ask(&rows, rows.keys + i, 250) < 0; tries++) {
			assert_true(tries < 2000);
			usleep(5000);
		}
	return acted;
}

/*
 * Opened and closed within the test: around it the framework exchanges the
 * handlers of signals, and would take ours away.
 */
static void try_all_with_a_model(attempt *try, size_t fault_count)
{
	sp_row_model_open(&rows, config);
	assert_non_null(rows.model);
	try_all(try, fault_count);
	serving_processor_destroy(rows.model);
	rows.model = NULL;
}

static void a_delta_is_loaded(void **state)
{
	(void)state;
	try_all_with_a_model(load_delta, FAULTS);
}

static void a_full_checkpoint_is_loaded(void **state)
{
	(void)state;
	live = 1;
	try_all_with_a_model(load_full, FAULTS);
}

static void a_model_is_opened(void **state)
{
	(void)state;
	try_all_with_a_model(start, FAULTS);
}

static void the_trainer_goes_on(void **state)
{
	(void)state;
	live = 1;
	sp_row_model_open(&rows, config);
	for (size_t step = 0; look_while_the_trainer_goes_on(step); step++)
		;
	serving_processor_destroy(rows.model);
	rows.model = NULL;
}

static void images_are_made_and_mapped(void **state)
{
	(void)state;
	prepare(1, 0);
	snprintf(images, sizeof(images), "%.2000s/images", rows.work);
	try_all_with_a_model(start_with_image, IMAGE_FAULTS);
}

static int set_up(void **state)
{
	(void)state;
	sp_row_model_init(&rows, KEYS);
	sp_row_model_remove(&rows, 1, 0);
	rows.shards = 2;
	sp_row_model_write_full(&rows, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_row_model_fini(&rows);
	return 0;
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_delta_is_loaded),          CASE(a_full_checkpoint_is_loaded),
		CASE(a_model_is_opened),          CASE(the_trainer_goes_on),
		CASE(images_are_made_and_mapped),
	};

	serving_processor_set_log(ignore_line, NULL);
	return cmocka_run_group_tests_name("file_steps", tests, NULL, NULL);
}
