/* Constants where TensorFlow's optimizer brings them: what moves, and what is left alone. */
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "engine/graph_sort.h"
#include "engine/push_constants.h"
#include "tests/support/imported_graph.h"

static const sp_tensor two = {.dtype = SP_FLOAT, .count = 1, .data = &(float){2}};
static const sp_tensor three = {.dtype = SP_FLOAT, .count = 1, .data = &(float){3}};

#define CONSTANTS                                                                         \
	{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},                       \
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},               \
		{NODE("h", "Placeholder"), ATTRS(TYPE("dtype", SP_HALF))},                \
		{NODE("check", "Assert"), INPUTS("x", "x")},                              \
		{NODE("2", "Const"), ATTRS(TENSOR("value", &two))},                       \
		{NODE("3", "Const"), ATTRS(TENSOR("value", &three))},                     \
	{                                                                                 \
		NODE("late 3", "Const"), INPUTS("^check"), ATTRS(TENSOR("value", &three)) \
	}
#define TYPED(node_name, op_name, dtype, ...)                                          \
	{                                                                              \
		NODE(node_name, op_name), INPUTS(__VA_ARGS__), ATTRS(TYPE("T", dtype)) \
	}
#define FLOATS(node_name, op_name, ...) TYPED(node_name, op_name, SP_FLOAT, __VA_ARGS__)

/* What "end" reaches, with placeholders fed and `kept` wanted, too. */
static void push_def(const sp_graph_def *def, const char *kept)
{
	bool *is_fed, *is_kept;

	assert_ok(sp_imported_try(def, "end"), &sp_imported_err);
	is_fed = sp_imported_placeholders();
	is_kept = sp_imported_placeholders();
	is_kept[sp_number_of("end")] = true;
	if (kept != NULL)
		is_kept[sp_number_of(kept)] = true;
	assert_ok(sp_graph_push_constants(&sp_imported, is_fed, is_kept, &sp_imported_err),
		  &sp_imported_err);
}

static void push(const sp_node_def *nodes, size_t count, const char *kept)
{
	const sp_graph_def def = {.nodes = nodes, .node_count = count};

	push_def(&def, kept);
}

/* A tree of operators of two, as text: "Sub(AddV2(3, 2), x)"; of everything else the name. */
static void write_text(uint32_t i, char *text, size_t size)
{
	static const char *const opened[] = {"Add", "AddV2",   "Sub",       "Mul",
					     "Div", "RealDiv", "Reciprocal"};
	const sp_node *node = &sp_imported.nodes[i];
	bool open = false;
	size_t used;

	for (size_t k = 0; k < COUNT(opened); k++)
		open |= strcmp(node->op_name, opened[k]) == 0;
	used = (size_t)snprintf(text, size, "%s%s", open ? node->op_name : node->name,
				open ? "(" : "");
	for (size_t k = 0; k < node->input_count && open; k++) {
		write_text(node->inputs[k].node, text + used, size - used);
		used += strlen(text + used);
		used += (size_t)snprintf(text + used, size - used, "%s",
					 k + 1 == node->input_count ? ")" : ", ");
	}
}

static void assert_is(const char *name, const char *expected)
{
	char text[512];

	write_text(sp_number_of(name), text, sizeof(text));
	assert_string_equal(text, expected);
}

static void constants_meet_in_sums(void **state)
{
	const sp_node_def nodes[] = {
		CONSTANTS,
		FLOATS("i1", "Add", "x", "2"),
		FLOATS("sum", "AddV2", "i1", "3"),
		FLOATS("i2", "Sub", "2", "x"),
		FLOATS("less", "Sub", "i2", "3"),
		FLOATS("i3", "Sub", "x", "2"),
		FLOATS("of both", "Sub", "3", "i3"),
		FLOATS("i4", "Sub", "x", "y"),
		FLOATS("difference", "Sub", "2", "i4"),
		FLOATS("i5", "AddV2", "y", "x"),
		FLOATS("by name", "Sub", "i5", "2"),
		FLOATS("i6", "AddV2", "x", "2"),
		FLOATS("i7", "AddV2", "i6", "3"),
		FLOATS("long", "Sub", "i7", "3"),
		{NODE("end", "IdentityN"),
		 INPUTS("sum", "less", "of both", "difference", "by name", "long")},
	};

	(void)state;
	push(nodes, COUNT(nodes), NULL);
	assert_is("sum", "AddV2(x, Add(3, 2))");
	assert_is("less", "Sub(Sub(2, 3), x)");
	assert_is("of both", "Sub(AddV2(3, 2), x)");
	assert_is("difference", "Sub(AddV2(2, y), x)");
	assert_is("by name", "AddV2(x, Sub(y, 2))");
	assert_is("long", "AddV2(x, Sub(AddV2(3, 2), 3))");
}

