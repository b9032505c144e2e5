#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"

/* The log of serving_host, with a golden model: what each line has, and which there are. */

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, "--drain_delay_in_ms=0", NULL})

static sp_host_process process;

static const char *program_path(void)
{
	static char path[SP_PATH_SIZE];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/serving_host", builddir != NULL ? builddir : ".");
	return path;
}

static const char *model_path(void)
{
	static char path[SP_PATH_SIZE];

	return sp_source_path(path, "tests/golden/ev-ctr-checkpoint/model");
}

static int set_up(void **state)
{
	(void)state;
	sp_host_process_init(&process);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_host_process_fini(&process);
	return 0;
}

static void stop(void)
{
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0);
}

static int call(const char *method, const char *path, const char *body)
{
	sp_http_reply *reply = malloc(sizeof(*reply));
	int status;

	sp_http_call(process.port, method, path, body, reply);
	status = reply->status;
	free(reply);
	return status;
}

static size_t count_in(const char *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

/* A configuration file in the process's folder, of a text with one %s for the model. */
static const char *write_config(const char *format)
{
	static char path[SP_PATH_SIZE + 16], text[SP_PATH_SIZE + 1000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/config.json", process.folder);
	snprintf(text, sizeof(text), format, model_path());
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

/* ------------------------------------------------------------------ the lines */

/* "2026-01-31T12:00:00.123Z" */
static bool is_time(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";

	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

static void check_text(char *line)
{
	static const char *const levels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
	bool known = false;
	char start[64];

	if (!is_time(line))
		fail_msg("no time: %s", line);
	for (size_t i = 0; i < 4; i++) {
		snprintf(start, sizeof(start), " %s [ctr] ", levels[i]);
		known = known || strncmp(line + 24, start, strlen(start)) == 0;
	}
	if (!known)
		fail_msg("no level and model: %s", line);
}

static void check_json(char *line)
{
	static const char *const keys[] = {"time", "level", "model", "message"};
	cJSON *object = cJSON_Parse(line);
	const cJSON *item = object != NULL ? object->child : NULL;

	for (size_t i = 0; i < 4; i++, item = item != NULL ? item->next : NULL)
		if (!cJSON_IsString(item) || strcmp(item->string, keys[i]) != 0)
			fail_msg("no '%s': %s", keys[i], line);
	assert_null(item);
	assert_true(is_time(cJSON_GetObjectItem(object, "time")->valuestring));
	assert_string_equal(cJSON_GetObjectItem(object, "model")->valuestring, "c\"tr");
	cJSON_Delete(object);
}

static void each_line(void (*check)(char *line))
{
	char *text = strdup(sp_host_process_log(&process)), *rest;
	size_t count = 0;

	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest), count++)
		check(line);
	assert_true(count >= 5);
	free(text);
}

static void every_line_has_a_time_a_level_and_the_model(void **state)
{
	(void)state;
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--model_name=ctr", "--log_level=debug", "--model_base_path", model_path()),
		true));
	assert_int_equal(call("POST", "/v1/models/ctr:predict", "no JSON"), 400);
	stop();
	each_line(check_text);
	assert_non_null(strstr(process.log, " DEBUG [ctr] "));
	assert_non_null(strstr(process.log, " INFO [ctr] listening on http://127.0.0.1:"));
	assert_non_null(strstr(process.log, " WARNING [ctr] POST /v1/models/ctr:predict from "
					    "127.0.0.1:"));
}

/* What the thread says that loads versions, and its helpers. */
static void lines_of_all_threads_have_the_model(void **state)
{
	char checkpoints[SP_PATH_SIZE], json[SP_PATH_SIZE + 500];

	(void)state;
	snprintf(json, sizeof(json),
		 "{\"checkpoint_dir\": \"%s\", \"savedmodel_dir\": \"%%s\","
		 "\"signature_name\": \"serving_default\", \"model_store_type\": \"local\","
		 "\"feature_store_type\": \"memory\", \"serialize_protocol\": \"protobuf\"}",
		 sp_source_path(checkpoints, "tests/golden/ev-ctr-checkpoint/checkpoints"));
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--model_name=ctr", "--admin_routes",
						"--processor_config", write_config(json)),
					  true));
	assert_int_equal(call("POST", "/v1/models/ctr:reload", ""), 200);
	stop();
	each_line(check_text);
	assert_true(count_in(process.log, " is live ") >= 2);
}

