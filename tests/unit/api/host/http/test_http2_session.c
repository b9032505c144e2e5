#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/http2_client.h"
#include "tests/support/http_scene.h"

#define GET_FIELDS  ":method: GET\n:scheme: http\n:path: /\n:authority: a\n"
#define POST_FIELDS ":method: POST\n:scheme: http\n:path: /\n:authority: a\n"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* Codes of errors (RFC 9113, section 7). */
enum {
	NO_ERROR,
	PROTOCOL_ERROR,
	INTERNAL_ERROR,
	FLOW_CONTROL_ERROR,
	SETTINGS_TIMEOUT,
	STREAM_CLOSED,
	FRAME_SIZE_ERROR,
	REFUSED_STREAM,
	CANCEL,
	COMPRESSION_ERROR,
	CONNECT_ERROR,
	ENHANCE_YOUR_CALM,
};

static void get(sp_http2_client *client, uint32_t stream, const char *path, sp_http2_reply *reply)
{
	assert_true(sp_http2_request(client, stream, path, NULL));
	sp_http2_receive_reply(client, stream, reply);
}

/* ------------------------------------------------------------------ answers */

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
	get(&client, 5, "/5", &reply);
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
	get(&client, 1, "/headers", &reply);
	assert_non_null(strstr(reply.fields, "\nx-one: 1\nx-two: a b\n"));
	get(&client, 3, "/headers/bad", &reply);
	assert_int_equal(reply.status, 500);
	get(&client, 5, "/trailers", &reply);
	assert_int_equal(reply.headers_frames, 2);
	assert_string_equal(reply.body, "body");
	assert_null(strstr(reply.fields, "content-length"));
	assert_non_null(strstr(reply.fields, "\nx-status: 0\nx-message: done\n"));
	get(&client, 7, "/trailers/only", &reply);
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
	assert_true(sp_http2_send_headers(&client, 0, 1, POST_FIELDS "content-length: 6\n"));
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
	assert_true(sp_http2_send_headers(&client, 0, 1, POST_FIELDS "expect: 100-continue\n"));
	sp_http2_receive_type(&client, &frame, SP_HTTP2_HEADERS);
	assert_string_equal(frame.fields, ":status: 100\n");
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, SP_HTTP2_END_STREAM, 1, "ok", 2));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/ ok");
	assert_true(sp_http2_send_headers(&client, SP_HTTP2_END_STREAM, 3,
					  POST_FIELDS "expect: cake\n"));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_int_equal(reply.status, 417);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void send_window(sp_http2_client *client, uint32_t stream, uint32_t more)
{
	const char payload[4] = {(char)(more >> 24), (char)(more >> 16), (char)(more >> 8),
				 (char)more};

	assert_true(sp_http2_send(client, SP_HTTP2_WINDOW_UPDATE, 0, stream, payload, 4));
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
	send_window(&client, 0, 1 << 20);
	send_window(&client, 1, 1 << 20);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(received + reply.body_size, 1 << 20);
	/* A window of one byte for new streams. */
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "\0\4\0\0\0\1", 6));
	assert_true(sp_http2_request(&client, 3, "/", NULL));
	sp_http2_receive_type(&client, &frame, SP_HTTP2_DATA);
	assert_int_equal(frame.size, 1);
	send_window(&client, 3, 100);
	sp_http2_receive_reply(&client, 3, &reply);
	assert_string_equal(reply.body, "ET/ ");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void the_servers_settings_come_first(void **state)
{
	static const char want[] = "\0\3\0\0\0\7"   /* streams at a time */
				   "\0\4\0\x10\0\0" /* window of a stream */
				   "\0\6\0\0\4\0"   /* size of heads */
				   "\0\x9\0\0\0\1"; /* no priorities */
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http2_frame frame;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.max_streams = 7});
	assert_true(sp_http2_client_open(&client, f.port));
	sp_http2_receive(&client, &frame);
	assert_int_equal(frame.type, SP_HTTP2_SETTINGS);
	assert_int_equal(frame.size, sizeof(want) - 1);
	assert_memory_equal(frame.payload, want, sizeof(want) - 1);
	sp_http2_receive_type(&client, &frame, SP_HTTP2_WINDOW_UPDATE);
	assert_int_equal(sp_http2_number(&frame, 0), (8 << 20) - 65535);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* ------------------------------------------------------------------- upgrade */

/* Sends a request that asks for HTTP/2; the client is to read its answer on stream 1. */
static void upgrade(sp_http2_client *client, uint16_t port, const char *text)
{
	sp_http_client socket;
	sp_http_reply reply;

	assert_true(sp_http_client_open(&socket, port));
	assert_true(sp_http_client_send_text(&socket, text));
	sp_http_client_receive(&socket, &reply);
	assert_int_equal(reply.status, 101);
	assert_non_null(strstr(reply.head, "\r\nUpgrade: h2c\r\n"));
	sp_http2_client_init(client, &socket);
}

