#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/sst/sst_run.h"
#include "tests/support/paths.h"
#include "tests/support/sst_writer.h"
#include "tests/support/wire.h"

/*
 * Sorted files that are wrong in one place, behind checksums that hold.  Those
 * that RocksDB writes are read in test_rocks.c.
 */
enum { BLOCKS = 5, PER_BLOCK = 20, ROW = 32 };

static char root[SP_PATH_SIZE], path[SP_PATH_SIZE + 16];
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_temp_make(root);
	snprintf(path, sizeof(path), "%s/rows.sst", root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_temp_remove(root);
	return 0;
}

/* Ten apart; block b starts with b * 1000. */
static uint64_t key_at(size_t b, size_t i)
{
	return b * 1000 + i * 10;
}

static sp_block_writer make_block(size_t b, size_t row_size)
{
	char row[2 * ROW] = {0};
	sp_block_writer block;

	sp_block_begin(&block, 16);
	for (size_t i = 0; i < PER_BLOCK; i++) {
		memset(row, (int)(b * 40 + i), sizeof(row));
		sp_sst_writer_add_row(&block, key_at(b, i), (sp_bytes){row, row_size});
	}
	return block;
}

static sp_sst_writer begin_file(size_t blocks)
{
	sp_sst_writer sst;

	sp_sst_writer_begin(&sst);
	for (size_t b = 0; b < blocks; b++) {
		const sp_sst_key last = sp_sst_key_of(key_at(b, PER_BLOCK - 1));
		sp_block_writer block = make_block(b, ROW);

		sp_sst_writer_add_block(&sst, &block, (sp_bytes){last.bytes, 8});
	}
	return sst;
}

/* Writes it down; frees it. */
static void save(sp_sst_writer *sst)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(sst->file.data, 1, sst->file.size, file), sst->file.size);
	assert_int_equal(fclose(file), 0);
	sp_sst_writer_fini(sst);
}

static sp_status scan(sp_sst_run **out)
{
	const char *files[] = {path};

	return sp_sst_run_scan(out, files, 1, ROW, BLOCKS * PER_BLOCK, &err);
}

static void check_refused(sp_sst_writer *sst, const char *why)
{
	sp_sst_run *run;

	save(sst);
	assert_int_equal(scan(&run), SP_CORRUPT);
	assert_non_null(strstr(err.text, path));
	assert_non_null(strstr(err.text, why));
}

static void blocks_are_found(void **state)
{
	sp_sst_writer sst = begin_file(BLOCKS);
	sp_sst_file *file;
	sp_sst_run *run;

	(void)state;
	sp_sst_writer_end(&sst);
	save(&sst);
	assert_ok(sp_sst_file_open(&file, path, &err), &err);
	assert_int_equal(sp_sst_file_block_count(file), BLOCKS);
	for (size_t b = 0; b < BLOCKS; b++) {
		const sp_sst_place place = sp_sst_file_block(file, b);

		assert_int_equal(place.offset, b * 4096);
		assert_int_equal(place.span, 4096);
		assert_int_equal(sp_sst_file_find(file, key_at(b, 0)), b);
		assert_int_equal(sp_sst_file_find(file, key_at(b, PER_BLOCK - 1)), b);
		assert_int_equal(sp_sst_file_find(file, key_at(b, PER_BLOCK - 1) + 1), b + 1);
	}
	assert_true(sp_sst_file_ends_before(file, key_at(BLOCKS, 0)));
	assert_false(sp_sst_file_ends_before(file, key_at(BLOCKS - 1, PER_BLOCK - 1)));
	/* All are of one page: ten bytes each. */
	assert_in_range(sp_sst_file_footprint(file), BLOCKS * 10, BLOCKS * 10 + 80);
	sp_sst_file_close(file);
	assert_ok(scan(&run), &err);
	assert_int_equal(sp_sst_run_row_count(run), BLOCKS * PER_BLOCK);
	sp_sst_run_release(run);
}

