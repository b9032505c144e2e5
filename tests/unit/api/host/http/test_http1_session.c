#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/http_scene.h"

/* ---------------------------------------------------------------- answers */

#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/host/http/http_server.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/http_scene.h"

static void requests_follow_each_other_on_one_connection(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 2});
	assert_true(sp_http_client_open(&client, f.port));
	for (int i = 0; i < 3; i++) {
		sp_http_client_send_text(&client, "POST /a?b HTTP/1.1\r\nHost: a\r\n"
						  "Content-Length: 5\r\n\r\nhello");
		sp_http_client_receive(&client, &reply);
		assert_int_equal(reply.status, 200);
		assert_string_equal(reply.body, "POST/a hello");
		assert_non_null(strstr(reply.head, "\r\nContent-Type: application/json\r\n"));
		assert_non_null(strstr(reply.head, "\r\nDate: "));
		assert_null(strstr(reply.head, "\r\nConnection:"));
	}
	sp_http_client_send_text(&client, "\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive_head(&client, &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head, "\r\nContent-Length: 6\r\n"));
	sp_http_client_send_text(&client, "GET / HTTP/1.0\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head, "\r\nConnection: close\r\n"));
	assert_true(sp_http_client_ends(&client, 5000));
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;
	char want[64];

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	for (int i = 0; i < 50; i++) {
		char text[200];

		snprintf(text, sizeof(text),
			 "POST /%s%d HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n%02d",
			 i % 3 == 0 ? "later" : "", i, i);
		sp_http_client_send_text(&client, text);
	}
	for (int i = 0; i < 50; i++) {
		sp_http_client_receive(&client, &reply);
		assert_int_equal(reply.status, 200);
		snprintf(want, sizeof(want), "POST/%s%d %02d", i % 3 == 0 ? "later" : "", i, i);
		assert_string_equal(reply.body, want);
	}
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_body_may_come_in_chunks_and_in_pieces(void **state)
{
	static const char text[] =
		"POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
		"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
		"POST /d HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_true(sp_http_client_send(&client, text + i, 1));
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "POST/c hello world");
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "POST/d abc");
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_client_that_asks_first_is_told_to_go_on(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	sp_http_client_send_text(&client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
					  "Expect: 100-continue\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 100);
	sp_http_client_send_text(&client, "ok");
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "POST/ ok");
	sp_http_client_send_text(&client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n"
					  "Expect: 100-continue\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 413);
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void an_answer_larger_than_the_socket_takes_is_sent_whole(void **state)
{
	enum { REQUESTS = 400, BODY = 10000 };
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;
	char *text = malloc(200 + BODY);
	size_t size;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	size = (size_t)sprintf(text, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
			       BODY);
	memset(text + size, 'x', BODY);
	for (int i = 0; i < REQUESTS; i++) {
		assert_true(sp_http_client_send(&client, text, size + BODY));
		if (i >= 100) { /* the first hundred answers wait in the sockets */
			sp_http_client_receive(&client, &reply);
			assert_int_equal(reply.body_size, BODY + 6);
		}
	}
	sp_http_client_close(&client);
	free(text);
	sp_http_scene_finish(&f);
}

static void the_memory_of_a_small_answer_serves_the_next_one(void **state)
{
	static const char *const paths[] = {"/memory", "/memory", "/large", "/memory"};
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	for (int i = 0; i < 4; i++) {
		char text[64];

		snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", paths[i]);
		sp_http_client_send_text(&client, text);
		sp_http_client_receive(&client, &reply);
		if (i != 2)
			assert_string_equal(reply.body, i == 1 ? "64 kept" : "0 kept");
	}
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void an_answer_may_have_headers_of_its_own(void **state)
{
	sp_http_scene f = {0};
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	sp_http_call(f.port, "GET", "/headers", NULL, &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head, "\r\nx-one: 1\r\nx-two: a b\r\n"));
	sp_http_call(f.port, "GET", "/headers/bad", NULL, &reply);
	assert_int_equal(reply.status, 500);
	assert_null(strstr(reply.head, "b: c"));
	sp_http_scene_finish(&f);
}

/* --------------------------------------------------------------- refusals */

#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST   "POST / HTTP/1.1\r\nHost: a\r\n"

static void nothing_hidden_behind_a_refused_request_is_served(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{POST "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
		 400},
		{POST "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" HIDDEN, 400},
		{POST "Content-Length: +2\r\n\r\nab" HIDDEN, 400},
		{POST "Content-Length : 2\r\n\r\n" HIDDEN, 400},
		{POST "Transfer-Encoding: xchunked\r\n\r\n" HIDDEN, 501},
		{POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" HIDDEN, 501},
		{POST "Transfer-Encoding: chunked\r\n\r\n0x2\r\nab\r\n0\r\n\r\n" HIDDEN, 400},
		{POST "Transfer-Encoding: chunked\r\n\r\n2\nab\r\n0\r\n\r\n" HIDDEN, 400},
		{POST "X: a\r\n b\r\n\r\n" HIDDEN, 400},
		{POST ": a\r\n\r\n" HIDDEN, 400},
		{"POST / HTTP/1.1\nHost: a\n\n" HIDDEN, 400},
		{"POST / HTTP/1.1\r\n\r\n" HIDDEN, 400},
		{"GET / HTTP/3.0\r\nHost: a\r\n\r\n" HIDDEN, 505},
		{POST "Expect: cake\r\n\r\n" HIDDEN, 417},
		{POST "Content-Length: 10001\r\n\r\n" HIDDEN, 413},
		{POST "Content-Length: 99999999999999999\r\n\r\n" HIDDEN, 413},
		{POST "Transfer-Encoding: chunked\r\n\r\n2711\r\n" HIDDEN, 413},
	};
	sp_http_scene f = {0};

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_http_client client;
		sp_http_reply reply;

		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send_text(&client, cases[i].text);
		sp_http_client_receive(&client, &reply);
		if (reply.status != cases[i].status)
			fail_msg("%s gives %d", cases[i].text, reply.status);
		assert_non_null(strstr(reply.head, "\r\nConnection: close\r\n"));
		assert_int_equal(strncmp(reply.body, "{\"error\":\"", 10), 0);
		assert_true(sp_http_client_ends(&client, 5000));
		sp_http_client_close(&client);
	}
	assert_int_equal(f.handled, 0);
	sp_http_scene_finish(&f);
}

static void heads_that_are_too_long_are_refused(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;
	char text[3000];

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	memset(text, 'a', sizeof(text));
	assert_true(sp_http_client_open(&client, f.port));
	memcpy(text, "GET /", 5);
	sp_http_client_send(&client, text, sizeof(text));
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 414);
	sp_http_client_close(&client);

	assert_true(sp_http_client_open(&client, f.port));
	memcpy(text, "GET / HTTP/1.1\r\nHost: ", 22);
	sp_http_client_send(&client, text, sizeof(text));
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 431);
	sp_http_client_close(&client);
	assert_int_equal(f.handled, 0);
	sp_http_scene_finish(&f);
}

