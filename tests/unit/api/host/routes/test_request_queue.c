#include "tests/support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "api/host/routes/request_queue.h"
#include "base/alloc.h"

/* Items are numbers; what is sent with a body of `size` bytes has that as its item. */

enum { KB = 1 << 10, MB = 1 << 20 };

static int set_up(void **state)
{
	(void)state;
	alarm(60); /* what hangs shall fail */
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alarm(0);
	sp_alloc_fail_after(-1);
	return 0;
}

static bool push(sp_request_queue *queue, uintptr_t number, size_t size)
{
	return sp_request_queue_try_push(queue, &(sp_queued){.request = (sp_http_request *)number},
					 size);
}

static uintptr_t pop(sp_request_queue *queue, bool *large)
{
	sp_queued next;

	return sp_request_queue_pop(queue, &next, large) ? (uintptr_t)next.request : 0;
}

static void of_one_size_first_in_is_first_out(void **state)
{
	static const size_t sizes[] = {0, 30 * KB, 200 * KB, 10 * MB};

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		sp_request_queue *queue = sp_request_queue_create(10, 1);
		bool large = false;

		for (uintptr_t i = 1; i < 20; i += 2) { /* places are used again */
			assert_true(push(queue, i, sizes[s]));
			assert_true(push(queue, i + 1, sizes[s]));
			assert_int_equal(pop(queue, &large), i);
			assert_int_equal(pop(queue, &large), i + 1);
		}
		sp_request_queue_destroy(queue);
	}
	sp_request_queue_destroy(NULL);
}

static void a_small_request_waits_for_no_large_one(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(1000, 1);
	bool large = false;

	(void)state;
	for (uintptr_t i = 1; i <= 100; i++)
		assert_true(push(queue, 1000 + i, 4 * MB));
	assert_int_equal(pop(queue, &large), 1001); /* under way */
	assert_true(push(queue, 1, 100));
	assert_true(push(queue, 2, 40 * KB));
	assert_int_equal(pop(queue, &large) + pop(queue, &large), 3);
	assert_int_equal(pop(queue, &large), 1002);
	assert_true(push(queue, 3, 100));
	assert_int_equal(pop(queue, &large), 3);
	sp_request_queue_destroy(queue);
}

/* Of a class that always waits nothing is heard for no more than its share of bytes. */
static void large_requests_progress_whatever_else_comes(void **state)
{
	enum { LARGE = MB, ROUNDS = 4000 };
	sp_request_queue *queue = sp_request_queue_create(1000, 1);
	size_t large_count = 0, small_count = 0;
	bool large = false;

	(void)state;
	for (uintptr_t i = 1; i <= 8; i++)
		assert_true(push(queue, 1, 1000) && push(queue, 2, LARGE));
	for (int i = 0; i < ROUNDS; i++) {
		bool is_large = pop(queue, &large) == 2;

		large_count += is_large;
		small_count += !is_large;
		assert_true(push(queue, is_large ? 2 : 1, is_large ? LARGE : 1000));
	}
	/* A byte for a byte, each request with 4 KB added. */
	assert_in_range(small_count, large_count * (LARGE / KB + 4) / 5 * 9 / 10,
			large_count * (LARGE / KB + 4) / 5 * 11 / 10);
	sp_request_queue_destroy(queue);
}

static void classes_share_by_bytes(void **state)
{
	static const size_t sizes[] = {2 * KB, 50 * KB, 200 * KB, 900 * KB};
	sp_request_queue *queue = sp_request_queue_create(1000, 1);
	size_t bytes[4] = {0}, most = 0, least = SIZE_MAX;
	bool large = false;

	(void)state;
	for (int n = 0; n < 100; n++)
		for (uintptr_t i = 0; i < 4; i++)
			assert_true(push(queue, i + 1, sizes[i]));
	for (int n = 0; n < 20000; n++) {
		uintptr_t i = pop(queue, &large) - 1;

		bytes[i] += sizes[i] + 4 * KB;
		assert_true(push(queue, i + 1, sizes[i]));
	}
	for (int i = 0; i < 4; i++) {
		most = bytes[i] > most ? bytes[i] : most;
		least = bytes[i] < least ? bytes[i] : least;
	}
	assert_true(least > most / 100 * 95);
	sp_request_queue_destroy(queue);
}

