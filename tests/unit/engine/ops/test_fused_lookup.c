#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/graph.h"

/*
 * Fused lookups whose table comes as a handle.  What they answer is tested with
 * matrices (cases/deeprec_lookup); here is what a handle must lead to.
 */
SMALL_GRAPH(g);

static sp_status compile_lookup(const char *handle_op, sp_dtype dtype,
				const sp_partial_shape *shape)
{
	const sp_node_def nodes[] = {
		{NODE("table", handle_op),
		 ATTRS(TYPE("dtype", dtype), TYPE("Tkeys", SP_INT64),
		       {.name = "shape", .kind = SP_ATTR_SHAPE, .shape = shape})},
		{NODE("ids", "Placeholder"), ATTRS(TYPE("dtype", SP_INT64))},
		{NODE("dense_shape", "Placeholder"), ATTRS(TYPE("dtype", SP_INT64))},
		{NODE("indices", "Placeholder"), ATTRS(TYPE("dtype", SP_INT64))},
		{NODE("op", "FusedSafeEmbeddingLookupSparseLocal"),
		 INPUTS("table", "ids", "dense_shape", "indices", "ids"),
		 ATTRS(TYPE("T_weight", SP_RESOURCE), TYPE("T_id", SP_INT64),
		       TYPE("T_shape", SP_INT64))}};
	const sp_ends ends = {.feeds = {"ids", "dense_shape", "indices"}, .fetches = {"op"}};

	return sp_small_graph_compile(&g, nodes, COUNT(nodes), &ends);
}

static void a_handle_leads_to_a_variable_of_floats(void **state)
{
	static const sp_partial_shape matrix = {.rank = 2, .dims = {5, 2}};

	(void)state;
	assert_ok(compile_lookup("VarHandleOp", SP_FLOAT, &matrix), &g.err);
	tear_down(NULL);
	set_up(NULL);
	assert_int_equal(compile_lookup("VarHandleOp", SP_DOUBLE, &matrix), SP_UNSUPPORTED);
	assert_non_null(strstr(g.err.text, "node 'op'"));
	assert_non_null(strstr(g.err.text, "DT_DOUBLE"));
}

static void a_handle_of_an_embedding_is_refused(void **state)
{
	static const sp_partial_shape width_2 = {.rank = 1, .dims = {2}};

	(void)state;
	assert_int_equal(compile_lookup("KvVarHandleOp", SP_FLOAT, &width_2), SP_INVALID);
	assert_non_null(strstr(g.err.text, "node 'op'"));
	assert_non_null(strstr(g.err.text, "'table' is an embedding, not a variable"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_handle_leads_to_a_variable_of_floats, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_handle_of_an_embedding_is_refused, set_up,
						tear_down),
	};

	return cmocka_run_group_tests_name("fused lookups", tests, NULL, NULL);
}
