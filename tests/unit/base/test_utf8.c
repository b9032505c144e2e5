#include "tests/support/cmocka.h"

#include <string.h>

#include "base/utf8.h"

/* How many of the sequences of `size` bytes, the fourth fixed, are exactly one character. */
static int count_sequences(size_t size)
{
	char s[4] = {0, 0, 0, '\x80'};
	int count = 0;

	for (uint32_t i = 0; i < 1u << (8 * (size < 3 ? size : 3)); i++) {
		s[0] = (char)i;
		s[1] = (char)(i >> 8);
		s[2] = (char)(i >> 16);
		count += sp_utf8_length(s, size) == size;
	}
	return count;
}

/*
 * Every character's sequence is accepted, and there are no more accepted ones
 * than there are characters: so it is them.
 */
static void exactly_the_characters_of_unicode_are_accepted(void **state)
{
	(void)state;
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
		char s[4];

		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		assert_int_equal(sp_utf8_encode(s, code), n);
		assert_int_equal(sp_utf8_length(s, 4), n);
	}
	assert_int_equal(count_sequences(1), 0x80);
	assert_int_equal(count_sequences(2), 0x800 - 0x80);
	assert_int_equal(count_sequences(3), 0x10000 - 0x800 - 0x800);
	assert_int_equal(count_sequences(4), (0x110000 - 0x10000) / 64);
}

static void encode_gives_the_published_examples(void **state)
{
	/* RFC 3629, section 7. */
	static const uint32_t codes[] = {0x41,   0x2262, 0x391,  0xd55c, 0xad6d,
					 0xc5b4, 0x65e5, 0x672c, 0x233b4};
	static const char expected[] = "\x41\xe2\x89\xa2\xce\x91\xed\x95\x9c\xea\xb5\xad"
				       "\xec\x96\xb4\xe6\x97\xa5\xe6\x9c\xac\xf0\xa3\x8e\xb4";
	char text[64];
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		size += sp_utf8_encode(text + size, codes[i]);
	assert_int_equal(size, sizeof(expected) - 1);
	assert_memory_equal(text, expected, size);
	assert_true(sp_utf8_valid((sp_bytes){text, size}));
}

static void a_cut_sequence_is_none(void **state)
{
	(void)state;
	assert_int_equal(sp_utf8_length("\xf0\xa3\x8e\xb4", 4), 4);
	for (size_t size = 1; size < 4; size++)
		assert_int_equal(sp_utf8_length("\xf0\xa3\x8e\xb4", size), 0);
	assert_false(sp_utf8_valid((sp_bytes){"ab\xf0\xa3\x8e\xb4", 5}));
	assert_true(sp_utf8_valid((sp_bytes){"a\0b", 3}));
	assert_true(sp_utf8_valid((sp_bytes){NULL, 0}));
}

/* Wherever in a text of whatever length it stands. */
static void one_wrong_byte_is_seen(void **state)
{
	char text[40];

	(void)state;
	for (size_t size = 1; size < sizeof(text); size++) {
		memset(text, 'a', sizeof(text));
		text[size] = (char)0xff; /* behind the end */
		assert_true(sp_utf8_valid((sp_bytes){text, size}));
		for (size_t i = 0; i < size; i++) {
			text[i] = (char)0x80;
			assert_false(sp_utf8_valid((sp_bytes){text, size}));
			text[i] = 'a';
		}
	}
	assert_true(sp_utf8_valid((sp_bytes){"", 0}));
	assert_true(sp_utf8_valid((sp_bytes){NULL, 0}));
}

static void what_could_hurt_a_terminal_is_replaced(void **state)
{
	char text[] = "\x01\t\r\n ~\x7f\xc2\x80\xc2\x9f\xc2\xa0\xed\xa0\x80\xf0\xa3\x8e";

	(void)state;
	sp_utf8_make_printable(text);
	assert_string_equal(text, "???? ~?????\xc2\xa0??????");
	text[0] = '\0';
	sp_utf8_make_printable(text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_the_characters_of_unicode_are_accepted),
		cmocka_unit_test(encode_gives_the_published_examples),
		cmocka_unit_test(a_cut_sequence_is_none),
		cmocka_unit_test(one_wrong_byte_is_seen),
		cmocka_unit_test(what_could_hurt_a_terminal_is_replaced),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
