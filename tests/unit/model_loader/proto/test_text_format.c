#include "tests/support/cmocka.h"

#include <math.h>
#include <string.h>

#include "model_loader/proto/graph.pb-c.h"
#include "model_loader/proto/unpack.h"
#include "model_loader/proto/object_graph.pb-c.h"
#include "model_loader/proto/saved_model.pb-c.h"
#include "model_loader/proto/text_format.h"

/* Expected values: what google.protobuf.text_format reads from the same text. */

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

static const void *read(void **state, const ProtobufCMessageDescriptor *type, const char *text)
{
	ProtobufCMessage *message;
	sp_buffer bytes;
	sp_error err;

	assert_ok(sp_text_format_encode(&bytes, type, sp_bytes_of(text), &err), &err);
	assert_ok(
		sp_message_unpack(&message, type, (sp_bytes){bytes.data, bytes.size}, *state, &err),
		&err);
	sp_buffer_fini(&bytes);
	return message;
}

static const SpPb__NodeDef *read_node(void **state, const char *text)
{
	return read(state, &sp_pb__node_def__descriptor, text);
}

static const SpPb__TensorProto *read_tensor(void **state, const char *text)
{
	return read(state, &sp_pb__tensor_proto__descriptor, text);
}

static void assert_bytes(const ProtobufCBinaryData *got, const char *want, size_t size)
{
	assert_int_equal(got->len, size);
	assert_memory_equal(got->data, want, size);
}

#define ASSERT_TEXT(got, want) assert_bytes(&(got), want, sizeof(want) - 1)

static void texts_may_have_escapes_and_parts(void **state)
{
	const SpPb__NodeDef *node = read_node(
		state,
		"name: \"a\\n\\t\\\\\\\"\\'\\0\\101\\x4a\\x7\\377\" op: 'it\"s' \"_\" 'two'\n"
		"input: \"\" input: \"\\u00e9\\u20ac\\U0001f600\\u0041\" input: \"\\?\\a\\v\"");

	ASSERT_TEXT(node->name, "a\n\t\\\"'\0AJ\x07\xff");
	ASSERT_TEXT(node->op, "it\"s_two");
	assert_int_equal(node->n_input, 3);
	ASSERT_TEXT(node->input[0], "");
	ASSERT_TEXT(node->input[1], "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"
				    "A");
	ASSERT_TEXT(node->input[2], "?\a\v");
}

static void marks_between_fields_are_free(void **state)
{
	const SpPb__NodeDef *node = read_node(
		state,
		"# a comment\n name:\"n\", op : \"o\"; input: [\"a\", 'b']input:\"c\" # end\n"
		"attr <key: \"T\" value: {type: DT_INT64}>\r\n attr { key: \"l\" value { list "
		"{ i: [1, 2] i: 3 type: DT_FLOAT_REF b: true b: false } } }#");

	ASSERT_TEXT(node->name, "n");
	ASSERT_TEXT(node->op, "o");
	assert_int_equal(node->n_input, 3);
	ASSERT_TEXT(node->input[1], "b");
	assert_int_equal(node->n_attr, 2);
	assert_int_equal(node->attr[0]->value->type, 9);
	assert_int_equal(node->attr[1]->value->list->n_i, 3);
	assert_int_equal(node->attr[1]->value->list->i[2], 3);
	assert_int_equal(node->attr[1]->value->list->type[0], 101);
	assert_true(node->attr[1]->value->list->b[0]);
	assert_false(node->attr[1]->value->list->b[1]);
}

static void numbers_are_read_in_every_form(void **state)
{
	const SpPb__TensorProto *t = read_tensor(
		state, "dtype: DT_COMPLEX128 int64_val: -9223372036854775808 int64_val: 0x7f "
		       "int64_val: 017 "
		       "int64_val: - 5 uint64_val: 18446744073709551615 int_val: -1 float_val: 0.1 "
		       "float_val: "
		       "-1.5e-05 float_val: 2f float_val: inf float_val: -infinity float_val: nan "
		       "float_val: "
		       "1e+20 double_val: 0.1 double_val: 3 double_val: 1E-300");

	assert_int_equal(t->dtype, 18);
	assert_int_equal(t->n_int64_val, 4);
	assert_true(t->int64_val[0] == INT64_MIN);
	assert_int_equal(t->int64_val[1], 127);
	assert_int_equal(t->int64_val[2], 15);
	assert_int_equal(t->int64_val[3], -5);
	assert_true(t->uint64_val[0] == UINT64_MAX);
	assert_int_equal(t->int_val[0], -1);
	assert_int_equal(t->n_float_val, 7);
	assert_true(t->float_val[0] == 0.1F);
	assert_true(t->float_val[1] == -1.5e-05F);
	assert_true(t->float_val[2] == 2.0F);
	assert_true(isinf(t->float_val[3]) && t->float_val[3] > 0);
	assert_true(isinf(t->float_val[4]) && t->float_val[4] < 0);
	assert_true(isnan(t->float_val[5]));
	assert_true(t->float_val[6] == 1e20F);
	assert_true(t->double_val[0] == 0.1);
	assert_true(t->double_val[1] == 3.0);
	assert_true(t->double_val[2] == 1e-300);
}