static void blocks_of_different_sizes_are_found(void **state)
{
	sp_block_writer large;
	sp_sst_writer sst = begin_file(1);
	char row[9000] = {0};
	sp_sst_key last = sp_sst_key_of(2000);
	sp_sst_file *file;

	(void)state;
	sp_block_begin(&large, 16);
	sp_sst_writer_add_row(&large, 2000, (sp_bytes){row, sizeof(row)});
	sp_sst_writer_add_block(&sst, &large, (sp_bytes){last.bytes, 8});
	large = make_block(4, ROW);
	last = sp_sst_key_of(5000);
	sp_sst_writer_add_block(&sst, &large, (sp_bytes){last.bytes, 8});
	sp_sst_writer_end(&sst);
	save(&sst);
	assert_ok(sp_sst_file_open(&file, path, &err), &err);
	assert_int_equal(sp_sst_file_block(file, 1).offset, 4096);
	assert_int_equal(sp_sst_file_block(file, 1).span, 3 * 4096);
	assert_int_equal(sp_sst_file_block(file, 2).offset, 4 * 4096);
	assert_int_equal(sp_sst_file_block(file, 2).span, 4096);
	sp_sst_file_close(file);
}

/* RocksDB names a block by as few bytes as tell it from the next one. */
static void separators_may_be_cut_short(void **state)
{
	const uint64_t base = UINT64_C(0x1122000000000000);
	sp_block_writer block;
	sp_sst_writer sst;
	sp_sst_file *file;
	char row[ROW] = {0};

	(void)state;
	sp_sst_writer_begin(&sst);
	for (uint64_t b = 0; b < 2; b++) {
		static const char *const cut[] = {"\x11\x23", "\x11\x24"};

		sp_block_begin(&block, 16);
		sp_sst_writer_add_row(&block, base + (b << 48) + 5, (sp_bytes){row, ROW});
		sp_sst_writer_add_block(&sst, &block, (sp_bytes){cut[b], 2});
	}
	sp_sst_writer_end(&sst);
	save(&sst);
	assert_ok(sp_sst_file_open(&file, path, &err), &err);
	assert_int_equal(sp_sst_file_find(file, base + 5), 0);
	assert_int_equal(sp_sst_file_find(file, base + (UINT64_C(1) << 48) - 1), 0);
	assert_int_equal(sp_sst_file_find(file, base + (UINT64_C(1) << 48)), 1);
	assert_int_equal(sp_sst_file_find(file, base + (UINT64_C(2) << 48)), 2);
	sp_sst_file_close(file);
}

static void an_index_that_lies_is_refused(void **state)
{
	/* Behind the two blocks, over the first, over the end, not at a page, of no end. */
	static const uint64_t wrong[][2] = {{4096, 100}, {0, 100},           {8192, 100000},
					    {8200, 10},  {8192, UINT64_MAX}, {UINT64_MAX, 10}};
	const sp_sst_key last = sp_sst_key_of(9000), first = sp_sst_key_of(5);

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		sp_sst_writer sst = begin_file(2);

		sp_sst_writer_name_block(&sst, (sp_bytes){last.bytes, 8}, wrong[i][0], wrong[i][1]);
		sp_sst_writer_end(&sst);
		check_refused(&sst, "index");
	}
	for (size_t size = 8; size <= 9; size++) { /* not above the ones before; too long */
		sp_sst_writer sst = begin_file(2);
		sp_block_writer block = make_block(2, ROW);
		char name[9] = {0};

		memcpy(name, first.bytes, 8);
		name[0] = size == 9 ? 1 : 0;
		sp_sst_writer_add_block(&sst, &block, (sp_bytes){name, size});
		sp_sst_writer_end(&sst);
		check_refused(&sst, "index");
	}
}

static void an_index_that_is_no_block_is_refused(void **state)
{
	static const sp_bytes indices[] = {
		{"", 0},
		{"\0\0\0", 3},
		{"\xff\xff\xff\xff", 4},             /* restarts */
		{"\1\0\0\0\0\0\0\0\0\0\0", 11},      /* shares with nothing */
		{"\0\x30\0\0\0\0\0\0\0\0", 10},      /* a key of 48 bytes */
		{"\0\1\x7fk\0\0\0\0", 8},            /* a value of 127 */
		{"\0\1\2k\x80\x80\0\0\0\0", 10},     /* a handle without end */
		{"\xff\xff\xff\xff\xff\0\0\0\0", 9}, /* a number of more than 32 bits */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
		sp_sst_writer sst = begin_file(1);

		sp_sst_writer_end_with(&sst, indices[i]);
		check_refused(&sst, "");
	}
}

