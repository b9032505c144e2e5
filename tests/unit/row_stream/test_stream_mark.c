#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "row_stream/stream_mark.h"

static void offsets_and_a_time_are_read(void **state)
{
	static const char text[] = "# from the trainer\n\n timestamp_ms 1767225600000 # then\r\n"
				   "offset\tsp_rows.ctr 0 81234\n"
				   "offset sp_rows.ctr 1 5\noffset sp_rows.ctr 1 6";
	sp_stream_mark mark;
	sp_error err;

	(void)state;
	assert_ok(sp_stream_mark_parse(&mark, sp_bytes_of(text), &err), &err);
	assert_true(mark.timestamp_ms == 1767225600000);
	assert_true(sp_stream_mark_offset(&mark, "sp_rows.ctr", 0) == 81234);
	assert_true(sp_stream_mark_offset(&mark, "sp_rows.ctr", 1) == 6);
	assert_true(sp_stream_mark_offset(&mark, "sp_rows.ctr", 2) == -1);
	assert_true(sp_stream_mark_offset(&mark, "other", 0) == -1);
	sp_stream_mark_fini(&mark);
	assert_ok(sp_stream_mark_parse(&mark, sp_bytes_of(""), &err), &err);
	assert_true(mark.timestamp_ms == -1 && mark.count == 0);
}

static void wrong_lines_are_named(void **state)
{
	static const char *const wrong[] = {
		"timestamp_ms",  "timestamp_ms -1",       "timestamp_ms 1 2",
		"offset t 0",    "offset t x 1",          "offset t 0 1 2",
		"offset t 0 -5", "offset t 4294967296 1", "offset t 0 1234567890123456789",
		"something 1",
	};
	char text[600], longest[300];
	sp_stream_mark mark;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "offset t 0 1\n%s\n", wrong[i]);
		assert_int_equal(sp_stream_mark_parse(&mark, sp_bytes_of(text), &err), SP_INVALID);
		assert_non_null(strstr(err.text, "line 2"));
	}
	memset(longest, 'a', sizeof(longest));
	snprintf(text, sizeof(text), "offset %.250s 0 1", longest);
	assert_int_equal(sp_stream_mark_parse(&mark, sp_bytes_of(text), &err), SP_INVALID);
}

static void a_checkpoint_has_its_mark_beside_it(void **state)
{
	char folder[] = "/tmp/stream_mark.XXXXXX", prefix[64], path[80];
	sp_stream_mark mark;
	sp_error err;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(prefix, sizeof(prefix), "%s/model.ckpt-1", folder);
	snprintf(path, sizeof(path), "%s.row_stream", prefix);
	assert_ok(sp_stream_mark_read(&mark, prefix, &err), &err);
	assert_true(mark.timestamp_ms == -1 && mark.count == 0);
	file = fopen(path, "w");
	fputs("offset t 3 4\nwhat\n", file);
	fclose(file);
	assert_int_equal(sp_stream_mark_read(&mark, prefix, &err), SP_INVALID);
	assert_non_null(strstr(err.text, path));
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_and_a_time_are_read),
		cmocka_unit_test(wrong_lines_are_named),
		cmocka_unit_test(a_checkpoint_has_its_mark_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
