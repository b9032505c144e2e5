#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/host_double.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"

/* serving_host with more connections, memory, or requests than it has room for. */

static const char predict[] = "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n";

/* Some files are the model's, and nobody has told the server. */
static void idle_connections_take_no_descriptors_from_others(void **state)
{
	static const char *const configs[] = {"{}", "{\"files\":60}"};
	static const char *const begins[] = {"", "GET /hea",
					     "POST / HTTP/1.1\r\nHost: a\r\n"
					     "Content-Length: 9\r\n\r\n1"};
	enum { CLIENTS = 300 };

	(void)state;
	for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++) {
		sp_http_client clients[CLIENTS];
		sp_host_process process;

		sp_host_process_init(&process);
		process.descriptors = 200;
		assert_true(sp_host_process_start(
			&process, sp_host_double_path(),
			SP_FLAGS("--processor_config", sp_host_double_config(&process, configs[c]),
				 "--rest_api_num_io_threads=2", "--drain_delay_in_ms=0"),
			true));
		assert_non_null(strstr(sp_host_process_log(&process),
				       "connections at a time, not 10000 (--max_connections)"));
		for (int i = 0; i < CLIENTS; i++) {
			assert_true(sp_http_client_open(&clients[i], process.port));
			sp_http_client_send_text(&clients[i], begins[i % 3]);
		}
		/* A connection that comes to a thread without idle ones, before the others have
		 * dropped theirs, is turned away: both threads must have answered. */
		for (int i = 0, in_a_row = 0; i < 200 && in_a_row < 20; i++) {
			sp_http_reply reply;

			sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
			in_a_row = reply.status == 200 ? in_a_row + 1 : 0;
			if (in_a_row == 0)
				usleep(20000);
		}
		sp_host_expect_served(process.port);
		/* A quarter of them is for files still, if the model has none. */
		assert_true(sp_host_metric(process.port, "serving_processor_connections") <=
			    200 - 64);
		assert_true(sp_host_metric(process.port,
					   "serving_processor_connections_dropped_total") >
			    CLIENTS - 200);
		sp_host_expect_in_log(&process, "too many connections: ");
		for (int i = 0; i < CLIENTS; i++)
			sp_http_client_close(&clients[i]);
		sp_host_double_stop(&process);
	}
}

static void all_requests_together_have_a_bound(void **state)
{
	static const char refusals[] = "serving_processor_request_memory_refusals_total";
	enum { CLIENTS = 12, BODY = 2000000 };
	static char body[BODY];
	sp_http_client clients[CLIENTS];
	sp_host_process process;
	sp_http_reply reply;
	int refused = 0;

	(void)state;
	memset(body, ' ', sizeof(body));
	sp_host_double_start(&process, "{}", SP_FLAGS("--max_request_memory=8000000"), true);
	for (int i = 0; i < CLIENTS; i++) { /* of which three fit */
		assert_true(sp_http_client_open(&clients[i], process.port));
		sp_http_client_send_text(&clients[i], predict);
		sp_http_client_send_text(&clients[i], "Content-Length: 2000017\r\n\r\n");
		sp_http_client_send(&clients[i], body, sizeof(body));
	}
	for (int i = 0; i < 500 && sp_host_metric(process.port, refusals) < CLIENTS - 3; i++)
		usleep(20000);
	sp_host_expect_served(process.port);
	for (int i = 0; i < CLIENTS; i++) {
		sp_http_client_send_text(&clients[i], "{\"instances\":[2]}");
		sp_http_client_receive(&clients[i], &reply);
		if (reply.status != 200) {
			assert_int_equal(reply.status, 503);
			assert_non_null(strstr(reply.head, "Retry-After: 1\r\n"));
			assert_non_null(strstr(reply.body, "no memory for the request"));
			refused++;
		}
		sp_http_client_close(&clients[i]);
	}
	assert_in_range(refused, CLIENTS - 3, CLIENTS - 1);
	sp_host_expect_in_log(&process, "(--max_request_memory)");
	assert_true(sp_host_metric(process.port, refusals) >= refused);
	assert_true(sp_host_metric(process.port, "serving_processor_request_memory_bytes") < BODY);
	assert_true(sp_host_metric(process.port, "serving_processor_request_memory_limit_bytes") ==
		    8000000);
	sp_host_expect_served(process.port);
	sp_host_double_stop(&process);
}

