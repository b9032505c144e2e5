#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/embedding/bucket_offsets.h"
#include "model_loader/embedding/embedding_column.h"
#include "tests/support/embeddings.h"
#include "tests/support/seen.h"

/*
 * Frequencies and versions as tables get them from full checkpoints, over checkpoints that each
 * test writes; what they must be is stated here, from DeepRec's rules
 * (model_loader/embedding/embedding_column.h).
 */

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

static void they_are_those_of_the_checkpoint(void **state)
{
	(void)state;
	sp_seen_write_all(&t);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, sp_seen_freqs, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, sp_seen_versions, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused,
		      sp_seen_refused_freqs, 2);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused,
		      sp_seen_refused_versions, 2);
	sp_seen_check_absent(t.full.items[0].table);
}

static void only_what_is_asked_for_is_kept(void **state)
{
	size_t bytes[4];

	(void)state;
	sp_seen_write_all(&t);
	for (unsigned columns = 0; columns < 4; columns++) {
		assert_ok(sp_seen_load_full(&t, columns), &t.err);
		for (int c = 0; c < SP_TABLE_COLUMNS; c++)
			assert_int_equal(
				sp_table_has_column(t.full.items[0].table, (sp_table_column)c),
				(columns >> c & 1) != 0);
		bytes[columns] = sp_table_footprint(t.full.items[0].table);
	}
	assert_true(bytes[0] < bytes[1] && bytes[1] < bytes[3] && bytes[2] < bytes[3]);
}

/* A key that has a row has been admitted; a refused one has been seen as often as it says. */
static void a_filter_raises_frequencies_of_rows(void **state)
{
	static const int64_t want[] = {6, 50, 6, 5000000000};

	(void)state;
	t.settings.filter_freq = 6;
	sp_seen_write_all(&t);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, want, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused,
		      sp_seen_refused_freqs, 2);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused,
		      sp_seen_refused_versions, 2);
	sp_seen_check_absent(t.full.items[0].table);
}

/* It keeps no refused keys, but counts them. */
static void a_cbf_filter_knows_no_versions_of_refused_keys(void **state)
{
	static const int64_t none[] = {-1, -1};

	(void)state;
	t.settings.filter_freq = 6;
	t.settings.max_element_size = 1000;
	t.settings.false_positive_probability = 0.01f;
	sp_seen_write_all(&t);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused,
		      sp_seen_refused_freqs, 2);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused, none, 2);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, sp_seen_versions, 4);
}

static void of_what_is_missing_the_least_is_known(void **state)
{
	static const int64_t once[] = {1, 1, 1, 1}, thrice[] = {3, 3, 3, 3};
	static const int64_t unknown[] = {-1, -1, -1, -1}, nothing[] = {0, 0};

	(void)state;
	for (int empty = 0; empty < 2; empty++)
		for (int filter = 0; filter < 4; filter += 3) {
			t.settings.filter_freq = filter;
			sp_seen_add(&t, "t-keys", SP_INT64, sp_seen_keys, 4);
			sp_seen_add_rows(&t, "t-values", 4);
			sp_seen_add(&t, "t-keys_filtered", SP_INT64, sp_seen_refused, 2);
			if (empty) {
				sp_seen_add(&t, "t-freqs", SP_INT64, NULL, 0);
				sp_seen_add(&t, "t-versions", SP_INT64, NULL, 0);
				sp_seen_add(&t, "t-freqs_filtered", SP_INT64, NULL, 0);
			}
			sp_seen_write(&t, t.full_prefix);
			assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
			sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys,
				      filter != 0 ? thrice : once, 4);
			sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys,
				      unknown, 4);
			sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused,
				      nothing, 2);
			sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused,
				      unknown, 2);
		}
}

