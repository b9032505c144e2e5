#include "tests/support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model_loader/embedding_column.h"
#include "model_loader/load_environment.h"
#include "storage/layers_fold.h"
#include "storage/table_builder.h"
#include "tests/support/checkpoint.h"
#include "tests/support/embeddings.h"
#include "tests/support/paths.h"

/*
 * Frequencies and versions as tables get them, over checkpoints that each test
 * writes; what they must be is stated here, from DeepRec's rules
 * (model_loader/embedding_column.h).
 */
enum {
	DIM = 4,
	MAX_TENSORS = 16,
	BOTH = 1 << SP_TABLE_FREQUENCIES | 1 << SP_TABLE_VERSIONS,
};

/* One load: a full checkpoint, or a delta on one. */
typedef struct load {
	sp_load_environment *environment;
	sp_resource items[2];
	sp_resources list;
} load;

static char folder[SP_PATH_SIZE], full_prefix[SP_PATH_SIZE + 32], delta_prefix[SP_PATH_SIZE + 32];
static sp_checkpoint_tensor tensors[MAX_TENSORS];
static size_t tensor_count;
static const float rows[64 * DIM];
static sp_arena *arena;
static sp_load_policy policy;
static sp_embedding_options settings;
static sp_ssd_store *store;
static load full, delta;
static sp_error err;

static int set_up(void **state)
{
	(void)state;
	sp_log_set_level(SP_LOG_ERROR);
	sp_temp_make(folder);
	snprintf(full_prefix, sizeof(full_prefix), "%s/model.ckpt-1", folder);
	snprintf(delta_prefix, sizeof(delta_prefix), "%s/delta.ckpt-2", folder);
	tensor_count = 0;
	arena = sp_arena_create(64 << 10);
	policy = (sp_load_policy){.threads = 2};
	settings = (sp_embedding_options){.default_value_dim = 1,
					  .false_positive_probability = -1.0f};
	memset(&full, 0, sizeof(full));
	memset(&delta, 0, sizeof(delta));
	store = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_load_environment_destroy(delta.environment);
	sp_load_environment_destroy(full.environment);
	sp_ssd_store_release(store);
	sp_arena_destroy(arena);
	sp_temp_remove(folder);
	return 0;
}

/* -------------------------------------------------------------- checkpoints */

static void add(const char *name, sp_dtype dtype, const void *data, int64_t count)
{
	assert_true(tensor_count < MAX_TENSORS);
	tensors[tensor_count++] = (sp_checkpoint_tensor){
		.name = name, .dtype = dtype, .rank = 1, .dims = {count, 0}, .data = data};
}

static void add_rows(const char *name, int64_t count)
{
	tensors[tensor_count++] = (sp_checkpoint_tensor){
		.name = name, .dtype = SP_FLOAT, .rank = 2, .dims = {count, DIM}, .data = rows};
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_checkpoint_tensor *)a)->name,
		      ((const sp_checkpoint_tensor *)b)->name);
}

static void write_as(const char *prefix)
{
	qsort(tensors, tensor_count, sizeof(tensors[0]), by_name);
	sp_checkpoint_write(prefix, tensors, tensor_count, 1);
	tensor_count = 0;
}

static const int64_t keys[] = {7, 1001, 0, 12};
static const int64_t freqs[] = {1, 50, 6, 5000000000};
static const int64_t versions[] = {10, 0, -1, 6000000000};
static const int64_t refused[] = {8, 2007};
static const int64_t refused_freqs[] = {2, 1};
static const int64_t refused_versions[] = {11, 12};
static const int64_t nobody[] = {9, -5, -1, -2, INT64_MAX};

static void write_all(void)
{
	add("t-keys", SP_INT64, keys, 4);
	add_rows("t-values", 4);
	add("t-freqs", SP_INT64, freqs, 4);
	add("t-versions", SP_INT64, versions, 4);
	add("t-keys_filtered", SP_INT64, refused, 2);
	add("t-freqs_filtered", SP_INT64, refused_freqs, 2);
	add("t-versions_filtered", SP_INT64, refused_versions, 2);
	write_as(full_prefix);
}

/* Key 7 again, key 8, which was refused before, and 100, which is new. */
static const int64_t delta_keys[] = {7, 8, 100};

