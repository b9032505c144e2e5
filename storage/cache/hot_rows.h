#ifndef SP_STORAGE_CACHE_HOT_ROWS_H
#define SP_STORAGE_CACHE_HOT_ROWS_H

#include "base/status.h"
#include "storage/cache/row_cache.h"

/*
 * Writes the rows of a cache to a file, so that the next start has a warm cache.  Layout:
 *
 *   bytes 8     "SPHOT1\0\0"
 *   uint64      bytes of a row
 *   double      sp_row_cache_window(), to which the uses below are relative
 *   records     any number of: int64 key, never -1; uint64 uses; the row's bytes
 *   int64       -1
 *   uint32      CRC-32C of everything before it
 *
 * All numbers are little endian.
 */
SP_MUST_CHECK sp_status sp_hot_rows_save(sp_row_cache *cache, const char *path, sp_error *err);

/*
 * Fills an empty cache.  If the file is missing or damaged, the cache stays empty and a warning is
 * logged.
 */
void sp_hot_rows_load(sp_row_cache *cache, const char *path);

#endif
