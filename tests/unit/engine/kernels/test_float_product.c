#include "tests/support/cmocka.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "engine/kernels/dense_layer.h"
#include "engine/kernels/float_product.h"
#include "engine/ops/nn/gemm.h"

/*
 * Products of both kinds, a matrix times one and rows through a dense layer, against TensorFlow's
 * bits and, where no processor helps, against the definition in double and the stated bounds.
 */
typedef struct product {
	size_t m, k, n;
	bool transposed, biased;
	uint64_t digest;
} product;

static const product cases[] = {
#include "tests/unit/engine/kernels/product_cases.inc"
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

typedef struct operands {
	float *x, *w, *bias, *y;
} operands;

/* As scripts/product_cases.py makes them. */
static float *numbers(size_t count, uint64_t salt)
{
	float *out = malloc((count + 1) * sizeof(*out));

	assert_non_null(out);
	for (size_t i = 0; i < count; i++) {
		uint32_t mixed = (uint32_t)(i * 2654435761u + salt * 40503);

		mixed ^= mixed >> 15;
		mixed *= 2246822519u;
		out[i] = (float)((double)(mixed >> 8) / (1 << 24) - 0.5);
	}
	return out;
}

static operands make(const product *p)
{
	return (operands){numbers(p->m * p->k, 1), numbers(p->k * p->n, 2), numbers(p->n, 3),
			  numbers(p->m * p->n, 4)};
}

static void unmake(operands *o)
{
	free(o->x);
	free(o->w);
	free(o->bias);
	free(o->y);
}

static uint64_t digest_of(const float *values, size_t count)
{
	uint64_t state = 0xcbf29ce484222325;

	for (size_t i = 0; i < count; i++) {
		uint32_t word;

		memcpy(&word, values + i, sizeof(word));
		state = (state ^ word) * 0x100000001b3;
	}
	return state;
}

static void multiply(const product *p, operands *o)
{
	sp_gemm g = {.m = p->m,
		     .n = p->n,
		     .k = p->k,
		     .a = o->x,
		     .a_row = p->k,
		     .a_column = 1,
		     .b = o->w,
		     .b_row = p->transposed ? 1 : p->n,
		     .b_column = p->transposed ? p->k : 1,
		     .c = o->y};

	sp_gemm__find(SP_FLOAT)(&g);
	for (size_t i = 0; p->biased && i < p->m * p->n; i++)
		o->y[i] += o->bias[i % p->n];
}

static void run_layer(const product *p, operands *o)
{
	sp_dense_spec spec = {.k = p->k,
			      .n = p->n,
			      .weights = o->w,
			      .transposed = p->transposed,
			      .bias = p->biased ? o->bias : NULL};
	sp_workspace *workspace = sp_workspace_create(64 << 20);
	sp_dense_layer *layer;
	sp_error err;

	assert_ok(sp_dense_layer_create(&layer, &spec, &err), &err);
	assert_ok(sp_dense_layer_run(layer, o->x, p->m, o->y, workspace, &err), &err);
	sp_dense_layer_destroy(layer);
	sp_workspace_destroy(workspace);
}

/* A column with a bias is another sum, and that of layers alone. */
static void products_have_tensorflows_bits(void **state)
{
	(void)state;
	if (!sp_cpu_has(SP_ISA_AVX2))
		skip();
	for (size_t i = 0; i < CASES; i++) {
		operands o;

		if (cases[i].n == 1 && cases[i].biased)
			continue;
		o = make(&cases[i]);
		multiply(&cases[i], &o);
		if (digest_of(o.y, cases[i].m * cases[i].n) != cases[i].digest)
			fail_msg("product %zu", i);
		unmake(&o);
	}
}

/* A single row of transposed weights is summed as one of others, and below AVX2 oneDNN has no FMA.
 */
static void layers_have_tensorflows_bits(void **state)
{
	(void)state;
	if (!sp_cpu_has(SP_ISA_AVX512))
		skip();
	for (size_t i = 0; i < CASES; i++) {
		operands o;

		if (cases[i].m == 1 && cases[i].n > 1 && cases[i].transposed)
			continue;
		o = make(&cases[i]);
		run_layer(&cases[i], &o);
		if (digest_of(o.y, cases[i].m * cases[i].n) != cases[i].digest)
			fail_msg("layer %zu", i);
		unmake(&o);
	}
}

static double bound_of(const product *p)
{
	if (p->m == 1 && p->n == 1)
		return (double)p->k + 1 + 2;
	if (p->m == 1 || p->n == 1)
		return SP_PRODUCT_SHORT + (double)p->k / 8 + 12 + 2;
	return SP_PRODUCT_SPAN + (double)p->k / 304 + 4 + 2;
}

/* Two units more than the header states: for the bias, and for a processor that rounds products. */
static void check_bounds(const product *p, const operands *o)
{
	for (size_t i = 0; i < p->m * p->n; i++) {
		double sum = p->biased ? (double)o->bias[i % p->n] : 0, size = fabs(sum);

		for (size_t k = 0; k < p->k; k++) {
			size_t at = p->transposed ? i % p->n * p->k + k : k * p->n + i % p->n;
			double term = (double)o->x[i / p->n * p->k + k] * (double)o->w[at];

			sum += term;
			size += fabs(term);
		}
		assert_true(fabs((double)o->y[i] - sum) <=
			    bound_of(p) * (double)FLT_EPSILON / 2 * size);
	}
}

static void products_and_layers_keep_their_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < CASES; i++) {
		operands o = make(&cases[i]);

		multiply(&cases[i], &o);
		check_bounds(&cases[i], &o);
		run_layer(&cases[i], &o);
		check_bounds(&cases[i], &o);
		unmake(&o);
	}
}

