#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "engine/import/import.h"
#include "engine/import/lower.h"
#include "tests/support/imported_graph.h"

/* Every edge points backwards. */
static void assert_sorted(void)
{
	for (size_t i = 0; i < sp_imported.node_count; i++) {
		for (size_t k = 0; k < sp_imported.nodes[i].input_count; k++)
			assert_true(sp_imported.nodes[i].inputs[k].node < i);
		for (size_t k = 0; k < sp_imported.nodes[i].control_count; k++)
			assert_true(sp_imported.nodes[i].controls[k] < i);
	}
}

static void only_what_is_needed_is_imported_in_order(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("c", "Merge"), INPUTS("a", "b", "^d")},
		{NODE("unused", "Merge"), INPUTS("c")},
		{NODE("b", "Merge"), INPUTS("a:1")},
		{NODE("d", "NoOp")},
		{NODE("a", "Placeholder")},
	};
	sp_graph_def def = {.nodes = nodes, .node_count = 5};

	(void)state;
	assert_ok(sp_imported_try(&def, "c:0"), &sp_imported_err);
	assert_int_equal(sp_imported.node_count, 4);
	assert_sorted();
	assert_null(sp_node_named("unused"));
	assert_int_equal(sp_node_named("b")->inputs[0].port, 1);
	assert_int_equal(sp_node_named("c")->control_count, 1);
	assert_int_equal(sp_node_named("c")->input_count, 2);
}

static void what_would_be_printed_is_not_imported(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("a", "Placeholder")},
		{NODE("text", "StringFormat"), INPUTS("a")},
		{NODE("before", "NoOp")},
		{NODE("print", "PrintV2"), INPUTS("text", "^before")},
		{NODE("answer", "Identity"), INPUTS("a", "^print")},
	};
	sp_graph_def def = {.nodes = nodes, .node_count = 5};

	(void)state;
	assert_ok(sp_imported_try(&def, "answer"), &sp_imported_err);
	assert_sorted();
	assert_null(sp_node_named("text"));
	assert_int_equal(sp_node_named("print")->input_count, 0);
	assert_int_equal(sp_node_named("print")->control_count, 1);
}

#define CALLS(function)                                               \
	{                                                             \
		.name = "f", .kind = SP_ATTR_FUNC, .text = (function) \
	}

static const sp_arg_def body_inputs[] = {{"x", SP_FLOAT}, {"y", SP_FLOAT}};
static const sp_arg_def body_outputs[] = {{"first", SP_FLOAT}, {"second", SP_FLOAT}};
static const sp_node_def body_nodes[] = {
	{NODE("inner", "Merge"), INPUTS("y", "x")},
	{NODE("effect", "NoOp")},
};
static const sp_named_ref body_returns[] = {{"first", "inner:output:0"}, {"second", "x"}};
static const char *const body_control_returns[] = {"effect"};
static const sp_function_def body_function = {.name = "body",
					      .inputs = body_inputs,
					      .input_count = 2,
					      .outputs = body_outputs,
					      .output_count = 2,
					      .nodes = body_nodes,
					      .node_count = 2,
					      .returns = body_returns,
					      .control_returns = body_control_returns,
					      .control_return_count = 1};

static void a_call_is_replaced_by_its_body(void **state)
{
	sp_node_def nodes[] = {
		{NODE("a", "Placeholder")},
		{NODE("b", "Placeholder")},
		{NODE("call", "StatefulPartitionedCall"), INPUTS("a", "b"), ATTRS(CALLS("body"))},
		{NODE("out", "Merge"), INPUTS("call:1", "call")},
	};
	sp_graph_def def = {
		.nodes = nodes, .node_count = 4, .functions = &body_function, .function_count = 1};
	const sp_node *inner, *call;

	(void)state;
	assert_ok(sp_imported_try(&def, "out"), &sp_imported_err);
	assert_sorted();
	inner = sp_node_named("call/inner");
	assert_non_null(inner);
	assert_string_equal(sp_imported.nodes[inner->inputs[0].node].name, "b");
	assert_string_equal(sp_imported.nodes[inner->inputs[1].node].name, "a");
	call = sp_node_named("call");
	assert_string_equal(call->op_name, "IdentityN");
	assert_int_equal(call->input_count, 2);
	assert_string_equal(sp_imported.nodes[call->inputs[1].node].name, "a");
	assert_int_equal(call->control_count, 1);
	assert_string_equal(sp_imported.nodes[call->controls[0]].name, "call/effect");
}

