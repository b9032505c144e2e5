/* What is known of shapes before any request. */
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "engine/static_shapes.h"
#include "tests/support/imported_graph.h"

static sp_static_shapes shapes;

/* Imports what "end" reaches; placeholders are fed. */
static void infer(const sp_node_def *nodes, size_t count)
{
	sp_imported_take(nodes, count);
	assert_ok(sp_static_shapes_infer(&sp_imported, sp_imported_placeholders(),
					 sp_imported_arena, &shapes, &sp_imported_err),
		  &sp_imported_err);
}

static sp_static_shape shape_of(const char *name)
{
	return sp_static_shape_of(&shapes, (sp_port){sp_number_of(name), 0});
}

/* "[?,4]", "?" when not even the rank is known, or "fed" when that is because it is. */
static void assert_shape(const char *name, const char *expected)
{
	sp_static_shape shape = shape_of(name);
	char text[128] = "?";
	size_t used = 0;

	if (shape.rank == SP_RANK_OPEN)
		strcpy(text, "fed");

	for (int32_t i = 0; i < shape.rank; i++) {
		const char *before = i == 0 ? "[" : ",";

		if (shape.dims[i] < 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s?", before);
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld", before,
						 (long long)shape.dims[i]);
	}
	if (shape.rank >= 0)
		snprintf(text + used, sizeof(text) - used, "%s]", shape.rank == 0 ? "[" : "");
	assert_string_equal(text, expected);
}

static int64_t name_of(const char *node, int i)
{
	sp_static_shape shape = shape_of(node);

	assert_in_range(i, 0, shape.rank - 1);
	assert_true(shape.dims[i] < 0);
	return shape.dims[i];
}

static float numbers[64];
static int32_t ints[][4] = {{-1, 4}, {0},    {1}, {2, 0, 1}, {-1, 2, 4}, {-1},
			    {3, 8},  {0, 1}, {5}, {1, 0},    {3},        {2}};
static int32_t pairs[4];

#define INT_VECTOR(at, n)                                                           \
	{                                                                           \
		.dtype = SP_INT32, .shape = {.rank = 1, .dims = {n}}, .count = (n), \
		.data = ints[at]                                                    \
	}
#define INT_SCALAR(at)                                          \
	{                                                       \
		.dtype = SP_INT32, .count = 1, .data = ints[at] \
	}
static const sp_tensor by_4 = INT_VECTOR(0, 2), only_0 = INT_VECTOR(1, 1),
		       only_1 = INT_VECTOR(2, 1);
static const sp_tensor turn = INT_VECTOR(3, 3), by_2_by_4 = INT_VECTOR(4, 3);
static const sp_tensor three_by_8 = INT_VECTOR(6, 2), zero_one = INT_VECTOR(7, 2);
static const sp_tensor zero = INT_SCALAR(1), one = INT_SCALAR(2), last = INT_SCALAR(5);
static const sp_tensor five = INT_SCALAR(8), one_zero = INT_VECTOR(9, 2);
static const sp_tensor three = INT_SCALAR(10), two = INT_SCALAR(11);
static const sp_tensor zero_pairs = {
	.dtype = SP_INT32, .shape = {.rank = 2, .dims = {2, 2}}, .count = 4, .data = pairs};
static const sp_tensor kernel = {
	.dtype = SP_FLOAT, .shape = {.rank = 2, .dims = {4, 8}}, .count = 32, .data = numbers};
static const sp_tensor bias = {
	.dtype = SP_FLOAT, .shape = {.rank = 1, .dims = {8}}, .count = 8, .data = numbers};

#define INT(key, value)                                          \
	{                                                        \
		.name = (key), .kind = SP_ATTR_INT, .i = (value) \
	}
#define YES(key)                                               \
	{                                                      \
		.name = (key), .kind = SP_ATTR_BOOL, .b = true \
	}
#define CONST(name, tensor)                                            \
	{                                                              \
		NODE(name, "Const"), ATTRS(TENSOR("value", &(tensor))) \
	}
#define START                                                                                    \
	{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))}, CONST("by 4", by_4),         \
		CONST("kernel", kernel), CONST("bias", bias), CONST("0", zero), CONST("1", one), \
		CONST("-1", last), CONST("[0]", only_0), CONST("[1]", only_1),                   \
	{                                                                                        \
		NODE("m", "Reshape"), INPUTS("x", "by 4")                                        \
	}