/* What a branch is given comes before its own nodes, in the order of its arguments. */
static void arguments_come_first(void **state)
{
	static const sp_arg_def arguments[] = {{"b", SP_FLOAT}, {"a", SP_FLOAT}};
	const sp_node_def body[] = {
		{NODE("A", "Relu"), INPUTS("a")},
		{NODE("2", "Const"), ATTRS(TENSOR("value", &two))},
		FLOATS("i1", "AddV2", "a", "b"),
		FLOATS("sum", "AddV2", "i1:z:0", "2:output:0"),
		FLOATS("i2", "Mul", "A:activations:0", "a"),
		FLOATS("product", "Mul", "i2:z:0", "2:output:0"),
	};
	const sp_function_def branches = BODY("branch", 2, body, {"b", "sum:z:0"},
					      {"a", "product:z:0"});
	const sp_node_def nodes[] = {
		CONSTANTS,
		{NODE("if", "If"), INPUTS("x", "y", "x"),
		 ATTRS(FUNCTION("then_branch", "branch"), FUNCTION("else_branch", "branch"))},
		{NODE("call", "PartitionedCall"), INPUTS("y", "x"), ATTRS(FUNCTION("f", "branch"))},
		{NODE("end", "IdentityN"), INPUTS("if", "if:1", "call", "call:1")},
	};
	const sp_graph_def def = {.nodes = nodes,
				  .node_count = COUNT(nodes),
				  .functions = &branches,
				  .function_count = 1};

	(void)state;
	push_def(&def, NULL);
	assert_is("if/sum", "AddV2(y, AddV2(if/2, x))");
	assert_is("if/product", "Mul(x, Mul(if/2, if/A))");
	assert_is("call/sum", "AddV2(y, AddV2(call/2, x))");
	assert_is("call/product", "Mul(x, Mul(call/2, call/A))");
}

static void quotients_are_products_of_which_constants_meet(void **state)
{
	const sp_node_def nodes[] = {
		CONSTANTS,
		FLOATS("quotient", "RealDiv", "x", "2"),
		FLOATS("i1", "Mul", "x", "3"),
		FLOATS("scaled", "RealDiv", "i1", "2"),
		FLOATS("i2", "RealDiv", "x", "3"),
		FLOATS("twice", "Div", "i2", "2"),
		FLOATS("early", "RealDiv", "2", "3"),
		FLOATS("of constant", "RealDiv", "x", "early"),
		FLOATS("inverse", "RealDiv", "2", "x"),
		FLOATS("i3", "RealDiv", "2", "y"),
		FLOATS("other kind", "Mul", "i3", "3"),
		FLOATS("i4", "Mul", "y", "2"),
		FLOATS("mixed", "AddV2", "i4", "3"),
		TYPED("half", "RealDiv", SP_HALF, "h", "2"),
		{NODE("end", "IdentityN"), INPUTS("quotient", "scaled", "twice", "of constant",
						  "inverse", "other kind", "mixed", "half")},
	};

	(void)state;
	push(nodes, COUNT(nodes), NULL);
	assert_is("quotient", "Mul(x, Reciprocal(2))");
	assert_is("scaled", "Mul(x, Mul(Reciprocal(2), 3))");
	assert_is("twice", "Mul(x, Mul(Reciprocal(2), Reciprocal(3)))");
	assert_is("of constant", "Mul(x, Reciprocal(RealDiv(2, 3)))");
	assert_is("inverse", "RealDiv(2, x)");
	assert_is("other kind", "Mul(RealDiv(2, y), 3)");
	assert_is("mixed", "AddV2(Mul(y, 2), 3)");
	assert_is("half", "Mul(h, Reciprocal(2))");
}

static void what_others_look_at_stays(void **state)
{
	const sp_node_def nodes[] = {
		CONSTANTS,
		FLOATS("shared", "Sub", "2", "x"),
		FLOATS("of shared", "AddV2", "shared", "3"),
		FLOATS("wanted", "Sub", "2", "y"),
		FLOATS("of wanted", "AddV2", "wanted", "3"),
		FLOATS("awaited", "Sub", "3", "y"),
		FLOATS("of awaited", "AddV2", "awaited", "2"),
		{NODE("waiting", "Identity"), INPUTS("x", "^awaited"), ATTRS(TYPE("T", SP_FLOAT))},
		FLOATS("passed", "Sub", "3", "x", "^check"),
		FLOATS("waits", "AddV2", "passed", "late 3", "^check"),
		TYPED("narrow", "AddV2", SP_HALF, "h", "2"),
		TYPED("of narrow", "AddV2", SP_HALF, "narrow", "3"),
		{NODE("end", "IdentityN"), INPUTS("shared", "of shared", "of wanted", "of awaited",
						  "waiting", "waits", "of narrow")},
	};

	(void)state;
	push(nodes, COUNT(nodes), "wanted");
	assert_is("of shared", "AddV2(Sub(2, x), 3)");
	assert_is("of wanted", "AddV2(Sub(2, y), 3)");
	assert_is("of awaited", "AddV2(Sub(3, y), 2)");
	assert_is("waits", "Sub(AddV2(late 3, 3), x)");
	assert_is("of narrow", "AddV2(AddV2(h, 2), 3)");
}

/* A constant that waits for the sum it would go to stays where it is. */
static void nodes_never_wait_for_themselves(void **state)
{
	const sp_node_def nodes[] = {
		CONSTANTS,
		FLOATS("inner", "AddV2", "x", "2"),
		{NODE("after", "Const"), INPUTS("^inner"), ATTRS(TENSOR("value", &two))},
		FLOATS("made", "Sqrt", "after"),
		FLOATS("sum", "AddV2", "inner", "made"),
		{NODE("end", "IdentityN"), INPUTS("sum")},
	};

	(void)state;
	push(nodes, COUNT(nodes), NULL);
	assert_is("sum", "AddV2(AddV2(x, 2), made)");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(constants_meet_in_sums),
		TEST(arguments_come_first),
		TEST(quotients_are_products_of_which_constants_meet),
		TEST(what_others_look_at_stays),
		TEST(nodes_never_wait_for_themselves),
	};
	return cmocka_run_group_tests_name("push_constants", tests, NULL, NULL);
}
