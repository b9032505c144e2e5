#include "tests/support/cmocka.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/golden.h"

/*
 * What others leave in the folders of a trainer: through the shared library a
 * delta is served as if it were not there.  And what no time would mend fails at
 * once, with the loader's own words.
 */
static void *(*initialize)(const char *entry, const char *config, int *state);
static int (*process)(void *model, const void *in, int in_size, void **out, int *out_size);
static int (*model_version)(void *model, int64_t *full, int64_t *delta);
static char *(*versions)(void *model);
static void (*destroy)(void *model);

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (found == NULL)
		fail_msg("%s", dlerror());
	return found;
}

static int set_up(void **state)
{
	const char *builddir = getenv("builddir");
	char path[SP_PATH_SIZE];
	void *library;

	(void)state;
	snprintf(path, sizeof(path), "%s/.libs/libserving_processor.so",
		 builddir != NULL ? builddir : ".");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		fail_msg("%s", dlerror());
	*(void **)&initialize = symbol(library, "initialize");
	*(void **)&process = symbol(library, "process");
	*(void **)&model_version = symbol(library, "serving_processor_model_version");
	*(void **)&versions = symbol(library, "serving_processor_versions");
	*(void **)&destroy = symbol(library, "serving_processor_destroy");
	return 0;
}

static void *open_model(const sp_golden_case *golden, const char *more)
{
	char *config;
	int state = 0;
	void *model;

	assert_int_equal(setenv("SP_GOLDEN_CONFIG", more, 1), 0);
	config = sp_golden_config(golden, NULL, false);
	unsetenv("SP_GOLDEN_CONFIG");
	model = initialize("", config, &state);
	assert_int_equal(state, model != NULL ? 0 : -1);
	free(config);
	return model;
}

/* A shell's command in the folder of checkpoints. */
static void run(const sp_golden_case *golden, const char *command)
{
	char line[2 * SP_PATH_SIZE];

	snprintf(line, sizeof(line), "cd '%s/checkpoints' && %s", golden->work, command);
	assert_int_equal(system(line), 0);
}