static void a_connection_of_http1_may_become_one_of_http2(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	upgrade(&client, f.port,
		"POST /up HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade, "
		"HTTP2-Settings\r\n"
		"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
		"Content-Length: 3\r\n\r\nabc");
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/up abc");
	assert_true(sp_http_client_send_text(&client.socket, PREFACE));
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "", 0));
	get(&client, 3, "/more", &reply);
	assert_string_equal(reply.body, "GET/more ");
	sp_http2_client_close(&client);

	upgrade(&client, f.port,
		"GET /later HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		"Upgrade: h2c\r\nHTTP2-Settings: \r\n\r\n");
	assert_true(sp_http_client_send_text(&client.socket, PREFACE));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "GET/later ");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_wrong_upgrade_is_no_upgrade(void **state)
{
	static const char *const headers[] = {
		"Upgrade: h2c\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
		"Upgrade: h3c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: \r\n",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: "
		"AAM+AABk\r\n",
		"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		"HTTP2-Settings: \r\nHTTP2-Settings: \r\n",
	};
	sp_http_scene f = {0};

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		sp_http_client client;
		sp_http_reply reply;
		char text[1000];

		snprintf(text, sizeof(text), "GET /up HTTP/1.1\r\nHost: a\r\n%s\r\n", headers[i]);
		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send_text(&client, text);
		sp_http_client_receive(&client, &reply);
		if (reply.status != 200)
			fail_msg("%s gives %d", headers[i], reply.status);
		assert_string_equal(reply.body, "GET/up ");
		sp_http_client_close(&client);
	}
	sp_http_scene_finish(&f);
}

/* --------------------------------------------------------------- conformance */

/* A frame to send; `fields` instead of a payload makes it HEADERS that are whole. */
typedef struct step {
	const char *fields;
	int type, flags;
	uint32_t stream;
	const char *payload;
	size_t size;
} step;

#define FRAME(type, flags, stream, text)                          \
	{                                                         \
		NULL, type, flags, stream, text, sizeof(text) - 1 \
	}
#define HEADERS(flags, stream, fields)                           \
	{                                                        \
		fields, SP_HTTP2_HEADERS, flags, stream, NULL, 0 \
	}
#define GET(stream)  HEADERS(SP_HTTP2_END_STREAM, stream, GET_FIELDS)
#define POST(stream) HEADERS(0, stream, POST_FIELDS)

/* GET of / as a block: three from the static table and an authority. */
#define GET_BLOCK              \
	"\x82\x86\x84\x41\x01" \
	"a"

/* What must come of it, after which a connection that has not ended still serves. */
typedef enum result { SERVED, RESET, ENDED } result;

typedef struct scenario {
	const char *name;
	step steps[4];
	result result;
	uint32_t stream; /* of the answer or RST_STREAM */
	int64_t code;    /* of the error; of the answer: its status */
} scenario;

static const char zeros[17000];

