/*
 * Layers of half and bfloat16 on weights packed once, beside MatMul, BiasAdd and Relu one by one,
 * which are compared with TensorFlow's (matmul.cases, math_misc.cases).
 */
#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernels/narrow.h"
#include "tests/support/graph.h"

enum { MOST = 1 << 19 };

SMALL_GRAPH(g);
static uint16_t x[MOST], w[MOST], bias[MOST], plain[MOST];

static void fill(uint16_t *cells, size_t count, sp_dtype dtype)
{
	for (size_t i = 0; i < count; i++) {
		float value = (float)rand() / (float)RAND_MAX - 0.5f;

		sp_narrow_find(dtype)(&value, &cells[i], 1);
	}
}

typedef struct layer {
	sp_dtype dtype;
	size_t m, k, n;
	bool transposed, with_bias, with_relu;
} layer;

static sp_tensor matrix(uint16_t *data, sp_dtype dtype, size_t rows, size_t columns)
{
	return (sp_tensor){.dtype = dtype,
			   .shape = sp_shape_matrix((int64_t)rows, (int64_t)columns),
			   .count = rows * columns,
			   .data = data};
}

static sp_status compile(const layer *l, const sp_tensor *weights, const sp_tensor *offsets,
			 bool fused)
{
	const sp_attr transpose = {.name = "transpose_b", .kind = SP_ATTR_BOOL, .b = l->transposed};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", l->dtype))},
		{NODE("w", "Const"), ATTRS(TENSOR("value", weights))},
		{NODE("b", "Const"), ATTRS(TENSOR("value", offsets))},
		{NODE("product", "MatMul"), INPUTS("x", "w"),
		 ATTRS(TYPE("T", l->dtype), transpose)},
		{NODE("sum", "BiasAdd"), INPUTS("product", "b"), ATTRS(TYPE("T", l->dtype))},
		{NODE("y", l->with_relu ? "Relu" : "Identity"),
		 INPUTS(l->with_bias ? "sum" : "product"), ATTRS(TYPE("T", l->dtype))},
	};

	g.fused = fused;
	return sp_small_graph_compile(&g, nodes, COUNT(nodes),
				      &(sp_ends){.feeds = {"x"}, .fetches = {"y"}});
}

static const sp_tensor *answer(const layer *l, bool fused)
{
	sp_tensor rows = matrix(x, l->dtype, l->m, l->k);
	sp_tensor weights = l->transposed ? matrix(w, l->dtype, l->n, l->k)
					  : matrix(w, l->dtype, l->k, l->n);
	sp_tensor offsets = {.dtype = l->dtype,
			     .shape = sp_shape_vector((int64_t)l->n),
			     .count = l->n,
			     .data = bias};
	const sp_tensor *fetches[1];

	assert_ok(compile(l, &weights, &offsets, fused), &g.err);
	if (fused)
		assert_int_equal(sp_program_step_count(g.program, 0), 1);
	assert_ok(sp_small_graph_run(&g, &rows, NULL, fetches), &g.err);
	assert_int_equal(fetches[0]->count, l->m * l->n);
	return fetches[0];
}

static void check(const layer *l)
{
	size_t count = l->m * l->n;
	sp_widen_fn *widen = sp_widen_find(l->dtype);
	/* The product alone is rounded once more, and so is the sum. */
	const float step = l->dtype == SP_HALF ? 0x1p-11f : 0x1p-8f;
	const sp_tensor *y;

	assert_true(l->m * l->k <= MOST && l->k * l->n <= MOST && count <= MOST);
	fill(x, l->m * l->k, l->dtype);
	fill(w, l->k * l->n, l->dtype);
	fill(bias, l->n, l->dtype);
	if (l->m > 2 && l->k > 0)
		x[l->k] = 0x7fff; /* a row that is not a number */
	memcpy(plain, answer(l, false)->data, count * sizeof(*plain));
	y = answer(l, true);
	for (size_t i = 0; i < count; i++) {
		uint16_t got = ((const uint16_t *)y->data)[i];
		float one, other;

		widen(&got, &one, 1);
		widen(&plain[i], &other, 1);
		if (isnan(other) ? !isnan(one)
				 : !(fabsf(one - other) <= 2 * step * (fabsf(other) + 1)))
			fail_msg("%s [%zu,%zu,%zu]%s%s%s: element %zu is %g, not %g",
				 sp_dtype_name(l->dtype), l->m, l->k, l->n,
				 l->transposed ? " transposed" : "", l->with_bias ? " bias" : "",
				 l->with_relu ? " relu" : "", i, (double)one, (double)other);
	}
}

static void check_sizes(sp_dtype dtype, bool transposed, bool with_bias, bool with_relu)
{
	static const size_t sizes[][3] = {
		{0, 5, 4},    {1, 0, 3},    {3, 0, 8},    {1, 1, 1},     {2, 3, 1},    {1, 30, 17},
		{1, 127, 70}, {1, 128, 64}, {1, 300, 96}, {4, 64, 24},   {7, 100, 40}, {33, 65, 10},
		{5, 20, 8},   {9, 50, 31},  {16, 90, 1},  {17, 700, 72}, {6, 1300, 25}};

	for (size_t i = 0; i < COUNT(sizes); i++)
		check(&(layer){dtype, sizes[i][0], sizes[i][1], sizes[i][2], transposed, with_bias,
			       with_relu});
}

static void layers_answer_as_their_parts(void **state)
{
	(void)state;
	for (int i = 0; i < 16; i++)
		check_sizes(i & 1 ? SP_HALF : SP_BFLOAT16, i & 2, i & 4, i & 8);
}

static void what_does_not_fit_is_refused(void **state)
{
	const layer l = {SP_HALF, 2, 3, 4, false, true, false};
	sp_tensor weights = matrix(w, SP_HALF, 3, 4), rows = matrix(x, SP_HALF, 2, 5);
	sp_tensor offsets = {
		.dtype = SP_HALF, .shape = sp_shape_vector(4), .count = 4, .data = bias};
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(compile(&l, &weights, &offsets, true), &g.err);
	assert_int_equal(sp_small_graph_run(&g, &rows, NULL, fetches), SP_INVALID);
	offsets.shape = sp_shape_vector(3);
	offsets.count = 3;
	assert_ok(compile(&l, &weights, &offsets, true), &g.err);
	assert_int_equal(sp_small_graph_run(&g, &rows, NULL, fetches), SP_INVALID);
	weights.shape = sp_shape_vector(12);
	assert_ok(compile(&l, &weights, &offsets, true), &g.err);
	assert_int_equal(sp_small_graph_run(&g, &rows, NULL, fetches), SP_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(layers_answer_as_their_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("narrow_dense", tests, NULL, NULL);
}
