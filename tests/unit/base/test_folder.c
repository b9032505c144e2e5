#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "tests/support/paths.h"

static char root[SP_PATH_SIZE];
static sp_arena *arena;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	arena = sp_arena_create(4096);
	return arena == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	sp_arena_destroy(arena);
	return 0;
}

static const char *touch(const char *name)
{
	const char *path = sp_arena_printf(arena, "%s/%s", root, name);

	close(open(path, O_CREAT | O_WRONLY, 0666));
	return path;
}

static void names_are_sorted_and_hidden_ones_among_them(void **state)
{
	const char *const wanted[] = {".hidden", "A", "b", "ba"};
	sp_folder folder;

	(void)state;
	touch("ba");
	touch("b");
	touch(".hidden");
	touch("A");
	assert_ok(sp_folder_list(&folder, root, arena, &err), &err);
	assert_int_equal(folder.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(folder.names[i], wanted[i]);
}

static void many_names_are_all_listed(void **state)
{
	sp_folder folder;

	(void)state;
	for (int i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%03d", 299 - i);
		touch(name);
	}
	assert_ok(sp_folder_list(&folder, root, arena, &err), &err);
	assert_int_equal(folder.count, 300);
	assert_string_equal(folder.names[0], "000");
	assert_string_equal(folder.names[299], "299");
}

static void a_folder_that_is_not_there_is_not_found(void **state)
{
	sp_folder folder;

	(void)state;
	assert_int_equal(
		sp_folder_list(&folder, sp_arena_printf(arena, "%s/none", root), arena, &err),
		SP_NOT_FOUND);
	assert_int_equal(folder.count, 0);
	assert_int_equal(sp_folder_list(&folder, touch("file"), arena, &err), SP_NOT_FOUND);
}

static void a_path_is_found_by_its_type(void **state)
{
	struct stat info;
	bool found;

	(void)state;
	assert_ok(sp_folder_find(&found, &info, touch("file"), S_IFREG, &err), &err);
	assert_true(found && info.st_size == 0);
	assert_ok(sp_folder_find(&found, &info, touch("file"), S_IFDIR, &err), &err);
	assert_false(found);
	assert_ok(sp_folder_find(&found, &info, root, S_IFDIR, &err), &err);
	assert_true(found);
	assert_ok(sp_folder_find(&found, &info, "/none/at/all", S_IFREG, &err), &err);
	assert_false(found);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_sorted_and_hidden_ones_among_them),
		TEST(many_names_are_all_listed),
		TEST(a_folder_that_is_not_there_is_not_found),
		TEST(a_path_is_found_by_its_type),
	};

	return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
