#include "tests/support/cmocka.h"

#include <string.h>

#include "base/clock.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"
#include "tests/support/embedding_graph.h"

/*
 * Operators that look up rows of EmbeddingVariables, or tell of them.  Stock TensorFlow has none
 * of them, so what they must answer is stated here, from DeepRec's rules (storage/table/table.h).
 */
static sp_embedding_graph g;

static int set_up(void **state)
{
	(void)state;
	sp_embedding_graph_init(&g);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_embedding_graph_fini(&g);
	return 0;
}

/* The graph and the table, ready to run. */
static void start(const char *op, const sp_attr *attrs, size_t attr_count,
		  const sp_embedding_input *inputs, size_t count, sp_table_filter filter)
{
	assert_ok(sp_embedding_graph_build(&g, op, attrs, attr_count, inputs, count), &g.graph.err);
	sp_embedding_graph_load(&g, filter);
}

/* KvResourceGather of "ids", "default": the keys are of the type of the ids. */
static sp_status build_gather(const sp_embedding_input *inputs)
{
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_FLOAT),
				 sp_type_attr("Tkeys", inputs[1].value.dtype)};

	return sp_embedding_graph_build(&g, "KvResourceGather", attrs, 2, inputs, 3);
}

static sp_status run_gather(const sp_embedding_input *inputs, const sp_tensor **out)
{
	SP_TRY(build_gather(inputs));
	sp_embedding_graph_load(&g, SP_TABLE_FILTER_NONE);
	return sp_embedding_graph_run(&g, inputs, 3, out);
}

static void restart(void)
{
	sp_embedding_graph_fini(&g);
	sp_embedding_graph_init(&g);
}

/* ---------------------------------------------------------------- gathers */

static const float scalar_1[] = {1};
static const int64_t four_ids[] = {20, 11, 10, -1};
static const int32_t four_counts[] = {1, 1, 1, 1};

static void check_gather(const char *op, sp_table_filter filter, sp_shape shape)
{
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_FLOAT), sp_type_attr("Tkeys", SP_INT64)};
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"ids", sp_feed_ids(shape, four_ids)},
		{"default", sp_feed_floats(sp_shape_scalar(), scalar_1)},
		{"counts", sp_feed_ids32(shape, four_counts)},
	};
	size_t count = strcmp(op, "KvResourceGatherV1") == 0 ? 4 : 3;
	const float absent[2][3] = {{-1, -2, -3}, {7, 7, 7}};
	const float *no = absent[filter != SP_TABLE_FILTER_NONE];
	const float want[] = {20, 20.25f, 20.5f, no[0], no[1], no[2],
			      10, 10.25f, 10.5f, no[0], no[1], no[2]};
	const sp_tensor *out;

	start(op, attrs, 2, inputs, count, filter);
	assert_ok(sp_embedding_graph_run(&g, inputs, count, &out), &g.graph.err);
	assert_int_equal(out->dtype, SP_FLOAT);
	assert_int_equal(out->shape.rank, shape.rank + 1);
	assert_memory_equal(out->shape.dims, shape.dims, (size_t)shape.rank * sizeof(int64_t));
	assert_int_equal(out->shape.dims[shape.rank], 3);
	assert_memory_equal(out->data, want, sizeof(want));
}

static void gather_appends_the_width_to_the_shape(void **state)
{
	(void)state;
	check_gather("KvResourceGather", SP_TABLE_FILTER_NONE,
		     (sp_shape){.rank = 3, .dims = {2, 1, 2}});
}

static void gather_v1_ignores_counts(void **state)
{
	(void)state;
	check_gather("KvResourceGatherV1", SP_TABLE_FILTER_COUNTER, sp_shape_vector(4));
}

