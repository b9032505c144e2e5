/*
 * The expected signatures are the examples of Amazon's S3 API reference, and what botocore 1.42 and
 * oss2 2.19 make of the same requests at 2026-11-27 01:02:03.
 */
#include "tests/support/cmocka.h"

#include <string.h>

#include "object_store/sign.h"

enum { NOW = 1795741323 };

static sp_error err;

static const char *header(const sp_http_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (strcmp(request->headers[i].name, name) == 0)
			return request->headers[i].value;
	fail_msg("no header %s", name);
	return NULL;
}

static const sp_credentials example = {"AKIAIOSFODNN7EXAMPLE",
				       "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", NULL};

static void the_examples_of_amazon(void **state)
{
	const sp_signed_place object = {.host = "examplebucket.s3.amazonaws.com",
					.path = "/test.txt",
					.query = "",
					.region = "us-east-1",
					.now = 1369353600};
	const sp_signed_place list = {.host = "examplebucket.s3.amazonaws.com",
				      .path = "/",
				      .query = "max-keys=2&prefix=J",
				      .region = "us-east-1",
				      .now = 1369353600};
	sp_http_request request = {.method = "GET"};

	(void)state;
	sp_http_request_add(&request, "range", "bytes=0-9");
	assert_int_equal(sp_sign_s3(&request, &object, &example, &err), SP_OK);
	assert_string_equal(
		header(&request, "authorization"),
		"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
		"aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
		"Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
	sp_http_request_fini(&request);
	request.method = "GET";
	assert_int_equal(sp_sign_s3(&request, &list, &example, &err), SP_OK);
	assert_non_null(
		strstr(header(&request, "authorization"),
		       "=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
	sp_http_request_fini(&request);
}

static void as_boto_signs(void **state)
{
	const sp_credentials session = {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
					"TOKEN/1=="};
	const sp_credentials plain = {session.id, session.key, NULL};
	const sp_signed_place object = {.host = "models.s3.eu-central-1.amazonaws.com",
					.path = "/a%20b/model%2Bx.ckpt-1.index",
					.query = "",
					.region = "eu-central-1",
					.now = NOW};
	const sp_signed_place list = {
		.host = "127.0.0.1:9000",
		.path = "/models/",
		.query = "continuation-token=1%2F%2B%3D&list-type=2&max-keys=1000&prefix=a%20b%2F",
		.region = "eu-central-1",
		.now = NOW};
	sp_http_request request = {.method = "GET"};

	(void)state;
	sp_http_request_add(&request, "range", "bytes=0-9");
	sp_http_request_add(&request, "if-match", "\"abc\"");
	assert_int_equal(sp_sign_s3(&request, &object, &session, &err), SP_OK);
	assert_string_equal(header(&request, "x-amz-security-token"), "TOKEN/1==");
	assert_string_equal(header(&request, "x-amz-date"), "20261127T010203Z");
	assert_non_null(
		strstr(header(&request, "authorization"),
		       "=605dea9e98a1b924f3b04ee4c9506f3f5cd73ba6d0d034c6a3e4c1fee0f29ee4"));
	sp_http_request_fini(&request);
	request.method = "GET";
	assert_int_equal(sp_sign_s3(&request, &list, &plain, &err), SP_OK);
	assert_non_null(
		strstr(header(&request, "authorization"),
		       "=39e1d7214799bad0284ff7e8fc2b89430f48c569e55ad26d2b21db871e71b4ac"));
	sp_http_request_fini(&request);
}

static void as_oss2_signs(void **state)
{
	static const struct {
		const char *region, *token, *key, *query, *authorization;
	} cases[] = {
		{NULL, NULL, "a b/x+y.index", "", "OSS LTAIEXAMPLE:hiMnlkWm2/WA0ov0GRN4UZ1CH3g="},
		{NULL, "STS/token", "", "marker=a%2Fb&max-keys=1000&prefix=a%20b%2F",
		 "OSS LTAIEXAMPLE:WGwl5OmLYpwrCL0fyZgfjIQbB7k="},
		{"cn-hangzhou", NULL, "a b/x+y.index", "",
		 "OSS4-HMAC-SHA256 Credential=LTAIEXAMPLE/20261127/cn-hangzhou/oss/"
		 "aliyun_v4_request, "
		 "Signature=83b91f560da54724911e0da2b47c823f6cf874526074b36902edac7f4bfc9069"},
		{"cn-hangzhou", "STS/token", "", "marker=a%2Fb&max-keys=1000&prefix=a%20b%2F",
		 "OSS4-HMAC-SHA256 Credential=LTAIEXAMPLE/20261127/cn-hangzhou/oss/"
		 "aliyun_v4_request, "
		 "Signature=ca562baf78a282a7861bdf98a40bcd343cad497af84b6e4791032526ebe8f9e9"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const sp_credentials credentials = {"LTAIEXAMPLE", "secretEXAMPLE", cases[i].token};
		const sp_signed_place place = {.query = cases[i].query,
					       .bucket = "models",
					       .key = cases[i].key,
					       .region = cases[i].region,
					       .now = NOW};
		sp_http_request request = {.method = "GET"};

		sp_http_request_add(&request, "range", "bytes=0-9"); /* is not signed */
		assert_int_equal(sp_sign_oss(&request, &place, &credentials, &err), SP_OK);
		assert_string_equal(header(&request, "authorization"), cases[i].authorization);
		sp_http_request_fini(&request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_amazon),
		cmocka_unit_test(as_boto_signs),
		cmocka_unit_test(as_oss2_signs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
