#include "tests/support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "processor/request/predict_codec.h"
#include "tests/support/predict.pb-c.h"

typedef Tensorflow__Eas__ArrayProto array_proto;
typedef Tensorflow__Eas__PredictResponse predict_response;

/* Our bytes of one output "out": protobuf-c reads them, and would write the same. */
static predict_response *encode(const sp_tensor *tensor)
{
	sp_predict_output output = {.name = {"out", 3}, .tensor = tensor};
	predict_response *response;
	void *block;
	size_t size;
	uint8_t *again;
	sp_error err;

	assert_ok(sp_predict_response_encode(&block, &size, &output, 1, &err), &err);
	assert_int_equal(((char *)block)[size], '\0');
	response = tensorflow__eas__predict_response__unpack(NULL, size, block);
	assert_non_null(response);
	assert_int_equal(tensorflow__eas__predict_response__get_packed_size(response), size);
	again = malloc(size);
	tensorflow__eas__predict_response__pack(response, again);
	assert_memory_equal(again, block, size);
	free(again);
	sp_free(block);
	assert_int_equal(response->n_outputs, 1);
	assert_string_equal(response->outputs[0]->key, "out");
	assert_int_equal(response->outputs[0]->value->dtype, tensor->dtype);
	return response;
}

#define TENSOR(type, dimension, values)                         \
	((sp_tensor){.dtype = (type),                           \
		     .shape = {.rank = 1, .dims = {dimension}}, \
		     .count = (dimension),                      \
		     .data = (values)})

