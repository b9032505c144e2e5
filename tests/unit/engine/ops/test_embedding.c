#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "storage/rows_builder.h"
#include "storage/table.h"
#include "storage/table_builder.h"
#include "tests/support/graph.h"

/*
 * Operators on EmbeddingVariables.  Stock TensorFlow has none of them, so what
 * they must answer is stated here, from DeepRec's rules (storage/table.h).
 * Every test is a graph of one operator "op" on a handle "emb" and feeds.
 */
enum { MAX_INPUTS = 6, MAX_ATTRS = 8, MAX_NODES = 1 + MAX_INPUTS + 1 };

typedef struct input {
	const char *name; /* "emb" or a feed */
	sp_tensor value;
} input;

static sp_small_graph f;
static sp_node_def nodes[MAX_NODES];
static sp_table *table; /* what load_table() made */

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
	sp_table_destroy(table);
	table = NULL;
	return 0;
}

static sp_attr type_attr(const char *name, sp_dtype type)
{
	return (sp_attr){.name = name, .kind = SP_ATTR_TYPE, .type = type};
}

static sp_attr int_attr(const char *name, int64_t i)
{
	return (sp_attr){.name = name, .kind = SP_ATTR_INT, .i = i};
}

static const sp_partial_shape width_3 = {.rank = 1, .dims = {3}};

/* KvVarHandleOp "emb" of width 3. */
static sp_node_def handle(const char *shared_name, sp_dtype dtype, sp_dtype key_dtype)
{
	sp_attr *attrs = sp_arena_array(f.arena, 4, sizeof(*attrs));

	attrs[0] = type_attr("dtype", dtype);
	attrs[1] = type_attr("Tkeys", key_dtype);
	attrs[2] = (sp_attr){.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &width_3};
	attrs[3] = (sp_attr){
		.name = "shared_name", .kind = SP_ATTR_BYTES, .bytes = sp_bytes_of(shared_name)};
	return (sp_node_def){.name = "emb", .op = "KvVarHandleOp", .attrs = attrs, .attr_count = 4};
}

static sp_node_def placeholder(const input *in)
{
	sp_attr *dtype = sp_arena_array(f.arena, 1, sizeof(*dtype));

	*dtype = type_attr("dtype", in->value.dtype);
	return (sp_node_def){NODE(in->name, "Placeholder"), .attrs = dtype, .attr_count = 1};
}

/* A graph of `op` on `inputs`, compiled; its entry fetches the first output, or runs it only. */
static sp_status build(const char *op, const sp_attr *attrs, size_t attr_count, sp_node_def emb,
		       const input *inputs, size_t input_count, bool fetch, bool loading)
{
	const char **names = sp_arena_array(f.arena, input_count, sizeof(*names));
	sp_ends ends = {.loading = loading};
	size_t feed_count = 0, node_count = 0;

	nodes[node_count++] = emb;
	for (size_t i = 0; i < input_count; i++) {
		names[i] = inputs[i].name;
		if (strcmp(names[i], "emb") == 0)
			continue;
		nodes[node_count++] = placeholder(&inputs[i]);
		ends.feeds[feed_count++] = names[i];
	}
	nodes[node_count++] = (sp_node_def){NODE("op", op), .inputs = names,
					    .input_count = input_count, .attrs = attrs,
					    .attr_count = attr_count};
	if (fetch)
		ends.fetches[0] = "op";
	else
		ends.target = "op";
	return sp_small_graph_compile(&f, nodes, node_count, &ends);
}

static sp_tensor ids64(sp_shape shape, const int64_t *ids)
{
	size_t count = 0;

	assert_true(sp_shape_count(&shape, &count));
	return (sp_tensor){.dtype = SP_INT64, .shape = shape, .count = count, .data = (void *)ids};
}

static sp_tensor floats(sp_shape shape, const float *values)
{
	size_t count = 0;

	assert_true(sp_shape_count(&shape, &count));
	return (sp_tensor){
		.dtype = SP_FLOAT, .shape = shape, .count = count, .data = (void *)values};
}

