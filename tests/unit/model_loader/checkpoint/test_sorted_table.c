#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "model_loader/checkpoint/sorted_table.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

static const char *key_text(char out[32], int i)
{
	snprintf(out, 32, "common/beginning/%05d", i);
	return out;
}

/* `count` entries, `per_block` to a block, each with its number as value. */
static sp_table_writer numbered(int count, int per_block, bool compress)
{
	sp_table_writer table;

	sp_table_begin(&table, compress);
	for (int i = 0; i < count;) {
		sp_block_writer block;
		char key[32];

		sp_block_begin(&block, 16);
		do {
			sp_block_add(&block, sp_bytes_of(key_text(key, i)),
				     (sp_bytes){(char *)&i, sizeof(i)});
		} while (++i % per_block != 0 && i < count);
		sp_table_add_block(&table, &block, sp_bytes_of(key_text(key, i - 1)));
	}
	sp_table_end(&table);
	return table;
}

static sp_status read_table(sp_sorted_table *out, const sp_table_writer *table, void **state,
			    sp_error *err)
{
	return sp_sorted_table_read(out, sp_wire_view(&table->file), *state, err);
}

/* Reads a table that is wrong somewhere, and frees it. */
static sp_status refuse(sp_table_writer *table, void **state, sp_error *err)
{
	sp_sorted_table out;
	sp_status status = read_table(&out, table, state, err);

	sp_table_fini(table);
	return status;
}

static void check_numbered(bool compress, void **state)
{
	enum { COUNT = 1000 };
	sp_table_writer table = numbered(COUNT, 70, compress);
	sp_sorted_table out;
	sp_error err;
	char key[32];

	assert_ok(read_table(&out, &table, state, &err), &err);
	assert_int_equal(out.count, COUNT);
	for (int i = 0; i < COUNT; i++) {
		key_text(key, i);
		assert_true(sp_bytes_equal_text(out.entries[i].key, key));
		assert_int_equal(out.entries[i].value.size, sizeof(i));
		assert_memory_equal(out.entries[i].value.data, &i, sizeof(i));
	}
	sp_table_fini(&table);
}

static void entries_come_in_order_from_all_blocks(void **state)
{
	check_numbered(false, state);
}

static void compressed_blocks_are_read(void **state)
{
	check_numbered(true, state);
}

static void a_table_may_be_empty(void **state)
{
	sp_table_writer table = numbered(0, 1, false);
	sp_sorted_table out;
	sp_error err;

	assert_ok(read_table(&out, &table, state, &err), &err);
	assert_int_equal(out.count, 0);
	sp_table_fini(&table);
}

static void keys_are_ordered_as_unsigned_bytes(void **state)
{
	static const sp_bytes keys[] = {{"", 0}, {"\0", 1}, {"\0\xff", 2}, {"a", 1}, {"\x80", 1}};
	sp_table_writer table;
	sp_block_writer block;
	sp_sorted_table out;
	sp_error err;

	sp_table_begin(&table, false);
	sp_block_begin(&block, 16);
	for (size_t i = 0; i < 5; i++)
		sp_block_add(&block, keys[i], sp_bytes_of("v"));
	sp_table_add_block(&table, &block, sp_bytes_of("\xff"));
	sp_table_end(&table);
	assert_ok(read_table(&out, &table, state, &err), &err);
	for (size_t i = 0; i < 5; i++)
		assert_true(sp_bytes_equal(out.entries[i].key, keys[i]));
	sp_table_fini(&table);
}

static void every_flipped_bit_is_seen(void **state)
{
	sp_table_writer table = numbered(40, 20, false);
	size_t footer = table.file.size - 48, handles = footer;

	/* Behind the two handles the footer is padding, which nobody reads. */
	for (int i = 0; i < 4; i++)
		while ((unsigned char)table.file.data[handles++] >= 0x80)
			;
	for (size_t i = 0; i < table.file.size; i++) {
		if (i >= handles && i < footer + 40)
			continue;
		for (int bit = 0; bit < 8; bit++) {
			sp_sorted_table out;

			if (i == handles - 1 && bit == 7) /* one more digit, a 0 of the padding */
				continue;
			table.file.data[i] ^= (char)(1 << bit);
			assert_int_not_equal(read_table(&out, &table, state, NULL), SP_OK);
			table.file.data[i] ^= (char)(1 << bit);
		}
	}
	sp_table_fini(&table);
}

static void a_cut_file_is_refused(void **state)
{
	sp_table_writer table = numbered(40, 20, true);

	for (size_t size = 0; size < table.file.size; size++) {
		sp_sorted_table out;

		assert_int_equal(
			sp_sorted_table_read(&out, (sp_bytes){table.file.data, size}, *state, NULL),
			SP_CORRUPT);
	}
	sp_table_fini(&table);
}

/* A table of one block as the caller left it, without another check of it. */
static sp_status read_block(sp_block_writer *block, void **state, sp_error *err)
{
	sp_table_writer table;

	sp_table_begin(&table, false);
	sp_table_add_block(&table, block, sp_bytes_of("\xff"));
	sp_table_end(&table);
	return refuse(&table, state, err);
}

