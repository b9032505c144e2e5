#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "object_store/credentials.h"
#include "object_store/listing.h"

static sp_arena *arena;
static sp_listing list;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(4096);
	list = (sp_listing){.arena = arena};
	return arena == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

static sp_status read_xml(const char *text, const char *prefix)
{
	return sp_listing_read_xml(&list, sp_bytes_of(text), prefix, &err);
}

/* "a,b/" */
static void expect_names(const char *wanted)
{
	sp_buffer names;

	sp_buffer_init(&names, 10000);
	sp_buffer_append_text(&names, "");
	for (size_t i = 0; i < list.count; i++)
		sp_buffer_printf(&names, "%s%s%s", i != 0 ? "," : "", list.items[i].name,
				 list.items[i].is_folder ? "/" : "");
	assert_string_equal(names.size != 0 ? names.data : "", wanted);
	sp_buffer_fini(&names);
}

#define LIST(body)                                               \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>"             \
	"<ListBucketResult xmlns=\"http://s3.amazonaws.com/x\">" \
	"<Name>b</Name><Prefix>m/</Prefix>" body "</ListBucketResult>"
#define OBJECT(key)                                                                \
	"<Contents><Key>" key "</Key><LastModified>2009-10-12T17:50:30.000Z</"     \
	"LastModified>"                                                            \
	"<ETag>&quot;fba9&quot;</ETag><Size>434234</Size><StorageClass>STANDARD</" \
	"StorageClass></Contents>"

static void objects_of_s3(void **state)
{
	(void)state;
	assert_int_equal(
		read_xml(LIST("<IsTruncated>false</IsTruncated>" OBJECT("m/1/saved_model.pb")
				      OBJECT("m/a &amp; b") OBJECT("m/2/") OBJECT("other/x")
					      OBJECT("m/../x") OBJECT("m/a//b") OBJECT("m/")),
			 "m/"),
		SP_OK);
	expect_names("1/saved_model.pb,a & b,2/");
	assert_int_equal(list.items[0].size, 434234);
	assert_int_equal(list.items[0].modified_s, 1255369830);
	assert_string_equal(list.items[0].etag, "\"fba9\"");
	assert_true(list.items[0].identity != 0);
	assert_false(list.has_more);
}

static void pages_and_folders(void **state)
{
	(void)state;
	assert_int_equal(read_xml(LIST("<IsTruncated>true</IsTruncated>"
				       "<NextContinuationToken>1/+=</NextContinuationToken>"
				       "<CommonPrefixes><Prefix>m/7/</Prefix></CommonPrefixes>"),
				  "m/"),
			 SP_OK);
	expect_names("7/");
	assert_true(list.has_more);
	assert_string_equal(list.next, "1/+=");
	/* The next page, as OSS has it. */
	assert_int_equal(read_xml(LIST("<IsTruncated>true</IsTruncated>"
				       "<NextMarker>m/8</NextMarker>" OBJECT("m/8")),
				  "m/"),
			 SP_OK);
	expect_names("7/,8");
	assert_string_equal(list.next, "m/8");
	assert_int_equal(read_xml(LIST("<IsTruncated>true</IsTruncated>"), "m/"), SP_CORRUPT);
}

