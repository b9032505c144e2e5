#include "tests/support/cmocka.h"

#include <string.h>

#include "base/log_line.h"

static void check(sp_log_format format, time_t second, long ns, sp_log_level level,
		  const char *subject, const char *message, const char *wanted)
{
	sp_log_line line = {{second, ns}, level, subject, message};
	char out[SP_LOG_LINE_SIZE];

	assert_int_equal(sp_log_line_write(out, format, &line), strlen(wanted));
	assert_string_equal(out, wanted);
}

static void text_has_time_level_and_subject(void **state)
{
	(void)state;
	check(SP_LOG_TEXT, 1769860800, 123456789, SP_LOG_INFO, "ctr", "version 100 is live",
	      "2026-01-31T12:00:00.123Z INFO [ctr] version 100 is live\n");
	check(SP_LOG_TEXT, 0, 0, SP_LOG_ERROR, NULL, "no disk",
	      "1970-01-01T00:00:00.000Z ERROR no disk\n");
	check(SP_LOG_TEXT, 1709251199, 999999999, SP_LOG_WARNING, "", "x",
	      "2024-02-29T23:59:59.999Z WARNING x\n");
	check(SP_LOG_TEXT, 4102444800, 5000000, SP_LOG_DEBUG, "a\nb\xff", "x",
	      "2100-01-01T00:00:00.005Z DEBUG [a?b?] x\n");
	check(SP_LOG_TEXT, 0, 0, (sp_log_level)7, NULL, "x",
	      "1970-01-01T00:00:00.000Z UNKNOWN x\n");
}

static void json_is_one_object(void **state)
{
	(void)state;
	check(SP_LOG_JSON, 1769860800, 123456789, SP_LOG_INFO, "ctr", "version 100 is live",
	      "{\"time\":\"2026-01-31T12:00:00.123Z\",\"level\":\"info\",\"model\":\"ctr\","
	      "\"message\":\"version 100 is live\"}\n");
	check(SP_LOG_JSON, 0, 0, SP_LOG_ERROR, NULL, "C:\\\"\xc3\xa9\"",
	      "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"error\","
	      "\"message\":\"C:\\\\\\\"\xc3\xa9\\\"\"}\n");
	check(SP_LOG_JSON, 0, 0, SP_LOG_DEBUG, "\"\t\\", "",
	      "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"debug\",\"model\":\"\\\"?\\\\\","
	      "\"message\":\"\"}\n");
}

static void the_longest_line_fits(void **state)
{
	char message[SP_LOG_MESSAGE_SIZE], subject[5000], out[SP_LOG_LINE_SIZE];
	sp_log_line line = {{1769860800, 0}, SP_LOG_WARNING, subject, message};

	(void)state;
	memset(message, '"', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	memset(subject, '\\', sizeof(subject));
	subject[sizeof(subject) - 1] = '\0';
	for (int format = SP_LOG_TEXT; format <= SP_LOG_JSON; format++) {
		size_t size = sp_log_line_write(out, (sp_log_format)format, &line);

		assert_true(size < sizeof(out));
		assert_int_equal(strlen(out), size);
		assert_int_equal(out[size - 1], '\n');
	}
	assert_string_equal(out + strlen(out) - 3, "\"}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_has_time_level_and_subject),
		cmocka_unit_test(json_is_one_object),
		cmocka_unit_test(the_longest_line_fits),
	};

	return cmocka_run_group_tests_name("log_line", tests, NULL, NULL);
}
