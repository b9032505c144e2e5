/*
 * What the graph's state and its oldest control flow are made of: constants,
 * placeholders, variables, restoring, Switch and Merge, Assert.  The words of
 * Assert are TensorFlow 2.15's.
 */
#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/support/graph.h"

typedef struct world {
	sp_small_graph g;
	const sp_node_def *nodes;
	size_t node_count;
	const void *restored; /* the bytes of what was restored last */
} world;

#define CONSTANT(node_name, value)                                                   \
	{                                                                            \
		NODE(node_name, "Const"),                                            \
			ATTRS(TYPE("dtype", (value)->dtype), TENSOR("value", value)) \
	}
#define VARIABLE(node_name)                                                                 \
	{                                                                                   \
		NODE(node_name, "VarHandleOp"),                                             \
			ATTRS(TYPE("dtype", SP_FLOAT),                                      \
			      {.name = "shape",                                             \
			       .kind = SP_ATTR_SHAPE,                                       \
			       .shape = &(const sp_partial_shape){.rank = 1, .dims = {3}}}) \
	}
#define READ(node_name, handle)                                                                   \
	{                                                                                         \
		NODE(node_name, "ReadVariableOp"), INPUTS(handle), ATTRS(TYPE("dtype", SP_FLOAT)) \
	}
#define GRAPH(w, array) ((w)->nodes = (array), (w)->node_count = COUNT(array))

static float three[] = {1, 2, 3}, ones[] = {1, 1, 1}, two[] = {4, 5};
static const sp_tensor float_three = {SP_FLOAT, {1, {3}}, 3, three, NULL};
static const sp_tensor float_ones = {SP_FLOAT, {1, {3}}, 3, ones, NULL};
static const sp_tensor float_two = {SP_FLOAT, {1, {2}}, 2, two, NULL};

static sp_bytes prefix_text = {"model", 5}, name_text = {"w", 1}, all_text = {"", 0};
static const sp_tensor prefix = {SP_STRING, {0, {0}}, 1, &prefix_text, NULL};
static const sp_tensor names = {SP_STRING, {1, {1}}, 1, &name_text, NULL};
static const sp_tensor slices = {SP_STRING, {1, {1}}, 1, &all_text, NULL};

/* A checkpoint "model" with one tensor "w" of 1, 2, 3. */
static sp_status restore(void *context, sp_bytes from, sp_bytes name, sp_bytes slice,
			 sp_dtype dtype, sp_arena *arena, sp_tensor *out, sp_error *err)
{
	world *w = context;

	if (!sp_bytes_equal_text(from, "model") || !sp_bytes_equal_text(name, "w") ||
	    slice.size != 0 || dtype != SP_FLOAT)
		return sp_error_set(err, SP_NOT_FOUND, "no tensor '%.*s'", (int)name.size,
				    name.data);
	SP_TRY(sp_tensor_copy(out, arena, &float_three, err));
	w->restored = out->data;
	return SP_OK;
}

static int set_up(void **state)
{
	static world w;

	sp_small_graph_init(&w.g);
	w.g.environment.context = &w;
	w.g.environment.restore = restore;
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	sp_small_graph_fini(&((world *)*state)->g);
	return 0;
}

typedef struct request {
	const char *target; /* a node to run; or NULL */
	const char *fetch;  /* a tensor to fetch; or NULL */
	const char *feed;   /* a tensor to feed; or NULL */
	sp_tensor value;    /* what it is fed; unset: nothing after all */
	bool loading;
} request;

/* Compiles and runs the graph; *out (may be NULL) is a copy of what was fetched. */
static sp_status run(world *w, const request *r, sp_tensor *out)
{
	const sp_ends ends = {.feeds = {r->feed},
			      .fetches = {r->fetch},
			      .target = r->target,
			      .loading = r->loading};
	const sp_tensor *fetches[1];

	SP_TRY(sp_small_graph_compile(&w->g, w->nodes, w->node_count, &ends));
	SP_TRY(sp_small_graph_run(&w->g, &r->value, NULL, fetches));
	return out != NULL ? sp_tensor_copy(out, w->g.arena, fetches[0], &w->g.err) : SP_OK;
}

