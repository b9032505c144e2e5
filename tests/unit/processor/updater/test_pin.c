#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "processor/updater/pin.h"
#include "tests/support/paths.h"

static char folder[SP_PATH_SIZE], path[SP_PATH_SIZE + 8];
static sp_pin pin;
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

static sp_status store(const char *to, int64_t full_step, int64_t delta_step)
{
	sp_pin it = sp_pin_of(full_step, delta_step, "a test");

	return sp_pin_store(&it, to, &err);
}

static sp_status unpin(const char *from)
{
	return sp_pin_store(&(sp_pin){.holds = false}, from, &err);
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
	assert_ok(sp_pin_load(&pin, path, &err), &err);
	assert_false(pin.holds);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_ok(store(path, steps[i][0], steps[i][1]), &err);
		assert_ok(sp_pin_load(&pin, path, &err), &err);
		assert_true(pin.full_step == steps[i][0] && pin.delta_step == steps[i][1]);
	}
	assert_ok(unpin(path), &err);
	assert_ok(unpin(path), &err);
	assert_ok(sp_pin_load(&pin, path, &err), &err);
	assert_false(pin.holds);
}

static void hands_write_it_too(void **state)
{
	(void)state;
	write_bytes("7", 1);
	assert_ok(sp_pin_load(&pin, path, &err), &err);
	assert_true(pin.full_step == 7 && pin.delta_step == -1);
	write_bytes("7+9\r\n", 5);
	assert_ok(sp_pin_load(&pin, path, &err), &err);
	assert_true(pin.full_step == 7 && pin.delta_step == 9);
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
		assert_int_equal(sp_pin_load(&pin, path, &err), SP_INVALID);
		assert_non_null(strstr(err.text, path));
	}
	write_bytes("7\0", 2);
	assert_int_equal(sp_pin_load(&pin, path, &err), SP_INVALID);
	memset(many, '7', sizeof(many));
	write_bytes(many, sizeof(many));
	assert_int_not_equal(sp_pin_load(&pin, path, &err), SP_OK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(sp_pin_load(&pin, path, &err), SP_IO);
	assert_non_null(strstr(err.text, path));
}

/* It stays what it was. */
static void what_cannot_be_written_changes_nothing(void **state)
{
	char fresh[SP_PATH_SIZE + 16];

	(void)state;
	assert_ok(store(path, 100, 110), &err);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	assert_int_equal(mkdir(fresh, 0700), 0);
	assert_int_equal(store(path, 100, 120), SP_IO);
	assert_non_null(strstr(err.text, path));
	assert_ok(sp_pin_load(&pin, path, &err), &err);
	assert_int_equal(pin.delta_step, 110);
	assert_int_equal(store("/no/such/folder/pin", 1, 1), SP_IO);
	assert_non_null(strstr(err.text, "/no/such/folder/pin"));
	assert_int_equal(unpin(folder), SP_IO);
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

	return cmocka_run_group_tests_name("pin", tests, NULL, NULL);
}
