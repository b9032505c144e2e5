#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/ssd/rocks.h"
#include "storage/sst/sst_run.h"
#include "tests/support/child.h"
#include "tests/support/paths.h"

enum { ROW = 24, RECORD = 8 + ROW };

static char root[SP_PATH_SIZE], folder[SP_PATH_SIZE + 16];

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	snprintf(folder, sizeof(folder), "%s/rows", root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	return 0;
}

/* What the row of a key is, in the run of this number. */
static void make_row(int64_t key, unsigned run, unsigned char row[ROW])
{
	for (size_t i = 0; i < ROW; i++)
		row[i] = (unsigned char)((uint64_t)key * 37 + i * 11 + run * 101);
}

static int compare_keys(const void *left, const void *right)
{
	int64_t a, b;

	memcpy(&a, *(const char *const *)left, sizeof(a));
	memcpy(&b, *(const char *const *)right, sizeof(b));
	return sp_rocks_compare(a, b);
}

static sp_status add_run(sp_rocks_writer *writer, const int64_t *keys, size_t count, unsigned run,
			 sp_error *err)
{
	char *records = malloc(count * RECORD + 1);
	const char **rows = malloc((count + 1) * sizeof(*rows));
	sp_status status;

	assert_true(records != NULL && rows != NULL);
	for (size_t i = 0; i < count; i++) {
		char *record = records + i * RECORD;

		memcpy(record, &keys[i], sizeof(keys[i]));
		make_row(keys[i], run, (unsigned char *)record + 8);
		rows[i] = record;
	}
	qsort(rows, count, sizeof(*rows), compare_keys);
	status = sp_rocks_writer_add_run(writer, rows, count, err);
	free(records);
	free(rows);
	return status;
}

/* Keys first + i * step for i < count, in one run. */
static void write_rows_from(int64_t first, size_t count, int64_t step)
{
	sp_rocks_writer *writer;
	int64_t *keys = malloc(count * sizeof(*keys));
	sp_error error;
	size_t rows;

	assert_non_null(keys);
	for (size_t i = 0; i < count; i++)
		keys[i] = first + (int64_t)i * step;
	assert_ok(sp_rocks_writer_create(&writer, folder, ROW, &error), &error);
	assert_ok(add_run(writer, keys, count, 0, &error), &error);
	assert_ok(sp_rocks_writer_finish(writer, &rows, &error), &error);
	assert_int_equal(rows, count);
	sp_rocks_writer_destroy(writer);
	free(keys);
}

static void write_rows(size_t count, int64_t step)
{
	write_rows_from(-500, count, step);
}

static sp_status try_open(sp_sst_run **out, size_t row_size, sp_error *err)
{
	sp_rocks_files files;
	sp_status status;

	SP_TRY(sp_rocks_files_find(&files, folder, err));
	status = sp_sst_run_scan(out, (const char *const *)files.paths, files.count, row_size, 5000,
				 err);
	sp_rocks_files_fini(&files);
	return status;
}

static sp_sst_run *open_rows(void)
{
	sp_sst_run *rows;
	sp_error error;

	assert_ok(try_open(&rows, ROW, &error), &error);
	return rows;
}

/* One key, read as a request does it. */
static sp_status try_read(const sp_sst_run *rows, int64_t key, bool *found, unsigned char row[ROW],
			  sp_error *err)
{
	sp_sst_place place;
	const void *at = NULL;
	sp_status status;
	char *bytes;

	*found = false;
	if (!sp_sst_run_locate(rows, key, &place))
		return SP_OK;
	assert_int_equal(place.span % SP_SST_PAGE, 0);
	assert_int_equal(place.offset % SP_SST_PAGE, 0);
	bytes = sp_alloc_aligned(SP_SST_PAGE, place.span);
	assert_non_null(bytes);
	if (pread(place.fd, bytes, place.span, (off_t)place.offset) != (ssize_t)place.span)
		status = sp_error_set(err, SP_IO, "cannot read");
	else
		status = sp_sst_run_check(&place, bytes, err);
	if (status == SP_OK)
		status = sp_sst_run_find(rows, &place, bytes, key, &at, err);
	*found = status == SP_OK && at != NULL;
	if (*found)
		memcpy(row, at, ROW);
	sp_free(bytes);
	return status;
}

