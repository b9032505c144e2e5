#include "tests/support/cmocka.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/float_product.h"
#include "engine/ops/nn/gemm.h"

/*
 * Long sums of floats and of complex numbers, against the definition in double and the stated
 * bound; products of complex numbers against TensorFlow's bits.  test_float_product.c has those of
 * floats.
 */

enum { ROWS = 2, COLUMNS = 3, WIDE = 70 };

static float *numbers(size_t count, float low, float high)
{
	float *out = malloc(count * sizeof(*out));

	assert_non_null(out);
	for (size_t i = 0; i < count; i++)
		out[i] = low + (high - low) * ((float)rand() / (float)RAND_MAX);
	return out;
}

static void check(size_t k, size_t n, bool small, float low, float high)
{
	float *a = numbers(ROWS * k, low, high), *b = numbers(k * n, low, high);
	float *c = numbers(ROWS * n, 0, 1);
	sp_gemm g = {.m = ROWS,
		     .n = n,
		     .k = k,
		     .a = a,
		     .b = b,
		     .c = c,
		     .a_row = k,
		     .a_column = 1,
		     .b_row = n,
		     .b_column = 1,
		     .small = small};
	double terms = (double)((small ? SP_GEMM_PASS : SP_PRODUCT_SPAN) + k / 304 + 4 + 1);

	sp_gemm__find(SP_FLOAT)(&g);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < n; j++) {
			double sum = 0, size = 0;

			for (size_t t = 0; t < k; t++) {
				double term = (double)a[i * k + t] * (double)b[t * n + j];

				sum += term;
				size += fabs(term);
			}
			assert_true(fabs((double)c[i * n + j] - sum) <=
				    terms * (double)FLT_EPSILON / 2 * size);
		}
	free(a);
	free(b);
	free(c);
}

/* Equal terms are the worst: in one sum they would all be rounded the same way. */
static void a_million_equal_terms_keep_the_bound(void **state)
{
	(void)state;
	check(1000000, COLUMNS, false, 0.1f, 0.1f);
	check(1000000, COLUMNS, true, 0.1f, 0.1f);
}

static void any_length_keeps_the_bound(void **state)
{
	static const size_t lengths[] = {0,   1,   63,  64,   65,   255,  256,
					 257, 511, 512, 1000, 4096, 5408, 12345};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		check(lengths[i], COLUMNS, false, -1, 1);
		check(lengths[i], WIDE, false, -1, 1);
		check(lengths[i], COLUMNS, true, -1, 1);
		check(lengths[i], WIDE, true, -1, 1);
	}
}

static void complex_numbers_keep_the_bound(size_t k, size_t n, size_t rows)
{
	float *a = numbers(2 * rows * k, -1, 1), *b = numbers(2 * k * n, -1, 1);
	float *c = numbers(2 * rows * n, 0, 1);
	sp_gemm g = {.m = rows,
		     .n = n,
		     .k = k,
		     .a = a,
		     .b = b,
		     .c = c,
		     .a_row = k,
		     .a_column = 1,
		     .b_row = n,
		     .b_column = 1};
	size_t terms = SP_GEMM_SPAN + k / SP_GEMM_SPAN + 4;
	double bound = (double)terms * (double)FLT_EPSILON / 2;

	sp_gemm__find(SP_COMPLEX64)(&g);
	for (size_t i = 0; i < rows * n; i++) {
		double re = 0, im = 0, size = 0;

		for (size_t t = 0; t < k; t++) {
			const float *x = a + 2 * (i / n * k + t), *y = b + 2 * (t * n + i % n);

			re += (double)x[0] * (double)y[0] - (double)x[1] * (double)y[1];
			im += (double)x[1] * (double)y[0] + (double)x[0] * (double)y[1];
			size += (fabs((double)x[0]) + fabs((double)x[1])) *
				(fabs((double)y[0]) + fabs((double)y[1]));
		}
		assert_true(fabs((double)c[2 * i] - re) <= bound * size);
		assert_true(fabs((double)c[2 * i + 1] - im) <= bound * size);
	}
	free(a);
	free(b);
	free(c);
}

static void any_length_of_complex_numbers_keeps_the_bound(void **state)
{
	static const size_t lengths[] = {0, 1, 64, 759, 760, 761, 1519, 1521, 4096, 12345};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t rows = 1; rows < 7; rows += 2) {
			complex_numbers_keep_the_bound(lengths[i], 1, rows);
			complex_numbers_keep_the_bound(lengths[i], COLUMNS, rows);
			complex_numbers_keep_the_bound(lengths[i], 18, rows);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_equal_terms_keep_the_bound),
		cmocka_unit_test(any_length_keeps_the_bound),
		cmocka_unit_test(any_length_of_complex_numbers_keeps_the_bound),
	};

	return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