/* Rows {k, k + 0.25, k + 0.5} of keys 10, 20, 30; absent keys answer {-1, -2, -3} or 7. */
static void load_table(sp_table_filter filter)
{
	static const float defaults[] = {-1, -2, -3};
	sp_table_options options = {.name = "user_emb",
				    .dim = 3,
				    .filter = filter,
				    .default_value_no_permission = 7.0f,
				    .default_rows = defaults,
				    .default_row_count = 1};
	const int64_t keys[] = {10, 20, 30};
	float rows[9];

	for (size_t i = 0; i < 9; i++)
		rows[i] = (float)keys[i / 3] + 0.25f * (float)(i % 3);
	assert_ok(sp_table_from_rows(&table, &options, keys, rows, 3, &f.err), &f.err);
	assert_int_equal(f.resources.count, 1);
	f.resources.items[0].table = table;
}

static sp_status run(const input *inputs, size_t count, const sp_tensor **out)
{
	sp_tensor feeds[MAX_INPUTS];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(inputs[i].name, "emb") != 0)
			feeds[n++] = inputs[i].value;
	return sp_small_graph_run(&f, feeds, NULL, out);
}

/* ---------------------------------------------------------------- gathers */

static const float scalar_1[] = {1};
static const int64_t four_ids[] = {20, 11, 10, -1};
static const int32_t four_counts[] = {1, 1, 1, 1};

static void check_gather(const char *op, sp_table_filter filter, sp_shape shape)
{
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT), type_attr("Tkeys", SP_INT64)};
	const input inputs[] = {
		{"emb", {0}},
		{"ids", ids64(shape, four_ids)},
		{"default", floats(sp_shape_scalar(), scalar_1)},
		{"counts",
		 {.dtype = SP_INT32, .shape = shape, .count = 4, .data = (void *)four_counts}},
	};
	size_t count = strcmp(op, "KvResourceGatherV1") == 0 ? 4 : 3;
	const float absent[2][3] = {{-1, -2, -3}, {7, 7, 7}};
	const float *no = absent[filter != SP_TABLE_FILTER_NONE];
	const float want[] = {20, 20.25f, 20.5f, no[0], no[1], no[2],
			      10, 10.25f, 10.5f, no[0], no[1], no[2]};
	const sp_tensor *out;

	assert_ok(build(op, attrs, 2, handle("user_emb", SP_FLOAT, SP_INT64), inputs, count, true,
			false),
		  &f.err);
	load_table(filter);
	assert_ok(run(inputs, count, &out), &f.err);
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
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT), type_attr("Tkeys", SP_INT32)};
	const input inputs[] = {
		{"emb", {0}},
		{"ids",
		 {.dtype = SP_INT32, .shape = sp_shape_vector(2), .count = 2, .data = (void *)ids}},
		{"default", floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvResourceGather", attrs, 2, handle("user_emb", SP_FLOAT, SP_INT32),
			inputs, 3, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_NONE);
	assert_ok(run(inputs, 3, &out), &f.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

/* Builds a gather with a row of default values per key. */
static sp_status gather_with_fallback(const sp_tensor *ids, const sp_tensor *rows,
				      const sp_tensor **out)
{
	const sp_attr attrs[] = {
		type_attr("dtype", SP_FLOAT),
		type_attr("Tkeys", SP_INT64),
		{.name = "is_use_default_value_tensor", .kind = SP_ATTR_BOOL, .b = true}};
	const input inputs[] = {{"emb", {0}}, {"ids", *ids}, {"default", *rows}};

	assert_ok(build("KvResourceGather", attrs, 3, handle("user_emb", SP_FLOAT, SP_INT64),
			inputs, 3, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_NONE);
	return run(inputs, 3, out);
}

static void gather_takes_an_absent_keys_own_default(void **state)
{
	static const float rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	static const float want[] = {20, 20.25f, 20.5f, 4, 5, 6, 10, 10.25f, 10.5f, 10, 11, 12};
	sp_tensor ids = ids64(sp_shape_vector(4), four_ids);
	sp_tensor defaults = floats(sp_shape_matrix(4, 3), rows);
	const sp_tensor *out;

	(void)state;
	assert_ok(gather_with_fallback(&ids, &defaults, &out), &f.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

static void too_few_default_rows_are_refused(void **state)
{
	static const float rows[9];
	sp_tensor ids = ids64(sp_shape_vector(4), four_ids);
	sp_tensor defaults = floats(sp_shape_matrix(3, 3), rows);
	const sp_tensor *out;

	(void)state;
	assert_int_equal(gather_with_fallback(&ids, &defaults, &out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "[3,3]"));
}

static void no_ids_give_no_rows(void **state)
{
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT), type_attr("Tkeys", SP_INT64)};
	const input inputs[] = {
		{"emb", {0}},
		{"ids", ids64(sp_shape_matrix(0, 5), NULL)},
		{"default", floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvResourceGather", attrs, 2, handle("user_emb", SP_FLOAT, SP_INT64),
			inputs, 3, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_NONE);
	assert_ok(run(inputs, 3, &out), &f.err);
	assert_int_equal(out->count, 0);
	assert_int_equal(out->shape.rank, 3);
	assert_int_equal(out->shape.dims[1], 5);
	assert_int_equal(out->shape.dims[2], 3);
}

static void what_a_gather_cannot_do_is_refused(void **state)
{
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT), type_attr("Tkeys", SP_INT64)};
	const input deep[] = {
		{"emb", {0}},
		{"ids", ids64((sp_shape){.rank = 8, .dims = {1, 1, 1, 1, 1, 1, 1, 4}}, four_ids)},
		{"default", floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvResourceGather", attrs, 2, handle("user_emb", SP_FLOAT, SP_INT64), deep,
			3, true, false),
		  &f.err);
	/* Nothing is loaded yet. */
	assert_int_equal(run(deep, 3, &out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "user_emb"));
	load_table(SP_TABLE_FILTER_NONE);
	assert_int_equal(run(deep, 3, &out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "rank 8"));
}

static void keys_must_be_of_the_declared_type(void **state)
{
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT), type_attr("Tkeys", SP_INT64)};
	const input inputs[] = {
		{"emb", {0}},
		{"ids", ids64(sp_shape_vector(4), four_ids)},
		{"default", floats(sp_shape_scalar(), scalar_1)},
	};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvResourceGather", attrs, 2, handle("user_emb", SP_FLOAT, SP_INT32),
			inputs, 3, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_NONE);
	assert_int_equal(run(inputs, 3, &out), SP_INVALID);
	assert_non_null(strstr(f.err.text, "DT_INT32"));
}

