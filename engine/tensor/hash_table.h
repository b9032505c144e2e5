#ifndef SP_ENGINE_HASH_TABLE_H
#define SP_ENGINE_HASH_TABLE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/*
 * A lookup table of the graph from keys to values; most are vocabularies.
 *
 *   keys    INT32, INT64 or STRING
 *   values  any type of fixed size, or STRING; one element or a row of them per key
 *
 * Filled while a model version is loaded, then only read.  It lives in the arena.  The hash
 * function has a random key per process, so that neither a model nor a request can make keys
 * collide.
 *
 * Threads: one thread at a time while filling; any number may look up after.
 */
typedef struct sp_hash_table sp_hash_table;

typedef struct sp_hash_table_options {
	sp_dtype key_dtype;
	sp_dtype value_dtype;
	sp_shape value_shape; /* of one value; a scalar by default */
} sp_hash_table_options;

/* SP_UNSUPPORTED for key or value types outside the list above. */
SP_MUST_CHECK sp_status sp_hash_table_create(sp_hash_table **out, sp_arena *arena,
					     const sp_hash_table_options *options, sp_error *err);

/* Makes room for `count` keys in all. */
SP_MUST_CHECK sp_status sp_hash_table_reserve(sp_hash_table *table, size_t count, sp_error *err);

enum {
	/* A present key gets the new value; without this flag another value is an error. */
	SP_HASH_TABLE_REPLACE = 1 << 0,
	/* The strings outlive the table and are not copied. */
	SP_HASH_TABLE_TEXTS_STAY = 1 << 1,
};

/*
 * Adds keys->count keys; `values` has as many values.  SP_INVALID when element
 * types or counts do not fit, or when a key is present with another value.
 */
SP_MUST_CHECK sp_status sp_hash_table_insert(sp_hash_table *table, const sp_tensor *keys,
					     const sp_tensor *values, unsigned flags,
					     sp_error *err);

/*
 * Writes one value per key to `values`.  `fallback` holds the value of missing keys: one for all,
 * or one per key.  Strings are not copied.
 */
void sp_hash_table_find(const sp_hash_table *table, const sp_tensor *keys,
			const sp_tensor *fallback, sp_tensor *values);

/* Writes all keys and values, in the order of insertion, to tensors of that size. */
void sp_hash_table_export(const sp_hash_table *table, sp_tensor *keys, sp_tensor *values);

size_t sp_hash_table_size(const sp_hash_table *table);
const sp_hash_table_options *sp_hash_table_options_of(const sp_hash_table *table);

#endif