/* Spaces, and what a request ends with. */
static void send_body(sp_http_client *client, size_t spaces, bool whole)
{
	enum { PIECE = 1000000 };
	static char piece[PIECE];
	char text[200];

	memset(piece, ' ', sizeof(piece));
	snprintf(text, sizeof(text), "%sContent-Length: %zu\r\n\r\n", predict, spaces + 17);
	sp_http_client_send_text(client, text);
	for (size_t sent = 0; sent < spaces; sent += PIECE)
		if (!sp_http_client_send(client, piece, PIECE))
			return; /* it is refused */
	if (whole)
		sp_http_client_send_text(client, "{\"instances\":[2]}");
}

/* No body is too large by itself; but the largest leave half of the memory to others. */
static void a_slow_client_with_a_large_body_keeps_no_other_away(void **state)
{
	static const struct {
		size_t spaces;
		int status;
	} others[] = {{10000000, 200}, {30000000, 503}, {40000000, 413}, {2100000000, 413}};
	sp_http_client slow, client;
	sp_host_process process;
	sp_http_reply reply;

	(void)state;
	sp_host_double_start(&process, "{}", SP_FLAGS("--max_request_memory=67108864"), true);
	assert_true(sp_http_client_open(&slow, process.port));
	send_body(&slow, 30000000, false);
	for (int i = 0; i < 500 && sp_host_metric(process.port,
						  "serving_processor_request_memory_bytes") < 3e7;
	     i++)
		usleep(20000);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_true(sp_http_client_open(&client, process.port));
		send_body(&client, others[i].spaces, true);
		sp_http_client_receive(&client, &reply);
		if (reply.status != others[i].status)
			fail_msg("%zu bytes: %d %s", others[i].spaces, reply.status, reply.body);
		sp_http_client_close(&client);
	}
	sp_http_client_send_text(&slow, "{\"instances\":[2]}");
	sp_http_client_receive(&slow, &reply);
	assert_int_equal(reply.status, 200);
	sp_http_client_close(&slow);
	sp_host_double_stop(&process);
}

static void reading_a_request_has_the_same_bound(void **state)
{
	enum { COUNT = 250000 };
	sp_host_process process;
	sp_http_reply reply;
	char *body = malloc(3 * COUNT + 200), *at = body;

	(void)state;
	at += sprintf(at, "{\"signature_name\":\"echo\",\"inputs\":{\"id\":1,\"text_bytes\":[\"\"");
	for (int i = 1; i < COUNT; i++)
		at += sprintf(at, ",\"\"");
	strcpy(at, "]}}");
	sp_host_double_start(&process, "{}", SP_FLAGS("--max_request_memory=4000000"), true);
	sp_http_call(process.port, "POST", "/v1/models/default:predict", body, &reply);
	assert_int_equal(reply.status, 503);
	assert_non_null(strstr(reply.head, "Retry-After: 1\r\n"));
	assert_non_null(strstr(reply.body, "the memory for requests is used up"));
	sp_host_expect_served(process.port);
	assert_true(sp_host_metric(process.port, "serving_processor_request_memory_bytes") <
		    500000);
	sp_host_double_stop(&process);
	free(body);
}

/* In KB; 0 where it is not told. */
static long resident(const sp_host_process *process)
{
	char path[64], line[256];
	long size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)process->pid);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		sscanf(line, "VmRSS: %ld", &size);
	if (file != NULL)
		fclose(file);
	return size;
}

static void memory_goes_back_to_the_system(void **state)
{
	enum { CLIENTS = 10, BODY = 10000000 };
	static char body[BODY];
	const char *sanitized = getenv("SANITIZED");
	sp_http_client clients[CLIENTS];
	sp_host_process process;
	sp_http_reply reply;
	long before, most, after = 0;

	(void)state;
	if (sanitized != NULL && strcmp(sanitized, "yes") == 0)
		skip(); /* what is freed stays for a while, to be watched */
	memset(body, ' ', sizeof(body));
	sp_host_double_start(&process, "{}", SP_FLAGS("--model_name=half"), true);
	before = resident(&process);
	for (int i = 0; i < CLIENTS; i++) {
		assert_true(sp_http_client_open(&clients[i], process.port));
		sp_http_client_send_text(&clients[i],
					 "POST /v1/models/half:predict HTTP/1.1\r\nHost: a\r\n"
					 "Content-Length: 10000017\r\n\r\n");
		sp_http_client_send(&clients[i], body, sizeof(body));
	}
	most = resident(&process);
	for (int i = 0; i < CLIENTS; i++) {
		sp_http_client_send_text(&clients[i], "{\"instances\":[2]}");
		sp_http_client_receive(&clients[i], &reply);
		assert_int_equal(reply.status, 200);
	}
	for (int i = 0; i < 500 && (i == 0 || after > before + 10000); i++) {
		usleep(20000);
		after = resident(&process);
	}
	assert_true(before == 0 || most > before + 80000);
	assert_true(after <= before + 10000);
	for (int i = 0; i < CLIENTS; i++)
		sp_http_client_close(&clients[i]);
	sp_host_double_stop(&process);
}

