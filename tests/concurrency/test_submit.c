/*
 * Requests that the library's threads run: their number, their order, and what becomes of them when
 * the model is closed.  Meant for --enable-sanitize=thread and address, too.
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

enum { MAKERS = 3, REQUESTS = 400, VERSIONS = 6 };

static char base[SP_PATH_SIZE];
static void *model;

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

/* Version n multiplies by n. */
static void write_version(int number)
{
	const sp_sum_model version = {"serving_default", "sum", 1, number};
	char folder[SP_PATH_SIZE + 16];

	snprintf(folder, sizeof(folder), "%s/%d", base, number);
	sp_text_models_write_sum(folder, &version);
}

static void open_model(const char *more)
{
	char config[SP_PATH_SIZE + 512];

	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"serving_default\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\", \"update_poll_interval_ms\": 20%s}",
		 base, more);
	model = serving_processor_create(config, NULL);
	assert_non_null(model);
}

static int set_up(void **state)
{
	(void)state;
	serving_processor_set_log(ignore_line, NULL);
	sp_temp_make(base);
	write_version(1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	serving_processor_destroy(model);
	model = NULL;
	sp_temp_remove(base);
	serving_processor_set_log(NULL, NULL);
	return 0;
}

/* A request: a vector of one number. */
typedef struct asked {
	float value;
	int64_t dim;
	serving_processor_tensor input;
	atomic_bool may_end; /* its callback waits for that */

	atomic_bool begun, ended;
	serving_processor_code code;
	float answer;
	char text[128];
} asked;

static void end(void *context, serving_processor_code code, serving_processor_result *result,
		serving_processor_error *error)
{
	asked *a = context;

	a->code = code;
	if (code == SERVING_PROCESSOR_OK)
		a->answer = *(const float *)serving_processor_result_tensor(result, 0)->data;
	snprintf(a->text, sizeof(a->text), "%s", serving_processor_error_text(error));
	serving_processor_result_free(result);
	serving_processor_error_free(error);
	atomic_store(&a->begun, true);
	while (!atomic_load(&a->may_end))
		usleep(1000);
	atomic_store(&a->ended, true);
}

static serving_processor_code ask_with(asked *a, const serving_processor_handle *handle,
				       float value, const serving_processor_run_options *options)
{
	*a = (asked){.value = value, .dim = 1, .may_end = true};
	a->input = (serving_processor_tensor){"x0",     SERVING_PROCESSOR_FLOAT, 1, &a->dim, 1,
					      &a->value};
	return serving_processor_submit(model, handle, NULL, &a->input, 1, NULL, 0, options, end, a,
					NULL);
}

static void await(atomic_bool *flag)
{
	for (int i = 0; i < 20000 && !atomic_load(flag); i++)
		usleep(1000);
	assert_true(atomic_load(flag));
}

/* ---------------------------------------------------------------------- cases */

static void an_answer_comes_later(void **state)
{
	serving_processor_handle *held;
	asked a, b;

	(void)state;
	open_model("");
	assert_int_equal(ask_with(&a, NULL, 7, NULL), SERVING_PROCESSOR_OK);
	await(&a.ended);
	assert_int_equal(a.code, SERVING_PROCESSOR_OK);
	assert_true(a.answer == 7);

	/* The library holds the version itself. */
	held = serving_processor_acquire(model);
	assert_int_equal(ask_with(&a, held, 3, NULL), SERVING_PROCESSOR_OK);
	serving_processor_release(held);
	await(&a.ended);
	assert_true(a.answer == 3);

	assert_int_equal(ask_with(&b, NULL, 7, NULL), SERVING_PROCESSOR_OK);
	await(&b.ended);
	b.input.name = "nobody";
	atomic_store(&b.ended, false);
	assert_int_equal(serving_processor_submit(model, NULL, NULL, &b.input, 1, NULL, 0, NULL,
						  end, &b, NULL),
			 SERVING_PROCESSOR_OK);
	await(&b.ended);
	assert_int_equal(b.code, SERVING_PROCESSOR_INVALID);
	assert_non_null(strstr(b.text, "nobody"));
}

static void what_is_wrong_at_once(void **state)
{
	serving_processor_run_options options = {.size = sizeof(options), .deadline_ns = 1};
	serving_processor_error *error = NULL;
	asked a;

	(void)state;
	assert_int_equal(ask_with(&a, NULL, 1, NULL), SERVING_PROCESSOR_INVALID);
	open_model("");
	assert_int_equal(serving_processor_submit(model, NULL, NULL, &a.input, 1, NULL, 0, NULL,
						  NULL, NULL, &error),
			 SERVING_PROCESSOR_INVALID);
	assert_string_equal(serving_processor_error_text(error),
			    "there is no function to call when it is done");
	serving_processor_error_free(error);
	assert_int_equal(ask_with(&a, NULL, 1, &options), SERVING_PROCESSOR_DEADLINE);
	options.size = 1;
	assert_int_equal(ask_with(&a, NULL, 1, &options), SERVING_PROCESSOR_INVALID);
	assert_false(atomic_load(&a.begun));
}

static void handles_are_on_the_model(void **state)
{
	serving_processor_handle *held;
	void *first;
	asked a;

	(void)state;
	open_model("");
	first = model;
	held = serving_processor_acquire(model);
	open_model("");
	assert_int_equal(ask_with(&a, held, 1, NULL), SERVING_PROCESSOR_INVALID);
	serving_processor_release(held);
	serving_processor_destroy(first);
}

/* The only thread is in a callback: one request waits, and no more may. */
static void one_too_many_is_refused_at_once(void **state)
{
	serving_processor_run_options options = {.size = sizeof(options)};
	atomic_bool cancelled = false;
	asked first, second, third;

	(void)state;
	open_model(", \"session_num\": 1, \"max_waiting\": 1");
	first = (asked){.value = 1, .dim = 1};
	first.input = (serving_processor_tensor){
		"x0", SERVING_PROCESSOR_FLOAT, 1, &first.dim, 1, &first.value};
	assert_int_equal(serving_processor_submit(model, NULL, NULL, &first.input, 1, NULL, 0, NULL,
						  end, &first, NULL),
			 SERVING_PROCESSOR_OK);
	await(&first.begun);
	options.cancelled = &cancelled;
	assert_int_equal(ask_with(&second, NULL, 2, &options), SERVING_PROCESSOR_OK);
	assert_int_equal(ask_with(&third, NULL, 3, NULL), SERVING_PROCESSOR_BUSY);
	atomic_store(&cancelled, true);
	atomic_store(&first.may_end, true);
	await(&second.ended);
	assert_int_equal(second.code, SERVING_PROCESSOR_CANCELLED);
	assert_string_equal(second.text, "the request was cancelled");
	assert_int_equal(ask_with(&third, NULL, 3, NULL), SERVING_PROCESSOR_OK);
	await(&third.ended);
	assert_true(third.answer == 3);
}

static void *let_it_end(void *argument)
{
	usleep(100000);
	atomic_store(&((asked *)argument)->may_end, true);
	return NULL;
}

static void closing_cancels_what_waits(void **state)
{
	asked first, others[8];
	pthread_t releaser;

	(void)state;
	open_model(", \"session_num\": 1");
	first = (asked){.value = 1, .dim = 1};
	first.input = (serving_processor_tensor){
		"x0", SERVING_PROCESSOR_FLOAT, 1, &first.dim, 1, &first.value};
	assert_int_equal(serving_processor_submit(model, NULL, NULL, &first.input, 1, NULL, 0, NULL,
						  end, &first, NULL),
			 SERVING_PROCESSOR_OK);
	await(&first.begun);
	for (int i = 0; i < 8; i++)
		assert_int_equal(ask_with(&others[i], NULL, 2, NULL), SERVING_PROCESSOR_OK);
	pthread_create(&releaser, NULL, let_it_end, &first);
	serving_processor_destroy(model);
	model = NULL;
	assert_true(atomic_load(&first.ended));
	assert_int_equal(first.code, SERVING_PROCESSOR_OK);
	for (int i = 0; i < 8; i++) {
		assert_true(atomic_load(&others[i].ended));
		assert_int_equal(others[i].code, SERVING_PROCESSOR_CANCELLED);
		assert_string_equal(others[i].text, "the model is being closed");
	}
	pthread_join(releaser, NULL);
}

/* --------------------------------------------------------------------- stress */

static atomic_int wrong;

/* Requests on handles are answered by their version, others by any. */
static void *make_requests(void *unused)
{
	static _Thread_local asked all[REQUESTS];

	(void)unused;
	for (int i = 0; i < REQUESTS; i++) {
		serving_processor_handle *held = i % 2 == 0 ? serving_processor_acquire(model)
							    : NULL;
		int64_t number = 0;

		serving_processor_handle_version(held, &number, NULL);
		wrong += ask_with(&all[i], held, (float)(number + 1), NULL) != SERVING_PROCESSOR_OK;
		serving_processor_release(held);
		if (i % 16 == 0)
			usleep(1000);
	}
	for (int i = 0; i < REQUESTS; i++) {
		while (!atomic_load(&all[i].ended))
			usleep(1000);
		wrong += all[i].code != SERVING_PROCESSOR_OK;
		if (i % 2 == 0)
			wrong += all[i].answer != all[i].value * (all[i].value - 1);
	}
	return NULL;
}

static void requests_of_many_threads_and_versions(void **state)
{
	pthread_t makers[MAKERS];

	(void)state;
	open_model(", \"session_num\": 2, \"max_waiting\": 10000");
	for (int i = 0; i < MAKERS; i++)
		assert_int_equal(pthread_create(&makers[i], NULL, make_requests, NULL), 0);
	for (int i = 2; i <= VERSIONS; i++) {
		write_version(i);
		usleep(30000);
	}
	for (int i = 0; i < MAKERS; i++)
		pthread_join(makers[i], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(an_answer_comes_later),      CASE(what_is_wrong_at_once),
		CASE(handles_are_on_the_model),   CASE(one_too_many_is_refused_at_once),
		CASE(closing_cancels_what_waits), CASE(requests_of_many_threads_and_versions),
	};

	return cmocka_run_group_tests_name("submit", tests, NULL, NULL);
}