static sp_status load(world *w, const char *target)
{
	return run(w, &(request){.target = target, .loading = true}, NULL);
}

static sp_status fetch(world *w, const char *name, sp_tensor *out)
{
	return run(w, &(request){.fetch = name}, out);
}

static void expect_floats(world *w, const char *name, float a, float b, float c)
{
	sp_tensor got;

	assert_ok(fetch(w, name, &got), &w->g.err);
	assert_int_equal(got.dtype, SP_FLOAT);
	assert_int_equal(got.count, 3);
	assert_memory_equal(got.data, ((float[]){a, b, c}), 3 * sizeof(float));
}

static void expect_refusal(world *w, sp_status status, sp_status wanted, const char *words)
{
	assert_int_equal(status, wanted);
	if (strstr(w->g.err.text, words) == NULL)
		fail_msg("'%s' does not say '%s'", w->g.err.text, words);
}

/* ------------------------------------------------- constants, placeholders */

static void a_constant_is_its_attribute(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {CONSTANT("c", &float_three)};

	GRAPH(w, nodes);
	expect_floats(w, "c", 1, 2, 3);
}

static void a_constant_of_another_type_than_its_tensor_is_refused(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		{NODE("c", "Const"), ATTRS(TYPE("dtype", SP_INT32), TENSOR("value", &float_two))},
		{NODE("none", "Const"), ATTRS(TYPE("dtype", SP_INT32))},
	};

	GRAPH(w, nodes);
	expect_refusal(w, fetch(w, "c", NULL), SP_INVALID, "DT_INT32");
	expect_refusal(w, fetch(w, "none", NULL), SP_INVALID, "'value'");
}

static void a_placeholder_must_be_fed(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {{NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
				     {NODE("y", "Merge"), INPUTS("x")}};
	sp_tensor got;

	GRAPH(w, nodes);
	assert_ok(run(w, &(request){.fetch = "y", .feed = "x", .value = float_two}, &got),
		  &w->g.err);
	assert_memory_equal(got.data, two, sizeof(two));
	expect_refusal(w, fetch(w, "y", NULL), SP_INVALID,
		       "must feed placeholder 'x' of dtype DT_FLOAT");
}

/* ----------------------------------------------------------------- variables */

static void a_restored_variable_keeps_the_restored_bytes(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		VARIABLE("w"),
		CONSTANT("prefix", &prefix),
		CONSTANT("names", &names),
		CONSTANT("slices", &slices),
		{NODE("restore", "RestoreV2"), INPUTS("prefix", "names", "slices"),
		 ATTRS({.name = "dtypes",
			.kind = SP_ATTR_LIST,
			.element = SP_ATTR_TYPE,
			.count = 1,
			.type_list = &(const sp_dtype){SP_FLOAT}})},
		{NODE("assign", "AssignVariableOp"), INPUTS("w", "restore")},
		READ("read", "w"),
	};

	GRAPH(w, nodes);
	assert_ok(load(w, "assign"), &w->g.err);
	assert_ptr_equal(w->g.resources.items[0].variable.data, w->restored);
	expect_floats(w, "read", 1, 2, 3);
	assert_int_not_equal(fetch(w, "restore", NULL), SP_OK);
	assert_non_null(strstr(w->g.err.text, "RestoreV2"));
}

static void what_the_checkpoint_lacks_is_not_found(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		CONSTANT("names", &prefix),
		CONSTANT("many", &names),
		CONSTANT("slices", &slices),
		{NODE("restore", "RestoreV2"), INPUTS("names", "many", "slices"),
		 ATTRS({.name = "dtypes",
			.kind = SP_ATTR_LIST,
			.element = SP_ATTR_TYPE,
			.count = 1,
			.type_list = &(const sp_dtype){SP_INT64}})},
		{NODE("too few", "RestoreV2"), INPUTS("names", "many", "slices"),
		 ATTRS({.name = "dtypes",
			.kind = SP_ATTR_LIST,
			.element = SP_ATTR_TYPE,
			.count = 2,
			.type_list = (const sp_dtype[]){SP_FLOAT, SP_FLOAT}})},
	};

	GRAPH(w, nodes);
	expect_refusal(w, load(w, "restore"), SP_NOT_FOUND, "'w'");
	expect_refusal(w, load(w, "too few"), SP_INVALID, "2 strings");
}