static void layers_keep_the_rows(void **state)
{
	const sp_node_def nodes[] = {
		START,
		{NODE("abs", "Abs"), INPUTS("x")},
		{NODE("product", "MatMul"), INPUTS("m", "kernel")},
		{NODE("fed product", "MatMul"), INPUTS("x", "kernel")},
		{NODE("turned", "MatMul"), INPUTS("m", "m"), ATTRS(YES("transpose_a"))},
		{NODE("layer", "BiasAdd"), INPUTS("product", "bias")},
		{NODE("relu", "Relu"), INPUTS("layer")},
		{NODE("mean", "Mean"), INPUTS("relu", "-1"), ATTRS(YES("keep_dims"))},
		{NODE("sum", "Sum"), INPUTS("relu", "[1]")},
		{NODE("centred", "Sub"), INPUTS("relu", "mean")},
		{NODE("both", "Sub"), INPUTS("relu", "fed product")},
		{NODE("with fed", "Sub"), INPUTS("relu", "x")},
		{NODE("sum of fed", "Sum"), INPUTS("with fed", "-1")},
		{NODE("other", "Einsum"), INPUTS("relu")},
		{NODE("sum of other", "Sum"), INPUTS("other", "-1")},
		{NODE("joined", "ConcatV2"), INPUTS("relu", "m", "-1")},
		{NODE("under", "ConcatV2"), INPUTS("m", "m", "0")},
		{NODE("with what is fed", "ConcatV2"), INPUTS("relu", "x", "1")},
		{NODE("all", "AddN"), INPUTS("x", "relu", "fed product")},
		{NODE("end", "IdentityN"),
		 INPUTS("abs", "turned", "sum", "centred", "both", "with fed", "joined", "under",
			"with what is fed", "all", "sum of fed", "sum of other")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("x", "fed");
	assert_shape("abs", "fed");
	assert_shape("m", "[?,4]");
	assert_shape("product", "[?,8]");
	assert_shape("fed product", "[?,8]");
	assert_shape("turned", "[4,4]");
	assert_shape("mean", "[?,1]");
	assert_shape("sum", "[?]");
	assert_shape("centred", "[?,8]");
	assert_shape("both", "[?,8]");
	assert_shape("with fed", "fed");
	assert_shape("sum of fed", "fed");
	assert_shape("sum of other", "?");
	assert_shape("joined", "[?,12]");
	assert_shape("under", "[?,4]");
	assert_shape("with what is fed", "[?,?]");
	assert_shape("all", "[?,8]");
	assert_int_equal(name_of("centred", 0), name_of("m", 0));
	assert_int_equal(name_of("sum", 0), name_of("m", 0));
	assert_int_equal(name_of("joined", 0), name_of("m", 0));
	assert_int_equal(name_of("all", 0), name_of("m", 0));
	assert_int_not_equal(name_of("under", 0), name_of("m", 0));
	assert_int_not_equal(name_of("fed product", 0), name_of("m", 0));
	assert_int_not_equal(name_of("both", 0), name_of("m", 0));
	assert_int_not_equal(name_of("both", 0), name_of("fed product", 0));
}

static void parts_and_turns_are_followed(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("turn", turn),
		CONST("by 2 by 4", by_2_by_4),
		CONST("0 1", zero_one),
		CONST("5", five),
		{NODE("cube", "Reshape"), INPUTS("x", "by 2 by 4")},
		{NODE("moved", "Transpose"), INPUTS("cube", "turn")},
		{NODE("dots", "BatchMatMulV2"), INPUTS("cube", "cube"), ATTRS(YES("adj_y"))},
		{NODE("part", "StridedSlice"), INPUTS("cube", "[0]", "[1]", "[1]"),
		 ATTRS(INT("begin_mask", 1), INT("end_mask", 1))},
		{NODE("row", "StridedSlice"), INPUTS("moved", "[0]", "[1]", "[1]"),
		 ATTRS(INT("shrink_axis_mask", 1))},
		{NODE("flat", "Reshape"), INPUTS("cube", "by 4")},
		{NODE("back", "Reshape"), INPUTS("m", "by 4")},
		{NODE("wide", "ExpandDims"), INPUTS("m", "1")},
		{NODE("narrow", "Squeeze"), INPUTS("wide"),
		 ATTRS({.name = "squeeze_dims",
			.kind = SP_ATTR_LIST,
			.element = SP_ATTR_INT,
			.count = 1,
			.i_list = (int64_t[]){1}})},
		{NODE("any narrow", "Squeeze"), INPUTS("wide")},
		{NODE("pair", "Pack"), INPUTS("m", "m"), ATTRS(INT("axis", 1))},
		{NODE("halves", "Split"), INPUTS("1", "m"), ATTRS(INT("num_split", 2))},
		{NODE("rows", "GatherV2"), INPUTS("kernel", "m", "0")},
		{NODE("hot", "OneHot"), INPUTS("m", "5", "1", "0")},
		{NODE("bags", "SparseSegmentMean"), INPUTS("kernel", "x", "x")},
		{NODE("range", "Range"), INPUTS("0", "5", "1")},
		{NODE("fed range", "Range"), INPUTS("0", "x", "1")},
		{NODE("places", "Pack"), INPUTS("range", "x"), ATTRS(INT("axis", 1))},
		{NODE("picked", "GatherNd"), INPUTS("cube", "places")},
		{NODE("fed turn", "Transpose"), INPUTS("x", "turn")},
		{NODE("end", "IdentityN"),
		 INPUTS("dots", "part", "row", "flat", "back", "narrow", "any narrow", "pair",
			"halves", "rows", "hot", "bags", "picked", "fed range", "fed turn", "0 1")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("moved", "[4,?,2]");
	assert_shape("dots", "[?,2,2]");
	assert_shape("part", "[?,2,4]");
	assert_shape("row", "[?,2]");
	assert_shape("flat", "[?,4]");
	assert_shape("back", "[?,4]");
	assert_shape("wide", "[?,1,4]");
	assert_shape("narrow", "[?,4]");
	assert_shape("any narrow", "?");
	assert_shape("pair", "[?,2,4]");
	assert_shape("halves", "[?,2]");
	assert_shape("rows", "[?,4,8]");
	assert_shape("hot", "[?,4,5]");
	assert_shape("bags", "[?,8]");
	assert_shape("range", "[5]");
	assert_shape("fed range", "[?]");
	assert_shape("places", "[5,2]");
	assert_shape("picked", "[5,4]");
	assert_shape("fed turn", "[?,?,?]");
	assert_int_equal(name_of("moved", 1), name_of("cube", 0));
	assert_int_equal(name_of("back", 0), name_of("m", 0));
	assert_int_equal(name_of("narrow", 0), name_of("m", 0));
	assert_int_not_equal(name_of("part", 0), name_of("cube", 0));
	assert_int_not_equal(name_of("flat", 0), name_of("cube", 0));
}

static void sizes_are_followed_to_where_they_make_shapes(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("[3,8]", three_by_8),
		{NODE("shape", "Shape"), INPUTS("m")},
		{NODE("count", "StridedSlice"), INPUTS("shape", "[0]", "[1]", "[1]"),
		 ATTRS(INT("shrink_axis_mask", 1))},
		{NODE("head", "StridedSlice"), INPUTS("shape", "[0]", "[1]", "[1]")},
		{NODE("tail", "StridedSlice"), INPUTS("shape", "[1]", "[0]", "[1]"),
		 ATTRS(INT("end_mask", 1))},
		{NODE("packed", "Pack"), INPUTS("count", "1", "count")},
		{NODE("listed", "ConcatV2"), INPUTS("head", "[1]", "tail", "0")},
		{NODE("of pack", "Fill"), INPUTS("packed", "x")},
		{NODE("of list", "Fill"), INPUTS("listed", "x")},
		{NODE("of shape", "BroadcastTo"), INPUTS("x", "shape")},
		{NODE("of cast", "Cast"), INPUTS("shape")},
		{NODE("lost", "Fill"), INPUTS("of cast", "x")},
		{NODE("of all", "Fill"), INPUTS("x", "x")},
		{NODE("known", "Fill"), INPUTS("[3,8]", "x")},
		{NODE("repeated", "Tile"), INPUTS("m", "[3,8]")},
		{NODE("end", "IdentityN"),
		 INPUTS("of pack", "of list", "of shape", "lost", "of all", "known", "repeated")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("shape", "[2]");
	assert_shape("count", "[]");
	assert_shape("of pack", "[?,1,?]");
	assert_shape("of list", "[?,1,4]");
	assert_shape("of shape", "[?,4]");
	assert_shape("lost", "[?,?]");
	assert_shape("of all", "?");
	assert_shape("known", "[3,8]");
	assert_shape("repeated", "[?,32]");
	assert_int_equal(name_of("of shape", 0), name_of("m", 0));
	assert_int_equal(name_of("of list", 0), name_of("m", 0));
	assert_int_not_equal(name_of("of pack", 0), name_of("m", 0));
	assert_int_not_equal(name_of("of pack", 0), name_of("of pack", 2));
	assert_int_not_equal(name_of("lost", 0), name_of("m", 0));
}

static void variables_have_the_shape_they_were_declared_with(void **state)
{
	const sp_partial_shape declared = {.rank = 2, .dims = {-1, 8}};
	const sp_node_def nodes[] = {
		{NODE("v", "VarHandleOp"),
		 ATTRS(TYPE("dtype", SP_FLOAT),
		       {.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &declared})},
		{NODE("w", "VarHandleOp"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("a", "ReadVariableOp"), INPUTS("v")},
		{NODE("b", "ReadVariableOp"), INPUTS("w")},
		{NODE("end", "IdentityN"), INPUTS("a", "b")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("a", "[?,8]");
	assert_shape("b", "?");
}

static void arrays_say_what_their_elements_are(void **state)
{
	const sp_partial_shape rows = {.rank = 2, .dims = {-1, 8}}, any = {.rank = -1};
	const sp_attr of_rows = {.name = "element_shape", .kind = SP_ATTR_SHAPE, .shape = &rows};
	const sp_attr of_any = {.name = "element_shape", .kind = SP_ATTR_SHAPE, .shape = &any};
	const sp_node_def nodes[] = {
		START,
		CONST("2", two),
		CONST("3", three),
		CONST("5", five),
		CONST("[-1,4]", by_4),
		CONST("[1,0]", one_zero),
		{NODE("array", "TensorArrayV3"), INPUTS("5"),
		 ATTRS(of_rows, YES("identical_element_shapes"))},
		{NODE("mixed", "TensorArrayV3"), INPUTS("5"), ATTRS(of_rows)},
		{NODE("bare", "TensorArrayV3"), INPUTS("5"),
		 ATTRS(of_any, YES("identical_element_shapes"))},
		{NODE("places", "Range"), INPUTS("0", "5", "1")},
		{NODE("some", "Range"), INPUTS("0", "x", "1")},
		{NODE("a", "TensorArrayGatherV3"), INPUTS("array", "places", "array:1"),
		 ATTRS(of_rows)},
		{NODE("b", "TensorArrayGatherV3"), INPUTS("array", "some", "array:1"),
		 ATTRS(of_rows)},
		{NODE("c", "TensorArrayGatherV3"), INPUTS("mixed", "some", "mixed:1"),
		 ATTRS(of_rows)},
		{NODE("d", "TensorArrayGatherV3"), INPUTS("mixed", "some", "mixed:1"),
		 ATTRS(of_rows)},
		{NODE("e", "TensorArrayGatherV3"), INPUTS("bare", "some", "bare:1"),
		 ATTRS(of_rows)},
		{NODE("rest", "Range"), INPUTS("2", "3", "1")},
		{NODE("order", "ConcatV2"), INPUTS("[1,0]", "rest", "0")},
		{NODE("turned", "Transpose"), INPUTS("b", "order")},
		{NODE("turned fed", "Transpose"), INPUTS("x", "order")},
		{NODE("list", "TensorListReserve"), INPUTS("[-1,4]", "5")},
		{NODE("stack", "TensorListStack"), INPUTS("list", "[-1,4]")},
		{NODE("stack of 3", "TensorListStack"), INPUTS("list", "[-1,4]"),
		 ATTRS(INT("num_elements", 3))},
		{NODE("stack of any", "TensorListStack"), INPUTS("list", "-1")},
		{NODE("reversed", "ReverseSequence"), INPUTS("stack", "places"),
		 ATTRS(INT("batch_dim", 1))},
		{NODE("end", "IdentityN"), INPUTS("a", "c", "d", "e", "turned", "turned fed",
						  "stack of 3", "stack of any", "reversed")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("a", "[5,?,8]");
	assert_shape("b", "[?,?,8]");
	assert_shape("c", "[?,?,8]");
	assert_shape("e", "fed");
	assert_shape("turned", "[?,?,8]");
	assert_shape("turned fed", "[?,?,?]");
	assert_shape("stack", "[?,?,4]");
	assert_shape("stack of 3", "[3,?,4]");
	assert_shape("stack of any", "?");
	assert_shape("reversed", "[?,5,4]");
	assert_int_equal(name_of("a", 1), name_of("b", 1));
	assert_int_equal(name_of("turned", 0), name_of("b", 1));
	assert_int_equal(name_of("turned", 1), name_of("b", 0));
	assert_int_not_equal(name_of("c", 1), name_of("d", 1));
}

static void sums_of_parts_are_as_many_as_they_say(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("5", five),
		CONST("[3,8]", three_by_8),
		CONST("ids", zero_one),
		{NODE("sparse", "SparseTensorDenseMatMul"),
		 INPUTS("ids", "bias", "[3,8]", "kernel")},
		{NODE("turned", "SparseTensorDenseMatMul"),
		 INPUTS("ids", "bias", "[3,8]", "kernel"),
		 ATTRS(YES("adjoint_a"), YES("adjoint_b"))},
		{NODE("by fed", "SparseTensorDenseMatMul"), INPUTS("ids", "bias", "x", "kernel")},
		{NODE("fed", "SparseTensorDenseMatMul"), INPUTS("ids", "bias", "[3,8]", "x")},
		{NODE("parts", "UnsortedSegmentSum"), INPUTS("kernel", "ids", "5")},
		{NODE("largest", "UnsortedSegmentMax"), INPUTS("m", "kernel", "5")},
		{NODE("some", "UnsortedSegmentSum"), INPUTS("kernel", "ids", "x")},
		{NODE("fed ids", "UnsortedSegmentSum"), INPUTS("kernel", "x", "5")},
		{NODE("sorted", "SegmentSum"), INPUTS("kernel", "ids")},
		{NODE("counted", "SparseSegmentMeanWithNumSegments"),
		 INPUTS("kernel", "ids", "ids", "5")},
		{NODE("end", "IdentityN"),
		 INPUTS("sparse", "turned", "by fed", "fed", "parts", "largest", "some", "fed ids",
			"sorted", "counted")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("sparse", "[3,8]");
	assert_shape("turned", "[8,4]");
	assert_shape("by fed", "[?,8]");
	assert_shape("fed", "[3,?]");
	assert_shape("parts", "[5,8]");
	assert_shape("largest", "[5]");
	assert_shape("some", "[?,8]");
	assert_shape("fed ids", "fed");
	assert_shape("sorted", "[?,8]");
	assert_shape("counted", "[5,8]");
}

static bool is_open(const char *name)
{
	return sp_static_shape_is_open(&shapes, (sp_port){sp_number_of(name), 0});
}

#define FED(name)                                                         \
	{                                                                 \
		NODE(name, "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT)) \
	}

static void readers_that_demand_a_rank_tell_the_others(void **state)
{
	const sp_partial_shape rows = {.rank = 2, .dims = {-1, 8}}, any = {.rank = -1};
	const sp_node_def nodes[] = {
		START,
		CONST("turn", turn),
		CONST("pairs", zero_pairs),
		FED("a"),
		FED("b"),
		FED("c"),
		FED("d"),
		FED("e"),
		FED("f"),
		FED("g"),
		FED("h"),
		FED("i"),
		FED("j"),
		FED("k"),
		{NODE("relu", "Relu"), INPUTS("a")},
		{NODE("abs", "Abs"), INPUTS("relu")},
		{NODE("product", "MatMul"), INPUTS("relu", "kernel")},
		{NODE("turned", "Transpose"), INPUTS("b", "turn")},
		{NODE("ensured", "EnsureShape"), INPUTS("c"),
		 ATTRS({.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &rows})},
		{NODE("as it is", "EnsureShape"), INPUTS("d"),
		 ATTRS({.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &any})},
		{NODE("sum of known", "AddN"), INPUTS("e", "kernel")},
		{NODE("sum of fed", "AddN"), INPUTS("f", "g", "h")},
		{NODE("shift", "Add"), INPUTS("i", "g")},
		{NODE("biased", "BiasAdd"), INPUTS("i", "bias")},
		{NODE("product of g", "MatMul"), INPUTS("g", "kernel")},
		{NODE("product of biased", "MatMul"), INPUTS("biased", "shift")},
		{NODE("padded", "Pad"), INPUTS("j", "pairs")},
		{NODE("packed", "Pack"), INPUTS("k", "as it is")},
		{NODE("end", "IdentityN"),
		 INPUTS("abs", "product", "turned", "ensured", "as it is", "sum of known",
			"sum of fed", "shift", "biased", "product of g", "product of biased",
			"padded", "packed")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	for (const char *learned = "a\0b\0c\0e\0f\0g\0h\0j\0"; *learned != '\0'; learned += 2)
		assert_false(is_open(learned));
	for (const char *open = "d\0i\0k\0"; *open != '\0'; open += 2)
		assert_true(is_open(open));
	assert_false(is_open("abs"));
	assert_false(is_open("sum of fed"));
	assert_false(is_open("shift"));
	assert_false(is_open("biased"));
	assert_true(is_open("as it is"));
	assert_true(is_open("packed"));
	assert_shape("a", "fed");
	assert_shape("ensured", "[?,8]");
	assert_shape("padded", "[?,?]");
	assert_shape("packed", "fed");
}

static void what_is_wanted_to_be_equal_is_told(void **state)
{
	const sp_node_def nodes[] = {
		START,
		FED("a"),
		FED("b"),
		FED("c"),
		FED("d"),
		FED("e"),
		FED("f"),
		{NODE("product", "MatMul"), INPUTS("a", "kernel")},
		{NODE("shift", "AddV2"), INPUTS("b", "bias")},
		{NODE("other", "MatMul"), INPUTS("c", "kernel")},
		{NODE("sum", "AddN"), INPUTS("product", "shift", "other")},
		{NODE("again", "MatMul"), INPUTS("sum", "d")},
		{NODE("unequal", "AddV2"), INPUTS("e", "product")},
		{NODE("one of f", "MatMul"), INPUTS("f", "kernel")},
		{NODE("two of f", "MatMul"), INPUTS("f", "kernel")},
		{NODE("end", "IdentityN"), INPUTS("again", "unequal", "one of f", "two of f")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("a", "fed");
	assert_shape("shift", "fed");
	sp_static_shapes_tell(&shapes);
	assert_shape("a", "[?,4]");
	assert_shape("c", "[?,4]");
	assert_shape("d", "[8,?]");
	assert_shape("shift", "[?,8]");
	assert_int_equal(name_of("a", 0), name_of("c", 0));
	assert_int_equal(name_of("a", 0), name_of("shift", 0));
	assert_int_equal(name_of("a", 0), name_of("sum", 0));
	assert_int_not_equal(name_of("a", 0), name_of("d", 1));
	assert_int_equal(name_of("f", 0), name_of("one of f", 0));
	assert_int_not_equal(name_of("f", 0), name_of("two of f", 0));
	assert_shape("b", "fed");
	assert_shape("unequal", "fed");
}

/* The product is the first to say of `a` what it is, and the sum that `m` is like it. */
static void what_is_like_another_is_called_as_that_is_first(void **state)
{
	const sp_node_def nodes[] = {
		START,
		FED("a"),
		FED("b"),
		{NODE("one", "MatMul"), INPUTS("a", "kernel")},
		{NODE("two", "MatMul"), INPUTS("b", "kernel")},
		{NODE("sum", "AddN"), INPUTS("m", "a")},
		{NODE("relu", "Relu"), INPUTS("m")},
		{NODE("part", "Sub"), INPUTS("m", "m")},
		{NODE("end", "IdentityN"), INPUTS("one", "two", "sum", "relu", "part")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_int_equal(name_of("m", 0), name_of("part", 0));
	sp_static_shapes_tell(&shapes);
	assert_shape("a", "[?,4]");
	assert_shape("b", "[?,4]");
	assert_int_equal(name_of("a", 0), name_of("one", 0));
	assert_int_equal(name_of("a", 0), name_of("m", 0));
	assert_int_equal(name_of("a", 0), name_of("relu", 0));
	assert_int_equal(name_of("a", 0), name_of("sum", 0));
	assert_int_not_equal(name_of("a", 0), name_of("part", 0));
	assert_int_not_equal(name_of("a", 0), name_of("b", 0));
}

/* A product comes before a sum that has to wait for another product. */
static void who_comes_first_hangs_on_who_has_to_wait(void **state)
{
	const sp_node_def nodes[] = {
		START,
		FED("a"),
		FED("b"),
		{NODE("b product", "MatMul"), INPUTS("b", "kernel")},
		{NODE("sum", "AddN"), INPUTS("b product", "a")},
		{NODE("a product", "MatMul"), INPUTS("a", "kernel"), ATTRS(YES("transpose_b"))},
		{NODE("end", "IdentityN"), INPUTS("sum", "a product")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	sp_static_shapes_tell(&shapes);
	assert_int_equal(name_of("a", 0), name_of("a product", 0));
	assert_int_equal(name_of("b product", 0), name_of("a", 0));
	assert_int_not_equal(name_of("b", 0), name_of("a", 0));
}

/* The product of `a` and `b` has 4 columns, and 8. */
static void where_numbers_differ_nothing_is_told(void **state)
{
	const sp_node_def nodes[] = {
		START,
		FED("a"),
		FED("b"),
		{NODE("product", "MatMul"), INPUTS("a", "b")},
		{NODE("one", "MatMul"), INPUTS("product", "kernel")},
		{NODE("two", "MatMul"), INPUTS("product", "kernel"), ATTRS(YES("transpose_b"))},
		{NODE("end", "IdentityN"), INPUTS("one", "two")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	sp_static_shapes_tell(&shapes);
	assert_shape("a", "fed");
	assert_shape("product", "[?,?]");
	assert_shape("one", "[?,8]");
	assert_true(is_open("a"));
}

static void joined_parts_have_the_same_rows(void **state)
{
	const sp_node_def nodes[] = {
		START,
		FED("a"),
		FED("b"),
		{NODE("one", "MatMul"), INPUTS("a", "kernel")},
		{NODE("two", "MatMul"), INPUTS("b", "kernel")},
		{NODE("joined", "ConcatV2"), INPUTS("one", "two", "1")},
		{NODE("other", "MatMul"), INPUTS("m", "kernel")},
		{NODE("under", "ConcatV2"), INPUTS("other", "one", "0")},
		{NODE("end", "IdentityN"), INPUTS("joined", "under")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	sp_static_shapes_tell(&shapes);
	assert_int_equal(name_of("one", 0), name_of("two", 0));
	assert_int_not_equal(name_of("one", 0), name_of("other", 0));
}

static void slices_of_nothing_that_is_there_are_unknown(void **state)
{
	int64_t far[] = {INT64_MAX};
	const sp_tensor far_away = {
		.dtype = SP_INT64, .shape = {.rank = 1, .dims = {1}}, .count = 1, .data = far};
	const sp_node_def nodes[] = {
		START,
		CONST("[3,8]", three_by_8),
		CONST("far", far_away),
		{NODE("shape", "Shape"), INPUTS("m")},
		{NODE("no size", "StridedSlice"), INPUTS("shape", "far", "far", "[1]"),
		 ATTRS(INT("shrink_axis_mask", 1))},
		{NODE("of none", "Pack"), INPUTS("no size")},
		{NODE("made", "Fill"), INPUTS("of none", "x")},
		{NODE("no part", "StridedSlice"), INPUTS("m", "far", "far", "[1]")},
		{NODE("two rests", "StridedSlice"), INPUTS("m", "[3,8]", "[3,8]", "[3,8]"),
		 ATTRS(INT("ellipsis_mask", 3))},
		{NODE("end", "IdentityN"), INPUTS("made", "no part", "two rests")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("made", "[?]");
	assert_shape("no part", "[?,4]");
	assert_shape("two rests", "?");
}

/* Four variables of a loop: what the body keeps, what it turns, what it makes longer, what it makes
 * of the second. */
#define FRAME                                                                        \
	{                                                                            \
		.name = "frame_name", .kind = SP_ATTR_BYTES, .bytes = { "frame", 5 } \
	}
#define VARIABLE(enter, first, merge, next, with, exit)        \
	{NODE(enter, "Enter"), INPUTS(first), ATTRS(FRAME)},   \
		{NODE(merge, "Merge"), INPUTS(enter, next)},   \
		{NODE(with, "Switch"), INPUTS(merge, "cond")}, \
	{                                                      \
		NODE(exit, "Exit"), INPUTS(with)               \
	}

static void loops_lose_what_their_bodies_do_not_keep(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("one", one),
		CONST("far", five),
		{NODE("square", "MatMul"), INPUTS("m", "m"), ATTRS(YES("transpose_b"))},
		VARIABLE("enter", "m", "merge", "next", "switch", "kept"),
		VARIABLE("enter_1", "square", "merge_1", "next_1", "switch_1", "turned"),
		VARIABLE("enter_2", "m", "merge_2", "next_2", "switch_2", "longer"),
		VARIABLE("enter_3", "m", "merge_3", "next_3", "switch_3", "of another"),
		VARIABLE("enter_i", "one", "merge_i", "next_i", "switch_i", "count"),
		{NODE("enter_n", "Enter"), INPUTS("far"), ATTRS(FRAME)},
		{NODE("less", "Less"), INPUTS("merge_i", "enter_n")},
		{NODE("cond", "LoopCond"), INPUTS("less")},
		{NODE("wait", "Identity"), INPUTS("switch_i:1")},
		{NODE("axis", "Const"), INPUTS("^wait"), ATTRS(TENSOR("value", &zero))},
		{NODE("more", "AddV2"), INPUTS("switch_i:1", "switch_i:1")},
		{NODE("next_i", "NextIteration"), INPUTS("more")},
		{NODE("relu", "Relu"), INPUTS("switch:1")},
		{NODE("next", "NextIteration"), INPUTS("relu")},
		{NODE("turned around", "MatMul"), INPUTS("switch_1:1", "switch_1:1"),
		 ATTRS(YES("transpose_a"))},
		{NODE("next_1", "NextIteration"), INPUTS("turned around")},
		{NODE("both", "ConcatV2"), INPUTS("switch_2:1", "switch_2:1", "axis")},
		{NODE("next_2", "NextIteration"), INPUTS("both")},
		{NODE("next_3", "NextIteration"), INPUTS("switch_2:1")},
		{NODE("end", "IdentityN"),
		 INPUTS("kept", "turned", "longer", "of another", "count")},
	};
	sp_static_shape outputs[5];
	const sp_node *end;

	(void)state;
	infer(nodes, COUNT(nodes));
	end = sp_node_named("end");
	for (size_t k = 0; k < 5; k++)
		outputs[k] = sp_static_shape_of(&shapes, end->inputs[k]);
	assert_shape("relu", "[?,4]");
	assert_int_equal(name_of("relu", 0), name_of("m", 0));
	assert_int_equal(outputs[0].dims[0], name_of("m", 0));
	assert_int_equal(outputs[1].dims[0], name_of("square", 0));
	assert_int_equal(outputs[1].dims[1], name_of("square", 1));
	assert_shape("both", "[?,4]");
	for (size_t k = 2; k < 4; k++) {
		assert_int_equal(outputs[k].rank, 2);
		assert_true(outputs[k].dims[0] < 0 && outputs[k].dims[0] != name_of("m", 0));
		assert_int_equal(outputs[k].dims[1], 4);
	}
	assert_int_equal(outputs[4].rank, 0);
}

static void several_ways_agree_as_far_as_they_do(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("[3,8]", three_by_8),
		CONST("bool", zero),
		{NODE("yes", "Cast"), INPUTS("bool"), ATTRS(TYPE("DstT", SP_BOOL))},
		{NODE("switch", "Switch"), INPUTS("m", "yes")},
		{NODE("relu", "Relu"), INPUTS("switch")},
		{NODE("product", "MatMul"), INPUTS("switch:1", "switch:1"),
		 ATTRS(YES("transpose_b"))},
		{NODE("layer", "MatMul"), INPUTS("product", "switch:1")},
		{NODE("rows", "Fill"), INPUTS("[3,8]", "x")},
		{NODE("alike", "Merge"), INPUTS("relu", "layer")},
		{NODE("unlike", "Merge"), INPUTS("relu", "rows")},
		{NODE("end", "IdentityN"), INPUTS("alike", "unlike")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("alike", "[?,4]");
	assert_int_equal(name_of("alike", 0), name_of("m", 0));
	assert_shape("unlike", "[?,?]");
	assert_int_not_equal(name_of("unlike", 0), name_of("m", 0));
}

#define TEXT(key, value)                                                                     \
	{                                                                                    \
		.name = (key), .kind = SP_ATTR_BYTES, .bytes = {(value), sizeof(value) - 1 } \
	}
#define INTS(key, ...)                                                                        \
	{                                                                                     \
		.name = (key), .kind = SP_ATTR_LIST, .element = SP_ATTR_INT,                  \
		.count = COUNT(((const int64_t[]){__VA_ARGS__})), .i_list = (const int64_t[]) \
		{                                                                             \
			__VA_ARGS__                                                           \
		}                                                                             \
	}
#define ONES INTS("strides", 1, 1, 1, 1)

static const sp_tensor filter = {.dtype = SP_FLOAT,
				 .shape = {.rank = 4, .dims = {1, 2, 4, 8}},
				 .count = 64,
				 .data = numbers};
static int32_t batch_sizes[] = {-1, 1, 5, 4}, block_1_2[] = {1, 2}, crops[] = {0, 0, 0, 1};
static const sp_tensor image_shape = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {4}}, .count = 4, .data = batch_sizes};
static const sp_tensor block = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = block_1_2};
static const sp_tensor cropped = {
	.dtype = SP_INT32, .shape = {.rank = 2, .dims = {2, 2}}, .count = 4, .data = crops};

static void windows_are_counted(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("filter", filter),
		CONST("image shape", image_shape),
		CONST("block", block),
		CONST("crops", cropped),
		{NODE("image", "Reshape"), INPUTS("x", "image shape")},
		{NODE("valid", "Conv2D"), INPUTS("image", "filter"),
		 ATTRS(ONES, TEXT("padding", "VALID"))},
		{NODE("same", "Conv2D"), INPUTS("image", "filter"),
		 ATTRS(ONES, TEXT("padding", "SAME"))},
		{NODE("strided", "Conv2D"), INPUTS("image", "filter"),
		 ATTRS(INTS("strides", 1, 1, 2, 1), TEXT("padding", "SAME"))},
		{NODE("dilated", "Conv2D"), INPUTS("image", "filter"),
		 ATTRS(ONES, INTS("dilations", 1, 1, 3, 1), TEXT("padding", "VALID"))},
		{NODE("padded", "Conv2D"), INPUTS("image", "filter"),
		 ATTRS(ONES, INTS("explicit_paddings", 0, 0, 0, 0, 2, 1, 0, 0),
		       TEXT("padding", "EXPLICIT"))},
		{NODE("turned", "Conv2D"), INPUTS("image", "filter"),
		 ATTRS(ONES, TEXT("padding", "SAME"), TEXT("data_format", "NCHW"))},
		{NODE("of fed", "Conv2D"), INPUTS("x", "filter"),
		 ATTRS(ONES, TEXT("padding", "SAME"))},
		{NODE("deep", "DepthwiseConv2dNative"), INPUTS("image", "filter"),
		 ATTRS(ONES, TEXT("padding", "SAME"))},
		{NODE("most", "MaxPool"), INPUTS("same"),
		 ATTRS(INTS("ksize", 1, 1, 3, 1), INTS("strides", 1, 1, 2, 1),
		       TEXT("padding", "VALID"))},
		{NODE("mean", "AvgPool"), INPUTS("of fed"),
		 ATTRS(INTS("ksize", 1, 1, 3, 1), ONES, TEXT("padding", "VALID"))},
		{NODE("back", "Conv2DBackpropInput"), INPUTS("image shape", "filter", "same"),
		 ATTRS(ONES, TEXT("padding", "SAME"))},
		{NODE("normal", "FusedBatchNormV3"), INPUTS("of fed", "bias", "bias", "x", "x"),
		 ATTRS(TEXT("data_format", "NHWC"))},
		{NODE("spread", "SpaceToBatchND"), INPUTS("image", "block", "crops")},
		{NODE("gathered", "BatchToSpaceND"), INPUTS("spread", "block", "crops")},
		{NODE("end", "IdentityN"),
		 INPUTS("valid", "same", "strided", "dilated", "padded", "turned", "of fed", "deep",
			"most", "mean", "back", "normal", "gathered")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("valid", "[?,1,4,8]");
	assert_shape("same", "[?,1,5,8]");
	assert_shape("strided", "[?,1,3,8]");
	assert_shape("dilated", "[?,1,2,8]");
	assert_shape("padded", "[?,1,7,8]");
	assert_shape("turned", "?");
	assert_shape("of fed", "[?,?,?,8]");
	assert_shape("deep", "[?,1,5,32]");
	assert_shape("most", "[?,1,2,8]");
	assert_shape("mean", "[?,?,?,8]");
	assert_shape("back", "[?,1,5,4]");
	assert_shape("normal", "[?,?,?,8]");
	assert_shape("spread", "[?,1,3,4]");
	assert_shape("gathered", "[?,1,5,4]");
	assert_int_equal(name_of("same", 0), name_of("image", 0));
	assert_int_equal(name_of("back", 0), name_of("image", 0));
	assert_int_equal(name_of("normal", 1), name_of("of fed", 1));
	assert_int_not_equal(name_of("mean", 2), name_of("of fed", 2));
	assert_int_not_equal(name_of("gathered", 0), name_of("image", 0));
}

static void letters_stand_for_dimensions(void **state)
{
	const sp_node_def nodes[] = {
		START,
		CONST("by 2 by 4", by_2_by_4),
		{NODE("cube", "Reshape"), INPUTS("x", "by 2 by 4")},
		{NODE("layer", "Einsum"), INPUTS("cube", "kernel"),
		 ATTRS(TEXT("equation", "abc,cd->abd"))},
		{NODE("scores", "Einsum"), INPUTS("cube", "cube"),
		 ATTRS(TEXT("equation", "bqd,bkd->bqk"))},
		{NODE("dots", "Einsum"), INPUTS("cube", "kernel"),
		 ATTRS(TEXT("equation", "...c,cd->...d"))},
		{NODE("stretched", "Einsum"), INPUTS("cube", "cube"),
		 ATTRS(TEXT("equation", "...ij,...kj->k...i"))},
		{NODE("of fed", "Einsum"), INPUTS("x", "kernel"),
		 ATTRS(TEXT("equation", "abc,cd->abd"))},
		{NODE("fed dots", "Einsum"), INPUTS("x", "kernel"),
		 ATTRS(TEXT("equation", "...c,cd->...d"))},
		{NODE("diagonal", "Einsum"), INPUTS("cube"), ATTRS(TEXT("equation", "abc->c"))},
		{NODE("too many", "Einsum"), INPUTS("m"), ATTRS(TEXT("equation", "abc->c"))},
		{NODE("too few", "Einsum"), INPUTS("cube"), ATTRS(TEXT("equation", "a->a"))},
		{NODE("no such letter", "Einsum"), INPUTS("cube"),
		 ATTRS(TEXT("equation", "abc->d"))},
		{NODE("half a dot", "Einsum"), INPUTS("cube"), ATTRS(TEXT("equation", "ab.->."))},
		{NODE("end", "IdentityN"),
		 INPUTS("layer", "scores", "dots", "stretched", "of fed", "fed dots", "diagonal",
			"too many", "too few", "no such letter", "half a dot")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("layer", "[?,2,8]");
	assert_shape("scores", "[?,2,2]");
	assert_shape("dots", "[?,2,8]");
	assert_shape("stretched", "[2,?,2]");
	assert_shape("of fed", "[?,?,8]");
	assert_shape("fed dots", "fed");
	assert_shape("diagonal", "[4]");
	assert_shape("too many", "?");
	assert_shape("too few", "?");
	assert_shape("no such letter", "?");
	assert_int_equal(name_of("layer", 0), name_of("cube", 0));
	assert_int_equal(name_of("dots", 0), name_of("cube", 0));
}

static void what_is_picked_is_as_many_as_asked_for(void **state)
{
	const sp_attr loose = {.name = "incompatible_shape_error", .kind = SP_ATTR_BOOL};
	const sp_node_def nodes[] = {
		START,
		CONST("by 2 by 4", by_2_by_4),
		CONST("3", three),
		CONST("[3,8]", three_by_8),
		{NODE("cube", "Reshape"), INPUTS("x", "by 2 by 4")},
		{NODE("best", "TopKV2"), INPUTS("cube", "3")},
		{NODE("best of old", "TopK"), INPUTS("cube"), ATTRS(INT("k", 2))},
		{NODE("rows", "GatherV2"), INPUTS("cube", "m", "1"), ATTRS(INT("batch_dims", 1))},
		{NODE("no rows", "GatherV2"), INPUTS("cube", "m", "0"),
		 ATTRS(INT("batch_dims", 1))},
		{NODE("mask", "NotEqual"), INPUTS("m", "m")},
		{NODE("any mask", "Equal"), INPUTS("m", "m"), ATTRS(loose)},
		{NODE("spread", "ScatterNd"), INPUTS("x", "x", "[3,8]")},
		{NODE("dense", "SparseToDense"), INPUTS("x", "[3,8]", "x", "x")},
		{NODE("end", "IdentityN"), INPUTS("best", "best of old", "rows", "no rows", "mask",
						  "any mask", "spread", "dense")},
	};

	(void)state;
	infer(nodes, COUNT(nodes));
	assert_shape("best", "[?,2,3]");
	assert_int_equal(sp_static_shape_of(&shapes, (sp_port){sp_number_of("best"), 1}).rank, 3);
	assert_shape("best of old", "[?,2,2]");
	assert_shape("rows", "[?,4,4]");
	assert_shape("no rows", "?");
	assert_shape("mask", "[?,4]");
	assert_shape("any mask", "?");
	assert_shape("spread", "[3,8]");
	assert_shape("dense", "[3,8]");
	assert_int_equal(name_of("rows", 0), name_of("cube", 0));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, sp_imported_set_up, sp_imported_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(layers_keep_the_rows),
		TEST(parts_and_turns_are_followed),
		TEST(sizes_are_followed_to_where_they_make_shapes),
		TEST(variables_have_the_shape_they_were_declared_with),
		TEST(arrays_say_what_their_elements_are),
		TEST(sums_of_parts_are_as_many_as_they_say),
		TEST(readers_that_demand_a_rank_tell_the_others),
		TEST(what_is_wanted_to_be_equal_is_told),
		TEST(what_is_like_another_is_called_as_that_is_first),
		TEST(who_comes_first_hangs_on_who_has_to_wait),
		TEST(where_numbers_differ_nothing_is_told),
		TEST(joined_parts_have_the_same_rows),
		TEST(loops_lose_what_their_bodies_do_not_keep),
		TEST(windows_are_counted),
		TEST(letters_stand_for_dimensions),
		TEST(what_is_picked_is_as_many_as_asked_for),
		TEST(several_ways_agree_as_far_as_they_do),
		TEST(slices_of_nothing_that_is_there_are_unknown),
	};
	return cmocka_run_group_tests_name("static shapes", tests, NULL, NULL);
}
