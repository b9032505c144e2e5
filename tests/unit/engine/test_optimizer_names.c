/* What TensorFlow's optimizer calls what loops and functions hand on. */
#include "tests/support/cmocka.h"

#include <string.h>

#include "engine/optimizer_names.h"
#include "tests/support/imported_graph.h"

static sp_optimizer_names names;

static void take(const sp_node_def *nodes, size_t count)
{
	sp_imported_take(nodes, count);
	assert_ok(
		sp_optimizer_names_make(&names, &sp_imported, sp_imported_arena, &sp_imported_err),
		&sp_imported_err);
}

static const char *name_of_input(const char *reader, size_t k)
{
	const sp_node *node = sp_node_named(reader);

	assert_non_null(node);
	return sp_optimizer_name_of(&names, node, node->inputs[k]);
}

static void assert_input(const char *reader, size_t k, const char *expected)
{
	assert_string_equal(name_of_input(reader, k), expected);
}

static void nodes_of_the_graph_have_their_own(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("axis", "Const")},
		{NODE("scope/parts", "Split"), INPUTS("axis", "x")},
		{NODE("end", "AddV2"), INPUTS("scope/parts", "scope/parts:1")},
	};

	(void)state;
	take(nodes, COUNT(nodes));
	assert_input("scope/parts", 1, "x");
	assert_input("end", 0, "scope/parts");
	assert_input("end", 1, "scope/parts:1");
}

/* What is given to a function has a node of its own in it, while more than two read it. */
static void inputs_of_functions_are_bypassed_for_few_readers(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("v", "VarHandleOp")},
		{NODE("call/read", "ReadVariableOp"), INPUTS("v")},
		{NODE("call/sum", "AddV2"), INPUTS("x", "call/read")},
		{NODE("call/twice", "AddV2"), INPUTS("y", "y")},
		{NODE("call/relu", "Relu"), INPUTS("x")},
		{NODE("call/end", "AddN"), INPUTS("call/sum", "x", "call/twice", "call/relu")},
		{NODE("call/unread", "Relu"), INPUTS("y")},
		{NODE("call/neither", "Relu"), INPUTS("y")},
		{NODE("call", "IdentityN"), INPUTS("call/end", "call/unread", "call/neither")},
		{NODE("end", "IdentityN"), INPUTS("call")},
	};
	bool *live;

	(void)state;
	take(nodes, COUNT(nodes));
	live = sp_arena_zeros(sp_imported_arena, sp_imported.node_count, sizeof(*live));
	assert_non_null(live);
	for (const char *name = "v\0call/read\0call/sum\0call/twice\0call/relu\0call/end\0";
	     *name != '\0'; name += strlen(name) + 1)
		live[sp_number_of(name)] = true;
	assert_input("call/sum", 0, "Func/call/input/_00000000");
	assert_int_equal(strncmp(name_of_input("call/twice", 0), "Func/", strlen("Func/")), 0);
	assert_int_equal(sp_optimizer_names_bypass(&names, live), SP_OK);
	assert_input("call/sum", 0, "Func/call/input/_00000000");
	assert_input("call/twice", 0, "y");
	live[sp_number_of("v")] = false;
	assert_int_equal(sp_optimizer_names_bypass(&names, live), SP_OK);
	assert_input("call/sum", 0, "x");
}

#define FRAME                                                                        \
	{                                                                            \
		.name = "frame_name", .kind = SP_ATTR_BYTES, .bytes = { "frame", 5 } \
	}

/* while (i < n) { i += n; y = y * (x + 1) }, as it is exported without functions. */
static void variables_of_frames_are_what_switches_give(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("n", "Placeholder"), ATTRS(TYPE("dtype", SP_INT32))},
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Relu"), INPUTS("x")},
		{NODE("w/Enter", "Enter"), INPUTS("n"), ATTRS(FRAME)},
		{NODE("w/Merge", "Merge"), INPUTS("w/Enter", "w/NextIteration")},
		{NODE("w/Enter_1", "Enter"), INPUTS("y"), ATTRS(FRAME)},
		{NODE("w/Merge_1", "Merge"), INPUTS("w/Enter_1", "w/NextIteration_1")},
		{NODE("w/Less/Enter", "Enter"), INPUTS("n"), ATTRS(FRAME)},
		{NODE("w/Less", "Less"), INPUTS("w/Merge", "w/Less/Enter")},
		{NODE("w/LoopCond", "LoopCond"), INPUTS("w/Less")},
		{NODE("w/Switch", "Switch"), INPUTS("w/Merge", "w/LoopCond")},
		{NODE("w/Switch_1", "Switch"), INPUTS("w/Merge_1", "w/LoopCond")},
		{NODE("w/add", "AddV2"), INPUTS("w/Switch:1", "w/Less/Enter")},
		{NODE("w/mul/Enter", "Enter"), INPUTS("x"), ATTRS(FRAME)},
		{NODE("w/mul", "Mul"), INPUTS("w/Switch_1:1", "w/mul/Enter")},
		{NODE("w/NextIteration", "NextIteration"), INPUTS("w/add")},
		{NODE("w/NextIteration_1", "NextIteration"), INPUTS("w/mul")},
		{NODE("w/Exit_1", "Exit"), INPUTS("w/Switch_1")},
		{NODE("end", "Mul"), INPUTS("w/Exit_1", "y")},
	};

	(void)state;
	take(nodes, COUNT(nodes));
	assert_input("w/mul", 0, "w/Switch_1:1");
	assert_input("w/mul", 1, "w/mul/Enter");
	assert_input("end", 0, "w/Exit_1");
	assert_input("end", 1, "y");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(nodes_of_the_graph_have_their_own),
		TEST(inputs_of_functions_are_bypassed_for_few_readers),
		TEST(variables_of_frames_are_what_switches_give),
	};
	return cmocka_run_group_tests_name("optimizer names", tests, NULL, NULL);
}