static void gather_with_int32_keys_widens_them(void **state)
{
	static const int32_t ids[] = {30, -30};
	static const float want[] = {30, 30.25f, 30.5f, -1, -2, -3};
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"ids", sp_feed_ids32(sp_shape_vector(2), ids)},
		{"default", sp_feed_floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	g.key_dtype = SP_INT32;
	assert_ok(run_gather(inputs, &out), &g.graph.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

/* Builds a gather with a row of default values per key. */
static sp_status gather_with_fallback(const sp_tensor *ids, const sp_tensor *rows,
				      const sp_tensor **out)
{
	const sp_attr attrs[] = {
		sp_type_attr("dtype", SP_FLOAT),
		sp_type_attr("Tkeys", SP_INT64),
		{.name = "is_use_default_value_tensor", .kind = SP_ATTR_BOOL, .b = true}};
	const sp_embedding_input inputs[] = {{"emb", {0}}, {"ids", *ids}, {"default", *rows}};

	start("KvResourceGather", attrs, 3, inputs, 3, SP_TABLE_FILTER_NONE);
	return sp_embedding_graph_run(&g, inputs, 3, out);
}

static void gather_takes_an_absent_keys_own_default(void **state)
{
	static const float rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	static const float want[] = {20, 20.25f, 20.5f, 4, 5, 6, 10, 10.25f, 10.5f, 10, 11, 12};
	sp_tensor ids = sp_feed_ids(sp_shape_vector(4), four_ids);
	sp_tensor defaults = sp_feed_floats(sp_shape_matrix(4, 3), rows);
	const sp_tensor *out;

	(void)state;
	assert_ok(gather_with_fallback(&ids, &defaults, &out), &g.graph.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

static void too_few_default_rows_are_refused(void **state)
{
	static const float rows[9];
	sp_tensor ids = sp_feed_ids(sp_shape_vector(4), four_ids);
	sp_tensor defaults = sp_feed_floats(sp_shape_matrix(3, 3), rows);
	const sp_tensor *out;

	(void)state;
	assert_int_equal(gather_with_fallback(&ids, &defaults, &out), SP_INVALID);
	assert_non_null(strstr(g.graph.err.text, "[3,3]"));
}

static void no_ids_give_no_rows(void **state)
{
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"ids", sp_feed_ids(sp_shape_matrix(0, 5), NULL)},
		{"default", sp_feed_floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(run_gather(inputs, &out), &g.graph.err);
	assert_int_equal(out->count, 0);
	assert_int_equal(out->shape.rank, 3);
	assert_int_equal(out->shape.dims[1], 5);
	assert_int_equal(out->shape.dims[2], 3);
}

static void what_a_gather_cannot_do_is_refused(void **state)
{
	const sp_embedding_input deep[] = {
		{"emb", {0}},
		{"ids",
		 sp_feed_ids((sp_shape){.rank = 8, .dims = {1, 1, 1, 1, 1, 1, 1, 4}}, four_ids)},
		{"default", sp_feed_floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(build_gather(deep), &g.graph.err);
	/* Nothing is loaded yet. */
	assert_int_equal(sp_embedding_graph_run(&g, deep, 3, &out), SP_INVALID);
	assert_non_null(strstr(g.graph.err.text, "user_emb"));
	sp_embedding_graph_load(&g, SP_TABLE_FILTER_NONE);
	assert_int_equal(sp_embedding_graph_run(&g, deep, 3, &out), SP_INVALID);
	assert_non_null(strstr(g.graph.err.text, "rank 8"));
}

static void keys_must_be_of_the_declared_type(void **state)
{
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_FLOAT), sp_type_attr("Tkeys", SP_INT64)};
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"ids", sp_feed_ids(sp_shape_vector(4), four_ids)},
		{"default", sp_feed_floats(sp_shape_scalar(), scalar_1)},
		{"counts", sp_feed_ids32(sp_shape_vector(4), four_counts)},
	};
	static const struct {
		const char *op;
		size_t count;
	} readers[] = {{"KvResourceGather", 3},
		       {"KvResourceGatherV1", 4},
		       {"KvResourceLookupTier", 2},
		       {"EVGetFrequency", 2},
		       {"EVGetVersion", 2}};

	(void)state;
	for (size_t i = 0; i < COUNT(readers); i++) {
		g.key_dtype = SP_INT32;
		assert_int_equal(sp_embedding_graph_build(&g, readers[i].op, attrs, 2, inputs,
							  readers[i].count),
				 SP_INVALID);
		assert_non_null(strstr(g.graph.err.text, "node 'op'"));
		assert_non_null(strstr(g.graph.err.text, "has keys of DT_INT32, not DT_INT64"));
		restart();
	}
}

#define HANDLE                                                                       \
	{                                                                            \
		NODE("emb", "KvVarHandleOp"), .attrs = handle_attrs, .attr_count = 3 \
	}

static const sp_partial_shape width_3 = {.rank = 1, .dims = {3}};
static const sp_attr handle_attrs[] = {TYPE("dtype", SP_FLOAT),
				       TYPE("Tkeys", SP_INT64),
				       {.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &width_3}};

/* Then only a request can tell which embedding it is. */
static void keys_are_looked_at_again_behind_a_switch(void **state)
{
	const sp_node_def nodes[] = {
		HANDLE,
		{NODE("on", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))},
		{NODE("ids", "Placeholder"), ATTRS(TYPE("dtype", SP_INT32))},
		{NODE("default", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("switch", "Switch"), INPUTS("emb", "on"), ATTRS(TYPE("T", SP_RESOURCE))},
		{NODE("op", "KvResourceGather"), INPUTS("switch:1", "ids", "default"),
		 ATTRS(TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT32))}};
	const sp_ends ends = {.feeds = {"on", "ids", "default"}, .fetches = {"op"}};
	static const int32_t ids[] = {10};
	const bool on = true;
	const sp_tensor feeds[] = {
		{.dtype = SP_BOOL, .count = 1, .data = (void *)&on},
		sp_feed_ids32(sp_shape_vector(1), ids),
		sp_feed_floats(sp_shape_scalar(), scalar_1),
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(sp_small_graph_compile(&g.graph, nodes, COUNT(nodes), &ends), &g.graph.err);
	sp_embedding_graph_load(&g, SP_TABLE_FILTER_NONE);
	assert_int_equal(sp_small_graph_run(&g.graph, feeds, NULL, &out), SP_INVALID);
	assert_non_null(strstr(g.graph.err.text, "'emb' has keys of DT_INT64, not DT_INT32"));
}

/* Compiles a gather whose default values are a constant. */
static sp_status compile_constant_defaults(sp_tensor *rows, bool are_used)
{
	const sp_node_def nodes[] = {
		HANDLE,
		{NODE("ids", "Placeholder"), ATTRS(TYPE("dtype", SP_INT64))},
		{NODE("rows", "Const"), ATTRS(TYPE("dtype", SP_FLOAT), TENSOR("value", rows))},
		{NODE("op", "KvResourceGather"), INPUTS("emb", "ids", "rows"),
		 ATTRS(TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64),
		       {.name = "is_use_default_value_tensor",
			.kind = SP_ATTR_BOOL,
			.b = are_used})}};
	const sp_ends ends = {.feeds = {"ids"}, .fetches = {"op"}};

	return sp_small_graph_compile(&g.graph, nodes, COUNT(nodes), &ends);
}

static void constant_default_rows_must_be_as_wide_as_the_embeddings(void **state)
{
	static const float numbers[8];
	sp_tensor narrow = sp_feed_floats(sp_shape_matrix(4, 2), numbers);
	sp_tensor fits = sp_feed_floats(sp_shape_matrix(2, 3), numbers);

	(void)state;
	assert_ok(compile_constant_defaults(&fits, true), &g.graph.err);
	assert_ok(compile_constant_defaults(&narrow, false), &g.graph.err);
	assert_int_equal(compile_constant_defaults(&narrow, true), SP_INVALID);
	assert_non_null(strstr(g.graph.err.text, "[4,2] are not rows of 3"));
}

static void other_types_are_refused_by_name(void **state)
{
	const sp_embedding_input inputs[] = {{"emb", {0}}};

	(void)state;
	g.dtype = SP_DOUBLE;
	assert_int_equal(sp_embedding_graph_build(&g, "KvVarIsInitializedOp", NULL, 0, inputs, 1),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(g.graph.err.text, "DT_DOUBLE"));
	restart();
	g.key_dtype = SP_STRING;
	assert_int_equal(sp_embedding_graph_build(&g, "KvVarIsInitializedOp", NULL, 0, inputs, 1),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(g.graph.err.text, "DT_STRING"));
}

static void a_handle_must_say_how_wide_rows_are(void **state)
{
	static const sp_partial_shape shapes[] = {
		{.rank = -1}, {.rank = 0}, {.rank = 1, .dims = {0}}, {.rank = 2, .dims = {3, 3}}};
	const sp_embedding_input inputs[] = {{"emb", {0}}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		g.shape = shapes[i];
		assert_int_equal(
			sp_embedding_graph_build(&g, "KvVarIsInitializedOp", NULL, 0, inputs, 1),
			SP_INVALID);
		assert_non_null(strstr(g.graph.err.text, "'emb'"));
		assert_non_null(strstr(g.graph.err.text, "width of a row"));
		restart();
	}
}

/* ------------------------------------------------------------------ state */

static void is_initialized_once_it_has_rows(void **state)
{
	const sp_embedding_input inputs[] = {{"emb", {0}}};
	const sp_tensor *out;

	(void)state;
	g.shared_name = "";
	assert_ok(sp_embedding_graph_build(&g, "KvVarIsInitializedOp", NULL, 0, inputs, 1),
		  &g.graph.err);
	assert_string_equal(g.graph.resources.items[0].name, "emb"); /* the node's own */
	assert_ok(sp_embedding_graph_run(&g, inputs, 1, &out), &g.graph.err);
	assert_false(*sp_tensor_bool(out));
	sp_snapshot_destroy(g.graph.snapshot);
	g.graph.snapshot = NULL;
	sp_embedding_graph_load(&g, SP_TABLE_FILTER_NONE);
	assert_ok(sp_embedding_graph_run(&g, inputs, 1, &out), &g.graph.err);
	assert_true(*sp_tensor_bool(out));
}

static void shape_is_keys_by_width(void **state)
{
	const sp_attr attrs[] = {sp_type_attr("out_type", SP_INT64)};
	const sp_embedding_input inputs[] = {{"emb", {0}}};
	const sp_tensor *out;

	(void)state;
	start("KvVariableShape", attrs, 1, inputs, 1, SP_TABLE_FILTER_NONE);
	assert_ok(sp_embedding_graph_run(&g, inputs, 1, &out), &g.graph.err);
	assert_int_equal(out->count, 2);
	assert_int_equal(sp_tensor_i64(out)[0], 3);
	assert_int_equal(sp_tensor_i64(out)[1], 3);
}

static void shape_of_a_part_in_a_shared_table_is_refused(void **state)
{
	const sp_embedding_input inputs[] = {{"emb", {0}}};
	const sp_tensor *out;

	(void)state;
	g.shared_name = "user_emb/part_1";
	start("KvVariableShape", NULL, 0, inputs, 1, SP_TABLE_FILTER_NONE);
	assert_int_equal(sp_embedding_graph_run(&g, inputs, 1, &out), SP_UNSUPPORTED);
	assert_non_null(strstr(g.graph.err.text, "user_emb/part_1"));
}

static void tier_is_0_or_absent(void **state)
{
	static const int32_t want[] = {0, -1, 0, -1};
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_FLOAT)};
	const sp_embedding_input inputs[] = {{"emb", {0}},
					     {"ids", sp_feed_ids(sp_shape_vector(4), four_ids)}};
	const sp_tensor *out;

	(void)state;
	start("KvResourceLookupTier", attrs, 1, inputs, 2, SP_TABLE_FILTER_COUNTER);
	assert_ok(sp_embedding_graph_run(&g, inputs, 2, &out), &g.graph.err);
	assert_int_equal(out->dtype, SP_INT32);
	assert_memory_equal(out->data, want, sizeof(want));
}