/* A constant of that many elements, all 2.5, that the file gives one value of. */
#define REPEATED(elements)                                                                   \
	{                                                                                    \
		.name = "value", .kind = SP_ATTR_REPEATED, .repeated = &(sp_repeated_values) \
		{                                                                            \
			{.dtype = SP_FLOAT,                                                  \
			 .shape = {.rank = 1, .dims = {1}},                                  \
			 .count = 1,                                                         \
			 .data = &(float){2.5F}},                                            \
				{.rank = 2, .dims = {2, (elements) / 2}},                    \
		}                                                                            \
	}

static void constants_are_written_out_where_they_are_reached(void **state)
{
	const sp_node_def large = {NODE("large", "Const"), ATTRS(REPEATED(10000))};
	const sp_function_def function = {.name = "body",
					  .outputs = body_outputs,
					  .output_count = 1,
					  .nodes = &large,
					  .node_count = 1,
					  .returns = &(sp_named_ref){"first", "large:output:0"}};
	const sp_node_def nodes[] = {
		{NODE("unread", "Const"), ATTRS(REPEATED((int64_t)1 << 40))},
		{NODE("one", "PartitionedCall"), ATTRS(CALLS("body"))},
		{NODE("two", "PartitionedCall"), ATTRS(CALLS("body"))},
		{NODE("out", "Merge"), INPUTS("one", "two")},
	};
	sp_graph_def def = {.nodes = nodes,
			    .node_count = COUNT(nodes),
			    .functions = &function,
			    .function_count = 1};
	const sp_tensor *tensor, *other;

	(void)state;
	assert_ok(sp_imported_try(&def, "out"), &sp_imported_err);
	assert_ok(
		sp_node_attr_tensor(sp_node_named("one/large"), "value", &tensor, &sp_imported_err),
		&sp_imported_err);
	assert_int_equal(tensor->count, 10000);
	assert_int_equal(tensor->shape.dims[1], 5000);
	for (size_t i = 0; i < tensor->count; i++)
		assert_true(sp_tensor_f32(tensor)[i] == 2.5F);
	assert_ok(
		sp_node_attr_tensor(sp_node_named("two/large"), "value", &other, &sp_imported_err),
		&sp_imported_err);
	assert_ptr_equal(other, tensor);
}

static void assert_refused(const sp_graph_def *def, const char *root, sp_status status,
			   const char *words)
{
	assert_int_equal(sp_imported_try(def, root), status);
	assert_non_null(strstr(sp_imported_err.text, words));
}

static void broken_graphs_are_refused_by_name(void **state)
{
	const sp_node_def dangling[] = {{NODE("a", "Merge"), INPUTS("nowhere")}};
	const sp_node_def twice[] = {{NODE("a", "NoOp")}, {NODE("a", "NoOp")}};
	const sp_node_def cycle[] = {{NODE("a", "Merge"), INPUTS("b")},
				     {NODE("b", "Merge"), INPUTS("a")}};
	const sp_node_def port[] = {{NODE("a", "NoOp")}, {NODE("b", "Merge"), INPUTS("a:x")}};
	const sp_node_def self[] = {{NODE("a", "Merge"), INPUTS("a")}};

	(void)state;
	assert_refused(&(sp_graph_def){.nodes = dangling, .node_count = 1}, "a", SP_CORRUPT,
		       "nowhere");
	assert_refused(&(sp_graph_def){.nodes = twice, .node_count = 2}, "a", SP_CORRUPT, "'a'");
	assert_refused(&(sp_graph_def){.nodes = cycle, .node_count = 2}, "a", SP_UNSUPPORTED,
		       "cycle");
	assert_refused(&(sp_graph_def){.nodes = port, .node_count = 2}, "b", SP_CORRUPT, "a:x");
	assert_refused(&(sp_graph_def){.nodes = self, .node_count = 1}, "a", SP_UNSUPPORTED,
		       "cycle");
	assert_refused(&(sp_graph_def){.nodes = self, .node_count = 1}, "none", SP_CORRUPT, "none");
}

