#include "tests/support/cmocka.h"

#include <string.h>

#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/support/tool.h"

/* serving_tool size: its parts, and what has none. */

static double owner(const char *name)
{
	cJSON *json = sp_tool_parsed();
	double bytes = sp_tool_member(sp_tool_member(json, "memory"), name)->valuedouble;

	cJSON_Delete(json);
	return bytes;
}

/* How near it is to what a host has is in test_memory. */
static void size_adds_up(void **state)
{
	char base[SP_PATH_SIZE], rest[4 * SP_PATH_SIZE], path[2 * SP_PATH_SIZE];
	double floats, codes;
	cJSON *json;

	(void)state;
	sp_source_path(base, "tests/golden/ev-ctr-checkpoint");
	sp_tool_print(path, sizeof(path), "%s/checkpoints", base);
	sp_tool_print(rest, sizeof(rest), "--json --sessions=3 --model=%s/model", base);
	assert_int_equal(sp_tool_run_on("size", path, rest), 0);
	json = sp_tool_parsed();
	assert_int_equal(cJSON_GetArraySize(sp_tool_member(json, "tables")), 2);
	assert_int_equal(
		sp_tool_member(cJSON_GetArrayItem(sp_tool_member(json, "tables"), 0), "rows")
			->valueint,
		60);
	cJSON_Delete(json);
	floats = owner("tables");
	assert_int_equal(owner("session_count"), 3);
	assert_true(owner("total") == floats + owner("indexes") + owner("dense") +
					      owner("program") + owner("sessions"));
	assert_true(owner("headroom_for_swap") == floats + owner("indexes") + owner("dense"));

	/* The index alone, and other formats. */
	assert_int_equal(sp_tool_run_on("size --json --row_format=int4", path, ""), 0);
	codes = owner("tables");
	assert_true(codes > 0 && codes < floats);
	assert_true(owner("total") == codes + owner("indexes") + owner("dense"));
	assert_int_equal(sp_tool_run_on("size", path, ""), 0);
	assert_non_null(strstr(sp_tool_output, "note: with --model"));
}

static void what_has_no_size_is_refused(void **state)
{
	(void)state;
	assert_int_equal(sp_tool_run_on("size --row_format=int3", sp_tool_fixture("full"), ""), 2);
	assert_true(sp_tool_error_says("--row_format is fp32, fp16, bf16, int8 or int4, not "
				       "'int3'"));
	assert_int_equal(sp_tool_run("size --sessions=0 x"), 2);
	assert_int_equal(sp_tool_run("size --sessions=1025 x"), 2);
	assert_int_equal(sp_tool_run("size /nowhere.json"), 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, sp_tool_set_up, sp_tool_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(size_adds_up),
		CASE(what_has_no_size_is_refused),
	};

	return cmocka_run_group_tests_name("tool_size", tests, NULL, NULL);
}
