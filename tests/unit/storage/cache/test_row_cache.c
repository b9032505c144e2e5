#include "tests/support/cmocka.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "storage/cache/row_cache.h"
#include "storage/cache/cache_set.h"

enum { WORDS = 2 }; /* of a row, in most tests */

/* ---- helpers ---- */

/* The number of rows held, without keys that are known to be absent. */
static size_t count_rows(sp_row_cache *cache)
{
	sp_row_cache_entry entry = {.row = malloc(sp_row_cache_row_stride(cache))};
	size_t count = 0;

	assert_non_null(entry.row);
	for (size_t at = 0; sp_row_cache_next(cache, &at, &entry);)
		count++;
	free(entry.row);
	return count;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static double uniform(uint64_t *seed)
{
	return (double)(mix(*seed += 0x9e3779b97f4a7c15u) >> 11) / 9007199254740992.0;
}

/* What the row of a key must be, byte by byte. */
static void make_row(int64_t key, size_t size, void *row)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)row)[i] = (unsigned char)mix((uint64_t)key * 31 + i);
}

static sp_row_cache *make_cache(sp_row_cache_policy policy, size_t row_size, size_t rows)
{
	const sp_row_cache_options options = {.row_size = row_size,
					      .cap_bytes = (size_t)1 << 30,
					      .max_rows = rows,
					      .policy = policy};
	sp_row_cache *cache;
	sp_error error;

	assert_ok(sp_row_cache_create(&cache, &options, &error), &error);
	return cache;
}

static sp_row_cache_result read_key(sp_row_cache *cache, int64_t key)
{
	uint64_t row[WORDS], want[WORDS];
	sp_row_cache_result answer;

	sp_row_cache_read(cache, &key, 1, &answer, row);
	make_row(key, sizeof(want), want);
	if (answer == SP_ROW_CACHE_ROW)
		assert_memory_equal(row, want, sizeof(want));
	return answer;
}

static void fill_key(sp_row_cache *cache, int64_t key)
{
	uint64_t row[WORDS];

	make_row(key, sizeof(row), row);
	sp_row_cache_fill(cache, key, row);
}

/* A use as a tier makes it: a read, and a fill when it misses.  Whether it hit. */
static bool use_key(sp_row_cache *cache, int64_t key)
{
	if (read_key(cache, key) == SP_ROW_CACHE_ROW)
		return true;
	fill_key(cache, key);
	return false;
}

/* ---- what it holds ---- */

static void a_row_that_was_filled_is_read_again_whatever_its_size(void **state)
{
	static const size_t sizes[] = {1, 4, 7, 8, 9, 16, 100, 1003};
	static const int64_t keys[] = {0, 1, -3, 17, INT64_MIN, INT64_MAX, 1 << 20};

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizes[s], 1000);
		uint64_t rows[7 * 126];
		size_t stride = sp_row_cache_row_stride(cache);
		unsigned char want[1003];
		sp_row_cache_result answers[7];

		assert_int_equal(stride, (sizes[s] + 7) / 8 * 8);
		sp_row_cache_read(cache, keys, 7, answers, rows);
		for (size_t i = 0; i < 7; i++) {
			assert_int_equal(answers[i], SP_ROW_CACHE_MISS);
			make_row(keys[i], sizes[s], want);
			sp_row_cache_fill(cache, keys[i], want);
		}
		sp_row_cache_read(cache, keys, 7, answers, rows);
		for (size_t i = 0; i < 7; i++) {
			assert_int_equal(answers[i], SP_ROW_CACHE_ROW);
			make_row(keys[i], sizes[s], want);
			assert_memory_equal((char *)rows + i * stride, want, sizes[s]);
		}
		assert_int_equal(count_rows(cache), 7);
		sp_row_cache_destroy(cache);
	}
}

static void an_absent_key_is_known_to_be_absent(void **state)
{
	sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizeof(uint64_t) * WORDS, 100);

	(void)state;
	sp_row_cache_fill(cache, 5, NULL);
	fill_key(cache, 6);
	assert_int_equal(read_key(cache, 5), SP_ROW_CACHE_ABSENT);
	assert_int_equal(read_key(cache, 6), SP_ROW_CACHE_ROW);
	assert_int_equal(read_key(cache, 7), SP_ROW_CACHE_MISS);
	sp_row_cache_destroy(cache);
}