/* Rows that lay on a slower tier have none. */
static void tensors_may_be_shorter_than_keys(void **state)
{
	static const int64_t want_freqs[] = {1, 50, 1, 1}, want_versions[] = {10, -1, -1, -1};

	(void)state;
	sp_seen_add(&t, "t-keys", SP_INT64, sp_seen_keys, 4);
	sp_seen_add_rows(&t, "t-values", 4);
	sp_seen_add(&t, "t-freqs", SP_INT64, sp_seen_freqs, 2);
	sp_seen_add(&t, "t-versions", SP_INT64, sp_seen_versions, 1);
	sp_seen_add(&t, "t-keys_filtered", SP_INT64, sp_seen_refused, 2);
	sp_seen_add(&t, "t-freqs_filtered", SP_INT64, sp_seen_refused_freqs, 1);
	sp_seen_write(&t, t.full_prefix);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, want_freqs, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, want_versions, 4);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_FREQUENCIES, 8, 2);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_FREQUENCIES, 2007, 0);
}

static void no_number_is_less_than_nothing(void **state)
{
	static const int64_t negative[] = {-1, INT64_MIN, 0, 4};
	static const int64_t want_freqs[] = {0, 0, 0, 4}, want_versions[] = {-1, -1, 0, 4};

	(void)state;
	sp_seen_add(&t, "t-keys", SP_INT64, sp_seen_keys, 4);
	sp_seen_add_rows(&t, "t-values", 4);
	sp_seen_add(&t, "t-freqs", SP_INT64, negative, 4);
	sp_seen_add(&t, "t-versions", SP_INT64, negative, 4);
	sp_seen_add(&t, "t-keys_filtered", SP_INT64, sp_seen_refused, 2);
	sp_seen_add(&t, "t-freqs_filtered", SP_INT64, negative, 2);
	sp_seen_write(&t, t.full_prefix);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, want_freqs, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, want_versions, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused, want_freqs, 2);
}

static void versions_may_be_reset(void **state)
{
	static const int64_t zeros[4];
	sp_load_environment_options options = {.checkpoint_prefix = t.full_prefix};

	(void)state;
	sp_seen_write_all(&t);
	t.full.items[0] = sp_seen_resource("t", SP_SEEN_BOTH);
	assert_ok(sp_seen_load_tables(&t, &t.full, &options, 1, true), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, zeros, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_refused, zeros, 2);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, sp_seen_freqs, 4);
	sp_seen_check_absent(t.full.items[0].table);
}

static void keys_may_be_int32(void **state)
{
	static const int32_t narrow[] = {7, -1000, 12};
	static const int32_t narrow_refused[] = {-3};
	static const int64_t wide[] = {7, -1000, 12, -3, -1};
	static const int64_t want[] = {1, 50, 6, 2, 0};
	sp_load_environment_options options = {.checkpoint_prefix = t.full_prefix};

	(void)state;
	sp_seen_add(&t, "t-keys", SP_INT32, narrow, 3);
	sp_seen_add_rows(&t, "t-values", 3);
	sp_seen_add(&t, "t-freqs", SP_INT64, sp_seen_freqs, 3);
	sp_seen_add(&t, "t-keys_filtered", SP_INT32, narrow_refused, 1);
	sp_seen_add(&t, "t-freqs_filtered", SP_INT64, sp_seen_refused_freqs, 1);
	sp_seen_write(&t, t.full_prefix);
	t.full.items[0] = sp_seen_resource("t", SP_SEEN_BOTH);
	t.full.items[0].key_dtype = SP_INT32;
	assert_ok(sp_seen_load_tables(&t, &t.full, &options, 1, false), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, wide, want, 5);
}

static void of_a_key_that_is_there_twice_the_row_and_the_later_one_count(void **state)
{
	static const int64_t twice[] = {7, 8, 7};
	static const int64_t want[] = {6, 50};

	(void)state;
	sp_seen_add(&t, "t-keys", SP_INT64, twice, 3);
	sp_seen_add_rows(&t, "t-values", 3);
	sp_seen_add(&t, "t-freqs", SP_INT64, sp_seen_freqs, 3);
	sp_seen_add(&t, "t-keys_filtered", SP_INT64, sp_seen_refused, 2);
	sp_seen_add(&t, "t-freqs_filtered", SP_INT64, sp_seen_refused_freqs, 2);
	sp_seen_write(&t, t.full_prefix);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, twice, want, 2);
}

