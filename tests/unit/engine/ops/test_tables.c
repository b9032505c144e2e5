/*
 * Lookup tables from declaration over filling to lookup.  What comes out and
 * what is refused was asked of TensorFlow 2.15.
 */
#include "tests/support/cmocka.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/tensor/hash_table.h"
#include "tests/support/graph.h"

enum { MAX_NODES = 24, MAX_ATTRS = 8, MAX_INPUTS = 4 };

/* A graph under construction, and one model version. */
typedef struct world {
	sp_small_graph g;
	sp_bytes file; /* what "vocabulary" holds */
	sp_node_def nodes[MAX_NODES];
	const char *inputs[MAX_NODES][MAX_INPUTS];
	sp_attr attrs[MAX_NODES][MAX_ATTRS];
	size_t node_count;
} world;

static sp_status read_file(void *context, sp_bytes path, sp_arena *arena, sp_bytes *out,
			   sp_error *err)
{
	world *w = context;

	if (!sp_bytes_equal_text(path, "vocabulary"))
		return sp_error_set(err, SP_NOT_FOUND, "there is no file %.*s", (int)path.size,
				    path.data);
	*out = (sp_bytes){sp_arena_text(arena, w->file), w->file.size};
	return SP_OK;
}

static int set_up(void **state)
{
	static world w;

	w = (world){.node_count = 0};
	sp_small_graph_init(&w.g);
	w.g.environment.context = &w;
	w.g.environment.read_file = read_file;
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	sp_small_graph_fini(&((world *)*state)->g);
	return 0;
}

/* ----------------------------------------------------------------- tensors */

static sp_tensor shaped(world *w, sp_dtype dtype, sp_shape shape, const void *data)
{
	sp_tensor tensor;

	assert_ok(sp_tensor_create(&tensor, w->g.arena, dtype, &shape, &w->g.err), &w->g.err);
	if (tensor.count > 0)
		memcpy(tensor.data, data, tensor.count * sp_dtype_size(dtype));
	return tensor;
}

#define I64S(w, ...)                                                                     \
	shaped(w, SP_INT64, sp_shape_vector((int64_t)COUNT(((int64_t[]){__VA_ARGS__}))), \
	       (int64_t[]){__VA_ARGS__})

/* Words between spaces. */
static sp_tensor words(world *w, const char *text)
{
	sp_bytes items[16];
	int64_t n = 0;

	for (const char *at = text; *at != '\0';) {
		size_t size = strcspn(at, " ");

		items[n++] = (sp_bytes){at, size};
		at += size + (at[size] == ' ');
	}
	return shaped(w, SP_STRING, sp_shape_vector(n), items);
}

static sp_tensor scalar_text(world *w, const char *text)
{
	sp_bytes item = sp_bytes_of(text);

	return shaped(w, SP_STRING, sp_shape_scalar(), &item);
}

static sp_tensor scalar_i64(world *w, int64_t value)
{
	return shaped(w, SP_INT64, sp_shape_scalar(), &value);
}

static sp_tensor matrix(sp_tensor vector, int64_t rows)
{
	vector.shape = sp_shape_matrix(rows, (int64_t)vector.count / rows);
	return vector;
}

/* ------------------------------------------------------------------- nodes */

