#include "storage/table/key_column.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "storage/placement/placement_keys.h"

/*
 * The slot of a key (storage/placement/placement.h) holds the key and its number minus `absent`: a
 * lookup reads a pilot and a slot.
 */
struct sp_key_column {
	atomic_size_t references;
	int64_t absent;
	sp_key_column *below;
	sp_placement placement; /* has no slots if there are no keys */
	sp_region pilots;
	sp_region slots; /* [slot_count] of `stride` bytes: int64 key, uint32 or uint64 excess */
	size_t stride;
};

enum {
	NARROW = sizeof(int64_t) + sizeof(uint32_t),
	WIDE = sizeof(int64_t) + sizeof(uint64_t),
	/* Keys whose memory is prefetched together. */
	BLOCK = 32,
};

static uint64_t excess_of(const sp_key_column *column, int64_t number)
{
	return number > column->absent ? (uint64_t)number - (uint64_t)column->absent : 0;
}

static char *slot_of(const sp_key_column *column, uint64_t hash)
{
	const uint8_t *pilots = column->pilots.data;
	uint8_t pilot = pilots[sp_placement_bucket(&column->placement, hash)];

	return (char *)column->slots.data +
	       sp_placement_slot(&column->placement, hash, pilot) * column->stride;
}

/* -------------------------------------------------------------------- making */

typedef struct gathering {
	const sp_key_column *column;
	sp_placement_keys *keys;
	size_t count;
	uint64_t greatest; /* excess */
} gathering;

static sp_status gather(void *to, const int64_t *keys, const int64_t *numbers, size_t count,
			sp_error *err)
{
	gathering *g = to;
	size_t held;

	for (size_t i = 0; i < count; i++) {
		uint64_t excess = excess_of(g->column, numbers[i]);

		if (excess > g->greatest && !sp_key_is_mark(keys[i]))
			g->greatest = excess;
	}
	SP_TRY(sp_placement_keys_add(g->keys, keys, count, &held, err));
	g->count += held;
	return SP_OK;
}

static sp_status put(void *to, const int64_t *keys, const int64_t *numbers, size_t count,
		     sp_error *err)
{
	sp_key_column *column = to;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		uint64_t excess = excess_of(column, numbers[i]);
		uint32_t narrow = (uint32_t)excess;
		char *slot;

		if (sp_key_is_mark(keys[i]))
			continue;
		slot = slot_of(column, sp_placement_hash(&column->placement, keys[i]));
		memcpy(slot, &keys[i], sizeof(keys[i]));
		if (column->stride == WIDE)
			memcpy(slot + sizeof(keys[i]), &excess, sizeof(excess));
		else
			memcpy(slot + sizeof(keys[i]), &narrow, sizeof(narrow));
	}
	return SP_OK;
}

static sp_status place(sp_key_column *column, gathering *g, const sp_key_column_options *options,
		       sp_error *err)
{
	size_t threads = options->threads != 0 ? options->threads : 1, size;

	column->stride = g->greatest > UINT32_MAX ? WIDE : NARROW;
	SP_TRY(sp_placement_keys_find(&column->pilots, &column->placement, g->keys, threads,
				      options->stop, err));
	SP_NEED_MEMORY(sp_size_mul(&size, column->placement.slot_count, column->stride) &&
			       sp_region_resize(&column->slots, size),
		       err, "a number of each of %zu keys", g->count);
	memset(column->slots.data, 0xff, size); /* key -1: empty */
	return SP_OK;
}

static sp_status fill(sp_key_column *column, const sp_key_column_options *options, sp_error *err)
{
	gathering g = {.column = column};
	sp_status status;

	SP_TRY(sp_placement_keys_create(&g.keys, 0, err));
	status = options->feed(options->context, gather, &g, err);
	if (status == SP_OK && g.count != 0)
		status = place(column, &g, options, err);
	sp_placement_keys_destroy(g.keys);
	if (status != SP_OK || g.count == 0)
		return status;
	return options->feed(options->context, put, column, err);
}

