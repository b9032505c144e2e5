#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/json/json_base64.h"

/* RFC 4648, section 10, and a case of all bytes above 0x7f. */
static const struct {
	const char *plain, *text;
} known[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xff\xfe\xfb", "//77"},
};

static void known_texts_go_both_ways(void **state)
{
	sp_arena *arena = sp_arena_create(256);
	sp_buffer out;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		sp_bytes back;

		sp_buffer_init(&out, 100);
		sp_base64_encode(&out, sp_bytes_of(known[i].plain));
		assert_true(sp_bytes_equal_text((sp_bytes){out.data, out.size}, known[i].text));
		sp_buffer_fini(&out);
		assert_int_equal(sp_base64_decode(&back, sp_bytes_of(known[i].text), arena),
				 SP_BASE64_OK);
		assert_true(sp_bytes_equal_text(back, known[i].plain));
	}
	sp_arena_destroy(arena);
}

static void padding_may_be_missing_but_not_wrong(void **state)
{
	static const char *const bad[] = {"Z",     "Zg=",    "Zg===",    "=",    "====", "Zm9vY",
					  "Zm 9v", "Zm9v\n", "Zg==Zg==", "Zm9-", "Zm9_"};
	sp_arena *arena = sp_arena_create(256);
	sp_bytes out;

	(void)state;
	assert_int_equal(sp_base64_decode(&out, sp_bytes_of("Zm9vYmE"), arena), SP_BASE64_OK);
	assert_true(sp_bytes_equal_text(out, "fooba"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(sp_base64_decode(&out, sp_bytes_of(bad[i]), arena),
				 SP_BASE64_INVALID);
	sp_arena_destroy(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_texts_go_both_ways),
		cmocka_unit_test(padding_may_be_missing_but_not_wrong),
	};

	return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
