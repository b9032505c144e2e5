#include "tests/support/cmocka.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/serving_processor.h"
#include "base/alloc.h"
#include "tests/support/model_double.h"
#include "tests/support/paths.h"

/* The exported functions over tests/support/small_model.h. */

/* a = {1, 2} and b = {10, 20} as float tensors of shape [2] */
static const char a_and_b[] = "\x12\x15\x0a\x01\x61\x12\x10\x08\x01\x12\x02\x08\x02"
			      "\x1a\x08\0\0\x80\x3f\0\0\0\x40"
			      "\x12\x15\x0a\x01\x62\x12\x10\x08\x01\x12\x02\x08\x02"
			      "\x1a\x08\0\0\x20\x41\0\0\xa0\x41";

static const char numbers_json[] =
	"{\"signature_name\": \"numbers\","
	"\"inputs\": [{\"name\": \"a\",\"shape\": [-1],\"type\": \"DT_FLOAT\"},"
	"{\"name\": \"b\",\"shape\": [-1],\"type\": \"DT_FLOAT\"}],"
	"\"outputs\": [{\"name\": \"same_a\",\"shape\": [-1],\"type\": \"DT_FLOAT\"},"
	"{\"name\": \"sum\",\"shape\": [-1],\"type\": \"DT_FLOAT\"}]}";

static char config[SP_PATH_SIZE + 512];
static void *model;
static char last_error[1024], last_warning[1024];
static int warnings, errors;

static void keep_errors(void *context, int level, const char *line)
{
	(void)context;
	if (level == 3)
		snprintf(last_error, sizeof(last_error), "%s", line);
	if (level == 2)
		snprintf(last_warning, sizeof(last_warning), "%s", line);
	warnings += level == 2;
	errors += level == 3;
}

static int set_up(void **state)
{
	char folder[SP_PATH_SIZE];
	int outcome = 7;

	(void)state;
	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"numbers\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\"}",
		 sp_source_path(folder, "tests/golden/ev-ctr/model"));
	last_error[0] = last_warning[0] = '\0';
	warnings = errors = 0;
	serving_processor_set_log(keep_errors, NULL);
	model = initialize("", config, &outcome);
	assert_non_null(model);
	assert_int_equal(outcome, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	serving_processor_destroy(model);
	serving_processor_set_log(NULL, NULL);
	serving_processor_set_log_level(1);
	assert_int_equal(sp_the_model_double.alive, 0);
	return 0;
}

/* ----------------------------------------------------------- DeepRec's C ABI */

static void initialize_says_how_it_went(void **state)
{
	int outcome = 7;
	void *other;

	(void)state;
	assert_null(initialize(NULL, "{}", &outcome));
	assert_int_equal(outcome, -1);
	assert_string_equal(last_error, "[TensorFlow] Processor initialize failed, status: "
					"configuration key 'savedmodel_dir' is missing");
	assert_null(initialize(NULL, NULL, NULL));
	assert_string_equal(last_error, "[TensorFlow] Processor initialize failed, status: "
					"the configuration is NULL");
	assert_null(initialize(NULL, "{\"savedmodel_dir\": \"/models/ctr/17\"}", NULL));
	assert_string_equal(last_error, "[ctr] [TensorFlow] Processor initialize failed, status: "
					"configuration key 'signature_name' is missing");
	other = initialize(NULL, config, NULL);
	assert_non_null(other);
	serving_processor_destroy(other);
}

/* `text` and a NUL behind it, in a block for free(). */
static void assert_text(int code, int wanted_code, void *out, int out_size, const char *text)
{
	assert_int_equal(code, wanted_code);
	assert_non_null(out);
	assert_int_equal(out_size, strlen(text));
	assert_string_equal(out, text);
	free(out);
}

