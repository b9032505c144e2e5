/*
 * Two processors whose rows are in one Redis, and requests to both, while full checkpoints and
 * deltas come, of which either publishes what Redis lacks, versions before expire, and Redis is
 * killed: no answer is of two versions.  The second one has rows on a disk, too, and hardly any in
 * memory.  Meant for --enable-sanitize=thread, too.
 */
#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "storage/redis/publication.h"
#include "tests/support/redis_process.h"
#include "tests/support/row_model.h"

enum { PROCESSORS = 2, READERS = 4, KEYS = 600, BATCH = 64, FULLS = 4, DELTAS = 2 };

static sp_redis_process redis;
static char folder[SP_PATH_SIZE];
static sp_row_model processors[PROCESSORS];

typedef struct reader {
	const sp_row_model *model;
	unsigned seed;
	pthread_t thread;
} reader;

static reader readers[READERS];
static atomic_uint answered, failed, mixed, backwards;
static atomic_bool done, may_fail;

static void *read_on(void *argument)
{
	reader *r = argument;
	int64_t keys[BATCH];
	double last = 0;

	while (!atomic_load(&done)) {
		double value;
		bool excused = atomic_load(&may_fail);

		for (int i = 0; i < BATCH; i++)
			keys[i] = rand_r(&r->seed) % KEYS;
		value = sp_row_model_ask(r->model, keys, BATCH);
		failed += value == -1 && !excused && !atomic_load(&may_fail);
		mixed += value == -2;
		backwards += value >= 0 && value < last;
		answered += value >= 0;
		last = value >= 0 ? value : last;
	}
	return NULL;
}

static void await_both(double value)
{
	for (int i = 0; i < PROCESSORS; i++)
		assert_true(sp_row_model_await(&processors[i], value));
}

static void update(int full)
{
	sp_row_model_write_full(&processors[0], full);
	await_both(1000.0 * full);
	for (int delta = 1; delta <= DELTAS; delta++) {
		sp_row_model_write_delta(&processors[0], full, delta);
		await_both(1000.0 * full + delta);
	}
}

static void no_answer_is_of_two_versions(void **state)
{
	(void)state;
	for (int full = 2; full <= FULLS; full++)
		update(full);
	assert_int_equal(failed, 0);

	/* It comes back with what it had; requests fail until then. */
	atomic_store(&may_fail, true);
	sp_redis_kill(&redis);
	sp_row_model_write_full(&processors[0], FULLS + 1);
	usleep(50000);
	sp_redis_restart(&redis);
	await_both(1000.0 * (FULLS + 1));
	atomic_store(&may_fail, false);
	update(FULLS + 2);

	print_message("%u answers\n", atomic_load(&answered));
	assert_true(answered > 100);
	assert_int_equal(failed, 0);
	assert_int_equal(mixed, 0);
	assert_int_equal(backwards, 0);
}

/* As `serving_tool publish --rollback` and --current do. */
static void make_current(int full)
{
	char url[SP_PATH_SIZE + 32];
	sp_redis_address address;
	const sp_redis_publication_options options = {
		.address = &address, .model = "model", .waits = true, .lock_seconds = 2};
	sp_redis_version version;
	sp_error err;

	assert_ok(sp_redis_address_parse(&address, sp_redis_unix(&redis, url), &err), &err);
	assert_ok(sp_redis_publication_rollback(&version, &options, full, &err), &err);
}

/* Whether the list of versions has `full` as the newest one, soon. */
static bool is_newest(int full)
{
	char want[64], *list;
	bool is = false;

	snprintf(want, sizeof(want), "\"newest\":{\"full_step\":%d,", 1000 * full);
	for (int i = 0; i < 400 && !is; i++) {
		list = serving_processor_versions(processors[0].model);
		is = list != NULL && strstr(list, want) != NULL;
		free(list);
		usleep(is ? 0 : 5000);
	}
	return is;
}