static void a_footer_that_is_another_is_refused(void **state)
{
	(void)state;
	for (size_t back = 1; back <= 53; back++) {
		sp_sst_writer sst = begin_file(2);
		sp_sst_run *run;

		sp_sst_writer_end(&sst);
		sst.file.data[sst.file.size - back] ^= 0x41;
		save(&sst);
		if (scan(&run) == SP_OK) { /* padding, and the metaindex that nobody reads */
			assert_in_range(back, 13, 52);
			assert_int_equal(sp_sst_run_row_count(run), 2 * PER_BLOCK);
			sp_sst_run_release(run);
		}
	}
	for (size_t size = 0; size < 60; size += 7) {
		sp_sst_writer sst = begin_file(1);

		sp_sst_writer_end(&sst);
		sst.file.size = size;
		check_refused(&sst, "");
	}
}

static void rows_that_are_not_as_the_index_has_them_are_refused(void **state)
{
	const sp_sst_key last = sp_sst_key_of(100000);
	sp_sst_writer sst = begin_file(2);
	sp_block_writer block = make_block(1, ROW); /* again */

	(void)state;
	sp_sst_writer_add_block(&sst, &block, (sp_bytes){last.bytes, 8});
	sp_sst_writer_end(&sst);
	check_refused(&sst, "out of order");

	sst = begin_file(2);
	block = make_block(2, ROW + 1);
	sp_sst_writer_add_block(&sst, &block, (sp_bytes){last.bytes, 8});
	sp_sst_writer_end(&sst);
	check_refused(&sst, "a row of 33 bytes");

	sst = begin_file(2);
	sp_block_begin(&block, 16);
	sp_block_add(&block, (sp_bytes){"not sixteen", 11}, (sp_bytes){"", 0});
	sp_sst_writer_add_block(&sst, &block, (sp_bytes){last.bytes, 8});
	sp_sst_writer_end(&sst);
	check_refused(&sst, "no row");

	sst = begin_file(2);
	block = make_block(2, ROW);
	sp_sst_writer_add_block(&sst, &block, (sp_bytes){last.bytes, 8});
	sp_sst_writer_end(&sst);
	sst.file.data[2 * 4096 + 300] ^= 1;
	check_refused(&sst, "checksum");
}

/* A file with block `b`, which is named by the key `last`. */
static void save_one_block(size_t b, uint64_t last)
{
	const sp_sst_key name = sp_sst_key_of(last);
	sp_block_writer block = make_block(b, ROW);
	sp_sst_writer sst = begin_file(0);

	sp_sst_writer_add_block(&sst, &block, (sp_bytes){name.bytes, 8});
	sp_sst_writer_end(&sst);
	save(&sst);
}

/* Rows of the second file would be looked for in the first. */
static void a_file_that_reaches_into_the_next_is_refused(void **state)
{
	char first[SP_PATH_SIZE + 16];
	const char *files[] = {first, path};
	sp_sst_run *run;

	(void)state;
	strcpy(first, path);
	for (uint64_t last = 1999; last <= 2000; last++) {
		snprintf(path, sizeof(path), "%s", first);
		save_one_block(1, last);
		snprintf(path, sizeof(path), "%s/more.sst", root);
		save_one_block(2, 2999);
		assert_int_equal(sp_sst_run_scan(&run, files, 2, ROW, 2 * PER_BLOCK, &err),
				 last == 1999 ? SP_OK : SP_CORRUPT);
		if (last == 1999)
			sp_sst_run_release(run);
	}
	assert_non_null(strstr(err.text, "out of order"));
}

static void memory_that_is_out_is_an_error(void **state)
{
	sp_sst_writer sst = begin_file(BLOCKS);
	sp_status status = SP_NO_MEMORY;
	sp_sst_run *run = NULL;

	(void)state;
	sp_sst_writer_end(&sst);
	save(&sst);
	for (int64_t n = 0; status != SP_OK; n++) {
		sp_alloc_fail_after(n);
		status = scan(&run);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		assert_true(n < 50);
	}
	sp_sst_run_release(run);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(blocks_are_found),
		ON_DISK(blocks_of_different_sizes_are_found),
		ON_DISK(separators_may_be_cut_short),
		ON_DISK(an_index_that_lies_is_refused),
		ON_DISK(an_index_that_is_no_block_is_refused),
		ON_DISK(a_footer_that_is_another_is_refused),
		ON_DISK(rows_that_are_not_as_the_index_has_them_are_refused),
		ON_DISK(a_file_that_reaches_into_the_next_is_refused),
		ON_DISK(memory_that_is_out_is_an_error),
	};
	return cmocka_run_group_tests_name("sst_file", tests, NULL, NULL);
}
