#ifndef SP_STORAGE_CACHE_ROW_CACHE_H
#define SP_STORAGE_CACHE_ROW_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Hot rows of a slower tier, in a fixed number of bytes.
 *
 * It also remembers that a key is absent.  Rows are bytes of one size; the
 * rows behind the cache change by sp_row_cache_replace() only, so a row in it is
 * right or not there.
 *
 * lfu   A row enters only when its key was asked for more often lately than
 *       the least used row it would push out, so a scan over many keys leaves
 *       the hot ones where they are.  Lately: the last 128 uses per row held,
 *       with older ones counting half, a quarter and so on.
 * lru   A row enters in the order of last use where three eighths of the others are
 *       older; used again, it is the newest.  So a scan pushes out no more than
 *       these three eighths.
 *
 * Nothing is allocated after creation.
 *
 * How much a row was used is known up to 255 uses in that time, which tells the
 * rows that come and go from each other, and not the hottest ones.
 *
 * Threads: read and fill may run in any number of threads.  A read never
 * waits: it answers "not there" when a fill is at work on the same sixteen
 * rows.  Of two fills that meet there one is dropped.  seed, finish_seeding and
 * clear are for one thread, before all others; next for one without fills.
 */
typedef struct sp_row_cache sp_row_cache;

typedef enum sp_row_cache_policy { SP_ROW_CACHE_LFU, SP_ROW_CACHE_LRU } sp_row_cache_policy;

typedef struct sp_row_cache_options {
	size_t row_size;  /* bytes, >= 1 */
	size_t cap_bytes; /* for all of it; what is less than 16 rows take becomes that */
	size_t max_rows;  /* never room for many more than these; 0: no such bound */
	sp_row_cache_policy policy;
} sp_row_cache_options;

SP_MUST_CHECK sp_status sp_row_cache_create(sp_row_cache **out, const sp_row_cache_options *options,
					    sp_error *err);

/* One user more, to be destroyed once more; gives `cache`.  Thread-safe, as is destroying. */
sp_row_cache *sp_row_cache_share(sp_row_cache *cache);

/* Gone with the last user.  NULL is fine. */
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

/* What a read missed and the tier behind has answered; NULL: absent.  It may stay out. */
void sp_row_cache_fill(sp_row_cache *cache, int64_t key, const void *row);

/*
 * The key's row is another one from now on: where something is held of it, `row`
 * is held instead, and its uses stay.  It waits for a fill, and nobody reads or fills
 * this key meanwhile.
 */
void sp_row_cache_replace(sp_row_cache *cache, int64_t key, const void *row);

/*
 * Before serving: a row and how often training met its key.  Those of the highest
 * frequencies stay; a key that comes again takes the place of its earlier row.
 */
void sp_row_cache_seed(sp_row_cache *cache, int64_t key, const void *row, uint64_t frequency);

/* Turns frequencies, `total` of all keys held or not, into uses; then threads may come. */
void sp_row_cache_finish_seeding(sp_row_cache *cache, double total);

/* Forgets every row. */
void sp_row_cache_clear(sp_row_cache *cache);

/*
 * The rows held, one after the other from *at = 0 on; false after the last.
 * Fills what is said of `entry`, whose `row` has room for row_stride bytes.
 */
typedef struct sp_row_cache_entry {
	void *row;
	int64_t key;
	uint64_t uses; /* out of sp_row_cache_window() */
} sp_row_cache_entry;

bool sp_row_cache_next(sp_row_cache *cache, size_t *at, sp_row_cache_entry *entry);

/* How many uses of any rows a use is counted for. */
double sp_row_cache_window(const sp_row_cache *cache);

size_t sp_row_cache_row_size(const sp_row_cache *cache);
size_t sp_row_cache_capacity(const sp_row_cache *cache); /* rows */
size_t sp_row_cache_size(const sp_row_cache *cache);     /* rows held, absent keys with them */
size_t sp_row_cache_footprint(const sp_row_cache *cache);

#endif
