#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/http/http_head.h"

static sp_http_head head;
static sp_error err;

static int parse(const char *text)
{
	size_t size = 0, scanned = 0;

	assert_int_equal(sp_http_head_find(sp_bytes_of(text), &size, &scanned), SP_HTTP_SCAN_DONE);
	assert_int_equal(size, strlen(text));
	return sp_http_head_parse(&head, sp_bytes_of(text), &err);
}

static void a_plain_head_is_read(void **state)
{
	(void)state;
	assert_int_equal(parse("POST /v1/models/m:predict?x=1 HTTP/1.1\r\nHost: a\r\n"
			       "Content-Length: 17\r\nX-Thing: \t two words \t\r\nEmpty:\r\n\r\n"),
			 0);
	assert_int_equal(head.method, SP_HTTP_POST);
	assert_true(sp_bytes_equal_text(head.method_name, "POST"));
	assert_true(sp_bytes_equal_text(head.path, "/v1/models/m:predict"));
	assert_int_equal(head.minor, 1);
	assert_int_equal(head.content_length, 17);
	assert_false(head.chunked || head.close || head.expect_continue);
	assert_true(sp_bytes_equal_text(sp_http_head_get(&head, "x-thing"), "two words"));
	assert_non_null(sp_http_head_get(&head, "EMPTY").data);
	assert_int_equal(sp_http_head_get(&head, "EMPTY").size, 0);
	assert_null(sp_http_head_get(&head, "absent").data);
}

static void targets_of_all_forms_give_their_path(void **state)
{
	(void)state;
	assert_int_equal(parse("GET http://host:80/a/b?c HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
	assert_true(sp_bytes_equal_text(head.path, "/a/b"));
	assert_int_equal(parse("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
	assert_true(sp_bytes_equal_text(head.path, "*"));
	assert_int_equal(parse("GET /? HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
	assert_true(sp_bytes_equal_text(head.path, "/"));
}

static void the_connection_goes_on_or_ends(void **state)
{
	static const struct {
		const char *text;
		bool close;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: te, close\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n\r\n", true},
		{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text), 0);
		assert_int_equal(head.close, cases[i].close);
	}
}

#define AFTER_HOST(lines) "POST / HTTP/1.1\r\nHost: a\r\n" lines "\r\n\r\n"

static void what_is_ambiguous_is_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{AFTER_HOST("Content-Length: 2\r\nTransfer-Encoding: chunked"), 400},
		{AFTER_HOST("Content-Length: 2\r\nContent-Length: 3"), 400},
		{AFTER_HOST("Content-Length: 2\r\nContent-Length: 2"), 400},
		{AFTER_HOST("Content-Length: 2, 2"), 400},
		{AFTER_HOST("Content-Length: +2"), 400},
		{AFTER_HOST("Content-Length: -2"), 400},
		{AFTER_HOST("Content-Length: 0x2"), 400},
		{AFTER_HOST("Content-Length: 2 2"), 400},
		{AFTER_HOST("Content-Length:"), 400},
		{AFTER_HOST("Content-Length: 18446744073709551616"), 400},
		{AFTER_HOST("Content-Length : 2"), 400},
		{AFTER_HOST(" Content-Length: 2"), 400},
		{AFTER_HOST("X: 1\r\n folded: 2"), 400},
		{AFTER_HOST("Transfer-Encoding: gzip, chunked"), 501},
		{AFTER_HOST("Transfer-Encoding: xchunked"), 501},
		{AFTER_HOST("Transfer-Encoding: chunked, identity"), 501},
		{AFTER_HOST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400},
		{AFTER_HOST("Transfer-Encoding:\vchunked"), 400},
		{AFTER_HOST(": no name"), 400},
		{AFTER_HOST("no colon"), 400},
		{AFTER_HOST("X: a\rb"), 400},
		{AFTER_HOST("X: a\x01"), 400},
		{AFTER_HOST("X: a\x7f"), 400},
		{AFTER_HOST("X\xc3\xa4: a"), 400},
		{AFTER_HOST("Host: b"), 400},
		{AFTER_HOST("Expect: 200-ok"), 417},
		{"POST / HTTP/1.1\r\n\r\n", 400},
		{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
		{"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
		{"PRI * HTTP/2.0\r\n\r\n", 505},
		{"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET /\r\nHost: a\r\n\r\n", 400},
		{"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
		{"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET http://host HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"\r\n\r\n", 400},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(cases[i].text) != cases[i].status)
			fail_msg("%s", cases[i].text);
}

static void a_nul_byte_is_refused(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n";

	(void)state;
	assert_int_equal(sp_http_head_parse(&head, (sp_bytes){text, sizeof(text) - 1}, &err), 400);
}

static void too_many_headers_are_refused(void **state)
{
	char text[4096] = "GET / HTTP/1.1\r\nHost: a\r\n";

	(void)state;
	for (int i = 1; i < SP_HTTP_MAX_HEADERS; i++)
		strcat(text, "A: b\r\n");
	strcat(text, "\r\n");
	assert_int_equal(parse(text), 0);
	assert_int_equal(head.header_count, SP_HTTP_MAX_HEADERS);
	strcpy(text + strlen(text) - 2, "A: b\r\n\r\n");
	assert_int_equal(parse(text), 431);
}

static void the_end_of_a_head_is_found_in_pieces(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest\n";
	size_t size = 0, scanned = 0;

	(void)state;
	for (size_t i = 0; i < 27; i++)
		assert_int_equal(sp_http_head_find((sp_bytes){text, i}, &size, &scanned),
				 SP_HTTP_SCAN_MORE);
	assert_int_equal(sp_http_head_find((sp_bytes){text, sizeof(text) - 1}, &size, &scanned),
			 SP_HTTP_SCAN_DONE);
	assert_int_equal(size, 27);
}

static void a_bare_line_feed_is_seen_at_once(void **state)
{
	static const char *const texts[] = {"GET / HTTP/1.1\n", "\n",
					    "GET / HTTP/1.1\r\nHost: a\n"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t size, scanned = 0;

		assert_int_equal(sp_http_head_find(sp_bytes_of(texts[i]), &size, &scanned),
				 SP_HTTP_SCAN_BAD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_head_is_read),
		cmocka_unit_test(targets_of_all_forms_give_their_path),
		cmocka_unit_test(the_connection_goes_on_or_ends),
		cmocka_unit_test(what_is_ambiguous_is_refused),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(too_many_headers_are_refused),
		cmocka_unit_test(the_end_of_a_head_is_found_in_pieces),
		cmocka_unit_test(a_bare_line_feed_is_seen_at_once),
	};

	return cmocka_run_group_tests_name("http_head", tests, NULL, NULL);
}
