#ifndef SP_STORAGE_TABLE_TABLE_H
#define SP_STORAGE_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * A table of embedding rows by key: one EmbeddingVariable, all its parts.
 *
 * Made once (storage/table/table_builder.h), then read-only.  Its rows are in layers, and the first
 * layer that holds a key answers: an overlay of newer rows, rows in memory, a slower tier.  Over
 * them there may be rows that arrive while the table is in use; a lookup sees one state of them.
 *
 * The row of an absent key (DeepRec's rules):
 *
 *   no filter            row floor_mod(key, default_row_count) of the default
 *                        matrix.  DeepRec's own remainder is negative for a
 *                        negative key and reads outside the matrix; this project
 *                        uses floor_mod.
 *   counter, CBF filter  every element is default_value_no_permission
 *
 * Keys -1 and -2 are the empty and deleted marks of DeepRec's hash map: they are never held, and
 * answered as absent.
 *
 * Threads: immutable once built; any number of threads may look up at once.
 */
typedef struct sp_table sp_table;

struct sp_fresh_view;

/* The filter of the training; it decides the answer for absent keys. */
typedef enum sp_table_filter {
	SP_TABLE_FILTER_NONE,
	SP_TABLE_FILTER_COUNTER,
	SP_TABLE_FILTER_CBF,
} sp_table_filter;

size_t sp_table_dim(const sp_table *table); /* elements of a row, >= 1 */
const char *sp_table_name(const sp_table *table);

/* Keys held.  A key both in memory and in a slower tier counts twice. */
size_t sp_table_row_count(const sp_table *table);

/*
 * Bytes of memory: rows, keys, columns, default matrix, caches of slower tiers.  Shared ones count
 * in full.
 */
size_t sp_table_footprint(const sp_table *table);

/* The same by what it is for; the four add up to sp_table_footprint(). */
typedef struct sp_table_memory {
	size_t rows;   /* with their keys, and the default matrix */
	size_t index;  /* of the rows in memory; columns, and keys of folded rows */
	size_t tier;   /* caches and indexes of the slower tier */
	size_t mapped; /* rows and their index in an image's file */
} sp_table_memory;

sp_table_memory sp_table_memory_of(const sp_table *table);

/* How the rows of a segment are combined into one output row. */
typedef enum sp_combiner {
	SP_COMBINE_SUM,   /* sum(w x) */
	SP_COMBINE_MEAN,  /* sum(w x) / sum(w) */
	SP_COMBINE_SQRTN, /* sum(w x) / sqrt(sum(w^2)) */
} sp_combiner;

/*
 * Combines many keys into one output row, as embedding_lookup_sparse() does; w is 1 without
 * weights.  An output row without keys is zeros.
 *
 * Numerics: float32 sums in the order of the keys, every product rounded before it is added, and
 * one division by the divisor, which is summed alike.  With u = 2^-24 and s the sum of the
 * magnitudes of n terms, a sum is within n * u * s of the exact one, with weights (n + 1) * u * s.
 * The bits do not depend on the layer, the layout or the instruction set.
 */
typedef struct sp_pooling {
	sp_combiner combiner;
	bool zero_divisor_is_zero; /* divide as div_no_nan: x / 0 is 0 */
	const int64_t *segments;   /* [count] output row of each key; ascending, repeats allowed */
	const float *weights;      /* [count]; NULL: all 1 */
	size_t segment_count;      /* output rows */
} sp_pooling;

/*
 * A lookup in one table.
 *
 * keys      [count]       int64; int32 keys are widened by the caller; repeats are fine
 * fallback  [count, dim]  NULL, or a row for each key, which answers it if it is absent
 *                         (KvResourceGather with is_use_default_value_tensor); ignored
 *                         with a filter
 * pooling                 NULL: one output row per key
 * rows      output row i of dim elements is at rows + i * stride; every row is written,
 *           and the gaps between rows are not
 * stride    >= dim
 */
typedef struct sp_lookup {
	const sp_table *table;
	const int64_t *keys;
	size_t count;
	const float *fallback;
	const sp_pooling *pooling;
	float *rows;
	size_t stride;
	/* Which rows that arrive meanwhile it sees; NULL: none. */
	const struct sp_fresh_view *fresh;
} sp_lookup;

/*
 * Bytes of scratch that a run needs, 64-byte aligned: 0 when all tables are in memory and have no
 * rows that arrive meanwhile; SIZE_MAX on overflow.
 */
size_t sp_lookup_scratch(const sp_lookup *lookups, size_t count);

/*
 * Runs lookups in many tables at once: reads of memory overlap across all of them, and the
 * slower tier is called once for all keys that memory lacks.
 *
 * deadline_ns is on sp_clock_now_ns()'s clock; 0: none.  It bounds the wait for slower tiers, and
 * for parts of an image that were not read before.
 *
 * Errors: SP_INVALID when segments are not ascending or not below segment_count; with a slower tier
 * or an image also SP_IO, SP_CORRUPT and SP_DEADLINE, which leave the rows unspecified.
 */
SP_MUST_CHECK sp_status sp_lookup_run(const sp_lookup *lookups, size_t count, void *scratch,
				      int64_t deadline_ns, sp_error *err);

/*
 * The time limit of lookups outside requests, such as while a version is loaded: a disk that takes
 * longer is considered dead.
 */
#define SP_TABLE_PATIENCE_NS (INT64_C(10) * 1000000000)

/*
 * One lookup in one table: rows [count, dim], no scratch, SP_TABLE_PATIENCE_NS of time.  Allocates
 * when the table has a slower tier.
 */
SP_MUST_CHECK sp_status sp_table_lookup(const sp_table *table, const int64_t *keys, size_t count,
					const float *fallback, float *rows, sp_error *err);

/* Where a table holds a key. */
enum {
	SP_TABLE_ABSENT = -1,
	SP_TABLE_IN_MEMORY = 0,
	SP_TABLE_BELOW = 1, /* in the slower tier alone */
};

/* Bytes of scratch to locate `count` keys, as sp_lookup_scratch(). */
size_t sp_table_locate_scratch(const sp_table *table, size_t count);

/*
 * places[i] = where keys[i] is held, one of the three above.  The slower tier is asked for keys
 * that memory lacks, as in a lookup; scratch, deadline and errors are those of sp_lookup_run().
 */
SP_MUST_CHECK sp_status sp_table_locate(const sp_table *table, const int64_t *keys, size_t count,
					int32_t *places, void *scratch, int64_t deadline_ns,
					sp_error *err);

/* As in memory, keys of which a request with this view sees such rows; NULL is fine. */
void sp_table_locate_fresh(const sp_table *table, const struct sp_fresh_view *fresh,
			   const int64_t *keys, size_t count, int32_t *places);

/*
 * found[i] = whether keys[i] is held in any layer: no scratch, SP_TABLE_PATIENCE_NS of time.
 * Allocates.
 */
SP_MUST_CHECK sp_status sp_table_contains(const sp_table *table, const int64_t *keys, size_t count,
					  bool *found, sp_error *err);

/*
 * Numbers that a table may have for each key besides its row.  A column may have keys that the
 * table lacks because a filter has refused them.
 */
typedef enum sp_table_column {
	SP_TABLE_FREQUENCIES, /* how often training has seen the key; 0 if absent */
	SP_TABLE_VERSIONS,    /* the global step that last changed its row; -1 if absent */
	SP_TABLE_COLUMNS,     /* how many there are */
} sp_table_column;

bool sp_table_has_column(const sp_table *table, sp_table_column column);

/* numbers[i] = the number of keys[i] in a column that the table has.  Never waits for a tier. */
void sp_table_read_column(const sp_table *table, sp_table_column column, const int64_t *keys,
			  size_t count, int64_t *numbers);

/*
 * Counts of keys looked up by sp_lookup_run() since the full checkpoint was loaded, over all
 * versions that share it.
 */
typedef struct sp_table_counters {
	const char *tier;    /* "ssd"; NULL: there is none, and what concerns it is 0 */
	uint64_t keys;       /* looked up; the three below and disk_hits add up to it */
	uint64_t in_memory;  /* with a tier: held by layers above it, such as a delta */
	uint64_t cached;     /* answered from the tier's hot rows, as held or as absent */
	uint64_t missed;     /* read from the tier itself: the disk or the network */
	uint64_t absent;     /* of keys: not held by any layer */
	uint64_t errors;     /* reads of the tier that failed */
	uint64_t bytes_read; /* from the disk or the network */
	uint64_t defaulted;  /* of missed keys: no answer in time, so answered as absent */

	/* The tier's servers now, and their answers in all tables of the version; else 0. */
	uint64_t servers, servers_up;
	uint64_t round_trips, round_trip_ns;

	/* Of rows of the servers that are kept in a file on this machine (storage/table/tier.h). */
	uint64_t disks, disks_up, disk_hits, disk_errors, disk_dropped;
} sp_table_counters;

sp_table_counters sp_table_count(const sp_table *table);

/* NULL is fine. */
void sp_table_destroy(sp_table *table);

#endif
