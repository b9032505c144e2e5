#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "storage/table/table_builder.h"
#include "tests/support/ssd_tables.h"

enum { DIM = SP_SSD_TEST_DIM, CACHE = SP_SSD_TEST_CACHE };

/* ---- rows ---- */

static void rows_are_found_and_absent_keys_are_not(void **state)
{
	enum { ROWS = 20000 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);

	(void)state;
	assert_string_equal(tier->kind->name, "ssd");
	assert_int_equal(tier->row_count, ROWS);
	assert_int_equal(tier->dim, DIM);
	for (int64_t start = -100; start < 3 * ROWS + 100; start += 997)
		sp_ssd_test_check_range(tier, start, 997, ROWS);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void a_read_larger_than_the_cache_works(void **state)
{
	enum { ROWS = 20000 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);

	(void)state;
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void repeated_keys_each_get_their_row_and_are_read_once(void **state)
{
	enum { ROWS = 20000 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);
	int64_t keys[500];
	uint64_t before;

	(void)state;
	for (int64_t i = 0; i < 500; i++)
		keys[i] = 3 * (ROWS - 1 - i % 5); /* of low frequency: not in the cache */
	before = sp_test_tier_counters(tier).bytes_read;
	sp_ssd_test_check_read(tier, keys, 500, ROWS);
	/* Five neighbours are in one block, or in two. */
	before = sp_test_tier_counters(tier).bytes_read - before;
	assert_true(before == 4096 || before == 2 * 4096);
	assert_int_equal(sp_test_tier_counters(tier).asked, 500);
	assert_int_equal(sp_test_tier_counters(tier).absent, 0);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void a_read_of_no_keys_is_fine(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", 10);

	(void)state;
	sp_ssd_test_check_read(tier, NULL, 0, 10);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void an_empty_table_has_no_keys(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", 0);

	(void)state;
	assert_int_equal(tier->row_count, 0);
	sp_ssd_test_check_range(tier, -5, 100, 0);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void tiers_of_many_tables_are_read_together(void **state)
{
	enum { TABLES = 5 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tiers[TABLES];
	sp_ssd_test_lookup lookups[TABLES];
	sp_tier_read reads[TABLES];
	sp_error error;

	(void)state;
	for (size_t t = 0; t < TABLES; t++) {
		int64_t keys[300];
		char name[16];

		snprintf(name, sizeof(name), "t%zu", t);
		tiers[t] = sp_ssd_test_build(store, name, 1000 * (t + 1));
		for (size_t i = 0; i < 300; i++)
			keys[i] = (int64_t)((i * 7919 + t * 31) % 16000);
		lookups[t] = sp_ssd_test_ask(tiers[t], keys, t == 2 ? 0 : 300);
		reads[t] = lookups[t].read;
	}
	assert_ok(sp_test_tier_read(reads, TABLES, 0, &error), &error);
	for (size_t t = 0; t < TABLES; t++) {
		sp_ssd_test_check_answers(&reads[t], 1000 * (t + 1), 0);
		sp_ssd_test_free_lookup(&lookups[t]);
		sp_tier_release(tiers[t]);
	}
	sp_ssd_store_release(store);
}

static void of_a_key_that_comes_again_the_later_row_counts(void **state)
{
	enum { ROWS = 80000, AGAIN = 400 }; /* more than one chunk */
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_ssd_builder *builder;
	sp_error error;
	sp_tier *tier;

	(void)state;
	assert_ok(sp_ssd_builder_create(&builder, store, &table, 0, &error), &error);
	assert_ok(sp_ssd_test_put_range(builder, 0, 3, AGAIN, 1, &error), &error);
	assert_ok(sp_ssd_test_put_range(builder, 0, 3, ROWS, 2, &error), &error);
	assert_ok(sp_ssd_test_put_range(builder, 0, 3, AGAIN, 3, &error), &error);
	assert_ok(sp_ssd_test_put_range(builder, 0, 3, AGAIN, 4, &error), &error);
	assert_ok(sp_ssd_builder_freeze(builder, &tier, &error), &error);
	sp_ssd_builder_destroy(builder);
	assert_int_equal(tier->row_count, ROWS);
	for (int64_t i = 0; i < ROWS; i += i < 2 * AGAIN ? 1 : 701) {
		int64_t key = 3 * i;
		sp_ssd_test_lookup q = sp_ssd_test_ask(tier, &key, 1);

		assert_ok(sp_test_tier_read(&q.read, 1, 0, &error), &error);
		sp_ssd_test_check_answers(&q.read, ROWS, i < AGAIN ? 4 : 2);
		sp_ssd_test_free_lookup(&q);
	}
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void the_marks_of_empty_and_deleted_are_left_out(void **state)
{
	static const int64_t keys[] = {-1, 5, -2};
	const float rows[3][DIM] = {{1}, {2}, {3}};
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_ssd_builder *builder;
	sp_error error;
	sp_tier *tier;

	(void)state;
	assert_ok(sp_ssd_builder_create(&builder, store, &table, 3, &error), &error);
	assert_ok(sp_ssd_builder_put(builder, keys, rows, NULL, 3, &error), &error);
	assert_ok(sp_ssd_builder_freeze(builder, &tier, &error), &error);
	sp_ssd_builder_destroy(builder);
	assert_int_equal(tier->row_count, 1);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void rows_are_stored_in_the_format_that_is_asked_for(void **state)
{
	(void)state;
	for (int format = 0; format < SP_ROW_FORMATS; format++) {
		const sp_ssd_table table = {"t", DIM, (sp_row_format)format, NULL};
		const sp_row_codec *codec = sp_row_codec_find(table.format);
		sp_ssd_store *store = sp_ssd_test_open_store("1");
		sp_ssd_builder *builder;
		float row[DIM], want[DIM];
		unsigned char stored[DIM * sizeof(float) + 8];
		int64_t key = 77 * 3;
		sp_error error;
		sp_tier *tier;
		sp_ssd_test_lookup q;

		assert_ok(sp_ssd_builder_create(&builder, store, &table, 3, &error), &error);
		assert_ok(sp_ssd_test_put_range(builder, 0, 3, 1000, 0, &error), &error);
		assert_ok(sp_ssd_builder_freeze(builder, &tier, &error), &error);
		sp_ssd_builder_destroy(builder);
		sp_ssd_test_make_row(key, 0, row);
		codec->encode(DIM, row, stored);
		codec->decode(DIM, stored, want);
		for (int again = 0; again < 2; again++) { /* from the disk, and from the cache */
			q = sp_ssd_test_ask(tier, &key, 1);
			assert_ok(sp_test_tier_read(&q.read, 1, 0, &error), &error);
			assert_memory_equal(q.rows[0], want, sizeof(want));
			sp_ssd_test_free_lookup(&q);
		}
		sp_tier_release(tier);
		sp_ssd_store_release(store);
	}
}

static void a_table_looks_up_through_the_tier(void **state)
{
	enum { ROWS = 5000 };
	const float defaults[2][DIM] = {{7, 7, 7, 7, 7, 7}, {8, 8, 8, 8, 8, 8}};
	const sp_table_options options = {
		.name = "t", .dim = DIM, .default_rows = defaults[0], .default_row_count = 2};
	static const int64_t keys[] = {0, 3, 4, 5, 3 * ROWS - 3, 3 * ROWS, 3, -1, -2};
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);
	float rows[9][DIM], want[DIM];
	sp_table_counters counters;
	sp_table *table;
	sp_error error;

	(void)state;
	assert_ok(sp_table_create(&table, &options, NULL, tier, &error), &error);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
	assert_int_equal(sp_table_row_count(table), ROWS);
	assert_int_equal(sp_table_count(table).keys, 0);
	assert_ok(sp_table_lookup(table, keys, 9, NULL, rows[0], &error), &error);
	for (size_t i = 0; i < 9; i++) {
		bool there = i < 2 || i == 4 || i == 6;

		sp_ssd_test_make_row(keys[i], 0, want);
		assert_memory_equal(rows[i], there ? want : defaults[keys[i] & 1], sizeof(want));
	}
	counters = sp_table_count(table);
	assert_string_equal(counters.tier, "ssd");
	assert_int_equal(counters.keys, 9);
	assert_int_equal(counters.in_memory, 2); /* -1 and -2, which the tier is not asked for */
	assert_int_equal(counters.cached + counters.missed, 7);
	assert_int_equal(counters.absent, 5);
	assert_int_equal(counters.errors, 0);
	sp_table_destroy(table);
}

/* ---- cache and memory ---- */

static void keys_of_the_highest_frequencies_are_hot_from_the_start(void **state)
{
	enum { ROWS = 20000 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);

	(void)state;
	for (int again = 0; again < 2; again++) {
		uint64_t before = sp_test_tier_counters(tier).hot_hits;

		sp_ssd_test_check_range(tier, 0, 1500, ROWS); /* 500 of them are there */
		/* What the others leave in the cache may take the place of a few. */
		assert_true(sp_test_tier_counters(tier).hot_hits - before >= 450);
		/* Again after a start that finds the folder. */
		sp_tier_release(tier);
		if (again == 0) {
			const sp_ssd_table table = sp_ssd_test_table_named("t");
			sp_error error;

			assert_ok(sp_ssd_tier_open(&tier, store, &table, &error), &error);
		}
	}
	sp_ssd_store_release(store);
}

static void absent_keys_become_known_as_absent(void **state)
{
	enum { ROWS = 12 }; /* in a cache of one set, which has room for the keys besides */
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);
	static const int64_t keys[] = {1000001, 1000003};
	uint64_t before;

	(void)state;
	/* Of two that are noted at the same time one may be lost. */
	for (int i = 0; i < 10; i++)
		sp_ssd_test_check_read(tier, keys, 2, ROWS);
	before = sp_test_tier_counters(tier).hot_hits;
	sp_ssd_test_check_read(tier, keys, 2, ROWS);
	assert_int_equal(sp_test_tier_counters(tier).hot_hits - before, 2);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

/* Built and found again, `expected` being what the builder is told. */
static void check_memory(size_t rows, size_t expected, size_t most)
{
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_ssd_builder *builder;
	sp_error error;
	sp_tier *tier;

	assert_ok(sp_ssd_builder_create(&builder, store, &table, expected, &error), &error);
	assert_ok(sp_ssd_test_put_range(builder, 0, 3, rows, 0, &error), &error);
	assert_ok(sp_ssd_builder_freeze(builder, &tier, &error), &error);
	sp_ssd_builder_destroy(builder);
	for (int again = 0; again < 2; again++) {
		sp_ssd_test_check_range(tier, -5, 3 * rows + 10, rows);
		assert_in_range(tier->kind->footprint(tier), 1, most);
		sp_tier_release(tier);
		if (again == 0)
			assert_ok(sp_ssd_tier_open(&tier, store, &table, &error), &error);
	}
	sp_ssd_store_release(store);
}

static void a_table_takes_no_more_memory_than_its_rows(void **state)
{
	enum { FEW = 8 << 10 };

	(void)state;
	check_memory(0, 0, FEW);
	check_memory(0, 30000, FEW);
	check_memory(10, 0, FEW);
	check_memory(10, 30000, FEW);
}

static void rows_that_nobody_has_counted_stay_within_it_too(void **state)
{
	(void)state;
	check_memory(30000, 0, CACHE + 8192);
}

static void memory_stays_within_what_is_given(void **state)
{
	enum { ROWS = 30000 };
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_tier *tier = sp_ssd_test_build(store, "t", ROWS);

	(void)state;
	sp_ssd_test_check_range(tier, 0, 3 * ROWS, ROWS);
	assert_true(tier->kind->footprint(tier) <= CACHE + 8192);
	assert_true(tier->kind->footprint(tier) > CACHE / 2);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void lru_can_be_chosen(void **state)
{
	sp_ssd_store *store;
	sp_tier *tier;
	sp_error error;

	(void)state;
	assert_ok(sp_ssd_test_try_store(&store, "1", SP_ROW_CACHE_LRU, &error), &error);
	tier = sp_ssd_test_build(store, "t", 3000);
	sp_ssd_test_check_range(tier, 0, 9000, 3000);
	sp_ssd_test_check_range(tier, 0, 9000, 3000);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

/* ---- folders ---- */

static void the_next_start_finds_the_folder(void **state)
{
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_error error;
	sp_tier *tier;

	(void)state;
	sp_tier_release(sp_ssd_test_build(store, "t", 3000));
	sp_ssd_store_release(store);
	store = sp_ssd_test_open_store("1");
	assert_ok(sp_ssd_tier_open(&tier, store, &table, &error), &error);
	assert_int_equal(tier->row_count, 3000);
	sp_ssd_test_check_range(tier, -10, 9100, 3000);
	sp_tier_release(tier);
	sp_ssd_store_release(store);
}

static void another_table_version_width_format_or_choice_is_not_taken_for_it(void **state)
{
	sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1"), *other;
	sp_error error;
	sp_tier *tier;

	(void)state;
	sp_tier_release(sp_ssd_test_build(store, "t", 30));
	table.name = "u";
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &error), SP_NOT_FOUND);
	table = sp_ssd_test_table_named("t");
	table.dim = DIM + 1;
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &error), SP_NOT_FOUND);
	table = sp_ssd_test_table_named("t");
	table.format = SP_ROW_BF16;
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &error), SP_NOT_FOUND);
	table = sp_ssd_test_table_named("t");
	table.which = "every other";
	assert_int_equal(sp_ssd_tier_open(&tier, store, &table, &error), SP_NOT_FOUND);
	table = sp_ssd_test_table_named("t");
	other = sp_ssd_test_open_store("2");
	assert_int_equal(sp_ssd_tier_open(&tier, other, &table, &error), SP_NOT_FOUND);
	sp_ssd_store_release(other);
	sp_ssd_store_release(store);
}

static void versions_that_nobody_uses_are_deleted(void **state)
{
	sp_tier *old = NULL;

	(void)state;
	for (int version = 0; version < 20; version++) {
		char name[16];
		sp_ssd_store *store;
		sp_tier *tier;

		snprintf(name, sizeof(name), "%d", version);
		store = sp_ssd_test_open_store(name);
		tier = sp_ssd_test_build(store, "t", 50);
		sp_ssd_store_delete_others(store);
		sp_ssd_store_release(store);
		assert_int_equal(sp_ssd_test_count_folders(), version == 0 ? 1 : 2);
		if (old != NULL) /* the one before is in use until now */
			sp_ssd_test_check_range(old, 0, 150, 50);
		sp_tier_release(old);
		old = tier;
	}
	sp_tier_release(old);
}

static void a_build_that_is_given_up_leaves_nothing(void **state)
{
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_ssd_builder *builder;
	sp_error error;

	(void)state;
	assert_ok(sp_ssd_builder_create(&builder, store, &table, 0, &error), &error);
	assert_ok(sp_ssd_test_put_range(builder, 0, 1, 80000, 0, &error), &error);
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_ssd_builder_destroy(builder);
	assert_int_equal(sp_ssd_test_count_folders(), 0);
	sp_ssd_store_release(store);
}

static void two_builds_of_one_table_do_not_meet(void **state)
{
	const sp_ssd_table table = sp_ssd_test_table_named("t");
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	sp_ssd_builder *first, *second;
	sp_tier *a, *b;
	sp_error error;

	(void)state;
	assert_ok(sp_ssd_builder_create(&first, store, &table, 0, &error), &error);
	assert_ok(sp_ssd_builder_create(&second, store, &table, 0, &error), &error);
	assert_ok(sp_ssd_test_put_range(first, 0, 3, 500, 0, &error), &error);
	assert_ok(sp_ssd_test_put_range(second, 0, 3, 500, 0, &error), &error);
	assert_ok(sp_ssd_builder_freeze(first, &a, &error), &error);
	assert_ok(sp_ssd_builder_freeze(second, &b, &error), &error);
	sp_ssd_builder_destroy(first);
	sp_ssd_builder_destroy(second);
	sp_ssd_test_check_range(a, 0, 1500, 500);
	sp_ssd_test_check_range(b, 0, 1500, 500);
	assert_int_equal(sp_ssd_test_count_folders(), 1);
	sp_tier_release(a);
	sp_tier_release(b);
	sp_ssd_store_release(store);
}

/* ---- threads ---- */

typedef struct crowd {
	sp_tier *tier;
	size_t rows;
} crowd;

static sp_status crowd_piece(void *context, size_t piece, sp_error *err)
{
	const crowd *all = context;
	uint64_t seed = piece * 77 + 1;

	for (int round = 0; round < 30; round++) {
		int64_t keys[100];
		sp_ssd_test_lookup q;
		sp_status status;

		for (size_t i = 0; i < 100; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			keys[i] = (int64_t)((seed >> 33) % (4 * all->rows));
		}
		q = sp_ssd_test_ask(all->tier, keys, 100);
		status = sp_test_tier_read(&q.read, 1,
					   round % 10 == 9 ? sp_clock_now_ns() + 100000 : 0, err);
		if (status == SP_OK)
			sp_ssd_test_check_answers(&q.read, all->rows, 0);
		sp_ssd_test_free_lookup(&q);
		if (status != SP_OK && (status != SP_DEADLINE || round % 10 != 9))
			return status;
	}
	return SP_OK;
}

static void many_threads_read_at_once(void **state)
{
	sp_ssd_store *store = sp_ssd_test_open_store("1");
	crowd all = {sp_ssd_test_build(store, "t", 20000), 20000};
	sp_error error;

	(void)state;
	assert_ok(sp_parallel_run(8, 16, crowd_piece, &all, &error), &error);
	sp_tier_release(all.tier);
	sp_ssd_store_release(store);
}

#define ON_DISK(test) \
	cmocka_unit_test_setup_teardown(test, sp_ssd_test_set_up, sp_ssd_test_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_DISK(rows_are_found_and_absent_keys_are_not),
		ON_DISK(a_read_larger_than_the_cache_works),
		ON_DISK(repeated_keys_each_get_their_row_and_are_read_once),
		ON_DISK(a_read_of_no_keys_is_fine),
		ON_DISK(an_empty_table_has_no_keys),
		ON_DISK(tiers_of_many_tables_are_read_together),
		ON_DISK(of_a_key_that_comes_again_the_later_row_counts),
		ON_DISK(the_marks_of_empty_and_deleted_are_left_out),
		ON_DISK(rows_are_stored_in_the_format_that_is_asked_for),
		ON_DISK(a_table_looks_up_through_the_tier),
		ON_DISK(keys_of_the_highest_frequencies_are_hot_from_the_start),
		ON_DISK(absent_keys_become_known_as_absent),
		ON_DISK(memory_stays_within_what_is_given),
		ON_DISK(a_table_takes_no_more_memory_than_its_rows),
		ON_DISK(rows_that_nobody_has_counted_stay_within_it_too),
		ON_DISK(lru_can_be_chosen),
		ON_DISK(the_next_start_finds_the_folder),
		ON_DISK(another_table_version_width_format_or_choice_is_not_taken_for_it),
		ON_DISK(versions_that_nobody_uses_are_deleted),
		ON_DISK(a_build_that_is_given_up_leaves_nothing),
		ON_DISK(two_builds_of_one_table_do_not_meet),
		ON_DISK(many_threads_read_at_once),
	};
	int failed;

	/* Hundreds of folders are made durable, which a busy disk takes long for. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	failed = cmocka_run_group_tests_name("ssd_tier, read by io_uring", tests, NULL, NULL);
	sp_ssd_test_no_rings = true;
	return failed + cmocka_run_group_tests_name("ssd_tier, read by threads", tests, NULL, NULL);
}
