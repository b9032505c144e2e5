#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "storage/rows/rows.h"
#include "storage/rows/rows_builder.h"
#include "tests/support/child.h"

enum { COUNT = 300, MAX_DIM = 512 };

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* One row in 64 is an outlier, at any of its elements: few enough for rows to be packed. */
static void fill_rows(float *rows, size_t count, size_t dim)
{
	for (size_t i = 0; i < count * dim; i++)
		rows[i] = (float)(int64_t)(next_random() % 65536 - 32768) * 0x1p-20f;
	for (size_t i = 0; i < count; i++)
		if (next_random() % 64 == 0)
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

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_put_and_summed_alike),
	};
	int failed = cmocka_run_group_tests_name("rows checked", tests, NULL, NULL);

	fflush(stdout);
	return failed;
}

/* By each set of instructions, in a process of its own. */
int main(void)
{
	return (sp_child_run(run_all, "SP_CPU", "sse42") != 0) +
	       (sp_child_run(run_all, "SP_CPU", "avx2") != 0) + run_all();
}
