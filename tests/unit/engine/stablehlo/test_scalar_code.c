#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/graph.h"

/*
 * Functions of scalars that XLA's operators apply.  What XLA answers by them is in
 * tests/unit/engine/ops/cases/xla_*.cases; here is what a file may say beyond that.
 */

SMALL_GRAPH(g);

/* Functions of int32 scalars. */
static const sp_arg_def arguments[] = {{"a", SP_INT32}, {"b", SP_INT32}};

static const int64_t first_dimension[] = {0};
static const sp_attr reduce_attrs[] = {
	FUNCTION("reducer", "f"),
	{.name = "dimensions_to_reduce",
	 .kind = SP_ATTR_LIST,
	 .element = SP_ATTR_INT,
	 .count = 1,
	 .i_list = first_dimension},
};

/* y = the elements of x, from `start` on, by function "f". */
static const sp_node_def reduction[] = {
	{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_INT32))},
	{NODE("start", "Placeholder"), ATTRS(TYPE("dtype", SP_INT32))},
	{NODE("y", "XlaReduce"), INPUTS("x", "start"), .attrs = reduce_attrs, .attr_count = 2},
};

static sp_status compile(const sp_function_def *functions, size_t count)
{
	g.functions = functions;
	g.function_count = count;
	return sp_small_graph_compile(&g, reduction, COUNT(reduction),
				      &(sp_ends){.feeds = {"x", "start"}, .fetches = {"y"}});
}

static int32_t reduce(int32_t *x, int64_t count, int32_t start)
{
	sp_tensor feeds[] = {{.dtype = SP_INT32,
			      .shape = sp_shape_vector(count),
			      .count = (size_t)count,
			      .data = x},
			     {.dtype = SP_INT32, .count = 1, .data = &start}};
	const sp_tensor *fetches[1];
	int32_t result;

	assert_ok(sp_small_graph_run(&g, feeds, NULL, fetches), &g.err);
	result = *sp_tensor_i32(fetches[0]);
	sp_session_reset(g.session);
	return result;
}

static void refused(const sp_function_def *functions, size_t count, const char *words)
{
	assert_int_not_equal(compile(functions, count), SP_OK);
	if (strstr(g.err.text, words) == NULL)
		fail_msg("'%s' is not in '%s'", words, g.err.text);
}

/* f(a, b) = a * 2 - b, by way of calls of both kinds. */
static void functions_call_functions(void **state)
{
	const sp_node_def twice[] = {{NODE("sum", "AddV2"), INPUTS("a", "a")}};
	const sp_node_def pass[] = {{NODE("both", "IdentityN"), INPUTS("b", "a")}};
	const sp_node_def f[] = {
		{NODE("turned", "pass"), INPUTS("a", "b")},
		{NODE("doubled", "PartitionedCall"), INPUTS("turned:b:0"),
		 ATTRS(FUNCTION("f", "twice"))},
		{NODE("difference", "Sub"), INPUTS("doubled:output:0", "turned:a:0")}};
	const sp_function_def functions[] = {
		BODY("twice", 1, twice, {"a", "sum:z:0"}),
		BODY("pass", 2, pass, {"a", "both:output:0"}, {"b", "both:output:1"}),
		BODY("f", 2, f, {"a", "difference:z:0"})};
	int32_t x[] = {5, 1, 4, 1};

	(void)state;
	assert_ok(compile(functions, 3), &g.err);
	/* ((((3 * 2 - 5) * 2 - 1) * 2 - 4) * 2 - 1 */
	assert_int_equal(reduce(x, 4, 3), -5);
}

