#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "base/clock.h"
#include "base/hash.h"
#include "tests/support/paths.h"
#include "tests/support/text_models.h"

/* Versions whose signatures are not the same, by the exported functions. */

static char base[SP_PATH_SIZE];
static void *model;

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	(void)state;
	serving_processor_set_log(ignore_line, NULL);
	sp_temp_make(base);
	model = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	serving_processor_destroy(model);
	sp_temp_remove(base);
	serving_processor_set_log(NULL, NULL);
	return 0;
}

static void write_version(int number, const sp_sum_model *version)
{
	char folder[SP_PATH_SIZE + 16];

	snprintf(folder, sizeof(folder), "%s/%d", base, number);
	sp_text_models_write_sum(folder, version);
}

static const sp_sum_model one_input = {"serving_default", "sum", 1, 1};
static const sp_sum_model two_inputs = {"serving_default", "sum", 2, 10};

static void open_model(const char *more)
{
	char config[3 * SP_PATH_SIZE];

	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"serving_default\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\", \"update_poll_interval_ms\": 20%s}",
		 base, more);
	model = serving_processor_create(config, NULL);
	assert_non_null(model);
}

static int64_t live_number(void)
{
	int64_t number = -1;

	assert_int_equal(serving_processor_model_version(model, &number, NULL), 0);
	return number;
}

static void await_number(int64_t number)
{
	for (int i = 0; i < 2000 && live_number() != number; i++)
		usleep(5000);
	assert_int_equal(live_number(), number);
}

/* Waits until the list of versions holds `text`. */
static void await_told(const char *text)
{
	bool found = false;

	for (int i = 0; i < 2000 && !found; i++) {
		char *versions = serving_processor_versions(model);

		found = strstr(versions, text) != NULL;
		serving_processor_free(versions);
		if (!found)
			usleep(5000);
	}
	if (!found)
		fail_msg("nothing tells of %s", text);
}

/* The sum of `count` inputs with these values, by the live version where `held` is NULL. */
static serving_processor_code ask(const serving_processor_handle *held, int count, float *sum)
{
	static const int64_t dims[] = {1};
	static const float values[] = {1, 2};
	const serving_processor_tensor inputs[] = {
		{"x0", SERVING_PROCESSOR_FLOAT, 1, dims, 1, &values[0]},
		{"x1", SERVING_PROCESSOR_FLOAT, 1, dims, 1, &values[1]}};
	serving_processor_result *result = NULL;
	serving_processor_code code;

	code = held != NULL ? serving_processor_handle_run(held, NULL, inputs, (size_t)count, NULL,
							   0, &result, NULL)
			    : serving_processor_run(model, NULL, inputs, (size_t)count, NULL, 0,
						    &result, NULL);
	if (code == SERVING_PROCESSOR_OK)
		*sum = *(const float *)serving_processor_result_tensor(result, 0)->data;
	serving_processor_result_free(result);
	return code;
}

static void assert_sum(const serving_processor_handle *held, int count, float want)
{
	float sum = 0;

	assert_int_equal(ask(held, count, &sum), SERVING_PROCESSOR_OK);
	assert_true(sum == want);
}

/* --------------------------------------------------------------------- cases */

static void a_new_version_may_have_another_input(void **state)
{
	void *out;
	float sum;
	int size;

	(void)state;
	write_version(1, &one_input);
	open_model("");
	assert_sum(NULL, 1, 1);
	assert_int_equal(ask(NULL, 2, &sum), SERVING_PROCESSOR_INVALID);

	write_version(2, &two_inputs);
	await_number(2);
	assert_sum(NULL, 2, 30);
	assert_int_equal(ask(NULL, 1, &sum), SERVING_PROCESSOR_INVALID);
	assert_int_equal(process(model, NULL, 0, &out, &size), 200);
	assert_non_null(strstr(out, "\"x1\""));
	serving_processor_free(out);

	assert_int_equal(
		serving_processor_give_order(model, SERVING_PROCESSOR_ROLLBACK, -1, -1, NULL, NULL),
		SERVING_PROCESSOR_OK);
	assert_sum(NULL, 1, 1);
}