static void constants_that_fill_the_memory_are_refused(void **state)
{
	const int64_t half = (int64_t)(SP_IMPORT_MAX_REPEATED / sizeof(float) / 2);
	const sp_node_def fits[] = {
		{NODE("a", "Const"), ATTRS(REPEATED(half))},
		{NODE("b", "Const"), ATTRS(REPEATED(half + 2))},
		{NODE("out", "Merge"), INPUTS("a", "b")},
	};
	const sp_node_def huge = {NODE("a", "Const"), ATTRS(REPEATED((int64_t)1 << 62))};

	(void)state;
	assert_refused(&(sp_graph_def){.nodes = fits, .node_count = 3}, "out", SP_INVALID,
		       "node 'b': constants repeat values");
	assert_refused(&(sp_graph_def){.nodes = &huge, .node_count = 1}, "a", SP_INVALID,
		       "node 'a': constants repeat values");
}

static void calls_of_missing_functions_are_named(void **state)
{
	const sp_node_def named = {NODE("a", "PartitionedCall"), ATTRS(CALLS("nowhere"))};
	const sp_node_def nameless = {NODE("a", "BatchFunction")};

	(void)state;
	assert_ok(sp_imported_try(&(sp_graph_def){.nodes = &named, .node_count = 1}, "a"),
		  &sp_imported_err);
	assert_string_equal(sp_node_named("a")->refused, "it calls 'nowhere', which is not there");
	assert_ok(sp_imported_try(&(sp_graph_def){.nodes = &nameless, .node_count = 1}, "a"),
		  &sp_imported_err);
	assert_string_equal(sp_node_named("a")->refused, "its attribute 'f' names no function");
}

static void a_function_that_calls_itself_is_refused(void **state)
{
	const sp_named_ref returns[] = {{"y", "again:output:0"}};
	const sp_arg_def argument = {"y", SP_FLOAT};
	const sp_node_def again = {NODE("again", "PartitionedCall"), ATTRS(CALLS("body"))};
	const sp_node_def call = {NODE("call", "PartitionedCall"), ATTRS(CALLS("body"))};
	sp_function_def function = {.name = "body",
				    .outputs = &argument,
				    .output_count = 1,
				    .nodes = &again,
				    .node_count = 1,
				    .returns = returns};
	sp_graph_def def = {
		.nodes = &call, .node_count = 1, .functions = &function, .function_count = 1};

	(void)state;
	assert_refused(&def, "call", SP_INVALID, "calls itself");
}

/* Forty functions, each calling the next twice: 2^40 nodes if one were to inline them. */
static void calls_that_explode_are_refused(void **state)
{
	enum { LEVELS = 40 };
	static sp_function_def functions[LEVELS];
	static sp_node_def nodes[LEVELS][2];
	static sp_attr attrs[LEVELS];
	static char names[LEVELS + 1][16];
	static const sp_named_ref returns[] = {{"a", "l:output:0"}, {"b", "r:output:0"}};
	static const sp_arg_def outputs[] = {{"a", SP_FLOAT}, {"b", SP_FLOAT}};
	const sp_node_def call = {NODE("call", "PartitionedCall"), ATTRS(CALLS(names[0]))};
	sp_graph_def def = {
		.nodes = &call, .node_count = 1, .functions = functions, .function_count = LEVELS};

	(void)state;
	for (int i = 0; i <= LEVELS; i++)
		snprintf(names[i], sizeof(names[i]), "f%d", i);
	for (int i = 0; i < LEVELS; i++) {
		const char *op = i + 1 < LEVELS ? "PartitionedCall" : "NoOp";

		attrs[i] = (sp_attr)CALLS(names[i + 1]);
		nodes[i][0] = (sp_node_def){
			.name = "l", .op = op, .attrs = &attrs[i], .attr_count = 1};
		nodes[i][1] = (sp_node_def){
			.name = "r", .op = op, .attrs = &attrs[i], .attr_count = 1};
		functions[i] = (sp_function_def){.name = names[i],
						 .outputs = outputs,
						 .output_count = 2,
						 .nodes = nodes[i],
						 .node_count = 2,
						 .returns = returns};
	}
	assert_refused(&def, "call", SP_INVALID, "inlined");
}