static void an_empty_request_asks_for_the_signature(void **state)
{
	void *out = NULL;
	int size = -1, code = process(model, NULL, 0, &out, &size);

	(void)state;
	assert_text(code, 200, out, size, numbers_json);
	code = serving_processor_process(model, "texts", "", 0, &out, &size);
	assert_int_equal(code, 200);
	assert_non_null(strstr(out, "\"same_t\""));
	free(out);
	code = serving_processor_process(model, "nobody", "", 0, &out, &size);
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor predict failed: the model has no signature 'nobody'");
}

static void a_request_gets_a_response(void **state)
{
	void *out = NULL;
	int size = -1;

	(void)state;
	assert_int_equal(process(model, a_and_b, sizeof(a_and_b) - 1, &out, &size), 200);
	assert_true(size > 8);
	assert_int_equal(((char *)out)[size], '\0');
	/* It ends with the values of the last output, the sum: 11 and 22. */
	assert_memory_equal((char *)out + size - 8, "\0\0\x30\x41\0\0\xb0\x41", 8);
	serving_processor_free(out);
}

static void a_wrong_request_gets_a_text(void **state)
{
	void *out = NULL;
	int size = -1, code = process(model, "{}", 2, &out, &size);

	(void)state;
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor predict failed: the request is not a PredictRequest "
		    "message");
	assert_string_equal(last_error, "");
	assert_string_equal(last_warning, "[model] [TensorFlow] Processor predict failed: the "
					  "request is not a PredictRequest message");
	code = process(model, a_and_b, -1, &out, &size);
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor predict failed: no request of -1 bytes");
	code = process(model, a_and_b, INT_MIN, &out, &size);
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor predict failed: no request of -2147483648 bytes");
	code = process(model, NULL, 5, &out, &size);
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor predict failed: no request of 5 bytes");
	code = process(NULL, a_and_b, 5, &out, &size);
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor predict failed: the model is NULL");
}

static void fail_often(const char *request, int size)
{
	for (int i = 0; i < 1000; i++) {
		void *out = NULL;
		int out_size;

		assert_int_equal(process(model, request, size, &out, &out_size), 500);
		free(out);
	}
}

/* A clock that moves on meanwhile allows some more. */
static void nobody_can_fill_the_log(void **state)
{
	(void)state;
	fail_often("{}", 2);
	assert_in_range(warnings, 10, 100);
	assert_int_equal(errors, 0);
	/* The model is closed: what was left out is told. */
	serving_processor_destroy(model);
	model = NULL;
	assert_non_null(strstr(last_warning, " similar lines were left out"));
	assert_memory_equal(last_warning, "[model] ", 8);
}

static void what_fails_here_has_lines_of_its_own(void **state)
{
	(void)state;
	fail_often("{}", 2);
	sp_alloc_fail_after(0);
	fail_often(a_and_b, sizeof(a_and_b) - 1);
	sp_alloc_fail_after(-1);
	assert_in_range(errors, 10, 100);
	assert_memory_equal(last_error, "[model] [TensorFlow] Processor predict failed: ", 47);
}

static void log_lines_are_for_the_host_to_set(void **state)
{
	serving_processor_error *error = NULL;
	char *json;

	(void)state;
	assert_int_equal(serving_processor_log_level(), 1);
	serving_processor_configure_log("{\"log_level\": \"error\", \"session_num\": \"wrong\"}");
	assert_int_equal(serving_processor_log_level(), 3);
	serving_processor_log(2, "ctr", "dropped");
	serving_processor_configure_log("no JSON");
	serving_processor_configure_log(NULL);
	assert_int_equal(serving_processor_log_level(), 3);
	serving_processor_set_log_level(1);
	assert_int_equal(warnings, 0);
	serving_processor_log(2, "c\nr", "%s is\nread");
	assert_string_equal(last_warning, "[c?r] %s is?read");
	serving_processor_log(2, NULL, NULL);
	assert_string_equal(last_warning, "");

	json = serving_processor_override_config("{\"session_num\": 1}", "{\"session_num\": 2}",
						 NULL);
	assert_non_null(strstr(json, "\"session_num\":2}"));
	serving_processor_free(json);
	assert_null(serving_processor_override_config("[]", "{}", &error));
	assert_string_equal(serving_processor_error_text(error),
			    "the configuration is not a JSON object");
	serving_processor_error_free(error);
	assert_null(serving_processor_override_config(NULL, "{}", NULL));
}

