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

static void assert_input(const char *reader, size_t k, const char *expected)
{
	const sp_node *node = sp_node_named(reader);

	assert_non_null(node);
	assert_string_equal(sp_optimizer_name_of(&names, node, node->inputs[k]), expected);
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
		TEST(variables_of_frames_are_what_switches_give),
	};
	return cmocka_run_group_tests_name("optimizer names", tests, NULL, NULL);
}
