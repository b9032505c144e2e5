#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/predict/json_examples.h"

static sp_json_examples *examples;

static int setup(void **state)
{
	(void)state;
	examples = sp_json_examples_create(NULL);
	return examples == NULL;
}

static int teardown(void **state)
{
	(void)state;
	sp_json_examples_destroy(examples);
	return 0;
}

static const serving_processor_example_feature features[] = {
	{{"f", 1}, SERVING_PROCESSOR_FLOAT, SERVING_PROCESSOR_DENSE},
	{{"i", 1}, SERVING_PROCESSOR_INT64, SERVING_PROCESSOR_SPARSE},
	{{"is", 2}, SERVING_PROCESSOR_INT64, SERVING_PROCESSOR_SPARSE},
	{{"s", 1}, SERVING_PROCESSOR_STRING, SERVING_PROCESSOR_RAGGED},
};
static const sp_known_features known = {features, 4};
static sp_bytes signature_name;

static sp_status parse(sp_examples *out, sp_json_examples *by, const char *body, sp_error *err)
{
	SP_TRY(sp_json_examples_begin(&signature_name, by, sp_bytes_of(body), err));
	return sp_json_examples_read(out, by, &known, err);
}

/* The only example of the body, as TensorFlow's tf.train.Example serializes it. */
static void expect(const char *body, const char *bytes, size_t size)
{
	sp_examples out;
	sp_error err;

	assert_ok(parse(&out, examples, body, &err), &err);
	assert_int_equal(out.count, 1);
	assert_int_equal(out.items[0].size, size);
	assert_memory_equal(out.items[0].data, bytes, size);
}

#define EXPECT(body, bytes) expect(body, bytes, sizeof(bytes) - 1)

static void features_are_those_of_tensorflow(void **state)
{
	(void)state;
	EXPECT("{\"examples\":[{\"x\":[80.0,-1.5]}]}",
	       "\x0a\x13\x0a\x11\x0a\x01\x78\x12\x0c\x12\x0a\x0a\x08\x00\x00\xa0\x42\x00\x00\xc0"
	       "\xbf");
	EXPECT("{\"examples\":[{\"age\":[true,-1,300]}]}",
	       "\x0a\x1a\x0a\x18\x0a\x03\x61\x67\x65\x12\x11\x1a\x0f\x0a\x0d\x01\xff\xff\xff\xff"
	       "\xff\xff\xff\xff\xff\x01\xac\x02");
	EXPECT("{\"examples\":[{\"name\":[\"ab\",{\"b64\":\"/wA=\"}]}]}",
	       "\x0a\x14\x0a\x12\x0a\x04\x6e\x61\x6d\x65\x12\x0a\x0a\x08\x0a\x02\x61\x62\x0a\x02"
	       "\xff"
	       "\x00");
	EXPECT("{\"examples\":[{\"e\":[]}]}", "\x0a\x07\x0a\x05\x0a\x01\x65\x12\x00");
}

static void the_context_comes_before_each_example(void **state)
{
	sp_examples out;
	sp_error err;

	(void)state;
	assert_ok(parse(&out, examples,
			"{\"examples\":[{},{\"x\":1}],\"other\":[[]],"
			"\"context\":{\"c\":2},"
			"\"signature_name\":\"s\"}",
			&err),
		  &err);
	assert_int_equal(out.count, 2);
	assert_true(sp_bytes_equal_text(signature_name, "s"));
	assert_int_equal(out.items[0].size, 14);
	assert_memory_equal(out.items[0].data,
			    "\x0a\x0c\x0a\x0a\x0a\x01\x63\x12\x05\x1a\x03\x0a\x01\x02", 14);
	assert_int_equal(out.items[1].size, 26);
	assert_memory_equal(out.items[1].data + 2, out.items[0].data + 2, 12);
}

/* What the value alone would say is another list. */
static void known_features_have_the_lists_of_the_parser(void **state)
{
	(void)state;
	EXPECT("{\"examples\":[{\"f\":[80,-1.5]}]}",
	       "\x0a\x13\x0a\x11\x0a\x01\x66\x12\x0c\x12\x0a\x0a\x08\x00\x00\xa0\x42\x00\x00\xc0"
	       "\xbf");
	EXPECT("{\"context\":{\"f\":80},\"examples\":[{}]}",
	       "\x0a\x0f\x0a\x0d\x0a\x01\x66\x12\x08\x12\x06\x0a\x04\x00\x00\xa0\x42");
	EXPECT("{\"examples\":[{\"is\":[true,-1.0,3e2,300]}]}",
	       "\x0a\x1b\x0a\x19\x0a\x02is\x12\x13\x1a\x11\x0a\x0f\x01\xff\xff\xff\xff"
	       "\xff\xff\xff\xff\xff\x01\xac\x02\xac\x02");
	EXPECT("{\"examples\":[{\"i\":[0.00,-0e99,922337203685477580.0]}]}",
	       "\x0a\x16\x0a\x14\x0a\x01i\x12\x0f\x1a\x0d\x0a\x0b\x00\x00\xcc\x99\xb3\xe6\xcc\x99"
	       "\xb3\xe6\x0c");
	EXPECT("{\"examples\":[{\"s\":[\"ab\",{\"b64\":\"/wA=\"}]}]}",
	       "\x0a\x11\x0a\x0f\x0a\x01s\x12\x0a\x0a\x08\x0a\x02\x61\x62\x0a\x02\xff\x00");
	EXPECT("{\"examples\":[{\"f\":[]}]}", "\x0a\x07\x0a\x05\x0a\x01\x66\x12\x00");
}

