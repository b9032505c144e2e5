#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/http2_client.h"
#include "tests/support/http_scene.h"

/* ---------------------------------------------------------------- answers */

static void requests_share_a_connection(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 2});
	assert_true(sp_http2_client_open(&client, f.port));
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_request(&client, 1, "/later", "one"));
	assert_true(sp_http2_request(&client, 3, "/now?q", "three"));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.body, "POST/now three");
	assert_non_null(strstr(reply.fields, "\ncontent-type: application/json\n"));
	assert_non_null(strstr(reply.fields, "\ncontent-length: 14\n"));
	assert_non_null(strstr(reply.fields, "\ndate: "));
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/later one");
	sp_http2_get(&client, 5, "/5", &reply);
	assert_string_equal(reply.body, "GET/5 ");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void an_answer_may_have_headers_and_trailers(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	sp_http2_get(&client, 1, "/headers", &reply);
	assert_non_null(strstr(reply.fields, "\nx-one: 1\nx-two: a b\n"));
	sp_http2_get(&client, 3, "/headers/bad", &reply);
	assert_int_equal(reply.status, 500);
	sp_http2_get(&client, 5, "/trailers", &reply);
	assert_int_equal(reply.headers_frames, 2);
	assert_string_equal(reply.body, "body");
	assert_null(strstr(reply.fields, "content-length"));
	assert_non_null(strstr(reply.fields, "\nx-status: 0\nx-message: done\n"));
	sp_http2_get(&client, 7, "/trailers/only", &reply);
	assert_int_equal(reply.headers_frames, 1);
	assert_int_equal(reply.body_size, 0);
	assert_non_null(strstr(reply.fields, "\nx-status: 0\nx-message: done\n"));
	assert_true(
		sp_http2_send_headers(&client, SP_HTTP2_END_STREAM, 9,
				      ":method: HEAD\n:scheme: http\n:path: /h\n:authority: a\n"));
	sp_http2_receive_reply(&client, 9, &reply);
	assert_non_null(strstr(reply.fields, "\ncontent-length: 7\n"));
	assert_int_equal(reply.body_size, 0);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_body_may_come_in_pieces_with_padding_and_trailers(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(
		sp_http2_send_headers(&client, 0, 1, SP_HTTP2_POST_FIELDS "content-length: 6\n"));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 1, "ab", 2));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 1, "", 0));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, SP_HTTP2_PADDED, 1, "\2cd\0\0", 5));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 1, "ef", 2));
	assert_true(sp_http2_send_headers(&client, SP_HTTP2_END_STREAM, 1, "x-sum: 1\n"));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/ abcdef");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_client_that_asks_first_is_told_to_go_on(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http2_frame frame;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send_headers(&client, 0, 1,
					  SP_HTTP2_POST_FIELDS "expect: 100-continue\n"));
	sp_http2_receive_type(&client, &frame, SP_HTTP2_HEADERS);
	assert_string_equal(frame.fields, ":status: 100\n");
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, SP_HTTP2_END_STREAM, 1, "ok", 2));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/ ok");
	assert_true(sp_http2_send_headers(&client, SP_HTTP2_END_STREAM, 3,
					  SP_HTTP2_POST_FIELDS "expect: cake\n"));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_int_equal(reply.status, 417);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void an_answer_keeps_to_the_windows_of_the_client(void **state)
{
	static sp_http2_reply reply;
	static sp_http2_frame frame;
	size_t received = 0;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_request(&client, 1, "/large", NULL));
	while (received < 65535) {
		sp_http2_receive_type(&client, &frame, SP_HTTP2_DATA);
		assert_int_equal(frame.type, SP_HTTP2_DATA);
		received += frame.size;
	}
	assert_int_equal(received, 65535);
	assert_true(sp_http2_send(&client, SP_HTTP2_PING, 0, 0, "12345678", 8));
	sp_http2_receive(&client, &frame); /* nothing else comes before it */
	assert_int_equal(frame.type, SP_HTTP2_PING);
	assert_int_equal(frame.flags, SP_HTTP2_ACK);
	assert_memory_equal(frame.payload, "12345678", 8);
	assert_true(sp_http2_send_window(&client, 0, 1 << 20));
	assert_true(sp_http2_send_window(&client, 1, 1 << 20));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(received + reply.body_size, 1 << 20);
	/* A window of one byte for new streams. */
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "\0\4\0\0\0\1", 6));
	assert_true(sp_http2_request(&client, 3, "/", NULL));
	sp_http2_receive_type(&client, &frame, SP_HTTP2_DATA);
	assert_int_equal(frame.size, 1);
	assert_true(sp_http2_send_window(&client, 3, 100));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_string_equal(reply.body, "ET/ ");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* --------------------------------------------------------------- refusals */