static void write_delta(const int64_t *of_freqs, const int64_t *of_versions)
{
	add("t-sparse_incr_keys", SP_INT64, delta_keys, 3);
	add_rows("t-sparse_incr_values", 3);
	if (of_freqs != NULL)
		add("t-sparse_incr_freqs", SP_INT64, of_freqs, 3);
	if (of_versions != NULL)
		add("t-sparse_incr_versions", SP_INT64, of_versions, 3);
	write_as(delta_prefix);
}

/* -------------------------------------------------------------------- loading */

static sp_resource resource(const char *name, unsigned columns)
{
	return (sp_resource){.kind = SP_RESOURCE_EMBEDDING,
			     .name = name,
			     .dtype = SP_FLOAT,
			     .key_dtype = SP_INT64,
			     .shape = {.rank = 1, .dims = {DIM}},
			     .columns = columns};
}

static sp_status load_tables(load *l, const sp_load_environment_options *options, size_t handles,
			     bool resets)
{
	const sp_tensor defaults = {.dtype = SP_FLOAT, .count = DIM, .data = (void *)rows};
	const uint32_t indices[] = {0, 1};
	const sp_environment *e;

	l->list = (sp_resources){.items = l->items, .count = handles};
	settings.default_rows = &defaults;
	SP_TRY(sp_load_environment_create(&l->environment, options, arena, &err));
	e = sp_load_environment_calls(l->environment);
	for (size_t i = 0; i < handles; i++) {
		sp_embedding_import from = {sp_bytes_of(full_prefix), sp_bytes_of(l->items[i].name),
					    (int64_t)i, (int64_t)handles, resets};

		SP_TRY(e->create_embedding(e->context, &l->items[i], &settings, &err));
		SP_TRY(e->import_embedding(e->context, &l->items[i], &from, &err));
	}
	return sp_load_environment_load_tables(l->environment, &l->list, indices, handles, &err);
}

/* The table of "t", in full.items[0]. */
static sp_status load_full(unsigned columns)
{
	sp_load_environment_options options = {
		.checkpoint_prefix = full_prefix, .policy = &policy, .ssd = store};

	sp_load_environment_destroy(full.environment);
	full = (load){.environment = NULL};
	full.items[0] = resource("t", columns);
	return load_tables(&full, &options, 1, false);
}

static sp_status load_delta(void)
{
	sp_load_environment_options options = {.delta_prefix = delta_prefix,
					       .base = full.environment,
					       .base_resources = &full.list,
					       .policy = &policy,
					       .ssd = store};

	sp_load_environment_destroy(delta.environment);
	delta = (load){.environment = NULL};
	delta.items[0] = resource("t", full.items[0].columns);
	return load_tables(&delta, &options, 1, false);
}

static void check(const sp_table *table, sp_table_column column, const int64_t *of,
		  const int64_t *want, size_t count)
{
	int64_t have[16];

	assert_true(sp_table_has_column(table, column));
	sp_table_read_column(table, column, of, count, have);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(have[i], want[i]);
}

static void check_one(const sp_table *table, sp_table_column column, int64_t key, int64_t want)
{
	check(table, column, &key, &want, 1);
}

static void check_absent(const sp_table *table)
{
	for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
		check_one(table, SP_TABLE_FREQUENCIES, nobody[i], 0);
		check_one(table, SP_TABLE_VERSIONS, nobody[i], -1);
	}
}

/* ------------------------------------------------------------ full checkpoints */

static void they_are_those_of_the_checkpoint(void **state)
{
	(void)state;
	write_all();
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, versions, 4);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, refused, refused_freqs, 2);
	check(full.items[0].table, SP_TABLE_VERSIONS, refused, refused_versions, 2);
	check_absent(full.items[0].table);
}

static void only_what_is_asked_for_is_kept(void **state)
{
	size_t bytes[4];

	(void)state;
	write_all();
	for (unsigned columns = 0; columns < 4; columns++) {
		assert_ok(load_full(columns), &err);
		for (int c = 0; c < SP_TABLE_COLUMNS; c++)
			assert_int_equal(
				sp_table_has_column(full.items[0].table, (sp_table_column)c),
				(columns >> c & 1) != 0);
		bytes[columns] = sp_table_footprint(full.items[0].table);
	}
	assert_true(bytes[0] < bytes[1] && bytes[1] < bytes[3] && bytes[2] < bytes[3]);
}

