#include "tests/support/cmocka.h"

#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "model_loader/embedding/row_pace.h"

enum { PIECES = 8, ROWS = 100, DIM = 3 };

static const int64_t ms = 1000000;
static atomic_bool serving, closing;
static atomic_size_t put;
static sp_load_policy policy;
static sp_row_pace pace;
static sp_error err;

static sp_status count_rows(void *context, const sp_row_piece *piece, sp_error *error)
{
	(void)error;
	assert_ptr_equal(context, &put);
	atomic_fetch_add(&put, piece->count);
	return SP_OK;
}

static sp_status count_checked(void *context, const sp_row_piece *piece, uint32_t *crc,
			       sp_error *error)
{
	*crc += (uint32_t)piece->count;
	return count_rows(context, piece, error);
}

static sp_status never_start(void *context, bool *in_order, sp_error *error)
{
	(void)context;
	(void)in_order;
	(void)error;
	fail_msg("rows are started");
	return SP_OK;
}

static sp_status refuse(void *context, const sp_row_piece *piece, sp_error *error)
{
	(void)context;
	(void)piece;
	return sp_error_set(error, SP_IO, "no disk");
}

static sp_status put_piece(void *context, size_t number, sp_error *error)
{
	sp_row_sink *sink = context;
	sp_row_piece piece = {.count = ROWS};

	(void)number;
	return sink->put_rows(sink->context, &piece, error);
}

static int set_up(void **state)
{
	(void)state;
	atomic_store(&serving, true);
	atomic_store(&closing, false);
	atomic_store(&put, 0);
	policy = (sp_load_policy){
		.rows_per_second = 8000, .serving = &serving, .closing = &closing};
	return 0;
}

/* Puts all pieces; how long that took. */
static int64_t run(size_t threads)
{
	sp_row_sink end = {.context = &put, .put_rows = count_rows}, sink;
	int64_t begin = sp_clock_now_ns();

	sp_row_pace_init(&pace, &end, DIM, &policy);
	sink = sp_row_pace_sink(&pace);
	assert_null(sink.add_keys);
	assert_null(sink.start_rows);
	assert_ok(sp_parallel_run(threads, PIECES, put_piece, &sink, &err), &err);
	assert_int_equal(atomic_load(&put), PIECES * ROWS);
	sp_row_pace_fini(&pace);
	return sp_clock_now_ns() - begin;
}

/* 800 rows at 8000 a second. */
static void rows_take_their_time(void **state)
{
	(void)state;
	assert_true(run(1) >= 100 * ms);
}

static void threads_share_the_allowance(void **state)
{
	(void)state;
	assert_true(run(4) >= 100 * ms);
}

/* 800 rows of 8 + 3 * 4 bytes at 160000 bytes a second. */
static void bytes_take_their_time(void **state)
{
	(void)state;
	policy.rows_per_second = 0;
	policy.bytes_per_second = 160000;
	assert_true(run(2) >= 100 * ms);
	atomic_store(&put, 0);
	policy.rows_per_second = 1 << 30; /* the tighter limit counts */
	assert_true(run(2) >= 100 * ms);
}

static void *close_soon(void *unused)
{
	(void)unused;
	usleep(50000);
	atomic_store(&closing, true);
	return NULL;
}

/* At one row a second this would last for more than ten minutes. */
static void closing_ends_the_wait(void **state)
{
	sp_row_sink end = {.context = &put, .put_rows = count_rows}, sink;
	int64_t begin = sp_clock_now_ns();
	pthread_t thread;

	(void)state;
	policy.rows_per_second = 1;
	sp_row_pace_init(&pace, &end, DIM, &policy);
	sink = sp_row_pace_sink(&pace);
	assert_int_equal(pthread_create(&thread, NULL, close_soon, NULL), 0);
	assert_int_equal(sp_parallel_run(2, PIECES, put_piece, &sink, &err), SP_BUSY);
	assert_string_equal(err.text, "the processor is closing");
	assert_true(sp_clock_now_ns() - begin < 2000 * ms);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&put) <= 2 * ROWS);
	sp_row_pace_fini(&pace);
}

