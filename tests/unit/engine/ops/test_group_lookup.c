#include "tests/support/cmocka.h"

#include <string.h>

#include "storage/table/table.h"
#include "storage/table/table_builder.h"
#include "tests/support/graph.h"

/*
 * Group lookups in EmbeddingVariables.  How rows are pooled is tested with
 * matrices (cases/deeprec_lookup); here is what is different: handles, keys that
 * are absent, and the two generations of inputs.
 */
static sp_small_graph f;
static sp_table *tables[2];

static int set_up(void **state)
{
	(void)state;
	sp_small_graph_init(&f);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_small_graph_fini(&f);
	for (size_t i = 0; i < 2; i++) {
		sp_table_destroy(tables[i]);
		tables[i] = NULL;
	}
	return 0;
}

#define INT(key, value)                                          \
	{                                                        \
		.name = (key), .kind = SP_ATTR_INT, .i = (value) \
	}
#define BOOL(key, value)                                          \
	{                                                         \
		.name = (key), .kind = SP_ATTR_BOOL, .b = (value) \
	}
#define TEXT(key, value)                                                                 \
	{                                                                                \
		.name = (key), .kind = SP_ATTR_BYTES, .bytes = {(value), strlen(value) } \
	}
#define SHAPE(key, value)                                              \
	{                                                              \
		.name = (key), .kind = SP_ATTR_SHAPE, .shape = (value) \
	}

static const sp_partial_shape width_2 = {.rank = 1, .dims = {2}};

#define HANDLE(node_name, keys)                                                         \
	{                                                                               \
		NODE(node_name, "KvVarHandleOp"),                                       \
			ATTRS(TYPE("dtype", SP_FLOAT), TYPE("Tkeys", keys),             \
			      SHAPE("shape", &width_2), TEXT("shared_name", node_name)) \
	}
#define FEED(node_name, dtype_)                                              \
	{                                                                    \
		NODE(node_name, "Placeholder"), ATTRS(TYPE("dtype", dtype_)) \
	}

/* Table i holds the row {k, 10 k + i} under keys 1, 2 and 3; absent keys answer {-1, -2}. */
static void load(size_t i)
{
	static const float defaults[] = {-1, -2};
	sp_table_options options = {.name = i == 0 ? "a" : "b",
				    .dim = 2,
				    .default_rows = defaults,
				    .default_row_count = 1};
	const int64_t keys[] = {1, 2, 3};
	float rows[6];

	for (size_t k = 0; k < 3; k++) {
		rows[2 * k] = (float)keys[k];
		rows[2 * k + 1] = (float)(10 * keys[k]) + (float)i;
	}
	assert_ok(sp_table_from_rows(&tables[i], &options, keys, rows, 3, &f.err), &f.err);
	f.resources.items[i].table = tables[i];
}

static sp_tensor tensor(sp_dtype dtype, sp_shape shape, const void *data)
{
	sp_tensor t = {.dtype = dtype, .shape = shape, .data = (void *)data};

	assert_true(sp_shape_count(&shape, &t.count));
	return t;
}

static const int64_t a_keys[] = {3, 9, 3}, b_keys[] = {1, 2};
static const float a_weights[] = {2, 1, 4}, b_weights[] = {1, 1}, one = 1;

/* Rows of a: {3, 30} twice and absent {-1, -2} once; of b: {1, 11} and {2, 21}. */
static const float means[] = {(2 * 3 - 1) / 2.0f, (2 * 30 - 2) / 2.0f, 0, 0, 12, 120};
static const float b_means[] = {0, 0, 1.5f, 16, 0, 0};

static void check_outputs(const sp_tensor *const *out)
{
	static const int64_t unique[] = {3, 9};
	static const int32_t places[] = {0, 1, 0}, ends[] = {2, 2, 3};

	assert_memory_equal(out[0]->data, means, sizeof(means));
	assert_int_equal(out[0]->shape.dims[0], 3);
	assert_memory_equal(out[1]->data, b_means, sizeof(b_means));
	assert_int_equal(out[2]->count, 2);
	assert_memory_equal(out[2]->data, unique, sizeof(unique));
	assert_memory_equal(out[3]->data, places, sizeof(places));
	assert_memory_equal(out[4]->data, ends, sizeof(ends));
}

