#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/import.h"
#include "engine/lower.h"
#include "engine/program.h"
#include "tests/support/graph.h"

/* One program at a time, made from node definitions and the names of its ends. */
static sp_arena *arena;
static sp_graph graph;
static sp_graph_def def;
static sp_resources resources;
static sp_program *program;
static sp_snapshot *snapshot;
static sp_session *session;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(64 << 10);
	sp_resources_init(&resources, arena);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_session_destroy(session);
	sp_snapshot_destroy(snapshot);
	sp_program_destroy(program);
	session = NULL;
	snapshot = NULL;
	program = NULL;
	sp_arena_destroy(arena);
	return 0;
}

enum { MAX_ENDS = 8 };

typedef struct ends {
	const char *feeds[MAX_ENDS];
	const char *fetches[MAX_ENDS];
	const char *target;
} ends;

static size_t find_ports(const char *const *names, sp_port *ports)
{
	size_t n = 0;

	for (; n < MAX_ENDS && names[n] != NULL; n++)
		assert_ok(sp_graph_find(&graph, names[n], &ports[n], &err), &err);
	return n;
}

static void compile(const sp_node_def *nodes, size_t count, const ends *e, bool loading)
{
	static sp_port feeds[MAX_ENDS], fetches[MAX_ENDS];
	static uint32_t target;
	const char *roots[2 * MAX_ENDS + 1];
	sp_import_roots all = {roots, 0};
	sp_program_options options = {.loading = loading};
	sp_entry_spec entry = {.name = "test", .feeds = feeds, .fetches = fetches};

	for (size_t i = 0; i < MAX_ENDS && e->feeds[i] != NULL; i++)
		roots[all.count++] = e->feeds[i];
	for (size_t i = 0; i < MAX_ENDS && e->fetches[i] != NULL; i++)
		roots[all.count++] = e->fetches[i];
	if (e->target != NULL)
		roots[all.count++] = e->target;
	def = (sp_graph_def){.nodes = nodes, .node_count = count};
	assert_ok(sp_graph_import(&graph, &def, &all, arena, &err), &err);
	assert_ok(sp_graph_lower(&graph, &err), &err);
	entry.feed_count = find_ports(e->feeds, feeds);
	entry.fetch_count = find_ports(e->fetches, fetches);
	if (e->target != NULL) {
		sp_port port;

		assert_ok(sp_graph_find(&graph, e->target, &port, &err), &err);
		target = port.node;
		entry.targets = &target;
		entry.target_count = 1;
	}
	assert_ok(sp_program_compile(&program, &graph, &entry, 1, &resources, &options, &err),
		  &err);
}

static void start(void)
{
	assert_ok(sp_snapshot_build(&snapshot, program, &resources, &err), &err);
	assert_ok(sp_session_create(&session, program, 1 << 20, &err), &err);
}

static sp_status run(const sp_tensor *feeds, const bool *wanted, const sp_tensor **fetches)
{
	sp_run request = {.snapshot = snapshot, .feeds = feeds, .wanted = wanted};

	return sp_session_run(session, &request, fetches, &err);
}

static sp_tensor truth(bool *value)
{
	return (sp_tensor){.dtype = SP_BOOL, .count = 1, .data = value};
}

static sp_tensor text(sp_bytes *value)
{
	return (sp_tensor){.dtype = SP_STRING, .count = 1, .data = value};
}

static const sp_attr is_bool[] = {{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_BOOL}};
static const sp_attr is_string[] = {{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_STRING}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static sp_bytes words[] = {{"YES", 3}, {"NO", 2}};
static sp_tensor constants[] = {
	{.dtype = SP_STRING, .count = 1, .data = &words[0]},
	{.dtype = SP_STRING, .count = 1, .data = &words[1]},
};
static const sp_attr yes[] = {{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_STRING},
			      {.name = "value", .kind = SP_ATTR_TENSOR, .tensor = &constants[0]}};
static const sp_attr no[] = {{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_STRING},
			     {.name = "value", .kind = SP_ATTR_TENSOR, .tensor = &constants[1]}};

/*
 * The v1 form of a conditional whose branches are constants: what says which
 * branch was taken is a control edge from the switch.
 */
static void a_branch_is_chosen_by_control_edges(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("p", "Placeholder", is_bool, ),
		NODE("s", "Switch", "p", "p"),
		NODE("t", "Identity", "s:1"),
		NODE("f", "Identity", "s"),
		NODE("tn", "NoOp", "^t"),
		NODE_WITH("yes", "Const", yes, "^tn"),
		NODE_WITH("no", "Const", no, "^f"),
		NODE("m", "Merge", "no", "yes"),
	};
	const sp_tensor *fetches[1];

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"p"}, {"m"}, NULL}, false);
	assert_null(sp_program_entry_error(program, 0));
	start();
	for (int i = 0; i < 4; i++) {
		bool value = i & 1;
		sp_tensor feed = truth(&value);

		assert_ok(run(&feed, NULL, fetches), &err);
		assert_true(sp_bytes_equal(sp_tensor_strings(fetches[0])[0], words[value ? 0 : 1]));
		sp_session_reset(session);
	}
}

