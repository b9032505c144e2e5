#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/messages/infer_message.h"
#include "tests/support/fake_run.h"
#include "tests/support/wire.h"

static const int64_t any[] = {-1};
static const serving_processor_tensor_info infos[] = {
	{"a", "a:0", SERVING_PROCESSOR_FLOAT, 1, any},
	{"b", "b:0", SERVING_PROCESSOR_STRING, 1, any},
};
static const serving_processor_tensor_info *const all[] = {&infos[0], &infos[1]};
static const serving_processor_signature both = {"s", "m", all, 2, all, 2};
static const serving_processor_signature first = {"s", "m", all, 1, all, 1};

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

static sp_buffer tensor(const char *name, const char *datatype, const int64_t *dims, size_t rank)
{
	sp_buffer out = sp_wire_begin(), packed = sp_wire_begin();

	sp_wire_text(&out, 1, name);
	sp_wire_text(&out, 2, datatype);
	for (size_t i = 0; i < rank; i++)
		sp_wire_number(&packed, (uint64_t)dims[i]);
	sp_wire_message(&out, 3, &packed);
	return out;
}

static sp_status decode(sp_message_inputs *out, const serving_processor_signature *signature,
			sp_buffer *request, sp_error *err)
{
	char *copy = sp_arena_alloc(memory.arena, request->size);
	sp_bytes view = {copy, request->size};

	if (request->size != 0)
		memcpy(copy, request->data, request->size);
	sp_buffer_fini(request);
	return sp_infer_message_decode(out, signature, view, &memory, err);
}

static void raw_contents_follow_the_order_of_the_inputs(void **state)
{
	static const float floats[] = {1.0f, 2.0f};
	const int64_t two[] = {2};
	sp_buffer request = sp_wire_begin(), a = tensor("a", "FP32", two, 1),
		  b = tensor("b", "BYTES", two, 1), output = sp_wire_begin();
	sp_message_inputs inputs;
	const sp_bytes *texts;
	sp_error err;

	(void)state;
	sp_wire_bytes(&request, 7, (sp_bytes){"\1\0\0\0x\0\0\0\0", 9});
	sp_wire_message(&request, 5, &b);
	sp_wire_message(&request, 5, &a);
	sp_wire_bytes(&request, 7, (sp_bytes){(const char *)floats, sizeof(floats)});
	sp_wire_text(&output, 1, "b");
	sp_wire_message(&request, 6, &output);
	assert_ok(decode(&inputs, &both, &request, &err), &err);
	assert_memory_equal(inputs.tensors[0].data, floats, sizeof(floats));
	texts = inputs.tensors[1].data;
	assert_true(sp_bytes_equal_text(texts[0], "x") && texts[1].size == 0);
	assert_int_equal(inputs.output_count, 1);
	assert_string_equal(inputs.outputs[0], "b");
}

/* One input "a" with the contents. */
static sp_status with_contents(sp_message_inputs *inputs, const char *datatype, int64_t count,
			       sp_bytes contents, sp_error *err)
{
	sp_buffer request = sp_wire_begin(), a = tensor("a", datatype, &count, 1);

	sp_wire_bytes(&a, 5, contents);
	sp_wire_message(&request, 5, &a);
	return decode(inputs, &first, &request, err);
}

#define CONTENTS(text) ((sp_bytes){text, sizeof(text) - 1})

