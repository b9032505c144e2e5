#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "api/host/messages/predict_message.h"
#include "base/alloc.h"
#include "base/wire.h"
#include "tests/support/fake_run.h"
#include "tests/support/wire.h"

static const int64_t any[] = {-1};
static const serving_processor_tensor_info infos[] = {
	{"a", "a:0", SERVING_PROCESSOR_FLOAT, 1, any},
	{"bb", "b:0", SERVING_PROCESSOR_INT64, 1, any},
	{"c", "c:0", SERVING_PROCESSOR_STRING, 1, any},
};
static const serving_processor_tensor_info *const all[] = {&infos[0], &infos[1], &infos[2]};
static const serving_processor_signature signature = {"s", "m", all, 3, all, 2};

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

/* Adds an input of one value; the message of a type has one number only. */
static void add(sp_buffer *request, const char *name, int dtype, int value)
{
	sp_buffer entry = sp_wire_begin(), tensor = sp_wire_begin(), shape = sp_wire_begin(),
		  dim = sp_wire_begin();

	sp_wire_varint(&dim, 1, 1);
	sp_wire_message(&shape, 2, &dim);
	sp_wire_varint(&tensor, 1, (uint64_t)dtype);
	sp_wire_message(&tensor, 2, &shape);
	if (dtype == SERVING_PROCESSOR_FLOAT)
		sp_wire_float(&tensor, 5, (float)value);
	else if (dtype == SERVING_PROCESSOR_INT64)
		sp_wire_varint(&tensor, 10, (uint64_t)value);
	else
		sp_wire_text(&tensor, 8, "text");
	sp_wire_text(&entry, 1, name);
	sp_wire_message(&entry, 2, &tensor);
	sp_wire_message(request, 2, &entry);
}

static sp_status decode(sp_message_inputs *out, sp_buffer *request, sp_error *err)
{
	char *copy = sp_arena_alloc(memory.arena, request->size);
	sp_bytes view = {copy, request->size};

	if (request->size != 0)
		memcpy(copy, request->data, request->size);
	sp_buffer_fini(request);
	return sp_predict_message_decode(out, &signature, view, &memory, err);
}

static void expect_refused(sp_buffer *request, const char *text)
{
	sp_message_inputs inputs;
	sp_error err;

	if (decode(&inputs, request, &err) == SP_OK)
		sp_predict_message_wrong_inputs(&inputs, (sp_bytes){"", 0}, &memory, &err);
	assert_string_equal(err.text, text);
}

static void inputs_may_come_in_any_order(void **state)
{
	static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {2, 1, 0}, {1, 2, 0}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		sp_buffer request = sp_wire_begin();
		sp_message_inputs inputs;
		sp_error err;

		for (size_t k = 0; k < 3; k++)
			add(&request, infos[orders[i][k]].alias, infos[orders[i][k]].dtype, 5);
		assert_ok(decode(&inputs, &request, &err), &err);
		assert_int_equal(inputs.output_count, 0);
		for (size_t k = 0; k < 3; k++) {
			assert_ptr_equal(inputs.tensors[k].name, infos[k].alias);
			assert_int_equal(inputs.tensors[k].dtype, infos[k].dtype);
		}
		assert_true(*(const float *)inputs.tensors[0].data == 5.0f);
		assert_int_equal(*(const int64_t *)inputs.tensors[1].data, 5);
	}
}

static void of_a_repeated_input_the_last_counts(void **state)
{
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	add(&request, "a", SERVING_PROCESSOR_FLOAT, 1);
	add(&request, "bb", SERVING_PROCESSOR_INT64, 2);
	add(&request, "c", SERVING_PROCESSOR_STRING, 0);
	add(&request, "a", SERVING_PROCESSOR_FLOAT, 3);
	assert_ok(decode(&inputs, &request, &err), &err);
	assert_true(*(const float *)inputs.tensors[0].data == 3.0f);
}

