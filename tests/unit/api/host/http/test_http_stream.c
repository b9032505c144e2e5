#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "tests/support/http2_client.h"
#include "tests/support/http_scene.h"

static void a_stream_gets_answers_before_it_ends(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http2_frame frame;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send_headers(&client, 0, 1,
					  ":method: POST\n:scheme: http\n:path: /stream\n"
					  ":authority: a\n"));
	for (int i = 0; i < 3; i++) {
		assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 1, "abc", 3));
		sp_http2_receive_type(&client, &frame, SP_HTTP2_DATA);
		assert_string_equal(frame.payload, "abc");
	}
	sp_http2_receive_type(&client, &frame, SP_HTTP2_DATA); /* after a second */
	assert_string_equal(frame.payload, "tick");
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, SP_HTTP2_END_STREAM, 1, "end", 3));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "end");
	assert_non_null(strstr(reply.fields, "x-status: 0\n"));
	sp_http_scene_wait_for(&f.closed, 1);
	assert_int_equal(f.handled, 0);

	/* Nothing but an end. */
	sp_http2_get(&client, 3, "/stream", &reply);
	assert_int_equal(reply.status, 200);
	assert_int_equal(reply.headers_frames, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_stream_is_bounded_in_memory_and_time(void **state)
{
	static char body[16000];
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.stream_timeout_ms = 300});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send_headers(&client, 0, 1,
					  ":method: POST\n:scheme: http\n:path: /stream\n"
					  ":authority: a\n"));
	sp_http2_receive_reply(&client, 1, &reply); /* nothing was sent: an ordinary refusal */
	assert_int_equal(reply.status, 504);
	assert_true(sp_http2_send_headers(&client, 0, 3,
					  ":method: POST\n:scheme: http\n:path: /stream/soon\n"
					  ":authority: a\n"));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 3, "a", 1));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_string_equal(reply.body, "a");
	assert_int_equal(reply.reset, SP_HTTP2_CANCEL);
	sp_http_scene_wait_for(&f.closed, 2);
	/* More than the client takes. */
	assert_true(sp_http2_send_headers(&client, 0, 5,
					  ":method: POST\n:scheme: http\n:path: /stream\n"
					  ":authority: a\n"));
	for (int i = 0; i < 100; i++)
		assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 5, body, sizeof(body)));
	sp_http_scene_wait_for(&f.closed, 3);
	assert_true(f.refused > 0);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_stream_ends_with_its_client(void **state)
{
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	for (uint32_t i = 1; i < 6; i += 2)
		assert_true(sp_http2_send_headers(
			&client, 0, i,
			":method: POST\n:scheme: http\n:path: /stream\n:authority: a\n"));
	assert_true(sp_http2_send(&client, SP_HTTP2_RST_STREAM, 0, 3, "\0\0\0\x8", 4));
	sp_http_scene_wait_for(&f.closed, 1);
	sp_http2_client_close(&client);
	sp_http_scene_wait_for(&f.closed, 3);
	sp_http_scene_finish(&f);
}

