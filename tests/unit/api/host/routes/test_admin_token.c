#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/host/routes/admin_token.h"

#define TOKEN "0123456789abcdef"

static sp_admin_token token;

static int set_up(void **state)
{
	(void)state;
	sp_admin_token_init(&token);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_admin_token_fini(&token);
	return 0;
}

/* Takes the token of a file with that text. */
static sp_status read_text(const char *text, size_t size, sp_error *err)
{
	char path[] = "/tmp/sp-token-XXXXXX";
	int fd = mkstemp(path);
	sp_status status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	status = sp_admin_token_read(&token, path, err);
	unlink(path);
	return status;
}

/* Whether a head with this value of Authorization, NULL for none, has the token. */
static bool passes(const char *value)
{
	sp_http_head head = {0};

	if (value != NULL)
		head.headers[head.header_count++] = (sp_http_header){sp_bytes_of("Authorization"),
								     sp_bytes_of(value)};
	return sp_admin_token_check(&token, &head);
}

static void the_whole_token_is_needed(void **state)
{
	sp_error err;

	(void)state;
	assert_false(passes("Bearer ")); /* before there is a token */
	assert_ok(read_text(TOKEN, 16, &err), &err);
	assert_true(passes("Bearer " TOKEN));
	assert_true(passes("bearer " TOKEN));
	assert_false(passes(NULL));
	assert_false(passes(""));
	assert_false(passes("Bearer "));
	assert_false(passes(TOKEN));
	assert_false(passes("Basic " TOKEN));
	assert_false(passes("Bearer " TOKEN "0"));
	assert_false(passes("Bearer 0123456789abcdeF"));
	assert_false(passes("Bearer 1123456789abcdef"));
}

static void a_file_has_one_token(void **state)
{
	char large[2000], bearer[600] = "Bearer ";
	sp_error err;

	(void)state;
	assert_ok(read_text(TOKEN "x\r\n", 19, &err), &err);
	assert_true(passes("Bearer " TOKEN "x"));
	memset(large, 'a', sizeof(large));
	assert_ok(read_text(large, 512, &err), &err);
	memset(bearer + 7, 'a', 512);
	assert_true(passes(bearer));
	assert_int_equal(read_text(large, 513, &err), SP_INVALID);
	assert_int_equal(read_text(large, sizeof(large), &err), SP_INVALID);
	assert_int_equal(read_text("", 0, &err), SP_INVALID);
	assert_int_equal(read_text(TOKEN, 15, &err), SP_INVALID);
	assert_int_equal(read_text(TOKEN "\0" TOKEN, 33, &err), SP_INVALID);
	assert_int_equal(read_text(TOKEN " " TOKEN, 33, &err), SP_INVALID);
	assert_null(strstr(err.text, TOKEN));
	assert_int_equal(sp_admin_token_read(&token, "/none/such", &err), SP_NOT_FOUND);
	assert_true(passes(bearer)); /* what is no token does not take its place */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_token_is_needed),
		cmocka_unit_test(a_file_has_one_token),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
