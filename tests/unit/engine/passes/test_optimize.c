/* The passes that make a graph's plan shorter: what they change, and what they leave alone. */
#include "tests/support/cmocka.h"

#include "engine/passes/graph_sort.h"
#include "engine/passes/reduce_strength.h"
#include "engine/passes/simplify.h"
#include "tests/support/imported_graph.h"

static uint32_t input_of(const char *name, size_t i)
{
	return sp_imported.nodes[sp_number_of(name)].inputs[i].node;
}

/* Imports everything that "end" reaches and simplifies it, with `kept` kept. */
static void simplify(const sp_node_def *nodes, size_t count, const char *kept)
{
	bool *is_kept;

	sp_imported_take(nodes, count);
	is_kept = sp_imported_none();
	is_kept[sp_number_of("end")] = true;
	if (kept != NULL)
		is_kept[sp_number_of(kept)] = true;
	assert_ok(sp_graph_simplify(&sp_imported, is_kept, &sp_imported_err), &sp_imported_err);
}

static void equal_nodes_become_one(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("a", "Shape"), INPUTS("x"), ATTRS(TYPE("out_type", SP_INT64))},
		{NODE("b", "Shape"), INPUTS("x"), ATTRS(TYPE("out_type", SP_INT64))},
		{NODE("c", "Shape"), INPUTS("x"), ATTRS(TYPE("out_type", SP_INT32))},
		{NODE("after a", "Size"), INPUTS("a")},
		{NODE("after b", "Size"), INPUTS("b")},
		{NODE("check", "Assert"), INPUTS("x", "x")},
		{NODE("checked", "Shape"), INPUTS("x", "^check"),
		 ATTRS(TYPE("out_type", SP_INT64))},
		{NODE("again", "Shape"), INPUTS("x", "^check"), ATTRS(TYPE("out_type", SP_INT64))},
		{NODE("sum", "AddV2"), INPUTS("x", "y"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("turned", "AddV2"), INPUTS("y", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("joined", "Add"), INPUTS("x", "y"), ATTRS(TYPE("T", SP_STRING))},
		{NODE("other way", "Add"), INPUTS("y", "x"), ATTRS(TYPE("T", SP_STRING))},
		{NODE("less", "Sub"), INPUTS("x", "y"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("more", "Sub"), INPUTS("y", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"),
		 INPUTS("a", "b", "c", "after a", "after b", "checked", "again", "sum", "turned",
			"joined", "other way", "less", "more")},
	};

	(void)state;
	simplify(nodes, COUNT(nodes), NULL);
	assert_int_equal(input_of("end", 5), input_of("end", 6));
	assert_int_equal(input_of("end", 7), input_of("end", 8));
	assert_int_not_equal(input_of("end", 9), input_of("end", 10));
	assert_int_not_equal(input_of("end", 11), input_of("end", 12));
	assert_int_not_equal(input_of("end", 0), input_of("end", 5));
	assert_int_equal(input_of("end", 0), input_of("end", 1));
	assert_int_not_equal(input_of("end", 0), input_of("end", 2));
	assert_int_equal(input_of("end", 3), input_of("end", 4));
}

static void equal_constants_become_one(void **state)
{
	float one = 1, two = 2, minus_zero = -0.0f, zero = 0;
	sp_bytes text = {"a", 1}, other_text = {"b", 1};
	const sp_tensor tensors[] = {
		{.dtype = SP_FLOAT, .count = 1, .data = &one},
		{.dtype = SP_FLOAT, .count = 1, .data = &(float){1}},
		{.dtype = SP_FLOAT, .count = 1, .data = &two},
		{.dtype = SP_FLOAT, .count = 1, .data = &zero},
		{.dtype = SP_FLOAT, .count = 1, .data = &minus_zero},
		{.dtype = SP_STRING, .count = 1, .data = &text},
		{.dtype = SP_STRING, .count = 1, .data = &(sp_bytes){"a", 1}},
		{.dtype = SP_STRING, .count = 1, .data = &other_text},
	};
	const sp_node_def nodes[] = {
		{NODE("0", "Const"), ATTRS(TENSOR("value", &tensors[0]))},
		{NODE("1", "Const"), ATTRS(TENSOR("value", &tensors[1]))},
		{NODE("2", "Const"), ATTRS(TENSOR("value", &tensors[2]))},
		{NODE("3", "Const"), ATTRS(TENSOR("value", &tensors[3]))},
		{NODE("4", "Const"), ATTRS(TENSOR("value", &tensors[4]))},
		{NODE("5", "Const"), ATTRS(TENSOR("value", &tensors[5]))},
		{NODE("6", "Const"), ATTRS(TENSOR("value", &tensors[6]))},
		{NODE("7", "Const"), ATTRS(TENSOR("value", &tensors[7]))},
		{NODE("end", "IdentityN"), INPUTS("0", "1", "2", "3", "4", "5", "6", "7")},
	};

	(void)state;
	simplify(nodes, COUNT(nodes), NULL);
	assert_int_equal(input_of("end", 0), input_of("end", 1));
	assert_int_not_equal(input_of("end", 0), input_of("end", 2));
	assert_int_not_equal(input_of("end", 3), input_of("end", 4));
	assert_int_equal(input_of("end", 5), input_of("end", 6));
	assert_int_not_equal(input_of("end", 5), input_of("end", 7));
}

static void nodes_without_inputs_are_not_merged(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("v", "VarHandleOp"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("w", "VarHandleOp"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("shape", "Shape"), INPUTS("x")},
		{NODE("r", "RandomUniform"), INPUTS("shape"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("s", "RandomUniform"), INPUTS("shape"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("t", "Shape"), INPUTS("x", "^y")},
		{NODE("end", "IdentityN"), INPUTS("x", "y", "v", "w", "r", "s", "shape", "t")},
	};

	(void)state;
	simplify(nodes, COUNT(nodes), NULL);
	for (size_t i = 0; i < 8; i += 2)
		assert_int_not_equal(input_of("end", i), input_of("end", i + 1));
}

static void identities_are_bypassed(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("a", "Identity"), INPUTS("x")},
		{NODE("b", "Identity"), INPUTS("a")},
		{NODE("n", "IdentityN"), INPUTS("b", "y")},
		{NODE("fed", "Identity"), INPUTS("x")},
		{NODE("waits", "Identity"), INPUTS("x", "^y")},
		{NODE("end", "IdentityN"), INPUTS("b", "n:1", "fed", "waits")},
	};

	(void)state;
	simplify(nodes, COUNT(nodes), "fed");
	assert_int_equal(input_of("end", 0), sp_number_of("x"));
	assert_int_equal(input_of("end", 1), sp_number_of("y"));
	assert_int_equal(sp_imported.nodes[sp_number_of("end")].inputs[1].port, 0);
	assert_int_equal(input_of("end", 2), sp_number_of("fed"));
	assert_int_equal(input_of("end", 3), sp_number_of("waits"));
}

/* A graph of three nodes whose edges the test sets. */
static sp_status sort(sp_node nodes[3], sp_graph_boundary *ends)
{
	sp_imported = (sp_graph){.arena = sp_imported_arena, .nodes = nodes, .node_count = 3};
	sp_map_init(&sp_imported.names, sp_imported_arena);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(sp_map_add(&sp_imported.names, sp_bytes_of(nodes[i].name), i),
				 SP_MAP_ADDED);
	return sp_graph_sort(&sp_imported, ends, &sp_imported_err);
}

static void nodes_are_sorted_after_their_inputs(void **state)
{
	sp_port from_last = {2, 0};
	uint32_t after_first = 0;
	sp_node nodes[3] = {{.name = "a", .inputs = &from_last, .input_count = 1},
			    {.name = "b", .controls = &after_first, .control_count = 1},
			    {.name = "c"}};
	bool fed[3] = {false, false, true};
	uint64_t wanted[3] = {0, 5, 0}, port;
	sp_graph_boundary ends = {fed, wanted, 3};

	(void)state;
	assert_ok(sort(nodes, &ends), &sp_imported_err);
	assert_string_equal(sp_imported.nodes[0].name, "c");
	assert_string_equal(sp_imported.nodes[1].name, "a");
	assert_string_equal(sp_imported.nodes[2].name, "b");
	assert_int_equal(sp_imported.nodes[1].inputs[0].node, 0);
	assert_int_equal(sp_imported.nodes[2].controls[0], 1);
	assert_true(fed[0] && !fed[1] && !fed[2]);
	assert_int_equal(wanted[2], 5);
	assert_true(sp_map_get(&sp_imported.names, sp_bytes_of("c"), &port));
	assert_int_equal(port, 0);
}

static void cycles_are_refused(void **state)
{
	sp_port from_last = {2, 0}, from_first = {0, 0};
	sp_node nodes[3] = {{.name = "a", .inputs = &from_last, .input_count = 1},
			    {.name = "b"},
			    {.name = "c", .inputs = &from_first, .input_count = 1}};
	bool fed[3] = {false};
	uint64_t wanted[3] = {0};
	sp_graph_boundary ends = {fed, wanted, 3};

	(void)state;
	assert_int_equal(sort(nodes, &ends), SP_INTERNAL);
}

/*
 * What "end" reaches after simplify.h and reduce_strength.h, with `kept` kept; all placeholders are
 * fed, or only `fed`.
 */
static void reduce(const sp_node_def *nodes, size_t count, const char *fed, const char *kept)
{
	bool *is_fed, *is_kept;

	simplify(nodes, count, kept);
	is_fed = fed != NULL ? sp_imported_none() : sp_imported_placeholders();
	if (fed != NULL)
		is_fed[sp_number_of(fed)] = true;
	is_kept = sp_imported_none();
	is_kept[sp_number_of("end")] = true;
	if (kept != NULL)
		is_kept[sp_number_of(kept)] = true;
	assert_ok(sp_graph_reduce_strength(&sp_imported, is_fed, is_kept, &sp_imported_err),
		  &sp_imported_err);
}

static const char *op_of(const char *name)
{
	return sp_imported.nodes[sp_number_of(name)].op_name;
}

#define FLOATS(node_name, op_name, ...)                                                   \
	{                                                                                 \
		NODE(node_name, op_name), INPUTS(__VA_ARGS__), ATTRS(TYPE("T", SP_FLOAT)) \
	}

static void powers_become_cheaper_operators(void **state)
{
	const sp_tensor two = {.dtype = SP_FLOAT, .count = 1, .data = &(float){2}};
	const sp_tensor three = {.dtype = SP_FLOAT, .count = 1, .data = &(float){3}};
	const sp_tensor four = {.dtype = SP_FLOAT, .count = 1, .data = &(float){4}};
	const sp_tensor root = {.dtype = SP_FLOAT, .count = 1, .data = &(float){-0.5F}};
	const sp_tensor half_three = {.dtype = SP_HALF, .count = 1, .data = &(uint16_t){0x4200}};
	const sp_tensor vector = {
		.dtype = SP_FLOAT, .shape = sp_shape_vector(1), .count = 1, .data = &(float){2}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("h", "Placeholder"), ATTRS(TYPE("dtype", SP_HALF))},
		{NODE("2", "Const"), ATTRS(TENSOR("value", &two))},
		{NODE("3", "Const"), ATTRS(TENSOR("value", &three))},
		{NODE("4", "Const"), ATTRS(TENSOR("value", &four))},
		{NODE("-0.5", "Const"), ATTRS(TENSOR("value", &root))},
		{NODE("half 3", "Const"), ATTRS(TENSOR("value", &half_three))},
		{NODE("[2]", "Const"), ATTRS(TENSOR("value", &vector))},
		FLOATS("square", "Pow", "x", "2"),
		FLOATS("cube", "Pow", "x", "3"),
		FLOATS("power", "Pow", "x", "4"),
		FLOATS("root", "Pow", "x", "-0.5"),
		FLOATS("wider", "Pow", "x", "[2]"),
		{NODE("half cube", "Pow"), INPUTS("h", "half 3"), ATTRS(TYPE("T", SP_HALF))},
		{NODE("double", "Pow"), INPUTS("x", "2"), ATTRS(TYPE("T", SP_DOUBLE))},
		{NODE("end", "IdentityN"),
		 INPUTS("square", "cube", "power", "root", "wider", "half cube", "double")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, NULL);
	assert_string_equal(op_of("square"), "Square");
	assert_int_equal(sp_imported.nodes[sp_number_of("square")].input_count, 1);
	assert_string_equal(op_of("cube"), "Cube");
	assert_string_equal(op_of("power"), "Pow");
	assert_string_equal(op_of("root"), "Rsqrt");
	assert_string_equal(op_of("wider"), "Pow"); /* its result has a dimension more */
	assert_string_equal(op_of("half cube"), "Cube");
	assert_string_equal(op_of("double"), "Pow");
}

static void an_exponent_that_is_fed_is_no_constant(void **state)
{
	const sp_tensor two = {.dtype = SP_FLOAT, .count = 1, .data = &(float){2}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("2", "Const"), ATTRS(TENSOR("value", &two))},
		FLOATS("power", "Pow", "x", "2"),
		{NODE("end", "IdentityN"), INPUTS("power")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), "2", "2");
	assert_string_equal(op_of("power"), "Pow");
}

static void functions_become_more_accurate_ones(void **state)
{
	const sp_tensor one = {.dtype = SP_FLOAT, .count = 1, .data = &(float){1}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("check", "Assert"), INPUTS("x", "x")},
		{NODE("1", "Const"), ATTRS(TENSOR("value", &one))},
		FLOATS("sum", "AddV2", "1", "x"),
		FLOATS("log1p", "Log", "sum"),
		FLOATS("waiting sum", "AddV2", "x", "1", "^check"),
		FLOATS("log", "Log", "waiting sum"),
		FLOATS("exp", "Exp", "x"),
		FLOATS("expm1", "Sub", "exp", "1"),
		FLOATS("turned", "Sub", "1", "exp"),
		FLOATS("a", "Softmax", "x"),
		FLOATS("log a", "Log", "a"),
		FLOATS("b", "Softmax", "exp"),
		FLOATS("log b", "Log", "b"),
		{NODE("end", "IdentityN"),
		 INPUTS("log1p", "log", "expm1", "turned", "log a", "log b", "b")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, NULL);
	assert_string_equal(op_of("log1p"), "Log1p");
	assert_int_equal(input_of("log1p", 0), sp_number_of("x"));
	assert_string_equal(op_of("log"), "Log");
	assert_string_equal(op_of("expm1"), "Expm1");
	assert_int_equal(input_of("expm1", 0), sp_number_of("x"));
	assert_int_equal(sp_imported.nodes[sp_number_of("expm1")].input_count, 1);
	assert_string_equal(op_of("turned"), "Sub");
	assert_string_equal(op_of("log a"), "LogSoftmax");
	assert_int_equal(input_of("log a", 0), sp_number_of("x"));
	assert_string_equal(op_of("log b"), "Log"); /* the softmax is computed in any case */
}

static void products_read_transposed_operands_as_they_lie(void **state)
{
	const sp_tensor inner = {.dtype = SP_INT32,
				 .shape = sp_shape_vector(3),
				 .count = 3,
				 .data = (int32_t[]){0, 2, 1}};
	const sp_tensor outer = {.dtype = SP_INT32,
				 .shape = sp_shape_vector(3),
				 .count = 3,
				 .data = (int32_t[]){1, 0, 2}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("inner", "Const"), ATTRS(TENSOR("value", &inner))},
		{NODE("outer", "Const"), ATTRS(TENSOR("value", &outer))},
		FLOATS("turned", "Transpose", "x", "inner"),
		FLOATS("dots", "BatchMatMulV2", "y", "turned"),
		FLOATS("moved", "Transpose", "x", "outer"),
		FLOATS("other", "BatchMatMulV2", "y", "moved"),
		{NODE("end", "IdentityN"), INPUTS("dots", "other")},
	};
	bool flag = false;

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, NULL);
	assert_int_equal(input_of("dots", 1), sp_number_of("x"));
	assert_ok(sp_node_attr_bool(&sp_imported.nodes[sp_number_of("dots")], "adj_y", false, &flag,
				    &sp_imported_err),
		  &sp_imported_err);
	assert_true(flag);
	assert_int_equal(input_of("other", 1), sp_number_of("moved"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(equal_nodes_become_one),
		TEST(equal_constants_become_one),
		TEST(nodes_without_inputs_are_not_merged),
		TEST(identities_are_bypassed),
		TEST(nodes_are_sorted_after_their_inputs),
		TEST(powers_become_cheaper_operators),
		TEST(an_exponent_that_is_fed_is_no_constant),
		TEST(functions_become_more_accurate_ones),
		TEST(products_read_transposed_operands_as_they_lie),
		TEST(cycles_are_refused),
	};
	return cmocka_run_group_tests_name("optimize", tests, NULL, NULL);
}
