#include "tests/support/cmocka.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/support/graph.h"

SMALL_GRAPH(g);

#define COMPILE(nodes, ...) sp_small_graph_compile(&g, nodes, COUNT(nodes), &(sp_ends){__VA_ARGS__})

static sp_status run(const sp_tensor *feeds, const bool *wanted, const sp_tensor **fetches)
{
	return sp_small_graph_run(&g, feeds, wanted, fetches);
}

static sp_tensor truth(bool *value)
{
	return (sp_tensor){.dtype = SP_BOOL, .count = 1, .data = value};
}

static sp_tensor text(sp_bytes *value)
{
	return (sp_tensor){.dtype = SP_STRING, .count = 1, .data = value};
}

static sp_bytes words[] = {{"YES", 3}, {"NO", 2}};
static sp_tensor constants[] = {
	{.dtype = SP_STRING, .count = 1, .data = &words[0]},
	{.dtype = SP_STRING, .count = 1, .data = &words[1]},
};
#define IS_STRING TYPE("dtype", SP_STRING)
#define YES       IS_STRING, TENSOR("value", &constants[0])
#define NO        IS_STRING, TENSOR("value", &constants[1])

/*
 * The v1 form of a conditional whose branches are constants: what says which
 * branch was taken is a control edge from the switch.
 */
static void a_branch_is_chosen_by_control_edges(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("p", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))},
		{NODE("s", "Switch"), INPUTS("p", "p")},
		{NODE("t", "Identity"), INPUTS("s:1")},
		{NODE("f", "Identity"), INPUTS("s")},
		{NODE("tn", "NoOp"), INPUTS("^t")},
		{NODE("yes", "Const"), INPUTS("^tn"), ATTRS(YES)},
		{NODE("no", "Const"), INPUTS("^f"), ATTRS(NO)},
		{NODE("m", "Merge"), INPUTS("no", "yes")},
	};
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"p"}, .fetches = {"m"}), &g.err);
	for (int i = 0; i < 4; i++) {
		bool value = i & 1;
		sp_tensor feed = truth(&value);

		assert_ok(run(&feed, NULL, fetches), &g.err);
		assert_true(sp_bytes_equal(sp_tensor_strings(fetches[0])[0], words[value ? 0 : 1]));
		sp_session_reset(g.session);
	}
}

static void a_fetch_on_the_branch_not_taken_is_an_error(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("p", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))},
		{NODE("s", "Switch"), INPUTS("p", "p")},
	};
	const sp_tensor *fetches[1];
	bool value = true;
	sp_tensor feed = truth(&value);

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"p"}, .fetches = {"s:0"}), &g.err);
	assert_int_equal(run(&feed, NULL, fetches), SP_INVALID);
	value = false;
	assert_ok(run(&feed, NULL, fetches), &g.err);
}

static void only_wanted_fetches_are_computed(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("a", "Placeholder"), ATTRS(IS_STRING)},
		{NODE("b", "Placeholder"), ATTRS(IS_STRING)},
		{NODE("x", "StringLower"), INPUTS("a")},
		{NODE("y", "StringLower"), INPUTS("b")},
	};
	const bool first[] = {true, false};
	sp_bytes word = {"Word", 4};
	sp_tensor feeds[2] = {text(&word), {0}};
	const sp_tensor *fetches[2];

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"a", "b"}, .fetches = {"x", "y"}), &g.err);
	assert_ok(run(feeds, first, fetches), &g.err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "word"));
	assert_null(fetches[1]);
	assert_int_equal(run(feeds, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(g.err.text, "'b'"));
}

/* Unpack of a vector of two: its second output is fed. */
static const sp_node_def fed_unpack[] = {
	{NODE("a", "Placeholder"), ATTRS(IS_STRING)},
	{NODE("u", "Unpack"), INPUTS("a"),
	 ATTRS({.name = "num", .kind = SP_ATTR_INT, .i = 2}, TYPE("T", SP_STRING))},
	{NODE("x", "StringLower"), INPUTS("u:0")},
	{NODE("y", "StringLower"), INPUTS("u:1")},
};

static void nodes_behind_fed_values_do_not_run(void **state)
{
	sp_bytes word = {"Fed", 3};
	sp_tensor feed = text(&word);
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(sp_small_graph_compile(&g, fed_unpack, COUNT(fed_unpack),
					 &(sp_ends){.feeds = {"u:1"}, .fetches = {"y"}}),
		  &g.err);
	assert_ok(run(&feed, NULL, fetches), &g.err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "fed"));
}

