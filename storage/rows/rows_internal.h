#ifndef SP_STORAGE_ROWS_ROWS_INTERNAL_H
#define SP_STORAGE_ROWS_ROWS_INTERNAL_H

#include <stdatomic.h>

#include "storage/placement/placement.h"
#include "storage/region.h"
#include "storage/rows/rows.h"
#include "storage/format/packed_row.h"

struct sp_rows {
	sp_rows_shape shape;
	const char *slots;
	const char *outliers; /* after the slots */
	const uint8_t *pilots;
	const sp_row_codec *codec;     /* of the format */
	const sp_packed_codec *packed; /* NULL unless keys are packed in */
	atomic_size_t references;

	/* The arrays belong to the two regions, or to `owner`. */
	sp_region slot_memory;
	sp_region pilot_memory;
	const sp_rows_guard *guard;
	void (*release)(void *owner);
	void *owner;
};

/* Rows whose two arrays the caller fills in; NULL when out of memory. */
sp_rows *sp_rows__create(const sp_rows_shape *shape);

/* Sets the address of the slots and of the outliers behind them. */
void sp_rows__set_slots(sp_rows *rows, const char *slots);

/*
 * A lookup has three steps.  Each prefetches what the next one reads; work between the steps hides
 * the latency.
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
	probe->hash = sp_placement_hash(&rows->shape.placement, key);
	probe->at.pilot = rows->pilots + sp_placement_bucket(&rows->shape.placement, probe->hash);
	__builtin_prefetch(probe->at.pilot);
}

/*
 * Always inlined: the compiler would take a function that only prefetches for one without effects
 * and remove its calls.
 */
#define SP_ROWS_FETCHES static inline __attribute__((always_inline))

/*
 * Prefetches a slot into the second level cache: the first level has only about a dozen fill
 * buffers, fewer lines than memory can deliver at once.
 */
SP_ROWS_FETCHES void sp_rows__fetch(const char *slot, size_t size)
{
	enum { CACHE_LINE = 64, MAX_SIZE = 9 * CACHE_LINE };
	/* The hardware prefetches the rest of a long row. */
	const char *end = slot + (size < MAX_SIZE ? size : MAX_SIZE);

	/* Slots need not start on a line; prefetching a line twice would waste a buffer. */
	for (slot -= (uintptr_t)slot % CACHE_LINE; slot < end; slot += CACHE_LINE)
		__builtin_prefetch(slot, 0, 2);
}

static inline void sp_rows__find_slot(const sp_rows *rows, sp_rows_probe *probe)
{
	size_t number = sp_placement_slot(&rows->shape.placement, probe->hash, *probe->at.pilot);

	probe->at.slot = rows->slots + number * rows->shape.slot_size;
}

static inline void sp_rows__fetch_slot(const sp_rows *rows, sp_rows_probe *probe)
{
	sp_rows__find_slot(rows, probe);
	sp_rows__fetch(probe->at.slot, rows->shape.slot_size);
}

/* The key of a slot; SP_KEY_EMPTY when it is empty. */
static inline int64_t sp_rows__key(const sp_rows *rows, const char *slot)
{
	int64_t mark;

	if (rows->packed != NULL)
		return sp_packed_row_key(slot);
	__builtin_memcpy(&mark, slot, sizeof(mark));
	return ~mark;
}

static inline bool sp_rows__holds(const sp_rows *rows, const char *slot, int64_t key)
{
	int64_t mark;

	if (rows->packed != NULL)
		return rows->packed->holds(slot, key);
	__builtin_memcpy(&mark, slot, sizeof(mark));
	return mark == ~key;
}

/* The row of a slot that is not empty. */
static inline sp_stored_row sp_rows__stored(const sp_rows *rows, const char *slot)
{
	uint64_t outlier;

	if (rows->packed == NULL)
		return (sp_stored_row){slot + sizeof(int64_t), rows->codec};
	outlier = sp_packed_row_outlier(slot);
	/* Only corrupt memory has a larger number; the guard reports it. */
	if (__builtin_expect(outlier >= rows->shape.outlier_count, 1))
		return (sp_stored_row){slot, &rows->packed->row};
	return (sp_stored_row){rows->outliers + outlier * rows->shape.dim * sizeof(float),
			       rows->codec};
}

/* Whether the key is held; then *out is its row. */
static inline bool sp_rows__row(const sp_rows *rows, const sp_rows_probe *probe, int64_t key,
				sp_stored_row *out)
{
	if (key == SP_KEY_EMPTY || !sp_rows__holds(rows, probe->at.slot, key))
		return false;
	*out = sp_rows__stored(rows, probe->at.slot);
	return true;
}

enum { SP_ROWS_BLOCK = 32 }; /* keys whose memory is prefetched together */

/* held[i] = whether keys[i] is held; count <= SP_ROWS_BLOCK. */
void sp_rows__hold(const sp_rows *rows, const int64_t *keys, size_t count, bool *held);

#endif
