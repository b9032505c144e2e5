#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parallel.h"
#include "processor/config/config.h"
#include "row_stream/row_source.h"
#include "processor/config/config_keys.h"
#include "session_group/session_group.h"
#include "tests/support/paths.h"

#define REQUIRED                                                               \
	"\"savedmodel_dir\": \"/m\", \"signature_name\": \"serving_default\"," \
	"\"model_store_type\": \"local\", \"feature_store_type\": \"memory\"," \
	"\"serialize_protocol\": \"protobuf\""

static sp_config parse(const char *json)
{
	sp_config config;
	sp_error err;

	assert_ok(sp_config_parse(&config, json, &err), &err);
	return config;
}

static void defaults(void **state)
{
	sp_config config = parse("{" REQUIRED "}");

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
	sp_config config = parse(
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
	sp_config config = parse(
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
	config = parse("{" REQUIRED ", \"omp_num_threads\": \"4\", \"warmup_file_name\": \"\"}");
	assert_null(config.warmup_file_name);
	sp_config_fini(&config);
}

static void comments_unknown_keys_nulls_and_repeats(void **state)
{
	sp_config config = parse("# first\n{ // one\n" REQUIRED ", /* two\n \" */ # three \"\n"
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
	config = parse("{" REQUIRED "}");
	assert_true(config.reference_kernels);
	sp_config_fini(&config);
	setenv("SP_REFERENCE_KERNELS", "0", 1);
	config = parse("{" REQUIRED "}");
	assert_false(config.reference_kernels);
	sp_config_fini(&config);
	unsetenv("SP_REFERENCE_KERNELS");
}

static void refuse(const char *json, sp_status status, const char *text)
{
	sp_config config;
	sp_error err;

	assert_int_equal(sp_config_parse(&config, json, &err), status);
	assert_string_equal(err.text, text);
	assert_null(config.arena);
}

#define WITH(member) "{" REQUIRED ", " member "}"

static void what_is_not_json(void **state)
{
	static char longest[(1 << 20) + 2];

	(void)state;
	refuse("", SP_INVALID, "the configuration is empty");
	refuse(" // nothing\n", SP_INVALID, "the configuration is empty");
	refuse("{\n\"a\": 1,\n\"b\": }", SP_INVALID, "the configuration is not JSON: line 3");
	refuse("{} x", SP_INVALID, "the configuration is not JSON: line 1");
	refuse("{ /* ", SP_INVALID, "the configuration is not JSON: line 1");
	refuse("{ \"a", SP_INVALID, "the configuration is not JSON: line 1");
	refuse("{ \"a\\", SP_INVALID, "the configuration is not JSON: line 1");
	refuse("[]", SP_INVALID, "the configuration is not a JSON object");
	refuse("3", SP_INVALID, "the configuration is not a JSON object");
	memset(longest, ' ', sizeof(longest) - 1);
	refuse(longest, SP_INVALID, "the configuration is longer than 1048576 bytes");
	/* Nested beyond what the parser takes. */
	memset(longest, '[', 100000);
	longest[100000] = '\0';
	refuse(longest, SP_INVALID, "the configuration is not JSON: line 1");
}

static void missing_and_empty_keys(void **state)
{
	(void)state;
	refuse("{}", SP_INVALID, "configuration key 'savedmodel_dir' is missing");
	refuse("{\"savedmodel_dir\": null}", SP_INVALID,
	       "configuration key 'savedmodel_dir' is missing");
	refuse("{\"savedmodel_dir\": \"\"}", SP_INVALID,
	       "configuration key 'savedmodel_dir' must not be empty");
	refuse("{\"savedmodel_dir\": \"/m\"}", SP_INVALID,
	       "configuration key 'signature_name' is missing");
	refuse(WITH("\"checkpoint_dir\": \"\""), SP_INVALID,
	       "configuration key 'checkpoint_dir' must not be empty");
	refuse(WITH("\"serialize_protocol\": null"), SP_INVALID,
	       "configuration key 'serialize_protocol' is missing");
}

static void wrong_types(void **state)
{
	(void)state;
	refuse(WITH("\"session_num\": \"2\""), SP_INVALID,
	       "configuration key 'session_num' must be an integer, not a string");
	refuse(WITH("\"session_num\": 2.5"), SP_INVALID,
	       "configuration key 'session_num' must be an integer, not a number");
	refuse(WITH("\"session_num\": 1e300"), SP_INVALID,
	       "configuration key 'session_num' must be an integer, not a number");
	refuse(WITH("\"signature_name\": 5"), SP_INVALID,
	       "configuration key 'signature_name' must be a string, not a number");
	refuse(WITH("\"reference_kernels\": 1"), SP_INVALID,
	       "configuration key 'reference_kernels' must be true or false, not a number");
	refuse(WITH("\"cpusets\": [1]"), SP_INVALID,
	       "configuration key 'cpusets' must be a string, not an array");
	refuse(WITH("\"omp_num_threads\": true"), SP_INVALID,
	       "configuration key 'omp_num_threads' must be an integer or a string, not a boolean");
	refuse(WITH("\"ev_storage_size\": [1, \"2\"]"), SP_INVALID,
	       "configuration key 'ev_storage_size' must be an array of integers, not an array");
	refuse(WITH("\"ev_storage_size\": {}"), SP_INVALID,
	       "configuration key 'ev_storage_size' must be an array of integers, not an object");
}

static void values_out_of_range(void **state)
{
	(void)state;
	refuse(WITH("\"session_num\": -1"), SP_INVALID,
	       "configuration key 'session_num' must be from 0 to 1024; it is -1");
	refuse(WITH("\"session_num\": 2, \"cpusets\": \"0;1;2\""), SP_INVALID,
	       "configuration key 'cpusets' has 3 sets for 2 sessions");
	refuse(WITH("\"cpusets\": \"0;1-\""), SP_INVALID,
	       "configuration key 'cpusets': '1-' is no list of processors such as 0-3,8");
	refuse(WITH("\"session_num\": 1025"), SP_INVALID,
	       "configuration key 'session_num' must be from 0 to 1024; it is 1025");
	refuse(WITH("\"request_timeout_ms\": -1"), SP_INVALID,
	       "configuration key 'request_timeout_ms' must be from 0 to 86400000; it is -1");
	refuse(WITH("\"init_timeout_minutes\": -2"), SP_INVALID,
	       "configuration key 'init_timeout_minutes' must be from -1 to 525600; it is -2");
	refuse(WITH("\"session_workspace_bytes\": 1000"), SP_INVALID,
	       "configuration key 'session_workspace_bytes' must be from 1048576 to 70368744177664;"
	       " it is 1000");
	refuse(WITH("\"select_session_policy\": \"mod\""), SP_INVALID,
	       "configuration key 'select_session_policy': unknown value 'mod'; use one of: MOD "
	       "RR");
	refuse(WITH("\"feature_store_type\": \"memory local\""), SP_INVALID,
	       "configuration key 'feature_store_type': unknown value 'memory local'; use one of: "
	       "memory local redis cluster_redis");
	refuse(WITH("\"ev_storage_type\": 5"), SP_INVALID,
	       "configuration key 'ev_storage_type': unknown value '5'; use one of: 0 1 12");
}

static void what_only_deeprec_does(void **state)
{
	(void)state;
	refuse(WITH("\"serialize_protocol\": \"flatbuffer\""), SP_UNSUPPORTED,
	       "configuration key 'serialize_protocol': 'flatbuffer' is not supported; use one of: "
	       "protobuf");
}

static void the_type_of_the_store_and_the_paths_agree(void **state)
{
	sp_config config;

	(void)state;
	config = parse(WITH("\"model_store_type\": \"oss\", \"savedmodel_dir\": \"oss://b/m\","
			    "\"checkpoint_dir\": \"/local\", \"oss_endpoint\": \"e\","
			    "\"oss_access_id\": \"i\", \"oss_access_key\": \"k\""));
	assert_true(sp_config_uses_store(&config));
	assert_string_equal(config.store.endpoint, "e");
	assert_string_equal(config.store.access_id, "i");
	assert_string_equal(config.store.access_key, "k");
	sp_config_fini(&config);
	config = parse(WITH("\"model_store_type\": \"hdfs\","
			    "\"checkpoint_dir\": \"webhdfs://h:1/c\", \"store_user\": \"u\""));
	assert_string_equal(config.store.user, "u");
	assert_int_equal(config.store.timeout_ms, 60000);
	sp_config_fini(&config);
	config = parse("{" REQUIRED "}");
	assert_false(sp_config_uses_store(&config));
	sp_config_fini(&config);
	refuse(WITH("\"model_store_type\": \"oss\""), SP_INVALID,
	       "configuration key 'model_store_type' is 'oss', but neither 'savedmodel_dir' nor "
	       "'checkpoint_dir' leads into such a store");
	refuse(WITH("\"savedmodel_dir\": \"s3://b/m\""), SP_INVALID,
	       "configuration key 'model_store_type' is 'local', but 'savedmodel_dir' leads into a "
	       "store of type 's3'");
	refuse(WITH("\"model_store_type\": \"ftp\""), SP_INVALID,
	       "configuration key 'model_store_type': unknown value 'ftp'; use one of: local oss "
	       "hdfs s3 http https");
	refuse(WITH("\"pin_file\": \"s3://b/pin\""), SP_UNSUPPORTED,
	       "configuration key 'pin_file': nothing is written into object stores; use a local "
	       "path");
	refuse(WITH("\"checkpoint_dir\": \"http://u:s3cr3t@h/m\""), SP_INVALID,
	       "configuration key 'checkpoint_dir': a path of http:// has a user or a query in it: "
	       "credentials are taken from the configuration, the environment and files");
}

#define STREAM "\"row_stream_brokers\": \"h:1\", "

static void row_streams_have_properties_of_librdkafka(void **state)
{
	sp_config config;

	(void)state;
	if (!sp_row_source_is_built()) {
		refuse(WITH(STREAM "\"model_name\": \"m\""), SP_UNSUPPORTED,
		       "configuration key 'row_stream_brokers': this build has no librdkafka");
		return;
	}
	config = parse(WITH(STREAM "\"model_name\": \"m\", \"row_stream_format\": \"hps\", "
				   "\"row_stream_key_bytes\": 4, \"row_stream_properties\": "
				   "\"security.protocol=plaintext; socket.timeout.ms=1000;\""));
	assert_string_equal(config.row_stream_model, "m");
	assert_true(config.row_stream_format == 1 && config.row_stream_key_bytes == 4);
	assert_true(config.row_stream_interval_ms == 50 && config.row_stream_start == 0);
	sp_config_fini(&config);
	refuse(WITH(STREAM "\"row_stream_model\": \"m\", \"row_stream_properties\": "
			   "\"sasl.pass=s3cr3t\""),
	       SP_INVALID,
	       "configuration key 'row_stream_properties': librdkafka does not take its property "
	       "'sasl.pass'");
	refuse(WITH(STREAM "\"row_stream_model\": \"m\", \"row_stream_properties\": \"s3cr3t\""),
	       SP_INVALID, "configuration key 'row_stream_properties': a property has no '='");
	refuse(WITH("\"row_stream_brokers\": \"u:s3cret@h:1\""), SP_INVALID,
	       "configuration key 'row_stream_brokers' has a user in it: credentials belong to "
	       "'row_stream_properties'");
	refuse(WITH(STREAM "\"row_stream_model\": \"m\", \"shard_embedding\": true, "
			   "\"embedding_names\": \"e\", \"shard_instance_count\": 2"),
	       SP_UNSUPPORTED,
	       "configuration key 'shard_embedding' cannot be used with 'row_stream_brokers': only "
	       "whole tables take streamed rows; slices get new rows by deltas");
	refuse(WITH(STREAM "\"row_stream_model\": \"m\", \"shard_peers\": \"a:1;b:2\""),
	       SP_UNSUPPORTED,
	       "configuration key 'shard_peers' cannot be used with 'row_stream_brokers': only "
	       "whole tables take streamed rows; slices get new rows by deltas");
}

#define IN_REDIS "\"feature_store_type\": \"redis\", \"redis_url\": "

static void redis_needs_an_address_and_rows_as_they_are(void **state)
{
	sp_config config;
	sp_redis_address address;
	sp_error err;

	(void)state;
	config = parse(WITH(IN_REDIS "\"h:1\", \"redis_password\": \"s3cr3t\", \"model_name\": "
				     "\"m\""));
	assert_int_equal(config.feature_store_type, SP_FEATURES_IN_REDIS);
	assert_int_equal(config.redis_layout, SP_REDIS_VERSIONED);
	assert_string_equal(config.redis_model, "m");
	assert_int_equal(config.redis_timeout_ms, 5);
	assert_ok(sp_config_redis_address(&address, &config, &err), &err);
	assert_string_equal(address.servers[0].host, "h");
	assert_string_equal(address.password, "s3cr3t");
	sp_redis_address_fini(&address);
	sp_config_fini(&config);
	config = parse(WITH(IN_REDIS "\"h:1\", \"ev_storage_type\": 12, \"ev_storage_path\": "
				     "\"/ssd\", \"ev_storage_size\": [4096, 8192]"));
	assert_int_equal(config.ev_storage_size[1], 8192);
	sp_config_fini(&config);
	refuse(WITH(IN_REDIS "\"h:1\", \"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\", "
			     "\"ev_storage_size\": [4096]"),
	       SP_INVALID,
	       "configuration key 'ev_storage_type': 12 with 'feature_store_type': redis needs a "
	       "second number in 'ev_storage_size', the bytes on the SSD");
	refuse(WITH("\"feature_store_type\": \"redis\""), SP_INVALID,
	       "configuration key 'feature_store_type': redis needs 'redis_url'");
	refuse(WITH(IN_REDIS "\"h:x\""), SP_INVALID,
	       "configuration key 'redis_url': server 1 in the address of Redis is not HOST:PORT");
	refuse(WITH(IN_REDIS "\"h:1\", \"ev_image_path\": \"/i\""), SP_UNSUPPORTED,
	       "configuration key 'ev_image_path' cannot be used with 'feature_store_type': redis");
	refuse(WITH(IN_REDIS "\"h:1\", \"update_new_key\": \"ignore\""), SP_UNSUPPORTED,
	       "configuration key 'update_new_key' cannot be used with 'feature_store_type': "
	       "redis");
}

#define AT_PEERS "\"shard_peers\": \"a:1,b:2;unix:/c\""

static void peers_hold_rows_as_they_are(void **state)
{
	sp_config config;

	(void)state;
	config = parse(WITH(AT_PEERS ", \"shard_instance_count\": 2"));
	assert_string_equal(config.embeddings.peers_names, "*");
	assert_null(config.embeddings.sharded_names);
	assert_int_equal(config.shard_timeout_ms, 5);
	assert_int_equal(config.shard_hedge_ms, 2);
	assert_int_equal(config.shard_on_timeout, 0);
	sp_config_fini(&config);
	config = parse(WITH(AT_PEERS ", \"embedding_names\": \"u;v\""));
	assert_string_equal(config.embeddings.peers_names, "u;v");
	sp_config_fini(&config);
	refuse(WITH(AT_PEERS ", \"shard_instance_count\": 3"), SP_INVALID,
	       "configuration key 'shard_peers': there are 2 slices, and 'shard_instance_count' "
	       "is 3");
	refuse(WITH("\"shard_peers\": \"a;b:1\""), SP_INVALID,
	       "configuration key 'shard_peers': 'a' is neither HOST:PORT nor unix:PATH");
	refuse(WITH(AT_PEERS ", \"ev_image_path\": \"/i\""), SP_UNSUPPORTED,
	       "configuration key 'ev_image_path' cannot be used with 'shard_peers'");
	refuse(WITH(AT_PEERS ", \"shard_listen\": \"a:1\""), SP_UNSUPPORTED,
	       "configuration key 'shard_listen' cannot be used with 'shard_peers'");
	refuse(WITH(AT_PEERS ", " IN_REDIS "\"h:1\""), SP_UNSUPPORTED,
	       "configuration key 'feature_store_type' cannot be used with 'shard_peers'");
}

static void others_are_answered_from_full_checkpoints(void **state)
{
	sp_config config = parse(WITH("\"shard_listen\": \"[::]:9400\""));

	(void)state;
	assert_true(config.update_fold_after_seconds == 0);
	assert_int_equal(config.shard_threads, 1);
	assert_int_equal(config.shard_keep_seconds, 600);
	sp_config_fini(&config);
	refuse(WITH("\"shard_listen\": \"9400\""), SP_INVALID,
	       "configuration key 'shard_listen': '9400' is neither HOST:PORT nor unix:PATH");
}

static void an_ssd_needs_a_path_and_has_a_size(void **state)
{
	sp_config config = parse(WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\""));

	(void)state;
	assert_int_equal(config.ev_storage_type, SP_STORAGE_DRAM_SSDHASH);
	assert_string_equal(config.ev_storage_path, "/ssd");
	assert_int_equal(config.ev_storage_size[0], 1 << 30);
	assert_int_equal(config.ev_cache_policy, SP_ROW_CACHE_LFU);
	assert_int_equal(config.ev_storage_read_threads, 16);
	sp_config_fini(&config);

	config = parse(WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\", "
			    "\"ev_storage_size\": [4096, 7, 8], \"ev_cache_policy\": \"lru\", "
			    "\"ev_storage_read_threads\": 3"));
	assert_int_equal(config.ev_storage_size[0], 4096);
	assert_int_equal(config.ev_storage_size[1], 7);
	assert_int_equal(config.ev_cache_policy, SP_ROW_CACHE_LRU);
	assert_int_equal(config.ev_storage_read_threads, 3);
	sp_config_fini(&config);

	/* As DeepRec, which fills up what is missing. */
	config = parse(WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\", "
			    "\"ev_storage_size\": []"));
	assert_int_equal(config.ev_storage_size[0], 1 << 30);
	sp_config_fini(&config);

	/* Where nothing is on an SSD, the path may be missing. */
	config = parse(WITH("\"ev_storage_type\": 1"));
	sp_config_fini(&config);

	refuse(WITH("\"ev_storage_type\": 12"), SP_INVALID,
	       "configuration key 'ev_storage_type': 12 needs 'ev_storage_path'");
	refuse(WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"\""), SP_INVALID,
	       "configuration key 'ev_storage_type': 12 needs 'ev_storage_path'");
	refuse(WITH("\"ev_storage_type\": 14"), SP_INVALID,
	       "configuration key 'ev_storage_type': unknown value '14'; use one of: 0 1 12");
	refuse(WITH("\"ev_storage_size\": [0]"), SP_INVALID,
	       "configuration key 'ev_storage_size' must be from 1 to 9007199254740992; it is 0");
	refuse(WITH("\"ev_storage_size\": [4096, -1]"), SP_INVALID,
	       "configuration key 'ev_storage_size' must be from 1 to 9007199254740992; it is -1");
	refuse(WITH("\"ev_storage_size\": [\"1G\"]"), SP_INVALID,
	       "configuration key 'ev_storage_size' must be an array of integers, not an array");
	refuse(WITH("\"ev_storage_size\": 4096"), SP_INVALID,
	       "configuration key 'ev_storage_size' must be an array of integers, not a number");
	refuse(WITH("\"ev_cache_policy\": \"fifo\""), SP_INVALID,
	       "configuration key 'ev_cache_policy': unknown value 'fifo'; use one of: lfu lru");
	refuse(WITH("\"ev_storage_read_threads\": 0"), SP_INVALID,
	       "configuration key 'ev_storage_read_threads' must be from 1 to 256; it is 0");
}

