#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "incremental/manifest.h"
#include "tests/support/paths.h"
#include "tests/support/text_models.h"

static char folder[SP_PATH_SIZE];
static sp_arena *arena;
static sp_manifest then, now;
static sp_error err;

static void write_file(const char *name, const char *text)
{
	sp_text_models_write_file(folder, name, text);
}

static const char *path_of(const char *name)
{
	static char path[2 * SP_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void set_time(const char *name, time_t seconds)
{
	const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	assert_int_equal(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static void read_now(const char *graph_file, bool own_weights)
{
	assert_ok(sp_manifest_read(&now, folder, graph_file, own_weights, arena, &err), &err);
}

static void remember(void)
{
	read_now(NULL, true);
	sp_manifest_read_contents(&now);
	assert_ok(sp_manifest_copy(&then, &now, arena, &err), &err);
}

static bool has_changed(void)
{
	read_now(NULL, true);
	return sp_manifest_has_changed(&then, &now);
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(folder);
	arena = sp_arena_create(4096);
	write_file("saved_model.pb", "graph");
	write_file("assets/words.txt", "one\n");
	write_file("assets/more/words.txt", "two\n");
	write_file("assets.extra/tf_serving_warmup_requests", "");
	write_file("variables/variables.index", "index");
	remember();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	sp_temp_remove(folder);
	return 0;
}

static void every_file_that_is_read_counts(void **state)
{
	static const char *const names[] = {"saved_model.pb", "assets/words.txt",
					    "assets/more/words.txt",
					    "assets.extra/tf_serving_warmup_requests"};

	(void)state;
	assert_int_equal(then.count, 5);
	assert_true(then.has_assets);
	assert_false(has_changed());
	assert_int_equal(now.hash, then.hash);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		write_file(names[i], "some other text");
		assert_true(has_changed());
		assert_int_not_equal(now.hash, then.hash);
		remember();
	}
	/* Of the same size, and of the same time. */
	write_file("assets/words.txt", "tone\n");
	set_time("assets/words.txt", 1000);
	remember();
	write_file("assets/words.txt", "note\n");
	set_time("assets/words.txt", 1000);
	assert_true(has_changed());
}

/* Whoever touches, links or copies a file changes its times only. */
static void the_same_bytes_are_the_same_file(void **state)
{
	char link_path[2 * SP_PATH_SIZE];

	(void)state;
	set_time("assets/words.txt", 1000);
	assert_false(has_changed());
	write_file("saved_model.pb", "graph");
	snprintf(link_path, sizeof(link_path), "%s", path_of("another"));
	assert_int_equal(link(path_of("assets/more/words.txt"), link_path), 0);
	assert_false(has_changed());
	assert_int_equal(chmod(path_of("assets/words.txt"), 0600), 0);
	assert_false(has_changed());
	write_file("assets/words.txt", "two\n");
	assert_true(has_changed());
}

static void what_is_gone_has_not_changed(void **state)
{
	(void)state;
	assert_int_equal(unlink(path_of("assets/words.txt")), 0);
	assert_false(has_changed());
	assert_int_not_equal(now.hash, then.hash); /* but it cannot be loaded as before */
	assert_int_equal(unlink(path_of("saved_model.pb")), 0);
	assert_false(has_changed());
	sp_temp_remove(folder);
	assert_false(has_changed());
	assert_int_equal(now.count, 0);
	assert_int_equal(now.hash, 0);
	assert_false(now.has_assets);
}

static void what_was_not_read_does_not_count(void **state)
{
	(void)state;
	write_file("assets/.words.txt.crc", "x");
	write_file("assets/words.txt.new", "x");
	write_file("fingerprint.pb", "x");
	assert_false(has_changed());
	/* Weights are compared by their checksums. */
	write_file("variables/variables.index", "another");
	assert_false(has_changed());
	/* A graph that was not there may be the one to be read now. */
	write_file("saved_model.pbtxt", "x");
	assert_true(has_changed());
}

static void a_graph_file_is_the_graph(void **state)
{
	(void)state;
	write_file("graphs/model.meta", "graph");
	write_file("graphs/model.index", "index");
	write_file("graphs/model.data-00000-of-00001", "data");
	write_file("graphs/model-2.index", "other");
	assert_string_equal(sp_manifest_own_prefix("/m", "graphs/model.meta", arena),
			    "/m/graphs/model");
	assert_string_equal(sp_manifest_own_prefix("/m", NULL, arena), "/m/variables/variables");
	read_now("graphs/model.meta", true);
	assert_int_equal(now.count, 7); /* three are assets; the graph is beside its weights */
	then = now;
	write_file("saved_model.pb", "some other text");
	read_now("graphs/model.meta", true);
	assert_false(sp_manifest_has_changed(&then, &now));
	write_file("graphs/model.meta", "some other text");
	read_now("graphs/model.meta", true);
	assert_true(sp_manifest_has_changed(&then, &now));
}

/* A copy with its old time is new by the time that nobody can set. */
static void a_file_is_as_old_as_its_last_change(void **state)
{
	(void)state;
	assert_in_range(then.age_ms, 0, 3600 * 1000);
	set_time("assets/words.txt", 1000);
	read_now(NULL, false);
	assert_in_range(now.age_ms, 0, 3600 * 1000);
	set_time("assets/words.txt", time(NULL) + 7200);
	read_now(NULL, false);
	assert_true(now.age_ms < 0);
	set_time("assets/words.txt", INT64_MAX / 2); /* what the file system makes of it */
	read_now(NULL, false);
	assert_true(now.age_ms < 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(every_file_that_is_read_counts), CASE(the_same_bytes_are_the_same_file),
		CASE(what_is_gone_has_not_changed),   CASE(what_was_not_read_does_not_count),
		CASE(a_graph_file_is_the_graph),      CASE(a_file_is_as_old_as_its_last_change),
	};

	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