typedef struct popper {
	pthread_t thread;
	sp_request_queue *queue;
	bool large;
	atomic_uintptr_t got;
} popper;

static void *pop_one(void *argument)
{
	popper *p = argument;

	p->got = pop(p->queue, &p->large);
	return NULL;
}

static void start_pop(popper *p, sp_request_queue *queue)
{
	p->queue = queue;
	p->got = 0;
	assert_int_equal(pthread_create(&p->thread, NULL, pop_one, p), 0);
}

static void one_worker_is_kept_from_large_requests(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(100, 3);
	popper workers[3] = {0};

	(void)state;
	for (uintptr_t i = 1; i <= 3; i++)
		assert_true(push(queue, 100 + i, MB));
	assert_int_equal(pop(queue, &workers[0].large), 101);
	assert_int_equal(pop(queue, &workers[1].large), 102);
	start_pop(&workers[2], queue);
	usleep(20000); /* most likely it waits by now; right either way */
	assert_int_equal(workers[2].got, 0);
	assert_true(push(queue, 1, 100));
	pthread_join(workers[2].thread, NULL);
	assert_int_equal(workers[2].got, 1);

	/* It waits again, until another is done with a large one. */
	start_pop(&workers[2], queue);
	usleep(20000);
	assert_int_equal(workers[2].got, 0);
	assert_true(push(queue, 2, 100));
	pthread_join(workers[2].thread, NULL);
	assert_int_equal(workers[2].got, 2);
	assert_true(push(queue, 3, 100));
	assert_int_equal(pop(queue, &workers[0].large), 3);
	start_pop(&workers[2], queue);
	pthread_join(workers[2].thread, NULL);
	assert_int_equal(workers[2].got, 103);
	sp_request_queue_destroy(queue);
}

static void where_only_large_requests_come_they_have_all_workers(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(100, 2);
	bool first = false, second = false;

	(void)state;
	for (uintptr_t i = 1; i <= SP_REQUEST_LOOKBACK; i++) {
		assert_true(push(queue, i, MB));
		assert_int_equal(pop(queue, &first), i);
	}
	assert_true(push(queue, 1001, MB));
	assert_int_equal(pop(queue, &second), 1001);
	assert_true(push(queue, 1, 100)); /* from now on one is kept again */
	assert_int_equal(pop(queue, &second), 1);
	assert_true(push(queue, 1002, MB) && push(queue, 2, 100));
	assert_int_equal(pop(queue, &second), 2);
	assert_int_equal(pop(queue, &first), 1002);
	sp_request_queue_destroy(queue);
}

static void a_full_queue_says_no_at_once(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(1, 2);

	(void)state;
	assert_true(push(queue, 1, MB));
	assert_false(push(queue, 2, 0));
	sp_request_queue_destroy(queue);
	queue = sp_request_queue_create(8, 2);
	for (uintptr_t i = 1; i <= 6; i++)
		assert_true(push(queue, i, MB));
	assert_false(push(queue, 7, MB)); /* the last quarter is for small ones */
	assert_true(push(queue, 7, 0));
	assert_true(push(queue, 8, 0));
	assert_false(push(queue, 9, 0));
	sp_request_queue_destroy(queue);
}

static void a_closed_queue_is_drained_then_says_goodbye(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(8, 2);
	bool first = false, second = false;

	(void)state;
	assert_true(push(queue, 1, MB));
	assert_true(push(queue, 2, MB));
	sp_request_queue_close(queue);
	assert_false(push(queue, 3, 0));
	assert_int_equal(pop(queue, &first), 1);
	assert_int_equal(pop(queue, &second), 2);
	assert_int_equal(pop(queue, &first), 0);
	assert_int_equal(pop(queue, &second), 0);
	sp_request_queue_destroy(queue);
}

