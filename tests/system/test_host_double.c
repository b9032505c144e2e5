#include "tests/support/cmocka.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"

/*
 * serving_host over loopback, its processor replaced by the double: what needs
 * a processor that is slow or fails, and the whole of the REST dialect.
 */

static const char *program_path(void)
{
	static char path[4096];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/tests/system/serving_host_double",
		 builddir != NULL ? builddir : ".");
	return path;
}

/* A configuration file in the process's folder; its path is static. */
static const char *write_config(sp_host_process *process, const char *text)
{
	static char path[5000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/config.json", process->folder);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	return path;
}

#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void start(sp_host_process *process, const char *config)
{
	sp_host_process_init(process);
	assert_true(sp_host_process_start(
		process, program_path(),
		FLAGS("--model_name=half", "--admin_routes", "--version_labels=stable,a b",
		      "--processor_config", write_config(process, config), "--drain_delay_in_ms=0"),
		true));
}

static void stop(sp_host_process *process)
{
	sp_host_process_signal(process, SIGTERM);
	assert_int_equal(sp_host_process_wait(process), 0);
	sp_host_process_fini(process);
}

/* ------------------------------------------------------------- one process */

static sp_host_process shared;

static int setup(void **state)
{
	(void)state;
	start(&shared, "{}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stop(&shared);
	return 0;
}

typedef struct exchange {
	const char *method, *path, *body;
	int status;
	const char *answer; /* exact, or a part of it for an error */
} exchange;

static void check(const exchange *exchanges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const exchange *e = &exchanges[i];
		sp_http_reply reply;
		bool right;

		sp_http_call(shared.port, e->method, e->path, e->body, &reply);
		right = e->status == 200 ? strcmp(reply.body, e->answer) == 0
					 : strstr(reply.body, e->answer) != NULL &&
						   strncmp(reply.body, "{\"error\":\"", 10) == 0;
		if (reply.status != e->status || !right)
			fail_msg("%s %s %s\ngives %d %s", e->method, e->path,
				 e->body != NULL ? e->body : "", reply.status, reply.body);
		assert_non_null(strstr(reply.head, "Content-Type: application/json\r\n"));
	}
}

#define CHECK(...)                                                          \
	do {                                                                \
		static const exchange exchanges[] = {__VA_ARGS__};          \
		(void)state;                                                \
		check(exchanges, sizeof(exchanges) / sizeof(exchanges[0])); \
	} while (0)

static void paths_that_are_none_are_malformed_requests(void **state)
{
	CHECK({"GET", "/v1/foo", NULL, 400, "Malformed request: GET /v1/foo"},
	      {"POST", "/v1/foo", "", 400, "Malformed request: POST /v1/foo"},
	      {"GET", "/v1/models", NULL, 400, "Missing model name"},
	      {"GET", "/v1/models/", NULL, 400, "Malformed request"},
	      {"GET", "/v1/models/debug/model_name", NULL, 400, "Malformed request"},
	      {"POST", "/v1/models", "", 400, "Malformed request"},
	      {"GET", "/v1/models/foo:predict", NULL, 400, "Malformed request"},
	      {"GET", "/v1/models/foo/version/50:predict", NULL, 400, "Malformed request"},
	      {"POST", "/v1/models/foo/version/50:predict", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo/versions/HELLO:regress", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo/versions/some_label:regress", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo/label/some_label:regress", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo/versions/50/labels/x:regress", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo/metadata", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo:dance", "", 400, "Malformed request"},
	      {"POST", "/v1/models/foo:predict/x", "", 400, "Malformed request"},
	      {"PUT", "/v1/models/half:predict", "", 400, "Malformed request: PUT "},
	      {"DELETE", "/v1/models/half", NULL, 400, "Malformed request"},
	      {"POST", "/v1/models/foo/versions/18446744073709551615:regress", "", 400,
	       "Failed to convert version"},
	      {"GET", "/statuspage", NULL, 404, "Not found"}, {"GET", "/index", NULL, 404, ""},
	      {"GET", "/v1", NULL, 404, ""}, {"GET", "/", NULL, 404, ""},
	      {"GET", "/healthz/other", NULL, 404, ""}, {"POST", "/healthz/live", "", 405, ""});
}

static void models_that_are_not_there_are_not_found(void **state)
{
	CHECK({"POST", "/v1/models/foo:predict", "{\"instances\":[1]}", 404,
	       "Servable not found for request: Latest(foo)"},
	      {"POST", "/v1/models/foo/versions/50:predict", "{}", 404,
	       "Servable not found for request: Specific(foo, 50)"},
	      {"POST", "/v1/models/half/versions/99:predict", "{\"instances\":[1]}", 404,
	       "Servable not found for request: Specific(half, 99)"},
	      {"POST", "/v1/models/half/labels/other:predict", "{}", 400,
	       "Unrecognized servable version label: other"},
	      {"POST", "/v1/models/HALF:predict", "{}", 404, "Servable not found"},
	      {"GET", "/v1/models/foo", NULL, 404, "Could not find any versions of model foo"},
	      {"GET", "/v1/models/half/versions/99", NULL, 404,
	       "Could not find version 99 of model half"},
	      {"GET", "/v1/models/half/labels/other", NULL, 400, "Unrecognized servable version"},
	      {"GET", "/v1/models/foo/metadata", NULL, 404, "Servable not found"});
}

static void predictions_are_made(void **state)
{
	CHECK({"POST", "/v1/models/half:predict", "{\"instances\":[[1.0,2.0],[3.0,4.0]]}", 200,
	       "{\"predictions\":[[2.5,3.0],[3.5,4.0]]}"},
	      {"POST", "/v1/models/half/versions/77:predict", "{\"instances\":[1.0,2.0]}", 200,
	       "{\"predictions\":[2.5,3.0]}"},
	      {"POST", "/v1/models/half/labels/stable:predict", "{\"instances\":[1.0,2.0]}", 200,
	       "{\"predictions\":[2.5,3.0]}"},
	      {"POST", "/V1/Models/%68%61lf/LABELS/a%20b:Predict?query=1", "{\"instances\":[2]}",
	       200, "{\"predictions\":[3.0]}"},
	      {"POST", "/v1/models/half:predict",
	       "{\"signature_name\":\"serving_default\",\"inputs\":[3.0,4.0]}", 200,
	       "{\"outputs\":[3.5,4.0]}"},
	      {"POST", "/v1/models/half:predict", "{\"inputs\":2}", 200, "{\"outputs\":3.0}"},
	      {"POST", "/v1/models/half:predict", "{\"instances\":[NaN,Infinity]}", 200,
	       "{\"predictions\":[NaN,Infinity]}"},
	      {"POST", "/v1/models/half:predict",
	       "{\"signature_name\":\"echo\",\"instances\":["
	       "{\"id\":9007199254740993,\"text_bytes\":\"a\"},"
	       "{\"id\":-9223372036854775808,\"text_bytes\":{\"b64\":\"/w==\"}}]}",
	       200,
	       "{\"predictions\":[{\"id\":9007199254740993,\"text_bytes\":{\"b64\":\"YQ==\"}},"
	       "{\"id\":-9223372036854775808,\"text_bytes\":{\"b64\":\"/w==\"}}]}"});
}

static void bodies_that_do_not_fit_are_refused(void **state)
{
	CHECK({"POST", "/v1/models/half:predict", NULL, 400,
	       "JSON Parse error: The document is empty"},
	      {"POST", "/v1/models/half:predict", "instances = [1, 2]", 400,
	       "JSON Parse error: Invalid value"},
	      {"POST", "/v1/models/half:predict", "{\"instances\":[\"x\",\"y\"]}", 400,
	       "not of expected type: float"},
	      {"POST", "/v1/models/half:predict", "{\"instances\":[1,-1e39]}", 400,
	       "JSON Value: -1e39 is out of the range of type: float"},
	      {"POST", "/v1/models/half:predict", "{\"inputs\":{\"x\":[[1e400]]}}", 400,
	       "JSON Value: 1e400 is out of the range of type: float"},
	      {"POST", "/v1/models/half:predict", "{\"signature_name\":100}", 400,
	       "'signature_name' key must be a string value."},
	      {"POST", "/v1/models/half:predict", "{\"instances\":[1],\"signature_name\":\"s\"}",
	       400, "Serving signature name: \\\"s\\\" not found in signature def"},
	      {"POST", "/v1/models/half:predict", "{\"instances\":[1],\"inputs\":[1]}", 400,
	       "Not formatted correctly"},
	      {"POST", "/v1/models/half:predict",
	       "{\"signature_name\":\"echo\",\"inputs\":{\"id\":1,\"text_bytes\":[\"a\"]}}", 200,
	       "{\"outputs\":{\"id\":1,\"text_bytes\":[{\"b64\":\"YQ==\"}]}}"},
	      {"POST", "/v1/models/half:predict", "{\"signature_name\":\"echo\",\"instances\":[]}",
	       400, "No values in 'instances'"},
	      {"POST", "/v1/models/half:classify", "{\"examples\":[{\"x\":1}]}", 501,
	       ":classify is not supported"},
	      {"POST", "/v1/models/half/versions/77:regress", "{}", 501,
	       ":regress is not supported"},
	      {"POST", "/v1/models/none:regress", "{}", 404, "Servable not found"});
}

static void status_and_metadata_are_told(void **state)
{
	static const char status[] =
		"{\"model_version_status\":[{\"version\":\"77\",\"state\":\"AVAILABLE\","
		"\"status\":{\"error_code\":\"OK\",\"error_message\":\"\"}}]}";
	static const char metadata[] =
		"{\"model_spec\":{\"name\":\"half\",\"signature_name\":\"\",\"version\":\"77\"},"
		"\"metadata\":{\"signature_def\":{\"signature_def\":{"
		"\"echo\":{\"inputs\":{"
		"\"id\":{\"dtype\":\"DT_INT64\",\"tensor_shape\":{\"dim\":[],\"unknown_rank\":true}"
		","
		"\"name\":\"id:0\"},"
		"\"text_bytes\":{\"dtype\":\"DT_STRING\",\"tensor_shape\":{\"dim\":["
		"{\"size\":\"-1\",\"name\":\"\"},{\"size\":\"2\",\"name\":\"\"}],"
		"\"unknown_rank\":false},\"name\":\"t:0\"}},"
		"\"outputs\":{"
		"\"id\":{\"dtype\":\"DT_INT64\",\"tensor_shape\":{\"dim\":[],\"unknown_rank\":true}"
		","
		"\"name\":\"id:0\"},"
		"\"text_bytes\":{\"dtype\":\"DT_STRING\",\"tensor_shape\":{\"dim\":["
		"{\"size\":\"-1\",\"name\":\"\"},{\"size\":\"2\",\"name\":\"\"}],"
		"\"unknown_rank\":false},\"name\":\"t:0\"}},"
		"\"method_name\":\"tensorflow/serving/predict\",\"defaults\":{}},"
		"\"serving_default\":{\"inputs\":{\"x\":{\"dtype\":\"DT_FLOAT\",\"tensor_shape\":"
		"{\"dim\":[{\"size\":\"-1\",\"name\":\"\"}],\"unknown_rank\":false},"
		"\"name\":\"x:0\"}},"
		"\"outputs\":{\"y\":{\"dtype\":\"DT_FLOAT\",\"tensor_shape\":{\"dim\":[],"
		"\"unknown_rank\":true},\"name\":\"y:0\"}},"
		"\"method_name\":\"tensorflow/serving/predict\",\"defaults\":{}}}}}}";

	CHECK({"GET", "/v1/models/half", NULL, 200, status},
	      {"GET", "/v1/models/half/versions/77", NULL, 200, status},
	      {"GET", "/v1/models/half/labels/stable", NULL, 200, status},
	      {"GET", "/v1/models/half/metadata", NULL, 200, metadata},
	      {"GET", "/v1/models/half/versions/77/metadata", NULL, 200, metadata},
	      {"GET", "/healthz/live", NULL, 200, "{\"live\":true}"},
	      {"GET", "/healthz/ready", NULL, 200, "{\"ready\":true}"});
}

static void versions_are_told_and_ordered(void **state)
{
	CHECK({"GET", "/v1/models/half/versions", NULL, 200, "{\"versions\":[]}"},
	      {"POST", "/v1/models/half:reload", "", 200, "{\"versions\":[]}"},
	      {"POST", "/v1/models/half:rollback", "", 400, "no version was live before this one"},
	      {"POST", "/v1/models/half/versions/100:pin", "", 501, "pin 100 -1"},
	      {"POST", "/v1/models/half/versions/100/deltas/120:pin", "", 501, "pin 100 120"},
	      {"POST", "/v1/models/half:unpin", "", 501, "pin -1 -1"},
	      {"POST", "/v1/models/none:reload", "", 404, "Servable not found"},
	      {"GET", "/v1/models/half/versions/77/versions", NULL, 400, "Malformed request"},
	      {"GET", "/v1/models/half:reload", NULL, 400, "Malformed request"},
	      {"POST", "/v1/models/half/versions", "", 400, "Malformed request"},
	      {"POST", "/v1/models/half:pin", "", 400, "Malformed request"},
	      {"POST", "/v1/models/half/versions/77:reload", "", 400, "Malformed request"},
	      {"POST", "/v1/models/half/versions/77/deltas/1:predict", "", 400,
	       "Malformed request"},
	      {"POST", "/v1/models/half/versions/1/deltas/99999999999999999999:pin", "", 400,
	       "Failed to convert version"});
}

static void an_answer_has_these_headers_and_no_others(void **state)
{
	sp_http_reply reply;
	char *line, *rest;
	int lines = 0;

	(void)state;
	sp_http_call(shared.port, "POST", "/v1/models/half:predict", "{\"instances\":[1]}", &reply);
	assert_int_equal(reply.status, 200);
	for (line = strtok_r(reply.head, "\r\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\r\n", &rest), lines++)
		assert_true(strcmp(line, "HTTP/1.1 200 OK") == 0 ||
			    strncmp(line, "Date: ", 6) == 0 ||
			    strcmp(line, "Content-Type: application/json") == 0 ||
			    strcmp(line, "Content-Length: 21") == 0);
	assert_int_equal(lines, 4);
}

static void encodings_and_origins_are_looked_at(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{"POST /v1/models/half:predict HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
		 "Content-Length: 2\r\n\r\n{}",
		 415},
		{"OPTIONS /v1/models/half:predict HTTP/1.1\r\nHost: a\r\n"
		 "Origin: https://example.org\r\n\r\n",
		 200},
		{"OPTIONS /v1/x HTTP/1.1\r\nHost: a\r\nOrigin: nowhere\r\n\r\n", 400},
		{"OPTIONS /v1/x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		{"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 404},
		{"GET /v1/models/half HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 200},
	};
	sp_http_client client;
	sp_http_reply reply;

	(void)state;
	assert_true(sp_http_client_open(&client, shared.port));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_http_client_send_text(&client, cases[i].text);
		sp_http_client_receive(&client, &reply);
		if (reply.status != cases[i].status)
			fail_msg("%s gives %d", cases[i].text, reply.status);
	}
	sp_http_client_close(&client);
}

