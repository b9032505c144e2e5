#include "tests/support/cmocka.h"

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "base/clock.h"
#include "storage/ssd/read_rings.h"
#include "tests/support/row_model.h"
#include "tests/support/wire.h"

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
	assert_non_null(strstr(json, ",\"keys\":"));
	assert_non_null(strstr(json, ",\"absent\":"));
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

/* ---- a disk that does not answer ---- */

/*
 * Puts what `to` is in place of every open file of rows, of which at most `most` are kept.  They
 * are listed before the first is duplicated: the list would go on to the duplicates.
 */
static size_t exchange_files(int to, int kept[], int numbers[], size_t most)
{
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(fds);
	while ((entry = readdir(fds)) != NULL) {
		char target[SP_PATH_SIZE] = "";

		if (readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1) < 4 ||
		    strcmp(target + strlen(target) - 4, ".sst") != 0)
			continue;
		assert_true(count < most);
		numbers[count++] = atoi(entry->d_name);
	}
	closedir(fds);
	for (size_t i = 0; i < count; i++) {
		kept[i] = dup(numbers[i]);
		assert_int_equal(dup2(to, numbers[i]), numbers[i]);
	}
	return count;
}

typedef struct asking {
	const int64_t *key;
	bool by_message; /* process() */
	serving_processor_code code;
	char text[512];
	int64_t ns;
} asking;

static void run_typed(asking *a)
{
	serving_processor_tensor input = {.name = "keys",
					  .dtype = SERVING_PROCESSOR_INT64,
					  .rank = 1,
					  .dims = (const int64_t[]){1},
					  .count = 1,
					  .data = a->key};
	serving_processor_result *result = NULL;
	serving_processor_error *error = NULL;

	a->code = serving_processor_run(rows.model, NULL, &input, 1, NULL, 0, &result, &error);
	snprintf(a->text, sizeof(a->text), "%s", serving_processor_error_text(error));
	serving_processor_error_free(error);
	serving_processor_result_free(result);
}

static void run_message(asking *a)
{
	sp_buffer array = sp_wire_begin(), shape = sp_wire_begin(), entry = sp_wire_begin();
	sp_buffer request = sp_wire_begin();
	void *out = NULL;
	int size = 0;

	sp_wire_varint(&shape, 1, 1);
	sp_wire_varint(&array, 1, SERVING_PROCESSOR_INT64);
	sp_wire_message(&array, 2, &shape);
	sp_wire_varint(&array, 7, (uint64_t)*a->key);
	sp_wire_text(&entry, 1, "keys");
	sp_wire_message(&entry, 2, &array);
	sp_wire_message(&request, 2, &entry);
	a->code = serving_processor_process(rows.model, NULL, request.data, (int)request.size, &out,
					    &size) == 200
			  ? SERVING_PROCESSOR_OK
			  : SERVING_PROCESSOR_DEADLINE; /* the text says it */
	snprintf(a->text, sizeof(a->text), "%.*s", size, (const char *)out);
	serving_processor_free(out);
	sp_buffer_fini(&request);
}

static void *ask_once(void *argument)
{
	asking *a = argument;
	int64_t start = sp_clock_now_ns();

	if (a->by_message)
		run_message(a);
	else
		run_typed(a);
	a->ns = sp_clock_now_ns() - start;
	return NULL;
}

/* A thread cannot read from a pipe at a place. */
static bool has_io_uring(void)
{
	sp_read_rings *rings;
	sp_error err;

	if (sp_read_rings_create(&rings, 1, false, &err) != SP_OK)
		return false;
	sp_read_rings_destroy(rings);
	return true;
}

/* On a busy machine a request may need a second chance to be answered in its time. */
static bool answers_in_time(size_t first)
{
	for (int i = 0; i < 50; i++)
		if (sp_row_model_ask(&rows, rows.keys + first, ASKED) == 1000)
			return true;
	return false;
}

/*
 * Pipes that nobody writes to.  Of these requests one at a time has the session and waits for the
 * disk, and the others wait for the session.
 */
static void a_disk_that_does_not_answer_costs_a_request_its_time_and_no_more(void **state)
{
	enum { ASKING = 4, MOST = 16, TIMEOUT_MS = 200 };
	const int64_t ms = 1000000;
	int ends[2], kept[MOST], numbers[MOST];
	asking asked[ASKING];
	pthread_t threads[ASKING];
	size_t files;

	(void)state;
	if (!has_io_uring())
		skip();
	open_on_ssd(", \"request_timeout_ms\": 200, \"session_num\": 1");
	assert_int_equal(pipe(ends), 0);
	files = exchange_files(ends[0], kept, numbers, MOST);
	assert_true(files != 0);
	for (int i = 0; i < ASKING; i++) {
		asked[i] = (asking){.key = &rows.keys[KEYS - 1 - i], .by_message = i % 2 != 0};
		assert_int_equal(pthread_create(&threads[i], NULL, ask_once, &asked[i]), 0);
	}
	for (int i = 0; i < ASKING; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < ASKING; i++) {
		assert_int_equal(asked[i].code, SERVING_PROCESSOR_DEADLINE);
		assert_true(asked[i].ns >= TIMEOUT_MS * ms && asked[i].ns < 20000 * ms);
		if (strstr(asked[i].text, "the deadline") == NULL)
			fail_msg("%s", asked[i].text);
	}
	for (size_t i = 0; i < files; i++) {
		assert_int_equal(dup2(kept[i], numbers[i]), numbers[i]);
		close(kept[i]);
	}
	/* The device answers again; what was left behind still waits, and ends with the pipe. */
	for (size_t first = 0; first < KEYS; first += ASKED)
		assert_true(answers_in_time(first));
	close(ends[0]);
	close(ends[1]);
	for (size_t first = 0; first < KEYS; first += ASKED)
		assert_true(answers_in_time(first));
	close_model();
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(it_is_told_where_keys_were_found),
		CASE(rows_in_memory_are_told_of),
		CASE(a_delta_that_drifts_too_far_is_refused),
		CASE(after_a_block_breaks_the_next_start_is_right),
		CASE(a_disk_that_does_not_answer_costs_a_request_its_time_and_no_more),
	};

	/* What is built is made durable, which a busy disk takes long for. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests_name("ssd_model", tests, NULL, NULL);
}
