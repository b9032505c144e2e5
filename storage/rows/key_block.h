#ifndef SP_STORAGE_ROWS_KEY_BLOCK_H
#define SP_STORAGE_ROWS_KEY_BLOCK_H

#include "storage/rows/rows_internal.h"

/*
 * Keys on their way through placement.h together: eight at a time where the processor has AVX-512.
 *
 * Threads: pure.
 */
enum { SP_KEY_BLOCK = 96 };

/* sp_placement_hash() of keys [count]. */
void sp_key_block_hash(const sp_rows_shape *shape, const int64_t *keys, size_t count,
		       uint64_t *hashes);

/* The slots that keys [count], at most SP_KEY_BLOCK, have or would have; NULL for -1 and -2. */
void sp_key_block_find(const sp_rows *rows, const int64_t *keys, size_t count, char **slots);

#endif
