#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/graph.h"

/*
 * Conditions and loops made of functions.  In all their forms TensorFlow answers
 * for them in tests/golden/tf2-control-flow; here is what it cannot show.
 */

SMALL_GRAPH(g);

#define COMPILE(nodes, ...) sp_small_graph_compile(&g, nodes, COUNT(nodes), &(sp_ends){__VA_ARGS__})

#define BRANCHES(...)                                                              \
	{                                                                          \
		.name = "branches", .kind = SP_ATTR_LIST, .element = SP_ATTR_FUNC, \
		.count = COUNT(((const char *const[]){__VA_ARGS__})),              \
		.text_list = (const char *const[])                                 \
		{                                                                  \
			__VA_ARGS__                                                \
		}                                                                  \
	}
#define LOOP(cond, body) FUNCTION("cond", cond), FUNCTION("body", body)

/* Functions of int32 scalars. */
static const sp_arg_def arguments[] = {
	{"a", SP_INT32}, {"b", SP_INT32}, {"c", SP_INT32}, {"d", SP_INT32}};

static int32_t numbers[] = {0, 1, 2, 3, 7};
static sp_tensor constants[] = {
	{.dtype = SP_INT32, .count = 1, .data = &numbers[0]},
	{.dtype = SP_INT32, .count = 1, .data = &numbers[1]},
	{.dtype = SP_INT32, .count = 1, .data = &numbers[2]},
	{.dtype = SP_INT32, .count = 1, .data = &numbers[3]},
	{.dtype = SP_INT32, .count = 1, .data = &numbers[4]},
};
static bool yes = true;
static sp_tensor truth = {.dtype = SP_BOOL, .count = 1, .data = &yes};

#define NUMBER(i)   ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &constants[i]))
#define INT32_INPUT ATTRS(TYPE("dtype", SP_INT32))

/* a < b; true; a + 1; a * 2 */
static const sp_node_def less[] = {{NODE("less", "Less"), INPUTS("a", "b")}};
static const sp_node_def always[] = {
	{NODE("yes", "Const"), ATTRS(TYPE("dtype", SP_BOOL), TENSOR("value", &truth))}};
static const sp_node_def count_up[] = {{NODE("one", "Const"), NUMBER(1)},
				       {NODE("next", "AddV2"), INPUTS("a", "one:output:0")},
				       {NODE("same", "Identity"), INPUTS("b")},
				       {NODE("twice", "AddV2"), INPUTS("c", "c")}};
static const sp_node_def nothing[] = {{NODE("nothing", "NoOp")}};

#define NEXT                    \
	{                       \
		"a", "next:z:0" \
	}
#define SAME                         \
	{                            \
		"b", "same:output:0" \
	}
#define TWICE                    \
	{                        \
		"c", "twice:z:0" \
	}

static sp_tensor number(int32_t *value)
{
	return (sp_tensor){.dtype = SP_INT32, .count = 1, .data = value};
}

/* Runs what was compiled with int32 scalars; the last fetch's value. */
static sp_status run(int32_t *feeds, size_t count, int32_t *out)
{
	sp_tensor tensors[4];
	const sp_tensor *fetches[8] = {NULL};

	for (size_t i = 0; i < count; i++)
		tensors[i] = number(&feeds[i]);
	SP_TRY(sp_small_graph_run(&g, tensors, NULL, fetches));
	*out = *sp_tensor_i32(fetches[0]);
	sp_session_reset(g.session);
	return SP_OK;
}

static void use(const sp_function_def *functions, size_t count)
{
	g.functions = functions;
	g.function_count = count;
}

/* ----------------------------------------------------------------- loops */

static const sp_node_def doubling[] = {
	{NODE("n", "Placeholder"), INT32_INPUT},
	{NODE("x", "Placeholder"), INT32_INPUT},
	{NODE("zero", "Const"), NUMBER(0)},
	{NODE("while", "While"), INPUTS("zero", "n", "x"), ATTRS(LOOP("less", "count_up"))},
};

static void a_loop_passes_its_variables_on(void **state)
{
	const sp_function_def functions[] = {BODY("less", 3, less, {"a", "less:z:0"}),
					     BODY("count_up", 3, count_up, NEXT, SAME, TWICE)};
	int32_t out;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(doubling, .feeds = {"n", "x"}, .fetches = {"while:2"}), &g.err);
	assert_ok(run((int32_t[]){5, 3}, 2, &out), &g.err);
	assert_int_equal(out, 3 << 5);
	assert_ok(run((int32_t[]){0, 3}, 2, &out), &g.err);
	assert_int_equal(out, 3);
}

static size_t count_names(const sp_run_trace *trace)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->count; i++) {
		size_t k = 0;

		while (strcmp(trace->steps[k].node, trace->steps[i].node) != 0)
			k++;
		count += k == i;
	}
	return count;
}

