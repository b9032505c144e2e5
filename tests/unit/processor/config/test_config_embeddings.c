#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "row_stream/row_source.h"
#include "tests/support/config_texts.h"

#define STREAM "\"row_stream_brokers\": \"h:1\", "

static void row_streams_have_properties_of_librdkafka(void **state)
{
	sp_config config;

	(void)state;
	if (!sp_row_source_is_built()) {
		sp_test_config_refuse(
			WITH(STREAM "\"model_name\": \"m\""), SP_UNSUPPORTED,
			"configuration key 'row_stream_brokers': this build has no librdkafka");
		return;
	}
	config = sp_test_config_parse(
		WITH(STREAM "\"model_name\": \"m\", \"row_stream_format\": \"hps\", "
			    "\"row_stream_key_bytes\": 4, \"row_stream_properties\": "
			    "\"security.protocol=plaintext; socket.timeout.ms=1000;\""));
	assert_string_equal(config.row_stream_model, "m");
	assert_true(config.row_stream_format == 1 && config.row_stream_key_bytes == 4);
	assert_true(config.row_stream_interval_ms == 50 && config.row_stream_start == 0);
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH(STREAM "\"row_stream_model\": \"m\", \"row_stream_properties\": "
			    "\"sasl.pass=s3cr3t\""),
		SP_INVALID,
		"configuration key 'row_stream_properties': librdkafka does not take its property "
		"'sasl.pass'");
	sp_test_config_refuse(
		WITH(STREAM "\"row_stream_model\": \"m\", \"row_stream_properties\": \"s3cr3t\""),
		SP_INVALID, "configuration key 'row_stream_properties': a property has no '='");
	sp_test_config_refuse(
		WITH("\"row_stream_brokers\": \"u:s3cret@h:1\""), SP_INVALID,
		"configuration key 'row_stream_brokers' has a user in it: credentials belong to "
		"'row_stream_properties'");
	sp_test_config_refuse(WITH(STREAM
				   "\"row_stream_model\": \"m\", \"shard_embedding\": true, "
				   "\"embedding_names\": \"e\", \"shard_instance_count\": 2"),
			      SP_UNSUPPORTED,
			      "configuration key 'shard_embedding' cannot be used with "
			      "'row_stream_brokers': only "
			      "whole tables take streamed rows; slices get new rows by deltas");
	sp_test_config_refuse(
		WITH(STREAM "\"row_stream_model\": \"m\", \"shard_peers\": \"a:1;b:2\""),
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
	config = sp_test_config_parse(
		WITH(IN_REDIS "\"h:1\", \"redis_password\": \"s3cr3t\", \"model_name\": "
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
	config = sp_test_config_parse(WITH(IN_REDIS
					   "\"h:1\", \"ev_storage_type\": 12, \"ev_storage_path\": "
					   "\"/ssd\", \"ev_storage_size\": [4096, 8192]"));
	assert_int_equal(config.ev_storage_size[1], 8192);
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH(IN_REDIS "\"h:1\", \"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\", "
			      "\"ev_storage_size\": [4096]"),
		SP_INVALID,
		"configuration key 'ev_storage_type': 12 with 'feature_store_type': redis needs a "
		"second number in 'ev_storage_size', the bytes on the SSD");
	sp_test_config_refuse(WITH("\"feature_store_type\": \"redis\""), SP_INVALID,
			      "configuration key 'feature_store_type': redis needs 'redis_url'");
	sp_test_config_refuse(
		WITH(IN_REDIS "\"h:x\""), SP_INVALID,
		"configuration key 'redis_url': server 1 in the address of Redis is not HOST:PORT");
	sp_test_config_refuse(WITH(IN_REDIS "\"h:1\", \"ev_image_path\": \"/i\""), SP_UNSUPPORTED,
			      "configuration key 'ev_image_path' cannot be used with "
			      "'feature_store_type': redis");
	sp_test_config_refuse(
		WITH(IN_REDIS "\"h:1\", \"update_new_key\": \"ignore\""), SP_UNSUPPORTED,
		"configuration key 'update_new_key' cannot be used with 'feature_store_type': "
		"redis");
}

#define AT_PEERS "\"shard_peers\": \"a:1,b:2;unix:/c\""

static void peers_hold_rows_as_they_are(void **state)
{
	sp_config config;

	(void)state;
	config = sp_test_config_parse(WITH(AT_PEERS ", \"shard_instance_count\": 2"));
	assert_string_equal(config.embeddings.peers_names, "*");
	assert_null(config.embeddings.sharded_names);
	assert_int_equal(config.shard_timeout_ms, 5);
	assert_int_equal(config.shard_hedge_ms, 2);
	assert_int_equal(config.shard_on_timeout, 0);
	sp_config_fini(&config);
	config = sp_test_config_parse(WITH(AT_PEERS ", \"embedding_names\": \"u;v\""));
	assert_string_equal(config.embeddings.peers_names, "u;v");
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH(AT_PEERS ", \"shard_instance_count\": 3"), SP_INVALID,
		"configuration key 'shard_peers': there are 2 slices, and 'shard_instance_count' "
		"is 3");
	sp_test_config_refuse(
		WITH("\"shard_peers\": \"a;b:1\""), SP_INVALID,
		"configuration key 'shard_peers': 'a' is neither HOST:PORT nor unix:PATH");
	sp_test_config_refuse(
		WITH(AT_PEERS ", \"ev_image_path\": \"/i\""), SP_UNSUPPORTED,
		"configuration key 'ev_image_path' cannot be used with 'shard_peers'");
	sp_test_config_refuse(WITH(AT_PEERS ", \"shard_listen\": \"a:1\""), SP_UNSUPPORTED,
			      "configuration key 'shard_listen' cannot be used with 'shard_peers'");
	sp_test_config_refuse(
		WITH(AT_PEERS ", " IN_REDIS "\"h:1\""), SP_UNSUPPORTED,
		"configuration key 'feature_store_type' cannot be used with 'shard_peers'");
}

