#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/model/model_config.h"
#include "tests/support/wire.h"

/* A model; the policy is a finished message under its number. */
static sp_buffer model(const char *name, uint32_t policy_kind, sp_bytes policy)
{
	sp_buffer out = sp_wire_begin(), kind = sp_wire_begin();

	sp_wire_text(&out, 1, name);
	sp_wire_text(&out, 2, "/models");
	sp_wire_text(&out, 4, "tensorflow");
	if (policy_kind != 0) {
		sp_wire_bytes(&kind, policy_kind, policy);
		sp_wire_message(&out, 7, &kind);
	} else {
		sp_buffer_fini(&kind);
	}
	return out;
}

static sp_status decode(sp_model_configs **out, sp_buffer *list, sp_error *err)
{
	sp_buffer server = sp_wire_begin(), request = sp_wire_begin();
	sp_status status;

	sp_wire_message(&server, 1, list);
	sp_wire_message(&request, 1, &server);
	status = sp_model_configs_decode(out, sp_wire_view(&request), err);
	sp_buffer_fini(&request);
	return status;
}

static void models_are_read(void **state)
{
	sp_buffer list = sp_wire_begin(), item;
	sp_model_configs *configs;
	sp_error err;

	(void)state;
	item = model("a", 0, (sp_bytes){"", 0});
	sp_wire_bytes(&item, 8, (sp_bytes){"\x0a\6stable\x10\7", 10});
	sp_wire_bytes(&item, 6, (sp_bytes){"\x0a\4\x12\2/l\x12\x09\x09\0\0\0\0\0\0\xf0\x3f", 17});
	sp_wire_message(&list, 1, &item);
	item = model("b", 100, (sp_bytes){"\x08\3", 2});
	sp_wire_message(&list, 1, &item);
	item = model("c", 101, (sp_bytes){"", 0});
	sp_wire_message(&list, 1, &item);
	item = model("d", 102, (sp_bytes){"\x0a\2\1\2\x08\3", 6});
	sp_wire_message(&list, 1, &item);
	assert_ok(decode(&configs, &list, &err), &err);
	assert_int_equal(configs->count, 4);
	assert_string_equal(configs->items[0].name, "a");
	assert_string_equal(configs->items[0].base_path, "/models");
	assert_int_equal(configs->items[0].policy.kind, SP_POLICY_LATEST);
	assert_int_equal(configs->items[0].policy.latest, 1);
	assert_int_equal(configs->items[0].label_count, 1);
	assert_string_equal(configs->items[0].labels[0].label, "stable");
	assert_int_equal(configs->items[0].labels[0].version, 7);
	assert_true(configs->items[0].samples.stays);
	assert_true(configs->items[0].samples.rate == 0);
	assert_int_equal(configs->items[1].policy.latest, 3);
	assert_int_equal(configs->items[2].policy.kind, SP_POLICY_ALL);
	assert_int_equal(configs->items[3].policy.kind, SP_POLICY_SPECIFIC);
	assert_int_equal(configs->items[3].policy.specific_count, 3);
	assert_int_equal(configs->items[3].policy.specific[2], 3);
	sp_model_configs_destroy(configs);
}

static void wrong_configurations_are_refused(void **state)
{
	sp_buffer list = sp_wire_begin(), item, many = sp_wire_begin();
	sp_model_configs *configs;
	sp_error err;

	(void)state;
	for (int i = 0; i < 2; i++) {
		item = model("a", 0, (sp_bytes){"", 0});
		sp_wire_message(&list, 1, &item);
	}
	assert_int_equal(decode(&configs, &list, &err), SP_INVALID); /* two of one name */
	list = sp_wire_begin();
	for (int i = 0; i < 2000; i++)
		sp_wire_varint(&many, 1, 1);
	item = model("a", 102, sp_wire_view(&many));
	sp_buffer_fini(&many);
	sp_wire_message(&list, 1, &item);
	assert_int_equal(decode(&configs, &list, &err), SP_INVALID);
	assert_string_equal(err.text, "versions: there are too many of them");
	list = sp_wire_begin();
	sp_wire_bytes(&list, 1, (sp_bytes){"\x0a\3\0ab", 5});
	assert_int_equal(decode(&configs, &list, &err), SP_INVALID);
	assert_int_equal(sp_model_configs_decode(&configs, (sp_bytes){"\x0a\0", 2}, &err),
			 SP_INVALID);
	assert_non_null(strstr(err.text, "Only ModelConfigList is currently supported"));
	assert_int_equal(sp_model_configs_decode(&configs, (sp_bytes){"\x0a\2\x12\0", 4}, &err),
			 SP_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_read),
		cmocka_unit_test(wrong_configurations_are_refused),
	};

	return cmocka_run_group_tests_name("config_wire", tests, NULL, NULL);
}
