#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/host/json/json_reader.h"
#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/golden.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"

/*
 * serving_host with the models of the golden cases (tests/support/golden.h):
 * every request that is there in JSON gets the answer that TensorFlow gave, in
 * the planned and in the reference execution.
 */

static int played;

/* ---------------------------------------------------------------- comparison */

typedef struct comparison {
	double rtol, atol;
	sp_arena *arena;
	char why[400];
} comparison;

static bool same_value(comparison *c, sp_json_reader *got, sp_json_reader *want);

static bool differ(comparison *c, const sp_json_reader *got, const sp_json_reader *want)
{
	if (c->why[0] == '\0')
		snprintf(c->why, sizeof(c->why), "got %.100s, want %.100s", got->at, want->at);
	return false;
}

/* Integers must be equal; where one has a fraction, near. */
static bool same_number(comparison *c, sp_json_reader *got, sp_json_reader *want)
{
	sp_json_reader got_at = *got, want_at = *want;
	sp_json_number a, b;
	double x, y;

	if (sp_json_number_read(got, &a, NULL) != SP_OK ||
	    sp_json_number_read(want, &b, NULL) != SP_OK)
		return differ(c, &got_at, &want_at);
	if (a.integer && b.integer)
		return (a.digits == b.digits && (a.negative == b.negative || a.digits == 0)) ||
		       differ(c, &got_at, &want_at);
	x = sp_json_number_to_f64(&a);
	y = sp_json_number_to_f64(&b);
	return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= c->atol + c->rtol * fabs(y) ||
	       differ(c, &got_at, &want_at);
}

static bool same_string(comparison *c, sp_json_reader *got, sp_json_reader *want)
{
	sp_json_reader got_at = *got, want_at = *want;
	sp_bytes a, b;

	return (sp_json_string(got, &a, c->arena, NULL) == SP_OK &&
		sp_json_string(want, &b, c->arena, NULL) == SP_OK && sp_bytes_equal(a, b)) ||
	       differ(c, &got_at, &want_at);
}

static bool same_array(comparison *c, sp_json_reader *got, sp_json_reader *want)
{
	bool got_more, want_more;

	for (size_t i = 0;; i++) {
		if (sp_json_array_next(got, i, &got_more, NULL) != SP_OK ||
		    sp_json_array_next(want, i, &want_more, NULL) != SP_OK || got_more != want_more)
			return differ(c, got, want);
		if (!got_more)
			return true;
		if (!same_value(c, got, want))
			return false;
	}
}

/* Moves `object`, which is at an object, to the value of the key. */
static bool find_key(sp_json_reader *object, sp_bytes key, sp_arena *arena)
{
	sp_bytes name;
	bool more;

	for (size_t i = 0;
	     sp_json_object_next(object, i, &more, &name, arena, NULL) == SP_OK && more; i++) {
		if (sp_bytes_equal(name, key))
			return true;
		if (sp_json_skip(object, NULL) != SP_OK)
			return false;
	}
	return false;
}

/* Passes over an object; how many keys it has. */
static size_t count_keys(sp_json_reader *object, sp_arena *arena)
{
	size_t count = 0;
	sp_bytes key;
	bool more;

	while (sp_json_object_next(object, count, &more, &key, arena, NULL) == SP_OK && more &&
	       sp_json_skip(object, NULL) == SP_OK)
		count++;
	return count;
}

/* The same keys, in whatever order. */
static bool same_object(comparison *c, sp_json_reader *got, sp_json_reader *want)
{
	const char *start = got->at;
	size_t count = 0;
	sp_bytes key;
	bool more;

	for (;; count++) {
		if (sp_json_object_next(want, count, &more, &key, c->arena, NULL) != SP_OK)
			return differ(c, got, want);
		if (!more)
			break;
		got->at = start;
		if (!find_key(got, key, c->arena))
			return differ(c, got, want);
		if (!same_value(c, got, want))
			return false;
	}
	got->at = start;
	return count_keys(got, c->arena) == count || differ(c, got, want);
}

static bool same_value(comparison *c, sp_json_reader *got, sp_json_reader *want)
{
	sp_json_kind kind = sp_json_peek(want);

	if (sp_json_peek(got) != kind)
		return differ(c, got, want);
	switch (kind) {
	case SP_JSON_NUMBER:
		return same_number(c, got, want);
	case SP_JSON_STRING:
		return same_string(c, got, want);
	case SP_JSON_ARRAY:
		return same_array(c, got, want);
	case SP_JSON_OBJECT:
		return same_object(c, got, want);
	case SP_JSON_NONE:
		return differ(c, got, want);
	default:
		return sp_json_literal(got, NULL) == SP_OK && sp_json_literal(want, NULL) == SP_OK;
	}
}

