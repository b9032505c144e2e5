#include "tests/support/cmocka.h"

#include "base/backoff.h"

enum { MS = 1000000 };

static void pauses_double_up_to_the_greatest(void **state)
{
	static const int64_t greatest_ms[] = {10, 20, 40, 80, 100, 100};
	uint64_t random = 7;

	(void)state;
	for (uint32_t failures = 0; failures < 6; failures++)
		for (int i = 0; i < 100; i++) {
			int64_t pause_ns = sp_backoff_ns(failures, 10, 100, &random);

			assert_true(pause_ns >= greatest_ms[failures] * MS / 2);
			assert_true(pause_ns <= greatest_ms[failures] * MS);
		}
	assert_true(sp_backoff_ns(UINT32_MAX, 10, 100, &random) <= 100 * MS);
	assert_true(sp_backoff_ns(0, 10, 5, &random) <= 5 * MS);
}

static void pauses_of_equal_failures_differ(void **state)
{
	uint64_t one = 1, other = 2;
	int equal = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		equal += sp_backoff_ns(3, 10, 1000, &one) == sp_backoff_ns(3, 10, 1000, &other);
	assert_true(equal < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_double_up_to_the_greatest),
		cmocka_unit_test(pauses_of_equal_failures_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