static void assigning_adding_and_subtracting_happen_in_order(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		VARIABLE("w"),
		CONSTANT("three", &float_three),
		CONSTANT("ones", &float_ones),
		{NODE("assign", "AssignVariableOp"), INPUTS("w", "three")},
		{NODE("read first", "ReadVariableOp"), INPUTS("w", "^assign"),
		 ATTRS(TYPE("dtype", SP_FLOAT))},
		{NODE("double", "AssignAddVariableOp"), INPUTS("w", "read first")},
		{NODE("less", "AssignSubVariableOp"), INPUTS("w", "ones", "^double")},
		{NODE("again", "AssignAddVariableOp"), INPUTS("w", "read first", "^less")},
		READ("read", "w"),
	};

	GRAPH(w, nodes);
	assert_ok(load(w, "again"), &w->g.err);
	/* What was read before the changes did not change: 2 * x - 1 + x. */
	expect_floats(w, "read", 2, 5, 8);
}

static void a_variable_refuses_what_does_not_fit(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		VARIABLE("w"),
		CONSTANT("two", &float_two),
		CONSTANT("three", &float_three),
		{NODE("assign", "AssignVariableOp"), INPUTS("w", "two")},
		{NODE("set", "AssignVariableOp"), INPUTS("w", "three")},
		{NODE("add", "AssignAddVariableOp"), INPUTS("w", "two", "^set")},
		{NODE("early", "AssignAddVariableOp"), INPUTS("w", "three")},
	};

	GRAPH(w, nodes);
	expect_refusal(w, load(w, "assign"), SP_INVALID, "'w' of shape [3] cannot hold [2]");
	expect_refusal(w, load(w, "early"), SP_INVALID, "'w' has no value");
	expect_refusal(w, load(w, "add"), SP_INVALID, "cannot be changed by [2]");
}

static void a_variable_without_a_value_is_named(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {VARIABLE("w"), READ("read", "w")};

	GRAPH(w, nodes);
	expect_refusal(w, fetch(w, "read", NULL), SP_INVALID, "'w' has no value");
}

static void a_variable_tells_whether_it_is_set_and_how_large_it_is(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		VARIABLE("w"),
		CONSTANT("three", &float_three),
		{NODE("assign", "AssignVariableOp"), INPUTS("w", "three")},
		{NODE("set", "VarIsInitializedOp"), INPUTS("w")},
		{NODE("shape", "VariableShape"), INPUTS("w")},
		{NODE("wide", "VariableShape"), INPUTS("w"), ATTRS(TYPE("out_type", SP_INT64))},
	};
	sp_tensor got;

	GRAPH(w, nodes);
	assert_ok(fetch(w, "set", &got), &w->g.err);
	assert_false(*sp_tensor_bool(&got));
	assert_ok(load(w, "assign"), &w->g.err);
	assert_ok(fetch(w, "set", &got), &w->g.err);
	assert_true(*sp_tensor_bool(&got));
	assert_ok(fetch(w, "shape", &got), &w->g.err);
	assert_int_equal(got.count, 1);
	assert_int_equal(sp_tensor_i32(&got)[0], 3);
	assert_ok(fetch(w, "wide", &got), &w->g.err);
	assert_int_equal(sp_tensor_i64(&got)[0], 3);
}

/* -------------------------------------------------------------- control flow */

