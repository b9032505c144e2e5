#include "tests/support/cmocka.h"

#include <string.h>

#include "base/hash.h"
#include "tests/support/child.h"

/* What TensorFlow answers for one text per length from 0 to 300. */
static const struct {
	uint64_t fingerprint;
	uint64_t strong; /* modulo 2^63 - 1, as the next */
	uint64_t legacy;
} cases[] = {
#include "tests/unit/base/hash_cases.inc"
};

enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

/* The same text that scripts/hash_cases.py hashes, at an address of any alignment. */
static const unsigned char *text_of(unsigned char buffer[CASE_COUNT + 8], size_t n)
{
	unsigned char *text = buffer + n % 8;

	for (size_t i = 0; i < n; i++)
		text[i] = (unsigned char)(i * 131 + n * 7 + 3);
	return text;
}

static void fingerprint64_answers_as_tensorflow_at_every_length(void **state)
{
	unsigned char buffer[CASE_COUNT + 8];

	(void)state;
	assert_int_equal(CASE_COUNT, 301);
	for (size_t n = 0; n < CASE_COUNT; n++)
		assert_int_equal(sp_fingerprint64(text_of(buffer, n), n), cases[n].fingerprint);
}

static void siphash24_answers_as_tensorflow_at_every_length(void **state)
{
	const uint64_t key[2] = {0x0123456789abcdefu, 0x0fedcba987654321u};
	unsigned char buffer[CASE_COUNT + 8];

	(void)state;
	for (size_t n = 0; n < CASE_COUNT; n++)
		assert_int_equal(sp_siphash24(key, text_of(buffer, n), n) % INT64_MAX,
				 cases[n].strong);
}

/* The example of the paper's appendix: key and text are the bytes 0, 1, 2, ... */
static void siphash24_gives_the_published_example(void **state)
{
	const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
	unsigned char text[15];

	(void)state;
	for (unsigned char i = 0; i < sizeof(text); i++)
		text[i] = i;
	assert_int_equal(sp_siphash24(key, text, sizeof(text)), 0xa129ca6149be45e5u);
}

static void murmur64_answers_as_tensorflow_at_every_length(void **state)
{
	unsigned char buffer[CASE_COUNT + 8];

	(void)state;
	for (size_t n = 0; n < CASE_COUNT; n++)
		assert_int_equal(sp_murmur64(0xdecafcaffeu, text_of(buffer, n), n) % INT64_MAX,
				 cases[n].legacy);
}

/* RFC 3720, B.4, and the check value of the parameter catalogues; 0 when all are right. */
static int crc32c_examples(void)
{
	unsigned char zeros[32] = {0}, ones[32], rising[32], falling[32];

	memset(ones, 0xff, sizeof(ones));
	for (int i = 0; i < 32; i++) {
		rising[i] = (unsigned char)i;
		falling[i] = (unsigned char)(31 - i);
	}
	return sp_crc32c(0, zeros, 32) != 0x8a9136aau || sp_crc32c(0, ones, 32) != 0x62a8ab43u ||
	       sp_crc32c(0, rising, 32) != 0x46dd794eu ||
	       sp_crc32c(0, falling, 32) != 0x113fdb5cu ||
	       sp_crc32c(0, "123456789", 9) != 0xe3069283u ||
	       sp_crc32c(sp_crc32c(0, "1234", 4), "56789", 5) != 0xe3069283u ||
	       sp_crc32c(7, NULL, 0) != 7;
}

/* Bit by bit, as the definition has it. */
static uint32_t crc32c_slowly(const unsigned char *data, size_t size)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
	}
	return ~crc;
}

static int crc32c_lengths(void)
{
	static unsigned char bytes[9281];
	const size_t lengths[] = {0,    1,    7,    8,    3071, 3072, 3073, 3079,
				  3080, 6143, 6144, 6145, 9216, 9273, 9279};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 2654435761u >> 13);
	for (size_t at = 0; at < 3; at++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			if (sp_crc32c(0, bytes + at, lengths[i]) !=
			    crc32c_slowly(bytes + at, lengths[i]))
				return 1;
	return 0;
}

static void crc32c_is_right_at_any_length_both_ways(void **state)
{
	(void)state;
	assert_int_equal(sp_child_run(crc32c_lengths, "SP_CPU", "scalar"), 0);
	assert_int_equal(sp_child_run(crc32c_lengths, "SP_CPU", NULL), 0);
}

/* By the processor's instruction and by tables; each in a process of its own. */
static void crc32c_gives_the_published_examples_both_ways(void **state)
{
	(void)state;
	assert_int_equal(sp_child_run(crc32c_examples, "SP_CPU", "scalar"), 0);
	assert_int_equal(sp_child_run(crc32c_examples, "SP_CPU", NULL), 0);
}

/* Joining the sums of two runs is summing one run, wherever it is cut. */
static void crc32c_of_pieces_join(void **state)
{
	static unsigned char bytes[100000];
	const size_t cuts[] = {0, 1, 2, 7, 8, 255, 4096, 65537, 99999, 100000};
	uint32_t whole;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 2654435761u >> 13);
	whole = sp_crc32c(0, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		size_t left = sizeof(bytes) - cuts[i];

		assert_int_equal(sp_crc32c_join(sp_crc32c(0, bytes, cuts[i]),
						sp_crc32c(0, bytes + cuts[i], left), left),
				 whole);
	}
	assert_int_equal(sp_crc32c_join(sp_crc32c(0, "1234", 4), sp_crc32c(0, "56789", 5), 5),
			 0xe3069283u);
}

/* Runs of nothing behind a sum, too long to be there, add up: x^(8a) x^(8b) = x^(8(a+b)). */
static void crc32c_joins_runs_of_any_length(void **state)
{
	const uint64_t sizes[] = {1, 3, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(0x123456789abcd)};
	const uint32_t sum = 0xe3069283u;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++)
			assert_int_equal(
				sp_crc32c_join(sp_crc32c_join(sum, 0, sizes[i]), 0, sizes[j]),
				sp_crc32c_join(sum, 0, sizes[i] + sizes[j]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fingerprint64_answers_as_tensorflow_at_every_length),
		cmocka_unit_test(siphash24_answers_as_tensorflow_at_every_length),
		cmocka_unit_test(siphash24_gives_the_published_example),
		cmocka_unit_test(murmur64_answers_as_tensorflow_at_every_length),
		cmocka_unit_test(crc32c_gives_the_published_examples_both_ways),
		cmocka_unit_test(crc32c_is_right_at_any_length_both_ways),
		cmocka_unit_test(crc32c_of_pieces_join),
		cmocka_unit_test(crc32c_joins_runs_of_any_length),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