static void unknown_fields_are_passed_over(void **state)
{
	const SpPb__NodeDef *node = read_node(
		state,
		"device: \"/cpu:\" \"0\" colour: RED size: -3.5 list: [1, {a: [2]}] deep { a < "
		"b: \"}\" > } empty {} [ext.name/x] { y: 1 } [other]: 3 name: \"n\"");

	ASSERT_TEXT(node->name, "n");
	assert_int_equal(node->n_attr, 0);
}

static void an_any_may_be_spelled_out(void **state)
{
	const SpPb__CollectionDef__AnyList *list = read(
		state, &sp_pb__collection_def__any_list__descriptor,
		"value { [type.googleapis.com/tensorflow.AssetFileDef] { tensor_info { name: "
		"\"c:0\" } filename: \"f\" } } value { type_url: \"u\" value: \"v\" } value { "
		"[type.googleapis.com/tensorflow.Other] { filename: \"g\" } }");

	assert_int_equal(list->n_value, 3);
	ASSERT_TEXT(list->value[0]->type_url, "type.googleapis.com/tensorflow.AssetFileDef");
	assert_bytes(&list->value[0]->value,
		     "\x0a\x89\x80\x80\x80\x00\x0a\x83\x80\x80\x80\x00"
		     "c:0\x12\x81\x80\x80\x80\x00"
		     "f",
		     22);
	ASSERT_TEXT(list->value[1]->value, "v");
	ASSERT_TEXT(list->value[2]->value, "");
}

static void an_object_graph_becomes_bytes(void **state)
{
	const SpPb__MetaGraphDef *meta = read(
		state, &sp_pb__meta_graph_def__descriptor,
		"object_graph_def { nodes { children { node_id: 7 local_name: \"w\" } variable { "
		"dtype: DT_FLOAT } } concrete_functions { key: \"f\" value { bound_inputs: 1 } } "
		"}");
	const SpPb__SavedObjectGraph *graph;
	ProtobufCMessage *message;
	sp_error err;

	assert_ok(sp_message_unpack(&message, &sp_pb__saved_object_graph__descriptor,
				    sp_message_bytes(&meta->object_graph_def), *state, &err),
		  &err);
	graph = (const SpPb__SavedObjectGraph *)message;
	assert_int_equal(graph->nodes[0]->children[0]->node_id, 7);
	ASSERT_TEXT(graph->nodes[0]->children[0]->local_name, "w");
	assert_int_equal(graph->concrete_functions[0]->value->bound_inputs[0], 1);
}

static void an_empty_text_is_an_empty_message(void **state)
{
	assert_int_equal(read_node(state, "")->n_input, 0);
	assert_int_equal(read_node(state, " # nothing")->n_input, 0);
}

static void what_is_no_message_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *words;
	} wrong[] = {
		{"name: \"n", "line 1: a text has no end"},
		{"name: \"n\n\"", "line 1: a text has no end"},
		{"name: \"n\\\"", "line 1: a text has no end"},
		{"\n\nname \"n\"", "line 3: a value is missing"},
		{"name: 5", "a text is missing"},
		{"name: \"\\q\"", "an invalid escape sequence"},
		{"name: \"\\x\"", "an invalid escape sequence"},
		{"name: \"\\U00110000\"", "an invalid escape sequence"},
		{"attr: 3", "a message is missing"},
		{"attr { key: \"k\"", "a message has no end"},
		{"attr { key: \"k\" >", "a message has no end"},
		{"}", "a message ends that did not begin"},
		{"\"name\"", "a field is missing"},
		{"input: [\"a\" \"b\" 3", "a list has no end"},
		{"attr { value { type: DT_NONE } }",
		 "no number and no type that we know at 'DT_NONE'"},
		{"attr { value { i: 18446744073709551616 } }", "no number"},
		{"attr { value { i: 08 } }", "no number"},
		{"attr { value { i: } }", "a number is missing"},
		{"attr { value { f: 1.5x } }", "no number"},
		{"attr { value { f: \"1\" } }", "a number is missing"},
		{"what: }", "a value is missing"},
		{"what {", "a value is missing"},
		{"what: [1, 2", "a value is missing"},
		{"[x", "a value is missing"},
		{"object_graph_def: 3 name", "a value is missing"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer bytes;
		sp_error err;

		assert_int_equal(sp_text_format_encode(&bytes, &sp_pb__node_def__descriptor,
						       sp_bytes_of(wrong[i].text), &err),
				 SP_CORRUPT);
		if (strstr(err.text, wrong[i].words) == NULL)
			fail_msg("'%s': %s", wrong[i].text, err.text);
		sp_buffer_fini(&bytes);
	}
}

static void braces_nest_only_so_deep(void **state)
{
	static char text[2 * 100000];
	sp_buffer bytes;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "a{", 2);
	assert_int_equal(sp_text_format_encode(&bytes, &sp_pb__node_def__descriptor,
					       (sp_bytes){text, sizeof(text)}, &err),
			 SP_CORRUPT);
	assert_non_null(strstr(err.text, "too deep"));
	sp_buffer_fini(&bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(texts_may_have_escapes_and_parts),
		TEST(marks_between_fields_are_free),
		TEST(numbers_are_read_in_every_form),
		TEST(unknown_fields_are_passed_over),
		TEST(an_any_may_be_spelled_out),
		TEST(an_object_graph_becomes_bytes),
		TEST(an_empty_text_is_an_empty_message),
		TEST(what_is_no_message_is_refused_with_its_line),
		TEST(braces_nest_only_so_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
