#include "tests/support/cmocka.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"
#include "tests/support/text_models.h"

/* serving_host over loopback, while versions with other signatures come and go. */

static sp_host_process host;
static char base[5000];

static const sp_sum_model one_input = {"serving_default", "sum", 1, 1};
static const sp_sum_model two_inputs = {"serving_default", "sum", 2, 10};

static void write_version(int number, const sp_sum_model *version)
{
	char folder[5100];

	snprintf(folder, sizeof(folder), "%s/%d", base, number);
	sp_text_models_write_sum(folder, version);
}

static int set_up(void **state)
{
	(void)state;
	sp_host_process_init(&host);
	snprintf(base, sizeof(base), "%s/m", host.folder);
	sp_text_models_write_file(base, "note", "no version");
	return 0;
}

static void start(void)
{
	const char *builddir = getenv("builddir");
	char program[4096], path[5100];
	const char *const flags[] = {"--model_name=m", path, "--drain_delay_in_ms=0", NULL};

	snprintf(program, sizeof(program), "%s/serving_host", builddir != NULL ? builddir : ".");
	snprintf(path, sizeof(path), "--model_base_path=%s", base);
	assert_true(sp_host_process_start(&host, program, flags, true));
}

static int tear_down(void **state)
{
	(void)state;
	sp_host_process_signal(&host, SIGTERM);
	assert_int_equal(sp_host_process_wait(&host), 0);
	sp_host_process_fini(&host);
	return 0;
}

static sp_http_reply *call(const char *method, const char *path, const char *body)
{
	static _Thread_local sp_http_reply reply;

	sp_http_call(host.port, method, path, body, &reply);
	return &reply;
}

/* Waits until GET `path` tells `text`. */
static void await(const char *path, const char *text)
{
	for (int i = 0; i < 2000 && strstr(call("GET", path, NULL)->body, text) == NULL; i++)
		usleep(5000);
	assert_non_null(strstr(call("GET", path, NULL)->body, text));
}

static void assert_answer(const char *path, const char *body, int status, const char *text)
{
	const sp_http_reply *reply = call("POST", path, body);

	if (reply->status != status || strstr(reply->body, text) == NULL)
		fail_msg("%s: %d %s", body, reply->status, reply->body);
}

#define PREDICT "/v1/models/m:predict"

static void a_request_is_read_by_the_version_that_answers(void **state)
{
	(void)state;
	write_version(1, &one_input);
	start();
	assert_answer(PREDICT, "{\"instances\":[3]}", 200, "\"predictions\":[3");
	assert_answer(PREDICT, "{\"inputs\":{\"x0\":[3],\"x1\":[4]}}", 200, "\"outputs\"");
	assert_answer(PREDICT, "{\"instances\":[{\"x0\":3,\"x1\":4}]}", 400, "x1");

	write_version(2, &two_inputs);
	await("/v1/models/m", "\"version\":\"2\",\"state\":\"AVAILABLE\"");
	assert_answer(PREDICT, "{\"instances\":[{\"x0\":3,\"x1\":4}]}", 200, "\"predictions\":[70");
	assert_answer(PREDICT, "{\"instances\":[3]}", 400, "multiple input tensors");
	assert_answer("/v1/models/m/versions/1:predict", "{\"instances\":[3]}", 404, "");
	await("/v1/models/m/metadata", "\"x1\"");
	await("/v1/models/m/metadata", "\"version\":\"2\"");
}

/* ------------------------------------------------------------ files that change */

#define ASK_C "{\"instances\":[\"c\"]}"

static void await_answer(const char *body, const char *text)
{
	for (int i = 0; i < 2000 && strstr(call("POST", PREDICT, body)->body, text) == NULL; i++)
		usleep(5000);
	assert_answer(PREDICT, body, 200, text);
}

static void a_vocabulary_that_is_completed_later(void **state)
{
	char folder[5100];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/1", base);
	sp_text_models_write_file(folder, "assets/words.txt", "a\nb\n");
	sp_text_models_write_words(folder);
	start();
	assert_answer(PREDICT, ASK_C, 200, "[-1]");
	sp_text_models_write_file(folder, "assets/words.txt", "a\nb\nc\n");
	await_answer(ASK_C, "[2]");

	/* What is served needs none of its files. */
	sp_temp_remove(folder);
	usleep(200 * 1000);
	assert_answer(PREDICT, ASK_C, 200, "[2]");
	await("/v1/models/m", "\"state\":\"AVAILABLE\"");
}

/* ------------------------------------------------------------ under requests */

enum { CLIENTS = 4, SWAPS = 20 };

static atomic_bool done;
static atomic_int answered, wrong;

/* What fits no version, or is of two, is wrong: a 400 is of a version with other inputs. */
static void *ask(void *unused)
{
	(void)unused;
	for (int i = 0; !atomic_load(&done); i++) {
		bool two = i % 2 != 0;
		const sp_http_reply *reply = call("POST", PREDICT,
						  two ? "{\"instances\":[{\"x0\":3,\"x1\":4}]}"
						      : "{\"instances\":[3]}");
		const char *want = two ? "\"predictions\":[70" : "\"predictions\":[3";

		answered += reply->status == 200;
		wrong += reply->status != 400 &&
			 (reply->status != 200 || strstr(reply->body, want) == NULL);
	}
	return NULL;
}

static void versions_change_under_requests(void **state)
{
	pthread_t threads[CLIENTS];
	char text[64];

	(void)state;
	write_version(1, &one_input);
	start();
	atomic_store(&done, false);
	for (int i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int i = 2; i < SWAPS; i++) {
		write_version(i, i % 2 == 0 ? &two_inputs : &one_input);
		snprintf(text, sizeof(text), "\"version\":\"%d\",\"state\":\"AVAILABLE\"", i);
		await("/v1/models/m", text);
	}
	atomic_store(&done, true);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	assert_true(atomic_load(&answered) > 0);
	assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(a_request_is_read_by_the_version_that_answers),
		CASE(a_vocabulary_that_is_completed_later),
		CASE(versions_change_under_requests),
	};

	return cmocka_run_group_tests_name("host_versions", tests, NULL, NULL);
}
