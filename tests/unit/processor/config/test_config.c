#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parallel.h"
#include "processor/config/config.h"
#include "processor/config/config_keys.h"
#include "session_group/session_group.h"
#include "tests/support/config_texts.h"
#include "tests/support/paths.h"

static void defaults(void **state)
{
	sp_config config = sp_test_config_parse("{" REQUIRED "}");

	(void)state;
	assert_string_equal(config.savedmodel_dir, "/m");
	assert_string_equal(config.signature_name, "serving_default");
	assert_null(config.checkpoint_dir);
	assert_null(config.warmup_file_name);
	assert_int_equal(config.session_num, sp_parallel_processors());
	assert_int_equal(config.max_waiting, 1024);
	assert_null(config.homes);
	assert_int_equal(config.select_session_policy, SP_SESSION_POLICY_MOD);
	assert_int_equal(config.session_workspace_bytes, 1 << 30);
	assert_int_equal(config.request_timeout_ms, 60000);
	assert_int_equal(config.init_timeout_minutes, 1);
	assert_false(config.reference_kernels);
	assert_false(config.embeddings.absent_keys_are_zeros);
	assert_int_equal(config.embeddings.row_formats.count, 0);
	assert_int_equal(config.embeddings.frequency_thresholds.count, 0);
	assert_null(config.embeddings.sharded_names);
	assert_true(config.embeddings.threads >= 1);
	assert_string_equal(config.model_name, "m");
	assert_int_equal(config.log_level, -1);
	assert_int_equal(config.log_format, -1);
	assert_int_equal(config.remark_count, 0);
	sp_config_fini(&config);
}

static void every_key_with_an_effect(void **state)
{
	sp_config config = sp_test_config_parse(
		"{" REQUIRED ", \"checkpoint_dir\": \"/c\", \"warmup_file_name\": \"/w\","
		"\"session_num\": 7, \"select_session_policy\": \"RR\","
		"\"session_workspace_bytes\": 4194304, \"request_timeout_ms\": 250, "
		"\"init_timeout_minutes\": -1,"
		"\"reference_kernels\": true, \"feature_store_type\": \"local\","
		"\"shard_embedding\": false, \"ev_storage_type\": 1,"
		"\"unseen_key_policy\": \"zeros\", \"model_update_intra_threads\": 3,"
		"\"model_update_rows_per_second\": 5000000}");

	(void)state;
	assert_string_equal(config.checkpoint_dir, "/c");
	assert_string_equal(config.warmup_file_name, "/w");
	assert_int_equal(config.session_num, 7);
	assert_int_equal(config.select_session_policy, SP_SESSION_POLICY_RR);
	assert_int_equal(config.session_workspace_bytes, 4194304);
	assert_int_equal(config.request_timeout_ms, 250);
	assert_int_equal(config.init_timeout_minutes, -1);
	assert_true(config.reference_kernels);
	assert_true(config.embeddings.absent_keys_are_zeros);
	assert_int_equal(config.embeddings.threads, 3);
	assert_int_equal(config.embeddings.rows_per_second, 5000000);
	sp_config_fini(&config);
}

/* The configuration of DeepRec's demo, and what its samples add. */
static void configurations_in_the_wild(void **state)
{
	sp_config config = sp_test_config_parse(
		"{ \"omp_num_threads\": 4, \"kmp_blocktime\": 0, \"feature_store_type\": "
		"\"memory\","
		"\"serialize_protocol\": \"protobuf\", \"inter_op_parallelism_threads\": 10,"
		"\"intra_op_parallelism_threads\": 10, \"init_timeout_minutes\": 1,"
		"\"signature_name\": \"serving_default\", \"read_thread_num\": 3,"
		"\"update_thread_num\": 2, \"model_store_type\": \"local\","
		"\"checkpoint_dir\": \"/tmp/checkpoint/\", \"savedmodel_dir\": "
		"\"/tmp/saved_model/\","
		"\"session_num\": 2, \"use_per_session_threads\": true, \"cpusets\": \"1,2,3;4-6\","
		"\"oss_endpoint\": \"\", \"oss_access_id\": \"\", \"oss_access_key\": \"\" }");

	(void)state;
	assert_string_equal(config.checkpoint_dir, "/tmp/checkpoint/");
	assert_int_equal(config.session_num, 2);
	sp_config_fini(&config);
	config = sp_test_config_parse("{" REQUIRED
				      ", \"omp_num_threads\": \"4\", \"warmup_file_name\": \"\"}");
	assert_null(config.warmup_file_name);
	sp_config_fini(&config);
}