/* The loop's own step is around those of its rounds, each of which has its name and time. */
static void a_trace_has_every_step_of_the_plan(void **state)
{
	const sp_function_def functions[] = {BODY("less", 3, less, {"a", "less:z:0"}),
					     BODY("count_up", 3, count_up, NEXT, SAME, TWICE)};
	sp_step_time steps[40];
	sp_run_trace trace = {.steps = steps, .capacity = COUNT(steps)};
	size_t plan;
	int32_t out;

	(void)state;
	use(functions, 2);
	g.trace = &trace;
	assert_ok(COMPILE(doubling, .feeds = {"n", "x"}, .fetches = {"while:2"}), &g.err);
	assert_ok(run((int32_t[]){5, 3}, 2, &out), &g.err);
	plan = sp_program_step_count(g.program, 0);
	assert_int_equal(trace.left_out, 0);
	assert_int_equal(count_names(&trace), plan);
	assert_string_equal(steps[0].op, "While");
	/* Of six tests the last ends the loop. */
	assert_int_equal(trace.count, 1 + 5 * (plan - 1) + 1);
	for (size_t i = 1; i < trace.count; i++) {
		assert_true(steps[0].start_ns <= steps[i].start_ns);
		assert_true(steps[i].end_ns <= steps[0].end_ns);
		assert_true(i == 1 || steps[i - 1].end_ns <= steps[i].start_ns);
	}
}

/* What the body hands on as it is stays the outer value: its name leads there. */
static void an_invariant_variable_is_its_initial_value(void **state)
{
	const sp_function_def functions[] = {BODY("less", 3, less, {"a", "less:z:0"}),
					     BODY("count_up", 3, count_up, NEXT, SAME, TWICE)};
	int32_t out;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(doubling, .feeds = {"n", "x"}, .fetches = {"while:1"}), &g.err);
	assert_int_equal(sp_program_step_count(g.program, 0), 0);
	assert_ok(run((int32_t[]){5, 3}, 2, &out), &g.err);
	assert_int_equal(out, 5);
}

static void variables_may_swap(void **state)
{
	const sp_function_def functions[] = {
		BODY("less", 4, less, {"a", "less:z:0"}),
		BODY("swap", 4, count_up, NEXT, SAME, {"c", "d"}, {"d", "c"})};
	const sp_node_def nodes[] = {
		{NODE("n", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("zero", "Const"), NUMBER(0)},
		{NODE("seven", "Const"), NUMBER(4)},
		{NODE("while", "While"), INPUTS("zero", "n", "x", "seven"),
		 ATTRS(LOOP("less", "swap"))},
	};
	int32_t out;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"n", "x"}, .fetches = {"while:2"}), &g.err);
	assert_ok(run((int32_t[]){3, 5}, 2, &out), &g.err);
	assert_int_equal(out, 7);
	assert_ok(run((int32_t[]){4, 5}, 2, &out), &g.err);
	assert_int_equal(out, 5);
}

static void an_endless_loop_ends_at_the_deadline_or_by_the_flag(void **state)
{
	const sp_function_def functions[] = {BODY("always", 3, always, {"a", "yes:output:0"}),
					     BODY("count_up", 3, count_up, NEXT, SAME, TWICE)};
	const sp_node_def nodes[] = {
		{NODE("n", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("while", "While"), INPUTS("x", "n", "x"), ATTRS(LOOP("always", "count_up"))},
	};
	atomic_bool stop = true;
	int32_t out;
	int64_t before = sp_clock_now_ns();

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"n", "x"}, .fetches = {"while:2"}), &g.err);
	for (int i = 0; i < 2; i++) {
		g.deadline_ns = sp_clock_now_ns() + 20000000;
		assert_int_equal(run((int32_t[]){5, 3}, 2, &out), SP_DEADLINE);
		sp_session_reset(g.session);
	}
	assert_true(sp_clock_now_ns() - before < INT64_C(5000000000));
	g.deadline_ns = 0;
	g.stop = &stop;
	assert_int_equal(run((int32_t[]){5, 3}, 2, &out), SP_CANCELLED);
	sp_session_reset(g.session);
}