static bool same_document(comparison *c, const char *got, const char *want)
{
	sp_json_reader got_reader, want_reader;
	bool same;

	c->why[0] = '\0';
	c->arena = sp_arena_create(4096);
	sp_json_reader_init(&got_reader, sp_bytes_of(got));
	sp_json_reader_init(&want_reader, sp_bytes_of(want));
	same = same_value(c, &got_reader, &want_reader);
	sp_json_reader_fini(&got_reader);
	sp_json_reader_fini(&want_reader);
	sp_arena_destroy(c->arena);
	return same;
}

/* --------------------------------------------------------------------- cases */

static char *read_text(const char *path)
{
	size_t size;
	char *text;
	sp_error err;

	assert_ok(sp_file_read(&text, &size, path, 64 << 20, &err), &err);
	return text;
}

static void play_request(uint16_t port, comparison *c, const char *request_path)
{
	char answer_path[SP_PATH_SIZE];
	char *request = read_text(request_path), *want;
	sp_http_reply reply;
	size_t stem = strlen(request_path) - strlen(".request.json");

	snprintf(answer_path, sizeof(answer_path), "%.*s.response.json", (int)stem, request_path);
	want = read_text(answer_path);
	sp_http_call(port, "POST", "/v1/models/golden:predict", request, &reply);
	if (reply.status != 200)
		fail_msg("%s: %d %s", request_path, reply.status, reply.body);
	if (!same_document(c, reply.body, want))
		fail_msg("%s: %s", request_path, c->why);
	sp_free(request);
	sp_free(want);
}

/* Every request in JSON of a folder, which may be absent; returns how many. */
static int play_folder(uint16_t port, comparison *c, const char *folder)
{
	static const char ending[] = ".request.json";
	DIR *list = opendir(folder);
	struct dirent *entry;
	char path[SP_PATH_SIZE];
	int count = 0;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		size_t size = strlen(entry->d_name);

		if (size <= strlen(ending) ||
		    strcmp(entry->d_name + size - strlen(ending), ending) != 0)
			continue;
		snprintf(path, sizeof(path), "%.3000s/%s", folder, entry->d_name);
		play_request(port, c, path);
		count++;
	}
	if (list != NULL)
		closedir(list);
	return count;
}

static int play_signatures(uint16_t port, comparison *c, const char *folder)
{
	DIR *list = opendir(folder);
	struct dirent *entry;
	char path[SP_PATH_SIZE];
	int count = 0;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.3000s/%s/requests", folder, entry->d_name);
		count += play_folder(port, c, path);
	}
	if (list != NULL)
		closedir(list);
	return count;
}

static const char *program_path(void)
{
	static char path[SP_PATH_SIZE];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/serving_host", builddir != NULL ? builddir : ".");
	return path;
}

/* The widest tolerance of the case: a lone output has no name in JSON. */
static void take_tolerance(comparison *c, const cJSON *from)
{
	const cJSON *rtol = cJSON_GetObjectItem(from, "rtol");
	const cJSON *atol = cJSON_GetObjectItem(from, "atol");

	if (rtol != NULL && rtol->valuedouble > c->rtol)
		c->rtol = rtol->valuedouble;
	if (atol != NULL && atol->valuedouble > c->atol)
		c->atol = atol->valuedouble;
}

static comparison comparison_for(const sp_golden_case *golden)
{
	comparison c = {0};
	const cJSON *output;

	take_tolerance(&c, cJSON_GetObjectItem(golden->about, "tolerance"));
	cJSON_ArrayForEach (output, cJSON_GetObjectItem(golden->about, "tolerance_by_output"))
		take_tolerance(&c, output);
	return c;
}

