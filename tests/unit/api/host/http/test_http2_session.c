#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/http2_client.h"
#include "tests/support/http_scene.h"

/* ------------------------------------------------------------------ begin */

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
	assert_true(sp_http_client_send_text(&client.socket, SP_HTTP2_PREFACE));
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "", 0));
	sp_http2_get(&client, 3, "/more", &reply);
	assert_string_equal(reply.body, "GET/more ");
	sp_http2_client_close(&client);

	upgrade(&client, f.port,
		"GET /later HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		"Upgrade: h2c\r\nHTTP2-Settings: \r\n\r\n");
	assert_true(sp_http_client_send_text(&client.socket, SP_HTTP2_PREFACE));
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

/* ----------------------------------------------------------------- limits */

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
	assert_int_equal(reply.reset, SP_HTTP2_REFUSED_STREAM);
	pthread_mutex_unlock(&f.gate);
	for (uint32_t i = 0; i < 3; i++) {
		sp_http2_receive_reply(&client, 2 * i + 1, &reply);
		assert_int_equal(reply.status, 200);
	}
	sp_http2_get(&client, 9, "/still", &reply);
	assert_int_equal(reply.status, 200);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* Whether the server ends a connection on which the frame comes again and again. */
static bool ends_flood(uint16_t port, const sp_http2_step *first, const sp_http2_step *again,
		       int times)
{
	sp_http2_client client;
	bool sent = true;

	assert_true(sp_http2_client_open(&client, port));
	if (first != NULL)
		sent = sp_http2_play(&client, first, 1);
	for (int i = 0; i < times && sent; i++)
		sent = sp_http2_play(&client, again, 1);
	if (sent)
		sp_http2_code_of_end(&client);
	sent = sent && !client.socket.ended;
	sp_http2_client_close(&client);
	return !sent;
}

static void floods_end_their_connection(void **state)
{
	static const sp_http2_step post = SP_HTTP2_HEAD(0, 1, SP_HTTP2_POST_FIELDS),
				   ping = SP_HTTP2_FRAME(SP_HTTP2_PING, 0, 0, "12345678"),
				   settings = SP_HTTP2_FRAME(SP_HTTP2_SETTINGS, 0, 0,
							     "\0\4\0\1\0\0"),
				   nothing = SP_HTTP2_FRAME(SP_HTTP2_DATA, 0, 1, ""),
				   window = SP_HTTP2_FRAME(SP_HTTP2_WINDOW_UPDATE, 0, 0,
							   "\0\0\0\1"),
				   priority = SP_HTTP2_FRAME(SP_HTTP2_PRIORITY, 0, 1, "\0\0\0\3\1"),
				   open = SP_HTTP2_FRAME(SP_HTTP2_HEADERS, 1, 1,
							 SP_HTTP2_GET_BLOCK),
				   more = SP_HTTP2_FRAME(SP_HTTP2_CONTINUATION, 0, 1, ""),
				   large = SP_HTTP2_FRAME(SP_HTTP2_CONTINUATION, 0, 1, "\0\1x\1y");
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
		sp_http2_code_of_end(&client);
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
	memcpy(block, SP_HTTP2_GET_BLOCK, sizeof(SP_HTTP2_GET_BLOCK) - 1);
	size = sizeof(SP_HTTP2_GET_BLOCK) - 1;
	size += sp_http2_block(block + size, 4000, text);
	block[sizeof(SP_HTTP2_GET_BLOCK) - 1] = 0x40; /* with an index */
	memset(block + size, 0xbe, 5000);
	assert_true(sp_http2_send(&client, SP_HTTP2_HEADERS, 5, 1, block, size + 5000));
	assert_int_equal(sp_http2_code_of_end(&client), SP_HTTP2_ENHANCE_YOUR_CALM);
	assert_int_equal(f.handled, 0);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* ------------------------------------------------------------------- time */

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
	assert_true(sp_http_client_send_text(&client.socket, SP_HTTP2_PREFACE));
	assert_true(sp_http2_send(&client, SP_HTTP2_SETTINGS, 0, 0, "\0\4\x7f\xff\xff\xff", 6));
	assert_true(sp_http2_send_window(&client, 0, 0x7fff0000));
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
		BEGIN(SP_HTTP2_PREFACE),
		BEGIN(SP_HTTP2_PREFACE "\0\0\0\4\0\0\0\0\0"
				       "\0\0\5\1\1\0\0\0\1"
				       "\0\1xxx"),
		BEGIN(SP_HTTP2_PREFACE "\0\0\0\4\0\0\0\0\0"
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
	sp_http2_get(&client, 1, "/", &reply);
	assert_int_equal(reply.status, 200);
	assert_int_equal(sp_http2_code_of_end(&client), SP_HTTP2_NO_ERROR);
	assert_true(client.socket.ended);
	sp_http2_client_close(&client);
	sp_http_scene_finish(&f);
}

/* ----------------------------------------------------------------- memory */

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
		assert_true(sp_http2_send_headers(&clients[i], 0, 5, SP_HTTP2_POST_FIELDS));
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
		assert_true(sp_http2_send_headers(&client, 0, i, SP_HTTP2_POST_FIELDS));
	sp_http2_receive_reply(&client, 39, &reply);
	assert_int_equal(reply.reset, SP_HTTP2_REFUSED_STREAM);
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
		sp_http2_get(&client, 2 * i + 1, "/headers", &reply);
	before = sp_alloc_count();
	for (uint32_t i = 10; i < 60; i++) {
		sp_http2_get(&client, 2 * i + 1, "/headers", &reply);
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

/* ---------------------------------------------------------------- the end */

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
	sp_http2_get(&fresh, 1, "/fresh", &reply);
	assert_string_equal(reply.body, "GET/fresh ");
	assert_int_equal(sp_http2_code_of_end(&fresh), SP_HTTP2_NO_ERROR);
	assert_true(sp_http2_request(&client, 3, "/more", NULL));
	sp_http2_receive_reply(&client, 3, &reply);
	assert_string_equal(reply.body, "GET/more ");
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "GET/later ");
	sp_http2_receive_type(&client, &frame, SP_HTTP2_GOAWAY);
	assert_int_equal(sp_http2_number(&frame, 0), 3);
	assert_int_equal(sp_http2_number(&frame, 4), SP_HTTP2_NO_ERROR);
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
	sp_http2_get(&idle, 1, "/", &reply);
	assert_true(sp_http2_send_headers(
		&streaming, 0, 1, ":method: POST\n:scheme: http\n:path: /stream\n:authority: a\n"));
	assert_true(sp_http2_send(&streaming, SP_HTTP2_DATA, 0, 1, "a", 1));
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http2_request(&client, 1, "/later", NULL));
	sp_http_scene_wait_for(&f.handled, 2);
	assert_false(sp_http_server_stop(f.server, 300));
	assert_int_equal(sp_http2_code_of_end(&idle), SP_HTTP2_NO_ERROR);
	assert_int_equal(sp_http2_code_of_end(&streaming), SP_HTTP2_NO_ERROR);
	sp_http_scene_wait_for(&f.closed, 1);
	assert_true(sp_http2_request(&client, 3, "/refused", NULL));
	pthread_mutex_unlock(&f.gate);
	sp_http2_receive_reply(&client, 1, &reply);
	assert_string_equal(reply.body, "GET/later ");
	sp_http2_code_of_end(&client);
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
		cmocka_unit_test(the_servers_settings_come_first),
		cmocka_unit_test(a_wrong_preface_ends_the_connection),
		cmocka_unit_test(a_connection_of_http1_may_become_one_of_http2),
		cmocka_unit_test(a_wrong_upgrade_is_no_upgrade),
		cmocka_unit_test(so_many_streams_are_served_and_no_more),
		cmocka_unit_test(floods_end_their_connection),
		cmocka_unit_test(rapid_resets_end_their_connection),
		cmocka_unit_test(a_small_block_may_not_mean_a_large_head),
		cmocka_unit_test(a_client_that_does_not_read_is_given_up),
		cmocka_unit_test(a_client_that_dribbles_is_cut_off),
		cmocka_unit_test(an_idle_connection_ends),
		cmocka_unit_test(memory_is_given_back_however_a_stream_ends),
		cmocka_unit_test(a_client_gets_as_many_streams_as_there_is_memory),
		cmocka_unit_test(requests_need_no_new_memory_after_the_first),
		cmocka_unit_test(no_memory_costs_a_connection_and_not_the_server),
		cmocka_unit_test(draining_ends_connections_after_their_answers),
		cmocka_unit_test(stopping_waits_for_streams_that_have_begun),
	};

	return cmocka_run_group_tests_name("http2_session", tests, NULL, NULL);
}