/* One key; whether it is there, with the right row. */
static bool has(const sp_sst_run *rows, int64_t key, unsigned run)
{
	unsigned char row[ROW], want[ROW];
	sp_error error;
	bool found;

	assert_ok(try_read(rows, key, &found, row, &error), &error);
	make_row(key, run, want);
	if (found)
		assert_memory_equal(row, want, ROW);
	return found;
}

static void rows_are_found_and_absent_keys_are_not(void **state)
{
	sp_sst_run *rocks;

	(void)state;
	write_rows(5000, 3);
	rocks = open_rows();
	assert_int_equal(sp_sst_run_row_count(rocks), 5000);
	for (int64_t key = -520; key < 14600; key++)
		assert_int_equal(has(rocks, key, 0),
				 key >= -500 && key < 14500 && (key + 500) % 3 == 0);
	assert_true(sp_sst_run_footprint(rocks) < 5000 * 2);
	sp_sst_run_release(rocks);
}

static void extreme_keys_are_keys(void **state)
{
	static const int64_t keys[] = {INT64_MIN, INT64_MAX, 0, -3, 1, -4};
	sp_rocks_writer *writer;
	sp_sst_run *rocks;
	sp_error error;
	size_t rows;

	(void)state;
	assert_ok(sp_rocks_writer_create(&writer, folder, ROW, &error), &error);
	assert_ok(add_run(writer, keys, 6, 0, &error), &error);
	assert_ok(sp_rocks_writer_finish(writer, &rows, &error), &error);
	sp_rocks_writer_destroy(writer);
	rocks = open_rows();
	for (size_t i = 0; i < 6; i++)
		assert_true(has(rocks, keys[i], 0));
	assert_false(has(rocks, INT64_MIN + 1, 0));
	assert_false(has(rocks, 2, 0));
	sp_sst_run_release(rocks);
}

static void a_later_run_replaces_rows_of_an_earlier_one(void **state)
{
	enum { RUNS = 5, KEYS = 1000 };
	sp_rocks_writer *writer;
	sp_sst_run *rocks;
	int64_t keys[KEYS];
	sp_error error;
	size_t rows;

	(void)state;
	assert_ok(sp_rocks_writer_create(&writer, folder, ROW, &error), &error);
	/* Run r has keys r * 100 ... r * 100 + 999. */
	for (unsigned run = 0; run < RUNS; run++) {
		for (int64_t i = 0; i < KEYS; i++)
			keys[i] = i + run * 100;
		assert_ok(add_run(writer, keys, KEYS, run, &error), &error);
	}
	assert_ok(sp_rocks_writer_finish(writer, &rows, &error), &error);
	assert_int_equal(rows, 1400);
	sp_rocks_writer_destroy(writer);
	rocks = open_rows();
	for (int64_t key = 0; key < 1400; key++)
		assert_true(has(rocks, key, key < 400 ? (unsigned)(key / 100) : RUNS - 1));
	sp_sst_run_release(rocks);
}

/* Run r has keys r * 10 ... r * 10 + 39. */
static void more_runs_are_merged_than_files_may_be_open(void **state)
{
	enum { RUNS = 500, KEYS = 40, FILES = 200, ALL = (RUNS - 1) * 10 + KEYS };
	struct rlimit limit, before;
	sp_rocks_writer *writer;
	sp_sst_run *rocks;
	int64_t keys[KEYS];
	sp_error error;
	size_t rows;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = FILES;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_ok(sp_rocks_writer_create(&writer, folder, ROW, &error), &error);
	for (unsigned run = 0; run < RUNS; run++) {
		for (int64_t i = 0; i < KEYS; i++)
			keys[i] = i + run * 10;
		assert_ok(add_run(writer, keys, KEYS, run, &error), &error);
	}
	assert_ok(sp_rocks_writer_finish(writer, &rows, &error), &error);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(rows, ALL);
	sp_rocks_writer_destroy(writer);
	rocks = open_rows();
	for (int64_t key = 0; key < ALL; key++)
		assert_true(has(rocks, key, key < RUNS * 10 ? (unsigned)(key / 10) : RUNS - 1));
	sp_sst_run_release(rocks);
}

