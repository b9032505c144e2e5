#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "row_stream/row_stream.h"
#include "storage/table/table_builder.h"
#include "tests/support/kafka_cluster.h"
#include "tests/support/known_tables.h"
#include "tests/support/stream_messages.h"

/*
 * Streams from a broker in this process.
 */

enum { DIM = 4, FULL = 100, SECOND_MS = 1000 };

typedef struct scene {
	sp_kafka_cluster *cluster;
	sp_table *tables[2];
	sp_row_stream *stream;
	char folder[32], prefix[64], mark[80];
} scene;

static void drop_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	static const char *const names[] = {"item", "user/id"};
	const int64_t key = 1;
	const float row[DIM] = {-5, -5, -5, -5};
	scene *s = *state = calloc(1, sizeof(*s));
	sp_error err;

	sp_log_set_sink(drop_line, NULL);
	s->cluster = sp_kafka_cluster_start();
	for (int t = 0; t < 2; t++)
		assert_ok(sp_table_from_rows(&s->tables[t],
					     &(sp_table_options){.name = names[t], .dim = DIM},
					     &key, row, 1, &err),
			  &err);
	strcpy(s->folder, "/tmp/row_stream.XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	snprintf(s->prefix, sizeof(s->prefix), "%s/ckpt", s->folder);
	snprintf(s->mark, sizeof(s->mark), "%s.row_stream", s->prefix);
	return 0;
}

