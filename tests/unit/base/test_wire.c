#include "tests/support/cmocka.h"

#include <string.h>

#include "base/wire.h"

#define MESSAGE(text) sp_wire_of((sp_bytes){text, sizeof(text) - 1})

/* From the encoding's documentation: 150 is 96 01, field 1 with it is 08 96 01. */
static void the_published_examples(void **state)
{
	sp_wire wire = MESSAGE("\x08\x96\x01\x12\x07testing");
	sp_wire_field field;

	(void)state;
	assert_true(sp_wire_next(&wire, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.type, SP_WIRE_VARINT);
	assert_int_equal(field.value, 150);
	assert_true(sp_wire_next(&wire, &field));
	assert_int_equal(field.number, 2);
	assert_true(sp_bytes_equal_text(field.bytes, "testing"));
	assert_false(sp_wire_next(&wire, &field) || wire.malformed);
}

static void fixed_numbers(void **state)
{
	sp_wire wire = MESSAGE("\x0d\x01\x02\x03\x04\x11\x01\x02\x03\x04\x05\x06\x07\x08");
	sp_wire_field field;

	(void)state;
	assert_true(sp_wire_next(&wire, &field));
	assert_int_equal(field.type, SP_WIRE_FIXED32);
	assert_true(field.value == 0x04030201);
	assert_true(sp_wire_next(&wire, &field));
	assert_int_equal(field.number, 2);
	assert_int_equal(field.type, SP_WIRE_FIXED64);
	assert_true(field.value == 0x0807060504030201);
}

/* Sizes by their definition: seven bits a byte. */
static size_t size_by_shifting(uint64_t value)
{
	size_t size = 1;

	while ((value >>= 7) != 0)
		size++;
	return size;
}

static void varints_come_back(void **state)
{
	unsigned char bytes[20];

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	for (int bit = 0; bit <= 64; bit++)
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t value = (bit == 64 ? 0 : (uint64_t)1 << bit) + (uint64_t)delta;
			unsigned char *end = sp_wire_put_varint(bytes, value);
			sp_wire wire = {bytes, end, false};
			sp_wire longer = {bytes, bytes + sizeof(bytes), false};
			uint64_t back;

			assert_int_equal(end - bytes, size_by_shifting(value));
			assert_int_equal(sp_wire_varint_size(value), size_by_shifting(value));
			assert_true(sp_wire_read_varint(&wire, &back));
			assert_true(back == value);
			assert_ptr_equal(wire.at, wire.end);
			assert_true(sp_wire_read_varint(&longer, &back)); /* others follow */
			assert_true(back == value);
			assert_ptr_equal(longer.at, end);
		}
}

static void groups_are_skipped(void **state)
{
	/* group 3 { 1: 5, group 4 {}, 2: "ab" }, 1: 7 */
	sp_wire wire = MESSAGE("\x1b\x08\x05\x23\x24\x12\x02"
			       "ab\x1c\x08\x07");
	sp_wire_field field;

	(void)state;
	assert_true(sp_wire_next(&wire, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.value, 7);
	assert_false(sp_wire_next(&wire, &field) || wire.malformed);
}

static void nested_groups_have_a_bound(void **state)
{
	unsigned char bytes[2 * (SP_WIRE_MAX_GROUP_DEPTH + 1)];

	(void)state;
	for (size_t depth = 1; depth <= SP_WIRE_MAX_GROUP_DEPTH + 1; depth++) {
		sp_wire wire = {bytes, bytes + 2 * depth, false};
		sp_wire_field field;

		memset(bytes, 0x0b, depth);
		memset(bytes + depth, 0x0c, depth);
		assert_false(sp_wire_next(&wire, &field));
		assert_int_equal(wire.malformed, depth > SP_WIRE_MAX_GROUP_DEPTH);
	}
}

static void fields_go_to_their_places(void **state)
{
	sp_bytes text = {"none", 4}, missing = {"none", 4};
	uint64_t number = 1;
	const sp_wire_place places[] = {{1, SP_WIRE_VARINT, &number},
					{2, SP_WIRE_BYTES, &text},
					{3, SP_WIRE_BYTES, &missing}};

	(void)state;
	/* 2 as a number and 3 as a fixed32 are unknown fields; of 1 the last one counts. */
	assert_true(sp_wire_read((sp_bytes){"\x08\x05\x12\x02hi\x10\x07\x1d\1\2\3\4\x08\x06", 15},
				 places, 3));
	assert_int_equal(number, 6);
	assert_true(sp_bytes_equal_text(text, "hi"));
	assert_true(sp_bytes_equal_text(missing, "none"));
}

static void malformed_messages_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"\x08", 1},                                              /* no value */
		{"\x08\x80", 2},                                          /* varint cut off */
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* varint of 11 bytes */
		{"\x0d\x01\x02\x03", 4},                                  /* fixed32 cut off */
		{"\x09\x01\x02\x03\x04\x05\x06\x07", 8},                  /* fixed64 cut off */
		{"\x12\x03"
		 "ab",
		 4},                                                  /* bytes cut off */
		{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* 2^64 - 1 bytes */
		{"\x00\x01", 2},                                      /* field 0 */
		{"\x80\x80\x80\x80\x10\x01", 6},                      /* tag past 32 bits */
		{"\x0e\x01", 2},                                      /* type 6 */
		{"\x0c", 1},                                          /* end without start */
		{"\x0b", 1},                                          /* start without end */
		{"\x0b\x14", 2},                                      /* another group's end */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_wire wire = sp_wire_of((sp_bytes){cases[i].bytes, cases[i].size});
		sp_wire_field field;

		assert_false(sp_wire_next(&wire, &field));
		assert_true(wire.malformed);
		assert_false(sp_wire_read((sp_bytes){cases[i].bytes, cases[i].size}, NULL, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_examples),
		cmocka_unit_test(fixed_numbers),
		cmocka_unit_test(varints_come_back),
		cmocka_unit_test(groups_are_skipped),
		cmocka_unit_test(nested_groups_have_a_bound),
		cmocka_unit_test(fields_go_to_their_places),
		cmocka_unit_test(malformed_messages_are_refused),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