static void no_rows_at_all_are_fine(void **state)
{
	sp_rocks_writer *writer;
	sp_sst_run *rocks;
	sp_error error;
	size_t rows = 1;

	(void)state;
	assert_ok(sp_rocks_writer_create(&writer, folder, ROW, &error), &error);
	assert_ok(sp_rocks_writer_add_run(writer, NULL, 0, &error), &error);
	assert_ok(sp_rocks_writer_finish(writer, &rows, &error), &error);
	assert_int_equal(rows, 0);
	sp_rocks_writer_destroy(writer);
	rocks = open_rows();
	assert_int_equal(sp_sst_run_row_count(rocks), 0);
	assert_false(has(rocks, 0, 0));
	sp_sst_run_release(rocks);
}

static void a_folder_that_is_not_there_or_not_ours_is_refused(void **state)
{
	sp_rocks_files files;
	sp_error error;

	(void)state;
	assert_int_equal(sp_rocks_files_find(&files, folder, &error), SP_IO);
	assert_non_null(strstr(error.text, folder));
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(sp_rocks_files_find(&files, folder, &error), SP_IO);
}

static void rows_of_another_size_are_corrupt(void **state)
{
	sp_sst_run *rows;
	sp_error error;

	(void)state;
	write_rows(10, 1);
	assert_int_equal(try_open(&rows, ROW + 1, &error), SP_CORRUPT);
	assert_non_null(strstr(error.text, "a row of 24 bytes where all have 25"));
}

/* ---- files that change ---- */

/* The path of the one file of sorted rows. */
static void find_rows_file(char *out, size_t size)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;

	assert_non_null(entries);
	out[0] = '\0';
	while ((entry = readdir(entries)) != NULL)
		if (strstr(entry->d_name, ".sst") != NULL)
			snprintf(out, size, "%s/%s", folder, entry->d_name);
	closedir(entries);
	assert_string_not_equal(out, "");
}

static void flip_byte(const char *path, off_t at)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Every row is right or an error; gives how many were errors, all of them when it does not open. */
static size_t count_errors(const char *filter, size_t count, int64_t step)
{
	sp_rocks_files files;
	sp_sst_run *rows = NULL;
	size_t errors = 0;
	sp_status status;

	if (sp_rocks_files_find(&files, folder, NULL) != SP_OK)
		return count;
	status = sp_sst_run_open(&rows, (const char *const *)files.paths, files.count, ROW, filter,
				 NULL);
	sp_rocks_files_fini(&files);
	if (status != SP_OK)
		return count;
	for (size_t i = 0; i < count; i++) {
		int64_t key = (int64_t)i * step - 500;
		unsigned char row[ROW], want[ROW];
		bool found;

		status = try_read(rows, key, &found, row, NULL);
		make_row(key, 0, want);
		if (status == SP_OK) {
			assert_true(found);
			assert_memory_equal(row, want, ROW);
		}
		assert_true(status == SP_OK || status == SP_CORRUPT || status == SP_IO);
		errors += status != SP_OK;
	}
	sp_sst_run_release(rows);
	return errors;
}

