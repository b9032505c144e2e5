#include "tests/support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/row_model.h"

/*
 * What an operator does to a served model over HTTP, and what he is told of it: on a
 * process that may be killed in between.
 */

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MODEL      "/v1/models/rows"
#define METRICS    "/monitoring/prometheus/metrics"

enum { KEYS = 100, TURNS = 2000 };

static sp_host_process host;
static sp_http_reply reply;
static sp_row_model rows;

static const char *program_path(void)
{
	static char path[4096];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/serving_host", builddir != NULL ? builddir : ".");
	return path;
}

static bool start(const char *more)
{
	static char path[5000];
	char config[4 * SP_PATH_SIZE], keys[1000];
	FILE *file;

	snprintf(keys, sizeof(keys),
		 ", \"update_poll_interval_ms\": 10, \"update_fold_after_seconds\": 0%s", more);
	sp_checkpoint_folder_config(config, sizeof(config), rows.checkpoints, "ev-rows", keys);
	snprintf(path, sizeof(path), "%s/config.json", host.folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(config, file);
	fclose(file);
	return sp_host_process_start(&host, program_path(),
				     FLAGS("--model_name=rows", "--admin_routes",
					   "--processor_config", path, "--drain_delay_in_ms=0"),
				     true);
}

static void kill_it(void)
{
	sp_host_process_signal(&host, SIGKILL);
	assert_int_equal(sp_host_process_wait(&host), 128 + SIGKILL);
}

static int set_up(void **state)
{
	(void)state;
	sp_row_model_init(&rows, KEYS);
	sp_host_process_init(&host);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_host_process_fini(&host);
	sp_row_model_fini(&rows);
	return 0;
}

/* ------------------------------------------------------------------- questions */

static int call(const char *method, const char *path)
{
	sp_http_call(host.port, method, path, *method == 'P' ? "" : NULL, &reply);
	return reply.status;
}

static void order(const char *path)
{
	if (call("POST", path) != 200)
		fail_msg("%s: %d %s", path, reply.status, reply.body);
}

/* Until the answer to `path` has that text. */
static void await(const char *path, const char *text)
{
	for (int i = 0; i < TURNS; i++) {
		call("GET", path);
		if (strstr(reply.body, text) != NULL)
			return;
		usleep(5000);
	}
	fail_msg("no %s in the answer to %s: %s", text, path, reply.body);
}

static void await_live(int full, int delta)
{
	char text[100];

	snprintf(text, sizeof(text), "\"live\":{\"full_step\":%d,\"delta_step\":%d,", full, delta);
	await(MODEL "/versions", text);
}

static void assert_answers(float value)
{
	char text[64];

	sp_http_call(host.port, "POST", MODEL ":predict", "{\"inputs\":{\"keys\":[0]}}", &reply);
	assert_int_equal(reply.status, 200);
	snprintf(text, sizeof(text), "%.1f", (double)value);
	if (strstr(reply.body, text) == NULL)
		fail_msg("no %s in %s", text, reply.body);
}

/* Of the metric of that name; -99 without. */
static double metric(const char *name)
{
	char sample[200];
	const char *at;

	snprintf(sample, sizeof(sample), "\nserving_processor_%s{model_name=\"rows\"} ", name);
	assert_int_equal(call("GET", METRICS), 200);
	at = strstr(reply.body, sample);
	return at != NULL ? strtod(at + strlen(sample), NULL) : -99;
}

static void await_metric(const char *name, double value)
{
	for (int i = 0; i < TURNS; i++) {
		if (metric(name) == value)
			return;
		usleep(5000);
	}
	fail_msg("%s is %g, not %g", name, metric(name), value);
}

static void assert_logged(const char *text)
{
	if (strstr(sp_host_process_log(&host), text) == NULL)
		fail_msg("no %s in %s", text, sp_host_process_log(&host));
}

static void break_data(int full, int delta)
{
	char prefix[SP_PATH_SIZE], path[SP_PATH_SIZE + 32];
	FILE *file;
	int byte;

	sp_row_model_prefix(&rows, full, delta, prefix);
	snprintf(path, sizeof(path), "%s.data-00000-of-00001", prefix);
	file = fopen(path, "r+");
	assert_non_null(file);
	fseek(file, 1000, SEEK_SET);
	byte = fgetc(file);
	fseek(file, 1000, SEEK_SET);
	fputc(byte ^ 1, file);
	fclose(file);
}

/* ----------------------------------------------------------------------- tests */

static void one_goes_back_as_often_as_there_are_versions(void **state)
{
	(void)state;
	assert_true(start(""));
	for (int delta = 7; delta <= 9; delta++) {
		sp_row_model_write_delta(&rows, 1, delta);
		await_live(1000, 1000 + delta);
	}
	order(MODEL ":rollback");
	assert_logged("rollback by order of 127.0.0.1:");
	assert_logged(": from version 1000+1009 to 1000+1008");
	assert_answers(1008);
	order(MODEL ":rollback");
	assert_answers(1007);
	await(MODEL "/versions", "\"why\":\"rolled back by order of 127.0.0.1:");
	assert_true(metric("newest_delta_step") == 1009);
	usleep(50000);
	assert_true(metric("update_lag_seconds") > 0);
	assert_true(metric("pinned") == 0);

	/* A new process knows nothing of that; what it goes back to, it finds on the disk. */
	kill_it();
	assert_true(start(""));
	await_live(1000, 1009);
	order(MODEL ":rollback");
	assert_answers(1008);
	order(MODEL ":rollback");
	assert_answers(1007);
	order(MODEL ":rollback");
	await_live(1000, -1);
	assert_int_equal(call("POST", MODEL ":rollback"), 400);
	assert_non_null(strstr(reply.body, "no older one on the disk"));
	assert_logged("rollback by order of 127.0.0.1:");
	assert_logged(" has failed, 1000 is live: ");
	sp_row_model_write_delta(&rows, 1, 10);
	await_live(1000, 1010);
}

static void a_pin_outlives_the_process(void **state)
{
	char key[SP_PATH_SIZE + 100], path[SP_PATH_SIZE];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%.480s/pin", rows.work);
	snprintf(key, sizeof(key), ", \"pin_file\": \"%s\"", path);
	sp_row_model_write_delta(&rows, 1, 7);
	assert_true(start(key));
	await_live(1000, 1007);
	order(MODEL "/versions/1000/deltas/1007:pin");
	assert_non_null(strstr(reply.body, "\"pinned\":{\"full_step\":1000,\"delta_step\":1007,"));
	assert_non_null(strstr(reply.body, "\"by\":\"127.0.0.1:"));
	sp_row_model_write_delta(&rows, 1, 8);
	await_metric("newest_delta_step", 1008);
	assert_true(metric("pinned") == 1);
	await(MODEL "/versions", "\"why\":\"1000+1007 is pinned by order of 127.0.0.1:");
	assert_answers(1007);
	kill_it();

	assert_true(start(key));
	await_live(1000, 1007);
	assert_true(metric("pinned") == 1);
	await_metric("newest_delta_step", 1008);
	usleep(50000);
	assert_true(metric("update_lag_seconds") > 0);
	assert_true(metric("live_delta_step") == 1007);
	assert_answers(1007);
	order(MODEL ":unpin");
	await_live(1000, 1008);
	assert_true(metric("pinned") == 0);
	assert_true(metric("update_lag_seconds") == 0);
	assert_int_not_equal(access(path, F_OK), 0);
	kill_it();

	/* One that is not there is not replaced by another. */
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("1000+1006\n", file);
	fclose(file);
	assert_false(start(key));
	assert_int_not_equal(sp_host_process_wait(&host), 0);
	assert_logged("version 1000+1006 is pinned by order of the pin_file '");
}

static void an_alarm_ends_with_its_files(void **state)
{
	(void)state;
	assert_true(start(""));
	order(MODEL "/versions/1000:pin");
	sp_row_model_write_delta(&rows, 1, 7);
	break_data(1, 7);
	order(MODEL ":unpin");
	await(MODEL "/versions", "\"refusals\":{\"corrupt\":1}");
	await(MODEL "/versions", "\"state\":\"refused\"");
	usleep(50000);
	assert_true(metric("update_lag_seconds") > 0);
	sp_row_model_remove(&rows, 1, 7);
	await_metric("update_lag_seconds", 0);
	await_metric("newest_delta_step", -1);
	assert_null(strstr(reply.body, "version_refusal{"));
}

/* In TensorFlow Serving's words. */
static void the_status_of_each_version_is_told(void **state)
{
	static const char live[] =
		"{\"version\":\"3000\",\"state\":\"AVAILABLE\",\"status\":{\"error_code\":\"OK\","
		"\"error_message\":\"\"}}";
	static const char retired[] =
		"{\"version\":\"1000\",\"state\":\"END\",\"status\":{\"error_code\":\"OK\","
		"\"error_message\":\"\"}}";
	static const char refused[] = "{\"version\":\"2000\",\"state\":\"END\",\"status\":"
				      "{\"error_code\":\"DATA_LOSS\",\"error_message\":\"";
	const char *first, *second, *third;

	(void)state;
	assert_true(start(""));
	order(MODEL "/versions/1000:pin");
	sp_row_model_write_full(&rows, 2);
	break_data(2, 0);
	await(MODEL "/versions/2000", "\"state\":\"START\"");
	order(MODEL ":unpin");
	await(MODEL "/versions/2000", refused);
	assert_int_equal(call("GET", MODEL "/versions/1000"), 200);
	assert_non_null(strstr(reply.body, "\"state\":\"AVAILABLE\""));
	sp_row_model_write_full(&rows, 3);
	await(MODEL "/versions/3000", live);
	await(MODEL "/versions/1000", retired);
	assert_int_equal(call("GET", MODEL "/versions/4000"), 404);
	assert_non_null(strstr(reply.body, "Could not find version 4000 of model rows"));
	assert_int_equal(call("GET", "/v1/models/else/versions/1000"), 404);
	assert_int_equal(call("GET", MODEL), 200);
	first = strstr(reply.body, live);
	second = strstr(reply.body, refused);
	third = strstr(reply.body, retired);
	assert_true(first != NULL && second != NULL && third != NULL);
	assert_true(first < second && second < third);
	/* Requests go to what is served only. */
	assert_int_equal(call("POST", MODEL "/versions/1000:predict"), 404);

	order(MODEL ":rollback");
	await(MODEL "/versions/3000", "\"state\":\"END\",\"status\":{\"error_code\":\"CANCELLED\","
				      "\"error_message\":\"rolled back by order of 127.0.0.1:");
	assert_int_equal(call("GET", MODEL "/versions/1000"), 200);
	assert_non_null(strstr(reply.body, "\"state\":\"AVAILABLE\""));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(one_goes_back_as_often_as_there_are_versions),
		CASE(a_pin_outlives_the_process),
		CASE(an_alarm_ends_with_its_files),
		CASE(the_status_of_each_version_is_told),
	};

	return cmocka_run_group_tests_name("orders", tests, NULL, NULL);
}
