#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "storage/region.h"

static void check_bytes(const sp_region *region, size_t size)
{
	const unsigned char *bytes = region->data;

	for (size_t i = 0; i < size; i += 997)
		assert_int_equal(bytes[i], i % 251);
}

static void write_bytes(sp_region *region)
{
	unsigned char *bytes = region->data;

	for (size_t i = 0; i < region->size; i++)
		bytes[i] = (unsigned char)(i % 251);
}

/* From the allocator to mappings and back, up and down, over the boundaries of huge pages. */
static void resizing_keeps_what_there_is(void **state)
{
	const size_t mib = 1 << 20;
	const size_t sizes[] = {1,       100,      mib,     2 * mib,      2 * mib + 1,
				9 * mib, 9 * mib,  4 * mib, 5 * mib,      2 * mib - 1,
				64,      20 * mib, 3 * mib, 2 * mib + 10, 10};
	sp_region region = {0};
	size_t before = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_true(sp_region_resize(&region, sizes[i]));
		assert_int_equal(region.size, sizes[i]);
		assert_true(sp_region_footprint(&region) >= sizes[i]);
		assert_int_equal((uintptr_t)region.data % 64, 0);
		check_bytes(&region, before < sizes[i] ? before : sizes[i]);
		write_bytes(&region);
		before = sizes[i];
	}
	assert_true(sp_region_resize(&region, 0));
	assert_null(region.data);
	sp_region_fini(&region);
}

static void failure_changes_nothing(void **state)
{
	sp_region region = {0};

	(void)state;
	assert_true(sp_region_resize(&region, 1000));
	write_bytes(&region);
	sp_alloc_fail_after(0);
	assert_false(sp_region_resize(&region, 2000));
	sp_alloc_fail_after(-1);
	assert_false(sp_region_resize(&region, SIZE_MAX));
	assert_false(sp_region_resize(&region, SIZE_MAX / 2));
	assert_int_equal(region.size, 1000);
	check_bytes(&region, 1000);
	assert_true(sp_region_resize(&region, 3 << 20));
	write_bytes(&region);
	assert_false(sp_region_resize(&region, SIZE_MAX / 2));
	check_bytes(&region, 3 << 20);
	sp_region_fini(&region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resizing_keeps_what_there_is),
		cmocka_unit_test(failure_changes_nothing),
	};

	return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