static void a_byte_that_changed_is_an_error_and_never_a_wrong_row(void **state)
{
	enum { ROWS = 300, STEPS = 60 };
	char path[2 * SP_PATH_SIZE], filter[SP_PATH_SIZE + 16];
	struct stat info;
	size_t noticed = 0;
	sp_sst_run *rows;
	sp_error error;

	(void)state;
	write_rows(ROWS, 2);
	rows = open_rows();
	snprintf(filter, sizeof(filter), "%s/filter", root);
	assert_ok(sp_sst_run_save_filter(rows, filter, &error), &error);
	sp_sst_run_release(rows);
	find_rows_file(path, sizeof(path));
	assert_int_equal(stat(path, &info), 0);
	for (off_t step = 0; step < STEPS; step++) {
		off_t at = info.st_size * step / STEPS + step % 7;

		flip_byte(path, at);
		noticed += count_errors(filter, ROWS, 2) != 0;
		flip_byte(path, at);
	}
	/* The rest is padding between blocks and what only people read. */
	assert_true(noticed > STEPS / 4);
	assert_int_equal(count_errors(filter, ROWS, 2), 0);
	for (off_t at = 0; at < 500; at += 3) {
		flip_byte(filter, at);
		assert_int_equal(count_errors(filter, ROWS, 2), ROWS);
		flip_byte(filter, at);
	}
}

static void a_byte_that_changes_while_it_is_open_is_an_error(void **state)
{
	char path[2 * SP_PATH_SIZE];
	int64_t key = 0; /* the first in the order of unsigned numbers */
	unsigned char row[ROW];
	sp_sst_run *rocks;
	sp_error error;
	bool found;

	(void)state;
	write_rows(1000, 2);
	find_rows_file(path, sizeof(path));
	rocks = open_rows();
	assert_true(has(rocks, key, 0));
	flip_byte(path, 100);
	assert_int_equal(try_read(rocks, key, &found, row, &error), SP_CORRUPT);
	sp_sst_run_release(rocks);
}

static void a_file_that_is_cut_while_it_is_open_is_an_error(void **state)
{
	char path[2 * SP_PATH_SIZE];
	int64_t key = -2; /* the last */
	unsigned char row[ROW];
	sp_sst_run *rocks;
	sp_error error;
	bool found;

	(void)state;
	write_rows(1000, 2);
	find_rows_file(path, sizeof(path));
	rocks = open_rows();
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_not_equal(try_read(rocks, key, &found, row, &error), SP_OK);
	sp_sst_run_release(rocks);
}

static void files_that_are_deleted_underneath_go_on_answering(void **state)
{
	sp_sst_run *rocks;

	(void)state;
	write_rows(1000, 2);
	rocks = open_rows();
	sp_temp_remove(root);
	for (int64_t i = 0; i < 1000; i++)
		assert_true(has(rocks, i * 2 - 500, 0));
	sp_sst_run_release(rocks);
	assert_int_equal(mkdir(root, 0755), 0);
}