/* Of eight clients at a time two are answered; the last one hears at once that it is not. */
static void expect_two_of_eight(const sp_host_process *process)
{
	enum { CLIENTS = 8 };
	sp_http_client clients[CLIENTS];
	sp_http_reply reply;
	int answered = 0, refused = 0;
	int64_t began;

	for (int i = 0; i < CLIENTS; i++) {
		assert_true(sp_http_client_open(&clients[i], process->port));
		sp_http_client_send_text(&clients[i],
					 "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n"
					 "Content-Length: 17\r\n\r\n{\"instances\":[2]}");
		usleep(20000);
	}
	began = sp_clock_now_ns();
	sp_http_client_receive(&clients[CLIENTS - 1], &reply);
	assert_int_equal(reply.status, 503);
	assert_non_null(strstr(reply.head, "Retry-After: 1\r\n"));
	assert_true(sp_clock_now_ns() - began < INT64_C(250000000));
	sp_http_call(process->port, "GET", "/healthz/ready", NULL, &reply);
	assert_int_equal(reply.status, 200);
	for (int i = 0; i < CLIENTS - 1; i++) {
		sp_http_client_receive(&clients[i], &reply);
		answered += reply.status == 200;
		refused += reply.status == 503;
	}
	assert_int_equal(answered, 2);
	assert_int_equal(refused, CLIENTS - 3);
	for (int i = 0; i < CLIENTS; i++)
		sp_http_client_close(&clients[i]);
}

static void a_full_queue_says_so_at_once(void **state)
{
	sp_host_process process;

	(void)state;
	sp_host_double_start(&process, "{\"run_ms\":500}",
			     SP_FLAGS("--rest_api_num_threads=1", "--max_queue=1"), true);
	expect_two_of_eight(&process);
	sp_host_double_stop(&process);
}

/* There are threads for more; the model may not have them. */
static void a_model_may_have_a_limit_of_its_own(void **state)
{
	static const char config[] = "{\"models\": [{\"name\": \"default\", \"max_requests\": 2,"
				     " \"processor_config\": {\"run_ms\":500}}]}";
	sp_host_process process;
	char flag[5000];

	(void)state;
	sp_host_process_init(&process);
	sp_temp_write(process.folder, "/models", sp_bytes_of(config));
	snprintf(flag, sizeof(flag), "--model_config_file=%s/models", process.folder);
	assert_true(sp_host_process_start(
		&process, sp_host_double_path(),
		SP_FLAGS(flag, "--rest_api_num_threads=4", "--drain_delay_in_ms=0"), true));
	expect_two_of_eight(&process);
	sp_host_double_stop(&process);
}

static size_t count_in(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

static void a_request_that_waits_too_long_is_given_up(void **state)
{
	sp_host_process process;
	sp_http_client clients[3];
	sp_http_reply reply;

	(void)state;
	sp_host_double_start(&process, "{\"run_ms\":600}",
			     SP_FLAGS("--rest_api_num_threads=1", "--rest_api_timeout_in_ms=300"),
			     true);
	for (int i = 0; i < 3; i++) {
		assert_true(sp_http_client_open(&clients[i], process.port));
		sp_http_client_send_text(&clients[i],
					 "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n"
					 "Content-Length: 17\r\n\r\n{\"instances\":[2]}");
	}
	for (int i = 0; i < 3; i++) { /* one computes too long, two wait too long */
		sp_http_client_receive(&clients[i], &reply);
		assert_int_equal(reply.status, 504);
		sp_http_client_close(&clients[i]);
	}
	/* Each has its line, an error. */
	assert_int_equal(count_in(sp_host_process_log(&process),
				  "\n3 [default] POST /v1/models/default:predict from 127.0.0.1:"),
			 3);
	assert_int_equal(count_in(process.log, " is answered 504: the deadline of the request has "
					       "passed\n"),
			 3);
	sp_host_double_stop(&process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_connections_take_no_descriptors_from_others),
		cmocka_unit_test(all_requests_together_have_a_bound),
		cmocka_unit_test(a_slow_client_with_a_large_body_keeps_no_other_away),
		cmocka_unit_test(reading_a_request_has_the_same_bound),
		cmocka_unit_test(memory_goes_back_to_the_system),
		cmocka_unit_test(a_full_queue_says_so_at_once),
		cmocka_unit_test(a_model_may_have_a_limit_of_its_own),
		cmocka_unit_test(a_request_that_waits_too_long_is_given_up),
	};

	return cmocka_run_group_tests_name("host_overload", tests, NULL, NULL);
}
