#ifndef SP_STORAGE_INDEX_H
#define SP_STORAGE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/region.h"

/*
 * Keys to row numbers: a cuckoo hash table of buckets that fill a cache line.
 *
 * A bucket holds five keys with their rows.  Every key is in one of two
 * buckets, so a lookup reads one line, and at most two, whatever the keys are;
 * a count in the first bucket says whether the second is worth a look.  The
 * hash is seeded afresh for every index, so that nobody can choose keys that
 * crowd into the same buckets.
 *
 * With 8 slots of 10 filled it takes 16 bytes a key, of which 8 are the key.
 *
 * The empty slot is marked by key -1, which is therefore never held, and whose
 * lookup finds the "row" of an empty slot: SP_INDEX_NONE.
 *
 * Threads: one thread at a time while keys are added; any number may look up after.
 *
 * Source: M. Dietzfelbinger, C. Weidling, "Balanced allocation and dictionaries
 * with tightly packed constant size bins", 2007.
 */
#define SP_INDEX_NONE UINT32_MAX

/* Rows are numbered below this. */
#define SP_INDEX_MAX_ROWS UINT32_MAX

/* Never held: DeepRec's marks for empty and deleted. */
#define SP_INDEX_EMPTY_KEY   INT64_C(-1)
#define SP_INDEX_DELETED_KEY INT64_C(-2)

enum {
	SP_INDEX_BUCKET_SLOTS = 5,
	SP_INDEX_BLOCK = 32, /* keys that are looked up together */
};

typedef struct sp_index_bucket {
	int64_t keys[SP_INDEX_BUCKET_SLOTS];
	uint32_t rows[SP_INDEX_BUCKET_SLOTS];
	uint32_t spilled; /* not 0: some key whose first bucket this is may be in its second */
} sp_index_bucket;

typedef struct sp_index {
	sp_region region;
	size_t bucket_count; /* 0 until the first key comes */
	size_t count;        /* keys held */
	uint64_t seed[2];
	uint64_t walk; /* which key has to move next; any number will do */
} sp_index;

/* Ready for `expected` keys; more are fine. */
SP_MUST_CHECK sp_status sp_index_init(sp_index *index, size_t expected, sp_error *err);

/* An index that is all zero, or finished before, is fine. */
void sp_index_fini(sp_index *index);

/*
 * Adds `key` with `row` and gives *held = row; a key that is there keeps the
 * row it has, which goes to *held.  `key` must not be SP_INDEX_EMPTY_KEY.
 * On failure (SP_NO_MEMORY) the index is only good for sp_index_fini().
 */
SP_MUST_CHECK sp_status sp_index_add(sp_index *index, int64_t key, uint32_t row, uint32_t *held,
				     sp_error *err);

/* Gives back what is too much for the keys there are. */
SP_MUST_CHECK sp_status sp_index_shrink(sp_index *index, sp_error *err);

/*
 * A lookup of up to SP_INDEX_BLOCK keys is three calls.  Each asks for the
 * memory that the next one reads, so what is done between them hides its
 * latency.
 */
typedef struct sp_index_probe {
	const int64_t *keys;
	size_t count;
	uint32_t rows[SP_INDEX_BLOCK]; /* the answer: row of key i, or SP_INDEX_NONE */

	uint64_t hashes[SP_INDEX_BLOCK];
	uint8_t later[SP_INDEX_BLOCK]; /* keys whose second bucket is worth a look */
	size_t later_count;
} sp_index_probe;

/* Hashes the keys and asks for their first buckets. */
void sp_index_probe_start(const sp_index *index, sp_index_probe *probe, const int64_t *keys,
			  size_t count);

/* rows[i] is right for all keys but those in `later`, for which it is SP_INDEX_NONE. */
void sp_index_probe_first(const sp_index *index, sp_index_probe *probe);

/* Now for those as well. */
void sp_index_probe_second(const sp_index *index, sp_index_probe *probe);

#endif
