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

/* ---------------------------------------------------------------- clients */

static void expect_alone(sp_http_client *client, bool alone)
{
	sp_http_reply reply;

	sp_http_client_send_text(client, "GET /alone HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(client, &reply);
	assert_string_equal(reply.body, alone ? "alone" : "not alone");
}

static void a_client_is_alone_unless_others_wait(void **state)
{
	sp_http_client client, other;
	sp_http_scene f = {0};
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	assert_true(sp_http_client_open(&other, f.port));
	expect_alone(&client, true);
	expect_alone(&client, true);
	pthread_mutex_lock(&f.gate);
	sp_http_client_send_text(&other, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_scene_wait_for(&f.handled, 3);
	expect_alone(&client, false);
	pthread_mutex_unlock(&f.gate);
	sp_http_client_receive(&other, &reply);
	for (int i = 0; i < SP_HTTP_CROWD - 1; i++)
		expect_alone(&client, false);
	expect_alone(&client, true);
	sp_http_client_send_text(&client, "GET /alone HTTP/1.1\r\nHost: a\r\n\r\n"
					  "GET /alone HTTP/1.1\r\nHost: a\r\n\r\n");
	for (int i = 0; i < 2; i++) {
		sp_http_client_receive(&client, &reply);
		assert_string_equal(reply.body, "not alone");
	}
	sp_http_client_close(&client);
	sp_http_client_close(&other);
	sp_http_scene_finish(&f);
}

static void no_work_is_done_for_a_client_that_has_gone(void **state)
{
	struct linger reset = {1, 0};
	sp_http_scene f = {0};
	sp_http_client first, second;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	pthread_mutex_lock(&f.gate);
	assert_true(sp_http_client_open(&first, f.port));
	assert_true(sp_http_client_open(&second, f.port));
	sp_http_client_send_text(&first, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_send_text(&second, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_scene_wait_for(&f.handled, 2);
	setsockopt(first.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	sp_http_client_close(&first);  /* a reset */
	sp_http_client_close(&second); /* an ordinary end */
	sp_http_scene_pause_ms(200);
	pthread_mutex_unlock(&f.gate);
	sp_http_scene_wait_for(&f.dropped, 2);
	assert_int_equal(f.begun, 0);
	sp_http_scene_finish(&f);
}

static void work_for_a_client_that_has_gone_can_be_cancelled(void **state)
{
	struct linger reset = {1, 0};
	sp_http_scene f = {0};
	sp_http_client client;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	sp_http_client_send_text(&client, "GET /later/cancelled HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_scene_wait_for(&f.begun, 1);
	setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	sp_http_client_close(&client);
	sp_http_scene_wait_for(&f.cancelled, 1);
	sp_http_scene_finish(&f);
}

static void a_client_that_only_stops_sending_gets_its_answer(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	sp_http_client_send_text(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
					  "GET /next HTTP/1.1\r\nHost: a\r\n\r\nGET /half");
	shutdown(client.fd, SHUT_WR);
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "GET/later ");
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "GET/next ");
	assert_true(sp_http_client_ends(&client, 5000));
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void a_client_may_go_at_any_moment(void **state)
{
	static const char text[] =
		"POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
		"POST /x HTTP/1.1\r\nHost: a\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	struct linger reset = {1, 0};
	sp_http_scene f = {0};
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (size_t i = 0; i < 2 * (sizeof(text) - 1); i++) {
		sp_http_client client;

		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send(&client, text, i / 2);
		if (i % 2)
			setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		sp_http_client_close(&client);
	}
	sp_http_call(f.port, "GET", "/still", NULL, &reply);
	assert_string_equal(reply.body, "GET/still ");
	sp_http_scene_finish(&f);
}

static void the_one_idle_longest_makes_room(void **state)
{
	enum { MOST = 4 };
	sp_http_scene f = {0};
	sp_http_client clients[MOST], more;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.max_connections = MOST});
	for (int i = 0; i < MOST; i++) {
		assert_true(sp_http_client_open(&clients[i], f.port));
		sp_http_client_send_text(&clients[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
		sp_http_client_receive(&clients[i], &reply);
		assert_int_equal(reply.status, 200);
	}
	sp_http_call(f.port, "GET", "/more", NULL, &reply);
	assert_string_equal(reply.body, "GET/more ");
	assert_true(sp_http_client_ends(&clients[0], 5000));
	assert_false(sp_http_client_ends(&clients[1], 50));

	/* None of them is idle now: the next one has to wait. */
	pthread_mutex_lock(&f.gate);
	sp_http_client_close(&clients[0]);
	assert_true(sp_http_client_open(&clients[0], f.port));
	for (int i = 0; i < MOST; i++)
		sp_http_client_send_text(&clients[i], "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_scene_wait_for(&f.handled, 2 * MOST + 1);
	assert_true(sp_http_client_open(&more, f.port));
	sp_http_client_send_text(&more, "GET /waits HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_scene_pause_ms(100);
	assert_int_equal(f.handled, 2 * MOST + 1);
	pthread_mutex_unlock(&f.gate);
	for (int i = 0; i < MOST; i++) {
		sp_http_client_receive(&clients[i], &reply);
		assert_int_equal(reply.status, 200);
		sp_http_client_close(&clients[i]);
	}
	sp_http_client_receive(&more, &reply);
	assert_string_equal(reply.body, "GET/waits ");
	sp_http_client_close(&more);
	sp_http_scene_finish(&f);
}

static void whoever_has_no_whole_request_makes_room(void **state)
{
	static const char *const begins[] = {
		"",
		"GET / HTTP/1.1\r\nX: ",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\na",
	};
	enum { MOST = 4, CLIENTS = 20 };

	(void)state;
	for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++) {
		sp_http_scene f = {0};
		sp_http_client clients[CLIENTS];
		sp_http_server_load load;
		sp_http_reply reply;

		sp_http_scene_start(
			&f, (sp_http_options){.max_connections = MOST, .io_threads = 1 + b % 2});
		for (int i = 0; i < CLIENTS; i++) {
			assert_true(sp_http_client_open(&clients[i], f.port));
			sp_http_client_send_text(&clients[i], begins[b]);
		}
		sp_http_call(f.port, "GET", "/more", NULL, &reply);
		assert_string_equal(reply.body, "GET/more ");
		sp_http_server_get_load(f.server, &load);
		assert_in_range(load.open, 1, MOST);
		assert_true(load.dropped >= CLIENTS - MOST);
		assert_int_equal(load.turned_away, 0);
		for (int i = 0; i < CLIENTS; i++)
			sp_http_client_close(&clients[i]);
		sp_http_scene_finish(&f);
	}
}

/* A client that goes on sending keeps its place, however slow it is; one that is idle does not. */
static void a_body_that_goes_on_is_not_given_up(void **state)
{
	sp_http_scene f = {0};
	sp_http_client slow, idle, more;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.max_connections = 2});
	assert_true(sp_http_client_open(&slow, f.port));
	sp_http_client_send_text(&slow,
				 "POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 16\r\n\r\n");
	assert_true(sp_http_client_open(&idle, f.port));
	for (int i = 0; i < 15; i++) {
		sp_http_client_send(&slow, "x", 1);
		sp_http_scene_pause_ms(100);
	}
	assert_true(sp_http_client_open(&more, f.port));
	sp_http_client_send_text(&more, "GET /more HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&more, &reply);
	assert_string_equal(reply.body, "GET/more ");
	assert_true(sp_http_client_ends(&idle, 5000));
	sp_http_client_send(&slow, "x", 1);
	sp_http_client_receive(&slow, &reply);
	assert_string_equal(reply.body, "POST/slow xxxxxxxxxxxxxxxx");
	sp_http_client_close(&slow);
	sp_http_client_close(&idle);
	sp_http_client_close(&more);
	sp_http_scene_finish(&f);
}

/* ----------------------------------------------------------------- memory */

#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

enum { MEMORY = 1 << 20, LARGE_BODY = 600000 };

/* A server with so much memory for requests, and a client that holds much of it. */
static void start_with_memory(sp_http_scene *f, sp_budget *memory, sp_http_client *holder)
{
	static char body[LARGE_BODY];

	sp_budget_init(memory, MEMORY);
	memset(body, 'x', sizeof(body));
	sp_http_scene_start(f, (sp_http_options){.memory = memory, .max_body_bytes = 100 << 20});
	assert_true(sp_http_client_open(holder, f->port));
	sp_http_client_send_text(holder, "POST / HTTP/1.1\r\nHost: a\r\n"
					 "Content-Length: 600000\r\n\r\n");
	sp_http_client_send(holder, body, sizeof(body) - 1);
	for (int i = 0; i < 500 && sp_budget_used(memory) < LARGE_BODY; i++)
		sp_http_scene_pause_ms(10);
	assert_true(sp_budget_used(memory) >= LARGE_BODY);
}

/* What the server answers to `text` and 600,000 bytes behind it. */
static void send_large(uint16_t port, const char *text, sp_http_reply *reply)
{
	static char body[LARGE_BODY];
	sp_http_client client;

	memset(body, 'x', sizeof(body));
	assert_true(sp_http_client_open(&client, port));
	sp_http_client_send_text(&client, text);
	sp_http_client_send(&client, body, sizeof(body)); /* it may be cut off */
	sp_http_client_receive(&client, reply);
	assert_true(sp_http_client_ends(&client, 5000));
	sp_http_client_close(&client);
}

static void a_body_for_which_no_memory_is_left_is_refused_at_once(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		/* neither sends all that it announces: an answer to the whole is none of these */
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 700000\r\n\r\n", 503},
		{"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\naae60\r\n", 503},
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", 413},
	};
	sp_http_scene f = {0};
	sp_http_client holder;
	sp_http_reply reply;
	sp_budget memory;

	(void)state;
	start_with_memory(&f, &memory, &holder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		send_large(f.port, cases[i].text, &reply);
		if (reply.status != cases[i].status)
			fail_msg("%s gives %d", cases[i].text, reply.status);
		assert_non_null(strstr(reply.head, "\r\nConnection: close\r\n"));
		assert_int_equal(strstr(reply.head, "\r\nRetry-After: 1\r\n") != NULL,
				 cases[i].status == 503);
		assert_non_null(strstr(reply.body, "memory for"));
		sp_http_call(f.port, "POST", "/small", "hello", &reply);
		assert_string_equal(reply.body, "POST/small hello");
	}
	assert_true(memory.refused >= 2);

	/* Whoever was there first is answered, and then there is room again. */
	sp_http_client_send(&holder, "x", 1);
	sp_http_client_receive(&holder, &reply);
	assert_int_equal(reply.status, 200);
	assert_int_equal(reply.body_size, LARGE_BODY + 6);
	assert_true(sp_budget_used(&memory) < LARGE_BODY);
	sp_http_client_close(&holder);
	sp_http_scene_finish(&f);
	assert_int_equal(sp_budget_used(&memory), 0);
}

static void memory_is_given_back_however_a_request_ends(void **state)
{
	struct linger reset = {1, 0};
	sp_http_scene f = {0};
	sp_http_client client, late[3];
	sp_http_reply reply;
	sp_budget memory;
	char *body = calloc(1, 100000);

	(void)state;
	memset(body, '1', 99999);
	sp_budget_init(&memory, 16 << 20);
	sp_http_scene_start(&f, (sp_http_options){.memory = &memory,
						  .max_body_bytes = 1 << 20,
						  .request_timeout_ms = 2000});
	for (int i = 0; i < 40; i++) { /* gone in the middle of it */
		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send_text(&client, i % 4 < 2 ? POST "Content-Length: 200000\r\n\r\n"
							    : POST "Transfer-Encoding: chunked\r\n"
								   "\r\nfffff\r\n");
		sp_http_client_send(&client, body, 90000);
		if (i % 2)
			setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		sp_http_client_close(&client);
	}
	sp_http_call(f.port, "POST", "/whole", body, &reply);
	assert_int_equal(reply.status, 200);
	pthread_mutex_lock(&f.gate); /* answered late, and left behind */
	for (int i = 0; i < 3; i++) {
		assert_true(sp_http_client_open(&late[i], f.port));
		sp_http_client_send_text(&late[i], "POST /later HTTP/1.1\r\nHost: a\r\n"
						   "Content-Length: 99999\r\n\r\n");
		sp_http_client_send(&late[i], body, 99999);
	}
	for (int i = 0; i < 3; i++) {
		sp_http_client_receive(&late[i], &reply);
		assert_int_equal(reply.status, 504);
		sp_http_client_close(&late[i]);
	}
	assert_true(sp_budget_used(&memory) > 0);
	pthread_mutex_unlock(&f.gate);
	assert_true(sp_http_client_open(&client, f.port)); /* never whole */
	sp_http_client_send_text(&client, POST "Content-Length: 200000\r\n\r\n");
	sp_http_client_send(&client, body, 90000);
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 408);
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
	assert_int_equal(sp_budget_used(&memory), 0);
	assert_int_equal(memory.refused, 0);
	free(body);
}

static void no_memory_costs_one_request_and_not_the_server(void **state)
{
	static const char text[] = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
				   "POST /b HTTP/1.1\r\nHost: a\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
	sp_http_scene f = {0};
	int failed = 0;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	for (int64_t n = 0; n < 20; n++) {
		sp_http_client client;
		sp_http_reply reply;

		sp_alloc_fail_after(n);
		assert_true(sp_http_client_open(&client, f.port));
		sp_http_client_send_text(&client, text);
		for (int i = 0; i < 2; i++) {
			sp_http_client_receive(&client, &reply);
			assert_true(reply.status == 200 || reply.status == 503 ||
				    reply.status == 0);
			failed += reply.status != 200;
		}
		sp_alloc_fail_after(-1);
		sp_http_client_close(&client);
		sp_http_call(f.port, "GET", "/still", NULL, &reply);
		assert_string_equal(reply.body, "GET/still ");
	}
	assert_true(failed > 5);
	sp_http_scene_finish(&f);
}

/* ---------------------------------------------------------------- the end */

static void draining_ends_connections_after_their_answer(void **state)
{
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	assert_true(sp_http_client_open(&client, f.port));
	sp_http_server_drain(f.server);
	sp_http_client_send_text(&client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head, "\r\nConnection: close\r\n"));
	assert_true(sp_http_client_ends(&client, 5000));
	sp_http_client_close(&client);
	sp_http_scene_finish(&f);
}

static void stopping_waits_for_what_has_begun(void **state)
{
	sp_http_scene f = {0};
	sp_http_client waiting, half, idle, late;
	sp_http_reply reply;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 2});
	assert_true(sp_http_client_open(&waiting, f.port));
	assert_true(sp_http_client_open(&half, f.port));
	assert_true(sp_http_client_open(&idle, f.port));
	pthread_mutex_lock(&f.gate);
	sp_http_client_send_text(&waiting, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_send_text(&half, "GET /half HTTP/1.1\r\n");
	sp_http_scene_wait_for(&f.handled, 1);
	sp_http_scene_pause_ms(50);
	assert_false(sp_http_server_stop(f.server, 100));
	assert_true(sp_http_client_ends(&idle, 5000));
	assert_false(sp_http_client_open(&late, f.port));
	sp_http_client_send_text(&half, "Host: a\r\n\r\n");
	sp_http_client_receive(&half, &reply);
	assert_string_equal(reply.body, "GET/half ");
	pthread_mutex_unlock(&f.gate);
	sp_http_client_receive(&waiting, &reply);
	assert_string_equal(reply.body, "GET/later ");
	sp_http_client_close(&waiting);
	sp_http_client_close(&half);
	sp_http_client_close(&idle);
	sp_http_scene_finish(&f);
}

static void a_port_in_use_is_an_error(void **state)
{
	sp_http_scene f = {0};
	sp_http_server *second;
	sp_http_address address = {.host = "127.0.0.1"};
	sp_http_options options = {.addresses = &address, .address_count = 1, .io_threads = 1};
	sp_error err;

	(void)state;
	sp_http_scene_start(&f, (sp_http_options){.io_threads = 1});
	address.port = f.port;
	assert_int_equal(sp_http_server_create(&second, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "Address already in use"));
	address.host = "not a host";
	assert_int_equal(sp_http_server_create(&second, &options, &err), SP_INVALID);
	sp_http_scene_finish(&f);
}

static void several_addresses_are_answered(void **state)
{
	sp_http_address addresses[] = {
		{.host = "127.0.0.1"}, {.host = "localhost"}, {.host = NULL}};
	char name[] = "unix:/tmp/sp_socket_XXXXXX/socket", *slash = strrchr(name, '/');
	sp_http_options options = {.addresses = addresses, .address_count = 3, .io_threads = 2};
	sp_http_server *second;
	sp_http_scene f = {0};
	sp_http_client client;
	sp_http_reply reply;
	sp_error err;

	(void)state;
	*slash = '\0';
	assert_non_null(mkdtemp(name + 5));
	*slash = '/';
	addresses[2].host = name;
	sp_http_scene_start(&f, options);
	assert_int_not_equal(sp_http_server_port(f.server, 0), sp_http_server_port(f.server, 1));
	assert_int_equal(sp_http_server_port(f.server, 2), 0);
	for (size_t i = 0; i < 2; i++) {
		sp_http_call(sp_http_server_port(f.server, i), "GET", "/a", NULL, &reply);
		assert_string_equal(reply.body, "GET/a ");
	}
	assert_true(sp_http_client_open_path(&client, name + 5));
	sp_http_client_send_text(&client, "GET /path HTTP/1.1\r\nHost: a\r\n\r\n");
	sp_http_client_receive(&client, &reply);
	assert_string_equal(reply.body, "GET/path ");
	sp_http_client_close(&client);

	options.addresses = addresses + 2; /* taken */
	options.address_count = 1;
	assert_int_equal(sp_http_server_create(&second, &options, &err), SP_IO);
	assert_non_null(strstr(err.text, "Address already in use"));
	addresses[2].host = "unix:";
	assert_int_equal(sp_http_server_create(&second, &options, &err), SP_INVALID);
	sp_http_scene_finish(&f);
	assert_int_not_equal(access(name + 5, F_OK), 0);
	*slash = '\0';
	assert_int_equal(rmdir(name + 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_is_alone_unless_others_wait),
		cmocka_unit_test(no_work_is_done_for_a_client_that_has_gone),
		cmocka_unit_test(work_for_a_client_that_has_gone_can_be_cancelled),
		cmocka_unit_test(a_client_that_only_stops_sending_gets_its_answer),
		cmocka_unit_test(a_client_may_go_at_any_moment),
		cmocka_unit_test(the_one_idle_longest_makes_room),
		cmocka_unit_test(whoever_has_no_whole_request_makes_room),
		cmocka_unit_test(a_body_that_goes_on_is_not_given_up),
		cmocka_unit_test(a_body_for_which_no_memory_is_left_is_refused_at_once),
		cmocka_unit_test(memory_is_given_back_however_a_request_ends),
		cmocka_unit_test(no_memory_costs_one_request_and_not_the_server),
		cmocka_unit_test(draining_ends_connections_after_their_answer),
		cmocka_unit_test(stopping_waits_for_what_has_begun),
		cmocka_unit_test(a_port_in_use_is_an_error),
		cmocka_unit_test(several_addresses_are_answered),
	};

	return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}