static void others_are_answered_from_full_checkpoints(void **state)
{
	sp_config config = sp_test_config_parse(WITH("\"shard_listen\": \"[::]:9400\""));

	(void)state;
	assert_true(config.update_fold_after_seconds == 0);
	assert_int_equal(config.shard_threads, 1);
	assert_int_equal(config.shard_keep_seconds, 600);
	sp_config_fini(&config);
	sp_test_config_refuse(
		WITH("\"shard_listen\": \"9400\""), SP_INVALID,
		"configuration key 'shard_listen': '9400' is neither HOST:PORT nor unix:PATH");
}

static void an_ssd_needs_a_path_and_has_a_size(void **state)
{
	sp_config config = sp_test_config_parse(
		WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\""));

	(void)state;
	assert_int_equal(config.ev_storage_type, SP_STORAGE_DRAM_SSDHASH);
	assert_string_equal(config.ev_storage_path, "/ssd");
	assert_int_equal(config.ev_storage_size[0], 1 << 30);
	assert_int_equal(config.ev_cache_policy, SP_ROW_CACHE_LFU);
	assert_int_equal(config.ev_storage_read_threads, 16);
	sp_config_fini(&config);

	config = sp_test_config_parse(
		WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\", "
		     "\"ev_storage_size\": [4096, 7, 8], \"ev_cache_policy\": \"lru\", "
		     "\"ev_storage_read_threads\": 3"));
	assert_int_equal(config.ev_storage_size[0], 4096);
	assert_int_equal(config.ev_storage_size[1], 7);
	assert_int_equal(config.ev_cache_policy, SP_ROW_CACHE_LRU);
	assert_int_equal(config.ev_storage_read_threads, 3);
	sp_config_fini(&config);

	/* As DeepRec, which fills up what is missing. */
	config = sp_test_config_parse(
		WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"/ssd\", "
		     "\"ev_storage_size\": []"));
	assert_int_equal(config.ev_storage_size[0], 1 << 30);
	sp_config_fini(&config);

	/* Where nothing is on an SSD, the path may be missing. */
	config = sp_test_config_parse(WITH("\"ev_storage_type\": 1"));
	sp_config_fini(&config);

	sp_test_config_refuse(WITH("\"ev_storage_type\": 12"), SP_INVALID,
			      "configuration key 'ev_storage_type': 12 needs 'ev_storage_path'");
	sp_test_config_refuse(WITH("\"ev_storage_type\": 12, \"ev_storage_path\": \"\""),
			      SP_INVALID,
			      "configuration key 'ev_storage_type': 12 needs 'ev_storage_path'");
	sp_test_config_refuse(
		WITH("\"ev_storage_type\": 14"), SP_INVALID,
		"configuration key 'ev_storage_type': unknown value '14'; use one of: 0 1 12");
	sp_test_config_refuse(
		WITH("\"ev_storage_size\": [0]"), SP_INVALID,
		"configuration key 'ev_storage_size' must be from 1 to 9007199254740992; it is 0");
	sp_test_config_refuse(
		WITH("\"ev_storage_size\": [4096, -1]"), SP_INVALID,
		"configuration key 'ev_storage_size' must be from 1 to 9007199254740992; it is -1");
	sp_test_config_refuse(
		WITH("\"ev_storage_size\": [\"1G\"]"), SP_INVALID,
		"configuration key 'ev_storage_size' must be an array of integers, not an array");
	sp_test_config_refuse(
		WITH("\"ev_storage_size\": 4096"), SP_INVALID,
		"configuration key 'ev_storage_size' must be an array of integers, not a number");
	sp_test_config_refuse(
		WITH("\"ev_cache_policy\": \"fifo\""), SP_INVALID,
		"configuration key 'ev_cache_policy': unknown value 'fifo'; use one of: lfu lru");
	sp_test_config_refuse(
		WITH("\"ev_storage_read_threads\": 0"), SP_INVALID,
		"configuration key 'ev_storage_read_threads' must be from 1 to 256; it is 0");
}