/* Rows are left out that were seen too seldom; how often they were seen is still known. */
static void a_threshold_leaves_out_rows_alone(void **state)
{
	const sp_name_rule rule = {"*", 6};
	bool found[4];

	(void)state;
	t.policy.frequency_thresholds = (sp_name_rules){&rule, 1};
	sp_seen_write_all(&t);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	assert_ok(sp_table_contains(t.full.items[0].table, sp_seen_keys, 4, found, &t.err), &t.err);
	assert_false(found[0]);
	assert_true(found[1]);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, sp_seen_freqs, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_VERSIONS, sp_seen_keys, sp_seen_versions, 4);
}

static void slices_have_the_numbers_of_their_keys(void **state)
{
	static const int64_t want[] = {1, 50, 0, 0}, want_refused[] = {0, 1};

	(void)state;
	t.policy.sharded_names = "t";
	t.policy.slice = 1;
	t.policy.slice_count = 2;
	sp_seen_write_all(&t);
	assert_ok(sp_seen_load_full(&t, SP_SEEN_BOTH), &t.err);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_keys, want, 4);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, sp_seen_refused, want_refused,
		      2);
}

/* Of keys that lie in the order of their buckets. */
static void count_offsets(int32_t offsets[SP_BUCKETS + 1], const int64_t *keys, size_t count)
{
	memset(offsets, 0, (SP_BUCKETS + 1) * sizeof(*offsets));
	for (size_t i = 0; i < count; i++)
		offsets[keys[i] % SP_BUCKETS + 1]++;
	for (int b = 0; b < SP_BUCKETS; b++)
		offsets[b + 1] += offsets[b];
}

/* So many rows that they can be told to be routed. */
static void parts_share_the_columns_that_one_asks_for(void **state)
{
	enum { ROWS = 16 };
	static const int64_t odd_refused[] = {5};
	int64_t even[ROWS], odd[ROWS], even_freqs[ROWS], odd_freqs[ROWS];
	int32_t even_offsets[SP_BUCKETS + 1], odd_offsets[SP_BUCKETS + 1];
	sp_load_environment_options options = {.checkpoint_prefix = t.full_prefix};

	(void)state;
	for (int64_t i = 0; i < ROWS; i++) {
		even[i] = 4 + 6 * i;
		odd[i] = 1001 + 2 * i;
		even_freqs[i] = 40 + i;
		odd_freqs[i] = 1 + i;
	}
	count_offsets(even_offsets, even, ROWS);
	count_offsets(odd_offsets, odd, ROWS);
	sp_seen_add(&t, "t/part_0-keys", SP_INT64, even, ROWS);
	sp_seen_add_rows(&t, "t/part_0-values", ROWS);
	sp_seen_add(&t, "t/part_0-freqs", SP_INT64, even_freqs, ROWS);
	sp_seen_add(&t, "t/part_0-partition_offset", SP_INT32, even_offsets, SP_BUCKETS + 1);
	sp_seen_add(&t, "t/part_1-keys", SP_INT64, odd, ROWS);
	sp_seen_add_rows(&t, "t/part_1-values", ROWS);
	sp_seen_add(&t, "t/part_1-freqs", SP_INT64, odd_freqs, ROWS);
	sp_seen_add(&t, "t/part_1-partition_offset", SP_INT32, odd_offsets, SP_BUCKETS + 1);
	sp_seen_add(&t, "t/part_1-keys_filtered", SP_INT64, odd_refused, 1);
	sp_seen_add(&t, "t/part_1-freqs_filtered", SP_INT64, sp_seen_refused_freqs, 1);
	sp_seen_write(&t, t.full_prefix);
	t.full.items[0] = sp_seen_resource("t/part_0", 0);
	t.full.items[1] = sp_seen_resource("t/part_1", 1 << SP_TABLE_FREQUENCIES);
	assert_ok(sp_seen_load_tables(&t, &t.full, &options, 2, false), &t.err);
	assert_ptr_equal(t.full.items[0].table, t.full.items[1].table);
	assert_false(sp_table_has_column(t.full.items[0].table, SP_TABLE_VERSIONS));
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, even, even_freqs, ROWS);
	sp_seen_check(t.full.items[0].table, SP_TABLE_FREQUENCIES, odd, odd_freqs, ROWS);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_FREQUENCIES, 5, 2);
}

