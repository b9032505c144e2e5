#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/grpc/grpc_protocol.h"

static void content_types_are_told_apart(void **state)
{
	static const char *const good[] = {"application/grpc", "application/grpc+proto",
					   "application/grpc;charset=utf-8"};
	static const char *const bad[] = {"", "application/grp", "application/grpc-web",
					  "application/json", "text/application/grpc"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(sp_grpc_is_content_type(sp_bytes_of(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sp_grpc_is_content_type(sp_bytes_of(bad[i])));
	assert_false(sp_grpc_is_content_type((sp_bytes){NULL, 0}));
}

static void timeouts_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{"1n", 1},
		{"2u", 2000},
		{"100m", INT64_C(100000000)},
		{"5S", INT64_C(5000000000)},
		{"1M", INT64_C(60000000000)},
		{"1H", INT64_C(3600000000000)},
		{"0m", 0},
		{"99999999H", INT64_MAX / 2},
		{"99999999n", 99999999},
	};
	static const char *const bad[] = {"",    "m",    "1",  "-1m",        "+1m", " 1m",
					  "1 m", "1.5S", "1x", "123456789m", "1mm"};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(sp_grpc_timeout(sp_bytes_of(good[i].text), &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sp_grpc_timeout(sp_bytes_of(bad[i]), &ns));
}

static void messages_are_percent_encoded(void **state)
{
	char out[20];

	(void)state;
	sp_grpc_message(out, sizeof(out), "a b%\n\xc3\xa4");
	assert_string_equal(out, "a b%25%0A%C3%A4");
	sp_grpc_message(out, sizeof(out), "0123456789012345678901234567890");
	assert_string_equal(out, "01234567890123456");
	sp_grpc_message(out, sizeof(out), "012345678901234%%%");
	assert_string_equal(out, "012345678901234%25");
	sp_grpc_message(out, sizeof(out), "space at the end  ");
	assert_string_equal(out, "space at the end");
	sp_grpc_message(out, sizeof(out), "");
	assert_string_equal(out, "");
}

static void statuses_have_codes(void **state)
{
	(void)state;
	assert_int_equal(sp_grpc_code_of(SP_INVALID), 3);
	assert_int_equal(sp_grpc_code_of(SP_DEADLINE), 4);
	assert_int_equal(sp_grpc_code_of(SP_NOT_FOUND), 5);
	assert_int_equal(sp_grpc_code_of(SP_BUSY), 8);
	assert_int_equal(sp_grpc_code_of(SP_NO_MEMORY), 8);
	assert_int_equal(sp_grpc_code_of(SP_UNSUPPORTED), 12);
	assert_int_equal(sp_grpc_code_of(SP_INTERNAL), 13);
	assert_int_equal(sp_grpc_code_of(SP_IO), 14);
	assert_int_equal(sp_grpc_code_of_http(400), 3);
	assert_int_equal(sp_grpc_code_of_http(408), 4);
	assert_int_equal(sp_grpc_code_of_http(413), 8);
	assert_int_equal(sp_grpc_code_of_http(431), 8);
	assert_int_equal(sp_grpc_code_of_http(503), 8);
	assert_int_equal(sp_grpc_code_of_http(504), 4);
	assert_int_equal(sp_grpc_code_of_http(500), 13);
	assert_int_equal(sp_grpc_code_of_http(418), 2);
	assert_int_equal(sp_grpc_http_status(SP_GRPC_NOT_FOUND), 404);
	assert_int_equal(sp_grpc_http_status(SP_GRPC_DATA_LOSS), 500);
}

static void frames_are_read(void **state)
{
	static const char two[] = "\0\0\0\0\2hi\1\0\0\0\1x";
	const size_t size = sizeof(two) - 1;
	sp_grpc_frame frame;

	(void)state;
	assert_int_equal(sp_grpc_frame_read(&frame, (sp_bytes){two, size}), SP_GRPC_READ_DONE);
	assert_false(frame.compressed);
	assert_int_equal(frame.size, 7);
	assert_true(sp_bytes_equal_text(frame.message, "hi"));
	assert_int_equal(sp_grpc_frame_read(&frame, (sp_bytes){two + 7, size - 7}),
			 SP_GRPC_READ_DONE);
	assert_true(frame.compressed);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(sp_grpc_frame_read(&frame, (sp_bytes){two, i}), SP_GRPC_READ_MORE);
		assert_int_equal(frame.size, i < 5 ? 5 : 7);
	}
	assert_int_equal(sp_grpc_frame_read(&frame, (sp_bytes){"\2", 1}), SP_GRPC_READ_BAD);
	assert_int_equal(sp_grpc_frame_read(&frame, (sp_bytes){"\0\xff\xff\xff\xff", 5}),
			 SP_GRPC_READ_MORE);
	assert_int_equal(frame.size, 5 + (size_t)UINT32_MAX);
}

static void frames_are_written(void **state)
{
	sp_buffer out;

	(void)state;
	sp_buffer_init(&out, 1000);
	sp_grpc_frame_begin(&out);
	for (int i = 0; i < 300; i++)
		sp_buffer_append_char(&out, 'x');
	sp_grpc_frame_end(&out, true);
	assert_int_equal(out.size, 305);
	assert_memory_equal(out.data, "\1\0\0\1\x2cx", 6);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_types_are_told_apart),
		cmocka_unit_test(timeouts_are_read),
		cmocka_unit_test(messages_are_percent_encoded),
		cmocka_unit_test(statuses_have_codes),
		cmocka_unit_test(frames_are_read),
		cmocka_unit_test(frames_are_written),
	};

	return cmocka_run_group_tests_name("grpc_protocol", tests, NULL, NULL);
}
