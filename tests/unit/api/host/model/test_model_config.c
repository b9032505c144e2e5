#include "tests/support/cmocka.h"

#include <string.h>

#include "api/host/model/model_config.h"

static sp_error err;

static sp_model_configs *parse(const char *text)
{
	sp_model_configs *configs;

	assert_ok(sp_model_configs_parse(&configs, sp_bytes_of(text), &err), &err);
	return configs;
}

static void tensorflow_servings_form(void **state)
{
	sp_model_configs *configs = parse(
		"model_config_list {\n"
		"  config { name: 'a' base_path: '/m/a' model_platform: 'tensorflow'\n"
		"    model_version_policy { specific { versions: 3 versions: [1, 2] } }\n"
		"    version_labels { key: 'stable' value: 1 }\n"
		"    version_labels { key: 'canary' value: 2 }\n"
		"    logging_config { log_collector_config { type: 'file' filename_prefix: "
		"'/l/a' } sampling_config { sampling_rate: 0.1 } } }\n"
		"  config: { name: 'b', base_path: '/m/b',\n"
		"    model_version_policy: { latest: { num_versions: 2 } } }\n"
		"  config { name: 'c' base_path: 's' model_version_policy { all {} } }\n"
		"  config { name: 'd' base_path: 's' model_type: TENSORFLOW }\n"
		"}\n");
	const sp_model_config *c = configs->items;

	(void)state;
	assert_int_equal(configs->count, 4);
	assert_string_equal(c->name, "a");
	assert_string_equal(c->base_path, "/m/a");
	assert_int_equal(c->policy.kind, SP_POLICY_SPECIFIC);
	assert_int_equal(c->policy.specific_count, 3);
	assert_int_equal(c->policy.specific[2], 2);
	assert_int_equal(c->label_count, 2);
	assert_string_equal(c->labels[1].label, "canary");
	assert_int_equal(c->labels[1].version, 2);
	assert_string_equal(c->samples.type, "file");
	assert_string_equal(c->samples.prefix, "/l/a");
	assert_true(c->samples.rate == 0.1);
	assert_true(c[1].samples.rate == 0);
	assert_int_equal(c[1].policy.kind, SP_POLICY_LATEST);
	assert_int_equal(c[1].policy.latest, 2);
	assert_int_equal(c[2].policy.kind, SP_POLICY_ALL);
	assert_int_equal(c[3].policy.kind, SP_POLICY_LATEST);
	assert_int_equal(c[3].policy.latest, 1);
	sp_model_configs_destroy(configs);
	configs = parse("");
	assert_int_equal(configs->count, 0);
	sp_model_configs_destroy(configs);
}

static void the_form_in_json(void **state)
{
	sp_model_configs *configs = parse(
		" { \"models\": [{\"name\": \"a\", \"base_path\": \"/m/a\","
		"\"version_policy\": {\"specific\": [1, 2]},"
		"\"version_labels\": {\"canary\": 2, \"stable\": \"newest\"},"
		"\"split\": {\"shares\": [{\"label\": \"canary\", \"percent\": 5}],"
		" \"sticky_header\": \"x-user\", \"sticky_field\": \"user_id\"},"
		"\"shadow\": {\"version\": 2, \"percent\": 10, \"tolerance\": 0.01},"
		"\"logging_config\": {\"log_collector_config\": {\"filename_prefix\": \"/l\"},"
		" \"sampling_config\": {\"sampling_rate\": 1}},"
		"\"session_num\": 3},"
		"{\"name\": \"b\", \"processor_config\": {\"checkpoint_dir\": \"/c\"}},"
		"{\"name\": \"c\", \"base_path\": \"/c\", \"version_policy\": \"all\","
		"\"shadow\": {\"label\": \"next\", \"percent\": 5},"
		"\"batching\": {\"max_batch_size\": 64, \"allowed_batch_sizes\": [16, 64]}}]}");
	const sp_model_config *c = configs->items;

	(void)state;
	assert_int_equal(configs->count, 3);
	assert_int_equal(c->policy.kind, SP_POLICY_SPECIFIC);
	assert_int_equal(c->labels[1].version, -1);
	assert_int_equal(c->traffic.share_count, 1);
	assert_string_equal(c->traffic.shares[0].label, "canary");
	assert_true(c->traffic.shares[0].percent == 5);
	assert_string_equal(c->traffic.header, "x-user");
	assert_string_equal(c->traffic.field, "user_id");
	assert_int_equal(c->traffic.shadow.version, 2);
	assert_true(c->traffic.tolerance == 0.01);
	assert_int_equal(c->session_num, 3);
	assert_string_equal(c->samples.prefix, "/l");
	assert_true(c->samples.rate == 1);
	assert_string_equal(c[1].processor_config, "{\"checkpoint_dir\": \"/c\"}");
	assert_null(c[1].base_path);
	assert_int_equal(c[2].policy.kind, SP_POLICY_ALL);
	assert_string_equal(c[2].traffic.shadow.label, "next");
	assert_int_equal(c[2].traffic.shadow.version, -1);
	assert_null(c[1].batching);
	assert_true(c[2].batching->enabled);
	assert_int_equal(c[2].batching->max_batch_size, 64);
	assert_int_equal(c[2].batching->allowed_count, 2);
	assert_int_equal(c[2].batching->max_enqueued_batches, 10);
	sp_model_configs_destroy(configs);
}

