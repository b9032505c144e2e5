#include "tests/support/cmocka.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/thread_pool.h"

typedef struct counted_job {
	sp_thread_pool_job job;
	atomic_bool *may_end;
	atomic_int runs, cancellations;
} counted_job;

static void count(sp_thread_pool_job *job, bool cancelled)
{
	counted_job *self = (counted_job *)job;

	atomic_fetch_add(&self->cancellations, cancelled);
	atomic_fetch_add(&self->runs, 1);
	while (!atomic_load(self->may_end))
		usleep(1000);
}

static void jobs_run_in_order_and_wait_in_a_bounded_line(void **state)
{
	atomic_bool may_end = false;
	counted_job jobs[4];
	sp_thread_pool *pool;
	sp_error err;

	(void)state;
	for (int i = 0; i < 4; i++)
		jobs[i] = (counted_job){.job = {count}, .may_end = &may_end};
	assert_ok(sp_thread_pool_create(&pool, 1, 2, "sp-test", &err), &err);
	assert_true(sp_thread_pool_try_add(pool, &jobs[0].job));
	while (atomic_load(&jobs[0].runs) == 0)
		usleep(1000);
	assert_true(sp_thread_pool_try_add(pool, &jobs[1].job));
	assert_true(sp_thread_pool_try_add(pool, &jobs[2].job));
	assert_false(sp_thread_pool_try_add(pool, &jobs[3].job));
	atomic_store(&may_end, true);
	while (atomic_load(&jobs[2].runs) == 0)
		usleep(1000);
	sp_thread_pool_destroy(pool);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(atomic_load(&jobs[i].runs), i < 3);
		assert_int_equal(atomic_load(&jobs[i].cancellations), 0);
	}
}

static void no_memory_is_an_error(void **state)
{
	sp_status status = SP_NO_MEMORY;
	int64_t successes = 0;
	sp_thread_pool *pool;

	(void)state;
	for (; status == SP_NO_MEMORY && successes < 100; successes++) {
		sp_alloc_fail_after(successes);
		status = sp_thread_pool_create(&pool, 2, 4, "sp-test", NULL);
		sp_alloc_fail_after(-1);
	}
	assert_int_equal(status, SP_OK);
	assert_true(successes > 2);
	sp_thread_pool_destroy(pool);
	sp_thread_pool_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_run_in_order_and_wait_in_a_bounded_line),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
