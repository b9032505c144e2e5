#include "tests/support/cmocka.h"

#include <math.h>
#include <string.h>

#include "engine/rows/row_proof.h"
#include "tests/support/graph.h"

/*
 * Small graphs over the inputs x [R, 4], m [R, 3, 4], v [R] and ids [R, 2], with output "out". What
 * is proved is also run, as a whole and in parts.
 */

SMALL_GRAPH(g);

enum { ROWS = 7, INPUTS_COUNT = 4, MOST_NODES = 64 };

static const sp_partial_shape declared[INPUTS_COUNT] = {
	{2, {-1, 4}}, {3, {-1, 3, 4}}, {1, {-1}}, {2, {-1, 2}}};

/* ------------------------------------------------------------- inputs, constants */

static float numbers[ROWS * 12];
static int64_t keys[ROWS * 2];

#define VECTOR(type, n, values)                                                    \
	{                                                                          \
		.dtype = (type), .shape = {1, {n}}, .count = (n), .data = (values) \
	}
#define SCALAR(type, value)                                  \
	{                                                    \
		.dtype = (type), .count = 1, .data = (value) \
	}

static int32_t ints[] = {0, 1, 2, -1, 12, 0, 2, 1, 0, -1, 8};
static int64_t wide[] = {0, 1, 4};
static float weights[15];
static sp_tensor zero = SCALAR(SP_INT32, &ints[0]), one = SCALAR(SP_INT32, &ints[1]),
		 two = SCALAR(SP_INT32, &ints[2]), last = SCALAR(SP_INT32, &ints[3]),
		 depth = SCALAR(SP_INT32, &ints[4]), zero64 = SCALAR(SP_INT64, &wide[0]),
		 zero_f = SCALAR(SP_FLOAT, &weights[0]), one_f = SCALAR(SP_FLOAT, &weights[1]);
static sp_tensor first_axis = VECTOR(SP_INT32, 1, &ints[0]),
		 from_one = VECTOR(SP_INT32, 1, &ints[1]), to_all = VECTOR(SP_INT32, 1, &ints[3]),
		 to_12 = VECTOR(SP_INT32, 2, &ints[3]), swap_last = VECTOR(SP_INT32, 3, &ints[5]),
		 swap = VECTOR(SP_INT32, 2, &ints[7]), twice = VECTOR(SP_INT32, 2, &ints[6]),
		 picks = VECTOR(SP_INT32, 2, &ints[1]), c4 = VECTOR(SP_FLOAT, 4, weights),
		 halves = VECTOR(SP_INT32, 2, &ints[9]);
static sp_tensor table = {SP_FLOAT, {2, {5, 3}}, 15, weights, NULL};
static sp_tensor w = {SP_FLOAT, {2, {4, 3}}, 12, weights, NULL};
static sp_tensor c14 = {SP_FLOAT, {2, {1, 4}}, 4, weights, NULL};
static sp_tensor c24 = {SP_FLOAT, {2, {2, 4}}, 8, weights, NULL};
static sp_tensor yes = SCALAR(SP_BOOL, &(bool){true});

#define INPUT(name, type)                                             \
	{                                                             \
		NODE(name, "Placeholder"), ATTRS(TYPE("dtype", type)) \
	}