static void other_inputs_than_the_signature_has_are_refused(void **state)
{
	sp_buffer request = sp_wire_begin();

	(void)state;
	add(&request, "a", SERVING_PROCESSOR_FLOAT, 1);
	add(&request, "x", SERVING_PROCESSOR_FLOAT, 1);
	expect_refused(&request,
		       "input size does not match signature: 2!=3 len({a,x}) != len({a,bb,c}). "
		       "Sent extra: {x}. Missing but required: {bb,c}.");
	request = sp_wire_begin();
	expect_refused(&request, "input size does not match signature: 0!=3 len({}) != "
				 "len({a,bb,c}). Sent extra: {}. Missing but required: {a,bb,c}.");
	request = sp_wire_begin();
	add(&request, "a", SERVING_PROCESSOR_FLOAT, 1);
	add(&request, "b", SERVING_PROCESSOR_INT64, 1);
	add(&request, "c", SERVING_PROCESSOR_STRING, 1);
	expect_refused(&request, "input tensor alias not found in signature: b. Inputs expected to "
				 "be in the set {a,bb,c}.");
	request = sp_wire_begin();
	add(&request, "bb\1", SERVING_PROCESSOR_INT64, 1);
	expect_refused(&request,
		       "input size does not match signature: 1!=3 len({bb?}) != len({a,bb,c}). "
		       "Sent extra: {bb?}. Missing but required: {a,bb,c}.");
}

static void outputs_are_filtered(void **state)
{
	static const char *const wrong[][3] = {
		{"a", "a", "duplicate output tensor alias: a"},
		{"a", "c",
		 "output tensor alias not found in signature: c Outputs expected to be "
		 "in the set {a,bb}."},
	};
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	sp_wire_text(&request, 3, "bb");
	add(&request, "a", SERVING_PROCESSOR_FLOAT, 1);
	add(&request, "bb", SERVING_PROCESSOR_INT64, 1);
	add(&request, "c", SERVING_PROCESSOR_STRING, 1);
	sp_wire_text(&request, 3, "a");
	assert_ok(decode(&inputs, &request, &err), &err);
	assert_int_equal(inputs.output_count, 2);
	assert_string_equal(inputs.outputs[0], "bb");
	assert_string_equal(inputs.outputs[1], "a");
	for (size_t i = 0; i < 2; i++) {
		request = sp_wire_begin();
		sp_wire_text(&request, 3, wrong[i][0]);
		sp_wire_text(&request, 3, wrong[i][1]);
		expect_refused(&request, wrong[i][2]);
	}
}

static void a_wrong_tensor_is_named(void **state)
{
	sp_buffer request = sp_wire_begin();

	(void)state;
	add(&request, "bb", 20, 1);
	sp_buffer_fini(&request);
	request = sp_wire_begin();
	sp_wire_bytes(&request, 2, (sp_bytes){"\x0a\1a\x12\0", 5});
	expect_refused(&request, "tensor parsing error: a: no dtype");
	request = sp_wire_begin();
	sp_wire_bytes(&request, 2, (sp_bytes){"\x0a\1a\x12\5", 5});
	expect_refused(&request, "the message cannot be parsed");
}

/* Protobuf merges the parts of a message; so the dtype may come alone. */
static void a_value_in_parts_is_joined(void **state)
{
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	sp_wire_bytes(&request, 2, (sp_bytes){"\x12\2\x08\1\x0a\1a\x12\6\x2a\4\0\0\x80\x3f", 15});
	add(&request, "bb", SERVING_PROCESSOR_INT64, 1);
	add(&request, "c", SERVING_PROCESSOR_STRING, 1);
	assert_ok(decode(&inputs, &request, &err), &err);
	assert_true(*(const float *)inputs.tensors[0].data == 1.0f);
	assert_int_equal(inputs.tensors[0].rank, 0);
}

