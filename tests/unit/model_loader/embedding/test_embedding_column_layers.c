#include "tests/support/cmocka.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/table/layers_fold.h"
#include "tests/support/seen.h"

/* Frequencies and versions where a delta lies over them, and wherever the rows lie. */

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

static const int64_t delta_freqs[] = {2, 30, 4}, delta_versions[] = {90, 0, -1};

static void a_delta_lies_over_them(void **state)
{
	static const int64_t all[] = {7, 8, 100, 1001, 0, 12, 2007, 9};
	static const int64_t want_freqs[] = {2, 30, 4, 50, 6, 5000000000, 1, 0};
	static const int64_t want_versions[] = {90, 0, -1, 0, -1, 6000000000, 12, -1};

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, delta_versions);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES, all, want_freqs, 8);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_VERSIONS, all, want_versions, 8);
	sp_seen_check_absent(t.delta.items[0].table);
	/* The full checkpoint's own are what they were. */
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, sp_seen_freqs, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused,
		      sp_seen_refused_versions, 2);
}

/* Also when both come at once. */
static void a_delta_may_be_read_with_its_checkpoint(void **state)
{
	sp_load_environment_options options = {.checkpoint_prefix = t.full_prefix,
					       .delta_prefix = t.delta_prefix};

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, delta_versions);
	t.full.items[0] = sp_seen_resource("t", SP_SEEN_BOTH);
	assert_ok(sp_seen_load_tables(&t, &t.full, &options, 1, false), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_delta_keys, delta_freqs,
		      3);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_FREQUENCIES, 1001, 50);
}

static void a_delta_that_says_nothing_changes_nothing(void **state)
{
	static const int64_t want_freqs[] = {1, 2, 1}, want_versions[] = {10, 11, -1};

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, NULL, NULL);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_delta_keys, want_freqs,
		      3);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_VERSIONS, sp_seen_delta_keys, want_versions,
		      3);
	sp_load_environment_destroy(t.delta.environment);
	sp_load_environment_destroy(t.full.environment);
	t.delta.environment = t.full.environment = NULL;
	t.settings.filter_freq = 2;
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 7, 2);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 100, 2);
}

/* They are cumulative: what one says takes the place of all that the one before said. */
static void a_newer_delta_takes_the_place_of_the_older(void **state)
{
	static const int64_t only[] = {100}, only_freqs[] = {9};
	size_t before;

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, delta_versions);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	before = sp_table_footprint(t.delta.items[0].table);
	sp_seen_add(&t, "t-sparse_incr_keys", SP_INT64, only, 1);
	sp_seen_add_rows(&t, "t-sparse_incr_values", 1);
	sp_seen_add(&t, "t-sparse_incr_freqs", SP_INT64, only_freqs, 1);
	sp_seen_write(&t, t.delta_prefix);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 7, 1);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 100, 9);
	assert_true(sp_table_footprint(t.delta.items[0].table) < before);
}

static void a_delta_without_the_variable_leaves_its_numbers(void **state)
{
	static const int64_t step[] = {2};

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_add(&t, "global_step", SP_INT64, step, 1);
	sp_seen_write(&t, t.delta_prefix);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, sp_seen_freqs, 4);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused,
		      sp_seen_refused_freqs, 2);
}

/* Rows that the policy leaves out of a delta do not count there. */
static void rows_left_out_of_a_delta_keep_their_numbers(void **state)
{
	static const int64_t newer[] = {9, 90, 1};
	static const int64_t want[] = {10, 90, 1}, want_freqs[] = {1, 30, 4};

	(void)state;
	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, newer);
	t.policy.ignore_new_keys = true;
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 7, 2);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 8, 2);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_FREQUENCIES, 100, 0);
	sp_load_environment_destroy(t.delta.environment);
	t.delta.environment = NULL;
	t.policy.ignore_new_keys = false;
	t.policy.old_key = SP_OLD_KEY_REPLACE_IF_NEWER;
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_VERSIONS, sp_seen_delta_keys, want, 3);
	sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_delta_keys, want_freqs,
		      3);
}

/* ------------------------------------------------------- wherever the rows lie */

static void fold(sp_table **out, const sp_table *table)
{
	const sp_layers_fold_options options = {.threads = 1};
	sp_layers_fold *f;
	bool done = false;

	assert_ok(sp_layers_fold_create(&f, table, &options, &t.err), &t.err);
	while (!done) {
		assert_ok(sp_layers_fold_step(f, 1000, &done, &t.err), &t.err);
		usleep(200);
	}
	assert_ok(sp_layers_fold_freeze(f, out, &t.err), &t.err);
	sp_layers_fold_adopt(f);
	sp_layers_fold_destroy(f);
}

