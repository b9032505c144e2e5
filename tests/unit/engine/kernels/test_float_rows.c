#include "tests/support/cmocka.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "engine/kernels/float_rows.h"

enum { MOST = 20000 };

static float x[MOST], y[MOST];

static void fill(size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (float)rand() / (float)RAND_MAX * 6 - 3;
}

static void sums_keep_the_stated_bound(void **state)
{
	static const size_t lengths[] = {0,  1,   3,    4,    5,    31,   32,   33,
					 63, 100, 1000, 4095, 4096, 4097, 8193, MOST};

	(void)state;
	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
		size_t n = lengths[l];
		double sum = 0, size = 0, squares = 0;
		double bound = (140 + (double)n / 4096) * (double)FLT_EPSILON / 2;

		fill(n);
		for (size_t i = 0; i < n; i++) {
			sum += (double)x[i];
			size += fabs((double)x[i]);
			squares += (double)x[i] * (double)x[i];
		}
		assert_true(fabs((double)sp_float_sum(x, n) - sum) <= bound * size);
		assert_true(fabs((double)sp_float_square_sum(x, n) - squares) <=
			    (bound + (double)FLT_EPSILON) * squares);
	}
}

static void the_maximum_is_found_wherever_it_is(void **state)
{
	enum { LENGTH = 37 };

	(void)state;
	assert_true(sp_float_max(x, 0) == -INFINITY);
	fill(LENGTH);
	for (size_t n = 1; n <= LENGTH; n++)
		for (size_t at = 0; at < n; at++) {
			float before = x[at];

			x[at] = 7;
			assert_true(sp_float_max(x, n) == 7);
			sp_float_shift(x, y, n);
			assert_true(y[at] == 0);
			x[at] = NAN;
			assert_true(n == 1 || sp_float_max(x, n) <= 3);
			x[at] = before;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_keep_the_stated_bound),
		cmocka_unit_test(the_maximum_is_found_wherever_it_is),
	};

	srand(5);
	return cmocka_run_group_tests_name("float_rows", tests, NULL, NULL);
}
