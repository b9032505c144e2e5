#include "tests/support/cmocka.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "processor/request/predict_codec.h"
#include "tests/support/predict.pb-c.h"

/* protobuf-c reads what we write and writes what we read. */
typedef Tensorflow__Eas__ArrayProto array_proto;
typedef Tensorflow__Eas__ArrayShape array_shape;
typedef Tensorflow__Eas__PredictRequest predict_request;
typedef Tensorflow__Eas__PredictRequest__InputsEntry inputs_entry;
typedef Tensorflow__Eas__PredictResponse predict_response;

#define MESSAGE(text) ((sp_bytes){text, sizeof(text) - 1})

static const sp_tensor_info inputs[] = {
	{.alias = "x", .tensor_name = "ph/x:0"},
	{.alias = "y", .tensor_name = "ph/y:0"},
};
static const sp_tensor_info outputs[] = {
	{.alias = "p", .tensor_name = "head/p:0"},
	{.alias = "q", .tensor_name = "head/q:0"},
};
static const sp_signature signature = {
	.name = "serving_default",
	.method = "tensorflow/serving/predict",
	.inputs = inputs,
	.input_count = 2,
	.outputs = outputs,
	.output_count = 2,
};

static sp_arena *arena;
static sp_endpoint endpoint;
static sp_workspace *workspace;