static void rules_are_for_names(void **state)
{
	sp_config config = sp_test_config_parse(
		"{" REQUIRED ", \"ev_row_format\": {\"a/*\": \"int8\", \"*\": \"bf16\"},"
		"\"serve_frequency_threshold\": 7}");
	const sp_load_policy *policy = &config.embeddings;

	(void)state;
	assert_int_equal(sp_name_rules_find(&policy->row_formats, "a/b", 99), SP_ROW_INT8);
	assert_int_equal(sp_name_rules_find(&policy->row_formats, "b/a", 99), SP_ROW_BF16);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "", 99), 7);
	sp_config_fini(&config);

	config = sp_test_config_parse(
		"{" REQUIRED ", \"ev_row_format\": \"int4\", \"serve_frequency_threshold\": "
		"{\"x\": 2, \"y\": 0}}");
	assert_int_equal(sp_name_rules_find(&policy->row_formats, "x", 99), SP_ROW_INT4);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "x", 99), 2);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "y", 99), 0);
	assert_int_equal(sp_name_rules_find(&policy->frequency_thresholds, "z", 99), 99);
	sp_config_fini(&config);

	sp_test_config_refuse(WITH("\"ev_row_format\": \"fp8\""), SP_INVALID,
			      "configuration key 'ev_row_format': unknown value 'fp8'; use one of: "
			      "fp32 fp16 bf16 "
			      "int8 int4");
	sp_test_config_refuse(
		WITH("\"ev_row_format\": {\"a\": 8}"), SP_INVALID,
		"configuration key 'ev_row_format' must be a string or an object of patterns with "
		"strings, not an object");
	sp_test_config_refuse(
		WITH("\"serve_frequency_threshold\": {\"a\": -1}"), SP_INVALID,
		"configuration key 'serve_frequency_threshold' must be from 0 to 9007199254740992; "
		"it is -1");
	sp_test_config_refuse(
		WITH("\"serve_frequency_threshold\": \"many\""), SP_INVALID,
		"configuration key 'serve_frequency_threshold' must be an integer or an object of "
		"patterns with integers, not a string");
}

#define SHARDED(more) WITH("\"shard_embedding\": true, " more)

static int64_t slice_of(const char *json)
{
	sp_config config = sp_test_config_parse(json);
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
	sp_test_config_refuse(
		SHARDED("\"embedding_names\": \"a;b\", \"shard_instance_count\": 3"), SP_INVALID,
		"configuration key 'shard_embedding' needs to know which instance this is: neither "
		"'shard_instance_id' nor the environment variable SERVICE_NAME says it");
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		setenv("SERVICE_NAME", services[i].service, 1);
		assert_int_equal(slice_of(SHARDED("\"embedding_names\": \"b\", "
						  "\"shard_instance_count\": 3")),
				 services[i].slice);
	}
	unsetenv("SERVICE_NAME");
	sp_test_config_refuse(SHARDED("\"shard_instance_count\": 3, \"shard_instance_id\": 5"),
			      SP_INVALID,
			      "configuration key 'shard_embedding' needs 'embedding_names'");
	sp_test_config_refuse(SHARDED("\"embedding_names\": \"a\", \"shard_instance_id\": 5"),
			      SP_INVALID,
			      "configuration key 'shard_embedding' needs 'shard_instance_count'");
	sp_test_config_refuse(
		SHARDED("\"shard_instance_count\": 0"), SP_INVALID,
		"configuration key 'shard_instance_count' must be from 1 to 1000; it is 0");
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
	sp_test_config_refuse(
		WITH("\"update_old_key\": \"blend\""), SP_INVALID,
		"configuration key 'update_old_key': blend needs 'update_old_percent'");
	sp_test_config_refuse(
		WITH("\"update_old_percent\": 30"), SP_INVALID,
		"configuration key 'update_old_percent' needs 'update_old_key': \"blend\"");
	sp_test_config_refuse(
		WITH("\"update_old_key\": \"keep\""), SP_INVALID,
		"configuration key 'update_old_key': unknown value 'keep'; use one of: replace "
		"replace_if_newer blend");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_streams_have_properties_of_librdkafka),
		cmocka_unit_test(redis_needs_an_address_and_rows_as_they_are),
		cmocka_unit_test(peers_hold_rows_as_they_are),
		cmocka_unit_test(others_are_answered_from_full_checkpoints),
		cmocka_unit_test(an_ssd_needs_a_path_and_has_a_size),
		cmocka_unit_test(rules_are_for_names),
		cmocka_unit_test(sharding_says_which_slice),
		cmocka_unit_test(what_becomes_of_old_rows),
	};

	return cmocka_run_group_tests_name("configuration of embeddings", tests, NULL, NULL);
}
