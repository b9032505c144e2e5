#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log_limit.h"

static const int64_t second_ns = INT64_C(1000000000);

static int take_all(sp_log_limit *limit, int64_t now_ns, int tries)
{
	int taken = 0;

	for (int i = 0; i < tries; i++)
		taken += sp_log_limit_take(limit, now_ns);
	return taken;
}

static void a_burst_and_then_one_a_second(void **state)
{
	sp_log_limit limit = {0};
	int64_t now_ns = 5 * second_ns;

	(void)state;
	assert_int_equal(take_all(&limit, now_ns, 100), SP_LOG_BURST);
	assert_int_equal(take_all(&limit, now_ns + second_ns - 1, 100), 0);
	assert_int_equal(take_all(&limit, now_ns + second_ns, 100), 1);
	assert_int_equal(take_all(&limit, now_ns + 4 * second_ns, 100), 3);
	assert_int_equal(take_all(&limit, now_ns + 1000 * second_ns, 100), SP_LOG_BURST);
	assert_int_equal(limit.left_out, 5 * 100 - 2 * SP_LOG_BURST - 4);
}

static sp_log_limit shared;
static _Atomic int taken;

static void *take_some(void *argument)
{
	(void)argument;
	taken += take_all(&shared, second_ns, 1000);
	return NULL;
}

static void threads_share_a_burst(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_some, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(taken, SP_LOG_BURST);
	assert_int_equal(shared.left_out, 4000 - SP_LOG_BURST);
}

static int lines;
static char last[64];

static void count(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	lines++;
	snprintf(last, sizeof(last), "%s", line);
}

static void what_is_left_out_is_told(void **state)
{
	sp_log_limit limit = {0};

	(void)state;
	sp_log_set_sink(count, NULL);
	sp_log_limited(&limit, SP_LOG_DEBUG, "below the level: it takes nothing");
	assert_int_equal(limit.full_ns, 0);
	for (int i = 0; i < 100; i++)
		sp_log_limited(&limit, SP_LOG_WARNING, "request %d is wrong", i);
	/* On a machine that stands still for a second, one more. */
	assert_in_range(lines, SP_LOG_BURST, 50);
	lines = 0;
	limit.full_ns = 0;
	limit.left_out = 90;
	sp_log_limited(&limit, SP_LOG_WARNING, "request %d is wrong", 100);
	assert_int_equal(lines, 2);
	assert_string_equal(last, "request 100 is wrong");
	limit.left_out = 3;
	sp_log_limit_end(&limit, SP_LOG_WARNING);
	assert_string_equal(last, "3 similar lines were left out");
	sp_log_limit_end(&limit, SP_LOG_WARNING);
	assert_int_equal(lines, 3);
	sp_log_set_sink(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_and_then_one_a_second),
		cmocka_unit_test(threads_share_a_burst),
		cmocka_unit_test(what_is_left_out_is_told),
	};

	return cmocka_run_group_tests_name("log_limit", tests, NULL, NULL);
}