static int set_up(void **state)
{
	sp_error err;

	(void)state;
	arena = sp_arena_create(4096);
	workspace = sp_workspace_create(16 << 20);
	assert_true(arena != NULL && workspace != NULL);
	assert_ok(sp_endpoint_init(&endpoint, &signature, 0, arena, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_workspace_destroy(workspace);
	sp_arena_destroy(arena);
	return 0;
}

static int reset(void **state)
{
	(void)state;
	sp_workspace_reset(workspace);
	return 0;
}

/* ------------------------------------------------------------------ helpers */

/* A request with one input, by protobuf-c; `out` is as long as the message. */
static sp_bytes pack_input(const char *name, array_proto *array)
{
	inputs_entry entry = TENSORFLOW__EAS__PREDICT_REQUEST__INPUTS_ENTRY__INIT;
	predict_request request = TENSORFLOW__EAS__PREDICT_REQUEST__INIT;
	inputs_entry *entries[1] = {&entry};
	size_t size;
	char *bytes;

	entry.key = (char *)(uintptr_t)name;
	entry.value = array;
	request.signature_name = (char *)(uintptr_t) "ignored";
	request.n_inputs = 1;
	request.inputs = entries;
	size = tensorflow__eas__predict_request__get_packed_size(&request);
	/* In the workspace: with the arena's debug twin, a block of just its size. */
	bytes = sp_workspace_bytes(workspace, 1, size);
	assert_non_null(bytes);
	assert_int_equal(tensorflow__eas__predict_request__pack(&request, (uint8_t *)bytes), size);
	return (sp_bytes){bytes, size};
}

static sp_tensor decode_message(sp_bytes message)
{
	sp_predict_request request;
	sp_error err;

	assert_ok(sp_predict_request_decode(&request, &endpoint, message, workspace, &err), &err);
	return request.inputs[0];
}

static void refuse_message(sp_bytes message, sp_status status, const char *text)
{
	sp_predict_request request;
	sp_error err;

	assert_int_equal(sp_predict_request_decode(&request, &endpoint, message, workspace, &err),
			 status);
	assert_string_equal(err.text, text);
}

static void refuse_array(array_proto *array, sp_status status, const char *text)
{
	refuse_message(pack_input("x", array), status, text);
}

/* The tensor that a request with this array as its only input decodes to. */
static sp_tensor decode_array(array_proto *array)
{
	return decode_message(pack_input("x", array));
}

#define DIMS(...)                                                                           \
	{                                                                                   \
		.base = PROTOBUF_C_MESSAGE_INIT(&tensorflow__eas__array_shape__descriptor), \
		.n_dim = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                \
		.dim = (int64_t[]){__VA_ARGS__},                                            \
	}

static array_proto array_of(int dtype, array_shape *shape)
{
	array_proto array = TENSORFLOW__EAS__ARRAY_PROTO__INIT;

	array.dtype = (Tensorflow__Eas__ArrayDataType)dtype;
	array.array_shape = shape;
	return array;
}

#define SET(array, field, values)                                       \
	do {                                                            \
		(array).n_##field = sizeof(values) / sizeof(*(values)); \
		(array).field = (values);                               \
	} while (0)

static void assert_tensor(const sp_tensor *tensor, sp_dtype dtype, int rank, const int64_t *dims,
			  const void *data, size_t size)
{
	assert_int_equal(tensor->dtype, dtype);
	assert_int_equal(tensor->shape.rank, rank);
	for (int i = 0; i < rank; i++)
		assert_int_equal(tensor->shape.dims[i], dims[i]);
	assert_int_equal(tensor->count * sp_dtype_size(dtype), size);
	if (size != 0)
		assert_memory_equal(tensor->data, data, size);
}

/* What is read of an array with a shape. */
static void assert_read(array_proto *array, const void *data, size_t size)
{
	sp_tensor tensor = decode_array(array);

	assert_tensor(&tensor, (sp_dtype)array->dtype, (int)array->array_shape->n_dim,
		      array->array_shape->dim, data, size);
}

/* ------------------------------------------------------------------ reading */

static void floats_and_doubles(void **state)
{
	array_shape shape = DIMS(2, 3);
	array_proto array = array_of(SP_FLOAT, &shape);
	float floats[6] = {0.0f, -0.0f, 1.5f, -3e38f, INFINITY, NAN};
	double doubles[6] = {0.0, -0.0, 1.5, -1e308, -INFINITY, NAN};

	(void)state;
	SET(array, float_val, floats);
	assert_read(&array, floats, sizeof(floats));

	array = array_of(SP_DOUBLE, &shape);
	SET(array, double_val, doubles);
	assert_read(&array, doubles, sizeof(doubles));
}

static void whole_numbers_and_bools(void **state)
{
	array_shape shape = DIMS(4);
	array_proto array = array_of(SP_INT64, &shape);
	int64_t longs[4] = {0, INT64_MIN, INT64_MAX, (1ll << 53) + 1};
	int32_t ints[4] = {-1, INT32_MIN, INT32_MAX, 300};
	protobuf_c_boolean flags[4] = {1, 0, 0, 1};

	(void)state;
	SET(array, int64_val, longs);
	assert_read(&array, longs, sizeof(longs));

	array = array_of(SP_INT32, &shape);
	SET(array, int_val, ints);
	assert_read(&array, ints, sizeof(ints));

	array = array_of(SP_BOOL, &shape);
	SET(array, bool_val, flags);
	assert_read(&array, (bool[]){true, false, false, true}, 4);
}

/* C's own conversion to the narrow type is the definition. */
static void narrow_integers_are_cut(void **state)
{
	static const sp_dtype one_byte[] = {SP_INT8, SP_UINT8, SP_QINT8, SP_QUINT8};
	static const sp_dtype two_bytes[] = {SP_INT16, SP_UINT16, SP_QINT16, SP_QUINT16};
	array_shape shape = DIMS(7);
	int32_t values[7] = {0, 127, 128, -1, 65536 + 7, INT32_MIN, INT32_MAX};
	uint8_t narrow[7];
	uint16_t wider[7];

	(void)state;
	for (int i = 0; i < 7; i++) {
		narrow[i] = (uint8_t)values[i];
		wider[i] = (uint16_t)values[i];
	}
	for (int i = 0; i < 4; i++) {
		array_proto array = array_of((int)one_byte[i], &shape);

		SET(array, int_val, values);
		assert_read(&array, narrow, sizeof(narrow));
		array.dtype = (Tensorflow__Eas__ArrayDataType)two_bytes[i];
		assert_read(&array, wider, sizeof(wider));
	}
}

static void halves_come_as_floats(void **state)
{
	array_shape shape = DIMS(5);
	array_proto array = array_of(SP_HALF, &shape);
	/* 1 + 255/32768 is just below the next bfloat16: cutting shows. */
	float values[5] = {1.0f, -2.0f, 65504.0f, 0.5f, 1.0f + 255.0f / 32768.0f};
	uint16_t halves[5] = {0x3c00, 0xc000, 0x7bff, 0x3800, 0x3c08};
	uint16_t bfloats[5] = {0x3f80, 0xc000, 0x477f, 0x3f00, 0x3f80};

	(void)state;
	SET(array, float_val, values);
	assert_read(&array, halves, sizeof(halves));
	array.dtype = (Tensorflow__Eas__ArrayDataType)SP_BFLOAT16;
	assert_read(&array, bfloats, sizeof(bfloats));
}

static void complex_numbers_come_in_pairs(void **state)
{
	array_shape shape = DIMS(2), wrong = DIMS(3), huge = DIMS(INT64_MAX);
	array_proto array = array_of(SP_COMPLEX64, &shape);
	float floats[4] = {1.0f, -2.0f, 0.5f, 3.0f};
	double doubles[4] = {1.0, -2.0, 1e300, 3.0};

	(void)state;
	SET(array, float_val, floats);
	assert_read(&array, floats, sizeof(floats));
	array.n_float_val = 3;
	refuse_array(&array, SP_INVALID,
		     "input 'x' (DT_COMPLEX64) has 3 values in float_val, but shape [2] needs 4");
	array = array_of(SP_COMPLEX128, &shape);
	SET(array, double_val, doubles);
	assert_read(&array, doubles, sizeof(doubles));
	array.array_shape = &wrong;
	refuse_array(&array, SP_INVALID,
		     "input 'x' (DT_COMPLEX128) has 4 values in double_val, but shape [3] needs 6");
	array.array_shape = &huge;
	refuse_array(&array, SP_INVALID, "input 'x' has a shape too large: [9223372036854775807]");
}

/* Its low bits alone make it a NaN; cut off, an infinity would be left. */
static void a_nan_stays_one_as_bfloat16(void **state)
{
	array_proto array = array_of(SP_BFLOAT16, NULL);
	uint32_t bits = 0x7f800001;
	float value;
	sp_tensor tensor;

	(void)state;
	memcpy(&value, &bits, sizeof(value));
	array.n_float_val = 1;
	array.float_val = &value;
	tensor = decode_array(&array);
	assert_true(isnan(sp_bfloat16_to_float(*(uint16_t *)tensor.data)));
}

static void strings_are_views_of_the_request(void **state)
{
	array_shape shape = DIMS(3, 1);
	array_proto array = array_of(SP_STRING, &shape);
	ProtobufCBinaryData texts[3] = {{5, (uint8_t *)(uintptr_t) "a\0\xff\x80z"},
					{0, NULL},
					{3, (uint8_t *)(uintptr_t) "abc"}};
	sp_tensor tensor;
	sp_bytes message;

	(void)state;
	array.n_string_val = 3;
	array.string_val = texts;
	message = pack_input("x", &array);
	tensor = decode_message(message);
	assert_int_equal(tensor.dtype, SP_STRING);
	assert_int_equal(tensor.count, 3);
	for (int i = 0; i < 3; i++) {
		sp_bytes text = sp_tensor_strings(&tensor)[i];

		assert_int_equal(text.size, texts[i].len);
		if (text.size != 0)
			assert_memory_equal(text.data, texts[i].data, text.size);
		assert_true(text.data >= message.data &&
			    text.data + text.size <= message.data + message.size);
	}
}

static void a_shape_may_be_absent_or_empty(void **state)
{
	array_shape none = TENSORFLOW__EAS__ARRAY_SHAPE__INIT;
	array_proto array = array_of(SP_FLOAT, NULL);
	float value = 2.5f;
	sp_tensor tensor;

	(void)state;
	array.n_float_val = 1;
	array.float_val = &value;
	tensor = decode_array(&array);
	assert_tensor(&tensor, SP_FLOAT, 0, NULL, &value, sizeof(value));
	array.array_shape = &none;
	tensor = decode_array(&array);
	assert_tensor(&tensor, SP_FLOAT, 0, NULL, &value, sizeof(value));
}

static void a_zero_dimension_means_no_values(void **state)
{
	array_shape shape = DIMS(0, 4), huge = DIMS(INT64_MAX, 0, INT64_MAX);
	array_proto array = array_of(SP_STRING, &shape);
	sp_predict_request request;
	sp_tensor tensor;
	sp_error err;

	(void)state;
	tensor = decode_array(&array);
	assert_tensor(&tensor, SP_STRING, 2, shape.dim, NULL, 0);
	array = array_of(SP_FLOAT, &huge);
	/* Whichever way a shape of that kind is taken, it is not a tensor with elements. */
	if (sp_predict_request_decode(&request, &endpoint, pack_input("x", &array), workspace,
				      &err) == SP_OK)
		assert_int_equal(request.inputs[0].count, 0);
}

/* Random arrays of every type, and our reading of what protobuf-c wrote. */
static void long_arrays_come_through(void **state)
{
	enum { COUNT = 5000 };
	static int64_t longs[COUNT];
	static float floats[COUNT];
	array_shape shape = DIMS(COUNT / 50, 50);
	array_proto array = array_of(SP_INT64, &shape);
	sp_tensor tensor;

	(void)state;
	srand(3);
	for (int i = 0; i < COUNT; i++) {
		longs[i] = (int64_t)((((uint64_t)rand() << 42) ^ ((uint64_t)rand() << 21) ^
				      (uint64_t)rand()) >>
				     (rand() % 64));
		floats[i] = (float)rand();
	}
	array.n_int64_val = COUNT;
	array.int64_val = longs;
	tensor = decode_array(&array);
	assert_tensor(&tensor, SP_INT64, 2, shape.dim, longs, sizeof(longs));
	array = array_of(SP_FLOAT, &shape);
	array.n_float_val = COUNT;
	array.float_val = floats;
	tensor = decode_array(&array);
	assert_tensor(&tensor, SP_FLOAT, 2, shape.dim, floats, sizeof(floats));
}

/*
 * Aligned and followed by enough of the request, floats stay; else they are
 * copied, and the copy is the engine's: aligned.
 */
static void floats_stay_where_they_are_if_they_may(void **state)
{
	enum { COUNT = 40 };
	array_shape shape = DIMS(COUNT);
	array_proto array = array_of(SP_FLOAT, &shape);
	float floats[COUNT];
	size_t stayed = 0;
	sp_bytes packed;
	char *room;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		floats[i] = (float)i;
	array.n_float_val = COUNT;
	array.float_val = floats;
	packed = pack_input("x", &array);
	room = sp_workspace_bytes(workspace, 1, packed.size + 256);
	assert_non_null(room);
	for (size_t shift = 0; shift < 8; shift++)
		for (size_t tail = 0; tail <= 2; tail++) {
			/* Empty entries of an unknown field behind the input. */
			size_t padding = tail == 0 ? 0 : tail == 1 ? 62 : 64;
			sp_bytes message = {room + shift, packed.size + padding};
			sp_tensor tensor;
			uintptr_t data;

			memcpy(room + shift, packed.data, packed.size);
			for (size_t i = 0; i < padding; i += 2)
				memcpy(room + shift + packed.size + i, "\x7a\x00", 2);
			tensor = decode_message(message);
			data = (uintptr_t)tensor.data;
			assert_tensor(&tensor, SP_FLOAT, 1, shape.dim, floats, sizeof(floats));
			if (data >= (uintptr_t)room && data < (uintptr_t)room + packed.size + 256) {
				stayed++;
				assert_int_equal(data % sizeof(float), 0);
				assert_true(data + sizeof(floats) + SP_TENSOR_TAIL <=
					    (uintptr_t)message.data + message.size);
				assert_null(tensor.block);
			} else {
				assert_int_equal(data % 64, 0);
			}
		}
	assert_int_equal(stayed, 2); /* two of eight shifts, with the long tail only */
}

/* ------------------------------------------------- what the wire also allows */

/* Request { inputs { key: "x" value { <array> } } } */
#define INPUT_X(entry_size, array_size, array) \
	MESSAGE("\x12" entry_size "\x0a\x01x\x12" array_size array)

static void unpacked_and_packed_mix(void **state)
{
	/* dtype FLOAT, shape dim 3 unpacked, 1.0 unpacked, packed {2.0}, 3.0 unpacked */
	sp_tensor tensor = decode_message(INPUT_X("\x1b", "\x16",
						  "\x08\x01\x12\x02\x08\x03"
						  "\x1d\0\0\x80\x3f"
						  "\x1a\x04\0\0\0\x40"
						  "\x1d\0\0\x40\x40"));

	(void)state;
	assert_tensor(&tensor, SP_FLOAT, 1, (int64_t[]){3}, (float[]){1, 2, 3}, 12);

	/* dtype INT64, dims {2}: -1 unpacked, then 300 */
	tensor = decode_message(INPUT_X("\x1b", "\x16",
					"\x08\x09\x12\x03\x0a\x01\x02"
					"\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
					"\x3a\x02\xac\x02"));
	assert_tensor(&tensor, SP_INT64, 1, (int64_t[]){2}, (int64_t[]){-1, 300}, 16);

	/* dtype BOOL, dims {2}: 5 is true, and so is 2^35 */
	tensor = decode_message(INPUT_X(
		"\x14", "\x0f", "\x08\x0a\x12\x02\x08\x02\x40\x05\x40\x80\x80\x80\x80\x80\x01"));
	assert_tensor(&tensor, SP_BOOL, 1, (int64_t[]){2}, (bool[]){true, true}, 2);
}

static void repeated_parts_are_merged(void **state)
{
	/* dtype twice, shape in two messages: [1] then [2] is [1, 2] */
	sp_tensor tensor = decode_message(INPUT_X("\x1b", "\x16",
						  "\x08\x02\x08\x01"
						  "\x12\x02\x08\x01\x12\x02\x08\x02"
						  "\x1a\x08\0\0\x80\x3f\0\0\0\x40"));

	(void)state;
	assert_tensor(&tensor, SP_FLOAT, 2, (int64_t[]){1, 2}, (float[]){1, 2}, 8);

	/* the value in three parts: dtype and shape, one float, another one */
	tensor = decode_message(MESSAGE("\x12\x19\x0a\x01x"
					"\x12\x06\x08\x01\x12\x02\x08\x02"
					"\x12\x05\x1d\0\0\x80\x3f"
					"\x12\x05\x1d\0\0\0\x40"));
	assert_tensor(&tensor, SP_FLOAT, 1, (int64_t[]){2}, (float[]){1, 2}, 8);
}

static void the_last_entry_of_a_key_wins(void **state)
{
	sp_tensor tensor = decode_message(
		MESSAGE("\x12\x0c\x0a\x01x\x12\x07\x08\x01\x1d\0\0\x80\x3f"
			"\x12\x09\x0a\x01x\x12\x04\x08\x03\x28\x07"));

	(void)state;
	assert_tensor(&tensor, SP_INT32, 0, NULL, (int32_t[]){7}, 4);

	/* inside one entry, the last key */
	tensor = decode_message(MESSAGE("\x12\x0c\x0a\x01y\x0a\x01x\x12\x04\x08\x03\x28\x07"));
	assert_tensor(&tensor, SP_INT32, 0, NULL, (int32_t[]){7}, 4);
}

static void unknown_fields_are_skipped(void **state)
{
	/* field 100 of each wire type around and inside; our number with another type */
	sp_tensor tensor = decode_message(MESSAGE("\xa0\x06\x01\xa3\x06\xa4\x06"
						  "\x10\x05"
						  "\x12\x1b\xa5\x06zzzz\x0a\x01x\x12\x10"
						  "\xa1\x06zzzzzzzz\x08\x03\x28\x07\x18"
						  "\x01"));

	(void)state;
	assert_tensor(&tensor, SP_INT32, 0, NULL, (int32_t[]){7}, 4);
}

/* ----------------------------------------------------------------- refusals */

static void counts_that_do_not_fit_the_shape(void **state)
{
	array_shape shape = DIMS(2, 2);
	array_proto array = array_of(SP_FLOAT, &shape);
	float values[5] = {0};
	int64_t longs[4] = {0};

	(void)state;
	array.float_val = values;
	array.n_float_val = 3;
	refuse_array(&array, SP_INVALID,
		     "input 'x' (DT_FLOAT) has 3 values in float_val, but shape [2,2] needs 4");
	array.n_float_val = 5;
	refuse_array(&array, SP_INVALID,
		     "input 'x' (DT_FLOAT) has 5 values in float_val, but shape [2,2] needs 4");
	array.n_float_val = 0;
	array.n_int64_val = 4;
	array.int64_val = longs;
	refuse_array(&array, SP_INVALID,
		     "input 'x' (DT_FLOAT) has 0 values in float_val, but shape [2,2] needs 4");
	array = array_of(SP_STRING, NULL);
	refuse_array(&array, SP_INVALID,
		     "input 'x' (DT_STRING) has 0 values in string_val, but shape [] needs 1");
}

static void shapes_that_are_none(void **state)
{
	array_shape negative = DIMS(2, -1), huge = DIMS(INT64_MAX, 3),
		    deep = DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1);
	array_proto array = array_of(SP_FLOAT, &negative);
	char text[200];

	(void)state;
	refuse_array(&array, SP_INVALID, "input 'x' has a dimension of -1");
	array.array_shape = &deep;
	refuse_array(&array, SP_UNSUPPORTED, "input 'x' has more than 8 dimensions");
	array.array_shape = &huge;
	snprintf(text, sizeof(text), "input 'x' has a shape too large: [%lld,3]", LLONG_MAX);
	refuse_array(&array, SP_INVALID, text);
}

static void types_that_requests_cannot_carry(void **state)
{
	static const struct {
		int dtype;
		const char *text;
	} cases[] = {
		{SP_RESOURCE, "input 'x' has dtype 20 (DT_RESOURCE), which requests cannot carry"},
		{SP_VARIANT, "input 'x' has dtype 21 (DT_VARIANT), which requests cannot carry"},
		{SP_UINT32, "input 'x' has dtype 22 (DT_UINT32), which requests cannot carry"},
		{99, "input 'x' has dtype 99 (DT_INVALID), which requests cannot carry"},
		{-1, "input 'x' has dtype -1 (DT_INVALID), which requests cannot carry"},
	};
	float values[2] = {1.0f, 2.0f};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		array_proto array = array_of(cases[i].dtype, NULL);

		array.n_float_val = 2;
		array.float_val = values;
		refuse_array(&array, SP_UNSUPPORTED, cases[i].text);
	}
	refuse_message(MESSAGE("\x12\x03\x0a\x01x"), SP_INVALID, "input 'x' has no dtype");
}