/* A key that has a row has been admitted; a refused one has been seen as often as it says. */
static void a_filter_raises_frequencies_of_rows(void **state)
{
	static const int64_t want[] = {6, 50, 6, 5000000000};

	(void)state;
	settings.filter_freq = 6;
	write_all();
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, want, 4);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, refused, refused_freqs, 2);
	check(full.items[0].table, SP_TABLE_VERSIONS, refused, refused_versions, 2);
	check_absent(full.items[0].table);
}

/* It keeps no refused keys, but counts them. */
static void a_cbf_filter_knows_no_versions_of_refused_keys(void **state)
{
	static const int64_t none[] = {-1, -1};

	(void)state;
	settings.filter_freq = 6;
	settings.max_element_size = 1000;
	settings.false_positive_probability = 0.01f;
	write_all();
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, refused, refused_freqs, 2);
	check(full.items[0].table, SP_TABLE_VERSIONS, refused, none, 2);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, versions, 4);
}

static void of_what_is_missing_the_least_is_known(void **state)
{
	static const int64_t once[] = {1, 1, 1, 1}, thrice[] = {3, 3, 3, 3};
	static const int64_t unknown[] = {-1, -1, -1, -1}, nothing[] = {0, 0};

	(void)state;
	for (int empty = 0; empty < 2; empty++)
		for (int filter = 0; filter < 4; filter += 3) {
			settings.filter_freq = filter;
			add("t-keys", SP_INT64, keys, 4);
			add_rows("t-values", 4);
			add("t-keys_filtered", SP_INT64, refused, 2);
			if (empty) {
				add("t-freqs", SP_INT64, NULL, 0);
				add("t-versions", SP_INT64, NULL, 0);
				add("t-freqs_filtered", SP_INT64, NULL, 0);
			}
			write_as(full_prefix);
			assert_ok(load_full(BOTH), &err);
			check(full.items[0].table, SP_TABLE_FREQUENCIES, keys,
			      filter != 0 ? thrice : once, 4);
			check(full.items[0].table, SP_TABLE_VERSIONS, keys, unknown, 4);
			check(full.items[0].table, SP_TABLE_FREQUENCIES, refused, nothing, 2);
			check(full.items[0].table, SP_TABLE_VERSIONS, refused, unknown, 2);
		}
}

/* Rows that lay on a slower tier have none. */
static void tensors_may_be_shorter_than_keys(void **state)
{
	static const int64_t want_freqs[] = {1, 50, 1, 1}, want_versions[] = {10, -1, -1, -1};

	(void)state;
	add("t-keys", SP_INT64, keys, 4);
	add_rows("t-values", 4);
	add("t-freqs", SP_INT64, freqs, 2);
	add("t-versions", SP_INT64, versions, 1);
	add("t-keys_filtered", SP_INT64, refused, 2);
	add("t-freqs_filtered", SP_INT64, refused_freqs, 1);
	write_as(full_prefix);
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, want_freqs, 4);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, want_versions, 4);
	check_one(full.items[0].table, SP_TABLE_FREQUENCIES, 8, 2);
	check_one(full.items[0].table, SP_TABLE_FREQUENCIES, 2007, 0);
}

static void no_number_is_less_than_nothing(void **state)
{
	static const int64_t negative[] = {-1, INT64_MIN, 0, 4};
	static const int64_t want_freqs[] = {0, 0, 0, 4}, want_versions[] = {-1, -1, 0, 4};

	(void)state;
	add("t-keys", SP_INT64, keys, 4);
	add_rows("t-values", 4);
	add("t-freqs", SP_INT64, negative, 4);
	add("t-versions", SP_INT64, negative, 4);
	add("t-keys_filtered", SP_INT64, refused, 2);
	add("t-freqs_filtered", SP_INT64, negative, 2);
	write_as(full_prefix);
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, want_freqs, 4);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, want_versions, 4);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, refused, want_freqs, 2);
}

static void versions_may_be_reset(void **state)
{
	static const int64_t zeros[4];
	sp_load_environment_options options = {.checkpoint_prefix = full_prefix};

	(void)state;
	write_all();
	full.items[0] = resource("t", BOTH);
	assert_ok(load_tables(&full, &options, 1, true), &err);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, zeros, 4);
	check(full.items[0].table, SP_TABLE_VERSIONS, refused, zeros, 2);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
	check_absent(full.items[0].table);
}

