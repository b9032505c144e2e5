#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/graph.h"

/*
 * Loops made of Enter, Merge, Switch, NextIteration and Exit.  In all their forms
 * TensorFlow answers for them in tests/golden/tf1-control-flow; here are those
 * that nobody exports.
 */

SMALL_GRAPH(g);

#define FRAME(frame)                                                               \
	{                                                                          \
		.name = "frame_name", .kind = SP_ATTR_BYTES, .bytes = { frame, 1 } \
	}

static int32_t one = 1;
static sp_tensor constant_one = {.dtype = SP_INT32, .count = 1, .data = &one};

/*
 * i = x; while (i < n) i += 1
 *
 * Nodes by number, for tests that break one of them.
 */
enum {
	N,
	X,
	ENTER,
	ENTER_N,
	MERGE,
	LESS,
	COND,
	SWITCH,
	BODY,
	ONE,
	ADD,
	NEXT,
	LEAVE,
	COUNT_OF_NODES
};

#define INT32_INPUT ATTRS(TYPE("dtype", SP_INT32))

static const sp_node_def counting[] = {
	[N] = {NODE("n", "Placeholder"), INT32_INPUT},
	[X] = {NODE("x", "Placeholder"), INT32_INPUT},
	[ENTER] = {NODE("enter", "Enter"), INPUTS("x"), ATTRS(FRAME("f"))},
	[ENTER_N] = {NODE("enter_n", "Enter"), INPUTS("n"), ATTRS(FRAME("f"))},
	[MERGE] = {NODE("merge", "Merge"), INPUTS("enter", "next")},
	[LESS] = {NODE("less", "Less"), INPUTS("merge", "enter_n")},
	[COND] = {NODE("cond", "LoopCond"), INPUTS("less")},
	[SWITCH] = {NODE("switch", "Switch"), INPUTS("merge", "cond")},
	[BODY] = {NODE("body", "Identity"), INPUTS("switch:1")},
	[ONE] = {NODE("one", "Const"), INPUTS("^body"),
		 ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &constant_one))},
	[ADD] = {NODE("add", "AddV2"), INPUTS("body", "one")},
	[NEXT] = {NODE("next", "NextIteration"), INPUTS("add")},
	[LEAVE] = {NODE("exit", "Exit"), INPUTS("switch")},
};

static sp_node_def nodes[COUNT_OF_NODES + 1];

/* A copy of the loop, for breaking, and a node behind it that some tests read. */
static void start(void)
{
	memcpy(nodes, counting, sizeof(counting));
	nodes[COUNT_OF_NODES] = (sp_node_def){NODE("more", "NoOp")};
}

static sp_status compile(const char *fetch)
{
	return sp_small_graph_compile(&g, nodes, COUNT(nodes),
				      &(sp_ends){.feeds = {"n", "x"}, .fetches = {fetch}});
}

static void a_loop_is_recognised(void **state)
{
	int32_t n = 7, x = 3;
	sp_tensor feeds[] = {{.dtype = SP_INT32, .count = 1, .data = &n},
			     {.dtype = SP_INT32, .count = 1, .data = &x}};
	const sp_tensor *fetches[1];

	(void)state;
	start();
	assert_ok(compile("exit"), &g.err);
	assert_int_equal(g.graph.region_count, 3);
	for (; x < 9; x++) {
		assert_ok(sp_small_graph_run(&g, feeds, NULL, fetches), &g.err);
		assert_int_equal(*sp_tensor_i32(fetches[0]), x < n ? n : x);
		sp_session_reset(g.session);
	}
}

/* An input in place of the one that node has; then the loop is refused, with a name. */
static void refused(int node, size_t input, const char *ref, const char *words)
{
	const char *inputs[4];

	for (size_t i = 0; i < nodes[node].input_count; i++)
		inputs[i] = nodes[node].inputs[i];
	inputs[input] = ref;
	nodes[node].inputs = inputs;
	if (input == nodes[node].input_count)
		nodes[node].input_count++;
	assert_int_equal(compile("exit"), SP_UNSUPPORTED);
	if (strstr(g.err.text, words) == NULL)
		fail_msg("'%s' lacks '%s'", g.err.text, words);
	start();
}

