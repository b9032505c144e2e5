#include "tests/support/cmocka.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpu_list.h"
#include "base/log.h"
#include "session_group/session_group.h"
#include "session_group/session_homes.h"

static sp_numa numa; /* of a machine with two nodes, of which this thread's processor is in one */
static int here;
static size_t warnings;

static void count_line(void *context, int level, const char *line)
{
	(void)context;
	(void)line;
	warnings += level == SP_LOG_WARNING;
}

static int set_up(void **state)
{
	cpu_set_t allowed, mine;

	(void)state;
	sp_cpu_list_allowed(&allowed);
	here = sched_getcpu();
	CPU_ZERO(&mine);
	CPU_SET(here, &mine);
	assert_int_equal(sched_setaffinity(0, sizeof(mine), &mine), 0);
	numa = (sp_numa){.count = 2, .numbers = {0, 3}};
	CPU_SET(here == 0 ? 1 : 0, &numa.cpus[0]);
	CPU_SET(here, &numa.cpus[1]);
	sp_log_set_sink(count_line, NULL);
	warnings = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static sp_session_homes *homes_of(size_t count, const char *cpusets)
{
	sp_session_homes *homes;
	sp_error err;

	assert_ok(sp_session_homes_create(&homes, count, cpusets, &numa, &err), &err);
	return homes;
}

static void alike_sessions_have_none(void **state)
{
	sp_numa one = {.count = 1};
	sp_session_homes *homes;

	(void)state;
	assert_null(homes_of(1, NULL));
	assert_int_equal(sp_session_homes_create(&homes, 4, "", &one, NULL), SP_OK);
	assert_null(homes);
	assert_int_equal(sp_session_homes_node(NULL, 0), -1);
	sp_session_homes_destroy(NULL);
}

static void sessions_are_divided_among_the_nodes(void **state)
{
	sp_session_homes *homes = homes_of(4, NULL);
	sp_session_list near = sp_session_homes_near(homes);

	(void)state;
	assert_int_equal(sp_session_homes_node(homes, 1), 0);
	assert_int_equal(sp_session_homes_node(homes, 2), 3);
	assert_int_equal(sp_session_homes_node(homes, 4), -1); /* one for warm-up */
	assert_int_equal(near.count, 2);
	assert_int_equal(near.numbers[0], 2);
	assert_int_equal(near.numbers[1], 3);
	sp_session_homes_destroy(homes);
}

static void a_session_near_is_taken_first(void **state)
{
	sp_session_homes *homes = homes_of(4, NULL);
	const sp_session_group_options options = {
		.count = 4, .policy = SP_SESSION_POLICY_RR, .homes = homes};
	sp_session_group *group;
	size_t first, second, third;
	sp_error err;

	(void)state;
	assert_ok(sp_session_group_create(&group, &options, &err), &err);
	assert_ok(sp_session_group_acquire(&first, group, 0, &err), &err);
	assert_ok(sp_session_group_acquire(&second, group, 0, &err), &err);
	assert_int_equal(first + second, 2 + 3);
	assert_ok(sp_session_group_acquire(&third, group, 0, &err), &err);
	assert_true(third < 2);
	sp_session_group_release(group, first);
	sp_session_group_release(group, second);
	sp_session_group_release(group, third);
	sp_session_group_destroy(group);
	sp_session_homes_destroy(homes);
}

/* The second set is of processors that this thread may not use: its session belongs everywhere. */
static void sets_of_processors(void **state)
{
	char cpusets[64];
	sp_session_homes *homes;
	sp_session_list near;
	cpu_set_t others;

	(void)state;
	snprintf(cpusets, sizeof(cpusets), "%d-%d; 1000,1001;999", here, here);
	assert_int_equal(sp_session_homes_count_sets(cpusets), 3);
	homes = homes_of(3, cpusets);
	assert_int_equal(warnings, 2);
	near = sp_session_homes_near(homes);
	assert_int_equal(near.count, 3);
	assert_int_equal(sp_session_homes_node(homes, 0), 3);
	sp_session_homes_others(&others, cpusets);
	assert_int_equal(CPU_COUNT(&others), 0);
	sp_session_homes_others(&others, "1000");
	assert_int_equal(CPU_COUNT(&others), 1);
	sp_session_homes_destroy(homes);
}

static void refuse(size_t count, const char *cpusets, const char *text)
{
	sp_session_homes *homes;
	sp_error err;

	assert_int_equal(sp_session_homes_create(&homes, count, cpusets, &numa, &err), SP_INVALID);
	assert_null(homes);
	assert_non_null(strstr(err.text, "'cpusets'"));
	assert_non_null(strstr(err.text, text));
}

static void wrong_sets_are_refused(void **state)
{
	(void)state;
	refuse(2, "0", "has 1 sets for 2 sessions");
	refuse(2, "0;1;", "has 3 sets for 2 sessions");
	refuse(2, "0;", "'' is no list");
	refuse(1, "a", "'a' is no list");
	refuse(1, "1-", "'1-' is no list");
	refuse(1, "3-1", "'3-1' is no list");
	refuse(1, "1,,2", "'1,,2' is no list");
	refuse(1, "-1", "'-1' is no list");
	refuse(1, "99999999999999999999", "is no list");
}

static void no_memory_is_an_error(void **state)
{
	sp_status status = SP_NO_MEMORY;
	sp_session_homes *homes = NULL;
	int64_t successes = 0;

	(void)state;
	for (; status == SP_NO_MEMORY && successes < 100; successes++) {
		sp_alloc_fail_after(successes);
		status = sp_session_homes_create(&homes, 3, NULL, &numa, NULL);
		sp_alloc_fail_after(-1);
	}
	assert_int_equal(status, SP_OK);
	assert_true(successes > 1);
	sp_session_homes_destroy(homes);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(alike_sessions_have_none),      CASE(sessions_are_divided_among_the_nodes),
		CASE(a_session_near_is_taken_first), CASE(sets_of_processors),
		CASE(wrong_sets_are_refused),        CASE(no_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("session_homes", tests, NULL, NULL);
}
