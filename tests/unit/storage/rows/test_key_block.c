/* Many keys at once, as storage/placement/placement.h has them one by one. */
#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "storage/rows/key_block.h"
#include "tests/support/child.h"

enum { SIZES = 3 };

/* Parts that move keys on in their slots, and parts that are too small for it. */
static const sp_rows_shape shapes[SIZES] = {
	{.slot_size = 136, .placement = {.part_count = 1, .part_buckets = 5, .part_slots = 13}},
	{.slot_size = 20, .placement = {.part_count = 7, .part_buckets = 900, .part_slots = 2500}},
	{.slot_size = 4096,
	 .placement = {.part_count = 3, .part_buckets = 13000, .part_slots = 33000}},
};

/* The marks among them. */
static int64_t key_of(size_t i)
{
	return i % 11 == 10 ? -1 - (int64_t)(i / 11 % 2) : (int64_t)(i * 0x9e3779b97f4a7c15u);
}

static sp_rows_shape seeded(size_t size)
{
	sp_rows_shape shape = shapes[size];

	shape.placement.seed[0] = 0x243f6a8885a308d3u;
	shape.placement.seed[1] = 0x13198a2e03707345u;
	return shape;
}

static int hashes_are_the_same(void)
{
	sp_rows_shape shape = seeded(2);

	for (size_t count = 0; count <= 3 * SP_KEY_BLOCK; count++) {
		int64_t keys[3 * SP_KEY_BLOCK] = {0};
		uint64_t hashes[3 * SP_KEY_BLOCK + 1];

		for (size_t i = 0; i < count; i++)
			keys[i] = key_of(i + count);
		hashes[count] = 77;
		sp_placement_hash_all(&shape.placement, keys, count, hashes);
		for (size_t i = 0; i < count; i++)
			if (hashes[i] != sp_placement_hash(&shape.placement, keys[i]))
				return 1;
		if (hashes[count] != 77)
			return 2;
	}
	return 0;
}

static const char *slot_of(const sp_rows *rows, int64_t key)
{
	const sp_rows_shape *shape = &rows->shape;
	uint64_t hash = sp_placement_hash(&shape->placement, key);
	uint8_t pilot = rows->pilots[sp_placement_bucket(&shape->placement, hash)];

	return key == -1 || key == -2
		       ? NULL
		       : rows->slots + sp_placement_slot(&shape->placement, hash, pilot) *
					       shape->slot_size;
}

/* Slots are named, not read. */
static int check_slots(const sp_rows *rows)
{
	for (size_t count = 0; count <= SP_KEY_BLOCK; count++) {
		int64_t keys[SP_KEY_BLOCK] = {0};
		char *slots[SP_KEY_BLOCK + 1], none;

		for (size_t i = 0; i < count; i++)
			keys[i] = key_of(i + count);
		slots[count] = &none;
		sp_key_block_find(rows, keys, count, slots);
		for (size_t i = 0; i < count; i++)
			if (slots[i] != slot_of(rows, keys[i]))
				return 3;
		if (slots[count] != &none)
			return 4;
	}
	return 0;
}

static int slots_are_the_same(void)
{
	for (size_t size = 0; size < SIZES; size++) {
		sp_rows rows = {.shape = seeded(size), .slots = (const char *)(uintptr_t)(1 << 30)};
		size_t buckets = rows.shape.placement.part_count *
				 rows.shape.placement.part_buckets;
		uint8_t *pilots = malloc(buckets);
		int answer;

		if (pilots == NULL)
			return 5;
		for (size_t i = 0; i < buckets; i++)
			pilots[i] = (uint8_t)(i * 2654435761u >> 13);
		rows.pilots = pilots;
		answer = check_slots(&rows);
		free(pilots);
		if (answer != 0)
			return answer;
	}
	return 0;
}

/* By each set of instructions, in a process of its own. */
static void check_all_ways(int (*check)(void))
{
	assert_int_equal(sp_child_run(check, "SP_CPU", "scalar"), 0);
	assert_int_equal(sp_child_run(check, "SP_CPU", NULL), 0);
}

static void hashes_are_those_of_single_keys(void **state)
{
	(void)state;
	check_all_ways(hashes_are_the_same);
}

static void slots_are_those_of_single_keys(void **state)
{
	(void)state;
	check_all_ways(slots_are_the_same);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_single_keys),
		cmocka_unit_test(slots_are_those_of_single_keys),
	};
	return cmocka_run_group_tests_name("key_block", tests, NULL, NULL);
}