/* It has no time of its own: each of its loops has, and whoever waits for it may stop it. */
static void an_endless_loop_of_a_load_program_ends(void **state)
{
	const sp_function_def functions[] = {BODY("always", 3, always, {"a", "yes:output:0"}),
					     BODY("count_up", 3, count_up, NEXT, SAME, TWICE)};
	const sp_node_def nodes[] = {
		{NODE("x", "Const"), NUMBER(1)},
		{NODE("while", "While"), INPUTS("x", "x", "x"), ATTRS(LOOP("always", "count_up"))},
	};
	const sp_ends ends = {.fetches = {"while:2"}, .loading = true};
	const sp_tensor *fetches[1];
	atomic_bool stop = false;

	(void)state;
	use(functions, 2);
	g.loop_ns = 20000000;
	g.stop = &stop;
	assert_ok(sp_small_graph_compile(&g, nodes, COUNT(nodes), &ends), &g.err);
	assert_int_equal(sp_small_graph_run(&g, NULL, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(g.err.text, "while"));
	assert_non_null(strstr(g.err.text, "does not end"));
	sp_session_reset(g.session);
	g.loop_ns = INT64_C(1000000000) * 1000;
	atomic_store(&stop, true);
	assert_int_equal(sp_small_graph_run(&g, NULL, NULL, fetches), SP_CANCELLED);
}

/* --------------------------------------------------------------- memory */

/* A list of n elements, element i set to i in the i-th round. */
static const sp_node_def fill_body[] = {
	{NODE("one", "Const"), NUMBER(1)},
	{NODE("next", "AddV2"), INPUTS("a", "one:output:0")},
	{NODE("set", "TensorListSetItem"), INPUTS("c", "a", "a"),
	 ATTRS(TYPE("element_dtype", SP_INT32))},
};
static const sp_node_def filling[] = {
	{NODE("n", "Placeholder"), INT32_INPUT},
	{NODE("zero", "Const"), NUMBER(0)},
	{NODE("minus", "Sub"), INPUTS("zero", "one")},
	{NODE("one", "Const"), NUMBER(1)},
	{NODE("list", "TensorListReserve"), INPUTS("minus", "n"),
	 ATTRS(TYPE("element_dtype", SP_INT32))},
	{NODE("while", "While"), INPUTS("zero", "n", "list"), ATTRS(LOOP("less", "fill"))},
	{NODE("last", "Sub"), INPUTS("n", "one")},
	{NODE("get", "TensorListGetItem"), INPUTS("while:2", "last", "minus"),
	 ATTRS(TYPE("element_dtype", SP_INT32))},
};

/* Copying the list in every round needs room for two of them at once. */
static void a_list_is_changed_in_place(void **state)
{
	enum { N = 20000, ELEMENT = sizeof(sp_tensor) + 64 + 64 + SP_TENSOR_TAIL };
	const sp_function_def functions[] = {
		BODY("less", 3, less, {"a", "less:z:0"}),
		BODY("fill", 3, fill_body, NEXT, {"b", "b"}, {"c", "set:output_handle:0"})};
	int32_t out;

	(void)state;
	use(functions, 2);
#ifndef SP_ARENA_DEBUG
	g.workspace_limit = N * ELEMENT + N * sizeof(sp_tensor) / 2;
#else
	g.workspace_limit = 256 << 20;
#endif
	assert_ok(COMPILE(filling, .feeds = {"n"}, .fetches = {"get"}), &g.err);
	assert_ok(run((int32_t[]){N}, 1, &out), &g.err);
	assert_int_equal(out, N - 1);
}

#ifndef SP_ARENA_DEBUG
/* TopKV2 asks for scratch in every round. */
static const sp_node_def scratch_body[] = {
	{NODE("one", "Const"), NUMBER(1)},
	{NODE("next", "AddV2"), INPUTS("a", "one:output:0")},
	{NODE("top", "TopKV2"), INPUTS("d", "one:output:0")},
	{NODE("sum", "AddV2"), INPUTS("c", "top:values:0")},
};
static const sp_node_def scratching[] = {
	{NODE("n", "Placeholder"), INT32_INPUT},
	{NODE("x", "Placeholder"), INT32_INPUT},
	{NODE("row", "Placeholder"), INT32_INPUT},
	{NODE("zero", "Const"), NUMBER(0)},
	{NODE("while", "While"), INPUTS("zero", "n", "x", "row"), ATTRS(LOOP("less", "scratch"))},
};

static sp_status run_scratch(int32_t n)
{
	static int32_t row[1000];
	int32_t x = 0;
	sp_tensor feeds[] = {number(&n), number(&x), number(row)};
	const sp_tensor *fetches[1];

	feeds[2].count = COUNT(row);
	feeds[2].shape = sp_shape_vector(COUNT(row));
	feeds[1].shape = sp_shape_vector(1);
	SP_TRY(sp_small_graph_run(&g, feeds, NULL, fetches));
	sp_session_reset(g.session);
	return SP_OK;
}

static void rounds_share_their_memory(void **state)
{
	const sp_function_def functions[] = {
		BODY("less", 4, less, {"a", "less:z:0"}),
		BODY("scratch", 4, scratch_body, NEXT, {"b", "b"}, {"c", "sum:z:0"}, {"d", "d"})};
	size_t few;
	uint64_t before;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(scratching, .feeds = {"n", "x", "row"}, .fetches = {"while:2"}), &g.err);
	assert_ok(run_scratch(3), &g.err);
	few = sp_workspace_footprint(sp_session_workspace(g.session));
	before = sp_alloc_count();
	for (int i = 0; i < 3; i++)
		assert_ok(run_scratch(10000), &g.err);
	assert_int_equal(sp_workspace_footprint(sp_session_workspace(g.session)), few);
	assert_int_equal(sp_alloc_count(), before);
}
#endif