/* ------------------------------------------------------- processes of their own */

static void errors_of_the_processor_have_their_status(void **state)
{
	static const struct {
		int code, status;
	} cases[] = {{1, 400}, {2, 400}, {3, 501}, {4, 500}, {5, 503},
		     {6, 503}, {7, 503}, {8, 504}, {9, 500}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_host_process process;
		sp_http_reply reply;
		char config[64];

		snprintf(config, sizeof(config), "{\"run_code\":%d}", cases[i].code);
		start(&process, config);
		sp_http_call(process.port, "POST", "/v1/models/half:predict", "{\"instances\":[1]}",
			     &reply);
		assert_int_equal(reply.status, cases[i].status);
		assert_string_equal(reply.body, "{\"error\":\"as \\\"configured\\\"\"}");
		assert_int_equal(strstr(reply.head, "Retry-After: 1") != NULL,
				 cases[i].status == 503);
		stop(&process);
	}
}

/* complex64, qint8, resource, variant */
static void outputs_that_json_cannot_say_are_bad_requests(void **state)
{
	static const struct {
		int dtype;
		const char *name;
	} cases[] = {{8, "complex64"}, {11, "qint8"}, {20, "resource"}, {21, "variant"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_host_process process;
		sp_http_reply reply;
		char config[64], want[128];

		snprintf(config, sizeof(config), "{\"y_dtype\":%d}", cases[i].dtype);
		snprintf(want, sizeof(want),
			 "Tensor name: y has a value that JSON cannot say: tensor type: %s\"}",
			 cases[i].name);
		start(&process, config);
		sp_http_call(process.port, "POST", "/v1/models/half:predict", "{\"instances\":[1]}",
			     &reply);
		assert_int_equal(reply.status, 400);
		assert_non_null(strstr(reply.body, want));
		stop(&process);
	}
}

static void probes_are_answered_while_the_model_loads(void **state)
{
	sp_host_process process;
	sp_http_reply reply;

	(void)state;
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config",
						write_config(&process, "{\"load_ms\":1500}"),
						"--drain_delay_in_ms=0"),
					  false));
	sp_http_call(process.port, "GET", "/healthz/live", NULL, &reply);
	assert_int_equal(reply.status, 200);
	sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
	assert_int_equal(reply.status, 503);
	sp_http_call(process.port, "POST", "/v1/models/default:predict", "{}", &reply);
	assert_int_equal(reply.status, 503);
	assert_non_null(strstr(reply.body, "Servable not found for request: Latest(default)"));
	sp_http_call(process.port, "GET", "/v1/models/default", NULL, &reply);
	assert_int_equal(reply.status, 404);
	assert_null(strstr(sp_host_process_log(&process), "listening on"));
	for (int i = 0; i < 500 && reply.status != 200; i++) {
		usleep(20000);
		sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
	}
	assert_int_equal(reply.status, 200);
	stop(&process);
}