/* A chain as long as this would overflow the stack of a recursive walk. */
static void a_very_deep_chain_is_walked(void **state)
{
	enum { LENGTH = 300000 };
	sp_node_def *nodes = sp_arena_zeros(sp_imported_arena, LENGTH, sizeof(*nodes));
	const char **inputs = sp_arena_array(sp_imported_arena, LENGTH, sizeof(*inputs));
	sp_graph_def def = {.nodes = nodes, .node_count = LENGTH};

	(void)state;
	for (size_t i = 0; i < LENGTH; i++) {
		nodes[i].name = sp_arena_printf(sp_imported_arena, "n%zu", i);
		nodes[i].op = "Merge";
		inputs[i] = i + 1 < LENGTH ? sp_arena_printf(sp_imported_arena, "n%zu", i + 1)
					   : NULL;
		nodes[i].inputs = &inputs[i];
		nodes[i].input_count = i + 1 < LENGTH;
	}
	assert_ok(sp_imported_try(&def, "n0"), &sp_imported_err);
	assert_int_equal(sp_imported.node_count, LENGTH);
	assert_sorted();
}

static void a_file_cannot_name_internal_operators(void **state)
{
	const sp_node_def nodes[] = {{NODE("a", "DenseLayer")}};

	(void)state;
	assert_ok(sp_imported_try(&(sp_graph_def){.nodes = nodes, .node_count = 1}, "a"),
		  &sp_imported_err);
	assert_null(sp_imported.nodes[0].op);
}

static void a_reference_variable_becomes_a_handle_and_a_read(void **state)
{
	sp_node_def nodes[] = {
		{NODE("v", "VariableV2"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("value", "Placeholder")},
		{NODE("assign", "Assign"), INPUTS("v", "value")},
		{NODE("read", "Identity"), INPUTS("v")},
		{NODE("both", "NoOp"), INPUTS("^assign", "^read")},
	};
	sp_graph_def def = {.nodes = nodes, .node_count = 5};
	const sp_node *assign, *read;

	(void)state;
	assert_ok(sp_imported_try(&def, "both"), &sp_imported_err);
	assert_ok(sp_graph_lower(&sp_imported, &sp_imported_err), &sp_imported_err);
	assert_sorted();
	assert_string_equal(sp_node_named("v")->op_name, "VarHandleOp");
	assign = sp_node_named("assign");
	assert_string_equal(assign->op_name, "AssignVariableOp");
	assert_string_equal(sp_imported.nodes[assign->inputs[0].node].op_name, "VarHandleOp");
	read = sp_node_named("read");
	assert_string_equal(sp_imported.nodes[read->inputs[0].node].op_name, "ReadVariableOp");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(only_what_is_needed_is_imported_in_order),
		TEST(what_would_be_printed_is_not_imported),
		TEST(a_call_is_replaced_by_its_body),
		TEST(broken_graphs_are_refused_by_name),
		TEST(constants_are_written_out_where_they_are_reached),
		TEST(constants_that_fill_the_memory_are_refused),
		TEST(calls_of_missing_functions_are_named),
		TEST(a_function_that_calls_itself_is_refused),
		TEST(calls_that_explode_are_refused),
		TEST(a_very_deep_chain_is_walked),
		TEST(a_file_cannot_name_internal_operators),
		TEST(a_reference_variable_becomes_a_handle_and_a_read),
	};

	return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
