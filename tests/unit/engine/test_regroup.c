/* TensorFlow's order of sums and products: which trees take it, and which are left alone. */
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "engine/graph_sort.h"
#include "engine/reduce_strength.h"
#include "engine/regroup.h"
#include "tests/support/imported_graph.h"

typedef sp_status regroup_fn(sp_graph *graph, const bool *fed, const bool *kept, sp_error *err);

/* Imports what "end" reaches; placeholders are fed, "end" and `kept` are wanted. */
static void regroup(const sp_node_def *nodes, size_t count, const char *kept, regroup_fn *pass)
{
	bool *is_fed, *is_kept;

	sp_imported_take(nodes, count);
	is_fed = sp_imported_placeholders();
	is_kept = sp_imported_placeholders();
	is_kept[sp_number_of("end")] = true;
	if (kept != NULL)
		is_kept[sp_number_of(kept)] = true;
	assert_ok(pass(&sp_imported, is_fed, is_kept, &sp_imported_err), &sp_imported_err);
}

/* What a node computes, as text: "AddV2(row, AddN(a, b, c))"; of nodes that are no sum or product
 * the name. */
static void write_text(uint32_t i, bool first, char *text, size_t size)
{
	static const char *const opened[] = {"Add", "AddV2", "AddN", "Mul"};
	const sp_node *node = &sp_imported.nodes[i];
	bool open = first;
	size_t used;

	for (size_t k = 0; k < COUNT(opened); k++)
		open |= strcmp(node->op_name, opened[k]) == 0;
	used = (size_t)snprintf(text, size, "%s%s", open ? node->op_name : node->name,
				open ? "(" : "");
	for (size_t k = 0; k < node->input_count && open; k++) {
		write_text(node->inputs[k].node, false, text + used, size - used);
		used += strlen(text + used);
		if (node->inputs[k].port != 0)
			used += (size_t)snprintf(text + used, size - used, ":%u",
						 node->inputs[k].port);
		used += (size_t)snprintf(text + used, size - used, "%s",
					 k + 1 == node->input_count ? ")" : ", ");
	}
}

static void assert_is(const char *name, const char *expected)
{
	char text[512];

	write_text(sp_number_of(name), true, text, sizeof(text));
	assert_string_equal(text, expected);
}

static float numbers[4] = {1, 2, 3, 4}, sixteen[16];
static int32_t any_by_4[] = {-1, 4}, any_by_any[] = {-1, 1, 4}, ones[] = {1}, zero = 0;
static const sp_tensor row = {
	.dtype = SP_FLOAT, .shape = {.rank = 1, .dims = {4}}, .count = 4, .data = numbers};
static const sp_tensor square = {
	.dtype = SP_FLOAT, .shape = {.rank = 2, .dims = {4, 4}}, .count = 16, .data = sixteen};
static const sp_tensor matrix_shape = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = any_by_4};
static const sp_tensor cube_shape = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {3}}, .count = 3, .data = any_by_any};
static const sp_tensor axis_1 = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {1}}, .count = 1, .data = ones};
static const sp_tensor axis_0 = {.dtype = SP_INT32, .count = 1, .data = &zero};

#define FLOATS TYPE("T", SP_FLOAT)
#define LATE                                                             \
	{                                                                \
		.name = SP_LATE_PRODUCT, .kind = SP_ATTR_BOOL, .b = true \
	}
#define KEEP                                                         \
	{                                                            \
		.name = "keep_dims", .kind = SP_ATTR_BOOL, .b = true \
	}
#define TWO_PARTS                                                \
	{                                                        \
		.name = "num_split", .kind = SP_ATTR_INT, .i = 2 \
	}