static int tear_down(void **state)
{
	scene *s = *state;

	sp_row_stream_release(s->stream);
	for (int t = 0; t < 2; t++)
		sp_table_destroy(s->tables[t]);
	sp_kafka_cluster_stop(s->cluster);
	unlink(s->mark);
	rmdir(s->folder);
	free(s);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static void open_stream_with(scene *s, bool is_hps, size_t memory, bool from_end)
{
	const sp_row_stream_options options = {.brokers = sp_kafka_cluster_brokers(s->cluster),
					       .model = "ctr",
					       .is_hps = is_hps,
					       .key_size = 8,
					       .interval_ms = 20,
					       .from_end = from_end,
					       .memory_limit = memory,
					       .full_step = FULL,
					       .prefix = s->prefix,
					       .reader_count = 1,
					       .tables = (const sp_table *const *)s->tables,
					       .table_count = 2};
	sp_error err;

	assert_ok(sp_row_stream_open(&s->stream, &options, &err), &err);
}

static void open_stream(scene *s, bool is_hps)
{
	open_stream_with(s, is_hps, (size_t)64 << 20, false);
}

static void close_stream(scene *s)
{
	sp_row_stream_release(s->stream);
	s->stream = NULL;
}

static void assert_caught_up(const scene *s)
{
	assert_true(sp_row_stream_catch_up(s->stream, 20 * SECOND_MS, NULL));
}

static float see(scene *s, int table, int64_t key)
{
	float row[DIM];
	sp_fresh_view view;
	sp_lookup lookup = {.table = s->tables[table],
			    .keys = &key,
			    .count = 1,
			    .rows = row,
			    .stride = DIM,
			    .fresh = &view};
	sp_error err;

	sp_fresh_pin(&view, sp_row_stream_rows(s->stream), 0, -1);
	assert_ok(sp_known_run(&lookup, 1, &err), &err);
	sp_fresh_unpin(sp_row_stream_rows(s->stream), 0);
	return row[0];
}

static void await(scene *s, int table, int64_t key, float value)
{
	for (int i = 0; i < 10000 && see(s, table, key) != value; i++)
		usleep(2000);
	assert_true(see(s, table, key) == value);
}

static void send_rows(scene *s, const char *topic, int32_t partition, sp_stream_rows rows)
{
	size_t size;
	char *bytes;

	rows.dim = DIM;
	bytes = sp_stream_message(&size, &rows);
	sp_kafka_cluster_send(s->cluster, topic, partition, bytes, size);
	free(bytes);
}

/* A batch with a row for key 1 of the first table, over two partitions. */
static void send_batch(scene *s, uint64_t batch, float value)
{
	sp_stream_rows rows = {.table = "item",
			       .full_step = FULL,
			       .step = FULL + (int64_t)batch,
			       .batch = batch,
			       .first_key = 1,
			       .count = 1,
			       .value = value};
	size_t size;

	send_rows(s, "sp_rows.ctr", 0, rows);
	for (int32_t p = 0; p < 2; p++) {
		char *bytes = sp_stream_commit(&size, FULL, batch, p == 0);

		sp_kafka_cluster_send(s->cluster, "sp_rows.ctr", p, bytes, size);
		free(bytes);
	}
	sp_kafka_cluster_flush(s->cluster);
}

static sp_row_stream_status tell(const scene *s)
{
	sp_row_stream_status status;

	sp_row_stream_get_status(s->stream, &status);
	return status;
}

static void batches_are_seen_and_a_restart_begins_at_the_mark(void **state)
{
	scene *s = *state;
	FILE *mark;

	sp_kafka_cluster_add_topic(s->cluster, "sp_rows.ctr", 2);
	send_batch(s, 1, 1);
	open_stream(s, false);
	assert_caught_up(s);
	assert_true(see(s, 0, 1) == 1 && see(s, 1, 1) == -5);
	for (uint64_t batch = 2; batch < 10; batch++)
		send_batch(s, batch, (float)batch);
	await(s, 0, 1, 9);
	assert_true(tell(s).applied.batch == 9 && tell(s).lag.connected);
	assert_true(tell(s).lag.messages == 0 && tell(s).lag.behind_ms == 0);
	close_stream(s);

	/* All of it, from the oldest message on. */
	open_stream(s, false);
	assert_caught_up(s);
	assert_true(see(s, 0, 1) == 9 && tell(s).applied.rows == 9);
	close_stream(s);

	/* Only what comes after the mark. */
	mark = fopen(s->mark, "w");
	fprintf(mark, "offset sp_rows.ctr 0 16\noffset sp_rows.ctr 1 8\n");
	fclose(mark);
	open_stream(s, false);
	assert_caught_up(s);
	assert_true(see(s, 0, 1) == 9 && tell(s).applied.rows == 1);
	close_stream(s);
	mark = fopen(s->mark, "w");
	fprintf(mark, "offset sp_rows.ctr x 16\n");
	fclose(mark);
	{
		const sp_row_stream_options options = {.brokers = "127.0.0.1:1",
						       .model = "ctr",
						       .prefix = s->prefix,
						       .reader_count = 1};
		sp_error err;

		assert_int_equal(sp_row_stream_open(&s->stream, &options, &err), SP_INVALID);
		assert_non_null(strstr(err.text, "row_stream: line 1"));
	}
}

static void rows_of_hps_are_seen_after_a_while(void **state)
{
	sp_stream_rows rows = {.first_key = 0, .count = 3, .value = 4};
	scene *s = *state;
	int64_t start;

	sp_kafka_cluster_add_topic(s->cluster, "hps_et.ctr.item", 2);
	sp_kafka_cluster_add_topic(s->cluster, "hps_et.ctr.user_id", 1);
	sp_kafka_cluster_send(s->cluster, "hps_et.ctr.item", 0, "poison", 6);
	send_rows(s, "hps_et.ctr.item", 1, rows);
	sp_kafka_cluster_flush(s->cluster);
	open_stream(s, true);
	assert_caught_up(s);
	assert_true(see(s, 0, 2) == 4 && see(s, 1, 1) == -5);
	rows.value = 5;
	send_rows(s, "hps_et.ctr.user_id", 0, rows);
	sp_kafka_cluster_flush(s->cluster);
	start = sp_clock_now_ns();
	await(s, 1, 1, 5);
	print_message("seen %.1f ms after its delivery\n",
		      (double)(sp_clock_now_ns() - start) / 1e6);
	assert_true(tell(s).applied.skipped[SP_ROW_SKIP_FORMAT] == 1);
	close_stream(s);

	/* Only what comes from now on. */
	open_stream_with(s, true, (size_t)64 << 20, true);
	assert_caught_up(s);
	assert_true(see(s, 1, 1) == -5);
	rows.value = 6;
	send_rows(s, "hps_et.ctr.user_id", 0, rows);
	sp_kafka_cluster_flush(s->cluster);
	await(s, 1, 1, 6);
	assert_int_equal(tell(s).applied.messages, 1);
}

static void a_topic_and_a_broker_may_come_later(void **state)
{
	scene *s = *state;

	sp_kafka_cluster_add_topic(s->cluster, "sp_rows.ctr", 2);
	send_batch(s, 1, 1);
	sp_kafka_cluster_set_down(s->cluster, true);
	open_stream(s, false);
	assert_false(sp_row_stream_catch_up(s->stream, 20 * SECOND_MS, NULL)); /* at once */
	assert_true(see(s, 0, 1) == -5);
	sp_kafka_cluster_set_down(s->cluster, false);
	await(s, 0, 1, 1);
	sp_kafka_cluster_set_down(s->cluster, true);
	for (int i = 0; i < 10000 && tell(s).lag.connected; i++)
		usleep(2000);
	assert_true(!tell(s).lag.connected && tell(s).lag.errors > 0 && see(s, 0, 1) == 1);
	sp_kafka_cluster_set_down(s->cluster, false);
	send_batch(s, 2, 2);
	await(s, 0, 1, 2);
	assert_true(tell(s).lag.connected);
}

static void above_the_memory_limit_reading_pauses(void **state)
{
	sp_stream_rows rows = {.count = 30000, .value = 4};
	scene *s = *state;

	sp_kafka_cluster_add_topic(s->cluster, "hps_et.ctr.item", 1);
	send_rows(s, "hps_et.ctr.item", 0, rows);
	rows.count = 1;
	rows.value = 5;
	send_rows(s, "hps_et.ctr.item", 0, rows);
	sp_kafka_cluster_flush(s->cluster);
	open_stream_with(s, true, 1 << 20, false);
	await(s, 0, 0, 4);
	for (int i = 0; i < 10000 && !tell(s).paused; i++)
		usleep(2000);
	assert_true(tell(s).paused && tell(s).held.bytes <= 1 << 20 && see(s, 0, 0) == 4);
	assert_false(sp_row_stream_catch_up(s->stream, 20 * SECOND_MS, NULL));
}

static void names_of_topics_have_what_kafka_allows(void **state)
{
	char topic[250], longest[400] = {0};

	(void)state;
	sp_row_stream_topic(topic, "ctr", "user/id:0", true);
	assert_string_equal(topic, "hps_et.ctr.user_id_0");
	sp_row_stream_topic(topic, "my model", NULL, false);
	assert_string_equal(topic, "sp_rows.my_model");
	memset(longest, 'a', sizeof(longest) - 1);
	sp_row_stream_topic(topic, longest, longest, true);
	assert_int_equal(strlen(topic), 249);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(batches_are_seen_and_a_restart_begins_at_the_mark,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_of_hps_are_seen_after_a_while, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_topic_and_a_broker_may_come_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(above_the_memory_limit_reading_pauses, set_up,
						tear_down),
		cmocka_unit_test(names_of_topics_have_what_kafka_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