static void a_signal_while_loading_ends_at_once(void **state)
{
	sp_host_process process;
	int64_t began;

	(void)state;
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--processor_config", write_config(&process, "{\"load_ms\":60000}")), false));
	began = sp_clock_now_ns();
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0);
	assert_true(sp_clock_now_ns() - began < INT64_C(5000000000));
	sp_host_process_fini(&process);
}

static void a_model_that_cannot_be_opened_is_exit_status_1(void **state)
{
	sp_host_process process;

	(void)state;
	sp_host_process_init(&process);
	assert_false(sp_host_process_start(
		&process, program_path(),
		FLAGS("--processor_config",
		      write_config(&process, "{\"load_error\":\"the file is torn\"}")),
		true));
	assert_int_equal(sp_host_process_wait(&process), 1);
	assert_non_null(strstr(sp_host_process_log(&process), "the file is torn"));
	assert_false(sp_host_process_start(&process, program_path(),
					   FLAGS("--model_base_path=/nowhere/at/all"), true));
	assert_int_equal(sp_host_process_wait(&process), 1);
	assert_non_null(strstr(sp_host_process_log(&process), "/nowhere/at/all"));
	assert_false(sp_host_process_start(&process, program_path(),
					   FLAGS("--model_base_path", process.folder), true));
	assert_int_equal(sp_host_process_wait(&process), 1);
	assert_non_null(strstr(sp_host_process_log(&process), "neither a SavedModel nor"));
	sp_host_process_fini(&process);
}

