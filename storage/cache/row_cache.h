#ifndef SP_STORAGE_CACHE_ROW_CACHE_H
#define SP_STORAGE_CACHE_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Hot rows of a slower tier, in a fixed number of bytes.
 *
 * It also remembers absent keys.  Rows are bytes of one size.  Rows of the tier change through
 * sp_row_cache_replace() only, so the cache never holds an outdated row.
 *
 * lfu   Admits a row only when its key was used more often lately than the least used row of
 *       its set, which it evicts: a scan over many keys leaves hot rows in place.  Lately:
 *       in the last 128 uses per row held; older uses count half, a quarter and so on.
 * lru   A new row enters the order of last use where three eighths of the others are
 *       older; when it is used again it becomes the newest.  So a scan evicts no more than
 *       three eighths of the rows.
 *
 * Nothing is allocated after creation.
 *
 * Uses are counted up to 255, which ranks the rows at the edge of the cache, and not the hottest.
 *
 * Threads: read and fill may run in any number of threads.  A read never waits: it is a miss
 * while a fill writes to the same set of sixteen rows.  Of two concurrent fills of a set
 * one is dropped.  seed, finish_seeding and clear are for one thread, before all others;
 * next for one thread while no fill runs.
 */
typedef struct sp_row_cache sp_row_cache;

typedef enum sp_row_cache_policy { SP_ROW_CACHE_LFU, SP_ROW_CACHE_LRU } sp_row_cache_policy;

typedef struct sp_row_cache_options {
	size_t row_size;  /* bytes, >= 1 */
	size_t cap_bytes; /* of memory; at least 16 rows are held whatever it is */
	size_t max_rows;  /* rows that there are at most, 0: unknown */
	sp_row_cache_policy policy;
} sp_row_cache_options;

SP_MUST_CHECK sp_status sp_row_cache_create(sp_row_cache **out, const sp_row_cache_options *options,
					    sp_error *err);

/* Adds a user, who destroys the cache, too; returns `cache`.  Thread-safe, as is destroying. */
sp_row_cache *sp_row_cache_share(sp_row_cache *cache);

/* The last user frees it.  NULL is fine. */
void sp_row_cache_destroy(sp_row_cache *cache);

typedef enum sp_row_cache_answer {
	SP_ROW_CACHE_MISS,
	SP_ROW_CACHE_ROW,
	SP_ROW_CACHE_ABSENT, /* the key is known not to exist */
} sp_row_cache_answer;

/*
 * keys     [count]
 * answers  [count]
 * rows     [count, row_stride] bytes, 8-byte aligned, row_stride from
 *          sp_row_cache_row_stride(); row i is written iff answers[i] is SP_ROW_CACHE_ROW
 */
void sp_row_cache_read(sp_row_cache *cache, const int64_t *keys, size_t count,
		       sp_row_cache_answer *answers, void *rows);

/* row_size, rounded up to whole words. */
size_t sp_row_cache_row_stride(const sp_row_cache *cache);

/* Offers the row of a key that a read missed; NULL: absent.  The cache may refuse it. */
void sp_row_cache_fill(sp_row_cache *cache, int64_t key, const void *row);

/*
 * Replaces the row of a key, if the cache holds the key; its uses stay.  Waits for fills of its
 * set.  Nobody may read or fill this key meanwhile.
 */
void sp_row_cache_replace(sp_row_cache *cache, int64_t key, const void *row);

/*
 * Before serving: offers a row with the frequency of its key in training.  Rows of the highest
 * frequencies stay; a repeated key replaces its earlier row.
 */
void sp_row_cache_seed(sp_row_cache *cache, int64_t key, const void *row, uint64_t frequency);

/* Turns frequencies into uses; `total`: the sum of the frequencies of all keys, held or not. */
void sp_row_cache_finish_seeding(sp_row_cache *cache, double total);

/* Forgets every row. */
void sp_row_cache_clear(sp_row_cache *cache);

/*
 * Iterates over the rows held, from *at = 0 on; false after the last.  Fills `entry`, whose
 * `row` has room for row_stride bytes.
 */
typedef struct sp_row_cache_entry {
	void *row;
	int64_t key;
	uint64_t uses; /* out of sp_row_cache_window() */
} sp_row_cache_entry;

bool sp_row_cache_next(sp_row_cache *cache, size_t *at, sp_row_cache_entry *entry);

/* The number of uses of all rows after which counts are halved. */
double sp_row_cache_window(const sp_row_cache *cache);

size_t sp_row_cache_row_size(const sp_row_cache *cache);
size_t sp_row_cache_capacity(const sp_row_cache *cache); /* rows */
size_t sp_row_cache_size(const sp_row_cache *cache);     /* rows held, absent keys with them */
size_t sp_row_cache_footprint(const sp_row_cache *cache);

#endif