static void keys_may_be_int32(void **state)
{
	static const int32_t narrow[] = {7, -1000, 12};
	static const int32_t narrow_refused[] = {-3};
	static const int64_t wide[] = {7, -1000, 12, -3, -1};
	static const int64_t want[] = {1, 50, 6, 2, 0};
	sp_load_environment_options options = {.checkpoint_prefix = full_prefix};

	(void)state;
	add("t-keys", SP_INT32, narrow, 3);
	add_rows("t-values", 3);
	add("t-freqs", SP_INT64, freqs, 3);
	add("t-keys_filtered", SP_INT32, narrow_refused, 1);
	add("t-freqs_filtered", SP_INT64, refused_freqs, 1);
	write_as(full_prefix);
	full.items[0] = resource("t", BOTH);
	full.items[0].key_dtype = SP_INT32;
	assert_ok(load_tables(&full, &options, 1, false), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, wide, want, 5);
}

static void of_a_key_that_is_there_twice_the_row_and_the_later_one_count(void **state)
{
	static const int64_t twice[] = {7, 8, 7};
	static const int64_t want[] = {6, 50};

	(void)state;
	add("t-keys", SP_INT64, twice, 3);
	add_rows("t-values", 3);
	add("t-freqs", SP_INT64, freqs, 3);
	add("t-keys_filtered", SP_INT64, refused, 2);
	add("t-freqs_filtered", SP_INT64, refused_freqs, 2);
	write_as(full_prefix);
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, twice, want, 2);
}

/* Rows are left out that were seen too seldom; how often they were seen is still known. */
static void a_threshold_leaves_out_rows_alone(void **state)
{
	const sp_name_rule rule = {"*", 6};
	bool found[4];

	(void)state;
	policy.frequency_thresholds = (sp_name_rules){&rule, 1};
	write_all();
	assert_ok(load_full(BOTH), &err);
	assert_ok(sp_table_contains(full.items[0].table, keys, 4, found, &err), &err);
	assert_false(found[0]);
	assert_true(found[1]);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, versions, 4);
}

static void slices_have_the_numbers_of_their_keys(void **state)
{
	static const int64_t want[] = {1, 50, 0, 0}, want_refused[] = {0, 1};

	(void)state;
	policy.sharded_names = "t";
	policy.slice = 1;
	policy.slice_count = 2;
	write_all();
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, want, 4);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, refused, want_refused, 2);
}

/* So many rows that they can be told to be routed. */
static void parts_share_the_columns_that_one_asks_for(void **state)
{
	enum { ROWS = 16 };
	static const int64_t odd_refused[] = {5};
	int64_t even[ROWS], odd[ROWS], even_freqs[ROWS], odd_freqs[ROWS];
	sp_load_environment_options options = {.checkpoint_prefix = full_prefix};

	(void)state;
	for (int64_t i = 0; i < ROWS; i++) {
		even[i] = 4 + 6 * i;
		odd[i] = 1001 + 2 * i;
		even_freqs[i] = 40 + i;
		odd_freqs[i] = 1 + i;
	}
	add("t/part_0-keys", SP_INT64, even, ROWS);
	add_rows("t/part_0-values", ROWS);
	add("t/part_0-freqs", SP_INT64, even_freqs, ROWS);
	add("t/part_0-partition_offset", SP_INT32, rows, 41);
	add("t/part_1-keys", SP_INT64, odd, ROWS);
	add_rows("t/part_1-values", ROWS);
	add("t/part_1-freqs", SP_INT64, odd_freqs, ROWS);
	add("t/part_1-partition_offset", SP_INT32, rows, 41);
	add("t/part_1-keys_filtered", SP_INT64, odd_refused, 1);
	add("t/part_1-freqs_filtered", SP_INT64, refused_freqs, 1);
	write_as(full_prefix);
	full.items[0] = resource("t/part_0", 0);
	full.items[1] = resource("t/part_1", 1 << SP_TABLE_FREQUENCIES);
	assert_ok(load_tables(&full, &options, 2, false), &err);
	assert_ptr_equal(full.items[0].table, full.items[1].table);
	assert_false(sp_table_has_column(full.items[0].table, SP_TABLE_VERSIONS));
	check(full.items[0].table, SP_TABLE_FREQUENCIES, even, even_freqs, ROWS);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, odd, odd_freqs, ROWS);
	check_one(full.items[0].table, SP_TABLE_FREQUENCIES, 5, 2);
}

