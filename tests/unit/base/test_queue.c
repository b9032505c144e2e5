#include "tests/support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/queue.h"

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

static void *item(uintptr_t number)
{
	return (void *)number;
}

static void first_in_is_first_out(void **state)
{
	sp_queue *queue = sp_queue_create(3);

	(void)state;
	/* More rounds than places: the ring turns over. */
	for (uintptr_t i = 1; i < 20; i += 2) {
		assert_true(sp_queue_try_push(queue, item(i)));
		assert_true(sp_queue_try_push(queue, item(i + 1)));
		assert_ptr_equal(sp_queue_pop(queue), item(i));
		assert_ptr_equal(sp_queue_pop(queue), item(i + 1));
	}
	sp_queue_destroy(queue);
	sp_queue_destroy(NULL);
}

static void a_full_queue_says_no_at_once(void **state)
{
	sp_queue *queue = sp_queue_create(2);

	(void)state;
	assert_true(sp_queue_try_push(queue, item(1)));
	assert_true(sp_queue_try_push(queue, item(2)));
	assert_false(sp_queue_try_push(queue, item(3)));
	assert_ptr_equal(sp_queue_pop(queue), item(1));
	assert_true(sp_queue_try_push(queue, item(4)));
	assert_ptr_equal(sp_queue_pop(queue), item(2));
	assert_ptr_equal(sp_queue_pop(queue), item(4));
	sp_queue_destroy(queue);
}

static void a_closed_queue_is_drained_then_says_goodbye(void **state)
{
	sp_queue *queue = sp_queue_create(4);

	(void)state;
	assert_true(sp_queue_try_push(queue, item(1)));
	assert_true(sp_queue_try_push(queue, item(2)));
	sp_queue_close(queue);
	assert_false(sp_queue_try_push(queue, item(3)));
	assert_ptr_equal(sp_queue_pop(queue), item(1));
	assert_ptr_equal(sp_queue_pop(queue), item(2));
	assert_null(sp_queue_pop(queue));
	assert_null(sp_queue_pop(queue));
	sp_queue_destroy(queue);
}

static void impossible_sizes_and_no_memory_give_none(void **state)
{
	(void)state;
	assert_null(sp_queue_create(0));
	assert_null(sp_queue_create(SIZE_MAX));
	sp_alloc_fail_after(0);
	assert_null(sp_queue_create(4));
}

static void *pop_one(void *queue)
{
	return sp_queue_pop(queue);
}

static void closing_wakes_all_who_wait(void **state)
{
	sp_queue *queue = sp_queue_create(1);
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pop_one, queue), 0);
	usleep(20000); /* most likely they wait by now; right either way */
	sp_queue_close(queue);
	for (int i = 0; i < 3; i++) {
		void *popped = queue;

		pthread_join(threads[i], &popped);
		assert_null(popped);
	}
	sp_queue_destroy(queue);
}

enum { PRODUCERS = 4, CONSUMERS = 3, PER_PRODUCER = 5000 };

typedef struct traffic {
	sp_queue *queue;
	uintptr_t next_producer;
	unsigned char seen[PRODUCERS * PER_PRODUCER + 1];
	int out_of_order;
} traffic;

/* Pushes its numbers in rising order. */
static void *produce(void *argument)
{
	traffic *t = argument;
	uintptr_t first = __atomic_fetch_add(&t->next_producer, PER_PRODUCER, __ATOMIC_SEQ_CST);

	for (uintptr_t i = 1; i <= PER_PRODUCER; i++)
		while (!sp_queue_try_push(t->queue, item(first + i)))
			sched_yield();
	return NULL;
}

static void *consume(void *argument)
{
	traffic *t = argument;
	uintptr_t last[PRODUCERS] = {0}, number;

	while ((number = (uintptr_t)sp_queue_pop(t->queue)) != 0) {
		size_t producer = (number - 1) / PER_PRODUCER;

		if (number <= last[producer])
			__atomic_add_fetch(&t->out_of_order, 1, __ATOMIC_SEQ_CST);
		last[producer] = number;
		__atomic_add_fetch(&t->seen[number], 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void every_item_arrives_once_and_in_its_producers_order(void **state)
{
	static traffic t;
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];

	(void)state;
	t.queue = sp_queue_create(8);
	for (int i = 0; i < CONSUMERS; i++)
		assert_int_equal(pthread_create(&consumers[i], NULL, consume, &t), 0);
	for (int i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&producers[i], NULL, produce, &t), 0);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	sp_queue_close(t.queue);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(consumers[i], NULL);
	for (size_t i = 1; i <= PRODUCERS * PER_PRODUCER; i++)
		assert_int_equal(t.seen[i], 1);
	assert_int_equal(t.out_of_order, 0);
	sp_queue_destroy(t.queue);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(first_in_is_first_out),
		CASE(a_full_queue_says_no_at_once),
		CASE(a_closed_queue_is_drained_then_says_goodbye),
		CASE(impossible_sizes_and_no_memory_give_none),
		CASE(closing_wakes_all_who_wait),
		CASE(every_item_arrives_once_and_in_its_producers_order),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
