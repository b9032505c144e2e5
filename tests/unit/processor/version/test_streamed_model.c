#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/kafka_cluster.h"
#include "tests/support/row_model.h"
#include "tests/support/stream_messages.h"

/*
 * A served model whose rows a trainer streams, from a broker in this process.
 */
enum { KEYS = 200, ROW_DIM = 64 };

#define TOPIC "sp_rows.ctr"

typedef struct scene {
	sp_row_model model;
	sp_kafka_cluster *cluster;
	uint64_t batch;
} scene;

static void drop_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	scene *s = *state = calloc(1, sizeof(*s));
	char more[512];

	serving_processor_set_log(drop_line, NULL);
	s->cluster = sp_kafka_cluster_start();
	sp_kafka_cluster_add_topic(s->cluster, TOPIC, 1);
	sp_row_model_init(&s->model, KEYS);
	snprintf(more, sizeof(more),
		 ", \"update_poll_interval_ms\": 20, \"row_stream_model\": \"ctr\", "
		 "\"row_stream_brokers\": \"%s\", \"session_num\": 2",
		 sp_kafka_cluster_brokers(s->cluster));
	sp_row_model_open(&s->model, more);
	assert_non_null(s->model.model);
	return 0;
}

static int tear_down(void **state)
{
	scene *s = *state;

	sp_row_model_fini(&s->model);
	sp_kafka_cluster_stop(s->cluster);
	free(s);
	serving_processor_set_log(NULL, NULL);
	return 0;
}

/* A batch with rows of `value` for all keys from `first` on. */
static void send_batch(scene *s, int64_t full_step, int64_t step, int64_t first, float value)
{
	sp_stream_rows rows = {.table = "table",
			       .full_step = full_step,
			       .step = step,
			       .batch = ++s->batch,
			       .first_key = first,
			       .count = (size_t)(KEYS - first),
			       .dim = ROW_DIM,
			       .value = value};
	size_t size;
	char *bytes = sp_stream_message(&size, &rows);

	sp_kafka_cluster_send(s->cluster, TOPIC, 0, bytes, size);
	free(bytes);
	bytes = sp_stream_commit(&size, full_step, s->batch, 1);
	sp_kafka_cluster_send(s->cluster, TOPIC, 0, bytes, size);
	free(bytes);
	sp_kafka_cluster_flush(s->cluster);
}

/* The row of a key, all of whose elements are equal. */
static double value_of(const scene *s, int64_t key)
{
	static const char *const outputs[] = {"rows"};
	const int64_t dims[] = {1};
	serving_processor_tensor input = {.name = "keys",
					  .dtype = SERVING_PROCESSOR_INT64,
					  .rank = 1,
					  .dims = dims,
					  .count = 1,
					  .data = &key};
	serving_processor_result *result;
	const float *row;
	double value;

	if (serving_processor_run(s->model.model, NULL, &input, 1, outputs, 1, &result, NULL) !=
	    SERVING_PROCESSOR_OK)
		return -1;
	row = serving_processor_result_tensor(result, 0)->data;
	value = (double)row[0];
	for (int d = 1; d < ROW_DIM; d++)
		assert_true((double)row[d] == value);
	serving_processor_result_free(result);
	return value;
}

static void await(const scene *s, int64_t key, double value)
{
	for (int i = 0; i < 10000 && value_of(s, key) != value; i++)
		usleep(2000);
	assert_true(value_of(s, key) == value);
}

static void streamed_rows_are_seen_until_a_newer_checkpoint_has_them(void **state)
{
	scene *s = *state;
	char *versions;

	assert_true(value_of(s, 7) == 1000);
	send_batch(s, 1000, 1005, 100, 5);
	await(s, 150, 5);
	assert_true(value_of(s, 99) == 1000);
	send_batch(s, 1000, 1020, 190, 6);
	await(s, 199, 6);

	/* A delta has the rows of steps up to its own, of every second key here. */
	sp_row_model_write_delta(&s->model, 1, 10);
	await(s, 0, 1010);
	assert_true(value_of(s, 150) == 1010 && value_of(s, 198) == 6);

	/* Rows for a checkpoint that is not there yet wait in the stream. */
	send_batch(s, 2000, 2001, 150, 7);
	send_batch(s, 1000, 1030, 190, 8);
	await(s, 199, 8);
	assert_true(value_of(s, 150) == 1010);
	sp_row_model_write_full(&s->model, 2);
	await(s, 0, 2000);
	assert_true(value_of(s, 150) == 7 && value_of(s, 199) == 7); /* caught up before */
	assert_true(value_of(s, 149) == 2000);
	versions = serving_processor_versions(s->model.model);
	assert_non_null(strstr(versions, "\"row_stream\":{\"connected\":true,\"paused\":false"));
	assert_non_null(strstr(versions, "\"keys\":50,"));
	free(versions);
}

static void the_model_serves_while_the_broker_is_down(void **state)
{
	scene *s = *state;

	send_batch(s, 1000, 1005, 100, 5);
	await(s, 150, 5);
	sp_kafka_cluster_set_down(s->cluster, true);
	sp_row_model_write_full(&s->model, 2);
	await(s, 0, 2000);
	assert_true(value_of(s, 150) == 2000);
	sp_kafka_cluster_set_down(s->cluster, false);
	send_batch(s, 2000, 2005, 100, 6);
	await(s, 150, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			streamed_rows_are_seen_until_a_newer_checkpoint_has_them, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(the_model_serves_while_the_broker_is_down, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
