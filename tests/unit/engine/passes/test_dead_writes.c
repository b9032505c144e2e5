#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/graph.h"

/* A variable of two numbers, which a signature changes and may look at. */

SMALL_GRAPH(g);
static int64_t two_numbers[] = {5, 7}, steps[] = {1, 1};
static sp_tensor first = {
	.dtype = SP_INT64, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = two_numbers};
static sp_tensor step = {
	.dtype = SP_INT64, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = steps};
static bool yes = true;
static sp_tensor truth = {.dtype = SP_BOOL, .count = 1, .data = &yes};

#define IS_LONG TYPE("dtype", SP_INT64)
#define NAMED                                                            \
	{                                                                \
		.name = "shared_name", .kind = SP_ATTR_BYTES, .bytes = { \
			.data = "both",                                  \
			.size = 4                                        \
		}                                                        \
	}
/* The variable by two handles, another one, their first values, and what is added with each
 * request. */
#define VARIABLES                                                                                \
	{NODE("v", "VarHandleOp"), ATTRS(IS_LONG, NAMED)},                                       \
		{NODE("same", "VarHandleOp"), ATTRS(IS_LONG, NAMED)},                            \
		{NODE("w", "VarHandleOp"), ATTRS(IS_LONG)},                                      \
		{NODE("c", "Const"), ATTRS(IS_LONG, TENSOR("value", &first))},                   \
		{NODE("step", "Const"), ATTRS(IS_LONG, TENSOR("value", &step))},                 \
		{NODE("fill w", "AssignVariableOp"), INPUTS("w", "c"), ATTRS(IS_LONG)},          \
		{NODE("fill", "AssignVariableOp"), INPUTS("v", "c", "^fill w"), ATTRS(IS_LONG)}, \
		{NODE("x", "Placeholder"), ATTRS(IS_LONG)},                                      \
		{NODE("read", "ReadVariableOp"), INPUTS("v"), ATTRS(IS_LONG)},                   \
		{NODE("name", "Identity"), INPUTS("v")},                                         \
		{NODE("sum", "AddV2"), INPUTS("read", "x")},                                     \
	{                                                                                        \
		NODE("write", "AssignVariableOp"), INPUTS("name", "sum"), ATTRS(IS_LONG)         \
	}

static sp_status compile(const sp_node_def *nodes, size_t count, const char *other)
{
	assert_ok(sp_small_graph_compile(&g, nodes, count,
					 &(sp_ends){.target = "fill", .loading = true}),
		  &g.err);
	assert_ok(sp_small_graph_run(&g, NULL, NULL, NULL), &g.err);
	return sp_small_graph_compile(&g, nodes, count,
				      &(sp_ends){.feeds = {"x"}, .fetches = {"value", other}});
}

static void expect(int64_t a, int64_t b)
{
	int64_t numbers[] = {10, 20};
	const sp_tensor x = {
		.dtype = SP_INT64, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = numbers};
	const sp_tensor *fetches[2];

	assert_ok(sp_small_graph_run(&g, &x, NULL, fetches), &g.err);
	assert_int_equal(sp_tensor_i64(fetches[0])[0], a);
	assert_int_equal(sp_tensor_i64(fetches[0])[1], b);
	sp_session_reset(g.session);
}

static void refuse(const sp_node_def *nodes, size_t count, const char *other)
{
	assert_int_equal(compile(nodes, count, other), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "AssignVariableOp"));
}

static void dead_writes_are_dropped(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLES,
		{NODE("again", "AssignAddVariableOp"), INPUTS("same", "x", "^write"),
		 ATTRS(IS_LONG)},
		{NODE("less", "AssignSubVariableOp"), INPUTS("v", "x", "^again"), ATTRS(IS_LONG)},
		{NODE("row", "ResourceScatterAdd"), INPUTS("v", "x", "x", "^less")},
		{NODE("late", "ReadVariableOp"), INPUTS("same", "^row"), ATTRS(IS_LONG)},
		{NODE("of w", "ReadVariableOp"), INPUTS("w"), ATTRS(IS_LONG)},
		{NODE("value", "AddV2"), INPUTS("of w", "x", "^late")},
	};

	(void)state;
	assert_ok(compile(nodes, COUNT(nodes), NULL), &g.err);
	expect(15, 27);
	expect(15, 27);
}

