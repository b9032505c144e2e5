#include "tests/support/cmocka.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "storage/redis/layout.h"
#include "storage/redis/redis_slots.h"

typedef struct partition_case {
	int64_t key;
	size_t of_16, of_7, tfra_of_7;
} partition_case;

typedef struct slot_case {
	const char *name;
	unsigned slot;
} slot_case;

typedef struct tfra_case {
	size_t slice, slices;
	const char *name;
} tfra_case;

typedef struct row_case {
	sp_row_format format;
	size_t size;
	const char *bytes;
} row_case;

#include "tests/unit/storage/redis/layout_cases.inc"

enum { DIM = sizeof(row_of_cases) / sizeof(row_of_cases[0]) };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const sp_redis_version version = {.full = 1700,
					 .delta = 1750,
					 .checksum = 0x0123456789abcdefu,
					 .partitions = 16,
					 .former = -1};

static void keys_lie_in_the_partitions_of_hps_and_tfra(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(partition_cases); i++) {
		const partition_case *c = &partition_cases[i];

		assert_int_equal(sp_redis_partition((uint64_t)c->key, 16), c->of_16);
		assert_int_equal(sp_redis_partition((uint64_t)c->key, 7), c->of_7);
		assert_int_equal(sp_redis_partition((uint64_t)c->key, 1), 0);
		assert_int_equal(sp_redis_tfra_slice(c->key, 7), c->tfra_of_7);
	}
}

static void slots_are_those_of_the_hash_tag(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(slot_cases); i++)
		assert_int_equal(sp_redis_slot(slot_cases[i].name, strlen(slot_cases[i].name)),
				 slot_cases[i].slot);
}

static void names_are_as_documented(void **state)
{
	sp_arena *arena = sp_arena_create(1024);

	(void)state;
	assert_non_null(arena);
	assert_string_equal(sp_redis_hash_name(arena, "ctr", "user_emb/part_0", &version, 15),
			    "ctr.user_emb/part_0@1700-0123456789abcdef{p15}");
	assert_string_equal(sp_redis_version_name(arena, "ctr", 1700), "ctr@1700");
	assert_string_equal(sp_redis_current_name(arena, "ctr"), "ctr.current");
	assert_string_equal(sp_redis_versions_name(arena, "ctr"), "ctr.versions");
	assert_string_equal(sp_redis_lock_name(arena, "ctr"), "ctr.lock");
	assert_string_equal(sp_redis_tables_name(arena, "ctr", &version),
			    "ctr@1700-0123456789abcdef.tables");
	assert_string_equal(sp_redis_hps_name(arena, "dcn", "emb1", 3),
			    "hps_et{hps_et.dcn.emb1/p3}v");
	for (size_t i = 0; i < COUNT(tfra_cases); i++)
		assert_string_equal(sp_redis_tfra_name(arena, "test", "emb", tfra_cases[i].slice,
						       tfra_cases[i].slices),
				    tfra_cases[i].name);
	sp_arena_destroy(arena);
}

static void names_do_not_collide_or_move_to_another_slot(void **state)
{
	sp_arena *arena = sp_arena_create(1024);
	const char *name, *other;

	(void)state;
	assert_non_null(arena);
	name = sp_redis_hash_name(arena, "a.b", "c", &version, 0);
	other = sp_redis_hash_name(arena, "a", "b.c", &version, 0);
	assert_string_equal(name, "a%2Eb.c@1700-0123456789abcdef{p0}");
	assert_string_equal(other, "a.b.c@1700-0123456789abcdef{p0}");
	name = sp_redis_hash_name(arena, "{x}", "t{y}@\n\xff%", &version, 7);
	assert_string_equal(name, "%7Bx%7D.t%7By%7D%40%0A%FF%25@1700-0123456789abcdef{p7}");
	assert_int_equal(sp_redis_slot(name, strlen(name)), sp_redis_slot("p7", 2));
	assert_string_equal(sp_redis_current_name(arena, "a@1"), "a%401.current");
	sp_arena_destroy(arena);
}

static void records_are_read_as_they_were_written(void **state)
{
	char record[SP_REDIS_MAX_RECORD], mark[SP_REDIS_MARK_SIZE + 1];
	sp_redis_version read;
	sp_error err;

	(void)state;
	sp_redis_record_write(record, &version);
	assert_string_equal(
		record, "full=1700 delta=1750 checksum=0123456789abcdef partitions=16 format=fp32");
	assert_ok(sp_redis_record_read(&read, sp_bytes_of(record), &err), &err);
	assert_memory_equal(&read, &version, sizeof(read));
	sp_redis_mark(mark, &version);
	assert_string_equal(mark, "0123456789abcdef");

	read = (sp_redis_version){.full = INT64_MAX,
				  .delta = INT64_MAX,
				  .checksum = UINT64_MAX,
				  .partitions = SP_REDIS_MAX_PARTITIONS,
				  .format = SP_ROW_BF16,
				  .former = INT64_MAX,
				  .left = INT64_MAX};
	sp_redis_record_write(record, &read);
	assert_true(strlen(record) + 1 < SP_REDIS_MAX_RECORD);
	assert_ok(sp_redis_record_read(&read, sp_bytes_of(record), &err), &err);
	assert_int_equal(read.partitions, SP_REDIS_MAX_PARTITIONS);
	assert_int_equal(read.format, SP_ROW_BF16);
	assert_true(read.former == INT64_MAX);
	assert_true(read.left == INT64_MAX);

	assert_ok(sp_redis_record_read(&read,
				       sp_bytes_of("format=int8 later=word full=1 delta=0 "
						   "checksum=a partitions=2"),
				       &err),
		  &err);
	assert_int_equal(read.full, 1);
	assert_int_equal(read.checksum, 10);
}

