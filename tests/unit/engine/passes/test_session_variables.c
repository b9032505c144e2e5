#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/graph.h"

/* A variable of two numbers, and what a signature may write into it. */

static sp_small_graph g;
static bool looks; /* at what counts hold */

static int64_t two_numbers[] = {5, 7}, steps[] = {0, 1};
static float many_numbers[9];

static sp_tensor first = {
	.dtype = SP_INT64, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = two_numbers};
static sp_tensor step = {
	.dtype = SP_INT64, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = steps};
static sp_tensor many = {
	.dtype = SP_FLOAT, .shape = {.rank = 1, .dims = {9}}, .count = 9, .data = many_numbers};
static bool yes = true;
static sp_tensor truth = {.dtype = SP_BOOL, .count = 1, .data = &yes};
static const sp_partial_shape two = {.rank = 1, .dims = {2}}, nine = {.rank = 1, .dims = {9}};
static const sp_partial_shape any = {.rank = 1, .dims = {-1}};

#define SHAPE(value)                                                        \
	{                                                                   \
		.name = "shape", .kind = SP_ATTR_SHAPE, .shape = (&(value)) \
	}
#define IS_LONG TYPE("dtype", SP_INT64)
/* The variable of that shape, its first value, its value, and what is to be added. */
#define VARIABLE_OF(shape)                                                                        \
	{NODE("v", "VarHandleOp"), ATTRS(IS_LONG, SHAPE(shape))},                                 \
		{NODE("w", "VarHandleOp"), ATTRS(IS_LONG, SHAPE(shape))},                         \
		{NODE("c", "Const"), ATTRS(IS_LONG, TENSOR("value", &first))},                    \
		{NODE("step", "Const"), ATTRS(IS_LONG, TENSOR("value", &step))},                  \
		{NODE("other", "AssignVariableOp"), INPUTS("w", "c"), ATTRS(IS_LONG)},            \
		{NODE("assign", "AssignVariableOp"), INPUTS("v", "c", "^other"), ATTRS(IS_LONG)}, \
	{                                                                                         \
		NODE("read", "ReadVariableOp"), INPUTS("v"), ATTRS(IS_LONG)                       \
	}
#define VARIABLE VARIABLE_OF(two)

static int set_up(void **state)
{
	(void)state;
	looks = true;
	sp_small_graph_init(&g);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_small_graph_fini(&g);
	return 0;
}

static sp_status compile(const sp_node_def *nodes, size_t count, const char *feed)
{
	assert_ok(sp_small_graph_compile(&g, nodes, count,
					 &(sp_ends){.target = "assign", .loading = true}),
		  &g.err);
	assert_ok(sp_small_graph_run(&g, NULL, NULL, NULL), &g.err);
	return sp_small_graph_compile(
		&g, nodes, count,
		&(sp_ends){.feeds = {feed}, .fetches = {"value"}, .looks_at_counts = looks});
}

static void expect(int64_t a, int64_t b)
{
	const sp_tensor *fetches[1];

	assert_ok(sp_small_graph_run(&g, NULL, NULL, fetches), &g.err);
	assert_int_equal(fetches[0]->count, 2);
	assert_int_equal(sp_tensor_i64(fetches[0])[0], a);
	assert_int_equal(sp_tensor_i64(fetches[0])[1], b);
	sp_session_reset(g.session);
}

static void refuse(const sp_node_def *nodes, size_t count, const char *feed, const char *op)
{
	assert_int_equal(compile(nodes, count, feed), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, op));
}

static void a_session_variable_lives_from_request_to_request(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("next", "AddV2"), INPUTS("read", "step")},
		{NODE("write", "AssignVariableOp"), INPUTS("v", "next"), ATTRS(IS_LONG)},
		{NODE("again", "AssignAddVariableOp"), INPUTS("v", "step", "^write"),
		 ATTRS(IS_LONG)},
		{NODE("value", "ReadVariableOp"), INPUTS("v", "^again"), ATTRS(IS_LONG)},
	};

	(void)state;
	assert_ok(compile(nodes, COUNT(nodes), NULL), &g.err);
	expect(5, 9);
	expect(5, 11);
}

static void sessions_have_their_own_copies(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("write", "AssignSubVariableOp"), INPUTS("v", "step"), ATTRS(IS_LONG)},
		{NODE("value", "ReadVariableOp"), INPUTS("v", "^write"), ATTRS(IS_LONG)},
	};

	(void)state;
	assert_ok(compile(nodes, COUNT(nodes), NULL), &g.err);
	expect(5, 6);
	expect(5, 5);
	sp_session_destroy(g.session);
	assert_ok(sp_session_create(&g.session, g.program, 16 << 20, &g.err), &g.err);
	expect(5, 6);
}