/* A slower tier that has key 11 alone. */
static size_t no_scratch(const sp_tier *tier, size_t count)
{
	(void)tier;
	(void)count;
	return 0;
}

static int64_t read_until; /* the deadline of the last read */

static sp_status read_eleven(const sp_tier_read *reads, size_t count, void *scratch,
			     int64_t deadline_ns, sp_error *err)
{
	(void)scratch;
	(void)err;
	read_until = deadline_ns;
	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < reads[r].count; i++) {
			reads[r].found[i] = reads[r].keys[i] == 11;
			if (reads[r].found[i])
				memset(reads[r].rows[i], 0, 3 * sizeof(float));
		}
	return SP_OK;
}

static void keep(sp_tier *tier)
{
	(void)tier;
}

static const sp_tier_kind kind = {
	.name = "double", .scratch = no_scratch, .read = read_eleven, .destroy = keep};

/* A table that has key 10 in memory and key 11 below. */
static void load_with_tier(sp_tier *below)
{
	const int64_t held = 10;
	const float row[3] = {1, 2, 3};
	sp_table_options options = {.name = "user_emb", .dim = 3};
	sp_rows *rows;

	*below = (sp_tier){.kind = &kind, .dim = 3, .row_count = 1, .references = 1};
	assert_ok(sp_rows_create(&rows, &(sp_rows_options){.name = "user_emb", .dim = 3}, &held,
				 row, 1, &g.graph.err),
		  &g.graph.err);
	assert_ok(sp_table_create(&g.table, &options, rows, below, &g.graph.err), &g.graph.err);
	sp_rows_release(rows);
	g.graph.resources.items[0].table = g.table;
}

