#include "tests/support/cmocka.h"

#include <stdio.h>

#include "api/host/model/traffic.h"

static void shares_are_as_large_as_they_say(void **state)
{
	enum { COUNT = 100000 };
	sp_traffic traffic = {0};
	int five = 0, twenty = 0, rest = 0;

	(void)state;
	sp_traffic_add(&traffic, 5, 5);
	sp_traffic_add(&traffic, 20, 20);
	for (int i = 0; i < COUNT; i++) {
		int64_t version = sp_traffic_choose(&traffic, sp_traffic_random());

		five += version == 5;
		twenty += version == 20;
		rest += version == -1;
	}
	assert_in_range(five, COUNT * 45 / 1000, COUNT * 55 / 1000);
	assert_in_range(twenty, COUNT * 19 / 100, COUNT * 21 / 100);
	assert_int_equal(five + twenty + rest, COUNT);
	assert_true(sp_traffic_has(&traffic, 20));
	assert_false(sp_traffic_has(&traffic, 1));
}

static void the_whole_is_a_share_as_well(void **state)
{
	sp_traffic traffic = {0};

	(void)state;
	assert_int_equal(sp_traffic_choose(&traffic, 0), -1);
	sp_traffic_add(&traffic, 1, 60);
	sp_traffic_add(&traffic, 2, 60);
	assert_int_equal(sp_traffic_choose(&traffic, 0), 1);
	assert_int_equal(sp_traffic_choose(&traffic, UINT32_MAX - 1), 2);
	traffic = (sp_traffic){0};
	sp_traffic_add(&traffic, 1, 0);
	assert_int_equal(sp_traffic_choose(&traffic, 0), -1);
	for (int i = 0; i < 20; i++)
		sp_traffic_add(&traffic, i, 1);
	assert_int_equal(traffic.share_count, SP_MAX_SHARES);
}

/* The point of a key is part of what users see: it must not change between releases. */
static void keys_keep_their_place(void **state)
{
	sp_traffic traffic = {0};
	int canary = 0;

	(void)state;
	sp_traffic_add(&traffic, 2, 25);
	for (int i = 0; i < 10000; i++) {
		char key[16];
		sp_bytes bytes = {key, (size_t)snprintf(key, sizeof(key), "user-%d", i)};
		uint32_t point = sp_traffic_point("m", bytes);

		assert_int_equal(point, sp_traffic_point("m", bytes));
		canary += sp_traffic_choose(&traffic, point) == 2;
	}
	assert_in_range(canary, 2300, 2700);
	assert_int_not_equal(sp_traffic_point("m", sp_bytes_of("a")),
			     sp_traffic_point("n", sp_bytes_of("a")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_as_large_as_they_say),
		cmocka_unit_test(the_whole_is_a_share_as_well),
		cmocka_unit_test(keys_keep_their_place),
	};

	return cmocka_run_group_tests_name("traffic", tests, NULL, NULL);
}
