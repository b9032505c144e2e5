/* The passes that make a graph's plan shorter: what they change, and what they leave alone. */
#include "tests/support/cmocka.h"

#include "engine/graph_sort.h"
#include "engine/reduce_strength.h"
#include "engine/simplify.h"
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
	assert_ok(sp_graph_simplify(&sp_imported, is_kept, true, &sp_imported_err),
		  &sp_imported_err);
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

static void a_product_that_is_joined_with_a_bias_stays_apart(void **state)
{
	const sp_attr biased = {.name = SP_BIASED_PRODUCT, .kind = SP_ATTR_BOOL, .b = true};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("a", "MatMul"), INPUTS("x", "x"), ATTRS(biased)},
		{NODE("b", "MatMul"), INPUTS("x", "x")},
		{NODE("c", "MatMul"), INPUTS("x", "x"), ATTRS(biased)},
		{NODE("end", "IdentityN"), INPUTS("a", "b", "c")},
	};

	(void)state;
	simplify(nodes, COUNT(nodes), NULL);
	assert_int_equal(input_of("end", 0), input_of("end", 2));
	assert_int_not_equal(input_of("end", 0), input_of("end", 1));
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

static void what_is_what_its_name_says_stays_apart(void **state)
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

static void nobody_reads_through_an_identity(void **state)
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
static sp_status sort(sp_node nodes[3], sp_graph_ends *ends)
{
	sp_imported = (sp_graph){.arena = sp_imported_arena, .nodes = nodes, .node_count = 3};
	sp_map_init(&sp_imported.names, sp_imported_arena);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(sp_map_add(&sp_imported.names, sp_bytes_of(nodes[i].name), i),
				 SP_MAP_ADDED);
	return sp_graph_sort(&sp_imported, ends, &sp_imported_err);
}