static sp_node_def *node(world *w, const char *op, const char *name, const char *inputs)
{
	size_t i = w->node_count++;
	sp_node_def *to = &w->nodes[i];
	char *copy = sp_arena_text(w->g.arena, sp_bytes_of(inputs)), *rest = NULL;

	assert_true(i < MAX_NODES);
	*to = (sp_node_def){.name = name, .op = op, .inputs = w->inputs[i], .attrs = w->attrs[i]};
	for (char *word = strtok_r(copy, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		w->inputs[i][to->input_count++] = word;
	return to;
}

static void attr(sp_node_def *to, sp_attr value)
{
	((sp_attr *)to->attrs)[to->attr_count++] = value;
}

#define ATTR_INT(to, key, value) attr(to, (sp_attr){.name = key, .kind = SP_ATTR_INT, .i = (value)})
#define ATTR_TYPE(to, key, value) \
	attr(to, (sp_attr){.name = key, .kind = SP_ATTR_TYPE, .type = (value)})
#define ATTR_TEXT(to, key, value) \
	attr(to, (sp_attr){.name = key, .kind = SP_ATTR_BYTES, .bytes = sp_bytes_of(value)})

static void add_const(world *w, const char *name, sp_tensor value)
{
	sp_node_def *to = node(w, "Const", name, "");
	sp_tensor *kept = sp_arena_alloc(w->g.arena, sizeof(*kept));

	*kept = value;
	ATTR_TYPE(to, "dtype", value.dtype);
	attr(to, (sp_attr){.name = "value", .kind = SP_ATTR_TENSOR, .tensor = kept});
}

static sp_node_def *add_table(world *w, const char *op, sp_dtype key, sp_dtype value)
{
	bool dense = strncmp(op, "MutableDense", 12) == 0;
	sp_node_def *to = node(w, op, "table", dense ? "empty deleted" : "");

	ATTR_TYPE(to, "key_dtype", key);
	ATTR_TYPE(to, "value_dtype", value);
	return to;
}

/* Adds `op` on the table and these keys and values under `name`. */
static void add_fill(world *w, const char *op, const char *name, sp_tensor keys, sp_tensor values)
{
	char *key_name = sp_arena_printf(w->g.arena, "%s_keys", name);
	char *value_name = sp_arena_printf(w->g.arena, "%s_values", name);

	add_const(w, key_name, keys);
	add_const(w, value_name, values);
	node(w, op, name, sp_arena_printf(w->g.arena, "table %s %s", key_name, value_name));
}

static sp_node_def *add_text_file(world *w, const char *content, size_t size, int64_t key_index,
				  int64_t value_index)
{
	sp_node_def *to;

	w->file = (sp_bytes){content, size};
	add_const(w, "path", scalar_text(w, "vocabulary"));
	to = node(w, "InitializeTableFromTextFileV2", "init", "table path");
	ATTR_INT(to, "key_index", key_index);
	ATTR_INT(to, "value_index", value_index);
	return to;
}

/* ----------------------------------------------------------------- running */

/* Runs the init operation `target`. */
static sp_status load(world *w, const char *target)
{
	const sp_ends ends = {.target = target, .loading = true};

	SP_TRY(sp_small_graph_compile(&w->g, w->nodes, w->node_count, &ends));
	return sp_small_graph_run(&w->g, NULL, NULL, NULL);
}

/* Serves node `name`, with `keys` fed where they are not NULL; *out is a copy. */
static sp_status serve(world *w, const char *name, const sp_tensor *keys, sp_tensor *out)
{
	const sp_ends ends = {.feeds = {keys != NULL ? "keys" : NULL}, .fetches = {name}};
	const sp_tensor *fetches[1];

	SP_TRY(sp_small_graph_compile(&w->g, w->nodes, w->node_count, &ends));
	SP_TRY(sp_small_graph_run(&w->g, keys, NULL, fetches));
	return sp_tensor_copy(out, w->g.arena, fetches[0], &w->g.err);
}

/* Looks `keys` up, as a request's and as constants: both must say the same. */
static sp_status find(world *w, sp_tensor keys, sp_tensor fallback, sp_tensor *out)
{
	sp_status status;
	sp_tensor again;
	sp_node_def *to;

	to = node(w, "Placeholder", "keys", "");
	ATTR_TYPE(to, "dtype", keys.dtype);
	add_const(w, "fallback", fallback);
	add_const(w, "constant_keys", keys);
	node(w, "LookupTableFindV2", "find", "table keys fallback");
	node(w, "LookupTableFindV2", "find_constant", "table constant_keys fallback");
	status = serve(w, "find", &keys, out);
	assert_int_equal(serve(w, "find_constant", NULL, &again), status);
	if (status == SP_OK) {
		assert_true(sp_shape_equal(&out->shape, &again.shape));
		if (out->dtype != SP_STRING)
			assert_memory_equal(out->data, again.data,
					    out->count * sp_dtype_size(out->dtype));
	}
	w->node_count -= 5;
	return status;
}

static void expect_i64(world *w, sp_tensor keys, sp_tensor fallback, sp_tensor expected)
{
	sp_tensor found;

	assert_ok(find(w, keys, fallback, &found), &w->g.err);
	assert_int_equal(found.dtype, SP_INT64);
	assert_true(sp_shape_equal(&found.shape, &expected.shape));
	for (size_t i = 0; i < found.count; i++)
		assert_int_equal(sp_tensor_i64(&found)[i], sp_tensor_i64(&expected)[i]);
}

static void expect_size(world *w, int64_t size)
{
	sp_tensor found;

	node(w, "LookupTableSizeV2", "size", "table");
	assert_ok(serve(w, "size", NULL, &found), &w->g.err);
	w->node_count--;
	assert_true(sp_tensor_is_scalar(&found));
	assert_int_equal(sp_tensor_i64(&found)[0], size);
}

static void expect_refused(world *w, const char *target, const char *words_of_it)
{
	assert_int_equal(load(w, target), SP_INVALID);
	if (strstr(w->g.err.text, words_of_it) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", w->g.err.text, words_of_it);
}

/* ------------------------------------------------------------------- tests */

static void an_initialized_table_answers_its_keys(void **state)
{
	world *w = *state;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTableV2", "init", words(w, "a b"), I64S(w, 1, 2));
	assert_ok(load(w, "init"), &w->g.err);
	expect_size(w, 2);
	expect_i64(w, words(w, "b x a b"), scalar_i64(w, -1), I64S(w, 2, -1, 1, 2));
	expect_i64(w, matrix(words(w, "b x"), 2), scalar_i64(w, 9), matrix(I64S(w, 2, 9), 2));
	expect_i64(w, scalar_text(w, "a"), scalar_i64(w, 9), scalar_i64(w, 1));
	expect_i64(w, words(w, ""), scalar_i64(w, 9), words(w, ""));
}

/* Of a default per key, an immutable table looks at the first only. */
static void a_full_default_is_taken_as_tensorflow_takes_it(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTableV2", "init", words(w, "a b"), I64S(w, 1, 2));
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, words(w, "a b x"), I64S(w, 7, 8, 9), I64S(w, 1, 2, 7));
	assert_int_equal(find(w, words(w, "a b x"), I64S(w, 7), &found), SP_INVALID);
	assert_int_equal(find(w, words(w, "a b x"), matrix(I64S(w, 7), 1), &found), SP_INVALID);
	assert_int_equal(find(w, words(w, "a b x"), I64S(w, 7, 8), &found), SP_INVALID);
}

static void the_old_names_do_the_same(void **state)
{
	world *w = *state;

	add_table(w, "HashTable", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTable", "init", words(w, "a b"), I64S(w, 1, 2));
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, words(w, "b x"), scalar_i64(w, -1), I64S(w, 2, -1));
}

static void two_handles_of_one_shared_name_lead_to_one_table(void **state)
{
	world *w = *state;
	sp_node_def *other;

	ATTR_TEXT(add_table(w, "HashTableV2", SP_STRING, SP_INT64), "shared_name", "both");
	other = node(w, "HashTableV2", "other", "");
	ATTR_TYPE(other, "key_dtype", SP_STRING);
	ATTR_TYPE(other, "value_dtype", SP_INT64);
	ATTR_TEXT(other, "shared_name", "both");
	add_const(w, "k", words(w, "a"));
	add_const(w, "v", I64S(w, 3));
	node(w, "LookupTableImportV2", "init", "other k v");
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, words(w, "a"), scalar_i64(w, -1), I64S(w, 3));
}

/* Neither another handle nor a shared name of the same words leads to it. */
static void an_anonymous_table_is_its_nodes_alone(void **state)
{
	world *w = *state;
	sp_node_def *other;

	add_table(w, "AnonymousHashTable", SP_STRING, SP_INT64);
	other = node(w, "HashTableV2", "other", "");
	ATTR_TYPE(other, "key_dtype", SP_STRING);
	ATTR_TYPE(other, "value_dtype", SP_INT64);
	ATTR_TEXT(other, "shared_name", "table");
	add_fill(w, "InitializeTableV2", "fill", words(w, "a"), I64S(w, 1));
	add_const(w, "k", words(w, "a"));
	add_const(w, "v", I64S(w, 3));
	node(w, "LookupTableImportV2", "fill_other", "other k v");
	node(w, "NoOp", "init", "^fill ^fill_other");
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, words(w, "a"), scalar_i64(w, -1), I64S(w, 1));
}