static void documents_that_are_no_list(void **state)
{
	static const char *const cases[] = {
		"",
		"<",
		"<html></html>",
		"<ListBucketResult><Contents>",
		"<!DOCTYPE x [<!ENTITY a 'b'>]><ListBucketResult></ListBucketResult>",
		"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a>"};
	char code[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(read_xml(cases[i], ""), SP_CORRUPT);
	assert_int_equal(read_xml("<Error><Code>SlowDown</Code></Error>", ""), SP_IO);
	assert_non_null(strstr(err.text, "SlowDown"));
	sp_listing_error_code(code, sp_bytes_of("<Error><Code>NoSuchKey</Code><Key>s</Key>"));
	assert_string_equal(code, "NoSuchKey");
	sp_listing_error_code(code, sp_bytes_of("not found"));
	assert_string_equal(code, "");
}

static sp_status read_json(const char *text)
{
	return sp_listing_read_json(&list, sp_bytes_of(text), &err);
}

static void files_of_webhdfs(void **state)
{
	(void)state;
	assert_int_equal(
		read_json("{\"FileStatuses\": {\"FileStatus\": [{\"pathSuffix\": \"a.index\", "
			  "\"type\": \"FILE\", \"length\": 24930, \"fileId\": 7, "
			  "\"modificationTime\": 1320171722771}, {\"pathSuffix\": \"..\", "
			  "\"type\": \"FILE\"}, {\"pathSuffix\": \"v1\", \"type\": \"DIRECTORY\", "
			  "\"length\": 0}, {\"pathSuffix\": 5}, 7]}}"),
		SP_OK);
	expect_names("a.index,v1/");
	assert_int_equal(list.items[0].size, 24930);
	assert_int_equal(list.items[0].modified_s, 1320171722);
	assert_int_equal(read_json("{\"FileStatus\": {\"type\": \"FILE\", \"length\": 3}}"), SP_OK);
	assert_string_equal(list.items[2].name, "");
	assert_int_equal(list.items[2].size, 3);
	assert_int_equal(
		read_json("{\"RemoteException\": {\"exception\": \"FileNotFoundException\"}}"),
		SP_NOT_FOUND);
	assert_int_equal(read_json("{\"RemoteException\": {\"exception\": \"StandbyException\"}}"),
			 SP_IO);
	assert_int_equal(read_json("{}"), SP_CORRUPT);
	assert_int_equal(read_json("<html>"), SP_CORRUPT);
}

static sp_status read_html(const char *text)
{
	return sp_listing_read_html(&list, sp_bytes_of(text), "/m%20x/", &err);
}

static void pages_of_web_servers(void **state)
{
	(void)state;
	/* nginx, Python's http.server, Apache with sorting links. */
	assert_int_equal(
		read_html("<html><body><h1>Index of /m x/</h1><hr><pre><a href=\"../\">../</a>\n"
			  "<a href=\"1/\">1/</a>  27-Nov-2026 01:02  -\n"
			  "<a href=\"a%20%26%20b\">a &amp; b</a>  27-Nov-2026 01:02  12\n</pre>"),
		SP_OK);
	assert_int_equal(read_html("<!DOCTYPE HTML><ul><li><a href='.hidden'>.hidden</a></li>"
				   "<li><A class=\"x\" HREF=\"./x&amp;y\">x</A></li></ul>"
				   "<a href=\"?C=N;O=D\">Name</a><a href=\"/\">Parent</a>"
				   "<a href=\"/m%20x/whole\">w</a><a href=\"/other/q\">q</a>"
				   "<a href=\"http://elsewhere/z\">z</a><a href=\"x/y\">deep</a>"
				   "<a name=\"n\">n</a><a href=\"unclosed"),
			 SP_OK);
	expect_names("1/,a & b,.hidden,x&y,whole");
	assert_int_equal(read_html("{\"error\": 1}"), SP_CORRUPT);
}

static void times(void **state)
{
	(void)state;
	assert_int_equal(sp_listing_time("Fri, 27 Nov 2026 01:02:03 GMT"), 1795741323);
	assert_int_equal(sp_listing_time("2026-11-27T01:02:03Z"), 1795741323);
	assert_int_equal(sp_listing_time("yesterday"), 0);
}

static void values_of_files_with_sections(void **state)
{
	static const char text[] = "[default]\n# aws_access_key_id = no\naws_access_key_id = A\r\n"
				   "aws_secret_access_key=S=/+\n[profile x]\nregion =  eu\n";
	char *value;

	(void)state;
	value = sp_credentials_ini(sp_bytes_of(text), "default", "aws_secret_access_key");
	assert_string_equal(value, "S=/+");
	free(value);
	value = sp_credentials_ini(sp_bytes_of(text), "default", "aws_access_key_id");
	assert_string_equal(value, "A");
	free(value);
	value = sp_credentials_ini(sp_bytes_of(text), NULL, "region");
	assert_string_equal(value, "eu");
	free(value);
	assert_null(sp_credentials_ini(sp_bytes_of(text), "default", "region"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_of_s3, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_and_folders, set_up, tear_down),
		cmocka_unit_test_setup_teardown(documents_that_are_no_list, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_of_webhdfs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_of_web_servers, set_up, tear_down),
		cmocka_unit_test(times),
		cmocka_unit_test(values_of_files_with_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
