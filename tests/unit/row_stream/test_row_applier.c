#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "row_stream/row_applier.h"
#include "tests/support/stream_messages.h"

enum { DIM = 3, FULL = 100 };

typedef struct scene {
	sp_fresh *fresh;
	sp_row_applier *applier;
	size_t lines; /* of the log */
	char last_line[256];
} scene;

static void keep_line(void *context, int level, const char *line)
{
	scene *s = context;

	(void)level;
	s->lines++;
	strncpy(s->last_line, line, sizeof(s->last_line) - 1);
}

static void open_scene(scene *s, bool is_hps, size_t partitions, size_t memory)
{
	static const size_t dims[] = {DIM, 1};
	static const char *const names[] = {"item", "user"};
	const sp_fresh_options fresh = {
		.dims = dims, .table_count = 2, .reader_count = 1, .memory_limit = memory};
	sp_row_applier_options options = {.names = names,
					  .dims = dims,
					  .table_count = 2,
					  .is_hps = is_hps,
					  .key_size = 8,
					  .full_step = FULL,
					  .interval_ns = 50000000,
					  .only_finite = true};
	sp_error err;

	memset(s, 0, sizeof(*s));
	assert_ok(sp_fresh_create(&s->fresh, &fresh, &err), &err);
	options.fresh = s->fresh;
	assert_ok(sp_row_applier_create(&s->applier, &options, &err), &err);
	assert_ok(sp_row_applier_set_partitions(s->applier, partitions, &err), &err);
	sp_log_set_sink(keep_line, s);
}

static void close_scene(scene *s)
{
	sp_row_applier_destroy(s->applier);
	sp_fresh_destroy(s->fresh);
	sp_log_set_sink(NULL, NULL);
}

static float see(scene *s, size_t table, int64_t key)
{
	const float *row;
	sp_fresh_view view;
	float value;

	sp_fresh_pin(&view, s->fresh, 0, -1);
	sp_fresh_find(sp_fresh_table(s->fresh, table), &view, &key, 1, &row);
	value = row != NULL ? row[0] : -1;
	sp_fresh_unpin(s->fresh, 0);
	return value;
}

static void apply(scene *s, size_t partition, size_t table, char *bytes, size_t size)
{
	sp_fresh_done done = {0};
	const sp_received_message message = {.bytes = {bytes, size},
					     .partition = partition,
					     .topic_name = "t",
					     .number = (int32_t)partition,
					     .offset = 17,
					     .topic = table};

	assert_false(sp_row_applier_is_blocked(s->applier, partition));
	assert_int_equal(sp_row_applier_apply(s->applier, &message, &done), SP_OK);
	free(bytes);
}

static void send_rows(scene *s, size_t partition, sp_stream_rows rows)
{
	size_t size, table = rows.dim == 1;
	char *bytes = sp_stream_message(&size, &rows);

	apply(s, partition, table, bytes, size);
}

static void send_commit(scene *s, size_t partition, uint64_t batch, uint32_t messages)
{
	size_t size;
	char *bytes = sp_stream_commit(&size, FULL, batch, messages);

	apply(s, partition, 0, bytes, size);
}

#define ITEMS(b, key, v)                                                            \
	(sp_stream_rows)                                                            \
	{                                                                           \
		.table = "item", .full_step = FULL, .step = FULL + 1, .batch = (b), \
		.first_key = (key), .count = 2, .dim = DIM, .value = (v)            \
	}

static sp_row_applier_counters count(const scene *s)
{
	sp_row_applier_counters counters;

	sp_row_applier_count(s->applier, &counters);
	return counters;
}

static void a_batch_is_visible_when_all_partitions_have_its_commit(void **state)
{
	sp_stream_rows user = ITEMS(1, 5, 7);
	scene s;

	(void)state;
	user.table = "user";
	user.dim = 1;
	open_scene(&s, false, 2, 64 << 20);
	send_rows(&s, 0, ITEMS(1, 10, 1));
	send_rows(&s, 0, user);
	send_commit(&s, 0, 1, 2);
	assert_true(sp_row_applier_is_blocked(s.applier, 0));
	assert_true(see(&s, 0, 10) == -1 && see(&s, 1, 5) == -1);
	send_rows(&s, 1, ITEMS(1, 20, 2));
	assert_true(see(&s, 0, 20) == -1);
	send_commit(&s, 1, 1, 1);
	assert_false(sp_row_applier_is_blocked(s.applier, 0));
	assert_true(see(&s, 0, 10) == 1 && see(&s, 0, 21) == 2 && see(&s, 1, 6) == 7);
	assert_true(count(&s).batch == 1 && count(&s).rows == 6 && count(&s).messages == 5);
	assert_int_equal(count(&s).incomplete_batches, 0);

	/* A partition without rows, and one that is behind by a batch. */
	send_commit(&s, 1, 3, 0);
	send_commit(&s, 0, 2, 0);
	assert_true(!sp_row_applier_is_blocked(s.applier, 0) &&
		    sp_row_applier_is_blocked(s.applier, 1));
	send_rows(&s, 0, ITEMS(3, 10, 3));
	assert_int_equal(count(&s).batch, 1);
	send_commit(&s, 0, 3, 2); /* one has been lost */
	assert_true(count(&s).batch == 3 && see(&s, 0, 10) == 3);
	assert_int_equal(count(&s).incomplete_batches, 1);
	assert_int_equal(sp_row_applier_tick(s.applier, INT64_MAX), 0);
	close_scene(&s);
}