static void names_that_lead_nowhere(void **state)
{
	array_proto array = array_of(SP_FLOAT, NULL);
	float value = 1.0f;

	(void)state;
	array.n_float_val = 1;
	array.float_val = &value;
	refuse_message(pack_input("ph/z:0", &array), SP_INVALID,
		       "signature 'serving_default' has no input 'ph/z:0'; it has 'x', 'y'");
	refuse_message(MESSAGE("\x12\x06\x12\x04\x08\x03\x28\x07"), SP_INVALID,
		       "signature 'serving_default' has no input ''; it has 'x', 'y'");
	refuse_message(MESSAGE("\x1a\x01z"), SP_INVALID,
		       "signature 'serving_default' has no output 'z'; it has 'p', 'q'");
	refuse_message(MESSAGE("\x12\x09\x0a\x01x\x12\x04\x08\x03\x28\x07"
			       "\x12\x0d\x0a\x05ph/x\x00\x12\x04\x08\x03\x28\x07"),
		       SP_INVALID,
		       "signature 'serving_default' has no input 'ph/x'; it has 'x', 'y'");
	refuse_message(MESSAGE("\x12\x09\x0a\x01x\x12\x04\x08\x03\x28\x07"
			       "\x12\x0c\x0a\x04ph/x\x12\x04\x08\x03\x28\x07"),
		       SP_INVALID, "'x' and 'ph/x' are the same input; give it once");
}