/* A table that a request would fill belongs to no version. */
static void a_request_fills_no_table(void **state)
{
	world *w = *state;
	sp_tensor out;

	add_table(w, "AnonymousMutableHashTable", SP_STRING, SP_INT64);
	add_fill(w, "LookupTableInsertV2", "insert", words(w, "a"), I64S(w, 1));
	node(w, "LookupTableSizeV2", "size", "table ^insert");
	assert_int_not_equal(serve(w, "size", NULL, &out), SP_OK);
	assert_non_null(strstr(w->g.err.text, "insert"));
}

static void export_node(world *w, const char *op, sp_dtype keys, sp_dtype values)
{
	sp_node_def *to = node(w, op, "export", "table");

	ATTR_TYPE(to, "Tkeys", keys);
	ATTR_TYPE(to, "Tvalues", values);
}

static void a_table_is_exported_as_it_was_filled(void **state)
{
	world *w = *state;
	sp_tensor out;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTableV2", "init", words(w, "b a c"), I64S(w, 2, 1, 3));
	assert_ok(load(w, "init"), &w->g.err);
	export_node(w, "LookupTableExportV2", SP_STRING, SP_INT64);
	assert_ok(serve(w, "export:0", NULL, &out), &w->g.err);
	assert_int_equal(out.shape.rank, 1);
	assert_int_equal(out.count, 3);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&out)[0], "b"));
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&out)[2], "c"));
	assert_ok(serve(w, "export:1", NULL, &out), &w->g.err);
	assert_int_equal(out.count, 3);
	assert_int_equal(sp_tensor_i64(&out)[0], 2);
	assert_int_equal(sp_tensor_i64(&out)[2], 3);
}

