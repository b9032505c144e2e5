#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "api/host/v2/v2_request.h"

/* A model with inputs a (FP32 [-1]), b (BYTES [-1]) and c (BOOL [-1]), and outputs y and z. */
static const int64_t any[] = {-1};
static const serving_processor_tensor_info a = {"a", "a:0", SERVING_PROCESSOR_FLOAT, 1, any},
					   b = {"b", "b:0", SERVING_PROCESSOR_STRING, 1, any},
					   c = {"c", "c:0", SERVING_PROCESSOR_BOOL, 1, any},
					   y = {"y", "y:0", SERVING_PROCESSOR_FLOAT, 1, any},
					   z = {"z", "z:0", SERVING_PROCESSOR_FLOAT, 1, any};
static const serving_processor_tensor_info *const inputs[] = {&a, &b, &c}, *const outputs[] = {&y,
											       &z};
static const serving_processor_signature signatures[] = {
	{"only_a", "", inputs, 1, outputs, 2},
	{"serving_default", "", inputs, 3, outputs, 2},
};
static const sp_host_signatures all = {signatures, 2, &signatures[1]},
				one = {signatures, 2, &signatures[0]};

static sp_v2_request *request;
static sp_message_memory memory;
static sp_v2_parsed parsed;
static sp_error err;

