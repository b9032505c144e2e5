#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/checkpoint/ordered_code.h"

static void check(sp_buffer *got, const char *want, size_t size)
{
	assert_false(got->failed);
	assert_int_equal(got->size, size);
	assert_memory_equal(got->data, want, size);
	sp_buffer_fini(got);
}

#define CHECK(got, literal) check(got, literal, sizeof(literal) - 1)

static sp_buffer begin(void)
{
	sp_buffer out;

	sp_buffer_init(&out, 4096);
	return out;
}

static void numbers_have_a_length(void **state)
{
	static const struct {
		uint64_t value;
		const char *want;
		size_t size;
	} cases[] = {
		{0, "\0", 1},
		{1, "\1\1", 2},
		{255, "\1\xff", 2},
		{256, "\2\1\0", 3},
		{UINT64_MAX, "\x08\xff\xff\xff\xff\xff\xff\xff\xff", 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sp_buffer out = begin();

		sp_ordered_code_number(&out, cases[i].value);
		check(&out, cases[i].want, cases[i].size);
	}
}

static void strings_escape_their_end(void **state)
{
	sp_buffer out = begin();

	(void)state;
	sp_ordered_code_string(&out, (sp_bytes){"a\0\xffz", 4});
	CHECK(&out, "a\0\xff\xff\0z\0\1");
}

/* The first two are TensorFlow's own examples. */
static void signed_numbers_have_a_header(void **state)
{
	static const struct {
		int64_t value;
		const char *want;
		size_t size;
	} cases[] = {
		{0x424242, "\xf0\x42\x42\x42", 4},
		{-0x800, "\x38\x00", 2},
		{0, "\x80", 1},
		{-1, "\x7f", 1},
		{63, "\xbf", 1},
		{64, "\xc0\x40", 2},
		{-64, "\x40", 1},
		{-65, "\x3f\xbf", 2},
		{INT64_MAX, "\xff\xc0\x7f\xff\xff\xff\xff\xff\xff\xff", 10},
		{INT64_MIN, "\0\x3f\x80\0\0\0\0\0\0\0", 10},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		sp_buffer out = begin();

		sp_ordered_code_signed(&out, cases[i].value);
		check(&out, cases[i].want, cases[i].size);
	}
}

static int compare(const sp_buffer *a, const sp_buffer *b)
{
	size_t n = a->size < b->size ? a->size : b->size;
	int order = memcmp(a->data, b->data, n);

	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static void signed_numbers_keep_their_order(void **state)
{
	sp_buffer last = begin();

	(void)state;
	sp_ordered_code_signed(&last, INT64_MIN);
	for (int bit = 62; bit >= -63; bit--) {
		int64_t magnitude = (int64_t)1 << (bit >= 0 ? bit : -bit - 1);
		sp_buffer out = begin();

		sp_ordered_code_signed(&out, bit >= 0 ? -magnitude : magnitude);
		assert_true(compare(&last, &out) < 0);
		sp_buffer_fini(&last);
		last = out;
	}
	sp_buffer_fini(&last);
}

/* The keys that TensorFlow wrote into tests/golden/bundles/sliced. */
static void slice_keys_are_those_of_tensorflow(void **state)
{
	sp_tensor_slice columns = {2, {0, 5}, {3, 5}}, big = {2, {300, 0}, {100, 1}};
	sp_tensor_slice grid = {3, {2, 4, 0}, {2, 2, SP_SLICE_FULL}};
	sp_buffer out = begin();

	(void)state;
	sp_ordered_code_slice_key(&out, sp_bytes_of("a/columns"), &columns);
	CHECK(&out, "\0a/columns\0\1\1\2\x80\x83\x85\x85");
	out = begin();
	sp_ordered_code_slice_key(&out, sp_bytes_of("big"), &big);
	CHECK(&out, "\0big\0\1\1\2\xc1\x2c\xc0\x64\x80\x81");
	out = begin();
	sp_ordered_code_slice_key(&out, sp_bytes_of("grid"), &grid);
	CHECK(&out, "\0grid\0\1\1\3\x82\x82\x84\x82\x80\x7f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_a_length),
		cmocka_unit_test(strings_escape_their_end),
		cmocka_unit_test(signed_numbers_have_a_header),
		cmocka_unit_test(signed_numbers_keep_their_order),
		cmocka_unit_test(slice_keys_are_those_of_tensorflow),
	};

	return cmocka_run_group_tests_name("ordered_code", tests, NULL, NULL);
}