static void rows_of_numbers_are_exported(void **state)
{
	world *w = *state;
	sp_partial_shape shape = {.rank = 1, .dims = {2}};
	sp_node_def *table;
	sp_tensor out;

	table = add_table(w, "MutableHashTableOfTensorsV2", SP_INT32, SP_INT64);
	attr(table, (sp_attr){.name = "value_shape", .kind = SP_ATTR_SHAPE, .shape = &shape});
	add_fill(w, "LookupTableImportV2", "init",
		 shaped(w, SP_INT32, sp_shape_vector(2), (int32_t[]){-7, 5}),
		 matrix(I64S(w, 1, 2, 3, 4), 2));
	assert_ok(load(w, "init"), &w->g.err);
	export_node(w, "LookupTableExport", SP_INT32, SP_INT64);
	assert_ok(serve(w, "export:0", NULL, &out), &w->g.err);
	assert_int_equal(sp_tensor_i32(&out)[0], -7);
	assert_int_equal(sp_tensor_i32(&out)[1], 5);
	assert_ok(serve(w, "export:1", NULL, &out), &w->g.err);
	assert_int_equal(out.shape.rank, 2);
	assert_int_equal(out.shape.dims[1], 2);
	assert_int_equal(sp_tensor_i64(&out)[3], 4);
}

static void an_export_of_other_types_is_refused(void **state)
{
	world *w = *state;
	sp_tensor out;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTableV2", "init", words(w, "a"), I64S(w, 1));
	assert_ok(load(w, "init"), &w->g.err);
	export_node(w, "LookupTableExportV2", SP_STRING, SP_FLOAT);
	assert_int_equal(serve(w, "export:0", NULL, &out), SP_INVALID);
	assert_non_null(strstr(w->g.err.text, "not from DT_STRING to DT_FLOAT"));
}

static void keys_and_values_must_fit_each_other(void **state)
{
	world *w = *state;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTableV2", "uneven", words(w, "a"), I64S(w, 1, 2));
	expect_refused(w, "uneven", "1 keys and 2 values");
	w->node_count = 1;
	add_fill(w, "InitializeTableV2", "empty", words(w, ""),
		 shaped(w, SP_INT64, sp_shape_vector(0), NULL));
	expect_refused(w, "empty", "empty");
	w->node_count = 1;
	add_fill(w, "InitializeTableV2", "matrix", matrix(words(w, "a b"), 1),
		 matrix(I64S(w, 1, 2), 1));
	expect_refused(w, "matrix", "vectors");
	w->node_count = 1;
	add_fill(w, "InitializeTableV2", "types", I64S(w, 1), I64S(w, 1));
	expect_refused(w, "types", "DT_INT64 to DT_INT64");
	w->node_count = 1;
	add_fill(w, "InitializeTableV2", "twice", words(w, "a a"), I64S(w, 1, 2));
	expect_refused(w, "twice", "two different values");
	w->node_count = 1;
	add_fill(w, "InitializeTableV2", "same", words(w, "a a"), I64S(w, 1, 1));
	assert_ok(load(w, "same"), &w->g.err);
	expect_size(w, 1);
}

static void a_second_initialization_must_have_the_size_of_the_first(void **state)
{
	world *w = *state;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "InitializeTableV2", "first", words(w, "a b"), I64S(w, 1, 2));
	add_fill(w, "LookupTableImportV2", "same_size", words(w, "a c"), I64S(w, 7, 8));
	add_fill(w, "InitializeTableV2", "smaller", words(w, "a"), I64S(w, 1));
	assert_ok(load(w, "first"), &w->g.err);
	assert_ok(load(w, "same_size"), &w->g.err);
	expect_refused(w, "smaller", "second time");
	expect_i64(w, words(w, "a b c"), scalar_i64(w, 0), I64S(w, 1, 2, 0));
}

static void a_table_without_content_answers_nothing(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	assert_int_equal(find(w, words(w, "a"), scalar_i64(w, 0), &found), SP_INVALID);
	assert_non_null(strstr(w->g.err.text, "not initialized"));
}

static void a_lookup_of_other_types_is_refused_before_it_runs(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	assert_int_equal(find(w, I64S(w, 1), scalar_i64(w, 0), &found), SP_INVALID);
	assert_non_null(strstr(w->g.err.text, "is from DT_STRING to DT_INT64"));
	assert_int_equal(find(w, words(w, "a"), scalar_text(w, "-"), &found), SP_INVALID);
	w->node_count = 0;
	add_table(w, "HashTableV2", SP_FLOAT, SP_INT64);
	assert_int_equal(find(w, words(w, "a"), scalar_i64(w, 0), &found), SP_UNSUPPORTED);
}

