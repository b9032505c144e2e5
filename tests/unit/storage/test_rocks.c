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

#include "storage/rocks.h"
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

static sp_rocks *open_rows(void)
{
	sp_rocks *rocks;
	sp_error error;

	assert_ok(sp_rocks_open(&rocks, folder, ROW, true, &error), &error);
	return rocks;
}

/* One key; whether it is there, with the right row. */
static bool has(const sp_rocks *rocks, int64_t key, unsigned run)
{
	sp_rocks_batch batch = {0};
	unsigned char want[ROW];
	sp_error error;
	bool found;

	assert_ok(sp_rocks_read(rocks, &key, 1, &batch, &error), &error);
	found = batch.rows[0] != NULL;
	make_row(key, run, want);
	if (found)
		assert_memory_equal(batch.rows[0], want, ROW);
	sp_rocks_batch_release(&batch);
	return found;
}

static void rows_are_found_and_absent_keys_are_not(void **state)
{
	sp_rocks *rocks;

	(void)state;
	write_rows(5000, 3);
	rocks = open_rows();
	assert_int_equal(sp_rocks_row_count(rocks), 5000);
	for (int64_t key = -520; key < 14600; key++)
		assert_int_equal(has(rocks, key, 0),
				 key >= -500 && key < 14500 && (key + 500) % 3 == 0);
	assert_true(sp_rocks_footprint(rocks) < 5000 * 4 + 16384);
	assert_true(sp_rocks_disk_footprint(rocks) >= 5000 * RECORD);
	sp_rocks_close(rocks);
}

static void extreme_keys_are_keys(void **state)
{
	static const int64_t keys[] = {INT64_MIN, INT64_MAX, 0, -3, 1, -4};
	sp_rocks_writer *writer;
	sp_rocks *rocks;
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
	sp_rocks_close(rocks);
}

static void a_later_run_replaces_rows_of_an_earlier_one(void **state)
{
	enum { RUNS = 5, KEYS = 1000 };
	sp_rocks_writer *writer;
	sp_rocks *rocks;
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
	sp_rocks_close(rocks);
}

static void no_rows_at_all_are_fine(void **state)
{
	sp_rocks_writer *writer;
	sp_rocks *rocks;
	sp_error error;
	size_t rows = 1;

	(void)state;
	assert_ok(sp_rocks_writer_create(&writer, folder, ROW, &error), &error);
	assert_ok(sp_rocks_writer_add_run(writer, NULL, 0, &error), &error);
	assert_ok(sp_rocks_writer_finish(writer, &rows, &error), &error);
	assert_int_equal(rows, 0);
	sp_rocks_writer_destroy(writer);
	rocks = open_rows();
	assert_int_equal(sp_rocks_row_count(rocks), 0);
	assert_false(has(rocks, 0, 0));
	sp_rocks_close(rocks);
}

/* Pairs of keys that are 3 apart, `step` from pair to pair: each that is a row has its row. */
static void check_batch(const sp_rocks *rocks, int64_t first, int64_t step)
{
	int64_t keys[SP_ROCKS_BATCH];
	sp_rocks_batch batch = {0};
	unsigned char want[ROW];
	sp_error error;

	for (size_t i = 0; i < SP_ROCKS_BATCH; i++)
		keys[i] = first + (int64_t)(i / 2) * step + (int64_t)(i % 2) * 3;
	assert_ok(sp_rocks_read(rocks, keys, SP_ROCKS_BATCH, &batch, &error), &error);
	assert_int_equal(batch.count, SP_ROCKS_BATCH);
	for (size_t i = 0; i < SP_ROCKS_BATCH; i++) {
		make_row(keys[i], 0, want);
		if (keys[i] >= 15000 || keys[i] % 3 != 0)
			assert_null(batch.rows[i]);
		else
			assert_memory_equal(batch.rows[i], want, ROW);
	}
	sp_rocks_batch_release(&batch);
}

static void a_batch_is_read_at_once(void **state)
{
	sp_rocks *rocks;

	(void)state;
	write_rows_from(0, 5000, 3);
	rocks = open_rows();
	check_batch(rocks, 3, 6);
	check_batch(rocks, 3, 301);
	check_batch(rocks, 0, 1800);
	check_batch(rocks, 15000 - 12, 6);
	check_batch(rocks, 14997, 1 << 20);
	sp_rocks_close(rocks);
}

static void a_folder_that_is_not_there_or_not_ours_is_refused(void **state)
{
	sp_rocks *rocks;
	sp_error error;

	(void)state;
	assert_int_equal(sp_rocks_open(&rocks, folder, ROW, false, &error), SP_IO);
	assert_non_null(strstr(error.text, folder));
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(sp_rocks_open(&rocks, folder, ROW, false, &error), SP_IO);
}