static void a_list_that_grows_without_end_is_stopped(void **state)
{
	const sp_node_def push[] = {{NODE("push", "TensorListPushBack"), INPUTS("b", "a"),
				     ATTRS(TYPE("element_dtype", SP_INT32))}};
	const sp_function_def functions[] = {
		BODY("always", 2, always, {"a", "yes:output:0"}),
		BODY("push", 2, push, {"a", "a"}, {"b", "push:output_handle:0"})};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("shape", "Placeholder"), INT32_INPUT},
		{NODE("list", "EmptyTensorList"), INPUTS("shape", "shape"),
		 ATTRS(TYPE("element_dtype", SP_INT32))},
		{NODE("while", "While"), INPUTS("x", "list"), ATTRS(LOOP("always", "push"))},
		{NODE("length", "TensorListLength"), INPUTS("while:1")},
	};
	int32_t out;

	(void)state;
	use(functions, 2);
	g.workspace_limit = 1 << 20;
	assert_ok(COMPILE(nodes, .feeds = {"x", "shape"}, .fetches = {"length"}), &g.err);
	assert_int_equal(run((int32_t[]){5, -1}, 2, &out), SP_NO_MEMORY);
}

/* ------------------------------------------------------------- conditions */

static const sp_node_def add_one[] = {{NODE("one", "Const"), NUMBER(1)},
				      {NODE("next", "AddV2"), INPUTS("a", "one:output:0")}};
static const sp_node_def add_itself[] = {{NODE("next", "AddV2"), INPUTS("a", "a")}};

static void a_number_chooses_a_branch(void **state)
{
	const sp_function_def functions[] = {BODY("one", 1, add_one, NEXT),
					     BODY("twice", 1, add_itself, NEXT),
					     BODY("same", 1, nothing, {"a", "a"})};
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("case", "Case"), INPUTS("i", "x"), ATTRS(BRANCHES("one", "twice", "same"))},
		{NODE("if", "If"), INPUTS("i", "case"),
		 ATTRS(FUNCTION("then_branch", "twice"), FUNCTION("else_branch", "one"))},
	};
	/* Out of range is the last one; any number but 0 is true. */
	const struct {
		int32_t i, x, out;
	} cases[] = {{0, 5, 6 + 1}, {1, 5, 10 * 2}, {2, 5, 5 * 2}, {3, 5, 5 * 2}, {-1, 5, 5 * 2}};

	(void)state;
	use(functions, 3);
	assert_ok(COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"if"}), &g.err);
	for (size_t k = 0; k < COUNT(cases); k++) {
		int32_t out;

		assert_ok(run((int32_t[]){cases[k].i, cases[k].x}, 2, &out), &g.err);
		assert_int_equal(out, cases[k].out);
	}
}

/* Whether more than 0 elements make a truth: of a function's If; what becomes a Switch refuses
 * them. */
static void an_array_decides_unless_it_is_for_a_switch(void **state)
{
	const sp_function_def functions[] = {BODY("one", 1, add_one, NEXT),
					     BODY("twice", 1, add_itself, NEXT)};
	bool flags[2] = {false, false};
	const sp_tensor two = {
		.dtype = SP_BOOL, .shape = sp_shape_vector(2), .count = 2, .data = flags};
	sp_attr attrs[] = {
		FUNCTION("then_branch", "twice"),
		FUNCTION("else_branch", "one"),
		{.name = "_lower_using_switch_merge", .kind = SP_ATTR_BOOL, .b = false},
	};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("flags", "Const"), ATTRS(TENSOR("value", &two))},
		{NODE("if", "If"), INPUTS("flags", "x"), .attrs = attrs, .attr_count = 3},
	};
	int32_t out;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"x"}, .fetches = {"if"}), &g.err);
	assert_ok(run((int32_t[]){5}, 1, &out), &g.err);
	assert_int_equal(out, 10);
	attrs[2].b = true;
	assert_ok(COMPILE(nodes, .feeds = {"x"}, .fetches = {"if"}), &g.err);
	assert_int_equal(run((int32_t[]){5}, 1, &out), SP_INVALID);
	assert_non_null(strstr(g.err.text, "must be a scalar"));
}