static void contents_are_read_by_datatype(void **state)
{
	static const struct {
		const char *datatype;
		sp_bytes contents;
		int64_t count;
		sp_bytes data;
	} cases[] = {
		{"BOOL", CONTENTS("\x0a\2\1\0"), 2, CONTENTS("\1\0")},
		{"INT8", CONTENTS("\x12\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), 1,
		 CONTENTS("\xff")},
		{"INT16", CONTENTS("\x10\5"), 1, CONTENTS("\5\0")},
		{"INT32", CONTENTS("\x12\2\1\2"), 2, CONTENTS("\1\0\0\0\2\0\0\0")},
		{"INT64", CONTENTS("\x1a\2\1\2"), 2, CONTENTS("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0")},
		{"UINT8", CONTENTS("\x22\2\xff\1"), 1, CONTENTS("\xff")},
		{"UINT16", CONTENTS("\x22\1\1"), 1, CONTENTS("\1\0")},
		{"UINT32", CONTENTS("\x22\1\1"), 1, CONTENTS("\1\0\0\0")},
		{"UINT64", CONTENTS("\x2a\1\1"), 1, CONTENTS("\1\0\0\0\0\0\0\0")},
		{"FP32", CONTENTS("\x32\4\0\0\x80\x3f"), 1, CONTENTS("\0\0\x80\x3f")},
		{"FP64", CONTENTS("\x39\0\0\0\0\0\0\xf0\x3f"), 1, CONTENTS("\0\0\0\0\0\0\xf0\x3f")},
	};
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(with_contents(&inputs, cases[i].datatype, cases[i].count,
					cases[i].contents, &err),
			  &err);
		assert_memory_equal(inputs.tensors[0].data, cases[i].data.data, cases[i].data.size);
		assert_string_equal(sp_infer_datatype(inputs.tensors[0].dtype), cases[i].datatype);
	}
}

static void wrong_contents_are_refused(void **state)
{
	static const struct {
		const char *datatype;
		sp_bytes contents;
		int64_t count;
		const char *words;
	} cases[] = {
		{"INT8", CONTENTS("\x12\2\x80\1"), 1, "out of the range of INT8"},
		{"UINT8", CONTENTS("\x22\2\x80\2"), 1, "out of the range of UINT8"},
		{"FP32", CONTENTS("\x12\1\1"), 1, "another datatype than FP32"},
		{"FP32", CONTENTS("\x32\3\1\1\1"), 1, "cannot be parsed"},
		{"FP32", CONTENTS("\x32\4\0\0\x80\x3f"), 2, "1 values, but the shape needs 2"},
		{"INT32", CONTENTS("\x12\2\1\2"), 1, "2 values, but the shape needs 1"},
		{"INT32", CONTENTS("\x12\2\1\2"), 1000000000000, "too few values"},
		{"INT32", CONTENTS("\x12\2\1\2"), -1, "negative or too large"},
		{"FP16", CONTENTS("\x32\4\0\0\x80\x3f"), 1, "raw_input_contents only"},
		{"FP8", CONTENTS(""), 1, "invalid datatype 'FP8' for input 'a'"},
	};
	sp_message_inputs inputs;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(with_contents(&inputs, cases[i].datatype, cases[i].count,
					       cases[i].contents, &err),
				 SP_INVALID);
		if (strstr(err.text, cases[i].words) == NULL)
			fail_msg("not in \"%s\": %s", err.text, cases[i].words);
	}
}

static void expect_refused(sp_buffer *request, const char *words)
{
	sp_message_inputs inputs;
	sp_error err;

	assert_int_equal(decode(&inputs, &both, request, &err), SP_INVALID);
	if (strstr(err.text, words) == NULL)
		fail_msg("not in \"%s\": %s", err.text, words);
}

static void wrong_requests_are_refused(void **state)
{
	const int64_t one[] = {1};
	sp_buffer request = sp_wire_begin(), a, name;

	(void)state;
	expect_refused(&request, "expected 2 inputs but got 0 inputs: required input 'a'");
	request = sp_wire_begin();
	a = tensor("q", "FP32", one, 1);
	sp_wire_message(&request, 5, &a);
	expect_refused(&request, "unexpected inference input 'q'");
	request = sp_wire_begin();
	for (int i = 0; i < 2; i++) {
		a = tensor("a", "FP32", one, 1);
		sp_wire_message(&request, 5, &a);
		sp_wire_bytes(&request, 7, (sp_bytes){"\0\0\0", 4});
	}
	expect_refused(&request, "input 'a' already exists");
	request = sp_wire_begin();
	a = tensor("a", "FP32", one, 1);
	sp_wire_message(&request, 5, &a);
	for (int i = 0; i < 2; i++)
		sp_wire_bytes(&request, 7, (sp_bytes){"\0\0\0", 4});
	expect_refused(&request, "2 raw_input_contents for 1 inputs");
	request = sp_wire_begin();
	a = tensor("a", "FP32", one, 1);
	sp_wire_bytes(&a, 5, (sp_bytes){"", 0});
	sp_wire_message(&request, 5, &a);
	sp_wire_bytes(&request, 7, (sp_bytes){"\0\0\0", 4});
	expect_refused(&request, "contents must not be given with raw_input_contents");
	request = sp_wire_begin();
	a = tensor("a", "FP32", one, 1);
	sp_wire_message(&request, 5, &a);
	sp_wire_bytes(&request, 7, (sp_bytes){"\0\0\0", 3});
	expect_refused(&request, "3 bytes of values, but the shape needs 4");
	for (int i = 0; i < 3; i++) {
		static const sp_bytes strings[] = {
			{"\1\0\0\0", 4}, {"\0\0\0", 3}, {"\0\0\0\0x", 5}};

		request = sp_wire_begin();
		a = tensor("b", "BYTES", one, 1);
		sp_wire_message(&request, 5, &a);
		sp_wire_bytes(&request, 7, strings[i]);
		expect_refused(&request, i == 0   ? "string 0 is cut short"
					 : i == 1 ? "3 bytes for 1 strings"
						  : "1 bytes behind the last string");
	}
	for (int i = 0; i < 2; i++) {
		request = sp_wire_begin();
		for (int k = 0; k <= i; k++) {
			name = sp_wire_begin();
			sp_wire_text(&name, 1, i == 0 ? "z" : "a");
			sp_wire_message(&request, 6, &name);
		}
		expect_refused(&request, i == 0 ? "unexpected inference output 'z'"
						: "output 'a' is requested twice");
	}
}