/* The case's configuration, in the folder of the process. */
static const char *write_config(const sp_host_process *process, const sp_golden_case *golden,
				bool reference)
{
	static char path[5000];
	char *config = sp_golden_config(golden, NULL, reference);
	FILE *file;

	snprintf(path, sizeof(path), "%s/config.json", process->folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(config, file);
	fclose(file);
	free(config);
	return path;
}

static void check_version(uint16_t port, const sp_golden_case *golden)
{
	const cJSON *live = cJSON_GetObjectItem(golden->about, "live");
	const cJSON *step = cJSON_GetObjectItem(live, "full_step");
	sp_http_reply reply;
	char version[64];

	sp_http_call(port, "GET", "/v1/models/golden", NULL, &reply);
	assert_int_equal(reply.status, 200);
	if (step == NULL)
		return;
	snprintf(version, sizeof(version), "\"version\":\"%.0f\"", step->valuedouble);
	assert_non_null(strstr(reply.body, version));
}

/* Waits until the step's version is live; an unchanged one must stay so. */
static void await_step(uint16_t port, const sp_golden_step *step)
{
	char want[256];
	sp_http_reply reply;
	int waited = 0;

	snprintf(want, sizeof(want), "\"full_step\":%lld,\"delta_step\":%lld,\"state\":\"live\"",
		 (long long)step->full_step, (long long)step->delta_step);
	if (!step->is_new)
		usleep(1500 * 1000);
	for (;; waited += 10) {
		sp_http_call(port, "GET", "/v1/models/golden/versions", NULL, &reply);
		assert_int_equal(reply.status, 200);
		if (strstr(reply.body, want) != NULL || !step->is_new || waited > 10000)
			break;
		usleep(10 * 1000);
	}
	if (strstr(reply.body, want) == NULL)
		fail_msg("%s: %s", step->requests, reply.body);
}

static void play_timeline(uint16_t port, comparison *c, sp_golden_case *golden)
{
	char requests[2 * SP_PATH_SIZE];
	sp_golden_step step;

	for (int i = 0; sp_golden_step_of(golden, i, &step); i++) {
		sp_golden_play(golden, i);
		await_step(port, &step);
		snprintf(requests, sizeof(requests), "%s/%s", golden->work, step.requests);
		played += play_folder(port, c, requests);
	}
}

static void play(sp_golden_case *golden, bool reference)
{
	sp_host_process process;
	comparison c = comparison_for(golden);
	char requests[2 * SP_PATH_SIZE], signatures[2 * SP_PATH_SIZE];

	snprintf(requests, sizeof(requests), "%s/requests", golden->work);
	snprintf(signatures, sizeof(signatures), "%s/signatures", golden->work);
	sp_host_process_init(&process);
	if (!sp_host_process_start(
		    &process, program_path(),
		    (const char *const[]){"--model_name=golden", "--processor_config",
					  write_config(&process, golden, reference),
					  "--drain_delay_in_ms=0", "--admin_routes", NULL},
		    true)) {
		if (strstr(sp_host_process_log(&process), "not supported") == NULL)
			fail_msg("%s: %s", golden->name, process.log);
		print_message("not played: %s", process.log);
		sp_host_process_fini(&process);
		return;
	}
	check_version(process.port, golden);
	played += play_folder(process.port, &c, requests);
	played += play_signatures(process.port, &c, signatures);
	if (!reference)
		play_timeline(process.port, &c, golden);
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0);
	sp_host_process_fini(&process);
}

static void play_case(sp_golden_case *golden)
{
	play(golden, true);
	play(golden, false); /* and its timeline, which changes its files */
}

static void the_golden_models_answer_as_tensorflow(void **state)
{
	(void)state;
	sp_golden_each(NULL, play_case);
	assert_true(played >= 30);
}

static bool is_version(uint16_t port, const char *number)
{
	char want[64];
	sp_http_reply reply;

	snprintf(want, sizeof(want), "\"version\":\"%s\",\"state\":\"AVAILABLE\"", number);
	sp_http_call(port, "GET", "/v1/models/golden", NULL, &reply);
	return strstr(reply.body, want) != NULL;
}

/*
 * As TensorFlow Serving: the folder of version 2 is moved into place, and then it
 * serves, however many connections are idle and however few `descriptors` there are.
 */
static void move_a_version_in_beside(sp_golden_case *golden, unsigned descriptors, size_t idle)
{
	sp_http_client *clients = calloc(idle + 1, sizeof(*clients));
	char command[4 * SP_PATH_SIZE], base[SP_PATH_SIZE + 32], requests[2 * SP_PATH_SIZE];
	comparison c = comparison_for(golden);
	sp_host_process process;

	snprintf(requests, sizeof(requests), "%s/requests", golden->work);
	sp_host_process_init(&process);
	process.descriptors = descriptors;
	snprintf(base, sizeof(base), "%.4000s/base", golden->work);
	snprintf(command, sizeof(command), "mkdir '%.4000s' && cp -r '%s/model' '%.4000s/1'", base,
		 golden->work, base);
	assert_int_equal(system(command), 0);
	assert_true(sp_host_process_start(&process, program_path(),
					  (const char *const[]){"--model_name=golden",
								"--model_base_path", base,
								"--drain_delay_in_ms=0", NULL},
					  true));
	for (size_t i = 0; i < idle; i++)
		assert_true(sp_http_client_open(&clients[i], process.port));
	assert_true(is_version(process.port, "1"));
	snprintf(command, sizeof(command), "mv '%s/model' '%.4000s/2'", golden->work, base);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 1000 && !is_version(process.port, "2"); i++)
		usleep(10 * 1000);
	assert_true(is_version(process.port, "2"));
	assert_true(play_folder(process.port, &c, requests) > 0);
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0);
	sp_host_process_fini(&process);
	for (size_t i = 0; i < idle; i++)
		sp_http_client_close(&clients[i]);
	free(clients);
}