static void tier_is_1_where_only_a_slower_one_has_the_key(void **state)
{
	static const int64_t ids[] = {10, 11, 12, -1};
	static const int32_t want[] = {0, 1, -1, -1};
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_FLOAT)};
	const sp_embedding_input inputs[] = {{"emb", {0}},
					     {"ids", sp_feed_ids(sp_shape_vector(4), ids)}};
	const sp_tensor *out;
	sp_tier below;

	(void)state;
	assert_ok(sp_embedding_graph_build(&g, "KvResourceLookupTier", attrs, 1, inputs, 2),
		  &g.graph.err);
	load_with_tier(&below);
	assert_ok(sp_embedding_graph_run(&g, inputs, 2, &out), &g.graph.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

static void a_slower_tier_is_told_the_deadline(void **state)
{
	static const char *const ops[] = {"KvResourceLookupTier", "KvResourceGather"};
	static const int64_t ids[] = {10, 11};
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_FLOAT)};
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"ids", sp_feed_ids(sp_shape_vector(2), ids)},
		{"default", sp_feed_floats(sp_shape_vector(0), (const float[]){0})}};
	const sp_tensor *out;
	sp_tier below;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_ok(sp_embedding_graph_build(&g, ops[i], attrs, 1, inputs, 2 + i),
			  &g.graph.err);
		load_with_tier(&below);
		for (int64_t hours = 0; hours < 3; hours++) {
			g.graph.deadline_ns = hours != 0 ? sp_clock_now_ns() +
								   hours * 3600 * 1000000000
							 : 0;
			assert_ok(sp_embedding_graph_run(&g, inputs, 2 + i, &out), &g.graph.err);
			assert_true(read_until == g.graph.deadline_ns);
		}
		sp_table_destroy(g.table);
		g.table = NULL;
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gather_appends_the_width_to_the_shape),
		TEST(gather_v1_ignores_counts),
		TEST(gather_with_int32_keys_widens_them),
		TEST(gather_takes_an_absent_keys_own_default),
		TEST(too_few_default_rows_are_refused),
		TEST(no_ids_give_no_rows),
		TEST(what_a_gather_cannot_do_is_refused),
		TEST(keys_must_be_of_the_declared_type),
		TEST(keys_are_looked_at_again_behind_a_switch),
		TEST(constant_default_rows_must_be_as_wide_as_the_embeddings),
		TEST(other_types_are_refused_by_name),
		TEST(a_handle_must_say_how_wide_rows_are),
		TEST(is_initialized_once_it_has_rows),
		TEST(shape_is_keys_by_width),
		TEST(shape_of_a_part_in_a_shared_table_is_refused),
		TEST(tier_is_0_or_absent),
		TEST(tier_is_1_where_only_a_slower_one_has_the_key),
		TEST(a_slower_tier_is_told_the_deadline),
	};

	return cmocka_run_group_tests_name("embedding operators", tests, NULL, NULL);
}
