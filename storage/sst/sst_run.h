#ifndef SP_STORAGE_SST_SST_RUN_H
#define SP_STORAGE_SST_SST_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/sst/sst_file.h"

/*
 * Rows of one size by int64 key in RocksDB's sorted files, read without RocksDB: a run tells which
 * block may have a key, and finds the row in its bytes; the caller reads the block.
 *
 * In memory are an index (storage/sst/sst_file.h) and a filter (storage/sst/key_filter.h).  The
 * files stay open, so they may be deleted.
 *
 * Errors: SP_CORRUPT when files are damaged, SP_IO, SP_NO_MEMORY.
 *
 * Threads: a run does not change once it is open; any number of threads.
 */
typedef struct sp_sst_run sp_sst_run;

/*
 * files [count] are paths in the order of their keys; filter_path is a file of
 * sp_sst_run_save_filter().  Neither is needed afterwards.
 */
SP_MUST_CHECK sp_status sp_sst_run_open(sp_sst_run **out, const char *const *files, size_t count,
					size_t row_size, const char *filter_path, sp_error *err);

/* Without a filter file: reads and checks all rows, about expected_rows, and builds the filter. */
SP_MUST_CHECK sp_status sp_sst_run_scan(sp_sst_run **out, const char *const *files, size_t count,
					size_t row_size, size_t expected_rows, sp_error *err);

/* One reference more, or less; tiers share runs.  Thread-safe.  NULL is fine. */
sp_sst_run *sp_sst_run_retain(sp_sst_run *run);
void sp_sst_run_release(sp_sst_run *run);

/* The file is durable when this returns. */
SP_MUST_CHECK sp_status sp_sst_run_save_filter(const sp_sst_run *run, const char *path,
					       sp_error *err);

/* The block that may have the key; false: the run certainly lacks it. */
bool sp_sst_run_locate(const sp_sst_run *run, int64_t key, sp_sst_place *out);

/*
 * check() verifies the bytes of a block, [place.span]; then find() looks up a key in them.  *row is
 * row_size bytes within `bytes`, at any address; NULL: absent.
 */
SP_MUST_CHECK sp_status sp_sst_run_check(const sp_sst_place *place, const void *bytes,
					 sp_error *err);
SP_MUST_CHECK sp_status sp_sst_run_find(const sp_sst_run *run, const sp_sst_place *place,
					const void *bytes, int64_t key, const void **row,
					sp_error *err);

size_t sp_sst_run_row_count(const sp_sst_run *run);
size_t sp_sst_run_footprint(const sp_sst_run *run); /* bytes of memory */

/* An estimate of sp_sst_run_footprint() for row_count rows, never too low. */
size_t sp_sst_run_expected_footprint(size_t row_count, size_t row_size);

#endif