static void other_types_are_refused_by_name(void **state)
{
	const input inputs[] = {{"emb", {0}}};

	(void)state;
	assert_int_equal(build("KvVarIsInitializedOp", NULL, 0,
			       handle("user_emb", SP_DOUBLE, SP_INT64), inputs, 1, true, false),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(f.err.text, "DT_DOUBLE"));
	tear_down(NULL);
	set_up(NULL);
	assert_int_equal(build("KvVarIsInitializedOp", NULL, 0,
			       handle("user_emb", SP_FLOAT, SP_STRING), inputs, 1, true, false),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(f.err.text, "DT_STRING"));
}

/* ------------------------------------------------------------------ state */

static void is_initialized_once_it_has_rows(void **state)
{
	const input inputs[] = {{"emb", {0}}};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvVarIsInitializedOp", NULL, 0, handle("", SP_FLOAT, SP_INT64), inputs, 1,
			true, false),
		  &f.err);
	assert_string_equal(f.resources.items[0].name, "emb"); /* the node's own */
	assert_ok(run(inputs, 1, &out), &f.err);
	assert_false(*sp_tensor_bool(out));
	sp_snapshot_destroy(f.snapshot);
	f.snapshot = NULL;
	load_table(SP_TABLE_FILTER_NONE);
	assert_ok(run(inputs, 1, &out), &f.err);
	assert_true(*sp_tensor_bool(out));
}

static void shape_is_keys_by_width(void **state)
{
	const sp_attr attrs[] = {type_attr("out_type", SP_INT64)};
	const input inputs[] = {{"emb", {0}}};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvVariableShape", attrs, 1, handle("user_emb", SP_FLOAT, SP_INT64), inputs,
			1, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_NONE);
	assert_ok(run(inputs, 1, &out), &f.err);
	assert_int_equal(out->count, 2);
	assert_int_equal(sp_tensor_i64(out)[0], 3);
	assert_int_equal(sp_tensor_i64(out)[1], 3);
}

