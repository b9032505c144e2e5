#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/host/routes/admin_token.h"

#define TOKEN "0123456789abcdef"

static sp_arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = sp_arena_create(1 << 10);
	return arena == NULL;
}

static int tear_down(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

/* Whether a head with this value of Authorization, NULL for none, has the token. */
static bool passes(const char *token, const char *value)
{
	sp_http_head head = {0};

	if (value != NULL)
		head.headers[head.header_count++] = (sp_http_header){sp_bytes_of("Authorization"),
								     sp_bytes_of(value)};
	return sp_admin_token_check(token, &head);
}

static void the_whole_token_is_needed(void **state)
{
	(void)state;
	assert_true(passes(TOKEN, "Bearer " TOKEN));
	assert_true(passes(TOKEN, "bearer " TOKEN));
	assert_false(passes(TOKEN, NULL));
	assert_false(passes(TOKEN, ""));
	assert_false(passes(TOKEN, "Bearer "));
	assert_false(passes(TOKEN, TOKEN));
	assert_false(passes(TOKEN, "Basic " TOKEN));
	assert_false(passes(TOKEN, "Bearer " TOKEN "0"));
	assert_false(passes(TOKEN, "Bearer 0123456789abcdeF"));
	assert_false(passes(TOKEN, "Bearer 1123456789abcdef"));
	assert_true(passes(NULL, NULL));
}

static sp_status read_text(const char **token, const char *text, size_t size, sp_error *err)
{
	char path[] = "/tmp/sp-token-XXXXXX";
	int fd = mkstemp(path);
	sp_status status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	status = sp_admin_token_read(token, path, arena, err);
	unlink(path);
	return status;
}

static void a_file_has_one_token(void **state)
{
	const char *token = NULL;
	char large[2000];
	sp_error err;

	(void)state;
	assert_int_equal(read_text(&token, TOKEN, 16, &err), SP_OK);
	assert_string_equal(token, TOKEN);
	assert_int_equal(read_text(&token, TOKEN "x\r\n", 19, &err), SP_OK);
	assert_string_equal(token, TOKEN "x");
	memset(large, 'a', sizeof(large));
	assert_int_equal(read_text(&token, large, 512, &err), SP_OK);
	assert_int_equal(read_text(&token, large, 513, &err), SP_INVALID);
	assert_int_equal(read_text(&token, large, sizeof(large), &err), SP_INVALID);
	assert_int_equal(read_text(&token, "", 0, &err), SP_INVALID);
	assert_int_equal(read_text(&token, TOKEN, 15, &err), SP_INVALID);
	assert_int_equal(read_text(&token, TOKEN "\0" TOKEN, 33, &err), SP_INVALID);
	assert_int_equal(read_text(&token, TOKEN " " TOKEN, 33, &err), SP_INVALID);
	assert_null(strstr(err.text, TOKEN));
	assert_int_equal(sp_admin_token_read(&token, "/none/such", arena, &err), SP_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_token_is_needed),
		cmocka_unit_test(a_file_has_one_token),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