static void comments_unknown_keys_nulls_and_repeats(void **state)
{
	sp_config config = sp_test_config_parse(
		"# first\n{ // one\n" REQUIRED ", /* two\n \" */ # three \"\n"
		"\"session_num\": 3, \"session_num\": 5,\n"
		"\"init_timeout_minutes\": 4, \"init_timeout_minutes\": null,\n"
		"\"warmup_file_name\": \"/a//b#c/*d\\\"#*/\",\n"
		"\"checkpoint_dir\": null, \"no_such_key\": {\"a\": [1]} } # end");

	(void)state;
	assert_int_equal(config.session_num, 5);
	assert_int_equal(config.init_timeout_minutes, 1);
	assert_string_equal(config.warmup_file_name, "/a//b#c/*d\"#*/");
	assert_null(config.checkpoint_dir);
	sp_config_fini(&config);
}

static void the_environment_asks_for_reference_kernels(void **state)
{
	sp_config config;

	(void)state;
	setenv("SP_REFERENCE_KERNELS", "1", 1);
	config = sp_test_config_parse("{" REQUIRED "}");
	assert_true(config.reference_kernels);
	sp_config_fini(&config);
	setenv("SP_REFERENCE_KERNELS", "0", 1);
	config = sp_test_config_parse("{" REQUIRED "}");
	assert_false(config.reference_kernels);
	sp_config_fini(&config);
	unsetenv("SP_REFERENCE_KERNELS");
}

static void what_is_not_json(void **state)
{
	static char longest[(1 << 20) + 2];

	(void)state;
	sp_test_config_refuse("", SP_INVALID, "the configuration is empty");
	sp_test_config_refuse(" // nothing\n", SP_INVALID, "the configuration is empty");
	sp_test_config_refuse("{\n\"a\": 1,\n\"b\": }", SP_INVALID,
			      "the configuration is not JSON: line 3");
	sp_test_config_refuse("{} x", SP_INVALID, "the configuration is not JSON: line 1");
	sp_test_config_refuse("{ /* ", SP_INVALID, "the configuration is not JSON: line 1");
	sp_test_config_refuse("{ \"a", SP_INVALID, "the configuration is not JSON: line 1");
	sp_test_config_refuse("{ \"a\\", SP_INVALID, "the configuration is not JSON: line 1");
	sp_test_config_refuse("[]", SP_INVALID, "the configuration is not a JSON object");
	sp_test_config_refuse("3", SP_INVALID, "the configuration is not a JSON object");
	memset(longest, ' ', sizeof(longest) - 1);
	sp_test_config_refuse(longest, SP_INVALID,
			      "the configuration is longer than 1048576 bytes");
	/* Nested beyond what the parser takes. */
	memset(longest, '[', 100000);
	longest[100000] = '\0';
	sp_test_config_refuse(longest, SP_INVALID, "the configuration is not JSON: line 1");
}

static void missing_and_empty_keys(void **state)
{
	(void)state;
	sp_test_config_refuse("{}", SP_INVALID, "configuration key 'savedmodel_dir' is missing");
	sp_test_config_refuse("{\"savedmodel_dir\": null}", SP_INVALID,
			      "configuration key 'savedmodel_dir' is missing");
	sp_test_config_refuse("{\"savedmodel_dir\": \"\"}", SP_INVALID,
			      "configuration key 'savedmodel_dir' must not be empty");
	sp_test_config_refuse("{\"savedmodel_dir\": \"/m\"}", SP_INVALID,
			      "configuration key 'signature_name' is missing");
	sp_test_config_refuse(WITH("\"checkpoint_dir\": \"\""), SP_INVALID,
			      "configuration key 'checkpoint_dir' must not be empty");
	sp_test_config_refuse(WITH("\"serialize_protocol\": null"), SP_INVALID,
			      "configuration key 'serialize_protocol' is missing");
}

