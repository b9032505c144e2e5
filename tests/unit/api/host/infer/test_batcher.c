#include "tests/support/cmocka.h"

#include <pthread.h>
#include <unistd.h>

#include "api/host/infer/batcher.h"
#include "base/clock.h"
#include "tests/support/row_run.h"

enum { SECOND = 1000000000 };

static sp_batcher *batcher; /* with one runner */
static sp_row_version version;

typedef sp_row_request asked;

#define ASK(rows_of, from_of)                                                           \
	{                                                                               \
		.version = &version, .signature = &sp_row_signature, .rows = (rows_of), \
		.width = 2, .from = (from_of)                                           \
	}

static void *ask(void *request)
{
	sp_row_ask(request);
	return NULL;
}

static void begin(asked *a)
{
	pthread_create(&a->thread, NULL, ask, a);
}

static void await_waiting(size_t count)
{
	for (int i = 0; i < 10000 && sp_batcher_waiting(batcher) != count; i++)
		usleep(1000);
	assert_int_equal(sp_batcher_waiting(batcher), count);
}

/* Keeps the runner busy until release() is called. */
static asked blocker;
static void block(void)
{
	size_t runs = atomic_load(&sp_row_runs);

	blocker = (asked)ASK(1, 1);
	atomic_store(&sp_row_gate, true);
	begin(&blocker);
	/* The run waits in the gate; another request shows that the runner is taken. */
	usleep(20000);
	assert_int_equal(atomic_load(&sp_row_runs), runs);
}

/* Forgets the runs, opens the gate and waits for all. */
static void release(asked *all, size_t count)
{
	atomic_store(&sp_row_gate, false);
	pthread_join(blocker.thread, NULL);
	for (size_t i = 0; i < count; i++)
		pthread_join(all[i].thread, NULL);
	assert_true(blocker.right);
}

/* Has them all wait for the busy runner, in this order, and then answered. */
static void ask_together(asked *all, size_t count)
{
	block();
	for (size_t i = 0; i < count; i++) {
		begin(&all[i]);
		await_waiting(i + 1);
	}
	atomic_store(&sp_row_runs, 0);
	release(all, count);
}

static void assert_right(const asked *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_true(all[i].right);
}

/* The rows of the runs after that of the blocker. */
static void assert_runs(const size_t *rows, size_t count)
{
	assert_int_equal(atomic_load(&sp_row_runs), count + 1);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(atomic_load(&sp_row_log[i + 1]), rows[i]);
}

/* Lets the batcher find out that rows are independent. */
static void warm(void)
{
	asked all[] = {ASK(1, 5), ASK(2, 10)};

	ask_together(all, 2);
	assert_right(all, 2);
}

