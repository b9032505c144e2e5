#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "processor/processor.h"
#include "tests/support/model_double.h"
#include "tests/support/paths.h"
#include "tests/support/predict.pb-c.h"

typedef Tensorflow__Eas__PredictResponse predict_response;

/* a = {1, 2} and b = {10, 20} as float tensors of shape [2] */
static const char a_and_b[] = "\x12\x15\x0a\x01\x61\x12\x10\x08\x01\x12\x02\x08\x02"
			      "\x1a\x08\0\0\x80\x3f\0\0\0\x40"
			      "\x12\x15\x0a\x01\x62\x12\x10\x08\x01\x12\x02\x08\x02"
			      "\x1a\x08\0\0\x20\x41\0\0\xa0\x41";

static sp_processor *processor;

static void drop(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static const char *config_of(const char *signature, const char *more)
{
	static char config[SP_PATH_SIZE + 1024];
	char model[SP_PATH_SIZE];

	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"%s\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\", \"session_num\": 2 %s}",
		 sp_source_path(model, "tests/golden/ev-ctr/model"), signature, more);
	return config;
}

static int set_up(void **state)
{
	sp_error err;

	(void)state;
	sp_log_set_sink(drop, NULL);
	memset(&sp_the_model_double, 0, sizeof(sp_the_model_double));
	assert_ok(sp_processor_open(&processor, config_of("numbers", ""), &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_processor_close(processor);
	assert_int_equal(sp_the_model_double.alive, 0);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static void a_request_is_answered(void **state)
{
	predict_response *response;
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	assert_ok(sp_processor_predict(processor, NULL, NULL,
				       (sp_bytes){a_and_b, sizeof(a_and_b) - 1}, NULL, &block,
				       &size, &err),
		  &err);
	response = tensorflow__eas__predict_response__unpack(NULL, size, block);
	assert_non_null(response);
	assert_string_equal(response->outputs[1]->key, "sum");
	assert_true(response->outputs[1]->value->float_val[1] == 22.0f);
	tensorflow__eas__predict_response__free_unpacked(response, NULL);
	sp_free(block);
}

static void any_signature_can_be_asked(void **state)
{
	static const char text[] = "\x12\x0d\x0a\x01t\x12\x08\x08\x07\x32\x04warm";
	sp_bytes message = {text, sizeof(text) - 1};
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	assert_ok(
		sp_processor_predict(processor, NULL, "texts", message, NULL, &block, &size, &err),
		&err);
	sp_free(block);
	assert_int_equal(sp_processor_predict(processor, NULL, "numbers", message, NULL, &block,
					      &size, &err),
			 SP_INVALID);
	assert_int_equal(
		sp_processor_predict(processor, NULL, "nobody", message, NULL, &block, &size, &err),
		SP_NOT_FOUND);
	assert_string_equal(err.text, "the model has no signature 'nobody'");
}

/* Field 1 names the other signature; the configured one answers. */
static void the_requests_own_signature_name_is_not_read(void **state)
{
	char message[7 + sizeof(a_and_b)] = "\x0a\x05texts";
	void *block;
	size_t size;
	sp_error err;

	(void)state;
	memcpy(message + 7, a_and_b, sizeof(a_and_b));
	assert_ok(sp_processor_predict(processor, NULL, NULL,
				       (sp_bytes){message, sizeof(message) - 1}, NULL, &block,
				       &size, &err),
		  &err);
	sp_free(block);
}

static void what_it_says_of_itself(void **state)
{
	sp_version *version = sp_processor_acquire(processor);
	const sp_runtime *runtime = version->runtime;
	char *versions;

	(void)state;
	assert_int_equal(runtime->endpoint_count, 2);
	assert_string_equal(runtime->endpoints[0].signature.name, "numbers");
	assert_string_equal(runtime->endpoints[1].signature.name, "texts");
	assert_ptr_equal(sp_runtime_endpoint(runtime, NULL), &runtime->endpoints[0]);
	assert_null(sp_runtime_endpoint(runtime, "nobody"));
	assert_string_equal(
		sp_runtime_endpoint(runtime, "texts")->json,
		"{\"signature_name\": \"texts\","
		"\"inputs\": [{\"name\": \"t\",\"shape\": [-1],\"type\": \"DT_STRING\"}],"
		"\"outputs\": [{\"name\": \"same_t\",\"shape\": [-1],\"type\": \"DT_STRING\"}]}");
	assert_string_equal(version->checkpoint_prefix, "");
	assert_int_equal(version->full_step, -1);
	assert_int_equal(version->delta_step, -1);
	sp_processor_release(version);
	versions = sp_processor_versions(processor);
	assert_non_null(strstr(versions, "\"state\":\"live\""));
	sp_free(versions);
}

static void what_cannot_be_opened(void **state)
{
	sp_processor *other = NULL;
	sp_error err;

	(void)state;
	assert_int_equal(sp_processor_open(&other, "{}", &err), SP_INVALID);
	assert_int_equal(sp_processor_open(&other, config_of("nobody", ""), &err), SP_INVALID);
	assert_string_equal(err.text, "the model has no signature 'nobody'");
	assert_int_equal(
		sp_processor_open(
			&other, config_of("numbers", ", \"warmup_file_name\": \"/no/such\""), &err),
		SP_NOT_FOUND);
	assert_non_null(strstr(err.text, "/no/such"));
	assert_null(other);
	assert_int_equal(sp_the_model_double.alive, 2); /* model and weights of the set-up */
	sp_processor_close(NULL);
}

/* -------------------------------------------------------------------- threads */

enum { THREADS = 8, ROUNDS = 500 };

static atomic_int wrong;

static void *ask(void *unused)
{
	sp_bytes good = {a_and_b, sizeof(a_and_b) - 1}, bad = {a_and_b, sizeof(a_and_b) - 2};
	void *block;
	size_t size;
	sp_error err;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		predict_response *response;

		if (sp_processor_predict(processor, NULL, NULL, bad, NULL, &block, &size, &err) !=
		    SP_INVALID)
			atomic_fetch_add(&wrong, 1);
		if (sp_processor_predict(processor, NULL, NULL, good, NULL, &block, &size, &err) !=
		    SP_OK) {
			atomic_fetch_add(&wrong, 1);
			continue;
		}
		response = tensorflow__eas__predict_response__unpack(NULL, size, block);
		if (response == NULL || response->outputs[1]->value->float_val[0] != 11.0f)
			atomic_fetch_add(&wrong, 1);
		tensorflow__eas__predict_response__free_unpacked(response, NULL);
		sp_free(block);
	}
	return NULL;
}

static void more_threads_than_sessions(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&wrong, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_request_is_answered),
		CASE(any_signature_can_be_asked),
		CASE(the_requests_own_signature_name_is_not_read),
		CASE(what_it_says_of_itself),
		CASE(what_cannot_be_opened),
		CASE(more_threads_than_sessions),
	};

	return cmocka_run_group_tests_name("processor", tests, NULL, NULL);
}