/* --------------------------------------------------------------------- deltas */

static const int64_t delta_freqs[] = {2, 30, 4}, delta_versions[] = {90, 0, -1};

static void a_delta_lies_over_them(void **state)
{
	static const int64_t all[] = {7, 8, 100, 1001, 0, 12, 2007, 9};
	static const int64_t want_freqs[] = {2, 30, 4, 50, 6, 5000000000, 1, 0};
	static const int64_t want_versions[] = {90, 0, -1, 0, -1, 6000000000, 12, -1};

	(void)state;
	write_all();
	write_delta(delta_freqs, delta_versions);
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	check(delta.items[0].table, SP_TABLE_FREQUENCIES, all, want_freqs, 8);
	check(delta.items[0].table, SP_TABLE_VERSIONS, all, want_versions, 8);
	check_absent(delta.items[0].table);
	/* The full checkpoint's own are what they were. */
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
	check(full.items[0].table, SP_TABLE_VERSIONS, refused, refused_versions, 2);
}

/* Also when both come at once. */
static void a_delta_may_be_read_with_its_checkpoint(void **state)
{
	sp_load_environment_options options = {.checkpoint_prefix = full_prefix,
					       .delta_prefix = delta_prefix};

	(void)state;
	write_all();
	write_delta(delta_freqs, delta_versions);
	full.items[0] = resource("t", BOTH);
	assert_ok(load_tables(&full, &options, 1, false), &err);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, delta_keys, delta_freqs, 3);
	check_one(full.items[0].table, SP_TABLE_FREQUENCIES, 1001, 50);
}

static void a_delta_that_says_nothing_changes_nothing(void **state)
{
	static const int64_t want_freqs[] = {1, 2, 1}, want_versions[] = {10, 11, -1};

	(void)state;
	write_all();
	write_delta(NULL, NULL);
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	check(delta.items[0].table, SP_TABLE_FREQUENCIES, delta_keys, want_freqs, 3);
	check(delta.items[0].table, SP_TABLE_VERSIONS, delta_keys, want_versions, 3);
	sp_load_environment_destroy(delta.environment);
	sp_load_environment_destroy(full.environment);
	delta.environment = full.environment = NULL;
	settings.filter_freq = 2;
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 7, 2);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 100, 2);
}

/* They are cumulative: what one says takes the place of all that the one before said. */
static void a_newer_delta_takes_the_place_of_the_older(void **state)
{
	static const int64_t only[] = {100}, only_freqs[] = {9};
	size_t before;

	(void)state;
	write_all();
	write_delta(delta_freqs, delta_versions);
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	before = sp_table_footprint(delta.items[0].table);
	add("t-sparse_incr_keys", SP_INT64, only, 1);
	add_rows("t-sparse_incr_values", 1);
	add("t-sparse_incr_freqs", SP_INT64, only_freqs, 1);
	write_as(delta_prefix);
	assert_ok(load_delta(), &err);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 7, 1);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 100, 9);
	assert_true(sp_table_footprint(delta.items[0].table) < before);
}

static void a_delta_without_the_variable_leaves_its_numbers(void **state)
{
	static const int64_t step[] = {2};

	(void)state;
	write_all();
	add("global_step", SP_INT64, step, 1);
	write_as(delta_prefix);
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	check(delta.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
	check(delta.items[0].table, SP_TABLE_FREQUENCIES, refused, refused_freqs, 2);
}

/* Rows that the policy leaves out of a delta do not count there. */
static void rows_left_out_of_a_delta_keep_their_numbers(void **state)
{
	static const int64_t newer[] = {9, 90, 1};
	static const int64_t want[] = {10, 90, 1}, want_freqs[] = {1, 30, 4};

	(void)state;
	write_all();
	write_delta(delta_freqs, newer);
	policy.ignore_new_keys = true;
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 7, 2);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 8, 2);
	check_one(delta.items[0].table, SP_TABLE_FREQUENCIES, 100, 0);
	sp_load_environment_destroy(delta.environment);
	delta.environment = NULL;
	policy.ignore_new_keys = false;
	policy.old_key = SP_OLD_KEY_REPLACE_IF_NEWER;
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	check(delta.items[0].table, SP_TABLE_VERSIONS, delta_keys, want, 3);
	check(delta.items[0].table, SP_TABLE_FREQUENCIES, delta_keys, want_freqs, 3);
}