static void a_fetch_on_the_branch_not_taken_is_an_error(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("p", "Placeholder", is_bool, ),
		NODE("s", "Switch", "p", "p"),
	};
	const sp_tensor *fetches[1];
	bool value = true;
	sp_tensor feed = truth(&value);

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"p"}, {"s:0"}, NULL}, false);
	start();
	assert_int_equal(run(&feed, NULL, fetches), SP_INVALID);
	value = false;
	assert_ok(run(&feed, NULL, fetches), &err);
}

static void only_what_is_wanted_is_run_and_needs_its_inputs(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("a", "Placeholder", is_string, ),
		NODE_WITH("b", "Placeholder", is_string, ),
		NODE("x", "StringLower", "a"),
		NODE("y", "StringLower", "b"),
	};
	const bool first[] = {true, false};
	sp_bytes word = {"Word", 4};
	sp_tensor feeds[2] = {text(&word), {0}};
	const sp_tensor *fetches[2];

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"a", "b"}, {"x", "y"}, NULL}, false);
	start();
	assert_ok(run(feeds, first, fetches), &err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "word"));
	assert_null(fetches[1]);
	assert_int_equal(run(feeds, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(err.text, "'b'"));
}

static void a_feed_of_another_type_is_refused(void **state)
{
	const sp_node_def nodes[] = {NODE_WITH("a", "Placeholder", is_string, ),
				     NODE("x", "StringLower", "a")};
	bool value = true;
	sp_tensor feed = truth(&value);
	const sp_tensor *fetches[1];

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"a"}, {"x"}, NULL}, false);
	start();
	assert_int_equal(run(&feed, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(err.text, "DT_BOOL"));
}

static void what_follows_from_constants_leaves_no_step(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("c", "Const", yes, ),
		NODE("x", "StringLower", "c"),
		NODE("y", "StringUpper", "x"),
	};
	const sp_tensor *fetches[1];

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{NULL}, {"x"}, NULL}, false);
	assert_int_equal(sp_program_step_count(program, 0), 0);
	start();
	assert_ok(run(NULL, NULL, fetches), &err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "yes"));
}

static void all_missing_operators_are_named_at_once(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("a", "Placeholder", is_string, ),
		NODE("x", "NoSuchOp", "a"),
		NODE("y", "NorThisOne", "x"),
		NODE("z", "NoSuchOp", "y"),
	};
	const sp_error *why;

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"a"}, {"z"}, NULL}, false);
	why = sp_program_entry_error(program, 0);
	assert_non_null(why);
	assert_int_equal(why->status, SP_UNSUPPORTED);
	assert_non_null(strstr(why->text, "NoSuchOp (node 'x')"));
	assert_non_null(strstr(why->text, "NorThisOne (node 'y')"));
}

static void an_output_that_a_node_lacks_is_refused(void **state)
{
	const sp_node_def nodes[] = {NODE_WITH("a", "Placeholder", is_string, ),
				     NODE("x", "StringLower", "a")};

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"a"}, {"x:7"}, NULL}, false);
	assert_non_null(sp_program_entry_error(program, 0));
}