/* Also without a limit: nothing more goes to the sink. */
static void closing_ends_the_load(void **state)
{
	sp_row_sink end = {.context = &put,
			   .add_keys = count_rows,
			   .start_rows = never_start,
			   .put_rows = count_rows},
		    sink;
	sp_row_piece piece = {.count = ROWS};
	bool in_order = false;

	(void)state;
	policy = (sp_load_policy){.closing = &closing};
	assert_true(sp_row_pace_is_needed(&policy));
	sp_row_pace_init(&pace, &end, DIM, &policy);
	sink = sp_row_pace_sink(&pace);
	assert_ok(sink.put_rows(sink.context, &piece, &err), &err);
	atomic_store(&closing, true);
	assert_int_equal(sink.add_keys(sink.context, &piece, &err), SP_BUSY);
	assert_int_equal(sink.start_rows(sink.context, &in_order, &err), SP_BUSY);
	assert_int_equal(sink.put_rows(sink.context, &piece, &err), SP_BUSY);
	assert_int_equal(atomic_load(&put), ROWS);
	sp_row_pace_fini(&pace);
}

static void who_answers_nobody_need_not_wait(void **state)
{
	(void)state;
	policy.closing = NULL;
	assert_true(sp_row_pace_is_needed(&policy));
	atomic_store(&serving, false);
	assert_false(sp_row_pace_is_needed(&policy));
	policy.serving = NULL;
	assert_false(sp_row_pace_is_needed(&policy));
	policy = (sp_load_policy){.serving = &serving};
	atomic_store(&serving, true);
	assert_false(sp_row_pace_is_needed(&policy));
}

/* What a table that is loaded beside others gets when one of those has failed. */
static void a_cancelled_load_ends(void **state)
{
	sp_row_sink end = {.context = &put, .put_rows = count_rows}, sink;
	sp_row_piece piece = {.count = ROWS};
	atomic_bool cancelled = false;

	(void)state;
	policy = (sp_load_policy){.cancelled = &cancelled};
	assert_true(sp_row_pace_is_needed(&policy));
	assert_false(sp_row_pace_is_limited(&policy));
	sp_row_pace_init(&pace, &end, DIM, &policy);
	sink = sp_row_pace_sink(&pace);
	assert_null(sink.put_checked);
	assert_ok(sink.put_rows(sink.context, &piece, &err), &err);
	atomic_store(&cancelled, true);
	assert_int_equal(sink.put_rows(sink.context, &piece, &err), SP_BUSY);
	assert_int_equal(atomic_load(&put), ROWS);
	sp_row_pace_fini(&pace);
}

/* Rows that the sink sums itself are not copied for it only because they can be stopped. */
static void a_sink_still_sums_rows_itself(void **state)
{
	sp_row_sink end = {.context = &put, .put_rows = count_rows, .put_checked = count_checked};
	sp_row_piece piece = {.count = ROWS};
	int64_t begin = sp_clock_now_ns();
	sp_row_sink sink;
	uint32_t crc = 7;

	(void)state;
	sp_row_pace_init(&pace, &end, DIM, &policy);
	sink = sp_row_pace_sink(&pace);
	assert_ok(sink.put_checked(sink.context, &piece, &crc, &err), &err);
	assert_int_equal(crc, 7 + ROWS);
	assert_true(sp_clock_now_ns() - begin >= 12 * ms); /* 100 rows at 8000 a second */
	atomic_store(&closing, true);
	assert_int_equal(sink.put_checked(sink.context, &piece, &crc, &err), SP_BUSY);
	assert_int_equal(atomic_load(&put), ROWS);
	sp_row_pace_fini(&pace);
}

static void what_the_sink_says_is_passed_on(void **state)
{
	sp_row_sink end = {.wants_freqs = true, .put_rows = refuse}, sink;
	sp_row_piece piece = {.count = ROWS};

	(void)state;
	sp_row_pace_init(&pace, &end, DIM, &policy);
	sink = sp_row_pace_sink(&pace);
	assert_true(sink.wants_freqs);
	assert_int_equal(sink.put_rows(sink.context, &piece, &err), SP_IO);
	assert_string_equal(err.text, "no disk");
	sp_row_pace_fini(&pace);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, NULL)
	const struct CMUnitTest tests[] = {
		CASE(rows_take_their_time),
		CASE(threads_share_the_allowance),
		CASE(bytes_take_their_time),
		CASE(closing_ends_the_wait),
		CASE(closing_ends_the_load),
		CASE(who_answers_nobody_need_not_wait),
		CASE(a_cancelled_load_ends),
		CASE(a_sink_still_sums_rows_itself),
		CASE(what_the_sink_says_is_passed_on),
	};

	return cmocka_run_group_tests_name("row_pace", tests, NULL, NULL);
}