static void a_result_may_be_an_argument_or_a_constant(void **state)
{
	int32_t seven = 7;
	sp_tensor number = {.dtype = SP_INT32, .count = 1, .data = &seven};
	const sp_node_def f[] = {
		{NODE("seven", "Const"), ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &number))}};
	const sp_function_def first = BODY("f", 2, f, {"a", "a"});
	const sp_function_def last = BODY("f", 2, f, {"a", "b"});
	const sp_function_def constant = BODY("f", 2, f, {"a", "seven:output:0"});
	int32_t x[] = {5, 1, 4};

	(void)state;
	assert_ok(compile(&first, 1), &g.err);
	assert_int_equal(reduce(x, 3, 3), 3);
	assert_ok(compile(&last, 1), &g.err);
	assert_int_equal(reduce(x, 3, 3), 4);
	assert_ok(compile(&constant, 1), &g.err);
	assert_int_equal(reduce(x, 3, 3), 7);
}

static void functions_that_are_not_there_are_refused(void **state)
{
	const sp_node_def sum[] = {{NODE("sum", "AddV2"), INPUTS("a", "b")}};
	const sp_function_def other = BODY("other", 2, sum, {"a", "sum:z:0"});
	const sp_function_def one = BODY("f", 1, sum, {"a", "a"});
	const sp_function_def two = BODY("f", 2, sum, {"a", "sum:z:0"}, {"b", "b"});

	(void)state;
	refused(&other, 1, "'reducer' names no function");
	refused(&one, 1, "function 'f' takes 1 values, not 2");
	refused(&two, 1, "function 'f' returns 2 values, not 1");
}

static void references_that_lead_nowhere_are_refused(void **state)
{
	const sp_node_def sum[] = {{NODE("sum", "AddV2"), INPUTS("a", "b")}};
	const sp_node_def lost[] = {{NODE("sum", "AddV2"), INPUTS("a", "c")}};
	static const char *const wrong[] = {
		"c", "sum:z:1", "sum:z:99999999999", "sum:z:", "sum:", ":", "", "sum:z:-1"};
	const sp_function_def lost_operand = BODY("f", 2, lost, {"a", "sum:z:0"});

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		const sp_function_def f = BODY("f", 2, sum, {"a", wrong[i]});

		refused(&f, 1, "is not a reference to a value");
	}
	refused(&lost_operand, 1, "'c' is not a reference to a value");
}

static void what_is_not_of_scalars_is_refused_by_name(void **state)
{
	int32_t two[] = {1, 2};
	sp_tensor pair = {
		.dtype = SP_INT32, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = two};
	const sp_node_def sum[] = {{NODE("all", "Sum"), INPUTS("a", "b")}};
	const sp_node_def vector[] = {
		{NODE("two", "Const"), ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &pair))},
		{NODE("sum", "AddV2"), INPUTS("a", "two:output:0")}};
	const sp_node_def wide[] = {
		{NODE("two", "Const"), ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &pair))},
		{NODE("wide", "BroadcastTo"), INPUTS("a", "two:output:0")}};
	const sp_node_def real[] = {
		{NODE("real", "Cast"), INPUTS("a"), ATTRS(TYPE("DstT", SP_FLOAT))}};
	const sp_node_def own[] = {{NODE("own", "Cube"), INPUTS("a")}};
	const sp_node_def quotient[] = {{NODE("quotient", "FloorDiv"), INPUTS("a", "b")}};
	const sp_function_def functions[] = {BODY("f", 2, sum, {"a", "all:output:0"}),
					     BODY("f", 2, vector, {"a", "sum:z:0"}),
					     BODY("f", 2, wide, {"a", "wide:output:0"}),
					     BODY("f", 2, real, {"a", "real:y:0"}),
					     BODY("f", 2, own, {"a", "own:y:0"}),
					     BODY("f", 2, quotient, {"a", "quotient:z:0"})};
	static const char *const words[] = {"'all' (Sum)",          "'sum' (AddV2)",
					    "'wide' (BroadcastTo)", "returns DT_FLOAT",
					    "'own' (Cube)",         "'quotient' (FloorDiv)"};

	(void)state;
	for (size_t i = 0; i < COUNT(functions); i++)
		refused(&functions[i], 1, words[i]);
}

