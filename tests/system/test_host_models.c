#include "tests/support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"
#include "tests/support/row_model.h"
#include "tests/support/text_models.h"

/* serving_host with several models, and several versions of a model, by --model_config_file. */

static sp_host_process host;
static char config_path[5000];

static int set_up(void **state)
{
	(void)state;
	sp_host_process_init(&host);
	snprintf(config_path, sizeof(config_path), "%s/models", host.folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (host.pid > 0) {
		sp_host_process_signal(&host, SIGTERM);
		assert_int_equal(sp_host_process_wait(&host), 0);
	}
	sp_host_process_fini(&host);
	return 0;
}

/* A version that multiplies the sum of its inputs. */
static void write_version(const char *model, int version, int inputs, int times)
{
	char folder[5100];

	snprintf(folder, sizeof(folder), "%s/%s", host.folder, model);
	sp_text_models_write_file(folder, "note", "no version");
	snprintf(folder, sizeof(folder), "%s/%s/%d", host.folder, model, version);
	sp_text_models_write_sum(folder, &(sp_sum_model){"serving_default", "sum", inputs, times});
}

static void remove_version(const char *model, int version)
{
	char folder[5100];

	snprintf(folder, sizeof(folder), "%s/%s/%d", host.folder, model, version);
	sp_temp_remove(folder);
}

/* Every '@' of the text stands for the folder. */
static void write_config(const char *text)
{
	char content[20000] = "";

	for (; *text != '\0'; text++) {
		size_t size = strlen(content);

		snprintf(content + size, sizeof(content) - size, *text == '@' ? "%s" : "%.1s",
			 *text == '@' ? host.folder : text);
	}
	sp_text_models_write_file(host.folder, "models", content);
}

static bool start(const char *flag)
{
	const char *builddir = getenv("builddir");
	char program[4096], path[5100];
	const char *const flags[] = {path,
				     "--drain_delay_in_ms=0",
				     "--rest_api_num_threads=2",
				     "--load_retry_interval_micros=300000",
				     flag,
				     NULL};

	snprintf(program, sizeof(program), "%s/serving_host", builddir != NULL ? builddir : ".");
	snprintf(path, sizeof(path), "--model_config_file=%s", config_path);
	return sp_host_process_start(&host, program, flags, true);
}

static sp_http_reply *call(const char *method, const char *path, const char *body)
{
	static sp_http_reply reply;

	sp_http_call(host.port, method, path, body, &reply);
	return &reply;
}

/* Waits until GET `path` tells `text`. */
static void await(const char *path, const char *text)
{
	for (int i = 0; i < 2000 && strstr(call("GET", path, NULL)->body, text) == NULL; i++)
		usleep(5000);
	if (strstr(call("GET", path, NULL)->body, text) == NULL)
		fail_msg("%s has no %s: %s", path, text, call("GET", path, NULL)->body);
}

static void await_log(const char *text)
{
	for (int i = 0; i < 2000 && strstr(sp_host_process_log(&host), text) == NULL; i++)
		usleep(5000);
	if (strstr(sp_host_process_log(&host), text) == NULL)
		fail_msg("no %s in\n%s", text, host.log);
}

static void assert_answer(const char *path, int status, const char *text)
{
	const sp_http_reply *reply = call("POST", path, "{\"instances\":[3]}");

	if (reply->status != status || strstr(reply->body, text) == NULL)
		fail_msg("%s: %d %s", path, reply->status, reply->body);
}

/* ------------------------------------------------------------------- versions */

static void versions_side_by_side(void **state)
{
	(void)state;
	write_version("a", 1, 1, 10);
	write_version("a", 2, 2, 20);
	write_version("a", 3, 1, 30);
	write_version("b", 7, 1, 70);
	write_config("model_config_list {\n"
		     "  config { name: 'a' base_path: '@/a' model_platform: 'tensorflow'\n"
		     "    model_version_policy { specific { versions: 1 versions: 2 } }\n"
		     "    version_labels { key: 'stable' value: 1 }\n"
		     "    version_labels { key: 'gone' value: 3 } }\n"
		     "  config { name: 'b' base_path: '@/b/' } }\n");
	assert_true(start("--num_load_threads=2"));
	await_log("Request to assign label gone to {name: a version: 3}");
	assert_answer("/v1/models/a/versions/1:predict", 200, "[30.0]");
	assert_answer("/v1/models/a/labels/stable:predict", 200, "[30.0]");
	assert_answer("/v1/models/a:predict", 400, "multiple input tensors");
	assert_answer("/v1/models/a/versions/2:predict", 400, "multiple input tensors");
	assert_answer("/v1/models/a/versions/3:predict", 404,
		      "Servable not found for request: Specific(a, 3)");
	assert_answer("/v1/models/a/labels/gone:predict", 404,
		      "Servable not found for request: Specific(a, 3)");
	assert_answer("/v1/models/a/labels/x:predict", 400, "Unrecognized servable version label");
	assert_answer("/v1/models/b:predict", 200, "[210.0]");
	assert_answer("/v1/models/c:predict", 404, "Servable not found for request: Latest(c)");
	await("/v1/models/a",
	      "{\"model_version_status\":[{\"version\":\"2\",\"state\":\"AVAILABLE\","
	      "\"status\":{\"error_code\":\"OK\",\"error_message\":\"\"}},"
	      "{\"version\":\"1\",\"state\":\"AVAILABLE\"");
	await("/v1/models/a/labels/stable", "[{\"version\":\"1\",\"state\":\"AVAILABLE\"");
	await("/v1/models/a/versions/1/metadata", "\"version\":\"1\"");
	await("/v1/models/b", "\"version\":\"7\",\"state\":\"AVAILABLE\"");
	await("/healthz/ready", "true");
	await("/monitoring/prometheus/metrics",
	      ":tensorflow:serving:request_count{model_name=\"a\",status=\"OK\"} 2");
	await("/monitoring/prometheus/metrics",
	      "serving_processor_model_version{model_name=\"a\",version=\"1\",state="
	      "\"AVAILABLE\"} 1");
	await("/monitoring/prometheus/metrics",
	      ":tensorflow:serving:request_count{model_name=\"b\",status=\"OK\"} 1");
}

static void a_model_says_what_it_waits_for(void **state)
{
	(void)state;
	write_config("{\"models\": [{\"name\": \"later\", \"base_path\": \"@/later\"}]}");
	assert_true(start(NULL));
	assert_answer("/v1/models/later:predict", 503,
		      "Servable not found for request: Latest(later): no version to serve has been "
		      "found in ");
	await("/healthz/ready", "\"model later: no version to serve has been found in ");
	await("/healthz/ready", "/later yet\"");
	write_version("later", 1, 1, 10);
	await("/healthz/ready", "true");
	assert_answer("/v1/models/later:predict", 200, "[30.0]");
}

static void versions_come_and_go(void **state)
{
	(void)state;
	write_version("a", 1, 1, 10);
	write_config("{\"models\": [{\"name\": \"a\", \"base_path\": \"@/a\","
		     " \"version_policy\": {\"latest\": 2}},"
		     "{\"name\": \"all\", \"base_path\": \"@/a\", \"version_policy\": \"all\"},"
		     "{\"name\": \"later\", \"base_path\": \"@/later\"}]}");
	assert_true(start("--num_load_threads=2"));
	assert_answer("/v1/models/a:predict", 200, "[30.0]");
	assert_answer("/v1/models/later:predict", 404,
		      "Servable not found for request: Latest(later): no version to serve has been "
		      "found in ");
	assert_int_equal(call("GET", "/healthz/ready", NULL)->status, 503);
	write_version("a", 2, 1, 20);
	await("/v1/models/a/versions/2", "AVAILABLE");
	assert_answer("/v1/models/a:predict", 200, "[60.0]");
	assert_answer("/v1/models/a/versions/1:predict", 200, "[30.0]");
	write_version("a", 3, 1, 30);
	await("/v1/models/a/versions/3", "AVAILABLE");
	await("/v1/models/a/versions/1", "\"state\":\"END\"");
	assert_answer("/v1/models/a/versions/1:predict", 404, "Specific(a, 1)");
	await("/v1/models/all/versions/3", "AVAILABLE");
	assert_answer("/v1/models/all/versions/1:predict", 200, "[30.0]");
	remove_version("a", 1);
	await("/v1/models/all/versions/1", "\"state\":\"END\"");
	/* A folder without any version, and no folder at all, do not end what is served. */
	remove_version("a", 2);
	remove_version("a", 3);
	usleep(1500 * 1000);
	assert_answer("/v1/models/all/versions/3:predict", 200, "[90.0]");
	write_version("later", 5, 1, 50);
	await("/v1/models/later", "\"version\":\"5\",\"state\":\"AVAILABLE\"");
	assert_answer("/v1/models/later:predict", 200, "[150.0]");
	await("/healthz/ready", "true");
}

static void a_broken_model_hurts_no_other(void **state)
{
	char folder[5100];

	(void)state;
	write_version("good", 1, 1, 10);
	snprintf(folder, sizeof(folder), "%s/bad", host.folder);
	sp_text_models_write_file(folder, "note", "no version");
	snprintf(folder, sizeof(folder), "%s/bad/1", host.folder);
	sp_text_models_write_file(folder, "saved_model.pb", "what is this");
	write_config("model_config_list {\n"
		     "  config { name: 'bad' base_path: '@/bad'\n"
		     "    model_version_policy { all {} } }\n"
		     "  config { name: 'worse' base_path: '@/bad' }\n"
		     "  config { name: 'good' base_path: '@/good' } }\n");
	assert_true(start("--max_num_load_retries=1"));
	assert_answer("/v1/models/good:predict", 200, "[30.0]");
	await("/v1/models/bad", "\"version\":\"1\",\"state\":\"END\",\"status\":{\"error_code\":"
				"\"DATA_LOSS\"");
	await("/v1/models/worse", "\"version\":\"1\",\"state\":\"END\"");
	assert_answer("/v1/models/bad:predict", 404, "Latest(bad)");
	assert_int_equal(call("GET", "/healthz/ready", NULL)->status, 503);
	await_log("it will be tried again");
	/* A newer version of either is taken none the less. */
	write_version("bad", 2, 1, 20);
	await("/v1/models/bad", "\"version\":\"2\",\"state\":\"AVAILABLE\"");
	await("/v1/models/worse", "\"version\":\"2\",\"state\":\"AVAILABLE\"");
	assert_answer("/v1/models/worse:predict", 200, "[60.0]");
}

/* A minute goes by before the next attempt. */
static void a_version_that_waits_for_another_attempt_has_ended(void **state)
{
	char folder[4200];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/bad", host.folder);
	sp_text_models_write_file(folder, "note", "no version");
	snprintf(folder, sizeof(folder), "%s/bad/1", host.folder);
	sp_text_models_write_file(folder, "saved_model.pb", "what is this");
	write_config("model_config_list { config { name: 'bad' base_path: '@/bad' } }");
	assert_true(start("--load_retry_interval_micros=60000000"));
	await_log("it will be tried again");
	await("/v1/models/bad", "\"version\":\"1\",\"state\":\"END\",\"status\":{\"error_code\":"
				"\"DATA_LOSS\"");
	assert_answer("/v1/models/bad:predict", 404, "Latest(bad)");
}

static void a_processor_that_cannot_be_opened_says_why_and_is_tried_again(void **state)
{
	char folder[5100];

	(void)state;
	write_config("{\"models\": [{\"name\": \"a\", \"processor_config\": {"
		     "\"savedmodel_dir\": \"@/a\", \"signature_name\": \"serving_default\", "
		     "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\", "
		     "\"serialize_protocol\": \"protobuf\"}}]}");
	assert_true(start("--max_num_load_retries=0"));
	await("/v1/models/a", "Could not find any versions of model a: savedmodel_dir: no "
			      "saved_model.pb in '");
	await("/healthz/ready",
	      "model a has failed to load: savedmodel_dir: no saved_model.pb in '");
	await("/v2/health/ready", "model a has failed to load: savedmodel_dir: ");
	usleep(500000); /* an attempt more fails */
	snprintf(folder, sizeof(folder), "%s/a", host.folder);
	sp_text_models_write_sum(folder, &(sp_sum_model){"serving_default", "sum", 1, 10});
	await("/v1/models/a", "AVAILABLE");
	assert_answer("/v1/models/a:predict", 200, "[30.0]");
}

/* -------------------------------------------------------------- configuration */

static void a_wrong_file_ends_it_at_the_start(void **state)
{
	(void)state;
	write_config("model_config_list { config { name: 'a' base_path: '@/a' nonsense: 1 } }");
	assert_false(start(NULL));
	assert_int_equal(sp_host_process_wait(&host), 1);
	assert_non_null(strstr(sp_host_process_log(&host),
			       "Error parsing text-format tensorflow.serving.ModelServerConfig"));
	assert_non_null(strstr(host.log, "nonsense"));
}

static void a_signal_reads_the_file_again(void **state)
{
	(void)state;
	write_version("a", 1, 1, 10);
	write_version("a", 2, 1, 20);
	write_version("b", 1, 1, 70);
	write_config("model_config_list {\n"
		     "  config { name: 'a' base_path: '@/a'\n"
		     "    model_version_policy { specific { versions: 1 } }\n"
		     "    version_labels { key: 'stable' value: 1 } } }\n");
	assert_true(start(NULL));
	assert_answer("/v1/models/a:predict", 200, "[30.0]");
	write_config("what is this");
	sp_host_process_signal(&host, SIGHUP);
	await_log("Error parsing text-format tensorflow.serving.ModelServerConfig");
	assert_answer("/v1/models/a:predict", 200, "[30.0]");

	/* The label moves with the version, and b is new. */
	write_config("model_config_list {\n"
		     "  config { name: 'a' base_path: '@/a'\n"
		     "    model_version_policy { specific { versions: 2 } }\n"
		     "    version_labels { key: 'stable' value: 2 } }\n"
		     "  config { name: 'b' base_path: '@/b' } }\n");
	sp_host_process_signal(&host, SIGHUP);
	await("/v1/models/b", "AVAILABLE");
	await("/v1/models/a/labels/stable", "\"version\":\"2\",\"state\":\"AVAILABLE\"");
	await("/v1/models/a/versions/1", "\"state\":\"END\"");
	assert_answer("/v1/models/a/labels/stable:predict", 200, "[60.0]");

	/* A label of a version that is not available is refused; the rest counts. */
	write_config("model_config_list {\n"
		     "  config { name: 'a' base_path: '@/a'\n"
		     "    model_version_policy { specific { versions: 2 } }\n"
		     "    version_labels { key: 'stable' value: 9 } } }\n");
	sp_host_process_signal(&host, SIGHUP);
	await_log("Request to assign label stable to {name: a version: 9}, which is not currently");
	assert_answer("/v1/models/a/labels/stable:predict", 200, "[60.0]");
	await("/v1/models/b", "\"state\":\"END\"");
	assert_answer("/v1/models/b:predict", 404, "Latest(b)");

	/* It can come back. */
	write_config("model_config_list {\n"
		     "  config { name: 'b' base_path: '@/b' } }\n");
	sp_host_process_signal(&host, SIGHUP);
	await("/v1/models/b", "AVAILABLE");
	assert_answer("/v1/models/b:predict", 200, "[210.0]");
	assert_answer("/v1/models/a:predict", 404, "Latest(a)");
}

#define LABELLED(label, version)                                    \
	"model_config_list { config { name: 'a' base_path: '@/a'\n" \
	"  version_labels { key: 'stable' value: 1 }\n"             \
	"  version_labels { key: '" label "' value: " version " } } }"

/* With the flag a new label may come before its version; one that is there must not move so. */
static void a_label_may_come_first(void **state)
{
	(void)state;
	write_version("a", 1, 1, 10);
	write_config("model_config_list { config { name: 'a' base_path: '@/a' } }");
	assert_true(start("--allow_version_labels_for_unavailable_models"));
	write_config(LABELLED("next", "2"));
	sp_host_process_signal(&host, SIGHUP);
	await_log("models is in effect");
	assert_answer("/v1/models/a/labels/stable:predict", 200, "[30.0]");
	assert_answer("/v1/models/a/labels/next:predict", 404, "Specific(a, 2)");
	write_config(LABELLED("next", "3"));
	sp_host_process_signal(&host, SIGHUP);
	await_log("Request to assign label next to {name: a version: 3}");
	write_version("a", 2, 1, 20);
	await("/v1/models/a/labels/next", "\"version\":\"2\",\"state\":\"AVAILABLE\"");
	assert_answer("/v1/models/a/labels/next:predict", 200, "[60.0]");
	/* It is the only version by now. */
	assert_answer("/v1/models/a/labels/stable:predict", 404, "Specific(a, 1)");
}

static void a_file_is_looked_at_again(void **state)
{
	(void)state;
	write_version("a", 1, 1, 10);
	write_version("b", 1, 1, 70);
	write_config("model_config_list { config { name: 'a' base_path: '@/a' } }");
	assert_true(start("--model_config_file_poll_wait_seconds=1"));
	write_config("model_config_list { config { name: 'b' base_path: '@/b' } }");
	await("/v1/models/b", "AVAILABLE");
	await("/v1/models/a", "\"state\":\"END\"");
}

/* -------------------------------------------------------------------- traffic */

static double metric(const char *sample)
{
	const char *page = call("GET", "/monitoring/prometheus/metrics", NULL)->body;
	const char *at = strstr(page, sample);

	if (at == NULL)
		fail_msg("no %s in %s", sample, page);
	return atof(at + strlen(sample));
}

#define SHADOW "serving_processor_shadow_requests_total{model_name=\"a\",result=\""

/* Version 1 answers 30, version 2, the canary, 60. */
static void a_share_goes_to_the_canary(void **state)
{
	int canary = 0;

	(void)state;
	write_version("a", 1, 1, 10);
	write_version("a", 2, 1, 20);
	write_config("{\"models\": [{\"name\": \"a\", \"base_path\": \"@/a\","
		     "\"version_policy\": \"all\", \"version_labels\": {\"canary\": 2},"
		     "\"split\": {\"shares\": [{\"label\": \"canary\", \"percent\": 30}]},"
		     "\"shadow\": {\"version\": 2, \"percent\": 100}}]}");
	assert_true(start("--traffic_sticky_header=x-user"));
	for (int i = 0; i < 300; i++) {
		const sp_http_reply *reply = call("POST", "/v1/models/a:predict",
						  "{\"instances\":[3]}");

		assert_int_equal(reply->status, 200);
		canary += strstr(reply->body, "[60.0]") != NULL;
	}
	assert_in_range(canary, 40, 140);
	assert_int_equal((int)metric("serving_processor_requests_by_version_total{model_name=\"a\","
				     "version=\"2\"} "),
			 canary);
	/* Each of the others was computed by the canary as well, or dropped. */
	for (int i = 0; i < 2000; i++) {
		if ((int)metric(SHADOW "different\"} ") + (int)metric(SHADOW "dropped\"} ") ==
		    300 - canary)
			break;
		usleep(5000);
	}
	assert_true(metric(SHADOW "different\"} ") > 0);
	assert_int_equal((int)metric(SHADOW "different\"} ") + (int)metric(SHADOW "dropped\"} "),
			 300 - canary);
	assert_int_equal((int)metric(SHADOW "alike\"} "), 0);
}

/* Version 2 answers, version 1 computes the same request later. */
static void requests_of_eas_are_shadowed(void **state)
{
	/* x0, a float in an array of one element */
	static const char body[] = "\x12\x13\x0a\2x0\x12\x0d\x08\1\x12\3\x0a\1\1\x1a\4\1\1\1A";

	(void)state;
	write_version("a", 1, 1, 10);
	write_version("a", 2, 1, 20);
	write_config(
		"{\"models\": [{\"name\": \"a\", \"base_path\": \"@/a\","
		"\"version_policy\": \"all\", \"shadow\": {\"version\": 1, \"percent\": 100}}]}");
	assert_true(start(NULL));
	assert_int_equal(call("POST", "/api/predict/a", body)->status, 200);
	for (int i = 0; i < 2000 && (int)metric(SHADOW "different\"} ") == 0; i++)
		usleep(5000);
	assert_int_equal((int)metric(SHADOW "different\"} "), 1);
}

static bool is_canary(int user)
{
	static const char body[] = "{\"instances\":[3]}";
	sp_http_client client;
	sp_http_reply *reply = malloc(sizeof(*reply));
	char text[300];
	bool canary;

	assert_true(sp_http_client_open(&client, host.port));
	snprintf(text, sizeof(text),
		 "POST /v1/models/a:predict HTTP/1.1\r\nHost: x\r\nX-User: user-%d\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 user, strlen(body), body);
	assert_true(sp_http_client_send_text(&client, text));
	sp_http_client_receive(&client, reply);
	assert_int_equal(reply->status, 200);
	canary = strstr(reply->body, "[60.0]") != NULL;
	sp_http_client_close(&client);
	free(reply);
	return canary;
}

static void a_user_stays_where_he_is(void **state)
{
	int canary = 0;

	(void)state;
	write_version("a", 1, 1, 10);
	write_version("a", 2, 1, 20);
	write_config("model_config_list { config { name: 'a' base_path: '@/a'\n"
		     "  model_version_policy { all {} }\n"
		     "  version_labels { key: 'canary' value: 2 } } }");
	assert_true(start("--traffic_split=canary=30"));
	sp_host_process_signal(&host, SIGTERM);
	assert_int_equal(sp_host_process_wait(&host), 0);
	write_config("{\"models\": [{\"name\": \"a\", \"base_path\": \"@/a\","
		     "\"version_policy\": \"all\","
		     "\"split\": {\"shares\": [{\"version\": 2, \"percent\": 30}],"
		     " \"sticky_header\": \"x-user\"}}]}");
	assert_true(start(NULL));
	for (int user = 0; user < 100; user++) {
		bool first = is_canary(user);

		canary += first;
		for (int i = 0; i < 3; i++)
			assert_int_equal(is_canary(user), first);
	}
	assert_in_range(canary, 10, 50);
}

/* The version, 1 or 2, that answers a request with this number as its input. */
static int answering(const char *form, int number)
{
	const sp_http_reply *reply;
	char body[100], canary[20];

	snprintf(body, sizeof(body), form, number);
	snprintf(canary, sizeof(canary), "[%d.0]", 20 * number);
	reply = call("POST", "/v1/models/a:predict", body);
	assert_int_equal(reply->status, 200);
	return strstr(reply->body, canary) != NULL ? 2 : 1;
}

static void a_number_stays_where_it_is(void **state)
{
	static const char *const forms[] = {"{\"instances\":[{\"x0\":%d}]}", "{\"instances\":[%d]}",
					    "{\"inputs\":{\"x0\":[%d]}}",
					    "{\"inputs\":{\"other\":[[\"]\"]],\"x0\":[%d.0]}}"};
	int canary = 0;

	(void)state;
	write_version("a", 1, 1, 10);
	write_version("a", 2, 1, 20);
	write_config("{\"models\": [{\"name\": \"a\", \"base_path\": \"@/a\","
		     "\"version_policy\": \"all\", \"version_labels\": {\"stable\": 1},"
		     "\"split\": {\"shares\": [{\"version\": 2, \"percent\": 50}]}}]}");
	assert_true(start("--traffic_sticky_field=x0"));
	for (int number = 1; number <= 100; number++) {
		int first = answering(forms[0], number);

		canary += first == 2;
		for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
			assert_int_equal(answering(forms[i], number), first);
	}
	assert_in_range(canary, 20, 80); /* six standard deviations */
	for (int i = 0; i < 20; i++) {
		assert_answer("/v1/models/a/labels/stable:predict", 200, "[30.0]");
		assert_answer("/v1/models/a/versions/2:predict", 200, "[60.0]");
	}
}

/* --------------------------------------------------------------------- memory */

static double resident(void)
{
	static const char name[] = "\nprocess_resident_memory_bytes ";
	const char *at = strstr(call("GET", "/monitoring/prometheus/metrics", NULL)->body, name);

	assert_non_null(at);
	return atof(at + sizeof(name) - 1);
}

static void write_models(const char *big)
{
	char content[7 * SP_PATH_SIZE];

	snprintf(content, sizeof(content),
		 "{\"models\": [{\"name\": \"small\", \"base_path\": \"%s/small\"}%s%s%s]}",
		 host.folder, big != NULL ? ",{\"name\": \"big\", \"processor_config\": " : "",
		 big != NULL ? big : "", big != NULL ? "}" : "");
	sp_text_models_write_file(host.folder, "models", content);
}

/* A table of 200 MB comes and goes twice. */
static void memory_goes_back(void **state)
{
	const double mb = 1 << 20;
	char config[4 * SP_PATH_SIZE];
	sp_row_model rows;
	double before;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* it keeps what is freed for a while */
#endif
	sp_row_model_init(&rows, 800 * 1000);
	sp_checkpoint_folder_config(config, sizeof(config), rows.checkpoints, "ev-rows", "");
	write_version("small", 1, 1, 10);
	write_models(NULL);
	assert_true(start(NULL));
	before = resident();
	for (int turn = 0; turn < 2; turn++) {
		write_models(config);
		sp_host_process_signal(&host, SIGHUP);
		await("/v1/models/big", "AVAILABLE");
		assert_true(resident() > before + 200 * mb);
		write_models(NULL);
		sp_host_process_signal(&host, SIGHUP);
		await("/v1/models/big", "\"state\":\"END\"");
		assert_answer("/v1/models/small:predict", 200, "[30.0]");
		if (resident() > before + 16 * mb)
			fail_msg("%.0f MB before, %.0f MB after", before / mb, resident() / mb);
	}
	sp_row_model_fini(&rows);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(versions_side_by_side),
		CASE(a_model_says_what_it_waits_for),
		CASE(versions_come_and_go),
		CASE(a_broken_model_hurts_no_other),
		CASE(a_processor_that_cannot_be_opened_says_why_and_is_tried_again),
		CASE(a_wrong_file_ends_it_at_the_start),
		CASE(a_version_that_waits_for_another_attempt_has_ended),
		CASE(a_signal_reads_the_file_again),
		CASE(a_label_may_come_first),
		CASE(a_file_is_looked_at_again),
		CASE(a_share_goes_to_the_canary),
		CASE(requests_of_eas_are_shadowed),
		CASE(a_user_stays_where_he_is),
		CASE(a_number_stays_where_it_is),
		CASE(memory_goes_back),
	};

	return cmocka_run_group_tests_name("host_models", tests, NULL, NULL);
}
