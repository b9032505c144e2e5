#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/host/observe/line_log.h"
#include "base/log.h"

static char folder[] = "/tmp/line-log-XXXXXX";
static char path[64], old_path[64];

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	(void)state;
	sp_log_set_sink(ignore_line, NULL);
	strcpy(strstr(folder, "log-") + 4, "XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/a", folder);
	snprintf(old_path, sizeof(old_path), "%s/b", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	unlink(old_path);
	return rmdir(folder);
}

static void assert_file(const char *name, const char *want)
{
	char text[256];
	FILE *file = fopen(name, "r");
	size_t size;

	assert_non_null(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	assert_string_equal(text, want);
}

static void lines_are_appended(void **state)
{
	sp_line_log *log;
	sp_error err;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sp_line_log_open(&log, path, &err), SP_OK);
		sp_line_log_add(log, sp_bytes_of("one\n"));
		sp_line_log_add(log, sp_bytes_of("two\n"));
		sp_line_log_close(log);
	}
	assert_file(path, "one\ntwo\none\ntwo\n");
	assert_int_equal(sp_line_log_open(&log, folder, &err), SP_IO);
	assert_non_null(strstr(err.text, folder));
}

static void a_renamed_file_is_left(void **state)
{
	struct stat there;
	sp_line_log *log;
	sp_error err;

	(void)state;
	assert_int_equal(sp_line_log_open(&log, path, &err), SP_OK);
	sp_line_log_add(log, sp_bytes_of("one\n"));
	assert_int_equal(rename(path, old_path), 0);
	sp_line_log_reopen(log);
	while (stat(path, &there) != 0)
		usleep(100);
	sp_line_log_add(log, sp_bytes_of("two\n"));
	sp_line_log_close(log);
	assert_file(old_path, "one\n");
	assert_file(path, "two\n");
}

/* A pipe that nobody reads takes some lines; then the buffer is filled, then lines are dropped. */
static void nobody_waits_for_the_reader(void **state)
{
	enum { LINE = 1000, COUNT = 4 * SP_LINE_LOG_BYTES / LINE };
	char line[LINE];
	sp_line_log *log;
	sp_error err;
	int reader;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	memset(line, 'x', LINE);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	assert_int_equal(sp_line_log_open(&log, path, &err), SP_OK);
	for (int i = 0; i < COUNT; i++)
		sp_line_log_add(log, (sp_bytes){line, LINE});
	assert_in_range(sp_line_log_dropped(log), COUNT / 4, COUNT);
	close(reader); /* and what waits cannot be written */
	sp_line_log_close(log);
	assert_int_equal(sp_line_log_dropped(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_are_appended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_renamed_file_is_left, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_waits_for_the_reader, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
