#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/http/content_coding.h"

/* Made by Python's gzip and zlib modules from "hello". */
static const char gzip_hello[] =
	"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05"
	"\x00\x00\x00";
static const char zlib_hello[] = "\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15";

static sp_bytes bytes(const char *data, size_t size)
{
	return (sp_bytes){data, size - 1};
}

#define BYTES(array) bytes(array, sizeof(array))

static void gzip_and_deflate_are_decoded(void **state)
{
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 100);
	assert_int_equal(sp_content_decode(&out, SP_CODING_GZIP, BYTES(gzip_hello), &err), SP_OK);
	assert_int_equal(sp_content_decode(&out, SP_CODING_DEFLATE, BYTES(zlib_hello), &err),
			 SP_OK);
	assert_int_equal(sp_content_decode(&out, SP_CODING_IDENTITY, sp_bytes_of("!"), &err),
			 SP_OK);
	assert_string_equal(out.data, "hellohello!");
	sp_buffer_fini(&out);
}

static void every_truncation_is_refused(void **state)
{
	sp_error err;

	(void)state;
	for (size_t size = 0; size < sizeof(gzip_hello) - 1; size++) {
		sp_buffer out;

		sp_buffer_init(&out, 100);
		assert_int_equal(
			sp_content_decode(&out, SP_CODING_GZIP, (sp_bytes){gzip_hello, size}, &err),
			SP_INVALID);
		sp_buffer_fini(&out);
	}
}

static void damage_and_what_follows_the_end_are_refused(void **state)
{
	char data[sizeof(gzip_hello) + 1];
	sp_buffer out;
	sp_error err;

	(void)state;
	sp_buffer_init(&out, 100);
	memcpy(data, gzip_hello, sizeof(gzip_hello));
	data[sizeof(gzip_hello)] = '\0';
	assert_int_equal(
		sp_content_decode(&out, SP_CODING_GZIP, (sp_bytes){data, sizeof(gzip_hello)}, &err),
		SP_INVALID);
	data[sizeof(gzip_hello) - 6]++; /* the checksum */
	assert_int_equal(sp_content_decode(&out, SP_CODING_GZIP,
					   (sp_bytes){data, sizeof(gzip_hello) - 1}, &err),
			 SP_INVALID);
	assert_int_equal(sp_content_decode(&out, SP_CODING_UNKNOWN, BYTES(gzip_hello), &err),
			 SP_UNSUPPORTED);
	sp_buffer_fini(&out);
}

/* What sp_content_encode() makes of zeros, decoded with a limit. */
static sp_status decode_zeros(size_t count, size_t limit)
{
	sp_buffer zeros, packed, out;
	sp_status status;
	sp_error err;

	sp_buffer_init(&zeros, count);
	memset(sp_buffer_reserve(&zeros, count), 0, count);
	sp_buffer_init(&packed, 16 << 20);
	sp_content_encode(&packed, SP_CODING_GZIP, (sp_bytes){zeros.data, count});
	assert_false(packed.failed);
	sp_buffer_init(&out, limit);
	status = sp_content_decode(&out, SP_CODING_GZIP, (sp_bytes){packed.data, packed.size},
				   &err);
	if (status == SP_OK)
		assert_memory_equal(out.data, zeros.data, count);
	sp_buffer_fini(&out);
	sp_buffer_fini(&packed);
	sp_buffer_fini(&zeros);
	return status;
}

static void size_and_ratio_are_limited(void **state)
{
	(void)state;
	assert_int_equal(decode_zeros(100000, 1 << 20), SP_OK);
	assert_int_equal(decode_zeros(100000, 99999), SP_BUSY);
	/* Zeros shrink to less than a 200th, which is allowed for the first megabyte. */
	assert_int_equal(decode_zeros(8 << 20, 128 << 20), SP_BUSY);
}

/* Runs of 252 bytes behind four that are not alike: they shrink, but to more than a 200th. */
static sp_status decode_copies(size_t count)
{
	sp_buffer data, packed, out;
	uint32_t random = 1;
	sp_status status;
	sp_error err;
	char *at;

	sp_buffer_init(&data, count);
	at = sp_buffer_reserve(&data, count);
	assert_non_null(at);
	for (size_t i = 0; i < count; i += 256) {
		random = random * 1664525 + 1013904223;
		memset(at + i, (int)(random >> 24), count - i < 256 ? count - i : 256);
		memcpy(at + i, &random, count - i < sizeof(random) ? count - i : sizeof(random));
	}
	sp_buffer_init(&packed, SIZE_MAX / 2);
	sp_content_encode(&packed, SP_CODING_GZIP, (sp_bytes){data.data, count});
	assert_false(packed.failed);
	sp_buffer_init(&out, SIZE_MAX / 2);
	status = sp_content_decode(&out, SP_CODING_GZIP, (sp_bytes){packed.data, packed.size},
				   &err);
	assert_true(status != SP_OK || out.size == count);
	sp_buffer_fini(&out);
	sp_buffer_fini(&packed);
	sp_buffer_fini(&data);
	return status;
}

static void no_body_becomes_larger_than_in_tensorflow_serving(void **state)
{
	(void)state;
	assert_int_equal(decode_copies(SP_CODING_MAX_BYTES - 1), SP_OK);
	assert_int_equal(decode_copies(SP_CODING_MAX_BYTES + 1), SP_BUSY);
}

static void names_are_those_of_http(void **state)
{
	(void)state;
	assert_int_equal(sp_content_coding_of(sp_bytes_of(" GZIP")), SP_CODING_GZIP);
	assert_int_equal(sp_content_coding_of(sp_bytes_of("deflate")), SP_CODING_DEFLATE);
	assert_int_equal(sp_content_coding_of(sp_bytes_of("")), SP_CODING_IDENTITY);
	assert_int_equal(sp_content_coding_of(sp_bytes_of("br")), SP_CODING_UNKNOWN);
	assert_int_equal(sp_content_coding_accepted(sp_bytes_of("br, gzip;q=0.5")), SP_CODING_GZIP);
	assert_int_equal(sp_content_coding_accepted(sp_bytes_of("gzip;q=0.0, deflate")),
			 SP_CODING_DEFLATE);
	assert_int_equal(sp_content_coding_accepted(sp_bytes_of("")), SP_CODING_IDENTITY);
	assert_string_equal(sp_content_coding_name(SP_CODING_GZIP), "gzip");
	assert_null(sp_content_coding_name(SP_CODING_IDENTITY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_and_deflate_are_decoded),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(damage_and_what_follows_the_end_are_refused),
		cmocka_unit_test(size_and_ratio_are_limited),
		cmocka_unit_test(no_body_becomes_larger_than_in_tensorflow_serving),
		cmocka_unit_test(names_are_those_of_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
