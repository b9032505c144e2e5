#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/support/child.h"

typedef struct heard {
	int count;
	int level;
	char line[2048];
	int inside; /* sinks running at this moment */
	int together;
} heard;

static void hear(void *context, int level, const char *line)
{
	heard *h = context;

	h->together += __atomic_add_fetch(&h->inside, 1, __ATOMIC_SEQ_CST) != 1;
	h->count++;
	h->level = level;
	snprintf(h->line, sizeof(h->line), "%s", line);
	__atomic_sub_fetch(&h->inside, 1, __ATOMIC_SEQ_CST);
}

static int tear_down(void **state)
{
	(void)state;
	sp_log_set_sink(NULL, NULL);
	sp_log_set_level(SP_LOG_INFO);
	return 0;
}

static void a_sink_gets_level_and_line(void **state)
{
	heard h = {0};

	(void)state;
	sp_log_set_sink(hear, &h);
	sp_log(SP_LOG_WARNING, "row %d of %s", 3, "table");
	assert_int_equal(h.count, 1);
	assert_int_equal(h.level, SP_LOG_WARNING);
	assert_string_equal(h.line, "row 3 of table");
}

static void lines_below_the_level_are_dropped(void **state)
{
	heard h = {0};

	(void)state;
	sp_log_set_sink(hear, &h);
	sp_log(SP_LOG_DEBUG, "dropped at first");
	assert_int_equal(h.count, 0);
	sp_log_set_level(SP_LOG_DEBUG);
	sp_log(SP_LOG_DEBUG, "heard");
	assert_int_equal(h.count, 1);
	sp_log_set_level(SP_LOG_ERROR);
	sp_log(SP_LOG_WARNING, "dropped");
	assert_int_equal(h.count, 1);
	sp_log(SP_LOG_ERROR, "heard");
	assert_int_equal(h.count, 2);
}

static void a_line_stays_one_line(void **state)
{
	heard h = {0};
	char text[4000];

	(void)state;
	sp_log_set_sink(hear, &h);
	sp_log(SP_LOG_INFO, "name %s", "x\n[serving_processor] error: forged\x1b[2J");
	assert_string_equal(h.line, "name x?[serving_processor] error: forged?[2J");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sp_log(SP_LOG_INFO, "%s", text);
	assert_int_equal(strlen(h.line), 1023);
}

static void *write_lines(void *argument)
{
	(void)argument;
	for (int i = 0; i < 1000; i++)
		sp_log(SP_LOG_INFO, "line %d", i);
	return NULL;
}

static void one_line_at_a_time_from_many_threads(void **state)
{
	heard h = {0};
	pthread_t threads[4];

	(void)state;
	sp_log_set_sink(hear, &h);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(h.count, 4000);
	assert_int_equal(h.together, 0);
}

/* In a child: its standard output and error are pipes. */
static int write_to_pipes(void)
{
	int out[2], error[2];
	char text[200] = "";

	if (pipe2(out, O_NONBLOCK) != 0 || pipe2(error, O_NONBLOCK) != 0)
		return 10;
	dup2(out[1], STDOUT_FILENO);
	dup2(error[1], STDERR_FILENO);
	sp_log(SP_LOG_ERROR, "no %s", "disk");
	fflush(NULL);
	if (read(out[0], text, sizeof(text) - 1) > 0)
		return 11;
	if (read(error[0], text, sizeof(text) - 1) <= 0)
		return 12;
	return strcmp(text, "[serving_processor] error: no disk\n") == 0 ? 0 : 13;
}

static void without_a_sink_lines_go_to_standard_error(void **state)
{
	(void)state;
	assert_int_equal(sp_child_run(write_to_pipes, "SP_CPU", NULL), 0);
}

static void levels_have_names(void **state)
{
	(void)state;
	assert_string_equal(sp_log_level_name(SP_LOG_DEBUG), "debug");
	assert_string_equal(sp_log_level_name(SP_LOG_INFO), "info");
	assert_string_equal(sp_log_level_name(SP_LOG_WARNING), "warning");
	assert_string_equal(sp_log_level_name(SP_LOG_ERROR), "error");
	assert_string_equal(sp_log_level_name((sp_log_level)9), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_sink_gets_level_and_line, tear_down),
		cmocka_unit_test_teardown(lines_below_the_level_are_dropped, tear_down),
		cmocka_unit_test_teardown(a_line_stays_one_line, tear_down),
		cmocka_unit_test_teardown(one_line_at_a_time_from_many_threads, tear_down),
		cmocka_unit_test(without_a_sink_lines_go_to_standard_error),
		cmocka_unit_test(levels_have_names),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
