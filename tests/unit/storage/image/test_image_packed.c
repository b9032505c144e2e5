/* Images of rows that carry their keys, and of rows that could not. */
#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "storage/image/image.h"
#include "storage/rows/rows_builder.h"
#include "tests/support/paths.h"

static char folder[SP_PATH_SIZE];
static char path[SP_PATH_SIZE + 64];
static const sp_bytes identity = {"of a test", 9};

static void no_log(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(folder);
	snprintf(path, sizeof(path), "%s/an.image", folder);
	sp_log_set_sink(no_log, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(folder);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static void spoil_last_byte(void)
{
	int fd = open(path, O_RDWR);
	off_t last = lseek(fd, -1, SEEK_END);
	char byte;

	assert_int_equal(pread(fd, &byte, 1, last), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, last), 1);
	close(fd);
}

/* A row that its slot refers to is checked before it answers, as its slot is. */
static void outliers_are_checked_too(void **state)
{
	enum { WIDE = 32, KEYS = 2000, OUTLIER = 77 };
	sp_rows_options options = {.name = "test", .dim = WIDE};
	sp_image_table table = {.name = "t"};
	int64_t keys[KEYS];
	float *floats = calloc(KEYS, WIDE * sizeof(*floats)), got[WIDE];
	sp_stored_row row;
	sp_image *image;
	sp_rows *rows;
	bool found;
	sp_error err;

	(void)state;
	for (int64_t i = 0; i < KEYS; i++)
		keys[i] = i;
	floats[OUTLIER * WIDE + 3] = 1e9f;
	assert_ok(sp_rows_create(&rows, &options, keys, floats, KEYS, &err), &err);
	assert_int_equal(sp_rows_get_shape(rows)->outlier_count, 1);
	table.rows = rows;
	assert_ok(sp_image_write(path, identity, &table, 1, &err), &err);
	sp_rows_release(rows);
	for (int damaged = 0; damaged < 2; damaged++) {
		/* It lies at the end of the slots, which end the file. */
		if (damaged)
			spoil_last_byte();
		assert_ok(sp_image_examine(&image, path, &err), &err);
		assert_ok(sp_image_take_rows(&rows, image, 0, &err), &err);
		assert_int_equal(sp_image_find_row(&row, &found, image, rows, OUTLIER, &err),
				 damaged ? SP_CORRUPT : SP_OK);
		if (!damaged) {
			row.codec->decode(WIDE, row.data, got);
			assert_memory_equal(got, floats + OUTLIER * WIDE, sizeof(got));
		}
		sp_rows_release(rows);
		sp_image_release(image);
	}
	free(floats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(outliers_are_checked_too, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("image of packed rows", tests, NULL, NULL);
}
