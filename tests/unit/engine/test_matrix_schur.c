/*
 * Schur's form is fixed but for the order of eigenvalues and for phases, so what is tested is
 * what defines it and what is made of it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/kernels/matrix_schur.h"

#define MOST 14

static uint64_t seed = 3;

static double some(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) * 0x1p-52 - 1;
}

static void fill(sp_complex *a, size_t n, double diagonal, bool real)
{
	for (size_t i = 0; i < n * n; i++)
		a[i] = some() + (real ? 0 : I * some()) + (i % (n + 1) == 0 ? diagonal : 0);
}

static void multiply(const sp_complex *a, const sp_complex *b, size_t n, sp_complex *c)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			c[i * n + j] = 0;
			for (size_t k = 0; k < n; k++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
		}
}

static void assert_near(const sp_complex *a, const sp_complex *b, size_t count, double near)
{
	for (size_t i = 0; i < count; i++)
		if (!(cabs(a[i] - b[i]) < near))
			fail_msg("element %zu is %g %+gi, wanted %g %+gi", i, creal(a[i]),
				 cimag(a[i]), creal(b[i]), cimag(b[i]));
}

static void assert_triangle(const sp_complex *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(t[i * n + j] == 0);
}

/* u t u^* is a, u u^* is 1. */
static void check_schur(const sp_complex *a, size_t n)
{
	sp_complex t[MOST * MOST], u[MOST * MOST], one[MOST * MOST] = {0};
	sp_complex scratch[MOST * MOST], out[MOST * MOST];

	memcpy(t, a, n * n * sizeof(*t));
	assert_true(sp_matrix_schur(t, n, u));
	assert_triangle(t, n);
	sp_matrix_unschur(u, t, n, scratch, out);
	assert_near(out, a, n * n, 1e-12);
	for (size_t i = 0; i < n; i++)
		one[i * n + i] = 1;
	sp_matrix_unschur(u, one, n, scratch, out);
	assert_near(out, one, n * n, 1e-13);
}

static void schur_gives_the_matrix_back(void **unused)
{
	sp_complex a[MOST * MOST];

	(void)unused;
	for (size_t n = 0; n <= MOST; n++)
		for (int real = 0; real < 2; real++) {
			fill(a, n, 0, real);
			check_schur(a, n);
			for (size_t i = 0; i < n * n; i++)
				a[i] = real ? 1 : i % 2; /* of low rank */
			check_schur(a, n);
		}
}

/* Eigenvalues of one magnitude: without a push the iteration would stand still. */
static void schur_of_a_permutation(void **unused)
{
	sp_complex a[MOST * MOST];

	(void)unused;
	for (size_t n = 2; n <= MOST; n++) {
		memset(a, 0, sizeof(a));
		for (size_t i = 0; i < n; i++)
			a[i * n + (i + 1) % n] = 1;
		check_schur(a, n);
	}
}

static void no_schur_of_what_is_not_finite(void **unused)
{
	sp_complex a[4] = {1, 2, 3, NAN}, u[4];

	(void)unused;
	assert_false(sp_matrix_schur(a, 2, u));
	a[3] = I * INFINITY;
	assert_false(sp_matrix_schur(a, 2, u));
}

/* a u v is u v times the eigenvalue. */
static void vectors_belong_to_values(void **unused)
{
	sp_complex a[MOST * MOST], t[MOST * MOST], u[MOST * MOST], v[MOST], left[MOST];

	(void)unused;
	for (size_t n = 1; n <= MOST; n++) {
		fill(a, n, 0, n % 2);
		memcpy(t, a, sizeof(t));
		assert_true(sp_matrix_schur(t, n, u));
		for (size_t k = 0; k < n; k++) {
			double length = 0;

			sp_triangle_vector(t, n, k, v);
			for (size_t i = 0; i < n; i++) {
				left[i] = 0;
				for (size_t j = 0; j < n; j++)
					left[i] += t[i * n + j] * v[j];
				length += creal(v[i] * conj(v[i]));
			}
			for (size_t i = 0; i < n; i++)
				v[i] *= t[k * n + k];
			assert_near(left, v, n, 1e-10);
			assert_true(fabs(length - 1) < 1e-12);
		}
	}
}