static void what_is_wrong_is_told(void **state)
{
	static const struct {
		const char *body;
		sp_status status;
		const char *text;
	} cases[] = {
		{"", SP_CORRUPT, "The document is empty"},
		{"[]", SP_INVALID, "Is not object"},
		{"{}", SP_INVALID, "'examples' is expected"},
		{"{\"examples\":1}", SP_INVALID, "to be an list/array"},
		{"{\"examples\":[]}", SP_INVALID, "empty array"},
		{"{\"examples\":[1]}", SP_INVALID,
		 "Example must be JSON object but got JSON Number"},
		{"{\"examples\":[{\"a\":null}]}", SP_INVALID, "unexpected JSON type: Null"},
		{"{\"examples\":[{\"a\":{\"b\":1}}]}", SP_INVALID, "unexpected JSON type: Object"},
		{"{\"examples\":[{\"a\":[[1]]}]}", SP_INVALID, "unexpected JSON type: Array"},
		{"{\"examples\":[{\"a\":[10,10.0]}]}", SP_INVALID,
		 "feature: a expecting type: int64"},
		{"{\"examples\":[{\"a\":[\"x\",1]}]}", SP_INVALID, "expecting type: string"},
		{"{\"examples\":[{\"a\":18446744073709551615}]}", SP_INVALID,
		 "Only int64_t is supported"},
		{"{\"examples\":[{\"a\":1e39}]}", SP_INVALID, "beyond float"},
		{"{\"examples\":[{\"f\":1e39}]}", SP_INVALID, "feature: f has a number beyond"},
		{"{\"examples\":[{\"f\":\"1\"}]}", SP_INVALID, "feature: f expecting type: float"},
		{"{\"examples\":[{\"f\":true}]}", SP_INVALID, "feature: f expecting type: float"},
		{"{\"examples\":[{\"i\":0.5}]}", SP_INVALID,
		 "feature: i expecting type: int64, but got a number that is not whole"},
		{"{\"examples\":[{\"i\":1e-99}]}", SP_INVALID, "feature: i expecting type: int64"},
		{"{\"examples\":[{\"i\":1e99}]}", SP_INVALID, "feature: i expecting type: int64"},
		{"{\"examples\":[{\"i\":NaN}]}", SP_INVALID, "feature: i expecting type: int64"},
		{"{\"examples\":[{\"i\":922337203685477581e1}]}", SP_INVALID,
		 "Only int64_t is supported"},
		{"{\"examples\":[{\"i\":\"1\"}]}", SP_INVALID, "feature: i expecting type: int64"},
		{"{\"examples\":[{\"s\":1}]}", SP_INVALID, "feature: s expecting type: string"},
		{"{\"examples\":[{\"s\":null}]}", SP_INVALID, "unexpected JSON type: Null"},
		{"{\"examples\":[{\"a\":{\"b64\":\"!\"}}]}", SP_INVALID, "Unable to base64 decode"},
		{"{\"examples\":[{}],\"signature_name\":1}", SP_INVALID, "must be a string value"},
		{"{\"examples\":[{}],\"examples\":[{}]}", SP_INVALID, "'examples' occurs twice"},
		{"{\"examples\":[{\"a\":}]}", SP_CORRUPT, "JSON Parse error"},
		{"{\"examples\":[{\"a\":1}", SP_CORRUPT, "JSON Parse error"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_examples out;
		sp_error err;

		assert_int_equal(parse(&out, examples, cases[i].body, &err), cases[i].status);
		if (strstr(err.text, cases[i].text) == NULL)
			fail_msg("%s: %s", cases[i].body, err.text);
	}
}

static void memory_is_bounded(void **state)
{
	static const char body[] = "{\"examples\":[{\"a\":\"0123456789\"}]}";
	sp_json_examples *bounded;
	sp_budget budget;
	sp_examples out;
	sp_error err;

	(void)state;
	sp_budget_init(&budget, 64 << 10);
	bounded = sp_json_examples_create(&budget);
	assert_ok(parse(&out, bounded, body, &err), &err);
	sp_json_examples_trim(bounded);
	sp_json_examples_destroy(bounded);
	assert_int_equal(sp_budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_those_of_tensorflow),
		cmocka_unit_test(known_features_have_the_lists_of_the_parser),
		cmocka_unit_test(the_context_comes_before_each_example),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
