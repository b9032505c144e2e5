#include "tests/support/cmocka.h"

#include <string.h>

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
	sp_http_scene_start(&f, (sp_http_options){.idle_timeout_ms = 500, .head_timeout_ms = 1000});
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_gets_answers_before_it_ends),
		cmocka_unit_test(a_stream_is_bounded_in_memory_and_time),
		cmocka_unit_test(a_stream_ends_with_its_client),
		cmocka_unit_test(a_silent_client_of_a_stream_is_asked_and_given_up),
	};

	return cmocka_run_group_tests_name("http_stream", tests, NULL, NULL);
}
