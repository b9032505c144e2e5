#ifndef SP_STORAGE_SST_SSD_RUN_H
#define SP_STORAGE_SST_SSD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/sst/sst_file.h"

/*
 * Rows of one size by int64 key in RocksDB's sorted files, for reading block by
 * block past RocksDB: what is in memory says which block a row is in, and the
 * caller reads it, in whatever way and with how many others it likes.
 *
 * In memory are an index (storage/sst/sst_file.h) and a filter (storage/sst/key_filter.h).
 * The files stay open, so they may be deleted underneath.
 *
 * Errors: SP_CORRUPT for what is not as it was written, SP_IO, SP_NO_MEMORY.
 *
 * Threads: a run does not change once it is open; any number of threads.
 */
typedef struct sp_ssd_run sp_ssd_run;

/*
 * files        [count] paths, in the order of their keys
 * filter_path  a file of sp_ssd_run_save_filter()
 * Nothing of these is needed afterwards.
 */
SP_MUST_CHECK sp_status sp_ssd_run_open(sp_ssd_run **out, const char *const *files, size_t count,
					size_t row_size, const char *filter_path, sp_error *err);

/* Without a filter yet: reads all rows once, and checks them; there are so many, about. */
SP_MUST_CHECK sp_status sp_ssd_run_scan(sp_ssd_run **out, const char *const *files, size_t count,
					size_t row_size, size_t expected_rows, sp_error *err);

/* Tiers share runs.  Thread-safe.  NULL is fine. */
sp_ssd_run *sp_ssd_run_retain(sp_ssd_run *run);
void sp_ssd_run_release(sp_ssd_run *run);

/* Durable when it returns. */
SP_MUST_CHECK sp_status sp_ssd_run_save_filter(const sp_ssd_run *run, const char *path,
					       sp_error *err);

/* The block that has the row of this key, if the run has it; false: it has not. */
bool sp_ssd_run_locate(const sp_ssd_run *run, int64_t key, sp_sst_place *out);

/*
 * bytes  [place.span] as they were read
 * Checks them; then rows may be looked for, NULL being that there is none.  A row is
 * row_size bytes in `bytes`, at any address.
 */
SP_MUST_CHECK sp_status sp_ssd_run_check(const sp_sst_place *place, const void *bytes,
					 sp_error *err);
SP_MUST_CHECK sp_status sp_ssd_run_find(const sp_ssd_run *run, const sp_sst_place *place,
					const void *bytes, int64_t key, const void **row,
					sp_error *err);

size_t sp_ssd_run_row_count(const sp_ssd_run *run);
size_t sp_ssd_run_footprint(const sp_ssd_run *run);      /* bytes of memory */
size_t sp_ssd_run_disk_footprint(const sp_ssd_run *run); /* bytes of files */

/* What sp_ssd_run_footprint() will be of so many rows, about, and rather more. */
size_t sp_ssd_run_expected_footprint(size_t row_count, size_t row_size);

#endif