static void malformed_loops_are_refused_by_name(void **state)
{
	(void)state;
	start();
	refused(MERGE, 1, "add", "part of a cycle");
	refused(MERGE, 0, "x", "'merge' does not merge");
	refused(MERGE, 2, "x", "'merge' does not merge");
	refused(LEAVE, 0, "merge", "'exit' does not take a variable out");
	refused(LEAVE, 0, "switch:1", "'exit' does not take a variable out");
	refused(SWITCH, 0, "body", "part of a cycle");
	refused(SWITCH, 0, "less", "'switch' does not switch a variable");
	refused(ADD, 1, "enter", "'add' reads a variable before the first iteration");
	refused(ADD, 1, "next", "part of a cycle");
	refused(ADD, 1, "switch", "'add' reads a value that exists only after");
	refused(ADD, 1, "merge:1", "'add' reads value_index of a loop's Merge");
	refused(SWITCH, 1, "less", "'exit' does not take a variable out");
	nodes[COUNT_OF_NODES] = (sp_node_def){NODE("more", "LoopCond"), INPUTS("less")};
	refused(ADD, 1, "more", "second condition");
	nodes[COUNT_OF_NODES] = (sp_node_def){NODE("more", "NextIteration"), INPUTS("body")};
	refused(ADD, 2, "more", "reads the next iteration");
	nodes[COUNT_OF_NODES] = (sp_node_def){NODE("more", "Enter"), INPUTS("n"),
					      ATTRS(FRAME("g"))};
	refused(LESS, 1, "more", "a loop");
}

static void nothing_names_a_node_inside_a_loop(void **state)
{
	(void)state;
	start();
	assert_int_equal(compile("add"), SP_INVALID);
	assert_non_null(strstr(g.err.text, "'add' lies inside a loop"));
	assert_int_equal(compile("switch:1"), SP_INVALID);
	assert_int_equal(compile("merge"), SP_INVALID);
}

/* Frames in frames in frames: as deep as nobody goes. */
static void loops_nested_too_deep_are_refused(void **state)
{
	enum { DEEP = 100 };
	static sp_node_def many[DEEP + 2];
	static const char *inputs[DEEP + 1][1];
	static const sp_attr frame[] = {FRAME("f")};

	(void)state;
	many[0] = counting[X];
	for (int i = 1; i <= DEEP; i++) {
		inputs[i][0] = many[i - 1].name;
		many[i] = (sp_node_def){NODE(sp_arena_printf(g.arena, "enter%d", i), "Enter"),
					.inputs = inputs[i], .input_count = 1, .attrs = frame,
					.attr_count = 1};
	}
	many[DEEP + 1] = (sp_node_def){NODE("exit", "Exit"), INPUTS("enter100")};
	assert_int_equal(sp_small_graph_compile(&g, many, DEEP + 2,
						&(sp_ends){.feeds = {"x"}, .fetches = {"exit"}}),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "too many loops"));
}

/* Any one edge of the loop led anywhere else: refused or run, never worse. */
static void rewired_loops_fail_or_run(void **state)
{
	int32_t n = 7, x = 3;
	sp_tensor feeds[] = {{.dtype = SP_INT32, .count = 1, .data = &n},
			     {.dtype = SP_INT32, .count = 1, .data = &x}};
	const sp_tensor *fetches[1];
	size_t done = 0;

	(void)state;
	g.workspace_limit = 1 << 20;
	for (int node = ENTER; node < COUNT_OF_NODES; node++)
		for (size_t input = 0; input < counting[node].input_count; input++)
			for (int to = 0; to < COUNT_OF_NODES; to++)
				for (int port = -1; port < 2; port++) {
					const char *inputs[4];
					char ref[16];

					start();
					snprintf(ref, sizeof(ref), port < 0 ? "^%s" : "%s:%d",
						 nodes[to].name, port);
					for (size_t i = 0; i < nodes[node].input_count; i++)
						inputs[i] = nodes[node].inputs[i];
					inputs[input] = ref;
					nodes[node].inputs = inputs;
					if (compile("exit") != SP_OK)
						continue;
					/* A round asks for the time: an endless loop ends at once.
					 */
					g.deadline_ns = 1;
					(void)!sp_small_graph_run(&g, feeds, NULL, fetches);
					sp_session_reset(g.session);
					done++;
				}
	assert_true(done > 10);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_loop_is_recognised),
		TEST(malformed_loops_are_refused_by_name),
		TEST(nothing_names_a_node_inside_a_loop),
		TEST(loops_nested_too_deep_are_refused),
		TEST(rewired_loops_fail_or_run),
	};

	return cmocka_run_group_tests_name("import_loops", tests, NULL, NULL);
}