/* Equal terms are the worst: in one sum they would all be rounded the same way. */
static void sums_of_equal_terms_keep_their_bounds(void **state)
{
	static const product shapes[] = {{1, 20000, 20, false, true, 0},
					 {3, 20000, 1, false, true, 0},
					 {3, 20000, 20, false, true, 0}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		operands o = make(&shapes[i]);

		for (size_t j = 0; j < shapes[i].m * shapes[i].k; j++)
			o.x[j] = 0.1f;
		for (size_t j = 0; j < shapes[i].k * shapes[i].n; j++)
			o.w[j] = 0.1f;
		multiply(&shapes[i], &o);
		check_bounds(&shapes[i], &o);
		run_layer(&shapes[i], &o);
		check_bounds(&shapes[i], &o);
		unmake(&o);
	}
}

/* Rows that are multiplied in two calls belong to one product, whose last row or column is left
 * over. */
static void pieces_have_the_bits_of_the_whole(void **state)
{
	static const product wholes[] = {{.m = 64, .k = 64, .n = 49}, {.m = 313, .k = 424, .n = 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		const product *p = &wholes[i];
		operands whole = make(p), cut = make(p);

		multiply(p, &whole);
		for (size_t at = 0, rows; at < p->m; at += rows) {
			sp_gemm g = {.n = p->n,
				     .k = p->k,
				     .a = cut.x + at * p->k,
				     .a_row = p->k,
				     .a_column = 1,
				     .b = cut.w,
				     .b_row = p->n,
				     .b_column = 1,
				     .c = cut.y + at * p->n,
				     .before = at};

			g.m = rows = p->m - at < 40 ? p->m - at : 40;
			g.after = p->m - at - rows;
			sp_gemm__float(&g);
		}
		assert_memory_equal(cut.y, whole.y, p->m * p->n * sizeof(float));
		unmake(&whole);
		unmake(&cut);
	}
}

/* Lengths that TensorFlow's sums were seen to have. */
static void spans_are_tensorflows(void **state)
{
	static const size_t spans[][8] = {{1, 1},
					  {384, 384},
					  {389, 195, 194},
					  {430, 215, 215},
					  {650, 328, 322},
					  {777, 196, 196, 193, 192},
					  {900, 228, 228, 222, 222},
					  {1024, 256, 256, 256, 256},
					  {1801, 300, 300, 300, 300, 300, 300, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		for (size_t at = 0, j = 1; at < spans[i][0]; j++) {
			size_t end = sp_product_span_end(spans[i][0], at);

			assert_true(j < 8);
			assert_int_equal(end - at, spans[i][j]);
			assert_int_equal(sp_product_span_end(spans[i][0], end - 1), end);
			at = end;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_have_tensorflows_bits),
		cmocka_unit_test(layers_have_tensorflows_bits),
		cmocka_unit_test(pieces_have_the_bits_of_the_whole),
		cmocka_unit_test(products_and_layers_keep_their_bounds),
		cmocka_unit_test(sums_of_equal_terms_keep_their_bounds),
		cmocka_unit_test(spans_are_tensorflows),
	};

	return cmocka_run_group_tests_name("float_product", tests, NULL, NULL);
}
