#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/graph.h"

/* A table of three rows of two, and what a graph may write into it. */

SMALL_GRAPH(g);

static float three_rows[] = {1, 2, 3, 4, 5, 6}, zeros[2], ones[] = {1, 1};
static int32_t last_row = 2, zero_axis = 0, all_rows[] = {0, 1, 2};

#define VECTOR(type, n, values)                                                                    \
	{                                                                                          \
		.dtype = (type), .shape = {.rank = 1, .dims = {n}}, .count = (n), .data = (values) \
	}
static sp_tensor table = {
	.dtype = SP_FLOAT, .shape = {.rank = 2, .dims = {3, 2}}, .count = 6, .data = three_rows};
static sp_tensor zero = VECTOR(SP_FLOAT, 2, zeros), one = VECTOR(SP_FLOAT, 2, ones);
static sp_tensor last = {.dtype = SP_INT32, .count = 1, .data = &last_row};
static sp_tensor every = VECTOR(SP_INT32, 3, all_rows);
static sp_tensor axis_0 = {.dtype = SP_INT32, .count = 1, .data = &zero_axis};

#define IS_FLOAT TYPE("dtype", SP_FLOAT)
#define IS_INT   TYPE("dtype", SP_INT32)
#define VARIABLE                                                                  \
	{NODE("v", "VariableV2"), ATTRS(IS_FLOAT)},                               \
		{NODE("c", "Const"), ATTRS(IS_FLOAT, TENSOR("value", &table))},   \
		{NODE("assign", "Assign"), INPUTS("v", "c")},                     \
		{NODE("zero", "Const"), ATTRS(IS_FLOAT, TENSOR("value", &zero))}, \
		{NODE("one", "Const"), ATTRS(IS_FLOAT, TENSOR("value", &one))},   \
		{NODE("last", "Const"), ATTRS(IS_INT, TENSOR("value", &last))},   \
		{NODE("axis", "Const"), ATTRS(IS_INT, TENSOR("value", &axis_0))}, \
	{                                                                         \
		NODE("every", "Const"), ATTRS(IS_INT, TENSOR("value", &every))    \
	}

/* The same table behind a handle, and a second one. */
#define HANDLES                                                                                   \
	{NODE("v", "VarHandleOp"), ATTRS(IS_FLOAT)}, {NODE("w", "VarHandleOp"), ATTRS(IS_FLOAT)}, \
		{NODE("c", "Const"), ATTRS(IS_FLOAT, TENSOR("value", &table))},                   \
		{NODE("one", "Const"), ATTRS(IS_FLOAT, TENSOR("value", &one))},                   \
		{NODE("other", "AssignVariableOp"), INPUTS("w", "c"), ATTRS(IS_FLOAT)},           \
	{                                                                                         \
		NODE("assign", "AssignVariableOp"), INPUTS("v", "c", "^other"), ATTRS(IS_FLOAT)   \
	}

static sp_status compile(const sp_node_def *nodes, size_t count, const char *fetch)
{
	assert_ok(sp_small_graph_compile(&g, nodes, count,
					 &(sp_ends){.target = "assign", .loading = true}),
		  &g.err);
	assert_ok(sp_small_graph_run(&g, NULL, NULL, NULL), &g.err);
	return sp_small_graph_compile(&g, nodes, count, &(sp_ends){.fetches = {fetch}});
}

static void check(const sp_node_def *nodes, size_t count, const char *fetch, const float *expected)
{
	const sp_tensor *fetches[1];

	assert_ok(compile(nodes, count, fetch), &g.err);
	for (int i = 0; i < 2; i++) {
		assert_ok(sp_small_graph_run(&g, NULL, NULL, fetches), &g.err);
		assert_int_equal(fetches[0]->count, 6);
		assert_memory_equal(fetches[0]->data, expected, 6 * sizeof(*expected));
		sp_session_reset(g.session);
	}
}

static void a_constant_write_is_read_by_its_dependents(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("write", "ScatterUpdate"), INPUTS("v", "last", "zero")},
		{NODE("rows", "Const"), INPUTS("^write"), ATTRS(IS_INT, TENSOR("value", &every))},
		{NODE("look", "GatherV2"), INPUTS("v", "rows", "axis")},
	};

	(void)state;
	check(nodes, COUNT(nodes), "look", (const float[]){1, 2, 3, 4, 0, 0});
}

/* In TensorFlow from the second request on. */
static void other_readers_read_it_too(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("early", "Identity"), INPUTS("v")},
		{NODE("write", "ScatterUpdate"), INPUTS("v", "last", "zero")},
		{NODE("both", "Identity"), INPUTS("early", "^write")},
	};

	(void)state;
	check(nodes, COUNT(nodes), "both", (const float[]){1, 2, 3, 4, 0, 0});
}

