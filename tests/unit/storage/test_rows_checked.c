#include "tests/support/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "storage/rows.h"
#include "storage/rows_builder.h"

enum { COUNT = 300, MAX_DIM = 512 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* One row in sixteen is an outlier, at any of its elements. */
static void fill_rows(float *rows, size_t count, size_t dim)
{
	for (size_t i = 0; i < count * dim; i++)
		rows[i] = (float)(int64_t)(next_random() % 65536 - 32768) * 0x1p-20f;
	for (size_t i = 0; i < count; i++)
		if (next_random() % 16 == 0)
			rows[i * dim + next_random() % dim] = 1e30f;
}

/* A few of them are marks. */
static void fill_keys(int64_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		keys[i] = next_random() % 32 == 0 ? -1 - (int64_t)(i % 2)
						  : (int64_t)(next_random() >> 1);
}

static sp_rows_builder *make_builder(size_t dim, sp_row_format format, const int64_t *keys,
				     size_t count)
{
	sp_rows_options options = {.name = "t", .dim = dim, .format = format};
	sp_rows_builder *builder;
	sp_error err;

	assert_ok(sp_rows_builder_create(&builder, &options, &err), &err);
	assert_ok(sp_rows_builder_add_keys(builder, keys, count, &err), &err);
	assert_ok(sp_rows_builder_index(builder, &err), &err);
	return builder;
}

static sp_rows *freeze(sp_rows_builder *builder)
{
	sp_rows *rows;
	sp_error err;

	assert_ok(sp_rows_builder_freeze(builder, &rows, &err), &err);
	sp_rows_builder_destroy(builder);
	return rows;
}

/* In pieces of any size, the rows at addresses of any kind. */
static uint32_t put_checked(sp_rows_builder *builder, const int64_t *keys, const char *rows,
			    size_t row_size, uint32_t crc)
{
	sp_error err;

	for (size_t first = 0, count; first < COUNT; first += count) {
		count = 1 + next_random() % 150;
		if (count > COUNT - first)
			count = COUNT - first;
		assert_ok(sp_rows_builder_put_checked(builder, keys + first,
						      rows + first * row_size, count, &crc, &err),
			  &err);
	}
	return crc;
}

static void check_same(const sp_rows *got, const sp_rows *want, const int64_t *keys, size_t dim)
{
	for (size_t i = 0; i < COUNT; i++) {
		float a[MAX_DIM], b[MAX_DIM];
		sp_stored_row row;

		if (keys[i] == -1 || keys[i] == -2)
			continue;
		assert_true(sp_rows_find(want, keys[i], &row));
		row.codec->decode(dim, row.data, b);
		assert_true(sp_rows_find(got, keys[i], &row));
		row.codec->decode(dim, row.data, a);
		assert_memory_equal(a, b, dim * sizeof(float));
	}
}

static void check_put(size_t dim, sp_row_format format, size_t shift)
{
	size_t size = COUNT * dim * sizeof(float);
	char *memory = malloc(size + shift), *rows = memory + shift;
	float *source = malloc(size);
	uint32_t start = (uint32_t)next_random();
	sp_rows_builder *one, *other;
	sp_rows *got, *want;
	int64_t keys[COUNT];
	sp_error err;

	fill_rows(source, COUNT, dim);
	fill_keys(keys, COUNT);
	memcpy(rows, source, size);
	one = make_builder(dim, format, keys, COUNT);
	other = make_builder(dim, format, keys, COUNT);
	assert_int_equal(put_checked(one, keys, rows, dim * sizeof(float), start),
			 sp_crc32c(start, rows, size));
	assert_ok(sp_rows_builder_put_rows(other, keys, source, COUNT, &err), &err);
	got = freeze(one);
	want = freeze(other);
	check_same(got, want, keys, dim);
	sp_rows_release(got);
	sp_rows_release(want);
	free(source);
	free(memory);
}

static void rows_are_put_and_summed_alike(void **state)
{
	const size_t dims[] = {1, 8, 31, 32, 33, 40, 48, 64, 80, 128, 240, 256, 272, 512};

	(void)state;
	for (size_t d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
		for (size_t shift = 0; shift < 8; shift += 3)
			for (int format = SP_ROW_FP32; format <= SP_ROW_INT4; format++)
				check_put(dims[d], (sp_row_format)format, shift);
}

/* ------------------------------------------------------------------ what changes */

enum { DIM = 48, FLICKERING = COUNT * DIM * sizeof(float) };

typedef struct flicker {
	float *rows; /* another view of the memory that is read */
	atomic_bool over;
} flicker;

static void *change_rows(void *context)
{
	flicker *f = context;
	uint64_t seed = 1;

	while (!atomic_load(&f->over)) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		f->rows[(seed >> 33) % (COUNT * DIM)] = (float)(seed >> 60) + 1;
	}
	return NULL;
}

/* The sum of the rows as they can be looked up, in the order of their keys. */
static uint32_t sum_of(const sp_rows *rows, const int64_t *keys)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < COUNT; i++) {
		float elements[DIM];
		sp_stored_row row;

		assert_true(sp_rows_find(rows, keys[i], &row));
		row.codec->decode(DIM, row.data, elements);
		crc = sp_crc32c(crc, elements, sizeof(elements));
	}
	return crc;
}

static void check_flickering(const int64_t *keys, const void *rows)
{
	sp_rows_builder *builder = make_builder(DIM, SP_ROW_FP32, keys, COUNT);
	uint32_t crc = 0;
	sp_rows *made;
	sp_error err;

	assert_ok(sp_rows_builder_put_checked(builder, keys, rows, COUNT, &crc, &err), &err);
	made = freeze(builder);
	assert_int_equal(sum_of(made, keys), crc);
	sp_rows_release(made);
}

/* As when a file is written while it is read: the sum is that of the rows that are there. */
static void what_changes_meanwhile_is_put_as_it_is_summed(void **state)
{
	int file = memfd_create("rows", 0);
	flicker f = {.over = false};
	int64_t keys[COUNT];
	pthread_t thread;
	void *rows;

	(void)state;
	assert_true(file >= 0 && ftruncate(file, FLICKERING) == 0);
	rows = mmap(NULL, FLICKERING, PROT_READ, MAP_SHARED, file, 0);
	f.rows = mmap(NULL, FLICKERING, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(rows != MAP_FAILED && f.rows != MAP_FAILED);
	for (size_t i = 0; i < COUNT; i++)
		keys[i] = (int64_t)(i * 7919);
	assert_int_equal(pthread_create(&thread, NULL, change_rows, &f), 0);
	for (int round = 0; round < 300; round++)
		check_flickering(keys, rows);
	atomic_store(&f.over, true);
	pthread_join(thread, NULL);
	munmap(rows, FLICKERING);
	munmap(f.rows, FLICKERING);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_put_and_summed_alike),
		cmocka_unit_test(what_changes_meanwhile_is_put_as_it_is_summed),
	};

	return cmocka_run_group_tests_name("rows checked", tests, NULL, NULL);
}
