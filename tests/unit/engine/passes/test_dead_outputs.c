/* Dead outputs of conditions and loops are removed; live ones stay. */
#include "tests/support/cmocka.h"

#include <string.h>

#include "engine/passes/dead_outputs.h"
#include "tests/support/imported_graph.h"

/* Functions of int32 scalars. */
static const sp_arg_def arguments[] = {
	{"a", SP_INT32}, {"b", SP_INT32}, {"c", SP_INT32}, {"d", SP_INT32}};

#define INT32_INPUT ATTRS(TYPE("dtype", SP_INT32))

static const sp_node_def branch_nodes[] = {
	{NODE("sum", "AddV2"), INPUTS("a", "b")},
	{NODE("square", "Square"), INPUTS("sum:z:0")},
	{NODE("product", "Mul"), INPUTS("a", "b")},
};
static const sp_node_def pick_nodes[] = {{NODE("first", "Identity"), INPUTS("a")},
					 {NODE("second", "Identity"), INPUTS("b")}};
static const sp_node_def less_nodes[] = {{NODE("less", "Less"), INPUTS("a", "d")}};
static const sp_node_def next_nodes[] = {
	{NODE("next", "AddV2"), INPUTS("a", "a")},
	{NODE("of b", "Mul"), INPUTS("b", "d")},
	{NODE("of c", "AddV2"), INPUTS("c", "b")},
	{NODE("of d", "Neg"), INPUTS("d")},
};
static const sp_function_def functions[] = {
	BODY("branch", 2, branch_nodes, {"a", "square:y:0"}, {"b", "sum:z:0"},
	     {"c", "product:z:0"}),
	BODY("pick", 2, pick_nodes, {"a", "second:output:0"}, {"b", "first:output:0"}),
	BODY("less", 4, less_nodes, {"a", "less:z:0"}),
	BODY("next", 4, next_nodes, {"a", "next:z:0"}, {"b", "of b:z:0"}, {"c", "of c:z:0"},
	     {"d", "of d:y:0"}),
};

#define START                                                      \
	{NODE("p", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))}, \
		{NODE("x", "Placeholder"), INT32_INPUT},           \
	{                                                          \
		NODE("y", "Placeholder"), INT32_INPUT              \
	}
#define CONDITION(name)                                          \
	{                                                        \
		NODE(name, "If"), INPUTS("p", "x", "y"),         \
			ATTRS(FUNCTION("then_branch", "branch"), \
			      FUNCTION("else_branch", "branch")) \
	}
#define LOOP                                                                      \
	{                                                                         \
		NODE("loop", "While"), INPUTS("x", "y", "x", "y"),                \
			ATTRS(FUNCTION("cond", "less"), FUNCTION("body", "next")) \
	}

/* Imports what "end" reaches and leaves out what it does not read; `kept` is wanted, too. */
static void drop(const sp_node_def *nodes, size_t count, const char *kept)
{
	const sp_graph_def def = {.nodes = nodes,
				  .node_count = count,
				  .functions = functions,
				  .function_count = COUNT(functions)};
	bool *is_kept;

	assert_ok(sp_imported_try(&def, "end"), &sp_imported_err);
	is_kept = sp_imported_none();
	is_kept[sp_number_of("end")] = true;
	if (kept != NULL)
		is_kept[sp_number_of(kept)] = true;
	assert_ok(sp_graph_drop_dead_outputs(&sp_imported, is_kept, &sp_imported_err),
		  &sp_imported_err);
}

/* What input k of a node is: the name of a node, and an output. */
static void assert_input(const char *node, size_t k, const char *name, uint32_t port)
{
	const sp_node *of = sp_node_named(node);

	assert_non_null(of);
	assert_in_range(k, 0, of->input_count - 1);
	assert_string_equal(sp_imported.nodes[of->inputs[k].node].name, name);
	assert_int_equal(of->inputs[k].port, port);
}

static void branches_return_live_values_only(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONDITION("if"),
		{NODE("end", "IdentityN"), INPUTS("if:2", "if", "if:2")},
	};

	(void)state;
	drop(nodes, COUNT(nodes), NULL);
	assert_int_equal(sp_node_named("if")->input_count, 1 + 2 * 2);
	assert_input("if", 0, "p", 0);
	assert_input("if", 1, "if/square", 0);
	assert_input("if", 2, "if/product", 0);
	assert_input("if", 3, "if/square", 0);
	assert_input("if", 4, "if/product", 0);
	assert_input("end", 0, "if", 1);
	assert_input("end", 1, "if", 0);
	assert_input("end", 2, "if", 1);
}

static void kept_nodes_keep_all_outputs(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONDITION("if"),
		{NODE("end", "IdentityN"), INPUTS("if:2")},
	};

	(void)state;
	drop(nodes, COUNT(nodes), "if");
	assert_int_equal(sp_node_named("if")->input_count, 1 + 2 * 3);
	assert_input("end", 0, "if", 2);
}

/* Of what one condition returns another one makes something that is not read. */
static void inputs_of_dead_values_are_dead(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONDITION("if"),
		{NODE("next", "If"), INPUTS("p", "if:1", "x"),
		 ATTRS(FUNCTION("then_branch", "branch"), FUNCTION("else_branch", "branch"))},
		{NODE("twice", "AddV2"), INPUTS("if:2", "if:2")},
		{NODE("last", "If"), INPUTS("p", "twice", "x"),
		 ATTRS(FUNCTION("then_branch", "pick"), FUNCTION("else_branch", "pick"))},
		{NODE("end", "IdentityN"), INPUTS("next:1", "if", "last")},
	};

	(void)state;
	drop(nodes, COUNT(nodes), NULL);
	assert_int_equal(sp_node_named("if")->input_count, 1 + 2 * 2);
	assert_int_equal(sp_node_named("next")->input_count, 1 + 2);
	assert_int_equal(sp_node_named("last")->input_count, 1 + 2);
	assert_input("end", 0, "next", 0);
	assert_input("end", 1, "if", 0);
	assert_input("next/sum", 0, "if", 1);
	/* It is needed for nothing, and reads what is no output any more. */
	assert_input("twice", 0, "if", UINT32_MAX);
}

/* a and d decide, b needs d, and c is for nothing. */
static void variables_of_the_condition_stay(void **state)
{
	const sp_node_def nodes[] = {START, LOOP, {NODE("end", "IdentityN"), INPUTS("loop:3")}};

	(void)state;
	drop(nodes, COUNT(nodes), NULL);
	assert_int_equal(sp_node_named("loop")->input_count, 2 * 2 + 1);
	assert_input("loop", 0, "loop/variable_0", 0);
	assert_input("loop", 1, "loop/variable_3", 0);
	assert_input("loop", 2, "loop/less", 0);
	assert_input("loop", 3, "loop/next", 0);
	assert_input("loop", 4, "loop/of d", 0);
	assert_input("end", 0, "loop", 1);
}

static void variables_that_live_ones_depend_on_stay(void **state)
{
	const sp_node_def nodes[] = {START, LOOP, {NODE("end", "IdentityN"), INPUTS("loop:2")}};

	(void)state;
	drop(nodes, COUNT(nodes), NULL);
	assert_int_equal(sp_node_named("loop")->input_count, 2 * 4 + 1);
	assert_input("end", 0, "loop", 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(branches_return_live_values_only),
		TEST(kept_nodes_keep_all_outputs),
		TEST(inputs_of_dead_values_are_dead),
		TEST(variables_of_the_condition_stay),
		TEST(variables_that_live_ones_depend_on_stay),
	};
	return cmocka_run_group_tests_name("dead_outputs", tests, NULL, NULL);
}
