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
 * Tables that are larger than their memory: all rows on an SSD, in sorted files
 * that RocksDB writes (storage/ssd/rocks.h) and that are read past it
 * (storage/sst/ssd_run.h), the hot ones in memory (storage/cache/row_cache.h) besides.
 *
 * A table's memory is cache_bytes: what index and filter leave of it is the
 * cache.  A folder per table and model version is built once and found again by
 * the next start (storage/ssd/ssd_folder.h).
 *
 * What a read misses is freed of repeats, sorted, and read at once, many blocks in
 * flight: by io_uring, or where there is none by threads.  Everything that a read
 * needs is there before it, or in the caller's scratch.
 *
 * A row that does not match its checksum is SP_CORRUPT, never a row; the folder
 * is then made anew at the next start.
 */

/* What the tables of one model version have in common. */
typedef struct sp_ssd_store sp_ssd_store;

typedef struct sp_ssd_store_options {
	const char *path; /* the root of all folders; made when it is not there */

	/* Which model, and which version of its rows, loaded under which rules: the
	 * folders of other versions of this model that nobody uses are deleted. */
	const char *model;
	const char *version;

	size_t cache_bytes; /* memory of each table */
	sp_row_cache_policy policy;

	/* Calls that read from the disk at once, SP_READ_RING_BLOCKS blocks each; or threads
	 * that read for them, where there is no io_uring.  0: 16. */
	size_t readers;
	bool no_rings; /* threads, wherever it is */
} sp_ssd_store_options;

/* Nothing of `options` is needed afterwards.  Readers start with the first tier. */
SP_MUST_CHECK sp_status sp_ssd_store_open(sp_ssd_store **out, const sp_ssd_store_options *options,
					  sp_error *err);

/*
 * Tiers and builders hold references of their own.  NULL is fine.
 *
 * Threads: thread-safe; so is opening and building tiers of one store, each in a thread.
 */
sp_ssd_store *sp_ssd_store_retain(sp_ssd_store *store);
void sp_ssd_store_release(sp_ssd_store *store);

size_t sp_ssd_store_cache_bytes(const sp_ssd_store *store);

/* Folders of other versions, once this one serves.  What cannot be deleted is logged. */
void sp_ssd_store_delete_others(const sp_ssd_store *store);

typedef struct sp_ssd_table {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */
	sp_row_format format;
	const char *which; /* of the version's rows it has, in words; copied; NULL: all */
} sp_ssd_table;

/* The tier of an earlier build; SP_NOT_FOUND when there is none that is whole. */
SP_MUST_CHECK sp_status sp_ssd_tier_open(sp_tier **out, sp_ssd_store *store,
					 const sp_ssd_table *table, sp_error *err);

#endif