static void memory_stays_within_its_bytes(void **state)
{
	(void)state;
	for (size_t cap = 8192; cap <= (size_t)16 << 20; cap = cap * 5 / 2)
		for (size_t row_size = 4; row_size < 500; row_size *= 3) {
			const sp_row_cache_options options = {.row_size = row_size,
							      .cap_bytes = cap};
			sp_row_cache *cache;
			sp_error error;

			assert_ok(sp_row_cache_create(&cache, &options, &error), &error);
			assert_true(sp_row_cache_footprint(cache) <= cap);
			assert_true(sp_row_cache_capacity(cache) * row_size <= cap);
			/* A key of eight bytes, score and ghosts of five and a half, rounding. */
			assert_true((sp_row_cache_capacity(cache) + 16) * (row_size + 21) + 4096 >
				    cap);
			sp_row_cache_destroy(cache);
		}
}

static void the_smallest_cache_holds_sixteen_rows(void **state)
{
	const sp_row_cache_options options = {.row_size = sizeof(uint64_t) * WORDS};
	sp_row_cache *cache;
	sp_error error;
	size_t hits = 0;

	(void)state;
	assert_ok(sp_row_cache_create(&cache, &options, &error), &error);
	assert_int_equal(sp_row_cache_capacity(cache), 16);
	for (int64_t key = 0; key < 1000; key++)
		fill_key(cache, key);
	for (int64_t key = 0; key < 1000; key++)
		hits += read_key(cache, key) == SP_ROW_CACHE_ROW;
	assert_int_equal(hits, 16);
	sp_row_cache_destroy(cache);
}

static void rows_of_no_bytes_are_refused(void **state)
{
	const sp_row_cache_options options = {.cap_bytes = 1000};
	sp_row_cache *cache;
	sp_error error;

	(void)state;
	assert_int_equal(sp_row_cache_create(&cache, &options, &error), SP_INVALID);
}

static void memory_that_is_out_is_an_error(void **state)
{
	const sp_row_cache_options options = {.row_size = 8, .cap_bytes = 10000};
	sp_row_cache *cache = NULL;
	sp_error error;
	sp_status status = SP_NO_MEMORY;

	(void)state;
	for (int64_t n = 0; status != SP_OK; n++) {
		sp_alloc_fail_after(n);
		status = sp_row_cache_create(&cache, &options, &error);
		sp_alloc_fail_after(-1);
		assert_true(status == SP_OK || status == SP_NO_MEMORY);
		assert_true(n < 10);
	}
	sp_row_cache_destroy(cache);
}

static void nothing_is_allocated_after_creation(void **state)
{
	sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizeof(uint64_t) * WORDS, 100);
	uint64_t before = sp_alloc_count();

	(void)state;
	for (int64_t key = 0; key < 10000; key++)
		use_key(cache, key % 300);
	assert_int_equal(sp_alloc_count(), before);
	sp_row_cache_destroy(cache);
}

/* ---- which rows stay ---- */

/* Zipf's law over ranks 0 ... n - 1: the share of the first k, and a sample. */
typedef struct zipf {
	size_t n;
	double *sums;
} zipf;

static zipf zipf_make(size_t n, double exponent)
{
	zipf z = {n, malloc(n * sizeof(double))};
	double sum = 0;

	assert_non_null(z.sums);
	for (size_t i = 0; i < n; i++)
		z.sums[i] = sum += pow((double)(i + 1), -exponent);
	return z;
}

static double zipf_share(const zipf *z, size_t k)
{
	return z->sums[k - 1] / z->sums[z->n - 1];
}

