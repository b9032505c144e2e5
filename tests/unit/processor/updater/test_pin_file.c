#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "processor/updater/pin_file.h"
#include "tests/support/paths.h"

static char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 8];
static int64_t full, delta;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(folder);
	snprintf(path, sizeof(path), "%s/pin", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	return 0;
}

static void write_bytes(const char *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static void what_is_written_is_read(void **state)
{
	static const int64_t steps[][2] = {{100, -1}, {100, 110}, {0, 0}, {INT64_MAX, INT64_MAX}};

	(void)state;
	assert_int_equal(sp_pin_file_read(path, &full, &delta, &err), SP_NOT_FOUND);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_ok(sp_pin_file_write(path, steps[i][0], steps[i][1], &err), &err);
		assert_ok(sp_pin_file_read(path, &full, &delta, &err), &err);
		assert_true(full == steps[i][0] && delta == steps[i][1]);
	}
	assert_ok(sp_pin_file_remove(path, &err), &err);
	assert_ok(sp_pin_file_remove(path, &err), &err);
	assert_int_equal(sp_pin_file_read(path, &full, &delta, &err), SP_NOT_FOUND);
}

static void hands_write_it_too(void **state)
{
	(void)state;
	write_bytes("7", 1);
	assert_ok(sp_pin_file_read(path, &full, &delta, &err), &err);
	assert_true(full == 7 && delta == -1);
	write_bytes("7+9\r\n", 5);
	assert_ok(sp_pin_file_read(path, &full, &delta, &err), &err);
	assert_true(full == 7 && delta == 9);
}

static void anything_else_is_refused(void **state)
{
	static const char *const wrong[] = {"",
					    "\n",
					    "x",
					    "7+",
					    "+7",
					    "7+9x",
					    "7 9",
					    "7\n\n",
					    "-7",
					    " 7",
					    "7+9+11",
					    "7\n8\n",
					    "0x10",
					    "100,110",
					    "7\r\r",
					    "1e3",
					    "{\"full_step\":7}",
					    "9223372036854775808"};
	char many[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_bytes(wrong[i], strlen(wrong[i]));
		assert_int_equal(sp_pin_file_read(path, &full, &delta, &err), SP_INVALID);
		assert_non_null(strstr(err.text, path));
	}
	write_bytes("7\0", 2);
	assert_int_equal(sp_pin_file_read(path, &full, &delta, &err), SP_INVALID);
	memset(many, '7', sizeof(many));
	write_bytes(many, sizeof(many));
	assert_int_not_equal(sp_pin_file_read(path, &full, &delta, &err), SP_OK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(sp_pin_file_read(path, &full, &delta, &err), SP_IO);
	assert_non_null(strstr(err.text, path));
}

/* It stays what it was. */
static void what_cannot_be_written_changes_nothing(void **state)
{
	char fresh[SP_PATH_SIZE + 16];

	(void)state;
	assert_ok(sp_pin_file_write(path, 100, 110, &err), &err);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	assert_int_equal(mkdir(fresh, 0700), 0);
	assert_int_equal(sp_pin_file_write(path, 100, 120, &err), SP_IO);
	assert_non_null(strstr(err.text, path));
	assert_ok(sp_pin_file_read(path, &full, &delta, &err), &err);
	assert_int_equal(delta, 110);
	assert_int_equal(sp_pin_file_write("/no/such/folder/pin", 1, 1, &err), SP_IO);
	assert_non_null(strstr(err.text, "/no/such/folder/pin"));
	assert_int_equal(sp_pin_file_remove(folder, &err), SP_IO);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(what_is_written_is_read),
		CASE(hands_write_it_too),
		CASE(anything_else_is_refused),
		CASE(what_cannot_be_written_changes_nothing),
	};

	return cmocka_run_group_tests_name("pin_file", tests, NULL, NULL);
}
