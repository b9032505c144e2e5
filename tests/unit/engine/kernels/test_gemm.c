#include "tests/support/cmocka.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "engine/kernels/narrow.h"
#include "engine/ops/nn/gemm.h"

/* Products of every type of floats against the definition in double and the stated bound. */

typedef struct product {
	sp_dtype dtype;
	size_t m, k, n;
	bool turned_a, turned_b;
	float low, high;
} product;

static double unit_of(sp_dtype dtype)
{
	return dtype == SP_DOUBLE ? 0x1p-53 : 0x1p-24;
}

/* `count` numbers that the type has, in the type and as doubles. */
static void *numbers(const product *p, size_t count, double **wide)
{
	char *cells = calloc(count + 1, sp_dtype_size(p->dtype));

	*wide = calloc(count + 1, sizeof(**wide));
	for (size_t i = 0; i < count; i++) {
		float value = p->low + (p->high - p->low) * ((float)rand() / (float)RAND_MAX);

		if (p->dtype == SP_DOUBLE) {
			((double *)cells)[i] = (double)value / 3;
			(*wide)[i] = ((double *)cells)[i];
			continue;
		}
		if (p->dtype == SP_FLOAT) {
			((float *)cells)[i] = value;
		} else {
			sp_narrow_find(p->dtype)(&value, (uint16_t *)cells + i, 1);
			sp_widen_find(p->dtype)((uint16_t *)cells + i, &value, 1);
		}
		(*wide)[i] = (double)value;
	}
	return cells;
}

static double result_at(sp_dtype dtype, const void *c, size_t i)
{
	float value;

	if (dtype == SP_DOUBLE)
		return ((const double *)c)[i];
	if (dtype == SP_FLOAT)
		return (double)((const float *)c)[i];
	sp_widen_find(dtype)((const uint16_t *)c + i, &value, 1);
	return (double)value;
}

/* The last bits of half and bfloat16 come on top. */
static double rounding(sp_dtype dtype, double value)
{
	return dtype == SP_HALF       ? fabs(value) * 0x1p-11 + 0x1p-25
	       : dtype == SP_BFLOAT16 ? fabs(value) * 0x1p-8
				      : 0;
}

static void check(const product *p)
{
	double *a, *b, *unused;
	void *a_cells = numbers(p, p->m * p->k, &a), *b_cells = numbers(p, p->k * p->n, &b);
	void *c = numbers(p, p->m * p->n, &unused);
	sp_gemm g = {.m = p->m,
		     .n = p->n,
		     .k = p->k,
		     .a = a_cells,
		     .b = b_cells,
		     .c = c,
		     .a_row = p->turned_a ? 1 : p->k,
		     .a_column = p->turned_a ? p->m : 1,
		     .b_row = p->turned_b ? 1 : p->n,
		     .b_column = p->turned_b ? p->k : 1};
	double terms = 2 * (SP_GEMM_SPAN + (double)p->k / SP_GEMM_SPAN + 2);

	sp_gemm__find(p->dtype)(&g);
	for (size_t i = 0; i < p->m; i++)
		for (size_t j = 0; j < p->n; j++) {
			double sum = 0, size = 0, got = result_at(p->dtype, c, i * p->n + j);

			for (size_t t = 0; t < p->k; t++) {
				double term = a[i * g.a_row + t * g.a_column] *
					      b[t * g.b_row + j * g.b_column];

				sum += term;
				size += fabs(term);
			}
			if (!(fabs(got - sum) <=
			      terms * unit_of(p->dtype) * size + rounding(p->dtype, sum)))
				fail_msg("%s [%zu,%zu,%zu]%s%s: [%zu,%zu] is %g, not %g",
					 sp_dtype_name(p->dtype), p->m, p->k, p->n,
					 p->turned_a ? " a turned" : "",
					 p->turned_b ? " b turned" : "", i, j, got, sum);
		}
	free(a_cells);
	free(b_cells);
	free(c);
	free(a);
	free(b);
	free(unused);
}

static void products_of_any_size_keep_the_bound(void **state)
{
	static const sp_dtype dtypes[] = {SP_FLOAT, SP_DOUBLE, SP_HALF, SP_BFLOAT16};
	static const size_t rows[] = {1, 2, 3, 4, 5, 7, 13, 24, 25, 33, 300};
	static const size_t columns[] = {1, 2, 7, 8, 9, 16, 17, 32, 33, 70};
	static const size_t lengths[] = {0, 1, 5, 64, 255, 256, 257, 600};

	(void)state;
	for (size_t d = 0; d < 4; d++)
		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
			for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
				size_t k = lengths[(r + 3 * c + d) % 8];

				for (int turn = 0; turn < 4; turn++)
					check(&(product){dtypes[d], rows[r], k, columns[c],
							 turn & 1, turn & 2, -1, 1});
			}
}

/* Equal terms are the worst: in one sum they would all be rounded the same way. */
static void a_million_equal_terms_keep_the_bound(void **state)
{
	(void)state;
	check(&(product){SP_FLOAT, 2, 1000000, 3, false, false, 0.1f, 0.1f});
	check(&(product){SP_FLOAT, 1, 1000000, 1, false, true, 0.1f, 0.1f});
}

static void products_of_complex_numbers(size_t k, size_t n)
{
	enum { ROWS = 3 };
	product p = {.dtype = SP_FLOAT, .low = -1, .high = 1};
	double *a, *b, *unused, bound = (SP_GEMM_SPAN + (double)k / SP_GEMM_SPAN + 4) * 0x1p-24;
	void *a_cells = numbers(&p, 2 * ROWS * k, &a), *b_cells = numbers(&p, 2 * k * n, &b);
	float *c = numbers(&p, 2 * ROWS * n, &unused);

	sp_gemm__find(SP_COMPLEX64)(&(sp_gemm){.m = ROWS,
					       .n = n,
					       .k = k,
					       .a = a_cells,
					       .b = b_cells,
					       .c = c,
					       .a_row = k,
					       .a_column = 1,
					       .b_row = n,
					       .b_column = 1});
	for (size_t i = 0; i < ROWS * n; i++) {
		double re = 0, im = 0, size = 0;

		for (size_t t = 0; t < k; t++) {
			const double *x = a + 2 * (i / n * k + t), *y = b + 2 * (t * n + i % n);

			re += x[0] * y[0] - x[1] * y[1];
			im += x[1] * y[0] + x[0] * y[1];
			size += (fabs(x[0]) + fabs(x[1])) * (fabs(y[0]) + fabs(y[1]));
		}
		assert_true(fabs((double)c[2 * i] - re) <= bound * size);
		assert_true(fabs((double)c[2 * i + 1] - im) <= bound * size);
	}
	free(a_cells);
	free(b_cells);
	free(c);
	free(a);
	free(b);
	free(unused);
}

static void complex_numbers_keep_the_bound(void **state)
{
	static const size_t lengths[] = {0, 1, 64, 759, 1521, 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		products_of_complex_numbers(lengths[i], 1);
		products_of_complex_numbers(lengths[i], 18);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_of_any_size_keep_the_bound),
		cmocka_unit_test(a_million_equal_terms_keep_the_bound),
		cmocka_unit_test(complex_numbers_keep_the_bound),
	};

	srand(11);
	return cmocka_run_group_tests_name("gemm", tests, NULL, NULL);
}