static int64_t zipf_key(const zipf *z, uint64_t *seed)
{
	double at = uniform(seed) * z->sums[z->n - 1];
	size_t low = 0, high = z->n - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (z->sums[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)(low * 7919);
}

static double hit_rate(sp_row_cache *cache, const zipf *z, uint64_t *seed, size_t uses)
{
	size_t hits = 0;

	for (size_t i = 0; i < uses; i++)
		hits += use_key(cache, zipf_key(z, seed));
	return (double)hits / (double)uses;
}

static void lfu_is_within_two_points_of_the_ideal(void **state)
{
	enum { KEYS = 50000, ROWS = KEYS / 10 };
	sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizeof(uint64_t) * WORDS,
					 ROWS * 8 / 9); /* it takes a ninth more */
	zipf z = zipf_make(KEYS, 0.99);
	uint64_t seed = 1;
	double ideal = zipf_share(&z, sp_row_cache_capacity(cache)), got;

	(void)state;
	assert_true(sp_row_cache_capacity(cache) <= ROWS + 16);
	hit_rate(cache, &z, &seed, ROWS * 60);
	got = hit_rate(cache, &z, &seed, ROWS * 40);
	if (got < ideal - 0.02 || got > ideal + 0.01)
		fail_msg("hit rate %.4f, ideal %.4f", got, ideal);
	free(z.sums);
	sp_row_cache_destroy(cache);
}

/* Of a cache that spent its bytes on nothing but rows. */
static void lfu_is_within_two_points_of_the_ideal_in_bytes(void **state)
{
	enum { KEYS = 50000, ROWS = KEYS / 10, ROW = 128 };
	const sp_row_cache_options options = {.row_size = ROW, .cap_bytes = (size_t)ROWS * ROW};
	uint64_t row[ROW / 8] = {0}, seed = 3;
	zipf z = zipf_make(KEYS, 0.99);
	double ideal = zipf_share(&z, ROWS);
	size_t hits = 0, uses = (size_t)ROWS * 400;
	sp_row_cache *cache;
	sp_error error;

	(void)state;
	assert_ok(sp_row_cache_create(&cache, &options, &error), &error);
	for (size_t i = 0; i < uses; i++) {
		int64_t key = zipf_key(&z, &seed);
		sp_row_cache_result answer;

		sp_row_cache_read(cache, &key, 1, &answer, row);
		if (answer != SP_ROW_CACHE_ROW)
			sp_row_cache_fill(cache, key, row);
		else
			hits += i >= uses / 2;
	}
	if ((double)hits / (double)(uses / 2) < ideal - 0.02)
		fail_msg("hit rate %.4f, ideal %.4f", (double)hits / (double)(uses / 2), ideal);
	free(z.sums);
	sp_row_cache_destroy(cache);
}

static void training_frequencies_make_the_first_uses_hit(void **state)
{
	enum { KEYS = 50000, ROWS = KEYS / 10 };
	sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizeof(uint64_t) * WORDS, ROWS * 8 / 9);
	zipf z = zipf_make(KEYS, 0.99);
	uint64_t seed = 2, row[WORDS];
	double total = 0, got, ideal = zipf_share(&z, sp_row_cache_capacity(cache));

	(void)state;
	for (size_t i = KEYS; i-- > 0;) {
		uint64_t frequency = (uint64_t)(1e9 * pow((double)(i + 1), -0.99));

		make_row((int64_t)(i * 7919), sizeof(row), row);
		sp_row_cache_seed(cache, (int64_t)(i * 7919), row, frequency);
		total += (double)frequency;
	}
	sp_row_cache_finish_seeding(cache, total);
	assert_int_equal(count_rows(cache), sp_row_cache_capacity(cache));
	got = hit_rate(cache, &z, &seed, ROWS * 10);
	if (fabs(got - ideal) > 0.01)
		fail_msg("hit rate %.4f, ideal %.4f", got, ideal);
	free(z.sums);
	sp_row_cache_destroy(cache);
}

static void a_seeded_key_that_comes_again_has_its_later_row(void **state)
{
	sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizeof(uint64_t) * WORDS, 100);
	uint64_t row[WORDS] = {1, 2};

	(void)state;
	sp_row_cache_seed(cache, 9, row, 1000000);
	make_row(9, sizeof(row), row);
	sp_row_cache_seed(cache, 9, row, 1);
	sp_row_cache_finish_seeding(cache, 1000001);
	assert_int_equal(read_key(cache, 9), SP_ROW_CACHE_ROW);
	assert_int_equal(count_rows(cache), 1);
	sp_row_cache_destroy(cache);
}

