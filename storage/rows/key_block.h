#ifndef SP_STORAGE_ROWS_KEY_BLOCK_H
#define SP_STORAGE_ROWS_KEY_BLOCK_H

#include "storage/rows/rows_internal.h"

/*
 * The slots of many keys at once: eight at a time where the processor has AVX-512.
 *
 * Threads: pure.
 */
enum { SP_KEY_BLOCK = 96 };

/* slots[i] = the only slot that may hold keys[i]; NULL for marks.  count <= SP_KEY_BLOCK. */
void sp_key_block_find(const sp_rows *rows, const int64_t *keys, size_t count, char **slots);

#endif
