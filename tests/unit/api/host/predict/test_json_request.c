#include "tests/support/cmocka.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/predict/json_request.h"
#include "base/alloc.h"

/* ---------------------------------------------------- a signature of a test */

enum { MAX_INPUTS = 16 };

typedef struct fixture {
	serving_processor_tensor_info infos[MAX_INPUTS];
	const serving_processor_tensor_info *inputs[MAX_INPUTS];
	sp_host_signature signatures[2];
	sp_host_signatures set;
	sp_json_request *request;
	sp_error err;
} fixture;

/* "x" float, the only input, unless a test says otherwise. */
static int setup(void **state)
{
	fixture *f = calloc(1, sizeof(*f));

	f->request = sp_json_request_create(NULL);
	f->infos[0] = (serving_processor_tensor_info){.alias = "x",
						      .dtype = SERVING_PROCESSOR_FLOAT};
	for (size_t i = 0; i < MAX_INPUTS; i++)
		f->inputs[i] = &f->infos[i];
	f->signatures[0] = (sp_host_signature){
		.name = "serving_default", .inputs = f->inputs, .input_count = 1};
	f->signatures[1] = (sp_host_signature){
		.name = "whole", .inputs = &f->inputs[MAX_INPUTS - 1], .input_count = 1};
	f->infos[MAX_INPUTS - 1] = (serving_processor_tensor_info){
		.alias = "n", .dtype = SERVING_PROCESSOR_INT64};
	f->set = (sp_host_signatures){f->signatures, 2, &f->signatures[0]};
	*state = f;
	return f->request == NULL;
}

static int teardown(void **state)
{
	fixture *f = *state;

	sp_json_request_destroy(f->request);
	free(f);
	return 0;
}

static void set_inputs(fixture *f, size_t count, const char *const *aliases, const int *dtypes)
{
	for (size_t i = 0; i < count; i++) {
		f->infos[i].alias = aliases[i];
		f->infos[i].dtype = dtypes[i];
	}
	f->signatures[0].input_count = count;
}

static void set_dtype(fixture *f, int dtype)
{
	f->infos[0].dtype = dtype;
}

/* The text in a block of its own size, so that a memory checker sees its end. */
static sp_status parse(fixture *f, const char *text)
{
	static char *copy;
	size_t size = strlen(text);

	copy = realloc(copy, size + 1);
	memcpy(copy, text, size + 1);
	return sp_json_request_parse(f->request, &f->set, (sp_bytes){copy, size}, &f->err);
}

static const serving_processor_tensor *parse_ok(fixture *f, const char *text)
{
	assert_ok(parse(f, text), &f->err);
	return sp_json_request_parsed(f->request)->tensors;
}

static void expect_error(fixture *f, const char *text, sp_status status, const char *words)
{
	sp_status got = parse(f, text);

	if (got != status || strstr(f->err.text, words) == NULL)
		fail_msg("%.200s\ngives %s: %s\nnot %s: %s", text, sp_status_name(got),
			 got == SP_OK ? "" : f->err.text, sp_status_name(status), words);
}