static void a_held_version_answers_as_before(void **state)
{
	const serving_processor_signature *signature;
	serving_processor_handle *held, *other;
	int64_t number = -1, delta = 0;
	size_t count = 0;

	(void)state;
	write_version(1, &one_input);
	open_model("");
	held = serving_processor_acquire(model);
	other = serving_processor_acquire(model);
	write_version(2, &two_inputs);
	await_number(2);
	await_told("\"full_step\":1,\"delta_step\":-1,\"state\":\"draining\"");

	assert_int_equal(serving_processor_handle_version(held, &number, &delta), 0);
	assert_int_equal(number, 1);
	assert_int_equal(delta, -1);
	signature = serving_processor_handle_signatures(held, &count);
	assert_int_equal(count, 1);
	assert_string_equal(signature->name, "serving_default");
	assert_int_equal(signature->input_count, 1);
	assert_string_equal(signature->inputs[0]->alias, "x0");
	assert_ptr_equal(serving_processor_handle_signature(held, NULL), signature);
	assert_ptr_equal(serving_processor_handle_signature(held, "serving_default"), signature);
	assert_null(serving_processor_handle_signature(held, "nobody"));
	count = 1;
	assert_null(serving_processor_handle_example_features(held, NULL, "x0", &count));
	assert_int_equal(count, 0);
	assert_null(serving_processor_handle_example_features(held, "nobody", "x0", NULL));
	assert_null(serving_processor_handle_example_features(held, NULL, NULL, NULL));
	assert_sum(held, 1, 1);
	assert_sum(NULL, 2, 30);

	serving_processor_release(held);
	usleep(100 * 1000);
	assert_sum(other, 1, 1);
	serving_processor_release(other);
	await_told("\"full_step\":1,\"delta_step\":-1,\"state\":\"retired\"");
	other = serving_processor_acquire(model);
	assert_sum(other, 2, 30);
	serving_processor_release(other);
}

static void other_outputs_are_those_of_the_version(void **state)
{
	serving_processor_handle *live;

	(void)state;
	write_version(1, &one_input);
	open_model("");
	write_version(2, &(sp_sum_model){"serving_default", "total", 1, 1});
	await_number(2);
	live = serving_processor_acquire(model);
	assert_string_equal(serving_processor_handle_signature(live, NULL)->outputs[0]->alias,
			    "total");
	serving_processor_release(live);
	assert_sum(NULL, 1, 1);
}

static void a_version_without_the_signature_is_refused(void **state)
{
	(void)state;
	write_version(1, &one_input);
	open_model("");
	write_version(2, &(sp_sum_model){"renamed", "sum", 2, 1});
	await_told("\"state\":\"refused\"");
	await_told("serving_default");
	assert_int_equal(live_number(), 1);
	assert_sum(NULL, 1, 1);
	write_version(3, &two_inputs);
	await_number(3);
}

static void or_another_is_served_in_its_place(void **state)
{
	serving_processor_handle *live;

	(void)state;
	write_version(1, &one_input);
	open_model(", \"signature_fallback\": true");
	write_version(2, &(sp_sum_model){"renamed", "sum", 2, 1});
	await_number(2);
	live = serving_processor_acquire(model);
	assert_string_equal(serving_processor_handle_signature(live, NULL)->name, "renamed");
	assert_null(serving_processor_handle_signature(live, "serving_default"));
	serving_processor_release(live);
	assert_sum(NULL, 2, 3);
}

/* Each version answers by its own graph: the factor is a constant of it. */
static void a_replayed_request_is_compared_over_graphs(void **state)
{
	static const char four[] = "\x12\x13\x0a\x02x0\x12\x0d\x08\x01\x12\x03\x0a\x01\x01"
				   "\x1a\x04\0\0\x80\x40";
	char more[SP_PATH_SIZE + 128], path[SP_PATH_SIZE + 16];

	(void)state;
	sp_temp_write(base, "/request", (sp_bytes){four, sizeof(four) - 1});
	snprintf(path, sizeof(path), "%s/request", base);
	snprintf(more, sizeof(more),
		 ", \"update_replay_file\": \"%s\", \"update_max_score_change\": 5", path);
	write_version(1, &one_input);
	open_model(more);
	write_version(2, &(sp_sum_model){"serving_default", "sum", 1, 3});
	await_told("changes by 8 on average");
	assert_int_equal(live_number(), 1);
	write_version(3, &(sp_sum_model){"serving_default", "sum", 1, 2});
	await_number(3);
	/* Not to be answered at all. */
	write_version(4, &two_inputs);
	await_told("\"full_step\":4,\"delta_step\":-1,\"state\":\"refused\"");
	assert_int_equal(live_number(), 3);
}