static void make_file(const char *folder, const char *name, const char *file)
{
	char path[5000];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fclose(out);
}

static void expect_version(sp_host_process *process, const char *base, const char *version)
{
	sp_http_reply reply;

	assert_true(sp_host_process_start(process, program_path(),
					  FLAGS("--model_base_path", base, "--drain_delay_in_ms=0"),
					  true));
	sp_http_call(process->port, "GET", "/v1/models/default", NULL, &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.body, version));
	sp_host_process_signal(process, SIGINT);
	assert_int_equal(sp_host_process_wait(process), 0);
}

static void folders_are_numbered(void **state)
{
	sp_host_process process;
	char path[5000];

	(void)state;
	sp_host_process_init(&process);
	make_file(process.folder, "9", "saved_model.pb");
	make_file(process.folder, "00000123", "saved_model.pb");
	make_file(process.folder, "124x", "saved_model.pb");
	make_file(process.folder, "99999999999999999999999", "saved_model.pb");
	make_file(process.folder, "plain", "saved_model.pbtxt");
	/* Which of them it is the library says, because it may be another tomorrow. */
	expect_version(&process, process.folder, "\"version\":\"77\"");
	snprintf(path, sizeof(path), "%s/9/", process.folder);
	expect_version(&process, path, "\"version\":\"9\"");
	snprintf(path, sizeof(path), "%s/plain", process.folder);
	expect_version(&process, path, "\"version\":\"1\"");
	sp_host_process_fini(&process);
}