/* An Assert that nothing reads runs in the branch that is taken, and only there. */
static void an_effect_belongs_to_its_branch(void **state)
{
	const sp_node_def checked[] = {
		{NODE("zero", "Const"), NUMBER(0)},
		{NODE("good", "NotEqual"), INPUTS("a", "zero:output:0")},
		{NODE("assert", "Assert"), INPUTS("good:z:0", "a")},
	};
	static const char *const effects[] = {"assert"};
	sp_function_def functions[] = {BODY("checked", 1, checked, {"a", "a"}),
				       BODY("same", 1, nothing, {"a", "a"})};
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("if", "If"), INPUTS("i", "x"),
		 ATTRS(FUNCTION("then_branch", "checked"), FUNCTION("else_branch", "same"))},
		{NODE("out", "Identity"), INPUTS("x", "^if")},
	};
	int32_t out;

	(void)state;
	functions[0].control_returns = effects;
	functions[0].control_return_count = 1;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"out"}), &g.err);
	assert_ok(run((int32_t[]){1, 5}, 2, &out), &g.err);
	assert_ok(run((int32_t[]){0, 0}, 2, &out), &g.err);
	assert_int_equal(run((int32_t[]){1, 0}, 2, &out), SP_INVALID);
	assert_non_null(strstr(g.err.text, "'if/assert' (Assert): assertion failed: [0]"));
}

/* A condition whose input depends on a branch of the older kind that is not taken. */
static void a_condition_without_inputs_does_not_run(void **state)
{
	const sp_function_def functions[] = {BODY("one", 1, add_one, NEXT),
					     BODY("twice", 1, add_itself, NEXT)};
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("p", "Cast"), INPUTS("i"), ATTRS(TYPE("DstT", SP_BOOL))},
		{NODE("switch", "Switch"), INPUTS("x", "p")},
		{NODE("if", "If"), INPUTS("x", "switch:1"),
		 ATTRS(FUNCTION("then_branch", "twice"), FUNCTION("else_branch", "one"))},
		{NODE("m", "Merge"), INPUTS("switch", "if")},
	};
	int32_t out;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"m"}), &g.err);
	assert_ok(run((int32_t[]){1, 5}, 2, &out), &g.err);
	assert_int_equal(out, 10);
	assert_ok(run((int32_t[]){0, 5}, 2, &out), &g.err);
	assert_int_equal(out, 5);
}

/* -------------------------------------------------------- changes of state */

#define VARIABLE(name)                                                    \
	{                                                                 \
		NODE(name, "VarHandleOp"), ATTRS(TYPE("dtype", SP_INT32)) \
	}

/* Runs fetch "out" of what is compiled with i = 0, then with i = 1, which is to be refused. */
static void assert_only_the_first_runs(int32_t x, int32_t wanted, const char *words)
{
	int32_t out;

	assert_ok(run((int32_t[]){0, x}, 2, &out), &g.err);
	assert_int_equal(out, wanted);
	assert_int_equal(run((int32_t[]){1, x}, 2, &out), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, words));
	assert_non_null(strstr(g.err.text, "cannot change the model's state"));
}

/* A model's asset, which a branch for the first call would read. */
static void a_file_is_not_read_in_the_branch_that_asks_for_it(void **state)
{
	const sp_node_def reading[] = {
		{NODE("name", "AsString"), INPUTS("a"), ATTRS(TYPE("T", SP_INT32))},
		{NODE("text", "ReadFile"), INPUTS("name:output:0")},
		{NODE("size", "StringLength"), INPUTS("text:contents:0")},
	};
	sp_function_def functions[] = {BODY("read", 1, reading, {"size", "size:output:0"}),
				       BODY("same", 1, nothing, {"a", "a"})};
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("out", "If"), INPUTS("i", "x"),
		 ATTRS(FUNCTION("then_branch", "read"), FUNCTION("else_branch", "same"))},
	};
	int32_t out;

	(void)state;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"out"}), &g.err);
	assert_ok(run((int32_t[]){0, 5}, 2, &out), &g.err);
	assert_int_equal(out, 5);
	assert_int_equal(run((int32_t[]){1, 5}, 2, &out), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "(ReadFile): a request cannot read a file"));
}

static void a_change_of_state_is_refused_in_the_branch_that_has_it(void **state)
{
	const sp_node_def changing[] = {
		VARIABLE("v"),
		{NODE("add", "AssignAddVariableOp"), INPUTS("v:resource:0", "a"),
		 ATTRS(TYPE("dtype", SP_INT32))},
	};
	static const char *const effects[] = {"add"};
	sp_function_def functions[] = {BODY("changing", 1, changing, {"a", "a"}),
				       BODY("same", 1, nothing, {"a", "a"})};
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("out", "If"), INPUTS("i", "x"),
		 ATTRS(FUNCTION("then_branch", "changing"), FUNCTION("else_branch", "same"))},
	};

	(void)state;
	functions[0].control_returns = effects;
	functions[0].control_return_count = 1;
	use(functions, 2);
	assert_ok(COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"out"}), &g.err);
	assert_only_the_first_runs(5, 5, "'out/add' (AssignAddVariableOp)");
}