/* m1, m2, m3 of one shape [?,4], a row [4], a column [?,1], and what is fed. */
#define SHAPED                                                                   \
	{NODE("fed", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},            \
		{NODE("by 4", "Const"), ATTRS(TENSOR("value", &matrix_shape))},  \
		{NODE("axis", "Const"), ATTRS(TENSOR("value", &axis_1))},        \
		{NODE("row", "Const"), ATTRS(TENSOR("value", &row))},            \
		{NODE("m1", "Reshape"), INPUTS("fed", "by 4")},                  \
		{NODE("m2", "Tanh"), INPUTS("m1"), ATTRS(FLOATS)},               \
		{NODE("m3", "Exp"), INPUTS("m1"), ATTRS(FLOATS)},                \
	{                                                                        \
		NODE("column", "Sum"), INPUTS("m1", "axis"), ATTRS(FLOATS, KEEP) \
	}

static void sums(const sp_node_def *nodes, size_t count, const char *kept)
{
	regroup(nodes, count, kept, sp_graph_regroup_sums);
}

static void products(const sp_node_def *nodes, size_t count)
{
	regroup(nodes, count, NULL, sp_graph_regroup_products);
}

static void small_shapes_are_added_first(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("s1", "AddV2"), INPUTS("m3", "row"), ATTRS(FLOATS)},
		{NODE("s2", "Add"), INPUTS("s1", "m2"), ATTRS(FLOATS)},
		{NODE("s3", "AddV2"), INPUTS("s2", "column"), ATTRS(FLOATS)},
		{NODE("end", "Neg"), INPUTS("s3"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("s3", "AddV2(AddV2(column, row), AddV2(m2, m3))");
}

static void equal_shapes_become_one_sum_in_the_order_of_names(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("a", "AddV2"), INPUTS("m3", "m2"), ATTRS(FLOATS)},
		{NODE("b", "AddN"), INPUTS("row", "row"), ATTRS(FLOATS)},
		{NODE("c", "AddV2"), INPUTS("a", "m1"), ATTRS(FLOATS)},
		{NODE("d", "AddV2"), INPUTS("c", "b"), ATTRS(FLOATS)},
		{NODE("end", "Neg"), INPUTS("d"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("d", "AddV2(AddV2(row, row), AddN(m1, m2, m3))");
}

/* Two matrices of what is fed, each of its own: the sum says that they have as many rows. */
static void what_a_sum_wants_to_be_equal_is(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("other", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("square", "Const"), ATTRS(TENSOR("value", &square))},
		{NODE("product", "MatMul"), INPUTS("other", "square"), ATTRS(FLOATS)},
		{NODE("shifted", "AddV2"), INPUTS("row", "other"), ATTRS(FLOATS)},
		{NODE("more", "AddV2"), INPUTS("m1", "row"), ATTRS(FLOATS)},
		{NODE("sum", "AddN"), INPUTS("product", "shifted", "more"), ATTRS(FLOATS)},
		{NODE("end", "Neg"), INPUTS("sum"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("sum", "AddV2(AddV2(row, row), AddN(m1, other, product))");
}

static void a_sum_of_the_model_takes_the_order_of_names(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("0", "Const"), ATTRS(TENSOR("value", &axis_0))},
		{NODE("m10", "Split"), INPUTS("0", "fed"), ATTRS(FLOATS, TWO_PARTS)},
		{NODE("zoo/m", "Mul"), INPUTS("fed", "fed"), ATTRS(FLOATS)},
		{NODE("zoo/B", "Neg"), INPUTS("fed"), ATTRS(FLOATS)},
		{NODE("zoo/A", "Neg"), INPUTS("zoo/B"), ATTRS(FLOATS)},
		{NODE("end", "AddN"),
		 INPUTS("zoo/m", "zoo/B", "zoo/A", "m2", "m10:1", "fed", "m10"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	/* A square has another name there: zoo/ArithmeticOptimizer/ReplaceMulWithSquare_m. */
	assert_is("end", "AddN(fed, m10, m10:1, m2, zoo/A, Mul(fed, fed), zoo/B)");
}

static void a_sum_that_makes_a_sum_has_its_name(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("x/s1", "AddV2"), INPUTS("m1", "m2"), ATTRS(FLOATS)},
		{NODE("x/s2", "AddV2"), INPUTS("x/s1", "row"), ATTRS(FLOATS)},
		{NODE("x/B", "Neg"), INPUTS("x/s2"), ATTRS(FLOATS)},
		{NODE("x/0", "Abs"), INPUTS("x/s2"), ATTRS(FLOATS)},
		{NODE("end", "AddN"), INPUTS("x/s2", "x/B", "x/0"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("end", "AddN(x/0, AddV2(row, AddV2(m1, m2)), x/B)");
}

static void sums_of_unknown_shapes_stay(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("other", "Reshape"), INPUTS("fed", "by 4")},
		{NODE("s1", "AddV2"), INPUTS("fed", "row"), ATTRS(FLOATS)},
		{NODE("s2", "AddV2"), INPUTS("s1", "fed"), ATTRS(FLOATS)},
		{NODE("t1", "AddV2"), INPUTS("m1", "row"), ATTRS(FLOATS)},
		{NODE("t2", "AddV2"), INPUTS("t1", "other"), ATTRS(FLOATS)},
		{NODE("end", "AddV2"), INPUTS("s2", "t2"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("end", "AddV2(AddV2(AddV2(fed, row), fed), AddV2(AddV2(m1, row), other))");
}

static void what_others_see_stays(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("twice", "AddV2"), INPUTS("m1", "row"), ATTRS(FLOATS)},
		{NODE("a", "AddV2"), INPUTS("twice", "m2"), ATTRS(FLOATS)},
		{NODE("b", "Neg"), INPUTS("twice"), ATTRS(FLOATS)},
		{NODE("waits", "AddV2"), INPUTS("m1", "row", "^b"), ATTRS(FLOATS)},
		{NODE("c", "AddV2"), INPUTS("waits", "m2"), ATTRS(FLOATS)},
		{NODE("kept", "AddV2"), INPUTS("m1", "row"), ATTRS(FLOATS)},
		{NODE("d", "AddV2"), INPUTS("kept", "m2"), ATTRS(FLOATS)},
		{NODE("awaited", "AddV2"), INPUTS("m1", "row"), ATTRS(FLOATS)},
		{NODE("e", "AddV2"), INPUTS("awaited", "m2"), ATTRS(FLOATS)},
		{NODE("f", "Neg"), INPUTS("m1", "^awaited"), ATTRS(FLOATS)},
		{NODE("end", "IdentityN"), INPUTS("a", "b", "c", "d", "e", "f")},
	};

	(void)state;
	sums(nodes, COUNT(nodes), "kept");
	assert_is("a", "AddV2(AddV2(m1, row), m2)");
	assert_is("c", "AddV2(AddV2(m1, row), m2)");
	assert_is("d", "AddV2(AddV2(m1, row), m2)");
	assert_is("e", "AddV2(AddV2(m1, row), m2)");
}

static void sums_of_integers_stay(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("s1", "AddV2"), INPUTS("m1", "row"), ATTRS(TYPE("T", SP_INT32))},
		{NODE("s2", "AddV2"), INPUTS("s1", "m2"), ATTRS(TYPE("T", SP_INT32))},
		{NODE("t", "AddN"), INPUTS("s2", "m3", "m1"), ATTRS(TYPE("T", SP_INT32))},
		{NODE("end", "Neg"), INPUTS("t"), ATTRS(TYPE("T", SP_INT32))},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("t", "AddN(AddV2(AddV2(m1, row), m2), m3, m1)");
}

/* Neither of [?,4] and [?,1,4] with another name is known to be the smaller one. */
static void shapes_without_an_order_stay(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("by 1 by 4", "Const"), ATTRS(TENSOR("value", &cube_shape))},
		{NODE("cube", "Reshape"), INPUTS("fed", "by 1 by 4")},
		{NODE("s1", "AddV2"), INPUTS("cube", "m1"), ATTRS(FLOATS)},
		{NODE("s2", "AddV2"), INPUTS("s1", "column"), ATTRS(FLOATS)},
		{NODE("s3", "AddV2"), INPUTS("cube", "m1"), ATTRS(FLOATS)},
		{NODE("s4", "AddV2"), INPUTS("s3", "row"), ATTRS(FLOATS)},
		{NODE("end", "IdentityN"), INPUTS("s2", "s4")},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("s2", "AddV2(AddV2(cube, m1), column)");
	assert_is("s4", "AddV2(AddV2(cube, m1), row)");
}

/* An output stays where it is, and so does what its sum adds; the smallest go first, still. */
static void an_output_joins_the_smallest_first(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("s1", "AddV2"), INPUTS("m1", "m2"), ATTRS(FLOATS)},
		{NODE("s2", "AddV2"), INPUTS("s1", "row"), ATTRS(FLOATS)},
		{NODE("end", "AddV2"), INPUTS("s2", "column"), ATTRS(FLOATS)},
	};
	const sp_node_def equal[] = {
		SHAPED,
		{NODE("s1", "AddV2"), INPUTS("m3", "m2"), ATTRS(FLOATS)},
		{NODE("s2", "AddV2"), INPUTS("s1", "m1"), ATTRS(FLOATS)},
		{NODE("end", "AddV2"), INPUTS("s2", "m2"), ATTRS(FLOATS)},
	};

	(void)state;
	sums(nodes, COUNT(nodes), NULL);
	assert_is("end", "AddV2(AddV2(column, row), AddV2(m1, m2))");
	sums(equal, COUNT(equal), NULL);
	assert_is("end", "AddV2(AddN(m1, m2, m3), m2)");
}

static void small_factors_are_multiplied_first(void **state)
{
	const sp_node_def nodes[] = {
		SHAPED,
		{NODE("p1", "Mul"), INPUTS("m2", "column"), ATTRS(FLOATS)},
		{NODE("p2", "Mul"), INPUTS("p1", "row"), ATTRS(FLOATS)},
		{NODE("q1", "Mul"), INPUTS("m2", "m3"), ATTRS(FLOATS)},
		{NODE("q2", "Mul"), INPUTS("q1", "m1"), ATTRS(FLOATS)},
		{NODE("f1", "Mul"), INPUTS("fed", "column"), ATTRS(FLOATS)},
		{NODE("f2", "Mul"), INPUTS("f1", "row"), ATTRS(FLOATS)},
		{NODE("l1", "Mul"), INPUTS("m2", "column"), ATTRS(FLOATS, LATE)},
		{NODE("l2", "Mul"), INPUTS("l1", "row"), ATTRS(FLOATS)},
		{NODE("s1", "AddV2"), INPUTS("m2", "column"), ATTRS(FLOATS)},
		{NODE("s2", "AddV2"), INPUTS("s1", "row"), ATTRS(FLOATS)},
		{NODE("end", "IdentityN"), INPUTS("p2", "q2", "f2", "l2", "s2")},
	};

	(void)state;
	products(nodes, COUNT(nodes));
	assert_is("p2", "Mul(Mul(column, row), m2)");
	assert_is("q2", "Mul(Mul(m2, m3), m1)");
	assert_is("f2", "Mul(Mul(fed, column), row)");
	assert_is("l2", "Mul(Mul(m2, column), row)");
	assert_is("s2", "AddV2(AddV2(m2, column), row)");
}

static void a_long_chain_takes_no_time(void **state)
{
	enum { LONG = 20000 };
	sp_node_def *nodes = sp_arena_zeros(sp_imported_arena, LONG + 9, sizeof(*nodes));
	const sp_node_def first[] = {SHAPED};
	const sp_attr floats[] = {FLOATS};
	const char *before = "m1";
	const sp_node *last;

	(void)state;
	memcpy(nodes, first, sizeof(first));
	for (size_t i = 0; i < LONG; i++) {
		const char **inputs = sp_arena_array(sp_imported_arena, 2, sizeof(*inputs));

		inputs[0] = before;
		inputs[1] = i % 3 == 0 ? "row" : "m2";
		before = i + 1 == LONG ? "end" : sp_arena_printf(sp_imported_arena, "s%zu", i);
		nodes[COUNT(first) + i] = (sp_node_def){.name = before,
							.op = i + 1 == LONG ? "Neg" : "AddV2",
							.inputs = inputs,
							.input_count = i + 1 == LONG ? 1 : 2,
							.attrs = floats,
							.attr_count = 1};
	}
	sums(nodes, LONG + COUNT(first), NULL);
	last = &sp_imported.nodes[sp_imported.nodes[sp_number_of("end")].inputs[0].node];
	assert_int_equal(last->input_count, 2);
	assert_string_equal(last->op_name, "AddV2");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(small_shapes_are_added_first),
		TEST(equal_shapes_become_one_sum_in_the_order_of_names),
		TEST(what_a_sum_wants_to_be_equal_is),
		TEST(a_sum_of_the_model_takes_the_order_of_names),
		TEST(a_sum_that_makes_a_sum_has_its_name),
		TEST(sums_of_unknown_shapes_stay),
		TEST(what_others_see_stays),
		TEST(sums_of_integers_stay),
		TEST(shapes_without_an_order_stay),
		TEST(an_output_joins_the_smallest_first),
		TEST(small_factors_are_multiplied_first),
		TEST(a_long_chain_takes_no_time),
	};
	return cmocka_run_group_tests_name("regroup", tests, NULL, NULL);
}