static void shape_of_a_part_in_a_shared_table_is_refused(void **state)
{
	const input inputs[] = {{"emb", {0}}};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvVariableShape", NULL, 0, handle("user_emb/part_1", SP_FLOAT, SP_INT64),
			inputs, 1, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_NONE);
	assert_int_equal(run(inputs, 1, &out), SP_UNSUPPORTED);
	assert_non_null(strstr(f.err.text, "user_emb/part_1"));
}

static void tier_is_0_or_absent(void **state)
{
	static const int32_t want[] = {0, -1, 0, -1};
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT)};
	const input inputs[] = {{"emb", {0}}, {"ids", ids64(sp_shape_vector(4), four_ids)}};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("KvResourceLookupTier", attrs, 1, handle("user_emb", SP_FLOAT, SP_INT64),
			inputs, 2, true, false),
		  &f.err);
	load_table(SP_TABLE_FILTER_COUNTER);
	assert_ok(run(inputs, 2, &out), &f.err);
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

static sp_status read_eleven(const sp_tier_read *reads, size_t count, void *scratch,
			     int64_t deadline_ns, sp_error *err)
{
	(void)scratch;
	(void)deadline_ns;
	(void)err;
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

static void tier_is_1_where_only_a_slower_one_has_the_key(void **state)
{
	static const sp_tier_kind kind = {
		.name = "double", .scratch = no_scratch, .read = read_eleven, .destroy = keep};
	static const int64_t ids[] = {10, 11, 12, -1};
	static const int32_t want[] = {0, 1, -1, -1};
	const sp_attr attrs[] = {type_attr("dtype", SP_FLOAT)};
	const input inputs[] = {{"emb", {0}}, {"ids", ids64(sp_shape_vector(4), ids)}};
	const int64_t held = 10;
	const float row[3] = {1, 2, 3};
	sp_table_options options = {.name = "user_emb", .dim = 3};
	sp_tier below = {.kind = &kind, .dim = 3, .row_count = 1, .references = 1};
	const sp_tensor *out;
	sp_rows *rows;

	(void)state;
	assert_ok(build("KvResourceLookupTier", attrs, 1, handle("user_emb", SP_FLOAT, SP_INT64),
			inputs, 2, true, false),
		  &f.err);
	assert_ok(sp_rows_create(&rows, &(sp_rows_options){.name = "user_emb", .dim = 3}, &held,
				 row, 1, &f.err),
		  &f.err);
	assert_ok(sp_table_create(&table, &options, rows, &below, &f.err), &f.err);
	sp_rows_release(rows);
	f.resources.items[0].table = table;
	assert_ok(run(inputs, 2, &out), &f.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

/* ------------------------------------------------------- beside the rows */

static sp_status feed_numbers(void *context, sp_key_column_take *take, void *to, sp_error *err)
{
	static const int64_t keys[] = {10, 20, 40}, numbers[] = {5, INT64_C(5000000000), 0};

	(void)context;
	return take(to, keys, numbers, 3, err);
}

/* The table has numbers of keys 10 and 20, and of 40, which it does not hold. */
static void load_numbers(sp_table_column which)
{
	const sp_key_column_options options = {.absent = which == SP_TABLE_VERSIONS ? -1 : 0,
					       .feed = feed_numbers};
	sp_key_column *column;

	load_table(SP_TABLE_FILTER_COUNTER);
	assert_ok(sp_key_column_create(&column, &options, &f.err), &f.err);
	sp_table_set_column(table, which, column);
	sp_key_column_release(column);
}

static const struct {
	const char *op;
	sp_table_column column;
	int64_t absent;
} number_ops[] = {
	{"EVGetFrequency", SP_TABLE_FREQUENCIES, 0},
	{"EVGetVersion", SP_TABLE_VERSIONS, -1},
};

static void numbers_are_a_vector_whatever_the_shape_of_ids(void **state)
{
	static const int64_t ids[] = {10, 30, 20, 40, 41, -1};
	const sp_attr attrs[] = {type_attr("Tvalues", SP_FLOAT), type_attr("Tkeys", SP_INT64)};
	const sp_shape shapes[] = {sp_shape_vector(6), sp_shape_matrix(2, 3), sp_shape_vector(0)};

	(void)state;
	for (size_t o = 0; o < 2; o++)
		for (size_t s = 0; s < 3; s++) {
			const int64_t want[] = {5, number_ops[o].absent, INT64_C(5000000000),
						0, number_ops[o].absent, number_ops[o].absent};
			const input inputs[] = {{"emb", {0}}, {"ids", ids64(shapes[s], ids)}};
			const sp_tensor *out;

			assert_ok(build(number_ops[o].op, attrs, 2,
					handle("user_emb", SP_FLOAT, SP_INT64), inputs, 2, true,
					false),
				  &f.err);
			assert_int_equal(f.resources.items[0].columns, 1u << number_ops[o].column);
			assert_int_equal(f.resources.columns, 0);
			load_numbers(number_ops[o].column);
			assert_ok(run(inputs, 2, &out), &f.err);
			assert_int_equal(out->dtype, SP_INT64);
			assert_int_equal(out->shape.rank, 1);
			assert_int_equal(out->count, s == 2 ? 0 : 6);
			assert_memory_equal(out->data, want, out->count * sizeof(want[0]));
			tear_down(NULL);
			set_up(NULL);
		}
}

static void numbers_of_int32_keys(void **state)
{
	static const int32_t ids[] = {20, -7};
	static const int64_t want[] = {INT64_C(5000000000), 0};
	const sp_tensor narrow = {
		.dtype = SP_INT32, .shape = sp_shape_vector(2), .count = 2, .data = (void *)ids};
	const input inputs[] = {{"emb", {0}}, {"ids", narrow}};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("EVGetFrequency", NULL, 0, handle("user_emb", SP_FLOAT, SP_INT32), inputs,
			2, true, false),
		  &f.err);
	load_numbers(SP_TABLE_FREQUENCIES);
	assert_ok(run(inputs, 2, &out), &f.err);
	assert_memory_equal(out->data, want, sizeof(want));
}

static void numbers_that_a_table_lacks_are_refused(void **state)
{
	static const int64_t ids[] = {10};
	const input inputs[] = {{"emb", {0}}, {"ids", ids64(sp_shape_vector(1), ids)}};
	const sp_tensor *out;

	(void)state;
	assert_ok(build("EVGetVersion", NULL, 0, handle("user_emb", SP_FLOAT, SP_INT64), inputs, 2,
			true, false),
		  &f.err);
	load_numbers(SP_TABLE_FREQUENCIES);
	assert_int_equal(run(inputs, 2, &out), SP_UNSUPPORTED);
	assert_non_null(strstr(f.err.text, "versions"));
	assert_non_null(strstr(f.err.text, "user_emb"));
}

static void numbers_of_other_keys_and_values_are_refused(void **state)
{
	static const float half[] = {0.5f};
	static const int64_t ids[] = {10};
	const sp_attr doubles[] = {type_attr("Tvalues", SP_DOUBLE)};
	const input by_float[] = {{"emb", {0}}, {"ids", floats(sp_shape_vector(1), half)}};
	const input by_id[] = {{"emb", {0}}, {"ids", ids64(sp_shape_vector(1), ids)}};
	const input alone[] = {{"emb", {0}}};

	(void)state;
	assert_int_not_equal(build("EVGetFrequency", NULL, 0,
				   handle("user_emb", SP_FLOAT, SP_INT64), by_float, 2, true,
				   false),
			     SP_OK);
	tear_down(NULL);
	set_up(NULL);
	assert_int_not_equal(build("EVGetVersion", doubles, 1,
				   handle("user_emb", SP_FLOAT, SP_INT64), by_id, 2, true, false),
			     SP_OK);
	tear_down(NULL);
	set_up(NULL);
	assert_int_not_equal(build("EVGetVersion", NULL, 0, handle("user_emb", SP_FLOAT, SP_INT64),
				   alone, 1, true, false),
			     SP_OK);
}

/* A version's list of resources says what was asked, of all embeddings where nobody knows which. */
static void what_is_asked_for_is_known_to_every_version(void **state)
{
	const sp_partial_shape shape = {.rank = 1, .dims = {3}};
	sp_resources of_version;
	uint64_t index[3];
	sp_tensor handle_of = {.dtype = SP_RESOURCE, .count = 1, .data = &index[1]};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_ok(sp_resources_declare(&f.resources,
					       i < 2 ? SP_RESOURCE_EMBEDDING : SP_RESOURCE_VARIABLE,
					       sp_bytes_of(""), i == 1 ? "b" : "a", SP_FLOAT,
					       SP_INT64, &shape, &index[i], &f.err),
			  &f.err);
	assert_ok(sp_resources_ask_column(&f.resources, &handle_of, 1, &f.err), &f.err);
	assert_ok(sp_resources_ask_column(&f.resources, NULL, 0, &f.err), &f.err);
	assert_ok(sp_resources_init_as(&of_version, &f.resources, f.arena, &f.err), &f.err);
	assert_int_equal(of_version.items[0].columns, 1);
	assert_int_equal(of_version.items[1].columns, 3);
	assert_int_equal(of_version.items[2].columns, 0);
	handle_of.data = &index[2];
	assert_int_equal(sp_resources_ask_column(&f.resources, &handle_of, 1, &f.err), SP_INVALID);
}

/* ---------------------------------------------------------------- loading */

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

static sp_status log_rows(void *context, sp_resource *resource, const sp_tensor *keys,
			  const sp_tensor *values, const sp_tensor *versions, sp_error *err)
{
	call_log *log = context;

	(void)err;
	log->rows++;
	log->name = resource->name;
	log->first_key = sp_tensor_i64(keys)[0];
	log->first_value = sp_tensor_f32(values)[0];
	log->first_version = sp_tensor_i64(versions)[0];
	return SP_OK;
}

static call_log calls;

static sp_status run_load(const char *op, const sp_attr *attrs, size_t attr_count,
			  const input *inputs, size_t count)
{
	f.environment.context = &calls;
	f.environment.create_embedding = log_create;
	f.environment.import_embedding = log_import;
	f.environment.import_embedding_rows = log_rows;
	calls = (call_log){0};
	SP_TRY(build(op, attrs, attr_count, handle("user_emb", SP_FLOAT, SP_INT64), inputs, count,
		     false, true));
	return run(inputs, count, NULL);
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
		type_attr("dtype", SP_FLOAT),
		int_attr("default_value_dim", 2),
		int_attr("filter_freq", 3),
		int_attr("max_element_size", 1024),
		{.name = "false_positive_probability", .kind = SP_ATTR_FLOAT, .f = 0.125f},
		{.name = "default_value_no_permission", .kind = SP_ATTR_FLOAT, .f = 0.5f}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const input inputs[] = {
			{"emb", {0}},
			{"emb", {0}},
			{"value", floats(sp_shape_matrix(2, 3), six)},
			{"empty_key", ids64(sp_shape_scalar(), empty_key)},
		};

		assert_ok(run_load(ops[i], attrs, 6, inputs, 4), &f.err);
		assert_int_equal(calls.created, 1);
		assert_int_equal(calls.imported, 0);
		assert_string_equal(calls.name, "user_emb");
		assert_int_equal(calls.options.default_value_dim, 2);
		assert_int_equal(calls.options.filter_freq, 3);
		assert_int_equal(calls.options.max_element_size, 1024);
		assert_true(calls.options.false_positive_probability == 0.125f);
		assert_true(calls.options.default_value_no_permission == 0.5f);
		assert_memory_equal(calls.default_rows, six, sizeof(six));
		tear_down(NULL);
		set_up(NULL);
	}
}

static void stripped_attributes_have_their_defaults(void **state)
{
	const input inputs[] = {
		{"emb", {0}},
		{"emb", {0}},
		{"value", floats(sp_shape_matrix(2, 3), six)},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_ok(run_load("InitializeKvVariableOp", NULL, 0, inputs, 4), &f.err);
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
	const sp_attr attrs[] = {int_attr("default_value_dim", 2), int_attr("partition_id", 1),
				 int_attr("partition_num", 4)};
	const input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"emb", {0}},
		{"value", floats(sp_shape_matrix(2, 3), six)},
		{"name", text(&name)},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_ok(run_load("KvResourceImportV2", attrs, 3, inputs, 6), &f.err);
	assert_int_equal(calls.created, 1);
	assert_memory_equal(calls.default_rows, six, sizeof(six));
	check_import(1, 4);
}

static void import_v3_only_imports(void **state)
{
	const input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name", text(&name)},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_ok(run_load("KvResourceImportV3", NULL, 0, inputs, 4), &f.err);
	assert_int_equal(calls.created, 0);
	check_import(0, 1);
}

static void incr_import_only_imports(void **state)
{
	const input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name", text(&name)},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
		{"value", floats(sp_shape_matrix(2, 3), six)},
	};

	(void)state;
	assert_ok(run_load("KvResourceIncrImport", NULL, 0, inputs, 5), &f.err);
	assert_int_equal(calls.created, 0);
	check_import(0, 1);
}