static int setup(void **state)
{
	static uint16_t order[SP_MESSAGE_ORDER];

	(void)state;
	memory = (sp_message_memory){sp_arena_create(4096), order};
	request = sp_v2_request_create(NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sp_v2_request_destroy(request);
	sp_arena_destroy(memory.arena);
	return 0;
}

static sp_status parse(const sp_host_signatures *set, const char *body, size_t size, int64_t json)
{
	sp_arena_reset(memory.arena);
	return sp_v2_request_parse(&parsed, request, set, (sp_bytes){body, size}, json, &memory,
				   &err);
}

#define A "{\"name\":\"a\",\"shape\":[2],\"datatype\":\"FP32\",\"data\":[1.5,-2]}"
#define B "{\"shape\":[2],\"data\":[[\"x\"],[\"yz\"]],\"datatype\":\"BYTES\",\"name\":\"b\"}"
#define C "{\"name\":\"c\",\"shape\":[1],\"datatype\":\"BOOL\",\"data\":[true]}"

static void json_data_come_in_any_order_and_nesting(void **state)
{
	static const char body[] =
		"{\"id\":\"7\",\"inputs\":[" C "," B "," A "],\"outputs\":"
		"[{\"name\":\"z\",\"parameters\":{\"binary_data\":true}},"
		"{\"name\":\"y\"}],\"parameters\":{\"timeout\":5000,\"other\":{}}}";
	const serving_processor_tensor *t;
	const serving_processor_bytes *texts;

	(void)state;
	assert_ok(parse(&all, body, sizeof(body) - 1, SP_V2_ALL_JSON), &err);
	t = parsed.inputs.tensors;
	assert_float_equal(((const float *)t[0].data)[0], 1.5, 0);
	assert_float_equal(((const float *)t[0].data)[1], -2, 0);
	texts = t[1].data;
	assert_memory_equal(texts[1].data, "yz", 2);
	assert_int_equal(t[1].rank, 1);
	assert_int_equal(t[1].dims[0], 2);
	assert_int_equal(*(const uint8_t *)t[2].data, 1);
	assert_true(sp_bytes_equal_text(parsed.id, "7"));
	assert_int_equal(parsed.inputs.output_count, 2);
	assert_string_equal(parsed.inputs.outputs[0], "z");
	assert_int_equal(parsed.binary[0], 1);
	assert_int_equal(parsed.binary[1], -1);
	assert_false(parsed.binary_by_default);
	assert_int_equal(parsed.timeout_us, 5000);
}

static void binary_data_follow_the_json(void **state)
{
	static const char json[] =
		"{\"inputs\":[{\"name\":\"b\",\"shape\":[2],\"datatype\":\"BYTES\","
		"\"parameters\":{\"binary_data_size\":11}}," C
		",{\"name\":\"a\",\"shape\":[1],\"datatype\":\"FP32\","
		"\"parameters\":{\"binary_data_size\":4}}],"
		"\"parameters\":{\"binary_data_output\":true}}";
	static const char tail[] = "\x02\0\0\0xy\x01\0\0\0z\0\0\x80\x3f"; /* 1.0f */
	char body[1024];
	size_t size = sizeof(json) - 1;
	const serving_processor_bytes *texts;
	float value;

	(void)state;
	memcpy(body, json, size);
	memcpy(body + size, tail, 15);
	body[size + 15] = '\0';
	assert_ok(parse(&all, body, size + 15, (int64_t)size), &err);
	texts = parsed.inputs.tensors[1].data;
	assert_memory_equal(texts[0].data, "xy", 2);
	assert_memory_equal(texts[1].data, "z", 1);
	memcpy(&value, parsed.inputs.tensors[0].data, 4);
	assert_float_equal(value, 1, 0);
	assert_true(parsed.binary_by_default);
	assert_int_equal(parse(&all, body, size + 14, (int64_t)size), SP_INVALID);
	assert_non_null(strstr(err.text, "unexpected end of the binary data"));
	assert_int_equal(parse(&all, body, size + 16, (int64_t)size), SP_INVALID);
	assert_non_null(strstr(err.text, "unexpected additional input data"));
	assert_int_equal(parse(&all, body, size + 15, (int64_t)size + 16), SP_INVALID);
	assert_non_null(strstr(err.text, "exceeds the body"));
}

static void a_raw_body_is_the_only_input(void **state)
{
	(void)state;
	assert_ok(parse(&one, "\0\0\x80\x3f", 4, 0), &err);
	assert_int_equal(parsed.inputs.tensors[0].count, 1);
	assert_true(parsed.binary_by_default);
	assert_int_equal(parse(&one, "\0\0\x80", 3, 0), SP_INVALID);
	assert_int_equal(parse(&all, "\0\0\x80\x3f", 4, 0), SP_INVALID);
}

static void a_parameter_selects_the_signature(void **state)
{
	static const char body[] = "{\"inputs\":[" A
				   "],\"parameters\":{\"signature_name\":\"only_a\"}}";
	static const char none[] = "{\"inputs\":[" A
				   "],\"parameters\":{\"signature_name\":\"other\"}}";

	(void)state;
	assert_ok(parse(&all, body, sizeof(body) - 1, SP_V2_ALL_JSON), &err);
	assert_string_equal(parsed.inputs.signature->name, "only_a");
	assert_int_equal(parse(&all, none, sizeof(none) - 1, SP_V2_ALL_JSON), SP_NOT_FOUND);
}

#define INPUT(rest) "{\"inputs\":[{\"name\":\"a\"," rest "}]}"
#define TYPED(rest) INPUT("\"datatype\":\"FP32\",\"shape\":[1]," rest)

static void what_is_wrong_is_told(void **state)
{
	static const struct {
		const char *body, *text;
	} cases[] = {
		{"", "JSON Parse error"},
		{"[]", "must be an object"},
		{"{}", "'inputs' is missing"},
		{"{\"inputs\":{}}", "'inputs' must be an array"},
		{"{\"inputs\":[],\"inputs\":[]}", "'inputs' occurs twice"},
		{"{\"inputs\":[" A "," A "]}", "already exists"},
		{"{\"inputs\":[],\"id\":1}", "'id' must be a string"},
		{"{\"inputs\":[]}", "required input 'a' is missing"},
		{"{\"inputs\":[" A "],\"outputs\":[{\"name\":\"w\"}]}",
		 "unexpected inference output 'w'"},
		{"{\"inputs\":[" A "],\"outputs\":[{\"name\":\"y\"},{\"name\":\"y\"}]}",
		 "requested twice"},
		{"{\"inputs\":[" A
		 "],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":1}}]}",
		 "'classification' is not supported"},
		{"{\"inputs\":[{\"name\":\"w\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":[1]}]}",
		 "unexpected inference input 'w'"},
		{INPUT("\"datatype\":\"FP32\",\"data\":[1]"), "must have 'name', 'shape' and"},
		{INPUT("\"datatype\":\"FP8\",\"shape\":[1],\"data\":[1]"),
		 "invalid datatype 'FP8'"},
		{INPUT("\"datatype\":\"FP16\",\"shape\":[1],\"data\":[1]"), "sent as binary data"},
		{INPUT("\"datatype\":\"FP32\",\"shape\":[-1],\"data\":[1]"), "not negative"},
		{INPUT("\"datatype\":\"FP32\",\"shape\":[9223372036854775807,3],\"data\":[1]"),
		 "too large"},
		{INPUT("\"datatype\":\"FP32\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"
		       "\"data\":[1]"),
		 "more than 16 dimensions"},
		{INPUT("\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1]"),
		 "1 values, but the shape needs 2"},
		{TYPED("\"data\":[1e39]"), "out of the range"},
		{TYPED("\"data\":[\"x\"]"), "not of expected type"},
		{TYPED("\"other\":1"), "either 'data' or"},
		{TYPED("\"data\":[1],\"parameters\":{\"binary_data_size\":4}"), "either 'data' or"},
		{TYPED("\"parameters\":{\"binary_data_size\":-7}"), "must not be negative"},
		{TYPED("\"parameters\":{\"binary_data_size\":\"4\"}"), "must be an integer"},
		{TYPED("\"parameters\":{\"binary_data_size\":4}"),
		 "unexpected end of the binary data"},
		{TYPED("\"parameters\":{\"shared_memory_region\":\"m\"}"),
		 "'shared_memory_region' is not supported"},
		{"{\"inputs\":[" A "],\"parameters\":{\"timeout\":-1}}", "must not be negative"},
		{"{\"inputs\":[" A "}", "JSON Parse error"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *body = cases[i].body;

		assert_int_not_equal(parse(&one, body, strlen(body), SP_V2_ALL_JSON), SP_OK);
		if (strstr(err.text, cases[i].text) == NULL)
			fail_msg("%s: %s", body, err.text);
	}
}

/* Brackets as deep as Triton's tests have them. */
static sp_status parse_nested(size_t depth)
{
	char body[1024] =
		"{\"inputs\":[{\"name\":\"a\",\"datatype\":\"FP32\",\"shape\":[1],\"data\":";
	size_t at = strlen(body);

	memset(body + at, '[', depth);
	body[at + depth] = '1';
	memset(body + at + depth + 1, ']', depth);
	memcpy(body + at + 2 * depth + 1, "}]}", 4);
	return parse(&one, body, strlen(body), SP_V2_ALL_JSON);
}

static void depth_is_limited(void **state)
{
	(void)state;
	assert_ok(parse_nested(50), &err);
	assert_int_equal(parsed.inputs.tensors[0].rank, 1);
	assert_ok(parse_nested(100), &err);
	assert_int_equal(parse_nested(101), SP_INVALID);
	assert_int_equal(parse_nested(120), SP_INVALID);
	assert_non_null(strstr(err.text, "JSON nesting depth exceeds the limit of 100"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_data_come_in_any_order_and_nesting),
		cmocka_unit_test(binary_data_follow_the_json),
		cmocka_unit_test(a_raw_body_is_the_only_input),
		cmocka_unit_test(a_parameter_selects_the_signature),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(depth_is_limited),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
