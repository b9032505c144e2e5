#ifndef SP_STORAGE_SSD_INTERNAL_H
#define SP_STORAGE_SSD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/read_pool.h"
#include "storage/rocks.h"
#include "storage/ssd_folder.h"
#include "storage/ssd_tier.h"

struct sp_ssd_store {
	atomic_size_t references;
	char *path, *model, *version;
	size_t cache_bytes;
	sp_row_cache_policy policy;
	size_t threads;
	pthread_mutex_t lock; /* held while `pool` or a writer is made */
	sp_read_pool *pool;   /* NULL before the first tier */
};

/* Starts the threads that read for all tiers; once. */
SP_MUST_CHECK sp_status sp_ssd__store_start(sp_ssd_store *store, sp_error *err);

/* The folder of a table: its name, and the words that must be in it. */
typedef struct sp_ssd_place {
	char name[3 * 17];
	char *label;
} sp_ssd_place;

SP_MUST_CHECK sp_status sp_ssd__place_find(sp_ssd_place *out, const sp_ssd_store *store,
					   const sp_ssd_table *table, sp_error *err);
void sp_ssd__place_fini(sp_ssd_place *place);

/* The cache of a table of so many rows (0: unknown), beside RocksDB's index and filter. */
SP_MUST_CHECK sp_status sp_ssd__cache_create(sp_row_cache **out, const sp_ssd_store *store,
					     const sp_ssd_table *table, size_t rows,
					     size_t index_bytes, sp_error *err);

/*
 * Opens the rows in a complete folder.  `cache` NULL: a new one, with the hot
 * rows that the folder has.  Takes folder and cache on success.
 */
SP_MUST_CHECK sp_status sp_ssd__tier_create(sp_tier **out, sp_ssd_store *store,
					    const sp_ssd_table *table, sp_ssd_folder *folder,
					    sp_row_cache *cache, sp_error *err);

/*
 * Two folders of one table: `base` complete and in use, `folded` with the rows of
 * how->over over those of `base`, in nobody's name: it goes when it is opened, or
 * with the process.  Both are the caller's to close.
 */
SP_MUST_CHECK sp_status sp_ssd__fold(sp_ssd_folder *folded, sp_ssd_folder *base,
				     const sp_ssd_store *store, const sp_ssd_table *table,
				     const sp_tier_fold *how, sp_error *err);

/* Bytes of memory that takes, besides what opening the folder does. */
size_t sp_ssd__fold_cost(const sp_ssd_table *table, const sp_rows *over);

/*
 * `row` as a tier of this format stores it: in place, or made in `elements`
 * [dim] from one that is woven.
 */
const void *sp_ssd__as_stored(const sp_ssd_table *table, const sp_stored_row *row, float *elements);

#endif