static const scenario scenarios[] = {
	/* 4.1, 4.2: frames */
	{"a frame of an unknown type", {FRAME(0xee, 0xff, 0, "12345"), GET(1)}, SERVED, 1, 200},
	{"unknown flags", {FRAME(SP_HTTP2_PING, 0xfe, 0, "12345678"), GET(1)}, SERVED, 1, 200},
	{"the reserved bit",
	 {FRAME(SP_HTTP2_PING, 0, 0x80000000, "12345678"), GET(1)},
	 SERVED,
	 1,
	 200},
	{"DATA that is too long",
	 {POST(1), {NULL, SP_HTTP2_DATA, 0, 1, zeros, 16385}},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},
	{"HEADERS that are too long",
	 {{NULL, SP_HTTP2_HEADERS, 5, 1, zeros, 16385}},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},
	{"an unknown frame that is too long",
	 {{NULL, 0xee, 0, 0, zeros, 16385}},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},

	/* 4.3: compression of headers */
	{"a block with index 0",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, "\x80")},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"an index beyond the tables",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, "\xff\x20")},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"a block that is cut off",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1,
		"\x82\x00\x05"
		"ab")},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"an integer without an end",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"a table larger than agreed",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, "\x3f\xe2\x1f" GET_BLOCK)},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"a size of the table behind a header",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, GET_BLOCK "\x20")},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"Huffman's code with padding of 8 bits",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, "\x82\x86\x84\x41\x82\x1f\xff")},
	 ENDED,
	 0,
	 COMPRESSION_ERROR},
	{"a frame between HEADERS and CONTINUATION",
	 {FRAME(SP_HTTP2_HEADERS, 1, 1, GET_BLOCK), FRAME(SP_HTTP2_PING, 0, 0, "12345678")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"HEADERS of another stream before CONTINUATION",
	 {FRAME(SP_HTTP2_HEADERS, 1, 1, GET_BLOCK), GET(3)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"CONTINUATION of another stream",
	 {FRAME(SP_HTTP2_HEADERS, 1, 1, GET_BLOCK), FRAME(SP_HTTP2_CONTINUATION, 4, 3, "")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"a block in three frames",
	 {FRAME(SP_HTTP2_HEADERS, 1, 1, "\x82\x86"), FRAME(SP_HTTP2_CONTINUATION, 0, 1, "\x84\x41"),
	  FRAME(SP_HTTP2_CONTINUATION, 4, 1,
		"\x01"
		"a")},
	 SERVED,
	 1,
	 200},

	/* 5.1: states of streams */
	{"DATA of an idle stream", {FRAME(SP_HTTP2_DATA, 1, 1, "a")}, ENDED, 0, PROTOCOL_ERROR},
	{"RST_STREAM of an idle stream",
	 {FRAME(SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0\0")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"WINDOW_UPDATE of an idle stream",
	 {FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 1, "\0\0\0\1")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"CONTINUATION of an idle stream",
	 {FRAME(SP_HTTP2_CONTINUATION, 4, 1, GET_BLOCK)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"CONTINUATION behind a whole block",
	 {GET(1), FRAME(SP_HTTP2_CONTINUATION, 4, 1, GET_BLOCK)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"HEADERS behind the end",
	 {HEADERS(1, 1, ":method: GET\n:scheme: http\n:path: /later\n:authority: a\n"),
	  HEADERS(1, 1, "x: y\n")},
	 ENDED,
	 0,
	 STREAM_CLOSED},
	{"DATA behind RST_STREAM",
	 {POST(1), FRAME(SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0\x8"), FRAME(SP_HTTP2_DATA, 1, 1, "a"),
	  GET(3)},
	 SERVED,
	 3,
	 200},
	{"HEADERS behind RST_STREAM",
	 {POST(1), FRAME(SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0\x8"), GET(1), GET(3)},
	 SERVED,
	 3,
	 200},
	{"WINDOW_UPDATE behind RST_STREAM",
	 {POST(1), FRAME(SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0\x8"),
	  FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 1, "\0\0\0\1"), GET(3)},
	 SERVED,
	 3,
	 200},

	/* 5.1.1: names of streams */
	{"a stream of an even number", {GET(2)}, ENDED, 0, PROTOCOL_ERROR},
	{"a stream of a number lower than others", {POST(5), GET(3), GET(7)}, SERVED, 7, 200},

	/* 5.3: priorities, which this server does not want */
	{"a stream that depends on itself",
	 {FRAME(SP_HTTP2_HEADERS, 0x25, 1, "\0\0\0\1\x10" GET_BLOCK)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"PRIORITY of an idle stream",
	 {FRAME(SP_HTTP2_PRIORITY, 0, 1, "\0\0\0\0\x10"), GET(1)},
	 SERVED,
	 1,
	 200},

	/* 6.1 to 6.4 */
	{"DATA of stream 0", {POST(1), FRAME(SP_HTTP2_DATA, 1, 0, "a")}, ENDED, 0, PROTOCOL_ERROR},
	{"DATA with more padding than there is",
	 {POST(1), FRAME(SP_HTTP2_DATA, 9, 1, "\5ab")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"HEADERS of stream 0",
	 {FRAME(SP_HTTP2_HEADERS, 5, 0, GET_BLOCK)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"HEADERS with more padding than there is",
	 {FRAME(SP_HTTP2_HEADERS, 13, 1, "\x20" GET_BLOCK)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"PRIORITY of stream 0",
	 {FRAME(SP_HTTP2_PRIORITY, 0, 0, "\0\0\0\1\x10"), GET(1)},
	 SERVED,
	 1,
	 200},
	{"PRIORITY of 4 bytes",
	 {POST(1), FRAME(SP_HTTP2_PRIORITY, 0, 1, "\0\0\0\1")},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},
	{"RST_STREAM of stream 0",
	 {FRAME(SP_HTTP2_RST_STREAM, 0, 0, "\0\0\0\0")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"RST_STREAM of 3 bytes",
	 {POST(1), FRAME(SP_HTTP2_RST_STREAM, 0, 1, "\0\0\0")},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},

	/* 6.5: settings */
	{"a setting that is unknown",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\xff\0\0\0\1"), GET(1)},
	 SERVED,
	 1,
	 200},
	{"SETTINGS with ACK and a payload",
	 {FRAME(SP_HTTP2_SETTINGS, 1, 0, "\0\1\0\0\0\1")},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},
	{"SETTINGS of a stream",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 1, "\0\1\0\0\0\1")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"SETTINGS of 5 bytes",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\1\0\0\0")},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},
	{"ENABLE_PUSH of 2",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\2\0\0\0\2")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"a window of 2^31",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\4\x80\0\0\0")},
	 ENDED,
	 0,
	 FLOW_CONTROL_ERROR},
	{"frames of 16,383 bytes",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\5\0\0\x3f\xff")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"frames of 2^24 bytes",
	 {FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\5\1\0\0\0")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},

	/* 6.6 to 6.10 */
	{"PUSH_PROMISE",
	 {POST(1), FRAME(SP_HTTP2_PUSH_PROMISE, 4, 1, "\0\0\0\2" GET_BLOCK)},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"PING of a stream", {FRAME(SP_HTTP2_PING, 0, 1, "12345678")}, ENDED, 0, PROTOCOL_ERROR},
	{"PING of 6 bytes", {FRAME(SP_HTTP2_PING, 0, 0, "123456")}, ENDED, 0, FRAME_SIZE_ERROR},
	{"PING that answers none",
	 {FRAME(SP_HTTP2_PING, 1, 0, "12345678"), GET(1)},
	 SERVED,
	 1,
	 200},
	{"GOAWAY of a stream",
	 {FRAME(SP_HTTP2_GOAWAY, 0, 1, "\0\0\0\0\0\0\0\0")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"WINDOW_UPDATE by 0",
	 {FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\0")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"WINDOW_UPDATE of a stream by 0",
	 {POST(1), FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 1, "\0\0\0\0")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},
	{"WINDOW_UPDATE of 3 bytes",
	 {FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 0, "\0\0\1")},
	 ENDED,
	 0,
	 FRAME_SIZE_ERROR},
	{"a window that overflows",
	 {FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff"),
	  FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff")},
	 ENDED,
	 0,
	 FLOW_CONTROL_ERROR},
	{"a stream's window that overflows",
	 {POST(1), FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 1, "\x7f\xff\xff\xff"),
	  FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 1, "\x7f\xff\xff\xff")},
	 RESET,
	 1,
	 FLOW_CONTROL_ERROR},
	{"settings that make a stream's window overflow",
	 {POST(1), FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 1, "\x7f\xff\0\0"),
	  FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\4\x7f\xff\xff\xff")},
	 RESET,
	 1,
	 FLOW_CONTROL_ERROR},
	{"CONTINUATION of stream 0",
	 {FRAME(SP_HTTP2_HEADERS, 1, 1, GET_BLOCK), FRAME(SP_HTTP2_CONTINUATION, 4, 0, "")},
	 ENDED,
	 0,
	 PROTOCOL_ERROR},

	/* 8.1, 8.2: messages */
	{"a header in capitals", {HEADERS(1, 1, GET_FIELDS "X: y\n")}, RESET, 1, PROTOCOL_ERROR},
	{"a header with a space", {HEADERS(1, 1, GET_FIELDS "x y: z\n")}, RESET, 1, PROTOCOL_ERROR},
	{"a header without a name",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, GET_BLOCK "\0\0\1a")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a value with a line break",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, GET_BLOCK "\0\1x\3a\nb")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a value with a zero",
	 {FRAME(SP_HTTP2_HEADERS, 5, 1, GET_BLOCK "\0\1x\3a\0b")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a value with a space before it",
	 {HEADERS(1, 1, GET_FIELDS "x:  y\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"Connection", {HEADERS(1, 1, GET_FIELDS "connection: close\n")}, RESET, 1, PROTOCOL_ERROR},
	{"Keep-Alive", {HEADERS(1, 1, GET_FIELDS "keep-alive: 5\n")}, RESET, 1, PROTOCOL_ERROR},
	{"Proxy-Connection",
	 {HEADERS(1, 1, GET_FIELDS "proxy-connection: close\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"Upgrade", {HEADERS(1, 1, GET_FIELDS "upgrade: h2c\n")}, RESET, 1, PROTOCOL_ERROR},
	{"Transfer-Encoding",
	 {HEADERS(1, 1, GET_FIELDS "transfer-encoding: chunked\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"TE: trailers", {HEADERS(1, 1, GET_FIELDS "te: trailers\n")}, SERVED, 1, 200},
	{"TE: gzip", {HEADERS(1, 1, GET_FIELDS "te: gzip\n")}, RESET, 1, PROTOCOL_ERROR},

	/* 8.3: pseudo headers */
	{"an unknown pseudo header",
	 {HEADERS(1, 1, GET_FIELDS ":test: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{":status in a request",
	 {HEADERS(1, 1, GET_FIELDS ":status: 200\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a pseudo header behind a header",
	 {HEADERS(1, 1, ":method: GET\n:scheme: http\n:authority: a\nx: y\n:path: /\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"no :method",
	 {HEADERS(1, 1, ":scheme: http\n:path: /\n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"no :scheme",
	 {HEADERS(1, 1, ":method: GET\n:path: /\n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"no :path",
	 {HEADERS(1, 1, ":method: GET\n:scheme: http\n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"an empty :path",
	 {HEADERS(1, 1, ":method: GET\n:scheme: http\n:path: \n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{":path without a slash",
	 {HEADERS(1, 1, ":method: GET\n:scheme: http\n:path: a\n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"two :method", {HEADERS(1, 1, ":method: GET\n" GET_FIELDS)}, RESET, 1, PROTOCOL_ERROR},
	{"two :scheme", {HEADERS(1, 1, ":scheme: http\n" GET_FIELDS)}, RESET, 1, PROTOCOL_ERROR},
	{"two :path", {HEADERS(1, 1, ":path: /\n" GET_FIELDS)}, RESET, 1, PROTOCOL_ERROR},
	{"two :authority", {HEADERS(1, 1, ":authority: a\n" GET_FIELDS)}, RESET, 1, PROTOCOL_ERROR},
	{"a method that is none",
	 {HEADERS(1, 1, ":method: G T\n:scheme: http\n:path: /\n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a path with a space",
	 {HEADERS(1, 1, ":method: GET\n:scheme: http\n:path: /a b\n:authority: a\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"CONNECT", {HEADERS(0, 1, ":method: CONNECT\n:authority: a:1\n")}, SERVED, 1, 501},
	{"a pseudo header in trailers",
	 {POST(1), FRAME(SP_HTTP2_DATA, 0, 1, "a"), HEADERS(1, 1, ":method: GET\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"trailers without an end",
	 {POST(1), FRAME(SP_HTTP2_DATA, 0, 1, "a"), HEADERS(0, 1, "x: y\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},

	/* 8.1.1: the length that is announced */
	{"less than announced",
	 {HEADERS(0, 1, POST_FIELDS "content-length: 2\n"), FRAME(SP_HTTP2_DATA, 1, 1, "a")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"more than announced",
	 {HEADERS(0, 1, POST_FIELDS "content-length: 1\n"), FRAME(SP_HTTP2_DATA, 1, 1, "ab")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"more than announced, in two frames",
	 {HEADERS(0, 1, POST_FIELDS "content-length: 1\n"), FRAME(SP_HTTP2_DATA, 0, 1, "a"),
	  FRAME(SP_HTTP2_DATA, 1, 1, "b")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a length and no body",
	 {HEADERS(1, 1, POST_FIELDS "content-length: 1\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"two lengths",
	 {HEADERS(0, 1, POST_FIELDS "content-length: 1\ncontent-length: 1\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
	{"a length that is none",
	 {HEADERS(0, 1, POST_FIELDS "content-length: +1\n")},
	 RESET,
	 1,
	 PROTOCOL_ERROR},
};

static void play(sp_http2_client *client, const step *steps)
{
	for (size_t i = 0; i < 4 && (steps[i].fields != NULL || steps[i].payload != NULL); i++)
		if (steps[i].fields != NULL)
			sp_http2_send_headers(client, steps[i].flags, steps[i].stream,
					      steps[i].fields);
		else
			sp_http2_send(client, steps[i].type, steps[i].flags, steps[i].stream,
				      steps[i].payload, steps[i].size);
}

/* The code with which the connection ends; -1: none. */
static int64_t code_of_end(sp_http2_client *client)
{
	sp_http2_frame frame;
	int64_t code = -1;

	for (;;) {
		sp_http2_receive(client, &frame);
		if (frame.type == SP_HTTP2_END)
			return code;
		if (frame.type == SP_HTTP2_GOAWAY)
			code = sp_http2_number(&frame, 4);
	}
}

static bool check_scenario(const scenario *s, uint16_t port)
{
	static sp_http2_reply reply;
	sp_http2_client client;
	int64_t code;
	bool serves = true;

	assert_true(sp_http2_client_open(&client, port));
	play(&client, s->steps);
	if (s->result == ENDED) {
		code = code_of_end(&client);
	} else {
		sp_http2_receive_reply(&client, s->stream, &reply);
		code = s->result == SERVED ? reply.status : reply.reset;
		get(&client, 11, "/still", &reply);
		serves = reply.status == 200;
	}
	sp_http2_client_close(&client);
	if (code != s->code || !serves)
		print_error("%s: %lld%s\n", s->name, (long long)code,
			    serves ? "" : ", then nothing");
	return code == s->code && serves;
}

static void what_the_protocol_forbids_is_refused_and_nothing_else(void **state)
{
	sp_http_scene f = {0};
	int wrong = 0;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.idle_timeout_ms = 2000});
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		wrong += !check_scenario(&scenarios[i], f.port);
	sp_http_scene_finish(&f);
	assert_int_equal(wrong, 0);
}

static void a_wrong_preface_ends_the_connection(void **state)
{
	static const char *const texts[] = {
		"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\n\r\nSM\r\n\r\n",
		"PRI / HTTP/2.0\r\n\r\nSM\r\n\r\n",
		/* HEADERS where SETTINGS must be */
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01",
	};
	sp_http_scene f = {0};

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		sp_http_client client;
		char byte;

		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send_text(&client, texts[i]);
		while (sp_http_client_read(&client, &byte, 1))
			;
		assert_true(client.ended);
		sp_http_client_close(&client);
	}
	assert_int_equal(f.handled, 0);
	sp_http_scene_finish(&f);
}

/* ------------------------------------------------------------------- refusals */

static void what_is_too_large_costs_its_request_only(void **state)
{
	static sp_http2_reply reply;
	static char text[1400], body[10001];
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	snprintf(text, sizeof(text), "%sx: %01024d\n", GET_FIELDS, 1);
	assert_true(sp_http2_send_headers(&client, SP_HTTP2_END_STREAM, 1, text));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_int_equal(reply.status, 431);
	assert_int_equal(strncmp(reply.body, "{\"error\":", 9), 0);

	memset(body, 'x', sizeof(body));
	assert_true(sp_http2_send_headers(&client, 0, 3, POST_FIELDS));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 3, body, 5000));
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, 0, 3, body, 5001));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_int_equal(reply.status, 413);
	sp_http2_receive_reply(&client, 3, &reply); /* it need not send the rest */
	assert_int_equal(reply.reset, NO_ERROR);
	assert_true(sp_http2_send_headers(&client, 0, 5, POST_FIELDS "content-length: 10001\n"));
	sp_http2_receive_reply(&client, 5, &reply);
	assert_int_equal(reply.status, 413);
	get(&client, 7, "/still", &reply);
	assert_string_equal(reply.body, "GET/still ");
	assert_int_equal(f.handled, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void so_many_streams_are_served_and_no_more(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.max_streams = 3});
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_client_open(&client, f.port));
	for (uint32_t i = 0; i < 4; i++)
		assert_true(sp_http2_request(&client, 2 * i + 1, "/later", NULL));
	sp_http2_receive_reply(&client, 7, &reply);
	assert_int_equal(reply.reset, REFUSED_STREAM);
	pthread_mutex_unlock(&f.gate);
	for (uint32_t i = 0; i < 3; i++) {
		sp_http2_receive_reply(&client, 2 * i + 1, &reply);
		assert_int_equal(reply.status, 200);
	}
	get(&client, 9, "/still", &reply);
	assert_int_equal(reply.status, 200);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* ----------------------------------------------------------------------- time */

static void requests_have_deadlines(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 400});
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_send_headers(&client, 0, 1, POST_FIELDS)); /* no body comes */
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
	get(&client, 9, "/later/now", &reply);
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
	assert_int_equal(reply.reset, CANCEL);
	assert_int_equal(reply.body_size, 0);
	sp_http2_client_close(&client);

	sp_http_scene_finish(&f);
}

/* The client has windows, but does not read its socket, which has room for little. */
static void a_client_that_does_not_read_is_given_up(void **state)
{
	char name[] = "unix:/tmp/sp_socket_XXXXXX/socket", *slash = strrchr(name, '/');
	sp_http_address address = {.host = name};
	sp_http_server_load load = {.open = 1};
	sp_http_scene f = {0};
	sp_http_client socket;
	sp_http2_client client;

	(void)state;
	*slash = '\0';
	assert_non_null(mkdtemp(name + 5));
	*slash = '/';
	sp_http_scene_start(&f, (sp_http_options){.request_timeout_ms = 300,
						  .addresses = &address,
						  .address_count = 1});
	assert_true(sp_http_client_open_path(&socket, name + 5));
	sp_http2_client_init(&client, &socket);
	assert_true(sp_http_client_send_text(&client.socket, PREFACE));
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "\0\4\x7f\xff\xff\xff", 6));
	send_window(&client, 0, 0x7fff0000);
	for (uint32_t i = 1; i < 10; i += 2)
		assert_true(sp_http2_request(&client, i, "/large", NULL));
	for (int i = 0; i < 500 && (load.open != 0 || f.handled < 5); i++) {
		sp_http_scene_pause_ms(10);
		sp_http_server_get_load(f.server, &load);
	}
	assert_int_equal(f.handled, 5);
	assert_int_equal(load.open, 0);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
	*slash = '\0';
	assert_int_equal(rmdir(name + 5), 0);
}

static void a_client_that_dribbles_is_cut_off(void **state)
{
	static const struct {
		const char *text;
		size_t size;
	} begins[] = {
#define BEGIN(text) {text, sizeof(text) - 1}
		BEGIN("PRI * HTT"),
		BEGIN(PREFACE),
		BEGIN(PREFACE "\0\0\0\4\0\0\0\0\0"
			      "\0\0\5\1\1\0\0\0\1"
			      "\0\1xxx"),
		BEGIN(PREFACE "\0\0\0\4\0\0\0\0\0"
			      "\0\0\xff\1\4\0\0\0\1"
			      "\0\1xxx"),
#undef BEGIN
	};
	sp_http_scene f = {0};

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.head_timeout_ms = 300});
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		int64_t began = sp_clock_now_ns();
		sp_http_client client;
		char byte;

		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send(&client, begins[i].text, begins[i].size);
		while (sp_http_client_read(&client, &byte, 1))
			;
		assert_true(client.ended);
		if (sp_clock_now_ns() - began > INT64_C(5000000000))
			fail_msg("%zu lasts", i);
		sp_http_client_close(&client);
	}
	assert_int_equal(f.handled, 0);
	sp_http_scene_finish(&f);
}

static void an_idle_connection_ends(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.idle_timeout_ms = 200});
	assert_true(sp_http2_client_open(&client, f.port));
	get(&client, 1, "/", &reply);
	assert_int_equal(reply.status, 200);
	assert_int_equal(code_of_end(&client), NO_ERROR);
	assert_true(client.socket.ended);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* --------------------------------------------------------------------- clients */

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
	get(&client, 5, "/still", &reply);
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

/* Whether the server ends a connection on which the frame comes again and again. */
static bool ends_flood(uint16_t port, const step *first, const step *again, int times)
{
	sp_http2_client client;
	bool sent = true;

	assert_true(sp_http2_client_open(&client, port));
	if (first != NULL)
		play(&client, (step[4]){*first});
	for (int i = 0; i < times && sent; i++)
		sent = sp_http2_send(&client, again->type, again->flags, again->stream,
				     again->payload, again->size);
	if (sent)
		code_of_end(&client);
	sent = sent && !client.socket.ended;
	sp_http2_client_close(&client);
	return !sent;
}

static void floods_end_their_connection(void **state)
{
	static const step post = POST(1), ping = FRAME(SP_HTTP2_PING, 0, 0, "12345678"),
			  settings = FRAME(SP_HTTP2_SETTINGS, 0, 0, "\0\4\0\1\0\0"),
			  nothing = FRAME(SP_HTTP2_DATA, 0, 1, ""),
			  window = FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\1"),
			  priority = FRAME(SP_HTTP2_PRIORITY, 0, 1, "\0\0\0\3\1"),
			  open = FRAME(SP_HTTP2_HEADERS, 1, 1, GET_BLOCK),
			  more = FRAME(SP_HTTP2_CONTINUATION, 0, 1, ""),
			  large = FRAME(SP_HTTP2_CONTINUATION, 0, 1, "\0\1x\1y");
	sp_http_scene f = {0};
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(ends_flood(f.port, NULL, &ping, 100000));
	assert_true(ends_flood(f.port, NULL, &settings, 100000));
	assert_true(ends_flood(f.port, &post, &nothing, 100000));
	assert_true(ends_flood(f.port, &post, &window, 100000));
	assert_true(ends_flood(f.port, &post, &priority, 100000));
	assert_true(ends_flood(f.port, &open, &more, 1000));
	assert_true(ends_flood(f.port, &open, &large, 1000));
	sp_http_call(f.port, "GET", "/still", NULL, &reply);
	assert_string_equal(reply.body, "GET/still ");
	assert_int_equal(f.handled, 1);
	sp_http_scene_finish(&f);
}

static void rapid_resets_end_their_connection(void **state)
{
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_http_reply reply;
	bool sent = true;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	for (uint32_t i = 1; i < 40000 && sent; i += 2)
		sent = sp_http2_request(&client, i, "/later", NULL) &&
		       sp_http2_send(&client, SP_HTTP2_RST_STREAM, 0, i, "\0\0\0\x8", 4);
	if (sent)
		code_of_end(&client);
	assert_true(!sent || client.socket.ended);
	assert_true(f.handled < 5000);
	sp_http2_client_close(&client);
	sp_http_call(f.port, "GET", "/still", NULL, &reply);
	assert_string_equal(reply.body, "GET/still ");
	sp_http_scene_finish(&f);
}

/* One byte each for a header of 2000 bytes that the table has. */
static void a_small_block_may_not_mean_a_large_head(void **state)
{
	static char block[12000], text[3000];
	sp_http_scene f = {0};
	sp_http2_client client;
	size_t size;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	snprintf(text, sizeof(text), "x: %02000d\n", 1);
	memcpy(block, GET_BLOCK, sizeof(GET_BLOCK) - 1);
	size = sizeof(GET_BLOCK) - 1;
	size += sp_http2_block(block + size, 4000, text);
	block[sizeof(GET_BLOCK) - 1] = 0x40; /* with an index */
	memset(block + size, 0xbe, 5000);
	assert_true(sp_http2_send(&client, SP_HTTP2_HEADERS, 5, 1, block, size + 5000));
	assert_int_equal(code_of_end(&client), ENHANCE_YOUR_CALM);
	assert_int_equal(f.handled, 0);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* --------------------------------------------------------------------- memory */

static void memory_is_given_back_however_a_stream_ends(void **state)
{
	static sp_http2_reply reply;
	static char body[5000];
	sp_http_scene f = {0};
	sp_http2_client clients[20];
	sp_budget memory;

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	sp_budget_init(&memory, 64 << 20);
	sp_http_scene_start(&f, (sp_http_options){.memory = &memory});
	pthread_mutex_lock(&f.gate);
	for (int i = 0; i < 20; i++) {
		assert_true(sp_http2_client_open(&clients[i], f.port));
		assert_true(sp_http2_request(&clients[i], 1, "/", body));
		sp_http2_receive_reply(&clients[i], 1, &reply);
		assert_int_equal(reply.status, 200);
		assert_true(sp_http2_request(&clients[i], 3, "/later", body));
		assert_true(sp_http2_send_headers(&clients[i], 0, 5, POST_FIELDS));
		assert_true(sp_http2_send(&clients[i], SP_HTTP2_DATA, 0, 5, body, 5000));
		assert_true(sp_http2_request(&clients[i], 7, "/large", NULL));
		if (i % 2 == 0)
			sp_http2_client_close(&clients[i]);
	}
	assert_true(sp_budget_used(&memory) > 0);
	pthread_mutex_unlock(&f.gate);
	for (int i = 1; i < 20; i += 2)
		sp_http2_client_close(&clients[i]);
	sp_http_scene_finish(&f);
	assert_int_equal(sp_budget_used(&memory), 0);
}

static void a_client_gets_as_many_streams_as_there_is_memory(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;
	sp_budget memory;

	(void)state;
	sp_budget_init(&memory, 256 << 10);
	sp_http_scene_start(&f, (sp_http_options){.memory = &memory});
	assert_true(sp_http2_client_open(&client, f.port));
	for (uint32_t i = 1; i < 40; i += 2)
		assert_true(sp_http2_send_headers(&client, 0, i, POST_FIELDS));
	sp_http2_receive_reply(&client, 39, &reply);
	assert_int_equal(reply.reset, REFUSED_STREAM);
	assert_true(sp_http2_send(&client, SP_HTTP2_DATA, SP_HTTP2_END_STREAM, 1, "a", 1));
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "POST/ a");
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void requests_need_no_new_memory_after_the_first(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client;
	uint64_t before;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	for (uint32_t i = 0; i < 10; i++)
		get(&client, 2 * i + 1, "/headers", &reply);
	before = sp_alloc_count();
	for (uint32_t i = 10; i < 60; i++) {
		get(&client, 2 * i + 1, "/headers", &reply);
		assert_int_equal(reply.status, 200);
	}
	assert_true(sp_alloc_count() == before);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

static void no_memory_costs_a_connection_and_not_the_server(void **state)
{
	sp_http_scene f = {0};
	int failed = 0;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (int64_t n = 0; n < 60; n++) {
		static sp_http2_reply reply;
		sp_http2_client client;
		sp_http_reply still;

		sp_alloc_fail_after(n);
		if (sp_http2_client_open(&client, f.port))
			sp_http2_request(&client, 1, "/trailers", NULL);
		sp_http2_receive_reply(&client, 1, &reply);
		failed += reply.status != 200;
		sp_alloc_fail_after(-1);
		sp_http2_client_close(&client);
		sp_http_call(f.port, "GET", "/still", NULL, &still);
		assert_string_equal(still.body, "GET/still ");
	}
	assert_true(failed > 5);
	sp_http_scene_finish(&f);
}

/* -------------------------------------------------------------------- streams */

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
	get(&client, 3, "/stream", &reply);
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
	assert_int_equal(reply.reset, CANCEL);
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
	code_of_end(&client);
	assert_true(client.socket.ended);
	sp_http_scene_wait_for(&f.closed, 1);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* -------------------------------------------------------------------- the end */

static void draining_ends_connections_after_their_answers(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client, fresh;
	sp_http2_frame frame;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_request(&client, 1, "/later", NULL));
	sp_http_scene_wait_for(&f.handled, 1);
	sp_http_server_drain(f.server);
	assert_true(sp_http2_client_open(&fresh, f.port));
	get(&fresh, 1, "/fresh", &reply);
	assert_string_equal(reply.body, "GET/fresh ");
	assert_int_equal(code_of_end(&fresh), NO_ERROR);
	assert_true(sp_http2_request(&client, 3, "/more", NULL));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_string_equal(reply.body, "GET/more ");
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "GET/later ");
	sp_http2_receive_type(&client, &frame, SP_HTTP2_GOAWAY);
	assert_int_equal(sp_http2_number(&frame, 0), 3);
	assert_int_equal(sp_http2_number(&frame, 4), NO_ERROR);
	sp_http2_client_close(&client);
	sp_http2_client_close(&fresh);
	sp_http_scene_finish(&f);
}

static void stopping_waits_for_streams_that_have_begun(void **state)
{
	static sp_http2_reply reply;
	sp_http_scene f = {0};
	sp_http2_client client, idle, streaming;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http2_client_open(&client, f.port));
	assert_true(sp_http2_client_open(&idle, f.port));
	assert_true(sp_http2_client_open(&streaming, f.port));
	get(&idle, 1, "/", &reply);
	assert_true(sp_http2_send_headers(
		&streaming, 0, 1, ":method: POST\n:scheme: http\n:path: /stream\n:authority: a\n"));
	assert_true(sp_http2_send(&streaming, SP_HTTP2_DATA, 0, 1, "a", 1));
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_request(&client, 1, "/later", NULL));
	sp_http_scene_wait_for(&f.handled, 2);
	assert_false(sp_http_server_stop(f.server, 300));
	assert_int_equal(code_of_end(&idle), NO_ERROR);
	assert_int_equal(code_of_end(&streaming), NO_ERROR);
	sp_http_scene_wait_for(&f.closed, 1);
	assert_true(sp_http2_request(&client, 3, "/refused", NULL));
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "GET/later ");
	code_of_end(&client);
	assert_true(client.socket.ended);
	assert_int_equal(f.handled, 2);
	sp_http2_client_close(&client);
	sp_http2_client_close(&idle);
	sp_http2_client_close(&streaming);
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
		cmocka_unit_test(the_servers_settings_come_first),
		cmocka_unit_test(a_connection_of_http1_may_become_one_of_http2),
		cmocka_unit_test(a_wrong_upgrade_is_no_upgrade),
		cmocka_unit_test(what_the_protocol_forbids_is_refused_and_nothing_else),
		cmocka_unit_test(a_wrong_preface_ends_the_connection),
		cmocka_unit_test(what_is_too_large_costs_its_request_only),
		cmocka_unit_test(so_many_streams_are_served_and_no_more),
		cmocka_unit_test(requests_have_deadlines),
		cmocka_unit_test(a_client_that_takes_nothing_is_given_up),
		cmocka_unit_test(a_client_that_does_not_read_is_given_up),
		cmocka_unit_test(a_client_that_dribbles_is_cut_off),
		cmocka_unit_test(an_idle_connection_ends),
		cmocka_unit_test(no_work_is_done_for_a_stream_that_was_reset),
		cmocka_unit_test(floods_end_their_connection),
		cmocka_unit_test(rapid_resets_end_their_connection),
		cmocka_unit_test(a_small_block_may_not_mean_a_large_head),
		cmocka_unit_test(memory_is_given_back_however_a_stream_ends),
		cmocka_unit_test(a_client_gets_as_many_streams_as_there_is_memory),
		cmocka_unit_test(requests_need_no_new_memory_after_the_first),
		cmocka_unit_test(no_memory_costs_a_connection_and_not_the_server),
		cmocka_unit_test(a_stream_gets_answers_before_it_ends),
		cmocka_unit_test(a_stream_is_bounded_in_memory_and_time),
		cmocka_unit_test(a_stream_ends_with_its_client),
		cmocka_unit_test(a_silent_client_of_a_stream_is_asked_and_given_up),
		cmocka_unit_test(draining_ends_connections_after_their_answers),
		cmocka_unit_test(stopping_waits_for_streams_that_have_begun),
	};

	return cmocka_run_group_tests_name("http2_session", tests, NULL, NULL);
}