static void rows_of_another_size_are_corrupt(void **state)
{
	sp_rocks_batch batch = {0};
	sp_rocks *rocks;
	sp_error error;
	int64_t key = -500;

	(void)state;
	write_rows(10, 1);
	assert_ok(sp_rocks_open(&rocks, folder, ROW + 1, false, &error), &error);
	assert_int_equal(sp_rocks_read(rocks, &key, 1, &batch, &error), SP_CORRUPT);
	sp_rocks_close(rocks);
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
static size_t count_errors(size_t count, int64_t step)
{
	sp_rocks *rocks;
	size_t errors = 0;

	if (sp_rocks_open(&rocks, folder, ROW, true, NULL) != SP_OK)
		return count;
	for (size_t i = 0; i < count; i++) {
		int64_t key = (int64_t)i * step - 500;
		sp_rocks_batch batch = {0};
		unsigned char want[ROW];
		sp_error error;
		sp_status status = sp_rocks_read(rocks, &key, 1, &batch, &error);

		make_row(key, 0, want);
		if (status != SP_OK) {
			assert_true(status == SP_CORRUPT || status == SP_IO);
			errors++;
			continue;
		}
		/* A filter whose bytes changed is found by its checksum, too. */
		assert_non_null(batch.rows[0]);
		assert_memory_equal(batch.rows[0], want, ROW);
		sp_rocks_batch_release(&batch);
	}
	sp_rocks_close(rocks);
	return errors;
}

static void a_byte_that_changed_is_an_error_and_never_a_wrong_row(void **state)
{
	enum { ROWS = 300, STEPS = 60 };
	char path[2 * SP_PATH_SIZE];
	struct stat info;
	size_t noticed = 0;

	(void)state;
	write_rows(ROWS, 2);
	find_rows_file(path, sizeof(path));
	assert_int_equal(stat(path, &info), 0);
	for (off_t step = 0; step < STEPS; step++) {
		off_t at = info.st_size * step / STEPS + step % 7;

		flip_byte(path, at);
		noticed += count_errors(ROWS, 2) != 0;
		flip_byte(path, at);
	}
	/* The rest is padding between blocks and what only people read. */
	assert_true(noticed > STEPS / 4);
	assert_int_equal(count_errors(ROWS, 2), 0);
}

static void a_byte_that_changes_while_it_is_open_is_an_error(void **state)
{
	sp_rocks_batch batch = {0};
	char path[2 * SP_PATH_SIZE];
	sp_rocks *rocks;
	int64_t key = 0; /* the first in the order of unsigned numbers */
	sp_error error;

	(void)state;
	write_rows(1000, 2);
	find_rows_file(path, sizeof(path));
	rocks = open_rows();
	assert_true(has(rocks, key, 0));
	flip_byte(path, 100);
	assert_int_equal(sp_rocks_read(rocks, &key, 1, &batch, &error), SP_CORRUPT);
	sp_rocks_close(rocks);
}

static void a_file_that_is_cut_while_it_is_open_is_an_error(void **state)
{
	sp_rocks_batch batch = {0};
	char path[2 * SP_PATH_SIZE];
	sp_rocks *rocks;
	int64_t key = -2; /* the last */
	sp_error error;

	(void)state;
	write_rows(1000, 2);
	find_rows_file(path, sizeof(path));
	rocks = open_rows();
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_not_equal(sp_rocks_read(rocks, &key, 1, &batch, &error), SP_OK);
	sp_rocks_close(rocks);
}

static void files_that_are_deleted_underneath_go_on_answering(void **state)
{
	sp_rocks *rocks;

	(void)state;
	write_rows(1000, 2);
	rocks = open_rows();
	sp_temp_remove(root);
	for (int64_t i = 0; i < 1000; i++)
		assert_true(has(rocks, i * 2 - 500, 0));
	sp_rocks_close(rocks);
	assert_int_equal(mkdir(root, 0755), 0);
}

static void a_file_that_is_gone_at_the_start_is_an_error(void **state)
{
	char path[2 * SP_PATH_SIZE];
	sp_rocks *rocks;
	sp_error error;

	(void)state;
	write_rows(1000, 2);
	find_rows_file(path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	assert_int_not_equal(sp_rocks_open(&rocks, folder, ROW, true, &error), SP_OK);
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
			sp_rocks_close(open_rows());
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

/* ------------------------------------------------------------- over another folder */

/* Every fifth of these keys, and one behind each. */
static void write_over(const char *path, size_t count, int64_t step, unsigned run)
{
	int64_t *keys = malloc(2 * count * sizeof(*keys));
	sp_rocks_writer *writer;
	sp_error error;

	assert_non_null(keys);
	for (size_t i = 0; i < count; i++) {
		keys[2 * i] = 5 * (int64_t)i * step - 500;
		keys[2 * i + 1] = keys[2 * i] + 1;
	}
	assert_ok(sp_rocks_writer_create_over(&writer, path, folder, ROW, &error), &error);
	assert_ok(add_run(writer, keys, 2 * count, run, &error), &error);
	assert_ok(sp_rocks_writer_leave(writer, &error), &error);
	sp_rocks_writer_destroy(writer);
	free(keys);
}

static void rows_lie_over_those_of_another_folder(void **state)
{
	enum { ROWS = 20000, OVER = 4000, STEP = 3 };
	sp_rocks *base, *over;
	char path[SP_PATH_SIZE + 16], command[3 * SP_PATH_SIZE];
	size_t index;
	sp_error error;

	(void)state;
	write_rows(ROWS, STEP);
	base = open_rows();
	snprintf(path, sizeof(path), "%s/over", root);
	write_over(path, OVER, STEP, 7);
	assert_ok(sp_rocks_open(&over, path, ROW, true, &error), &error);
	/* Nobody needs the folder's name, and what is in the first one is still its own. */
	snprintf(command, sizeof(command), "rm -r %s", path);
	assert_int_equal(system(command), 0);
	for (int64_t i = 0; i < ROWS; i++) {
		int64_t key = i * STEP - 500;
		bool is_over = i % 5 == 0 && i / 5 < OVER;

		assert_true(has(over, key, is_over ? 7 : 0));
		assert_true(has(over, key + 1, 7) == is_over);
		assert_true(has(base, key, 0));
		assert_false(has(base, key + 1, 0));
	}
	assert_int_equal(sp_rocks_row_count(over), ROWS + 2 * OVER);
	/* The run has a filter, too: six bits a key at least. */
	index = sp_rocks_footprint(over) - sp_rocks_footprint(base);
	assert_true(index > 2 * OVER * 3 / 4 && index < 4 * OVER);
	assert_true(sp_rocks_disk_footprint(over) > sp_rocks_disk_footprint(base) + 2 * OVER * ROW);
	sp_rocks_close(over);
	sp_rocks_close(base);
	base = open_rows();
	assert_true(has(base, -500, 0));
	sp_rocks_close(base);
}

/* Rows of keys that all lie behind the others, and none at all. */
static void a_layer_need_not_touch_what_it_lies_over(void **state)
{
	char path[SP_PATH_SIZE + 16];
	const int64_t far[] = {INT64_MIN, -1000000};
	sp_rocks_writer *writer;
	sp_rocks *rocks;
	sp_error error;

	(void)state;
	write_rows(1000, 3);
	for (size_t count = 0; count <= 2; count += 2) {
		snprintf(path, sizeof(path), "%s/over%zu", root, count);
		assert_ok(sp_rocks_writer_create_over(&writer, path, folder, ROW, &error), &error);
		assert_ok(add_run(writer, far, count, 4, &error), &error);
		assert_ok(sp_rocks_writer_leave(writer, &error), &error);
		sp_rocks_writer_destroy(writer);
		assert_ok(sp_rocks_open(&rocks, path, ROW, true, &error), &error);
		assert_int_equal(sp_rocks_row_count(rocks), 1000 + count);
		assert_true(has(rocks, INT64_MIN, 4) == (count != 0));
		assert_true(has(rocks, -500, 0));
		sp_rocks_close(rocks);
	}
}

static void over_nothing_nothing_is_written(void **state)
{
	char path[SP_PATH_SIZE + 16], base[SP_PATH_SIZE + 16];
	sp_rocks_writer *writer;
	sp_error error;

	(void)state;
	write_rows(10, 3);
	snprintf(base, sizeof(base), "%s/none", root);
	snprintf(path, sizeof(path), "%s/over", root);
	assert_int_equal(sp_rocks_writer_create_over(&writer, path, base, ROW, &error), SP_IO);
	assert_non_null(strstr(error.text, base));
	/* There is one already. */
	assert_int_equal(sp_rocks_writer_create_over(&writer, folder, base, ROW, &error), SP_IO);
	assert_non_null(strstr(error.text, "File exists"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: a child has none of the threads that RocksDB starts. */
		ON_DISK(a_full_disk_is_an_error_at_every_step),
		ON_DISK(rows_are_found_and_absent_keys_are_not),
		ON_DISK(extreme_keys_are_keys),
		ON_DISK(a_later_run_replaces_rows_of_an_earlier_one),
		ON_DISK(no_rows_at_all_are_fine),
		ON_DISK(a_batch_is_read_at_once),
		ON_DISK(a_folder_that_is_not_there_or_not_ours_is_refused),
		ON_DISK(rows_of_another_size_are_corrupt),
		ON_DISK(a_byte_that_changed_is_an_error_and_never_a_wrong_row),
		ON_DISK(a_byte_that_changes_while_it_is_open_is_an_error),
		ON_DISK(a_file_that_is_cut_while_it_is_open_is_an_error),
		ON_DISK(files_that_are_deleted_underneath_go_on_answering),
		ON_DISK(a_file_that_is_gone_at_the_start_is_an_error),
		ON_DISK(opening_again_and_again_leaves_no_files),
		ON_DISK(rows_lie_over_those_of_another_folder),
		ON_DISK(a_layer_need_not_touch_what_it_lies_over),
		ON_DISK(over_nothing_nothing_is_written),
	};
	return cmocka_run_group_tests_name("rocks", tests, NULL, NULL);
}