/* ------------------------------------------------------- wherever the rows lie */

static void fold(sp_table **out, const sp_table *table)
{
	const sp_layers_fold_options options = {.threads = 1};
	sp_layers_fold *f;
	bool done = false;

	assert_ok(sp_layers_fold_create(&f, table, &options, &err), &err);
	while (!done) {
		assert_ok(sp_layers_fold_step(f, 1000, &done, &err), &err);
		usleep(200);
	}
	assert_ok(sp_layers_fold_freeze(f, out, &err), &err);
	sp_layers_fold_adopt(f);
	sp_layers_fold_destroy(f);
}

/* What a_delta_lies_over_them() says, and again when the delta has become part of the rows. */
static void check_fold(void)
{
	static const int64_t next_freqs[] = {3, 31, 5};
	sp_table *folded, *kept;
	sp_resource base;

	write_all();
	write_delta(delta_freqs, delta_versions);
	assert_ok(load_full(BOTH), &err);
	assert_ok(load_delta(), &err);
	fold(&folded, delta.items[0].table);
	assert_true(sp_table_is_folded(folded));
	check(folded, SP_TABLE_FREQUENCIES, delta_keys, delta_freqs, 3);
	check(folded, SP_TABLE_VERSIONS, delta_keys, delta_versions, 3);
	check_one(folded, SP_TABLE_FREQUENCIES, 1001, 50);
	check_one(folded, SP_TABLE_FREQUENCIES, 2007, 1);

	/* The next delta lies over the full checkpoint's, not over what was folded. */
	assert_ok(sp_table_share(&kept, folded, &err), &err);
	base = full.items[0];
	full.items[0].table = folded;
	write_delta(next_freqs, NULL);
	assert_ok(load_delta(), &err);
	full.items[0] = base;
	check(delta.items[0].table, SP_TABLE_FREQUENCIES, delta_keys, next_freqs, 3);
	check_one(delta.items[0].table, SP_TABLE_VERSIONS, 7, 10);
	check(kept, SP_TABLE_FREQUENCIES, delta_keys, delta_freqs, 3);
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
		.path = path, .model = "m", .version = "v", .cache_bytes = 1, .threads = 2};
	sp_table_counters counters;

	(void)state;
	snprintf(path, sizeof(path), "%s/ssd", folder);
	assert_ok(sp_ssd_store_open(&store, &options, &err), &err);
	check_fold();
	assert_true(sp_table_count(full.items[0].table, &counters));
	assert_int_equal(counters.missed, 0); /* no row was read for a number */
	/* The folder is found again; the numbers are the checkpoint's. */
	sp_load_environment_destroy(delta.environment);
	delta.environment = NULL;
	assert_ok(load_full(BOTH), &err);
	check(full.items[0].table, SP_TABLE_VERSIONS, keys, versions, 4);
}

