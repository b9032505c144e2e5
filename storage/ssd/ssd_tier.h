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
 * (storage/sst/sst_run.h), the hot ones in memory (storage/cache/row_cache.h) besides.
 *
 * A table uses cache_bytes of memory: index, filter, and the rest for the cache.  A folder per
 * table and model version is built once and used again by the next start
 * (storage/ssd/ssd_folder.h).
 *
 * Keys that the cache lacks are sorted, repeats are dropped, and their blocks are read with many
 * in flight: by io_uring, or where there is none by threads.  A read allocates nothing: it
 * uses the caller's scratch.
 *
 * A block that fails its checksum is SP_CORRUPT; its folder is built again at the next start.
 */

/* Shared by the tables of one model version. */
typedef struct sp_ssd_store sp_ssd_store;

typedef struct sp_ssd_store_options {
	const char *path; /* the root of all folders; made when it is not there */

	/* The model, and the version of its rows with the rules it is loaded by: unused
	 * folders of other versions of this model are deleted. */
	const char *model;
	const char *version;

	size_t cache_bytes; /* memory of each table */
	sp_row_cache_policy policy;

	/* Calls that read from the disk at once, SP_READ_RING_BLOCKS blocks each; or threads
	 * that read for them, where there is no io_uring.  0: 16. */
	size_t readers;
	bool no_rings; /* use threads even where io_uring is available */
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

/* Deletes folders of other versions, once this one serves; logs what it cannot delete. */
void sp_ssd_store_delete_others(const sp_ssd_store *store);

typedef struct sp_ssd_table {
	const char *name; /* copied */
	size_t dim;       /* elements of a row, >= 1 */
	sp_row_format format;
	const char *which; /* which of the version's rows it has, in words; copied; NULL: all */
} sp_ssd_table;

/* Opens the folder of an earlier build; SP_NOT_FOUND when there is no complete one. */
SP_MUST_CHECK sp_status sp_ssd_tier_open(sp_tier **out, sp_ssd_store *store,
					 const sp_ssd_table *table, sp_error *err);

#endif
