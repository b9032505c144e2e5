#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/embedding_graph.h"

/* Operators that create EmbeddingVariables and import their rows: what they ask of whoever loads.
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

static void restart(void)
{
	sp_embedding_graph_fini(&g);
	sp_embedding_graph_init(&g);
}

/* An environment that writes down what it is asked. */
typedef struct call_log {
	int created, imported, rows;
	sp_embedding_options options;
	float default_rows[8];
	sp_embedding_import import;
	int64_t first_key, first_version;
	float first_value;
	const char *name;
} call_log;

static sp_status log_create(void *context, sp_resource *resource,
			    const sp_embedding_options *options, sp_error *err)
{
	call_log *log = context;

	(void)err;
	log->created++;
	log->name = resource->name;
	log->options = *options;
	memcpy(log->default_rows, options->default_rows->data,
	       options->default_rows->count * sizeof(float));
	return SP_OK;
}

static sp_status log_import(void *context, sp_resource *resource, const sp_embedding_import *import,
			    sp_error *err)
{
	call_log *log = context;

	(void)err;
	log->imported++;
	log->name = resource->name;
	log->import = *import;
	return SP_OK;
}

/* The first of them, where they are of the types that can be served. */
static sp_status log_rows(void *context, sp_resource *resource, const sp_tensor *keys,
			  const sp_tensor *values, const sp_tensor *versions, sp_error *err)
{
	call_log *log = context;

	(void)err;
	log->rows++;
	log->name = resource->name;
	if (resource->dtype == SP_FLOAT && resource->key_dtype == SP_INT64) {
		log->first_key = sp_tensor_i64(keys)[0];
		log->first_value = sp_tensor_f32(values)[0];
		log->first_version = sp_tensor_i64(versions)[0];
	}
	return SP_OK;
}

static call_log calls;

static sp_status run_load(const char *op, const sp_attr *attrs, size_t attr_count,
			  const sp_embedding_input *inputs, size_t count)
{
	g.graph.environment.context = &calls;
	g.graph.environment.create_embedding = log_create;
	g.graph.environment.import_embedding = log_import;
	g.graph.environment.import_embedding_rows = log_rows;
	calls = (call_log){0};
	g.fetches = false;
	g.loading = true;
	SP_TRY(sp_embedding_graph_build(&g, op, attrs, attr_count, inputs, count));
	return sp_embedding_graph_run(&g, inputs, count, NULL);
}

static sp_tensor text(const sp_bytes *bytes)
{
	return (sp_tensor){.dtype = SP_STRING, .count = 1, .data = (void *)bytes};
}

static const float six[] = {1, 2, 3, 4, 5, 6};
static const int64_t empty_key[] = {-1};
static const sp_bytes prefix = {"/ckpt/model.ckpt-7", 18};
static const sp_bytes name = {"user_emb", 8};

