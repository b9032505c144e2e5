#include "tests/support/cmocka.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/host/samples/sample_log.h"
#include "api/host/samples/sample_message.h"
#include "base/log.h"
#include "base/wire.h"
#include "tests/support/paths.h"

enum { QUEUE = 1024, MORE = 3 };

static const int64_t row[] = {1, 2};
static const float numbers[] = {1, 2};
static const serving_processor_signature signature = {.name = "s"};
static const serving_processor_tensor input = {"x", SERVING_PROCESSOR_FLOAT, 2, row, 2, numbers};
static const serving_processor_tensor output = {"y", SERVING_PROCESSOR_FLOAT, 2, row, 2, numbers};
static const char *const wanted[] = {"y"};
static const sp_infer_request request = {&signature, &input, 1, wanted, 1};
static const sp_infer_result result = {.tensors = &output, .count = 1};

static sp_sampling sampling = {.rate = 0.5};
static sp_model model = {.name = "m"};
static const sp_servable servable = {.model = &model, .version = 7, .sampling = &sampling};

static sem_t told, go_on;

/* The writer thread waits where it tells that the folder is missing. */
static void hold(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
	sem_post(&told);
	sem_wait(&go_on);
}

static void what_finds_no_room_is_dropped(void **state)
{
	char folder[SP_PATH_SIZE], prefix[SP_PATH_SIZE + 16];
	const sp_record_limits limits = {1 << 20, 1 << 30, INT64_MAX};
	const sp_sample_sink *sink;
	sp_sample_log *log;
	sp_error err;

	(void)state;
	sem_init(&told, 0, 0);
	sem_init(&go_on, 0, 0);
	snprintf(prefix, sizeof(prefix), "%s/later/p", sp_temp_make(folder));
	sampling.prefix = prefix;
	sp_log_set_sink(hold, NULL);
	assert_ok(sp_sample_log_create(&log, &limits, &err), &err);
	sink = sp_sample_log_get_sink(log);
	sink->offer(sink->context, &servable, &request, &result, NULL);
	sem_wait(&told); /* the first one is not in the queue any more */
	for (int i = 0; i < QUEUE + MORE; i++)
		sink->offer(sink->context, &servable, &request, &result, NULL);
	assert_int_equal(sp_counter_get(&model.counters.samples_dropped), MORE);
	assert_int_equal(sp_counter_get(&model.counters.samples_written), 0);
	sp_sample_log_tick(log);
	*strrchr(prefix, '/') = '\0';
	assert_int_equal(mkdir(prefix, 0700), 0);
	strcat(prefix, "/p");
	sem_post(&go_on); /* from the warning */
	sem_post(&go_on); /* from what tells that it works again */
	sp_sample_log_destroy(log);
	assert_int_equal(sp_counter_get(&model.counters.samples_written), QUEUE);
	assert_int_equal(sp_counter_get(&model.counters.samples_dropped), MORE + 1);
	sp_log_set_sink(NULL, NULL);
	sp_temp_remove(folder);
}

/* The submessage in a field; {NULL, 0}: none. */
static sp_bytes field(sp_bytes message, uint32_t number)
{
	sp_bytes out = {NULL, 0};

	assert_true(sp_wire_read(message, &(sp_wire_place){number, SP_WIRE_BYTES, &out}, 1));
	return out;
}

static void assert_spec(sp_bytes spec, const char *name, const char *version)
{
	sp_bytes number = field(spec, 2);

	assert_true(sp_bytes_equal_text(field(spec, 1), name));
	assert_true(sp_bytes_equal_text(field(spec, 3), "s"));
	assert_int_equal(number.size, strlen(version));
	assert_memory_equal(number.data != NULL ? number.data : "", version, strlen(version));
}

static void a_prediction_is_a_predict_log(void **state)
{
	const sp_sample sample = {&servable, &request, &result, NULL, 1000};
	sp_bytes message, metadata, log, entry;
	double rate = 0;
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 1 << 20);
	assert_ok(sp_sample_message_encode(&out, &sample, &err), &err);
	message = (sp_bytes){out.data, out.size};
	metadata = field(message, 1);
	assert_spec(field(metadata, 1), "m", "\x08\x07");
	assert_int_equal(field(metadata, 2).size, 9);
	memcpy(&rate, field(metadata, 2).data + 1, sizeof(rate));
	assert_true(rate == 0.5);
	log = field(message, 6);
	assert_spec(field(field(log, 1), 1), "m", "");
	assert_true(sp_bytes_equal_text(field(field(log, 1), 3), "y"));
	entry = field(field(log, 1), 2);
	assert_true(sp_bytes_equal_text(field(entry, 1), "x"));
	assert_memory_equal(field(field(entry, 2), 5).data, numbers, sizeof(numbers));
	assert_spec(field(field(log, 2), 2), "m", "\x08\x07");
	assert_true(sp_bytes_equal_text(field(field(field(log, 2), 1), 1), "y"));
	sp_buffer_fini(&out);
}

static void examples_are_classified_or_regressed(void **state)
{
	static const serving_processor_bytes examples[] = {{"one", 3}, {"two", 3}};
	const serving_processor_tensor texts = {"inputs", SERVING_PROCESSOR_STRING, 1, row + 1, 2,
						examples};
	const sp_infer_request asked = {
		.signature = &signature, .inputs = &texts, .input_count = 1};
	sp_examples_result made = {
		.method = SP_EXAMPLES_REGRESS, .example_count = 2, .scores = numbers};
	sp_sample sample = {&servable, &asked, &result, &made, 1000};
	sp_bytes log;
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 1 << 20);
	assert_ok(sp_sample_message_encode(&out, &sample, &err), &err);
	log = field((sp_bytes){out.data, out.size}, 3);
	assert_true(sp_bytes_equal_text(field(field(field(field(log, 1), 2), 1), 1), "two"));
	assert_spec(field(field(log, 2), 2), "m", "\x08\x07");
	made.method = SP_EXAMPLES_CLASSIFY;
	made.class_count = 1;
	sp_buffer_clear(&out);
	assert_ok(sp_sample_message_encode(&out, &sample, &err), &err);
	assert_non_null(field((sp_bytes){out.data, out.size}, 2).data);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_finds_no_room_is_dropped),
		cmocka_unit_test(a_prediction_is_a_predict_log),
		cmocka_unit_test(examples_are_classified_or_regressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
