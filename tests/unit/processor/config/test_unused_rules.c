#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log.h"
#include "processor/processor.h"
#include "tests/support/golden.h"

static char lines[10][1024];
static size_t count;

static void keep_warnings(void *context, int level, const char *line)
{
	(void)context;
	if (level == SP_LOG_WARNING && count < 10)
		snprintf(lines[count++], sizeof(lines[0]), "%s", line);
}

static const char *rules;

static void open_and_close(sp_golden_case *golden)
{
	char *config = sp_golden_config(golden, NULL, false);
	sp_processor *processor;
	sp_buffer text;
	sp_error err;

	sp_buffer_init(&text, 1 << 20);
	sp_buffer_printf(&text, "{%s, %s", rules, strchr(config, '{') + 1);
	assert_ok(sp_processor_open(&processor, text.data, &err), &err);
	sp_processor_close(processor);
	sp_buffer_fini(&text);
	free(config);
}

static void open_with(const char *golden, const char *what)
{
	count = 0;
	rules = what;
	sp_log_set_sink(keep_warnings, NULL);
	sp_golden_each(golden, open_and_close);
	sp_log_set_sink(NULL, NULL);
}

static void patterns_that_match_no_table_are_told(void **state)
{
	(void)state;
	open_with("ev-ctr-checkpoint",
		  "\"ev_row_format\": {\"*_embedding\": \"fp32\", \"user_enb*\": \"fp16\"},"
		  "\"serve_frequency_threshold\": {\"item_embedding?\": 0, \"*\": 0}");
	assert_int_equal(count, 2);
	assert_string_equal(lines[0], "configuration key 'ev_row_format': pattern 'user_enb*' "
				      "matches no table of the model; its tables: "
				      "'item_embedding', 'user_embedding'");
	assert_string_equal(lines[1],
			    "configuration key 'serve_frequency_threshold': pattern "
			    "'item_embedding?' matches no table of the model; its tables: "
			    "'item_embedding', 'user_embedding'");
}

/* Tables of the parts of an embedding go by its name. */
static void parts_do_not_count(void **state)
{
	(void)state;
	open_with("ev-parts", "\"ev_row_format\": {\"*/part_*\": \"fp32\", \"*\": \"fp32\"}");
	assert_int_equal(count, 1);
	assert_non_null(strstr(lines[0], "pattern '*/part_*' matches no table"));
	assert_null(strstr(strstr(lines[0], "its tables"), "/part_"));
	assert_null(strstr(lines[0], "'city', 'city'"));
}

static void a_model_may_have_no_tables(void **state)
{
	(void)state;
	open_with("keras2-mlp", "\"ev_row_format\": \"int8\"");
	assert_int_equal(count, 1);
	assert_string_equal(lines[0], "configuration key 'ev_row_format': pattern '*' matches no "
				      "table of the model; its tables: none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_that_match_no_table_are_told),
		cmocka_unit_test(parts_do_not_count),
		cmocka_unit_test(a_model_may_have_no_tables),
	};

	return cmocka_run_group_tests_name("unused_rules", tests, NULL, NULL);
}
