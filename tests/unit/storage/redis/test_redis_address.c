#include "tests/support/cmocka.h"

#include <string.h>

#include "storage/redis/redis_address.h"

static sp_error err;
static sp_redis_address address;

static void check(const char *text, size_t count, const char *host, int port, const char *user,
		  const char *password, int64_t db)
{
	assert_ok(sp_redis_address_parse(&address, text, &err), &err);
	assert_int_equal(address.count, count);
	assert_string_equal(address.servers[count - 1].host, host);
	assert_int_equal(address.servers[count - 1].port, port);
	assert_string_equal(address.user, user);
	assert_string_equal(address.password, password);
	assert_int_equal(address.db, db);
}

static void all_forms_are_read(void **state)
{
	(void)state;
	check("10.0.0.1:7000", 1, "10.0.0.1", 7000, "", "", 0);
	check("cache", 1, "cache", SP_REDIS_PORT, "", "", 0);
	check("a:1,b:2,c:3", 3, "c", 3, "", "", 0);
	check("[::1]:7000", 1, "::1", 7000, "", "", 0);
	check("[fe80::1]", 1, "fe80::1", SP_REDIS_PORT, "", "", 0);
	check("redis://h", 1, "h", SP_REDIS_PORT, "", "", 0);
	check("redis://h:1/", 1, "h", 1, "", "", 0);
	check("redis://:pw@h:1/3", 1, "h", 1, "", "pw", 3);
	check("redis://user:p%40w%2f@a:1,b:2", 2, "b", 2, "user", "p@w/", 0);
	check("redis://user@h", 1, "h", SP_REDIS_PORT, "user", "", 0);
	check("redis://:a@b@h:5", 1, "h", 5, "", "a@b", 0);
	check("unix:/run/redis.sock", 1, "/run/redis.sock", 0, "", "", 0);
	check("unix:///run/redis.sock", 1, "/run/redis.sock", 0, "", "", 0);
}

static void wrong_ones_are_refused_and_not_shown(void **state)
{
	static const char *const wrong[] = {
		"",
		"h:0",
		"h:65536",
		"h:1x",
		"h:",
		"a:1,",
		",a:1",
		"[::1",
		"[::1]7000",
		"[]:1",
		"redis://",
		"s3cr3t@h",
		"u:s3cr3t@h:1",
		"a:1,s3cr3t@h:1",
		"redis://a:1,s3cr3t@",
		"redis://:s3cr3t@",
		"redis://:s3cr3t%0@h",
		"redis://:s3cr3t%00@h",
		"redis://:s3cr3t@h:1/x",
		"redis://:s3cr3t@h:1/99999999999999999999",
		"redis://:s3cr3t@h:port",
		"unix:",
		"unix://",
		"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(sp_redis_address_parse(&address, wrong[i], &err), SP_INVALID);
		assert_null(strstr(err.text, "s3cr3t"));
	}
	assert_int_equal(sp_redis_address_parse(&address, "rediss://:s3cr3t@h", &err),
			 SP_UNSUPPORTED);
	assert_non_null(strstr(err.text, "TLS"));
	assert_null(strstr(err.text, "s3cr3t"));
}

static void long_parts_are_refused(void **state)
{
	char text[2048];

	(void)state;
	memset(text, 'h', SP_REDIS_HOST_SIZE);
	text[SP_REDIS_HOST_SIZE] = '\0';
	assert_int_equal(sp_redis_address_parse(&address, text, &err), SP_INVALID);
	text[SP_REDIS_HOST_SIZE - 1] = '\0';
	assert_ok(sp_redis_address_parse(&address, text, &err), &err);
	strcpy(text, "redis://:");
	memset(text + 9, 'p', SP_REDIS_SECRET_SIZE);
	strcpy(text + 9 + SP_REDIS_SECRET_SIZE, "@h");
	assert_int_equal(sp_redis_address_parse(&address, text, &err), SP_INVALID);
	memset(text, 'x', SP_REDIS_SECRET_SIZE);
	text[SP_REDIS_SECRET_SIZE] = '\0';
	assert_int_equal(sp_redis_address_set_user(&address, NULL, text, &err), SP_INVALID);
}

static void secrets_are_replaced_and_overwritten(void **state)
{
	(void)state;
	assert_ok(sp_redis_address_parse(&address, "redis://u:p@h", &err), &err);
	assert_ok(sp_redis_address_set_user(&address, NULL, "other", &err), &err);
	assert_string_equal(address.user, "u");
	assert_string_equal(address.password, "other");
	sp_redis_address_fini(&address);
	assert_string_equal(address.password, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms_are_read),
		cmocka_unit_test(wrong_ones_are_refused_and_not_shown),
		cmocka_unit_test(long_parts_are_refused),
		cmocka_unit_test(secrets_are_replaced_and_overwritten),
	};
	return cmocka_run_group_tests_name("redis_address", tests, NULL, NULL);
}
