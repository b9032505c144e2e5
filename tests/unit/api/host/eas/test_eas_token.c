#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/eas/eas_token.h"

/* Signature and MD5 were computed with Python's hmac and hashlib, in the way of EAS's Python SDK.
 */
#define SIGNATURE "YD6gjHVmsxDgmQxfDcGl01fIVYI="
#define MD5       "900150983cd24fb0d6963f7d28e17f72"

static bool check(const char *authorization, const char *md5, const char *body, const char *tokens)
{
	sp_eas_request request = {sp_bytes_of(authorization),
				  sp_bytes_of(md5),
				  sp_bytes_of("application/octet-stream"),
				  sp_bytes_of("Thu, 01 Jan 1970 00:00:00 GMT"),
				  sp_bytes_of("/api/predict/svc"),
				  sp_bytes_of(body)};

	return sp_eas_token_check(&request, tokens);
}

static void tokens_are_taken_as_they_are_and_as_bearers(void **state)
{
	(void)state;
	assert_true(check("TOKEN", "", "", "TOKEN"));
	assert_true(check("Bearer TOKEN", "", "", "OTHER,TOKEN"));
	assert_true(check("bearer OTHER", "", "", "OTHER,TOKEN"));
	assert_false(check("TOKE", "", "", "TOKEN"));
	assert_false(check("TOKEN,OTHER", "", "", "TOKEN,OTHER"));
	assert_false(check("", "", "", "TOKEN"));
	assert_false(check("", "", "", ""));
	assert_false(check("", "", "", ",TOKEN"));
}

static void a_signature_is_of_this_request(void **state)
{
	(void)state;
	assert_true(check("EAS " SIGNATURE, MD5, "abc", "OTHER,TOKEN"));
	assert_false(check("EAS " SIGNATURE, MD5, "abd", "TOKEN"));
	assert_false(check("EAS " SIGNATURE, "", "abc", "TOKEN"));
	assert_false(check("EAS " SIGNATURE, MD5, "abc", "OTHER"));
	assert_false(check("EAS YD6gjHVmsxDgmQxfDcGl01fIVYJ=", MD5, "abc", "TOKEN"));
	assert_false(check("EAS TOKEN", MD5, "abc", "TOKEN"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_taken_as_they_are_and_as_bearers),
		cmocka_unit_test(a_signature_is_of_this_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