#define FETCHES                                        \
	{                                              \
		"op:0", "op:1", "op:2", "op:4", "op:6" \
	}

static void one_dense_shape_for_all_is_a_number_of_rows(void **state)
{
	const sp_node_def nodes[] = {
		HANDLE("a", SP_INT64),
		HANDLE("b", SP_INT64),
		FEED("ak", SP_INT64),
		FEED("bk", SP_INT64),
		FEED("ai", SP_INT64),
		FEED("bi", SP_INT64),
		FEED("aw", SP_FLOAT),
		FEED("bw", SP_FLOAT),
		FEED("rows", SP_INT32),
		FEED("default", SP_FLOAT),
		{NODE("op", "GroupEmbeddingVarLookup"),
		 INPUTS("a", "b", "ak", "bk", "ai", "bi", "aw", "bw", "rows", "default"),
		 ATTRS(INT("num_lookups", 2), INT("dimension", 2), TEXT("combiner", "mean"),
		       TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64),
		       BOOL("is_inference", true))}};
	const sp_ends ends = {.feeds = {"ak", "bk", "ai", "bi", "aw", "bw", "rows", "default"},
			      .fetches = FETCHES};
	static const int64_t a_rows[] = {0, 0, 2}, b_rows[] = {1, 1};
	const int32_t batch = 3;
	const sp_tensor feeds[] = {tensor(SP_INT64, sp_shape_vector(3), a_keys),
				   tensor(SP_INT64, sp_shape_vector(2), b_keys),
				   tensor(SP_INT64, sp_shape_vector(3), a_rows),
				   tensor(SP_INT64, sp_shape_vector(2), b_rows),
				   tensor(SP_FLOAT, sp_shape_vector(3), a_weights),
				   tensor(SP_FLOAT, sp_shape_vector(2), b_weights),
				   tensor(SP_INT32, sp_shape_scalar(), &batch),
				   tensor(SP_FLOAT, sp_shape_scalar(), &one)};
	const sp_tensor *out[5];

	(void)state;
	assert_ok(sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends), &f.err);
	load(0);
	assert_int_equal(sp_small_graph_run(&f, feeds, NULL, out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "'b'"));
	load(1);
	assert_ok(sp_small_graph_run(&f, feeds, NULL, out), &f.err);
	check_outputs(out);
}

/* The later generation, without weights for lookup a: all weights are 1. */
static void a_dense_shape_for_each_comes_with_whole_indices(void **state)
{
	const sp_node_def nodes[] = {HANDLE("a", SP_INT32),
				     FEED("keys", SP_INT32),
				     FEED("indices", SP_INT64),
				     FEED("weights", SP_FLOAT),
				     FEED("shape", SP_INT64),
				     {NODE("op", "GroupEmbeddingVarLookup"),
				      INPUTS("a", "keys", "indices", "weights", "shape", "weights"),
				      ATTRS(INT("num_lookups", 1), INT("dimension", 2),
					    TEXT("combiner", "sum"), BOOL("ignore_weights", true),
					    TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT32))}};
	const sp_ends ends = {.feeds = {"keys", "indices", "weights", "shape"}, .fetches = {"op"}};
	static const int32_t keys[] = {1, 2, -5};
	static const int64_t indices[] = {0, 1, 0, 4, 1, 0}, shape[] = {2, 5};
	static const float sums[] = {3, 30, -1, -2};
	const sp_tensor feeds[] = {tensor(SP_INT32, sp_shape_vector(3), keys),
				   tensor(SP_INT64, sp_shape_matrix(3, 2), indices),
				   tensor(SP_FLOAT, sp_shape_scalar(), &one),
				   tensor(SP_INT64, sp_shape_vector(2), shape)};
	const sp_tensor *out[1];

	(void)state;
	assert_ok(sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends), &f.err);
	load(0);
	assert_ok(sp_small_graph_run(&f, feeds, NULL, out), &f.err);
	assert_memory_equal(out[0]->data, sums, sizeof(sums));
}

