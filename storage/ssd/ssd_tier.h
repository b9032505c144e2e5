#ifndef SP_STORAGE_SSD_SSD_TIER_H
#define SP_STORAGE_SSD_SSD_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/cache/row_cache.h"
#include "storage/format/row_format.h"
#include "storage/table/tier.h"

/*
 * Tables that are larger than their memory.  All rows are on an SSD, in sorted files that RocksDB
 * writes (storage/ssd/rocks.h) and that are read without it (storage/sst/sst_run.h); hot rows are
 * also cached in memory (storage/cache/row_cache.h).
 *
 * A table uses cache_bytes of memory: index, filter, and the rest for the cache.  Each table has a
 * folder per model version, built once and used again by the next start (storage/ssd/ssd_folder.h).
 *
 * Keys that the cache lacks are sorted, repeats are dropped, and many of their blocks are read at
 * once: by io_uring or, where it is not available, by threads.  A read allocates nothing: it uses
 * the caller's scratch.
 *
 * A block that fails its checksum gives SP_CORRUPT; the next start builds the folder again.
 */

/* Shared by the tables of one model version. */
typedef struct sp_ssd_store sp_ssd_store;

typedef struct sp_ssd_store_options {
	const char *path; /* the root of all folders; created if missing */

	/*
	 * Identifies the model, and the version of its rows together with the rules they were
	 * loaded by: unused folders of other versions of this model are deleted.
	 */
	const char *model;
	const char *version;

	size_t cache_bytes; /* memory of each table */
	sp_row_cache_policy policy;

	/*
	 * Calls that read from the disk at once, SP_READ_RING_BLOCKS blocks each; without io_uring,
	 * threads that read for them.  0: 16.
	 */
	size_t readers;
	bool no_rings; /* use threads even where io_uring is available */
} sp_ssd_store_options;

/* `options` are not needed afterwards.  Readers start with the first tier. */
SP_MUST_CHECK sp_status sp_ssd_store_open(sp_ssd_store **out, const sp_ssd_store_options *options,
					  sp_error *err);

/*
 * Tiers and builders hold their own references.  NULL is fine.
 *
 * Threads: thread-safe, and so is opening and building several tiers of one store at once.
 */
sp_ssd_store *sp_ssd_store_retain(sp_ssd_store *store);
void sp_ssd_store_release(sp_ssd_store *store);

size_t sp_ssd_store_cache_bytes(const sp_ssd_store *store);

/* Deletes folders of other versions, once this one serves; logs those it cannot delete. */
void sp_ssd_store_delete_others(const sp_ssd_store *store);

typedef struct sp_ssd_table {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */
	sp_row_format format;
	const char *which; /* label of the subset of the version's rows; copied; NULL: all rows */
} sp_ssd_table;

/* Opens the folder of an earlier build; SP_NOT_FOUND when there is no complete one. */
SP_MUST_CHECK sp_status sp_ssd_tier_open(sp_tier **out, sp_ssd_store *store,
					 const sp_ssd_table *table, sp_error *err);

#endif