static void keys_out_of_order_are_refused(void **state)
{
	static const char *const second[] = {"b", "a", "", "c"};

	for (size_t i = 0; i < 4; i++) {
		sp_block_writer block;

		sp_block_begin(&block, 16);
		sp_block_add(&block, sp_bytes_of("b"), sp_bytes_of("v"));
		sp_block_add(&block, sp_bytes_of(second[i]), sp_bytes_of("v"));
		assert_int_equal(read_block(&block, state, NULL), i == 3 ? SP_OK : SP_CORRUPT);
	}
}

static void blocks_out_of_order_are_refused(void **state)
{
	sp_table_writer table;

	sp_table_begin(&table, false);
	for (int i = 0; i < 2; i++) {
		sp_block_writer block;

		sp_block_begin(&block, 16);
		sp_block_add(&block, sp_bytes_of("same"), sp_bytes_of("v"));
		sp_table_add_block(&table, &block, sp_bytes_of(i == 0 ? "same" : "z"));
	}
	sp_table_end(&table);
	assert_int_equal(refuse(&table, state, NULL), SP_CORRUPT);
}

static void an_index_key_must_part_its_blocks(void **state)
{
	static const struct {
		const char *first;
		sp_status status;
	} cases[] = {{"a", SP_CORRUPT}, {"b", SP_OK}, {"bb", SP_OK}, {"c", SP_CORRUPT}};

	for (size_t i = 0; i < 4; i++) {
		sp_table_writer table;
		sp_block_writer block;

		sp_table_begin(&table, false);
		sp_block_begin(&block, 16);
		sp_block_add(&block, sp_bytes_of("b"), sp_bytes_of("v"));
		sp_table_add_block(&table, &block, sp_bytes_of(cases[i].first));
		sp_block_begin(&block, 16);
		sp_block_add(&block, sp_bytes_of("c"), sp_bytes_of("v"));
		sp_table_add_block(&table, &block, sp_bytes_of("d"));
		sp_table_end(&table);
		assert_int_equal(refuse(&table, state, NULL), cases[i].status);
	}
}

static void malformed_entries_are_refused(void **state)
{
	sp_block_writer block;

	/* The first entry of a block shares nothing. */
	sp_block_begin(&block, 16);
	sp_block_add_raw(&block, 1, sp_bytes_of("a"), sp_bytes_of("v"));
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
	/* Nor more than there is. */
	sp_block_begin(&block, 16);
	sp_block_add_raw(&block, 0, sp_bytes_of("a"), sp_bytes_of("v"));
	sp_block_add_raw(&block, 2, sp_bytes_of("b"), sp_bytes_of("v"));
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
	/* A key, and a value, beyond the entries. */
	sp_block_begin(&block, 16);
	sp_buffer_append(&block.bytes, "\0\5\0key", 6);
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
	sp_block_begin(&block, 16);
	sp_buffer_append(&block.bytes, "\0\3\5keyv", 7);
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
	/* Lengths that end in the middle, and that do not fit. */
	sp_block_begin(&block, 16);
	sp_buffer_append(&block.bytes, "\0\x83", 2);
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
	sp_block_begin(&block, 16);
	sp_buffer_append(&block.bytes, "\0\xff\xff\xff\xff\xff\xff\1\1k", 10);
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
}

static void malformed_restarts_are_refused(void **state)
{
	/* Of the second entry, which starts at byte 5; good is the first. */
	static const uint32_t second[] = {5, 4, 6, 100, 0};

	for (size_t i = 0; i < 5; i++) {
		sp_block_writer block;

		sp_block_begin(&block, 1);
		sp_block_add(&block, sp_bytes_of("a"), sp_bytes_of("v"));
		sp_block_add(&block, sp_bytes_of("b"), sp_bytes_of("v"));
		assert_int_equal(block.restarts[1], 5);
		block.restarts[1] = second[i];
		assert_int_equal(read_block(&block, state, NULL), i == 0 ? SP_OK : SP_CORRUPT);
	}
}

static void a_restart_shares_nothing(void **state)
{
	sp_block_writer block;

	sp_block_begin(&block, 16);
	sp_block_add(&block, sp_bytes_of("aa"), sp_bytes_of("v"));
	block.restarts[block.restart_count++] = (uint32_t)block.bytes.size;
	sp_block_add_raw(&block, 1, sp_bytes_of("b"), sp_bytes_of("v"));
	assert_int_equal(read_block(&block, state, NULL), SP_CORRUPT);
}

/* A table whose only data block has these contents. */
static sp_status read_contents(sp_bytes contents, uint8_t type, void **state, sp_error *err)
{
	sp_buffer handle = sp_wire_begin();
	sp_table_writer table;

	sp_table_begin(&table, false);
	sp_table_put_block(&table, contents, type, &handle);
	sp_block_add(&table.index, sp_bytes_of("\xff"), sp_wire_view(&handle));
	sp_buffer_fini(&handle);
	sp_table_end(&table);
	return refuse(&table, state, err);
}

