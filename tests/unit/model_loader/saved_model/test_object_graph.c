#include "tests/support/cmocka.h"

#include "model_loader/saved_model/object_graph.h"
#include "tests/support/wire.h"

/* Fields of the messages. */
enum { NODE = 1, FUNCTION = 2 };
enum { CHILD = 1, ATTRIBUTE = 2 };
enum { ID = 1, NAME = 2 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_KEY = 3 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, BOUND = 2 };

static sp_error err;

static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

static void add_child(sp_buffer *object, const char *name, int id)
{
	sp_buffer child = sp_wire_begin();

	sp_wire_varint(&child, ID, (uint64_t)(int64_t)id);
	sp_wire_text(&child, NAME, name);
	sp_wire_message(object, CHILD, &child);
}

static void add_attribute(sp_buffer *object, const char *name, const char *key)
{
	sp_buffer attribute = sp_wire_begin();

	sp_wire_text(&attribute, ATTRIBUTE_NAME, name);
	sp_wire_text(&attribute, ATTRIBUTE_KEY, key);
	sp_wire_message(object, ATTRIBUTE, &attribute);
}

static void add_function(sp_buffer *graph, const char *name, const int *ids, size_t count)
{
	sp_buffer entry = sp_wire_begin(), function = sp_wire_begin();

	for (size_t i = 0; i < count; i++)
		sp_wire_varint(&function, BOUND, (uint64_t)(int64_t)ids[i]);
	sp_wire_text(&entry, ENTRY_KEY, name);
	sp_wire_message(&entry, ENTRY_VALUE, &function);
	sp_wire_message(graph, FUNCTION, &entry);
}

/* An object whose only child is `id`. */
static void add_object(sp_buffer *graph, const char *child, int id)
{
	sp_buffer object = sp_wire_begin();

	if (child != NULL)
		add_child(&object, child, id);
	sp_wire_message(graph, NODE, &object);
}

/* One with a value. */
static void add_value(sp_buffer *graph, const char *key)
{
	sp_buffer object = sp_wire_begin();

	add_attribute(&object, "SOMETHING_ELSE", "no");
	add_attribute(&object, "VARIABLE_VALUE", key);
	sp_wire_message(graph, NODE, &object);
}

static sp_status read(sp_object_graph *out, sp_buffer *saved, sp_buffer *checkpoint, void **state)
{
	sp_status status = sp_object_graph_read(out, (sp_bytes){saved->data, saved->size},
						(sp_bytes){checkpoint->data, checkpoint->size},
						*state, &err);

	sp_buffer_fini(saved);
	sp_buffer_fini(checkpoint);
	return status;
}

/* 0 {a: 1, b: 2}, 1 {v: 3}; a function that captures 3 and 2. */
static sp_buffer saved_graph(void)
{
	sp_buffer graph = sp_wire_begin(), root = sp_wire_begin();

	add_child(&root, "a", 1);
	add_child(&root, "b", 2);
	sp_wire_message(&graph, NODE, &root);
	add_object(&graph, "v", 3);
	add_object(&graph, NULL, 0);
	add_object(&graph, NULL, 0);
	add_function(&graph, "f", (int[]){3, 2}, 2);
	return graph;
}

/* The same objects in another order, and one more. */
static sp_buffer checkpoint_graph(void)
{
	sp_buffer graph = sp_wire_begin(), root = sp_wire_begin();

	add_child(&root, "b", 1);
	add_child(&root, "optimizer", 3);
	add_child(&root, "a", 2);
	sp_wire_message(&graph, NODE, &root);
	add_value(&graph, "key of b");
	add_object(&graph, "v", 4);
	add_value(&graph, "key of the optimizer");
	add_value(&graph, "key of a/v");
	return graph;
}

static void test_objects_are_matched_by_name(void **state)
{
	sp_buffer saved = saved_graph(), checkpoint = checkpoint_graph();
	const sp_object_captures *captures;
	sp_object_graph graph;

	assert_ok(read(&graph, &saved, &checkpoint, state), &err);
	assert_int_equal(graph.count, 4);
	assert_int_equal(graph.keys[0].size, 0);
	assert_int_equal(graph.keys[1].size, 0);
	assert_true(sp_bytes_equal_text(graph.keys[2], "key of b"));
	assert_true(sp_bytes_equal_text(graph.keys[3], "key of a/v"));
	captures = sp_object_graph_captures(&graph, "f");
	assert_non_null(captures);
	assert_int_equal(captures->count, 2);
	assert_int_equal(captures->objects[0], 3);
	assert_int_equal(captures->objects[1], 2);
	assert_null(sp_object_graph_captures(&graph, "g"));
}

