#include "tests/support/cmocka.h"

#include <string.h>

#include "storage/redis/redis_slots.h"

static uint32_t slot(const char *key)
{
	return sp_redis_slot(key, strlen(key));
}

/* As "redis-cli cluster keyslot KEY" says. */
static void keys_have_the_slots_of_redis(void **state)
{
	(void)state;
	assert_int_equal(slot("123456789"), 0x31c3);
	assert_int_equal(slot("foo"), 12182);
	assert_int_equal(slot("bar"), 5061);
	assert_int_equal(slot(""), 0);
}

static void only_what_is_in_braces_counts(void **state)
{
	(void)state;
	assert_int_equal(slot("a{foo}b"), slot("foo"));
	assert_int_equal(slot("{foo}{bar}"), slot("foo"));
	assert_int_equal(slot("x{foo"), sp_redis_slot("x{foo", 5));
	assert_int_not_equal(slot("a{}foo"), slot("foo"));
	assert_int_equal(slot("foo{{bar}}"), slot("{bar"));
	assert_int_equal(sp_redis_slot("a{f\0o}", 7), sp_redis_slot("f\0o", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_have_the_slots_of_redis),
		cmocka_unit_test(only_what_is_in_braces_counts),
	};
	return cmocka_run_group_tests_name("redis_slots", tests, NULL, NULL);
}
