#include "tests/support/cmocka.h"

#include <string.h>

#include "base/base64_text.h"

/* RFC 4648, section 10, and both last digits of each alphabet. */
static const struct {
	const char *plain, *standard, *url;
} known[] = {
	{"", "", ""},
	{"f", "Zg==", "Zg=="},
	{"fo", "Zm8=", "Zm8="},
	{"foo", "Zm9v", "Zm9v"},
	{"foob", "Zm9vYg==", "Zm9vYg=="},
	{"\xfb\xff\xbf", "+/+/", "-_-_"},
};

static void assert_both_ways(const char *plain, const char *text, sp_base64_alphabet alphabet)
{
	sp_bytes digits = {text, strcspn(text, "=")};
	char out[32];
	size_t size;

	size = sp_base64_write(out, sp_bytes_of(plain), alphabet, true);
	assert_int_equal(size, strlen(text));
	assert_memory_equal(out, text, size);
	size = sp_base64_write(out, sp_bytes_of(plain), alphabet, false);
	assert_int_equal(size, digits.size);
	assert_memory_equal(out, text, size);
	assert_true(sp_base64_read(out, &size, digits, alphabet));
	assert_int_equal(size, strlen(plain));
	assert_memory_equal(out, plain, size);
}

static void known_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_both_ways(known[i].plain, known[i].standard, SP_BASE64_STANDARD);
		assert_both_ways(known[i].plain, known[i].url, SP_BASE64_URL);
	}
}

static void other_characters_are_refused(void **state)
{
	static const char *const bad[] = {"Zm=v", "Zm v", "Zm\xc3v", "-_-_", "Zm.v"};
	char out[8];
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sp_base64_read(out, &size, sp_bytes_of(bad[i]), SP_BASE64_STANDARD));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts),
		cmocka_unit_test(other_characters_are_refused),
	};

	return cmocka_run_group_tests_name("base64_text", tests, NULL, NULL);
}