static void what_is_not_for_these_tables_is_skipped_and_counted(void **state)
{
	sp_stream_rows rows = ITEMS(2, 1, 5);
	scene s;

	(void)state;
	open_scene(&s, false, 1, 64 << 20);
	send_commit(&s, 0, 1, 0);
	rows.table = "other";
	send_rows(&s, 0, rows);
	assert_non_null(strstr(s.last_line, "message 17 of partition 0 of topic 't' is skipped: "
					    "the model has no table 'other'"));
	rows = ITEMS(2, 1, 5);
	rows.dim = DIM + 1;
	send_rows(&s, 0, rows);
	assert_non_null(
		strstr(s.last_line, "rows of 16 bytes for table 'item', whose rows have 12"));
	rows = ITEMS(2, 1, 5);
	rows.full_step = FULL - 1;
	send_rows(&s, 0, rows);
	send_rows(&s, 0, ITEMS(1, 1, 5));  /* batch 1 again */
	send_rows(&s, 0, ITEMS(2, -2, 5)); /* keys -2 and -1 */
	apply(&s, 0, 0, strdup("SPR0"), 4);
	send_rows(&s, 0, ITEMS(2, 1, 1.0f / 0.0f));
	send_commit(&s, 0, 2, 2);
	assert_true(see(&s, 0, 1) == -1);
	assert_true(count(&s).skipped[SP_ROW_SKIP_TABLE] == 1 &&
		    count(&s).skipped[SP_ROW_SKIP_WIDTH] == 1 &&
		    count(&s).skipped[SP_ROW_SKIP_VERSION] == 1 &&
		    count(&s).skipped[SP_ROW_SKIP_BATCH] == 1 &&
		    count(&s).skipped[SP_ROW_SKIP_FORMAT] == 1 &&
		    count(&s).skipped[SP_ROW_SKIP_VALUES] == 4);
	for (int i = 0; i < 100; i++)
		apply(&s, 0, 0, strdup("poison"), 6);
	assert_true(s.lines < 20 && count(&s).skipped[SP_ROW_SKIP_FORMAT] == 101);
	close_scene(&s);
}

static void rows_without_batches_are_visible_after_a_while(void **state)
{
	sp_stream_rows rows = {.first_key = 1, .count = 2, .dim = DIM, .value = 1};
	int64_t due, now = sp_clock_now_ns();
	scene s;

	(void)state;
	open_scene(&s, true, 2, 64 << 20);
	assert_int_equal(sp_row_applier_tick(s.applier, now), 0);
	send_rows(&s, 1, rows);
	rows.value = 2;
	send_rows(&s, 1, rows); /* the last one stays */
	rows.dim = 1;
	send_rows(&s, 0, rows);
	due = sp_row_applier_tick(s.applier, now);
	assert_true(due >= now + 50000000 && see(&s, 0, 1) == -1);
	assert_int_equal(sp_row_applier_tick(s.applier, due), 0);
	assert_true(see(&s, 0, 1) == 2 && see(&s, 1, 2) == 2);
	rows.dim = 5;
	send_rows(&s, 0, rows);
	assert_int_equal(count(&s).skipped[SP_ROW_SKIP_WIDTH], 1);
	close_scene(&s);
}

static void a_message_that_does_not_fit_goes_on_later(void **state)
{
	enum { COUNT = 20000 };
	sp_stream_rows rows = {.count = COUNT, .dim = DIM, .value = 4};
	sp_received_message message = {.topic_name = "t"};
	sp_fresh_done done = {0};
	scene s;
	char *bytes;

	(void)state;
	open_scene(&s, true, 1, 1 << 20);
	bytes = sp_stream_message(&message.bytes.size, &rows);
	message.bytes.data = bytes;
	assert_int_equal(sp_row_applier_apply(s.applier, &message, &done), SP_BUSY);
	assert_true(done.entries > 0 && done.entries < COUNT && done.entries == count(&s).rows);
	assert_int_equal(sp_row_applier_apply(s.applier, &message, &done), SP_BUSY);
	sp_row_applier_tick(s.applier, INT64_MAX);
	assert_true(see(&s, 0, 0) == 4 && see(&s, 0, COUNT - 1) == -1);
	free(bytes);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_visible_when_all_partitions_have_its_commit),
		cmocka_unit_test(what_is_not_for_these_tables_is_skipped_and_counted),
		cmocka_unit_test(rows_without_batches_are_visible_after_a_while),
		cmocka_unit_test(a_message_that_does_not_fit_goes_on_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