/* The request of before as two records of PredictionLog, beside one of another kind. */
static void recorded_requests_are_replayed(void **state)
{
	static const char record[] = "\x32\x18\x0a\x16\x12\x14\x0a\x02x0\x12\x0e\x08\x01"
				     "\x12\x04\x12\x02\x08\x01\x2a\x04\0\0\x80\x40";
	char more[SP_PATH_SIZE + 128], path[SP_PATH_SIZE + 16], file[256];
	const sp_bytes records[] = {
		{record, sizeof(record) - 1}, {"\x12\0", 2}, {record, sizeof(record) - 1}};
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint64_t length = records[i].size;
		uint32_t crcs[] = {sp_crc32c_mask(sp_crc32c(0, &length, sizeof(length))),
				   sp_crc32c_mask(sp_crc32c(0, records[i].data, length))};

		memcpy(file + size, &length, sizeof(length));
		memcpy(file + size + 8, &crcs[0], sizeof(crcs[0]));
		memcpy(file + size + 12, records[i].data, length);
		memcpy(file + size + 12 + length, &crcs[1], sizeof(crcs[1]));
		size += 16 + length;
	}
	sp_temp_write(base, "/records", (sp_bytes){file, size});
	snprintf(path, sizeof(path), "%s/records", base);
	snprintf(more, sizeof(more),
		 ", \"update_replay_file\": \"%s\", \"update_max_score_change\": 5", path);
	write_version(1, &one_input);
	open_model(more);
	write_version(2, &(sp_sum_model){"serving_default", "sum", 1, 3});
	await_told("changes by 8 on average");
	assert_int_equal(live_number(), 1);
	write_version(3, &(sp_sum_model){"serving_default", "sum", 1, 2});
	await_number(3);
	sp_temp_write(base, "/records", (sp_bytes){file, size - 1});
	write_version(4, &(sp_sum_model){"serving_default", "sum", 1, 2});
	await_told("records: record 2: it ends in a record of 26 bytes");
	assert_int_equal(live_number(), 3);
}

static serving_processor_code run_with(const serving_processor_handle *held,
				       const serving_processor_run_options *options,
				       const char *text)
{
	static const int64_t dims[] = {1};
	static const float one = 1;
	const serving_processor_tensor input = {"x0", SERVING_PROCESSOR_FLOAT, 1, dims, 1, &one};
	serving_processor_result *result = NULL;
	serving_processor_error *error = NULL;
	serving_processor_code code = serving_processor_handle_run_with(
		held, NULL, &input, 1, NULL, 0, options, &result, &error);

	assert_int_equal(serving_processor_result_count(result), code == 0 ? 1 : 0);
	assert_string_equal(serving_processor_error_text(error), text);
	serving_processor_error_free(error);
	serving_processor_result_free(result);
	return code;
}

static void a_run_ends_at_its_deadline_or_by_its_flag(void **state)
{
	serving_processor_run_options options = {.size = sizeof(options)};
	serving_processor_handle *held;
	atomic_bool cancelled = false;

	(void)state;
	write_version(1, &one_input);
	open_model("");
	held = serving_processor_acquire(model);
	assert_int_equal(run_with(held, NULL, ""), SERVING_PROCESSOR_OK);
	assert_int_equal(run_with(held, &options, ""), SERVING_PROCESSOR_OK);
	options.cancelled = &cancelled;
	options.deadline_ns = INT64_MAX;
	assert_int_equal(run_with(held, &options, ""), SERVING_PROCESSOR_OK);
	atomic_store(&cancelled, true);
	assert_int_equal(run_with(held, &options, "the request was cancelled"),
			 SERVING_PROCESSOR_CANCELLED);
	options.deadline_ns = 1;
	assert_int_equal(run_with(held, &options, "the deadline of the request has passed"),
			 SERVING_PROCESSOR_DEADLINE);
	serving_processor_release(held);
}

static void options_of_another_size(void **state)
{
	struct {
		serving_processor_run_options known;
		int64_t more;
	} options = {.known = {.deadline_ns = 1, .cancelled = "x"}};
	serving_processor_handle *held;

	(void)state;
	write_version(1, &one_input);
	open_model(", \"request_timeout_ms\": 0");
	held = serving_processor_acquire(model);
	assert_int_equal(run_with(held, &options.known, "the options of the run have the size 0"),
			 SERVING_PROCESSOR_INVALID);
	options.known.size = sizeof(size_t);
	assert_int_equal(run_with(held, &options.known, ""), SERVING_PROCESSOR_OK);
	options.known.size = offsetof(serving_processor_run_options, cancelled);
	assert_int_equal(run_with(held, &options.known, "the deadline of the request has passed"),
			 SERVING_PROCESSOR_DEADLINE);
	options.known.size = sizeof(options);
	assert_int_equal(run_with(held, &options.known,
				  "the options of the run have 40 bytes; this library knows 32"),
			 SERVING_PROCESSOR_UNSUPPORTED);
	options.known = (serving_processor_run_options){.size = sizeof(options.known),
							.deadline_ns = -1};
	assert_int_equal(run_with(held, &options.known, "the deadline -1 is negative"),
			 SERVING_PROCESSOR_INVALID);
	serving_processor_release(held);
}

