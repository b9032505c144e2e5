/*
 * Many threads, few sessions: good, broken, filtered and empty requests at once
 * on one model, while another thread opens and closes models.  Every answer is
 * the right one.  Meant for --enable-sanitize=thread, too.
 */
#include "tests/support/cmocka.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/serving_processor.h"
#include "tests/support/golden.h"

enum { THREADS = 6, SESSIONS = 2, ROUNDS = 100, MAX_EXCHANGES = 16 };

typedef struct exchange {
	char name[64];
	char *in, *want; /* want is NULL for a request that must be refused */
	size_t in_size, want_size;
} exchange;

typedef struct traffic {
	const sp_golden_case *golden;
	void *model;
	exchange exchanges[MAX_EXCHANGES];
	size_t count;
	char *other; /* configuration of the model that comes and goes */
	atomic_size_t next_thread;
	atomic_size_t wrong;
	atomic_bool done;
} traffic;

/* ----------------------------------------------------------------- requests */

static bool take_exchange(traffic *t, const char *folder, int number)
{
	exchange *e = &t->exchanges[t->count];
	char path[128];

	snprintf(e->name, sizeof(e->name), "%s/%03d", folder, number);
	snprintf(path, sizeof(path), "%s.request.pb", e->name);
	e->in = sp_golden_read(t->golden, path, &e->in_size);
	if (e->in == NULL)
		return false;
	snprintf(path, sizeof(path), "%s.response.pb", e->name);
	e->want = sp_golden_read(t->golden, path, &e->want_size);
	assert_true(++t->count < MAX_EXCHANGES);
	return true;
}

static void take_exchanges(traffic *t)
{
	exchange *broken;

	for (int i = 0; take_exchange(t, "requests", i); i++)
		;
	assert_true(t->count >= 2);
	for (int i = 0; take_exchange(t, "errors", i); i++)
		;
	/* The first one, cut short. */
	broken = &t->exchanges[t->count++];
	*broken = (exchange){.name = "cut short", .in_size = t->exchanges[0].in_size - 1};
	broken->in = malloc(broken->in_size);
	assert_non_null(broken->in);
	memcpy(broken->in, t->exchanges[0].in, broken->in_size);
}

static bool is_answered(const traffic *t, const exchange *e)
{
	void *out = NULL;
	int size = 0, code;
	bool right;

	code = process(t->model, e->in, (int)e->in_size, &out, &size);
	if (e->want == NULL)
		right = code == 500 && size > 0;
	else
		right = code == 200 && sp_golden_same_response(t->golden, e->name, out,
							       (size_t)size, e->want, e->want_size);
	if (!right)
		printf("  %s: %s: %d\n", t->golden->name, e->name, code);
	free(out);
	return right;
}

static bool describes_itself(const traffic *t)
{
	void *out = NULL;
	int size = 0;
	bool right;

	right = process(t->model, NULL, 0, &out, &size) == 200 && size > 0 &&
		strlen(out) == (size_t)size;
	free(out);
	return right;
}

static void *ask(void *argument)
{
	traffic *t = argument;
	size_t first = atomic_fetch_add(&t->next_thread, 1);

	for (size_t i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < t->count; k++)
			t->wrong += !is_answered(t, &t->exchanges[(first + i + k) % t->count]);
		t->wrong += !describes_itself(t);
	}
	return NULL;
}

static void *open_and_close(void *argument)
{
	traffic *t = argument;
	serving_processor_error *error;

	do {
		void *model = serving_processor_create(t->other, NULL);

		t->wrong += model == NULL;
		serving_processor_destroy(model);
		error = NULL;
		model = serving_processor_create("{\"savedmodel_dir\": 7}", &error);
		t->wrong += model != NULL || error == NULL;
		serving_processor_error_free(error);
	} while (!t->done);
	return NULL;
}

/* ------------------------------------------------------------------ traffic */

static char *config_with(sp_golden_case *golden, const char *policy, int split_rows)
{
	cJSON *config = cJSON_GetObjectItem(golden->about, "model_config");

	cJSON_AddNumberToObject(config, "session_num", SESSIONS);
	cJSON_AddNumberToObject(config, "split_batch_rows", split_rows);
	cJSON_AddStringToObject(config, "select_session_policy", policy);
	return sp_golden_config(golden, NULL, false);
}

static void run(traffic *t)
{
	pthread_t askers[THREADS], opener;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&askers[i], NULL, ask, t), 0);
	assert_int_equal(pthread_create(&opener, NULL, open_and_close, t), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(askers[i], NULL);
	t->done = true;
	pthread_join(opener, NULL);
	assert_int_equal(t->wrong, 0);
}

/* What the visits of the two cases hand to each other. */
static struct {
	const char *policy;
	int split_rows;
	const char *other_name;
	sp_golden_case *golden;
	int runs;
} now;

static void with_other(sp_golden_case *other)
{
	traffic t = {.golden = now.golden};
	char *config;

	if (!other->ours)
		return;
	config = config_with(now.golden, now.policy, now.split_rows);
	t.model = serving_processor_create(config, NULL);
	t.other = sp_golden_config(other, NULL, false);
	assert_non_null(t.model);
	take_exchanges(&t);
	run(&t);
	now.runs++;
	serving_processor_destroy(t.model);
	for (size_t i = 0; i < t.count; i++) {
		free(t.exchanges[i].in);
		free(t.exchanges[i].want);
	}
	free(t.other);
	free(config);
}

static void with_case(sp_golden_case *golden)
{
	now.golden = golden;
	if (golden->ours)
		sp_golden_each(now.other_name, with_other);
}

static void hammer(const char *name, const char *other, const char *policy)
{
	now.policy = policy;
	now.other_name = other;
	now.runs = 0;
	sp_golden_each(name, with_case);
	assert_int_equal(now.runs, 1);
}

/* A request takes the other session if it is idle. */
static void embeddings_in_parts(void **state)
{
	(void)state;
	now.split_rows = 4;
	hammer("ev-ctr", "keras2-mlp", "RR");
	now.split_rows = 0;
}

static void embeddings_under_mod(void **state)
{
	(void)state;
	hammer("ev-ctr", "keras2-mlp", "MOD");
}

static void embeddings_under_rr(void **state)
{
	(void)state;
	hammer("ev-ctr", "keras2-mlp", "RR");
}

static void dense_layers_under_mod(void **state)
{
	(void)state;
	hammer("keras2-mlp", "ev-ctr", "MOD");
}

static void dense_layers_under_rr(void **state)
{
	(void)state;
	hammer("keras2-mlp", "ev-ctr", "RR");
}

static void ignore_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(embeddings_under_mod),  cmocka_unit_test(embeddings_in_parts),
		cmocka_unit_test(embeddings_under_rr),   cmocka_unit_test(dense_layers_under_mod),
		cmocka_unit_test(dense_layers_under_rr),
	};

	serving_processor_set_log(ignore_line, NULL);
	return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
