/*
 * Many threads whose requests are joined as it comes, some with little time, some that give up,
 * some bad: every answer is that of the request alone, and nothing is left.  Meant for
 * --enable-sanitize=thread, too.
 */
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/host/infer/batcher.h"
#include "base/clock.h"
#include "tests/support/row_run.h"

enum { THREADS = 12, ROUNDS = 600, VERSIONS = 2, RUNNERS = 2 };

static sp_row_version versions[VERSIONS];

typedef struct asker {
	pthread_t thread;
	unsigned seed;
	unsigned answered, late, cancelled, refused, wrong;
} asker;

static unsigned next(asker *a, unsigned below)
{
	return (unsigned)rand_r(&a->seed) % below;
}

static sp_row_request make_request(asker *a)
{
	sp_row_request request = {.version = &versions[next(a, VERSIONS)],
				  .signature = next(a, 3) == 0 ? &sp_other_signature
							       : &sp_row_signature,
				  .rows = 1 + next(a, 5),
				  .width = 1 + next(a, 2),
				  .from = (int)next(a, 1000),
				  .only_t = next(a, 8) == 0};

	if (next(a, 10) == 0)
		request.deadline_ns = sp_clock_now_ns() + next(a, 200000);
	if (next(a, 20) == 0)
		atomic_store(&request.cancelled, true);
	if (next(a, 30) == 0)
		request.from = -100;
	return request;
}

static void count_answer(asker *a, const sp_row_request *request)
{
	if (request->status == SP_OK && request->right)
		a->answered++;
	else if (request->status == SP_DEADLINE && request->deadline_ns != 0)
		a->late++;
	else if (request->status == SP_CANCELLED && request->cancelled)
		a->cancelled++;
	else if (request->status == SP_INVALID && request->from < 0)
		a->refused++;
	else
		a->wrong++;
}

static void *ask_many(void *context)
{
	asker *a = context;

	for (int i = 0; i < ROUNDS; i++) {
		sp_row_request request = make_request(a);

		sp_row_ask(&request);
		count_answer(a, &request);
	}
	return NULL;
}

static void ask_by_all(int64_t timeout_us)
{
	asker askers[THREADS] = {0};
	sp_batcher *batcher;

	sp_row_run_us = 100;
	assert_int_equal(sp_batcher_create(&batcher, RUNNERS, NULL, NULL, NULL), SP_OK);
	for (size_t i = 0; i < VERSIONS; i++) {
		sp_row_version_init(&versions[i], batcher, (int64_t)i + 1);
		versions[i].served.batching.max_batch_size = 8;
		versions[i].served.batching.batch_timeout_micros = timeout_us;
		versions[i].served.batching.max_enqueued_batches = THREADS;
	}
	for (unsigned i = 0; i < THREADS; i++) {
		askers[i].seed = i + 1;
		pthread_create(&askers[i].thread, NULL, ask_many, &askers[i]);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].wrong, 0);
		assert_true(askers[i].answered > ROUNDS / 2);
	}
	assert_int_equal(sp_batcher_waiting(batcher), 0);
	assert_int_equal(atomic_load(&sp_row_open), 0);
	for (size_t i = 0; i < VERSIONS; i++)
		assert_true(sp_counter_get(&versions[i].model.counters.batch_requests) >
			    sp_counter_get(&versions[i].model.counters.batches));
	sp_batcher_destroy(batcher);
}

static void answers_are_those_of_requests_alone(void **state)
{
	(void)state;
	ask_by_all(0);
}

static void also_when_batches_wait(void **state)
{
	(void)state;
	ask_by_all(100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_requests_alone),
		cmocka_unit_test(also_when_batches_wait),
	};

	return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