static void later_writes_win(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("write", "ScatterUpdate"), INPUTS("v", "last", "zero")},
		{NODE("again", "ScatterUpdate"), INPUTS("v", "last", "one", "^write")},
		{NODE("read", "Identity"), INPUTS("v", "^again")},
	};

	(void)state;
	check(nodes, COUNT(nodes), "read", (const float[]){1, 2, 3, 4, 1, 1});
}

static void unreachable_writes_change_nothing(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("write", "ScatterUpdate"), INPUTS("v", "last", "zero")},
		{NODE("read", "Identity"), INPUTS("v")},
	};

	(void)state;
	check(nodes, COUNT(nodes), "read", three_rows);
}

static void writes_of_requests_are_refused_by_name(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("row", "Placeholder"), ATTRS(IS_INT)},
		{NODE("write", "ScatterUpdate"), INPUTS("v", "row", "zero")},
	};

	(void)state;
	assert_int_equal(compile(nodes, COUNT(nodes), "write"), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "ScatterUpdate"));
	assert_non_null(strstr(g.err.text, "'write'"));
}

/* A counter: every request finds another value. */
static void writes_that_depend_on_variables_are_refused_by_name(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("row", "GatherV2"), INPUTS("v", "last", "axis")},
		{NODE("write", "ScatterUpdate"), INPUTS("v", "last", "row")},
	};

	(void)state;
	assert_int_equal(compile(nodes, COUNT(nodes), "write"), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "ScatterUpdate"));
}

static void a_row_outside_of_the_table_is_an_error(void **state)
{
	int32_t fourth = 3;
	sp_tensor beyond = {.dtype = SP_INT32, .count = 1, .data = &fourth};
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("row", "Const"), ATTRS(IS_INT, TENSOR("value", &beyond))},
		{NODE("write", "ScatterUpdate"), INPUTS("v", "row", "zero")},
	};
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(compile(nodes, COUNT(nodes), "write"), &g.err);
	assert_int_equal(sp_small_graph_run(&g, NULL, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(g.err.text, "'write'"));
}

/* Averages that only training moves: what was read is written back, by way of other names. */
static void a_value_may_be_written_back_unchanged(void **state)
{
	const sp_node_def nodes[] = {
		HANDLES,
		{NODE("read", "ReadVariableOp"), INPUTS("v"), ATTRS(IS_FLOAT)},
		{NODE("names", "IdentityN"), INPUTS("one", "read")},
		{NODE("name", "Identity"), INPUTS("names:1")},
		{NODE("back", "AssignVariableOp"), INPUTS("v", "name"), ATTRS(IS_FLOAT)},
		{NODE("value", "Identity"), INPUTS("read", "^back")},
	};

	(void)state;
	check(nodes, COUNT(nodes), "value", three_rows);
}

static void a_value_of_another_variable_is_refused(void **state)
{
	const sp_node_def nodes[] = {
		HANDLES,
		{NODE("read", "ReadVariableOp"), INPUTS("w"), ATTRS(IS_FLOAT)},
		{NODE("back", "AssignVariableOp"), INPUTS("v", "read"), ATTRS(IS_FLOAT)},
		{NODE("value", "ReadVariableOp"), INPUTS("v", "^back"), ATTRS(IS_FLOAT)},
	};

	(void)state;
	assert_int_equal(compile(nodes, COUNT(nodes), "value"), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "AssignVariableOp"));
}

static void a_changed_value_is_refused(void **state)
{
	const sp_node_def nodes[] = {
		HANDLES,
		{NODE("read", "ReadVariableOp"), INPUTS("v"), ATTRS(IS_FLOAT)},
		{NODE("more", "AddV2"), INPUTS("read", "read")},
		{NODE("back", "AssignVariableOp"), INPUTS("v", "more"), ATTRS(IS_FLOAT)},
		{NODE("value", "Identity"), INPUTS("read", "^back")},
	};

	(void)state;
	assert_int_equal(compile(nodes, COUNT(nodes), "value"), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "AssignVariableOp"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_constant_write_is_read_by_its_dependents),
		TEST(other_readers_read_it_too),
		TEST(later_writes_win),
		TEST(unreachable_writes_change_nothing),
		TEST(writes_of_requests_are_refused_by_name),
		TEST(writes_that_depend_on_variables_are_refused_by_name),
		TEST(a_row_outside_of_the_table_is_an_error),
		TEST(a_value_may_be_written_back_unchanged),
		TEST(a_value_of_another_variable_is_refused),
		TEST(a_changed_value_is_refused),
	};

	return cmocka_run_group_tests_name("constant_writes", tests, NULL, NULL);
}