static void every_type_of_keys_and_values_is_held(void **state)
{
	static const sp_dtype keys[] = {SP_STRING, SP_INT64, SP_INT32};
	static const sp_dtype values[] = {SP_STRING, SP_INT64, SP_INT32,
					  SP_FLOAT,  SP_BOOL,  SP_DOUBLE};
	static const sp_bytes texts[] = {{"a", 1}, {"", 0}, {"ccc", 3}};
	static const int64_t longs[] = {-1, 0, 1};
	static const int32_t ints[] = {-1, 0, 1};
	static const float floats[] = {0.5f, -1, 7};
	static const double doubles[] = {0.25, -1, 7};
	static const bool bools[] = {true, true, false};
	const void *of[SP_DTYPE_COUNT] = {
		[SP_STRING] = texts, [SP_INT64] = longs,    [SP_INT32] = ints,
		[SP_FLOAT] = floats, [SP_DOUBLE] = doubles, [SP_BOOL] = bools};

	for (size_t k = 0; k < 3; k++)
		for (size_t v = 0; v < 6; v++) {
			world *w;
			sp_tensor found, key, value, fallback, one;
			size_t size = sp_dtype_size(values[v]);

			tear_down(state);
			set_up(state);
			w = *state;
			/* The first two are held, the third answers the default, which is itself.
			 */
			key = shaped(w, keys[k], sp_shape_vector(3), of[keys[k]]);
			value = shaped(w, values[v], sp_shape_vector(3), of[values[v]]);
			fallback = shaped(w, values[v], sp_shape_scalar(),
					  (const char *)of[values[v]] + 2 * size);
			one = key;
			one.shape.dims[0] = 2;
			one.count = 2;
			add_table(w, "HashTableV2", keys[k], values[v]);
			add_fill(w, "InitializeTableV2", "init", one,
				 shaped(w, values[v], sp_shape_vector(2), of[values[v]]));
			assert_ok(load(w, "init"), &w->g.err);
			assert_ok(find(w, key, fallback, &found), &w->g.err);
			for (size_t i = 0; i < 3; i++)
				if (values[v] == SP_STRING)
					assert_true(sp_bytes_equal(sp_tensor_strings(&found)[i],
								   texts[i]));
				else
					assert_memory_equal((char *)found.data + i * size,
							    (char *)value.data + i * size, size);
		}
}

/* ------------------------------------------------------------ mutable ones */

static void a_mutable_table_is_replaced_by_what_is_imported(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_table(w, "MutableHashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "LookupTableImportV2", "first", words(w, "a b"), I64S(w, 1, 2));
	add_fill(w, "LookupTableImportV2", "second", words(w, "b c"), I64S(w, 5, 6));
	add_fill(w, "LookupTableInsertV2", "insert", words(w, "c d d"), I64S(w, 7, 8, 9));
	add_fill(w, "InitializeTableV2", "initialize", words(w, "a"), I64S(w, 1));
	assert_ok(load(w, "first"), &w->g.err);
	expect_i64(w, words(w, "a b c"), scalar_i64(w, 0), I64S(w, 1, 2, 0));
	assert_ok(load(w, "second"), &w->g.err);
	expect_i64(w, words(w, "a b c"), scalar_i64(w, 0), I64S(w, 0, 5, 6));
	assert_ok(load(w, "insert"), &w->g.err);
	expect_i64(w, words(w, "a b c d"), I64S(w, -1, -2, -3, -4), I64S(w, -1, 5, 7, 9));
	expect_refused(w, "initialize", "not initializable");
	assert_int_equal(find(w, words(w, "a"), I64S(w, 1, 2), &found), SP_INVALID);
}

static void values_may_be_rows(void **state)
{
	static const sp_partial_shape two = {.rank = 1, .dims = {2}};
	world *w = *state;
	sp_shape shape = {.rank = 3, .dims = {1, 2, 2}};
	sp_node_def *table = add_table(w, "MutableHashTableOfTensorsV2", SP_STRING, SP_INT64);
	sp_tensor found;

	attr(table, (sp_attr){.name = "value_shape", .kind = SP_ATTR_SHAPE, .shape = &two});
	add_fill(w, "LookupTableImportV2", "init", words(w, "a b"), matrix(I64S(w, 1, 2, 3, 4), 2));
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, matrix(words(w, "a z"), 1), I64S(w, 8, 9),
		   shaped(w, SP_INT64, shape, (int64_t[]){1, 2, 8, 9}));
	expect_i64(w, matrix(words(w, "a z"), 1),
		   shaped(w, SP_INT64, shape, (int64_t[]){8, 9, 10, 11}),
		   shaped(w, SP_INT64, shape, (int64_t[]){1, 2, 10, 11}));
	assert_int_equal(find(w, words(w, "a z"), scalar_i64(w, 8), &found), SP_INVALID);
}

/* A checkpoint holds a dense table as its buckets: [n, 1], the free ones marked. */
static void a_dense_table_leaves_out_free_buckets_and_refuses_their_keys(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_const(w, "empty", scalar_i64(w, -1));
	add_const(w, "deleted", scalar_i64(w, -2));
	add_table(w, "MutableDenseHashTableV2", SP_INT64, SP_INT64);
	add_fill(w, "LookupTableImportV2", "init", matrix(I64S(w, -1, 7, -2, 8), 4),
		 matrix(I64S(w, 0, 70, 0, 80), 4));
	add_fill(w, "LookupTableImportV2", "uneven", matrix(I64S(w, -1, 7, -2, 8), 4),
		 matrix(I64S(w, 0, 70, 0), 3));
	assert_ok(load(w, "init"), &w->g.err);
	expect_size(w, 2);
	expect_i64(w, I64S(w, 7, 8, 9), scalar_i64(w, 5), I64S(w, 70, 80, 5));
	assert_int_equal(find(w, I64S(w, 7, -1), scalar_i64(w, 5), &found), SP_INVALID);
	assert_int_equal(find(w, I64S(w, -2), scalar_i64(w, 5), &found), SP_INVALID);
	expect_refused(w, "uneven", "do not match");
}

