#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "storage/cache/key_miss.h"
#include "storage/ssd/rocks.h"

static uint64_t seed = 1;

static uint64_t next_number(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return seed ^ seed >> 29;
}

/* Kinds of keys: anything; few that come often; neighbours; one bit each; of both signs; all the
 * same. */
enum { KINDS = 6 };

static int64_t make_key(int kind)
{
	uint64_t number = next_number();

	switch (kind) {
	case 0:
		return (int64_t)number;
	case 1:
		return (int64_t)(number % 7) << 60 | 5;
	case 2:
		return INT64_C(1000000007) + (int64_t)(number % 3000);
	case 3:
		return (int64_t)(UINT64_C(1) << number % 64);
	case 4:
		return (int64_t)(number % 200) - 100;
	default:
		return -77;
	}
}

static int by_key(const void *left, const void *right)
{
	const sp_key_miss *a = left, *b = right;
	int order = sp_rocks_compare(a->key, b->key);

	return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* As qsort() has them, and each key still with what belongs to it. */
static void check(int kind, size_t count)
{
	sp_key_miss *misses = malloc((count + 1) * sizeof(*misses));
	sp_key_miss *sorted = malloc((count + 1) * sizeof(*sorted));

	assert_true(misses != NULL && sorted != NULL);
	for (size_t i = 0; i < count; i++)
		misses[i] = (sp_key_miss){make_key(kind), 3, (uint32_t)i};
	memcpy(sorted, misses, count * sizeof(*misses));
	sp_key_miss_sort(sorted, count);
	for (size_t i = 1; i < count; i++)
		assert_true(sp_rocks_compare(sorted[i - 1].key, sorted[i].key) <= 0);
	/* Equal keys are in any order. */
	qsort(misses, count, sizeof(*misses), by_key);
	qsort(sorted, count, sizeof(*sorted), by_key);
	assert_memory_equal(sorted, misses, count * sizeof(*misses));
	free(misses);
	free(sorted);
}

static void keys_of_all_kinds_come_into_order(void **state)
{
	static const size_t counts[] = {0, 1, 2, 3, 11, 12, 13, 14, 25, 100, 1000, 30000};

	(void)state;
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
			check(kind, counts[c]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_all_kinds_come_into_order),
	};
	return cmocka_run_group_tests_name("key_miss", tests, NULL, NULL);
}
