#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/graph.h"

/* Which nodes are a feature column: golden models have columns of every kind, here are limits. */
static sp_small_graph g;

static int set_up(void **state)
{
	(void)state;
	sp_small_graph_init(&g);
	g.fused = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_small_graph_fini(&g);
	return 0;
}

static int64_t zero_and_one[] = {0, 1}, zeros[] = {0, 0}, ones[] = {1, 1}, first[] = {0};
static float unused[] = {1};

#define MASK(key, value)                                         \
	{                                                        \
		.name = (key), .kind = SP_ATTR_INT, .i = (value) \
	}
#define FEED(name, dtype)                                              \
	{                                                              \
		NODE(name, "Placeholder"), ATTRS(TYPE("dtype", dtype)) \
	}
#define CONST(name, dtype, tensor)                                                        \
	{                                                                                 \
		NODE(name, "Const"), ATTRS(TYPE("dtype", dtype), TENSOR("value", tensor)) \
	}

static sp_tensor pair(int64_t *values)
{
	return (sp_tensor){
		.dtype = SP_INT64, .shape = sp_shape_vector(2), .count = 2, .data = values};
}

/* Sums of the rows of a sparse tensor's int64 keys, of an embedding that has keys of `keys`. */
static sp_status compile_column(sp_dtype keys)
{
	static const sp_partial_shape width_3 = {.rank = 1, .dims = {3}};
	sp_tensor begin = pair(zeros), end = pair(zero_and_one), strides = pair(ones);
	sp_tensor filler = {.dtype = SP_INT64, .count = 1, .data = first};
	sp_tensor scalar = {.dtype = SP_FLOAT, .count = 1, .data = unused};
	const sp_node_def nodes[] = {
		FEED("indices", SP_INT64),
		FEED("values", SP_INT64),
		FEED("shape", SP_INT64),
		CONST("filler", SP_INT64, &filler),
		CONST("begin", SP_INT64, &begin),
		CONST("end", SP_INT64, &end),
		CONST("strides", SP_INT64, &strides),
		CONST("default", SP_FLOAT, &scalar),
		{NODE("emb", "KvVarHandleOp"),
		 ATTRS(TYPE("dtype", SP_FLOAT), TYPE("Tkeys", keys),
		       {.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &width_3})},
		{NODE("fill", "SparseFillEmptyRows"),
		 INPUTS("indices", "values", "shape", "filler"), ATTRS(TYPE("T", SP_INT64))},
		{NODE("column", "StridedSlice"), INPUTS("fill", "begin", "end", "strides"),
		 ATTRS(TYPE("T", SP_INT64), TYPE("Index", SP_INT64), MASK("begin_mask", 1),
		       MASK("end_mask", 1), MASK("shrink_axis_mask", 2))},
		{NODE("rows", "Cast"), INPUTS("column"),
		 ATTRS(TYPE("SrcT", SP_INT64), TYPE("DstT", SP_INT32))},
		{NODE("unique", "Unique"), INPUTS("fill:1"),
		 ATTRS(TYPE("T", SP_INT64), TYPE("out_idx", SP_INT32))},
		{NODE("gather", "KvResourceGather"), INPUTS("emb", "unique", "default"),
		 ATTRS(TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))},
		{NODE("sum", "SparseSegmentSum"), INPUTS("gather", "unique:1", "rows"),
		 ATTRS(TYPE("T", SP_FLOAT))}};
	const sp_ends ends = {.feeds = {"indices", "values", "shape"}, .fetches = {"sum"}};

	return sp_small_graph_compile(&g, nodes, COUNT(nodes), &ends);
}

static void a_column_is_one_step(void **state)
{
	(void)state;
	assert_ok(compile_column(SP_INT64), &g.err);
	assert_int_equal(sp_program_step_count(g.program, 0), 1);
}

static void keys_of_another_type_are_refused_by_the_gathers_name(void **state)
{
	(void)state;
	assert_int_equal(compile_column(SP_INT32), SP_INVALID);
	assert_non_null(strstr(g.err.text, "node 'gather'"));
	assert_non_null(strstr(g.err.text, "'emb' has keys of DT_INT32, not DT_INT64"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_column_is_one_step, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			keys_of_another_type_are_refused_by_the_gathers_name, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