static void circles_are_refused(void **state)
{
	const sp_node_def round[] = {{NODE("one", "AddV2"), INPUTS("a", "two:z:0")},
				     {NODE("two", "AddV2"), INPUTS("b", "one:z:0")}};
	const sp_node_def itself[] = {{NODE("call", "f"), INPUTS("a", "b")}};
	const sp_node_def other[] = {{NODE("call", "h"), INPUTS("a", "b")}};
	const sp_function_def nodes = BODY("f", 2, round, {"a", "two:z:0"});
	const sp_function_def call = BODY("f", 2, itself, {"a", "call:a:0"});
	const sp_function_def calls[] = {BODY("f", 2, other, {"a", "call:a:0"}),
					 BODY("h", 2, itself, {"a", "call:a:0"})};

	(void)state;
	refused(&nodes, 1, "is part of a cycle");
	refused(&call, 1, "function 'f'");
	refused(calls, 2, "is too long");
}

/* Twenty functions that each call the next one twice. */
static void bodies_that_grow_too_large_are_refused(void **state)
{
	enum { DEPTH = 20 };
	static char names[DEPTH + 1][16];
	static sp_node_def nodes[DEPTH][2];
	static sp_function_def functions[DEPTH];
	static const sp_named_ref returns[] = {{"a", "two:a:0"}};
	static const char *const first[] = {"a", "b"}, *const second[] = {"one:a:0", "b"};

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		snprintf(names[i + 1], sizeof(names[i]), "f%d", i + 1);
		nodes[i][0] = (sp_node_def){NODE("one", names[i + 1]), .inputs = first,
					    .input_count = 2};
		nodes[i][1] = (sp_node_def){NODE("two", names[i + 1]), .inputs = second,
					    .input_count = 2};
	}
	for (int i = 0; i < DEPTH; i++)
		functions[i] = (sp_function_def){.name = i == 0 ? "f" : names[i],
						 .inputs = arguments,
						 .input_count = 2,
						 .outputs = arguments,
						 .output_count = 1,
						 .nodes = nodes[i],
						 .node_count = 2,
						 .returns = returns};
	nodes[DEPTH - 1][0] = (sp_node_def){NODE("one", "AddV2"), INPUTS("a", "b")};
	nodes[DEPTH - 1][1] = (sp_node_def){NODE("two", "AddV2"), INPUTS("one:z:0", "b")};
	refused(functions, DEPTH, "function ");
}

static void long_chains_are_refused(void **state)
{
	enum { LENGTH = 3000 };
	static char names[LENGTH][16], references[LENGTH][24];
	static const char *inputs[LENGTH][1];
	static sp_node_def nodes[LENGTH];

	(void)state;
	for (int i = 0; i < LENGTH; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		snprintf(references[i], sizeof(references[i]), "n%d:output:0", i);
		inputs[i][0] = i == 0 ? "a" : references[i - 1];
		nodes[i] = (sp_node_def){NODE(names[i], "Identity"), .inputs = inputs[i],
					 .input_count = 1};
	}
	for (int length = 10; length <= LENGTH; length += LENGTH - 10) {
		const sp_function_def f = BODY_OF("f", 2, nodes, (size_t)length,
						  {"a", references[length - 1]});

		if (length == 10)
			assert_ok(compile(&f, 1), &g.err);
		else
			refused(&f, 1, "too long a chain");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_call_functions),
		TEST(a_result_may_be_an_argument_or_a_constant),
		TEST(functions_that_are_not_there_are_refused),
		TEST(references_that_lead_nowhere_are_refused),
		TEST(what_is_not_of_scalars_is_refused_by_name),
		TEST(circles_are_refused),
		TEST(bodies_that_grow_too_large_are_refused),
		TEST(long_chains_are_refused),
	};
	return cmocka_run_group_tests_name("scalar_code", tests, NULL, NULL);
}
