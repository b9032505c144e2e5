#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/eas/eas_token.h"

/* Signature and MD5 were computed with Python's hmac and hashlib, in the way of EAS's Python SDK.
 */
#define SIGNATURE "YD6gjHVmsxDgmQxfDcGl01fIVYI="
#define OF_GET    "lM2x10b6HxixVSR3nQTgkptsvuo="
#define MD5_EMPTY "d41d8cd98f00b204e9800998ecf8427e"
#define MD5       "900150983cd24fb0d6963f7d28e17f72"

static bool check_method(const char *method, const char *authorization, const char *md5,
			 const char *body, const char *tokens)
{
	sp_eas_request request = {sp_bytes_of(method),
				  sp_bytes_of(authorization),
				  sp_bytes_of(md5),
				  sp_bytes_of("application/octet-stream"),
				  sp_bytes_of("Thu, 01 Jan 1970 00:00:00 GMT"),
				  sp_bytes_of("/api/predict/svc"),
				  sp_bytes_of(body)};

	return sp_eas_token_check(&request, tokens);
}

static bool check(const char *authorization, const char *md5, const char *body, const char *tokens)
{
	return check_method("POST", authorization, md5, body, tokens);
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

static void a_get_is_signed_as_one_or_as_a_post(void **state)
{
	(void)state;
	assert_true(check_method("GET", "EAS " OF_GET, MD5_EMPTY, "", "TOKEN"));
	assert_true(check_method("GET", "EAS " SIGNATURE, MD5, "abc", "TOKEN"));
	assert_false(check_method("POST", "EAS " OF_GET, MD5_EMPTY, "", "TOKEN"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_taken_as_they_are_and_as_bearers),
		cmocka_unit_test(a_signature_is_of_this_request),
		cmocka_unit_test(a_get_is_signed_as_one_or_as_a_post),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
