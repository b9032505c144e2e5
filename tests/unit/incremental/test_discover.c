#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "incremental/discover.h"
#include "tests/support/paths.h"

static char root[SP_PATH_SIZE];
static sp_arena *arena;
static sp_discovery all;
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

/* An empty file of that time of change, with the folders on the way to it. */
static void touch_at(const char *relative, time_t time)
{
	struct timespec times[2] = {{.tv_sec = time}, {.tv_sec = time}};
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

/* Of that age in seconds, long ago. */
static void touch(const char *relative, long age)
{
	touch_at(relative, 1700000000 - age);
}

/* As in `ms` milliseconds. */
static void discover_in(int64_t ms)
{
	sp_discover_options options = {.quiet_ms = 2000, .now_ms = (int64_t)time(NULL) * 1000 + ms};

	assert_ok(sp_discover_version(&all, root, &options, arena, &err), &err);
	found = all.version;
}

static void discover(void)
{
	assert_ok(sp_discover_version(&all, root, NULL, arena, &err), &err);
	found = all.version;
}

static void discover_numbered(int64_t only)
{
	assert_ok(sp_discover_numbered(&all, root, only, arena, &err), &err);
	found = all.version;
}

/* One line that names both; neither: there is none. */
static void assert_noted(const char *served, const char *ignored)
{
	size_t count = 0;

	for (const sp_discover_note *note = all.notes; note != NULL; note = note->next) {
		const char *is = strstr(note->text, " is served");

		count++;
		assert_non_null(served);
		assert_non_null(is);
		assert_memory_equal(is - strlen(served), served, strlen(served));
		assert_non_null(strstr(is, ignored));
	}
	assert_int_equal(count, served != NULL);
}

static void remove_file(const char *relative)
{
	char path[2 * SP_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", root, relative);
	assert_int_equal(unlink(path), 0);
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

/* In one second: contents decide, then names; never the order of a folder. */
static void of_two_as_new_the_greater_step_wins(void **state)
{
	(void)state;
	touch("y/checkpoint", 10);
	touch("y/m-1.index", 0);
	touch("x/checkpoint", 10);
	touch("x/m-2.index", 0);
	discover();
	assert_full("x/m-2", 2);
	assert_noted("/x", "/y is not");
	touch("y/m-2.index", 0);
	discover();
	assert_full("y/m-2", 2);
	assert_noted("/y", "sorts last, and");
	touch("x/.incremental_ckpt/d-3.index", 0);
	discover();
	assert_full("x/m-2", 2);
	assert_int_equal(found.delta_step, 3);
	assert_noted("/x", "has the greater delta");
	touch("y/checkpoint", 9);
	discover();
	assert_full("y/m-2", 2);
	assert_noted(NULL, NULL);
}

static void all_folders_of_one_second_are_compared(void **state)
{
	static const char *const names[] = {"3", "1", "9", "5", "7", "2"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/checkpoint", names[i]);
		touch(path, 10);
		snprintf(path, sizeof(path), "%s/m-%s.index", names[i], i == 2 ? "4" : names[i]);
		touch(path, 0);
	}
	discover();
	assert_full("7/m-7", 7);
	assert_noted("/7", "/5 is not");
}

static void a_time_that_cannot_be_true_chooses_nothing(void **state)
{
	time_t now = time(NULL);

	(void)state;
	touch_at("old/checkpoint", now + 3600);
	touch("old/m-100.index", 0);
	discover();
	assert_full("old/m-100", 100); /* there is nothing to choose */
	assert_noted(NULL, NULL);
	touch_at("new/checkpoint", now - 10);
	touch("new/m-200.index", 0);
	discover();
	assert_full("new/m-200", 200);
	assert_noted("/new", "/old is not");
	assert_non_null(
		strstr(all.notes->text, "old/checkpoint has a time that cannot be true, 2"));
	discover_in(7200000); /* nor when that time has come: no write was so late */
	assert_full("new/m-200", 200);
	touch_at("old/checkpoint", now + 5); /* clocks may differ a little */
	discover();
	assert_full("old/m-100", 100);
	assert_noted(NULL, NULL);
	touch_at("old/checkpoint", (time_t)1 << 55); /* beyond any calendar */
	discover();
	assert_full("new/m-200", 200);
	assert_ok(sp_discover_steps(&found, root, 100, -1, arena, &err), &err);
	assert_full("old/m-100", 100);
}

static void what_is_no_version_is_passed_over(void **state)
{
	static const char *const others[] = {
		".hidden",     "v9._COPYING_", "v9.tmp", "v9.part", "v9.partial",
		"v9~",         "#v9#",         "~v9",    "v9.bak",  "_temporary",
		"v9_$folder$", "lost+found",   "tmp",    "temp",    "v9.temp"};

	(void)state;
	touch("v1/checkpoint", 10);
	touch("v1/m-1.index", 0);
	touch("v3/checkpoint/no-file", 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/checkpoint", others[i]);
		touch(path, 0);
		snprintf(path, sizeof(path), "%s/m-9.index", others[i]);
		touch(path, 0);
	}
	discover();
	assert_full("v1/m-1", 1);
	assert_noted(NULL, NULL);
	assert_int_equal(sp_discover_steps(&found, root, 9, -1, arena, &err), SP_NOT_FOUND);
}

/* Leftovers of copies, editors and other systems, as indices of full checkpoints and of deltas. */
static void what_is_no_checkpoint_is_passed_over(void **state)
{
	static const char *const others[] = {".m-900.index",
					     "m-900.index.tempstate123",
					     "m-900.index._COPYING_",
					     "m-900.index.tmp",
					     "m-900.index~",
					     "#m-900.index#",
					     "~m-900.index",
					     "m-900.index.crc",
					     ".m-900.index.crc",
					     "m-900.index.swp",
					     "m-900.index.1a2B3c4D",
					     ".m-900.index.Xy12Zz",
					     "m-900.index/a-folder",
					     "m-900-emb-ssd_record.index",
					     "m-900.meta",
					     "m-900.INDEX"};

	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-100.index", 0);
	touch("a/.incremental_checkpoint/d-110.index", 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "a/%s", others[i]);
		touch(path, 0);
		snprintf(path, sizeof(path), "a/.incremental_checkpoint/%s", others[i]);
		touch(path, 0);
	}
	discover();
	assert_full("a/m-100", 100);
	assert_int_equal(found.delta_step, 110);
	assert_noted(NULL, NULL);
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

static void all_of_int64_is_a_step(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-9223372036854775808.index", 0); /* no number */
	touch("a/m-0.index", 0);
	touch("a/.incremental_ckpt/d-9223372036854775807.index", 0);
	touch("a/.incremental_ckpt/d-9223372036854775808.index", 0);
	discover();
	assert_full("a/m-0", 0);
	assert_int_equal(found.delta_step, INT64_MAX);
	assert_ok(sp_discover_steps(&found, root, 0, INT64_MAX, arena, &err), &err);
	assert_int_equal(found.delta_step, INT64_MAX);
	touch("a/m-9223372036854775806.index", 0);
	discover();
	assert_full("a/m-9223372036854775806", INT64_MAX - 1);
	assert_int_equal(found.delta_step, INT64_MAX);
	touch("a/m-9223372036854775807.data-00000-of-00001", 0);
	discover();
	assert_int_equal(found.delta_step, INT64_MAX);
	touch("a/m-9223372036854775807.index", 0);
	discover();
	assert_full("a/m-9223372036854775807", INT64_MAX);
	assert_null(found.delta_prefix);
	assert_ok(sp_discover_steps(&found, root, INT64_MAX, -1, arena, &err), &err);
	assert_full("a/m-9223372036854775807", INT64_MAX);
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
	assert_noted("a/m-5", "a/n-5 is not");
	touch("a/p-6.index", 0);
	touch("a/.incremental_checkpoint/z-7.index", 0);
	touch("a/.incremental_ckpt/a-7.index", 0);
	discover();
	assert_full("a/p-6", 6);
	assert_noted("a/.incremental_checkpoint/z-7", "a/.incremental_ckpt/a-7 is not");
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
	assert_null(all.why);
	touch("a/m-200.data-00001-of-00002", 0);
	touch("a/m-300.data-00000-of-00001", 0);
	discover();
	assert_int_equal(found.delta_step, 110);
	assert_non_null(strstr(all.why, "delta 210 waits for full checkpoint 200, whose data is "
					"there without its index: "));
	assert_non_null(strstr(all.why, "/a/m-200.index"));
	assert_string_equal(all.waiting.full_prefix, found.full_prefix);
	assert_int_equal(all.waiting.delta_step, 210);
	assert_in_range(all.wait_ms, 1, SP_DISCOVER_QUIET_MS);
	touch("a/m-200.index", 0);
	discover();
	assert_full("a/m-200", 200);
	assert_int_equal(found.delta_step, 210);
}

/* What a killed save has left is not written any more, and has no index for ever. */
static void data_that_nobody_writes_holds_nothing_up(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-100.index", 0);
	touch("a/.incremental_checkpoint/d-110.index", 0);
	touch("a/m-105.data-00000-of-00002", 86400); /* its ctime is now */
	discover_in(0);
	assert_null(found.delta_prefix);
	assert_non_null(all.why);
	assert_in_range(all.wait_ms, 1, 3001);
	discover_in(3500);
	assert_int_equal(found.delta_step, 110);
	assert_null(all.why);
	touch_at("a/m-105.data-00000-of-00002", time(NULL) + 86400); /* that time says nothing */
	discover_in(3500);
	assert_int_equal(found.delta_step, 110);
	touch("a/.incremental_checkpoint/d-105.index", 0); /* not on a checkpoint of its own step */
	remove_file("a/.incremental_checkpoint/d-110.index");
	discover_in(0);
	assert_int_equal(found.delta_step, 105);
}

static void other_data_holds_nothing_up(void **state)
{
	static const char *const others[] = {"m-105.data-00000-of-00001.tempstate2092",
					     ".m-105.data-00000-of-00001.crc",
					     ".m-105.data-00000-of-00001",
					     "m-105.data-00000-of-00001._COPYING_",
					     "m-105.data-00000-of-00001~",
					     "m-105.data-00001-of-00001",
					     "m-105.data-0-of-1",
					     "m-105.data-",
					     "m-105.data-00000-of-00001/a-folder",
					     "m-105.data-00000-of-00001.part",
					     "m-105-emb-ssd_record.data-00000-of-00001"};

	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-100.index", 0);
	touch("a/.incremental_checkpoint/d-110.index", 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", "a", others[i]);
		touch(path, 0);
		discover_in(0);
		if (found.delta_step != 110)
			fail_msg("%s holds the delta up", others[i]);
	}
}

static void data_alone_waits_for_its_index(void **state)
{
	(void)state;
	touch("a/checkpoint", 0);
	touch("a/m-100.data-00000-of-00001", 86400);
	assert_int_equal(sp_discover_version(&all, root, NULL, arena, &err), SP_NOT_FOUND);
	assert_non_null(strstr(all.why, "full checkpoint 100 waits for its index: /"));
	assert_int_equal(all.waiting.full_step, 100);
	assert_null(all.waiting.delta_prefix);
	assert_int_equal(all.wait_ms, 0);
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
	touch("d/checkpoint", 5);
	touch("d/m-100.index", 0);
	assert_ok(sp_discover_steps(&found, root, 100, -1, arena, &err), &err);
	assert_full("b/m-100", 100); /* as new, and with the greater step */
	assert_int_equal(sp_discover_steps(&found, root, 200, 110, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_steps(&found, root, 300, -1, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_steps(&found, "/no/such", 1, -1, arena, &err), SP_NOT_FOUND);
}

static void numbered_savedmodels(void **state)
{
	(void)state;
	assert_int_equal(sp_discover_numbered(&all, root, -1, arena, &err), SP_NOT_FOUND);
	touch("9/saved_model.pb", 0);
	touch("00000123/saved_model.pb", 0);
	touch("124x/saved_model.pb", 0);
	touch(".500/saved_model.pb", 0);
	touch("500~/saved_model.pb", 0);
	touch("-500/saved_model.pb", 0);
	touch("9223372036854775808/saved_model.pb", 0);
	touch("99999999999999999999999/saved_model.pb", 0);
	touch("600", 0);
	discover_numbered(-1);
	assert_full("00000123", 123);
	assert_string_equal(found.savedmodel_dir, found.full_prefix);
	assert_null(found.delta_prefix);
	assert_int_equal(found.delta_step, -1);
	assert_null(all.why);
	touch("200/variables.index", 0);
	discover_numbered(-1);
	assert_full("00000123", 123);
	assert_int_equal(all.waiting.full_step, 200);
	assert_non_null(strstr(all.why, "SavedModel 200 waits for /"));
	discover_numbered(9);
	assert_full("9", 9);
	assert_int_equal(sp_discover_numbered(&all, root, 200, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_numbered(&all, "/no/such", -1, arena, &err), SP_NOT_FOUND);
	touch("9223372036854775807/saved_model.pbtxt", 0);
	discover_numbered(-1);
	assert_full("9223372036854775807", INT64_MAX);
	discover_numbered(INT64_MAX);
	assert_full("9223372036854775807", INT64_MAX);
	discover_numbered(9);
	assert_full("9", 9);
	assert_null(all.notes);
}

static void of_two_names_of_a_number_the_plain_one_is_served(void **state)
{
	(void)state;
	touch("01/saved_model.pb", 0);
	touch("001/saved_model.pb", 0);
	touch("1/variables.index", 0); /* no graph yet */
	discover_numbered(-1);
	assert_full("001", 1);
	assert_noted("001", "01 is not");
	touch("1/saved_model.pb", 0);
	discover_numbered(-1);
	assert_full("1", 1);
	assert_noted("1", "001 is not");
	discover_numbered(1);
	assert_full("1", 1);
	touch("0/saved_model.pb", 0);
	touch("00/saved_model.pb", 0);
	discover_numbered(0);
	assert_full("0", 0);
	touch("2/saved_model.pb", 0);
	discover_numbered(-1);
	assert_full("2", 2);
	assert_noted(NULL, NULL);
}

static void nothing_there_is_not_found(void **state)
{
	(void)state;
	assert_int_equal(sp_discover_version(&all, root, NULL, arena, &err), SP_NOT_FOUND);
	touch("a/checkpoint", 0);
	assert_int_equal(sp_discover_version(&all, root, NULL, arena, &err), SP_NOT_FOUND);
	assert_int_equal(sp_discover_version(&all, "/no/such/folder", NULL, arena, &err),
			 SP_NOT_FOUND);
	touch("file", 0);
	strcat(root, "/file");
	assert_int_equal(sp_discover_version(&all, root, NULL, arena, &err), SP_NOT_FOUND);
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
		TEST(of_two_as_new_the_greater_step_wins),
		TEST(all_folders_of_one_second_are_compared),
		TEST(a_time_that_cannot_be_true_chooses_nothing),
		TEST(what_is_no_version_is_passed_over),
		TEST(what_is_no_checkpoint_is_passed_over),
		TEST(steps_are_numbers_not_texts),
		TEST(a_name_without_a_number_has_step_zero),
		TEST(all_of_int64_is_a_step),
		TEST(of_two_with_one_step_the_first_by_name_wins),
		TEST(a_version_without_deltas_leaves_no_words_of_an_error),
		TEST(a_delta_counts_above_its_base_only),
		TEST(a_delta_above_a_checkpoint_on_its_way_is_left),
		TEST(data_that_nobody_writes_holds_nothing_up),
		TEST(other_data_holds_nothing_up),
		TEST(data_alone_waits_for_its_index),
		TEST(a_version_is_found_by_its_steps),
		TEST(numbered_savedmodels),
		TEST(of_two_names_of_a_number_the_plain_one_is_served),
		TEST(nothing_there_is_not_found),
		TEST(one_goes_back_delta_by_delta_and_folder_by_folder),
		TEST(what_one_leaves_may_be_gone),
		TEST(a_smaller_number_is_the_one_before),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