static void move_a_version_in(sp_golden_case *golden)
{
	if (golden->ours)
		move_a_version_in_beside(golden, 0, 0);
}

static void move_a_version_in_among_idle_connections(sp_golden_case *golden)
{
	if (golden->ours)
		move_a_version_in_beside(golden, 256, 400);
}

static void ask_for_many_rounds(sp_golden_case *golden)
{
	static const char *const path = "/v1/models/golden:predict";
	static const char *const many =
		"{\"inputs\": {\"rounds\": 2147483647, \"x\": [[1, 2, 3, 4, 5, 6, 7, 8]]}}";
	static const char *const one =
		"{\"inputs\": {\"rounds\": 1, \"x\": [[1, 2, 3, 4, 5, 6, 7, 8]]}}";
	char model[SP_PATH_SIZE + 32];
	sp_host_process process;
	sp_http_reply reply;

	if (!golden->ours)
		return;
	sp_host_process_init(&process);
	snprintf(model, sizeof(model), "%.4000s/model", golden->work);
	assert_true(sp_host_process_start(
		&process, program_path(),
		(const char *const[]){"--model_name=golden", "--model_base_path", model,
				      "--rest_api_num_threads=1", "--rest_api_timeout_in_ms=500",
				      "--drain_delay_in_ms=0", NULL},
		true));
	sp_http_call(process.port, "POST", path, many, &reply);
	assert_int_equal(reply.status, 504);
	/* The only thread is free again. */
	sp_http_call(process.port, "POST", path, one, &reply);
	assert_int_equal(reply.status, 200);
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0);
	sp_host_process_fini(&process);
}

static void a_loop_ends_with_the_time_of_its_request(void **state)
{
	(void)state;
	sp_golden_each("tf2-loops", ask_for_many_rounds);
}

static void a_newer_numbered_model_is_served(void **state)
{
	(void)state;
	sp_golden_each("keras2-mlp", move_a_version_in);
	sp_golden_each("ev-ctr", move_a_version_in);
}

static void a_newer_model_is_found_among_idle_connections(void **state)
{
	(void)state;
	sp_golden_each("keras2-mlp", move_a_version_in_among_idle_connections);
}

static void a_comparison_sees_differences(void **state)
{
	static const struct {
		const char *got, *want;
		bool same;
	} cases[] = {
		{"{\"outputs\":[1.0,2]}", "{\"outputs\": [1.00001, 2]}", true},
		{"{\"outputs\":[1.0,2]}", "{\"outputs\": [1.001, 2]}", false},
		{"{\"outputs\":[1.0,2]}", "{\"outputs\": [1.0, 2, 3]}", false},
		{"{\"outputs\":[1.0,2]}", "{\"outputs\": [1.0]}", false},
		{"{\"a\":9007199254740993}", "{\"a\":9007199254740992}", false},
		{"{\"a\":1,\"b\":\"x\"}", "{\"b\":\"\\u0078\",\"a\":1}", true},
		{"{\"a\":1,\"b\":\"x\"}", "{\"b\":\"x\"}", false},
		{"{\"b\":\"x\"}", "{\"a\":1,\"b\":\"x\"}", false},
		{"{\"a\":NaN}", "{\"a\":NaN}", true},
		{"{\"a\":NaN}", "{\"a\":1.0}", false},
		{"{\"a\":true}", "{\"a\":false}", false},
	};
	comparison c = {.rtol = 1e-4};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (same_document(&c, cases[i].got, cases[i].want) != cases[i].same)
			fail_msg("%s and %s", cases[i].got, cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_comparison_sees_differences),
		cmocka_unit_test(the_golden_models_answer_as_tensorflow),
		cmocka_unit_test(a_newer_numbered_model_is_served),
		cmocka_unit_test(a_newer_model_is_found_among_idle_connections),
		cmocka_unit_test(a_loop_ends_with_the_time_of_its_request),
	};

	return cmocka_run_group_tests_name("host_golden", tests, NULL, NULL);
}
