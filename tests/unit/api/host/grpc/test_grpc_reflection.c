#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/grpc/grpc_reflection.h"
#include "base/wire.h"
#include "tests/support/wire.h"

/* The field that answers, its content in *out; the answer lives in `answer`. */
static uint32_t ask(sp_buffer *answer, uint32_t field, const char *text, sp_bytes *out)
{
	sp_buffer request = sp_wire_begin();
	sp_wire_field found;
	uint32_t number = 0;
	sp_wire wire;
	sp_error err;

	sp_wire_text(&request, field, text);
	sp_buffer_clear(answer);
	assert_ok(sp_grpc_reflect(answer, sp_wire_view(&request), &err), &err);
	assert_false(answer->failed);
	wire = sp_wire_of((sp_bytes){answer->data, answer->size});
	while (sp_wire_next(&wire, &found)) {
		if (found.number == 2) {
			assert_true(sp_bytes_equal(found.bytes, sp_wire_view(&request)));
		} else {
			number = found.number;
			*out = found.bytes;
		}
	}
	sp_buffer_fini(&request);
	return number;
}

static bool has(sp_bytes bytes, const char *text)
{
	return memmem(bytes.data, bytes.size, text, strlen(text)) != NULL;
}

static void services_are_listed(void **state)
{
	static const char *const names[] = {
		"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService",
		"inference.GRPCInferenceService",       "grpc.health.v1.Health",
		"grpc.reflection.v1.ServerReflection",  "grpc.reflection.v1alpha.ServerReflection",
	};
	sp_buffer answer;
	sp_bytes list;

	(void)state;
	sp_buffer_init(&answer, 1 << 20);
	assert_int_equal(ask(&answer, 7, "*", &list), 6);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(has(list, names[i]));
	sp_buffer_fini(&answer);
}

static void symbols_are_found_in_their_files(void **state)
{
	static const struct {
		const char *symbol, *file;
	} cases[] = {
		{"tensorflow.serving.PredictionService", "serving.proto"},
		{"tensorflow.serving.PredictionService.Predict", "serving.proto"},
		{"tensorflow.serving.PredictRequest", "serving.proto"},
		{"tensorflow.serving.PredictRequest.InputsEntry", "serving.proto"},
		{"tensorflow.serving.PredictRequest.model_spec", "serving.proto"},
		{"tensorflow.serving.ModelVersionStatus.State", "serving.proto"},
		{"tensorflow.serving.FileSystemStoragePathSourceConfig.ServableVersionPolicy.All",
		 "serving.proto"},
		{"tensorflow.TensorProto", "tensorflow.proto"},
		{"tensorflow.DataType", "tensorflow.proto"},
		{"tensorflow.error.Code", "tensorflow_error.proto"},
		{"google.protobuf.Any", "google/protobuf/any.proto"},
	};
	sp_buffer answer;
	sp_bytes file;

	(void)state;
	sp_buffer_init(&answer, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ask(&answer, 4, cases[i].symbol, &file), 4);
		assert_true(has(file, cases[i].file));
		assert_int_equal(ask(&answer, 3, cases[i].file, &file), 4);
	}
	sp_buffer_fini(&answer);
}

static void what_is_not_there_is_an_error_in_the_answer(void **state)
{
	static const struct {
		uint32_t field;
		const char *text;
	} cases[] = {
		{3, "none.proto"},
		{4, "tensorflow"},
		{4, "tensorflow.serving.PredictionService.Predict.x"},
		{4, "tensorflow.serving.Predict"},
		{4, "tensorflow.serving.PredictRequestX"},
		{5, ""},
		{6, "tensorflow.TensorProto"},
		{9, "unknown field"},
	};
	sp_buffer answer;
	sp_bytes error;

	(void)state;
	sp_buffer_init(&answer, 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(ask(&answer, cases[i].field, cases[i].text, &error), 7);
	assert_int_equal(sp_grpc_reflect(&answer, (sp_bytes){"\x1a\5", 2}, NULL), SP_INVALID);
	sp_buffer_fini(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_are_listed),
		cmocka_unit_test(symbols_are_found_in_their_files),
		cmocka_unit_test(what_is_not_there_is_an_error_in_the_answer),
	};

	return cmocka_run_group_tests_name("grpc_reflection", tests, NULL, NULL);
}
