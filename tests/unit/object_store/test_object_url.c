#include "tests/support/cmocka.h"

#include <string.h>

#include "object_store/object_store.h"
#include "object_store/object_url.h"

static sp_error err;

static sp_object_url parse(const char *text)
{
	sp_object_url url;

	if (sp_object_url_parse(&url, text, &err) != SP_OK)
		fail_msg("%s: %s", text, err.text);
	return url;
}

static void refuse(const char *text)
{
	sp_object_url url;

	if (sp_object_url_parse(&url, text, &err) != SP_INVALID)
		fail_msg("%s is taken", text);
}

static void each_scheme_has_its_kind(void **state)
{
	static const struct {
		const char *text, *authority, *path, *type;
		sp_object_kind kind;
		bool is_secure, is_rpc;
	} cases[] = {
		{"s3://b/a/c", "b", "a/c", "s3", SP_OBJECT_S3, true, false},
		{"oss://b", "b", "", "oss", SP_OBJECT_OSS, true, false},
		{"hdfs://n:8020/m", "n:8020", "m", "hdfs", SP_OBJECT_HDFS, false, true},
		{"webhdfs://n:50070/m/", "n:50070", "m", "hdfs", SP_OBJECT_HDFS, false, false},
		{"swebhdfs://n/m//x", "n", "m/x", "hdfs", SP_OBJECT_HDFS, true, false},
		{"http://h:80//m", "h:80", "m", "http", SP_OBJECT_HTTP, false, false},
		{"https://[::1]:8443/m n", "[::1]:8443", "m n", "https", SP_OBJECT_HTTP, true,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_object_url url = parse(cases[i].text);

		assert_int_equal(url.kind, cases[i].kind);
		assert_int_equal(url.is_secure, cases[i].is_secure);
		assert_int_equal(url.is_rpc, cases[i].is_rpc);
		assert_string_equal(url.authority, cases[i].authority);
		assert_string_equal(url.path, cases[i].path);
		assert_string_equal(sp_object_store_type(cases[i].text), cases[i].type);
	}
	assert_string_equal(sp_object_store_type("/models/m"), "local");
}

static void what_is_no_path_is_refused(void **state)
{
	static const char *const cases[] = {
		"/local",         "ftp://h/m",    "s3:///key",       "s3://a b/c",
		"s3://b:80/c",    "s3://b/../c",  "s3://b/./c",      "s3://b/a\nb",
		"http://h/m?x=1", "http://h/m#x", "oss://b\1id=x/m", "http:///m",
	};
	char text[3000];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuse(cases[i]);
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "s3://b/", 7);
	text[sizeof(text) - 1] = '\0';
	refuse(text);
}

static void a_secret_is_not_repeated(void **state)
{
	static const char *const cases[] = {"https://user:s3cr3t@h/m", "https://h/m?token=s3cr3t",
					    "oss://b\1id=x\2key=s3cr3t/m"};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		refuse(cases[i]);
		assert_null(strstr(err.text, "s3cr3t"));
	}
}

static void names_are_escaped(void **state)
{
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 1000);
	sp_object_url_escape(&out, sp_bytes_of("a/b c+\xc3\xa4%41~"), "/");
	assert_string_equal(out.data, "a/b%20c%2B%C3%A4%2541~");
	sp_buffer_clear(&out);
	sp_object_url_escape_path(&out, sp_bytes_of("a b/%41%4"));
	assert_string_equal(out.data, "a%20b/%41%254");
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_scheme_has_its_kind),
		cmocka_unit_test(what_is_no_path_is_refused),
		cmocka_unit_test(a_secret_is_not_repeated),
		cmocka_unit_test(names_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
