#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mapping.h"
#include "base/store.h"

/* A store of one object, "mem://x/object", with the bytes "0123456789". */
static const char content[] = "0123456789";
static int opened, refreshed;
static bool is_down;
static sp_error err;

static sp_status find(struct stat *out, const char *path, mode_t type, sp_error *e)
{
	(void)type;
	if (is_down)
		return sp_error_set(e, SP_IO, "down");
	*out = (struct stat){.st_mode = S_IFREG, .st_size = 10, .st_ino = 7};
	if (strcmp(path, "mem://x/object") == 0)
		return SP_OK;
	out->st_mode = S_IFDIR;
	return strcmp(path, "mem://x") == 0 ? SP_OK : sp_error_set(e, SP_NOT_FOUND, "none");
}

static sp_status open_object(sp_store_object **out, uint64_t *size, const char *path, sp_error *e)
{
	struct stat info;

	SP_TRY(find(&info, path, S_IFREG, e));
	*out = (sp_store_object *)&opened;
	*size = 10;
	opened++;
	return SP_OK;
}

static void close_object(sp_store_object *object)
{
	assert_ptr_equal(object, &opened);
	opened--;
}

static sp_status read_object(sp_store_object *object, uint64_t offset, void *buffer, size_t size,
			     sp_error *e)
{
	(void)e;
	assert_ptr_equal(object, &opened);
	assert_true(offset + size <= 10);
	memcpy(buffer, content + offset, size);
	return SP_OK;
}

static void fetch(sp_store_object *object, uint64_t offset, uint64_t size, bool once)
{
	(void)offset;
	(void)size;
	(void)once;
	assert_ptr_equal(object, &opened);
}

static sp_status list(sp_folder *out, const char *path, sp_arena *arena, sp_error *e)
{
	static const char *names[] = {"object"};

	(void)arena;
	(void)e;
	*out = (sp_folder){names, strcmp(path, "mem://x") == 0};
	return SP_OK;
}

static void refresh(const char *path)
{
	assert_string_equal(path, "mem://x");
	refreshed++;
}

static const sp_store store = {.open = open_object,
			       .close = close_object,
			       .read = read_object,
			       .ahead = 5,
			       .fetch = fetch,
			       .find = find,
			       .list = list,
			       .refresh = refresh};

static void paths_with_a_scheme_lead_there(void **state)
{
	char bytes[10], *whole;
	sp_mapping mapping;
	struct stat info;
	sp_folder names;
	sp_file file;
	size_t size;
	bool found;

	(void)state;
	assert_int_equal(sp_file_open(&file, "mem://x/object", &err), SP_OK);
	assert_int_equal(file.size, 10);
	assert_int_equal(sp_file_ahead(&file), 5);
	sp_file_fetch(&file, 0, 10, true);
	assert_int_equal(sp_file_read_at(&file, 3, bytes, 4, &err), SP_OK);
	assert_memory_equal(bytes, "3456", 4);
	assert_int_equal(sp_file_read_at(&file, 8, bytes, 3, &err), SP_CORRUPT);
	assert_int_equal(sp_mapping_open(&mapping, &file, &err), SP_OK);
	sp_file_close(&file);
	assert_memory_equal(mapping.data, content, 10);
	sp_mapping_close(&mapping);
	assert_int_equal(sp_file_read(&whole, &size, "mem://x/object", 100, &err), SP_OK);
	assert_string_equal(whole, content);
	free(whole);
	assert_int_equal(opened, 0);
	assert_int_equal(sp_folder_list(&names, "mem://x", NULL, &err), SP_OK);
	assert_int_equal(names.count, 1);
	assert_int_equal(sp_folder_find(&found, &info, "mem://x/object", S_IFREG, &err), SP_OK);
	assert_true(found);
	assert_int_equal(info.st_ino, 7);
	assert_int_equal(sp_folder_find(&found, &info, "mem://x/object", S_IFDIR, &err), SP_OK);
	assert_false(found);
	assert_true(sp_file_is_directory("mem://x"));
	assert_true(sp_file_exists("mem://x/object"));
	assert_true(sp_file_is_missing("mem://x/other"));
	sp_folder_refresh("mem://x");
	sp_folder_refresh("/local");
	assert_int_equal(refreshed, 1);
}

static void a_store_that_does_not_answer_has_lost_nothing(void **state)
{
	struct stat info;
	bool found;

	(void)state;
	is_down = true;
	assert_false(sp_file_exists("mem://x/object"));
	assert_false(sp_file_is_missing("mem://x/object"));
	assert_int_equal(sp_folder_find(&found, &info, "mem://x/object", S_IFREG, &err), SP_IO);
	is_down = false;
}

static void without_a_store_they_are_refused(void **state)
{
	sp_file file;

	(void)state;
	sp_store_register(NULL);
	assert_int_equal(sp_file_open(&file, "mem://x/object", &err), SP_UNSUPPORTED);
	assert_false(sp_file_exists("mem://x"));
	sp_store_register(&store);
}

static void what_is_a_scheme(void **state)
{
	(void)state;
	assert_true(sp_store_is_remote("s3://b"));
	assert_true(sp_store_is_remote("a+b-c.d://x"));
	assert_false(sp_store_is_remote("/models/s3://b"));
	assert_false(sp_store_is_remote("models"));
	assert_false(sp_store_is_remote("3s://b"));
	assert_false(sp_store_is_remote("s3:/b"));
	assert_false(sp_store_is_remote("://b"));
	assert_false(sp_store_is_remote(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_with_a_scheme_lead_there),
		cmocka_unit_test(a_store_that_does_not_answer_has_lost_nothing),
		cmocka_unit_test(without_a_store_they_are_refused),
		cmocka_unit_test(what_is_a_scheme),
	};

	sp_store_register(&store);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
