#include "tests/support/cmocka.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "tests/support/checkpoint_folder.h"
#include "tests/support/host_process.h"
#include "tests/support/http_client.h"
#include "tests/support/row_model.h"

/*
 * What serving_tool size foretells and what the metrics tell by owner, against what the kernel says
 * that a host has: anonymous memory, resident or swapped out.
 */

#define SAMPLE     "serving_processor_memory_by_owner_bytes{model_name=\""
#define FLAGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Both enough for all threads to load, so that what these have touched is the same. */
enum { FEW_KEYS = 100000, MANY_KEYS = 400000 };

static sp_host_process host;
static sp_http_reply reply;

static const char *program_path(const char *name)
{
	static char path[4096];
	const char *builddir = getenv("builddir");

	snprintf(path, sizeof(path), "%s/%s", builddir != NULL ? builddir : ".", name);
	return path;
}

static void start(const sp_row_model *rows, const char *more)
{
	char config[4 * SP_PATH_SIZE], path[5000];
	FILE *file;

	sp_host_process_init(&host);
	sp_checkpoint_folder_config(config, sizeof(config), rows->checkpoints, "ev-rows", more);
	snprintf(path, sizeof(path), "%s/config.json", host.folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(config, file);
	fclose(file);
	assert_true(sp_host_process_start(&host, program_path("serving_host"),
					  FLAGS("--model_name=rows", "--processor_config", path),
					  true));
}

static void stop(void)
{
	sp_host_process_signal(&host, SIGTERM);
	assert_int_equal(sp_host_process_wait(&host), 0);
	sp_host_process_fini(&host);
}

/* The kernel's number of a line of the host's status, in bytes. */
static double kernel_says(const char *format)
{
	char path[64], line[256];
	double kilobytes = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)host.pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, format, &kilobytes) == 1)
			break;
	fclose(file);
	assert_true(kilobytes >= 0);
	return 1024 * kilobytes;
}

static double own_memory(void)
{
	return kernel_says("RssAnon: %lf kB") + kernel_says("VmSwap: %lf kB");
}

static void expect_near(const char *what, double a, double b)
{
	if (fabs(a - b) > 0.05 * b)
		fail_msg("%s: %.0f is not within 5 %% of %.0f", what, a, b);
}

/* What `serving_tool size` says of one owner. */
static double foretold(const sp_row_model *rows, const char *flags, const char *owner)
{
	char model[SP_PATH_SIZE], command[4 * SP_PATH_SIZE], output[16384];
	const cJSON *memory;
	double bytes;
	size_t size;
	cJSON *json;
	FILE *pipe;

	sp_source_path(model, "tests/golden/ev-rows/model");
	snprintf(command, sizeof(command), "%s size --json %s --model=%s %s",
		 program_path("serving_tool"), flags, model, rows->checkpoints);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	size = fread(output, 1, sizeof(output) - 1, pipe);
	output[size] = '\0';
	assert_int_equal(pclose(pipe), 0);
	json = cJSON_Parse(output);
	memory = cJSON_GetObjectItem(json, "memory");
	if (cJSON_GetObjectItem(memory, owner) == NULL)
		fail_msg("no %s in %s", owner, output);
	bytes = cJSON_GetObjectItem(memory, owner)->valuedouble;
	cJSON_Delete(json);
	return bytes;
}

static void scrape(void)
{
	sp_http_call(host.port, "GET", "/monitoring/prometheus/metrics", NULL, &reply);
	assert_int_equal(reply.status, 200);
}

/* The sum of all owners, or one of them ("rows\",owner=\"tables\"} "). */
static double told(const char *of)
{
	char sample[128];
	double sum = 0;

	snprintf(sample, sizeof(sample), "\n" SAMPLE "%s", of);
	for (const char *at = reply.body; (at = strstr(at, sample)) != NULL; at++)
		sum += strtod(strchr(at, '}') + 1, NULL);
	return sum;
}

static void await_step(const char *step)
{
	char sample[128];
	int turns = 0;

	snprintf(sample, sizeof(sample),
		 "\nserving_processor_live_full_step{model_name=\"rows\"} %s\n", step);
	for (scrape(); strstr(reply.body, sample) == NULL; scrape()) {
		assert_true(++turns < 2000);
		usleep(10000);
	}
}

/* While another version is loaded, the host has at most so much more. */
static void check_swap(const sp_row_model *rows, const char *flags)
{
	double room = foretold(rows, flags, "headroom_for_swap"), before;

	before = kernel_says("VmRSS: %lf kB");
	sp_row_model_write_full(rows, 2);
	await_step("2000");
	assert_true(kernel_says("VmHWM: %lf kB") - before < 1.05 * room + 4e6);
}

/* Both numbers grow with the rows, by the same: whatever else a host has is in neither. */
static void check_format(const char *flags, const char *more, bool swaps)
{
	sp_row_model few, many;
	double total, small;

	sp_row_model_init(&few, FEW_KEYS);
	start(&few, more);
	small = own_memory();
	stop();
	sp_row_model_init(&many, MANY_KEYS);
	start(&many, more);
	total = foretold(&many, flags, "total");
	expect_near("growth", total - foretold(&few, flags, "total"), own_memory() - small);
	scrape();
	expect_near("tables", foretold(&many, flags, "tables"), told("rows\",owner=\"tables\"} "));
	expect_near("all of the model", total, told("rows\""));
	expect_near("all owners", told(""), own_memory());
	/* What nobody accounts for is a small part: most has an owner with a name. */
	assert_true(told("\",owner=\"other\"} ") < 0.1 * own_memory() + 8e6);
	if (swaps)
		check_swap(&many, flags);
	stop();
	sp_row_model_fini(&few);
	sp_row_model_fini(&many);
}

static void rows_of_floats_take_what_was_foretold(void **state)
{
	(void)state;
	check_format("--sessions=2", ", \"session_num\": 2, \"update_poll_interval_ms\": 10",
		     false);
}

static void rows_of_codes_take_what_was_foretold(void **state)
{
	(void)state;
	check_format("--sessions=2 --row_format=int8",
		     ", \"session_num\": 2, \"update_poll_interval_ms\": 10, \"ev_row_format\": "
		     "\"int8\"",
		     true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_floats_take_what_was_foretold),
		cmocka_unit_test(rows_of_codes_take_what_was_foretold),
	};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)tests;
	return 77; /* a sanitizer's allocator has memory of its own */
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
