#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/support/paths.h"

/* The folder of the running case, and the path last made in it. */
static struct {
	char path[SP_PATH_SIZE];
	char file[SP_PATH_SIZE + 16];
} here;

static const char *in_folder(const char *name)
{
	snprintf(here.file, sizeof(here.file), "%s/%s", here.path, name);
	return here.file;
}

static const char *write_file(const char *name, const char *data, size_t size)
{
	FILE *f = fopen(in_folder(name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
	return here.file;
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(here.path);
	alarm(20); /* what hangs shall fail */
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alarm(0);
	sp_alloc_fail_after(-1);
	sp_temp_remove(here.path);
	return 0;
}

static void a_file_is_read_with_a_nul_behind(void **state)
{
	sp_error err;
	char *data;
	size_t size;

	(void)state;
	assert_ok(sp_file_read(&data, &size, write_file("f", "a\0b\n", 4), 4, &err), &err);
	assert_int_equal(size, 4);
	assert_memory_equal(data, "a\0b\n", 5);
	sp_free(data);
	assert_ok(sp_file_read(&data, &size, write_file("empty", "", 0), 0, &err), &err);
	assert_int_equal(size, 0);
	assert_string_equal(data, "");
	sp_free(data);
}

static void expect_refusal(const char *path, size_t max_size, sp_status status, const char *why)
{
	sp_error err;
	char *data;
	size_t size;

	assert_int_equal(sp_file_read(&data, &size, path, max_size, &err), status);
	assert_int_equal(err.status, status);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, why));
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	expect_refusal(in_folder("nothing"), 10, SP_NOT_FOUND, "No such file");
	write_file("f", "", 0);
	expect_refusal(in_folder("f/below"), 10, SP_NOT_FOUND, "Not a directory");
	assert_int_equal(symlink("nowhere", in_folder("link")), 0);
	expect_refusal(here.file, 10, SP_NOT_FOUND, "No such file");
	expect_refusal("", 10, SP_NOT_FOUND, "No such file");
}

static void what_is_no_file_is_refused_at_once(void **state)
{
	(void)state;
	expect_refusal(here.path, 10, SP_IO, "not a regular file");
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	expect_refusal(here.file, 10, SP_IO, "not a regular file");
	expect_refusal("/dev/zero", 10, SP_IO, "not a regular file");
	assert_int_equal(symlink("loop", in_folder("loop")), 0);
	expect_refusal(here.file, 10, SP_IO, "symbolic links");
}

static void a_name_beyond_the_systems_limit_is_refused(void **state)
{
	char name[5000];
	sp_error err;
	sp_file file;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(sp_file_open(&file, name, &err), SP_IO);
	assert_int_equal(file.fd, -1);
	sp_file_close(&file);
}

static void a_file_above_the_maximum_is_refused(void **state)
{
	(void)state;
	expect_refusal(write_file("f", "12345", 5), 4, SP_INVALID, "5 bytes, more than 4");
	/* Sparse: a terabyte of nothing. */
	assert_int_equal(truncate(here.file, (off_t)1 << 40), 0);
	expect_refusal(here.file, 1 << 20, SP_INVALID, "1099511627776 bytes");
}

static void no_memory_is_said(void **state)
{
	(void)state;
	write_file("f", "12345", 5);
	sp_alloc_fail_after(0);
	expect_refusal(here.file, 10, SP_NO_MEMORY, "no memory");
}

static void any_part_can_be_read(void **state)
{
	sp_error err;
	sp_file file;
	char part[4];

	(void)state;
	assert_ok(sp_file_open(&file, write_file("f", "0123456789", 10), &err), &err);
	assert_int_equal(file.size, 10);
	assert_ok(sp_file_read_at(&file, 6, part, 4, &err), &err);
	assert_memory_equal(part, "6789", 4);
	assert_ok(sp_file_read_at(&file, 1, part, 2, &err), &err);
	assert_memory_equal(part, "12", 2);
	assert_ok(sp_file_read_at(&file, 10, part, 0, &err), &err);
	assert_int_equal(sp_file_read_at(&file, 7, part, 4, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "ends at byte 10, 1 bytes too early"));
	assert_int_equal(sp_file_read_at(&file, 1000, part, 1, &err), SP_CORRUPT);
	assert_int_equal(sp_file_read_at(&file, UINT64_MAX, part, 1, &err), SP_IO);
	sp_file_close(&file);
	sp_file_close(&file);
	assert_int_equal(file.fd, -1);
}

static void a_file_that_shrinks_while_open_is_corrupt(void **state)
{
	sp_error err;
	sp_file file;
	char part[10];

	(void)state;
	assert_ok(sp_file_open(&file, write_file("f", "0123456789", 10), &err), &err);
	assert_int_equal(truncate(here.file, 3), 0);
	assert_int_equal(sp_file_read_at(&file, 0, part, 10, &err), SP_CORRUPT);
	assert_ok(sp_file_read_at(&file, 0, part, 3, &err), &err);
	sp_file_close(&file);
}

static void an_open_file_outlives_its_name(void **state)
{
	sp_error err;
	sp_file file;
	char part[3];

	(void)state;
	assert_ok(sp_file_open(&file, write_file("f", "abc", 3), &err), &err);
	assert_int_equal(unlink(here.file), 0);
	assert_ok(sp_file_read_at(&file, 0, part, 3, &err), &err);
	assert_memory_equal(part, "abc", 3);
	assert_true(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
	sp_file_close(&file);
}

static void what_is_there_is_told_apart(void **state)
{
	(void)state;
	write_file("f", "", 0);
	assert_true(sp_file_exists(here.file));
	assert_false(sp_file_is_directory(here.file));
	assert_true(sp_file_exists(here.path));
	assert_true(sp_file_is_directory(here.path));
	assert_false(sp_file_exists(in_folder("nothing")));
	assert_false(sp_file_is_directory(here.file));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_file_is_read_with_a_nul_behind),
		CASE(what_is_not_there_is_not_found),
		CASE(what_is_no_file_is_refused_at_once),
		CASE(a_name_beyond_the_systems_limit_is_refused),
		CASE(a_file_above_the_maximum_is_refused),
		CASE(no_memory_is_said),
		CASE(any_part_can_be_read),
		CASE(a_file_that_shrinks_while_open_is_corrupt),
		CASE(an_open_file_outlives_its_name),
		CASE(what_is_there_is_told_apart),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