static int set_up(void **state)
{
	(void)state;
	sp_row_kind_of_model = SP_ROWS_INDEPENDENT;
	sp_row_version_init(&version, NULL, 1);
	if (sp_batcher_create(&batcher, 1, NULL, NULL, NULL) != SP_OK)
		return -1;
	sp_row_version_init(&version, batcher, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_batcher_destroy(batcher);
	return atomic_load(&sp_row_open) == 0 ? 0 : -1;
}

/* ---------------------------------------------------------------------- joining */

static void an_idle_runner_takes_a_request_at_once(void **state)
{
	asked one = ASK(3, 7);

	(void)state;
	ask(&one);
	assert_true(one.right);
	assert_int_equal(sp_counter_get(&version.model.counters.batches), 1);
	assert_int_equal(sp_counter_get(&version.model.counters.batch_rows), 3);
}

static void the_first_joined_run_is_compared_with_single_ones(void **state)
{
	const size_t rows[] = {2, 3, 5};
	asked all[] = {ASK(2, 10), ASK(3, 20)};

	(void)state;
	ask_together(all, 2);
	assert_right(all, 2);
	assert_runs(rows, 3);
}

static void waiting_requests_are_joined(void **state)
{
	const size_t rows[] = {7};
	asked all[] = {ASK(1, 10), ASK(2, 20), ASK(3, 30), ASK(1, 40)};

	(void)state;
	warm();
	ask_together(all, 4);
	assert_right(all, 4);
	assert_runs(rows, 1);
	assert_int_equal(sp_histogram_count(&version.model.counters.batch_wait), 3 + 5);
}

static void others_are_not_mixed(void **state)
{
	const size_t rows[] = {3, 1, 1, 1, 1};
	asked all[] = {ASK(1, 10), ASK(1, 20), ASK(1, 30), ASK(1, 40), ASK(1, 50), ASK(2, 60)};
	sp_row_version other;

	(void)state;
	warm();
	sp_row_version_init(&other, batcher, 2);
	all[1].version = &other;
	all[2].signature = &sp_other_signature;
	all[3].width = 3;
	all[4].only_t = true;
	ask_together(all, 6);
	assert_right(all, 6);
	assert_runs(rows, 5);
}

static void a_batch_has_at_most_max_batch_size_rows(void **state)
{
	const size_t rows[] = {3, 4};
	asked all[] = {ASK(1, 10), ASK(2, 20), ASK(2, 30), ASK(2, 40)};

	(void)state;
	warm();
	version.served.batching.max_batch_size = 4;
	ask_together(all, 4);
	assert_right(all, 4);
	assert_runs(rows, 2);
}

static void a_batch_is_padded_to_an_allowed_size(void **state)
{
	const size_t rows[] = {8};
	asked all[] = {ASK(1, 10), ASK(4, 20)}, one = ASK(3, 5);

	(void)state;
	warm();
	version.served.batching.max_batch_size = 8;
	version.served.batching.allowed_batch_sizes[0] = 1;
	version.served.batching.allowed_batch_sizes[1] = 4;
	version.served.batching.allowed_batch_sizes[2] = 8;
	version.served.batching.allowed_count = 3;
	ask_together(all, 2);
	assert_right(all, 2);
	assert_runs(rows, 1);
	atomic_store(&sp_row_runs, 0);
	ask(&one);
	assert_true(one.right);
	assert_int_equal(atomic_load(&sp_row_log[0]), 4);
}

/* ------------------------------------------------------------ what cannot be joined */

static void dependent_rows_are_never_joined(void **state)
{
	const size_t first[] = {1, 1, 2}, later[] = {1, 1};
	asked all[] = {ASK(1, 10), ASK(1, 20)}, again[] = {ASK(1, 30), ASK(1, 40)};

	(void)state;
	sp_row_kind_of_model = SP_ROWS_DEPENDENT;
	ask_together(all, 2);
	assert_right(all, 2);
	assert_runs(first, 3);
	ask_together(again, 2);
	assert_right(again, 2);
	assert_runs(later, 2);
}

static void outputs_without_rows_are_never_joined(void **state)
{
	const size_t first[] = {1, 1, 2}, later[] = {1, 1};
	asked all[] = {ASK(1, 10), ASK(1, 20)}, again[] = {ASK(1, 30), ASK(1, 40)};

	(void)state;
	sp_row_kind_of_model = SP_ROWS_ONE;
	ask_together(all, 2);
	assert_right(all, 2);
	assert_runs(first, 3);
	ask_together(again, 2);
	assert_right(again, 2);
	assert_runs(later, 2);
}

static void rows_that_get_lost_later_are_noticed(void **state)
{
	const size_t rows[] = {2, 1, 1};
	asked all[] = {ASK(1, 10), ASK(1, 20)};

	(void)state;
	warm();
	sp_row_kind_of_model = SP_ROWS_ONE;
	ask_together(all, 2);
	assert_right(all, 2);
	assert_runs(rows, 3);
	assert_int_equal(sp_counter_get(&version.model.counters.batch_reruns), 1);
}

static void a_bad_request_does_not_fail_others(void **state)
{
	asked all[] = {ASK(1, 10), ASK(2, -20), ASK(1, 30)};

	(void)state;
	warm();
	ask_together(all, 3);
	assert_true(all[0].right);
	assert_int_equal(all[1].status, SP_INVALID);
	assert_string_equal(all[1].err.text, "a number is negative");
	assert_true(all[2].right);
	assert_int_equal(sp_counter_get(&version.model.counters.batch_reruns), 1);
}

/* ----------------------------------------------------------------------- limits */

static void deadlines_hold_while_waiting(void **state)
{
	const size_t rows[] = {3};
	asked all[] = {ASK(1, 10), ASK(1, 20), ASK(2, 30), ASK(1, 40)};

	(void)state;
	warm();
	block();
	for (size_t i = 0; i < 4; i++) {
		if (i == 0 || i == 3)
			all[i].deadline_ns = sp_clock_now_ns() + SECOND / 10;
		begin(&all[i]);
		await_waiting(i + 1);
	}
	await_waiting(2);
	atomic_store(&sp_row_runs, 0);
	release(all, 4);
	assert_int_equal(all[0].status, SP_DEADLINE);
	assert_int_equal(all[3].status, SP_DEADLINE);
	assert_right(all + 1, 2);
	assert_runs(rows, 1);
}

static void a_cancelled_request_leaves(void **state)
{
	const size_t rows[] = {2};
	asked all[] = {ASK(1, 10), ASK(1, 20), ASK(1, 30)};

	(void)state;
	warm();
	block();
	for (size_t i = 0; i < 3; i++) {
		begin(&all[i]);
		await_waiting(i + 1);
	}
	atomic_store(&all[1].cancelled, true);
	await_waiting(2);
	atomic_store(&sp_row_runs, 0);
	release(all, 3);
	assert_int_equal(all[1].status, SP_CANCELLED);
	assert_true(all[0].right && all[2].right);
	assert_runs(rows, 1);
}

static void a_full_queue_is_busy(void **state)
{
	asked all[] = {ASK(1, 10), ASK(1, 20)}, more = ASK(1, 30);

	(void)state;
	warm();
	version.served.batching.max_batch_size = 2;
	version.served.batching.max_enqueued_batches = 1;
	block();
	for (size_t i = 0; i < 2; i++) {
		begin(&all[i]);
		await_waiting(i + 1);
	}
	ask(&more);
	assert_int_equal(more.status, SP_BUSY);
	release(all, 2);
	assert_right(all, 2);
}

static void too_many_rows_are_refused(void **state)
{
	asked one = ASK(5, 10);

	(void)state;
	version.served.batching.max_batch_size = 4;
	ask(&one);
	assert_int_equal(one.status, SP_INVALID);
	assert_string_equal(one.err.text, "Task size 5 is larger than maximum input batch size 4");
}

static void large_requests_are_split(void **state)
{
	const size_t first[] = {10, 4, 4, 2}, later[] = {4, 4, 2};
	asked one = ASK(10, 10), again = ASK(10, 30);

	(void)state;
	version.served.batching.max_batch_size = 8;
	version.served.batching.max_execution_batch_size = 4;
	version.served.batching.enable_large_batch_splitting = true;
	atomic_store(&sp_row_runs, 0);
	ask(&one);
	assert_true(one.right);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(atomic_load(&sp_row_log[i]), first[i]);
	atomic_store(&sp_row_runs, 0);
	ask(&again);
	assert_true(again.right);
	assert_int_equal(atomic_load(&sp_row_runs), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(atomic_load(&sp_row_log[i]), later[i]);
	sp_row_kind_of_model = SP_ROWS_ONE;
	one.right = false;
	ask(&one);
	assert_true(one.right);
}

/* ---------------------------------------------------------------------- timeout */

static void a_batch_waits_for_the_timeout(void **state)
{
	asked all[] = {ASK(1, 10), ASK(2, 20)};
	int64_t began, took;

	(void)state;
	warm();
	version.served.batching.batch_timeout_micros = 200000;
	atomic_store(&sp_row_runs, 0);
	began = sp_clock_now_ns();
	for (size_t i = 0; i < 2; i++)
		begin(&all[i]);
	for (size_t i = 0; i < 2; i++)
		pthread_join(all[i].thread, NULL);
	took = sp_clock_now_ns() - began;
	assert_right(all, 2);
	assert_int_equal(atomic_load(&sp_row_runs), 1);
	assert_true(took >= SECOND / 5);
}

static void a_full_batch_does_not_wait(void **state)
{
	asked all[] = {ASK(1, 10), ASK(2, 20)};

	(void)state;
	warm();
	version.served.batching.batch_timeout_micros = 1000000000;
	version.served.batching.max_batch_size = 3;
	for (size_t i = 0; i < 2; i++)
		begin(&all[i]);
	for (size_t i = 0; i < 2; i++)
		pthread_join(all[i].thread, NULL);
	assert_right(all, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_idle_runner_takes_a_request_at_once),
		TEST(the_first_joined_run_is_compared_with_single_ones),
		TEST(waiting_requests_are_joined),
		TEST(others_are_not_mixed),
		TEST(a_batch_has_at_most_max_batch_size_rows),
		TEST(a_batch_is_padded_to_an_allowed_size),
		TEST(dependent_rows_are_never_joined),
		TEST(outputs_without_rows_are_never_joined),
		TEST(rows_that_get_lost_later_are_noticed),
		TEST(a_bad_request_does_not_fail_others),
		TEST(deadlines_hold_while_waiting),
		TEST(a_cancelled_request_leaves),
		TEST(a_full_queue_is_busy),
		TEST(too_many_rows_are_refused),
		TEST(large_requests_are_split),
		TEST(a_batch_waits_for_the_timeout),
		TEST(a_full_batch_does_not_wait),
	};

	return cmocka_run_group_tests_name("batcher", tests, NULL, NULL);
}
