#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/observe/trace_context.h"
#include "base/hex.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static void good_headers_are_read(void **state)
{
	static const struct {
		const char *header;
		bool sampled;
	} cases[] = {{"00-" TRACE "-" PARENT "-01", true},
		     {"00-" TRACE "-" PARENT "-00", false},
		     {"00-" TRACE "-" PARENT "-03", true}, /* flags of later levels */
		     {"00-" TRACE "-" PARENT "-fe", false},
		     {"cc-" TRACE "-" PARENT "-01", true}, /* a later version */
		     {"cc-" TRACE "-" PARENT "-01-what-comes", true}};
	char text[SP_TRACE_ID_TEXT];
	sp_trace_context trace;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(sp_trace_context_parse(&trace, sp_bytes_of(cases[i].header)));
		assert_true(trace.known && trace.has_parent);
		assert_int_equal(trace.sampled, cases[i].sampled);
		sp_hex_print(text, trace.trace_id, SP_TRACE_ID);
		assert_string_equal(text, TRACE);
		sp_hex_print(text, trace.parent_id, SP_SPAN_ID);
		assert_string_equal(text, PARENT);
	}
}

static void others_count_as_none(void **state)
{
	static const char *const cases[] = {
		"",
		"00",
		"00-" TRACE "-" PARENT "-0",
		"00-" TRACE "-" PARENT "-01-",
		"00-" TRACE "-" PARENT "-01 ",
		"00-" TRACE "-" PARENT "-0x",
		"ff-" TRACE "-" PARENT "-01",
		"0x-" TRACE "-" PARENT "-01",
		"cc-" TRACE "-" PARENT "-01.what-comes",
		"00-4BF92F3577b34da6a3ce929d0e0e4736-" PARENT "-01",
		"00-4bf92f3577b34da6a3ce929d0e0e473g-" PARENT "-01",
		"00-00000000000000000000000000000000-" PARENT "-01",
		"00-" TRACE "-0000000000000000-01",
		"00_" TRACE "-" PARENT "-01",
		"00-" TRACE "_" PARENT "-01",
		"00-" TRACE "-" PARENT "_01",
	};
	sp_trace_context trace;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(sp_trace_context_parse(&trace, sp_bytes_of(cases[i])));
		assert_false(trace.known || trace.sampled || trace.has_parent);
		sp_trace_context_take(&trace, sp_bytes_of(cases[i]), 0);
		assert_false(trace.known);
	}
}

static void requests_without_a_trace_are_sampled(void **state)
{
	enum { COUNT = 4000 };
	const sp_bytes none = {NULL, 0};
	unsigned char last[SP_TRACE_ID] = {0};
	sp_trace_context trace;
	size_t sampled = 0;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		sp_trace_context_take(&trace, none, 0.25);
		assert_int_equal(trace.known, trace.sampled);
		assert_false(trace.has_parent);
		sampled += trace.sampled;
		if (trace.sampled)
			assert_memory_not_equal(trace.trace_id, last, SP_TRACE_ID);
		if (trace.sampled)
			memcpy(last, trace.trace_id, SP_TRACE_ID);
	}
	assert_in_range(sampled, COUNT / 5, COUNT / 3);
	sp_trace_context_take(&trace, none, 1);
	assert_true(trace.sampled);
	sp_trace_context_take(&trace, sp_bytes_of("00-" TRACE "-" PARENT "-00"), 1);
	assert_true(trace.known && !trace.sampled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_headers_are_read),
		cmocka_unit_test(others_count_as_none),
		cmocka_unit_test(requests_without_a_trace_are_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
