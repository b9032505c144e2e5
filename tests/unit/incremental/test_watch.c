#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "incremental/watch.h"
#include "tests/support/paths.h"

/* Long enough for whatever is told, short enough to wait for what is not. */
enum { LONG_MS = 10000, SHORT_MS = 100 };

static char work[SP_PATH_SIZE], folder[SP_PATH_SIZE + 16];
static sp_watch *watch;

static const char *below(const char *name)
{
	static char path[2 * SP_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int set_up(void **state)
{
	sp_error err;

	(void)state;
	sp_temp_make(work);
	snprintf(folder, sizeof(folder), "%s/checkpoints", work);
	mkdir(folder, 0700);
	mkdir(below("v1"), 0700);
	mkdir(below("v1/.incremental_checkpoint"), 0700);
	assert_ok(sp_watch_create(&watch, &err), &err);
	sp_watch_checkpoints(watch, folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_watch_destroy(watch);
	sp_temp_remove(work);
	return 0;
}

static bool wakes(void)
{
	bool woken = sp_watch_wait(watch, LONG_MS);

	sp_watch_checkpoints(watch, folder);
	return woken;
}

static bool sleeps(void)
{
	sp_watch_checkpoints(watch, folder);
	return !sp_watch_wait(watch, SHORT_MS);
}

static void changes_wake(void **state)
{
	(void)state;
	assert_true(sleeps());
	sp_temp_write(below("v1/checkpoint"), "", sp_bytes_of(""));
	assert_true(wakes());
	assert_true(sleeps());
	sp_temp_write(below("v1/.incremental_checkpoint/m-1.index"), "", sp_bytes_of("x"));
	assert_true(wakes());
	assert_true(sleeps());
	assert_int_equal(chmod(below("v1/checkpoint"), 0600), 0); /* as touching it does */
	assert_true(wakes());
	assert_true(sleeps());
	assert_int_equal(mkdir(below("v2"), 0700), 0);
	assert_true(wakes());
	sp_temp_write(below("v2/checkpoint"), "", sp_bytes_of(""));
	assert_true(wakes());
	assert_true(sleeps());
}

/* Looking at a folder that is not there, or coming, wakes nobody: there is no storm of looks. */
static void a_folder_that_is_away_is_quiet(void **state)
{
	char away[SP_PATH_SIZE + 16];

	(void)state;
	snprintf(away, sizeof(away), "%s/away", work);
	assert_int_equal(rename(folder, away), 0);
	(void)sleeps();
	assert_true(sleeps());
	assert_int_equal(symlink(folder, folder), 0);
	assert_true(sleeps());
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(rename(away, folder), 0);
	assert_true(sleeps()); /* the clock finds it: what is above is not watched */
	sp_temp_write(below("v1/checkpoint"), "", sp_bytes_of(""));
	assert_true(wakes());
}

static void a_folder_that_is_made_anew_is_watched(void **state)
{
	(void)state;
	assert_int_equal(rmdir(below("v1/.incremental_checkpoint")), 0);
	assert_int_equal(rmdir(below("v1")), 0);
	assert_true(wakes());
	(void)sleeps();
	assert_int_equal(mkdir(below("v1"), 0700), 0);
	assert_true(wakes());
	(void)sleeps();
	sp_temp_write(below("v1/checkpoint"), "", sp_bytes_of(""));
	assert_true(wakes());
}

static void *wake(void *unused)
{
	(void)unused;
	usleep(20000);
	sp_watch_wake(watch);
	return NULL;
}

static void somebody_wakes_it(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wake, NULL), 0);
	assert_true(wakes());
	pthread_join(thread, NULL);
	assert_true(sleeps());
	for (int i = 0; i < 3; i++)
		sp_watch_wake(watch);
	assert_true(wakes());
	assert_true(sleeps());
	sp_watch_destroy(NULL);
}

static void changes_of_a_savedmodel_wake(void **state)
{
	static const char *const names[] = {"saved_model.pb", "assets/words.txt",
					    "assets.extra/requests", "variables/variables.index",
					    "graphs/model.pb"};

	(void)state;
	mkdir(below("assets"), 0700);
	mkdir(below("assets.extra"), 0700);
	mkdir(below("variables"), 0700);
	mkdir(below("graphs"), 0700);
	sp_watch_savedmodel(watch, folder, "graphs/model.pb");
	sp_watch_wait(watch, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sp_temp_write(below(names[i]), "", sp_bytes_of("x"));
		assert_true(sp_watch_wait(watch, LONG_MS));
		while (sp_watch_wait(watch, 0))
			;
	}
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(changes_wake),
		CASE(changes_of_a_savedmodel_wake),
		CASE(a_folder_that_is_away_is_quiet),
		CASE(a_folder_that_is_made_anew_is_watched),
		CASE(somebody_wakes_it),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