/* What a_delta_lies_over_them() says, and again when the delta has become part of the rows. */
static void check_fold(void)
{
	static const int64_t next_freqs[] = {3, 31, 5};
	sp_table *folded, *kept;
	sp_resource base;

	sp_seen_write_all(&t);
	sp_seen_write_delta(&t, delta_freqs, delta_versions);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	fold(&folded, t.delta.items[0].table);
	assert_true(sp_table_is_folded(folded));
	sp_seen_check(folded, SP_TABLE_FREQUENCIES, sp_seen_delta_keys, delta_freqs, 3);
	sp_seen_check(folded, SP_TABLE_VERSIONS, sp_seen_delta_keys, delta_versions, 3);
	sp_seen_check_one(folded, SP_TABLE_FREQUENCIES, 1001, 50);
	sp_seen_check_one(folded, SP_TABLE_FREQUENCIES, 2007, 1);

	/* The next delta lies over the full checkpoint's, not over what was folded. */
	assert_ok(sp_table_share(&kept, folded, &t.err), &t.err);
	base = t.full.items[0];
	t.full.items[0].table = folded;
	sp_seen_write_delta(&t, next_freqs, NULL);
	assert_ok(sp_seen_load_delta(&t), &t.err);
	t.full.items[0] = base;
	sp_seen_check(t.delta.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_delta_keys, next_freqs,
		      3);
	sp_seen_check_one(t.delta.items[0].table, SP_TABLE_VERSIONS, 7, 10);
	sp_seen_check(kept, SP_TABLE_FREQUENCIES, sp_seen_delta_keys, delta_freqs, 3);
	sp_table_destroy(folded);
	sp_table_destroy(kept);
}

static void they_outlive_folding(void **state)
{
	(void)state;
	check_fold();
}

static void they_are_the_same_on_an_ssd(void **state)
{
	char path[SP_PATH_SIZE + 16];
	const sp_ssd_store_options options = {
		.path = path, .model = "m", .version = "v", .cache_bytes = 1, .readers = 2};
	sp_table_counters counters;

	(void)state;
	snprintf(path, sizeof(path), "%s/ssd", t.folder);
	assert_ok(sp_ssd_store_open(&t.store, &options, &t.err), &t.err);
	check_fold();
	counters = sp_table_count(t.full.items[0].table);
	assert_non_null(counters.tier);
	assert_int_equal(counters.missed, 0); /* no row was read for a number */
	/* The folder is found again; the numbers are the checkpoint's. */
	sp_load_environment_destroy(t.delta.environment);
	t.delta.environment = NULL;
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, sp_seen_versions, 4);
}

static void they_are_the_same_over_an_image(void **state)
{
	char path[SP_PATH_SIZE + 16];
	sp_load_environment_options options = {
		.checkpoint_prefix = t.full_prefix, .policy = &t.policy, .file_root = t.folder};

	(void)state;
	snprintf(path, sizeof(path), "%s/images", t.folder);
	assert_int_equal(mkdir(path, 0700), 0);
	t.policy.image_folder = path;
	sp_seen_write_all(&t);
	for (int start = 0; start < 2; start++) { /* the first one makes it */
		t.full.items[0] = sp_seen_resource("t", SP_SEEN_BOTH);
		assert_ok(sp_seen_load_tables(&t, &t.full, &options, 1, false), &t.err);
		assert_int_equal((t.full.environment->embeddings.image.image != NULL), start == 1);
		sp_embedding_set_use_image(&t.full.environment->embeddings);
		assert_non_null(t.full.environment->embeddings.image.image);
		sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys,
			      sp_seen_freqs, 4);
		sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused,
			      sp_seen_refused_versions, 2);
		sp_load_environment_destroy(t.full.environment);
		t.full = (sp_seen_load){.environment = NULL};
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_delta_lies_over_them),
		TEST(a_delta_may_be_read_with_its_checkpoint),
		TEST(a_delta_that_says_nothing_changes_nothing),
		TEST(a_newer_delta_takes_the_place_of_the_older),
		TEST(a_delta_without_the_variable_leaves_its_numbers),
		TEST(rows_left_out_of_a_delta_keep_their_numbers),
		TEST(they_outlive_folding),
		TEST(they_are_the_same_on_an_ssd),
		TEST(they_are_the_same_over_an_image),
	};

	return cmocka_run_group_tests_name("layers of embedding columns", tests, NULL, NULL);
}