static void a_silent_client_of_a_stream_is_asked_and_given_up(void **state)
{
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http2_frame frame;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.idle_timeout_ms = 100,
						  .head_timeout_ms = 200,
						  .stream_tick_ms = 20});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send_headers(
		&client, 0, 1, ":method: POST\n:scheme: http\n:path: /stream\n:authority: a\n"));
	sp_http2_receive_type(&client, &frame, SP_HTTP2_PING);
	assert_int_equal(frame.type, SP_HTTP2_PING);
	sp_http2_code_of_end(&client);
	assert_true(client.socket.ended);
	sp_http_scene_wait_for(&f.closed, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* ------------------------------------------------------- requests of a stream */

#define STREAM_FIELDS(path) ":method: POST\n:scheme: http\n:path: " path "\n:authority: a\n"

static void send_text(sp_http2_client *client, int flags, const char *text)
{
	assert_true(sp_http2_send(client, SP_HTTP2_DATA, flags, 1, text, strlen(text)));
}

static void open_asking(sp_http2_client *client, const sp_http_scene *f, const char *fields)
{
	assert_true(sp_http2_client_open(client, f->port));
	assert_true(sp_http2_send(client, SP_HTTP2_SETTINGS, SP_HTTP2_ACK, 0, "", 0));
	assert_true(sp_http2_send_headers(client, 0, 1, fields));
}

static void requests_of_a_stream_are_answered_in_their_order(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	pthread_mutex_lock(&f.gate);
	open_asking(&client, &f, STREAM_FIELDS("/stream/later"));
	send_text(&client, 0, "a\nnow\nb\n");
	sp_http_scene_wait_for(&f.handled, 3);
	send_text(&client, SP_HTTP2_END_STREAM, "now\n");
	sp_http_scene_wait_for(&f.handled, 4);
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.body, "POST/stream/later a\nPOST/stream/later now\n"
					"POST/stream/later b\nPOST/stream/later now\n");
	assert_non_null(strstr(reply.fields, "content-type: text/plain\n"));
	assert_non_null(strstr(reply.fields, "x-status: 0\n"));
	sp_http_scene_wait_for(&f.closed, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_client_that_asks_too_much_is_held_back(void **state)
{
	enum { LINES = 50, LONG = 16000, LONG_LINES = 40 };
	static sp_http2_reply reply;
	static char line[LONG];
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http2_frame frame;
	bool window = false;

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	sp_http_scene_start(&f, (sp_http_options){.max_body_bytes = 1 << 20});
	pthread_mutex_lock(&f.gate);
	open_asking(&client, &f, STREAM_FIELDS("/stream/later"));
	assert_true(sp_http2_send_window(&client, 0, 1 << 24));
	assert_true(sp_http2_send_window(&client, 1, 1 << 24));
	send_text(&client, 0, "a\n");
	for (int i = 1; i < LINES; i++)
		send_text(&client, 0, "now\n");
	for (int i = 0; i < LONG_LINES; i++)
		assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 1, line, sizeof(line)));
	assert_true(sp_http2_send(&client, SP_HTTP2_PING, 0, 0, "12345678", 8));
	do { /* the server lets it send more of others' */
		sp_http2_receive(&client, &frame);
		assert_false(frame.type == SP_HTTP2_WINDOW_UPDATE && frame.stream == 1);
	} while (frame.type != SP_HTTP2_PING);
	assert_int_equal(f.handled, SP_HTTP_STREAM_REQUESTS);
	pthread_mutex_unlock(&f.gate);
	while (!window) {
		sp_http2_receive(&client, &frame);
		assert_int_not_equal(frame.type, SP_HTTP2_END);
		window = frame.type == SP_HTTP2_WINDOW_UPDATE && frame.stream == 1;
	}
	send_text(&client, SP_HTTP2_END_STREAM, "now\n");
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.reset, -1);
	assert_int_equal(f.handled, LINES + LONG_LINES + 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void an_answer_of_a_stream_may_be_large(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	open_asking(&client, &f, STREAM_FIELDS("/stream/ask"));
	assert_true(sp_http2_send_window(&client, 0, 1 << 24));
	assert_true(sp_http2_send_window(&client, 1, 1 << 24));
	send_text(&client, SP_HTTP2_END_STREAM, "large\na\nlarge\nlarge\n");
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.body_size, 3 * (1 << 20) + strlen("POST/stream/ask a\n"));
	sp_http2_client_close(&client);

	/* A client that does not take it. */
	sp_http_scene_finish(&f);
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 200, .stream_tick_ms = 20});
	open_asking(&client, &f, STREAM_FIELDS("/stream/ask"));
	send_text(&client, 0, "large\nlarge\n");
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.body_size, 65535);
	assert_int_equal(reply.reset, SP_HTTP2_CANCEL);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_late_request_of_a_stream_does_not_end_it(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http2_frame frame;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 100, .stream_tick_ms = 20});
	pthread_mutex_lock(&f.gate);
	open_asking(&client, &f, STREAM_FIELDS("/stream/later"));
	send_text(&client, 0, "a\n");
	sp_http2_receive_type(&client, &frame, SP_HTTP2_DATA);
	assert_string_equal(frame.payload,
			    "{\"error\":\"the deadline of the request has passed\"}");
	pthread_mutex_unlock(&f.gate);
	sp_http_scene_wait_for(&f.dropped, 1);
	send_text(&client, SP_HTTP2_END_STREAM, "now\n");
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/stream/later now\n");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void requests_of_a_stream_are_cancelled_with_it(void **state)
{
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	pthread_mutex_lock(&f.gate);
	open_asking(&client, &f, STREAM_FIELDS("/stream/later"));
	send_text(&client, 0, "a\nnow\nb\n");
	sp_http_scene_wait_for(&f.handled, 3);
	assert_true(sp_http2_send(&client, SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0\x8", 4));
	sp_http_scene_wait_for(&f.closed, 1);
	pthread_mutex_unlock(&f.gate);
	sp_http_scene_wait_for(&f.dropped, 2);
	assert_int_equal(f.begun, 0);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void stopping_waits_for_the_requests_of_a_stream(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	pthread_mutex_lock(&f.gate);
	open_asking(&client, &f, STREAM_FIELDS("/stream/later"));
	send_text(&client, 0, "a\n");
	sp_http_scene_wait_for(&f.handled, 1);
	assert_false(sp_http_server_stop(f.server, 100));
	send_text(&client, 0, "now\n"); /* too late */
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/stream/later a\n");
	assert_int_equal(reply.reset, SP_HTTP2_CANCEL);
	assert_int_equal(f.handled, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void no_memory_costs_a_stream_and_not_the_server(void **state)
{
	sp_http_scene f = {0};

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (int64_t n = 0; n < 60; n++) {
		static sp_http2_reply reply;
		sp_http2_client client;
		sp_http_reply still;

		sp_alloc_fail_after(n);
		if (sp_http2_client_open(&client, f.port)) {
			(void)sp_http2_send_headers(&client, 0, 1, STREAM_FIELDS("/stream/ask"));
			(void)sp_http2_send(&client, SP_HTTP2_DATA, SP_HTTP2_END_STREAM, 1,
					    "a\nb\n", 4);
		}
		sp_http2_receive_reply(&client, 1, &reply);
		sp_alloc_fail_after(-1);
		sp_http2_client_close(&client);
		sp_http_call(f.port, "GET", "/still", NULL, &still);
		assert_string_equal(still.body, "GET/still ");
	}
	sp_http_scene_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_gets_answers_before_it_ends),
		cmocka_unit_test(a_stream_is_bounded_in_memory_and_time),
		cmocka_unit_test(a_stream_ends_with_its_client),
		cmocka_unit_test(a_silent_client_of_a_stream_is_asked_and_given_up),
		cmocka_unit_test(requests_of_a_stream_are_answered_in_their_order),
		cmocka_unit_test(a_client_that_asks_too_much_is_held_back),
		cmocka_unit_test(an_answer_of_a_stream_may_be_large),
		cmocka_unit_test(a_late_request_of_a_stream_does_not_end_it),
		cmocka_unit_test(requests_of_a_stream_are_cancelled_with_it),
		cmocka_unit_test(stopping_waits_for_the_requests_of_a_stream),
		cmocka_unit_test(no_memory_costs_a_stream_and_not_the_server),
	};

	return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