static void merge_takes_the_side_that_switch_picked(void **state)
{
	static int32_t segments[] = {0, 0, 1};
	const sp_tensor ids = {SP_INT32, {1, {3}}, 3, segments, NULL};
	world *w = *state;
	const sp_node_def nodes[] = {
		CONSTANT("three", &float_three),
		CONSTANT("ids", &ids),
		{NODE("pick", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))},
		{NODE("data", "Switch"), INPUTS("three", "pick")},
		{NODE("no", "SegmentSum"), INPUTS("data", "ids")},
		{NODE("yes", "SegmentProd"), INPUTS("data:1", "ids")},
		{NODE("merge", "Merge"), INPUTS("no", "yes")},
	};
	const char *const fetches[] = {"merge", "merge:1"};

	GRAPH(w, nodes);
	for (int side = 0; side < 2; side++) {
		bool pick = side != 0;
		request r = {.feed = "pick", .value = {SP_BOOL, {0, {0}}, 1, &pick, NULL}};
		sp_tensor got;

		r.fetch = fetches[0];
		assert_ok(run(w, &r, &got), &w->g.err);
		assert_true(sp_tensor_f32(&got)[0] == (pick ? 1 * 2 : 1 + 2));
		r.fetch = fetches[1];
		assert_ok(run(w, &r, &got), &w->g.err);
		assert_int_equal(*sp_tensor_i32(&got), side);
	}
}

static void a_switch_on_a_vector_is_refused(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {
		CONSTANT("three", &float_three),
		{NODE("pick", "Placeholder"), ATTRS(TYPE("dtype", SP_BOOL))},
		{NODE("data", "Switch"), INPUTS("three", "pick")},
		{NODE("merge", "Merge"), INPUTS("data", "data:1")},
	};
	bool sides[2] = {false, true};
	request r = {
		.fetch = "merge", .feed = "pick", .value = {SP_BOOL, {1, {2}}, 2, sides, NULL}};

	GRAPH(w, nodes);
	expect_refusal(w, run(w, &r, NULL), SP_INVALID, "[2]");
}

typedef struct assertion {
	sp_tensor data;
	int64_t summarize;
	const char *words;
} assertion;

static void an_assertion_that_fails_sums_its_data_up(void **state)
{
	static float floats[] = {1.5f, 2, 3, 4, 5}, odd[] = {0.1f, 1e-9f, 1e20f, 123456789.0f};
	static double tenth[] = {0.1};
	static int64_t cube[24];
	static int8_t tiny[] = {-3};
	static uint16_t half[] = {0x3c66};
	static bool bools[] = {true, false};
	static sp_bytes texts[] = {{"a\"b\n", 4}, {"y\0z", 3}, {"w", 1}, {"v", 1}};
	const assertion cases[] = {
		{{SP_FLOAT, {1, {5}}, 5, floats, NULL}, 3, "[1.5 2 3...]"},
		{{SP_FLOAT, {1, {5}}, 5, floats, NULL}, -1, "[1.5 2 3 4 5]"},
		{{SP_FLOAT, {1, {5}}, 5, floats, NULL}, 0, "[...]"},
		{{SP_FLOAT, {2, {2, 2}}, 4, floats, NULL}, 3, "[[1.5 2][3...]...]"},
		{{SP_FLOAT, {2, {2, 2}}, 4, floats, NULL}, 100, "[[1.5 2][3 4]]"},
		{{SP_INT64, {3, {2, 3, 4}}, 24, cube, NULL}, 3, "[[[0 1 2...]]...]"},
		{{SP_INT64, {3, {1, 1, 2}}, 2, cube, NULL}, 3, "[[[0 1]]]"},
		{{SP_FLOAT, {1, {4}}, 4, odd, NULL}, 9, "[0.1 1e-09 1e+20 123456792]"},
		{{SP_DOUBLE, {0, {0}}, 1, tenth, NULL}, 3, "[0.1]"},
		{{SP_HALF, {0, {0}}, 1, half, NULL}, 3, "[1.09960938]"},
		{{SP_INT8, {0, {0}}, 1, tiny, NULL}, 3, "[-3]"},
		{{SP_BOOL, {1, {2}}, 2, bools, NULL}, 3, "[1 0]"},
		{{SP_STRING, {0, {0}}, 1, texts, NULL}, 3, "[a\\\"b\\n]"},
		{{SP_STRING, {1, {3}}, 3, texts + 1, NULL}, 2, "[y\\000z w...]"},
		{{SP_FLOAT, {3, {2, 0, 3}}, 0, NULL, NULL}, 3, "[]"},
	};
	world *w = *state;
	bool no = false;
	const sp_tensor condition = {SP_BOOL, {0, {0}}, 1, &no, NULL};

	for (int i = 0; i < 24; i++)
		cube[i] = i;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const sp_node_def nodes[] = {
			CONSTANT("condition", &condition),
			CONSTANT("data", &cases[i].data),
			{NODE("assert", "Assert"), INPUTS("condition", "data"),
			 ATTRS({.name = "summarize",
				.kind = SP_ATTR_INT,
				.i = cases[i].summarize})},
		};
		char wanted[200];

		snprintf(wanted, sizeof(wanted), "assertion failed: %s", cases[i].words);
		GRAPH(w, nodes);
		expect_refusal(w, run(w, &(request){.target = "assert"}, NULL), SP_INVALID, wanted);
		assert_string_equal(strstr(w->g.err.text, "assertion failed"), wanted);
	}
}