#define LIST(models) "model_config_list {" models "}"
#define PARSING      "Error parsing text-format tensorflow.serving.ModelServerConfig: "
#define PARSING_JSON "Error parsing the JSON configuration of models: "

static void what_is_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"what is this", PARSING "1:6: expected a colon"},
		{LIST("confg {}"),
		 PARSING "1:26: Message type \"tensorflow.serving.ModelConfigList\" has no field "
			 "named \"confg\""},
		{LIST("config { nme: 'a' }"), "ModelConfig\" has no field named \"nme\""},
		{LIST("config { name: 'a' base_path: '/' model_version_policy { latest {} all {} "
		      "}}"),
		 "one policy only"},
		{LIST("config { name: 'a' base_path: '/' model_version_policy { specific {} } }"),
		 "there are no versions"},
		{LIST("config { name: 'a' base_path: '/' version_labels { key: 'x' value: -1 } }"),
		 "a version is not negative"},
		{LIST("config { base_path: '/' }"), "a model has no name"},
		{LIST("config { name: 'a' }"), "model a has no base_path"},
		{LIST("config { name: 'a' base_path: '/' model_platform: 'caffe' }"),
		 "unsupported model_platform \"caffe\""},
		{LIST("config { name: 'a' base_path: '/' } config { name: 'a' base_path: '/b' }"),
		 "Illegal to list model a multiple times"},
		{LIST("config { name: 'a' base_path: '/' logging_config { sampling_config { "
		      "sampling_rate: 1.5 } } }"),
		 "not a rate from 0 to 1"},
		{LIST("config { name: 'a' base_path: '/' logging_config { path: '/l' } }"),
		 "LoggingConfig\" has no field named \"path\""},
		{"custom_model_config {}", "only model_config_list is supported"},
		{"{\"models\": [{\"name\": \"a\", \"x\": 1}]}", PARSING_JSON "1:32: Message type"},
		{"{\"models\": [{\"name\": \"a\"", PARSING_JSON "JSON Parse error"},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"version_policy\": "
		 "\"x\"}]}",
		 "expected \"all\" or \"latest\""},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"processor_config\": "
		 "{}}]}",
		 "exclude each other"},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"split\": {\"shares\": ["
		 "{\"version\": 1, \"percent\": 60}, {\"version\": 2, \"percent\": 60}]}}]}",
		 "more than 100 %"},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"split\": {\"shares\": ["
		 "{\"percent\": 60}]}}]}",
		 "either a label or a version"},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"shadow\": "
		 "{\"percent\": 60}}]}",
		 "either a label or a version"},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"batching\": "
		 "{\"num_batch_threads\": 2}}]}",
		 "has no field named \"num_batch_threads\""},
		{"{\"models\": [{\"name\": \"a\", \"base_path\": \"/\", \"batching\": "
		 "{\"max_batch_size\": 0}}]}",
		 "out of range"},
		{"{\"models\": [{\"name\": \"a\", \"processor_config\": \"/no/such/file\"}]}",
		 "/no/such/file"},
	};
	sp_model_configs *configs;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_not_equal(
			sp_model_configs_parse(&configs, sp_bytes_of(cases[i].text), &err), SP_OK);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	assert_int_equal(sp_model_configs_read(&configs, &text, "/no/such/file", &err),
			 SP_NOT_FOUND);
}