static void nodes_go_behind_what_they_need(void **state)
{
	sp_port from_last = {2, 0};
	uint32_t after_first = 0;
	sp_node nodes[3] = {{.name = "a", .inputs = &from_last, .input_count = 1},
			    {.name = "b", .controls = &after_first, .control_count = 1},
			    {.name = "c"}};
	bool fed[3] = {false, false, true};
	uint64_t wanted[3] = {0, 5, 0}, port;
	sp_graph_ends ends = {fed, wanted};

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

static void nodes_in_a_circle_are_refused(void **state)
{
	sp_port from_last = {2, 0}, from_first = {0, 0};
	sp_node nodes[3] = {{.name = "a", .inputs = &from_last, .input_count = 1},
			    {.name = "b"},
			    {.name = "c", .inputs = &from_first, .input_count = 1}};
	bool fed[3] = {false};
	uint64_t wanted[3] = {0};
	sp_graph_ends ends = {fed, wanted};

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

static void powers_and_quotients_are_what_tensorflow_makes_of_them(void **state)
{
	const sp_tensor two = {.dtype = SP_FLOAT, .count = 1, .data = &(float){2}};
	const sp_tensor three = {.dtype = SP_FLOAT, .count = 1, .data = &(float){3}};
	const sp_tensor four = {.dtype = SP_FLOAT, .count = 1, .data = &(float){4}};
	const sp_tensor half_three = {.dtype = SP_HALF, .count = 1, .data = &(uint16_t){0x4200}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("2", "Const"), ATTRS(TENSOR("value", &two))},
		{NODE("h", "Placeholder"), ATTRS(TYPE("dtype", SP_HALF))},
		{NODE("half 3", "Const"), ATTRS(TENSOR("value", &half_three))},
		{NODE("half cube", "Pow"), INPUTS("h", "half 3"), ATTRS(TYPE("T", SP_HALF))},
		{NODE("3", "Const"), ATTRS(TENSOR("value", &three))},
		{NODE("4", "Const"), ATTRS(TENSOR("value", &four))},
		{NODE("square", "Pow"), INPUTS("x", "2"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("cube", "Pow"), INPUTS("x", "3"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("power", "Pow"), INPUTS("x", "4"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("double", "Pow"), INPUTS("x", "2"), ATTRS(TYPE("T", SP_DOUBLE))},
		{NODE("by x", "RealDiv"), INPUTS("3", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("third", "Pow"), INPUTS("y", "3"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("gelu", "Mul"), INPUTS("2", "third"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("A", "MatMul"), INPUTS("y", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("third of A", "Pow"), INPUTS("A", "3"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("named", "Mul"), INPUTS("2", "third of A"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("in/B", "MatMul"), INPUTS("x", "y"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("in/third", "Pow"), INPUTS("in/B", "3"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("by square", "Mul"), INPUTS("in/third", "2"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("read twice", "Mul"), INPUTS("cube", "2"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"),
		 INPUTS("square", "cube", "power", "double", "by x", "gelu", "named", "by square",
			"read twice", "half cube")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), "4", "4");
	assert_string_equal(op_of("square"), "Square");
	assert_int_equal(sp_imported.nodes[sp_number_of("square")].input_count, 1);
	assert_string_equal(op_of("cube"), "_Cube");
	assert_string_equal(op_of("power"), "Pow");
	assert_string_equal(op_of("double"), "Pow");
	assert_string_equal(op_of("half cube"), "_Cube");
	assert_string_equal(op_of("by x"), "RealDiv");
	assert_string_equal(op_of("gelu"), "_ScaledCube"); /* "y" comes after TensorFlow's name */
	assert_string_equal(op_of("named"), "_ScaledCube");
	assert_string_equal(op_of("by square"), "_ScaledSquare");
	assert_int_equal(input_of("gelu", 0), sp_number_of("y"));
	assert_int_equal(input_of("gelu", 1), sp_number_of("2"));
	assert_string_equal(op_of("read twice"), "Mul");
}

static void functions_and_products_are_what_tensorflow_makes_of_them(void **state)
{
	const sp_tensor one = {.dtype = SP_FLOAT, .count = 1, .data = &(float){1}};
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
		{NODE("1", "Const"), ATTRS(TENSOR("value", &one))},
		{NODE("inner", "Const"), ATTRS(TENSOR("value", &inner))},
		{NODE("outer", "Const"), ATTRS(TENSOR("value", &outer))},
		{NODE("sum", "AddV2"), INPUTS("1", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log1p", "Log"), INPUTS("sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("fed sum", "AddV2"), INPUTS("x", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log", "Log"), INPUTS("fed sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("softmax", "Softmax"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log softmax", "Log"), INPUTS("softmax"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("exp", "Exp"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("expm1", "Sub"), INPUTS("exp", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("root", "Sqrt"), INPUTS("sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("norm", "RealDiv"), INPUTS("x", "root"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("shared root", "Sqrt"), INPUTS("exp"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("by root", "RealDiv"), INPUTS("x", "shared root"),
		 ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("inverse", "RealDiv"), INPUTS("1", "exp"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("turned", "Transpose"), INPUTS("x", "inner"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("dots", "BatchMatMulV2"), INPUTS("exp", "turned"),
		 ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("moved", "Transpose"), INPUTS("x", "outer"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("other", "BatchMatMulV2"), INPUTS("exp", "moved"),
		 ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"),
		 INPUTS("log1p", "log", "log softmax", "expm1", "norm", "by root", "shared root",
			"inverse", "dots", "other")},
	};
	bool flag = false;

	(void)state;
	reduce(nodes, COUNT(nodes), "fed sum", "fed sum");
	assert_string_equal(op_of("log1p"), "Log1p");
	assert_int_equal(input_of("log1p", 0), sp_number_of("x"));
	assert_string_equal(op_of("log"), "Log");
	assert_string_equal(op_of("log softmax"), "LogSoftmax");
	assert_int_equal(input_of("log softmax", 0), sp_number_of("x"));
	assert_string_equal(op_of("expm1"), "Expm1");
	assert_int_equal(input_of("expm1", 0), sp_number_of("x"));
	assert_int_equal(sp_imported.nodes[sp_number_of("expm1")].input_count, 1);
	assert_string_equal(op_of("norm"), "Mul");
	assert_string_equal(op_of("root"), "Rsqrt");
	assert_string_equal(op_of("by root"), "RealDiv");
	assert_string_equal(op_of("shared root"), "Sqrt");
	assert_string_equal(op_of("inverse"), "Reciprocal");
	assert_int_equal(input_of("inverse", 0), sp_number_of("exp"));
	assert_int_equal(input_of("dots", 1), sp_number_of("x"));
	assert_ok(sp_node_attr_bool(&sp_imported.nodes[sp_number_of("dots")], "adj_y", false, &flag,
				    &sp_imported_err),
		  &sp_imported_err);
	assert_true(flag);
	assert_int_equal(input_of("other", 1), sp_number_of("moved"));
}

/* Behind a product of matrices there are two dimensions; of what is fed nothing is known. */
static void what_may_have_any_shape_keeps_its_functions(void **state)
{
	const sp_tensor one = {.dtype = SP_FLOAT, .count = 1, .data = &(float){1}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("y", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("1", "Const"), ATTRS(TENSOR("value", &one))},
		{NODE("rows", "MatMul"), INPUTS("y", "y"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("sum", "AddV2"), INPUTS("1", "rows"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log1p", "Log"), INPUTS("sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("exp", "Exp"), INPUTS("rows"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("expm1", "Sub"), INPUTS("exp", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("inverse", "RealDiv"), INPUTS("1", "rows"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("fed sum", "AddV2"), INPUTS("1", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("fed log1p", "Log"), INPUTS("fed sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("fed exp", "Exp"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("fed expm1", "Sub"), INPUTS("fed exp", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("fed inverse", "RealDiv"), INPUTS("1", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"),
		 INPUTS("log1p", "expm1", "inverse", "fed log1p", "fed expm1", "fed inverse")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, NULL);
	assert_string_equal(op_of("log1p"), "Log1p");
	assert_string_equal(op_of("expm1"), "Expm1");
	assert_string_equal(op_of("inverse"), "Reciprocal");
	assert_string_equal(op_of("fed log1p"), "Log");
	assert_string_equal(op_of("fed expm1"), "Sub");
	assert_string_equal(op_of("fed inverse"), "RealDiv");
}

/* Of what a product of matrices reads all other readers know the rank, but not of what they make.
 */
static void what_others_say_of_a_shape_counts_for_functions_of_it(void **state)
{
	const sp_tensor one = {.dtype = SP_FLOAT, .count = 1, .data = &(float){1}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("1", "Const"), ATTRS(TENSOR("value", &one))},
		{NODE("sum", "AddV2"), INPUTS("1", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log1p", "Log"), INPUTS("sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("square", "Mul"), INPUTS("x", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("sum of square", "AddV2"), INPUTS("square", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log1p of square", "Log"), INPUTS("sum of square"),
		 ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("double", "AddV2"), INPUTS("x", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("sum of double", "AddV2"), INPUTS("double", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log of double", "Log"), INPUTS("sum of double"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("exp", "Exp"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("expm1", "Sub"), INPUTS("exp", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("exp of shared", "Exp"), INPUTS("square"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("shared", "Sub"), INPUTS("exp of shared", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("abs", "Abs"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("own square", "Mul"), INPUTS("abs", "abs"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("exp of square", "Exp"), INPUTS("own square"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("less", "Sub"), INPUTS("exp of square", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("inverse", "RealDiv"), INPUTS("1", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("product", "MatMul"), INPUTS("x", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"), INPUTS("log1p", "log1p of square", "log of double",
						  "expm1", "shared", "less", "inverse", "product")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, NULL);
	assert_string_equal(op_of("log1p"), "Log1p");
	assert_string_equal(op_of("log1p of square"), "Log1p");
	assert_string_equal(op_of("log of double"), "Log");
	assert_string_equal(op_of("expm1"), "Expm1");
	assert_string_equal(op_of("shared"), "Expm1");
	assert_string_equal(op_of("less"), "Sub");
	assert_string_equal(op_of("inverse"), "RealDiv");
}

static void a_softmax_that_others_read_keeps_its_logarithm(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("a", "Softmax"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log a", "Log"), INPUTS("a"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("y", "Neg"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("b", "Softmax"), INPUTS("y"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log b", "Log"), INPUTS("b"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("z", "Abs"), INPUTS("x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("c", "Softmax"), INPUTS("z"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log c", "Log"), INPUTS("c"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("-log c", "Neg"), INPUTS("log c"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"), INPUTS("log a", "log b", "b", "-log c")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, NULL);
	assert_string_equal(op_of("log a"), "LogSoftmax");
	assert_string_equal(op_of("log b"), "Log");
	assert_string_equal(op_of("log c"), "Log");
}

/* Whether the node waits for "check", and for nothing else. */
static bool waits(const char *name)
{
	const sp_node *node = &sp_imported.nodes[sp_number_of(name)];

	for (size_t k = 0; k < node->control_count; k++)
		if (node->controls[k] != sp_number_of("check"))
			return false;
	return node->control_count != 0;
}

static void what_a_left_out_node_waits_for_its_reader_waits_for(void **state)
{
	const sp_tensor one = {.dtype = SP_FLOAT, .count = 1, .data = &(float){1}};
	const sp_tensor three = {.dtype = SP_FLOAT, .count = 1, .data = &(float){3}};
	const sp_tensor perm = {.dtype = SP_INT32,
				.shape = sp_shape_vector(2),
				.count = 2,
				.data = (int32_t[]){1, 0}};
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("check", "Assert"), INPUTS("x", "x")},
		{NODE("1", "Const"), INPUTS("^check"), ATTRS(TENSOR("value", &one))},
		{NODE("3", "Const"), INPUTS("^check"), ATTRS(TENSOR("value", &three))},
		{NODE("perm", "Const"), INPUTS("^check"), ATTRS(TENSOR("value", &perm))},
		{NODE("cube", "Pow"), INPUTS("x", "3"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("scaled", "Mul"), INPUTS("cube", "3"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("sum", "AddV2"), INPUTS("x", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log1p", "Log"), INPUTS("sum"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("exp", "Exp"), INPUTS("x", "^check"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("expm1", "Sub"), INPUTS("exp", "1"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("softmax", "Softmax"), INPUTS("x", "^check"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("log softmax", "Log"), INPUTS("softmax"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("inverse", "RealDiv"), INPUTS("1", "x"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("turned", "Transpose"), INPUTS("x", "perm"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("product", "MatMul"), INPUTS("x", "turned"), ATTRS(TYPE("T", SP_FLOAT))},
		{NODE("end", "IdentityN"),
		 INPUTS("scaled", "log1p", "expm1", "log softmax", "inverse", "product")},
	};
	static const struct {
		const char *node, *op;
	} reduced[] = {{"scaled", "_ScaledCube"}, {"log1p", "Log1p"},
		       {"expm1", "Expm1"},        {"log softmax", "LogSoftmax"},
		       {"inverse", "Reciprocal"}, {"product", "MatMul"}};
	bool fed[32] = {false}, kept[32] = {false};

	(void)state;
	simplify(nodes, COUNT(nodes), "end");
	kept[sp_number_of("end")] = true;
	assert_ok(sp_graph_reduce_strength(&sp_imported, fed, kept, &sp_imported_err),
		  &sp_imported_err);
	for (size_t i = 0; i < COUNT(reduced); i++) {
		assert_string_equal(op_of(reduced[i].node), reduced[i].op);
		assert_true(waits(reduced[i].node));
	}
	assert_int_equal(input_of("product", 1), sp_number_of("x"));
}

#define FLOATS(node_name, op_name, ...)                                                   \
	{                                                                                 \
		NODE(node_name, op_name), INPUTS(__VA_ARGS__), ATTRS(TYPE("T", SP_FLOAT)) \
	}

static bool is_biased(const char *name)
{
	return sp_node_attr(&sp_imported.nodes[sp_number_of(name)], SP_BIASED_PRODUCT) != NULL;
}

static void products_are_marked_that_are_joined_with_a_bias(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("b", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("check", "Assert"), INPUTS("x", "x")},
		FLOATS("joined", "MatMul", "x", "b"),
		FLOATS("bias", "BiasAdd", "joined", "b"),
		FLOATS("shared", "MatMul", "b", "x"),
		FLOATS("one bias", "BiasAdd", "shared", "b"),
		FLOATS("other bias", "BiasAdd", "shared", "x"),
		FLOATS("wanted", "MatMul", "b", "b"),
		FLOATS("bias of wanted", "BiasAdd", "wanted", "b"),
		FLOATS("waited for", "MatMul", "x", "x"),
		FLOATS("waiting bias", "BiasAdd", "waited for", "b", "^check"),
		FLOATS("plain sum", "MatMul", "x", "bias"),
		FLOATS("sum", "AddV2", "plain sum", "b"),
		{NODE("end", "IdentityN"),
		 INPUTS("bias", "one bias", "other bias", "bias of wanted", "waiting bias", "sum")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, "wanted");
	assert_true(is_biased("joined"));
	assert_false(is_biased("shared"));
	assert_false(is_biased("wanted"));
	assert_false(is_biased("waited for"));
	assert_false(is_biased("plain sum"));
}

static void elu_is_joined_with_a_layer_that_nobody_else_looks_at(void **state)
{
	const sp_node_def nodes[] = {
		{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("b", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("check", "Assert"), INPUTS("x", "x")},
		FLOATS("product", "MatMul", "x", "b"),
		FLOATS("biased", "BiasAdd", "product", "b"),
		FLOATS("joined", "Elu", "biased"),
		FLOATS("convolution", "Conv2D", "b", "x"),
		FLOATS("biased image", "BiasAdd", "convolution", "b"),
		FLOATS("joined image", "Elu", "biased image"),
		FLOATS("cross", "Conv2D", "b", "b"),
		{NODE("normalised", "FusedBatchNormV3"), INPUTS("cross", "b", "b", "b", "b"),
		 ATTRS(TYPE("T", SP_FLOAT), {.name = "is_training", .kind = SP_ATTR_BOOL})},
		FLOATS("joined normalised", "Elu", "normalised"),
		FLOATS("shared product", "MatMul", "b", "x"),
		FLOATS("biased twice", "BiasAdd", "shared product", "b"),
		FLOATS("biased otherwise", "BiasAdd", "shared product", "x"),
		FLOATS("not its own", "Elu", "biased twice"),
		FLOATS("other product", "MatMul", "b", "b"),
		FLOATS("kept bias", "BiasAdd", "other product", "b"),
		FLOATS("of a kept one", "Elu", "kept bias"),
		FLOATS("third product", "MatMul", "x", "x"),
		FLOATS("third bias", "BiasAdd", "third product", "b"),
		FLOATS("waiting", "Elu", "third bias", "^check"),
		FLOATS("plain bias", "BiasAdd", "x", "b"),
		FLOATS("no layer", "Elu", "plain bias"),
		{NODE("end", "IdentityN"),
		 INPUTS("joined", "joined image", "joined normalised", "not its own",
			"biased otherwise", "of a kept one", "waiting", "no layer")},
	};

	(void)state;
	reduce(nodes, COUNT(nodes), NULL, "kept bias");
	assert_string_equal(op_of("joined"), "_RowElu");
	assert_string_equal(op_of("joined image"), "_RowElu");
	assert_string_equal(op_of("joined normalised"), "_RowElu");
	assert_string_equal(op_of("not its own"), "Elu");
	assert_string_equal(op_of("of a kept one"), "Elu");
	assert_string_equal(op_of("waiting"), "Elu");
	assert_string_equal(op_of("no layer"), "Elu");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(equal_nodes_become_one),
		TEST(a_product_that_is_joined_with_a_bias_stays_apart),
		TEST(equal_constants_become_one),
		TEST(what_is_what_its_name_says_stays_apart),
		TEST(nobody_reads_through_an_identity),
		TEST(nodes_go_behind_what_they_need),
		TEST(powers_and_quotients_are_what_tensorflow_makes_of_them),
		TEST(functions_and_products_are_what_tensorflow_makes_of_them),
		TEST(what_may_have_any_shape_keeps_its_functions),
		TEST(what_others_say_of_a_shape_counts_for_functions_of_it),
		TEST(a_softmax_that_others_read_keeps_its_logarithm),
		TEST(what_a_left_out_node_waits_for_its_reader_waits_for),
		TEST(products_are_marked_that_are_joined_with_a_bias),
		TEST(elu_is_joined_with_a_layer_that_nobody_else_looks_at),
		TEST(nodes_in_a_circle_are_refused),
	};
	return cmocka_run_group_tests_name("fuse", tests, NULL, NULL);
}