/* And one is not: it comes of the node, which is run. */
static void an_output_beside_a_fed_one_is_computed(void **state)
{
	const bool second[] = {false, true};
	sp_bytes both[] = {{"One", 3}, {"Two", 3}}, word = {"Fed", 3};
	sp_tensor feeds[2] = {{.dtype = SP_STRING, .count = 2, .data = both}, text(&word)};
	const sp_tensor *fetches[2];

	(void)state;
	feeds[0].shape = sp_shape_vector(2);
	assert_ok(sp_small_graph_compile(&g, fed_unpack, COUNT(fed_unpack),
					 &(sp_ends){.feeds = {"a", "u:1"}, .fetches = {"x", "y"}}),
		  &g.err);
	assert_ok(run(feeds, NULL, fetches), &g.err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "one"));
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[1])[0], "fed"));
	sp_session_reset(g.session);

	feeds[0] = (sp_tensor){0};
	assert_ok(run(feeds, second, fetches), &g.err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[1])[0], "fed"));
	assert_int_equal(run(feeds, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(g.err.text, "'a'"));
}

static void a_feed_of_another_type_is_refused(void **state)
{
	const sp_node_def nodes[] = {{NODE("a", "Placeholder"), ATTRS(IS_STRING)},
				     {NODE("x", "StringLower"), INPUTS("a")}};
	bool value = true;
	sp_tensor feed = truth(&value);
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"a"}, .fetches = {"x"}), &g.err);
	assert_int_equal(run(&feed, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(g.err.text, "DT_BOOL"));
}

static void constants_are_folded(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("c", "Const"), ATTRS(YES)},
		{NODE("x", "StringLower"), INPUTS("c")},
		{NODE("y", "StringUpper"), INPUTS("x")},
	};
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(COMPILE(nodes, .fetches = {"x"}), &g.err);
	assert_int_equal(sp_program_step_count(g.program, 0), 0);
	assert_ok(run(NULL, NULL, fetches), &g.err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "yes"));
}

static void all_missing_operators_are_named_at_once(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("a", "Placeholder"), ATTRS(IS_STRING)},
		{NODE("x", "NoSuchOp"), INPUTS("a")},
		{NODE("y", "NorThisOne"), INPUTS("x")},
		{NODE("z", "NoSuchOp"), INPUTS("y")},
	};

	(void)state;
	assert_int_equal(COMPILE(nodes, .feeds = {"a"}, .fetches = {"z"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "NoSuchOp (node 'x')"));
	assert_non_null(strstr(g.err.text, "NorThisOne (node 'y')"));
}

static void missing_operators_are_named_before_long_names_of_nodes(void **state)
{
	enum { LONG = 30, LENGTH = 300 };
	static char names[LONG][LENGTH + 8], ops[LONG][24];
	const char *inputs[LONG];
	sp_node_def nodes[1 + LONG] = {{NODE("a", "Placeholder"), ATTRS(IS_STRING)}};

	(void)state;
	for (int i = 0; i < LONG; i++) {
		inputs[i] = i == 0 ? "a" : names[i - 1];
		snprintf(names[i], sizeof(names[i]), "%0*d", LENGTH, i);
		snprintf(ops[i], sizeof(ops[i]), "NoSuch%d", i);
		nodes[1 + i] = (sp_node_def){NODE(names[i], ops[i]), .inputs = &inputs[i],
					     .input_count = 1};
	}
	assert_int_equal(COMPILE(nodes, .feeds = {"a"}, .fetches = {names[LONG - 1]}),
			 SP_UNSUPPORTED);
	for (int i = 0; i < LONG; i++)
		assert_non_null(strstr(g.err.text, ops[i]));
	assert_non_null(strstr(g.err.text, "NoSuch29 (node '...00000000000000000029')"));
}

static void a_data_type_that_is_not_known_is_named_by_its_attribute(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("a", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("x", "Cast"), INPUTS("a"), ATTRS(TYPE("DstT", SP_INVALID_DTYPE))},
	};

	(void)state;
	assert_int_equal(COMPILE(nodes, .feeds = {"a"}, .fetches = {"x"}), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "'x' (Cast): attribute 'DstT' is a data type"));
}

static void an_output_that_a_node_lacks_is_refused(void **state)
{
	const sp_node_def nodes[] = {{NODE("a", "Placeholder"), ATTRS(IS_STRING)},
				     {NODE("x", "StringLower"), INPUTS("a")}};

	(void)state;
	assert_int_not_equal(COMPILE(nodes, .feeds = {"a"}, .fetches = {"x:7"}), SP_OK);
}

static void an_assert_behind_a_control_edge_fires(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("p", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))},
		{NODE("c", "Const"), ATTRS(YES)},
		{NODE("assert", "Assert"), INPUTS("p", "c")},
		{NODE("group", "NoOp"), INPUTS("^assert")},
		{NODE("out", "Identity"), INPUTS("c", "^group")},
	};
	bool value = true;
	sp_tensor feed = truth(&value);
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"p"}, .fetches = {"out"}), &g.err);
	assert_ok(run(&feed, NULL, fetches), &g.err);
	value = false;
	assert_int_equal(run(&feed, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(g.err.text, "assert"));
}