static void rows_in_hand_bring_their_versions(void **state)
{
	static const int64_t known[] = {40};
	const sp_tensor k = {.dtype = SP_INT64,
			     .shape = sp_shape_vector(4),
			     .count = 4,
			     .data = (void *)sp_seen_keys};
	const sp_tensor v = {.dtype = SP_FLOAT,
			     .shape = sp_shape_matrix(4, SP_SEEN_DIM),
			     .count = 4 * SP_SEEN_DIM,
			     .data = (void *)sp_seen_rows};
	const sp_tensor n = {
		.dtype = SP_INT64, .shape = sp_shape_vector(1), .count = 1, .data = (void *)known};
	const sp_tensor defaults = {
		.dtype = SP_FLOAT, .count = SP_SEEN_DIM, .data = (void *)sp_seen_rows};
	const sp_load_environment_options options = {.policy = &t.policy};
	const uint32_t index = 0;
	const sp_environment *e;

	(void)state;
	t.settings.default_rows = &defaults;
	t.full.items[0] = sp_seen_resource("t", SP_SEEN_BOTH);
	t.full.list = (sp_resources){.items = t.full.items, .count = 1};
	assert_ok(sp_load_environment_create(&t.full.environment, &options, t.arena, &t.err),
		  &t.err);
	e = &t.full.environment->calls;
	assert_ok(e->create_embedding(e->context, t.full.items, &t.settings, &t.err), &t.err);
	assert_ok(e->import_embedding_rows(e->context, t.full.items, &k, &v, &n, &t.err), &t.err);
	assert_ok(sp_load_environment_load_tables(t.full.environment, &t.full.list, &index, 1,
						  &t.err),
		  &t.err);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_VERSIONS, 7, 40);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_VERSIONS, 1001, -1);
	sp_seen_check_one(t.full.items[0].table, SP_TABLE_FREQUENCIES, 1001, 1);
	sp_seen_check_absent(t.full.items[0].table);
}

/* With the numbers, and what a table of this size takes without them. */
static void their_memory_is_expected(void **state)
{
	size_t bytes[2];
	const char *name;

	(void)state;
	sp_seen_write_all(&t);
	for (unsigned both = 0; both < 2; both++) {
		assert_ok(sp_seen_load_full(&t, both != 0 ? SP_SEEN_BOTH : 0), &t.err);
		assert_ok(sp_embedding_set_expect(&t.full.environment->embeddings, &t.full.items[0],
						  &name, &bytes[both], &t.err),
			  &t.err);
	}
	/* Six keys, at least 12 bytes each, twice. */
	assert_true(bytes[1] >= bytes[0] + 2 * 6 * 12);
	assert_true(bytes[1] <= bytes[0] + 2 * (6 + 1) * 17 + 64);
}

/* ------------------------------------------------------------ DeepRec's SSD tier */

/* Of tests/golden/embeddings/ssd/: see make_ssd() in scripts/make_embedding_fixtures.py. */
static sp_status load_record(sp_key_column **out, const char *name, sp_table_column which,
			     sp_table_filter filter)
{
	sp_embedding_spec spec = {.name = name,
				  .key_dtype = SP_INT64,
				  .dtype = SP_FLOAT,
				  .dim = strcmp(name, "tail0") == 0 ? 6 : SP_SEEN_DIM,
				  .partition_num = 1,
				  .filter = filter,
				  .filter_freq = filter != SP_TABLE_FILTER_NONE ? 4 : 0};
	sp_bundle *bundle = sp_embeddings_open("ssd/full");
	sp_embedding found;
	sp_status status;

	assert_ok(sp_embedding_find(&found, &spec, bundle, NULL, t.arena, &t.err), &t.err);
	status = sp_embedding_load_column(out, which, &found, &spec, &t.policy, NULL, &t.err);
	sp_bundle_close(bundle);
	return status;
}