static void a_dense_table_needs_two_different_marks(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_const(w, "empty", scalar_i64(w, -1));
	add_const(w, "deleted", scalar_i64(w, -1));
	add_table(w, "MutableDenseHashTableV2", SP_INT64, SP_INT64);
	assert_int_equal(find(w, I64S(w, 1), scalar_i64(w, 5), &found), SP_INVALID);
	w->node_count = 0;
	add_const(w, "empty", I64S(w, -1));
	add_const(w, "deleted", scalar_i64(w, -2));
	ATTR_TEXT(add_table(w, "MutableDenseHashTableV2", SP_INT64, SP_INT64), "shared_name", "v");
	assert_int_equal(find(w, I64S(w, 1), scalar_i64(w, 5), &found), SP_INVALID);
	w->node_count = 0;
	add_const(w, "empty", matrix(I64S(w, -1), 1));
	add_const(w, "deleted", matrix(I64S(w, -2), 1));
	ATTR_TEXT(add_table(w, "MutableDenseHashTableV2", SP_INT64, SP_INT64), "shared_name", "m");
	assert_int_equal(find(w, matrix(I64S(w, 1), 1), scalar_i64(w, 5), &found), SP_INVALID);
}

static void expect_exported(world *w, sp_dtype dtype, const sp_shape *keys, const sp_shape *values)
{
	sp_tensor found;
	sp_node_def *to = node(w, "LookupTableExportV2", "export", "table");

	ATTR_TYPE(to, "Tkeys", dtype);
	ATTR_TYPE(to, "Tvalues", SP_INT64);
	assert_ok(serve(w, "export", NULL, &found), &w->g.err);
	assert_true(sp_shape_equal(&found.shape, keys));
	assert_ok(serve(w, "export:1", NULL, &found), &w->g.err);
	assert_true(sp_shape_equal(&found.shape, values));
	w->node_count--;
}

/* "a" and "b" are another key than "ab" and "". */
static void keys_of_a_dense_table_may_be_vectors_of_texts(void **state)
{
	const sp_shape two_by_two = sp_shape_matrix(2, 2), column = sp_shape_matrix(2, 1);
	world *w = *state;
	sp_tensor found, three;

	add_const(w, "empty", words(w, "$ $"));
	add_const(w, "deleted", words(w, "$ %"));
	add_table(w, "MutableDenseHashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "LookupTableInsertV2", "init", matrix(words(w, "a b $ $ ab c $ %"), 4),
		 I64S(w, 1, 0, 2, 0));
	add_fill(w, "LookupTableInsertV2", "wide", matrix(words(w, "a b c"), 1), I64S(w, 1));
	add_fill(w, "LookupTableInsertV2", "few", matrix(words(w, "a b"), 1), I64S(w, 1, 2));
	assert_ok(load(w, "init"), &w->g.err);
	expect_size(w, 2);
	expect_i64(w, matrix(words(w, "a b b a ab c a bc"), 4), scalar_i64(w, 5),
		   I64S(w, 1, 5, 2, 5));
	expect_exported(w, SP_STRING, &two_by_two, &column);
	three = matrix(words(w, "a b c"), 1);
	assert_int_equal(find(w, three, scalar_i64(w, 5), &found), SP_INVALID);
	assert_int_equal(find(w, scalar_text(w, "a"), scalar_i64(w, 5), &found), SP_INVALID);
	assert_int_equal(find(w, words(w, "$ %"), scalar_i64(w, 5), &found), SP_INVALID);
	expect_refused(w, "wide", "2 elements each");
	expect_refused(w, "few", "do not match");
}

static void keys_of_a_dense_table_may_be_vectors_of_numbers(void **state)
{
	const sp_shape two_by_two = sp_shape_matrix(2, 2), column = sp_shape_matrix(2, 1);
	world *w = *state;

	add_const(w, "empty", I64S(w, 0, 0));
	add_const(w, "deleted", I64S(w, -1, -1));
	add_table(w, "MutableDenseHashTableV2", SP_INT64, SP_INT64);
	add_fill(w, "LookupTableImportV2", "init", matrix(I64S(w, 1, 2, 0, 0, 2, 1, -1, -1), 4),
		 matrix(I64S(w, 12, 0, 21, 0), 4));
	assert_ok(load(w, "init"), &w->g.err);
	/* Of a default per key a dense table, too, looks at the first only. */
	expect_i64(w, matrix(I64S(w, 1, 2, 0, 1, 2, 1), 3), I64S(w, 5, 6, 7), I64S(w, 12, 5, 21));
	expect_exported(w, SP_INT64, &two_by_two, &column);
}