static void a_configuration_sets_the_log_and_tells_what_has_no_effect(void **state)
{
	char *json = serving_processor_override_config(
		config, "{\"model_name\": \"ctr\", \"log_level\": \"warning\", \"sesion_num\": 2}",
		NULL);
	void *other = serving_processor_create(json, NULL);

	(void)state;
	assert_non_null(other);
	assert_int_equal(serving_processor_log_level(), 2);
	assert_int_equal(warnings, 1);
	assert_string_equal(last_warning, "[ctr] configuration key 'sesion_num' is not known and "
					  "has no effect; did you mean 'session_num'?");
	serving_processor_destroy(other);
	serving_processor_free(json);
}

static void nowhere_to_put_the_answer(void **state)
{
	void *out = NULL;
	int size = 7;

	(void)state;
	assert_int_equal(process(model, NULL, 0, NULL, &size), 500);
	assert_int_equal(process(model, NULL, 0, &out, NULL), 500);
	assert_int_equal(get_serving_model_info(model, NULL, &size), 500);
	assert_int_equal(get_serving_model_info(model, &out, NULL), 500);
	assert_int_equal(batch_process(model, NULL, NULL, NULL, NULL), 500);
	assert_null(out);
	assert_int_equal(size, 7);
}

static void a_batch_is_its_first_request(void **state)
{
	const void *inputs[2] = {a_and_b, NULL};
	int input_sizes[2] = {sizeof(a_and_b) - 1, -5}, sizes[2] = {-1, -1};
	void *outs[2] = {NULL, NULL};
	int code = batch_process(model, inputs, input_sizes, outs, sizes);

	(void)state;
	assert_int_equal(code, 200);
	assert_memory_equal((char *)outs[0] + sizes[0] - 8, "\0\0\x30\x41\0\0\xb0\x41", 8);
	assert_null(outs[1]);
	assert_int_equal(sizes[1], -1);
	free(outs[0]);

	input_sizes[0] = 0;
	code = batch_process(model, inputs, input_sizes, outs, sizes);
	assert_text(code, 200, outs[0], sizes[0], numbers_json);
	code = batch_process(model, NULL, input_sizes, outs, sizes);
	assert_text(code, 500, outs[0], sizes[0],
		    "[TensorFlow] Processor predict failed: no request of -1 bytes");
	code = batch_process(model, inputs, NULL, outs, sizes);
	assert_text(code, 500, outs[0], sizes[0],
		    "[TensorFlow] Processor predict failed: no request of -1 bytes");
}

static void model_info(void **state)
{
	void *out = NULL;
	int size = -1, code = get_serving_model_info(model, &out, &size);

	(void)state;
	assert_text(code, 200, out, size, ""); /* no checkpoint: an empty message */
	code = get_serving_model_info(NULL, &out, &size);
	assert_text(code, 500, out, size,
		    "[TensorFlow] Processor get serving model info failed: the model is NULL");
}

static void out_of_memory_is_500(void **state)
{
	void *out = &out;
	int size = 7;

	(void)state;
	sp_alloc_fail_after(0);
	assert_int_equal(process(model, a_and_b, sizeof(a_and_b) - 1, &out, &size), 500);
	sp_alloc_fail_after(-1);
	assert_null(out);
	assert_int_equal(size, 0);
	assert_non_null(strstr(last_error, "memory"));
}

static int code_of(void *of, const char *signature, const char *message, int message_size)
{
	void *out = NULL;
	int size, code;

	code = serving_processor_process(of, signature, message, message_size, &out, &size);
	free(out);
	return code;
}

