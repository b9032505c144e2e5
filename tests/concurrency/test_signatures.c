/*
 * Versions with other inputs and outputs come while requests are made by
 * handles, by the live version, and while others ask what the signatures are:
 * what a handle has said holds as long as it is held.  Meant for
 * --enable-sanitize=thread and address, too.
 */
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/paths.h"
#include "tests/support/text_models.h"

enum { MAKERS = 3, VERSIONS = 24, MOST_INPUTS = 3 };

static char base[SP_PATH_SIZE];
static void *model;
static atomic_bool done;
static atomic_int made, wrong;

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

/* Version n has 1, 2 or 3 inputs and multiplies their sum by n. */
static void write_version(int number)
{
	const sp_sum_model version = {"serving_default", number % 2 == 0 ? "even" : "odd",
				      1 + number % MOST_INPUTS, number};
	char folder[SP_PATH_SIZE + 16];

	snprintf(folder, sizeof(folder), "%s/%d", base, number);
	sp_text_models_write_sum(folder, &version);
}

static bool is_right(const serving_processor_handle *handle)
{
	static const float one[] = {1};
	static const int64_t dims[] = {1};
	serving_processor_tensor inputs[MOST_INPUTS];
	const serving_processor_signature *signature;
	const serving_processor_tensor *answer;
	serving_processor_result *result;
	int64_t number;
	bool right;

	signature = serving_processor_handle_signature(handle, NULL);
	for (size_t i = 0; i < signature->input_count; i++)
		inputs[i] = (serving_processor_tensor){
			signature->inputs[i]->alias, SERVING_PROCESSOR_FLOAT, 1, dims, 1, one};
	if (serving_processor_handle_run(handle, NULL, inputs, signature->input_count, NULL, 0,
					 &result, NULL) != SERVING_PROCESSOR_OK ||
	    serving_processor_handle_version(handle, &number, NULL) != 0)
		return false;
	answer = serving_processor_result_tensor(result, 0);
	right = *(const float *)answer->data == (float)(number * (1 + number % MOST_INPUTS)) &&
		strcmp(answer->name, number % 2 == 0 ? "even" : "odd") == 0;
	serving_processor_result_free(result);
	return right;
}

/* One keeps its handle over versions, the others take one for each request. */
static void *make_requests(void *first)
{
	serving_processor_handle *kept = serving_processor_acquire(model);

	while (!atomic_load(&done)) {
		serving_processor_handle *handle = serving_processor_acquire(model);

		wrong += !is_right(handle);
		if (first != NULL)
			wrong += !is_right(kept);
		serving_processor_release(handle);
		if (made++ % 64 == 0) {
			serving_processor_release(kept);
			kept = serving_processor_acquire(model);
		}
	}
	serving_processor_release(kept);
	return NULL;
}

/* A request that does not fit the live version is refused, not torn. */
static void *ask_around(void *unused)
{
	static const float one[] = {1};
	static const int64_t dims[] = {1};
	const serving_processor_tensor input = {"x0", SERVING_PROCESSOR_FLOAT, 1, dims, 1, one};

	(void)unused;
	while (!atomic_load(&done)) {
		serving_processor_result *result = NULL;
		serving_processor_code code = serving_processor_run(model, NULL, &input, 1, NULL, 0,
								    &result, NULL);
		void *out = NULL;
		int size;

		wrong += code != SERVING_PROCESSOR_OK && code != SERVING_PROCESSOR_INVALID;
		wrong += process(model, NULL, 0, &out, &size) != 200;
		serving_processor_free(out);
		serving_processor_result_free(result);
	}
	return NULL;
}

static void await_number(int64_t wanted)
{
	int64_t number = -1;

	for (int i = 0; i < 4000 && number != wanted; i++) {
		serving_processor_model_version(model, &number, NULL);
		usleep(2500);
	}
	assert_int_equal(number, wanted);
}

static void signatures_change_under_requests(void **state)
{
	pthread_t makers[MAKERS], asker;
	char config[SP_PATH_SIZE + 512];
	int before;

	(void)state;
	sp_temp_make(base);
	write_version(1);
	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"serving_default\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\", \"update_poll_interval_ms\": 20,"
		 "\"session_num\": 2}",
		 base);
	model = serving_processor_create(config, NULL);
	assert_non_null(model);
	for (int i = 0; i < MAKERS; i++)
		assert_int_equal(
			pthread_create(&makers[i], NULL, make_requests, i == 0 ? &base[0] : NULL),
			0);
	assert_int_equal(pthread_create(&asker, NULL, ask_around, NULL), 0);
	for (int i = 2; i <= VERSIONS; i++) {
		before = atomic_load(&made);
		write_version(i);
		await_number(i);
		while (atomic_load(&made) < before + 10)
			usleep(1000);
	}
	atomic_store(&done, true);
	for (int i = 0; i < MAKERS; i++)
		pthread_join(makers[i], NULL);
	pthread_join(asker, NULL);
	assert_int_equal(atomic_load(&wrong), 0);
	serving_processor_destroy(model);
	sp_temp_remove(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_change_under_requests),
	};

	serving_processor_set_log(ignore_line, NULL);
	return cmocka_run_group_tests_name("signatures", tests, NULL, NULL);
}
