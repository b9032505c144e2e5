/*
 * That the orders of sums are TensorFlow's, families of operator cases say.  Here stands what holds
 * for any order, of matrices so large that sums are cut where the processor has it: solutions
 * solve, and factors give the matrix back, within a bound for the type.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/kernels/ordered_matrix.h"

#define MOST 210

static uint64_t seed = 1;

static double some(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-52 - 1;
}

static void assert_near(double x, double y, double bound)
{
	if (!(fabs(x - y) < bound))
		fail_msg("%g, wanted %g", x, y);
}

static void *make(size_t count, size_t size)
{
	void *out = calloc(count, size);

	assert_non_null(out);
	return out;
}

#define number   float
#define KIND(x)  x##_f32
#define BOUND(n) (2e-6 * (double)(n))
#include "tests/unit/engine/ordered_matrix_checks.inc"
#undef number
#undef KIND
#undef BOUND

#define number   double
#define KIND(x)  x##_f64
#define BOUND(n) (4e-15 * (double)(n))
#include "tests/unit/engine/ordered_matrix_checks.inc"

static const size_t sizes[] = {1, 2, 9, 31, 33, 97, 130, MOST};

static void test_floats(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_all_f32(sizes[i]);
}

static void test_doubles(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_all_f64(sizes[i]);
}

static void test_not_positive(void **state)
{
	float a[] = {1, 0, 2, 1};
	double b[] = {0};

	(void)state;
	assert_false(sp_ordered_cholesky_f32((sp_view_f32){a, 2, 1, true}, 2));
	assert_false(sp_ordered_cholesky_f64((sp_view_f64){b, 1, 1, true}, 1));
}

static void test_not_finite(void **state)
{
	double a[] = {1, NAN, NAN, 1}, values[2], room[6];

	(void)state;
	assert_false(sp_ordered_eigen_f64(a, 2, values, true, room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_not_positive),
		cmocka_unit_test(test_not_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