static void the_oldest_import_brings_its_rows(void **state)
{
	static const int64_t keys[] = {5, 6};
	const input inputs[] = {
		{"emb", {0}},
		{"value", floats(sp_shape_matrix(2, 3), six)},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
		{"keys", ids64(sp_shape_vector(2), keys)},
		{"values", floats(sp_shape_matrix(2, 3), six)},
		{"versions", ids64(sp_shape_vector(2), keys)},
	};

	(void)state;
	assert_ok(run_load("KvResourceImport", NULL, 0, inputs, 6), &f.err);
	assert_int_equal(calls.created, 1);
	assert_int_equal(calls.options.default_value_dim, 2);
	assert_int_equal(calls.options.filter_freq, 0);
	assert_int_equal(calls.rows, 1);
	assert_int_equal(calls.first_key, 5);
	assert_true(calls.first_value == 1.0f);
	assert_int_equal(calls.first_version, 5);
}

static void cache_strategies_and_destroying_do_nothing(void **state)
{
	const char *const ops[] = {"KvResourceInitCacheStrategyOp", "KvResourceSetCacheStrategyOp",
				   "DestroyKvResourceOp"};
	const input inputs[] = {{"emb", {0}}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_ok(run_load(ops[i], NULL, 0, inputs, 1), &f.err);
		assert_int_equal(calls.created + calls.imported + calls.rows, 0);
		tear_down(NULL);
		set_up(NULL);
	}
}