static void the_port_is_written_when_the_model_is_served(void **state)
{
	sp_host_process process;
	char path[5000], text[32] = "";
	FILE *file;

	(void)state;
	sp_host_process_init(&process);
	snprintf(path, sizeof(path), "%s/port", process.folder);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config",
						write_config(&process, "{\"load_ms\":500}"),
						"--port_file", path, "--drain_delay_in_ms", "0"),
					  false));
	assert_null(fopen(path, "r"));
	for (int i = 0; i < 500 && access(path, R_OK) != 0; i++)
		usleep(20000);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_int_equal(atoi(text), process.port);
	stop(&process);
}

static void a_wrong_command_line_is_exit_status_2(void **state)
{
	static const struct {
		const char *flags[5];
		const char *words;
	} cases[] = {
		{{"--modle_name=x"}, "unknown flag --modle_name"},
		{{"--unknown", "x"}, "unknown flag --unknown"},
		{{"stray"}, "\"stray\" is not a flag"},
		{{NULL}, "--model_base_path or --processor_config is needed"},
		{{"--rest_api_port=65536"}, "--rest_api_port: \"65536\" is not a number from 0"},
		{{"--rest_api_port=abc"}, "--rest_api_port"},
		{{"--max_queue=0"}, "--max_queue"},
		{{"--max_queue=9999999999999999999999"}, "--max_queue"},
		{{"--reuse_port=maybe"}, "--reuse_port: \"maybe\" is neither true nor false"},
		{{"--model_name=x", "--model_base_path"}, "--model_base_path needs a value"},
		{{"--model_base_path=a", "--processor_config=b"}, "exclude each other"},
		{{"--processor_config=b", "--log_format=xml"},
		 "--log_format: \"xml\" is none of text|json"},
		{{"--processor_config=b", "--log_level=INFO"}, "--log_level: \"INFO\" is none of"},
		{{"--processor_config=b", "--log_level="}, "--log_level: \"\" is none of"},
		{{"--processor_config=b", "--session_num=2"}, "--session_num has no effect"},
		{{"--processor_config=b", "--model_name="}, "--model_name must not be empty"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_host_process process;

		sp_host_process_init(&process);
		assert_false(sp_host_process_start(&process, program_path(), cases[i].flags, true));
		assert_int_equal(sp_host_process_wait(&process), 2);
		if (strstr(sp_host_process_log(&process), cases[i].words) == NULL)
			fail_msg("%s: %s", cases[i].words, process.log);
		sp_host_process_fini(&process);
	}
}

/* Every line of --help that begins with a flag. */
static size_t list_flags(const char *text, char names[64][64])
{
	size_t count = 0;

	for (const char *at = strstr(text, "\n  --"); at != NULL; at = strstr(at + 1, "\n  --")) {
		assert_true(count < 64);
		sscanf(at + 5, "%63[a-z_]", names[count++]);
	}
	return count;
}

static char *read_file(const char *path)
{
	char *text = calloc(1, 1 << 16);
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
	fclose(file);
	return text;
}

/* As the manual has a flag: ".BI \-\-name= VALUE" or ".B \-\-name". */
static bool manual_has(const char *manual, const char *name)
{
	char with_value[100], without[100];

	snprintf(with_value, sizeof(with_value), "\n.BI \\-\\-%s= ", name);
	snprintf(without, sizeof(without), "\n.B \\-\\-%s\n", name);
	return strstr(manual, with_value) != NULL || strstr(manual, without) != NULL;
}

static void help_and_manual_have_the_same_flags(void **state)
{
	sp_host_process process;
	char path[SP_PATH_SIZE], names[64][64];
	char *manual = read_file(sp_source_path(path, "docs/serving_host.8"));
	size_t count, in_manual = 0;

	(void)state;
	sp_host_process_init(&process);
	assert_false(sp_host_process_start(&process, program_path(), FLAGS("--help"), true));
	assert_int_equal(sp_host_process_wait(&process), 0);
	count = list_flags(sp_host_process_log(&process), names);
	assert_true(count > 20);
	for (size_t i = 0; i < count; i++)
		if (!manual_has(manual, names[i]))
			fail_msg("--%s is not in docs/serving_host.8", names[i]);
	for (const char *at = manual; (at = strstr(at, ".TP\n.B")) != NULL; at++)
		in_manual += strncmp(at + 4 + strcspn(at + 4, "\\\n"), "\\-\\-", 4) == 0;
	assert_int_equal(in_manual, count);
	assert_false(sp_host_process_start(&process, program_path(), FLAGS("--version"), true));
	assert_int_equal(sp_host_process_wait(&process), 0);
	assert_string_equal(sp_host_process_log(&process), "serving_host 0.0.0-double\n");
	free(manual);
	sp_host_process_fini(&process);
}

/* ----------------------------------------------------------------- too much */

static const char predict[] = "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n";

static void expect_served(uint16_t port)
{
	sp_http_reply reply;

	sp_http_call(port, "GET", "/healthz/ready", NULL, &reply);
	assert_int_equal(reply.status, 200);
	sp_http_call(port, "POST", "/v1/models/default:predict", "{\"instances\":[2]}", &reply);
	assert_string_equal(reply.body, "{\"predictions\":[3.0]}");
}

static void expect_in_log(sp_host_process *process, const char *words)
{
	for (int i = 0; i < 500 && strstr(sp_host_process_log(process), words) == NULL; i++)
		usleep(20000);
	if (strstr(process->log, words) == NULL)
		fail_msg("not in the log: %s\n%s", words, process->log);
}

/* The value of a metric without labels. */
static double metric(uint16_t port, const char *name)
{
	static sp_http_reply reply;
	char line[128];
	const char *at;

	sp_http_call(port, "GET", "/monitoring/prometheus/metrics", NULL, &reply);
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(reply.body, line);
	assert_non_null(at);
	return atof(at + strlen(line));
}

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
			&process, program_path(),
			FLAGS("--processor_config", write_config(&process, configs[c]),
			      "--rest_api_num_io_threads=2", "--drain_delay_in_ms=0"),
			true));
		assert_non_null(strstr(sp_host_process_log(&process),
				       "connections at a time, not 10000 (--max_connections)"));
		for (int i = 0; i < CLIENTS; i++) {
			assert_true(sp_http_client_open(&clients[i], process.port));
			sp_http_client_send_text(&clients[i], begins[i % 3]);
		}
		expect_served(process.port);
		/* A quarter of them is for files still, if the model has none. */
		assert_true(metric(process.port, "serving_processor_connections") <= 200 - 64);
		assert_true(metric(process.port, "serving_processor_connections_dropped_total") >
			    CLIENTS - 200);
		expect_in_log(&process, "too many connections: ");
		for (int i = 0; i < CLIENTS; i++)
			sp_http_client_close(&clients[i]);
		stop(&process);
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
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config", write_config(&process, "{}"),
						"--max_request_memory=8000000",
						"--drain_delay_in_ms=0"),
					  true));
	for (int i = 0; i < CLIENTS; i++) { /* of which three fit */
		assert_true(sp_http_client_open(&clients[i], process.port));
		sp_http_client_send_text(&clients[i], predict);
		sp_http_client_send_text(&clients[i], "Content-Length: 2000017\r\n\r\n");
		sp_http_client_send(&clients[i], body, sizeof(body));
	}
	for (int i = 0; i < 500 && metric(process.port, refusals) < CLIENTS - 3; i++)
		usleep(20000);
	expect_served(process.port);
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
	expect_in_log(&process, "(--max_request_memory)");
	assert_true(metric(process.port, refusals) >= refused);
	assert_true(metric(process.port, "serving_processor_request_memory_bytes") < BODY);
	assert_true(metric(process.port, "serving_processor_request_memory_limit_bytes") ==
		    8000000);
	expect_served(process.port);
	stop(&process);
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
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config", write_config(&process, "{}"),
						"--max_request_memory=4000000",
						"--drain_delay_in_ms=0"),
					  true));
	sp_http_call(process.port, "POST", "/v1/models/default:predict", body, &reply);
	assert_int_equal(reply.status, 503);
	assert_non_null(strstr(reply.head, "Retry-After: 1\r\n"));
	assert_non_null(strstr(reply.body, "the memory for requests is used up"));
	expect_served(process.port);
	assert_true(metric(process.port, "serving_processor_request_memory_bytes") < 500000);
	stop(&process);
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
	start(&process, "{}");
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
	stop(&process);
}

