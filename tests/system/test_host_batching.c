#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/golden.h"
#include "tests/support/host_double.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"

/* serving_host --enable_batching: many clients at a time get the answers that one alone gets. */

enum { MAX_REQUESTS = 16, CLIENTS = 12, ROUNDS = 40 };

static const char parameters[] = "max_batch_size { value: 64 } num_batch_threads { value: 1 }"
				 "batch_timeout_micros { value: 2000 }";

/* The requests of a golden case, and their answers without batching. */
static char *requests[MAX_REQUESTS];
static cJSON *answers[MAX_REQUESTS];
static int request_count;

static const char *program_path(void)
{
	static char path[SP_PATH_SIZE];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/serving_host", builddir != NULL ? builddir : ".");
	return path;
}

/* Numbers may differ by the order of sums. */
static bool are_alike(const cJSON *a, const cJSON *b)
{
	if (a == NULL || b == NULL || a->type != b->type)
		return a == b;
	if (cJSON_IsNumber(a))
		return fabs(a->valuedouble - b->valuedouble) <=
		       1e-5 * fmax(1, fabs(a->valuedouble));
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring) == 0;
	if (cJSON_GetArraySize(a) != cJSON_GetArraySize(b))
		return false;
	for (a = a->child, b = b->child; a != NULL; a = a->next, b = b->next)
		if (!are_alike(a, b))
			return false;
	return true;
}

static void start(sp_host_process *process, const sp_golden_case *golden, bool batching)
{
	char config[5000], file[5000];
	char *text = sp_golden_config(golden, NULL, false);

	sp_host_process_init(process);
	sp_temp_write(process->folder, "/config", sp_bytes_of(text));
	sp_temp_write(process->folder, "/batching", sp_bytes_of(parameters));
	free(text);
	snprintf(config, sizeof(config), "--processor_config=%.4000s/config", process->folder);
	snprintf(file, sizeof(file), "--batching_parameters_file=%.4000s/batching",
		 process->folder);
	assert_true(sp_host_process_start(
		process, program_path(),
		(const char *const[]){config, "--drain_delay_in_ms=0",
				      batching ? "--enable_batching" : NULL, file, NULL},
		true));
}

static void stop(sp_host_process *process)
{
	sp_host_process_signal(process, SIGTERM);
	assert_int_equal(sp_host_process_wait(process), 0);
	sp_host_process_fini(process);
}

static void ask(sp_http_client *client, const char *path, const char *body, sp_http_reply *reply)
{
	char head[300];

	snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n",
		 path, strlen(body));
	assert_true(sp_http_client_send_text(client, head));
	assert_true(sp_http_client_send_text(client, body));
	sp_http_client_receive(client, reply);
}

static void take_answers(const sp_golden_case *golden)
{
	sp_host_process process;
	sp_http_reply reply;

	start(&process, golden, false);
	for (request_count = 0; request_count < MAX_REQUESTS; request_count++) {
		char path[SP_PATH_SIZE + 64];
		size_t size;

		snprintf(path, sizeof(path), "%.3000s/requests/%03d.request.json", golden->work,
			 request_count);
		if (sp_file_read(&requests[request_count], &size, path, SIZE_MAX / 2, NULL) !=
		    SP_OK)
			break;
		sp_http_call(process.port, "POST", "/v1/models/default:predict",
			     requests[request_count], &reply);
		assert_int_equal(reply.status, 200);
		answers[request_count] = cJSON_Parse(reply.body);
	}
	assert_true(request_count > 1);
	stop(&process);
}

typedef struct asker {
	pthread_t thread;
	uint16_t port;
	unsigned seed;
	int wrong;
} asker;

static void *ask_many(void *context)
{
	asker *a = context;
	sp_http_reply *reply = malloc(sizeof(*reply));
	sp_http_client client;

	assert_true(sp_http_client_open(&client, a->port));
	for (int i = 0; i < ROUNDS; i++) {
		int which = rand_r(&a->seed) % request_count;
		cJSON *got;

		ask(&client, "/v1/models/default:predict", requests[which], reply);
		got = cJSON_Parse(reply->body);
		a->wrong += reply->status != 200 || !are_alike(answers[which], got);
		cJSON_Delete(got);
	}
	sp_http_client_close(&client);
	free(reply);
	return NULL;
}

static double metric_of_model(uint16_t port, const char *name)
{
	static sp_http_reply reply;
	char line[200];
	const char *at;

	snprintf(line, sizeof(line), "\n%s{model_name=\"default\"} ", name);
	sp_http_call(port, "GET", "/monitoring/prometheus/metrics", NULL, &reply);
	at = strstr(reply.body, line);
	assert_non_null(at);
	return atof(at + strlen(line));
}

static void compare(sp_golden_case *golden)
{
	asker askers[CLIENTS] = {0};
	sp_host_process process;

	if (!golden->ours)
		return;
	take_answers(golden);
	start(&process, golden, true);
	for (unsigned i = 0; i < CLIENTS; i++) {
		askers[i].port = process.port;
		askers[i].seed = i + 1;
		pthread_create(&askers[i].thread, NULL, ask_many, &askers[i]);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].wrong, 0);
	}
	assert_true(metric_of_model(process.port, "serving_processor_batch_requests_total") >=
		    CLIENTS * ROUNDS);
	assert_true(metric_of_model(process.port, "serving_processor_batch_requests_total") >
		    metric_of_model(process.port, "serving_processor_batches_total"));
	assert_null(strstr(sp_host_process_log(&process), "are not batched"));
	stop(&process);
	for (int i = 0; i < request_count; i++) {
		sp_free(requests[i]);
		cJSON_Delete(answers[i]);
	}
}