static void the_model_spec_is_found(void **state)
{
	sp_buffer request = sp_wire_begin(), spec = sp_wire_begin(), version = sp_wire_begin();
	sp_model_spec found;
	sp_error err;

	(void)state;
	add(&request, "a", SERVING_PROCESSOR_FLOAT, 1);
	sp_wire_text(&spec, 1, "model");
	sp_wire_text(&spec, 4, "stable");
	sp_wire_varint(&version, 1, 7);
	sp_wire_message(&spec, 2, &version);
	sp_wire_message(&request, 1, &spec);
	spec = sp_wire_begin();
	sp_wire_text(&spec, 3, "sig");
	sp_wire_message(&request, 1, &spec);
	assert_ok(sp_model_spec_find(&found, sp_wire_view(&request), &err), &err);
	assert_true(sp_bytes_equal_text(found.name, "model"));
	assert_true(sp_bytes_equal_text(found.signature_name, "sig"));
	assert_true(found.has_version && !found.has_label); /* of a oneof the last one counts */
	assert_int_equal(found.version, 7);
	sp_buffer_fini(&request);
	assert_int_equal(sp_model_spec_find(&found, (sp_bytes){"\x0a\3\x0a\1\xff", 5}, &err),
			 SP_INVALID);
}

static void a_response_is_written(void **state)
{
	static const int64_t dims[] = {1};
	static const float one = 1.0f;
	const serving_processor_tensor tensor = {"y", SERVING_PROCESSOR_FLOAT, 1, dims, 1, &one};
	const sp_model_spec spec = {
		.name = {"m", 1}, .signature_name = {"s", 1}, .has_version = true, .version = 300};
	static const char expected[] = "\x0a\x13\x0a\1y\x12\x0e\x08\1\x12\4\x12\2\x08\1\x2a\4\0\0"
				       "\x80\x3f\x12\x0b\x0a\1m\x12\3\x08\xac\2\x1a\1s";
	serving_processor_tensor odd = tensor;
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 1000);
	assert_ok(sp_predict_message_encode(&out, &tensor, 1, &spec, false, &err), &err);
	assert_int_equal(out.size, sizeof(expected) - 1);
	assert_memory_equal(out.data, expected, sizeof(expected) - 1);
	odd.dtype = 20;
	assert_int_equal(sp_predict_message_encode(&out, &odd, 1, &spec, false, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "output 'y' has dtype 20"));
	sp_buffer_fini(&out);
}

/* Requests of one form take nothing from the system after the first. */
static void nothing_is_allocated_after_the_first_request(void **state)
{
	sp_buffer request = sp_wire_begin();
	sp_message_inputs inputs;
	uint64_t before = 0;
	sp_error err;

	(void)state;
#ifdef SP_ARENA_DEBUG
	sp_buffer_fini(&request);
	skip(); /* every block of an arena is an allocation */
#endif
	for (size_t i = 0; i < 3; i++)
		add(&request, infos[i].alias, infos[i].dtype, 1);
	for (int i = 0; i < 10; i++) {
		sp_arena_reset(memory.arena);
		if (i == 2)
			before = sp_alloc_count();
		assert_ok(sp_predict_message_decode(&inputs, &signature, sp_wire_view(&request),
						    &memory, &err),
			  &err);
	}
	assert_int_equal(sp_alloc_count(), before);
	sp_buffer_fini(&request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inputs_may_come_in_any_order),
		cmocka_unit_test(of_a_repeated_input_the_last_counts),
		cmocka_unit_test(other_inputs_than_the_signature_has_are_refused),
		cmocka_unit_test(outputs_are_filtered),
		cmocka_unit_test(a_wrong_tensor_is_named),
		cmocka_unit_test(a_value_in_parts_is_joined),
		cmocka_unit_test(the_model_spec_is_found),
		cmocka_unit_test(a_response_is_written),
		cmocka_unit_test(nothing_is_allocated_after_the_first_request),
	};

	return cmocka_run_group_tests_name("predict_message", tests, set_up, tear_down);
}