static void wrong_types(void **state)
{
	(void)state;
	sp_test_config_refuse(WITH("\"session_num\": \"2\""), SP_INVALID,
			      "configuration key 'session_num' must be an integer, not a string");
	sp_test_config_refuse(WITH("\"session_num\": 2.5"), SP_INVALID,
			      "configuration key 'session_num' must be an integer, not a number");
	sp_test_config_refuse(WITH("\"session_num\": 1e300"), SP_INVALID,
			      "configuration key 'session_num' must be an integer, not a number");
	sp_test_config_refuse(WITH("\"signature_name\": 5"), SP_INVALID,
			      "configuration key 'signature_name' must be a string, not a number");
	sp_test_config_refuse(
		WITH("\"reference_kernels\": 1"), SP_INVALID,
		"configuration key 'reference_kernels' must be true or false, not a number");
	sp_test_config_refuse(WITH("\"cpusets\": [1]"), SP_INVALID,
			      "configuration key 'cpusets' must be a string, not an array");
	sp_test_config_refuse(WITH("\"omp_num_threads\": true"), SP_INVALID,
			      "configuration key 'omp_num_threads' must be an integer or a string, "
			      "not a boolean");
	sp_test_config_refuse(
		WITH("\"ev_storage_size\": [1, \"2\"]"), SP_INVALID,
		"configuration key 'ev_storage_size' must be an array of integers, not an array");
	sp_test_config_refuse(
		WITH("\"ev_storage_size\": {}"), SP_INVALID,
		"configuration key 'ev_storage_size' must be an array of integers, not an object");
}

static void values_out_of_range(void **state)
{
	(void)state;
	sp_test_config_refuse(WITH("\"session_num\": -1"), SP_INVALID,
			      "configuration key 'session_num' must be from 0 to 1024; it is -1");
	sp_test_config_refuse(WITH("\"session_num\": 2, \"cpusets\": \"0;1;2\""), SP_INVALID,
			      "configuration key 'cpusets' has 3 sets for 2 sessions");
	sp_test_config_refuse(
		WITH("\"cpusets\": \"0;1-\""), SP_INVALID,
		"configuration key 'cpusets': '1-' is no list of processors such as 0-3,8");
	sp_test_config_refuse(WITH("\"session_num\": 1025"), SP_INVALID,
			      "configuration key 'session_num' must be from 0 to 1024; it is 1025");
	sp_test_config_refuse(
		WITH("\"request_timeout_ms\": -1"), SP_INVALID,
		"configuration key 'request_timeout_ms' must be from 0 to 86400000; it is -1");
	sp_test_config_refuse(
		WITH("\"init_timeout_minutes\": -2"), SP_INVALID,
		"configuration key 'init_timeout_minutes' must be from -1 to 525600; it is -2");
	sp_test_config_refuse(WITH("\"session_workspace_bytes\": 1000"), SP_INVALID,
			      "configuration key 'session_workspace_bytes' must be from 1048576 to "
			      "70368744177664;"
			      " it is 1000");
	sp_test_config_refuse(
		WITH("\"select_session_policy\": \"mod\""), SP_INVALID,
		"configuration key 'select_session_policy': unknown value 'mod'; use one of: MOD "
		"RR");
	sp_test_config_refuse(
		WITH("\"feature_store_type\": \"memory local\""), SP_INVALID,
		"configuration key 'feature_store_type': unknown value 'memory local'; use one of: "
		"memory local redis cluster_redis");
	sp_test_config_refuse(
		WITH("\"ev_storage_type\": 5"), SP_INVALID,
		"configuration key 'ev_storage_type': unknown value '5'; use one of: 0 1 12");
}

static void what_only_deeprec_does(void **state)
{
	(void)state;
	sp_test_config_refuse(WITH("\"serialize_protocol\": \"flatbuffer\""), SP_UNSUPPORTED,
			      "configuration key 'serialize_protocol': 'flatbuffer' is not "
			      "supported; use one of: "
			      "protobuf");
}