static void an_assertion_that_holds_says_nothing(void **state)
{
	world *w = *state;
	bool yes[2] = {true, true};
	const sp_tensor scalar = {SP_BOOL, {0, {0}}, 1, yes, NULL};
	const sp_tensor vector = {SP_BOOL, {1, {2}}, 2, yes, NULL};
	const sp_node_def nodes[] = {
		CONSTANT("scalar", &scalar),
		CONSTANT("vector", &vector),
		{NODE("holds", "Assert"), INPUTS("scalar", "vector")},
		{NODE("unclear", "Assert"), INPUTS("vector", "scalar")},
		{NODE("group", "NoOp"), INPUTS("^holds")},
	};

	GRAPH(w, nodes);
	assert_ok(run(w, &(request){.target = "group"}, NULL), &w->g.err);
	expect_refusal(w, run(w, &(request){.target = "unclear"}, NULL), SP_INVALID,
		       "should be a scalar: [2]");
}

static void a_timestamp_is_the_time_of_each_request(void **state)
{
	world *w = *state;
	const sp_node_def nodes[] = {{NODE("now", "Timestamp")}};
	const sp_ends ends = {.fetches = {"now"}};
	const sp_tensor *now;
	double before, last = 0;

	assert_ok(sp_small_graph_compile(&w->g, nodes, 1, &ends), &w->g.err);
	for (int i = 0; i < 2; i++) {
		before = (double)time(NULL);
		assert_ok(sp_small_graph_run(&w->g, NULL, NULL, &now), &w->g.err);
		assert_true(sp_tensor_is_scalar(now));
		assert_true(*sp_tensor_f64(now) >= before);
		assert_true(*sp_tensor_f64(now) < before + 60);
		assert_true(*sp_tensor_f64(now) != last);
		last = *sp_tensor_f64(now);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_constant_is_its_attribute),
		CASE(a_constant_of_another_type_than_its_tensor_is_refused),
		CASE(a_placeholder_must_be_fed),
		CASE(a_timestamp_is_the_time_of_each_request),
		CASE(a_restored_variable_keeps_the_restored_bytes),
		CASE(what_the_checkpoint_lacks_is_not_found),
		CASE(assigning_adding_and_subtracting_happen_in_order),
		CASE(a_variable_refuses_what_does_not_fit),
		CASE(a_variable_without_a_value_is_named),
		CASE(a_variable_tells_whether_it_is_set_and_how_large_it_is),
		CASE(merge_takes_the_side_that_switch_picked),
		CASE(a_switch_on_a_vector_is_refused),
		CASE(an_assertion_that_fails_sums_its_data_up),
		CASE(an_assertion_that_holds_says_nothing),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
