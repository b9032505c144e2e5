#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "processor/processor.h"
#include "tests/support/model_double.h"
#include "tests/support/paths.h"

/* a = {1, 2} and b = {10, 20} as float tensors of shape [2] */
static const char a_and_b[] = "\x12\x15\x0a\x01\x61\x12\x10\x08\x01\x12\x02\x08\x02"
			      "\x1a\x08\0\0\x80\x3f\0\0\0\x40"
			      "\x12\x15\x0a\x01\x62\x12\x10\x08\x01\x12\x02\x08\x02"
			      "\x1a\x08\0\0\x20\x41\0\0\xa0\x41";

static char folder[SP_PATH_SIZE];
static char last_warning[512];

static void keep_warning(void *context, int level, const char *line)
{
	(void)context;
	if (level == SP_LOG_WARNING)
		snprintf(last_warning, sizeof(last_warning), "%s", line);
}

static int set_up(void **state)
{
	(void)state;
	sp_log_set_sink(keep_warning, NULL);
	last_warning[0] = '\0';
	memset(&sp_the_model_double, 0, sizeof(sp_the_model_double));
	sp_temp_make(folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(sp_the_model_double.alive, 0);
	sp_temp_remove(folder);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static sp_status open_with(sp_processor **out, const char *more, sp_error *err)
{
	char config[2 * SP_PATH_SIZE + 512], model[SP_PATH_SIZE];

	snprintf(config, sizeof(config),
		 "{\"savedmodel_dir\": \"%s\", \"signature_name\": \"numbers\","
		 "\"model_store_type\": \"local\", \"feature_store_type\": \"memory\","
		 "\"serialize_protocol\": \"protobuf\", \"session_num\": 1 %s}",
		 sp_source_path(model, "tests/golden/ev-ctr/model"), more);
	return sp_processor_open(out, config, err);
}

static void ask(sp_processor *processor, int times)
{
	void *block;
	size_t size;
	sp_error err;

	for (int i = 0; i < times; i++) {
		assert_ok(sp_processor_predict(processor, NULL, NULL,
					       (sp_bytes){a_and_b, sizeof(a_and_b) - 1}, NULL,
					       &block, &size, &err),
			  &err);
		sp_free(block);
	}
}

static void check_event(const cJSON *event, const char *category, const char *name)
{
	assert_string_equal(cJSON_GetObjectItem(event, "ph")->valuestring, "X");
	assert_string_equal(cJSON_GetObjectItem(event, "cat")->valuestring, category);
	assert_string_equal(cJSON_GetObjectItem(event, "name")->valuestring, name);
	assert_true(cJSON_GetObjectItem(event, "dur")->valuedouble >= 0);
}

/* The file is of request `number`, whose steps are in its time. */
static void check_file(const char *name, double number)
{
	char path[SP_PATH_SIZE + 32], *text;
	const cJSON *events, *request, *step;
	size_t size;
	cJSON *json;
	double end;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(sp_file_read(&text, &size, path, 1 << 20, NULL), SP_OK);
	json = cJSON_Parse(text);
	assert_non_null(json);
	events = cJSON_GetObjectItem(json, "traceEvents");
	request = cJSON_GetArrayItem(events, 2);
	check_event(request, "request", "numbers");
	assert_true(
		cJSON_GetObjectItem(cJSON_GetObjectItem(request, "args"), "request")->valuedouble ==
		number);
	end = cJSON_GetObjectItem(request, "ts")->valuedouble +
	      cJSON_GetObjectItem(request, "dur")->valuedouble;
	check_event(cJSON_GetArrayItem(events, 3), "request", "wait");
	step = cJSON_GetArrayItem(events, 4);
	check_event(step, "step", "AddV2");
	assert_string_equal(
		cJSON_GetObjectItem(cJSON_GetObjectItem(step, "args"), "name")->valuestring,
		"out/sum");
	assert_true(cJSON_GetObjectItem(step, "ts")->valuedouble +
			    cJSON_GetObjectItem(step, "dur")->valuedouble <=
		    end);
	cJSON_Delete(json);
	sp_free(text);
}

static bool has_file(const char *name)
{
	char path[SP_PATH_SIZE + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return sp_file_exists(path);
}

static void some_requests_are_traced(void **state)
{
	char more[SP_PATH_SIZE + 256];
	sp_processor *processor;
	sp_error err;

	(void)state;
	snprintf(more, sizeof(more),
		 ", \"timeline_start_step\": 1, \"timeline_interval_step\": 3,"
		 "\"timeline_trace_count\": 2, \"timeline_path\": \"%s\"",
		 folder);
	assert_ok(open_with(&processor, more, &err), &err);
	ask(processor, 12);
	sp_processor_close(processor);
	check_file("timeline-0", 1);
	check_file("timeline-1", 4);
	assert_false(has_file("timeline-2"));
	assert_string_equal(last_warning, "");
}

static void files_that_cannot_be_written_are_told(void **state)
{
	sp_processor *processor;
	sp_error err;

	(void)state;
	assert_ok(open_with(&processor,
			    ", \"timeline_start_step\": 0, \"timeline_interval_step\": 1,"
			    "\"timeline_trace_count\": 1, \"timeline_path\": \"/no/such\"",
			    &err),
		  &err);
	ask(processor, 2);
	sp_processor_close(processor);
	assert_non_null(strstr(last_warning, "cannot write '/no/such/timeline-0'"));
}

static void all_keys_are_needed(void **state)
{
	sp_processor *processor;
	sp_error err;

	(void)state;
	assert_ok(open_with(&processor, ", \"timeline_path\": \"/tmp\"", &err), &err);
	assert_non_null(strstr(last_warning, "timeline_start_step"));
	ask(processor, 2);
	sp_processor_close(processor);
	assert_int_equal(open_with(&processor, ", \"timeline_path\": \"oss://b/c\"", &err),
			 SP_UNSUPPORTED);
	assert_int_equal(open_with(&processor, ", \"timeline_path\": \"here\"", &err), SP_INVALID);
	assert_non_null(strstr(err.text, "timeline_path"));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(some_requests_are_traced),
		CASE(files_that_cannot_be_written_are_told),
		CASE(all_keys_are_needed),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