/* The share of keys 0 ... hot - 1 that hit. */
static double hot_share(sp_row_cache *cache, int64_t hot)
{
	int64_t hits = 0;

	for (int64_t key = 0; key < hot; key++)
		hits += read_key(cache, key) == SP_ROW_CACHE_ROW;
	return (double)hits / (double)hot;
}

/* Hot keys, used often, then many keys used once each: what is left of the hot ones. */
static double share_after_scan(sp_row_cache_policy policy, int64_t hot, int64_t scanned)
{
	sp_row_cache *cache = make_cache(policy, sizeof(uint64_t) * WORDS, 4000);
	double share;

	for (int round = 0; round < 20; round++)
		for (int64_t key = 0; key < hot; key++)
			use_key(cache, key);
	assert_true(hot_share(cache, hot) > 0.97);
	for (int64_t key = 0; key < scanned; key++)
		use_key(cache, 1000000 + key);
	share = hot_share(cache, hot);
	sp_row_cache_destroy(cache);
	return share;
}

static void a_scan_leaves_the_hot_rows_of_lfu(void **state)
{
	(void)state;
	assert_true(share_after_scan(SP_ROW_CACHE_LFU, 3000, 40000) > 0.95);
}

/* Plain lru would have none left: the scan is longer than the cache. */
static void a_scan_leaves_most_hot_rows_of_lru(void **state)
{
	(void)state;
	assert_true(share_after_scan(SP_ROW_CACHE_LRU, 1500, 5500) > 0.6);
}

/* After a change of what is hot, the new keys take the place of the old ones. */
static void check_follows(sp_row_cache_policy policy, int rounds)
{
	sp_row_cache *cache = make_cache(policy, sizeof(uint64_t) * WORDS, 1000);
	size_t hits = 0;

	for (int round = 0; round < 100; round++)
		for (int64_t key = 0; key < 800; key++)
			use_key(cache, key);
	for (int round = 0; round < rounds; round++)
		for (int64_t key = 0; key < 800; key++)
			use_key(cache, 50000 + key);
	for (int64_t key = 0; key < 800; key++)
		hits += read_key(cache, 50000 + key) == SP_ROW_CACHE_ROW;
	if (hits < 750)
		fail_msg("%zu of 800 after %d rounds", hits, rounds);
	sp_row_cache_destroy(cache);
}

static void lru_follows_a_change_at_once(void **state)
{
	(void)state;
	check_follows(SP_ROW_CACHE_LRU, 20);
}

static void lfu_follows_a_change_in_a_few_windows(void **state)
{
	(void)state;
	check_follows(SP_ROW_CACHE_LFU, 150);
}

static void entries_are_walked_once_each(void **state)
{
	enum { ROWS = 200 };
	sp_row_cache *cache = make_cache(SP_ROW_CACHE_LFU, sizeof(uint64_t) * WORDS, 1000);
	uint64_t row[WORDS], want[WORDS];
	bool seen[ROWS] = {false};
	sp_row_cache_entry entry = {.row = row};
	size_t count = 0;

	(void)state;
	for (int64_t key = 0; key < ROWS; key++)
		fill_key(cache, key);
	sp_row_cache_fill(cache, 5000, NULL);
	for (size_t at = 0; sp_row_cache_next(cache, &at, &entry); count++) {
		assert_in_range(entry.key, 0, ROWS - 1);
		assert_false(seen[entry.key]);
		seen[entry.key] = true;
		make_row(entry.key, sizeof(want), want);
		assert_memory_equal(row, want, sizeof(want));
	}
	assert_int_equal(count, ROWS);
	sp_row_cache_clear(cache);
	assert_int_equal(read_key(cache, 3), SP_ROW_CACHE_MISS);
	assert_int_equal(count_rows(cache), 0);
	sp_row_cache_destroy(cache);
}

/* ---- threads ---- */

typedef struct crowd {
	sp_row_cache *cache;
	size_t uses;
} crowd;