static void what_is_too_large_costs_its_request_only(void **state)
{
	static sp_http2_reply reply;
	static char text[1400], body[10001];
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	snprintf(text, sizeof(text), "%sx: %01024d\n", SP_HTTP2_GET_FIELDS, 1);
	assert_true(sp_http2_send_headers(&client, SP_HTTP2_END_STREAM, 1, text));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.status, 431);
	assert_int_equal(strncmp(reply.body, "{\"error\":", 9), 0);

	memset(body, 'x', sizeof(body));
	assert_true(sp_http2_send_headers(&client, 0, 3, SP_HTTP2_POST_FIELDS));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 3, body, 5000));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 3, body, 5001));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_int_equal(reply.status, 413);
	sp_http2_receive_reply(&client, 3, &reply); /* it need not send the rest */
	assert_int_equal(reply.reset, SP_HTTP2_NO_ERROR);
	assert_true(sp_http2_send_headers(&client, 0, 5,
					  SP_HTTP2_POST_FIELDS "content-length: 10001\n"));
	sp_http2_receive_reply(&client, 5, &reply);
	assert_int_equal(reply.status, 413);
	sp_http2_get(&client, 7, "/still", &reply);
	assert_string_equal(reply.body, "GET/still ");
	assert_int_equal(f.handled, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void requests_have_deadlines(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 400});
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send_headers(&client, 0, 1, SP_HTTP2_POST_FIELDS)); /* no body comes */
	assert_true(sp_http2_request(&client, 3, "/later", NULL));
	assert_true(sp_http2_request(&client, 5, "/later/soon", NULL));
	assert_true(sp_http2_request(&client, 7, "/later/plain", NULL));
	sp_http2_receive_reply(&client, 5, &reply);
	assert_int_equal(reply.status, 504);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.status, 408);
	sp_http2_receive_reply(&client, 3, &reply);
	assert_int_equal(reply.status, 504);
	sp_http2_receive_reply(&client, 7, &reply);
	assert_string_equal(reply.body, "504: the deadline of the request has passed");
	pthread_mutex_unlock(&f.gate);
	sp_http2_get(&client, 9, "/later/now", &reply);
	assert_string_equal(reply.body, "GET/later/now ");
	assert_int_equal(f.dropped, 3);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_client_that_takes_nothing_is_given_up(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 300});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "\0\4\0\0\0\0", 6));
	assert_true(sp_http2_request(&client, 1, "/large", NULL));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.status, 200);
	assert_int_equal(reply.reset, SP_HTTP2_CANCEL);
	assert_int_equal(reply.body_size, 0);
	sp_http2_client_close(&client);

	sp_http_scene_finish(&f);
}

static void no_work_is_done_for_a_stream_that_was_reset(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_request(&client, 1, "/later/cancelled", NULL));
	sp_http_scene_wait_for(&f.begun, 1);
	assert_true(sp_http2_request(&client, 3, "/later", NULL));
	sp_http_scene_wait_for(&f.handled, 2);
	assert_true(sp_http2_send(&client, SP_HTTP2_RST_STREAM, 0, 3, "\0\0\0\x8", 4));
	assert_true(sp_http2_send(&client, SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0\x8", 4));
	sp_http_scene_wait_for(&f.cancelled, 1);
	sp_http_scene_wait_for(&f.dropped, 1);
	sp_http2_get(&client, 5, "/still", &reply);
	assert_int_equal(reply.status, 200);

	/* A whole connection. */
	assert_true(sp_http2_request(&client, 7, "/later/cancelled", NULL));
	assert_true(sp_http2_request(&client, 9, "/later", NULL));
	sp_http_scene_wait_for(&f.begun, 2);
	sp_http_scene_wait_for(&f.handled, 5);
	sp_http2_client_close(&client);
	sp_http_scene_wait_for(&f.cancelled, 2);
	sp_http_scene_wait_for(&f.dropped, 2);
	sp_http_scene_finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_share_a_connection),
		cmocka_unit_test(an_answer_may_have_headers_and_trailers),
		cmocka_unit_test(a_body_may_come_in_pieces_with_padding_and_trailers),
		cmocka_unit_test(a_client_that_asks_first_is_told_to_go_on),
		cmocka_unit_test(an_answer_keeps_to_the_windows_of_the_client),
		cmocka_unit_test(what_is_too_large_costs_its_request_only),
		cmocka_unit_test(requests_have_deadlines),
		cmocka_unit_test(a_client_that_takes_nothing_is_given_up),
		cmocka_unit_test(no_work_is_done_for_a_stream_that_was_reset),
	};

	return cmocka_run_group_tests_name("http2_stream", tests, NULL, NULL);
}