static void print_value(char *out, size_t size, const serving_processor_tensor *t, size_t i)
{
	const serving_processor_bytes *text = t->data;

	switch (t->dtype) {
	case SERVING_PROCESSOR_FLOAT:
		snprintf(out, size, "%.9g", (double)((const float *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_DOUBLE:
		snprintf(out, size, "%.17g", ((const double *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_INT32:
		snprintf(out, size, "%" PRId32, ((const int32_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_INT64:
		snprintf(out, size, "%" PRId64, ((const int64_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_UINT64:
		snprintf(out, size, "%" PRIu64, ((const uint64_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_UINT32:
		snprintf(out, size, "%" PRIu32, ((const uint32_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_INT16:
		snprintf(out, size, "%d", ((const int16_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_UINT16:
		snprintf(out, size, "%d", ((const uint16_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_INT8:
		snprintf(out, size, "%d", ((const int8_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_UINT8:
	case SERVING_PROCESSOR_BOOL:
		snprintf(out, size, "%d", ((const uint8_t *)t->data)[i]);
		break;
	case SERVING_PROCESSOR_STRING:
		snprintf(out, size, "%.*s", (int)text[i].size, text[i].data);
		break;
	default:
		fail();
	}
}

/* "[3,2] 1 2 3 4 5 6": the shape, then the values. */
static void expect_tensor(const serving_processor_tensor *t, const char *want)
{
	char got[2000] = "[", value[400];

	for (int i = 0; i < t->rank; i++)
		snprintf(got + strlen(got), 32, "%s%" PRId64, i == 0 ? "" : ",", t->dims[i]);
	strcat(got, "]");
	for (size_t i = 0; i < t->count; i++) {
		print_value(value, sizeof(value), t, i);
		snprintf(got + strlen(got), sizeof(got) - strlen(got), " %s", value);
	}
	assert_string_equal(got, want);
}

/* ------------------------------------------------------------------ shapes */

static void rows_become_a_batch(void **state)
{
	fixture *f = *state;

	set_dtype(f, SERVING_PROCESSOR_INT32);
	expect_tensor(parse_ok(f, "{\"instances\": [[1,2],[3,4],[5,6]]}"), "[3,2] 1 2 3 4 5 6");
	assert_true(sp_json_request_parsed(f->request)->row);
	expect_tensor(parse_ok(f, "{\"instances\": [1, 2]}"), "[2] 1 2");
	expect_tensor(parse_ok(f, "{\"instances\": [7]}"), "[1] 7");
	expect_tensor(parse_ok(f, "{\"instances\": [{\"x\":[[1],[2]]}]}"), "[1,2,1] 1 2");
	expect_tensor(parse_ok(f, "{\"instances\": [[],[]]}"), "[2,0]");
	expect_tensor(parse_ok(f, "{\"instances\": [[[],[]]]}"), "[1,2,0]");
}

static void columns_keep_their_shape(void **state)
{
	fixture *f = *state;

	set_dtype(f, SERVING_PROCESSOR_INT64);
	expect_tensor(parse_ok(f, "{\"inputs\": [[1,2],[3,4]]}"), "[2,2] 1 2 3 4");
	assert_false(sp_json_request_parsed(f->request)->row);
	expect_tensor(parse_ok(f, "{\"inputs\": {\"x\": [[1,2],[3,4]]}}"), "[2,2] 1 2 3 4");
	expect_tensor(parse_ok(f, "{\"inputs\": 5}"), "[] 5");
	expect_tensor(parse_ok(f, "{\"inputs\": []}"), "[0]");
	expect_tensor(parse_ok(f, "{\"inputs\": {\"y\": {\"z\": [[]]}, \"x\": 5}}"), "[] 5");
}

static void several_inputs_are_keyed_by_name(void **state)
{
	static const char *const names[] = {"a", "bb", "c", "d"};
	static const int dtypes[] = {SERVING_PROCESSOR_FLOAT, SERVING_PROCESSOR_STRING,
				     SERVING_PROCESSOR_INT64, SERVING_PROCESSOR_DOUBLE};
	fixture *f = *state;
	const serving_processor_tensor *t;

	set_inputs(f, 4, names, dtypes);
	t = parse_ok(f, "{\"instances\": ["
			"{\"a\":[1,NaN],\"bb\":\"u\",\"c\":9007199254740993,\"d\":[Infinity]},"
			"{\"d\":[-Infinity],\"c\":-1,\"bb\":{\"b64\":\"dg==\"},\"a\":[2.5,3]}]}");
	expect_tensor(&t[0], "[2,2] 1 nan 2.5 3");
	expect_tensor(&t[1], "[2] u v");
	expect_tensor(&t[2], "[2] 9007199254740993 -1");
	expect_tensor(&t[3], "[2,1] inf -inf");
	assert_string_equal(t[1].name, "bb");

	t = parse_ok(f, "{\"inputs\": {\"d\":0.1,\"more\":[1,\"x\"],\"bb\":[\"u\"],"
			"\"c\":[[1],[2]],\"a\":[]}}");
	expect_tensor(&t[0], "[0]");
	expect_tensor(&t[1], "[1] u");
	expect_tensor(&t[2], "[2,1] 1 2");
	expect_tensor(&t[3], "[] 0.10000000000000001");
}

static void keys_in_escapes_are_the_same_keys(void **state)
{
	fixture *f = *state;

	expect_tensor(parse_ok(f, "{\"\\u0069nputs\": {\"\\u0078\": 1}}"), "[] 1");
	expect_error(f, "{\"inputs\": {\"x\\u0000\": 1}}", SP_INVALID, "Missing named input: x");
}

static void shapes_that_disagree_are_refused(void **state)
{
	fixture *f = *state;

	set_dtype(f, SERVING_PROCESSOR_INT32);
	expect_error(f, "{\"instances\": [[1,2],[3,4],[5,6,7]]}", SP_INVALID,
		     "Failed to process element: 2 of 'instances' list. Error: "
		     "Expecting tensor size: 2 but got: 3");
	expect_error(f, "{\"instances\": [[1,2],[3,4],[[5,6]]]}", SP_INVALID,
		     "Expecting shape [2] but got: [1,2]");
	expect_error(f, "{\"instances\": [1,[1]]}", SP_INVALID, "Expecting shape [] but got: [1]");
	expect_error(f, "{\"instances\": [[[1],[2,3]]]}", SP_INVALID,
		     "Encountered list at unexpected size: 2");
	expect_error(f, "{\"instances\": [[1,[2]]]}", SP_INVALID,
		     "Encountered list at unexpected level: 1");
	expect_error(f, "{\"instances\": [[[2],1]]}", SP_INVALID, "found at incorrect level: 2");
	expect_error(f, "{\"inputs\": [[], [1]]}", SP_INVALID,
		     "Encountered list at unexpected size: 1");
	expect_error(f, "{\"inputs\": [[], [[]]]}", SP_INVALID,
		     "Encountered list at unexpected level: 2");
	expect_error(f, "{\"inputs\": [1, [2]]}", SP_INVALID, "unexpected level: 1");
}

static void inputs_whose_rows_disagree_are_refused(void **state)
{
	static const char *const names[] = {"a", "b"};
	static const int dtypes[] = {SERVING_PROCESSOR_INT32, SERVING_PROCESSOR_INT32};
	fixture *f = *state;

	set_inputs(f, 2, names, dtypes);
	expect_error(f, "{\"instances\": [{\"a\":[1],\"b\":2},{\"a\":[1,2],\"b\":2}]}", SP_INVALID,
		     "Failed to process element: 1 key: a of 'instances' list. Error: Expecting "
		     "tensor size: 1 but got: 2");
	expect_error(f, "{\"instances\": [{\"a\":[1],\"b\":2},{\"a\":[1],\"b\":[2]}]}", SP_INVALID,
		     "Expecting shape [] but got: [1]");
	expect_error(f, "{\"instances\": [{\"a\":1,\"b\":2},{\"a\":1}]}", SP_INVALID,
		     "keys must be equal to: a,b");
	expect_error(f, "{\"instances\": [{\"a\":1,\"b\":2},{}]}", SP_INVALID,
		     "keys must be equal to: a,b");
	expect_error(f, "{\"instances\": [{\"a\":1,\"b\":2,\"c\":3}]}", SP_INVALID,
		     "JSON object: does not have named input: c");
	expect_error(f, "{\"instances\": [{\"a\":1,\"a\":2}]}", SP_INVALID, "occurs twice");
	expect_error(f, "{\"instances\": [[1,2]]}", SP_INVALID,
		     "instances is a plain list, but expecting list of objects");
	expect_error(f, "{\"instances\": [{\"b64\":\"aaaa\"}]}", SP_INVALID, "is a plain list");
	expect_error(f, "{\"instances\": [{\"a\":1,\"b\":2}, 3]}", SP_INVALID,
		     "Expecting object but got list at item 1 of input list");
	expect_error(f, "{\"inputs\": {\"a\":1}}", SP_INVALID,
		     "Missing named input: b in 'inputs' object.");
	expect_error(f, "{\"inputs\": {\"a\":1,\"b\":1,\"a\":1}}", SP_INVALID, "occurs twice");
	expect_error(f, "{\"inputs\": [1,2]}", SP_INVALID, "inputs is a plain value/list");
	expect_error(f, "{\"inputs\": {\"a\":1,\"b\":\"x\"}}", SP_INVALID,
		     "not of expected type: int32");
}

static void objects_and_lists_do_not_mix(void **state)
{
	fixture *f = *state;

	expect_error(f, "{\"instances\": [1, {\"x\":1}]}", SP_INVALID,
		     "Expecting value/list but got object at item 1");
	expect_error(f, "{\"instances\": [{\"x\":1}, 1]}", SP_INVALID,
		     "Expecting object but got list at item 1");
}

/* ------------------------------------------------------------------- types */

static void numbers_of_all_spellings_are_floats(void **state)
{
	fixture *f = *state;

	expect_tensor(parse_ok(f, "{\"instances\": [1,2.0,3,4,5.003,0.007,0.0]}"),
		      "[7] 1 2 3 4 5.00299978 0.00700000022 0");
	expect_tensor(parse_ok(f, "{\"instances\": [1435774380, 1435774380.0]}"),
		      "[2] 1.43577434e+09 1.43577434e+09");
	expect_tensor(parse_ok(f, "{\"instances\": [2.2250738585072014e-308,-1e-300,1e-45]}"),
		      "[3] 0 -0 1.40129846e-45");
	expect_tensor(parse_ok(f, "{\"instances\": [NaN, Infinity, -Infinity, Inf]}"),
		      "[4] nan inf -inf inf");
	set_dtype(f, SERVING_PROCESSOR_DOUBLE);
	expect_tensor(parse_ok(f, "{\"instances\": [1,5.003,12345678901234567890]}"),
		      "[3] 1 5.0030000000000001 1.2345678901234567e+19");
}

/* The largest finite numbers, and the least of those that would round to more (IEEE 754). */
static void numbers_out_of_range_are_no_infinities(void **state)
{
	static const struct {
		int dtype;
		const char *name, *most, *value, *above;
	} cases[] = {
		{SERVING_PROCESSOR_FLOAT, "float", "3.4028235677973366e38", "3.40282347e+38",
		 "340282356779733661637539395458142568448"},
		{SERVING_PROCESSOR_FLOAT, "float", "3.4028235e38", "3.40282347e+38", "1e39"},
		{SERVING_PROCESSOR_FLOAT, "float", "16777216e20", "1.67772163e+27", "1e400"},
		{SERVING_PROCESSOR_DOUBLE, "double", "1.7976931348623158e308",
		 "1.7976931348623157e+308", "1.7976931348623159e308"},
		{SERVING_PROCESSOR_DOUBLE, "double", "1e39", "9.9999999999999994e+38", "1e400"},
		{SERVING_PROCESSOR_DOUBLE, "double", "0e400", "0", "1E+99999999999999999999"},
	};
	static const char *const forms[] = {
		"{\"instances\":[%s%s]}",         "{\"instances\":[[[0,%s%s]]]}",
		"{\"instances\":[{\"x\":%s%s}]}", "{\"inputs\":%s%s}",
		"{\"inputs\":{\"x\":[[%s%s]]}}",
	};
	fixture *f = *state;
	char text[200], want[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_dtype(f, cases[i].dtype);
		snprintf(text, sizeof(text), "{\"instances\":[%s]}", cases[i].most);
		snprintf(want, sizeof(want), "[1] %s", cases[i].value);
		expect_tensor(parse_ok(f, text), want);
		for (size_t j = 0; j < 2 * sizeof(forms) / sizeof(forms[0]); j++) {
			const char *sign = j % 2 == 0 ? "" : "-";

			snprintf(text, sizeof(text), forms[j / 2], sign, cases[i].above);
			snprintf(want, sizeof(want),
				 "JSON Value: %s%s is out of the range of type: %s", sign,
				 cases[i].above, cases[i].name);
			expect_error(f, text, SP_INVALID, want);
		}
	}
}

static void integers_are_exact_and_checked(void **state)
{
	static const struct {
		int dtype;
		const char *least, *most, *below, *above;
	} cases[] = {
		{SERVING_PROCESSOR_INT8, "-128", "127", "-129", "128"},
		{SERVING_PROCESSOR_UINT8, "0", "255", "-1", "256"},
		{SERVING_PROCESSOR_INT16, "-32768", "32767", "-32769", "32768"},
		{SERVING_PROCESSOR_UINT16, "0", "65535", "-1", "65536"},
		{SERVING_PROCESSOR_INT32, "-2147483648", "2147483647", "-2147483649", "2147483648"},
		{SERVING_PROCESSOR_UINT32, "0", "4294967295", "-1", "4294967296"},
		{SERVING_PROCESSOR_INT64, "-9223372036854775808", "9223372036854775807",
		 "-9223372036854775809", "9223372036854775808"},
		{SERVING_PROCESSOR_UINT64, "0", "18446744073709551615", "-1",
		 "18446744073709551616"},
	};
	fixture *f = *state;
	char text[200], want[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_dtype(f, cases[i].dtype);
		snprintf(text, sizeof(text), "{\"instances\":[%s,%s]}", cases[i].least,
			 cases[i].most);
		snprintf(want, sizeof(want), "[2] %s %s", cases[i].least, cases[i].most);
		expect_tensor(parse_ok(f, text), want);
		snprintf(text, sizeof(text), "{\"instances\":[%s]}", cases[i].below);
		expect_error(f, text, SP_INVALID, "is not of expected type: ");
		snprintf(text, sizeof(text), "{\"instances\":[%s]}", cases[i].above);
		expect_error(f, text, SP_INVALID, "is not of expected type: ");
		expect_error(f, "{\"instances\":[1.0]}", SP_INVALID,
			     "JSON Value: 1.0 Type: Number is not of expected type: ");
		expect_error(f, "{\"instances\":[NaN]}", SP_INVALID, "is not of expected type: ");
		expect_error(f, "{\"instances\":[true]}", SP_INVALID,
			     "JSON Value: true Type: True is not of expected type: ");
	}
}

static void values_of_the_wrong_kind_are_refused(void **state)
{
	fixture *f = *state;

	expect_error(f, "{\"instances\":[\"x\",\"y\"]}", SP_INVALID,
		     "JSON Value: \"x\" Type: String is not of expected type: float");
	expect_error(f, "{\"instances\":[null]}", SP_INVALID, "Type: Null");
	expect_error(f, "{\"instances\":[[false]]}", SP_INVALID, "Type: False");
	expect_error(f, "{\"inputs\":{\"b64\":\"aaaa\"}}", SP_INVALID, "Type: Object");
	set_dtype(f, SERVING_PROCESSOR_BOOL);
	expect_tensor(parse_ok(f, "{\"instances\":[true,false]}"), "[2] 1 0");
	expect_error(f, "{\"instances\":[1]}", SP_INVALID, "is not of expected type: bool");
	set_dtype(f, SERVING_PROCESSOR_STRING);
	expect_error(f, "{\"instances\":[1]}", SP_INVALID, "is not of expected type: string");
	expect_error(f, "{\"instances\":[true]}", SP_INVALID, "is not of expected type: string");
	set_dtype(f, SERVING_PROCESSOR_HALF);
	expect_error(f, "{\"instances\":[1]}", SP_UNSUPPORTED, "to type: half");
	set_dtype(f, SERVING_PROCESSOR_COMPLEX64);
	expect_error(f, "{\"instances\":[1]}", SP_UNSUPPORTED, "to type: complex64");
}

static void base64_is_decoded_wherever_a_string_may_be(void **state)
{
	fixture *f = *state;

	set_dtype(f, SERVING_PROCESSOR_STRING);
	expect_tensor(
		parse_ok(f, "{\"instances\":[{\"b64\":\"aGVsbG8=\"},{\"b64\":\"d29ybGQ=\"}]}"),
		"[2] hello world");
	expect_tensor(parse_ok(f, "{\"instances\":[[{\"b64\":\"aGVsbG8=\"}],[\"raw\"]]}"),
		      "[2,1] hello raw");
	expect_tensor(parse_ok(f, "{\"instances\":[{\"x\":[[{\"b64\":\"aGVsbG8=\"}],"
				  "[{ \"b64\" : \"d29ybGQ=\" }]]}]}"),
		      "[1,2,1] hello world");
	expect_tensor(parse_ok(f, "{\"inputs\":{\"b64\":\"aGVsbG8=\"}}"), "[] hello");
	expect_tensor(parse_ok(f, "{\"inputs\":{\"x\":{\"b64\":\"\\/\\/\\/\\/\"}}}"),
		      "[] \xff\xff\xff");
	expect_error(f, "{\"inputs\":{\"b64\":\"aGVsbG8\\u0021\"}}", SP_INVALID,
		     "Unable to base64 decode");
	expect_error(f, "{\"inputs\":[{\"b64\":\"aaaa\",\"c\":1}]}", SP_INVALID,
		     "not formatted correctly for base64 data");
	expect_error(f, "{\"inputs\":[{\"b64\":5}]}", SP_INVALID,
		     "not formatted correctly for base64 data");
	expect_error(f, "{\"inputs\":[{}]}", SP_INVALID, "not formatted correctly for base64 data");
}

static void strings_keep_every_byte(void **state)
{
	fixture *f = *state;
	const serving_processor_tensor *t;
	const serving_processor_bytes *text;

	set_dtype(f, SERVING_PROCESSOR_STRING);
	t = parse_ok(f, "{\"inputs\":[\"a\\u0000b\",\"\",\"\xc3\xa4\\n\"]}");
	text = t->data;
	assert_int_equal(text[0].size, 3);
	assert_memory_equal(text[0].data, "a\0b", 3);
	assert_int_equal(text[1].size, 0);
	assert_int_equal(text[2].size, 3);
	assert_memory_equal(text[2].data, "\xc3\xa4\n", 3);
	expect_error(f, "{\"inputs\":[\"\xff\"]}", SP_CORRUPT, "Invalid encoding in string");
}

/* --------------------------------------------------------------- top level */

static void a_document_that_is_not_json_is_refused_first(void **state)
{
	fixture *f = *state;

	expect_error(f, "", SP_CORRUPT, "JSON Parse error: The document is empty");
	expect_error(f, " \n", SP_CORRUPT, "JSON Parse error: The document is empty");
	expect_error(f, "instances = [1, 2]", SP_CORRUPT, "JSON Parse error: Invalid value");
	expect_error(f, "[1]", SP_INVALID, "Is not object");
	expect_error(f, "{\"instances\":[1}", SP_CORRUPT, "JSON Parse error");
	expect_error(f, "{\"instances\":[\"x\"],", SP_CORRUPT, "JSON Parse error");
	expect_error(f, "{\"instances\":[[1,\"x\"],[}]}", SP_CORRUPT, "JSON Parse error");
	expect_error(f, "{\"instances\":[1],\"signature_name\":}", SP_CORRUPT, "JSON Parse error");
	expect_error(f, "{\"instances\":[01]}", SP_CORRUPT, "JSON Parse error");
	expect_error(f, "{\"instances\":[{\"x\":1,}]}", SP_CORRUPT, "JSON Parse error");
}

static void what_follows_the_object_is_not_read(void **state)
{
	expect_tensor(parse_ok(*state, "{\"instances\":[1]} and so on"), "[1] 1");
}

static void exactly_one_of_instances_and_inputs(void **state)
{
	fixture *f = *state;

	expect_error(f, "{\"instances\":[1],\"inputs\":[1]}", SP_INVALID,
		     "Not formatted correctly expecting only one of");
	expect_error(f, "{\"inputs\":[1],\"instances\":[1]}", SP_INVALID,
		     "Not formatted correctly expecting only one of");
	expect_error(f, "{}", SP_INVALID, "Missing 'inputs' or 'instances' key");
	expect_error(f, "{\"instances\":[]}", SP_INVALID, "No values in 'instances' array");
	expect_error(f, "{\"instances\":{\"x\":1}}", SP_INVALID,
		     "Expecting 'instances' to be an list/array");
	expect_error(f, "{\"instances\":[1],\"instances\":[2]}", SP_INVALID,
		     "'instances' occurs twice");
}

static void the_signature_may_be_named_before_or_after(void **state)
{
	fixture *f = *state;

	expect_tensor(
		parse_ok(f, "{\"signature_name\":\"whole\",\"instances\":[9007199254740993]}"),
		"[1] 9007199254740993");
	assert_string_equal(sp_json_request_parsed(f->request)->signature->name, "whole");
	expect_tensor(
		parse_ok(f, "{\"instances\":[9007199254740993],\"signature_name\":\"whole\"}"),
		"[1] 9007199254740993");
	expect_tensor(parse_ok(f, "{\"inputs\":{\"n\":[3]},\"signature_name\":\"whole\"}"),
		      "[1] 3");
	expect_tensor(parse_ok(f, "{\"instances\":[1],\"signature_name\":\"\"}"), "[1] 1");
	expect_error(f, "{\"instances\":[1.5],\"signature_name\":\"whole\"}", SP_INVALID,
		     "not of expected type: int64");
	expect_error(f, "{\"instances\":[1],\"signature_name\":\"none\"}", SP_NOT_FOUND,
		     "Serving signature name: \"none\" not found in signature def");
	expect_error(f, "{\"signature_name\":\"none\",\"instances\":[1]}", SP_NOT_FOUND,
		     "not found in signature def");
	expect_error(f, "{\"signature_name\":100}", SP_INVALID,
		     "'signature_name' key must be a string value.");
	f->set.fallback = NULL;
	expect_error(f, "{\"instances\":[1]}", SP_NOT_FOUND, "not found in signature def");
	expect_tensor(parse_ok(f, "{\"instances\":[1],\"signature_name\":\"whole\"}"), "[1] 1");
}

static char *deep(const char *before, size_t depth, const char *after)
{
	size_t size = strlen(before) + 2 * depth + strlen(after);
	char *text = malloc(size + 1), *at = text;

	at += sprintf(at, "%s", before);
	memset(at, '[', depth);
	memset(at + depth, ']', depth);
	strcpy(at + 2 * depth, after);
	return text;
}

static void deep_nesting_hurts_nobody(void **state)
{
	fixture *f = *state;
	char *text = deep("{\"ignored\":", 500000, ",\"instances\":[1,2]}");

	expect_tensor(parse_ok(f, text), "[2] 1 2");
	free(text);
	text = deep("{\"instances\":[1],\"signature_name\":", 500000, "}");
	expect_error(f, text, SP_INVALID, "key must be a string value");
	free(text);
	text = deep("{\"inputs\":", 100, "}");
	assert_int_equal(parse_ok(f, text)->rank, 100);
	free(text);
	text = deep("{\"inputs\":", 101, "}");
	expect_error(f, text, SP_INVALID, "JSON nesting depth exceeds the limit of 100");
	free(text);
	text = deep("{\"instances\":", 500000, "}");
	expect_error(f, text, SP_INVALID, "JSON nesting depth exceeds the limit of 100");
	free(text);
}

static void a_request_after_a_large_one_is_small_again(void **state)
{
	enum { COUNT = 300000 };
	fixture *f = *state;
	char *text = malloc(4 * COUNT + 100), *at = text;
	const serving_processor_tensor *t;

	at += sprintf(at, "{\"instances\":[0");
	for (int i = 0; i < COUNT; i++)
		at += sprintf(at, ",%d", i % 10);
	strcpy(at, "]}");
	t = parse_ok(f, text);
	assert_int_equal(t->count, COUNT + 1);
	assert_int_equal(((const float *)t->data)[COUNT], (COUNT - 1) % 10);
	free(text);
	expect_tensor(parse_ok(f, "{\"instances\":[3]}"), "[1] 3");
}

/* `count` times a value, as the instances of one input. */
static char *repeat(const char *value, size_t count)
{
	char *text = malloc(count * (strlen(value) + 1) + 100), *at = text;

	at += sprintf(at, "{\"instances\":[%s", value);
	for (size_t i = 1; i < count; i++)
		at += sprintf(at, ",%s", value);
	strcpy(at, "]}");
	return text;
}

/* Of strings that are copied fewer fit where each is a block of its own. */
#ifdef SP_ARENA_DEBUG
#define COPIED(count) ((count) / 4)
#else
#define COPIED(count) (count)
#endif

static void what_is_read_counts_as_memory_of_requests(void **state)
{
	static const struct {
		int dtype;
		const char *value;
		size_t fits, too_many;
	} cases[] = {
		{SERVING_PROCESSOR_FLOAT, "1", 200000, 300000},
		{SERVING_PROCESSOR_STRING, "\"\"", 50000, 70000},
		{SERVING_PROCESSOR_STRING, "\"\\n\"", COPIED(20000), 40000},
		{SERVING_PROCESSOR_STRING, "{\"b64\":\"AAAAAAAAAAAAAAAAAAAA\"}", COPIED(15000),
		 40000},
	};
	fixture *f = *state;
	sp_budget budget;

	sp_budget_init(&budget, 1 << 20);
	sp_json_request_destroy(f->request);
	f->request = sp_json_request_create(&budget);
	assert_non_null(f->request);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = repeat(cases[i].value, cases[i].fits);

		set_dtype(f, cases[i].dtype);
		assert_int_equal(parse_ok(f, text)->count, cases[i].fits);
		assert_true(sp_budget_used(&budget) > 200000);
		sp_json_request_trim(f->request);
		assert_true(sp_budget_used(&budget) <= 128 << 10);
		free(text);
		text = repeat(cases[i].value, cases[i].too_many);
		assert_int_equal(parse(f, text), SP_NO_MEMORY);
		assert_non_null(strstr(f->err.text, "no memory for"));
		assert_true(sp_budget_used(&budget) <= budget.limit);
		free(text);
		text = repeat(cases[i].value, 3);
		assert_int_equal(parse_ok(f, text)->count, 3);
		free(text);
	}
	sp_json_request_destroy(f->request);
	f->request = NULL;
	assert_int_equal(sp_budget_used(&budget), 0);
}

static void every_failing_allocation_is_told(void **state)
{
	static const char text[] = "{\"inputs\":{\"x\":[\"a\\n\",\"b\\t\",{\"b64\":\"aGVsbG8=\"}],"
				   "\"more\":[[[[[[[[[]]]]]]]]]}}";
	fixture *f = *state;
	int failed = 0;

	set_dtype(f, SERVING_PROCESSOR_STRING);
	for (int64_t n = 0;; n++) {
		sp_json_request *request;
		sp_status status = SP_NO_MEMORY;

		sp_alloc_fail_after(n);
		request = sp_json_request_create(NULL);
		if (request != NULL)
			status = sp_json_request_parse(request, &f->set, sp_bytes_of(text),
						       &f->err);
		sp_alloc_fail_after(-1);
		sp_json_request_destroy(request);
		if (status == SP_OK)
			break;
		assert_int_equal(status, SP_NO_MEMORY);
		failed++;
	}
	assert_true(failed >= 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rows_become_a_batch),
		TEST(columns_keep_their_shape),
		TEST(several_inputs_are_keyed_by_name),
		TEST(keys_in_escapes_are_the_same_keys),
		TEST(shapes_that_disagree_are_refused),
		TEST(inputs_whose_rows_disagree_are_refused),
		TEST(objects_and_lists_do_not_mix),
		TEST(numbers_of_all_spellings_are_floats),
		TEST(numbers_out_of_range_are_no_infinities),
		TEST(integers_are_exact_and_checked),
		TEST(values_of_the_wrong_kind_are_refused),
		TEST(base64_is_decoded_wherever_a_string_may_be),
		TEST(strings_keep_every_byte),
		TEST(a_document_that_is_not_json_is_refused_first),
		TEST(what_follows_the_object_is_not_read),
		TEST(exactly_one_of_instances_and_inputs),
		TEST(the_signature_may_be_named_before_or_after),
		TEST(deep_nesting_hurts_nobody),
		TEST(every_failing_allocation_is_told),
		TEST(a_request_after_a_large_one_is_small_again),
		TEST(what_is_read_counts_as_memory_of_requests),
	};

	return cmocka_run_group_tests_name("json_request", tests, NULL, NULL);
}
