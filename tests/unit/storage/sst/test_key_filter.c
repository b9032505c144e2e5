#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/sst/key_filter.h"
#include "tests/support/paths.h"

static char root[SP_PATH_SIZE], path[SP_PATH_SIZE + 16];
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	snprintf(path, sizeof(path), "%s/filter", root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	return 0;
}

/* Keys 0, step, 2 step ... */
static sp_key_filter *make(size_t count, int64_t step)
{
	sp_key_filter *filter;

	assert_ok(sp_key_filter_create(&filter, count, &err), &err);
	for (size_t i = 0; i < count; i++)
		sp_key_filter_add(filter, (int64_t)i * step);
	return filter;
}

/* Of the numbers that lie between those, how many in a thousand may be there. */
static size_t count_false(const sp_key_filter *filter, size_t count, int64_t step)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++)
		wrong += sp_key_filter_may_have(filter, (int64_t)i * step + step / 2);
	return wrong * 1000 / count;
}

static void a_key_that_is_there_may_be_there_and_few_others(void **state)
{
	static const int64_t steps[] = {2, 1024, INT64_C(1) << 40};
	enum { KEYS = 100000 };

	(void)state;
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		sp_key_filter *filter = make(KEYS, steps[s]);

		for (int64_t i = 0; i < KEYS; i++)
			assert_true(sp_key_filter_may_have(filter, i * steps[s]));
		/* At least what theory gives a plain Bloom filter of eight bits: 2.1 %. */
		assert_in_range(count_false(filter, KEYS, steps[s]), 15, 40);
		assert_int_equal(sp_key_filter_key_count(filter), KEYS);
		assert_in_range(sp_key_filter_footprint(filter), KEYS, KEYS + 256);
		assert_int_equal(sp_key_filter_footprint(filter),
				 sp_key_filter_expected_footprint(KEYS));
		sp_key_filter_destroy(filter);
	}
}

static void no_keys_are_none(void **state)
{
	sp_key_filter *filter = make(0, 1);

	(void)state;
	for (int64_t key = -1000; key < 1000; key++)
		assert_false(sp_key_filter_may_have(filter, key));
	sp_key_filter_destroy(filter);
	sp_key_filter_destroy(NULL);
}

static void a_file_brings_it_back(void **state)
{
	sp_key_filter *filter = make(5000, 7), *loaded;

	(void)state;
	assert_ok(sp_key_filter_save(filter, path, &err), &err);
	assert_ok(sp_key_filter_load(&loaded, path, &err), &err);
	for (int64_t key = -100; key < 40000; key++)
		assert_int_equal(sp_key_filter_may_have(loaded, key),
				 sp_key_filter_may_have(filter, key));
	assert_int_equal(sp_key_filter_key_count(loaded), 5000);
	sp_key_filter_destroy(loaded);
	sp_key_filter_destroy(filter);
}

static void a_file_that_is_not_whole_is_refused(void **state)
{
	sp_key_filter *filter = make(500, 7), *loaded;
	struct stat info;

	(void)state;
	assert_ok(sp_key_filter_save(filter, path, &err), &err);
	assert_int_equal(stat(path, &info), 0);
	for (off_t at = 0; at < info.st_size; at++) {
		int fd = open(path, O_RDWR);
		unsigned char byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 4;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_int_equal(sp_key_filter_load(&loaded, path, &err), SP_CORRUPT);
		assert_non_null(strstr(err.text, path));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	while (info.st_size-- > 0) {
		assert_int_equal(truncate(path, info.st_size), 0);
		assert_int_equal(sp_key_filter_load(&loaded, path, &err), SP_CORRUPT);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sp_key_filter_load(&loaded, path, &err), SP_NOT_FOUND);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(sp_key_filter_save(filter, path, &err), SP_IO);
	sp_key_filter_destroy(filter);
}

static void memory_that_is_out_is_an_error(void **state)
{
	sp_key_filter *filter = make(500, 7), *other;

	(void)state;
	assert_ok(sp_key_filter_save(filter, path, &err), &err);
	for (int64_t n = 0; n < 2; n++) {
		sp_alloc_fail_after(n);
		assert_int_equal(sp_key_filter_create(&other, 500, &err), SP_NO_MEMORY);
		sp_alloc_fail_after(n);
		assert_int_equal(sp_key_filter_load(&other, path, &err), SP_NO_MEMORY);
		sp_alloc_fail_after(-1);
	}
	sp_key_filter_destroy(filter);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_that_is_there_may_be_there_and_few_others),
		cmocka_unit_test(no_keys_are_none),
		ON_DISK(a_file_brings_it_back),
		ON_DISK(a_file_that_is_not_whole_is_refused),
		ON_DISK(memory_that_is_out_is_an_error),
	};
	return cmocka_run_group_tests_name("key_filter", tests, NULL, NULL);
}
