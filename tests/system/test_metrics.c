#include "tests/support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/checkpoint_folder.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/row_model.h"

/*
 * What serving_host tells Prometheus while requests come and versions change,
 * and while it is too busy for anything else.
 */

#define PATH       "/monitoring/prometheus/metrics"
#define M          "{model_name=\"rows\""
#define TF         ":tensorflow:serving:"
#define P          "serving_processor_"
#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static sp_host_process host;
static sp_http_reply reply;

static const char *program_path(const char *name)
{
	static char path[4096];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/%s", builddir != NULL ? builddir : ".", name);
	return path;
}

static const char *write_config(const char *text)
{
	static char path[5000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/config.json", host.folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static void stop(void)
{
	sp_host_process_signal(&host, SIGTERM);
	assert_int_equal(sp_host_process_wait(&host), 0);
	sp_host_process_fini(&host);
}

static int call(const char *method, const char *path, const char *body)
{
	sp_http_call(host.port, method, path, body, &reply);
	return reply.status;
}

/* ---------------------------------------------------------------------- the page */

static void scrape(void)
{
	assert_int_equal(call("GET", PATH, NULL), 200);
	assert_non_null(strstr(reply.head, "Content-Type: text/plain; version=0.0.4; "
					   "charset=utf-8\r\n"));
}

/* Of the sample on the last page; -99 without. */
static double value_of(const char *sample)
{
	size_t size = strlen(sample);

	for (const char *at = reply.body; (at = strstr(at, sample)) != NULL; at++)
		if ((at == reply.body || at[-1] == '\n') && at[size] == ' ')
			return strtod(at + size, NULL);
	return -99;
}

static void expect(const char *sample, double value)
{
	if (value_of(sample) != value)
		fail_msg("%s is %g, not %g", sample, value_of(sample), value);
}

/* On some page within ten seconds. */
static void await(const char *sample, double value)
{
	int64_t end = sp_clock_now_ns() + INT64_C(10000000000);

	for (scrape(); value_of(sample) != value; scrape()) {
		if (sp_clock_now_ns() > end)
			fail_msg("%s stays %g, not %g", sample, value_of(sample), value);
		usleep(5000);
	}
}

/* ------------------------------------------------------------------- a real model */

static sp_row_model rows;

enum { KEYS = 1000 };

static int open_rows(void **state)
{
	char config[4 * SP_PATH_SIZE];

	(void)state;
	sp_row_model_init(&rows, KEYS);
	sp_host_process_init(&host);
	sp_checkpoint_folder_config(
		config, sizeof(config), rows.checkpoints, "ev-rows",
		", \"update_poll_interval_ms\": 10, \"update_fold_after_seconds\": 0.05");
	assert_true(sp_host_process_start(&host, program_path("serving_host"),
					  FLAGS("--model_name=rows", "--admin_routes",
						"--processor_config", write_config(config),
						"--drain_delay_in_ms=0"),
					  true));
	return 0;
}

static int close_rows(void **state)
{
	(void)state;
	stop();
	sp_row_model_fini(&rows);
	return 0;
}

static void predictions_are_counted(void **state)
{
	(void)state;
	scrape();
	expect(TF "request_count" M ",status=\"OK\"}", 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			call("POST", "/v1/models/rows:predict", "{\"inputs\":{\"keys\":[1,2]}}"),
			200);
	assert_int_equal(call("POST", "/v1/models/rows:predict", "{\"inputs\":7"), 400);
	assert_int_equal(call("POST", "/v1/models/rows:predict", "{\"inputs\":{\"keys\":[\"x\"]}}"),
			 400);
	assert_int_equal(call("POST", "/v1/models/rows/versions/7:predict", "{}"), 404);
	assert_int_equal(call("POST", "/v1/models/else:predict", "{}"), 404);
	assert_int_equal(call("POST", "/v1/models/rows:classify", "{}"), 400);
	assert_int_equal(call("GET", "/v1/models/rows", NULL), 200);
	scrape();
	expect(TF "request_count" M ",status=\"OK\"}", 3);
	expect(TF "request_count" M ",status=\"INVALID_ARGUMENT\"}", 2);
	expect(TF "request_count" M ",status=\"NOT_FOUND\"}", 1);
	expect(TF "request_latency_count" M ",API=\"predict\",entrypoint=\"REST\"}", 3);
	expect(TF "runtime_latency_count" M ",API=\"Predict\",runtime=\"serving_processor\"}", 3);
	assert_true(value_of(TF "request_latency_sum" M ",API=\"predict\",entrypoint=\"REST\"}") >
		    value_of(TF "runtime_latency_sum" M ","
				"API=\"Predict\",runtime=\"serving_processor\"}"));
	expect(P "requests_in_flight" M "}", 0);
	expect(P "stage_seconds_count" M ",stage=\"queue\"}", 5);
	expect(P "stage_seconds_count" M ",stage=\"run\"}", 3);
	expect(P "stage_seconds_count" M ",stage=\"encode\"}", 3);
	expect(P "run_rows_count" M "}", 3);
	expect(P "http_requests_total{route=\"predict\",code=\"200\"}", 3);
	expect(P "http_requests_total{route=\"predict\",code=\"400\"}", 2);
	expect(P "http_requests_total{route=\"other\",code=\"404\"}", 1);
	expect(P "http_requests_total{route=\"examples\",code=\"400\"}", 1);
	expect(P "http_requests_total{route=\"status\",code=\"200\"}", 1);
	expect(P "http_requests_total{route=\"metrics\",code=\"200\"}", 1);
	assert_true(value_of("process_resident_memory_bytes") > 1e6);
}

static void deltas_and_folds_are_counted(void **state)
{
	double memory;

	(void)state;
	scrape();
	expect(P "model_ready" M "}", 1);
	expect(P "live_full_step" M "}", 1000);
	expect(P "live_delta_step" M "}", -1);
	expect(P "table_rows" M ",table=\"table\"}", KEYS);
	memory = value_of(P "model_memory_bytes" M "}");
	assert_true(memory > KEYS * 64);
	sp_row_model_write_delta(&rows, 1, 7);
	await(P "live_delta_step" M "}", 1007);
	expect(P "version_moves_total" M ",state=\"live\"}", 2);
	expect(P "version_state" M ",full_step=\"1000\",delta_step=\"1007\",state=\"live\"}", 1);
	expect(P "update_lag_seconds" M "}", 0);
	assert_true(value_of(P "last_update_age_seconds" M "}") < 10);
	await(P "folds_total" M "}", 1);
	expect(P "table_overlay_rows" M ",table=\"table\"}", 0);
	expect(P "table_rows" M ",table=\"table\"}", KEYS);
}

/* It is complete, but a byte of its data is not what was written. */
static void write_broken_delta(int delta)
{
	char prefix[SP_PATH_SIZE], path[SP_PATH_SIZE + 32];
	FILE *file;
	int byte;

	sp_row_model_write_delta(&rows, 1, delta);
	sp_row_model_prefix(&rows, 1, delta, prefix);
	snprintf(path, sizeof(path), "%s.data-00000-of-00001", prefix);
	file = fopen(path, "r+");
	assert_non_null(file);
	fseek(file, 1000, SEEK_SET);
	byte = fgetc(file);
	fseek(file, 1000, SEEK_SET);
	fputc(byte ^ 1, file);
	fclose(file);
}

static void refusals_and_orders_are_counted(void **state)
{
	(void)state;
	/* Nobody looks while it is made. */
	assert_int_equal(call("POST", "/v1/models/rows/versions/1000/deltas/1007:pin", ""), 200);
	write_broken_delta(9);
	assert_int_equal(call("POST", "/v1/models/rows:unpin", ""), 200);
	await(P "refusals_total" M ",reason=\"corrupt\"}", 1);
	expect(P "versions" M ",state=\"refused\"}", 1);
	expect(P "live_delta_step" M "}", 1007);
	expect(P "newest_delta_step" M "}", 1009);
	assert_non_null(strstr(reply.body, "\n" P "version_refusal" M
					   ",full_step=\"1000\",delta_step=\"1009\",reason=\""));
	usleep(20000);
	scrape();
	expect(P "live_delta_step" M "}", 1007);
	assert_true(value_of(P "update_lag_seconds" M "}") > 0);
	expect(P "orders_total" M ",order=\"pin\"}", 2);
	assert_int_equal(call("POST", "/v1/models/rows:rollback", ""), 200);
	scrape();
	expect(P "orders_total" M ",order=\"rollback\"}", 1);
	expect(P "live_delta_step" M "}", -1);
	assert_int_equal(call("POST", "/v1/models/rows:rollback", ""), 400);
	scrape();
	expect(P "orders_total" M ",order=\"rollback\"}", 1);
	expect(P "http_requests_total{route=\"admin\",code=\"400\"}", 1);
}

/* -------------------------------------------------------------------- a busy host */

static void start_double(const char *config, const char *flag, const char *other, bool wait)
{
	sp_host_process_init(&host);
	assert_true(sp_host_process_start(&host, program_path("tests/system/serving_host_double"),
					  FLAGS("--model_name=rows", "--drain_delay_in_ms=0",
						"--processor_config", write_config(config),
						"--rest_api_num_threads=1", flag, other),
					  wait));
}

static void send_prediction(sp_http_client *client)
{
	assert_true(sp_http_client_open(client, host.port));
	assert_true(sp_http_client_send_text(client, "POST /v1/models/rows:predict HTTP/1.1\r\n"
						     "Host: x\r\nContent-Length: 20\r\n\r\n"
						     "{\"instances\":[1, 2]}"));
}

/* The one thread computes, the queue is full: the page comes at once. */
static void a_page_comes_however_busy_the_host_is(void **state)
{
	sp_http_client clients[2];
	int64_t began;

	(void)state;
	start_double("{\"run_ms\":1500}", "--max_queue=1", NULL, true);
	send_prediction(&clients[0]);
	await(P "requests_in_flight" M "}", 1);
	usleep(50000); /* the thread has taken it */
	send_prediction(&clients[1]);
	await(P "requests_in_flight" M "}", 2);
	assert_int_equal(call("POST", "/v1/models/rows:predict", "{\"instances\":[1]}"), 503);
	began = sp_clock_now_ns();
	scrape();
	assert_true(sp_clock_now_ns() - began < INT64_C(1000000000));
	expect(P "requests_in_flight" M "}", 2);
	expect(TF "request_count" M ",status=\"UNAVAILABLE\"}", 1);
	expect(P "rejections_total{reason=\"queue_full\"}", 1);
	expect(TF "request_count" M ",status=\"OK\"}", 0);
	for (int i = 0; i < 2; i++) {
		sp_http_client_receive(&clients[i], &reply);
		assert_int_equal(reply.status, 200);
		sp_http_client_close(&clients[i]);
	}
	await(P "requests_in_flight" M "}", 0);
	expect(TF "request_count" M ",status=\"OK\"}", 2);
	/* The second waited for the first, and the library took 1.5 seconds of each. */
	assert_true(value_of(TF "request_latency_sum" M ",API=\"predict\",entrypoint=\"REST\"}") >
		    1e6 * 2.5);
	expect(TF "runtime_latency_bucket" M
		  ",API=\"Predict\",runtime=\"serving_processor\",le=\"1.27482e+06\"}",
	       0);
	stop();
}

static void a_late_answer_is_a_deadline(void **state)
{
	sp_http_client first;

	(void)state;
	start_double("{\"run_ms\":1000}", "--rest_api_timeout_in_ms=300", NULL, true);
	send_prediction(&first);
	await(P "requests_in_flight" M "}", 1);
	usleep(50000);
	/* It waits for its turn until its time is over. */
	assert_int_equal(call("POST", "/v1/models/rows:predict", "{\"instances\":[1]}"), 504);
	scrape();
	expect(TF "request_count" M ",status=\"DEADLINE_EXCEEDED\"}", 1);
	expect(P "rejections_total{reason=\"deadline\"}", 1);
	expect(TF "request_latency_count" M ",API=\"predict\",entrypoint=\"REST\"}", 0);
	sp_http_client_close(&first);
	stop();
}

static void there_is_a_page_while_the_model_loads(void **state)
{
	(void)state;
	start_double("{\"load_ms\":1000}", NULL, NULL, false);
	assert_int_equal(call("POST", "/v1/models/rows:predict", "{}"), 503);
	scrape();
	expect(P "model_ready" M "}", 0);
	expect(TF "request_count" M ",status=\"UNAVAILABLE\"}", 1);
	assert_null(strstr(reply.body, P "version"));
	await(P "model_ready" M "}", 1);
	stop();
}

static void the_page_is_where_one_wants_it(void **state)
{
	sp_http_client client;

	(void)state;
	start_double("{}", "--metrics_path=/metrics", NULL, true);
	assert_int_equal(call("GET", PATH, NULL), 404);
	assert_int_equal(call("GET", "/metrics/", NULL), 404);
	assert_int_equal(call("POST", "/metrics", ""), 405);
	assert_int_equal(call("GET", "/metrics?x=y", NULL), 200);
	assert_int_equal(strncmp(reply.body, "# HELP ", 7), 0);
	assert_true(sp_http_client_open(&client, host.port));
	assert_true(sp_http_client_send_text(&client, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
	sp_http_client_receive_head(&client, &reply);
	assert_int_equal(reply.status, 200);
	sp_http_client_close(&client);
	stop();

	start_double("{}", "--metrics_path=", NULL, true);
	assert_int_equal(call("GET", PATH, NULL), 404);
	assert_int_equal(call("GET", "", NULL), 400);
	stop();

	sp_host_process_init(&host);
	assert_false(sp_host_process_start(&host, program_path("tests/system/serving_host_double"),
					   FLAGS("--processor_config=x", "--metrics_path=metrics"),
					   true));
	assert_int_equal(sp_host_process_wait(&host), 2);
	assert_non_null(strstr(sp_host_process_log(&host), "--metrics_path"));
	sp_host_process_fini(&host);
}

/* Words of the processor that are none of its own. */
static void a_page_that_cannot_be_made_is_an_error(void **state)
{
	char config[5000], path[4500];
	FILE *file;

	(void)state;
	sp_host_process_init(&host);
	snprintf(path, sizeof(path), "%s/versions", host.folder);
	file = fopen(path, "w");
	fputs("{\"versions\":7}", file);
	fclose(file);
	snprintf(config, sizeof(config), "{\"versions_file\":\"%s\"}", path);
	assert_true(sp_host_process_start(
		&host, program_path("tests/system/serving_host_double"),
		FLAGS("--drain_delay_in_ms=0", "--processor_config", write_config(config)), true));
	assert_int_equal(call("GET", PATH, NULL), 500);
	assert_int_equal(call("GET", "/healthz/ready", NULL), 200);
	stop();
}

int main(void)
{
	const struct CMUnitTest on_rows[] = {
		cmocka_unit_test(predictions_are_counted),
		cmocka_unit_test(deltas_and_folds_are_counted),
		cmocka_unit_test(refusals_and_orders_are_counted),
	};
	const struct CMUnitTest on_doubles[] = {
		cmocka_unit_test(a_page_comes_however_busy_the_host_is),
		cmocka_unit_test(a_late_answer_is_a_deadline),
		cmocka_unit_test(there_is_a_page_while_the_model_loads),
		cmocka_unit_test(the_page_is_where_one_wants_it),
		cmocka_unit_test(a_page_that_cannot_be_made_is_an_error),
	};

	return cmocka_run_group_tests_name("metrics_rows", on_rows, open_rows, close_rows) +
	       cmocka_run_group_tests_name("metrics_doubles", on_doubles, NULL, NULL);
}