static void the_head_is_read(void **state)
{
	sp_buffer request = sp_wire_begin();
	sp_infer_head head;
	sp_error err;

	(void)state;
	sp_wire_text(&request, 3, "id");
	sp_wire_text(&request, 1, "m");
	sp_wire_text(&request, 2, "7");
	assert_ok(sp_infer_message_head(&head, sp_wire_view(&request), &err), &err);
	assert_true(sp_bytes_equal_text(head.model_name, "m"));
	assert_true(sp_bytes_equal_text(head.model_version, "7"));
	assert_true(sp_bytes_equal_text(head.id, "id"));
	sp_buffer_fini(&request);
}

/* As protobuf's Python library serializes them. */
static void two_parameters_count(void **state)
{
	static const char signature[] =
		"\x0a\x01m\x22\x18\x0a\x0esignature_name\x12\x06\x1a\x04\x65\x63ho";
	static const char timeout[] =
		"\x0a\x01m\x22\x0b\x0a\x05other\x12\x02\x08\x01\x22\x0e\x0a\x07"
		"timeout\x12\x03\x10\x88\x27";
	static const char negative[] =
		"\x22\x16\x0a\x07timeout\x12\x0b\x10\xff\xff\xff\xff\xff\xff\xff"
		"\xff\xff\x01";
	sp_infer_head head;
	sp_error err;

	(void)state;
	assert_ok(sp_infer_message_head(&head, (sp_bytes){signature, sizeof(signature) - 1}, &err),
		  &err);
	assert_true(sp_bytes_equal_text(head.signature_name, "echo"));
	assert_int_equal(head.timeout_us, 0);
	assert_ok(sp_infer_message_head(&head, (sp_bytes){timeout, sizeof(timeout) - 1}, &err),
		  &err);
	assert_int_equal(head.timeout_us, 5000);
	assert_int_equal(head.signature_name.size, 0);
	assert_int_equal(
		sp_infer_message_head(&head, (sp_bytes){negative, sizeof(negative) - 1}, &err),
		SP_INVALID);
	assert_int_equal(
		sp_infer_message_head(&head, (sp_bytes){signature, sizeof(signature) - 3}, &err),
		SP_INVALID);
}

/* A request whose one parameter has that value. */
static sp_status with_parameter(const char *key, uint32_t field, uint64_t value, sp_error *err)
{
	sp_buffer request = sp_wire_begin(), entry = sp_wire_begin(), content = sp_wire_begin();
	sp_infer_head head;
	sp_status status;

	sp_wire_varint(&content, field, value);
	sp_wire_text(&entry, 1, key);
	sp_wire_message(&entry, 2, &content);
	sp_wire_message(&request, 4, &entry);
	status = sp_infer_message_head(&head, sp_wire_view(&request), err);
	sp_buffer_fini(&request);
	return status;
}

