#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "storage/cache/hot_rows.h"
#include "tests/support/paths.h"

enum { ROW = 12, KEYS = 300 };

static char root[SP_PATH_SIZE], path[SP_PATH_SIZE + 16];

/* The number of rows held, without keys that are known to be absent. */
static size_t count_rows(sp_row_cache *cache)
{
	sp_row_cache_entry entry = {.row = malloc(sp_row_cache_row_stride(cache))};
	size_t count = 0;

	assert_non_null(entry.row);
	for (size_t at = 0; sp_row_cache_next(cache, &at, &entry);)
		count++;
	free(entry.row);
	return count;
}

static int set_up(void **state)
{
	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(root);
	snprintf(path, sizeof(path), "%s/hot", root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	return 0;
}

static sp_row_cache *make_cache(size_t row_size, size_t rows)
{
	const sp_row_cache_options options = {
		.row_size = row_size, .cap_bytes = (size_t)1 << 20, .max_rows = rows};
	sp_row_cache *cache;
	sp_error error;

	assert_ok(sp_row_cache_create(&cache, &options, &error), &error);
	return cache;
}

static void make_row(int64_t key, unsigned char row[ROW])
{
	memset(row, (int)(key * 7 + 1), ROW);
}

/* Keys 0 ... KEYS - 1 of falling frequencies, saved. */
static void save(void)
{
	sp_row_cache *cache = make_cache(ROW, 10 * KEYS);
	unsigned char row[ROW];
	sp_error error;

	for (int64_t key = 0; key < KEYS; key++) {
		make_row(key, row);
		sp_row_cache_seed(cache, key, row, (uint64_t)(10 * (KEYS - key)));
	}
	/* Most uses were of keys that the cache has no room for. */
	sp_row_cache_finish_seeding(cache, 100.0 * KEYS * KEYS);
	sp_row_cache_fill(cache, 77777, NULL);
	assert_ok(sp_hot_rows_save(cache, path, &error), &error);
	sp_row_cache_destroy(cache);
}

/* How many of the keys a cache holds, each with its own row. */
static size_t held(sp_row_cache *cache, int64_t first, int64_t end)
{
	size_t count = 0;

	for (int64_t key = first; key < end; key++) {
		uint64_t row[(ROW + 7) / 8];
		unsigned char want[ROW];
		sp_row_cache_result answer;

		sp_row_cache_read(cache, &key, 1, &answer, row);
		if (answer == SP_ROW_CACHE_MISS)
			continue;
		make_row(key, want);
		assert_memory_equal(row, want, ROW);
		count++;
	}
	return count;
}

static void what_was_saved_is_loaded(void **state)
{
	sp_row_cache *cache = make_cache(ROW, 10 * KEYS);

	(void)state;
	save();
	sp_hot_rows_load(cache, path);
	assert_int_equal(count_rows(cache), KEYS); /* and none that is absent */
	assert_int_equal(held(cache, 0, KEYS), KEYS);
	sp_row_cache_destroy(cache);
}

static void a_smaller_cache_takes_the_hottest(void **state)
{
	sp_row_cache *cache = make_cache(ROW, KEYS / 2);
	size_t hot, cold;

	(void)state;
	save();
	sp_hot_rows_load(cache, path);
	/* Rows have no choice of their set, and a set in a dozen may stay short of some. */
	assert_in_range(count_rows(cache), sp_row_cache_capacity(cache) * 9 / 10,
			sp_row_cache_capacity(cache));
	hot = held(cache, 0, KEYS / 3);
	cold = held(cache, 2 * KEYS / 3, KEYS);
	assert_true(hot > KEYS / 3 - 10);
	assert_true(cold < KEYS / 6);
	sp_row_cache_destroy(cache);
}

static void check_empty_after_load(size_t row_size)
{
	sp_row_cache *cache = make_cache(row_size, 10 * KEYS);

	sp_hot_rows_load(cache, path);
	assert_int_equal(count_rows(cache), 0);
	sp_row_cache_destroy(cache);
}

static void a_missing_file_leaves_the_cache_empty(void **state)
{
	(void)state;
	check_empty_after_load(ROW);
}

static void rows_of_another_size_leave_the_cache_empty(void **state)
{
	(void)state;
	save();
	check_empty_after_load(ROW + 4);
}

static void every_byte_that_changes_leaves_the_cache_empty(void **state)
{
	struct stat info;
	int fd;

	(void)state;
	save();
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	for (off_t at = 0; at < info.st_size; at += at < 60 ? 1 : 97) {
		unsigned char byte, changed;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = byte ^ 0x40;
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		check_empty_after_load(ROW);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

static void a_file_that_is_cut_leaves_the_cache_empty(void **state)
{
	struct stat info;

	(void)state;
	save();
	assert_int_equal(stat(path, &info), 0);
	for (off_t size = info.st_size - 1; size > 0; size -= size > 60 ? 61 : 7) {
		assert_int_equal(truncate(path, size), 0);
		check_empty_after_load(ROW);
	}
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
	sp_row_cache *cache = make_cache(ROW, 100);
	sp_error error;

	(void)state;
	assert_int_equal(sp_hot_rows_save(cache, "/dev/full", &error), SP_IO);
	assert_non_null(strstr(error.text, "/dev/full"));
	snprintf(path, sizeof(path), "%s/no/such", root);
	assert_int_equal(sp_hot_rows_save(cache, path, &error), SP_IO);
	sp_row_cache_destroy(cache);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(what_was_saved_is_loaded),
		ON_DISK(a_smaller_cache_takes_the_hottest),
		ON_DISK(a_missing_file_leaves_the_cache_empty),
		ON_DISK(rows_of_another_size_leave_the_cache_empty),
		ON_DISK(every_byte_that_changes_leaves_the_cache_empty),
		ON_DISK(a_file_that_is_cut_leaves_the_cache_empty),
		ON_DISK(a_file_that_cannot_be_written_is_an_error),
	};
	return cmocka_run_group_tests_name("hot_rows", tests, NULL, NULL);
}