static void rules_are_for_names(void **state)
{
	sp_config config = parse("{" REQUIRED
				 ", \"ev_row_format\": {\"a/*\": \"int8\", \"*\": \"bf16\"},"
				 "\"serve_frequency_threshold\": 7}");
	const sp_load_policy *policy = &config.embeddings;

	(void)state;
	assert_int_equal(sp_name_rules_find(&policy->row_formats, "a/b", 99), SP_ROW_INT8);
	assert_int_equal(sp_name_rules_find(&policy->row_formats, "b/a", 99), SP_ROW_BF16);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "", 99), 7);
	sp_config_fini(&config);

	config = parse("{" REQUIRED ", \"ev_row_format\": \"int4\", \"serve_frequency_threshold\": "
		       "{\"x\": 2, \"y\": 0}}");
	assert_int_equal(sp_name_rules_find(&policy->row_formats, "x", 99), SP_ROW_INT4);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "x", 99), 2);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "y", 99), 0);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "z", 99), 99);
	sp_config_fini(&config);

	refuse(WITH("\"ev_row_format\": \"fp8\""), SP_INVALID,
	       "configuration key 'ev_row_format': unknown value 'fp8'; use one of: fp32 fp16 bf16 "
	       "int8 int4");
	refuse(WITH("\"ev_row_format\": {\"a\": 8}"), SP_INVALID,
	       "configuration key 'ev_row_format' must be a string or an object of patterns with "
	       "strings, not an object");
	refuse(WITH("\"serve_frequency_threshold\": {\"a\": -1}"), SP_INVALID,
	       "configuration key 'serve_frequency_threshold' must be from 0 to 9007199254740992; "
	       "it is -1");
	refuse(WITH("\"serve_frequency_threshold\": \"many\""), SP_INVALID,
	       "configuration key 'serve_frequency_threshold' must be an integer or an object of "
	       "patterns with integers, not a string");
}