static void initialize_states_defaults_and_filter(void **state)
{
	const char *const ops[] = {"InitializeKvVariableOp", "InitializeKvVariableV2Op"};
	const sp_attr attrs[] = {
		sp_type_attr("dtype", SP_FLOAT),
		sp_int_attr("default_value_dim", 2),
		sp_int_attr("filter_freq", 3),
		sp_int_attr("max_element_size", 1024),
		{.name = "false_positive_probability", .kind = SP_ATTR_FLOAT, .f = 0.125f},
		{.name = "default_value_no_permission", .kind = SP_ATTR_FLOAT, .f = 0.5f}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const sp_embedding_input inputs[] = {
			{"emb", {0}},
			{"emb", {0}},
			{"value", sp_feed_floats(sp_shape_matrix(2, 3), six)},
			{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
		};

		assert_ok(run_load(ops[i], attrs, 6, inputs, 4), &g.graph.err);
		assert_int_equal(calls.created, 1);
		assert_int_equal(calls.imported, 0);
		assert_string_equal(calls.name, "user_emb");
		assert_int_equal(calls.options.default_value_dim, 2);
		assert_int_equal(calls.options.filter_freq, 3);
		assert_int_equal(calls.options.max_element_size, 1024);
		assert_true(calls.options.false_positive_probability == 0.125f);
		assert_true(calls.options.default_value_no_permission == 0.5f);
		assert_memory_equal(calls.default_rows, six, sizeof(six));
		restart();
	}
}

static void stripped_attributes_have_their_defaults(void **state)
{
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"emb", {0}},
		{"value", sp_feed_floats(sp_shape_matrix(2, 3), six)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_ok(run_load("InitializeKvVariableOp", NULL, 0, inputs, 4), &g.graph.err);
	assert_int_equal(calls.options.default_value_dim, 4096);
	assert_int_equal(calls.options.filter_freq, 0);
	assert_int_equal(calls.options.max_element_size, 0);
	assert_true(calls.options.false_positive_probability == -1.0f);
	assert_true(calls.options.default_value_no_permission == 0.0f);
}

static void check_import(int64_t id, int64_t num)
{
	assert_int_equal(calls.imported, 1);
	assert_true(sp_bytes_equal(calls.import.prefix, prefix));
	assert_true(sp_bytes_equal(calls.import.name, name));
	assert_int_equal(calls.import.partition_id, id);
	assert_int_equal(calls.import.partition_num, num);
}

static void import_v2_creates_and_imports(void **state)
{
	const sp_attr attrs[] = {sp_int_attr("default_value_dim", 2),
				 sp_int_attr("partition_id", 1), sp_int_attr("partition_num", 4)};
	const sp_embedding_input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"emb", {0}},
		{"value", sp_feed_floats(sp_shape_matrix(2, 3), six)},
		{"name", text(&name)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_ok(run_load("KvResourceImportV2", attrs, 3, inputs, 6), &g.graph.err);
	assert_int_equal(calls.created, 1);
	assert_memory_equal(calls.default_rows, six, sizeof(six));
	check_import(1, 4);
}

static void import_v3_only_imports(void **state)
{
	const sp_embedding_input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name", text(&name)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_ok(run_load("KvResourceImportV3", NULL, 0, inputs, 4), &g.graph.err);
	assert_int_equal(calls.created, 0);
	check_import(0, 1);
}

static void incr_import_only_imports(void **state)
{
	const sp_embedding_input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name", text(&name)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
		{"value", sp_feed_floats(sp_shape_matrix(2, 3), six)},
	};

	(void)state;
	assert_ok(run_load("KvResourceIncrImport", NULL, 0, inputs, 5), &g.graph.err);
	assert_int_equal(calls.created, 0);
	check_import(0, 1);
}

static void the_oldest_import_brings_its_rows(void **state)
{
	static const int64_t keys[] = {5, 6};
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"value", sp_feed_floats(sp_shape_matrix(2, 3), six)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
		{"keys", sp_feed_ids(sp_shape_vector(2), keys)},
		{"values", sp_feed_floats(sp_shape_matrix(2, 3), six)},
		{"versions", sp_feed_ids(sp_shape_vector(2), keys)},
	};

	(void)state;
	assert_ok(run_load("KvResourceImport", NULL, 0, inputs, 6), &g.graph.err);
	assert_int_equal(calls.created, 1);
	assert_int_equal(calls.options.default_value_dim, 2);
	assert_int_equal(calls.options.filter_freq, 0);
	assert_int_equal(calls.rows, 1);
	assert_int_equal(calls.first_key, 5);
	assert_true(calls.first_value == 1.0f);
	assert_int_equal(calls.first_version, 5);
}

static const double six_doubles[] = {1, 2, 3, 4, 5, 6};

static sp_tensor doubles(sp_shape shape)
{
	return (sp_tensor){
		.dtype = SP_DOUBLE, .shape = shape, .count = 6, .data = (void *)six_doubles};
}

