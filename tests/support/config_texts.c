#include "tests/support/config_texts.h"

#include "tests/support/cmocka.h"

sp_config sp_test_config_parse(const char *json)
{
	sp_config config;
	sp_error err;

	assert_ok(sp_config_parse(&config, json, &err), &err);
	return config;
}

void sp_test_config_refuse(const char *json, sp_status status, const char *text)
{
	sp_config config;
	sp_error err;

	assert_int_equal(sp_config_parse(&config, json, &err), status);
	assert_string_equal(err.text, text);
	assert_null(config.arena);
}