static void all_processors_go_back_together(void **state)
{
	(void)state;
	make_current(-1);
	await_both(1000.0 * (FULLS + 1));
	assert_true(is_newest(FULLS + 2)); /* so that its lag is seen */
	make_current(1000 * (FULLS + 2));
	await_both(1000.0 * (FULLS + 2) + DELTAS);
	make_current(-1);
	await_both(1000.0 * (FULLS + 1));
	update(FULLS + 3); /* a newer one ends it */
	assert_int_equal(failed, 0);
	assert_int_equal(mixed, 0);
}

/* A number of the second processor's table. */
static uint64_t told(const char *name)
{
	char *json = serving_processor_versions(processors[1].model), text[64];
	const char *at;
	uint64_t number;

	snprintf(text, sizeof(text), "\"%s\":", name);
	at = strstr(strstr(json, "\"tables\":["), text);
	assert_non_null(at);
	number = strtoull(at + strlen(text), NULL, 10);
	serving_processor_free(json);
	return number;
}

/* Asks for all keys, 64 at a time; returns how many questions are answered. */
static int ask_all(double value)
{
	int right = 0;

	for (size_t first = 0; first + BATCH <= KEYS; first += BATCH)
		right += sp_row_model_ask(&processors[1], processors[1].keys + first, BATCH) ==
			 value;
	return right;
}

static void rows_on_the_disk_answer_without_redis(void **state)
{
	double value = 1000.0 * (FULLS + 3) + DELTAS;
	uint64_t keys, missed, hits;
	int rounds = 0;

	(void)state;
	do {
		assert_true(rounds++ < 400);
		keys = told("keys");
		missed = told("missed");
		assert_int_equal(ask_all(value), KEYS / BATCH);
		usleep(50000); /* for what it has asked Redis for to be written */
	} while ((told("missed") - missed) * 50 > told("keys") - keys);
	atomic_store(&may_fail, true);
	sp_redis_kill(&redis);
	hits = told("disk_hits");
	/* Rarely, two keys cannot be held at the same time. */
	assert_true(ask_all(value) >= KEYS / BATCH - 1);
	assert_true(told("disk_hits") > hits + KEYS / 4);
	assert_int_equal(told("disks_up"), 1);
	assert_int_equal(told("disk_errors"), 0);
	assert_int_equal(mixed, 0);
}

static int start(void **state)
{
	static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "no", NULL};
	char more[SP_PATH_SIZE + 512], on_disk[2 * SP_PATH_SIZE + 640], url[SP_PATH_SIZE + 32];

	(void)state;
	sp_redis_start(&redis, false, durable);
	snprintf(more, sizeof(more),
		 ", \"update_poll_interval_ms\": 20, \"session_num\": 2, "
		 "\"feature_store_type\": \"redis\", \"redis_url\": \"%s\", "
		 "\"redis_timeout_ms\": 5000, \"redis_on_timeout\": \"fail\", "
		 "\"redis_keep_seconds\": 60, \"lock_timeout\": 2",
		 sp_redis_unix(&redis, url));
	sp_temp_make(folder);
	snprintf(on_disk, sizeof(on_disk),
		 "%s, \"ev_storage_type\": 12, \"ev_storage_size\": [1, 4194304], "
		 "\"ev_storage_path\": \"%s\"",
		 more, folder);
	strcat(more, ", \"ev_storage_size\": [65536]");
	sp_row_model_init(&processors[0], KEYS);
	processors[1] = processors[0];
	for (int i = 0; i < PROCESSORS; i++) {
		sp_row_model_open(&processors[i], i == 1 ? on_disk : more);
		if (processors[i].model == NULL)
			return -1;
	}
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (reader){.model = &processors[i % PROCESSORS], .seed = i};
		if (pthread_create(&readers[i].thread, NULL, read_on, &readers[i]) != 0)
			return -1;
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	atomic_store(&done, true);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	serving_processor_destroy(processors[1].model);
	sp_row_model_fini(&processors[0]);
	sp_redis_end(&redis);
	sp_temp_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_answer_is_of_two_versions),
		cmocka_unit_test(all_processors_go_back_together),
		cmocka_unit_test(rows_on_the_disk_answer_without_redis),
	};

	sp_redis_need();
	return cmocka_run_group_tests_name("versions in Redis", tests, start, end);
}
