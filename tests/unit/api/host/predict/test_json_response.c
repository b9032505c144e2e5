#include "tests/support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/host/predict/json_response.h"
#include "tests/support/json_space.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DIMS(...)                                                 \
	(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]) \
	{                                                         \
		__VA_ARGS__                                       \
	}
#define TENSOR(name, type, dims, data) tensor(name, type, dims, data, COUNT(data))

static serving_processor_tensor tensor(const char *name, int dtype, int rank, const int64_t *dims,
				       const void *data, size_t count)
{
	return (serving_processor_tensor){name, dtype, rank, dims, count, data};
}

/* exact: white space counts. */
static void expect_text(const serving_processor_tensor *tensors, size_t count, bool row, bool exact,
			const char *text)
{
	sp_buffer out;
	sp_error err;

	sp_buffer_init(&out, 10000);
	assert_ok(sp_json_response_write(&out, tensors, count, row, &err), &err);
	assert_false(out.failed);
	if (!exact)
		sp_json_remove_space(out.data);
	assert_string_equal(out.data, text);
	sp_buffer_fini(&out);
}

static void expect(const serving_processor_tensor *tensors, size_t count, bool row,
		   const char *text)
{
	expect_text(tensors, count, row, false, text);
}

static void expect_error(const serving_processor_tensor *tensors, size_t count, bool row,
			 sp_status status, const char *words)
{
	sp_buffer out;
	sp_error err;

	sp_buffer_init(&out, 10000);
	assert_int_equal(sp_json_response_write(&out, tensors, count, row, &err), status);
	assert_non_null(strstr(err.text, words));
	sp_buffer_fini(&out);
}

