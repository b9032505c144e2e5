#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

static int set_up(void **state)
{
	*state = sp_arena_create(4096);
	return 0;
}

static int tear_down(void **state)
{
	sp_alloc_fail_after(-1);
	sp_arena_destroy(*state);
	return 0;
}

static void add_keeps_and_put_overwrites(void **state)
{
	sp_map map;
	uint64_t value = 7;

	sp_map_init(&map, *state);
	assert_false(sp_map_get(&map, sp_bytes_of("a"), &value));
	assert_int_equal(sp_map_add(&map, sp_bytes_of("a"), 1), SP_MAP_ADDED);
	assert_int_equal(sp_map_add(&map, sp_bytes_of("a"), 2), SP_MAP_PRESENT);
	assert_true(sp_map_get(&map, sp_bytes_of("a"), &value));
	assert_int_equal(value, 1);
	assert_int_equal(sp_map_put(&map, sp_bytes_of("a"), 3), SP_MAP_PRESENT);
	assert_int_equal(sp_map_put(&map, sp_bytes_of("b"), 4), SP_MAP_ADDED);
	assert_true(sp_map_get(&map, sp_bytes_of("a"), &value));
	assert_int_equal(value, 3);
	assert_true(sp_map_get(&map, sp_bytes_of("b"), NULL));
	assert_false(sp_map_get(&map, sp_bytes_of("c"), NULL));
	assert_int_equal(map.count, 2);
}

static void keys_are_bytes_not_texts(void **state)
{
	sp_map map;
	uint64_t value;

	sp_map_init(&map, *state);
	assert_int_equal(sp_map_add(&map, (sp_bytes){"a\0b", 3}, 1), SP_MAP_ADDED);
	assert_int_equal(sp_map_add(&map, (sp_bytes){"a\0c", 3}, 2), SP_MAP_ADDED);
	assert_int_equal(sp_map_add(&map, (sp_bytes){"a", 1}, 3), SP_MAP_ADDED);
	assert_int_equal(sp_map_add(&map, (sp_bytes){NULL, 0}, 4), SP_MAP_ADDED);
	assert_int_equal(sp_map_add(&map, (sp_bytes){"", 0}, 5), SP_MAP_PRESENT);
	assert_true(sp_map_get(&map, (sp_bytes){"a\0c", 3}, &value));
	assert_int_equal(value, 2);
	assert_true(sp_map_get(&map, (sp_bytes){"xyz", 0}, &value));
	assert_int_equal(value, 4);
}

static void many_keys_are_found_again_in_order(void **state)
{
	enum { COUNT = 20000 };
	char(*names)[16] = sp_arena_array(*state, COUNT, sizeof(*names));
	sp_map map;

	sp_map_init(&map, *state);
	for (size_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "key/%zu", i * 7919 % COUNT);
		assert_int_equal(sp_map_add(&map, sp_bytes_of(names[i]), i * 3), SP_MAP_ADDED);
	}
	assert_int_equal(map.count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		char absent[32];
		uint64_t value;

		assert_true(sp_map_get(&map, sp_bytes_of(names[i]), &value));
		assert_int_equal(value, i * 3);
		assert_true(sp_bytes_equal_text(map.entries[i].key, names[i]));
		snprintf(absent, sizeof(absent), "key/%zu", COUNT + i);
		assert_false(sp_map_get(&map, sp_bytes_of(absent), NULL));
	}
}

/* A map whose growth fails stays as it was. */
static void out_of_memory_loses_nothing(void **state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	sp_arena *tight = sp_arena_create(64);
	size_t added = 0;
	sp_map map;

	(void)state;
	sp_map_init(&map, tight);
	assert_int_equal(sp_map_add(&map, (sp_bytes){letters, 1}, 0), SP_MAP_ADDED);
	sp_alloc_fail_after(0);
	for (added = 1; added < 26; added++)
		if (sp_map_add(&map, (sp_bytes){letters + added, 1}, added) == SP_MAP_NO_MEMORY)
			break;
	assert_in_range(added, 1, 25);
	assert_int_equal(map.count, added);
	assert_false(sp_map_get(&map, (sp_bytes){letters + added, 1}, NULL));
	sp_alloc_fail_after(-1);
	for (; added < 26; added++)
		assert_int_equal(sp_map_add(&map, (sp_bytes){letters + added, 1}, added),
				 SP_MAP_ADDED);
	for (size_t i = 0; i < 26; i++) {
		uint64_t value;

		assert_true(sp_map_get(&map, (sp_bytes){letters + i, 1}, &value));
		assert_int_equal(value, i);
	}
	sp_arena_destroy(tight);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(add_keeps_and_put_overwrites, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_are_bytes_not_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_keys_are_found_again_in_order, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(out_of_memory_loses_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
