#ifndef SP_STORAGE_TABLE_H
#define SP_STORAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A table of embedding rows by key: one EmbeddingVariable, all its parts.
 *
 * Built once (storage/table_builder.h), then read-only for ever.
 *
 * What a key answers that the table does not hold (DeepRec's rules):
 *
 *   no filter            row floor_mod(key, default_row_count) of the default
 *                        matrix.  DeepRec's own remainder is negative for a
 *                        negative key and reads outside the matrix; floor_mod
 *                        is our stated rule.
 *   counter, CBF filter  every element is default_value_no_permission
 *
 * Keys -1 and -2 are the empty and deleted marks of DeepRec's hash map: they
 * are never held, and answer as absent ones.
 *
 * Threads: immutable once built; any number of threads may look up at once.
 */
typedef struct sp_table sp_table;

/* The filter the table was trained with; it decides what an absent key answers. */
typedef enum sp_table_filter {
	SP_TABLE_FILTER_NONE,
	SP_TABLE_FILTER_COUNTER,
	SP_TABLE_FILTER_CBF,
} sp_table_filter;

size_t sp_table_dim(const sp_table *table);       /* floats per row, >= 1 */
size_t sp_table_row_count(const sp_table *table); /* keys held */
const char *sp_table_name(const sp_table *table);
sp_table_filter sp_table_filter_kind(const sp_table *table);

/* Bytes of memory: rows, keys, index, default matrix. */
size_t sp_table_footprint(const sp_table *table);

/*
 * Rows for `count` keys, by the rules above.
 *
 * keys      [count]       int64; int32 keys are widened by the caller
 * fallback  [count, dim]  NULL, or one row per key that an absent key answers
 *                         instead (KvResourceGather with
 *                         is_use_default_value_tensor); ignored with a filter
 * rows      [count, dim]  float32, row-major, every row written
 *
 * Repeated keys are fine.  Reads of one call are prefetched together.
 * Errors: none for a table in memory; a tier on disk may answer SP_IO or SP_CORRUPT.
 */
SP_MUST_CHECK sp_status sp_table_lookup(const sp_table *table, const int64_t *keys, size_t count,
					const float *fallback, float *rows, sp_error *err);

/* found[i] = whether keys[i] is held. */
void sp_table_contains(const sp_table *table, const int64_t *keys, size_t count, bool *found);

/* NULL is fine. */
void sp_table_destroy(sp_table *table);

#endif