static void one_output_stands_without_its_name(void **state)
{
	static const int32_t ints[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	serving_processor_tensor t = TENSOR("y", SERVING_PROCESSOR_INT32, DIMS(2, 3, 2), ints);
	serving_processor_tensor scalar = tensor("y", SERVING_PROCESSOR_INT32, 0, NULL, ints, 1);

	(void)state;
	expect(&t, 1, true, "{\"predictions\":[[[1,2],[3,4],[5,6]],[[7,8],[9,10],[11,12]]]}");
	expect(&t, 1, false, "{\"outputs\":[[[1,2],[3,4],[5,6]],[[7,8],[9,10],[11,12]]]}");
	expect(&scalar, 1, false, "{\"outputs\":1}");
}

static void several_outputs_are_keyed_by_name(void **state)
{
	static const float floats[] = {1, NAN, -INFINITY, 0.1f};
	static const int64_t longs[] = {INT64_MIN, INT64_MAX};
	static const uint64_t ulongs[] = {0, UINT64_MAX};
	static const serving_processor_bytes texts[] = {{"a\"b", 3}, {"\xff", 1}};
	static const uint8_t bools[] = {1, 0};
	serving_processor_tensor t[] = {
		TENSOR("f", SERVING_PROCESSOR_FLOAT, DIMS(2, 2), floats),
		TENSOR("i", SERVING_PROCESSOR_INT64, DIMS(2), longs),
		TENSOR("u", SERVING_PROCESSOR_UINT64, DIMS(2), ulongs),
		TENSOR("s", SERVING_PROCESSOR_STRING, DIMS(2), texts),
		TENSOR("b", SERVING_PROCESSOR_BOOL, DIMS(2, 1), bools),
	};

	(void)state;
	expect(t, 5, true,
	       "{\"predictions\":["
	       "{\"f\":[1.0,NaN],\"i\":-9223372036854775808,\"u\":0,\"s\":\"a\\\"b\",\"b\":[true]},"
	       "{\"f\":[-Infinity,0.1],\"i\":9223372036854775807,\"u\":18446744073709551615,"
	       "\"s\":{\"b64\":\"/w==\"},\"b\":[false]}]}");
	expect(t, 5, false,
	       "{\"outputs\":{\"f\":[[1.0,NaN],[-Infinity,0.1]],"
	       "\"i\":[-9223372036854775808,9223372036854775807],"
	       "\"u\":[0,18446744073709551615],\"s\":[\"a\\\"b\",{\"b64\":\"/w==\"}],"
	       "\"b\":[[true],[false]]}}");
}

static void outputs_named_bytes_are_base64(void **state)
{
	static const serving_processor_bytes texts[] = {{"hello", 5}, {"", 0}};
	static const int8_t small[] = {-1, 1};
	serving_processor_tensor t[] = {
		TENSOR("s_bytes", SERVING_PROCESSOR_STRING, DIMS(2), texts),
		TENSOR("i_bytes", SERVING_PROCESSOR_INT8, DIMS(2), small),
	};

	(void)state;
	expect(t, 1, true, "{\"predictions\":[{\"b64\":\"aGVsbG8=\"},{\"b64\":\"\"}]}");
	expect(t, 2, false,
	       "{\"outputs\":{\"s_bytes\":[{\"b64\":\"aGVsbG8=\"},{\"b64\":\"\"}],"
	       "\"i_bytes\":[-1,1]}}");
}

/* As rapidjson's PrettyWriter prints, with TensorFlow Serving's choice of one line for a row's
 * lists. */
static void the_layout_is_tensorflow_servings(void **state)
{
	static const float floats[] = {2.5f, 3, 0.5f, 4};
	static const serving_processor_bytes texts[] = {{"a", 1}, {"b", 1}};
	serving_processor_tensor t[] = {
		TENSOR("p", SERVING_PROCESSOR_FLOAT, DIMS(2, 2), floats),
		TENSOR("s_bytes", SERVING_PROCESSOR_STRING, DIMS(2), texts),
	};

	(void)state;
	expect_text(t, 1, true, true, "{\n    \"predictions\": [[2.5, 3.0], [0.5, 4.0]\n    ]\n}");
	expect_text(
		t, 1, false, true,
		"{\n    \"outputs\": [\n        [\n            2.5,\n            3.0\n        ],\n"
		"        [\n            0.5,\n            4.0\n        ]\n    ]\n}");
	expect_text(t, 2, true, true,
		    "{\n    \"predictions\": [\n        {\n            \"p\": [2.5, 3.0],\n"
		    "            \"s_bytes\": {\n                \"b64\": \"YQ==\"\n            }\n"
		    "        },\n        {\n            \"p\": [0.5, 4.0],\n"
		    "            \"s_bytes\": {\n                \"b64\": \"Yg==\"\n            }\n"
		    "        }\n    ]\n}");
}

static void small_floats_are_written_as_floats(void **state)
{
	/* 1, -2, the largest, the smallest, infinity, NaN: IEEE 754 binary16 */
	static const uint16_t halves[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0xfc00, 0x7e00};
	static const uint16_t bfloats[] = {0x3f80, 0xc000, 0x7f80};
	serving_processor_tensor t[] = {
		TENSOR("h", SERVING_PROCESSOR_HALF, DIMS(6), halves),
		TENSOR("b", SERVING_PROCESSOR_BFLOAT16, DIMS(3), bfloats),
	};

	(void)state;
	expect(t, 1, false, "{\"outputs\":[1.0,-2.0,65504.0,5.96046448e-08,-Infinity,NaN]}");
	expect(t + 1, 1, false, "{\"outputs\":[1.0,-2.0,Infinity]}");
}

static void empty_tensors_are_written(void **state)
{
	static const float none[1];
	serving_processor_tensor t[] = {
		tensor("a", SERVING_PROCESSOR_FLOAT, DIMS(0), none, 0),
		tensor("b", SERVING_PROCESSOR_FLOAT, DIMS(0, 3), none, 0),
		tensor("c", SERVING_PROCESSOR_FLOAT, DIMS(2, 0), none, 0),
	};

	(void)state;
	expect(t, 1, true, "{\"predictions\":[]}");
	expect(t, 2, true, "{\"predictions\":[]}");
	expect(t, 2, false, "{\"outputs\":{\"a\":[],\"b\":[]}}");
	expect(t + 2, 1, true, "{\"predictions\":[[],[]]}");
}

static void what_cannot_be_said_is_refused(void **state)
{
	static const float data[16];
	serving_processor_tensor t[] = {
		tensor("c", SERVING_PROCESSOR_COMPLEX64, DIMS(1), data, 1),
		tensor("r", 20, DIMS(1), data, 1),
		tensor("s", SERVING_PROCESSOR_FLOAT, 0, NULL, data, 1),
		tensor("a", SERVING_PROCESSOR_FLOAT, DIMS(2), data, 2),
		tensor("b", SERVING_PROCESSOR_FLOAT, DIMS(1, 2), data, 2),
	};

	(void)state;
	expect_error(t, 0, true, SP_INVALID, "empty tensor map");
	expect_error(t, 1, true, SP_INVALID,
		     "Tensor name: c has a value that JSON cannot say: tensor type: complex64");
	expect_error(t + 1, 1, false, SP_INVALID, "Tensor name: r has a value");
	expect_error(t + 2, 1, true, SP_INVALID, "no shape information");
	expect_error(t + 3, 2, true, SP_INVALID,
		     "Tensor name: b has inconsistent batch size: 1 expecting: 2");
}

static void only_these_types_can_be_said(void **state)
{
	static const struct {
		int dtype;
		const char *name;
	} refused[] = {
		{SERVING_PROCESSOR_COMPLEX64, "complex64"},
		{SERVING_PROCESSOR_COMPLEX128, "complex128"},
		{11, "qint8"},
		{12, "quint8"},
		{13, "qint32"},
		{15, "qint16"},
		{16, "quint16"},
		{20, "resource"},
		{21, "variant"},
		{0, "unknown"},
		{99, "unknown"},
	};
	static const double data[4];

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		serving_processor_tensor t[] = {
			tensor("a", SERVING_PROCESSOR_HALF, DIMS(1), data, 1),
			tensor("b", refused[i].dtype, DIMS(1), data, 1),
		};
		char want[100];

		snprintf(want, sizeof(want),
			 "Tensor name: b has a value that JSON cannot say: "
			 "tensor type: %s",
			 refused[i].name);
		expect_error(t, 2, true, SP_INVALID, want);
		expect_error(t, 2, false, SP_INVALID, want);
		expect(t, 1, true, "{\"predictions\":[0.0]}");
	}
}

static void a_full_buffer_is_seen_by_the_caller(void **state)
{
	static const float data[100];
	serving_processor_tensor t = TENSOR("a", SERVING_PROCESSOR_FLOAT, DIMS(100), data);
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 50);
	assert_ok(sp_json_response_write(&out, &t, 1, true, &err), &err);
	assert_true(out.failed);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_output_stands_without_its_name),
		cmocka_unit_test(several_outputs_are_keyed_by_name),
		cmocka_unit_test(outputs_named_bytes_are_base64),
		cmocka_unit_test(the_layout_is_tensorflow_servings),
		cmocka_unit_test(small_floats_are_written_as_floats),
		cmocka_unit_test(empty_tensors_are_written),
		cmocka_unit_test(what_cannot_be_said_is_refused),
		cmocka_unit_test(only_these_types_can_be_said),
		cmocka_unit_test(a_full_buffer_is_seen_by_the_caller),
	};

	return cmocka_run_group_tests_name("json_response", tests, NULL, NULL);
}