static void an_assert_behind_a_control_edge_fires(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("p", "Placeholder", is_bool, ),
		NODE_WITH("c", "Const", yes, ),
		NODE("assert", "Assert", "p", "c"),
		NODE("group", "NoOp", "^assert"),
		NODE("out", "Identity", "c", "^group"),
	};
	bool value = true;
	sp_tensor feed = truth(&value);
	const sp_tensor *fetches[1];

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"p"}, {"out"}, NULL}, false);
	assert_null(sp_program_entry_error(program, 0));
	start();
	assert_ok(run(&feed, NULL, fetches), &err);
	value = false;
	assert_int_equal(run(&feed, NULL, fetches), SP_INVALID);
	assert_non_null(strstr(err.text, "assert"));
}

static const sp_attr variable[] = {
	{.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_STRING},
	{.name = "shape", .kind = SP_ATTR_SHAPE, .shape = &(const sp_partial_shape){.rank = 0}},
};
static const sp_node_def variable_nodes[] = {
	NODE_WITH("v", "VariableV2", variable, ),   NODE_WITH("c", "Const", yes, ),
	NODE("assign", "Assign", "v", "c"),         NODE("init", "NoOp", "^assign"),
	NODE("lower", "StringLower", "v"),
};

static void what_follows_from_variables_is_computed_once_per_version(void **state)
{
	const sp_tensor *fetches[1];
	sp_run load = {.resources = &resources};

	(void)state;
	compile(variable_nodes, COUNT(variable_nodes), &(ends){{NULL}, {NULL}, "init"}, true);
	assert_ok(sp_session_create(&session, program, 1 << 20, &err), &err);
	assert_ok(sp_session_run(session, &load, NULL, &err), &err);
	sp_session_destroy(session);
	sp_program_destroy(program);

	compile(variable_nodes, COUNT(variable_nodes), &(ends){{NULL}, {"lower"}, NULL}, false);
	assert_int_equal(sp_program_step_count(program, 0), 0);
	start();
	assert_ok(run(NULL, NULL, fetches), &err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(fetches[0])[0], "yes"));
}

static void a_variable_without_a_value_is_known_and_refused(void **state)
{
	const uint32_t *indices;

	(void)state;
	compile(variable_nodes, COUNT(variable_nodes), &(ends){{NULL}, {"lower"}, NULL}, false);
	assert_int_equal(sp_program_entry_resources(program, 0, &indices), 1);
	assert_string_equal(resources.items[indices[0]].name, "v");
	assert_int_equal(sp_snapshot_build(&snapshot, program, &resources, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "'v"));
}

static void a_signature_may_not_change_the_model(void **state)
{
	(void)state;
	compile(variable_nodes, COUNT(variable_nodes), &(ends){{NULL}, {NULL}, "init"}, false);
	assert_non_null(sp_program_entry_error(program, 0));
	assert_int_equal(sp_program_entry_error(program, 0)->status, SP_UNSUPPORTED);
}

#ifndef SP_ARENA_DEBUG
static void after_warm_up_a_run_allocates_nothing(void **state)
{
	const sp_node_def nodes[] = {
		NODE_WITH("a", "Placeholder", is_string, ),
		NODE("x", "StringLower", "a"),
		NODE("y", "StringUpper", "x"),
	};
	sp_bytes word = {"Word", 4};
	sp_tensor feed = text(&word);
	const sp_tensor *fetches[1];
	uint64_t before = 0;

	(void)state;
	compile(nodes, COUNT(nodes), &(ends){{"a"}, {"y"}, NULL}, false);
	start();
	for (int i = 0; i < 100; i++) {
		if (i == 3)
			before = sp_alloc_count();
		assert_ok(run(&feed, NULL, fetches), &err);
		sp_session_reset(session);
	}
	assert_int_equal(sp_alloc_count(), before);
}
#endif

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_branch_is_chosen_by_control_edges),
		TEST(a_fetch_on_the_branch_not_taken_is_an_error),
		TEST(only_what_is_wanted_is_run_and_needs_its_inputs),
		TEST(a_feed_of_another_type_is_refused),
		TEST(what_follows_from_constants_leaves_no_step),
		TEST(all_missing_operators_are_named_at_once),
		TEST(an_output_that_a_node_lacks_is_refused),
		TEST(an_assert_behind_a_control_edge_fires),
		TEST(what_follows_from_variables_is_computed_once_per_version),
		TEST(a_variable_without_a_value_is_known_and_refused),
		TEST(a_signature_may_not_change_the_model),
#ifndef SP_ARENA_DEBUG
		TEST(after_warm_up_a_run_allocates_nothing),
#endif
	};

	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