static void await_version(void *model, int64_t full, int64_t delta)
{
	int64_t is_full = -1, is_delta = -1;

	for (int i = 0; i < 3000; i++) {
		assert_int_equal(model_version(model, &is_full, &is_delta), 0);
		if (is_full == full && is_delta == delta)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	assert_int_equal(is_full, full);
	assert_int_equal(is_delta, delta);
}

static void assert_answer(const sp_golden_case *golden, void *model, const char *request)
{
	size_t in_size, want_size;
	char path[512], *in, *want;
	int out_size = 0;
	void *out = NULL;

	snprintf(path, sizeof(path), "%s.request.pb", request);
	in = sp_golden_read(golden, path, &in_size);
	snprintf(path, sizeof(path), "%s.response.pb", request);
	want = sp_golden_read(golden, path, &want_size);
	assert_true(in != NULL && want != NULL);
	assert_int_equal(process(model, in, (int)in_size, &out, &out_size), 200);
	assert_true(
		sp_golden_same_response(golden, request, out, (size_t)out_size, want, want_size));
	free(in);
	free(want);
	free(out);
}

static void await_told(void *model, const char *text)
{
	char *told = NULL;

	for (int i = 0; i < 3000 && (told == NULL || strstr(told, text) == NULL); i++) {
		free(told);
		told = versions(model);
		assert_non_null(told);
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	if (strstr(told, text) == NULL)
		fail_msg("no '%s' in %s", text, told);
	free(told);
}

/* -------------------------------------------------------------------- leftovers */

/* The command that leaves it, and how long data without an index is waited for. */
typedef struct leftover {
	const char *command;
	const char *more;
} leftover;

#define FULL   "v1/model.ckpt-100.data-00000-of-00001"
#define NEVER  "{\"update_wait_for_full_seconds\": 86400}" /* so that it is no matter of time */
#define SECOND "{\"update_wait_for_full_seconds\": 1}"

static const leftover leftovers[] = {
	{"cp " FULL " v1/model.ckpt-105.data-00000-of-00001.tempstate2092", NEVER},
	{"cp " FULL " v1/.model.ckpt-105.data-00000-of-00001.crc", NEVER},
	{"cp " FULL " v1/model.ckpt-105.data-00000-of-00001._COPYING_", NEVER},
	{"cp " FULL " v1/.model.ckpt-105.index.swp", NEVER},
	{"cp v1/model.ckpt-100.index v1/model.ckpt-105.index~", NEVER},
	{"cp v1/model.ckpt-100.index v1/.model.ckpt-105.index.Xy12Zz", NEVER},
	{"cp v1/model.ckpt-100.index v1/.incremental_checkpoint/d-120.index.tempstate7", NEVER},
	{"mkdir v1/model.ckpt-105.index", NEVER},
	{"mkdir v1/model.ckpt-105.data-00000-of-00001", NEVER},
	{"cp -r v1 v2._COPYING_ && touch v2._COPYING_/checkpoint", NEVER},
	{"cp " FULL " v1/model.ckpt-105.data-00000-of-00002", SECOND},
	{"cp " FULL " v1/model.ckpt-105.data-00000-of-00001", SECOND},
	{"cp " FULL " v1/l && touch -d '1 day ago' v1/l && mv v1/l v1/m-105.data-00001-of-00002",
	 SECOND},
};

static const leftover *current;
static size_t visits;

static void serve_the_delta_from_the_start(sp_golden_case *golden)
{
	void *model;

	run(golden, "mkdir v1/.incremental_checkpoint");
	run(golden, current->command);
	assert_true(sp_golden_play(golden, 0));
	model = open_model(golden, current->more);
	assert_non_null(model);
	await_version(model, 100, 110);
	assert_answer(golden, model, "timeline/01/requests/000");
	destroy(model);
	visits++;
}

static void serve_the_delta_when_it_comes(sp_golden_case *golden)
{
	void *model = open_model(golden, current->more);

	assert_non_null(model);
	await_version(model, 100, -1);
	assert_answer(golden, model, "requests/000");
	run(golden, "mkdir v1/.incremental_checkpoint");
	run(golden, current->command);
	assert_true(sp_golden_play(golden, 0));
	await_version(model, 100, 110);
	assert_answer(golden, model, "timeline/01/requests/000");
	destroy(model);
	visits++;
}

static void no_leftover_holds_a_delta_up(void **state)
{
	(void)state;
	visits = 0;
	for (size_t i = 0; i < sizeof(leftovers) / sizeof(leftovers[0]); i++) {
		current = &leftovers[i];
		sp_golden_each("ev-ctr-timeline", serve_the_delta_from_the_start);
		sp_golden_each("ev-ctr-timeline", serve_the_delta_when_it_comes);
	}
	assert_int_equal(visits, 2 * sizeof(leftovers) / sizeof(leftovers[0]));
}

static void say_what_it_waits_for(sp_golden_case *golden)
{
	void *model = open_model(golden, NEVER);

	assert_non_null(model);
	run(golden, "cp " FULL " v1/model.ckpt-105.data-00000-of-00002");
	assert_true(sp_golden_play(golden, 0));
	await_told(model, "\"full_step\":100,\"delta_step\":110,\"state\":\"discovered\"");
	await_told(model, "delta 110 waits for full checkpoint 105, whose data is there without "
			  "its index: ");
	assert_answer(golden, model, "requests/000");
	run(golden, "rm v1/model.ckpt-105.data-00000-of-00002");
	await_version(model, 100, 110);
	await_told(model, "\"full_step\":100,\"delta_step\":110,\"state\":\"live\"");
	destroy(model);
	visits++;
}

static void a_delta_that_waits_says_so(void **state)
{
	(void)state;
	visits = 0;
	sp_golden_each("ev-ctr-timeline", say_what_it_waits_for);
	assert_int_equal(visits, 1);
}

/* ------------------------------------------------------------- one of many folders */

static void serve_by_content(sp_golden_case *golden)
{
	void *model;

	/* Named so that no order of a folder can be meant, and the last one with nothing new. */
	run(golden, "cp -r v1 v0 && cp -r v1 v9");
	assert_true(sp_golden_play(golden, 0)); /* v1 has the delta */
	run(golden, "touch -d '2020-01-01' v0/checkpoint v1/checkpoint v9/checkpoint");
	model = open_model(golden, "{}");
	assert_non_null(model);
	await_version(model, 100, 110);
	assert_answer(golden, model, "timeline/01/requests/000");
	run(golden, "touch v0/checkpoint"); /* the way back */
	await_version(model, 100, -1);
	run(golden, "touch -d '1 day' v9/checkpoint"); /* chooses nothing */
	await_version(model, 100, 110);
	destroy(model);
	visits++;
}

static void of_equal_times_the_contents_choose(void **state)
{
	(void)state;
	visits = 0;
	sp_golden_each("ev-ctr-timeline", serve_by_content);
	assert_int_equal(visits, 1);
}

/* ------------------------------------------------------- what no time would mend */

/* Long before the hour of init_timeout_minutes is over. */
static void assert_fails_at_once(const sp_golden_case *golden, const char *more)
{
	time_t begin = time(NULL);

	assert_null(open_model(golden, more));
	assert_true(time(NULL) - begin < 60);
	visits++;
}

static void open_another_model(sp_golden_case *golden)
{
	char path[SP_PATH_SIZE], *other;

	other = realpath(sp_source_path(path, "tests/golden/keras2-mlp/model/variables"), NULL);
	assert_non_null(other);
	assert_int_equal(setenv("OTHER", other, 1), 0);
	free(other);
	run(golden, "cp \"$OTHER/variables.index\" v1/model.ckpt-200.index && "
		    "cp \"$OTHER/variables.data-00000-of-00001\" "
		    "v1/model.ckpt-200.data-00000-of-00001");
	assert_fails_at_once(golden, "{\"init_timeout_minutes\": 60}");
}

static void open_without_warmup_file(sp_golden_case *golden)
{
	assert_fails_at_once(golden, "{\"init_timeout_minutes\": 60,"
				     "\"warmup_file_name\": \"/no/such/file\"}");
	run(golden, "rm v1/model.ckpt-100.index"); /* nor when a version has to come */
	assert_fails_at_once(golden, "{\"init_timeout_minutes\": 60,"
				     "\"warmup_file_name\": \"/no/such/file\"}");
}

static void what_no_time_would_mend_fails_at_once(void **state)
{
	(void)state;
	visits = 0;
	sp_golden_each("ev-ctr-timeline", open_another_model);
	sp_golden_each("ev-ctr-timeline", open_without_warmup_file);
	assert_int_equal(visits, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_leftover_holds_a_delta_up),
		cmocka_unit_test(a_delta_that_waits_says_so),
		cmocka_unit_test(of_equal_times_the_contents_choose),
		cmocka_unit_test(what_no_time_would_mend_fails_at_once),
	};

	return cmocka_run_group_tests_name("leftovers", tests, set_up, NULL);
}