/* The older kind, on the older variables: Switch hands on the value, the assignment yields one. */
static void a_change_of_state_is_refused_behind_a_switch(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("p", "Cast"), INPUTS("i"), ATTRS(TYPE("DstT", SP_BOOL))},
		{NODE("switch", "Switch"), INPUTS("x", "p")},
		{NODE("add", "AssignAdd"), INPUTS("switch:1", "switch:1"),
		 ATTRS(TYPE("T", SP_INT32))},
		{NODE("out", "Merge"), INPUTS("switch", "add")},
	};

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"out"}), &g.err);
	assert_only_the_first_runs(7, 7, "'add' (AssignAddVariableOp)");
}

/* What every request would do is refused when the model is loaded, so too what a loop does. */
static void a_change_of_state_outside_branches_is_refused_at_once(void **state)
{
	const sp_node_def counting[] = {
		VARIABLE("v"),
		{NODE("add", "AssignAddVariableOp"), INPUTS("v:resource:0", "a"),
		 ATTRS(TYPE("dtype", SP_INT32))},
		{NODE("one", "Const"), NUMBER(1)},
		{NODE("next", "AddV2"), INPUTS("a", "one:output:0", "^add")},
	};
	const sp_function_def functions[] = {BODY("yes", 1, always, {"a", "yes:output:0"}),
					     BODY("counting", 1, counting, NEXT)};
	const sp_node_def loop[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("out", "While"), INPUTS("x"), ATTRS(LOOP("yes", "counting"))},
	};
	const sp_node_def plain[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		VARIABLE("v"),
		{NODE("set", "AssignVariableOp"), INPUTS("v", "x")},
		{NODE("out", "ReadVariableOp"), INPUTS("v", "^set"),
		 ATTRS(TYPE("dtype", SP_INT32))},
	};
	const sp_node_def reading[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_STRING))},
		{NODE("out", "ReadFile"), INPUTS("x")},
	};

	(void)state;
	use(functions, 2);
	assert_int_equal(COMPILE(reading, .feeds = {"x"}, .fetches = {"out"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "operator ReadFile reads a file"));
	assert_int_equal(COMPILE(loop, .feeds = {"x"}, .fetches = {"out"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "AssignAddVariableOp changes the model's state"));
	assert_int_equal(COMPILE(plain, .feeds = {"x"}, .fetches = {"out"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "AssignVariableOp changes the model's state"));
}

/*
 * Training's side is computed, and counts, in front of the Switch that hands it on when a constant
 * says so, as batch_norm of TensorFlow 1 is used: with the constant it is not there.
 */
static sp_status compile_decided(bool training, const char *predicate, const char *first,
				 const char *second)
{
	static bool taken;
	static sp_tensor value = {.dtype = SP_BOOL, .count = 1, .data = &taken};
	const sp_node_def nodes[] = {
		{NODE("i", "Placeholder"), INT32_INPUT},
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("asked", "Cast"), INPUTS("i"), ATTRS(TYPE("DstT", SP_BOOL))},
		{NODE("fixed", "Const"), ATTRS(TYPE("dtype", SP_BOOL), TENSOR("value", &value))},
		{NODE("p", "Identity"), INPUTS(predicate)},
		VARIABLE("v"),
		{NODE("count", "AssignAddVariableOp"), INPUTS("v", "x")},
		{NODE("seen", "ReadVariableOp"), INPUTS("v", "^count"),
		 ATTRS(TYPE("dtype", SP_INT32))},
		{NODE("trained", "AddV2"), INPUTS("x", "seen")},
		{NODE("s", "Switch"), INPUTS("trained", "p")},
		{NODE("t", "Switch"), INPUTS("x", "p")},
		{NODE("out", "Merge"), INPUTS(first, second)},
		{NODE("after", "AddV2"), INPUTS("out", "x")},
	};

	taken = training;
	return COMPILE(nodes, .feeds = {"i", "x"}, .fetches = {"after", "out"});
}

static void dead_branches_of_constant_conditions_are_left_out(void **state)
{
	static const char *const sides[][2] = {{"t", "s:1"}, {"s:1", "t"}};
	int32_t out[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_ok(compile_decided(false, "fixed", sides[i][0], sides[i][1]), &g.err);
		assert_ok(run((int32_t[]){1, 5}, 2, out), &g.err);
		assert_int_equal(out[0], 10);
		tear_down(state);
		set_up(state);
		assert_int_equal(compile_decided(true, "fixed", sides[i][0], sides[i][1]),
				 SP_UNSUPPORTED);
		assert_non_null(strstr(g.err.text, "changes the model's state"));
		tear_down(state);
		set_up(state);
		assert_int_equal(compile_decided(false, "asked", sides[i][0], sides[i][1]),
				 SP_UNSUPPORTED);
		assert_non_null(strstr(g.err.text, "changes the model's state"));
		tear_down(state);
		set_up(state);
	}
}

/* --------------------------------------------------------------- refusals */

static void missing_operators_in_bodies_are_named(void **state)
{
	const sp_node_def odd[] = {{NODE("odd", "NoSuchOp"), INPUTS("a")}};
	const sp_node_def even[] = {{NODE("even", "NorThisOne"), INPUTS("a")}};
	const sp_function_def functions[] = {BODY("odd", 1, odd, {"a", "odd:y:0"}),
					     BODY("even", 1, even, {"a", "even:y:0"})};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("if", "If"), INPUTS("x", "x"),
		 ATTRS(FUNCTION("then_branch", "odd"), FUNCTION("else_branch", "even"))},
	};

	(void)state;
	use(functions, 2);
	assert_int_equal(COMPILE(nodes, .feeds = {"x"}, .fetches = {"if"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "NoSuchOp (node 'if/odd')"));
	assert_non_null(strstr(g.err.text, "NorThisOne (node 'if/even')"));
}