static void a_refusal_may_be_put_another_way(void **state)
{
	sp_http_scene f = {0};
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 200});
	pthread_mutex_lock(&f.gate);
	sp_http_call(f.port, "GET", "/later/plain", NULL, &reply);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.body, "504: the deadline of the request has passed");
	pthread_mutex_unlock(&f.gate);
	sp_http_scene_finish(&f);
}

/* ------------------------------------------------------------------- time */

static void a_client_that_dribbles_is_cut_off(void **state)
{
	static const char *const begins[] = {
		"GET / HTTP/1.1\r\nX: ",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0;",
	};
	sp_http_scene f = {0};

	(void)state;
	sp_http_scene_start(&f,
			    (sp_http_options){.request_timeout_ms = 400, .head_timeout_ms = 300});
	for (size_t i = 0; i < 3; i++) {
		int64_t began = sp_clock_now_ns();
		sp_http_client client;
		sp_http_reply reply;

		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send_text(&client, begins[i]);
		for (int n = 0; n < 10; n++) { /* a byte every 50 ms for half a second */
			sp_http_client_send(&client, "a", 1);
			sp_http_scene_pause_ms(50);
		}
		sp_http_client_receive(&client, &reply);
		assert_int_equal(reply.status, 408);
		assert_true(sp_http_client_ends(&client, 5000));
		assert_true(sp_clock_now_ns() - began < INT64_C(5000000000));
		sp_http_client_close(&client);
	}
	sp_http_scene_finish(&f);
}

static void an_idle_connection_ends_in_silence(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client, fresh;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.idle_timeout_ms = 100});
	assert_true(sp_http_client_open(&client, f.port));
	assert_true(sp_http_client_open(&fresh, f.port));
	sp_http_client_send_text(&client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 200);
	assert_true(sp_http_client_ends(&client, 5000));
	assert_true(sp_http_client_ends(&fresh, 5000));
	sp_http_client_close(&client);
	sp_http_client_close(&fresh);
	sp_http_scene_finish(&f);
}

static void a_request_that_nobody_begins_with_is_answered_in_time(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 200});
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http_client_open(&client, f.port));
	sp_http_client_send_text(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 504);
	sp_http_client_send_text(&client, "GET /now HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "GET/now ");
	sp_http_client_send_text(&client, "HEAD /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive_head(&client, &reply);
	assert_int_equal(reply.status, 504);
	pthread_mutex_unlock(&f.gate);
	sp_http_client_send_text(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "GET/later ");
	assert_int_equal(f.dropped, 2);
	assert_int_equal(f.begun, 1);
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_handler_may_leave_a_request_less_time(void **state)
{
	sp_http_scene f = {0};
	sp_http_reply reply;
	int64_t began = sp_clock_now_ns();

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	pthread_mutex_lock(&f.gate);
	sp_http_call(f.port, "GET", "/later/soon", NULL, &reply);
	assert_int_equal(reply.status, 504);
	assert_true(sp_clock_now_ns() - began < INT64_C(5000000000));
	pthread_mutex_unlock(&f.gate);
	sp_http_scene_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_follow_each_other_on_one_connection),
		cmocka_unit_test(pipelined_requests_are_answered_in_order),
		cmocka_unit_test(a_body_may_come_in_chunks_and_in_pieces),
		cmocka_unit_test(a_client_that_asks_first_is_told_to_go_on),
		cmocka_unit_test(an_answer_larger_than_the_socket_takes_is_sent_whole),
		cmocka_unit_test(the_memory_of_a_small_answer_serves_the_next_one),
		cmocka_unit_test(an_answer_may_have_headers_of_its_own),
		cmocka_unit_test(nothing_hidden_behind_a_refused_request_is_served),
		cmocka_unit_test(heads_that_are_too_long_are_refused),
		cmocka_unit_test(a_refusal_may_be_put_another_way),
		cmocka_unit_test(a_client_that_dribbles_is_cut_off),
		cmocka_unit_test(an_idle_connection_ends_in_silence),
		cmocka_unit_test(a_request_that_nobody_begins_with_is_answered_in_time),
		cmocka_unit_test(a_handler_may_leave_a_request_less_time),
	};

	return cmocka_run_group_tests_name("http1_session", tests, NULL, NULL);
}
