#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "api/host/sticky/sticky.h"
#include "api/serving_processor.h"
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

/* Bytes in a block of their own, with a NUL behind them, so that a memory checker sees any other.
 */
static void expect_bytes(sp_sticky_form form, sp_bytes bytes, int64_t json_size, const char *key)
{
	char *copy = malloc(bytes.size + 1);
	sp_sticky_body body = {form, {copy, bytes.size}, json_size, arena, ""};
	sp_bytes found;

	assert_non_null(copy);
	if (bytes.size != 0)
		memcpy(copy, bytes.data, bytes.size);
	copy[bytes.size] = '\0';
	found = sp_sticky_find(&body, "id");
	if (key == NULL ? found.size != 0 : !sp_bytes_equal_text(found, key))
		fail_msg("form %d, %.*s: \"%.*s\", not %s", (int)form, (int)bytes.size, copy,
			 (int)found.size, found.data, key != NULL ? key : "none");
	free(copy);
}

static void expect(sp_sticky_form form, const char *text, const char *key)
{
	expect_bytes(form, sp_bytes_of(text), -1, key);
}

static void expect_message(sp_sticky_form form, sp_buffer *message, const char *key)
{
	expect_bytes(form, sp_wire_view(message), -1, key);
	sp_buffer_fini(message);
}

/* ------------------------------------------------------------------------ JSON */

