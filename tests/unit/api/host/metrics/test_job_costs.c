#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/metrics/job_costs.h"

static void a_size_is_unknown_until_it_is_noted(void **state)
{
	sp_job_costs costs;

	(void)state;
	memset(&costs, 0, sizeof(costs));
	assert_int_equal(sp_job_costs_get(&costs, 100), -1);
	sp_job_costs_note(&costs, 1000, 5000);
	assert_int_equal(sp_job_costs_get(&costs, 100), 5000);
	assert_int_equal(sp_job_costs_get(&costs, 1024), 5000);
	assert_int_equal(sp_job_costs_get(&costs, 1025), -1);
	sp_job_costs_note(&costs, 64 << 10, 7000);
	assert_int_equal(sp_job_costs_get(&costs, 40000), 7000);
	sp_job_costs_note(&costs, (64 << 10) + 1, 9000);
	assert_int_equal(sp_job_costs_get(&costs, (64 << 10) + 1), -1);
}

static void averages_rise_fast_and_fall_slowly(void **state)
{
	sp_job_costs costs;

	(void)state;
	memset(&costs, 0, sizeof(costs));
	sp_job_costs_note(&costs, 0, 100000);
	sp_job_costs_note(&costs, 0, 200000);
	assert_int_equal(sp_job_costs_get(&costs, 0), 150000);
	sp_job_costs_note(&costs, 0, 134000);
	assert_int_equal(sp_job_costs_get(&costs, 0), 149000);
}

/* A thread that had to wait for a core is not taken for a long job at once; a long model is. */
static void one_very_long_job_counts_as_a_moderate_one(void **state)
{
	sp_job_costs costs;

	(void)state;
	memset(&costs, 0, sizeof(costs));
	sp_job_costs_note(&costs, 0, 10000);
	sp_job_costs_note(&costs, 0, 50000000);
	assert_int_equal(sp_job_costs_get(&costs, 0), 75000);
	sp_job_costs_note(&costs, 0, 50000000);
	assert_int_equal(sp_job_costs_get(&costs, 0), 237500);
	for (int i = 0; i < 100; i++)
		sp_job_costs_note(&costs, 0, 10000);
	assert_in_range(sp_job_costs_get(&costs, 0), 10000, 11000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_size_is_unknown_until_it_is_noted),
		cmocka_unit_test(averages_rise_fast_and_fall_slowly),
		cmocka_unit_test(one_very_long_job_counts_as_a_moderate_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