/* Compiles two lookups of the earlier generation that take default values. */
static sp_status compile_with_defaults(void)
{
	const sp_node_def nodes[] = {
		HANDLE("a", SP_INT64),
		HANDLE("b", SP_INT64),
		FEED("ak", SP_INT64),
		FEED("bk", SP_INT64),
		FEED("ai", SP_INT64),
		FEED("bi", SP_INT64),
		FEED("rows", SP_INT32),
		FEED("default", SP_FLOAT),
		{NODE("op", "GroupEmbeddingVarLookup"),
		 INPUTS("a", "b", "ak", "bk", "ai", "bi", "default", "default", "rows", "default"),
		 ATTRS(INT("num_lookups", 2), INT("dimension", 2), TEXT("combiner", "sum"),
		       BOOL("ignore_weights", true), BOOL("is_use_default_value_tensor", true),
		       TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))}};
	const sp_ends ends = {.feeds = {"ak", "bk", "ai", "bi", "rows", "default"},
			      .fetches = {"op:0", "op:1"}};

	return sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends);
}

/* Row i of them is the i-th distinct key's: of {9, 3, 9, 8} absent 9 has the first, 8 the third. */
static void default_values_are_those_of_distinct_keys(void **state)
{
	static const int64_t more_keys[] = {9, 3, 9, 8}, more_rows[] = {0, 0, 1, 1};
	static const int64_t few_keys[] = {2, 7}, few_rows[] = {0, 1};
	static const float defaults[] = {100, 200, 300, 400, 500, 600};
	static const float sums[] = {103, 230, 600, 800}, few_sums[] = {2, 21, 300, 400};
	const int32_t batch = 2;
	sp_tensor feeds[] = {tensor(SP_INT64, sp_shape_vector(4), more_keys),
			     tensor(SP_INT64, sp_shape_vector(2), few_keys),
			     tensor(SP_INT64, sp_shape_vector(4), more_rows),
			     tensor(SP_INT64, sp_shape_vector(2), few_rows),
			     tensor(SP_INT32, sp_shape_scalar(), &batch),
			     tensor(SP_FLOAT, sp_shape_matrix(3, 2), defaults)};
	const sp_tensor *out[2];

	(void)state;
	assert_ok(compile_with_defaults(), &f.err);
	load(0);
	load(1);
	assert_ok(sp_small_graph_run(&f, feeds, NULL, out), &f.err);
	assert_memory_equal(out[0]->data, sums, sizeof(sums));
	assert_memory_equal(out[1]->data, few_sums, sizeof(few_sums));
	feeds[5] = tensor(SP_FLOAT, sp_shape_matrix(2, 2), defaults);
	assert_int_equal(sp_small_graph_run(&f, feeds, NULL, out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "3 distinct keys"));
}

/* Compiles lookups of the later generation, `count` of them in one table, with default values. */
static sp_status compile_later_with_defaults(int64_t count)
{
	const sp_node_def nodes[] = {
		HANDLE("a", SP_INT64),
		FEED("keys", SP_INT64),
		FEED("indices", SP_INT64),
		FEED("shape", SP_INT64),
		FEED("default", SP_FLOAT),
		{NODE("one", "GroupEmbeddingVarLookup"),
		 INPUTS("a", "keys", "indices", "default", "shape", "default"),
		 ATTRS(INT("num_lookups", 1), INT("dimension", 2), TEXT("combiner", "mean"),
		       BOOL("ignore_weights", true), BOOL("is_use_default_value_tensor", true),
		       TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))},
		{NODE("two", "GroupEmbeddingVarLookup"),
		 INPUTS("a", "a", "keys", "keys", "indices", "indices", "default", "default",
			"shape", "shape", "default"),
		 ATTRS(INT("num_lookups", 2), INT("dimension", 2), TEXT("combiner", "mean"),
		       BOOL("ignore_weights", true), BOOL("is_use_default_value_tensor", true),
		       TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))}};
	const sp_ends ends = {.feeds = {"keys", "indices", "shape", "default"},
			      .fetches = {count == 1 ? "one" : "two"}};

	return sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends);
}