static void a_block_needs_restarts(void **state)
{
	static const sp_bytes wrong[] = {
		{"", 0},
		{"\0\0\0", 3},
		{"\0\0\0\0", 4},                 /* none */
		{"\1\0\0\0", 4},                 /* one, but not there */
		{"\1\0\0\0\1\0\0\0", 8},         /* not at the start */
		{"\0\0\0\0\xff\xff\xff\xff", 8}, /* more than the block */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(read_contents(wrong[i], 0, state, NULL), SP_CORRUPT);
	assert_int_equal(read_contents((sp_bytes){"\0\0\0\0\1\0\0\0", 8}, 0, state, NULL), SP_OK);
}

static void an_unknown_compression_is_named(void **state)
{
	sp_error err;

	assert_int_equal(read_contents((sp_bytes){"\0\0\0\0\1\0\0\0", 8}, 2, state, &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "compression type 2"));
}

static void false_lengths_of_compressed_blocks_are_refused(void **state)
{
	static const sp_bytes wrong[] = {
		{"", 0},
		{"\x80", 1},
		{"\x80\x80\x80\x80\x01", 5},      /* 256 MiB of nothing */
		{"\xff\xff\xff\xff\x0f", 5},      /* 4 GiB of nothing */
		{"\x20\x1c\0\0\0\0\1\0\0\0", 10}, /* 32 bytes of 8 */
		{"\x04\x1c\0\0\0\0\1\0\0\0", 10}, /* 4 bytes of 8 */
		{"\x08\x01\x10", 3},              /* a copy from before the start */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(read_contents(wrong[i], 1, state, NULL), SP_CORRUPT);
	assert_int_equal(read_contents((sp_bytes){"\x08\x1c\0\0\0\0\1\0\0\0", 10}, 1, state, NULL),
			 SP_OK);
}

static void handles_must_lie_in_the_file(void **state)
{
	static const sp_bytes wrong[] = {
		{"", 0},
		{"\0", 1},
		{"\0\x80", 2},
		{"\0\x08\0", 3},                                        /* more than a handle */
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x08", 11},   /* offset 2^63 */
		{"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},     /* size 2^64 - 1 */
		{"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* more than 64 bits */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_table_writer table;

		sp_table_begin(&table, false);
		sp_block_add(&table.index, sp_bytes_of("k"), wrong[i]);
		sp_table_end(&table);
		assert_int_equal(refuse(&table, state, NULL), SP_CORRUPT);
	}
}

static void blocks_share_no_bytes(void **state)
{
	sp_buffer handle = sp_wire_begin();
	sp_table_writer table;

	/* The same empty block twice: nothing else would be wrong. */
	sp_table_begin(&table, false);
	sp_table_put_block(&table, (sp_bytes){"\0\0\0\0\1\0\0\0", 8}, 0, &handle);
	sp_block_add(&table.index, sp_bytes_of("a"), sp_wire_view(&handle));
	sp_block_add(&table.index, sp_bytes_of("b"), sp_wire_view(&handle));
	sp_buffer_fini(&handle);
	sp_table_end(&table);
	assert_int_equal(refuse(&table, state, NULL), SP_CORRUPT);
}

/* Every entry repeats a long key by a few bytes: 100 MB from 400 KB. */
static void keys_expand_only_so_far(void **state)
{
	static char long_key[1 << 16];
	sp_block_writer block;
	sp_error err;

	sp_block_begin(&block, 16);
	memset(long_key, 'k', sizeof(long_key));
	sp_block_add_raw(&block, 0, (sp_bytes){long_key, sizeof(long_key)}, sp_bytes_of(""));
	for (int i = 0; i < 2000; i++)
		sp_block_add_raw(&block, sizeof(long_key) + (uint32_t)i, sp_bytes_of("k"),
				 sp_bytes_of(""));
	assert_int_equal(read_block(&block, state, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "expand"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(entries_come_in_order_from_all_blocks),
		TEST(compressed_blocks_are_read),
		TEST(a_table_may_be_empty),
		TEST(keys_are_ordered_as_unsigned_bytes),
		TEST(every_flipped_bit_is_seen),
		TEST(a_cut_file_is_refused),
		TEST(keys_out_of_order_are_refused),
		TEST(blocks_out_of_order_are_refused),
		TEST(an_index_key_must_part_its_blocks),
		TEST(malformed_entries_are_refused),
		TEST(malformed_restarts_are_refused),
		TEST(a_restart_shares_nothing),
		TEST(a_block_needs_restarts),
		TEST(an_unknown_compression_is_named),
		TEST(false_lengths_of_compressed_blocks_are_refused),
		TEST(handles_must_lie_in_the_file),
		TEST(blocks_share_no_bytes),
		TEST(keys_expand_only_so_far),
	};

	return cmocka_run_group_tests_name("sorted_table", tests, NULL, NULL);
}