/* A node `f` of that operator on int32 scalars x. */
static void assert_refused(const char *op, size_t inputs, const sp_attr *attrs, size_t attr_count,
			   sp_status status, const char *words)
{
	static const char *const x[] = {"x", "x", "x"};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("f", op), .inputs = x, .input_count = inputs, .attrs = attrs,
		 .attr_count = attr_count},
	};

	assert_int_equal(COMPILE(nodes, .feeds = {"x"}, .fetches = {"f"}), status);
	assert_non_null(strstr(g.err.text, words));
}

#define REFUSED(op, inputs, status, words, ...)                    \
	assert_refused(op, inputs, (const sp_attr[]){__VA_ARGS__}, \
		       COUNT(((const sp_attr[]){__VA_ARGS__})), status, words)
#define IF(then_branch, else_branch) \
	FUNCTION("then_branch", then_branch), FUNCTION("else_branch", else_branch)

static void bodies_that_do_not_fit_are_refused(void **state)
{
	const sp_node_def call_self[] = {
		{NODE("again", "While"), INPUTS("a"), ATTRS(LOOP("yes", "self"))}};
	const sp_node_def to_float[] = {
		{NODE("cast", "Cast"), INPUTS("a"), ATTRS(TYPE("DstT", SP_FLOAT))}};
	const sp_function_def functions[] = {
		BODY("yes", 1, always, {"a", "yes:output:0"}),
		BODY("one", 1, add_one, NEXT),
		BODY("two", 2, nothing, {"a", "a"}, {"b", "b"}),
		BODY("self", 1, call_self, {"a", "again:output:0"}),
		BODY("float", 1, to_float, {"a", "cast:y:0"}),
	};

	(void)state;
	use(functions, COUNT(functions));
	REFUSED("While", 1, SP_INVALID, "another number", LOOP("yes", "two"));
	REFUSED("While", 1, SP_INVALID, "another number", LOOP("two", "one"));
	REFUSED("While", 2, SP_INVALID, "another number", LOOP("yes", "one"));
	REFUSED("While", 1, SP_INVALID, "is missing", FUNCTION("cond", "yes"));
	REFUSED("While", 1, SP_CORRUPT, "'nowhere'", LOOP("yes", "nowhere"));
	REFUSED("While", 1, SP_INVALID, "'self' calls itself", LOOP("yes", "self"));
	REFUSED("While", 1, SP_INVALID, "DT_INT32, then DT_FLOAT", LOOP("yes", "float"));
	REFUSED("If", 2, SP_INVALID, "another number", IF("one", "two"));
	REFUSED("If", 0, SP_INVALID, "another number", IF("one", "one"));
	REFUSED("If", 2, SP_INVALID, "branches' result 0", IF("one", "float"));
	REFUSED("Case", 2, SP_INVALID, "'branches'", FUNCTION("branches", "one"));
	REFUSED("Case", 3, SP_INVALID, "another number", BRANCHES("one", "one"));
}

/* Each function has an If that calls the next one in both branches. */
static void branches_that_explode_or_are_too_deep_are_refused(void **state)
{
	enum { DEEP = 100 };
	static sp_function_def functions[DEEP];
	static sp_node_def nodes[DEEP];
	static sp_attr attrs[DEEP][2];
	static const char *const inputs[] = {"a", "a"};
	static const sp_named_ref returns[] = {{"a", "if:output:0"}};

	(void)state;
	for (int i = 0; i < DEEP; i++) {
		char *name = sp_arena_printf(g.arena, "f%d", i);

		attrs[i][0] = (sp_attr)FUNCTION("then_branch",
						sp_arena_printf(g.arena, "f%d", i + 1));
		attrs[i][1] = attrs[i][0];
		attrs[i][1].name = "else_branch";
		nodes[i] = (sp_node_def){NODE("if", "If"), .inputs = inputs, .input_count = 2,
					 .attrs = attrs[i], .attr_count = 2};
		functions[i] = (sp_function_def){.name = name,
						 .inputs = arguments,
						 .input_count = 1,
						 .outputs = arguments,
						 .output_count = 1,
						 .nodes = &nodes[i],
						 .node_count = 1,
						 .returns = returns};
	}
	nodes[DEEP - 1].op = "AddV2";
	use(functions, DEEP);
	REFUSED("If", 2, SP_INVALID, "nested", IF("f0", "f0"));
	nodes[30].op = "AddV2"; /* 2^30 calls */
	REFUSED("If", 2, SP_INVALID, "more than", IF("f0", "f0"));
}

