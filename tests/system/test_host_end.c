#include "tests/support/cmocka.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/host_double.h"
#include "tests/support/http_client.h"

/* How serving_host ends: signals, draining, requests under way. */

typedef struct load {
	uint16_t port;
	atomic_bool quit;
	atomic_int good, bad;
} load;

/* A client that honours "Connection: close", and stops when nobody listens. */
static void *call_on_and_on(void *context)
{
	load *l = context;
	sp_http_client client = {.fd = -1};
	sp_http_reply reply;

	while (!l->quit) {
		if (client.fd < 0 && !sp_http_client_open(&client, l->port))
			break;
		if (!sp_http_client_send_text(&client,
					      "POST /v1/models/half:predict HTTP/1.1\r\nHost: a\r\n"
					      "Content-Length: 17\r\n\r\n{\"instances\":[2]}"))
			break;
		sp_http_client_receive(&client, &reply);
		if (reply.status == 0)
			break; /* a connection that was still idle has ended */
		if (reply.status == 200 && strcmp(reply.body, "{\"predictions\":[3.0]}") == 0)
			l->good++;
		else
			l->bad++;
		if (strstr(reply.head, "Connection: close") != NULL)
			sp_http_client_close(&client);
	}
	sp_http_client_close(&client);
	return NULL;
}

static void ending_under_load_loses_no_request(void **state)
{
	enum { CLIENTS = 4 };
	pthread_t threads[CLIENTS];
	sp_host_process process;
	sp_http_reply reply;
	load l = {0};

	(void)state;
	sp_host_double_start(&process, "{\"run_ms\":5}",
			     SP_FLAGS("--model_name=half", "--drain_delay_in_ms=500"), true);
	l.port = process.port;
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, call_on_and_on, &l);
	usleep(300000);
	sp_host_process_signal(&process, SIGTERM);
	usleep(200000);
	sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
	assert_int_equal(reply.status, 503);
	sp_http_call(process.port, "GET", "/healthz/live", NULL, &reply);
	assert_int_equal(reply.status, 200);
	assert_int_equal(sp_host_process_wait(&process), 0);
	l.quit = true;
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(l.bad, 0);
	assert_true(l.good > 20);
	sp_host_process_fini(&process);
}

static void a_second_signal_ends_at_once(void **state)
{
	sp_host_process process;
	int64_t began;

	(void)state;
	sp_host_double_start(&process, "{}", SP_FLAGS("--drain_delay_in_ms=60000"), true);
	sp_host_process_signal(&process, SIGTERM);
	usleep(200000);
	began = sp_clock_now_ns();
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0); /* nothing is lost */
	assert_true(sp_clock_now_ns() - began < INT64_C(5000000000));
	sp_host_process_fini(&process);
}

/* A host in which a request takes `config`'s time, with one under way. */
static void start_request(sp_host_process *process, sp_http_client *client, const char *config,
			  const char *drain_delay)
{
	sp_host_double_start(process, config, SP_FLAGS(drain_delay), true);
	assert_true(sp_http_client_open(client, process->port));
	sp_http_client_send_text(client, "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n"
					 "Content-Length: 17\r\n\r\n{\"instances\":[2]}");
	usleep(200000);
}

static void a_second_signal_cuts_requests_off(void **state)
{
	static const char *const delays[] = {"--drain_delay_in_ms=60000", "--drain_delay_in_ms=0"};
	sp_host_process process;
	sp_http_client client;

	(void)state;
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		start_request(&process, &client, "{\"run_ms\":60000}", delays[i]);
		sp_host_process_signal(&process, SIGTERM);
		usleep(300000);
		sp_host_process_signal(&process, SIGTERM);
		assert_int_equal(sp_host_process_wait(&process), 1);
		sp_host_expect_in_log(&process, "before all requests were answered");
		sp_http_client_close(&client);
		sp_host_process_fini(&process);
	}
}

/* As timeout(1) does, to the process and to its group. */
static void a_signal_that_comes_twice_is_one(void **state)
{
	static const int kinds[] = {SIGTERM, SIGINT};
	sp_host_process process;
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		start_request(&process, &client, "{\"run_ms\":1500}", "--drain_delay_in_ms=0");
		sp_host_process_signal(&process, kinds[i]);
		usleep(1000);
		sp_host_process_signal(&process, kinds[i]);
		sp_host_process_signal(&process, SIGCONT);
		sp_http_client_receive(&client, &reply);
		assert_int_equal(reply.status, 200);
		sp_http_client_close(&client);
		assert_int_equal(sp_host_process_wait(&process), 0);
		sp_host_process_fini(&process);
	}
}

static void a_hangup_ends_nothing(void **state)
{
	sp_host_process process;

	(void)state;
	sp_host_double_start(&process, "{\"load_ms\":1000}", SP_FLAGS("--drain_delay_in_ms=1000"),
			     false);
	sp_host_process_signal(&process, SIGHUP);
	sp_host_expect_in_log(&process, "SIGHUP: nothing to reload");
	sp_host_expect_in_log(&process, "listening on http://");
	sp_host_process_signal(&process, SIGHUP);
	sp_host_expect_served(process.port);
	sp_host_process_signal(&process, SIGTERM);
	sp_host_expect_in_log(&process, "draining");
	sp_host_process_signal(&process, SIGHUP);
	assert_int_equal(sp_host_process_wait(&process), 0);
	sp_host_process_fini(&process);
}

static void requests_that_do_not_end_are_cut_off(void **state)
{
	sp_host_process process;
	sp_http_client client;

	(void)state;
	sp_host_double_start(&process, "{\"run_ms\":60000}", SP_FLAGS("--drain_timeout_in_ms=200"),
			     true);
	assert_true(sp_http_client_open(&client, process.port));
	sp_http_client_send_text(&client, "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n"
					  "Content-Length: 17\r\n\r\n{\"instances\":[2]}");
	usleep(200000);
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 1);
	assert_non_null(strstr(sp_host_process_log(&process), "before all requests were answered"));
	sp_http_client_close(&client);
	sp_host_process_fini(&process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ending_under_load_loses_no_request),
		cmocka_unit_test(a_second_signal_ends_at_once),
		cmocka_unit_test(a_second_signal_cuts_requests_off),
		cmocka_unit_test(a_signal_that_comes_twice_is_one),
		cmocka_unit_test(a_hangup_ends_nothing),
		cmocka_unit_test(requests_that_do_not_end_are_cut_off),
	};

	return cmocka_run_group_tests_name("host_end", tests, NULL, NULL);
}