static void the_type_of_the_store_and_the_paths_agree(void **state)
{
	sp_config config;

	(void)state;
	config = sp_test_config_parse(
		WITH("\"model_store_type\": \"oss\", \"savedmodel_dir\": \"oss://b/m\","
		     "\"checkpoint_dir\": \"/local\", \"oss_endpoint\": \"e\","
		     "\"oss_access_id\": \"i\", \"oss_access_key\": \"k\""));
	assert_true(sp_config_uses_store(&config));
	assert_string_equal(config.store.endpoint, "e");
	assert_string_equal(config.store.access_id, "i");
	assert_string_equal(config.store.access_key, "k");
	sp_config_fini(&config);
	config = sp_test_config_parse(
		WITH("\"model_store_type\": \"hdfs\","
		     "\"checkpoint_dir\": \"webhdfs://h:1/c\", \"store_user\": \"u\""));
	assert_string_equal(config.store.user, "u");
	assert_int_equal(config.store.timeout_ms, 60000);
	sp_config_fini(&config);
	config = sp_test_config_parse("{" REQUIRED "}");
	assert_false(sp_config_uses_store(&config));
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH("\"model_store_type\": \"oss\""), SP_INVALID,
		"configuration key 'model_store_type' is 'oss', but neither 'savedmodel_dir' nor "
		"'checkpoint_dir' leads into such a store");
	sp_test_config_refuse(WITH("\"savedmodel_dir\": \"s3://b/m\""), SP_INVALID,
			      "configuration key 'model_store_type' is 'local', but "
			      "'savedmodel_dir' leads into a "
			      "store of type 's3'");
	sp_test_config_refuse(
		WITH("\"model_store_type\": \"ftp\""), SP_INVALID,
		"configuration key 'model_store_type': unknown value 'ftp'; use one of: local oss "
		"hdfs s3 http https");
	sp_test_config_refuse(
		WITH("\"pin_file\": \"s3://b/pin\""), SP_UNSUPPORTED,
		"configuration key 'pin_file': nothing is written into object stores; use a local "
		"path");
	sp_test_config_refuse(
		WITH("\"checkpoint_dir\": \"http://u:s3cr3t@h/m\""), SP_INVALID,
		"configuration key 'checkpoint_dir': a path of http:// has a user or a query in "
		"it: "
		"credentials are taken from the configuration, the environment and files");
}

static void numbers_may_have_fractions(void **state)
{
	sp_config config;
	sp_error err;

	(void)state;
	assert_ok(sp_config_parse(&config, WITH("\"update_max_score_change\": 0.25"), &err), &err);
	assert_true(config.update_max_score_change == 0.25);
	assert_int_equal(config.model_update_nice, 2);
	assert_false(config.embeddings.ignore_new_keys);
	sp_config_fini(&config);
	assert_ok(sp_config_parse(&config, WITH("\"update_new_key\": \"ignore\""), &err), &err);
	assert_true(config.embeddings.ignore_new_keys);
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH("\"update_max_score_change\": -0.5"), SP_INVALID,
		"configuration key 'update_max_score_change' must be from 0 to 1000000000");
	sp_test_config_refuse(
		WITH("\"update_max_score_change\": \"1\""), SP_INVALID,
		"configuration key 'update_max_score_change' must be a number, not a string");
	sp_test_config_refuse(
		WITH("\"update_old_percent\": 100"), SP_INVALID,
		"configuration key 'update_old_percent' must be from 0 to 99; it is 100");
}

static void memory_may_be_short(void **state)
{
	sp_config config;
	sp_error err;

	(void)state;
	assert_ok(sp_config_parse(&config, WITH("\"id_type\": null"), &err), &err);
	assert_int_equal(config.model_update_memory_mb, 0);
	assert_int_equal(config.embeddings.bytes_per_second, 0);
	sp_config_fini(&config);
	assert_ok(sp_config_parse(&config,
				  WITH("\"model_update_memory_mb\": 4096,"
				       "\"model_update_bytes_per_second\": 100000000"),
				  &err),
		  &err);
	assert_int_equal(config.model_update_memory_mb, 4096);
	assert_int_equal(config.embeddings.bytes_per_second, 100000000);
	sp_config_fini(&config);
}