/* Where each lookup has a dense_shape, DeepRec reads default values for a single one only. */
static void default_values_of_one_lookup_with_its_shape(void **state)
{
	static const int64_t keys[] = {9, 1, 9}, indices[] = {0, 0, 0, 1, 1, 0}, shape[] = {2, 2};
	static const float defaults[] = {5, 6, 7, 8}, rows[] = {3, 8, 5, 6};
	const sp_tensor feeds[] = {tensor(SP_INT64, sp_shape_vector(3), keys),
				   tensor(SP_INT64, sp_shape_matrix(3, 2), indices),
				   tensor(SP_INT64, sp_shape_vector(2), shape),
				   tensor(SP_FLOAT, sp_shape_matrix(2, 2), defaults)};
	const sp_tensor *out[1];

	(void)state;
	assert_int_equal(compile_later_with_defaults(2), SP_UNSUPPORTED);
	assert_non_null(strstr(f.err.text, "is_use_default_value_tensor"));
	assert_ok(compile_later_with_defaults(1), &f.err);
	load(0);
	assert_ok(sp_small_graph_run(&f, feeds, NULL, out), &f.err);
	assert_memory_equal(out[0]->data, rows, sizeof(rows));
}

static void dense_keys_keep_their_shape(void **state)
{
	const sp_node_def nodes[] = {HANDLE("a", SP_INT64),
				     FEED("keys", SP_INT64),
				     FEED("default", SP_FLOAT),
				     {NODE("op", "GroupEmbeddingVarLookupDense"),
				      INPUTS("a", "keys", "default"),
				      ATTRS(INT("num_lookups", 1), INT("dimension", 2),
					    TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))}};
	const sp_ends ends = {.feeds = {"keys", "default"}, .fetches = {"op"}};
	static const int64_t keys[] = {2, 8};
	static const float rows[] = {2, 20, -1, -2};
	const sp_tensor feeds[] = {tensor(SP_INT64, sp_shape_matrix(2, 1), keys),
				   tensor(SP_FLOAT, sp_shape_scalar(), &one)};
	const sp_tensor *out[1];

	(void)state;
	assert_ok(sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends), &f.err);
	load(0);
	assert_ok(sp_small_graph_run(&f, feeds, NULL, out), &f.err);
	assert_int_equal(out[0]->shape.rank, 3);
	assert_memory_equal(out[0]->data, rows, sizeof(rows));
}

/* Compiles a dense lookup with that width and one more attribute. */
static sp_status compile_dense(int64_t width, sp_attr more)
{
	const sp_node_def nodes[] = {
		HANDLE("a", SP_INT64),
		FEED("keys", SP_INT64),
		FEED("default", SP_FLOAT),
		{NODE("op", "GroupEmbeddingVarLookupDense"), INPUTS("a", "keys", "default"),
		 ATTRS(INT("num_lookups", 1), INT("dimension", width), TYPE("dtype", SP_FLOAT),
		       TYPE("Tkeys", SP_INT64), more)}};
	const sp_ends ends = {.feeds = {"keys", "default"}, .fetches = {"op"}};

	return sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends);
}

static void what_has_no_answer_is_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(compile_dense(2, (sp_attr)BOOL("is_use_default_value_tensor", true)),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(f.err.text, "is_use_default_value_tensor"));
	assert_int_equal(compile_dense(0, (sp_attr)BOOL("is_sequence", false)), SP_INVALID);
}

