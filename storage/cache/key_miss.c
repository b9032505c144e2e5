#include "storage/cache/key_miss.h"

/*
 * Radix sort in place: partitions keys by the highest bit in which any two differ, zeros first,
 * then each half by the next bit.
 */
enum { FEW = 12 }; /* so few are sorted by insertion */

static uint64_t number_of(const sp_key_miss *miss)
{
	return (uint64_t)miss->key;
}

static void insert_all(sp_key_miss *misses, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		sp_key_miss one = misses[i];
		size_t to = i;

		for (; to > 0 && number_of(&misses[to - 1]) > number_of(&one); to--)
			misses[to] = misses[to - 1];
		misses[to] = one;
	}
}

/* Partitions by the bit, zeros first; returns the number of zeros. */
static size_t partition(sp_key_miss *misses, size_t count, int bit)
{
	size_t zeros = 0;

	while (zeros < count) {
		sp_key_miss one = misses[zeros];

		if ((number_of(&one) >> bit & 1) == 0) {
			zeros++;
			continue;
		}
		misses[zeros] = misses[--count];
		misses[count] = one;
	}
	return zeros;
}

/* All keys agree in the bits above `bit`. */
static void sort_by_bits(sp_key_miss *misses, size_t count, int bit)
{
	for (; count > FEW && bit >= 0; bit--) {
		size_t zeros = partition(misses, count, bit);

		sort_by_bits(misses, zeros, bit - 1);
		misses += zeros;
		count -= zeros;
	}
	if (bit >= 0)
		insert_all(misses, count);
}

void sp_key_miss_sort(sp_key_miss *misses, size_t count)
{
	uint64_t differences = 0;

	for (size_t i = 1; i < count; i++)
		differences |= number_of(&misses[i]) ^ number_of(&misses[0]);
	if (differences != 0)
		sort_by_bits(misses, count, 63 - __builtin_clzll(differences));
}
