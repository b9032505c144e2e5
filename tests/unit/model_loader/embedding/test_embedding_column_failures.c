#include "tests/support/cmocka.h"

#include <string.h>

#include "base/alloc.h"
#include "model_loader/embedding/embedding_column.h"
#include "tests/support/seen.h"

/* Frequencies and versions that cannot be loaded: what is said, and that nothing else changes. */

static sp_seen t;

static int set_up(void **state)
{
	(void)state;
	sp_seen_init(&t);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_seen_fini(&t);
	return 0;
}

/* A checkpoint as sp_seen_write_all() writes it, but for the one tensor. */
static sp_status load_with(const char *name, sp_dtype dtype, int rank, int64_t count)
{
	static const int64_t numbers[64];

	sp_seen_write_all(&t);
	for (int i = 0; i < 7; i++) /* they are still there */
		if (strcmp(t.tensors[i].name, name) == 0)
			t.tensors[i] = (sp_checkpoint_tensor){.name = name,
							      .dtype = dtype,
							      .rank = rank,
							      .dims = {count, 2},
							      .data = numbers};
	t.tensor_count = 7;
	sp_seen_write(&t, t.full_prefix);
	return sp_seen_load_full(&t, SP_SEEN_BOTH);
}

static void tensors_that_contradict_each_other_are_corrupt(void **state)
{
	static const struct {
		const char *name;
		sp_dtype dtype;
		int rank;
		int64_t count;
	} bad[] = {
		{"t-freqs", SP_INT64, 1, 5},
		{"t-freqs", SP_FLOAT, 1, 4},
		{"t-versions", SP_INT64, 1, 5},
		{"t-versions", SP_INT32, 1, 4},
		{"t-versions", SP_INT64, 2, 2},
		{"t-versions", SP_INT64, 0, 0},
		{"t-keys_filtered", SP_INT32, 1, 2},
		{"t-keys_filtered", SP_INT64, 2, 2},
		{"t-keys_filtered", SP_INT64, 0, 0},
		{"t-keys_filtered", SP_INT64, 1, 1},
		{"t-freqs_filtered", SP_INT64, 1, 3},
		{"t-freqs_filtered", SP_DOUBLE, 1, 2},
		{"t-versions_filtered", SP_INT64, 2, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(load_with(bad[i].name, bad[i].dtype, bad[i].rank, bad[i].count),
				 SP_CORRUPT);
		assert_non_null(strstr(t.err.text, "t-"));
	}
	assert_ok(load_with("t-freqs_filtered", SP_INT64, 1, 2), &t.err);
}

/* The tensors lie in the order of their names, and freqs before keys. */
static void what_is_read_must_match_its_checksum(void **state)
{
	(void)state;
	sp_seen_write_all(&t);
	sp_checkpoint_break(t.full_prefix, 0);
	assert_int_equal(sp_seen_load_full(&t, SP_SEEN_BOTH), SP_CORRUPT);
	assert_non_null(strstr(t.err.text, "t-freqs"));
	assert_ok(sp_seen_load_full(&t, 1 << SP_TABLE_VERSIONS), &t.err); /* nobody reads it */
}

static const int64_t delta_freqs[] = {2, 30, 4}, delta_versions[] = {90, 0, -1};

/* What is refused leaves the version before as it was. */
static void a_corrupt_delta_is_refused(void **state)
{
	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, delta_versions);
	sp_checkpoint_break(t.delta_prefix, 0);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_int_equal(sp_seen_load_delta(&t), SP_CORRUPT);
	assert_null(t.delta.items[0].table);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, sp_seen_freqs, 4);
}

static void every_failed_allocation_is_reported(void **state)
{
	int64_t successes = 0;
	sp_status status;

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, NULL);
	do {
		sp_alloc_fail_after(successes++);
		status = sp_seen_load_full(&t, SP_SEEN_BOTH);
		if (status == SP_OK)
			status = sp_seen_load_delta(&t);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		if (status == SP_OK)
			sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES,
				      sp_seen_delta_keys, delta_freqs, 3);
		sp_load_environment_destroy(t.delta.environment);
		t.delta = (sp_seen_load){.environment = NULL};
	} while (status != SP_OK);
	assert_true(successes > 40);
}

static void loading_ends_when_the_processor_closes(void **state)
{
	const atomic_bool closing = true;
	sp_embedding_spec spec = {.name = "t",
				  .key_dtype = SP_INT64,
				  .dtype = SP_FLOAT,
				  .dim = SP_SEEN_DIM,
				  .partition_num = 1};
	sp_key_column *column;
	sp_embedding found;
	sp_bundle *bundle;

	(void)state;
	sp_seen_write_all(&t);
	t.policy.closing = &closing;
	assert_ok(sp_bundle_open(&bundle, t.full_prefix, &t.err), &t.err);
	assert_ok(sp_embedding_find(&found, &spec, bundle, NULL, t.arena, &t.err), &t.err);
	assert_int_equal(sp_embedding_load_column(&column, SP_TABLE_VERSIONS, &found, &spec,
						  &t.policy, NULL, &t.err),
			 SP_BUSY);
	sp_bundle_close(bundle);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tensors_that_contradict_each_other_are_corrupt),
		TEST(what_is_read_must_match_its_checksum),
		TEST(a_corrupt_delta_is_refused),
		TEST(every_failed_allocation_is_reported),
		TEST(loading_ends_when_the_processor_closes),
	};

	return cmocka_run_group_tests_name("failures of embedding columns", tests, NULL, NULL);
}