static void a_list_stays_in_its_request(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("v", "Placeholder"), ATTRS(TYPE("dtype", SP_VARIANT))},
		{NODE("list", "TensorListReserve"), INPUTS("x", "x"),
		 ATTRS(TYPE("element_dtype", SP_INT32))},
		{NODE("length", "TensorListLength"), INPUTS("v")},
	};

	(void)state;
	assert_int_equal(COMPILE(nodes, .feeds = {"x"}, .fetches = {"list"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "'list' cannot be an output: it is DT_VARIANT"));
	assert_int_equal(COMPILE(nodes, .feeds = {"v"}, .fetches = {"length"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "'v' cannot be an input"));
}

/* Lists 0 ... levels, each but the first with the one before it as its element. */
static sp_status nest(size_t levels)
{
	enum { MAX_LEVELS = 16 };
	static const sp_attr of_lists[] = {TYPE("element_dtype", SP_VARIANT)};
	static const char *const shape[] = {"x", "x"};
	sp_node_def nodes[2 * MAX_LEVELS] = {
		{NODE("x", "Placeholder"), INT32_INPUT},
		{NODE("full0", "EmptyTensorList"), INPUTS("x", "x"),
		 ATTRS(TYPE("element_dtype", SP_INT32))},
	};
	const char *pairs[MAX_LEVELS][2];
	sp_ends ends = {.feeds = {"x"}, .fetches = {"length"}};
	const int32_t unknown = -1;
	sp_tensor x = {.dtype = SP_INT32, .count = 1, .data = (void *)&unknown};
	const sp_tensor *length;
	size_t n = 2;

	for (size_t i = 1; i <= levels; i++, n += 2) {
		pairs[i][0] = sp_arena_printf(g.arena, "empty%zu", i);
		pairs[i][1] = nodes[n - 1].name;
		nodes[n] = (sp_node_def){NODE(pairs[i][0], "EmptyTensorList"), .inputs = shape,
					 .input_count = 2, .attrs = of_lists, .attr_count = 1};
		nodes[n + 1] = (sp_node_def){
			NODE(sp_arena_printf(g.arena, "full%zu", i), "TensorListPushBack"),
			.inputs = pairs[i], .input_count = 2, .attrs = of_lists, .attr_count = 1};
	}
	nodes[n] = (sp_node_def){NODE("length", "TensorListLength"), .inputs = &nodes[n - 1].name,
				 .input_count = 1};
	SP_TRY(sp_small_graph_compile(&g, nodes, n + 1, &ends));
	return sp_small_graph_run(&g, &x, NULL, &length);
}

static void lists_may_hold_lists_but_not_without_end(void **state)
{
	(void)state;
	assert_ok(nest(1), &g.err);
	assert_ok(nest(7), &g.err);
	assert_int_equal(nest(8), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "deeper than 8"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_loop_passes_its_variables_on),
		TEST(a_trace_has_every_step_of_the_plan),
		TEST(an_invariant_variable_is_its_initial_value),
		TEST(variables_may_swap),
		TEST(an_endless_loop_ends_at_the_deadline_or_by_the_flag),
		TEST(an_endless_loop_of_a_load_program_ends),
		TEST(a_list_is_changed_in_place),
#ifndef SP_ARENA_DEBUG
		TEST(rounds_share_their_memory),
#endif
		TEST(a_list_that_grows_without_end_is_stopped),
		TEST(a_number_chooses_a_branch),
		TEST(an_array_decides_unless_it_is_for_a_switch),
		TEST(an_effect_belongs_to_its_branch),
		TEST(a_condition_without_inputs_does_not_run),
		TEST(a_file_is_not_read_in_the_branch_that_asks_for_it),
		TEST(a_change_of_state_is_refused_in_the_branch_that_has_it),
		TEST(a_change_of_state_is_refused_behind_a_switch),
		TEST(a_change_of_state_outside_branches_is_refused_at_once),
		TEST(dead_branches_of_constant_conditions_are_left_out),
		TEST(missing_operators_in_bodies_are_named),
		TEST(bodies_that_do_not_fit_are_refused),
		TEST(branches_that_explode_or_are_too_deep_are_refused),
		TEST(a_list_stays_in_its_request),
		TEST(lists_may_hold_lists_but_not_without_end),
	};

	return cmocka_run_group_tests_name("execute", tests, NULL, NULL);
}
