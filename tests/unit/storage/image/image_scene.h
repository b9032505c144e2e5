#ifndef SP_TESTS_UNIT_STORAGE_IMAGE_IMAGE_SCENE_H
#define SP_TESTS_UNIT_STORAGE_IMAGE_IMAGE_SCENE_H

#include "tests/support/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "storage/image/image.h"
#include "storage/rows/rows_builder.h"
#include "storage/table/table_builder.h"
#include "tests/support/paths.h"

/*
 * The rows that an image holds follow from their keys, so every answer is known
 * without the image.
 */
enum {
	DIM = 5,
	SMALL = 300,
	LARGE = 60000, /* several chunks, and an array above 2 MiB */
};

static char folder[SP_PATH_SIZE];
static char path[SP_PATH_SIZE + 64];
static const sp_bytes identity = {"of a test", 9};

/* The bytes of a good image, to start from again and again. */
static struct {
	char *bytes;
	size_t size;
} saved;

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
	alarm(300);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alarm(0);
	sp_alloc_fail_after(-1);
	free(saved.bytes);
	saved.bytes = NULL;
	sp_temp_remove(folder);
	sp_log_set_sink(NULL, NULL);
	return 0;
}

static inline float element(int64_t key, size_t d)
{
	return (float)(key % 1000) * 0.5f + (float)d; /* exact in fp16, too */
}

static inline sp_rows *make_rows(size_t count, size_t dim, sp_row_format format)
{
	sp_rows_options options = {.name = "test", .dim = dim, .format = format};
	int64_t *keys = calloc(count + 1, sizeof(*keys));
	float *rows = calloc(count * dim + 1, sizeof(*rows));
	sp_rows *out;
	sp_error err;

	for (size_t i = 0; i < count; i++) {
		keys[i] = (int64_t)i * 7 + 3;
		for (size_t d = 0; d < dim; d++)
			rows[i * dim + d] = element(keys[i], d);
	}
	assert_ok(sp_rows_create(&out, &options, keys, rows, count, &err), &err);
	free(keys);
	free(rows);
	return out;
}

static inline void write_one(size_t count)
{
	sp_rows *rows = make_rows(count, DIM, SP_ROW_FP32);
	sp_image_table table = {.name = "t", .rows = rows};
	sp_error err;

	assert_ok(sp_image_write(path, identity, &table, 1, &err), &err);
	sp_rows_release(rows);
}

static inline sp_rows *take(sp_image *image, const char *name)
{
	sp_rows *rows;
	sp_error err;
	size_t table;

	assert_true(sp_image_find(image, name, &table, NULL));
	assert_ok(sp_image_take_rows(&rows, image, table, &err), &err);
	return rows;
}

static inline sp_table *table_over(sp_rows *rows)
{
	sp_table_options options = {.name = "t", .dim = sp_rows_get_shape(rows)->dim};
	sp_table *table;
	sp_error err;

	assert_ok(sp_table_create(&table, &options, rows, NULL, &err), &err);
	sp_rows_release(rows);
	return table;
}

/* Every key of make_rows(), and some that are not there. */
static inline sp_status look_all_up(const sp_table *table, size_t count, size_t *wrong,
				    sp_error *err)
{
	size_t dim = sp_table_dim(table);
	float row[64];

	for (size_t i = 0; i < count; i++) {
		int64_t keys[2] = {(int64_t)i * 7 + 3, (int64_t)i * 7 + 4};

		SP_TRY(sp_table_lookup(table, keys, 2, NULL, row, err));
		for (size_t d = 0; d < dim; d++)
			*wrong += row[d] != element(keys[0], d) || row[dim + d] != 0.0f;
	}
	return SP_OK;
}

static inline void expect_all(const sp_table *table, size_t count)
{
	size_t wrong = 0;
	sp_error err;

	assert_ok(look_all_up(table, count, &wrong, &err), &err);
	assert_int_equal(wrong, 0);
}

static inline void wait_until_checked(const sp_image *image)
{
	while (!sp_image_is_checked(image) && !sp_image_is_broken(image))
		usleep(1000);
}

static inline void xor_byte(size_t at, int bits)
{
	int fd = open(path, O_RDWR);
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= (unsigned char)bits;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static inline size_t files_in_folder(void)
{
	DIR *d = opendir(folder);
	size_t count = 0;

	while (readdir(d) != NULL)
		count++;
	closedir(d);
	return count - 2;
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
