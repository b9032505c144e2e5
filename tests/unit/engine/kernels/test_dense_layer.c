#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/dense_layer.h"

enum { MAX_M = 600, MAX_K = 530, MAX_N = 70 };

static float x[MAX_M * MAX_K], w[MAX_K * MAX_N], bias[MAX_N], y[MAX_M * MAX_N + 1];

static void fill(float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* The definition, in double. */
static double definition(const sp_dense_spec *spec, const float *row, size_t n)
{
	double sum = spec->bias != NULL ? spec->bias[n] : 0.0;

	for (size_t k = 0; k < spec->k; k++)
		sum += (double)row[k] *
		       spec->weights[spec->transposed ? n * spec->k + k : k * spec->n + n];
	return spec->activation == SP_ACTIVATION_RELU && sum < 0 ? 0.0 : sum;
}

static void check_rows(const sp_dense_layer *layer, const sp_dense_spec *spec, size_t m)
{
	y[m * spec->n] = 42.0f; /* a sentinel one past the end */
	sp_dense_layer_run(layer, x, m, y);
	for (size_t i = 0; i < m; i++)
		for (size_t n = 0; n < spec->n; n++)
			assert_true(fabs(y[i * spec->n + n] -
					 definition(spec, x + i * spec->k, n)) < 2e-5);
	assert_true(y[m * spec->n] == 42.0f);
}

static void check(size_t k, size_t n, bool transposed, bool with_bias, sp_activation activation)
{
	static const size_t rows[] = {0,  1,  2,   3,   4,   5,   7,   9,  11,
				      17, 64, 100, 127, 255, 256, 257, 600};
	sp_dense_spec spec = {k, n, w, transposed, with_bias ? bias : NULL, activation};
	sp_dense_layer *layer;
	sp_error err;

	fill(x, MAX_M * k);
	fill(w, k * n);
	fill(bias, n);
	assert_ok(sp_dense_layer_create(&layer, &spec, &err), &err);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_rows(layer, &spec, rows[i]);
	sp_dense_layer_destroy(layer);
}

static void products_agree_with_the_definition(void **state)
{
	static const size_t sizes[][2] = {{1, 1},    {3, 5},   {16, 16}, {17, 33},
					  {128, 64}, {130, 1}, {257, 2}, {530, 31},
					  {0, 5},    {5, 0},   {0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int form = 0; form < 8; form++)
			check(sizes[i][0], sizes[i][1], form & 1, form & 2,
			      form & 4 ? SP_ACTIVATION_RELU : SP_ACTIVATION_NONE);
}

/* Rows 1 and 2 are no numbers and infinite; the weights of even outputs are positive. */
static void what_is_no_number_stays_none(void **state)
{
	enum { M = 3, K = 4, N = 7 };
	sp_dense_spec spec = {K, N, w, false, bias, SP_ACTIVATION_RELU};
	sp_dense_layer *layer;
	sp_error err;

	(void)state;
	fill(x, M * K);
	fill(bias, N);
	for (size_t i = 0; i < K * N; i++)
		w[i] = i % N % 2 == 0 ? 1.0f : -1.0f;
	x[1 * K] = NAN;
	x[2 * K] = INFINITY;
	assert_ok(sp_dense_layer_create(&layer, &spec, &err), &err);
	sp_dense_layer_run(layer, x, M, y);
	for (size_t n = 0; n < N; n++) {
		assert_true(isfinite(y[n]));
		assert_true(isnan(y[N + n]));
		assert_true(n % 2 == 0 ? isinf(y[2 * N + n]) : y[2 * N + n] == 0.0f);
	}
	sp_dense_layer_destroy(layer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_agree_with_the_definition),
		cmocka_unit_test(what_is_no_number_stays_none),
	};

	srand(7);
	return cmocka_run_group_tests_name("dense_layer", tests, NULL, NULL);
}
