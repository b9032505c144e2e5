#include "tests/support/cmocka.h"

#include "model_loader/embedding/feature_numbers.h"
#include "tests/support/graph.h"

#define SHARED_NAME(value)                                               \
	{                                                                \
		.name = "shared_name", .kind = SP_ATTR_BYTES, .bytes = { \
			value,                                           \
			sizeof(value) - 1                                \
		}                                                        \
	}

static void handles_are_numbered_as_the_graph_has_them(void **state)
{
	static const sp_attr item[] = {SHARED_NAME("item/part_0")}, empty[] = {SHARED_NAME("")};
	const sp_node_def nodes[] = {
		{NODE("keys", "Placeholder")},
		{NODE("zeta", "KvVarHandleOp")},
		{NODE("weights", "VarHandleOp")},
		{NODE("handle", "KvVarHandleOp"), .attrs = item, .attr_count = 1},
		{NODE("again", "KvVarHandleOp"), .attrs = item, .attr_count = 1},
		{NODE("alpha", "KvVarHandleOp"), .attrs = empty, .attr_count = 1},
	};
	const sp_graph_def graph = {.nodes = (sp_node_def *)nodes, .node_count = 6};
	sp_arena *arena = sp_arena_create(4096);
	uint64_t number;
	sp_map map;
	sp_error err;

	(void)state;
	assert_non_null(arena);
	sp_map_init(&map, arena);
	assert_ok(sp_feature_numbers_find(&map, &graph, arena, &err), &err);
	assert_int_equal(map.count, 3);
	assert_true(sp_map_get(&map, sp_bytes_of("zeta"), &number));
	assert_int_equal(number, 0);
	assert_true(sp_map_get(&map, sp_bytes_of("item/part_0"), &number));
	assert_int_equal(number, 1);
	assert_true(sp_map_get(&map, sp_bytes_of("alpha"), &number));
	assert_int_equal(number, 3);
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handles_are_numbered_as_the_graph_has_them),
	};

	return cmocka_run_group_tests_name("feature numbers", tests, NULL, NULL);
}
