#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "object_store/protocol.h"

static sp_error err;
static sp_http_request request;

/* The URL of the request; its headers are in `request`. */
static const char *ask(const char *path, const sp_object_settings *settings, const sp_object_op *op)
{
	sp_account *account;
	sp_object_url url;

	sp_http_request_fini(&request);
	assert_int_equal(sp_object_url_parse(&url, path, &err), SP_OK);
	account = sp_account_of(&url);
	assert_non_null(account);
	assert_int_equal(sp_account_set(account, settings, &err), SP_OK);
	if (sp_protocol_make_request(&request, &url, account, op, &err) != SP_OK)
		fail_msg("%s: %s", path, err.text);
	return request.url;
}

static const char *header(const char *name)
{
	for (size_t i = 0; i < request.header_count; i++)
		if (strcmp(request.headers[i].name, name) == 0)
			return request.headers[i].value;
	return "";
}

static const sp_object_op bytes = {
	.kind = SP_OBJECT_OP_RANGE, .first = 5, .size = 10, .etag = "\"t\""};
static const sp_object_op tree = {.kind = SP_OBJECT_OP_LIST_TREE};

static int tear_down(void **state)
{
	(void)state;
	sp_http_request_fini(&request);
	sp_accounts_drop();
	return 0;
}

static void buckets_of_s3(void **state)
{
	sp_object_settings s = {.region = "eu-west-1", .access_id = "I", .access_key = "K"};
	const sp_object_op page = {.kind = SP_OBJECT_OP_LIST, .after = "a/+"};

	(void)state;
	assert_string_equal(ask("s3://models/a b/x", &s, &bytes),
			    "https://models.s3.eu-west-1.amazonaws.com/a%20b/x");
	assert_string_equal(request.method, "GET");
	assert_string_equal(header("range"), "bytes=5-14");
	assert_string_equal(header("if-match"), "\"t\"");
	assert_non_null(strstr(header("authorization"), "/eu-west-1/s3/aws4_request"));
	assert_string_equal(ask("s3://models/m", &s, &tree),
			    "https://models.s3.eu-west-1.amazonaws.com/"
			    "?list-type=2&max-keys=1000&prefix=m%2F");
	assert_string_equal(
		ask("s3://my.models/m", &s, &page),
		"https://s3.eu-west-1.amazonaws.com/my.models/?continuation-token=a%2F%2B&"
		"delimiter=%2F&list-type=2&max-keys=1000&prefix=m%2F");
	s.endpoint = "http://minio:9000";
	assert_string_equal(ask("s3://models/m", &s, &bytes), "http://minio:9000/models/m");
	s.addressing = SP_OBJECT_ADDRESSING_VIRTUAL;
	assert_string_equal(ask("s3://models/m", &s, &bytes), "http://models.minio:9000/m");
	s.is_anonymous = true;
	(void)ask("s3://models/m", &s, &bytes);
	assert_string_equal(header("authorization"), "");
}

static void buckets_of_oss(void **state)
{
	sp_object_settings s = {.endpoint = "oss-cn-hangzhou-internal.aliyuncs.com",
				.access_id = "I",
				.access_key = "K"};
	sp_object_url url;

	(void)state;
	assert_string_equal(ask("oss://models/m/x", &s, &bytes),
			    "https://models.oss-cn-hangzhou-internal.aliyuncs.com/m/x");
	assert_non_null(strstr(header("authorization"), "/cn-hangzhou/oss/aliyun_v4_request"));
	s.endpoint = "http://10.0.0.1:80";
	assert_string_equal(ask("oss://models/m", &s, &tree),
			    "http://10.0.0.1/models/?max-keys=1000&prefix=m%2F");
	assert_memory_equal(header("authorization"), "OSS I:", 6);
	s.endpoint = "host/with/a/path";
	assert_int_equal(sp_object_url_parse(&url, "oss://models", &err), SP_OK);
	assert_int_equal(sp_account_set(sp_account_of(&url), &s, &err), SP_INVALID);
}

static void files_of_webhdfs(void **state)
{
	sp_object_settings s = {.user = "me"};

	(void)state;
	assert_string_equal(ask("hdfs://nn:8020/m/x y", &s, &bytes),
			    "http://nn:9870/webhdfs/v1/m/x%20y?op=OPEN&offset=5&length=10&"
			    "user.name=me");
	assert_true(request.may_redirect);
	s.token = "T/+";
	assert_string_equal(ask("swebhdfs://nn/m", &s, &tree),
			    "https://nn:9871/webhdfs/v1/m?op=LISTSTATUS&delegation=T%2F%2B");
	s.endpoint = "gateway:50070";
	assert_string_equal(ask("webhdfs://nn:1/m", &s, &(sp_object_op){.kind = SP_OBJECT_OP_STAT}),
			    "http://gateway:50070/webhdfs/v1/m?op=GETFILESTATUS&delegation=T%2F%"
			    "2B");
}

static void files_of_web_servers(void **state)
{
	const sp_object_settings s = {0};

	(void)state;
	assert_string_equal(ask("http://h:80/a%20b/c d", &s, &bytes), "http://h/a%20b/c%20d");
	assert_false(request.may_redirect);
	assert_string_equal(ask("https://h:8443/m", &s, &(sp_object_op){.kind = SP_OBJECT_OP_LIST}),
			    "https://h:8443/m/");
	assert_false(request.is_conditional);
	(void)ask("https://h:8443/m", &s,
		  &(sp_object_op){.kind = SP_OBJECT_OP_LIST,
				  .if_none_match = "W/\"t\"",
				  .if_modified_since = "Fri, 27 Nov 2026 07:00:00 GMT"});
	assert_true(request.is_conditional);
	assert_string_equal(header("if-none-match"), "W/\"t\"");
	assert_string_equal(header("if-modified-since"), "Fri, 27 Nov 2026 07:00:00 GMT");
	(void)ask("https://h:8443/m", &s, &(sp_object_op){.kind = SP_OBJECT_OP_STAT});
	assert_string_equal(request.method, "HEAD");
}

static void a_store_that_fails_is_left_alone_for_a_while(void **state)
{
	const sp_error why = {.status = SP_IO, .text = "down"};
	sp_object_url url;
	sp_account *account;

	(void)state;
	assert_int_equal(sp_object_url_parse(&url, "http://h/m", &err), SP_OK);
	account = sp_account_of(&url);
	assert_int_equal(sp_account_check_breaker(account, &err), SP_OK);
	sp_account_report_failure(account, &why);
	assert_int_equal(sp_account_check_breaker(account, &err), SP_IO);
	assert_string_equal(err.text, "down");
	sp_account_report_success(account);
	assert_int_equal(sp_account_check_breaker(account, &err), SP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(buckets_of_s3, tear_down),
		cmocka_unit_test_teardown(buckets_of_oss, tear_down),
		cmocka_unit_test_teardown(files_of_webhdfs, tear_down),
		cmocka_unit_test_teardown(files_of_web_servers, tear_down),
		cmocka_unit_test_teardown(a_store_that_fails_is_left_alone_for_a_while, tear_down),
	};

	/* Nothing of whoever runs the test. */
	unsetenv("AWS_ENDPOINT_URL");
	unsetenv("AWS_ENDPOINT_URL_S3");
	unsetenv("S3_ENDPOINT");
	unsetenv("WEBHDFS_DELEGATION_TOKEN");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
