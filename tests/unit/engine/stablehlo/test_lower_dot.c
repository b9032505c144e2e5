#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/graph.h"

SMALL_GRAPH(g);

#define SHAPES(list)                                                                      \
	{                                                                                 \
		.name = "_output_shapes", .kind = SP_ATTR_LIST, .element = SP_ATTR_SHAPE, \
		.count = 1, .shape_list = (list)                                          \
	}
#define NUMBERS(text)                                                          \
	{                                                                      \
		.name = "dimension_numbers", .kind = SP_ATTR_BYTES, .bytes = { \
			text,                                                  \
			sizeof(text) - 1                                       \
		}                                                              \
	}

static const sp_partial_shape matrix = {.rank = 2, .dims = {-1, 3}};
static const sp_partial_shape cube = {.rank = 3, .dims = {-1, 3, 2}};
static const sp_partial_shape unknown = {.rank = -1};

/* Dimension 1 of the first contracts with dimension 0, or 1, of the second. */
#define PLAIN  "\x0a\x01\x01\x12\x01\x00"
#define TURNED "\x0a\x01\x01\x12\x01\x01"

/* The operator that XlaDotV2(a, b) becomes. */
static const char *becomes(const sp_partial_shape *a, const sp_partial_shape *b, sp_dtype dtype,
			   sp_dtype result, sp_attr numbers)
{
	const sp_node_def nodes[] = {
		{NODE("a", "Placeholder"), ATTRS(TYPE("dtype", dtype), SHAPES(a))},
		{NODE("b", "Placeholder"), ATTRS(TYPE("dtype", dtype), SHAPES(b))},
		{NODE("y", "XlaDotV2"), INPUTS("a", "b"),
		 ATTRS(TYPE("LhsT", dtype), TYPE("RhsT", dtype),
		       TYPE("preferred_element_type", result), numbers)},
	};
	sp_port y;

	assert_ok(sp_small_graph_compile(&g, nodes, COUNT(nodes),
					 &(sp_ends){.feeds = {"a", "b"}, .fetches = {"y"}}),
		  &g.err);
	assert_ok(sp_graph_find(&g.graph, "y", &y, &g.err), &g.err);
	return g.graph.nodes[y.node].op_name;
}

/* y[i][j] = sum of a[i][k] * b(k, j), in double. */
static void check_product(bool turned)
{
	static float a[2][3] = {{1, 2, 3}, {-4, 5, -6}},
		     b[3][3] = {{2, 1, 0}, {3, -1, 4}, {5, 7, -2}};
	sp_tensor feeds[] = {
		{.dtype = SP_FLOAT, .shape = sp_shape_matrix(2, 3), .count = 6, .data = a},
		{.dtype = SP_FLOAT, .shape = sp_shape_matrix(3, 3), .count = 9, .data = b}};
	const sp_tensor *y;

	assert_ok(sp_small_graph_run(&g, feeds, NULL, &y), &g.err);
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++) {
			double sum = 0;

			for (int k = 0; k < 3; k++)
				sum += (double)a[i][k] * (double)(turned ? b[j][k] : b[k][j]);
			assert_true((double)sp_tensor_f32(y)[3 * i + j] == sum);
		}
	sp_session_reset(g.session);
}

static void dots_of_matrices_become_matmul(void **state)
{
	(void)state;
	assert_string_equal(becomes(&matrix, &matrix, SP_FLOAT, SP_FLOAT, (sp_attr)NUMBERS(PLAIN)),
			    "MatMul");
	check_product(false);
	assert_string_equal(becomes(&matrix, &matrix, SP_FLOAT, SP_FLOAT, (sp_attr)NUMBERS(TURNED)),
			    "MatMul");
	check_product(true);
}

static void other_dots_stay(void **state)
{
	static const char dot[] = "XlaDotV2";
	const sp_attr plain = NUMBERS(PLAIN), batch = NUMBERS("\x1a\x01\x00\x22\x01\x00"),
		      first = NUMBERS("\x0a\x01\x00\x12\x01\x00");

	(void)state;
	assert_string_equal(becomes(&cube, &matrix, SP_FLOAT, SP_FLOAT, plain), dot);
	assert_string_equal(becomes(&matrix, &unknown, SP_FLOAT, SP_FLOAT, plain), dot);
	assert_string_equal(becomes(&matrix, &matrix, SP_DOUBLE, SP_DOUBLE, plain), dot);
	assert_string_equal(becomes(&matrix, &matrix, SP_FLOAT, SP_DOUBLE, plain), dot);
	assert_string_equal(becomes(&matrix, &matrix, SP_FLOAT, SP_FLOAT, batch), dot);
	assert_string_equal(becomes(&matrix, &matrix, SP_FLOAT, SP_FLOAT, first), dot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dots_of_matrices_become_matmul),
		TEST(other_dots_stay),
	};
	return cmocka_run_group_tests_name("lower_dot", tests, NULL, NULL);
}