static void they_are_the_same_over_an_image(void **state)
{
	char path[SP_PATH_SIZE + 16];
	sp_load_environment_options options = {
		.checkpoint_prefix = full_prefix, .policy = &policy, .file_root = folder};

	(void)state;
	snprintf(path, sizeof(path), "%s/images", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	policy.image_folder = path;
	write_all();
	for (int start = 0; start < 2; start++) { /* the first one makes it */
		full.items[0] = resource("t", BOTH);
		assert_ok(load_tables(&full, &options, 1, false), &err);
		assert_int_equal(sp_load_environment_image(full.environment) != NULL, start == 1);
		sp_load_environment_use_image(full.environment);
		assert_non_null(sp_load_environment_image(full.environment));
		check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
		check(full.items[0].table, SP_TABLE_VERSIONS, refused, refused_versions, 2);
		sp_load_environment_destroy(full.environment);
		full = (load){.environment = NULL};
	}
}

/* Of tests/golden/embeddings/ssd/: see make_ssd() in scripts/make_embedding_fixtures.py. */
static sp_status load_record(sp_key_column **out, const char *name, sp_table_column which,
			     sp_table_filter filter)
{
	sp_embedding_spec spec = {.name = name,
				  .key_dtype = SP_INT64,
				  .dtype = SP_FLOAT,
				  .dim = strcmp(name, "tail0") == 0 ? 6 : DIM,
				  .partition_num = 1,
				  .filter = filter,
				  .filter_freq = filter != SP_TABLE_FILTER_NONE ? 4 : 0};
	sp_bundle *bundle = sp_embeddings_open("ssd/full");
	sp_embedding found;
	sp_status status;

	assert_ok(sp_embedding_find(&found, &spec, bundle, NULL, arena, &err), &err);
	status = sp_embedding_load_column(out, which, &found, &spec, false, &policy, &err);
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
			&err);
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
			  &err);
		for (int64_t i = 0; i < 100; i++)
			assert_int_equal(number_of(column, 37 * i), i < 60 ? -1 : 1234);
		sp_key_column_release(column);
		assert_int_equal(
			load_record(&column, untold[c], SP_TABLE_VERSIONS, SP_TABLE_FILTER_NONE),
			SP_UNSUPPORTED);
		assert_non_null(strstr(err.text, untold[c]));
		assert_non_null(strstr(err.text, "versions"));
	}
}

static void rows_in_hand_bring_their_versions(void **state)
{
	static const int64_t known[] = {40};
	const sp_tensor k = {
		.dtype = SP_INT64, .shape = sp_shape_vector(4), .count = 4, .data = (void *)keys};
	const sp_tensor v = {.dtype = SP_FLOAT,
			     .shape = sp_shape_matrix(4, DIM),
			     .count = 4 * DIM,
			     .data = (void *)rows};
	const sp_tensor n = {
		.dtype = SP_INT64, .shape = sp_shape_vector(1), .count = 1, .data = (void *)known};
	const sp_tensor defaults = {.dtype = SP_FLOAT, .count = DIM, .data = (void *)rows};
	const sp_load_environment_options options = {.policy = &policy};
	const uint32_t index = 0;
	const sp_environment *e;

	(void)state;
	settings.default_rows = &defaults;
	full.items[0] = resource("t", BOTH);
	full.list = (sp_resources){.items = full.items, .count = 1};
	assert_ok(sp_load_environment_create(&full.environment, &options, arena, &err), &err);
	e = sp_load_environment_calls(full.environment);
	assert_ok(e->create_embedding(e->context, full.items, &settings, &err), &err);
	assert_ok(e->import_embedding_rows(e->context, full.items, &k, &v, &n, &err), &err);
	assert_ok(sp_load_environment_load_tables(full.environment, &full.list, &index, 1, &err),
		  &err);
	check_one(full.items[0].table, SP_TABLE_VERSIONS, 7, 40);
	check_one(full.items[0].table, SP_TABLE_VERSIONS, 1001, -1);
	check_one(full.items[0].table, SP_TABLE_FREQUENCIES, 1001, 1);
	check_absent(full.items[0].table);
}

/* ------------------------------------------------------------------- failures */

/* A checkpoint as write_all() writes it, but for the one tensor; NULL data leaves it out. */
static sp_status load_with(const char *name, sp_dtype dtype, int rank, int64_t count)
{
	static const int64_t numbers[64];

	write_all();
	for (int i = 0; i < 7; i++) /* they are still there */
		if (strcmp(tensors[i].name, name) == 0)
			tensors[i] = (sp_checkpoint_tensor){.name = name,
							    .dtype = dtype,
							    .rank = rank,
							    .dims = {count, 2},
							    .data = numbers};
	tensor_count = 7;
	write_as(full_prefix);
	return load_full(BOTH);
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
		assert_non_null(strstr(err.text, "t-"));
	}
	assert_ok(load_with("t-freqs_filtered", SP_INT64, 1, 2), &err);
}

