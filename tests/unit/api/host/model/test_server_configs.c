#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "api/host/model/server_configs.h"
#include "tests/support/paths.h"

static sp_arena *arena;
static sp_error err;
static char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 8];

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(1 << 12);
	sp_temp_make(folder);
	snprintf(path, sizeof(path), "%s/file", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_temp_remove(folder);
	return 0;
}

static void write_file(const char *text)
{
	sp_temp_write(folder, "/file", sp_bytes_of(text));
}

static void batching(void **state)
{
	sp_batching_config config;

	(void)state;
	write_file("");
	assert_ok(sp_batching_config_read(&config, path, arena, &err), &err);
	assert_int_equal(config.max_batch_size, 1000);
	assert_int_equal(config.max_enqueued_batches, 10);
	assert_int_equal(config.allowed_count, 0);
	write_file("max_batch_size { value: 128 } batch_timeout_micros { value: 500 }\n"
		   "max_enqueued_batches { value: 4 } num_batch_threads { value: 2 }\n"
		   "thread_pool_name { value: 'pool' } allowed_batch_sizes: [8, 32]\n"
		   "allowed_batch_sizes: 128 pad_variable_length_inputs: true");
	assert_ok(sp_batching_config_read(&config, path, arena, &err), &err);
	assert_int_equal(config.max_batch_size, 128);
	assert_int_equal(config.batch_timeout_micros, 500);
	assert_string_equal(config.thread_pool_name, "pool");
	assert_int_equal(config.allowed_count, 3);
	assert_int_equal(config.allowed_batch_sizes[1], 32);
	assert_true(config.pad_variable_length_inputs);
	write_file("max_batch_size { value: 128 } max_execution_batch_size { value: 64 }\n"
		   "enable_large_batch_splitting { value: true } allowed_batch_sizes: 64");
	assert_ok(sp_batching_config_read(&config, path, arena, &err), &err);
}

static void wrong_batching(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"max_batch_size: 128", "Error parsing text-format "
					"tensorflow.serving.BatchingParameters: 1:17: "
					"max_batch_size: expected a message"},
		{"max_batch_size { value: 0 }", "out of range"},
		{"max_enqueued_batches { value: -1 }", "out of range"},
		{"max_execution_batch_size { value: 2000 }", "out of range"},
		{"allowed_batch_sizes: [8, 8, 1000]", "not ascending"},
		{"allowed_batch_sizes: [8, 32]", "must be the largest batch, 1000"},
		{"speed: 11", "has no field named \"speed\""},
	};
	sp_batching_config config;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file(cases[i].text);
		assert_int_equal(sp_batching_config_read(&config, path, arena, &err), SP_INVALID);
		if (strstr(err.text, cases[i].want) == NULL || strstr(err.text, path) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	sp_temp_remove(path);
	assert_int_equal(sp_batching_config_read(&config, path, arena, &err), SP_NOT_FOUND);
}

static void ssl(void **state)
{
	sp_ssl_config config;

	(void)state;
	write_file("server_key: '-----BEGIN\\n' 'KEY' server_cert: 'CERT' client_verify: true");
	assert_ok(sp_ssl_config_read(&config, path, arena, &err), &err);
	assert_string_equal(config.server_key, "-----BEGIN\nKEY");
	assert_string_equal(config.server_cert, "CERT");
	assert_string_equal(config.custom_ca, "");
	assert_true(config.client_verify);
	write_file("server_key: 'KEY'");
	assert_int_equal(sp_ssl_config_read(&config, path, arena, &err), SP_INVALID);
	assert_non_null(strstr(err.text, "server_key and server_cert are needed"));
}

static void monitoring(void **state)
{
	sp_monitoring_config config;

	(void)state;
	write_file("prometheus_config { enable: true, path: '/m' }");
	assert_ok(sp_monitoring_config_read(&config, path, arena, &err), &err);
	assert_true(config.enable);
	assert_string_equal(config.path, "/m");
	write_file("prometheus_config { enable: true }");
	assert_ok(sp_monitoring_config_read(&config, path, arena, &err), &err);
	assert_string_equal(config.path, "/monitoring/prometheus/metrics");
	write_file("");
	assert_ok(sp_monitoring_config_read(&config, path, arena, &err), &err);
	assert_false(config.enable);
	write_file("prometheus_config { enable: true path: 'm' }");
	assert_int_equal(sp_monitoring_config_read(&config, path, arena, &err), SP_INVALID);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(batching),
		CASE(wrong_batching),
		CASE(ssl),
		CASE(monitoring),
	};

	return cmocka_run_group_tests_name("server_configs", tests, NULL, NULL);
}