/* -------------------------------------------------------------- text files */

typedef struct file_case {
	const char *content;
	int64_t key_index, value_index, vocab_size;
	const char *keys; /* words of the table, in order; NULL: refused */
	int64_t values[3];
	const char *refusal;
} file_case;

static const file_case file_cases[] = {
	{"a\nb\nc\n", -2, -1, -1, "a b c", {0, 1, 2}, NULL},
	{"a\nb\nc", -2, -1, -1, "a b c", {0, 1, 2}, NULL},
	{"a\r\nb\r\n", -2, -1, -1, "a b", {0, 1}, NULL},
	{"a\rb\nc\r", -2, -1, -1, "a\rb c", {0, 1}, NULL},
	{"a\n\r", -2, -1, -1, "a", {0}, NULL},
	{"a\r\r\nb", -2, -1, -1, "a\r b", {0, 1}, NULL},
	{"a\nb\nc\n", -2, -1, 2, "a b", {0, 1}, NULL},
	{"a\n\nb\n", -2, -1, 1, "a", {0}, NULL},
	{"x\t1\ny\t2\n", 0, 1, -1, "x y", {1, 2}, NULL},
	{"1\tx\t7\n2\ty\t8\n", 1, 2, 2, "x y", {7, 8}, NULL},
	{"x\t 1 \n", 0, 1, -1, "x", {1}, NULL},
	{"", -2, -1, -1, NULL, {0}, "no line"},
	{"\n", -2, -1, -1, NULL, {0}, "empty"},
	{"a\n\nb\n", -2, -1, -1, NULL, {0}, "line 1 of vocabulary is empty"},
	{"a\na\n", -2, -1, -1, NULL, {0}, "two different values"},
	{"a\nb\n", -2, -1, 3, NULL, {0}, "vocab_size says 3"},
	{"a\nb\n", -2, -1, 0, NULL, {0}, "no line"},
	{"x\t1\ny\n", 0, 1, -1, NULL, {0}, "has 1 columns"},
	{"x\t1\ny\tq\n", 0, 1, -1, NULL, {0}, "'q' in line 1"},
	{"x\t1.5\n", 0, 1, -1, NULL, {0}, "'1.5'"},
	{"x\t\n", 0, 1, -1, NULL, {0}, "''"},
};

static void a_text_file_fills_a_table(void **state)
{
	for (size_t i = 0; i < sizeof(file_cases) / sizeof(file_cases[0]); i++) {
		const file_case *c = &file_cases[i];
		sp_tensor keys, values;
		world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		add_table(w, "HashTableV2", SP_STRING, SP_INT64);
		ATTR_INT(add_text_file(w, c->content, strlen(c->content), c->key_index,
				       c->value_index),
			 "vocab_size", c->vocab_size);
		if (c->keys == NULL) {
			expect_refused(w, "init", c->refusal);
			continue;
		}
		assert_ok(load(w, "init"), &w->g.err);
		keys = words(w, c->keys);
		values = shaped(w, SP_INT64, keys.shape, c->values);
		expect_size(w, (int64_t)keys.count);
		expect_i64(w, keys, scalar_i64(w, -1), values);
	}
}

static void the_offset_moves_line_numbers_and_int32_columns(void **state)
{
	world *w = *state;
	sp_tensor found, one;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	ATTR_INT(add_text_file(w, "a\nb\n", 4, -2, -1), "offset", INT64_MAX);
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, words(w, "a b"), scalar_i64(w, 0), I64S(w, INT64_MAX, INT64_MIN));

	tear_down(state);
	set_up(state);
	w = *state;
	add_table(w, "HashTableV2", SP_INT32, SP_INT32);
	ATTR_INT(add_text_file(w, "5\n2147483647\n", 13, -2, -2), "offset", 3);
	assert_ok(load(w, "init"), &w->g.err);
	one = shaped(w, SP_INT32, sp_shape_vector(2), (int32_t[]){8, INT32_MIN + 2});
	assert_ok(find(w, one, shaped(w, SP_INT32, sp_shape_scalar(), (int32_t[]){0}), &found),
		  &w->g.err);
	assert_int_equal(((int32_t *)found.data)[0], 8);
	assert_int_equal(((int32_t *)found.data)[1], INT32_MIN + 2);

	tear_down(state);
	set_up(state);
	w = *state;
	add_table(w, "HashTableV2", SP_INT64, SP_INT64);
	ATTR_INT(add_text_file(w, "5\n6\n", 4, -1, -2), "offset", 3);
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, I64S(w, 3, 4, 5), scalar_i64(w, 0), I64S(w, 5, 6, 0));
}

