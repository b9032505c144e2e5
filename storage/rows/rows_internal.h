#ifndef SP_STORAGE_ROWS_ROWS_INTERNAL_H
#define SP_STORAGE_ROWS_ROWS_INTERNAL_H

#include <stdatomic.h>

#include "storage/placement/placement.h"
#include "storage/region.h"
#include "storage/rows/rows.h"
#include "storage/format/woven_row.h"

struct sp_rows {
	sp_rows_shape shape;
	const char *slots;
	const char *outliers; /* behind the slots */
	const uint8_t *pilots;
	const sp_row_codec *codec;   /* of the format */
	const sp_woven_codec *woven; /* NULL unless keys are woven in */
	atomic_size_t references;

	/* What is behind the two arrays: memory of ours, or somebody's. */
	sp_region slot_memory;
	sp_region pilot_memory;
	const sp_rows_guard *guard;
	void (*release)(void *owner);
	void *owner;
};

/* Rows whose two arrays are the caller's to fill in; NULL when out of memory. */
sp_rows *sp_rows__create(const sp_rows_shape *shape);

/* Where they are, the outliers behind them included. */
void sp_rows__set_slots(sp_rows *rows, const char *slots);

/*
 * A lookup is three steps, each of which asks for the memory that the next one
 * reads: what is done between them hides its latency.
 */
typedef struct sp_rows_probe {
	uint64_t hash;
	union {
		const uint8_t *pilot;
		const char *slot;
	} at;
} sp_rows_probe;

static inline void sp_rows__start(const sp_rows *rows, int64_t key, sp_rows_probe *probe)
{
	probe->hash = sp_placement_hash(&rows->shape, key);
	probe->at.pilot = rows->pilots + sp_placement_bucket(&rows->shape, probe->hash);
	__builtin_prefetch(probe->at.pilot);
}

/*
 * A function that does nothing but ask for memory counts as one without effect,
 * and calls of it are left out, unless it is inline before that is found.
 */
#define SP_ROWS_FETCHES static inline __attribute__((always_inline))

/*
 * Asks for a slot.  Into the second level cache: the first has room for a dozen
 * lines on their way, which is fewer than memory can deliver at once.
 */
SP_ROWS_FETCHES void sp_rows__fetch(const char *slot, size_t size)
{
	enum { CACHE_LINE = 64, MAX_SIZE = 9 * CACHE_LINE };
	/* What follows in a long row, the processor foresees itself. */
	const char *end = slot + (size < MAX_SIZE ? size : MAX_SIZE);

	/* Slots need not start on a line; asking twice for one would take a place in the queue. */
	for (slot -= (uintptr_t)slot % CACHE_LINE; slot < end; slot += CACHE_LINE)
		__builtin_prefetch(slot, 0, 2);
}

static inline void sp_rows__find_slot(const sp_rows *rows, sp_rows_probe *probe)
{
	size_t number = sp_placement_slot(&rows->shape, probe->hash, *probe->at.pilot);

	probe->at.slot = rows->slots + number * rows->shape.slot_size;
}

static inline void sp_rows__fetch_slot(const sp_rows *rows, sp_rows_probe *probe)
{
	sp_rows__find_slot(rows, probe);
	sp_rows__fetch(probe->at.slot, rows->shape.slot_size);
}

/* The key of a slot; SP_ROWS_EMPTY_KEY when it is empty. */
static inline int64_t sp_rows__key(const sp_rows *rows, const char *slot)
{
	int64_t mark;

	if (rows->woven != NULL)
		return sp_woven_row_key(slot);
	__builtin_memcpy(&mark, slot, sizeof(mark));
	return ~mark;
}

static inline bool sp_rows__holds(const sp_rows *rows, const char *slot, int64_t key)
{
	int64_t mark;

	if (rows->woven != NULL)
		return rows->woven->holds(slot, key);
	__builtin_memcpy(&mark, slot, sizeof(mark));
	return mark == ~key;
}

/* The row of a slot that is not empty. */
static inline sp_stored_row sp_rows__stored(const sp_rows *rows, const char *slot)
{
	uint64_t outlier;

	if (rows->woven == NULL)
		return (sp_stored_row){slot + sizeof(int64_t), rows->codec};
	outlier = sp_woven_row_outlier(slot);
	/* A number that is too large comes of memory that its guard is about to report. */
	if (__builtin_expect(outlier >= rows->shape.outlier_count, 1))
		return (sp_stored_row){slot, &rows->woven->row};
	return (sp_stored_row){rows->outliers + outlier * rows->shape.dim * sizeof(float),
			       rows->codec};
}

/* Whether the key is held, and its row. */
static inline bool sp_rows__row(const sp_rows *rows, const sp_rows_probe *probe, int64_t key,
				sp_stored_row *out)
{
	if (key == SP_ROWS_EMPTY_KEY || !sp_rows__holds(rows, probe->at.slot, key))
		return false;
	*out = sp_rows__stored(rows, probe->at.slot);
	return true;
}

#endif
