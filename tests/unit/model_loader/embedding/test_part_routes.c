#include "tests/support/cmocka.h"

#include "model_loader/embedding/part_routes.h"
#include "tests/support/graph.h"

/*
 * Graphs of two parts of "emb", in the nodes that DeepRec's embedding_lookup() makes, and with one
 * of them another.
 */
static const int64_t thousand = 1000;
static const int32_t two = 2;

static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(64 << 10);
	return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

static const sp_tensor of_thousand = {.dtype = SP_INT64, .count = 1, .data = (void *)&thousand};
static const sp_tensor of_two = {.dtype = SP_INT32, .count = 1, .data = (void *)&two};

#define NAME(value)                                                      \
	{                                                                \
		.name = "shared_name", .kind = SP_ATTR_BYTES, .bytes = { \
			value,                                           \
			sizeof(value) - 1                                \
		}                                                        \
	}
#define NUMBER(key, value)                                       \
	{                                                        \
		.name = (key), .kind = SP_ATTR_INT, .i = (value) \
	}

enum {
	QUOTIENTS,
	DATA,
	PARTS,
	BUCKETS,
	PART,
	CASTED,
	DEAL,
	UNIQUE,
	GATHER_0,
	GATHER_1,
	NODES = 18
};

static const sp_node_def deeprec[NODES] = {
	[QUOTIENTS] = {NODE("quotients", "FloorDiv"), INPUTS("keys", "two64")},
	[DATA] = {NODE("keys", "Reshape"), INPUTS("ids", "minus_one")},
	[PARTS] = {NODE("two", "Const"), ATTRS(TENSOR("value", &of_two))},
	[BUCKETS] = {NODE("buckets", "FloorMod"), INPUTS("keys", "thousand")},
	[PART] = {NODE("part", "FloorMod"), INPUTS("buckets", "two64")},
	[CASTED] = {NODE("assignments", "Cast"), INPUTS("part")},
	[DEAL] = {NODE("deal", "DynamicPartition"), INPUTS("keys", "assignments"),
		  ATTRS(NUMBER("num_partitions", 2))},
	[UNIQUE] = {NODE("unique", "Unique"), INPUTS("deal:1", "^ids")},
	[GATHER_0] = {NODE("rows_0", "KvResourceGather"), INPUTS("first", "deal", "one")},
	[GATHER_1] = {NODE("rows_1", "KvResourceGatherV1"), INPUTS("second", "unique:0", "one")},
	{NODE("ids", "Placeholder")},
	{NODE("thousand", "Const"), ATTRS(TENSOR("value", &of_thousand))},
	{NODE("two64", "Cast"), INPUTS("two")},
	{NODE("first", "KvVarHandleOp"), ATTRS(NAME("emb/part_0"))},
	{NODE("second", "KvVarHandleOp"), ATTRS(NAME("emb/part_1"))},
	{NODE("import", "KvResourceImportV2"), INPUTS("prefix", "first", "first")},
	{NODE("there", "KvVarIsInitializedOp"), INPUTS("second")},
	{NODE("other_ids", "Placeholder")},
};

/* Of how many parts the handles are in the graph with that node in place of one; 0: not told. */
static void check(size_t at, sp_node_def other, uint64_t first, uint64_t second)
{
	sp_node_def nodes[NODES];
	const sp_graph_def graph = {.nodes = nodes, .node_count = NODES};
	uint64_t parts;
	sp_map map;

	for (size_t i = 0; i < NODES; i++)
		nodes[i] = i == at ? other : deeprec[i];
	sp_map_init(&map, arena);
	assert_ok(sp_part_routes_find(&map, &graph, arena, &err), &err);
	parts = 0;
	(void)sp_map_get(&map, sp_bytes_of("emb/part_0"), &parts);
	assert_int_equal(parts, first);
	parts = 0;
	(void)sp_map_get(&map, sp_bytes_of("emb/part_1"), &parts);
	assert_int_equal(parts, second);
}

static void deeprecs_lookup_deals_by_key(void **state)
{
	(void)state;
	check(DEAL, deeprec[DEAL], 2, 2);
}

/* Stock TensorFlow's: part key % 2, and of it key / 2. */
static void a_lookup_that_divides_keys_does_not(void **state)
{
	(void)state;
	check(DEAL,
	      (sp_node_def){NODE("deal", "DynamicPartition"), INPUTS("quotients", "assignments"),
			    ATTRS(NUMBER("num_partitions", 2))},
	      0, 0);
	check(PART, (sp_node_def){NODE("part", "FloorMod"), INPUTS("keys", "two64")}, 0, 0);
}

static void of_other_nodes_nothing_is_told(void **state)
{
	(void)state;
	check(DEAL,
	      (sp_node_def){NODE("deal", "DynamicPartition"), INPUTS("other_ids", "assignments"),
			    ATTRS(NUMBER("num_partitions", 2))},
	      0, 0);
	check(DEAL,
	      (sp_node_def){NODE("deal", "DynamicPartition"), INPUTS("keys", "assignments"),
			    ATTRS(NUMBER("num_partitions", 3))},
	      0, 0);
	check(DEAL, (sp_node_def){NODE("deal", "DynamicPartition"), INPUTS("keys")}, 0, 0);
	check(PART, (sp_node_def){NODE("part", "FloorMod"), INPUTS("buckets", "ids")}, 0, 0);
	check(DATA, (sp_node_def){NODE("keys", "Reshape"), INPUTS("keys", "minus_one")}, 0, 0);
	check(CASTED, (sp_node_def){NODE("assignments", "Cast")}, 0, 0);
	/* The parts the wrong way round. */
	check(GATHER_0,
	      (sp_node_def){NODE("rows_0", "KvResourceGather"), INPUTS("first", "deal:1")}, 0, 2);
	check(GATHER_1, (sp_node_def){NODE("rows_1", "KvResourceGather"), INPUTS("second", "ids")},
	      2, 0);
}

/* One reader that does otherwise is enough. */
static void all_that_reads_a_handle_counts(void **state)
{
	(void)state;
	check(QUOTIENTS, (sp_node_def){NODE("more", "KvResourceGather"), INPUTS("first", "ids")}, 0,
	      2);
	check(QUOTIENTS, (sp_node_def){NODE("more", "PartitionedCall"), INPUTS("ids", "second")}, 2,
	      0);
	check(QUOTIENTS, (sp_node_def){NODE("more", "KvResourceGather"), INPUTS("first", "deal:0")},
	      2, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(deeprecs_lookup_deals_by_key),
		CASE(a_lookup_that_divides_keys_does_not),
		CASE(of_other_nodes_nothing_is_told),
		CASE(all_that_reads_a_handle_counts),
	};

	return cmocka_run_group_tests_name("routes to parts", tests, NULL, NULL);
}