static void a_copy_has_nothing_of_the_first(void **state)
{
	sp_model_configs *first = parse(
		"{\"models\": [{\"name\": \"a\", \"base_path\": \"/m/a\", \"signature_name\": "
		"\"s\","
		"\"version_policy\": {\"specific\": [1, 2, 3]},"
		"\"version_labels\": {\"canary\": 2, \"stable\": \"newest\"},"
		"\"split\": {\"shares\": [{\"label\": \"stable\", \"percent\": 5}]},"
		"\"logging_config\": {\"log_collector_config\": {\"filename_prefix\": \"/l\"}},"
		"\"batching\": {\"max_batch_size\": 64}},"
		"{\"name\": \"b\", \"base_path\": \"/b\", \"version_labels\": {\"canary\": 2}}]}");
	const sp_configured_label label = {"next", 3};
	sp_model_configs *copy, *again;
	sp_model_config *c;

	(void)state;
	assert_ok(sp_model_configs_add_traffic(first, "canary=10", "id", NULL, NULL, &err), &err);
	assert_int_equal(first->items[1].traffic.share_count, 1);
	assert_ok(sp_model_configs_copy(&copy, first, &err), &err);
	sp_model_configs_destroy(first);
	c = sp_model_configs_find(copy, sp_bytes_of("a"));
	assert_string_equal(c->base_path, "/m/a");
	assert_string_equal(c->signature_name, "s");
	assert_int_equal(c->policy.specific[2], 3);
	assert_string_equal(c->traffic.shares[0].label, "stable");
	assert_null(c->traffic.field); /* a flag has said it */
	assert_string_equal(c->samples.prefix, "/l");
	assert_int_equal(c->batching->max_batch_size, 64);
	assert_ok(sp_model_config_set_label(c, &label, copy->arena, &err), &err);
	assert_int_equal(c->label_count, 3);
	assert_string_equal(c->labels[0].label, "canary");
	assert_string_equal(c->labels[2].label, "next");
	/* Flags are added to what has a share's label by now. */
	assert_int_equal(copy->items[1].traffic.share_count, 0);
	assert_ok(sp_model_configs_add_traffic(copy, "canary=10", "id", NULL, NULL, &err), &err);
	assert_int_equal(copy->items[1].traffic.share_count, 1);
	assert_string_equal(copy->items[0].traffic.field, "id");
	assert_null(sp_model_configs_find(copy, sp_bytes_of("c")));
	assert_ok(sp_model_configs_copy(&again, copy, &err), &err);
	assert_int_equal(again->items[0].label_count, 3);
	sp_model_configs_destroy(again);
	sp_model_configs_destroy(copy);
}

static void one_model_in_json(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: it is taken */
	} cases[] = {
		{"{\"base_path\": \"/a\", \"session_num\": 3}", NULL},
		{"{\"name\": \"a\", \"base_path\": \"/a\", \"session_num\": 3}", NULL},
		{"{\"name\": \"b\", \"base_path\": \"/a\"}", "it is that of model b"},
		{"{\"base_path\": \"/a\", \"logging_config\": {}}", "where files are written"},
		{"{\"models\": [1]}", "has no field named \"models\""},
		{"[]", "configuration of model a"},
		{"", "configuration of model a"},
	};
	sp_model_configs *configs = sp_model_configs_create(1);
	sp_model_config *c = configs->items;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sp_status status = sp_model_config_parse(c, "a", sp_bytes_of(cases[i].text),
							 configs->arena, &err);

		if (cases[i].want == NULL) {
			assert_ok(status, &err);
			assert_string_equal(c->base_path, "/a");
			assert_int_equal(c->session_num, 3);
			assert_int_equal(c->policy.latest, 1);
			assert_true(c->samples.stays);
		} else if (status != SP_INVALID || strstr(err.text, cases[i].want) == NULL) {
			fail_msg("%s: %s", cases[i].text, err.text);
		}
	}
	sp_model_configs_destroy(configs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensorflow_servings_form),
		cmocka_unit_test(the_form_in_json),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(a_copy_has_nothing_of_the_first),
		cmocka_unit_test(one_model_in_json),
	};

	return cmocka_run_group_tests_name("model_config", tests, NULL, NULL);
}