static void a_secret_is_not_repeated(void **state)
{
	sp_config config;
	sp_error err;

	(void)state;
	assert_int_equal(sp_config_parse(&config, WITH("\"oss_access_key\": [\"s3cr3t\"]"), &err),
			 SP_INVALID);
	assert_null(strstr(err.text, "s3cr3t"));
	assert_int_equal(sp_config_parse(&config,
					 "{\"model_config\": \"{\\\"oss_access_key\\\": s3cr3t}\"}",
					 &err),
			 SP_INVALID);
	assert_null(strstr(err.text, "s3cr3t"));
	assert_int_equal(sp_config_parse(&config, "{\"redis_password\": \"s3cr3t\" x}", &err),
			 SP_INVALID);
	assert_null(strstr(err.text, "s3cr3t"));
}

/* ----------------------------------------------------------------- log lines */

static void assert_name(const char *folder, const char *name)
{
	char json[500];
	sp_config config;

	snprintf(json, sizeof(json), "{" REQUIRED ", \"savedmodel_dir\": \"%s\"}", folder);
	config = sp_test_config_parse(json);
	assert_string_equal(config.model_name, name);
	sp_config_fini(&config);
}

static void a_model_has_a_name(void **state)
{
	sp_config config = sp_test_config_parse(WITH("\"model_name\": \"ctr\""));

	(void)state;
	assert_string_equal(config.model_name, "ctr");
	sp_config_fini(&config);
	assert_name("/models/ctr", "ctr");
	assert_name("/models/ctr//", "ctr");
	assert_name("/models/ctr/00017/", "ctr");
	assert_name("models/v17", "v17");
	assert_name("../ctr/.", "ctr");
	assert_name("/17", "default");
	assert_name("..", "default");
	sp_test_config_refuse(WITH("\"model_name\": \"\""), SP_INVALID,
			      "configuration key 'model_name' must not be empty");
}

static void log_lines_have_a_level_and_a_format(void **state)
{
	sp_config config = sp_test_config_parse(
		WITH("\"log_level\": \"error\", \"log_format\": \"json\""));

	(void)state;
	assert_int_equal(config.log_level, SP_LOG_ERROR);
	assert_int_equal(config.log_format, SP_LOG_JSON);
	sp_config_set_log(&config);
	assert_int_equal(sp_log_get_level(), SP_LOG_ERROR);
	sp_config_fini(&config);

	config = sp_test_config_parse(WITH("\"log_format\": \"text\""));
	sp_config_set_log(&config); /* the level stays */
	assert_int_equal(sp_log_get_level(), SP_LOG_ERROR);
	sp_log_set_level(SP_LOG_INFO);
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH("\"log_level\": \"verbose\""), SP_INVALID,
		"configuration key 'log_level': unknown value 'verbose'; use one of: debug info "
		"warning error");
	sp_test_config_refuse(
		WITH("\"log_format\": \"JSON\""), SP_INVALID,
		"configuration key 'log_format': unknown value 'JSON'; use one of: text json");
}

static void a_glance_takes_what_it_can(void **state)
{
	sp_config config;

	(void)state;
	sp_config_read_log_keys(&config,
				"{\"savedmodel_dir\": \"/models/ctr\", \"session_num\": \"x\","
				"\"log_level\": \"debug\", \"log_format\": \"xml\"}");
	assert_string_equal(config.model_name, "ctr");
	assert_int_equal(config.log_level, SP_LOG_DEBUG);
	assert_int_equal(config.log_format, -1);
	sp_config_fini(&config);
	sp_config_read_log_keys(&config, "{\"model_config\": {\"model_name\": \"inside\"}}");
	assert_string_equal(config.model_name, "inside");
	sp_config_fini(&config);
	sp_config_read_log_keys(&config, "{}");
	assert_null(config.model_name);
	sp_config_fini(&config);
	sp_config_read_log_keys(&config, "no JSON");
	assert_null(config.model_name);
	assert_int_equal(config.log_level, -1);
	sp_config_fini(&config);
}

/* ------------------------------------------------------------------ services */