/* As JAX exports a function with all that it was given. */
static void outputs_of_a_bundle_are_told_apart(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLES,
		{NODE("of w", "ReadVariableOp"), INPUTS("w"), ATTRS(IS_LONG)},
		{NODE("inner", "IdentityN"), INPUTS("of w", "read", "x")},
		{NODE("outer", "IdentityN"), INPUTS("inner:1", "inner", "read")},
		{NODE("value", "AddV2"), INPUTS("outer:1", "inner:2", "^write")},
	};

	(void)state;
	assert_ok(compile(nodes, COUNT(nodes), NULL), &g.err);
	expect(15, 27);
}

static void live_writes_are_refused(void **state)
{
	const sp_node_def in_a_bundle[] = {
		VARIABLES,
		{NODE("inner", "IdentityN"), INPUTS("x", "read")},
		{NODE("outer", "IdentityN"), INPUTS("x", "inner:1")},
		{NODE("value", "AddV2"), INPUTS("outer:1", "x", "^write")},
	};
	const sp_node_def in_an_answered_bundle[] = {
		VARIABLES,
		{NODE("value", "IdentityN"), INPUTS("x", "read", "^write")},
	};
	const sp_node_def by_another_handle[] = {
		VARIABLES,
		{NODE("late", "ReadVariableOp"), INPUTS("same", "^write"), ATTRS(IS_LONG)},
		{NODE("value", "AddV2"), INPUTS("late", "x")},
	};
	const sp_node_def whether_it_is_there[] = {
		VARIABLES,
		{NODE("value", "Identity"), INPUTS("x", "^write")},
		{NODE("there", "VarIsInitializedOp"), INPUTS("name")},
	};
	const sp_node_def in_another_answer[] = {
		VARIABLES,
		{NODE("value", "Identity"), INPUTS("x", "^write")},
		{NODE("other", "Identity"), INPUTS("read")},
	};

	(void)state;
	refuse(by_another_handle, COUNT(by_another_handle), NULL);
	refuse(whether_it_is_there, COUNT(whether_it_is_there), "there");
	refuse(in_another_answer, COUNT(in_another_answer), "other");
	refuse(in_a_bundle, COUNT(in_a_bundle), NULL);
	refuse(in_an_answered_bundle, COUNT(in_an_answered_bundle), NULL);
}

static void writes_that_an_assertion_reads_are_refused(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLES,
		{NODE("true", "Const"), ATTRS(TYPE("dtype", SP_BOOL), TENSOR("value", &truth))},
		{NODE("assert", "Assert"), INPUTS("true", "read")},
		{NODE("value", "Identity"), INPUTS("x", "^write", "^assert")},
	};

	(void)state;
	refuse(nodes, COUNT(nodes), NULL);
}

/* A handle that a request chooses. */
static void writes_of_unknown_variables_are_refused(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLES,
		{NODE("one of both", "Select"), INPUTS("x", "v", "w")},
		{NODE("some", "AssignVariableOp"), INPUTS("one of both", "x"), ATTRS(IS_LONG)},
		{NODE("value", "Identity"), INPUTS("x", "^some")},
	};

	(void)state;
	assert_int_not_equal(compile(nodes, COUNT(nodes), NULL), SP_OK);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(dead_writes_are_dropped),
		TEST(outputs_of_a_bundle_are_told_apart),
		TEST(live_writes_are_refused),
		TEST(writes_that_an_assertion_reads_are_refused),
		TEST(writes_of_unknown_variables_are_refused),
	};

	return cmocka_run_group_tests_name("dead_writes", tests, NULL, NULL);
}
