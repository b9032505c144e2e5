#include "tests/support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/row_model.h"

/*
 * A model whose table lies on an SSD, by the exported functions: what is told
 * of its keys, deltas that are merged with it, and a block that breaks meanwhile.
 */

enum { KEYS = 3000, ASKED = 200 };

static sp_row_model rows;
static char folder[SP_PATH_SIZE];

static int set_up(void **state)
{
	(void)state;
	serving_processor_set_log_level(3);
	sp_temp_make(folder);
	sp_row_model_init(&rows, KEYS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_row_model_fini(&rows);
	sp_temp_remove(folder);
	return 0;
}

static void open_on_ssd(const char *more)
{
	char config[3 * SP_PATH_SIZE];

	snprintf(config, sizeof(config),
		 ", \"update_poll_interval_ms\": 10, \"ev_storage_type\": 12,"
		 "\"ev_storage_path\": \"%s\", \"ev_storage_size\": [1, 1]%s",
		 folder, more);
	sp_row_model_open(&rows, config);
	assert_non_null(rows.model);
}

static void close_model(void)
{
	serving_processor_destroy(rows.model);
	rows.model = NULL;
}

/* A number of the first table of which the versions tell. */
static uint64_t told(const char *name)
{
	char *json = serving_processor_versions(rows.model), text[64];
	const char *at = strstr(json, "\"tables\":[{\"table\":");
	uint64_t number;

	assert_non_null(at);
	assert_non_null(strstr(at, "\"tier\":\"ssd\""));
	snprintf(text, sizeof(text), "\"%s\":", name);
	at = strstr(at, text);
	assert_non_null(at);
	number = strtoull(at + strlen(text), NULL, 10);
	serving_processor_free(json);
	return number;
}

static void check_sum(void)
{
	assert_int_equal(told("keys"), told("in_memory") + told("cached") + told("missed"));
}

static void it_is_told_where_keys_were_found(void **state)
{
	uint64_t keys, in_memory, missed;

	(void)state;
	open_on_ssd("");
	keys = told("keys");
	missed = told("missed");
	assert_true(sp_row_model_ask(&rows, rows.keys + 500, ASKED) == 1000);
	assert_int_equal(told("keys"), keys + ASKED);
	assert_int_equal(told("in_memory"), 0);
	assert_int_equal(told("errors"), 0);
	/* A cache of one byte is one of sixteen rows. */
	assert_true(told("missed") >= missed + ASKED - 32);
	assert_true(told("bytes_read") >= 4096);
	assert_true(told("memory") > 0);
	check_sum();

	sp_row_model_write_delta(&rows, 1, 7);
	assert_true(sp_row_model_await(&rows, 1007));
	in_memory = told("in_memory");
	assert_true(sp_row_model_ask(&rows, rows.keys + 500, ASKED) == 1007);
	assert_int_equal(told("in_memory"), in_memory + ASKED / 2);
	check_sum();
}

/* A delta has rows of every second key. */
static void rows_in_memory_are_told_of(void **state)
{
	char *json, text[128];

	(void)state;
	sp_row_model_open(&rows, "");
	json = serving_processor_versions(rows.model);
	assert_null(strstr(json, "\"tier\""));
	snprintf(text, sizeof(text), "\"rows\":%zu,\"overlay_rows\":0,\"memory\":", rows.key_count);
	assert_non_null(strstr(json, text));
	serving_processor_free(json);

	sp_row_model_write_delta(&rows, 1, 7);
	assert_true(sp_row_model_await(&rows, 1007));
	json = serving_processor_versions(rows.model);
	snprintf(text, sizeof(text),
		 "\"rows\":%zu,\"overlay_rows\":%zu,\"memory\":", rows.key_count,
		 rows.key_count / 2);
	assert_non_null(strstr(json, text));
	assert_non_null(strstr(json, "\"memory\":"));
	serving_processor_free(json);
}

static bool is_refused(void)
{
	char *json = serving_processor_versions(rows.model);
	bool found = strstr(json, "update_max_drift_percent") != NULL &&
		     strstr(json, "\"state\":\"refused\"") != NULL;

	serving_processor_free(json);
	return found;
}

/* Rows of 1000 become rows of 1007, and then of 1900. */
static void a_delta_that_drifts_too_far_is_refused(void **state)
{
	(void)state;
	open_on_ssd(", \"update_max_drift_percent\": 10");
	sp_row_model_write_delta(&rows, 1, 7);
	assert_true(sp_row_model_await(&rows, 1007));
	sp_row_model_write_delta(&rows, 1, 900);
	for (int i = 0; i < 2000 && !is_refused(); i++)
		usleep(5000);
	assert_true(is_refused());
	assert_true(sp_row_model_ask(&rows, rows.keys, ASKED) == 1007);
}

/* Something in every block of the one file of rows. */
static void spoil_rows(void)
{
	char command[4 * SP_PATH_SIZE];

	snprintf(command, sizeof(command),
		 "for f in '%s'/sp-ssd-*/rows/*.sst; do n=$(stat -c %%s \"$f\"); i=100; "
		 "while [ $i -lt $n ]; do printf 'spoilt' | dd of=\"$f\" bs=1 seek=$i conv=notrunc "
		 "status=none; i=$((i + 2048)); done; done",
		 folder);
	assert_int_equal(system(command), 0);
}

static void after_a_block_breaks_the_next_start_is_right(void **state)
{
	size_t failed = 0;

	(void)state;
	open_on_ssd("");
	spoil_rows();
	for (size_t first = 0; first < KEYS; first += ASKED) {
		double answer = sp_row_model_ask(&rows, rows.keys + first, ASKED);

		assert_true(answer == 1000 || answer == -1); /* never a wrong row */
		failed += answer == -1;
	}
	assert_true(failed != 0);
	assert_int_equal(told("errors"), failed);
	close_model();
	open_on_ssd("");
	for (size_t first = 0; first < KEYS; first += ASKED)
		assert_true(sp_row_model_ask(&rows, rows.keys + first, ASKED) == 1000);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(it_is_told_where_keys_were_found),
		CASE(rows_in_memory_are_told_of),
		CASE(a_delta_that_drifts_too_far_is_refused),
		CASE(after_a_block_breaks_the_next_start_is_right),
	};

	/* What is built is made durable, which a busy disk takes long for. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests_name("ssd_model", tests, NULL, NULL);
}