#define CONST(name, type)                                                                \
	{                                                                                \
		NODE(#name, "Const"), ATTRS(TYPE("dtype", type), TENSOR("value", &name)) \
	}
#define INT(key, value)                                          \
	{                                                        \
		.name = (key), .kind = SP_ATTR_INT, .i = (value) \
	}

static const sp_node_def shared[] = {
	INPUT("x", SP_FLOAT),
	INPUT("m", SP_FLOAT),
	INPUT("v", SP_FLOAT),
	INPUT("ids", SP_INT64),
	CONST(zero, SP_INT32),
	CONST(one, SP_INT32),
	CONST(two, SP_INT32),
	CONST(last, SP_INT32),
	CONST(depth, SP_INT32),
	CONST(zero64, SP_INT64),
	CONST(zero_f, SP_FLOAT),
	CONST(one_f, SP_FLOAT),
	CONST(first_axis, SP_INT32),
	CONST(from_one, SP_INT32),
	CONST(to_all, SP_INT32),
	CONST(to_12, SP_INT32),
	CONST(halves, SP_INT32),
	CONST(swap_last, SP_INT32),
	CONST(swap, SP_INT32),
	CONST(twice, SP_INT32),
	CONST(picks, SP_INT32),
	CONST(c4, SP_FLOAT),
	CONST(table, SP_FLOAT),
	CONST(w, SP_FLOAT),
	CONST(c14, SP_FLOAT),
	CONST(c24, SP_FLOAT),
	CONST(yes, SP_BOOL),
	/* R, and [R, 2] */
	{NODE("shape", "Shape"), INPUTS("ids")},
	{NODE("rows", "StridedSlice"), INPUTS("shape", "first_axis", "from_one", "from_one"),
	 ATTRS(INT("shrink_axis_mask", 1))},
	/* The keys that are not 0, as a sparse tensor without and with empty rows. */
	{NODE("is_key", "NotEqual"), INPUTS("ids", "zero64")},
	{NODE("where", "Where"), INPUTS("is_key")},
	{NODE("found", "GatherNd"), INPUTS("ids", "where")},
	{NODE("shape64", "Cast"), INPUTS("shape"),
	 ATTRS(TYPE("SrcT", SP_INT32), TYPE("DstT", SP_INT64))},
	{NODE("filled", "SparseFillEmptyRows"), INPUTS("where", "found", "shape64", "zero64")},
	{NODE("row", "StridedSlice"), INPUTS("filled", "zeros", "ends", "ones"),
	 ATTRS(INT("begin_mask", 1), INT("end_mask", 1), INT("shrink_axis_mask", 2))},
	{NODE("zeros", "Pack"), INPUTS("zero", "zero")},
	{NODE("ends", "Pack"), INPUTS("zero", "one")},
	{NODE("ones", "Pack"), INPUTS("one", "one")},
	{NODE("distinct", "Unique"), INPUTS("filled:1")},
	{NODE("vectors", "GatherV2"), INPUTS("table", "distinct", "zero")},
};

static void fill(void)
{
	for (int i = 0; i < ROWS * 12; i++)
		numbers[i] = (float)(i * 37 % 23) / 7 - 1;
	for (int i = 0; i < ROWS * 2; i++)
		keys[i] = i * 5 % 3;
	for (int i = 0; i < 15; i++)
		weights[i] = (float)(i * 11 % 13) / 5;
}

/* Rows `first` to before `end` of the inputs. */
static void take(sp_tensor *feeds, int64_t first, int64_t end)
{
	for (size_t i = 0; i < INPUTS_COUNT; i++) {
		int64_t row = 1;

		feeds[i] = (sp_tensor){.dtype = i == 3 ? SP_INT64 : SP_FLOAT};
		feeds[i].shape.rank = declared[i].rank;
		feeds[i].shape.dims[0] = end - first;
		for (int d = 1; d < declared[i].rank; d++)
			row *= feeds[i].shape.dims[d] = declared[i].dims[d];
		feeds[i].count = (size_t)(row * (end - first));
		feeds[i].data = i == 3 ? (void *)&keys[first * row] : (void *)&numbers[first * row];
	}
}

/* --------------------------------------------------------------------- checking */

static sp_status prove(const sp_node_def *own, size_t count)
{
	sp_node_def nodes[MOST_NODES];
	sp_ends ends = {.feeds = {"x", "m", "v", "ids"}, .fetches = {"out"}};

	assert_true(COUNT(shared) + count <= MOST_NODES);
	memcpy(nodes, shared, sizeof(shared));
	memcpy(nodes + COUNT(shared), own, count * sizeof(*own));
	fill();
	if (sp_small_graph_compile(&g, nodes, COUNT(shared) + count, &ends) != SP_OK)
		fail_msg("%s", g.err.text);
	assert_int_equal(sp_snapshot_build(&g.snapshot, g.program, &g.resources, &g.err), SP_OK);
	return sp_program_prove_rows(g.program, 0, g.snapshot, declared, &g.err);
}

static const sp_tensor *run(int64_t first, int64_t end, sp_tensor *copy)
{
	sp_tensor feeds[INPUTS_COUNT];
	const sp_tensor *out;

	take(feeds, first, end);
	if (sp_small_graph_run(&g, feeds, NULL, &out) != SP_OK)
		fail_msg("%s", g.err.text);
	assert_int_equal(sp_tensor_copy(copy, g.arena, out, &g.err), SP_OK);
	return copy;
}

static void check_parts(void)
{
	static const int64_t cuts[] = {0, 2, 5, ROWS};
	sp_tensor whole, part;
	const char *at;

	run(0, ROWS, &whole);
	at = whole.data;
	if (whole.shape.rank == 0)
		return; /* a constant */
	assert_int_equal(whole.shape.dims[0], ROWS);
	for (size_t i = 0; i + 1 < COUNT(cuts); i++) {
		size_t size;

		run(cuts[i], cuts[i + 1], &part);
		assert_int_equal(part.shape.rank, whole.shape.rank);
		assert_int_equal(part.shape.dims[0], cuts[i + 1] - cuts[i]);
		size = part.count * sp_dtype_size(part.dtype);
		for (size_t k = 0; part.dtype == SP_FLOAT && k < part.count; k++)
			assert_true(fabsf(((const float *)part.data)[k] - ((const float *)at)[k]) <
				    1e-5f);
		if (part.dtype != SP_FLOAT)
			assert_memory_equal(part.data, at, size);
		at += size;
	}
}

#define PROVED(...)                                                             \
	do {                                                                    \
		const sp_node_def own[] = {__VA_ARGS__};                        \
		if (prove(own, COUNT(own)) != SP_OK)                            \
			fail_msg("%s: %s", own[COUNT(own) - 1].op, g.err.text); \
		check_parts();                                                  \
	} while (0)

#define REFUSED(name, ...)                                                     \
	do {                                                                   \
		const sp_node_def own[] = {__VA_ARGS__};                       \
		assert_int_equal(prove(own, COUNT(own)), SP_UNSUPPORTED);      \
		if (strstr(g.err.text, name) == NULL)                          \
			fail_msg("'%s' does not name '%s'", g.err.text, name); \
	} while (0)

#define OUT(op, ...)                                 \
	{                                            \
		NODE("out", op), INPUTS(__VA_ARGS__) \
	}

/* ------------------------------------------------------------------------ cases */

static void rows_alone(void **state)
{
	(void)state;
	PROVED(OUT("AddV2", "x", "c4"));
	PROVED(OUT("Mul", "c14", "x"));
	PROVED(OUT("AddV2", "x", "one_f"));
	PROVED(OUT("Sub", "x", "x"));
	PROVED(OUT("Relu", "m"));
	PROVED(OUT("MatMul", "x", "w"));
	PROVED({NODE("out", "BatchMatMulV2"), INPUTS("m", "m"),
		ATTRS({.name = "adj_y", .kind = SP_ATTR_BOOL, .b = true})});
	PROVED(OUT("BatchMatMulV2", "m", "w"));
	PROVED(OUT("Softmax", "x"));
	PROVED(OUT("Sum", "m", "one"));
	PROVED(OUT("Mean", "x", "last"));
	PROVED(OUT("ArgMax", "x", "one"));
	PROVED(OUT("Cumsum", "x", "one"));
	PROVED(OUT("Transpose", "m", "swap_last"));
	PROVED({NODE("a", "Split"), INPUTS("one", "x"), ATTRS(INT("num_split", 2))},
	       OUT("AddV2", "a", "a:1"));
	PROVED({NODE("out", "Einsum"), INPUTS("m", "w"),
		ATTRS({.name = "equation", .kind = SP_ATTR_BYTES, .bytes = {"bij,jk->bik", 11}})});
	PROVED({NODE("a", "TopKV2"), INPUTS("x", "two")}, OUT("Identity", "a:1"));
	PROVED(OUT("Neg", "one_f"));
}

static void rows_joined_and_shaped(void **state)
{
	(void)state;
	PROVED(OUT("ConcatV2", "x", "x", "one"));
	PROVED(OUT("ConcatV2", "x", "x", "last"));
	PROVED({NODE("out", "Pack"), INPUTS("x", "x"), ATTRS(INT("axis", 1))});
	PROVED(OUT("ExpandDims", "x", "one"));
	PROVED({NODE("a", "ExpandDims"), INPUTS("v", "last")}, OUT("Mul", "a", "x"));
	PROVED(OUT("Reshape", "m", "to_12"));
	PROVED({NODE("a", "Pack"), INPUTS("rows", "depth")}, OUT("Reshape", "m", "a"));
	PROVED({NODE("a", "Pack"), INPUTS("rows", "last")}, OUT("Reshape", "m", "a"));
	PROVED({NODE("a", "Fill"), INPUTS("shape", "one_f")}, OUT("Exp", "a"));
	PROVED({NODE("a", "StridedSlice"), INPUTS("m", "zeros", "ends", "ones"),
		ATTRS(INT("begin_mask", 1), INT("end_mask", 1), INT("shrink_axis_mask", 2))},
	       OUT("AddV2", "a", "x"));
}

static void lookups(void **state)
{
	(void)state;
	PROVED(OUT("GatherV2", "table", "ids", "zero"));
	PROVED(OUT("GatherV2", "x", "picks", "one"));
	PROVED(OUT("SparseToDense", "where", "shape64", "found", "zero64"));
	PROVED(OUT("SparseSegmentSum", "vectors", "distinct:1", "row"));
	PROVED({NODE("a", "GatherV2"), INPUTS("vectors", "distinct:1", "zero")},
	       OUT("SegmentSum", "a", "row"));
	PROVED({NODE("flat", "Reshape"), INPUTS("ids", "to_all")},
	       {NODE("u", "Unique"), INPUTS("flat")},
	       {NODE("t", "GatherV2"), INPUTS("table", "u", "zero")},
	       {NODE("a", "GatherV2"), INPUTS("t", "u:1", "zero")},
	       {NODE("s", "Pack"), INPUTS("rows", "last")}, OUT("Reshape", "a", "s"));
	/* A mask that is the same in all rows. */
	PROVED({NODE("square", "BatchMatMulV2"), INPUTS("m", "m"),
		ATTRS({.name = "adj_y", .kind = SP_ATTR_BOOL, .b = true})},
	       {NODE("all", "OnesLike"), INPUTS("square")},
	       {NODE("band", "MatrixBandPart"), INPUTS("all", "one", "zero")},
	       {NODE("flat", "Reshape"), INPUTS("band", "to_all")},
	       {NODE("at", "Where"), INPUTS("flat")},
	       {NODE("i", "Reshape"), INPUTS("at", "to_all")},
	       {NODE("values", "Reshape"), INPUTS("square", "to_all")},
	       {NODE("taken", "GatherV2"), INPUTS("values", "i", "zero")},
	       {NODE("five", "AddV2"), INPUTS("two", "three")},
	       {NODE("three", "AddV2"), INPUTS("one", "two")},
	       {NODE("s", "Pack"), INPUTS("last", "five")},
	       {NODE("b", "Reshape"), INPUTS("taken", "s")}, OUT("ConcatV2", "x", "b", "one"));
}

static void rows_mixed(void **state)
{
	(void)state;
	REFUSED("'out' (Sum)", OUT("Sum", "x", "zero"));
	REFUSED("'out' (Mean)", OUT("Mean", "x", "first_axis"));
	REFUSED("'out' (Max)", OUT("Max", "v", "last"));
	REFUSED("'out' (Softmax)", OUT("Softmax", "v"));
	REFUSED("'out' (Cumsum)", OUT("Cumsum", "x", "zero"));
	REFUSED("'out' (ReverseV2)", OUT("ReverseV2", "x", "first_axis"));
	REFUSED("'out' (TopKV2)", OUT("TopKV2", "v", "two"));
	REFUSED("'out' (ArgMax)", OUT("ArgMax", "x", "zero"));
	REFUSED("'out' (Transpose)", OUT("Transpose", "x", "swap"));
	REFUSED("'out' (MatMul)",
		{NODE("out", "MatMul"), INPUTS("x", "x"),
		 ATTRS({.name = "transpose_b", .kind = SP_ATTR_BOOL, .b = true})});
	REFUSED("'out' (AddV2)", OUT("AddV2", "x", "c24"));
	REFUSED("'out' (AddV2)", OUT("AddV2", "v", "x"));
	REFUSED("'out' (ConcatV2)", OUT("ConcatV2", "x", "x", "zero"));
	REFUSED("'out' (ConcatV2)", OUT("ConcatV2", "x", "c24", "one"));
	REFUSED("'out' (Pack)", OUT("Pack", "x", "x"));
	REFUSED("'out' (Tile)", OUT("Tile", "x", "twice"));
	REFUSED("'out' (ExpandDims)", OUT("ExpandDims", "x", "zero"));
	REFUSED("row for each row", OUT("Reshape", "m", "to_all"));
	REFUSED("row for each row", OUT("Reshape", "m", "halves"));
	REFUSED("'out' (GatherV2)", OUT("GatherV2", "x", "ids", "zero"));
	REFUSED("'out' (GatherV2)", OUT("GatherV2", "x", "picks", "zero"));
	REFUSED("row for each row", {NODE("u", "Unique"), INPUTS("v")}, OUT("Identity", "u"));
	REFUSED("row for each row", {NODE("u", "Unique"), INPUTS("v")}, OUT("Identity", "u:1"));
	REFUSED("'out' (Einsum)",
		{NODE("out", "Einsum"), INPUTS("x", "x"),
		 ATTRS({.name = "equation", .kind = SP_ATTR_BYTES, .bytes = {"ab,cb->ac", 9}})});
	REFUSED("'out' (StridedSlice)",
		OUT("StridedSlice", "x", "first_axis", "from_one", "from_one"));
}

static void numbers_of_rows_and_entries(void **state)
{
	(void)state;
	REFUSED("row for each row", OUT("Identity", "rows"));
	REFUSED("'r' (Cast)",
		{NODE("r", "Cast"), INPUTS("rows"),
		 ATTRS(TYPE("SrcT", SP_INT32), TYPE("DstT", SP_FLOAT))},
		OUT("RealDiv", "x", "r"));
	REFUSED("'out' (Range)", OUT("Range", "zero", "rows", "one"));
	REFUSED("row for each row", OUT("Identity", "where"));
	REFUSED("row for each row", OUT("Identity", "found"));
	REFUSED("row for each row", OUT("Identity", "row"));
	/* Rows may be missing behind the last key; entries of one tensor at the rows of another. */
	REFUSED("'out' (SegmentSum)",
		{NODE("r", "StridedSlice"), INPUTS("where", "zeros", "ends", "ones"),
		 ATTRS(INT("begin_mask", 1), INT("end_mask", 1), INT("shrink_axis_mask", 2))},
		OUT("SegmentSum", "found", "r"));
	REFUSED("'out' (SegmentSum)", OUT("SegmentSum", "found", "row"));
	REFUSED("'out' (AddV2)", OUT("AddV2", "found", "filled:1"));
	/* As many entries are taken of each row only by chance. */
	REFUSED("'out' (Reshape)", {NODE("s", "Pack"), INPUTS("rows", "last")},
		OUT("Reshape", "found", "s"));
}

static void effects(void **state)
{
	(void)state;
	REFUSED("'random' (RandomUniform)",
		{NODE("random", "RandomUniform"), INPUTS("shape"), ATTRS(TYPE("dtype", SP_FLOAT))},
		OUT("Identity", "random"));
	/* An Assert of all rows; of a sum of them; of the number of rows. */
	PROVED({NODE("low", "Less"), INPUTS("v", "depth_f")},
	       {NODE("all", "All"), INPUTS("low", "zero")},
	       {NODE("check", "Assert"), INPUTS("all", "x")},
	       {NODE("depth_f", "Cast"), INPUTS("depth"),
		ATTRS(TYPE("SrcT", SP_INT32), TYPE("DstT", SP_FLOAT))},
	       OUT("Identity", "x", "^check"));
	REFUSED("'check' (Assert)", {NODE("sum", "Sum"), INPUTS("v", "zero")},
		{NODE("low", "Less"), INPUTS("sum", "one_f")},
		{NODE("check", "Assert"), INPUTS("low", "x")}, OUT("Identity", "x", "^check"));
	PROVED({NODE("some", "GreaterEqual"), INPUTS("rows", "one")},
	       {NODE("check", "Assert"), INPUTS("some", "x")}, OUT("Identity", "x", "^check"));
	REFUSED("'check' (Assert)", {NODE("many", "GreaterEqual"), INPUTS("rows", "depth")},
		{NODE("check", "Assert"), INPUTS("many", "x")}, OUT("Identity", "x", "^check"));
}

static void branches(void **state)
{
	(void)state;
	REFUSED("'s' (Switch)", {NODE("sum", "Sum"), INPUTS("v", "zero")},
		{NODE("low", "Less"), INPUTS("sum", "one_f")},
		{NODE("s", "Switch"), INPUTS("x", "low")}, {NODE("n", "Neg"), INPUTS("s")},
		OUT("Merge", "n", "s:1"));
	REFUSED("(Switch)", {NODE("low", "Less"), INPUTS("v", "one_f")},
		{NODE("all", "All"), INPUTS("low", "zero")},
		{NODE("s", "Switch"), INPUTS("x", "all")}, OUT("Identity", "s:1"));
}

static void inputs_without_rows(void **state)
{
	const sp_node_def own[] = {OUT("AddV2", "x", "c4")};
	sp_partial_shape shapes[INPUTS_COUNT];

	(void)state;
	assert_int_equal(prove(own, 1), SP_OK);
	memcpy(shapes, declared, sizeof(shapes));
	shapes[2] = (sp_partial_shape){.rank = 0};
	assert_int_equal(sp_program_prove_rows(g.program, 0, g.snapshot, shapes, &g.err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "input 'v'"));
	shapes[2] = (sp_partial_shape){1, {8}};
	assert_int_equal(sp_program_prove_rows(g.program, 0, g.snapshot, shapes, NULL),
			 SP_UNSUPPORTED);
	shapes[2] = (sp_partial_shape){.rank = -1};
	assert_int_equal(sp_program_prove_rows(g.program, 0, g.snapshot, shapes, NULL),
			 SP_UNSUPPORTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_alone), TEST(rows_joined_and_shaped),      TEST(lookups),
		TEST(rows_mixed), TEST(numbers_of_rows_and_entries), TEST(effects),
		TEST(branches),   TEST(inputs_without_rows),
	};

	return cmocka_run_group_tests_name("row_proof", tests, NULL, NULL);
}