static void steps_are_told(void **state)
{
	serving_processor_step items[2];
	serving_processor_steps steps = {.items = items, .capacity = 2, .count = 7, .left_out = 7};
	serving_processor_run_options options = {.size = sizeof(options), .steps = &steps};
	serving_processor_handle *held;
	int64_t before = sp_clock_now_ns();

	(void)state;
	write_version(1, &one_input);
	open_model("");
	held = serving_processor_acquire(model);
	assert_int_equal(run_with(held, &options, ""), SERVING_PROCESSOR_OK);
	assert_int_not_equal(steps.count, 0);
	assert_true(steps.count <= 2 && (steps.left_out == 0 || steps.count == 2));
	for (size_t i = 0; i < steps.count; i++) {
		assert_non_null(items[i].node);
		assert_non_null(items[i].op);
		assert_true(before <= items[i].start_ns && items[i].start_ns <= items[i].end_ns);
		before = items[i].start_ns;
	}
	assert_true(items[steps.count - 1].end_ns <= sp_clock_now_ns());
	steps = (serving_processor_steps){.capacity = 1};
	assert_int_equal(run_with(held, &options, "there is no room for 1 steps"),
			 SERVING_PROCESSOR_INVALID);
	steps = (serving_processor_steps){.items = NULL};
	assert_int_equal(run_with(held, &options, ""), SERVING_PROCESSOR_OK);
	assert_int_equal(steps.count, 0);
	assert_int_not_equal(steps.left_out, 0);
	serving_processor_release(held);
}

static void orders_have_functions_of_their_own(void **state)
{
	(void)state;
	write_version(1, &one_input);
	open_model("");
	write_version(2, &two_inputs);
	await_number(2);
	assert_int_equal(serving_processor_rollback(model, NULL), SERVING_PROCESSOR_OK);
	assert_int_equal(live_number(), 1);
	assert_int_equal(serving_processor_pin_version(model, 2, -1, NULL), SERVING_PROCESSOR_OK);
	assert_int_equal(live_number(), 2);
	await_told("\"by\":\"the host\"");
	assert_int_equal(serving_processor_reload(model, NULL), SERVING_PROCESSOR_OK);
	assert_int_equal(live_number(), 2);
	assert_int_equal(serving_processor_reload(NULL, NULL), SERVING_PROCESSOR_INVALID);
}

static void no_handle_no_crash(void **state)
{
	serving_processor_error *error = NULL;
	serving_processor_result *result;
	int64_t number;
	size_t count = 1;

	(void)state;
	assert_null(serving_processor_acquire(NULL));
	serving_processor_release(NULL);
	assert_int_equal(serving_processor_handle_version(NULL, &number, NULL), -1);
	assert_null(serving_processor_handle_signatures(NULL, &count));
	assert_int_equal(count, 0);
	assert_null(serving_processor_handle_signature(NULL, NULL));
	count = 1;
	assert_null(serving_processor_handle_example_features(NULL, NULL, "x", &count));
	assert_int_equal(count, 0);
	assert_int_equal(
		serving_processor_handle_run(NULL, NULL, NULL, 0, NULL, 0, &result, &error),
		SERVING_PROCESSOR_INVALID);
	serving_processor_error_free(error);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_new_version_may_have_another_input),
		CASE(a_held_version_answers_as_before),
		CASE(other_outputs_are_those_of_the_version),
		CASE(a_version_without_the_signature_is_refused),
		CASE(or_another_is_served_in_its_place),
		CASE(a_replayed_request_is_compared_over_graphs),
		CASE(recorded_requests_are_replayed),
		CASE(a_run_ends_at_its_deadline_or_by_its_flag),
		CASE(options_of_another_size),
		CASE(steps_are_told),
		CASE(orders_have_functions_of_their_own),
		CASE(no_handle_no_crash),
	};

	return cmocka_run_group_tests_name("version_handles", tests, NULL, NULL);
}