static void bytes_that_are_no_message(void **state)
{
	static const char request[] = "the request is not a PredictRequest message";
	static const char input[] = "input 'x' is not an ArrayProto message";

	(void)state;
	refuse_message(MESSAGE("{\"x\": 1}"), SP_INVALID, request);
	refuse_message(MESSAGE("\x12\x7f"), SP_INVALID, request);
	refuse_message(MESSAGE("\x12\x02\x0a\x05"), SP_INVALID, request);
	refuse_message(INPUT_X("\x06", "\x01", "\x08"), SP_INVALID, input);
	/* three bytes of packed floats; a packed varint cut off; one of 11 bytes */
	refuse_message(INPUT_X("\x0c", "\x07", "\x08\x01\x1a\x03zzz"), SP_INVALID, input);
	refuse_message(INPUT_X("\x0a", "\x05", "\x08\x09\x3a\x01\x80"), SP_INVALID, input);
	refuse_message(INPUT_X("\x14", "\x0f",
			       "\x08\x09\x3a\x0b"
			       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		       SP_INVALID, input);
	refuse_message(INPUT_X("\x0b", "\x06", "\x08\x01\x12\x02\x0a\x05"), SP_INVALID, input);
}

/* Both in a row; in the workspace. */
static sp_bytes joined(sp_bytes first, sp_bytes second)
{
	char *bytes = sp_workspace_bytes(workspace, 1, first.size + second.size);

	assert_non_null(bytes);
	memcpy(bytes, first.data, first.size);
	memcpy(bytes + first.size, second.data, second.size);
	return (sp_bytes){bytes, first.size + second.size};
}

/* A length-delimited field 2 with both in a row. */
static sp_bytes field_2(sp_bytes first, sp_bytes second)
{
	sp_bytes inside = joined(first, second);
	char header[2] = {0x12, (char)inside.size};

	assert_true(inside.size < 128);
	return joined((sp_bytes){header, sizeof(header)}, inside);
}

/* What is right in a request that the tests below break where nobody reads. */
#define NOTHING MESSAGE("")
#define SCALAR  MESSAGE("\x08\x01\x1d\0\0\x80\x3f") /* dtype and float_val */
#define KEY     MESSAGE("\x0a\x01x")

/* A request with an array of which `rest` is a part. */
static sp_bytes with_array(sp_bytes rest)
{
	return field_2(KEY, field_2(SCALAR, rest));
}

/* All of these are refused by the parsers of protobuf 3.21 (C++) and 7.36 (upb), too. */
static void what_nobody_reads_is_checked(void **state)
{
	static const char request[] = "the request is not a PredictRequest message";
	static const char array[] = "input 'x' is not an ArrayProto message";
	static const sp_bytes in_array[] = {
		/* varints of 11 bytes in int_val, int64_val, bool_val */
		MESSAGE("\x2a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		MESSAGE("\x3a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		MESSAGE("\x42\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		MESSAGE("\x3a\x02\x01\x80"),             /* int64_val is cut off */
		MESSAGE("\x22\x07xxxxxxx"),              /* no doubles */
		MESSAGE("\xc8\x80\x80\x80\x80\x00\x01"), /* a tag of 6 bytes */
		MESSAGE("\x4a\x80\x80\x80\x80\x80\x00"), /* a length of 6 bytes */
		MESSAGE("\x4b\x4d"),                     /* a group that does not end */
		MESSAGE("\x4b\x32\x05x\x4c"),            /* string_val longer than its group */
		MESSAGE("\x0c"),                         /* the end of no group */
		MESSAGE("\x4e"),                         /* wire type 6 */
		MESSAGE("\x12\x03\x4a\x02x"),            /* an unknown field in the shape */
	};
	static const sp_bytes in_entry[] = {
		MESSAGE("\x1a\x05x"), MESSAGE("\x00"), MESSAGE("\x1b"),
		MESSAGE("\x0a\x01\xff"), /* a key that is no UTF-8 */
	};
	static const sp_bytes in_request[] = {
		MESSAGE("\x0a\x01\xff"),                  /* signature_name is no UTF-8, */
		MESSAGE("\x0a\x02\xc0\x80"),              /* overlong, */
		MESSAGE("\x0a\x03\xed\xa0\x80\x0a\x01s"), /* a surrogate */
		MESSAGE("\x1a\x02p\x80"),                 /* output_filter is no UTF-8 */
		MESSAGE("\x28"),                          /* unknown fields, cut off */
		MESSAGE("\x2d\x01\x02\x03"),              /* */
		MESSAGE("\x2a\xff\xff\xff\xff\x7f"),      /* */
		MESSAGE("\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(in_array) / sizeof(in_array[0]); i++)
		refuse_message(with_array(in_array[i]), SP_INVALID, array);
	for (size_t i = 0; i < sizeof(in_entry) / sizeof(in_entry[0]); i++)
		refuse_message(field_2(in_entry[i], joined(KEY, field_2(SCALAR, NOTHING))),
			       SP_INVALID, request);
	for (size_t i = 0; i < sizeof(in_request) / sizeof(in_request[0]); i++)
		refuse_message(joined(in_request[i], with_array(NOTHING)), SP_INVALID, request);
}

/* Parts that make a message only together, and an entry that a later one replaces. */
static void every_part_of_a_value_is_a_message(void **state)
{
	static const char request[] = "the request is not a PredictRequest message";
	sp_bytes half = field_2(KEY, field_2(MESSAGE("\x08"), NOTHING));

	(void)state;
	refuse_message(MESSAGE("\x12\x0d\x0a\x01x\x12\x01\x08\x12\x06\x01\x1d\0\0\x80\x3f"),
		       SP_INVALID, request);
	refuse_message(MESSAGE("\x12\x0f\x0a\x01x\x12\x08\x08\x01\x1d\0\0\x80\x3f\x4b\x12\x01\x4c"),
		       SP_INVALID, request);
	refuse_message(joined(half, with_array(NOTHING)), SP_INVALID, request);
	decode_message(joined(with_array(NOTHING), with_array(NOTHING)));
}

/* Protobuf's parsers take these. */
static void what_nobody_reads_may_be_anything_else(void **state)
{
	static const sp_bytes in_array[] = {
		MESSAGE("\x3a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), /* bits above 64 */
		MESSAGE("\x22\x08xxxxxxxx"),
		MESSAGE("\x32\x02\xff\xfe"),         /* string_val is bytes */
		MESSAGE("\x4a\x02\xff\xfe"),         /* and so is what is not known */
		MESSAGE("\x0a\x02\xff\xfe"),         /* dtype, which is no message */
		MESSAGE("\xcb\x04\xcc\x04"),         /* a group */
		MESSAGE("\x90\x80\x80\x80\x00\x01"), /* a tag of 5 bytes */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(in_array) / sizeof(in_array[0]); i++) {
		sp_tensor x = decode_message(with_array(in_array[i]));

		assert_tensor(&x, SP_FLOAT, 0, NULL, (float[]){1}, 4);
	}
	decode_message(MESSAGE("\x0a\x02\xc3\xa9"));
	decode_message(MESSAGE("\x0a\x01\0"));
}

static void every_shorter_message_is_answered(void **state)
{
	array_shape shape = DIMS(3);
	array_proto array = array_of(SP_INT64, &shape);
	int64_t values[3] = {1, 1 << 20, -5};
	sp_predict_request request;
	sp_bytes message;
	sp_error err;

	(void)state;
	array.n_int64_val = 3;
	array.int64_val = values;
	message = pack_input("x", &array);
	for (size_t size = 0; size < message.size; size++) {
		char *cut = malloc(size != 0 ? size : 1); /* so that a checker sees its end */
		sp_status status;

		assert_non_null(cut);
		memcpy(cut, message.data, size);
		status = sp_predict_request_decode(&request, &endpoint, (sp_bytes){cut, size},
						   workspace, &err);
		/* Nothing, or only the signature's name. */
		assert_int_equal(status, size == 0 || size == 9 ? SP_OK : SP_INVALID);
		free(cut);
	}
}

static void a_request_past_the_limit_is_refused(void **state)
{
	enum { COUNT = 1 << 16 };
	static int64_t longs[COUNT];
	sp_workspace *small = sp_workspace_create(64 << 10);
	array_shape shape = DIMS(COUNT);
	array_proto array = array_of(SP_INT64, &shape);
	sp_predict_request request;
	sp_error err;

	(void)state;
	array.n_int64_val = COUNT;
	array.int64_val = longs;
	assert_int_equal(sp_predict_request_decode(&request, &endpoint, pack_input("x", &array),
						   small, &err),
			 SP_NO_MEMORY);
	assert_non_null(strstr(err.text, "input 'x'"));
	sp_workspace_destroy(small);
}

/* ------------------------------------------------------------------ outputs */

static void output_filter_keeps_order_and_spelling(void **state)
{
	sp_predict_request request;
	sp_error err;

	(void)state;
	/* "head/q", "p", "q", "p", "head/q:0", "head/q" */
	assert_ok(sp_predict_request_decode(&request, &endpoint,
					    MESSAGE("\x1a\x06head/q\x1a\x01p\x1a\x01q\x1a\x01p"
						    "\x1a\x08head/q:0\x1a\x06head/q"),
					    workspace, &err),
		  &err);
	assert_int_equal(request.output_count, 4);
	assert_true(sp_bytes_equal_text(request.outputs[0].name, "head/q"));
	assert_int_equal(request.outputs[0].index, 1);
	assert_true(sp_bytes_equal_text(request.outputs[1].name, "p"));
	assert_int_equal(request.outputs[1].index, 0);
	assert_true(sp_bytes_equal_text(request.outputs[2].name, "q"));
	assert_true(sp_bytes_equal_text(request.outputs[3].name, "head/q:0"));
	assert_false(sp_tensor_is_set(&request.inputs[0]));
}

static void no_filter_is_all_outputs_by_alias(void **state)
{
	sp_predict_request request;
	sp_error err;

	(void)state;
	assert_ok(sp_predict_request_decode(&request, &endpoint, (sp_bytes){NULL, 0}, workspace,
					    &err),
		  &err);
	assert_int_equal(request.output_count, 2);
	assert_true(sp_bytes_equal_text(request.outputs[0].name, "p"));
	assert_true(sp_bytes_equal_text(request.outputs[1].name, "q"));
	assert_int_equal(request.outputs[1].index, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_teardown(test, reset)
	const struct CMUnitTest tests[] = {
		CASE(floats_and_doubles),
		CASE(whole_numbers_and_bools),
		CASE(narrow_integers_are_cut),
		CASE(halves_come_as_floats),
		CASE(complex_numbers_come_in_pairs),
		CASE(a_nan_stays_one_as_bfloat16),
		CASE(strings_are_views_of_the_request),
		CASE(a_shape_may_be_absent_or_empty),
		CASE(a_zero_dimension_means_no_values),
		CASE(long_arrays_come_through),
		CASE(floats_stay_where_they_are_if_they_may),
		CASE(unpacked_and_packed_mix),
		CASE(repeated_parts_are_merged),
		CASE(the_last_entry_of_a_key_wins),
		CASE(unknown_fields_are_skipped),
		CASE(counts_that_do_not_fit_the_shape),
		CASE(shapes_that_are_none),
		CASE(types_that_requests_cannot_carry),
		CASE(names_that_lead_nowhere),
		CASE(bytes_that_are_no_message),
		CASE(what_nobody_reads_is_checked),
		CASE(every_part_of_a_value_is_a_message),
		CASE(what_nobody_reads_may_be_anything_else),
		CASE(every_shorter_message_is_answered),
		CASE(a_request_past_the_limit_is_refused),
		CASE(output_filter_keeps_order_and_spelling),
		CASE(no_filter_is_all_outputs_by_alias),
	};

	return cmocka_run_group_tests_name("predict_request", tests, set_up, tear_down);
}