#define SHARDED(more) WITH("\"shard_embedding\": true, " more)

static int64_t slice_of(const char *json)
{
	sp_config config = parse(json);
	int64_t slice = config.embeddings.slice;

	assert_true(sp_load_policy_shards(&config.embeddings, "b"));
	assert_int_equal(config.embeddings.slice_count, 3);
	sp_config_fini(&config);
	return slice;
}

static void sharding_says_which_slice(void **state)
{
	const struct {
		const char *service;
		int64_t slice;
	} services[] = {{"ctr_4", 1}, {"ctr_v2_11", 2}, {"ctr", 0},   {"ctr_", 0},
			{"4", 0},     {"ctr_x4", 0},    {"ctr_4x", 0}};

	(void)state;
	unsetenv("SERVICE_NAME");
	assert_int_equal(slice_of(SHARDED("\"embedding_names\": \"a;b\", \"shard_instance_count\": "
					  "3, \"shard_instance_id\": 5, \"id_type\": \"int64\"")),
			 2);
	refuse(SHARDED("\"embedding_names\": \"a;b\", \"shard_instance_count\": 3"), SP_INVALID,
	       "configuration key 'shard_embedding' needs to know which instance this is: neither "
	       "'shard_instance_id' nor the environment variable SERVICE_NAME says it");
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		setenv("SERVICE_NAME", services[i].service, 1);
		assert_int_equal(slice_of(SHARDED("\"embedding_names\": \"b\", "
						  "\"shard_instance_count\": 3")),
				 services[i].slice);
	}
	unsetenv("SERVICE_NAME");
	refuse(SHARDED("\"shard_instance_count\": 3, \"shard_instance_id\": 5"), SP_INVALID,
	       "configuration key 'shard_embedding' needs 'embedding_names'");
	refuse(SHARDED("\"embedding_names\": \"a\", \"shard_instance_id\": 5"), SP_INVALID,
	       "configuration key 'shard_embedding' needs 'shard_instance_count'");
	refuse(SHARDED("\"shard_instance_count\": 0"), SP_INVALID,
	       "configuration key 'shard_instance_count' must be from 1 to 1000; it is 0");
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
	refuse(WITH("\"update_max_score_change\": -0.5"), SP_INVALID,
	       "configuration key 'update_max_score_change' must be from 0 to 1000000000");
	refuse(WITH("\"update_max_score_change\": \"1\""), SP_INVALID,
	       "configuration key 'update_max_score_change' must be a number, not a string");
	refuse(WITH("\"update_old_percent\": 100"), SP_INVALID,
	       "configuration key 'update_old_percent' must be from 0 to 99; it is 100");
}

