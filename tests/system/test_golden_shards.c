/*
 * Golden models with EmbeddingVariables whose rows two other processes hold, a slice each: the
 * answers are those of the model in one process, bit for bit.
 */
#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/golden.h"

enum { SLICES = 2, LONG_MS = 20000, NAP_MS = 10 };

static size_t requests, cases;

/* ---- models ---- */

static void set(cJSON *config, const char *key, cJSON *value)
{
	cJSON_DeleteItemFromObject(config, key);
	cJSON_AddItemToObject(config, key, value);
}

/* The case's configuration with the keys of `text`. */
static void *open_with(const sp_golden_case *golden, const char *text)
{
	cJSON *config = cJSON_GetObjectItem(golden->about, "model_config"), *more, *item;
	serving_processor_error *error = NULL;
	cJSON *kept = cJSON_Duplicate(config, true);
	void *model;
	char *json;

	more = cJSON_Parse(text);
	assert_non_null(more);
	set(config, "update_poll_interval_ms", cJSON_CreateNumber(20));
	set(config, "log_level", cJSON_CreateString("warning"));
	cJSON_ArrayForEach (item, more)
		set(config, item->string, cJSON_Duplicate(item, true));
	cJSON_Delete(more);
	json = sp_golden_config(golden, NULL, false);
	cJSON_ReplaceItemInObject(golden->about, "model_config", kept);
	model = serving_processor_create(json, &error);
	if (model == NULL)
		printf("%s: %s\n", golden->name, serving_processor_error_text(error));
	serving_processor_error_free(error);
	free(json);
	return model;
}

static void *open_holder(const sp_golden_case *golden, unsigned slice)
{
	char keys[2 * SP_PATH_SIZE];

	snprintf(keys, sizeof(keys),
		 "{\"shard_listen\":\"unix:%s/%u\",\"shard_embedding\":true,"
		 "\"embedding_names\":\"*\",\"shard_instance_count\":%d,"
		 "\"shard_instance_id\":%u}",
		 golden->work, slice, SLICES, slice);
	return open_with(golden, keys);
}

static void *open_front(const sp_golden_case *golden)
{
	char keys[3 * SP_PATH_SIZE];
	void *model;

	snprintf(keys, sizeof(keys),
		 "{\"shard_peers\":\"unix:%s/0;unix:%s/1\",\"shard_timeout_ms\":20000,"
		 "\"shard_on_timeout\":\"fail\",\"ev_storage_size\":[1,1]}",
		 golden->work, golden->work);
	model = open_with(golden, keys);
	assert_non_null(model);
	return model;
}

/* ---- processes that hold a slice ---- */

typedef struct holder {
	pid_t pid;
	int end; /* a byte is written: it ends */
} holder;

static void hold(const sp_golden_case *golden, unsigned slice, int ready, int end)
{
	void *model;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	model = open_holder(golden, slice);
	if (model == NULL || write(ready, &byte, 1) != 1)
		_exit(1);
	(void)!read(end, &byte, 1);
	serving_processor_destroy(model);
	_exit(0);
}

static holder start(const sp_golden_case *golden, unsigned slice)
{
	int ready[2], end[2];
	holder h;
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	fflush(NULL);
	h.pid = fork();
	assert_true(h.pid >= 0);
	if (h.pid == 0) {
		close(end[1]);
		hold(golden, slice, ready[1], end[0]);
	}
	close(ready[1]);
	close(end[0]);
	h.end = end[1];
	if (read(ready[0], &byte, 1) != 1)
		fail_msg("%s: slice %u is not held", golden->name, slice);
	close(ready[0]);
	return h;
}

static int stop(holder *h, int sent)
{
	char byte = 0;
	int status;

	if (sent != 0)
		kill(h->pid, sent);
	else
		assert_int_equal(write(h->end, &byte, 1), 1);
	close(h->end);
	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	return status;
}

/* ---- requests ---- */

static int answer(void *model, const char *in, size_t in_size, char **out, int *size)
{
	void *text = NULL;
	int code = process(model, in, (int)in_size, &text, size);

	*out = text;
	return code;
}

/* For free(); NULL after the last. */
static char *request_of(const sp_golden_case *golden, const char *folder, int i, char name[128],
			size_t *size)
{
	char path[160];

	snprintf(name, 128, "%s/%03d", folder, i);
	snprintf(path, sizeof(path), "%s.request.pb", name);
	return sp_golden_read(golden, path, size);
}

