/*
 * Vectors of singular values and of eigenvalues are fixed but for phases, so what is tested is
 * what defines them: products give the matrix back, and columns are orthonormal.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/kernels/matrix_factor.h"

#define MOST 12

static uint64_t seed = 1;

static double some(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-52 - 1;
}

/* rank 0 ... n columns that are independent; the others are sums of them. */
static void fill(sp_complex *a, size_t m, size_t n, size_t rank, bool real)
{
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++) {
			a[i * n + j] = j < rank ? some() + (real ? 0 : I * some()) : 0;
			for (size_t k = 0; j >= rank && k < rank; k++)
				a[i * n + j] += a[i * n + k] * (double)(j + k);
		}
}

static void assert_near(sp_complex x, sp_complex y)
{
	if (!(cabs(x - y) < 1e-12))
		fail_msg("%g %+gi, wanted %g %+gi", creal(x), cimag(x), creal(y), cimag(y));
}

static void assert_orthonormal(const sp_complex *u, size_t m, size_t columns)
{
	for (size_t p = 0; p < columns; p++)
		for (size_t q = 0; q < columns; q++) {
			sp_complex sum = 0;

			for (size_t i = 0; i < m; i++)
				sum += conj(u[i * columns + p]) * u[i * columns + q];
			assert_near(sum, p == q);
		}
}

/* a [m, n] = sum over k of values[k] u_k v_k^* */
static void assert_product(const sp_complex *a, const sp_complex *u, const double *values,
			   const sp_complex *v, size_t m, size_t n, size_t columns)
{
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++) {
			sp_complex sum = 0;

			for (size_t k = 0; k < n; k++)
				sum += values[k] * u[i * columns + k] * conj(v[j * n + k]);
			assert_near(sum / (1 + values[0]), a[i * n + j] / (1 + values[0]));
		}
}

static void check_svd(size_t m, size_t n, size_t rank, bool real)
{
	sp_complex a[MOST * MOST], work[MOST * MOST], u[MOST * MOST], v[MOST * MOST];
	double s[MOST], residual[MOST];
	size_t known = 0;

	fill(a, m, n, rank, real);
	memcpy(work, a, sizeof(a));
	assert_true(sp_matrix_svd(work, m, n, s, v));
	for (size_t i = 0; i < n; i++) {
		assert_true(s[i] >= 0 && (i == 0 || s[i] <= s[i - 1]));
		known += s[i] != 0;
		for (size_t row = 0; row < m; row++)
			u[row * m + i] = work[row * n + i];
	}
	for (size_t i = rank; i < n; i++)
		assert_true(s[i] <= 1e-13 * s[0]);
	sp_matrix_complete(u, m, m, known, residual);
	assert_orthonormal(u, m, m);
	assert_orthonormal(v, n, n);
	assert_product(a, u, s, v, m, n, m);
	for (size_t i = 0; real && i < n * n; i++)
		assert_true(cimag(v[i]) == 0);
}

static void test_singular_values(void **state)
{
	(void)state;
	for (size_t m = 1; m <= MOST; m++)
		for (size_t n = 1; n <= m; n++)
			for (size_t rank = 0; rank <= n; rank += n > 3 ? n / 3 : 1) {
				check_svd(m, n, rank, true);
				check_svd(m, n, rank, false);
			}
}

static void check_eigen(size_t n, bool real)
{
	sp_complex a[MOST * MOST], work[MOST * MOST], v[MOST * MOST];
	double values[MOST];

	fill(a, n, n, n, real);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			a[i * n + j] = i == j ? creal(a[i * n + i]) : conj(a[j * n + i]);
	memcpy(work, a, sizeof(a));
	assert_true(sp_matrix_eigen(work, n, values, v));
	assert_orthonormal(v, n, n);
	for (size_t i = 1; i < n; i++)
		assert_true(values[i] >= values[i - 1]);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			sp_complex sum = 0;

			for (size_t j = 0; j < n; j++)
				sum += a[i * n + j] * v[j * n + k];
			assert_near(sum, values[k] * v[i * n + k]);
		}
}

static void test_eigenvalues(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++)
		for (size_t n = 1; n <= MOST; n++) {
			check_eigen(n, true);
			check_eigen(n, false);
		}
}

static void test_no_numbers(void **state)
{
	sp_complex a[4] = {1, 2, NAN, 3}, b[4] = {1, 2, INFINITY, 3}, v[4];
	double s[2];

	(void)state;
	assert_false(sp_matrix_eigen(a, 2, s, v));
	assert_false(sp_matrix_svd(b, 2, 2, s, v));
}

static void test_positive(void **state)
{
	sp_complex a[4] = {4, 2 + I, 2 - I, 3}, good[4] = {4, 2 + I, 2 - I, 3};
	sp_complex bad[4] = {1, 2, 2, 1}, x[2] = {1 + I, 2};

	(void)state;
	assert_true(sp_matrix_solve_positive(good, 2, x, 1));
	assert_near(a[0] * x[0] + a[1] * x[1], 1 + I);
	assert_near(a[2] * x[0] + a[3] * x[1], 2);
	assert_false(sp_matrix_solve_positive(bad, 2, x, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_singular_values),
		cmocka_unit_test(test_eigenvalues),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_positive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