static void constant_default_values_of_another_width_are_refused(void **state)
{
	static const float three[] = {1, 2, 3};
	const sp_tensor defaults = tensor(SP_FLOAT, sp_shape_vector(3), three);
	const sp_node_def nodes[] = {
		HANDLE("a", SP_INT64),
		FEED("keys", SP_INT64),
		FEED("indices", SP_INT64),
		FEED("shape", SP_INT64),
		{NODE("default", "Const"),
		 ATTRS(TYPE("dtype", SP_FLOAT), TENSOR("value", &defaults))},
		{NODE("op", "GroupEmbeddingVarLookup"),
		 INPUTS("a", "keys", "indices", "default", "shape", "default"),
		 ATTRS(INT("num_lookups", 1), INT("dimension", 2), TEXT("combiner", "mean"),
		       BOOL("ignore_weights", true), BOOL("is_use_default_value_tensor", true),
		       TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))}};
	const sp_ends ends = {.feeds = {"keys", "indices", "shape"}, .fetches = {"op"}};

	(void)state;
	assert_int_equal(sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends), SP_INVALID);
	assert_non_null(strstr(f.err.text, "node 'op'"));
	assert_non_null(strstr(f.err.text, "of shape [3] are not rows of 2"));
}

static void a_table_of_another_width_is_refused(void **state)
{
	(void)state;
	assert_int_equal(compile_dense(3, (sp_attr)BOOL("is_sequence", false)), SP_INVALID);
	assert_non_null(strstr(f.err.text, "node 'op'"));
	assert_non_null(strstr(f.err.text, "'a' has rows of 2, not 3"));
}

/* Compiles a dense lookup of that width, on a handle that comes by a Switch. */
static sp_status compile_switched(int64_t width)
{
	const sp_node_def nodes[] = {
		HANDLE("a", SP_INT64),
		FEED("on", SP_BOOL),
		FEED("keys", SP_INT64),
		FEED("default", SP_FLOAT),
		{NODE("switch", "Switch"), INPUTS("a", "on"), ATTRS(TYPE("T", SP_RESOURCE))},
		{NODE("op", "GroupEmbeddingVarLookupDense"), INPUTS("switch:1", "keys", "default"),
		 ATTRS(INT("num_lookups", 1), INT("dimension", width), TYPE("dtype", SP_FLOAT),
		       TYPE("Tkeys", SP_INT64))}};
	const sp_ends ends = {.feeds = {"on", "keys", "default"}, .fetches = {"op"}};

	return sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends);
}

/* Then only a request can tell which one it is. */
static void a_table_behind_a_switch_is_looked_at_by_requests(void **state)
{
	static const int64_t keys[] = {2};
	const bool on = true;
	const sp_tensor feeds[] = {tensor(SP_BOOL, sp_shape_scalar(), &on),
				   tensor(SP_INT64, sp_shape_vector(1), keys),
				   tensor(SP_FLOAT, sp_shape_scalar(), &one)};
	const sp_tensor *out[1];

	(void)state;
	assert_ok(compile_switched(3), &f.err);
	load(0);
	assert_int_equal(sp_small_graph_run(&f, feeds, NULL, out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "'a' has rows of 2, not 3"));
}

static void keys_of_another_type_are_refused(void **state)
{
	const sp_node_def nodes[] = {HANDLE("a", SP_INT32),
				     FEED("keys", SP_INT64),
				     FEED("default", SP_FLOAT),
				     {NODE("op", "GroupEmbeddingVarLookupDense"),
				      INPUTS("a", "keys", "default"),
				      ATTRS(INT("num_lookups", 1), INT("dimension", 2),
					    TYPE("dtype", SP_FLOAT), TYPE("Tkeys", SP_INT64))}};
	const sp_ends ends = {.feeds = {"keys", "default"}, .fetches = {"op"}};

	(void)state;
	assert_int_equal(sp_small_graph_compile(&f, nodes, COUNT(nodes), &ends), SP_INVALID);
	assert_non_null(strstr(f.err.text, "'a' has keys of DT_INT32, not DT_INT64"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_dense_shape_for_all_is_a_number_of_rows, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_dense_shape_for_each_comes_with_whole_indices,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(default_values_are_those_of_distinct_keys, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(default_values_of_one_lookup_with_its_shape, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(dense_keys_keep_their_shape, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_has_no_answer_is_refused_by_name, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			constant_default_values_of_another_width_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_table_of_another_width_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_table_behind_a_switch_is_looked_at_by_requests,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_of_another_type_are_refused, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
