#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/messages/examples_message.h"
#include "tests/support/wire.h"

static sp_arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(4096);
	return arena == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

/* A request with an Input: examples, and a context unless it is NULL. */
static sp_buffer request(const char *const *examples, size_t count, const char *context)
{
	sp_buffer out = sp_wire_begin(), input = sp_wire_begin(), list = sp_wire_begin();

	for (size_t i = 0; i < count; i++)
		sp_wire_text(&list, 1, examples[i]);
	if (context != NULL)
		sp_wire_text(&list, 2, context);
	sp_wire_message(&input, context != NULL ? 2 : 1, &list);
	sp_wire_message(&out, 2, &input);
	return out;
}

static void expect(sp_buffer *message, const char *const *texts, size_t count)
{
	const sp_bytes *examples;
	sp_error err;
	size_t found;

	assert_ok(sp_examples_message_decode(&examples, &found, sp_wire_view(message), arena, &err),
		  &err);
	assert_int_equal(found, count);
	for (size_t i = 0; i < count; i++)
		assert_true(sp_bytes_equal_text(examples[i], texts[i]));
	sp_buffer_fini(message);
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__})

static void examples_are_read(void **state)
{
	sp_buffer message = request(TEXTS("one", "two"), 2, NULL);

	(void)state;
	expect(&message, TEXTS("one", "two"), 2);
	message = sp_wire_begin();
	expect(&message, NULL, 0);
}

static void a_context_goes_before_each_example(void **state)
{
	sp_buffer message = request(TEXTS("one", ""), 2, "ctx"), more;

	(void)state;
	expect(&message, TEXTS("ctxone", "ctx"), 2);
	/* The parts of a repeated input are merged; of the two kinds the last counts. */
	message = request(TEXTS("lost"), 1, NULL);
	for (int i = 0; i < 2; i++) {
		more = request(TEXTS("one"), 1, "ctx");
		sp_buffer_append(&message, more.data, more.size);
		sp_buffer_fini(&more);
	}
	expect(&message, TEXTS("ctxctxone", "ctxctxone"), 2);
}

static void malformed_inputs_are_refused(void **state)
{
	const sp_bytes *examples;
	size_t count;
	sp_error err;

	(void)state;
	assert_int_equal(sp_examples_message_decode(&examples, &count,
						    (sp_bytes){"\x12\2\x0a\5", 4}, arena, &err),
			 SP_INVALID);
}

static void tasks_are_read(void **state)
{
	sp_buffer message = sp_wire_begin();
	const sp_inference_task *tasks;
	size_t count;
	sp_error err;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sp_buffer task = sp_wire_begin(), spec = sp_wire_begin();

		sp_wire_text(&spec, 1, i == 0 ? "m" : "n");
		sp_wire_message(&task, 1, &spec);
		sp_wire_text(&task, 2, "method");
		sp_wire_message(&message, 1, &task);
	}
	assert_ok(sp_examples_message_tasks(&tasks, &count, sp_wire_view(&message), arena, &err),
		  &err);
	assert_int_equal(count, 2);
	assert_true(sp_bytes_equal_text(tasks[1].spec.name, "n"));
	assert_true(sp_bytes_equal_text(tasks[1].method, "method"));
	assert_true(sp_bytes_equal_text(sp_examples_message_model(sp_wire_view(&message)), "m"));
	sp_buffer_fini(&message);
}

static void results_are_written(void **state)
{
	static const serving_processor_bytes classes[] = {{"a", 1}, {"", 0}};
	static const float scores[] = {1.0f, 0.0f};
	const sp_model_spec spec = {.name = {"m", 1}};
	sp_examples_result result = {SP_EXAMPLES_CLASSIFY, 1, 2, classes, scores, {0}};
	static const char classified[] = "\x0a\x0e\x0a\x0c\x0a\x08\x0a\1a\x15\0\0\x80\x3f\x0a\0"
					 "\x12\3\x0a\1m";
	static const char regressed[] = "\x0a\x15\x0a\3\x0a\1m\x1a\x0e\x0a\5\x0d\0\0\x80\x3f\x0a"
					"\5\x0d\0\0\0\x40";
	static const float values[] = {1.0f, 2.0f};
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 1000);
	assert_ok(sp_examples_message_encode(&out, &result, &spec, &err), &err);
	assert_int_equal(out.size, sizeof(classified) - 1);
	assert_memory_equal(out.data, classified, out.size);
	sp_buffer_clear(&out);
	result = (sp_examples_result){SP_EXAMPLES_REGRESS, 2, 0, NULL, values, {0}};
	assert_ok(sp_examples_message_add(&out, &result, &spec, &err), &err);
	assert_int_equal(out.size, sizeof(regressed) - 1);
	assert_memory_equal(out.data, regressed, out.size);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_are_read),
		cmocka_unit_test(a_context_goes_before_each_example),
		cmocka_unit_test(malformed_inputs_are_refused),
		cmocka_unit_test(tasks_are_read),
		cmocka_unit_test(results_are_written),
	};

	return cmocka_run_group_tests_name("examples_message", tests, set_up, tear_down);
}
