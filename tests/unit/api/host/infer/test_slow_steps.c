#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/infer/slow_steps.h"
#include "base/alloc.h"

static void requests_that_cannot_be_slow_have_no_list(void **state)
{
	const sp_call_record record = {.arrived_ns = 1};

	(void)state;
	assert_null(sp_slow_steps_begin(NULL));
	assert_null(sp_slow_steps_begin(&record));
	sp_slow_steps_end(NULL, NULL, 1, 2);
}

/* Of a loop from 2000 to 9000 with three steps, and a step behind it. */
static void fill(serving_processor_steps *steps)
{
	const serving_processor_step items[] = {{"loop", "While", 2000, 9000},
						{"a", "MatMul", 3000, 5000},
						{"b", "Add", 5000, 5500},
						{"a", "MatMul", 6000, 8000},
						{"last \"one\"", "Relu", 9100, 9200}};

	memcpy(steps->items, items, sizeof(items));
	steps->count = sizeof(items) / sizeof(items[0]);
}

static void times_add_up(void **state)
{
	sp_call_record record = {.arrived_ns = 1, .slow_ns = 5000};
	serving_processor_steps *steps = sp_slow_steps_begin(&record);

	(void)state;
	assert_non_null(steps);
	fill(steps);
	sp_slow_steps_end(&record, steps, 1000, 4000);
	assert_null(record.steps); /* not slow */
	sp_slow_steps_end(&record, steps, 1000, 10000);
	assert_string_equal(record.steps,
			    "{\"run_us\":9.000,\"slowest\":["
			    "{\"node\":\"loop\",\"op\":\"While\",\"us\":2.500},"
			    "{\"node\":\"a\",\"op\":\"MatMul\",\"us\":2.000},"
			    "{\"node\":\"a\",\"op\":\"MatMul\",\"us\":2.000},"
			    "{\"node\":\"b\",\"op\":\"Add\",\"us\":0.500},"
			    "{\"node\":\"last \\\"one\\\"\",\"op\":\"Relu\",\"us\":0.100}],"
			    "\"others_us\":0.000,\"between_us\":1.900}");
	sp_free(record.steps);
}

static void the_slowest_are_shown(void **state)
{
	sp_call_record record = {.arrived_ns = 1, .slow_ns = 1};
	serving_processor_steps *steps = sp_slow_steps_begin(&record);
	const char *end;

	(void)state;
	for (size_t i = 0; i < 30; i++)
		steps->items[i] = (serving_processor_step){"n", "Op", (int64_t)i * 10000,
							   (int64_t)(i * 10000 + (i + 1) * 10)};
	steps->count = 30;
	steps->left_out = 7;
	sp_slow_steps_end(&record, steps, 0, 400000);
	end = strstr(record.steps, "]");
	/* 10 + 20 + ... + 100 ns are those of the ten fastest, 4.65 us those of all. */
	assert_string_equal(end, "],\"others_us\":0.550,\"between_us\":395.350,\"left_out\":7}");
	assert_non_null(strstr(record.steps, "[{\"node\":\"n\",\"op\":\"Op\",\"us\":0.300},"));
	sp_free(record.steps);
}

static void a_profile_has_all_steps(void **state)
{
	sp_call_record record = {.arrived_ns = 1, .profiled = true};
	serving_processor_steps *steps = sp_slow_steps_begin(&record);

	(void)state;
	assert_non_null(steps);
	fill(steps);
	steps->count = 2;
	sp_slow_steps_end(&record, steps, 1000, 10000);
	assert_null(record.steps);
	assert_string_equal(
		record.events,
		"{\"name\":\"While\",\"cat\":\"step\",\"ph\":\"X\",\"pid\":1,\"tid\":2,"
		"\"ts\":2.000,\"dur\":7.000,\"args\":{\"node\":\"loop\"}},"
		"{\"name\":\"MatMul\",\"cat\":\"step\",\"ph\":\"X\",\"pid\":1,\"tid\":2,"
		"\"ts\":3.000,\"dur\":2.000,\"args\":{\"node\":\"a\"}}");
	sp_free(record.events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_cannot_be_slow_have_no_list),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(the_slowest_are_shown),
		cmocka_unit_test(a_profile_has_all_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