static void codes_of_http(void **state)
{
	char *json = serving_processor_override_config(
		config, "{\"status_codes\": \"http\", \"session_workspace_bytes\": 1048576}", NULL);
	void *other = serving_processor_create(json, NULL);

	(void)state;
	assert_non_null(other);
	assert_int_equal(code_of(other, NULL, a_and_b, sizeof(a_and_b) - 1), 200);
	assert_int_equal(code_of(other, NULL, "", 0), 200);
	assert_int_equal(code_of(other, NULL, "\xff", 1), 400);
	assert_int_equal(code_of(other, NULL, NULL, 1), 400);
	assert_int_equal(code_of(other, "nobody", a_and_b, sizeof(a_and_b) - 1), 404);
	assert_int_equal(code_of(other, "nobody", "", 0), 404);
	sp_alloc_fail_after(0);
	assert_int_equal(code_of(other, NULL, a_and_b, sizeof(a_and_b) - 1), 503);
	sp_alloc_fail_after(-1);
	assert_int_equal(code_of(model, "nobody", "", 0), 500);
	assert_int_equal(code_of(NULL, NULL, "", 0), 500);
	serving_processor_destroy(other);
	serving_processor_free(json);
}

/* -------------------------------------------------------------------- extras */

static void names(void **state)
{
	(void)state;
	assert_int_equal(serving_processor_abi(), SERVING_PROCESSOR_ABI);
	assert_true(strlen(serving_processor_version()) >= 5);
	assert_string_equal(serving_processor_dtype_name(SERVING_PROCESSOR_HALF), "DT_HALF");
	assert_string_equal(serving_processor_dtype_name(-4), "DT_INVALID");
}

static void create_says_why_not(void **state)
{
	serving_processor_error *error = NULL;

	(void)state;
	assert_null(serving_processor_create("[]", &error));
	assert_int_equal(serving_processor_error_code(error), SERVING_PROCESSOR_INVALID);
	assert_string_equal(serving_processor_error_text(error),
			    "the configuration is not a JSON object");
	serving_processor_error_free(error);
	assert_null(serving_processor_create(NULL, NULL));
	assert_int_equal(serving_processor_error_code(NULL), SERVING_PROCESSOR_OK);
	assert_string_equal(serving_processor_error_text(NULL), "");
	serving_processor_error_free(NULL);

	sp_alloc_fail_after(0);
	assert_null(serving_processor_create(config, &error));
	sp_alloc_fail_after(-1);
	assert_int_equal(serving_processor_error_code(error), SERVING_PROCESSOR_NO_MEMORY);
	serving_processor_error_free(error);
}

static void signatures(void **state)
{
	serving_processor_handle *live = serving_processor_acquire(model);
	const serving_processor_signature *all, *numbers, *texts;
	const serving_processor_example_feature *feature;
	const serving_processor_tensor_info *info;
	size_t count;

	(void)state;
	all = serving_processor_handle_signatures(live, &count);
	assert_int_equal(count, 2);
	assert_string_equal(all[1].name, "texts");
	numbers = serving_processor_handle_signature(live, NULL);
	assert_string_equal(numbers->name, "numbers");
	assert_int_equal(numbers->input_count, 2);
	info = numbers->inputs[1];
	assert_string_equal(info->alias, "b");
	assert_string_equal(info->tensor_name, "ph/b:0");
	assert_int_equal(info->dtype, SERVING_PROCESSOR_FLOAT);
	assert_int_equal(info->rank, 1);
	assert_int_equal(info->dims[0], -1);
	texts = serving_processor_handle_signature(live, "texts");
	assert_string_equal(texts->method, "tensorflow/serving/predict");
	assert_string_equal(texts->outputs[0]->alias, "same_t");
	assert_null(serving_processor_handle_signature(live, "nobody"));
	feature = serving_processor_handle_example_features(live, "texts", "t", &count);
	assert_int_equal(count, 1);
	assert_string_equal(feature->name.data, "f");
	assert_int_equal(feature->dtype, SERVING_PROCESSOR_INT64);
	assert_int_equal(feature->kind, SERVING_PROCESSOR_RAGGED);
	assert_null(serving_processor_handle_example_features(live, NULL, "t", &count));
	assert_int_equal(count, 0);
	assert_null(serving_processor_handle_example_features(live, "nobody", "t", NULL));
	serving_processor_release(live);
}

