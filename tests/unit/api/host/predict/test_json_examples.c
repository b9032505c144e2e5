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

/* The only example of the body, as TensorFlow's tf.train.Example serializes it. */
static void expect(const char *body, const char *bytes, size_t size)
{
	sp_examples out;
	sp_error err;

	assert_ok(sp_json_examples_parse(&out, examples, sp_bytes_of(body), &err), &err);
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
	assert_ok(sp_json_examples_parse(&out, examples,
					 sp_bytes_of("{\"examples\":[{},{\"x\":1}],\"other\":[[]],"
						     "\"context\":{\"c\":2},"
						     "\"signature_name\":\"s\"}"),
					 &err),
		  &err);
	assert_int_equal(out.count, 2);
	assert_true(sp_bytes_equal_text(out.signature_name, "s"));
	assert_int_equal(out.items[0].size, 14);
	assert_memory_equal(out.items[0].data,
			    "\x0a\x0c\x0a\x0a\x0a\x01\x63\x12\x05\x1a\x03\x0a\x01\x02", 14);
	assert_int_equal(out.items[1].size, 26);
	assert_memory_equal(out.items[1].data + 2, out.items[0].data + 2, 12);
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

		assert_int_equal(
			sp_json_examples_parse(&out, examples, sp_bytes_of(cases[i].body), &err),
			cases[i].status);
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
	assert_ok(sp_json_examples_parse(&out, bounded, sp_bytes_of(body), &err), &err);
	sp_json_examples_trim(bounded);
	sp_json_examples_destroy(bounded);
	assert_int_equal(sp_budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(features_are_those_of_tensorflow),
		cmocka_unit_test(the_context_comes_before_each_example),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
