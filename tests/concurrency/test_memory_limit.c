/*
 * A full checkpoint that memory does not hold beside the live one is refused; one that it holds is
 * published as a whole: no answer is of two versions.
 */
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "base/clock.h"
#include "tests/support/table_model.h"

enum { FIRST = 40000, SECOND = 30000, THIRD = 20000, READERS = 4 };

/* Room for one version with these tables, and for two. */
#define ROOM_FOR_ONE ", \"model_update_memory_mb\": 16"
#define ROOM_FOR_TWO ", \"model_update_memory_mb\": 32"

static sp_table_model tables;

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static void write_full(int step)
{
	sp_table_model_version v = {.full = step, .value = (float)step};

	sp_table_model_write(&tables, &v);
}

static int tear_down(void **state)
{
	(void)state;
	sp_table_model_fini(&tables);
	return 0;
}

static void start(size_t first, size_t second, size_t third, const char *more)
{
	const size_t counts[] = {first, second, third};

	sp_table_model_init(&tables, counts);
	write_full(1000);
	sp_table_model_open(&tables, more);
	assert_non_null(tables.model);
	assert_true(sp_table_model_await(&tables, 1000));
}

static void assert_answer(float value)
{
	sp_table_model_answer a = sp_table_model_ask(&tables);

	assert_true(a.answered && a.consistent);
	for (int i = 0; i < SP_TABLE_MODEL_TABLES; i++)
		assert_float_equal(a.tables[i], value, 0);
	assert_float_equal(a.dense, value, 0);
}

/* ------------------------------------------------------------- consistency */

typedef struct watch {
	atomic_uint failed, torn, backwards, mixed;
	atomic_bool done;
} watch;

/* Every answer is of one version, and never of an older one than the answer before. */
static void *read_on(void *argument)
{
	watch *w = argument;
	sp_table_model_answer last = {.dense = 0};

	while (!atomic_load(&w->done)) {
		sp_table_model_answer a = sp_table_model_ask(&tables);
		bool differ = false;

		w->failed += !a.answered;
		w->torn += a.answered && !a.consistent;
		for (int i = 0; a.answered && i < SP_TABLE_MODEL_TABLES; i++) {
			w->backwards += a.tables[i] < last.tables[i];
			differ = differ || a.tables[i] != a.dense;
		}
		w->mixed += differ;
		last = a.answered ? a : last;
	}
	return NULL;
}

static void no_answer_is_of_two_versions(void **state)
{
	static watch w;
	pthread_t threads[READERS];

	(void)state;
	start(FIRST, SECOND, THIRD,
	      ROOM_FOR_TWO ", \"session_num\": 3, \"model_update_rows_per_second\": 300000");
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &w), 0);
	for (int step = 2000; step <= 4000; step += 1000) {
		write_full(step);
		assert_true(sp_table_model_await(&tables, (float)step));
	}
	atomic_store(&w.done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&w.failed), 0);
	assert_int_equal(atomic_load(&w.torn), 0);
	assert_int_equal(atomic_load(&w.backwards), 0);
	assert_int_equal(atomic_load(&w.mixed), 0);
	assert_true(sp_table_model_await_state(&tables, "\"full_step\":4000,\"delta_step\":-1,"
							"\"state\":\"live\""));
	assert_true(sp_table_model_await_state(&tables, "\"full_step\":3000,\"delta_step\":-1,"
							"\"state\":\"retired\""));
}

/* ----------------------------------------------------------------- closing */

/* At ten rows a second this load lasts for hours; it has begun when the other tables are ready. */
static void close_while_it_loads(const char *more)
{
	int64_t begin_ns;

	start(FIRST, SECOND, THIRD, more);
	write_full(2000);
	assert_true(sp_table_model_await_state(&tables, "\"state\":\"loading\""));
	usleep(50000);
	begin_ns = sp_clock_now_ns();
	sp_table_model_close(&tables);
	assert_true(sp_clock_now_ns() - begin_ns < INT64_C(20000000000));
}

static void closing_ends_a_load(void **state)
{
	(void)state;
	close_while_it_loads(", \"model_update_rows_per_second\": 10");
}

static void closing_ends_a_slow_read(void **state)
{
	(void)state;
	close_while_it_loads(", \"model_update_bytes_per_second\": 1000");
}

/* ------------------------------------------------------------------ memory */

/* The live version goes on, and a full checkpoint that fits is taken again. */
static void what_does_not_fit_is_refused(void **state)
{
	const size_t counts[] = {FIRST, SECOND, THIRD};

	(void)state;
	start(FIRST, SECOND, THIRD, ROOM_FOR_ONE);
	write_full(2000);
	assert_true(sp_table_model_await_state(&tables, "left of model_update_memory_mb"));
	assert_true(sp_table_model_await_state(&tables, "\"full_step\":2000,\"delta_step\":-1,"
							"\"state\":\"refused\""));
	assert_true(sp_table_model_await_state(&tables, "\"refusals\":{\"no_memory\":1}"));
	assert_answer(1000);
	write_full(3000);
	assert_true(sp_table_model_await_state(&tables, "\"full_step\":3000,\"delta_step\":-1,"
							"\"state\":\"refused\""));
	assert_true(sp_table_model_await_state(&tables, "\"reason\":\"no_memory\""));
	assert_true(sp_table_model_await_state(&tables, "\"refusals\":{\"no_memory\":2}"));
	assert_answer(1000);
	for (int i = 0; i < 3; i++)
		tables.key_counts[i] = counts[i] / 10;
	write_full(4000);
	assert_true(sp_table_model_await(&tables, 4000));
}

/* Two models and what loading them takes are well below that. */
static void what_fits_is_loaded(void **state)
{
	(void)state;
	start(FIRST, SECOND, THIRD, ROOM_FOR_TWO);
	write_full(2000);
	assert_true(sp_table_model_await(&tables, 2000));
	write_full(3000);
	assert_true(sp_table_model_await(&tables, 3000));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_teardown(test, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(no_answer_is_of_two_versions), CASE(what_does_not_fit_is_refused),
		CASE(what_fits_is_loaded),          CASE(closing_ends_a_load),
		CASE(closing_ends_a_slow_read),
	};

	serving_processor_set_log(ignore_line, NULL);
	return cmocka_run_group_tests_name("memory_limit", tests, NULL, NULL);
}
