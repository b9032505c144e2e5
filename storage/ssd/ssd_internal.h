#ifndef SP_STORAGE_SSD_SSD_INTERNAL_H
#define SP_STORAGE_SSD_SSD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/ssd/read_rings.h"
#include "storage/ssd/ssd_folder.h"
#include "storage/ssd/ssd_tier.h"

struct sp_ssd_store {
	atomic_size_t references;
	char *path, *model, *version;
	size_t cache_bytes;
	sp_row_cache_policy policy;
	size_t readers;
	bool no_rings;

	pthread_mutex_t lock; /* held while readers or a writer are made */
	sp_read_rings *rings; /* NULL before the first tier */
};

/* Makes store->rings, once. */
SP_MUST_CHECK sp_status sp_ssd__readers_start(sp_ssd_store *store, sp_error *err);

/* A copy that owns its texts.  fini() after a failure, too. */
SP_MUST_CHECK sp_status sp_ssd__table_copy(sp_ssd_table *out, const sp_ssd_table *from,
					   sp_error *err);
void sp_ssd__table_fini(sp_ssd_table *table);

/* The folder of a table: its name, and its label. */
typedef struct sp_ssd_place {
	char name[3 * 17];
	char *label;
} sp_ssd_place;

SP_MUST_CHECK sp_status sp_ssd__place_find(sp_ssd_place *out, const sp_ssd_store *store,
					   const sp_ssd_table *table, sp_error *err);
void sp_ssd__place_fini(sp_ssd_place *place);

/*
 * Creates the cache of a table of `rows` rows (SIZE_MAX: unknown), whose index and filter take
 * index_bytes.
 */
SP_MUST_CHECK sp_status sp_ssd__cache_create(sp_row_cache **out, const sp_ssd_store *store,
					     const sp_ssd_table *table, size_t rows,
					     size_t index_bytes, sp_error *err);

/* A tier over a complete folder.  On success it owns folder, run and cache. */
SP_MUST_CHECK sp_status sp_ssd__tier_create(sp_tier **out, sp_ssd_store *store,
					    const sp_ssd_table *table, sp_ssd_folder *folder,
					    sp_sst_run *run, sp_row_cache *cache, sp_error *err);

/*
 * Writes the rows of how->over as a run, to a file that is already deleted and lives as long as the
 * run; *over is NULL when there are no rows.  *base: the table's complete folder, unchanged, for
 * the caller to close.
 */
SP_MUST_CHECK sp_status sp_ssd__fold(sp_sst_run **over, sp_ssd_folder *base,
				     const sp_ssd_store *store, const sp_ssd_table *table,
				     const sp_tier_fold *how, sp_error *err);

/* Bytes of memory that sp_ssd__fold() takes. */
size_t sp_ssd__fold_cost(const sp_ssd_table *table, const sp_rows *over);

/*
 * `row` as a tier of this format stores it: its own bytes, or for fp32, where the row may be
 * packed, decoded into `elements` [dim].
 */
const void *sp_ssd__as_stored(const sp_ssd_table *table, const sp_stored_row *row, float *elements);

#endif
