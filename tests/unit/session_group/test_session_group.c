#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "session_group/session_group.h"

static sp_session_group *group_of(size_t count, sp_session_policy policy)
{
	sp_session_group *group = NULL;
	sp_error err;

	assert_ok(sp_session_group_create(&group,
					  &(sp_session_group_options){.count = count,
								      .policy = policy,
								      .max_waiting = 100},
					  &err),
		  &err);
	assert_int_equal(sp_session_group_count(group), count);
	return group;
}

static size_t acquire(sp_session_group *group)
{
	size_t number = SIZE_MAX;
	sp_error err;

	assert_ok(sp_session_group_acquire(&number, group, 0, &err), &err);
	return number;
}

static size_t use(sp_session_group *group)
{
	size_t number = acquire(group);

	assert_true(number < sp_session_group_count(group));
	sp_session_group_release(group, number);
	return number;
}

static void rr_goes_round(void **state)
{
	sp_session_group *group = group_of(3, SP_SESSION_POLICY_RR);
	size_t first = use(group);

	(void)state;
	for (size_t i = 1; i < 10; i++)
		assert_int_equal(use(group), (first + i) % 3);
	sp_session_group_destroy(group);
}

static void mod_keeps_a_thread_on_its_session(void **state)
{
	sp_session_group *group = group_of(7, SP_SESSION_POLICY_MOD);
	size_t mine = use(group), held;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(use(group), mine);
	held = acquire(group);
	assert_int_equal(held, mine);
	assert_int_equal(use(group), (mine + 1) % 7); /* the idle one beside it */
	sp_session_group_release(group, held);
	assert_int_equal(use(group), mine);
	sp_session_group_destroy(group);
}

static void who_waits_too_long_is_told(void **state)
{
	sp_session_group *group = group_of(2, SP_SESSION_POLICY_RR);
	size_t first = acquire(group), second = acquire(group), third;
	sp_error err;

	(void)state;
	assert_int_equal(sp_session_group_acquire(&third, group, 1, &err), SP_DEADLINE);
	assert_string_equal(err.text, "the deadline of the request has passed: all of 2 sessions "
				      "are busy");
	sp_session_group_release(group, second);
	assert_ok(sp_session_group_acquire(&third, group, 1, &err), &err);
	assert_int_equal(third, second);
	sp_session_group_release(group, third);
	sp_session_group_release(group, first);
	sp_session_group_destroy(group);
}

static void one_too_many_is_told_at_once(void **state)
{
	const sp_session_group_options options = {.count = 1};
	sp_session_group *group;
	size_t held, other;
	sp_error err;

	(void)state;
	assert_ok(sp_session_group_create(&group, &options, &err), &err);
	held = acquire(group);
	assert_int_equal(sp_session_group_acquire(&other, group, 0, &err), SP_BUSY);
	assert_string_equal(err.text, "all of 1 sessions are busy, and 0 requests wait already");
	sp_session_group_release(group, held);
	assert_int_equal(acquire(group), held);
	sp_session_group_release(group, held);
	sp_session_group_destroy(group);
}

/* -------------------------------------------------------- threads spread by MOD */

enum { THREADS = 32, SESSIONS = 8 };

typedef struct spread {
	sp_session_group *group;
	pthread_barrier_t all_alive; /* so that no two have the same identity in turn */
	atomic_uint used;            /* a bit per session */
} spread;

static void *use_once(void *argument)
{
	spread *s = argument;

	pthread_barrier_wait(&s->all_alive);
	for (int turn = 0; turn < 2; turn++) {
		atomic_fetch_or(&s->used, 1u << use(s->group));
		pthread_barrier_wait(&s->all_alive);
	}
	return NULL;
}

static void mod_spreads_threads(void **state)
{
	spread s = {.group = group_of(SESSIONS, SP_SESSION_POLICY_MOD)};
	pthread_t threads[THREADS];

	(void)state;
	pthread_barrier_init(&s.all_alive, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_once, &s), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&s.all_alive);
	/* 32 random choices of 8 leave half of them unused once in 10^8 times. */
	assert_true(__builtin_popcount(atomic_load(&s.used)) > SESSIONS / 2);
	sp_session_group_destroy(s.group);
}

static void no_memory_is_an_error(void **state)
{
	sp_session_group *group;
	sp_status status = SP_NO_MEMORY;
	int64_t successes = 0;
	sp_error err;

	(void)state;
	for (; status == SP_NO_MEMORY && successes < 1000; successes++) {
		sp_alloc_fail_after(successes);
		status = sp_session_group_create(&group, &(sp_session_group_options){.count = 4},
						 &err);
		sp_alloc_fail_after(-1);
	}
	assert_ok(status, &err);
	assert_true(successes > 2); /* it failed at each of them in its turn */
	sp_session_group_destroy(group);
	sp_session_group_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rr_goes_round),
		cmocka_unit_test(mod_keeps_a_thread_on_its_session),
		cmocka_unit_test(who_waits_too_long_is_told),
		cmocka_unit_test(one_too_many_is_told_at_once),
		cmocka_unit_test(mod_spreads_threads),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("session_group", tests, NULL, NULL);
}