static void flip_byte(const char *prefix, off_t at)
{
	char path[SP_PATH_SIZE + 64];
	unsigned char byte;
	int file;

	snprintf(path, sizeof(path), "%s.data-00000-of-00001", prefix);
	file = open(path, O_RDWR);
	assert_int_equal(pread(file, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(file, &byte, 1, at), 1);
	close(file);
}

/* The tensors lie in the order of their names, and freqs before keys. */
static void what_is_read_must_match_its_checksum(void **state)
{
	(void)state;
	write_all();
	flip_byte(full_prefix, 0);
	assert_int_equal(load_full(BOTH), SP_CORRUPT);
	assert_non_null(strstr(err.text, "t-freqs"));
	assert_ok(load_full(1 << SP_TABLE_VERSIONS), &err); /* nobody reads it */
}

/* What is refused leaves the version before as it was. */
static void a_corrupt_delta_is_refused(void **state)
{
	(void)state;
	write_all();
	write_delta(delta_freqs, delta_versions);
	flip_byte(delta_prefix, 0);
	assert_ok(load_full(BOTH), &err);
	assert_int_equal(load_delta(), SP_CORRUPT);
	assert_null(delta.items[0].table);
	check(full.items[0].table, SP_TABLE_FREQUENCIES, keys, freqs, 4);
}

static void every_failed_allocation_is_reported(void **state)
{
	int64_t successes = 0;
	sp_status status;

	(void)state;
	write_all();
	write_delta(delta_freqs, NULL);
	do {
		sp_alloc_fail_after(successes++);
		status = load_full(BOTH);
		if (status == SP_OK)
			status = load_delta();
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		if (status == SP_OK)
			check(delta.items[0].table, SP_TABLE_FREQUENCIES, delta_keys, delta_freqs,
			      3);
		sp_load_environment_destroy(delta.environment);
		delta = (load){.environment = NULL};
	} while (status != SP_OK);
	assert_true(successes > 40);
}

static void loading_ends_when_the_processor_closes(void **state)
{
	const atomic_bool closing = true;
	sp_embedding_spec spec = {.name = "t",
				  .key_dtype = SP_INT64,
				  .dtype = SP_FLOAT,
				  .dim = DIM,
				  .partition_num = 1};
	sp_key_column *column;
	sp_embedding found;
	sp_bundle *bundle;

	(void)state;
	write_all();
	policy.closing = &closing;
	assert_ok(sp_bundle_open(&bundle, full_prefix, &err), &err);
	assert_ok(sp_embedding_find(&found, &spec, bundle, NULL, arena, &err), &err);
	assert_int_equal(sp_embedding_load_column(&column, SP_TABLE_VERSIONS, &found, &spec, false,
						  &policy, &err),
			 SP_BUSY);
	sp_bundle_close(bundle);
}

/* With the numbers, and what a table of this size takes without them. */
static void their_memory_is_expected(void **state)
{
	size_t bytes[2];
	const char *name;

	(void)state;
	write_all();
	for (unsigned both = 0; both < 2; both++) {
		assert_ok(load_full(both != 0 ? BOTH : 0), &err);
		assert_ok(sp_load_environment_expect(full.environment, &full.items[0], &name,
						     &bytes[both], &err),
			  &err);
	}
	/* Six keys, at least 12 bytes each, twice. */
	assert_true(bytes[1] >= bytes[0] + 2 * 6 * 12);
	assert_true(bytes[1] <= bytes[0] + 2 * (6 + 1) * 17 + 64);
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
		TEST(a_delta_lies_over_them),
		TEST(a_delta_may_be_read_with_its_checkpoint),
		TEST(a_delta_that_says_nothing_changes_nothing),
		TEST(a_newer_delta_takes_the_place_of_the_older),
		TEST(a_delta_without_the_variable_leaves_its_numbers),
		TEST(rows_left_out_of_a_delta_keep_their_numbers),
		TEST(they_outlive_folding),
		TEST(they_are_the_same_on_an_ssd),
		TEST(they_are_the_same_over_an_image),
		TEST(records_of_deeprecs_ssd_tier_tell_frequencies),
		TEST(records_of_deeprecs_ssd_tier_may_tell_versions),
		TEST(rows_in_hand_bring_their_versions),
		TEST(tensors_that_contradict_each_other_are_corrupt),
		TEST(what_is_read_must_match_its_checksum),
		TEST(a_corrupt_delta_is_refused),
		TEST(every_failed_allocation_is_reported),
		TEST(loading_ends_when_the_processor_closes),
		TEST(their_memory_is_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