static int64_t number_of(const sp_key_column *column, int64_t key)
{
	int64_t number;

	sp_key_column_read(column, &key, 1, &number);
	return number;
}

/* Keys 37 i, of which those from 60 on lie on the SSD; the others were seen three times. */
static void records_of_deeprecs_ssd_tier_tell_frequencies(void **state)
{
	static const struct {
		const char *name;
		sp_table_filter filter;
		bool known;
	} cases[] = {
		{"header", SP_TABLE_FILTER_NONE, true},   {"header", SP_TABLE_FILTER_COUNTER, true},
		{"tail2", SP_TABLE_FILTER_NONE, true},    {"tail1", SP_TABLE_FILTER_COUNTER, true},
		{"tail2", SP_TABLE_FILTER_COUNTER, true}, {"tail0", SP_TABLE_FILTER_NONE, false},
		{"tail0", SP_TABLE_FILTER_COUNTER, false}};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		bool filtered = cases[c].filter != SP_TABLE_FILTER_NONE;
		sp_key_column *column;

		assert_ok(
			load_record(&column, cases[c].name, SP_TABLE_FREQUENCIES, cases[c].filter),
			&t.err);
		for (int64_t i = 0; i < 100; i++) {
			int64_t want = cases[c].known ? sp_embeddings_seen(37 * i)
				       : filtered     ? 4
						      : 1;

			if (i < 60)
				want = filtered ? 4 : 3;
			assert_int_equal(number_of(column, 37 * i), want);
		}
		assert_int_equal(number_of(column, 38), 0);
		sp_key_column_release(column);
	}
}

/* The step of all records is 1234; the tensors tell none. */
static void records_of_deeprecs_ssd_tier_may_tell_versions(void **state)
{
	static const char *const told[] = {"header", "tail2"}, *const untold[] = {"tail1", "tail0"};
	sp_key_column *column;

	(void)state;
	for (size_t c = 0; c < 2; c++) {
		assert_ok(load_record(&column, told[c], SP_TABLE_VERSIONS, SP_TABLE_FILTER_NONE),
			  &t.err);
		for (int64_t i = 0; i < 100; i++)
			assert_int_equal(number_of(column, 37 * i), i < 60 ? -1 : 1234);
		sp_key_column_release(column);
		assert_int_equal(
			load_record(&column, untold[c], SP_TABLE_VERSIONS, SP_TABLE_FILTER_NONE),
			SP_UNSUPPORTED);
		assert_non_null(strstr(t.err.text, untold[c]));
		assert_non_null(strstr(t.err.text, "versions"));
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(they_are_those_of_the_checkpoint),
		TEST(only_what_is_asked_for_is_kept),
		TEST(a_filter_raises_frequencies_of_rows),
		TEST(a_cbf_filter_knows_no_versions_of_refused_keys),
		TEST(of_what_is_missing_the_least_is_known),
		TEST(tensors_may_be_shorter_than_keys),
		TEST(no_number_is_less_than_nothing),
		TEST(versions_may_be_reset),
		TEST(keys_may_be_int32),
		TEST(of_a_key_that_is_there_twice_the_row_and_the_later_one_count),
		TEST(a_threshold_leaves_out_rows_alone),
		TEST(slices_have_the_numbers_of_their_keys),
		TEST(parts_share_the_columns_that_one_asks_for),
		TEST(rows_in_hand_bring_their_versions),
		TEST(their_memory_is_expected),
		TEST(records_of_deeprecs_ssd_tier_tell_frequencies),
		TEST(records_of_deeprecs_ssd_tier_may_tell_versions),
	};

	return cmocka_run_group_tests_name("embedding columns", tests, NULL, NULL);
}
