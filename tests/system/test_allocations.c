#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "processor/processor.h"
#include "tests/support/golden.h"

/*
 * What a request costs on whole models: once warm, the answer and nothing else.
 * Linked with the rooms themselves, so that the counter can be seen.
 */
enum { WARM = 3, REQUESTS = 1000 };

static size_t models;

static sp_bytes messages[16];
static size_t message_count;

static void read_messages(const sp_golden_case *golden)
{
	char path[64];

	for (message_count = 0; message_count < 16; message_count++) {
		sp_bytes *message = &messages[message_count];

		snprintf(path, sizeof(path), "requests/%03zu.request.pb", message_count);
		message->data = sp_golden_read(golden, path, &message->size);
		if (message->data == NULL)
			break;
	}
	assert_true(message_count != 0);
}

/* All of the case's requests in turn, `count` of them. */
static void ask(sp_processor *processor, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *block;
		size_t size;
		sp_error err;

		assert_ok(sp_processor_predict(processor, NULL, NULL, messages[i % message_count],
					       NULL, &block, &size, &err),
			  &err);
		sp_free(block);
	}
}

static void count_allocations(sp_golden_case *golden)
{
	char *config = sp_golden_config(golden, NULL, false);
	sp_processor *processor;
	uint64_t before;
	sp_error err;

	assert_ok(sp_processor_open(&processor, config, &err), &err);
	read_messages(golden);
	ask(processor, WARM * message_count);
	before = sp_alloc_count();
	ask(processor, REQUESTS);
	assert_int_equal(sp_alloc_count() - before, REQUESTS);
	sp_processor_close(processor);
	for (size_t i = 0; i < message_count; i++)
		free((char *)(uintptr_t)messages[i].data);
	free(config);
	models++;
}

static void a_warm_request_allocates_its_answer(void **state)
{
	(void)state;
#ifdef SP_ARENA_DEBUG
	skip(); /* every block of the workspace is an allocation */
#endif
	sp_golden_each("ev-ctr", count_allocations);
	sp_golden_each("ev-ctr-checkpoint", count_allocations);
	sp_golden_each("ev-frequency", count_allocations);
	sp_golden_each("keras2-mlp", count_allocations);
	sp_golden_each("tf1-example", count_allocations);
	sp_golden_each("tf1-feature-columns", count_allocations);
	sp_golden_each("tf1-sparse-lookups", count_allocations);
	sp_golden_each("tf1-control-flow", count_allocations);
	sp_golden_each("tf2-control-flow", count_allocations);
	sp_golden_each("jax-graph-ranking", count_allocations);
	sp_golden_each("jax-graph-image", count_allocations);
#ifdef SP_STABLEHLO
	assert_int_equal(models, 11);
#else
	assert_int_equal(models, 9);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_warm_request_allocates_its_answer),
	};

	return cmocka_run_group_tests_name("allocations", tests, NULL, NULL);
}