static void lines_can_be_json_by_flag(void **state)
{
	(void)state;
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--model_name=c\"tr", "--log_format=json", "--model_base_path", model_path()),
		true));
	assert_int_equal(call("POST", "/v1/models/c%22tr:predict", "{\"\\\"\x01\xff"), 400);
	stop();
	each_line(check_json);
}

/* The host's lines, too, from the first on; flags go before what it says. */
static void lines_can_be_json_by_configuration(void **state)
{
	(void)state;
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--model_name=c\"tr", "--log_level=info", "--processor_config",
		      write_config("{\"name\": \"service\", \"model_config\": {\"savedmodel_dir\": "
				   "\"%s\", \"signature_name\": \"serving_default\","
				   "\"model_store_type\": \"local\", \"feature_store_type\": "
				   "\"memory\", \"serialize_protocol\": \"protobuf\","
				   "\"model_name\": \"other\", \"log_level\": \"error\","
				   "\"kmp_blocktime\": \"s3cr3t\", \"log_format\": \"json\"}}")),
		true));
	stop();
	each_line(check_json);
	assert_non_null(strstr(process.log, "'kmp_blocktime' is DeepRec's and has no effect here"));
	assert_null(strstr(process.log, "s3cr3t"));
}

static void what_keeps_the_host_from_serving_is_a_line(void **state)
{
	(void)state;
	assert_false(sp_host_process_start(&process, program_path(),
					   FLAGS("--model_name=c\"tr", "--log_format=json",
						 "--model_base_path=/nowhere/at/all"),
					   true));
	assert_int_equal(sp_host_process_wait(&process), 1);
	sp_host_process_log(&process);
	check_json(process.log);
	assert_non_null(strstr(process.log, "\"level\":\"error\""));
	assert_non_null(strstr(process.log, "/nowhere/at/all"));
}

/* ------------------------------------------------------- requests that fail */

static void expect_line(const char *line, const char *end)
{
	const char *at = strstr(sp_host_process_log(&process), line);

	if (at == NULL)
		fail_msg("no line \"%s\" in %s", line, process.log);
	at = strstr(at, " from 127.0.0.1:");
	assert_non_null(at);
	at += strlen(" from 127.0.0.1:");
	at += strspn(at, "0123456789");
	if (strncmp(at, end, strlen(end)) != 0)
		fail_msg("\"%s\" does not end with \"%s\" but %.200s", line, end, at);
}

static void send_raw(const char *text)
{
	sp_http_reply *reply = malloc(sizeof(*reply));
	sp_http_client client;

	assert_true(sp_http_client_open(&client, process.port));
	sp_http_client_send_text(&client, text);
	sp_http_client_receive(&client, reply);
	assert_true(reply->status >= 400);
	sp_http_client_close(&client);
	free(reply);
}

static void a_request_that_fails_leaves_a_line(void **state)
{
	(void)state;
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--model_name=ctr", "--max_body_bytes=1000",
						"--model_base_path", model_path()),
					  true));
	assert_int_equal(call("GET", "/healthz/ready", NULL), 200);
	call("GET", "/healthz/none", NULL);
	call("POST", "/v1/models/ctr:predict?token=s3cr3t", "{\"s3cr3t");
	expect_line(" WARNING [ctr] POST /v1/models/ctr:predict from", " is answered 400: JSON ");
	call("POST", "/v1/models/ctr:predict", "{\"inputs\": {\"nobody\": [1]}}");
	call("POST", "/v1/models/ctr/versions/9:predict", "{}");
	expect_line(" WARNING [ctr] POST /v1/models/ctr/versions/9:predict from",
		    " is answered 404: Servable not found");
	call("GET", "/v1/models/other", NULL);
	expect_line("Z WARNING GET /v1/models/other from", " is answered 404: Could not find");
	send_raw("POST /v1/models/ctr:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
	expect_line("Z WARNING POST /v1/models/ctr:predict from",
		    " is answered 413: Request body too large");
	send_raw("no request\r\n\r\n");
	expect_line("Z WARNING a request from", " is answered 400: Bad request: ");
	assert_int_equal(call("POST", "/v1/models/ctr:classify", "{}"), 400);
	expect_line(" WARNING [ctr] POST /v1/models/ctr:classify from", " is answered 400: ");
	assert_null(strstr(process.log, "s3cr3t"));
	assert_null(strstr(process.log, "healthz"));
	assert_int_equal(count_in(process.log, " is answered "), 7);
	stop();
}