/* A slot of an optimizer, say: whether an answer needs it shows when tables are loaded. */
static void elements_may_be_of_any_type(void **state)
{
	static const sp_bytes keys[2];
	const sp_attr attrs[] = {sp_type_attr("dtype", SP_DOUBLE)};
	const sp_tensor texts = {
		.dtype = SP_STRING, .shape = sp_shape_vector(2), .count = 2, .data = (void *)keys};
	const sp_embedding_input initialize[] = {{"emb", {0}},
						 {"emb", {0}},
						 {"value", doubles(sp_shape_matrix(2, 3))},
						 {"empty_key", text(&name)}};
	const sp_embedding_input import[] = {
		{"emb", {0}},
		{"value", doubles(sp_shape_matrix(2, 3))},
		{"empty_key", text(&name)},
		{"keys", texts},
		{"values", doubles(sp_shape_matrix(2, 3))},
		{"versions", sp_feed_ids(sp_shape_vector(1), empty_key)},
	};

	(void)state;
	g.dtype = SP_DOUBLE;
	g.key_dtype = SP_STRING;
	assert_ok(run_load("InitializeKvVariableV2Op", attrs, 1, initialize, 4), &g.graph.err);
	assert_int_equal(calls.created, 1);
	restart();
	g.dtype = SP_DOUBLE;
	g.key_dtype = SP_STRING;
	assert_ok(run_load("KvResourceImport", attrs, 1, import, 6), &g.graph.err);
	assert_int_equal(calls.created, 1);
	assert_int_equal(calls.rows, 1);
}

static void a_handle_need_not_say_how_wide_rows_are(void **state)
{
	const sp_embedding_input inputs[] = {
		{"emb", {0}},
		{"value", sp_feed_floats(sp_shape_matrix(2, 3), six)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
		{"keys", sp_feed_ids(sp_shape_vector(1), empty_key)},
		{"values", sp_feed_floats(sp_shape_matrix(2, 3), six)},
		{"versions", sp_feed_ids(sp_shape_vector(1), empty_key)},
	};

	(void)state;
	for (int rank = -1; rank < 2; rank++) {
		g.shape = (sp_partial_shape){.rank = rank, .dims = {0}};
		assert_ok(run_load("KvResourceImport", NULL, 0, inputs, 6), &g.graph.err);
		assert_int_equal(calls.options.default_value_dim, 0);
		assert_int_equal(calls.rows, 1);
		restart();
	}
}

static void cache_strategies_and_destroying_do_nothing(void **state)
{
	const char *const ops[] = {"KvResourceInitCacheStrategyOp", "KvResourceSetCacheStrategyOp",
				   "DestroyKvResourceOp"};
	const sp_embedding_input inputs[] = {{"emb", {0}}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_ok(run_load(ops[i], NULL, 0, inputs, 1), &g.graph.err);
		assert_int_equal(calls.created + calls.imported + calls.rows, 0);
		restart();
	}
}

static void a_signature_may_not_load(void **state)
{
	const sp_embedding_input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name", text(&name)},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	g.fetches = false;
	assert_int_not_equal(sp_embedding_graph_build(&g, "KvResourceImportV3", NULL, 0, inputs, 4),
			     SP_OK);
	assert_non_null(strstr(g.graph.err.text, "KvResourceImportV3"));
}

static void a_name_must_be_one_string(void **state)
{
	const sp_bytes two[] = {name, name};
	const sp_embedding_input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name",
		 {.dtype = SP_STRING,
		  .shape = sp_shape_vector(2),
		  .count = 2,
		  .data = (void *)two}},
		{"empty_key", sp_feed_ids(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_int_equal(run_load("KvResourceImportV3", NULL, 0, inputs, 4), SP_INVALID);
	assert_int_equal(calls.imported, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(initialize_states_defaults_and_filter),
		TEST(stripped_attributes_have_their_defaults),
		TEST(import_v2_creates_and_imports),
		TEST(import_v3_only_imports),
		TEST(incr_import_only_imports),
		TEST(the_oldest_import_brings_its_rows),
		TEST(elements_may_be_of_any_type),
		TEST(a_handle_need_not_say_how_wide_rows_are),
		TEST(cache_strategies_and_destroying_do_nothing),
		TEST(a_signature_may_not_load),
		TEST(a_name_must_be_one_string),
	};

	return cmocka_run_group_tests_name("loading of embeddings", tests, NULL, NULL);
}
