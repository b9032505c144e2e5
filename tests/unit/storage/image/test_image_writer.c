#include "tests/unit/storage/image/image_scene.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void without_memory_nothing_is_left(void **state)
{
	sp_rows *rows = make_rows(SMALL, DIM, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	sp_image *image = NULL;
	sp_status status;
	sp_error err;
	int64_t n;

	(void)state;
	for (n = 0;; n++) {
		sp_alloc_fail_after(n);
		status = sp_image_write(path, identity, &table, 1, &err);
		sp_alloc_fail_after(-1);
		if (status == SP_OK)
			break;
		assert_int_equal(status, SP_NO_MEMORY);
		assert_int_not_equal(access(path, F_OK), 0);
	}
	assert_true(n > 2);
	for (n = 0; image == NULL; n++) {
		sp_alloc_fail_after(n);
		status = sp_image_open(&image, path, identity, &err);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
	}
	assert_true(n > 3);
	sp_image_release(image);
	sp_rows_release(rows);
}

static void a_write_that_fails_leaves_nothing(void **state)
{
	sp_rows *rows = make_rows(LARGE, DIM, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	struct rlimit old, low = {1 << 20, RLIM_INFINITY};
	sp_error err;
	FILE *mounted;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	low.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &low);
	assert_int_equal(sp_image_write(path, identity, &table, 1, &err), SP_IO);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_non_null(strstr(err.text, "above the limit"));
	assert_int_equal(files_in_folder(), 0);

	mounted = fopen("/dev/full", "w"); /* not a folder to write to */
	fclose(mounted);
	assert_int_equal(sp_image_write("/dev/full/x", identity, &table, 1, &err), SP_IO);
	assert_int_equal(sp_image_write("/nowhere/at/all", identity, &table, 1, &err), SP_IO);
	sp_rows_release(rows);
}

static void a_full_disk_leaves_nothing(void **state)
{
	char command[SP_PATH_SIZE + 64];
	sp_rows *rows = make_rows(LARGE, 16, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	sp_error err;

	(void)state;
	snprintf(command, sizeof(command), "mount -t tmpfs -o size=3m none %s 2>/dev/null", folder);
	if (geteuid() != 0 || system(command) != 0) {
		sp_rows_release(rows);
		skip();
	}
	assert_int_equal(sp_image_write(path, identity, &table, 1, &err), SP_IO);
	assert_non_null(strstr(err.text, "No space left"));
	assert_int_equal(files_in_folder(), 0);
	snprintf(command, sizeof(command), "umount %s", folder);
	assert_int_equal(system(command), 0);
	sp_rows_release(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_memory_nothing_is_left),
		CASE(a_write_that_fails_leaves_nothing),
		CASE(a_full_disk_leaves_nothing),
	};

	return cmocka_run_group_tests_name("image_writer", tests, NULL, NULL);
}