/* Every row that is read must be its key's: threads push out what others read. */
static void use_in_a_crowd(const crowd *all, uint64_t seed)
{
	enum { BATCH = 20 };
	int64_t keys[BATCH];
	uint64_t rows[BATCH][WORDS], want[WORDS];
	sp_row_cache_result answers[BATCH];

	for (size_t i = 0; i < all->uses; i += BATCH) {
		for (size_t k = 0; k < BATCH; k++)
			keys[k] = (int64_t)(uniform(&seed) * uniform(&seed) * 400);
		sp_row_cache_read(all->cache, keys, BATCH, answers, rows);
		for (size_t k = 0; k < BATCH; k++) {
			make_row(keys[k], sizeof(want), want);
			if (answers[k] == SP_ROW_CACHE_MISS)
				sp_row_cache_fill(all->cache, keys[k],
						  keys[k] % 7 == 0 ? NULL : want);
			else if ((answers[k] == SP_ROW_CACHE_ABSENT) != (keys[k] % 7 == 0) ||
				 (answers[k] == SP_ROW_CACHE_ROW &&
				  memcmp(rows[k], want, sizeof(want)) != 0))
				abort();
		}
	}
}

static sp_status crowd_piece(void *context, size_t piece, sp_error *err)
{
	(void)err;
	use_in_a_crowd(context, piece + 1);
	return SP_OK;
}

static void threads_never_see_a_row_of_another_key(void **state)
{
	(void)state;
	for (int policy = 0; policy < 2; policy++) {
		crowd all = {.cache = make_cache((sp_row_cache_policy)policy,
						 sizeof(uint64_t) * WORDS, 64),
			     .uses = 100000};
		sp_error error;

		assert_ok(sp_parallel_run(4, 4, crowd_piece, &all, &error), &error);
		sp_row_cache_destroy(all.cache);
	}
}

/* ---- sets ---- */

/* Which of eight ways have the tag, looked at one by one. */
static uint64_t expected_matches(const sp_cache_set *set, unsigned tag)
{
	uint64_t matches = 0;

	for (unsigned way = 0; way < 8; way++)
		if (sp_cache_set_tag(set, way) == tag)
			matches |= UINT64_C(0x80) << 8 * way;
	return matches;
}

/* Beside a way that has the tag, neither an empty one nor one whose tag is the next number. */
static void a_way_is_found_by_its_own_tag_alone(void **state)
{
	sp_cache_set set = {0};
	uint64_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned tag = 1 + (unsigned)(mix(seed++) % 255);

		for (unsigned way = 0; way < 8; way++) {
			const unsigned near[] = {0, 1, tag, tag ^ 1, tag - 1, (tag + 1) & 0xff};

			sp_cache_set_put(&set, way, near[mix(seed++) % 6], false);
		}
		assert_int_equal(sp_cache_set_matches(&set, 0, tag), expected_matches(&set, tag));
		assert_int_equal(sp_cache_set_matches(&set, 0, 1), expected_matches(&set, 1));
		assert_int_equal(sp_cache_set_matches(&set, 1, tag), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_way_is_found_by_its_own_tag_alone),
		cmocka_unit_test(a_row_that_was_filled_is_read_again_whatever_its_size),
		cmocka_unit_test(an_absent_key_is_known_to_be_absent),
		cmocka_unit_test(memory_stays_within_its_bytes),
		cmocka_unit_test(the_smallest_cache_holds_sixteen_rows),
		cmocka_unit_test(rows_of_no_bytes_are_refused),
		cmocka_unit_test(memory_that_is_out_is_an_error),
		cmocka_unit_test(nothing_is_allocated_after_creation),
		cmocka_unit_test(lfu_is_within_two_points_of_the_ideal),
		cmocka_unit_test(lfu_is_within_two_points_of_the_ideal_in_bytes),
		cmocka_unit_test(training_frequencies_make_the_first_uses_hit),
		cmocka_unit_test(a_seeded_key_that_comes_again_has_its_later_row),
		cmocka_unit_test(a_scan_leaves_the_hot_rows_of_lfu),
		cmocka_unit_test(a_scan_leaves_most_hot_rows_of_lru),
		cmocka_unit_test(lru_follows_a_change_at_once),
		cmocka_unit_test(lfu_follows_a_change_in_a_few_windows),
		cmocka_unit_test(entries_are_walked_once_each),
		cmocka_unit_test(threads_never_see_a_row_of_another_key),
	};
	return cmocka_run_group_tests_name("row_cache", tests, NULL, NULL);
}
