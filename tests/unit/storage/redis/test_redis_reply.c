#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/redis/redis_reply.h"

/* Writes a value as "DEPTH.INDEX", a mark of its kind, its text or number, and ";". */
static void write_value(char *to, const sp_redis_value *value)
{
	static const char marks[] = {
		[SP_REDIS_NIL] = '_',     [SP_REDIS_STRING] = '$', [SP_REDIS_STATUS] = '+',
		[SP_REDIS_INTEGER] = ':', [SP_REDIS_ARRAY] = '*',  [SP_REDIS_ERROR] = '-'};

	to += sprintf(to, "%u.%zu%c", value->depth, value->index, marks[value->kind]);
	if (value->text != NULL)
		sprintf(to, "%.*s;", (int)value->size, value->text);
	else if (value->kind == SP_REDIS_NIL)
		strcpy(to, ";");
	else
		sprintf(to, "%lld;", (long long)value->integer);
}

/*
 * Reads values until the bytes end; "more" or "wrong" stands where they do.  The bytes lie in
 * memory of their own, so that a memory checker sees what is read behind them.
 */
static const char *read_all(const char *bytes, size_t size)
{
	static char out[4096];
	char *copy = malloc(size), *to = out;
	sp_redis_reply_parser reply = {0};
	sp_redis_value value;
	size_t at = 0, used = 1;

	memcpy(copy, bytes, size);
	out[0] = '\0';
	while (at < size) {
		used = sp_redis_reply_next(&reply, copy + at, size - at, &value);
		if (used == 0 || used == SP_REDIS_MALFORMED)
			break;
		assert_true(used <= size - at);
		write_value(to, &value);
		to += strlen(to);
		at += used;
		if (reply.depth == 0)
			to += sprintf(to, " ");
	}
	if (used == 0)
		strcpy(to, "more");
	else if (used == SP_REDIS_MALFORMED)
		strcpy(to, "wrong");
	free(copy);
	return out;
}

static void every_kind_is_read(void **state)
{
	static const char bytes[] =
		"+OK\r\n-ERR no\r\n:-12\r\n$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n"
		"*0\r\n:9223372036854775807\r\n:-9223372036854775808\r\n";

	(void)state;
	assert_string_equal(read_all(bytes, sizeof(bytes) - 1),
			    "0.0+OK; 0.0-ERR no; 0.0:-12; 0.0$a\r\n; 0.0$; 0.0_; 0.0_; 0.0*0; "
			    "0.0:9223372036854775807; 0.0:-9223372036854775808; ");
}

static void elements_know_their_places(void **state)
{
	static const char bytes[] = "*3\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*1\r\n*1\r\n:7\r\n+OK\r\n";

	(void)state;
	assert_string_equal(read_all(bytes, sizeof(bytes) - 1),
			    "0.0*3;1.0*2;2.0:1;2.1*0;1.1_;1.2*1;2.0*1;3.0:7; 0.0+OK; ");
}

static void every_prefix_waits_for_more(void **state)
{
	static const char *const answers[] = {"+OK\r\n", ":-12\r\n", "$3\r\nabc\r\n",
					      "*-1\r\n", "$-1\r\n",  "-ERR\r\n"};

	(void)state;
	for (size_t a = 0; a < sizeof(answers) / sizeof(*answers); a++)
		for (size_t size = 1; size < strlen(answers[a]); size++)
			assert_string_equal(read_all(answers[a], size), "more");
}

static void what_is_not_redis_is_refused(void **state)
{
	static const char *const wrong[] = {
		"HTTP/1.1\r\n",
		"$-2\r\n",
		"*-2\r\n",
		"$536870913\r\n",
		"*2147483648\r\n",
		"$12345678901234567890\r\n",
		":9223372036854775808\r\n",
		":\r\n",
		":-\r\n",
		":1x\r\n",
		":1\rx",
		"$\r\n",
		"$+1\r\n",
		"$1\r\nab\r\n",
		"$1\r\na\rb",
		"\r\n",
	};
	char deep[4 * (SP_REDIS_MAX_DEPTH + 1) + 1] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_string_equal(read_all(wrong[i], strlen(wrong[i])), "wrong");
	for (int i = 0; i <= SP_REDIS_MAX_DEPTH; i++)
		strcat(deep, "*1\r\n");
	assert_non_null(strstr(read_all(deep, strlen(deep)), "wrong"));
}

static void lines_have_an_end(void **state)
{
	char *line = malloc(1 << 17);

	(void)state;
	memset(line, 'x', 1 << 17);
	line[0] = '+';
	assert_string_equal(read_all(line, 1 << 15), "more");
	assert_string_equal(read_all(line, 1 << 17), "wrong");
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_read),
		cmocka_unit_test(elements_know_their_places),
		cmocka_unit_test(every_prefix_waits_for_more),
		cmocka_unit_test(what_is_not_redis_is_refused),
		cmocka_unit_test(lines_have_an_end),
	};

	return cmocka_run_group_tests_name("redis_reply", tests, NULL, NULL);
}