static void rows_and_columns_have_a_key(void **state)
{
	static const struct {
		const char *text, *key;
	} cases[] = {
		{"{\"instances\":[{\"id\":7}]}", "7"},
		{" {\"signature_name\" : \"s\" , \"instances\" : [ {\"a\" : [1, {}], \"id\" : 7 }",
		 "7"},
		{"{\"instances\":[{\"id\":[[-9223372036854775808,2]]},{\"id\":8}]}",
		 "-9223372036854775808"},
		{"{\"instances\":[{\"id\":18446744073709551615}]}", "18446744073709551615"},
		{"{\"instances\":[{\"id\":7.0}]}", "7"},
		{"{\"instances\":[{\"id\":0.1}]}", "0.100000001"},
		{"{\"instances\":[{\"id\":true}]}", "1"},
		{"{\"instances\":[{\"id\":\"u\\u0037\"}]}", "u7"},
		{"{\"instances\":[{\"\\u0069d\":\"u7\"}]}", "u7"},
		{"{\"instances\":[{\"id\":{\"b64\":\"dTc=\"}}]}", "u7"},
		{"{\"inputs\":{\"a\":[\"]\\\"}\",{\"b64\":\"x\"}],\"id\":[[7],[8]]}}", "7"},
		{"{\"inputs\":{\"id\":\"u7\"},\"signature_name\":\"s\"}", "u7"},
		/* the only input, without its name */
		{"{\"instances\":[7,8]}", "7"},
		{"{\"instances\":[[\"u7\"],[\"u8\"]]}", "u7"},
		{"{\"instances\":[{\"b64\":\"dTc=\"}]}", "u7"},
		{"{\"inputs\":[[7]]}", "7"},
		{"\xef\xbb\xbf{\"inputs\":7}", "7"},
		/* no value */
		{"", NULL},
		{"7", NULL},
		{"{}", NULL},
		{"{\"instances\":[{\"a\":1}]}", NULL},
		{"{\"instances\":[{\"a\":{\"id\":1}}]}", NULL},
		{"{\"instances\":[{\"a\":1},{\"id\":1}]}", NULL},
		{"{\"instances\":[{\"id\":[]}]}", NULL},
		{"{\"instances\":[{\"id\":null}]}", NULL},
		{"{\"instances\":[{\"id\":{}}]}", NULL},
		{"{\"instances\":[{\"id\":\"\"}]}", NULL},
		{"{\"instances\":[{\"id\":{\"b64\":\"*\"}}]}", NULL},
		{"{\"instances\":[]}", NULL},
		{"{\"id\":7}", NULL},
		/* what is no JSON ends the search */
		{"{\"instances\":[{\"id\":\"u7", NULL},
		{"{\"instances\":[{\"id\":-}]}", NULL},
		{"{\"instances\":[{\"id\":\"\xff\"}]}", NULL},
		{"{\"a\":\"\\", NULL},
		{"{\"a\":[[[", NULL},
		{"{\"a\":]}}],\"instances\":[7]}", NULL},
		{"{\"a\":1 \"instances\":[7]}", NULL},
		{"{\"a\":\"b\"\"instances\":[7]}", NULL},
		{"{\"instances\"", NULL},
		{"{\"instances\":[{", NULL},
		{"{\"instances\":[{\"id\"}]}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(SP_STICKY_PREDICT_JSON, cases[i].text, cases[i].key);
}

/* A million levels, as a value that is skipped and as the one that is looked for. */
static void deep_lists_are_read_without_recursion(void **state)
{
	enum { DEPTH = 1000000 };
	static const char before[] = "{\"a\":", after[] = ",\"instances\":[{\"id\":";
	char *text = malloc(4 * DEPTH), *at = text;

	(void)state;
	assert_non_null(text);
	at = stpcpy(at, before);
	memset(at, '[', DEPTH);
	memset(at + DEPTH, ']', DEPTH);
	at = stpcpy(at + 2 * DEPTH, after);
	memset(at, '[', DEPTH);
	strcpy(at + DEPTH, "7");
	expect(SP_STICKY_PREDICT_JSON, text, "7");
	text[strlen(before)] = '{'; /* kinds of brackets are not compared */
	expect(SP_STICKY_PREDICT_JSON, text, "7");
	memset(text + strlen(before), '[', 3 * DEPTH);
	expect(SP_STICKY_PREDICT_JSON, text, NULL);
	free(text);
}

static void examples_have_a_key(void **state)
{
	static const struct {
		const char *text, *key;
	} cases[] = {
		{"{\"examples\":[{\"a\":[1],\"id\":[7,8]},{\"id\":9}]}", "7"},
		{"{\"context\":{\"id\":\"u7\"},\"examples\":[{\"a\":1}]}", "u7"},
		{"{\"context\":{\"id\":8},\"examples\":[{\"id\":7.0}]}", "7"},
		{"{\"examples\":[{\"a\":1},{\"id\":9}],\"context\":{\"id\":7}}", "7"},
		{"{\"context\":{\"id\":8},\"examples\":[{\"id\":[]}]}", NULL},
		{"{\"examples\":[{\"a\":1}]}", NULL},
		{"{\"examples\":[7]}", NULL},
		{"{\"examples\":{\"id\":7}}", NULL},
		{"[{\"id\":7}]", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(SP_STICKY_EXAMPLES_JSON, cases[i].text, cases[i].key);
}

#define INPUT(members) "{\"inputs\":[{\"name\":\"a\"},{\"name\":\"id\"," members "}]}"

static void inference_requests_have_a_key(void **state)
{
	static const struct {
		const char *text, *key;
	} cases[] = {
		{INPUT("\"shape\":[2],\"datatype\":\"INT64\",\"data\":[7,8]"), "7"},
		{INPUT("\"datatype\":\"BYTES\",\"data\":[[\"u7\"]],\"shape\":[1,1]"), "u7"},
		{"{\"id\":\"x\",\"inputs\":[{\"data\":[7],\"name\":\"id\"}]}", "7"},
		{INPUT("\"data\":[]"), NULL},
		{INPUT("\"shape\":[1]"), NULL},
		{INPUT("\"parameters\":{\"binary_data_size\":8}"), NULL},
		{"{\"inputs\":[{\"name\":\"a\",\"data\":[7]}]}", NULL},
		{"{\"inputs\":[7]}", NULL},
		{"{\"inputs\":{\"id\":7}}", NULL},
		{"{\"id\":7}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(SP_STICKY_V2_JSON, cases[i].text, cases[i].key);
}

#define BINARY(before, datatype, size)                                                      \
	"{\"inputs\":[{\"name\":\"a\",\"parameters\":{\"x\":1,\"binary_data_size\":" before \
	"}},{\"parameters\":{\"binary_data_size\":" size                                    \
	"},\"name\":\"id\",\"datatype\":\"" datatype "\"}]}"

static void binary_data_have_a_key(void **state)
{
	static const struct {
		const char *json, *key;
		sp_bytes data;
	} cases[] = {
		{BINARY("1", "INT64", "16"),
		 "7",
		 {"x\7\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0", 17}},
		{BINARY("0", "INT8", "1"), "-1", {"\xff", 1}},
		{BINARY("0", "UINT8", "1"), "255", {"\xff", 1}},
		{BINARY("0", "INT16", "2"), "-2", {"\xfe\xff", 2}},
		{BINARY("0", "UINT32", "4"), "4294967295", {"\xff\xff\xff\xff", 4}},
		{BINARY("0", "FP32", "4"), "7", {"\0\0\xe0\x40", 4}},
		{BINARY("0", "FP64", "8"), "7", {"\0\0\0\0\0\0\x1c\x40", 8}},
		{BINARY("0", "BOOL", "1"), "1", {"\1", 1}},
		{BINARY("2", "BYTES", "6"), "u7", {"xx\2\0\0\0u7", 8}},
		{BINARY("0", "INT64", "7"), NULL, {"\7\0\0\0\0\0\0", 7}},
		{BINARY("0", "INT64", "8"), NULL, {"\7\0\0\0\0\0\0", 7}},
		{BINARY("9", "INT64", "8"), NULL, {"\7\0\0\0\0\0\0\0", 8}},
		{BINARY("9223372036854775807", "INT64", "8"), NULL, {"\7\0\0\0\0\0\0\0", 8}},
		{BINARY("0", "BYTES", "3"), NULL, {"\2\0\0", 3}},
		{BINARY("0", "BYTES", "5"), NULL, {"\2\0\0\0u", 5}},
		{BINARY("0", "BYTES", "4"), NULL, {"\0\0\0\0", 4}},
		{BINARY("0", "FP16", "2"), NULL, {"\1\1", 2}},
		{BINARY("0", "NONE", "2"), NULL, {"\1\1", 2}},
		{BINARY("0", "INT8", "0"), NULL, {"\1", 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = strlen(cases[i].json);
		char body[512];

		memcpy(body, cases[i].json, size);
		memcpy(body + size, cases[i].data.data, cases[i].data.size);
		expect_bytes(SP_STICKY_V2_JSON, (sp_bytes){body, size + cases[i].data.size},
			     (int64_t)size, cases[i].key);
	}
	expect_bytes(SP_STICKY_V2_JSON, sp_bytes_of("\7"), 0, NULL);
	expect_bytes(SP_STICKY_V2_JSON, sp_bytes_of("{}"), 3, NULL);
	expect_bytes(SP_STICKY_V2_JSON, sp_bytes_of("{}"), INT64_MAX, NULL);
}

/* -------------------------------------------------------------------- messages */

/* A message with one entry of a map of inputs, which is field 2. */
static sp_buffer with_input(const char *name, sp_buffer *tensor)
{
	sp_buffer out = sp_wire_begin(), entry = sp_wire_begin();

	sp_wire_text(&entry, 1, name);
	sp_wire_message(&entry, 2, tensor);
	sp_wire_message(&out, 2, &entry);
	return out;
}

/* A vector of one or more elements; the caller adds the values. */
static sp_buffer tensor_of(int dtype, uint64_t size)
{
	sp_buffer out = sp_wire_begin(), shape = sp_wire_begin(), dim = sp_wire_begin();

	sp_wire_varint(&out, 1, (uint64_t)dtype);
	sp_wire_varint(&dim, 1, size);
	sp_wire_message(&shape, 2, &dim);
	sp_wire_message(&out, 2, &shape);
	return out;
}

static void tensor_messages_have_a_key(void **state)
{
	sp_buffer tensor = tensor_of(SERVING_PROCESSOR_INT64, 2), message, more;

	(void)state;
	sp_wire_varint(&tensor, 10, (uint64_t)-7);
	message = with_input("id", &tensor);
	tensor = tensor_of(SERVING_PROCESSOR_FLOAT, 1);
	sp_wire_float(&tensor, 5, 3);
	more = with_input("other", &tensor);
	sp_buffer_append(&message, more.data, more.size);
	sp_buffer_fini(&more);
	expect_message(SP_STICKY_PREDICT, &message, "-7");

	tensor = tensor_of(SERVING_PROCESSOR_STRING, 1);
	sp_wire_text(&tensor, 8, "u7");
	message = with_input("id", &tensor);
	expect_message(SP_STICKY_PREDICT, &message, "u7");

	tensor = tensor_of(SERVING_PROCESSOR_INT32, 1);
	sp_wire_bytes(&tensor, 4, (sp_bytes){"\7\0\0\0", 4});
	message = with_input("id", &tensor);
	expect_message(SP_STICKY_PREDICT, &message, "7");

	tensor = tensor_of(SERVING_PROCESSOR_FLOAT, 0);
	message = with_input("id", &tensor);
	expect_message(SP_STICKY_PREDICT, &message, NULL);
	tensor = tensor_of(SERVING_PROCESSOR_INT64, UINT64_C(1) << 62);
	message = with_input("id", &tensor);
	expect_message(SP_STICKY_PREDICT, &message, NULL);
	tensor = tensor_of(SERVING_PROCESSOR_INT64, 1);
	message = with_input("di", &tensor);
	expect_message(SP_STICKY_PREDICT, &message, NULL);
}

static sp_buffer infer_input(const char *name, const char *datatype, uint64_t size)
{
	sp_buffer out = sp_wire_begin();

	sp_wire_text(&out, 1, name);
	sp_wire_text(&out, 2, datatype);
	sp_wire_varint(&out, 3, size);
	return out;
}

static void infer_messages_have_a_key(void **state)
{
	sp_buffer message = sp_wire_begin(), input, contents = sp_wire_begin();

	(void)state;
	input = infer_input("a", "INT8", 1);
	sp_wire_message(&message, 5, &input);
	sp_wire_bytes(&message, 7, (sp_bytes){"\1", 1});
	input = infer_input("id", "INT64", 1);
	sp_wire_message(&message, 5, &input);
	sp_wire_bytes(&message, 7, (sp_bytes){"\7\0\0\0\0\0\0\0", 8});
	expect_message(SP_STICKY_V2, &message, "7");

	message = sp_wire_begin();
	input = infer_input("id", "BYTES", 1);
	sp_wire_text(&contents, 8, "u7");
	sp_wire_message(&input, 5, &contents);
	sp_wire_message(&message, 5, &input);
	expect_message(SP_STICKY_V2, &message, "u7");

	message = sp_wire_begin();
	input = infer_input("id", "INT64", 1);
	sp_wire_message(&message, 5, &input);
	sp_wire_bytes(&message, 7, (sp_bytes){"\7\0\0\0", 4});
	expect_message(SP_STICKY_V2, &message, NULL);
}

/* A tf.Example with one feature; the list has the number `kind`. */
static sp_buffer example_of(const char *name, uint32_t kind, sp_buffer *list)
{
	sp_buffer out = sp_wire_begin(), features = sp_wire_begin(), entry = sp_wire_begin();
	sp_buffer feature = sp_wire_begin();

	sp_wire_message(&feature, kind, list);
	sp_wire_text(&entry, 1, name);
	sp_wire_message(&entry, 2, &feature);
	sp_wire_message(&features, 1, &entry);
	sp_wire_message(&out, 1, &features);
	return out;
}

/* A request whose Input has examples and, in the second kind of list, a context. */
static sp_buffer with_examples(sp_buffer *example, sp_buffer *context)
{
	sp_buffer out = sp_wire_begin(), input = sp_wire_begin(), list = sp_wire_begin();

	sp_wire_message(&list, 1, example);
	if (context != NULL)
		sp_wire_message(&list, 2, context);
	sp_wire_message(&input, context != NULL ? 2 : 1, &list);
	sp_wire_message(&out, 2, &input);
	return out;
}

static void example_messages_have_a_key(void **state)
{
	sp_buffer list = sp_wire_begin(), example, context, message;

	(void)state;
	sp_wire_varint(&list, 1, 7);
	example = example_of("id", 3, &list);
	message = with_examples(&example, NULL);
	expect_message(SP_STICKY_EXAMPLES, &message, "7");

	list = sp_wire_begin();
	sp_wire_bytes(&list, 1, (sp_bytes){"\0\0\xe0\x40\0\0\0\0", 8}); /* packed floats */
	example = example_of("id", 2, &list);
	list = sp_wire_begin();
	sp_wire_text(&list, 1, "u8");
	context = example_of("id", 1, &list);
	message = with_examples(&example, &context);
	expect_message(SP_STICKY_EXAMPLES, &message, "7");

	list = sp_wire_begin();
	sp_wire_bytes(&list, 1, (sp_bytes){"\7", 1});
	example = example_of("other", 3, &list);
	list = sp_wire_begin();
	sp_wire_text(&list, 1, "u8");
	context = example_of("id", 1, &list);
	message = with_examples(&example, &context);
	expect_message(SP_STICKY_EXAMPLES, &message, "u8");

	list = sp_wire_begin();
	sp_wire_bytes(&list, 1, (sp_bytes){"\xff", 1}); /* a number that does not end */
	example = example_of("id", 3, &list);
	message = with_examples(&example, NULL);
	expect_message(SP_STICKY_EXAMPLES, &message, NULL);
}

static void deeprec_messages_have_a_key(void **state)
{
	static const struct {
		int dtype;
		char size; /* of the only dimension; 0: a scalar */
		uint32_t field;
		sp_bytes packed;
		const char *key;
	} cases[] = {
		{SERVING_PROCESSOR_INT64, 2, 7, {"\7\1", 2}, "7"},
		{SERVING_PROCESSOR_INT32,
		 0,
		 5,
		 {"\xf9\xff\xff\xff\xff\xff\xff\xff\xff\1", 10},
		 "-7"},
		{SERVING_PROCESSOR_UINT8, 0, 5, {"\xff\3", 2}, "255"},
		{SERVING_PROCESSOR_STRING, 0, 6, {"u7", 2}, "u7"},
		{SERVING_PROCESSOR_FLOAT, 0, 3, {"\0\0\xe0\x40", 4}, "7"},
		{SERVING_PROCESSOR_DOUBLE, 0, 4, {"\0\0\0\0\0\0\x1c\x40", 8}, "7"},
		{SERVING_PROCESSOR_BOOL, 0, 8, {"\1", 1}, "1"},
		{SERVING_PROCESSOR_HALF, 0, 3, {"\0\0\xe0\x40", 4}, NULL},
		{SERVING_PROCESSOR_INT64, 0, 5, {"\7", 1}, NULL},
		{SERVING_PROCESSOR_INT64, 0, 7, {"\xff", 1}, NULL},
		{SERVING_PROCESSOR_FLOAT, 0, 3, {"\0\0\xe0", 3}, NULL},
		{SERVING_PROCESSOR_INT64, 3, 7, {"\7\1", 2}, NULL},
		{0, 0, 7, {"\7", 1}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char dims[] = {1 << 3 | 2, 1, cases[i].size};
		sp_buffer tensor = sp_wire_begin(), message;

		sp_wire_bytes(&tensor, cases[i].field, cases[i].packed);
		if (cases[i].size != 0)
			sp_wire_bytes(&tensor, 2, (sp_bytes){dims, sizeof(dims)});
		sp_wire_varint(&tensor, 1, (uint64_t)cases[i].dtype);
		message = with_input("id", &tensor);
		expect_message(SP_STICKY_EAS, &message, cases[i].key);
	}
}

/* Each beginning of a message, and the message with each byte replaced by another. */
static void damaged_messages_are_read_within_their_bytes(void **state)
{
	sp_buffer list = sp_wire_begin(), example, messages[2], tensor;

	(void)state;
	sp_wire_varint(&list, 1, 7);
	example = example_of("id", 3, &list);
	messages[0] = with_examples(&example, NULL);
	tensor = tensor_of(SERVING_PROCESSOR_INT64, 2);
	sp_wire_varint(&tensor, 10, 300);
	messages[1] = with_input("id", &tensor);
	for (size_t m = 0; m < 2; m++) {
		sp_buffer *message = &messages[m];

		for (int form = SP_STICKY_PREDICT_JSON; form <= SP_STICKY_EAS; form++)
			for (size_t i = 0; i < 2 * message->size; i++) {
				size_t at = i / 2, size = i % 2 == 0 ? at : message->size;
				char *copy = malloc(size + 1);
				sp_sticky_body body = {
					(sp_sticky_form)form, {copy, size}, -1, arena, ""};

				assert_non_null(copy);
				memcpy(copy, message->data, size);
				copy[size] = '\0';
				if (i % 2 != 0)
					copy[at] = (char)(copy[at] ^ 0x81);
				(void)sp_sticky_find(&body, "id");
				free(copy);
			}
		sp_buffer_fini(message);
	}
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(rows_and_columns_have_a_key),
		CASE(deep_lists_are_read_without_recursion),
		CASE(examples_have_a_key),
		CASE(inference_requests_have_a_key),
		CASE(binary_data_have_a_key),
		CASE(tensor_messages_have_a_key),
		CASE(infer_messages_have_a_key),
		CASE(example_messages_have_a_key),
		CASE(deeprec_messages_have_a_key),
		CASE(damaged_messages_are_read_within_their_bytes),
	};
#undef CASE

	return cmocka_run_group_tests_name("sticky", tests, NULL, NULL);
}
