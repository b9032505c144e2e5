#ifndef SP_STORAGE_SSD_SSD_BUILDER_H
#define SP_STORAGE_SSD_SSD_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "storage/ssd/ssd_tier.h"

/*
 * Builds a table's tier on the SSD in one pass and in bounded memory: its cache, and to sort rows a
 * quarter of the cache's size, but 4 to 128 MiB.
 *
 * Threads: one at a time.
 */
typedef struct sp_ssd_builder sp_ssd_builder;

/* Bytes of memory for sorting. */
size_t sp_ssd_builder_room(const sp_ssd_store *store);

/* expected_rows: upper bound of the number of rows; 0 when unknown. */
SP_MUST_CHECK sp_status sp_ssd_builder_create(sp_ssd_builder **out, sp_ssd_store *store,
					      const sp_ssd_table *table, size_t expected_rows,
					      sp_error *err);

/*
 * keys [count]; rows [count, dim] float32, at any address; freqs [count]: uses of each key in
 * training, or NULL.  The last row of a repeated key stays.  Keys -1 and -2 are dropped.
 */
SP_MUST_CHECK sp_status sp_ssd_builder_put(sp_ssd_builder *builder, const int64_t *keys,
					   const void *rows, const int64_t *freqs, size_t count,
					   sp_error *err);

/* Merges, makes durable, opens.  The builder can only be destroyed afterwards. */
SP_MUST_CHECK sp_status sp_ssd_builder_freeze(sp_ssd_builder *builder, sp_tier **out,
					      sp_error *err);

/* Deletes the folder unless it is frozen.  NULL is fine. */
void sp_ssd_builder_destroy(sp_ssd_builder *builder);

#endif