static void a_file_that_is_gone_at_the_start_is_an_error(void **state)
{
	char path[2 * SP_PATH_SIZE];
	sp_sst_run *rocks;
	sp_error error;

	(void)state;
	write_rows(1000, 2);
	find_rows_file(path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_not_equal(try_open(&rocks, ROW, &error), SP_OK);
	assert_non_null(strstr(error.text, folder));
}

static void opening_again_and_again_leaves_no_files(void **state)
{
	size_t counts[2] = {0};

	(void)state;
	write_rows(100, 1);
	for (int round = 0; round < 2; round++) {
		DIR *entries;

		for (int i = 0; i < 5; i++)
			sp_sst_run_release(open_rows());
		entries = opendir(folder);
		assert_non_null(entries);
		while (readdir(entries) != NULL)
			counts[round]++;
		closedir(entries);
	}
	assert_int_equal(counts[0], counts[1]);
}

/* ---- no space ---- */

static size_t space; /* bytes that a file may have */

/* In a child, whose files may not grow: 0 when writing ends with an error that says so. */
static int write_without_space(void)
{
	const struct rlimit limit = {space, space};
	sp_rocks_writer *writer = NULL;
	int64_t keys[2000];
	sp_status status;
	sp_error error;
	size_t rows;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 2;
	status = sp_rocks_writer_create(&writer, folder, ROW, &error);
	for (unsigned run = 0; run < 4 && status == SP_OK; run++) {
		for (int64_t i = 0; i < 2000; i++)
			keys[i] = i * 4 + run;
		status = add_run(writer, keys, 2000, run, &error);
	}
	if (status == SP_OK)
		status = sp_rocks_writer_finish(writer, &rows, &error);
	sp_rocks_writer_destroy(writer);
	return status == SP_IO && error.text[0] != '\0' ? 0 : 1;
}

static void a_full_disk_is_an_error_at_every_step(void **state)
{
	/* At once; in the first run (100 kB each); in the merge of four. */
	static const size_t spaces[] = {10, 4096, 50000, 200000};

	(void)state;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		space = spaces[i];
		assert_int_equal(sp_child_run(write_without_space, "SP_UNUSED", NULL), 0);
		sp_temp_remove(folder);
	}
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* ------------------------------------------------------------------- a file alone */

static void a_run_is_a_file_of_its_own(void **state)
{
	enum { ROWS = 3000 };
	char path[SP_PATH_SIZE + 16];
	const char *files[] = {path};
	unsigned char row[ROW];
	sp_rocks_run *writer;
	sp_sst_run *rows;
	sp_error error;

	(void)state;
	snprintf(path, sizeof(path), "%s/over.sst", root);
	assert_ok(sp_rocks_run_begin(&writer, path, ROW, &error), &error);
	for (int64_t key = 0; key < 2 * ROWS; key += 2) {
		make_row(key, 3, row);
		assert_ok(sp_rocks_run_put(writer, key, row, &error), &error);
	}
	assert_ok(sp_rocks_run_end(writer, &error), &error);
	sp_rocks_run_destroy(writer);
	assert_ok(sp_sst_run_scan(&rows, files, 1, ROW, ROWS, &error), &error);
	assert_int_equal(unlink(path), 0);
	for (int64_t key = 0; key < 2 * ROWS + 10; key++)
		assert_true(has(rows, key, 3) == (key % 2 == 0 && key < 2 * ROWS));
	sp_sst_run_release(rows);
}

static void keys_that_do_not_ascend_are_refused(void **state)
{
	char path[SP_PATH_SIZE + 16];
	const unsigned char row[ROW] = {0};
	sp_rocks_run *writer;
	sp_error error;

	(void)state;
	snprintf(path, sizeof(path), "%s/over.sst", root);
	assert_ok(sp_rocks_run_begin(&writer, path, ROW, &error), &error);
	assert_ok(sp_rocks_run_put(writer, 5, row, &error), &error);
	assert_int_equal(sp_rocks_run_put(writer, 4, row, &error), SP_IO);
	assert_non_null(strstr(error.text, path));
	sp_rocks_run_destroy(writer);
	snprintf(path, sizeof(path), "%s/none/over.sst", root);
	assert_int_equal(sp_rocks_run_begin(&writer, path, ROW, &error), SP_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: a child has none of the threads that RocksDB starts. */
		ON_DISK(a_full_disk_is_an_error_at_every_step),
		ON_DISK(rows_are_found_and_absent_keys_are_not),
		ON_DISK(extreme_keys_are_keys),
		ON_DISK(a_later_run_replaces_rows_of_an_earlier_one),
		ON_DISK(more_runs_are_merged_than_files_may_be_open),
		ON_DISK(no_rows_at_all_are_fine),
		ON_DISK(a_folder_that_is_not_there_or_not_ours_is_refused),
		ON_DISK(rows_of_another_size_are_corrupt),
		ON_DISK(a_byte_that_changed_is_an_error_and_never_a_wrong_row),
		ON_DISK(a_byte_that_changes_while_it_is_open_is_an_error),
		ON_DISK(a_file_that_is_cut_while_it_is_open_is_an_error),
		ON_DISK(files_that_are_deleted_underneath_go_on_answering),
		ON_DISK(a_file_that_is_gone_at_the_start_is_an_error),
		ON_DISK(opening_again_and_again_leaves_no_files),
		ON_DISK(a_run_is_a_file_of_its_own),
		ON_DISK(keys_that_do_not_ascend_are_refused),
	};
	return cmocka_run_group_tests_name("rocks", tests, NULL, NULL);
}