#define SCALAR                                                                             \
	{                                                                                  \
		.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &(const sp_partial_shape) \
		{                                                                          \
			.rank = 0                                                          \
		}                                                                          \
	}
static const sp_node_def variable_nodes[] = {
	{NODE("v", "VariableV2"), ATTRS(IS_STRING, SCALAR)},
	{NODE("c", "Const"), ATTRS(YES)},
	{NODE("assign", "Assign"), INPUTS("v", "c")},
	{NODE("init", "NoOp"), INPUTS("^assign")},
	{NODE("lower", "StringLower"), INPUTS("v")},
};

static void values_of_variables_are_computed_once_per_version(void **state)
{
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(COMPILE(variable_nodes, .target = "init", .loading = true), &g.err);
	assert_ok(run(NULL, NULL, NULL), &g.err);

	assert_ok(COMPILE(variable_nodes, .fetches = {"lower"}), &g.err);
	assert_int_equal(sp_program_step_count(g.program, 0), 0);
	assert_ok(run(NULL, NULL, fetches), &g.err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "yes"));
}

static void a_variable_without_a_value_is_known_and_refused(void **state)
{
	const uint32_t *indices;

	(void)state;
	assert_ok(COMPILE(variable_nodes, .fetches = {"lower"}), &g.err);
	assert_int_equal(sp_program_entry_resources(g.program, 0, &indices), 1);
	assert_string_equal(g.resources.items[indices[0]].name, "v");
	assert_int_equal(run(NULL, NULL, NULL), SP_INVALID);
	assert_non_null(strstr(g.err.text, "'v"));
}

/* Requests know no subnormal numbers (engine/ops/cases/subnormal.cases); the host's thread does. */
static void the_host_keeps_its_subnormal_numbers(void **state)
{
	volatile float least = FLT_MIN;
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("half", "AddV2"), INPUTS("x", "x"), ATTRS(TYPE("T", SP_FLOAT))},
	};
	float quarter = FLT_MIN / 4;
	const sp_tensor x = {.dtype = SP_FLOAT, .count = 1, .data = &quarter};
	const sp_tensor *fetches[1];

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"x"}, .fetches = {"half"}), &g.err);
	assert_ok(run(&x, NULL, fetches), &g.err);
	assert_true(least / 2 > 0);
#if defined(__x86_64__)
	assert_true(sp_tensor_f32(fetches[0])[0] == 0);
#endif
}

static void a_signature_may_not_change_the_model(void **state)
{
	(void)state;
	assert_int_equal(COMPILE(variable_nodes, .fetches = {"lower"}, .target = "init"),
			 SP_UNSUPPORTED);
}

#ifndef SP_ARENA_DEBUG
static void after_warm_up_a_run_allocates_nothing(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("a", "Placeholder"), ATTRS(IS_STRING)},
		{NODE("x", "StringLower"), INPUTS("a")},
		{NODE("y", "StringUpper"), INPUTS("x")},
	};
	sp_bytes word = {"Word", 4};
	sp_tensor feed = text(&word);
	const sp_tensor *fetches[1];
	uint64_t before = 0;

	(void)state;
	assert_ok(COMPILE(nodes, .feeds = {"a"}, .fetches = {"y"}), &g.err);
	for (int i = 0; i < 100; i++) {
		if (i == 3)
			before = sp_alloc_count();
		assert_ok(run(&feed, NULL, fetches), &g.err);
		sp_session_reset(g.session);
	}
	assert_int_equal(sp_alloc_count(), before);
}
#endif

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_branch_is_chosen_by_control_edges),
		TEST(a_fetch_on_the_branch_not_taken_is_an_error),
		TEST(only_wanted_fetches_are_computed),
		TEST(nodes_behind_fed_values_do_not_run),
		TEST(an_output_beside_a_fed_one_is_computed),
		TEST(a_feed_of_another_type_is_refused),
		TEST(constants_are_folded),
		TEST(all_missing_operators_are_named_at_once),
		TEST(missing_operators_are_named_before_long_names_of_nodes),
		TEST(a_data_type_that_is_not_known_is_named_by_its_attribute),
		TEST(an_output_that_a_node_lacks_is_refused),
		TEST(an_assert_behind_a_control_edge_fires),
		TEST(values_of_variables_are_computed_once_per_version),
		TEST(a_variable_without_a_value_is_known_and_refused),
		TEST(the_host_keeps_its_subnormal_numbers),
		TEST(a_signature_may_not_change_the_model),
#ifndef SP_ARENA_DEBUG
		TEST(after_warm_up_a_run_allocates_nothing),
#endif
	};

	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