static void columns_are_read_as_the_table_wants_them(void **state)
{
	static const char content[] = "x;1.5;a\0b\n";
	world *w = *state;
	sp_tensor found;
	sp_node_def *init;

	add_table(w, "HashTableV2", SP_STRING, SP_STRING);
	init = add_text_file(w, content, sizeof(content) - 1, 0, 2);
	ATTR_TEXT(init, "delimiter", ";");
	assert_ok(load(w, "init"), &w->g.err);
	assert_ok(find(w, words(w, "x"), scalar_text(w, "-"), &found), &w->g.err);
	assert_true(sp_bytes_equal(sp_tensor_strings(&found)[0], (sp_bytes){"a\0b", 3}));

	tear_down(state);
	set_up(state);
	w = *state;
	add_table(w, "HashTableV2", SP_STRING, SP_FLOAT);
	ATTR_TEXT(add_text_file(w, content, sizeof(content) - 1, 0, 1), "delimiter", ";");
	assert_ok(load(w, "init"), &w->g.err);
	assert_ok(find(w, words(w, "x"), shaped(w, SP_FLOAT, sp_shape_scalar(), (float[]){0}),
		       &found),
		  &w->g.err);
	assert_true(sp_tensor_f32(&found)[0] == 1.5f);
}

static void what_a_file_cannot_give_is_refused(void **state)
{
	static const struct {
		sp_dtype key, value;
		int64_t key_index, value_index;
	} wrong[] = {
		{SP_STRING, SP_INT32, -2, -1}, {SP_INT32, SP_STRING, -1, -2},
		{SP_STRING, SP_FLOAT, -2, -2}, {SP_STRING, SP_BOOL, 0, 1},
		{SP_STRING, SP_INT64, -3, -1},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		add_table(w, "HashTableV2", wrong[i].key, wrong[i].value);
		add_text_file(w, "1\t1\n", 4, wrong[i].key_index, wrong[i].value_index);
		assert_int_equal(load(w, "init"), SP_INVALID);
	}
}

static void a_missing_file_is_not_found_and_a_second_file_is_ignored(void **state)
{
	world *w = *state;
	sp_node_def *init;

	add_table(w, "HashTableV2", SP_STRING, SP_INT64);
	add_text_file(w, "a\nb\n", 4, -2, -1);
	add_const(w, "nowhere", scalar_text(w, "nowhere"));
	init = node(w, "InitializeTableFromTextFileV2", "missing", "table nowhere");
	ATTR_INT(init, "key_index", -2);
	ATTR_INT(init, "value_index", -1);
	assert_int_equal(load(w, "missing"), SP_NOT_FOUND);
	assert_ok(load(w, "init"), &w->g.err);
	w->file = (sp_bytes){"c\n", 2};
	assert_ok(load(w, "init"), &w->g.err);
	expect_i64(w, words(w, "a b c"), scalar_i64(w, -1), I64S(w, 0, 1, -1));
	ATTR_TEXT(init, "delimiter", ",,");
	assert_int_equal(load(w, "missing"), SP_INVALID);
}

static void serving_may_not_fill_tables(void **state)
{
	world *w = *state;
	sp_tensor found;

	add_table(w, "MutableHashTableV2", SP_STRING, SP_INT64);
	add_fill(w, "LookupTableInsertV2", "insert", words(w, "a"), I64S(w, 1));
	assert_int_equal(serve(w, "insert", NULL, &found), SP_UNSUPPORTED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(an_initialized_table_answers_its_keys),
		CASE(a_full_default_is_taken_as_tensorflow_takes_it),
		CASE(the_old_names_do_the_same),
		CASE(two_handles_of_one_shared_name_lead_to_one_table),
		CASE(an_anonymous_table_is_its_nodes_alone),
		CASE(a_request_fills_no_table),
		CASE(a_table_is_exported_as_it_was_filled),
		CASE(rows_of_numbers_are_exported),
		CASE(an_export_of_other_types_is_refused),
		CASE(keys_and_values_must_fit_each_other),
		CASE(a_second_initialization_must_have_the_size_of_the_first),
		CASE(a_table_without_content_answers_nothing),
		CASE(a_lookup_of_other_types_is_refused_before_it_runs),
		CASE(every_type_of_keys_and_values_is_held),
		CASE(a_mutable_table_is_replaced_by_what_is_imported),
		CASE(values_may_be_rows),
		CASE(a_dense_table_leaves_out_free_buckets_and_refuses_their_keys),
		CASE(a_dense_table_needs_two_different_marks),
		CASE(keys_of_a_dense_table_may_be_vectors_of_texts),
		CASE(keys_of_a_dense_table_may_be_vectors_of_numbers),
		CASE(a_text_file_fills_a_table),
		CASE(the_offset_moves_line_numbers_and_int32_columns),
		CASE(columns_are_read_as_the_table_wants_them),
		CASE(what_a_file_cannot_give_is_refused),
		CASE(a_missing_file_is_not_found_and_a_second_file_is_ignored),
		CASE(serving_may_not_fill_tables),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