static void version_of_a_savedmodel(void **state)
{
	int64_t full = 5, delta = 5;

	(void)state;
	assert_int_equal(serving_processor_model_version(model, &full, &delta), 0);
	assert_int_equal(full, -1);
	assert_int_equal(delta, -1);
	assert_int_equal(serving_processor_model_version(model, NULL, NULL), 0);
	assert_int_equal(serving_processor_model_version(NULL, &full, &delta), -1);
}

static void versions_and_orders(void **state)
{
	serving_processor_error *error = NULL;
	char *json = serving_processor_versions(model);

	(void)state;
	assert_non_null(strstr(json, "\"state\":\"live\""));
	serving_processor_free(json);
	assert_null(serving_processor_versions(NULL));

	/* Without a checkpoint_dir there is one version; it can be read again. */
	assert_int_equal(
		serving_processor_give_order(model, SERVING_PROCESSOR_RELOAD, -1, -1, NULL, NULL),
		SERVING_PROCESSOR_OK);
	assert_int_equal(serving_processor_give_order(model, SERVING_PROCESSOR_ROLLBACK, -1, -1,
						      NULL, &error),
			 SERVING_PROCESSOR_UNSUPPORTED);
	assert_non_null(strstr(serving_processor_error_text(error), "checkpoint_dir"));
	serving_processor_error_free(error);
	assert_int_equal(
		serving_processor_give_order(model, SERVING_PROCESSOR_PIN, 100, -1, NULL, NULL),
		SERVING_PROCESSOR_UNSUPPORTED);
	assert_int_equal(
		serving_processor_give_order(NULL, SERVING_PROCESSOR_RELOAD, -1, -1, NULL, &error),
		SERVING_PROCESSOR_INVALID);
	serving_processor_error_free(error);
	assert_int_equal(
		serving_processor_give_order(NULL, SERVING_PROCESSOR_ROLLBACK, -1, -1, NULL, NULL),
		SERVING_PROCESSOR_INVALID);
	assert_int_equal(serving_processor_give_order(model, (serving_processor_order)3, -1, -1,
						      "ann", &error),
			 SERVING_PROCESSOR_INVALID);
	assert_string_equal(serving_processor_error_text(error), "there is no order 3");
	serving_processor_error_free(error);
	assert_int_equal(
		serving_processor_give_order(NULL, SERVING_PROCESSOR_PIN, 1, 1, NULL, NULL),
		SERVING_PROCESSOR_INVALID);
}

static const int64_t two[] = {2};
static const float a_values[] = {1, 2}, b_values[] = {10, 20};

static serving_processor_tensor floats(const char *name, const float *values)
{
	return (serving_processor_tensor){.name = name,
					  .dtype = SERVING_PROCESSOR_FLOAT,
					  .rank = 1,
					  .dims = two,
					  .count = 2,
					  .data = values};
}

