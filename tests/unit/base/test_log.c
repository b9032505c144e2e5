#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
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
	sp_log_set_subject(NULL);
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
	assert_int_equal(sp_log_get_level(), SP_LOG_ERROR);
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
	sp_log(SP_LOG_INFO, "name %s", "x\n2026-01-31T12:00:00.123Z ERROR forged\x1b[2J");
	assert_string_equal(h.line, "name x?2026-01-31T12:00:00.123Z ERROR forged?[2J");
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

/* What reaches standard error of what `write` logs; "" and an exit code on failure. */
static int read_standard_error(char text[4096], void (*write)(void))
{
	int out[2], error[2];
	ssize_t size;

	if (pipe2(out, O_NONBLOCK) != 0 || pipe2(error, O_NONBLOCK) != 0)
		return 10;
	dup2(out[1], STDOUT_FILENO);
	dup2(error[1], STDERR_FILENO);
	write();
	fflush(NULL);
	if (read(out[0], text, 4095) > 0)
		return 11;
	size = read(error[0], text, 4095);
	text[size > 0 ? size : 0] = '\0';
	return size > 0 ? 0 : 12;
}

/* "2026-01-31T12:00:00.123Z": a time of now, or a second ago. */
static bool is_now(const char *text)
{
	struct timespec now; /* time() may be a tick behind it */
	char wanted[32];

	clock_gettime(CLOCK_REALTIME, &now);
	for (time_t second = now.tv_sec - 1; second <= now.tv_sec; second++) {
		struct tm parts;

		strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S", gmtime_r(&second, &parts));
		if (strncmp(text, wanted, 19) == 0)
			return text[19] == '.' && strspn(text + 20, "0123456789") == 3 &&
			       text[23] == 'Z';
	}
	return false;
}

static void complain(void)
{
	sp_log(SP_LOG_ERROR, "no %s", "disk");
	sp_log_set_subject("ctr");
	sp_log(SP_LOG_WARNING, "slow");
}

static int write_text(void)
{
	static const char first[] = " ERROR no disk\n", second[] = " WARNING [ctr] slow\n";
	char text[4096];
	int failure = read_standard_error(text, complain);

	if (failure != 0)
		return failure;
	if (!is_now(text) || strncmp(text + 24, first, sizeof(first) - 1) != 0)
		return 13;
	return strcmp(text + 24 + sizeof(first) - 1 + 24, second) == 0 ? 0 : 14;
}

static int write_json(void)
{
	static const char first[] = "\",\"level\":\"error\",\"message\":\"no disk\"}\n{\"time\":\"";
	static const char second[] =
		"\",\"level\":\"warning\",\"model\":\"ctr\",\"message\":\"slow\"}\n";
	char text[4096];
	int failure;

	sp_log_set_format(SP_LOG_JSON);
	failure = read_standard_error(text, complain);
	if (failure != 0)
		return failure;
	if (strncmp(text, "{\"time\":\"", 9) != 0 || !is_now(text + 9) ||
	    strncmp(text + 33, first, sizeof(first) - 1) != 0)
		return 15;
	return strcmp(text + 33 + sizeof(first) - 1 + 24, second) == 0 ? 0 : 16;
}

static void without_a_sink_lines_go_to_standard_error(void **state)
{
	(void)state;
	assert_int_equal(sp_child_run(write_text, "SP_CPU", NULL), 0);
	assert_int_equal(sp_child_run(write_json, "SP_CPU", NULL), 0);
}

/* -------------------------------------------------------------------- subjects */

static void hear_subject(void *context, int level, const char *line)
{
	const char *subject = sp_log_subject();

	(void)level;
	(void)line;
	snprintf(context, 64, "%s", subject != NULL ? subject : "none");
}

static void log_once(void *context)
{
	(void)context;
	sp_log(SP_LOG_INFO, "from a thread");
}

static void threads_of_a_group_log_about_what_their_maker_does(void **state)
{
	sp_thread_group *group;
	char subject[64];

	(void)state;
	sp_log_set_sink(hear_subject, subject);
	assert_null(sp_log_set_subject("ctr"));
	assert_int_equal(sp_thread_group_create(&group, 1, "test", log_once, NULL, NULL), SP_OK);
	assert_string_equal(sp_log_set_subject("other"), "ctr");
	sp_thread_group_destroy(group);
	assert_string_equal(subject, "ctr");
	sp_log(SP_LOG_INFO, "from here");
	assert_string_equal(subject, "other");
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
		cmocka_unit_test_teardown(threads_of_a_group_log_about_what_their_maker_does,
					  tear_down),
		cmocka_unit_test(levels_have_names),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