static void writes_that_depend_on_the_request_are_refused(void **state)
{
	const sp_node_def fed[] = {
		VARIABLE,
		{NODE("x", "Placeholder"), ATTRS(IS_LONG)},
		{NODE("next", "AddV2"), INPUTS("read", "x")},
		{NODE("write", "AssignVariableOp"), INPUTS("v", "next"), ATTRS(IS_LONG)},
		{NODE("value", "Identity"), INPUTS("read", "^write")},
	};
	const sp_node_def fed_by_default[] = {
		VARIABLE,
		{NODE("x", "PlaceholderWithDefault"), INPUTS("step"), ATTRS(IS_LONG)},
		{NODE("write", "AssignAddVariableOp"), INPUTS("v", "x"), ATTRS(IS_LONG)},
		{NODE("value", "Identity"), INPUTS("read", "^write")},
	};

	(void)state;
	refuse(fed, COUNT(fed), "x", "AssignVariableOp");
	refuse(fed_by_default, COUNT(fed_by_default), "x", "AssignAddVariableOp");
}

static void one_other_write_disqualifies_the_variable(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("count", "AssignAddVariableOp"), INPUTS("v", "step"), ATTRS(IS_LONG)},
		{NODE("theirs", "ReadVariableOp"), INPUTS("w"), ATTRS(IS_LONG)},
		{NODE("write", "AssignVariableOp"), INPUTS("v", "theirs", "^count"),
		 ATTRS(IS_LONG)},
		{NODE("value", "Identity"), INPUTS("read", "^write")},
	};

	(void)state;
	refuse(nodes, COUNT(nodes), NULL, "AssignAddVariableOp");
}

static void large_variables_are_refused(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE_OF(any),
		{NODE("count", "AssignAddVariableOp"), INPUTS("v", "step"), ATTRS(IS_LONG)},
		{NODE("value", "Identity"), INPUTS("read", "^count")},
	};
	const sp_node_def large[] = {
		{NODE("u", "VarHandleOp"), ATTRS(TYPE("dtype", SP_FLOAT), SHAPE(nine))},
		{NODE("c", "Const"), ATTRS(TYPE("dtype", SP_FLOAT), TENSOR("value", &many))},
		{NODE("assign", "AssignVariableOp"), INPUTS("u", "c"),
		 ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("read", "ReadVariableOp"), INPUTS("u"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("next", "AddV2"), INPUTS("read", "read")},
		{NODE("write", "AssignVariableOp"), INPUTS("u", "next"),
		 ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("value", "Identity"), INPUTS("read", "^write")},
	};

	(void)state;
	refuse(nodes, COUNT(nodes), NULL, "AssignAddVariableOp");
	refuse(large, COUNT(large), NULL, "AssignVariableOp");
}

/* Sessions are not in step: an answer would hang on which of them gives it. */
static void fetched_variables_are_refused(void **state)
{
	const sp_node_def plain[] = {
		VARIABLE,
		{NODE("count", "AssignAddVariableOp"), INPUTS("v", "step"), ATTRS(IS_LONG)},
		{NODE("twice", "AddV2"), INPUTS("read", "read")},
		{NODE("value", "Identity"), INPUTS("twice", "^count")},
	};
	const sp_node_def printed[] = {
		VARIABLE,
		{NODE("count", "AssignAddVariableOp"), INPUTS("v", "step"), ATTRS(IS_LONG)},
		{NODE("true", "Const"), ATTRS(TYPE("dtype", SP_BOOL), TENSOR("value", &truth))},
		{NODE("assert", "Assert"), INPUTS("true", "read")},
		{NODE("value", "Identity"), INPUTS("step", "^count", "^assert")},
	};

	(void)state;
	looks = false;
	refuse(plain, COUNT(plain), NULL, "AssignAddVariableOp");
	refuse(printed, COUNT(printed), NULL, "AssignAddVariableOp");
}

static void random_draws_may_depend_on_session_variables(void **state)
{
	const sp_node_def nodes[] = {
		VARIABLE,
		{NODE("next", "AddV2"), INPUTS("read", "step")},
		{NODE("write", "AssignVariableOp"), INPUTS("v", "next"), ATTRS(IS_LONG)},
		{NODE("runs", "AssignAddVariableOp"), INPUTS("w", "step"), ATTRS(IS_LONG)},
		{NODE("value", "StatelessRandomUniform"),
		 INPUTS("step", "next", "^write", "^runs")},
	};
	const sp_tensor *fetches[1];

	(void)state;
	looks = false;
	assert_ok(compile(nodes, COUNT(nodes), NULL), &g.err);
	assert_ok(sp_small_graph_run(&g, NULL, NULL, fetches), &g.err);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_session_variable_lives_from_request_to_request),
		TEST(sessions_have_their_own_copies),
		TEST(writes_that_depend_on_the_request_are_refused),
		TEST(one_other_write_disqualifies_the_variable),
		TEST(fetched_variables_are_refused),
		TEST(random_draws_may_depend_on_session_variables),
		TEST(large_variables_are_refused),
	};

	return cmocka_run_group_tests_name("session_variables", tests, NULL, NULL);
}
