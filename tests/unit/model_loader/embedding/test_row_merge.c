#include "tests/support/cmocka.h"

#include <math.h>
#include <string.h>

#include "model_loader/embedding/row_merge.h"
#include "storage/table/table_builder.h"

enum { DIM = 2 };

/* What has come out at the end. */
static int64_t keys_seen[8];
static size_t key_count;
static float rows_seen[8][DIM];
static size_t row_count;

static sp_table *full;
static sp_load_policy policy;
static sp_row_merge merge;
static sp_error err;

static sp_status note_keys(void *context, const sp_row_piece *piece, sp_error *error)
{
	(void)context;
	(void)error;
	for (size_t i = 0; i < piece->count; i++)
		keys_seen[key_count++] = piece->keys[i];
	return SP_OK;
}

static sp_status start(void *context, bool *in_order, sp_error *error)
{
	(void)context;
	(void)error;
	*in_order = true;
	return SP_OK;
}

static sp_status note_rows(void *context, const sp_row_piece *piece, sp_error *error)
{
	(void)context;
	(void)error;
	memcpy(rows_seen[row_count], piece->rows, piece->count * sizeof(rows_seen[0]));
	row_count += piece->count;
	return SP_OK;
}

static int set_up(void **state)
{
	static const int64_t keys[] = {1, 2, 3, 4};
	static const float rows[] = {10, 0, 0, 20, 30, 0, 0, 40};
	sp_table_options options = {.name = "t", .dim = DIM};

	(void)state;
	policy = (sp_load_policy){0};
	key_count = row_count = 0;
	assert_ok(sp_table_from_rows(&full, &options, keys, rows, 4, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_table_destroy(full);
	return 0;
}

/* A delta: key 2 moves from (0, 20) to (0, 30), key 9 is new, a mark is left out. */
static sp_status pass_delta(const sp_table *base, float second)
{
	static const int64_t keys[] = {2, 9, -1};
	sp_row_sink next = {.add_keys = note_keys, .start_rows = start, .put_rows = note_rows};
	float rows[] = {0, second, 5, 5, NAN, 0};
	sp_row_piece piece = {.keys = keys, .count = 3};
	bool in_order = false;
	sp_row_sink sink;
	sp_status status;

	sp_row_merge_init(&merge, &next, DIM, &policy, base);
	sink = sp_row_merge_sink(&merge);
	assert_ok(sink.add_keys(sink.context, &piece, &err), &err);
	assert_ok(sink.start_rows(sink.context, &in_order, &err), &err);
	assert_true(in_order);
	piece.rows = rows;
	status = sink.put_rows(sink.context, &piece, &err);
	if (status == SP_OK)
		status = sp_row_merge_check(&merge, &err);
	sp_row_merge_fini(&merge);
	return status;
}

static void nothing_is_done_unless_wanted(void **state)
{
	(void)state;
	assert_false(sp_row_merge_is_needed(&policy, full));
	policy.old_key = SP_OLD_KEY_BLEND;
	assert_true(sp_row_merge_is_needed(&policy, full));
	assert_false(sp_row_merge_is_needed(&policy, NULL));
	policy.only_finite = true;
	assert_true(sp_row_merge_is_needed(&policy, NULL));
}

static void known_keys_are_blended_with_the_full_checkpoint(void **state)
{
	(void)state;
	policy.old_key = SP_OLD_KEY_BLEND;
	policy.old_percent = 25;
	assert_ok(pass_delta(full, 30), &err);
	assert_float_equal(rows_seen[0][1], 0.25 * 20 + 0.75 * 30, 1e-5);
	assert_float_equal(rows_seen[1][0], 5, 0); /* a new key has no old row */
	assert_int_equal(keys_seen[1], 9);
}

static void new_keys_can_be_ignored(void **state)
{
	(void)state;
	policy.ignore_new_keys = true;
	assert_ok(pass_delta(full, 30), &err);
	assert_int_equal(keys_seen[0], 2);
	assert_int_equal(keys_seen[1], -1);
}

static void too_many_new_keys_are_refused(void **state)
{
	(void)state;
	policy.max_new_percent = 25; /* one of four */
	assert_ok(pass_delta(full, 30), &err);
	policy.max_new_percent = 24;
	key_count = row_count = 0;
	assert_int_equal(pass_delta(full, 30), SP_CORRUPT);
	assert_non_null(strstr(err.text, "adds 1 keys to 4"));
}

static void too_much_drift_is_refused(void **state)
{
	(void)state;
	policy.max_drift_percent = 50; /* from 20 to 30 */
	assert_ok(pass_delta(full, 30), &err);
	policy.max_drift_percent = 49;
	key_count = row_count = 0;
	assert_int_equal(pass_delta(full, 30), SP_CORRUPT);
	assert_non_null(strstr(err.text, "update_max_drift_percent"));
}

static void rows_that_are_no_numbers_are_refused(void **state)
{
	(void)state;
	policy.only_finite = true;
	assert_ok(pass_delta(full, 30), &err); /* that of the mark does not count */
	key_count = row_count = 0;
	assert_int_equal(pass_delta(full, INFINITY), SP_CORRUPT);
	assert_non_null(strstr(err.text, "key 2 is not finite"));
	key_count = row_count = 0;
	assert_int_equal(pass_delta(NULL, NAN), SP_CORRUPT);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_done_unless_wanted),
		CASE(known_keys_are_blended_with_the_full_checkpoint),
		CASE(new_keys_can_be_ignored),
		CASE(too_many_new_keys_are_refused),
		CASE(too_much_drift_is_refused),
		CASE(rows_that_are_no_numbers_are_refused),
	};

	return cmocka_run_group_tests_name("row_merge", tests, NULL, NULL);
}
