#include "tests/support/cmocka.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"

/* The linker puts this in pthread_create()'s place (room.am). */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *argument);

static int creations_left = -1; /* negative: any number */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *argument)
{
	if (creations_left == 0)
		return EAGAIN;
	if (creations_left > 0)
		creations_left--;
	return __real_pthread_create(thread, attr, run, argument);
}

typedef struct seen {
	int count;
	int unblocked; /* threads in which a signal could arrive */
	char name[16];
} seen;

static void look(void *context)
{
	seen *s = context;
	sigset_t blocked;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGINT))
		__atomic_add_fetch(&s->unblocked, 1, __ATOMIC_SEQ_CST);
	if (__atomic_add_fetch(&s->count, 1, __ATOMIC_SEQ_CST) == 1)
		pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
}

static int tear_down(void **state)
{
	(void)state;
	creations_left = -1;
	sp_alloc_fail_after(-1);
	return 0;
}

static void every_thread_runs_once_named_and_free_of_signals(void **state)
{
	sp_thread_group *group;
	sigset_t before, after;
	sp_error err;
	seen s = {0};

	(void)state;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	assert_ok(sp_thread_group_create(&group, 5, "a-name-far-too-long", look, &s, &err), &err);
	sp_thread_group_destroy(group);
	assert_int_equal(s.count, 5);
	assert_int_equal(s.unblocked, 0);
	assert_string_equal(s.name, "a-name-far-too-");
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	assert_int_equal(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

static void a_group_of_none_is_fine(void **state)
{
	sp_thread_group *group;
	sp_error err;
	seen s = {0};

	(void)state;
	assert_ok(sp_thread_group_create(&group, 0, "", look, &s, &err), &err);
	sp_thread_group_destroy(group);
	sp_thread_group_destroy(NULL);
	assert_int_equal(s.count, 0);
}

static void when_one_cannot_start_none_runs(void **state)
{
	sp_thread_group *group;
	sp_error err;
	seen s = {0};

	(void)state;
	for (int started = 0; started < 4; started++) {
		creations_left = started;
		assert_int_equal(sp_thread_group_create(&group, 4, "worker", look, &s, &err),
				 SP_IO);
		assert_non_null(strstr(err.text, "cannot start 4 threads"));
		assert_int_equal(s.count, 0);
	}
}

static void no_memory_is_said(void **state)
{
	sp_thread_group *group;
	sp_error err;
	seen s = {0};

	(void)state;
	assert_int_equal(sp_thread_group_create(&group, SIZE_MAX, "", look, &s, &err),
			 SP_NO_MEMORY);
	assert_int_equal(
		sp_thread_group_create(&group, SIZE_MAX / sizeof(pthread_t), "", look, &s, &err),
		SP_NO_MEMORY);
	sp_alloc_fail_after(0);
	assert_int_equal(sp_thread_group_create(&group, 2, "", look, &s, &err), SP_NO_MEMORY);
	assert_int_equal(s.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_thread_runs_once_named_and_free_of_signals,
					  tear_down),
		cmocka_unit_test_teardown(a_group_of_none_is_fine, tear_down),
		cmocka_unit_test_teardown(when_one_cannot_start_none_runs, tear_down),
		cmocka_unit_test_teardown(no_memory_is_said, tear_down),
	};

	return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
