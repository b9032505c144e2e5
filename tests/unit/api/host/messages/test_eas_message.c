#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/messages/eas_message.h"
#include "api/host/messages/predict_message.h"
#include "tests/support/fake_run.h"
#include "tests/support/wire.h"

static const int64_t any[] = {-1};
static const serving_processor_tensor_info infos[] = {
	{"a", "dense/a:0", SERVING_PROCESSOR_FLOAT, 1, any},
	{"b", "b:1", SERVING_PROCESSOR_STRING, 1, any},
};
static const serving_processor_tensor_info *const all[] = {&infos[0], &infos[1]};
static const serving_processor_signature signature = {"s", "m", all, 2, all, 2};

static uint16_t order[SP_MESSAGE_ORDER];
static sp_message_memory memory = {NULL, order};

static int set_up(void **state)
{
	(void)state;
	memory.arena = sp_arena_create(4096);
	return memory.arena == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(memory.arena);
	return 0;
}

/* An ArrayProto [count] whose values are packed, or are one text, in a field. */
static sp_buffer array(int dtype, uint64_t count, uint32_t field, const void *values, size_t size)
{
	sp_buffer out = sp_wire_begin(), shape = sp_wire_begin(), dims = sp_wire_begin();

	sp_wire_varint(&out, 1, (uint64_t)dtype);
	sp_wire_number(&dims, count);
	sp_wire_message(&shape, 1, &dims);
	sp_wire_message(&out, 2, &shape);
	sp_wire_bytes(&out, field, (sp_bytes){values, size});
	return out;
}

static void add_input(sp_buffer *request, const char *name, sp_buffer value)
{
	sp_buffer entry = sp_wire_begin();

	sp_wire_text(&entry, 1, name);
	sp_wire_message(&entry, 2, &value);
	sp_wire_message(request, 2, &entry);
}

static sp_status decode(sp_message_inputs *out, sp_buffer *request, sp_error *err)
{
	/* A copy of its exact size, so that a memory checker sees reading behind it. */
	char *copy = sp_arena_alloc(memory.arena, request->size);
	sp_bytes view = {copy, request->size};

	if (request->size != 0)
		memcpy(copy, request->data, request->size);
	sp_buffer_fini(request);
	return sp_eas_message_decode(out, &signature, view, &memory, err);
}

static void tensors_have_three_names(void **state)
{
	static const char *const names[] = {"a", "dense/a:0", "dense/a"};
	const float values[] = {1.5f, -2.0f};
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		sp_buffer request = sp_wire_begin();

		add_input(&request, names[i], array(1, 2, 3, values, sizeof(values)));
		for (int twice = 0; twice < 2; twice++)
			sp_wire_text(&request, 3, names[i]);
		assert_ok(decode(&inputs, &request, &err), &err);
		assert_int_equal(inputs.given, 1);
		assert_string_equal(inputs.tensors[0].name, "a");
		assert_int_equal(inputs.tensors[0].count, 2);
		assert_memory_equal(inputs.tensors[0].data, values, sizeof(values));
		assert_int_equal(inputs.output_count, 1);
		assert_string_equal(inputs.outputs[0], names[i]);
	}
}

static void the_last_of_equal_names_counts(void **state)
{
	const float one = 1, two = 2;
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	add_input(&request, "a", array(1, 1, 3, &one, sizeof(one)));
	add_input(&request, "a", array(1, 1, 3, &two, sizeof(two)));
	assert_ok(decode(&inputs, &request, &err), &err);
	assert_int_equal(inputs.given, 1);
	assert_memory_equal(inputs.tensors[0].data, &two, sizeof(two));
}

static void halves_come_as_floats(void **state)
{
	const float values[] = {1.5f, 65504.0f};
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	add_input(&request, "a", array(SERVING_PROCESSOR_HALF, 2, 3, values, sizeof(values)));
	assert_ok(decode(&inputs, &request, &err), &err);
	assert_memory_equal(inputs.tensors[0].data, ((const uint16_t[]){0x3e00, 0x7bff}), 4);
}

static void wrong_requests_are_refused(void **state)
{
	static const struct {
		const char *input;
		int dtype;
		uint64_t count;
		size_t size;
		const char *output, *words;
	} cases[] = {
		{"c", 1, 1, 4, NULL, "signature 's' has no input 'c'; it has 'a', 'b'"},
		{"a", 1, 1, 4, "c", "signature 's' has no output 'c'; it has 'a', 'b'"},
		{"dense", 1, 1, 4, NULL, "has no input 'dense'"},
		{"b", 1, 1, 4, "b", NULL},
		{"a", 1, 2, 4, NULL, "input 'a': 1 values, but the shape needs 2"},
		{"a", 1, 0, 4, NULL, "input 'a': 1 values, but the shape needs 0"},
		{"a", 1, 1000000000000, 4, NULL, "too few values"},
		{"a", 1, 1, 3, NULL, "not an ArrayProto message"},
		{"a", 0, 1, 4, NULL, "no dtype"},
		{"a", 22, 1, 4, NULL, "dtype 22"},
		{"\xff", 1, 1, 4, NULL, "not a PredictRequest"},
	};
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_buffer request = sp_wire_begin();
		sp_status status;

		add_input(&request, cases[i].input,
			  array(cases[i].dtype, cases[i].count, 3, "\0\0\0\0", cases[i].size));
		if (cases[i].output != NULL)
			sp_wire_text(&request, 3, cases[i].output);
		status = decode(&inputs, &request, &err);
		assert_int_equal(status == SP_OK, cases[i].words == NULL);
		if (status != SP_OK && strstr(err.text, cases[i].words) == NULL)
			fail_msg("not in \"%s\": %s", err.text, cases[i].words);
	}
}

static void one_input_has_one_name(void **state)
{
	const float one = 1;
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	add_input(&request, "a", array(1, 1, 3, &one, sizeof(one)));
	add_input(&request, "dense/a", array(1, 1, 3, &one, sizeof(one)));
	assert_int_equal(decode(&inputs, &request, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "'a' and 'dense/a' are the same input"));
}

static void a_response_has_arrays(void **state)
{
	static const int64_t dims[] = {2};
	static const uint16_t halves[] = {0x3c00, 0};
	const serving_processor_tensor output = {"y", SERVING_PROCESSOR_HALF, 1, dims, 2, halves};
	static const char expected[] =
		"\x0a\x16\x0a\1y\x12\x11\x08\x13\x12\3\x0a\1\2\x1a\x08\0\0\x80\x3f\0\0\0\0";
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 1000);
	assert_ok(sp_predict_message_encode(&out, &output, 1, NULL, SP_TENSOR_AS_ARRAY, &err),
		  &err);
	assert_int_equal(out.size, sizeof(expected) - 1);
	assert_memory_equal(out.data, expected, out.size);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensors_have_three_names),
		cmocka_unit_test(the_last_of_equal_names_counts),
		cmocka_unit_test(halves_come_as_floats),
		cmocka_unit_test(wrong_requests_are_refused),
		cmocka_unit_test(one_input_has_one_name),
		cmocka_unit_test(a_response_has_arrays),
	};

	return cmocka_run_group_tests_name("eas_message", tests, set_up, tear_down);
}
