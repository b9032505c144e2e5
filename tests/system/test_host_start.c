#include "tests/support/cmocka.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/host_double.h"
#include "tests/support/http_client.h"
#include "tests/support/paths.h"

/* How serving_host starts: command line, model, probes. */

static void probes_are_answered_while_the_model_loads(void **state)
{
	sp_host_process process;
	sp_http_reply reply;

	(void)state;
	sp_host_double_start(&process, "{\"load_ms\":1500}", (const char *const[]){NULL}, false);
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
	sp_host_double_stop(&process);
}

static void a_signal_while_loading_ends_at_once(void **state)
{
	sp_host_process process;
	int64_t began;

	(void)state;
	sp_host_double_start(&process, "{\"load_ms\":60000}", (const char *const[]){NULL}, false);
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
		&process, sp_host_double_path(),
		SP_FLAGS("--processor_config",
			 sp_host_double_config(&process, "{\"load_error\":\"the file is torn\"}")),
		true));
	assert_int_equal(sp_host_process_wait(&process), 1);
	assert_non_null(strstr(sp_host_process_log(&process), "the file is torn"));
	assert_false(sp_host_process_start(&process, sp_host_double_path(),
					   SP_FLAGS("--model_base_path=/nowhere/at/all"), true));
	assert_int_equal(sp_host_process_wait(&process), 1);
	assert_non_null(strstr(sp_host_process_log(&process), "/nowhere/at/all"));
	assert_false(sp_host_process_start(&process, sp_host_double_path(),
					   SP_FLAGS("--model_base_path", process.folder), true));
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

	assert_true(sp_host_process_start(
		process, sp_host_double_path(),
		SP_FLAGS("--model_base_path", base, "--drain_delay_in_ms=0"), true));
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
	assert_true(sp_host_process_start(
		&process, sp_host_double_path(),
		SP_FLAGS("--processor_config", sp_host_double_config(&process, "{\"load_ms\":500}"),
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
	sp_host_double_stop(&process);
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
		assert_false(sp_host_process_start(&process, sp_host_double_path(), cases[i].flags,
						   true));
		assert_int_equal(sp_host_process_wait(&process), 2);
		if (strstr(sp_host_process_log(&process), cases[i].words) == NULL)
			fail_msg("%s: %s", cases[i].words, process.log);
		sp_host_process_fini(&process);
	}
}

/* Every line of --help that begins with a flag. */
static size_t list_flags(const char *text, char names[128][64])
{
	size_t count = 0;

	for (const char *at = strstr(text, "\n  --"); at != NULL; at = strstr(at + 1, "\n  --")) {
		assert_true(count < 128);
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

/* ------------------------------------------------------------- TensorFlow Serving */

static int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* Without a port for REST: gRPC's answers it, too; and the first version may come later. */
static void by_another_name_it_is_tensorflow_serving(void **state)
{
	sp_host_process process;
	char program[5000], target[SP_PATH_SIZE], port[40], base[5000];
	sp_http_reply reply;

	(void)state;
	sp_host_process_init(&process);
	snprintf(program, sizeof(program), "%s/tensorflow_model_server", process.folder);
	assert_non_null(realpath(sp_host_double_path(), target));
	assert_int_equal(symlink(target, program), 0);
	snprintf(port, sizeof(port), "--port=%d", free_port());
	snprintf(base, sizeof(base), "--model_base_path=%s/later", process.folder);
	assert_true(sp_host_process_start(&process, program,
					  SP_FLAGS(port, base, "--enable_profiler",
						   "--tensorflow_session_parallelism=4",
						   "--drain_delay_in_ms=0"),
					  true));
	assert_int_equal(process.port, atoi(port + strlen("--port=")));
	assert_non_null(strstr(process.log, "listening on http://0.0.0.0:"));
	assert_non_null(strstr(process.log, "flags without effect: --enable_profiler (there is no "
					    "profiler), --tensorflow_session_parallelism ("));
	sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
	assert_int_equal(reply.status, 503);
	snprintf(base, sizeof(base), "%s/later", process.folder);
	assert_int_equal(mkdir(base, 0700), 0);
	make_file(base, "3", "saved_model.pb");
	for (int i = 0; i < 500 && reply.status != 200; i++) {
		usleep(20000);
		sp_http_call(process.port, "GET", "/healthz/ready", NULL, &reply);
	}
	sp_host_expect_served(process.port);
	sp_host_double_stop(&process);
}

static int socket_at(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	assert_true(strlen(path) < sizeof(address->sun_path));
	strcpy(address->sun_path, path);
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

/* As a process leaves it that is killed. */
static void leave_socket(const char *path)
{
	struct sockaddr_un address;
	int fd = socket_at(path, &address);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void expect_ready_at(const char *path)
{
	static const char request[] = "GET /healthz/ready HTTP/1.1\r\nHost: a\r\n"
				      "Connection: close\r\n\r\n";
	struct sockaddr_un address;
	int fd = socket_at(path, &address);
	char answer[1000] = "";
	size_t size = 0;
	ssize_t got;

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	while ((got = read(fd, answer + size, sizeof(answer) - 1 - size)) > 0)
		size += (size_t)got;
	close(fd);
	assert_non_null(strstr(answer, "200 OK"));
}

/* All that it has, as an operator may have it in a file; ours are two ports on the loopback. */
static void a_stock_command_line_starts(void **state)
{
	sp_host_process process;
	char port[40], config[5000], base[5000], batching[5000], monitoring[5000], path[5000];
	sp_http_reply reply;

	(void)state;
	sp_host_process_init(&process);
	make_file(process.folder, "3", "saved_model.pb");
	snprintf(port, sizeof(port), "--port=%d", free_port());
	snprintf(base, sizeof(base),
		 "model_config_list { config { name: 'default' base_path: '%s' } }",
		 process.folder);
	sp_temp_write(process.folder, "/models", sp_bytes_of(base));
	sp_temp_write(process.folder, "/batching",
		      sp_bytes_of("max_batch_size { value: 8 } allowed_batch_sizes: [4, 8]"));
	sp_temp_write(process.folder, "/monitoring",
		      sp_bytes_of("prometheus_config { enable: true path: '/m' }"));
	snprintf(config, sizeof(config), "--model_config_file=%s/models", process.folder);
	snprintf(batching, sizeof(batching), "--batching_parameters_file=%s/batching",
		 process.folder);
	snprintf(monitoring, sizeof(monitoring), "--monitoring_config_file=%s/monitoring",
		 process.folder);
	snprintf(path, sizeof(path), "--grpc_socket_path=%s/socket", process.folder);
	leave_socket(path + strlen("--grpc_socket_path="));
	assert_true(sp_host_process_start(
		&process, sp_host_double_path(),
		SP_FLAGS(port, config, batching, monitoring, path, "--enable_batching",
			 "--file_system_poll_wait_seconds=1", "--flush_filesystem_caches=false",
			 "--rest_api_num_threads=4", "--num_load_threads=2",
			 "--num_unload_threads=2", "--enable_model_warmup=true",
			 "--per_process_gpu_memory_fraction=0.5", "--grpc_channel_arguments=a=b",
			 "--saved_model_tags=serve", "--grpc_max_threads=8",
			 "--use_alts_credentials=false", "--xla_cpu_compilation_enabled",
			 "--drain_delay_in_ms=0"),
		true));
	sp_host_expect_served(process.port);
	sp_http_call((uint16_t)atoi(port + strlen("--port=")), "GET", "/v1/models/default", NULL,
		     &reply);
	assert_int_equal(reply.status, 200);
	assert_non_null(strstr(process.log, "listening on http://127.0.0.1:"));
	assert_null(strstr(process.log, "0.0.0.0"));
	sp_http_call(process.port, "GET", "/m", NULL, &reply);
	assert_non_null(strstr(reply.body, "# TYPE"));
	expect_ready_at(path + strlen("--grpc_socket_path="));
	sp_host_process_signal(&process, SIGTERM);
	assert_int_equal(sp_host_process_wait(&process), 0);
	assert_int_equal(access(path + strlen("--grpc_socket_path="), F_OK), -1);
	sp_host_process_fini(&process);
}

static void help_and_manual_have_the_same_flags(void **state)
{
	sp_host_process process;
	char path[SP_PATH_SIZE], names[128][64];
	char *manual = read_file(sp_source_path(path, "docs/serving_host.8"));
	size_t count, in_manual = 0;

	(void)state;
	sp_host_process_init(&process);
	assert_false(
		sp_host_process_start(&process, sp_host_double_path(), SP_FLAGS("--help"), true));
	assert_int_equal(sp_host_process_wait(&process), 0);
	count = list_flags(sp_host_process_log(&process), names);
	assert_true(count > 20);
	for (size_t i = 0; i < count; i++)
		if (!manual_has(manual, names[i]))
			fail_msg("--%s is not in docs/serving_host.8", names[i]);
	for (const char *at = manual; (at = strstr(at, ".TP\n.B")) != NULL; at++)
		in_manual += strncmp(at + 4 + strcspn(at + 4, "\\\n"), "\\-\\-", 4) == 0;
	assert_int_equal(in_manual, count);
	assert_false(sp_host_process_start(&process, sp_host_double_path(), SP_FLAGS("--version"),
					   true));
	assert_int_equal(sp_host_process_wait(&process), 0);
	assert_string_equal(sp_host_process_log(&process), "serving_host 0.0.0-double\n");
	assert_false(sp_host_process_start(&process, sp_host_double_path(),
					   SP_FLAGS("--version", "--compat=tfs"), true));
	assert_int_equal(sp_host_process_wait(&process), 0);
	assert_string_equal(sp_host_process_log(&process),
			    "TensorFlow ModelServer: 0.0.0-double (serving_host)\n"
			    "TensorFlow Library: 0.0.0-double (libserving_processor; there is no "
			    "TensorFlow)\n");
	free(manual);
	sp_host_process_fini(&process);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_are_answered_while_the_model_loads),
		cmocka_unit_test(a_signal_while_loading_ends_at_once),
		cmocka_unit_test(a_model_that_cannot_be_opened_is_exit_status_1),
		cmocka_unit_test(folders_are_numbered),
		cmocka_unit_test(the_port_is_written_when_the_model_is_served),
		cmocka_unit_test(a_wrong_command_line_is_exit_status_2),
		cmocka_unit_test(by_another_name_it_is_tensorflow_serving),
		cmocka_unit_test(a_stock_command_line_starts),
		cmocka_unit_test(help_and_manual_have_the_same_flags),
	};

	return cmocka_run_group_tests_name("host_start", tests, NULL, NULL);
}