static void floating_outputs(void **state)
{
	float floats[3] = {1.5f, -0.0f, INFINITY};
	double doubles[2] = {1e300, -2.0};
	uint16_t halves[2] = {0x3c00, 0xfc00}, bfloats[2] = {0x3fc0, 0xc000};
	sp_tensor tensor = TENSOR(SP_FLOAT, 3, floats);
	predict_response *response = encode(&tensor);

	(void)state;
	assert_int_equal(response->outputs[0]->value->array_shape->n_dim, 1);
	assert_int_equal(response->outputs[0]->value->array_shape->dim[0], 3);
	assert_int_equal(response->outputs[0]->value->n_float_val, 3);
	assert_memory_equal(response->outputs[0]->value->float_val, floats, sizeof(floats));
	tensorflow__eas__predict_response__free_unpacked(response, NULL);

	tensor = TENSOR(SP_DOUBLE, 2, doubles);
	response = encode(&tensor);
	assert_int_equal(response->outputs[0]->value->n_double_val, 2);
	assert_memory_equal(response->outputs[0]->value->double_val, doubles, sizeof(doubles));
	tensorflow__eas__predict_response__free_unpacked(response, NULL);

	tensor = TENSOR(SP_HALF, 2, halves);
	response = encode(&tensor);
	assert_int_equal(response->outputs[0]->value->n_float_val, 2);
	assert_true(response->outputs[0]->value->float_val[0] == 1.0f);
	assert_true(response->outputs[0]->value->float_val[1] == -INFINITY);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);

	tensor = TENSOR(SP_BFLOAT16, 2, bfloats);
	response = encode(&tensor);
	assert_true(response->outputs[0]->value->float_val[0] == 1.5f);
	assert_true(response->outputs[0]->value->float_val[1] == -2.0f);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void check_integers(sp_dtype dtype, void *data, const int32_t *expected, int count)
{
	sp_tensor tensor = TENSOR(dtype, count, data);
	predict_response *response = encode(&tensor);

	assert_int_equal(response->outputs[0]->value->n_int_val, count);
	for (int i = 0; i < count; i++)
		assert_int_equal(response->outputs[0]->value->int_val[i], expected[i]);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void integer_outputs(void **state)
{
	int32_t ints[3] = {-1, INT32_MIN, 300};
	int8_t bytes[3] = {-1, 127, -128};
	uint8_t ubytes[2] = {255, 1};
	int16_t shorts[2] = {-2, 32767};
	uint16_t ushorts[2] = {65535, 3};
	int64_t longs[4] = {INT64_MIN, -1, 0, INT64_MAX};
	bool flags[3] = {true, false, true};
	sp_tensor tensor = TENSOR(SP_INT64, 4, longs);
	predict_response *response = encode(&tensor);

	(void)state;
	assert_int_equal(response->outputs[0]->value->n_int64_val, 4);
	assert_memory_equal(response->outputs[0]->value->int64_val, longs, sizeof(longs));
	tensorflow__eas__predict_response__free_unpacked(response, NULL);

	check_integers(SP_INT32, ints, ints, 3);
	check_integers(SP_QINT32, ints, ints, 3);
	check_integers(SP_INT8, bytes, (int32_t[]){-1, 127, -128}, 3);
	check_integers(SP_QINT8, bytes, (int32_t[]){-1, 127, -128}, 3);
	check_integers(SP_UINT8, ubytes, (int32_t[]){255, 1}, 2);
	check_integers(SP_QUINT8, ubytes, (int32_t[]){255, 1}, 2);
	check_integers(SP_INT16, shorts, (int32_t[]){-2, 32767}, 2);
	check_integers(SP_QINT16, shorts, (int32_t[]){-2, 32767}, 2);
	check_integers(SP_UINT16, ushorts, (int32_t[]){65535, 3}, 2);
	check_integers(SP_QUINT16, ushorts, (int32_t[]){65535, 3}, 2);

	tensor = TENSOR(SP_BOOL, 3, flags);
	response = encode(&tensor);
	assert_int_equal(response->outputs[0]->value->n_bool_val, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(response->outputs[0]->value->bool_val[i], flags[i]);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void complex_outputs(void **state)
{
	float floats[4] = {1.0f, -2.0f, 0.5f, 3.0f};
	double doubles[2] = {1e300, -1.0};
	sp_tensor tensor = TENSOR(SP_COMPLEX64, 2, floats);
	predict_response *response = encode(&tensor);

	(void)state;
	assert_int_equal(response->outputs[0]->value->n_float_val, 4);
	assert_memory_equal(response->outputs[0]->value->float_val, floats, sizeof(floats));
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
	tensor = TENSOR(SP_COMPLEX128, 1, doubles);
	response = encode(&tensor);
	assert_int_equal(response->outputs[0]->value->n_double_val, 2);
	assert_memory_equal(response->outputs[0]->value->double_val, doubles, sizeof(doubles));
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void string_outputs(void **state)
{
	sp_bytes texts[3] = {{"a\0b", 3}, {NULL, 0}, {"\xff", 1}};
	sp_tensor tensor = TENSOR(SP_STRING, 3, texts);
	predict_response *response = encode(&tensor);

	(void)state;
	assert_int_equal(response->outputs[0]->value->n_string_val, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(response->outputs[0]->value->string_val[i].len, texts[i].size);
		if (texts[i].size != 0)
			assert_memory_equal(response->outputs[0]->value->string_val[i].data,
					    texts[i].data, texts[i].size);
	}
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void scalars_and_empty_outputs(void **state)
{
	float value = 4.0f;
	sp_tensor tensor = {.dtype = SP_FLOAT, .count = 1, .data = &value};
	predict_response *response = encode(&tensor);

	(void)state;
	assert_non_null(response->outputs[0]->value->array_shape);
	assert_int_equal(response->outputs[0]->value->array_shape->n_dim, 0);
	assert_int_equal(response->outputs[0]->value->n_float_val, 1);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);

	tensor = (sp_tensor){.dtype = SP_STRING, .shape = {.rank = 2, .dims = {0, 7}}};
	response = encode(&tensor);
	assert_int_equal(response->outputs[0]->value->array_shape->n_dim, 2);
	assert_int_equal(response->outputs[0]->value->array_shape->dim[1], 7);
	assert_int_equal(response->outputs[0]->value->n_string_val, 0);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
}

static void several_outputs_keep_their_order(void **state)
{
	float value = 1.0f;
	sp_tensor tensor = {.dtype = SP_FLOAT, .count = 1, .data = &value};
	sp_predict_output several[3] = {{.name = {"z", 1}, .tensor = &tensor},
					{.name = {"", 0}, .tensor = &tensor},
					{.name = {"a", 1}, .tensor = &tensor}};
	predict_response *response;
	uint64_t before = sp_alloc_count();
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	assert_ok(sp_predict_response_encode(&block, &size, several, 3, &err), &err);
	assert_int_equal(sp_alloc_count() - before, 1);
	response = tensorflow__eas__predict_response__unpack(NULL, size, block);
	sp_free(block);
	assert_non_null(response);
	assert_int_equal(response->n_outputs, 3);
	assert_string_equal(response->outputs[0]->key, "z");
	assert_string_equal(response->outputs[1]->key, "");
	assert_string_equal(response->outputs[2]->key, "a");
	tensorflow__eas__predict_response__free_unpacked(response, NULL);

	assert_ok(sp_predict_response_encode(&block, &size, NULL, 0, &err), &err);
	assert_int_equal(size, 0);
	assert_string_equal(block, "");
	sp_free(block);
}

static void outputs_that_responses_cannot_carry(void **state)
{
	uint64_t value = 1;
	sp_tensor tensor = {.dtype = SP_UINT64, .count = 1, .data = &value};
	sp_predict_output output = {.name = {"out", 3}, .tensor = &tensor};
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	assert_int_equal(sp_predict_response_encode(&block, &size, &output, 1, &err),
			 SP_UNSUPPORTED);
	assert_string_equal(err.text, "output 'out' is DT_UINT64, which responses cannot carry");
}

static void an_answer_past_an_int_is_refused(void **state)
{
	static char text[1 << 20];
	enum { COUNT = 2048 };
	static sp_bytes texts[COUNT];
	sp_tensor tensor = TENSOR(SP_STRING, COUNT, texts);
	sp_predict_output output = {.name = {"out", 3}, .tensor = &tensor};
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		texts[i] = (sp_bytes){text, sizeof(text)};
	assert_int_equal(sp_predict_response_encode(&block, &size, &output, 1, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "at most 2147483647"));
}

static void model_info(void **state)
{
	Tensorflow__Eas__ServingModelInfo *info;
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	assert_ok(sp_model_info_encode(&block, &size, "/data/1/DeepFM-checkpoint-1", &err), &err);
	info = tensorflow__eas__serving_model_info__unpack(NULL, size, block);
	assert_non_null(info);
	assert_string_equal(info->model_path, "/data/1/DeepFM-checkpoint-1");
	tensorflow__eas__serving_model_info__free_unpacked(info, NULL);
	sp_free(block);
	assert_ok(sp_model_info_encode(&block, &size, "", &err), &err);
	assert_int_equal(size, 0);
	assert_string_equal(block, "");
	sp_free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floating_outputs),
		cmocka_unit_test(integer_outputs),
		cmocka_unit_test(complex_outputs),
		cmocka_unit_test(string_outputs),
		cmocka_unit_test(scalars_and_empty_outputs),
		cmocka_unit_test(several_outputs_keep_their_order),
		cmocka_unit_test(outputs_that_responses_cannot_carry),
		cmocka_unit_test(an_answer_past_an_int_is_refused),
		cmocka_unit_test(model_info),
	};

	return cmocka_run_group_tests_name("predict_response", tests, NULL, NULL);
}
