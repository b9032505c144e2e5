#ifndef SP_STORAGE_CACHE_ROW_CACHE_H
#define SP_STORAGE_CACHE_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A cache of a slower tier's rows, with a fixed memory size.
 *
 * It also caches that a key is absent.  All rows have the same size.  The tier's rows change
 * through sp_row_cache_replace() only, so the cache never holds an outdated row.
 *
 * lfu   A row is admitted only if its key was recently used more often than the least used row of
 *       its set, which is then evicted.  So a scan over many keys leaves hot rows in place.  Use
 *       counts are halved after every 128 uses per row held.
 * lru   A new row enters the order of last use above the oldest three eighths of the rows; its
 *       second use makes it the newest.  So a scan evicts at most three eighths of the rows.
 *
 * Nothing is allocated after creation.
 *
 * Use counts saturate at 255: they order the rows that compete for admission, not the hottest ones.
 *
 * Threads: read and fill may run in any number of threads.  A read never waits: while a fill writes
 * to the same set of sixteen rows, it is a miss.  Of two concurrent fills of a set one is dropped.
 * seed, finish_seeding and clear may be called by one thread, before all others; next by one thread
 * while no fill runs.
 */
typedef struct sp_row_cache sp_row_cache;

typedef enum sp_row_cache_policy { SP_ROW_CACHE_LFU, SP_ROW_CACHE_LRU } sp_row_cache_policy;

typedef struct sp_row_cache_options {
	size_t row_size;  /* bytes, >= 1 */
	size_t cap_bytes; /* of memory; at least 16 rows fit, even if they need more */
	size_t max_rows;  /* upper bound of the rows in the tier; 0: unknown */
	sp_row_cache_policy policy;
} sp_row_cache_options;

SP_MUST_CHECK sp_status sp_row_cache_create(sp_row_cache **out, const sp_row_cache_options *options,
					    sp_error *err);

/* Adds a reference, for sp_row_cache_destroy(), and returns `cache`.  Both are thread-safe. */
sp_row_cache *sp_row_cache_share(sp_row_cache *cache);

/* Drops a reference; the last one frees the cache.  NULL is fine. */
void sp_row_cache_destroy(sp_row_cache *cache);

typedef enum sp_row_cache_result {
	SP_ROW_CACHE_MISS,
	SP_ROW_CACHE_ROW,
	SP_ROW_CACHE_ABSENT, /* the key is known not to exist */
} sp_row_cache_result;

/*
 * keys     [count]
 * results  [count]
 * rows     [count, row_stride] bytes, 8-byte aligned, row_stride from
 *          sp_row_cache_row_stride(); row i is written iff results[i] is SP_ROW_CACHE_ROW
 */
void sp_row_cache_read(sp_row_cache *cache, const int64_t *keys, size_t count,
		       sp_row_cache_result *results, void *rows);

/* row_size, rounded up to whole words. */
size_t sp_row_cache_row_stride(const sp_row_cache *cache);

/* Prefetches what sp_row_cache_fill() needs, some rows before. */
void sp_row_cache_prefetch(const sp_row_cache *cache, int64_t key);

/*
 * Offers the row of a key that a read missed; it may not be admitted.  row NULL: the key is absent.
 */
void sp_row_cache_fill(sp_row_cache *cache, int64_t key, const void *row);

/*
 * Replaces the row of a key if the cache holds the key; its use count is kept.  Waits for fills of
 * the same set.  No fill of this key may run meanwhile; a concurrent read gets the old or the new
 * row, or is a miss.
 */
void sp_row_cache_replace(sp_row_cache *cache, int64_t key, const void *row);

/*
 * Before serving: offers a row with its key's frequency in training.  The rows with the highest
 * frequencies stay; a repeated key replaces its earlier row.
 */
void sp_row_cache_seed(sp_row_cache *cache, int64_t key, const void *row, uint64_t frequency);

/* Scales frequencies to use counts; `total`: the sum of all keys' frequencies, held or not. */
void sp_row_cache_finish_seeding(sp_row_cache *cache, double total);

/* Removes every row. */
void sp_row_cache_clear(sp_row_cache *cache);

/*
 * Iterates over the rows held, from *at = 0 on; false after the last.  entry->row must have room
 * for row_stride bytes.
 */
typedef struct sp_row_cache_entry {
	void *row;
	int64_t key;
	uint64_t uses; /* relative to sp_row_cache_window() */
} sp_row_cache_entry;

bool sp_row_cache_next(sp_row_cache *cache, size_t *at, sp_row_cache_entry *entry);

/* The number of uses of all rows together after which counts are halved. */
double sp_row_cache_window(const sp_row_cache *cache);

size_t sp_row_cache_row_size(const sp_row_cache *cache);
size_t sp_row_cache_capacity(const sp_row_cache *cache); /* rows */
size_t sp_row_cache_footprint(const sp_row_cache *cache);

#endif
