/*
 * Transforms of any length, compared with the sums that define them.  That their bits are
 * TensorFlow's is for the operators' cases to say (fourier_bits).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/kernels/fourier_transform.h"
#include "engine/kernels/roots_of_unity.h"

static uint64_t seed = 1;

static double some(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-52 - 1;
}

/* Some numbers of float or double. */
typedef struct numbers {
	bool wide;
	void *at;
} numbers;

static numbers make_numbers(size_t count, bool wide)
{
	numbers x = {wide, calloc(count, wide ? sizeof(double) : sizeof(float))};

	assert_non_null(x.at);
	for (size_t i = 0; i < count; i++)
		if (wide)
			((double *)x.at)[i] = some();
		else
			((float *)x.at)[i] = (float)some();
	return x;
}

static double number(numbers x, size_t i)
{
	return x.wide ? ((double *)x.at)[i] : (double)((float *)x.at)[i];
}

static void assert_near(numbers x, size_t i, double want, size_t n)
{
	double error = fabs(number(x, i) - want) / sqrt((double)n);

	if (!(error < (x.wide ? 1e-13 : 2e-6)))
		fail_msg("%zu of %zu is %.17g, wanted %.17g", i, n, number(x, i), want);
}

/* Result k of the first line's transform, of `count` real parts (step 1), or complex numbers. */
static sp_root sum_of(numbers x, size_t n, size_t k, bool real)
{
	const double turn = 6.283185307179586476925286766559;
	sp_root sum = {0, 0};

	for (size_t i = 0; i < n; i++) {
		double angle = turn * (double)(i * k % n) / (double)n;
		double re = number(x, real ? i : 2 * i), im = real ? 0 : number(x, 2 * i + 1);

		sum.re += re * cos(angle) + im * sin(angle);
		sum.im += im * cos(angle) - re * sin(angle);
	}
	return sum;
}

/* `count` lines, one behind the other, of `from_row` and `to_row` numbers. */
static sp_fourier_lines rows(size_t n, size_t count, size_t from_row, size_t to_row, bool wide)
{
	return (sp_fourier_lines){
		.n = n,
		.axis = 3,
		.counts = {1, 1, count, n},
		.from_steps = {0, 0, from_row, 1},
		.to_steps = {0, 0, to_row, 1},
		.wide = wide,
		.forward = true,
		.alone = count == 1,
		.scale = 1,
	};
}

typedef sp_status transform_fn(sp_workspace *workspace, const sp_fourier_lines *lines);

static void run(transform_fn *transform, sp_fourier_lines lines, numbers from, numbers to)
{
	sp_workspace *workspace = sp_workspace_create((size_t)1 << 31);

	assert_non_null(workspace);
	lines.from = from.at;
	lines.to = to.at;
	assert_int_equal(transform(workspace, &lines), SP_OK);
	sp_workspace_destroy(workspace);
}

/* There, compared at `checks` places, and back as columns. */
static void check_complex(size_t n, size_t count, bool wide, size_t checks)
{
	numbers x = make_numbers(2 * n * count, wide), y = make_numbers(2 * n * count, wide);
	sp_fourier_lines lines = rows(n, count, n, n, wide);

	run(sp_fourier_complex, lines, x, y);
	for (size_t i = 0; i < checks && i < n; i++) {
		size_t k = i * ((n + checks - 1) / checks) % n;
		sp_root want = sum_of(x, n, k, false);

		assert_near(y, 2 * k, want.re, n);
		assert_near(y, 2 * k + 1, want.im, n);
	}
	lines.forward = false;
	lines.scale = 1.0 / (double)n;
	lines.axis = 1;
	lines.counts[1] = n;
	lines.from_steps[1] = lines.to_steps[1] = 1;
	lines.counts[2] = 1;
	lines.counts[3] = count;
	lines.from_steps[3] = lines.to_steps[3] = n;
	run(sp_fourier_complex, lines, y, y);
	for (size_t i = 0; i < 2 * n * count; i++)
		assert_near(y, i, number(x, i), 1);
	free(x.at);
	free(y.at);
}

static void check_real(size_t n, size_t count, bool wide, size_t checks)
{
	size_t half = n / 2 + 1;
	numbers x = make_numbers(n * count, wide), y = make_numbers(2 * half * count, wide);
	numbers z = make_numbers(n * count, wide);
	sp_fourier_lines back = rows(n, count, half, n, wide);

	run(sp_fourier_of_real, rows(n, count, n, half, wide), x, y);
	for (size_t i = 0; i < checks && i < half; i++) {
		size_t k = i * ((half + checks - 1) / checks) % half;
		sp_root want = sum_of(x, n, k, true);

		assert_near(y, 2 * k, want.re, n);
		assert_near(y, 2 * k + 1, want.im, n);
	}
	back.forward = false;
	back.scale = 1.0 / (double)n;
	run(sp_fourier_to_real, back, y, z);
	for (size_t i = 0; i < n * count; i++)
		assert_near(z, i, number(x, i), 1);
	free(x.at);
	free(y.at);
	free(z.at);
}

static void test_lengths(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 700; n += n < 330 ? 1 : 7)
		for (size_t wide = 0; wide < 2; wide++) {
			check_complex(n, 1 + n % 10, wide, 9);
			check_real(n, 1 + n % 10, wide, 9);
		}
}

static void test_long_lengths(void **state)
{
	static const size_t lengths[] = {1009,  2003,  2006,  4096,  7919,  10007,  10201,
					 14641, 19998, 20014, 65536, 99999, 100000, 104729};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (size_t wide = 0; wide < 2; wide++) {
			check_complex(lengths[i], 1 + i % 2, wide, 3);
			check_real(lengths[i], 1 + i % 2, wide, 3);
		}
	check_complex((size_t)1 << 20, 1, false, 1);
	check_real(1000003, 1, false, 1);
	check_complex(2 * 500009, 1, true, 1);
}

/* With less memory than it takes a transform fails, and with enough of it nothing is kept. */
static void test_memory(void **state)
{
	static const size_t lengths[] = {1, 5, 64, 97, 113, 640, 1009, 2006, 10002};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t n = lengths[i], failed = 0, limit = 64;
		numbers x = make_numbers(2 * n * 9, false), y = make_numbers(2 * n * 9, false);
		sp_fourier_lines lines = rows(n, 9, n, n, false);
		bool done = false;

		lines.from = x.at;
		lines.to = y.at;
		for (; !done; limit += limit / 4) {
			sp_workspace *workspace = sp_workspace_create(limit);

			assert_non_null(workspace);
			done = true;
			for (int again = 0; again < 20; again++)
				done = done && sp_fourier_complex(workspace, &lines) == SP_OK &&
				       sp_fourier_of_real(workspace, &lines) == SP_OK &&
				       sp_fourier_to_real(workspace, &lines) == SP_OK;
			failed += !done;
			sp_workspace_destroy(workspace);
			assert_true(limit < (size_t)1 << 24);
		}
		assert_true(failed > 0);
		free(x.at);
		free(y.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_long_lengths),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