static void many_clients_get_the_answers_of_one(void **state)
{
	(void)state;
	sp_golden_each("keras2-mlp", compare);
	sp_golden_each("ev-ctr", compare);
	sp_golden_each("tf1-feature-columns", compare);
}

/* ------------------------------------------------------------------------ limits */

static void start_double(sp_host_process *process, const char *config, const char *batching)
{
	char folder[SP_PATH_SIZE], file[5000];

	sp_temp_make(folder);
	sp_temp_write(folder, "/batching", sp_bytes_of(batching));
	snprintf(file, sizeof(file), "--batching_parameters_file=%s/batching", folder);
	sp_host_double_start(process, config, SP_FLAGS("--enable_batching", file), true);
	sp_temp_remove(folder);
}

static void a_request_larger_than_a_batch_is_refused(void **state)
{
	sp_host_process process;
	sp_http_reply reply;

	(void)state;
	start_double(&process, "{}", "max_batch_size { value: 4 }");
	sp_http_call(process.port, "POST", "/v1/models/default:predict",
		     "{\"instances\":[1,2,3,4,5]}", &reply);
	assert_int_equal(reply.status, 400);
	assert_string_equal(reply.body, "{\"error\":\"Task size 5 is larger than maximum input "
					"batch size 4\"}");
	sp_http_call(process.port, "POST", "/v1/models/default:predict", "{\"instances\":[1,2]}",
		     &reply);
	assert_int_equal(reply.status, 200);
	sp_host_double_stop(&process);
}

/* One is computed and one waits. */
static void a_full_queue_of_batches_is_unavailable(void **state)
{
	enum { COUNT = 5 };
	sp_host_process process;
	sp_http_client clients[COUNT];
	sp_http_reply reply;
	int answered = 0, refused = 0;

	(void)state;
	start_double(&process, "{\"run_ms\":500}",
		     "max_batch_size { value: 1 } max_enqueued_batches { value: 1 }"
		     "num_batch_threads { value: 1 }");
	for (int i = 0; i < COUNT; i++) {
		assert_true(sp_http_client_open(&clients[i], process.port));
		sp_http_client_send_text(&clients[i],
					 "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\n"
					 "Content-Length: 17\r\n\r\n{\"instances\":[2]}");
	}
	for (int i = 0; i < COUNT; i++) {
		sp_http_client_receive(&clients[i], &reply);
		answered += reply.status == 200;
		refused += reply.status == 503;
		sp_http_client_close(&clients[i]);
	}
	assert_int_equal(answered, 2);
	assert_int_equal(refused, COUNT - 2);
	sp_host_double_stop(&process);
}

/* A request of EAS: one row of x, a float whose bytes are in `value`. */
static void ask_eas(sp_http_client *client, const char *value)
{
	char text[300];

	snprintf(text, sizeof(text),
		 "POST /api/predict/default HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n"
		 "\x12\x12\x0a\1x\x12\x0d\x08\1\x12\3\x0a\1\1\x1a\4%s",
		 value);
	assert_true(sp_http_client_send_text(client, text));
}

/* While the first is computed, the others wait; then they are computed together. */
static void requests_of_eas_are_batched(void **state)
{
	enum { COUNT = 5 };
	static const char *const values[] = {"\1\1\1A", "\1\1\1B", "\1\1\1C", "\1\1\1D", "\1\1\1E"};
	sp_host_process process;
	sp_http_client clients[COUNT];
	sp_http_reply reply;

	(void)state;
	start_double(&process, "{\"run_ms\":40}",
		     "max_batch_size { value: 8 } num_batch_threads { value: 1 }");
	for (int i = 0; i < COUNT; i++) {
		assert_true(sp_http_client_open(&clients[i], process.port));
		ask_eas(&clients[i], values[i]);
	}
	for (int i = 0; i < COUNT; i++) {
		float value, answer;

		sp_http_client_receive(&clients[i], &reply);
		assert_int_equal(reply.status, 200);
		memcpy(&value, values[i], sizeof(value));
		memcpy(&answer, reply.body + 16, sizeof(answer)); /* behind tags and lengths */
		assert_true(answer == value / 2 + 2);
		sp_http_client_close(&clients[i]);
	}
	assert_int_equal(metric_of_model(process.port, "serving_processor_batch_requests_total"),
			 COUNT);
	assert_true(metric_of_model(process.port, "serving_processor_batches_total") < COUNT);
	sp_host_double_stop(&process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_clients_get_the_answers_of_one),
		cmocka_unit_test(a_request_larger_than_a_batch_is_refused),
		cmocka_unit_test(a_full_queue_of_batches_is_unavailable),
		cmocka_unit_test(requests_of_eas_are_batched),
	};

	return cmocka_run_group_tests_name("host_batching", tests, NULL, NULL);
}