static void an_empty_final_response_is_asked_for_by_a_bool(void **state)
{
	static const char key[] = "triton_enable_empty_final_response";
	sp_error err;

	(void)state;
	assert_ok(with_parameter(key, 1, 1, &err), &err);
	assert_ok(with_parameter(key, 1, 0, &err), &err);
	assert_ok(with_parameter("other", 2, 1, &err), &err);
	assert_int_equal(with_parameter(key, 2, 1, &err), SP_INVALID);
	assert_string_equal(err.text,
			    "parameter 'triton_enable_empty_final_response' must be a bool");
}

static void the_id_is_read_from_a_message_with_faults(void **state)
{
	static const struct {
		sp_bytes message;
		const char *id;
	} cases[] = {
		{CONTENTS("\x1a\2id"), "id"},       {CONTENTS("\x1a\2id\xff"), "id"},
		{CONTENTS("\x1a\2id\x1a\1x"), "x"}, {CONTENTS(""), ""},
		{CONTENTS("\x1a\2i\xff"), ""},      {CONTENTS("\x1a\3id"), ""},
		{CONTENTS("\x18\2"), ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_bytes id = sp_infer_message_id(cases[i].message);

		assert_non_null(id.data);
		assert_true(sp_bytes_equal_text(id, cases[i].id));
	}
	assert_non_null(sp_infer_message_id((sp_bytes){NULL, 0}).data);
}

static void a_response_has_raw_contents(void **state)
{
	static const int64_t dims[] = {2};
	static const sp_bytes texts[] = {{"x", 1}, {"", 0}};
	static const float floats[] = {1.0f, 0.0f};
	const serving_processor_tensor tensors[] = {
		{"s", SERVING_PROCESSOR_STRING, 1, dims, 2, texts},
		{"f", SERVING_PROCESSOR_FLOAT, 1, dims, 2, floats},
	};
	static const char expected[] =
		"\x0a\1m\x12\1\x37\x1a\1i\x2a\x0d\x0a\1s\x12\5BYTES\x1a\1\2\x2a\x0c\x0a\1f\x12\4"
		"FP32\x1a\1\2\x32\x09\1\0\0\0x\0\0\0\0\x32\x08\0\0\x80\x3f\0\0\0\0";
	const sp_infer_head head = {
		.model_name = {"m", 1}, .model_version = {"7", 1}, .id = {"i", 1}};
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 1000);
	assert_ok(sp_infer_message_encode(&out, tensors, 2, &head, &err), &err);
	assert_int_equal(out.size, sizeof(expected) - 1);
	assert_memory_equal(out.data, expected, out.size);
	sp_buffer_fini(&out);
}

static void expect_error(const char *id, const char *text, sp_bytes want)
{
	sp_buffer out;

	sp_buffer_init(&out, 1000);
	sp_infer_message_encode_error(&out, sp_bytes_of(id), text);
	assert_int_equal(out.size, want.size);
	assert_memory_equal(out.data, want.data, want.size);
	sp_buffer_fini(&out);
}

/* A text of protobuf is UTF-8: a reader would refuse the whole answer. */
static void an_error_has_the_id_and_is_utf8(void **state)
{
	(void)state;
	expect_error("id", "wrong", CONTENTS("\x0a\5wrong\x12\4\x1a\2id"));
	expect_error("", "wrong", CONTENTS("\x0a\5wrong\x12\0"));
	expect_error("", "a\xc3\xa4\xc3", CONTENTS("\x0a\4a\xc3\xa4?\x12\0"));
	expect_error("", "\xff\n", CONTENTS("\x0a\2??\x12\0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_contents_follow_the_order_of_the_inputs),
		cmocka_unit_test(contents_are_read_by_datatype),
		cmocka_unit_test(wrong_contents_are_refused),
		cmocka_unit_test(wrong_requests_are_refused),
		cmocka_unit_test(the_head_is_read),
		cmocka_unit_test(two_parameters_count),
		cmocka_unit_test(an_empty_final_response_is_asked_for_by_a_bool),
		cmocka_unit_test(the_id_is_read_from_a_message_with_faults),
		cmocka_unit_test(a_response_has_raw_contents),
		cmocka_unit_test(an_error_has_the_id_and_is_utf8),
	};

	return cmocka_run_group_tests_name("infer_message", tests, set_up, tear_down);
}