static void test_objects_only_one_side_has(void **state)
{
	sp_buffer saved = saved_graph(), checkpoint = sp_wire_begin();
	sp_object_graph graph;

	add_object(&checkpoint, "b", 1);
	add_object(&checkpoint, NULL, 0);
	assert_ok(read(&graph, &saved, &checkpoint, state), &err);
	for (size_t i = 0; i < graph.count; i++)
		assert_int_equal(graph.keys[i].size, 0);
	saved = saved_graph();
	checkpoint = sp_wire_begin();
	assert_ok(read(&graph, &saved, &checkpoint, state), &err);
	assert_int_equal(graph.keys[2].size, 0);
	saved = sp_wire_begin();
	checkpoint = checkpoint_graph();
	assert_ok(read(&graph, &saved, &checkpoint, state), &err);
	assert_int_equal(graph.count, 0);
}

/* Objects that have each other, and one that goes by two names. */
static void test_cycles_end(void **state)
{
	sp_buffer graphs[2];
	sp_object_graph graph;

	for (size_t i = 0; i < 2; i++) {
		sp_buffer root = sp_wire_begin();

		graphs[i] = sp_wire_begin();
		add_child(&root, "one", 1);
		add_child(&root, "another", 1);
		add_child(&root, "itself", 0);
		sp_wire_message(&graphs[i], NODE, &root);
		if (i == 0)
			add_object(&graphs[i], "owner", 0);
		else
			add_value(&graphs[i], "key");
	}
	assert_ok(read(&graph, &graphs[0], &graphs[1], state), &err);
	assert_true(sp_bytes_equal_text(graph.keys[1], "key"));
}

static void test_long_chains_are_walked(void **state)
{
	enum { LENGTH = 50000 };
	sp_buffer graphs[2];
	sp_object_graph graph;

	for (size_t i = 0; i < 2; i++) {
		graphs[i] = sp_wire_begin();
		for (int k = 1; k < LENGTH; k++)
			add_object(&graphs[i], "next", k);
		if (i == 0)
			add_object(&graphs[i], NULL, 0);
		else
			add_value(&graphs[i], "the end");
	}
	assert_ok(read(&graph, &graphs[0], &graphs[1], state), &err);
	assert_true(sp_bytes_equal_text(graph.keys[LENGTH - 1], "the end"));
}

static void test_objects_that_are_not_there(void **state)
{
	static const int wrong[] = {4, -1, INT32_MAX, INT32_MIN};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer saved = sp_wire_begin(), checkpoint = checkpoint_graph();
		sp_object_graph graph;

		add_object(&saved, "a", wrong[i]);
		assert_int_equal(read(&graph, &saved, &checkpoint, state), SP_CORRUPT);
		assert_non_null(strstr(err.text, "object"));
		saved = saved_graph();
		checkpoint = sp_wire_begin();
		add_object(&checkpoint, "a", wrong[i]);
		assert_int_equal(read(&graph, &saved, &checkpoint, state), SP_CORRUPT);
		saved = saved_graph();
		checkpoint = checkpoint_graph();
		add_function(&saved, "g", &wrong[i], 1);
		assert_int_equal(read(&graph, &saved, &checkpoint, state), SP_CORRUPT);
	}
}

static void test_no_messages(void **state)
{
	sp_object_graph graph;
	sp_bytes noise = sp_bytes_of("\x0a\x7f no message");
	sp_buffer saved = saved_graph();

	assert_int_equal(sp_object_graph_read(&graph, noise, (sp_bytes){NULL, 0}, *state, &err),
			 SP_CORRUPT);
	assert_non_null(strstr(err.text, "SavedModel"));
	assert_int_equal(sp_object_graph_read(&graph, (sp_bytes){saved.data, saved.size}, noise,
					      *state, &err),
			 SP_CORRUPT);
	assert_non_null(strstr(err.text, "checkpoint"));
	sp_buffer_fini(&saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects_are_matched_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_objects_only_one_side_has, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cycles_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_chains_are_walked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_objects_that_are_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_messages, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