static void a_full_queue_says_so_at_once(void **state)
{
	enum { CLIENTS = 8 };
	sp_host_process process;
	sp_http_client clients[CLIENTS];
	sp_http_reply reply;
	int answered = 0, refused = 0;
	int64_t began;

	(void)state;
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--processor_config", write_config(&process, "{\"run_ms\":500}"),
		      "--rest_api_num_threads=1", "--max_queue=1", "--drain_delay_in_ms=0"),
		true));
	for (int i = 0; i < CLIENTS; i++) {
		assert_true(sp_http_client_open(&clients[i], process.port));
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
	sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
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
	stop(&process);
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
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--processor_config", write_config(&process, "{\"run_ms\":600}"),
		      "--rest_api_num_threads=1", "--rest_api_timeout_in_ms=300",
		      "--drain_delay_in_ms=0"),
		true));
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
	stop(&process);
}

/* ----------------------------------------------------------------- the end */

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
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--model_name=half", "--processor_config",
						write_config(&process, "{\"run_ms\":5}"),
						"--drain_delay_in_ms=500"),
					  true));
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
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config", write_config(&process, "{}"),
						"--drain_delay_in_ms=60000"),
					  true));
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
	sp_host_process_init(process);
	assert_true(sp_host_process_start(
		process, program_path(),
		FLAGS("--processor_config", write_config(process, config), drain_delay), true));
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
		expect_in_log(&process, "before all requests were answered");
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
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config",
						write_config(&process, "{\"load_ms\":1000}"),
						"--drain_delay_in_ms=1000"),
					  false));
	sp_host_process_signal(&process, SIGHUP);
	expect_in_log(&process, "SIGHUP: nothing to reload");
	expect_in_log(&process, "listening on http://");
	sp_host_process_signal(&process, SIGHUP);
	expect_served(process.port);
	sp_host_process_signal(&process, SIGTERM);
	expect_in_log(&process, "draining");
	sp_host_process_signal(&process, SIGHUP);
	assert_int_equal(sp_host_process_wait(&process), 0);
	sp_host_process_fini(&process);
}