static void nobody_can_fill_the_log(void **state)
{
	size_t lines;

	(void)state;
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--model_name=ctr", "--model_base_path", model_path()), true));
	for (int i = 0; i < 300; i++)
		assert_int_equal(call("POST", "/v1/models/ctr:predict", "no JSON"), 400);
	lines = count_in(sp_host_process_log(&process), " is answered 400");
	assert_in_range(lines, 10, 100);
	for (int i = 0; i < 500 && strstr(process.log, "similar lines were left out") == NULL;
	     i++) {
		usleep(20000);
		assert_int_equal(call("POST", "/v1/models/ctr:predict", "no JSON"), 400);
		sp_host_process_log(&process);
	}
	assert_int_equal(count_in(process.log, " WARNING [ctr] "),
			 count_in(process.log, " is answered 400") +
				 count_in(process.log, " similar lines were left out\n"));
	/* Others have limits of their own. */
	call("GET", "/v1/models/other", NULL);
	expect_line(" WARNING GET /v1/models/other from", " is answered 404");
	stop();
}

/* ------------------------------------------------------------------- the level */

static void the_level_can_be_set_at_run_time(void **state)
{
	sp_http_reply *reply = malloc(sizeof(*reply));

	(void)state;
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--model_name=ctr", "--admin_routes", "--model_base_path", model_path()),
		true));
	sp_http_call(process.port, "GET", "/v1/log_level", NULL, reply);
	assert_string_equal(reply->body, "{\"log_level\":\"info\"}");
	sp_http_call(process.port, "POST", "/v1/log_level/error", "", reply);
	assert_int_equal(reply->status, 200);
	assert_string_equal(reply->body, "{\"log_level\":\"error\"}");
	assert_int_equal(call("POST", "/v1/models/ctr:predict", "first"), 400);
	assert_null(strstr(sp_host_process_log(&process), ":predict"));
	assert_int_equal(call("POST", "/v1/log_level/info", ""), 200);
	assert_int_equal(call("POST", "/v1/models/ctr:predict", "second"), 400);
	assert_int_equal(count_in(sp_host_process_log(&process), ":predict"), 1);

	sp_http_call(process.port, "POST", "/v1/log_level/verbose", "", reply);
	assert_int_equal(reply->status, 400);
	assert_non_null(strstr(reply->body, "use one of: debug info warning error"));
	assert_int_equal(call("POST", "/v1/log_level", ""), 405);
	assert_int_equal(call("GET", "/v1/log_level/info", NULL), 405);
	assert_int_equal(call("GET", "/v1/log_levels", NULL), 400);
	free(reply);
	stop();
}

static void only_with_admin_routes(void **state)
{
	(void)state;
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--model_base_path", model_path()), true));
	assert_int_equal(call("POST", "/v1/log_level/error", ""), 403);
	assert_int_equal(call("GET", "/v1/log_level", NULL), 403);
	stop();
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(every_line_has_a_time_a_level_and_the_model),
		CASE(lines_of_all_threads_have_the_model),
		CASE(lines_can_be_json_by_flag),
		CASE(lines_can_be_json_by_configuration),
		CASE(what_keeps_the_host_from_serving_is_a_line),
		CASE(a_request_that_fails_leaves_a_line),
		CASE(nobody_can_fill_the_log),
		CASE(the_level_can_be_set_at_run_time),
		CASE(only_with_admin_routes),
	};

	return cmocka_run_group_tests_name("host_log", tests, NULL, NULL);
}
