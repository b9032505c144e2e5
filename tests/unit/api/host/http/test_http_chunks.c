#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "api/host/http/http_chunks.h"

/* Feeds `step` bytes at a time; the body stays for the caller to look at. */
static sp_http_chunks_result feed(const char *text, size_t step, sp_buffer *body, size_t *total)
{
	sp_http_chunks chunks = {0};
	sp_http_chunks_result result = SP_HTTP_CHUNKS_MORE;
	size_t size = strlen(text), used;

	sp_buffer_init(body, 100);
	*total = 0;
	while (*total < size && result == SP_HTTP_CHUNKS_MORE) {
		size_t n = size - *total < step ? size - *total : step;

		result = sp_http_chunks_feed(&chunks, (sp_bytes){text + *total, n}, &used, body);
		*total += used;
	}
	return result;
}

static void chunks_are_joined_however_they_arrive(void **state)
{
	static const char text[] = "5\r\nhello\r\n1;ext=\"a b\"\r\n \r\n00A\r\n0123456789\r\n0\r\n"
				   "Trailer: x\r\n\r\nGET /";

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		sp_buffer body;
		size_t total;

		assert_int_equal(feed(text, step, &body, &total), SP_HTTP_CHUNKS_DONE);
		assert_string_equal(body.data, "hello 0123456789");
		assert_int_equal(total, sizeof(text) - 1 - 5);
		sp_buffer_fini(&body);
	}
}

static void malformed_chunks_are_refused(void **state)
{
	static const char *const bad[] = {
		"0x2\r\nab\r\n0\r\n\r\n",
		"+2\r\nab\r\n0\r\n\r\n",
		" 2\r\nab\r\n0\r\n\r\n",
		"2 \r\nab\r\n0\r\n\r\n",
		"\r\nab",
		";x\r\n",
		"2\nab\r\n0\r\n\r\n",
		"2\r\nabc\r\n",
		"2\r\nab\n0\r\n\r\n",
		"2\r\nab0\r\n\r\n",
		"2;a\nb\r\nab\r\n",
		"2;a\rb\r\nab\r\n",
		"0\r\nX: y\n\r\n",
		"0\r\n\rX",
		"10000000000000000\r\n",
		"-1\r\n",
		"g\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		sp_buffer body;
		size_t total;

		if (feed(bad[i], 100, &body, &total) != SP_HTTP_CHUNKS_BAD)
			fail_msg("%s", bad[i]);
		sp_buffer_fini(&body);
	}
}

static void chunk_lines_and_trailers_have_a_limit(void **state)
{
	enum { SIZE = 10000 };
	char *text = malloc(SIZE + 1);
	sp_buffer body;
	size_t total;

	(void)state;
	memset(text, '0', SIZE);
	text[SIZE] = '\0';
	assert_int_equal(feed(text, 100, &body, &total), SP_HTTP_CHUNKS_BAD);
	sp_buffer_fini(&body);
	memset(text, 'e', SIZE);
	memcpy(text, "1;", 2);
	assert_int_equal(feed(text, 100, &body, &total), SP_HTTP_CHUNKS_BAD);
	sp_buffer_fini(&body);
	memcpy(text, "0\r\n", 3);
	assert_int_equal(feed(text, 100, &body, &total), SP_HTTP_CHUNKS_BAD);
	sp_buffer_fini(&body);
	free(text);
}

static void many_small_chunks_are_no_long_line(void **state)
{
	enum { CHUNKS = 1000 };
	static const char chunk[] = "1;x\r\na\r\n";
	sp_http_chunks chunks = {0};
	sp_buffer body;
	size_t used;

	(void)state;
	sp_buffer_init(&body, CHUNKS);
	for (size_t i = 0; i < CHUNKS; i++)
		if (sp_http_chunks_feed(&chunks, sp_bytes_of(chunk), &used, &body) !=
		    SP_HTTP_CHUNKS_MORE)
			fail_msg("chunk %zu", i);
	assert_int_equal(sp_http_chunks_feed(&chunks, sp_bytes_of("0\r\n\r\n"), &used, &body),
			 SP_HTTP_CHUNKS_DONE);
	assert_int_equal(body.size, CHUNKS);
	sp_buffer_fini(&body);
}

static void a_body_that_grows_too_large_is_seen_by_its_declared_size(void **state)
{
	sp_buffer body;
	size_t total;

	(void)state;
	assert_int_equal(feed("65\r\nx", 100, &body, &total), SP_HTTP_CHUNKS_TOO_LARGE);
	sp_buffer_fini(&body);
	assert_int_equal(feed("1\r\nx\r\n64\r\nx", 100, &body, &total), SP_HTTP_CHUNKS_TOO_LARGE);
	sp_buffer_fini(&body);
	assert_int_equal(feed("ffffffffffffffff\r\nx", 100, &body, &total),
			 SP_HTTP_CHUNKS_TOO_LARGE);
	sp_buffer_fini(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_joined_however_they_arrive),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(chunk_lines_and_trailers_have_a_limit),
		cmocka_unit_test(many_small_chunks_are_no_long_line),
		cmocka_unit_test(a_body_that_grows_too_large_is_seen_by_its_declared_size),
	};

	return cmocka_run_group_tests_name("http_chunks", tests, NULL, NULL);
}