static void what_is_no_record_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"1700",
		"full=1 delta=0 checksum=a partitions=2",
		"full=-1 delta=0 checksum=a partitions=2 format=fp32",
		"full=9223372036854775808 delta=0 checksum=a partitions=2 format=fp32",
		"full=1 delta=0 checksum=xyz partitions=2 format=fp32",
		"full=1 delta=0 checksum=a partitions=0 format=fp32",
		"full=1 delta=0 checksum=a partitions=16385 format=fp32",
		"full=1 delta=0 checksum=a partitions=2 format=fp64",
		"full=1 delta=0 checksum=00000000000000000000000000001 partitions=2 format=fp32",
		"full= delta=0 checksum=a partitions=2 format=fp32",
		"full=1 delta=0 checksum=0xa partitions=2 format=fp32",
	};
	char longest[SP_REDIS_MAX_RECORD + 1];
	sp_redis_version read;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(sp_redis_record_read(&read, sp_bytes_of(bad[i]), NULL),
				 SP_CORRUPT);
	memset(longest, ' ', sizeof(longest));
	assert_int_equal(sp_redis_record_read(&read, (sp_bytes){longest, sizeof(longest)}, NULL),
			 SP_CORRUPT);
	assert_int_equal(sp_redis_record_read(&read, (sp_bytes){"full=1\0 x", 9}, NULL),
			 SP_CORRUPT);
	assert_int_equal(sp_redis_record_read(&read, (sp_bytes){NULL, 0}, NULL), SP_CORRUPT);
}

static void a_checksum_tells_how_rows_are_stored(void **state)
{
	uint64_t checksum = sp_redis_checksum(1, 16, SP_ROW_FP32);

	(void)state;
	assert_true(checksum == sp_redis_checksum(1, 16, SP_ROW_FP32));
	assert_true(checksum != sp_redis_checksum(2, 16, SP_ROW_FP32));
	assert_true(checksum != sp_redis_checksum(1, 17, SP_ROW_FP32));
	assert_true(checksum != sp_redis_checksum(1, 16, SP_ROW_FP16));
}

static void keys_are_little_endian(void **state)
{
	char bytes[SP_REDIS_DEEPREC_KEY_MAX];

	(void)state;
	assert_int_equal(sp_redis_field(bytes, 0x0102030405060708, 8), 8);
	assert_memory_equal(bytes, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
	assert_int_equal(sp_redis_field(bytes, -3, 4), 4);
	assert_memory_equal(bytes, "\xfd\xff\xff\xff", 4);

	assert_int_equal(sp_redis_deeprec_key(bytes, 1700, 3, -2, 8), 24);
	assert_memory_equal(bytes,
			    "\xa4\x06\0\0\0\0\0\0"
			    "\x03\0\0\0\0\0\0\0"
			    "\xfe\xff\xff\xff\xff\xff\xff\xff",
			    24);
	assert_int_equal(sp_redis_deeprec_key(bytes, 1, 2, 3, 4), 20);
	assert_memory_equal(bytes, "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0", 20);
}

static void rows_are_stored_as_numpy_writes_them(void **state)
{
	char encoded[4 * DIM + 4];
	float elements[DIM];

	(void)state;
	for (size_t i = 0; i < COUNT(row_cases); i++) {
		const row_case *c = &row_cases[i];
		const sp_row_codec *codec = sp_row_codec_find(c->format);

		assert_int_equal(sp_row_format_size(c->format, DIM), c->size);
		codec->encode(DIM, row_of_cases, encoded);
		assert_memory_equal(encoded, c->bytes, c->size);
		codec->decode(DIM, c->bytes, elements);
		for (size_t d = 0; d < DIM; d++)
			assert_true(c->format != SP_ROW_FP32 || elements[d] == row_of_cases[d]);
	}
}

static void deeprecs_version_is_read(void **state)
{
	static const char *const bad[] = {"", ",", "1", "1,", ",2", "1,2,3", "1, 2", "-1,2", "a,b"};
	int64_t full, latest;
	sp_error err;

	(void)state;
	assert_ok(sp_redis_deeprec_version_read(&full, &latest, sp_bytes_of("1700,1750"), &err),
		  &err);
	assert_int_equal(full, 1700);
	assert_int_equal(latest, 1750);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(
			sp_redis_deeprec_version_read(&full, &latest, sp_bytes_of(bad[i]), NULL),
			SP_CORRUPT);
}

static void layouts_have_names(void **state)
{
	sp_redis_layout layout;

	(void)state;
	for (int i = 0; i < SP_REDIS_LAYOUTS; i++) {
		assert_true(
			sp_redis_layout_find(&layout, sp_redis_layout_name((sp_redis_layout)i)));
		assert_int_equal(layout, i);
	}
	assert_false(sp_redis_layout_find(&layout, "feast"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_lie_in_the_partitions_of_hps_and_tfra),
		cmocka_unit_test(slots_are_those_of_the_hash_tag),
		cmocka_unit_test(names_are_as_documented),
		cmocka_unit_test(names_do_not_collide_or_move_to_another_slot),
		cmocka_unit_test(records_are_read_as_they_were_written),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(a_checksum_tells_how_rows_are_stored),
		cmocka_unit_test(keys_are_little_endian),
		cmocka_unit_test(rows_are_stored_as_numpy_writes_them),
		cmocka_unit_test(deeprecs_version_is_read),
		cmocka_unit_test(layouts_have_names),
	};

	return cmocka_run_group_tests_name("redis layout", tests, NULL, NULL);
}