sp_status sp_key_column_create(sp_key_column **out, const sp_key_column_options *options,
			       sp_error *err)
{
	sp_key_column *column = sp_alloc_zero(1, sizeof(*column));
	sp_status status;

	SP_NEED_MEMORY(column, err, "numbers of keys");
	atomic_init(&column->references, 1);
	column->absent = options->absent;
	column->below = sp_key_column_retain(options->below);
	status = fill(column, options, err);
	if (status != SP_OK) {
		sp_key_column_release(column);
		return status;
	}
	*out = column;
	return SP_OK;
}

sp_key_column *sp_key_column_retain(sp_key_column *column)
{
	if (column != NULL)
		atomic_fetch_add_explicit(&column->references, 1, memory_order_relaxed);
	return column;
}

void sp_key_column_release(sp_key_column *column)
{
	while (column != NULL &&
	       atomic_fetch_sub_explicit(&column->references, 1, memory_order_acq_rel) == 1) {
		sp_key_column *below = column->below;

		sp_region_fini(&column->pilots);
		sp_region_fini(&column->slots);
		sp_free(column);
		column = below;
	}
}

sp_key_column *sp_key_column_bottom(sp_key_column *column)
{
	while (column != NULL && column->below != NULL)
		column = column->below;
	return column;
}

/* ------------------------------------------------------------------- reading */

static int64_t number_in(const sp_key_column *column, const char *slot)
{
	uint64_t excess = 0;
	uint32_t narrow;

	if (column->stride == WIDE) {
		memcpy(&excess, slot + sizeof(int64_t), sizeof(excess));
	} else {
		memcpy(&narrow, slot + sizeof(int64_t), sizeof(narrow));
		excess = narrow;
	}
	return (int64_t)((uint64_t)column->absent + excess);
}

/* Leaves the numbers of keys that the column lacks unchanged. */
static void read_block(const sp_key_column *column, const int64_t *keys, size_t count,
		       int64_t *numbers)
{
	uint64_t hashes[BLOCK];
	const char *slots[BLOCK];

	for (size_t i = 0; i < count; i++) {
		hashes[i] = sp_placement_hash(&column->placement, keys[i]);
		__builtin_prefetch((const char *)column->pilots.data +
				   sp_placement_bucket(&column->placement, hashes[i]));
	}
	for (size_t i = 0; i < count; i++) {
		slots[i] = slot_of(column, hashes[i]);
		__builtin_prefetch(slots[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (!sp_key_is_mark(keys[i]) && memcmp(slots[i], &keys[i], sizeof(keys[i])) == 0)
			numbers[i] = number_in(column, slots[i]);
}

void sp_key_column_read(const sp_key_column *column, const int64_t *keys, size_t count,
			int64_t *numbers)
{
	if (column->below != NULL)
		sp_key_column_read(column->below, keys, count, numbers);
	else
		for (size_t i = 0; i < count; i++)
			numbers[i] = column->absent;
	for (size_t i = 0; i < count && column->placement.slot_count != 0; i += BLOCK)
		read_block(column, keys + i, count - i < BLOCK ? count - i : BLOCK, numbers + i);
}

size_t sp_key_column_footprint(const sp_key_column *column)
{
	size_t bytes = 0;

	for (; column != NULL; column = column->below)
		bytes += sizeof(*column) + sp_region_footprint(&column->pilots) +
			 sp_region_footprint(&column->slots);
	return bytes;
}

size_t sp_key_column_expected_size(size_t keys)
{
	size_t bytes;

	/* Slots of the wide kind, one empty for every 25, and a pilot for every two keys. */
	if (!sp_size_mul(&bytes, keys, WIDE + 1) ||
	    !sp_size_add(&bytes, bytes, (keys / 25 + 1) * WIDE))
		return SIZE_MAX;
	return bytes;
}
