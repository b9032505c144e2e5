#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/host_double.h"
#include "tests/support/http_client.h"

/* The REST dialect of serving_host, over a processor double. */

static void start_half(sp_host_process *process, const char *config)
{
	sp_host_double_start(
		process, config,
		SP_FLAGS("--model_name=half", "--admin_routes", "--version_labels=stable,a b"),
		true);
}

static sp_host_process shared;

static int setup(void **state)
{
	(void)state;
	start_half(&shared, "{}");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sp_host_double_stop(&shared);
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
	      {"POST", "/v1/models/half:classify", "{\"examples\":[{\"x\":1}]}", 400,
	       "Expected classification signature method_name to be tensorflow/serving/classify"},
	      {"POST", "/v1/models/half/versions/77:regress", "{}", 400, "'examples' is expected"},
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
			    strcmp(line, "Content-Length: 33") == 0);
	assert_int_equal(lines, 4);
}

static void encodings_and_origins_are_looked_at(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{"POST /v1/models/half:predict HTTP/1.1\r\nHost: a\r\nContent-Encoding: br\r\n"
		 "Content-Length: 2\r\n\r\n{}",
		 415},
		{"POST /v1/models/half:predict HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
		 "Content-Length: 2\r\n\r\n{}",
		 400},
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

static void eas_and_v2_share_the_port(void **state)
{
	CHECK({"GET", "/v2/health/live", NULL, 200, "{\"live\":true}"},
	      {"GET", "/v2/health/ready", NULL, 200, "{\"ready\":true}"},
	      {"GET", "/v2/models/half/ready", NULL, 200, "{\"name\":\"half\",\"ready\":true}"},
	      {"GET", "/v2/models/none/ready", NULL, 404, "Servable not found"},
	      {"POST", "/v2/models/half/ready", "", 405, ""}, {"GET", "/v2/other", NULL, 404, ""},
	      {"GET", "/v2/models/half/infer", NULL, 405, ""},
	      {"POST", "/v2/models/half/versions/99/infer", "{}", 404, "Servable not found"},
	      {"POST", "/v2/models/half/versions/abc/infer", "{}", 400,
	       "{\"error\":\"failed to get model version from specified version string 'abc'\"}"},
	      {"GET", "/v2/models/half/versions/7x/ready", NULL, 400, "version string '7x'"},
	      {"GET", "/v2/models/half/versions/99999999999999999999", NULL, 400, "99999999"},
	      {"GET", "/v2/models/half/versions/", NULL, 404, ""},
	      {"POST", "/v2/models/half/infer", "{}", 400, "'inputs' is missing"},
	      {"POST", "/v2/models/half/infer",
	       "{\"id\":\"a\",\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","
	       "\"data\":[1,2]}]}",
	       200,
	       "{\"model_name\":\"half\",\"model_version\":\"77\",\"id\":\"a\",\"outputs\":[{"
	       "\"name\":\"y\","
	       "\"datatype\":\"FP32\",\"shape\":[2],\"data\":[2.5,3.0]}]}"},
	      {"POST", "/api/predict/none", "x", 404, "no such service"},
	      {"PUT", "/api/predict/half", "x", 405, ""}, {"GET", "/api/predict/", NULL, 404, ""});
}

static void a_wrong_method_is_told_the_right_ones(void **state)
{
	static const struct {
		const char *method, *path, *allowed;
	} cases[] = {
		{"POST", "/healthz/live", "Allow: GET, HEAD\r\n"},
		{"PUT", "/v2", "Allow: GET, HEAD\r\n"},
		{"GET", "/v2/models/half/infer", "Allow: POST\r\n"},
		{"DELETE", "/api/predict/half", "Allow: GET, HEAD, POST\r\n"},
		{"POST", "/monitoring/prometheus/metrics", "Allow: GET, HEAD\r\n"},
	};
	sp_http_reply reply;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_http_call(shared.port, cases[i].method, cases[i].path, "", &reply);
		if (reply.status != 405 || strcasestr(reply.head, cases[i].allowed) == NULL)
			fail_msg("%s %s gives %s", cases[i].method, cases[i].path, reply.head);
		assert_string_equal(reply.body, "{\"error\":\"Method not allowed\"}");
	}
}

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
		start_half(&process, config);
		sp_http_call(process.port, "POST", "/v1/models/half:predict", "{\"instances\":[1]}",
			     &reply);
		assert_int_equal(reply.status, cases[i].status);
		assert_string_equal(reply.body, "{\"error\":\"as \\\"configured\\\"\"}");
		assert_int_equal(strstr(reply.head, "Retry-After: 1") != NULL,
				 cases[i].status == 503);
		sp_host_double_stop(&process);
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
		start_half(&process, config);
		sp_http_call(process.port, "POST", "/v1/models/half:predict", "{\"instances\":[1]}",
			     &reply);
		assert_int_equal(reply.status, 400);
		assert_non_null(strstr(reply.body, want));
		sp_host_double_stop(&process);
	}
}

static void cors_headers_come_when_asked_for(void **state)
{
	sp_host_process process;
	sp_http_reply reply;

	(void)state;
	sp_host_double_start(&process, "{}", SP_FLAGS("--rest_api_enable_cors_support"), true);
	sp_http_call(process.port, "POST", "/v1/models/default:predict", "{\"inputs\":2}", &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(reply.head, "Access-Control-Allow-Origin: *\r\n"));
	assert_non_null(strstr(reply.head, "Access-Control-Allow-Methods: POST, GET\r\n"));
	assert_non_null(strstr(reply.head, "Access-Control-Allow-Headers: Content-Type\r\n"));
	sp_host_double_stop(&process);
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
		cmocka_unit_test(eas_and_v2_share_the_port),
		cmocka_unit_test(a_wrong_method_is_told_the_right_ones),
	};
	const struct CMUnitTest on_many[] = {
		cmocka_unit_test(errors_of_the_processor_have_their_status),
		cmocka_unit_test(outputs_that_json_cannot_say_are_bad_requests),
		cmocka_unit_test(cors_headers_come_when_asked_for),
	};

	return cmocka_run_group_tests_name("host_rest", on_one, setup, teardown) +
	       cmocka_run_group_tests_name("host_rest_processes", on_many, NULL, NULL);
}