static void what_becomes_of_old_rows(void **state)
{
	sp_config config;
	sp_error err;

	(void)state;
	assert_ok(sp_config_parse(&config, WITH("\"id_type\": null"), &err), &err);
	assert_int_equal(config.embeddings.old_key, SP_OLD_KEY_REPLACE);
	sp_config_fini(&config);
	assert_ok(sp_config_parse(&config, WITH("\"update_old_key\": \"replace_if_newer\""), &err),
		  &err);
	assert_int_equal(config.embeddings.old_key, SP_OLD_KEY_REPLACE_IF_NEWER);
	sp_config_fini(&config);
	assert_ok(sp_config_parse(&config,
				  WITH("\"update_old_key\": \"blend\", \"update_old_percent\": 30"),
				  &err),
		  &err);
	assert_int_equal(config.embeddings.old_key, SP_OLD_KEY_BLEND);
	assert_int_equal(config.embeddings.old_percent, 30);
	sp_config_fini(&config);
	refuse(WITH("\"update_old_key\": \"blend\""), SP_INVALID,
	       "configuration key 'update_old_key': blend needs 'update_old_percent'");
	refuse(WITH("\"update_old_percent\": 30"), SP_INVALID,
	       "configuration key 'update_old_percent' needs 'update_old_key': \"blend\"");
	refuse(WITH("\"update_old_key\": \"keep\""), SP_INVALID,
	       "configuration key 'update_old_key': unknown value 'keep'; use one of: replace "
	       "replace_if_newer blend");
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
	config = parse(json);
	assert_string_equal(config.model_name, name);
	sp_config_fini(&config);
}

