#include "tests/support/cmocka.h"

#include <unistd.h>

#include "base/clock.h"

static void it_counts_nanoseconds_and_never_goes_back(void **state)
{
	int64_t start = sp_clock_now_ns(), last = start;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		int64_t now = sp_clock_now_ns();

		assert_true(now >= last);
		last = now;
	}
	start = sp_clock_now_ns();
	usleep(20000);
	last = sp_clock_now_ns();
	/* Never less than asked; how much more depends on the machine's load. */
	assert_true(last - start >= 20000000);
	assert_true(last - start < 60ll * 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_counts_nanoseconds_and_never_goes_back),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
