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

static void a_row_of_constants_is_read_by_who_depends_on_the_write(void **state)
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
static void so_it_is_by_the_other_readers(void **state)
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

static void a_later_write_is_seen_over_an_earlier_one(void **state)
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

static void a_write_that_no_fetch_reaches_is_none(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("write", "ScatterUpdate"), INPUTS("v", "last", "zero")},
		{NODE("read", "Identity"), INPUTS("v")},
	};

	(void)state;
	check(nodes, COUNT(nodes), "read", three_rows);
}

static void what_a_request_writes_is_refused_by_name(void **state)
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
static void what_follows_from_a_variable_is_refused_by_name(void **state)
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
static void what_was_read_may_be_written_back(void **state)
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

static void what_another_variable_holds_may_not(void **state)
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

static void what_was_changed_may_not(void **state)
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
		TEST(a_row_of_constants_is_read_by_who_depends_on_the_write),
		TEST(so_it_is_by_the_other_readers),
		TEST(a_later_write_is_seen_over_an_earlier_one),
		TEST(a_write_that_no_fetch_reaches_is_none),
		TEST(what_a_request_writes_is_refused_by_name),
		TEST(what_follows_from_a_variable_is_refused_by_name),
		TEST(a_row_outside_of_the_table_is_an_error),
		TEST(what_was_read_may_be_written_back),
		TEST(what_another_variable_holds_may_not),
		TEST(what_was_changed_may_not),
	};

	return cmocka_run_group_tests_name("constant_writes", tests, NULL, NULL);
}
