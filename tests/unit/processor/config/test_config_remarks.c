#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/config_texts.h"

static void expect_remarks(const char *json, const char *const *wanted)
{
	sp_config config = sp_test_config_parse(json);
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
	sp_test_config_refuse(
		"{\"savedmodel_dri\": \"/m\"}", SP_INVALID,
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
	config = sp_test_config_parse(json);
	assert_int_equal(config.remark_count, 33);
	assert_string_equal(config.remarks[32], "19968 more configuration keys have no effect");
	sp_config_fini(&config);
	free(json);
}

static void a_key_beside_those_of_a_service_is_told(void **state)
{
	(void)state;
	REMARKS("{\"session_num\": 3, \"model_config\": {" REQUIRED ", \"sesion_num\": 4}}",
		MEANT("sesion_num", "session_num"),
		"configuration key 'session_num' beside 'model_config' has no effect: the "
		"processor's keys belong into it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_misspelt_key_is_told_with_the_one_that_was_meant),
		cmocka_unit_test(what_deeprec_knows_and_has_no_effect_is_told),
		cmocka_unit_test(a_required_key_that_is_misspelt_is_named),
		cmocka_unit_test(a_key_beside_those_of_a_service_is_told),
		cmocka_unit_test(many_strange_keys_are_counted),
	};

	return cmocka_run_group_tests_name("remarks on configurations", tests, NULL, NULL);
}
