#ifndef SP_STORAGE_CACHE_HOT_ROWS_H
#define SP_STORAGE_CACHE_HOT_ROWS_H

#include "base/status.h"
#include "storage/cache/row_cache.h"

/*
 * The rows of a cache in a file, so that the next start begins with a warm cache.
 *
 *   bytes 8     "SPHOT1\0\0"
 *   uint64      bytes of a row
 *   double      sp_row_cache_window(), to which the uses below are relative
 *   any number of: int64 key; uint64 uses; the row's bytes; none with key -1
 *   int64       -1
 *   uint32      CRC-32C of everything before it
 *
 * All numbers are little endian.
 */
SP_MUST_CHECK sp_status sp_hot_rows_save(sp_row_cache *cache, const char *path, sp_error *err);

/* Into an empty cache.  A file that is missing or not whole leaves it empty, and a line in the log.
 */
void sp_hot_rows_load(sp_row_cache *cache, const char *path);

#endif