static void the_vector_of_a_value_that_comes_twice(void **unused)
{
	sp_complex t[4] = {2, 0, 0, 2}, v[2];

	(void)unused;
	sp_triangle_vector(t, 2, 1, v);
	assert_true(v[0] == 0 && v[1] == 1);
}

static void roots_squared_give_the_matrix_back(void **unused)
{
	sp_complex a[MOST * MOST], t[MOST * MOST], u[MOST * MOST], scratch[MOST * MOST];
	sp_complex root[MOST * MOST], square[MOST * MOST];

	(void)unused;
	for (size_t n = 1; n <= MOST; n++) {
		fill(a, n, 1, false);
		memcpy(t, a, sizeof(t));
		assert_true(sp_matrix_schur(t, n, u));
		sp_triangle_sqrt(t, n);
		for (size_t i = 0; i < n; i++)
			assert_true(creal(t[i * n + i]) >= 0);
		sp_matrix_unschur(u, t, n, scratch, root);
		multiply(root, root, n, square);
		assert_near(square, a, n * n, 1e-10);
	}
}

/* exp(x) by its series, of x / 1024, squared ten times. */
static void exponentiate(const sp_complex *x, size_t n, sp_complex *out)
{
	sp_complex small[MOST * MOST], term[MOST * MOST], next[MOST * MOST];

	for (size_t i = 0; i < n * n; i++) {
		small[i] = x[i] / 1024;
		out[i] = term[i] = i % (n + 1) == 0;
	}
	for (int k = 1; k < 20; k++) {
		multiply(term, small, n, next);
		for (size_t i = 0; i < n * n; i++) {
			term[i] = next[i] / k;
			out[i] += term[i];
		}
	}
	for (int k = 0; k < 10; k++) {
		multiply(out, out, n, next);
		memcpy(out, next, n * n * sizeof(*out));
	}
}

static void the_exponential_of_a_logarithm(void **unused)
{
	sp_complex a[MOST * MOST], t[MOST * MOST], u[MOST * MOST], scratch[3 * MOST * MOST];
	sp_complex logarithm[MOST * MOST], out[MOST * MOST];

	(void)unused;
	for (size_t n = 1; n <= MOST; n++) {
		fill(a, n, 2, false);
		memcpy(t, a, sizeof(t));
		assert_true(sp_matrix_schur(t, n, u));
		assert_true(sp_triangle_log(t, n, scratch));
		for (size_t i = 0; i < n; i++)
			assert_true(fabs(cimag(t[i * n + i])) <= 3.1415926535897932);
		sp_matrix_unschur(u, t, n, scratch, logarithm);
		exponentiate(logarithm, n, out);
		assert_near(out, a, n * n, 1e-10);
	}
}

static void no_logarithm_of_zero(void **unused)
{
	sp_complex t[4] = {1, 2, 0, 0}, scratch[12];

	(void)unused;
	assert_false(sp_triangle_log(t, 2, scratch));
	t[3] = NAN;
	assert_false(sp_triangle_log(t, 2, scratch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schur_gives_the_matrix_back),
		cmocka_unit_test(schur_of_a_permutation),
		cmocka_unit_test(no_schur_of_what_is_not_finite),
		cmocka_unit_test(vectors_belong_to_values),
		cmocka_unit_test(the_vector_of_a_value_that_comes_twice),
		cmocka_unit_test(roots_squared_give_the_matrix_back),
		cmocka_unit_test(the_exponential_of_a_logarithm),
		cmocka_unit_test(no_logarithm_of_zero),
	};

	return cmocka_run_group_tests_name("matrix_schur", tests, NULL, NULL);
}
