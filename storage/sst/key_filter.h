#ifndef SP_STORAGE_SST_KEY_FILTER_H
#define SP_STORAGE_SST_KEY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A blocked Bloom filter: tells that a key is certainly absent, or may be present.  Eight bits per
 * key; the bits of one key lie in one cache line.  About 3 % false positives.
 *
 * Source: F. Putze, P. Sanders and J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters",
 * 2007.
 *
 * Threads: add is for one thread, before all others; may_have for any number.
 */
typedef struct sp_key_filter sp_key_filter;

/* For about `keys` keys. */
SP_MUST_CHECK sp_status sp_key_filter_create(sp_key_filter **out, size_t keys, sp_error *err);

/* NULL is fine. */
void sp_key_filter_destroy(sp_key_filter *filter);

void sp_key_filter_add(sp_key_filter *filter, int64_t key);

bool sp_key_filter_may_have(const sp_key_filter *filter, int64_t key);

/*
 * Writes a file and makes it durable:
 *
 *   bytes 8   "SPFILTR1"
 *   uint64    number of keys
 *   uint64    number of lines
 *   lines     64 bytes each
 *   uint32    CRC-32C of everything before it
 *
 * All numbers are little endian.  Loading gives SP_CORRUPT for an incomplete file.
 */
SP_MUST_CHECK sp_status sp_key_filter_save(const sp_key_filter *filter, const char *path,
					   sp_error *err);
SP_MUST_CHECK sp_status sp_key_filter_load(sp_key_filter **out, const char *path, sp_error *err);

size_t sp_key_filter_key_count(const sp_key_filter *filter); /* keys added */

size_t sp_key_filter_footprint(const sp_key_filter *filter);

/* The footprint of a filter for this many keys. */
size_t sp_key_filter_expected_footprint(size_t keys);

#endif