static void a_model_has_a_name(void **state)
{
	sp_config config = parse(WITH("\"model_name\": \"ctr\""));

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
	refuse(WITH("\"model_name\": \"\""), SP_INVALID,
	       "configuration key 'model_name' must not be empty");
}

static void log_lines_have_a_level_and_a_format(void **state)
{
	sp_config config = parse(WITH("\"log_level\": \"error\", \"log_format\": \"json\""));

	(void)state;
	assert_int_equal(config.log_level, SP_LOG_ERROR);
	assert_int_equal(config.log_format, SP_LOG_JSON);
	sp_config_set_log(&config);
	assert_int_equal(sp_log_get_level(), SP_LOG_ERROR);
	sp_config_fini(&config);

	config = parse(WITH("\"log_format\": \"text\""));
	sp_config_set_log(&config); /* the level stays */
	assert_int_equal(sp_log_get_level(), SP_LOG_ERROR);
	sp_log_set_level(SP_LOG_INFO);
	sp_config_fini(&config);
	refuse(WITH("\"log_level\": \"verbose\""), SP_INVALID,
	       "configuration key 'log_level': unknown value 'verbose'; use one of: debug info "
	       "warning error");
	refuse(WITH("\"log_format\": \"JSON\""), SP_INVALID,
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

/* -------------------------------------------------------- what has no effect */

static void expect_remarks(const char *json, const char *const *wanted)
{
	sp_config config = parse(json);
	size_t count = 0;

	for (; wanted[count] != NULL; count++) {
		if (count == config.remark_count)
			fail_msg("no remark \"%s\"", wanted[count]);
		assert_string_equal(config.remarks[count], wanted[count]);
	}
	if (config.remark_count != count)
		fail_msg("one remark too many: \"%s\"", config.remarks[count]);
	sp_config_fini(&config);
}

#define REMARKS(json, ...) expect_remarks(json, (const char *const[]){__VA_ARGS__, NULL})
#define UNKNOWN(key)       "configuration key '" key "' is not known and has no effect"
#define MEANT(key, known)  UNKNOWN(key) "; did you mean '" known "'?"
#define IDLE(key)          "configuration key '" key "' is DeepRec's and has no effect here"

static void a_misspelt_key_is_told_with_the_one_that_was_meant(void **state)
{
	(void)state;
	REMARKS(WITH("\"ev_row_fromat\": \"int8\""), MEANT("ev_row_fromat", "ev_row_format"));
	REMARKS(WITH("\"sesion_num\": 4"), MEANT("sesion_num", "session_num"));
	REMARKS(WITH("\"Session_Num\": 4"), MEANT("Session_Num", "session_num"));
	REMARKS(WITH("\"sessionNum\": 4"), MEANT("sessionNum", "session_num"));
	REMARKS(WITH("\"checkpoint-dir\": \"/c\""), MEANT("checkpoint-dir", "checkpoint_dir"));
	REMARKS(WITH("\"update_poll_intervall_ms\": 5"),
		MEANT("update_poll_intervall_ms", "update_poll_interval_ms"));
	REMARKS(WITH("\"redis_pasword\": \"s3cr3t\""), MEANT("redis_pasword", "redis_password"));
	/* Once each, however often it is there. */
	REMARKS(WITH("\"sesion_num\": 4, \"sesion_num\": 5, \"id_typ\": \"x\""),
		MEANT("sesion_num", "session_num"), MEANT("id_typ", "id_type"));
	/* What resembles nothing. */
	REMARKS(WITH("\"batch\": 5, \"\": 1"), UNKNOWN("batch"), UNKNOWN(""));
}

static void what_deeprec_knows_and_has_no_effect_is_told(void **state)
{
	(void)state;
	REMARKS(WITH("\"omp_num_threads\": 4, \"kmp_blocktime\": \"s3cr3t\", \"cpusets\": null,"
		     "\"gpu_ids_list\": \"0,1\""),
		IDLE("gpu_ids_list"), IDLE("omp_num_threads"), IDLE("kmp_blocktime"));
	REMARKS(WITH("\"model_update_when_memory_is_short\": \"table_by_table\""),
		"configuration key 'model_update_when_memory_is_short' is an earlier release's and "
		"has no effect here");
}

static void a_required_key_that_is_misspelt_is_named(void **state)
{
	(void)state;
	refuse("{\"savedmodel_dri\": \"/m\"}", SP_INVALID,
	       "configuration key 'savedmodel_dir' is missing, and 'savedmodel_dri' is not known");
}

static void many_strange_keys_are_counted(void **state)
{
	char *json = calloc(1, 1 << 20);
	size_t size = (size_t)sprintf(json, "{" REQUIRED);
	sp_config config;

	(void)state;
	for (int i = 0; i < 20000; i++)
		size += (size_t)sprintf(json + size, ", \"strange key %d that resembles none\": 1",
					i);
	strcpy(json + size, "}");
	config = parse(json);
	assert_int_equal(config.remark_count, 33);
	assert_string_equal(config.remarks[32], "19968 more configuration keys have no effect");
	sp_config_fini(&config);
	free(json);
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
		sp_config config = parse(services[i]);

		assert_string_equal(config.savedmodel_dir, "/m");
		assert_int_equal(config.remark_count, 0);
		sp_config_fini(&config);
	}
	REMARKS("{\"session_num\": 3, \"model_config\": {" REQUIRED ", \"sesion_num\": 4}}",
		MEANT("sesion_num", "session_num"),
		"configuration key 'session_num' beside 'model_config' has no effect: the "
		"processor's keys belong into it");
}

static void a_service_without_the_keys_says_where_they_belong(void **state)
{
	(void)state;
	refuse("{\"name\": \"ctr\", \"metadata\": {\"cpu\": 4}, \"model_path\": \"\"}", SP_INVALID,
	       "the configuration is the JSON of an EAS service ('metadata', 'model_path', 'name') "
	       "without 'model_config': the processor's keys, such as 'savedmodel_dir', belong "
	       "into "
	       "that object");
	refuse("{\"processor\": \"x\", \"model_config\": null}", SP_INVALID,
	       "the configuration is the JSON of an EAS service ('processor') without "
	       "'model_config': the processor's keys, such as 'savedmodel_dir', belong into that "
	       "object");
	refuse("{\"model_config\": \"\"}", SP_INVALID, "configuration key 'model_config' is empty");
	refuse("{\"model_config\": \"{\\n]\"}", SP_INVALID,
	       "configuration key 'model_config' is not JSON: line 2");
	refuse("{\"model_config\": [1]}", SP_INVALID,
	       "configuration key 'model_config' must be an object with the processor's keys, or a "
	       "string that holds one");
	refuse("{\"model_config\": {}}", SP_INVALID,
	       "configuration key 'savedmodel_dir' is missing");
	refuse("{\"models\": [{\"model_config\": {}}, {}]}", SP_INVALID,
	       "the configuration is the JSON of an EAS service with 2 'models': give the "
	       "'model_config' of one of them");
	refuse("{\"models\": [7], \"name\": \"x\"}", SP_INVALID,
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
	config = parse(json);
	assert_int_equal(config.session_num, 5);
	assert_string_equal(config.model_name, "a \"b\"");
	assert_string_equal(config.savedmodel_dir, "/m");
	sp_config_fini(&config);
	sp_free(json);
	assert_ok(sp_config_override(&json, "{\"model_config\": {" REQUIRED "}, \"name\": \"x\"}",
				     "{\"session_num\": 5}", &err),
		  &err);
	config = parse(json);
	assert_int_equal(config.session_num, 5);
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
		cmocka_unit_test(row_streams_have_properties_of_librdkafka),
		cmocka_unit_test(redis_needs_an_address_and_rows_as_they_are),
		cmocka_unit_test(peers_hold_rows_as_they_are),
		cmocka_unit_test(others_are_answered_from_full_checkpoints),
		cmocka_unit_test(an_ssd_needs_a_path_and_has_a_size),
		cmocka_unit_test(rules_are_for_names),
		cmocka_unit_test(sharding_says_which_slice),
		cmocka_unit_test(numbers_may_have_fractions),
		cmocka_unit_test(what_becomes_of_old_rows),
		cmocka_unit_test(memory_may_be_short),
		cmocka_unit_test(a_secret_is_not_repeated),
		cmocka_unit_test(a_model_has_a_name),
		cmocka_unit_test(log_lines_have_a_level_and_a_format),
		cmocka_unit_test(a_glance_takes_what_it_can),
		cmocka_unit_test(a_misspelt_key_is_told_with_the_one_that_was_meant),
		cmocka_unit_test(what_deeprec_knows_and_has_no_effect_is_told),
		cmocka_unit_test(a_required_key_that_is_misspelt_is_named),
		cmocka_unit_test(many_strange_keys_are_counted),
		cmocka_unit_test(the_json_of_a_service_holds_the_keys),
		cmocka_unit_test(a_service_without_the_keys_says_where_they_belong),
		cmocka_unit_test(members_can_be_overridden),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(every_key_is_documented_as_it_is),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