static void impossible_sizes_and_no_memory_give_none(void **state)
{
	(void)state;
	assert_null(sp_request_queue_create(0, 1));
	assert_null(sp_request_queue_create(1, 0));
	assert_null(sp_request_queue_create(SIZE_MAX, 1));
	sp_alloc_fail_after(0);
	assert_null(sp_request_queue_create(4, 1));
}

static void closing_wakes_all_who_wait(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(1, 3);
	popper workers[3] = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		start_pop(&workers[i], queue);
	usleep(20000);
	sp_request_queue_close(queue);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i].thread, NULL);
	sp_request_queue_destroy(queue);
}

static void spare_workers_take_the_place_of_paused_ones(void **state)
{
	sp_request_queue *queue = sp_request_queue_create(8, 1);
	bool large = false;
	popper spare = {0};

	(void)state;
	sp_request_queue_set_spare(queue, 1);
	start_pop(&spare, queue);
	usleep(20000);
	assert_true(push(queue, 1, 0));
	assert_true(push(queue, 2, 0));
	assert_int_equal(pop(queue, &large), 1);
	usleep(20000);
	assert_int_equal(spare.got, 0);
	sp_request_queue_pause(queue);
	pthread_join(spare.thread, NULL);
	assert_int_equal(spare.got, 2);
	sp_request_queue_resume(queue);
	sp_request_queue_destroy(queue);
}

enum { PRODUCERS = 3, CONSUMERS = 3, PER_PRODUCER = 4000 };

typedef struct traffic {
	sp_request_queue *queue;
	atomic_uintptr_t next_producer;
	atomic_int large_running;
	atomic_bool too_many, closed;
	atomic_uchar seen[PRODUCERS * PER_PRODUCER + 1];
} traffic;

static bool is_large(uintptr_t number)
{
	return number % 5 == 0;
}

static void *produce(void *argument)
{
	traffic *t = argument;
	uintptr_t first = atomic_fetch_add(&t->next_producer, PER_PRODUCER);

	for (uintptr_t i = 1; i <= PER_PRODUCER; i++)
		while (!push(t->queue, first + i,
			     is_large(first + i) ? 300 * KB + i : i * 37 % (250 * KB)))
			sched_yield();
	return NULL;
}

static void *consume(void *argument)
{
	traffic *t = argument;
	bool large = false;
	uintptr_t number;

	while ((number = pop(t->queue, &large)) != 0) {
		t->seen[number]++;
		if (!is_large(number))
			continue;
		if (++t->large_running > CONSUMERS - 1 && !t->closed)
			t->too_many = true;
		sched_yield();
		t->large_running--;
	}
	return NULL;
}

static void every_item_arrives_once(void **state)
{
	static traffic t;
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];

	(void)state;
	t.queue = sp_request_queue_create(32, CONSUMERS);
	for (int i = 0; i < CONSUMERS; i++)
		assert_int_equal(pthread_create(&consumers[i], NULL, consume, &t), 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&producers[i], NULL, produce, &t), 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	t.closed = true; /* then they may have all workers */
	sp_request_queue_close(t.queue);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(consumers[i], NULL);
	assert_false(t.too_many);
	for (size_t i = 1; i <= PRODUCERS * PER_PRODUCER; i++)
		assert_int_equal(t.seen[i], 1);
	sp_request_queue_destroy(t.queue);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(of_one_size_first_in_is_first_out),
		CASE(a_small_request_waits_for_no_large_one),
		CASE(large_requests_progress_whatever_else_comes),
		CASE(classes_share_by_bytes),
		CASE(one_worker_is_kept_from_large_requests),
		CASE(where_only_large_requests_come_they_have_all_workers),
		CASE(a_full_queue_says_no_at_once),
		CASE(a_closed_queue_is_drained_then_says_goodbye),
		CASE(impossible_sizes_and_no_memory_give_none),
		CASE(closing_wakes_all_who_wait),
		CASE(spare_workers_take_the_place_of_paused_ones),
		CASE(every_item_arrives_once),
	};

	return cmocka_run_group_tests_name("request_queue", tests, NULL, NULL);
}
