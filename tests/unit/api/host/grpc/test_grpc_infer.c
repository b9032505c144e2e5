#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/grpc/grpc_infer.h"
#include "base/alloc.h"

#define BYTES(text) ((sp_bytes){text, sizeof(text) - 1})

static void expect(sp_bytes id, const char *text, sp_bytes want)
{
	sp_buffer out;

	sp_grpc__stream_error(&out, id, text);
	assert_false(out.failed);
	assert_int_equal(out.size, want.size);
	assert_memory_equal(out.data, want.data, want.size);
	sp_buffer_fini(&out);
}

static void an_error_is_a_message_with_the_id_of_the_request(void **state)
{
	(void)state;
	expect(BYTES("id"), "wrong", BYTES("\0\0\0\0\x0d\x0a\5wrong\x12\4\x1a\2id"));
	expect(BYTES(""), "wrong", BYTES("\0\0\0\0\x09\x0a\5wrong\x12\0"));
}

/* A text of protobuf is UTF-8: a reader would refuse the whole answer. */
static void an_error_is_utf8_whatever_its_text(void **state)
{
	(void)state;
	expect(BYTES(""), "a\xc3\xa4\xc3", BYTES("\0\0\0\0\x08\x0a\4a\xc3\xa4?\x12\0"));
	expect(BYTES(""), "\xff\n", BYTES("\0\0\0\0\x06\x0a\2??\x12\0"));
}

static void no_memory_is_told(void **state)
{
	sp_buffer out;

	(void)state;
	sp_alloc_fail_after(0);
	sp_grpc__stream_error(&out, BYTES("id"), "wrong");
	sp_alloc_fail_after(-1);
	assert_true(out.failed);
	sp_buffer_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_is_a_message_with_the_id_of_the_request),
		cmocka_unit_test(an_error_is_utf8_whatever_its_text),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests_name("grpc_infer", tests, NULL, NULL);
}