static void check_request(const sp_golden_case *golden, void *front, void *local, const char *name,
			  const char *in, size_t in_size)
{
	char path[160], *got, *same, *want;
	int size, same_size;
	size_t want_size;

	snprintf(path, sizeof(path), "%s.response.pb", name);
	want = sp_golden_read(golden, path, &want_size);
	if (answer(front, in, in_size, &got, &size) != 200)
		fail_msg("%s %s: %.*s", golden->name, name, size, got);
	if (!sp_golden_same_response(golden, name, got, (size_t)size, want, want_size))
		fail_msg("%s %s is answered otherwise", golden->name, name);
	assert_int_equal(answer(local, in, in_size, &same, &same_size), 200);
	if (size != same_size || memcmp(got, same, (size_t)size) != 0)
		fail_msg("%s %s: not the bits of the model in one process", golden->name, name);
	requests++;
	free(want);
	free(got);
	free(same);
}

static void check_requests(const sp_golden_case *golden, void *front, void *local,
			   const char *folder)
{
	char name[128], *in;
	size_t size;

	for (int i = 0; (in = request_of(golden, folder, i, name, &size)) != NULL; i++) {
		check_request(golden, front, local, name, in, size);
		free(in);
	}
}

static bool is_live(void *model, const sp_golden_step *step)
{
	int64_t full, delta;

	return serving_processor_model_version(model, &full, &delta) == 0 &&
	       full == step->full_step && delta == step->delta_step;
}

/* Versions that come are served by all when all have them. */
static void play_timeline(sp_golden_case *golden, void *front, void *local)
{
	sp_golden_step step;

	for (int i = 0; sp_golden_step_of(golden, i, &step); i++) {
		sp_golden_play(golden, i);
		for (int waited = 0; waited < LONG_MS && step.is_new &&
				     !(is_live(front, &step) && is_live(local, &step));
		     waited += NAP_MS)
			(void)poll(NULL, 0, NAP_MS);
		if (!is_live(front, &step))
			fail_msg("%s: step %d is not served", golden->name, i);
		check_requests(golden, front, local, step.requests);
	}
}

static void check_case(sp_golden_case *golden)
{
	holder holders[SLICES];
	void *local, *front;

	for (unsigned i = 0; i < SLICES; i++)
		holders[i] = start(golden, i);
	local = open_with(golden, "{}");
	front = open_front(golden);
	check_requests(golden, front, local, "requests");
	play_timeline(golden, front, local);
	serving_processor_destroy(front);
	serving_processor_destroy(local);
	for (size_t i = 0; i < SLICES; i++)
		assert_int_equal(stop(&holders[i], 0), 0);
	cases++;
}

static void two_slices_answer_as_one_model(void **state)
{
	/* Our own, then those of $SP_GOLDEN_DIR if they are there. */
	static const char *const names[] = {
		"ev-bags",       "ev-ctr",        "ev-ctr-checkpoint", "ev-ctr-timeline",
		"ev-frequency",  "ev-groups",     "ev-nested",         "ev-parts",
		"ev-rows",       "ev-tables",     "ev-unneeded",       "ev-minimal",
		"ev-wdl",        "ev-g3",         "ev-partitioned",    "ev-filter-counter",
		"ev-filter-cbf", "ev-int32-keys", "ev-incremental",    "ev-sequence"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		sp_golden_each(names[i], check_case);
	assert_true(cases >= 10);
	assert_true(requests > 20);
}

/* ---- faults ---- */

static void kill_one(sp_golden_case *golden)
{
	holder holders[SLICES];
	void *local, *front;
	char name[128], *in, *out;
	size_t size;
	int out_size, code;

	for (unsigned i = 0; i < SLICES; i++)
		holders[i] = start(golden, i);
	local = open_with(golden, "{}");
	front = open_front(golden);
	in = request_of(golden, "requests", 0, name, &size);
	stop(&holders[1], SIGKILL);
	code = answer(front, in, size, &out, &out_size);
	if (code == 200 || strstr(out, "slice 1") == NULL)
		fail_msg("%d: %.*s", code, out_size, out);
	free(out);
	holders[1] = start(golden, 1);
	for (int waited = 0; code != 200 && waited < LONG_MS; waited += NAP_MS) {
		(void)poll(NULL, 0, NAP_MS);
		code = answer(front, in, size, &out, &out_size);
		free(out);
	}
	check_requests(golden, front, local, "requests");
	free(in);
	serving_processor_destroy(front);
	serving_processor_destroy(local);
	for (size_t i = 0; i < SLICES; i++)
		stop(&holders[i], 0);
}

static void a_killed_holder_is_used_again(void **state)
{
	(void)state;
	sp_golden_each("ev-ctr", kill_one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_slices_answer_as_one_model),
		cmocka_unit_test(a_killed_holder_is_used_again),
	};

	return cmocka_run_group_tests_name("golden_shards", tests, NULL, NULL);
}