static void the_json_of_a_service_holds_the_keys(void **state)
{
	/* As EAS has them, with keys of its own that mean nothing here. */
	static const char *const services[] = {
		"{\"name\": \"ctr\", \"processor_type\": \"cpp\", \"metadata\": {\"cpu\": 4},"
		"\"model_path\": \"\", \"oss_endpoint\": \"x\", \"model_config\": {" REQUIRED "}}",
		"{\"model_config\": \"{\\\"savedmodel_dir\\\": \\\"/m\\\", # first\\n"
		"\\\"signature_name\\\": \\\"serving_default\\\", \\\"model_store_type\\\": "
		"\\\"local\\\", \\\"feature_store_type\\\": \\\"memory\\\","
		"\\\"serialize_protocol\\\": \\\"protobuf\\\"}\", \"metadata.cpu\": 4}",
		"{\"platform\": \"local\", \"models\": [{\"name\": \"model1\", \"uncompress\": "
		"true,"
		"\"model_config\": {" REQUIRED "}}]}",
		"{\"model_config\": \"no JSON\", \"model_config\": {" REQUIRED "}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		sp_config config = sp_test_config_parse(services[i]);

		assert_string_equal(config.savedmodel_dir, "/m");
		assert_int_equal(config.remark_count, 0);
		sp_config_fini(&config);
	}
}

static void a_service_without_the_keys_says_where_they_belong(void **state)
{
	(void)state;
	sp_test_config_refuse(
		"{\"name\": \"ctr\", \"metadata\": {\"cpu\": 4}, \"model_path\": \"\"}", SP_INVALID,
		"the configuration is the JSON of an EAS service ('metadata', 'model_path', "
		"'name') "
		"without 'model_config': the processor's keys, such as 'savedmodel_dir', belong "
		"into "
		"that object");
	sp_test_config_refuse(
		"{\"processor\": \"x\", \"model_config\": null}", SP_INVALID,
		"the configuration is the JSON of an EAS service ('processor') without "
		"'model_config': the processor's keys, such as 'savedmodel_dir', belong into that "
		"object");
	sp_test_config_refuse("{\"model_config\": \"\"}", SP_INVALID,
			      "configuration key 'model_config' is empty");
	sp_test_config_refuse("{\"model_config\": \"{\\n]\"}", SP_INVALID,
			      "configuration key 'model_config' is not JSON: line 2");
	sp_test_config_refuse("{\"model_config\": [1]}", SP_INVALID,
			      "configuration key 'model_config' must be an object with the "
			      "processor's keys, or a "
			      "string that holds one");
	sp_test_config_refuse("{\"model_config\": {}}", SP_INVALID,
			      "configuration key 'savedmodel_dir' is missing");
	sp_test_config_refuse(
		"{\"models\": [{\"model_config\": {}}, {}]}", SP_INVALID,
		"the configuration is the JSON of an EAS service with 2 'models': give the "
		"'model_config' of one of them");
	sp_test_config_refuse(
		"{\"models\": [7], \"name\": \"x\"}", SP_INVALID,
		"the configuration is the JSON of an EAS service ('name', 'models') without "
		"'model_config': the processor's keys, such as 'savedmodel_dir', belong into that "
		"object");
}

static void members_can_be_overridden(void **state)
{
	sp_config config;
	sp_error err;
	char *json;

	(void)state;
	assert_ok(sp_config_override(&json, "{ // mine\n" REQUIRED ", \"session_num\": 3}",
				     "{\"session_num\": 5, \"model_name\": \"a \\\"b\\\"\"}", &err),
		  &err);
	config = sp_test_config_parse(json);
	assert_int_equal(config.session_num, 5);
	assert_string_equal(config.model_name, "a \"b\"");
	assert_string_equal(config.savedmodel_dir, "/m");
	sp_config_fini(&config);
	sp_free(json);
	assert_ok(sp_config_override(&json, "{\"model_config\": {" REQUIRED "}, \"name\": \"x\"}",
				     "{\"session_num\": 5}", &err),
		  &err);
	config = sp_test_config_parse(json);
	assert_int_equal(config.session_num, 5);
	sp_config_fini(&config);
	sp_free(json);
	/* What a host calls the model is not its name in Redis. */
	assert_ok(sp_config_override(&json,
				     "{" REQUIRED ", \"model_name\": \"ctr\", "
				     "\"row_stream_model\": \"rows\"}",
				     "{\"model_name\": \"default\"}", &err),
		  &err);
	config = sp_test_config_parse(json);
	assert_string_equal(config.model_name, "default");
	assert_string_equal(config.redis_model, "ctr");
	assert_string_equal(config.row_stream_model, "rows");
	sp_config_fini(&config);
	sp_free(json);
	assert_int_equal(sp_config_override(&json, "{,}", "{}", &err), SP_INVALID);
	assert_string_equal(err.text, "the configuration is not JSON: line 1");
	assert_int_equal(sp_config_override(&json, "{}", "[]", &err), SP_INVALID);
}