static void requests_that_do_not_end_are_cut_off(void **state)
{
	sp_host_process process;
	sp_http_client client;

	(void)state;
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(
		&process, program_path(),
		FLAGS("--processor_config", write_config(&process, "{\"run_ms\":60000}"),
		      "--drain_delay_in_ms=0", "--drain_timeout_in_ms=200"),
		true));
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

static void cors_headers_come_when_asked_for(void **state)
{
	sp_host_process process;
	sp_http_reply reply;

	(void)state;
	sp_host_process_init(&process);
	assert_true(sp_host_process_start(&process, program_path(),
					  FLAGS("--processor_config", write_config(&process, "{}"),
						"--rest_api_enable_cors_support",
						"--drain_delay_in_ms=0"),
					  true));
	sp_http_call(process.port, "POST", "/v1/models/default:predict", "{\"inputs\":2}", &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head, "Access-Control-Allow-Origin: *\r\n"));
	assert_non_null(strstr(reply.head, "Access-Control-Allow-Methods: POST, GET\r\n"));
	assert_non_null(strstr(reply.head, "Access-Control-Allow-Headers: Content-Type\r\n"));
	stop(&process);
}

int main(void)
{
	const struct CMUnitTest on_one[] = {
		cmocka_unit_test(paths_that_are_none_are_malformed_requests),
		cmocka_unit_test(models_that_are_not_there_are_not_found),
		cmocka_unit_test(predictions_are_made),
		cmocka_unit_test(bodies_that_do_not_fit_are_refused),
		cmocka_unit_test(status_and_metadata_are_told),
		cmocka_unit_test(versions_are_told_and_ordered),
		cmocka_unit_test(an_answer_has_these_headers_and_no_others),
		cmocka_unit_test(encodings_and_origins_are_looked_at),
	};
	const struct CMUnitTest on_many[] = {
		cmocka_unit_test(errors_of_the_processor_have_their_status),
		cmocka_unit_test(outputs_that_json_cannot_say_are_bad_requests),
		cmocka_unit_test(probes_are_answered_while_the_model_loads),
		cmocka_unit_test(a_signal_while_loading_ends_at_once),
		cmocka_unit_test(a_model_that_cannot_be_opened_is_exit_status_1),
		cmocka_unit_test(folders_are_numbered),
		cmocka_unit_test(the_port_is_written_when_the_model_is_served),
		cmocka_unit_test(a_wrong_command_line_is_exit_status_2),
		cmocka_unit_test(help_and_manual_have_the_same_flags),
		cmocka_unit_test(idle_connections_take_no_descriptors_from_others),
		cmocka_unit_test(all_requests_together_have_a_bound),
		cmocka_unit_test(reading_a_request_has_the_same_bound),
		cmocka_unit_test(memory_goes_back_to_the_system),
		cmocka_unit_test(a_full_queue_says_so_at_once),
		cmocka_unit_test(a_request_that_waits_too_long_is_given_up),
		cmocka_unit_test(ending_under_load_loses_no_request),
		cmocka_unit_test(a_second_signal_ends_at_once),
		cmocka_unit_test(a_second_signal_cuts_requests_off),
		cmocka_unit_test(a_signal_that_comes_twice_is_one),
		cmocka_unit_test(a_hangup_ends_nothing),
		cmocka_unit_test(requests_that_do_not_end_are_cut_off),
		cmocka_unit_test(cors_headers_come_when_asked_for),
	};

	return cmocka_run_group_tests_name("host_rest", on_one, setup, teardown) +
	       cmocka_run_group_tests_name("host_process", on_many, NULL, NULL);
}