static void a_signature_may_not_load(void **state)
{
	const input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name", text(&name)},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_int_not_equal(build("KvResourceImportV3", NULL, 0,
				   handle("user_emb", SP_FLOAT, SP_INT64), inputs, 4, false, false),
			     SP_OK);
	assert_non_null(strstr(f.err.text, "KvResourceImportV3"));
}

static void a_name_must_be_one_string(void **state)
{
	const sp_bytes two[] = {name, name};
	const input inputs[] = {
		{"prefix", text(&prefix)},
		{"emb", {0}},
		{"name",
		 {.dtype = SP_STRING,
		  .shape = sp_shape_vector(2),
		  .count = 2,
		  .data = (void *)two}},
		{"empty_key", ids64(sp_shape_scalar(), empty_key)},
	};

	(void)state;
	assert_int_equal(run_load("KvResourceImportV3", NULL, 0, inputs, 4), SP_INVALID);
	assert_int_equal(calls.imported, 0);
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
		TEST(other_types_are_refused_by_name),
		TEST(is_initialized_once_it_has_rows),
		TEST(shape_is_keys_by_width),
		TEST(shape_of_a_part_in_a_shared_table_is_refused),
		TEST(tier_is_0_or_absent),
		TEST(tier_is_1_where_only_a_slower_one_has_the_key),
		TEST(numbers_are_a_vector_whatever_the_shape_of_ids),
		TEST(numbers_of_int32_keys),
		TEST(numbers_that_a_table_lacks_are_refused),
		TEST(numbers_of_other_keys_and_values_are_refused),
		TEST(what_is_asked_for_is_known_to_every_version),
		TEST(initialize_states_defaults_and_filter),
		TEST(stripped_attributes_have_their_defaults),
		TEST(import_v2_creates_and_imports),
		TEST(import_v3_only_imports),
		TEST(incr_import_only_imports),
		TEST(the_oldest_import_brings_its_rows),
		TEST(cache_strategies_and_destroying_do_nothing),
		TEST(a_signature_may_not_load),
		TEST(a_name_must_be_one_string),
	};

	return cmocka_run_group_tests_name("embedding operators", tests, NULL, NULL);
}