static void no_memory_is_an_error(void **state)
{
	sp_config config;
	sp_error err;

	(void)state;
	sp_alloc_fail_after(0);
	assert_int_equal(sp_config_parse(&config, WITH("\"checkpoint_dir\": \"/c\""), &err),
			 SP_NO_MEMORY);
	sp_alloc_fail_after(-1);
}

/* ------------------------------------------------------------ documentation */

static const char *type_name(sp_config_type type)
{
	switch (type) {
	case SP_CONFIG_INTEGER:
		return "integer";
	case SP_CONFIG_TEXT:
		return "string";
	case SP_CONFIG_BOOLEAN:
		return "boolean";
	case SP_CONFIG_NUMBER:
		return "number";
	case SP_CONFIG_INTEGER_OR_TEXT:
		return "integer or string";
	case SP_CONFIG_INTEGERS:
		return "array of integers";
	case SP_CONFIG_INTEGER_RULES:
		return "integer or object";
	case SP_CONFIG_TEXT_RULES:
		return "string or object";
	}
	return "";
}

static void assert_documented(const sp_config_key *key, const char *text, const char *idle)
{
	char row[200], fallback[64] = "none";
	const char *at;

	if (key->required)
		snprintf(fallback, sizeof(fallback), "required");
	else if (key->fallback != NULL)
		snprintf(fallback, sizeof(fallback), "`%s`", key->fallback);
	snprintf(row, sizeof(row), "\n| `%s` | %s | %s | ", key->name, type_name(key->type),
		 fallback);
	at = strstr(text, row);
	if (at == NULL)
		fail_msg("docs/configuration.md has no row \"%s\"", row + 1);
	assert_int_equal(at < idle, key->has_effect);
}

static void every_key_is_documented_as_it_is(void **state)
{
	char path[SP_PATH_SIZE], *text;
	const char *idle;
	size_t size, rows = 0, keys = 0;
	sp_error err;

	(void)state;
	assert_ok(sp_file_read(&text, &size, sp_source_path(path, "docs/configuration.md"), 1 << 20,
			       &err),
		  &err);
	idle = strstr(text, "\n## Keys without effect");
	assert_non_null(idle);
	for (; sp_config__keys[keys].name != NULL; keys++)
		assert_documented(&sp_config__keys[keys], text, idle);
	for (const char *at = text; (at = strstr(at, "\n| `")) != NULL; at++)
		rows++;
	assert_int_equal(rows, keys); /* none is documented that is not there */
	sp_free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(every_key_with_an_effect),
		cmocka_unit_test(configurations_in_the_wild),
		cmocka_unit_test(comments_unknown_keys_nulls_and_repeats),
		cmocka_unit_test(the_environment_asks_for_reference_kernels),
		cmocka_unit_test(what_is_not_json),
		cmocka_unit_test(missing_and_empty_keys),
		cmocka_unit_test(wrong_types),
		cmocka_unit_test(values_out_of_range),
		cmocka_unit_test(what_only_deeprec_does),
		cmocka_unit_test(the_type_of_the_store_and_the_paths_agree),
		cmocka_unit_test(numbers_may_have_fractions),
		cmocka_unit_test(memory_may_be_short),
		cmocka_unit_test(a_secret_is_not_repeated),
		cmocka_unit_test(a_model_has_a_name),
		cmocka_unit_test(log_lines_have_a_level_and_a_format),
		cmocka_unit_test(a_glance_takes_what_it_can),
		cmocka_unit_test(the_json_of_a_service_holds_the_keys),
		cmocka_unit_test(a_service_without_the_keys_says_where_they_belong),
		cmocka_unit_test(members_can_be_overridden),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(every_key_is_documented_as_it_is),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
