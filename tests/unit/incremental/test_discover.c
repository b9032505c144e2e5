#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "incremental/discover.h"
#include "tests/support/paths.h"

static char root[SP_PATH_SIZE];
static sp_arena *arena;
static sp_found_version found;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(4096);
	sp_temp_make(root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	sp_arena_destroy(arena);
	return 0;
}

/* An empty file of that age in seconds, with the folders on the way to it. */
static void touch(const char *relative, long age)
{
	struct timespec times[2] = {{.tv_sec = 1700000000 - age}, {.tv_sec = 1700000000 - age}};
	char path[2 * SP_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", root, relative);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	close(open(path, O_CREAT | O_WRONLY, 0666));
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void discover(void)
{
	assert_ok(sp_discover_version(&found, root, arena, &err), &err);
}

static void assert_full(const char *relative, int64_t step)
{
	char path[2 * SP_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", root, relative);
	assert_string_equal(found.full_prefix, path);
	assert_int_equal(found.full_step, step);
}

static void the_newest_folder_wins_whatever_its_name(void **state)
{
	(void)state;
	touch("b/checkpoint", 20);
	touch("b/m-900.index", 0);
	touch("a/checkpoint", 10);
	touch("a/m-5.index", 100);
	discover();
	assert_full("a/m-5", 5);
	assert_null(found.delta_prefix);
	assert_int_equal(found.delta_step, -1);
	touch("b/checkpoint", 5); /* touching an older one goes back to it */
	discover();
	assert_full("b/m-900", 900);
}

static void of_two_as_new_the_first_by_name_wins(void **state)
{
	(void)state;
	touch("y/checkpoint", 10);
	touch("y/m-1.index", 0);
	touch("x/checkpoint", 10);
	touch("x/m-2.index", 0);
	discover();
	assert_full("x/m-2", 2);
}

static void steps_are_numbers_not_texts(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-99.index", 0);
	touch("a/m-100.index", 0);
	touch("a/m-100.data-00000-of-00001", 0);
	touch("a/m-7x.index", 0);
	touch("a/m-99999999999999999999.index", 0);
	touch("a/graph.pbtxt", 0);
	discover();
	assert_full("a/m-100", 100);
}

static void a_name_without_a_number_has_step_zero(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/model.index", 0);
	discover();
	assert_full("a/model", 0);
}

static void of_two_with_one_step_the_first_by_name_wins(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/n-5.index", 0);
	touch("a/m-5.index", 0);
	touch("a/o-5.index", 0);
	discover();
	assert_full("a/m-5", 5);
}

static void a_version_without_deltas_leaves_no_words_of_an_error(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-5.index", 0);
	sp_error_set(&err, SP_OK, "as before");
	discover();
	assert_string_equal(err.text, "as before");
}

static void a_delta_counts_above_its_base_only(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-100.index", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-100.index", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-90.index", 0);
	discover();
	assert_null(found.delta_prefix);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-110.index", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-120.index", 0);
	discover();
	assert_int_equal(found.delta_step, 120);
	assert_non_null(
		strstr(found.delta_prefix, "a/.incremental_checkpoint/incremental_model.ckpt-120"));
	touch("a/.incremental_ckpt/incremental_model.ckpt-130.index", 0);
	discover();
	assert_int_equal(found.delta_step, 130);
}

/* It may lie on the full checkpoint that is being copied, and does not say so. */
static void a_delta_above_a_checkpoint_on_its_way_is_left(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-100.index", 0);
	touch("a/m-50.data-00000-of-00001", 0);
	touch("a/m-100-emb-ssd_record.data-00000-of-00001", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-110.index", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-210.index", 0);
	discover();
	assert_int_equal(found.delta_step, 210);
	touch("a/m-200.data-00001-of-00002", 0);
	discover();
	assert_int_equal(found.delta_step, 110);
	touch("a/m-200.index", 0);
	discover();
	assert_full("a/m-200", 200);
	assert_int_equal(found.delta_step, 210);
}

static void a_version_is_found_by_its_steps(void **state)
{
	(void)state;
	touch("a/checkpoint", 10);
	touch("a/m-100.index", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-110.index", 0);
	touch("a/.incremental_checkpoint/incremental_model.ckpt-120.index", 0);
	touch("b/checkpoint", 5);
	touch("b/m-100.index", 0);
	touch("b/m-200.index", 0);
	touch("c/m-300.index", 0);
	assert_ok(sp_discover_steps(&found, root, 100, 110, arena, &err), &err);
	assert_full("a/m-100", 100);
	assert_int_equal(found.delta_step, 110);
	assert_ok(sp_discover_steps(&found, root, 100, -1, arena, &err), &err);
	assert_full("b/m-100", 100);
	assert_null(found.delta_prefix);
	assert_int_equal(found.delta_step, -1);
	assert_int_equal(sp_discover_steps(&found, root, 200, 110, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_steps(&found, root, 300, -1, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_steps(&found, "/no/such", 1, -1, arena, &err), SP_NOT_FOUND);
}

static void numbered_savedmodels(void **state)
{
	(void)state;
	assert_int_equal(sp_discover_numbered(&found, root, -1, arena, &err), SP_NOT_FOUND);
	touch("9/saved_model.pb", 0);
	touch("00000123/saved_model.pb", 0);
	touch("124x/saved_model.pb", 0);
	touch("99999999999999999999999/saved_model.pb", 0);
	touch("200/variables.index", 0);
	assert_ok(sp_discover_numbered(&found, root, -1, arena, &err), &err);
	assert_full("00000123", 123);
	assert_string_equal(found.savedmodel_dir, found.full_prefix);
	assert_null(found.delta_prefix);
	assert_int_equal(found.delta_step, -1);
	assert_ok(sp_discover_numbered(&found, root, 9, arena, &err), &err);
	assert_full("9", 9);
	assert_int_equal(sp_discover_numbered(&found, root, 200, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_numbered(&found, "/no/such", -1, arena, &err), SP_NOT_FOUND);
}

static void nothing_there_is_not_found(void **state)
{
	(void)state;
	assert_int_equal(sp_discover_version(&found, root, arena, &err), SP_NOT_FOUND);
	touch("a/checkpoint", 0);
	assert_int_equal(sp_discover_version(&found, root, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_version(&found, "/no/such/folder", arena, &err), SP_NOT_FOUND);
	touch("file", 0);
	strcat(root, "/file");
	assert_int_equal(sp_discover_version(&found, root, arena, &err), SP_NOT_FOUND);
	root[strlen(root) - strlen("/file")] = '\0';
}

/* ------------------------------------------------------------- the one before */

static void discover_older(void)
{
	sp_found_version than = found;

	assert_ok(sp_discover_older(&found, root, &than, arena, &err), &err);
}

static void one_goes_back_delta_by_delta_and_folder_by_folder(void **state)
{
	sp_found_version than;

	(void)state;
	touch("c/checkpoint", 10);
	touch("c/m-100.index", 0);
	touch("c/.incremental_checkpoint/d-120.index", 0);
	touch("c/.incremental_ckpt/d-110.index", 0);
	touch("c/m-50.index", 0);
	touch("c/.incremental_checkpoint/d-60.index", 0);
	touch("a/checkpoint", 20); /* holds nothing */
	touch("b/checkpoint", 20);
	touch("b/m-200.index", 0);
	touch("b/.incremental_checkpoint/d-210.index", 0);
	touch("d/checkpoint", 5);
	touch("d/m-7.index", 0);
	touch("e/m-6.index", 0); /* no folder of a version */
	discover();
	assert_full("d/m-7", 7);
	discover_older();
	assert_full("c/m-100", 100);
	assert_int_equal(found.delta_step, 120);
	discover_older();
	assert_int_equal(found.delta_step, 110);
	assert_non_null(strstr(found.delta_prefix, "c/.incremental_ckpt/d-110"));
	discover_older();
	assert_full("c/m-100", 100);
	assert_null(found.delta_prefix);
	assert_int_equal(found.delta_step, -1);
	discover_older();
	assert_full("c/m-50", 50);
	assert_int_equal(found.delta_step, 60);
	discover_older();
	assert_null(found.delta_prefix);
	discover_older();
	assert_full("b/m-200", 200);
	assert_int_equal(found.delta_step, 210);
	discover_older();
	assert_null(found.delta_prefix);
	than = found;
	assert_int_equal(sp_discover_older(&found, root, &than, arena, &err), SP_NOT_FOUND);
}

/* Of one that is gone only the name is needed. */
static void what_one_leaves_may_be_gone(void **state)
{
	char prefix[2 * SP_PATH_SIZE];
	sp_found_version than = {.full_prefix = prefix, .full_step = 9, .delta_step = -1};

	(void)state;
	touch("b/checkpoint", 10);
	touch("b/m-5.index", 0);
	snprintf(prefix, sizeof(prefix), "%s/gone/m-9", root);
	assert_ok(sp_discover_older(&found, root, &than, arena, &err), &err);
	assert_full("b/m-5", 5);
	than.full_prefix = "m-9";
	assert_int_equal(sp_discover_older(&found, root, &than, arena, &err), SP_NOT_FOUND);
	than.full_prefix = "/m-9";
	assert_int_equal(sp_discover_older(&found, root, &than, arena, &err), SP_NOT_FOUND);
}

static void a_smaller_number_is_the_one_before(void **state)
{
	(void)state;
	touch("3/saved_model.pb", 0);
	touch("20/saved_model.pbtxt", 0);
	touch("100/saved_model.pb", 0);
	touch("50/nothing", 0);
	assert_ok(sp_discover_older_numbered(&found, root, 100, arena, &err), &err);
	assert_int_equal(found.full_step, 20);
	assert_string_equal(found.savedmodel_dir, found.full_prefix);
	assert_ok(sp_discover_older_numbered(&found, root, 20, arena, &err), &err);
	assert_int_equal(found.full_step, 3);
	assert_int_equal(sp_discover_older_numbered(&found, root, 3, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_older_numbered(&found, "/no/such", 3, arena, &err),
			 SP_NOT_FOUND);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_newest_folder_wins_whatever_its_name),
		TEST(of_two_as_new_the_first_by_name_wins),
		TEST(steps_are_numbers_not_texts),
		TEST(a_name_without_a_number_has_step_zero),
		TEST(of_two_with_one_step_the_first_by_name_wins),
		TEST(a_version_without_deltas_leaves_no_words_of_an_error),
		TEST(a_delta_counts_above_its_base_only),
		TEST(a_delta_above_a_checkpoint_on_its_way_is_left),
		TEST(a_version_is_found_by_its_steps),
		TEST(numbered_savedmodels),
		TEST(nothing_there_is_not_found),
		TEST(one_goes_back_delta_by_delta_and_folder_by_folder),
		TEST(what_one_leaves_may_be_gone),
		TEST(a_smaller_number_is_the_one_before),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