static void typed_runs(void **state)
{
	serving_processor_tensor inputs[2] = {floats("a", a_values), floats("ph/b", b_values)};
	const char *wanted[] = {"out/sum", "same_a"};
	const serving_processor_tensor *tensor;
	serving_processor_result *result = NULL;

	(void)state;
	assert_int_equal(serving_processor_run(model, NULL, inputs, 2, wanted, 2, &result, NULL),
			 SERVING_PROCESSOR_OK);
	assert_int_equal(serving_processor_result_count(result), 2);
	tensor = serving_processor_result_tensor(result, 0);
	assert_string_equal(tensor->name, "out/sum");
	assert_int_equal(tensor->dtype, SERVING_PROCESSOR_FLOAT);
	assert_int_equal(tensor->rank, 1);
	assert_int_equal(tensor->dims[0], 2);
	assert_int_equal(tensor->count, 2);
	assert_true(((const float *)tensor->data)[1] == 22.0f);
	assert_string_equal(serving_processor_result_tensor(result, 1)->name, "same_a");
	assert_null(serving_processor_result_tensor(result, 2));
	serving_processor_result_free(result);

	assert_int_equal(serving_processor_run(model, "numbers", inputs, 2, NULL, 0, &result, NULL),
			 SERVING_PROCESSOR_OK);
	assert_int_equal(serving_processor_result_count(result), 2);
	assert_string_equal(serving_processor_result_tensor(result, 1)->name, "sum");
	serving_processor_result_free(result);
	serving_processor_result_free(NULL);
	assert_int_equal(serving_processor_result_count(NULL), 0);
	assert_null(serving_processor_result_tensor(NULL, 0));
}

static void refuse_run(void *of, const char *signature, const serving_processor_tensor *input,
		       size_t count, serving_processor_code code, const char *text)
{
	serving_processor_result *result = NULL;
	serving_processor_error *error = NULL;

	assert_int_equal(
		serving_processor_run(of, signature, input, count, NULL, 0, &result, &error), code);
	assert_null(result);
	assert_int_equal(serving_processor_error_code(error), code);
	assert_non_null(strstr(serving_processor_error_text(error), text));
	serving_processor_error_free(error);
}

static void typed_runs_that_are_wrong(void **state)
{
	serving_processor_tensor a = floats("a", a_values);

	(void)state;
	refuse_run(NULL, NULL, &a, 1, SERVING_PROCESSOR_INVALID, "is NULL");
	refuse_run(model, NULL, NULL, 1, SERVING_PROCESSOR_INVALID, "is NULL");
	refuse_run(model, "nobody", &a, 1, SERVING_PROCESSOR_NOT_FOUND, "'nobody'");
	refuse_run(model, NULL, &a, 1, SERVING_PROCESSOR_INVALID, "ph/b");
	assert_int_equal(serving_processor_run(model, NULL, &a, 1, NULL, 0, NULL, NULL),
			 SERVING_PROCESSOR_INVALID);
	a.dims = NULL;
	refuse_run(model, NULL, &a, 1, SERVING_PROCESSOR_INVALID, "input 'a' has no dims");
	a.rank = 9;
	refuse_run(model, NULL, &a, 1, SERVING_PROCESSOR_UNSUPPORTED, "input 'a' has rank 9");
	a.rank = -1;
	refuse_run(model, NULL, &a, 1, SERVING_PROCESSOR_UNSUPPORTED, "input 'a' has rank -1");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(initialize_says_how_it_went),
		CASE(an_empty_request_asks_for_the_signature),
		CASE(a_request_gets_a_response),
		CASE(a_wrong_request_gets_a_text),
		CASE(nobody_can_fill_the_log),
		CASE(what_fails_here_has_lines_of_its_own),
		CASE(log_lines_are_for_the_host_to_set),
		CASE(a_configuration_sets_the_log_and_tells_what_has_no_effect),
		CASE(nowhere_to_put_the_answer),
		CASE(a_batch_is_its_first_request),
		CASE(model_info),
		CASE(out_of_memory_is_500),
		CASE(codes_of_http),
		CASE(names),
		CASE(create_says_why_not),
		CASE(signatures),
		CASE(version_of_a_savedmodel),
		CASE(versions_and_orders),
		CASE(typed_runs),
		CASE(typed_runs_that_are_wrong),
	};

	return cmocka_run_group_tests_name("serving_processor", tests, NULL, NULL);
}
