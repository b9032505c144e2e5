#ifndef SP_ENGINE_RESOURCE_H
#define SP_ENGINE_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/tensor/partial_shape.h"
#include "engine/tensor/tensor.h"

struct sp_hash_table; /* engine/tensor/hash_table.h */
struct sp_table;      /* storage/table/table.h */
struct sp_trees;      /* engine/kernels/trees.h */

/*
 * The state that a graph refers to by handle: variables, lookup tables, embedding tables, boosted
 * trees.  A handle is a scalar tensor of dtype RESOURCE that holds an index into this list. Handles
 * are constants of the graph; the state differs from one model version to the next.
 *
 * While a version is loaded, restore and init operations fill the list; once its snapshot is
 * published the list does not change.
 *
 * Threads: one thread at a time while loading; immutable once published.
 */
typedef enum sp_resource_kind {
	SP_RESOURCE_VARIABLE,
	SP_RESOURCE_HASH_TABLE,
	SP_RESOURCE_EMBEDDING,
	SP_RESOURCE_TREES,     /* an ensemble of boosted trees */
	SP_RESOURCE_QUANTILES, /* bucket boundaries of their features */
} sp_resource_kind;

typedef struct sp_resource {
	sp_resource_kind kind;
	const char *name;   /* shared_name, or the node's name where that is empty */
	sp_dtype dtype;     /* of a variable, of an embedding's rows; of a hash table's values */
	sp_dtype key_dtype; /* of a hash table and an embedding */
	/* Declared: of a variable; of one value of a hash table; [dim] of an embedding. */
	sp_partial_shape shape;

	/*
	 * Of a hash table: whether it may be filled again; the elements of a vector key, or 0 for
	 * scalar keys; the reserved keys of a dense table, as engine/ops/state/table_keys.h stores
	 * them.
	 */
	bool is_mutable;
	size_t key_width;
	const sp_tensor *empty_key, *deleted_key;

	/* The state; NULL or unset until something gives it a value. */
	sp_tensor variable; /* in the list's arena */
	struct sp_hash_table *hash_table;
	const struct sp_table *table; /* owned by whoever loaded it, not by the list */

	const struct sp_trees *trees; /* in the list's arena, as the boundaries are */
	const sp_tensor *boundaries;  /* boundary_count vectors of float */
	size_t boundary_count;

	/* Of a session variable (below): its number, from 1 on; 0 for all others. */
	size_t session_number;

	/*
	 * Of an embedding: the table columns it needs besides rows, as bits 1 << sp_table_column.
	 */
	unsigned columns;
} sp_resource;

/*
 * A session variable (engine/passes/session_variables.h), of which each session has a copy, holds
 * at most four 64-bit numbers, the size of the largest seed.  A copy is one word that says whether
 * it was written, and the value.
 */
#define SP_SESSION_VARIABLE_BYTES 32
#define SP_SESSION_VARIABLE_WORDS (1 + SP_SESSION_VARIABLE_BYTES / 8)

/* What a graph declares, and the state of one model version. */
typedef struct sp_resources {
	sp_arena *arena;
	const sp_arena *base_arena; /* outlives this list, has bytes of variables, too; or NULL */
	sp_resource *items;
	size_t count;
	size_t capacity;
	sp_map names;     /* "<kind><container>\0<name>" -> index */
	unsigned columns; /* union of all embeddings' columns */

	/* While a graph is prepared: nodes that start random streams, and session variables. */
	size_t stream_count;
	size_t session_variable_count;
} sp_resources;

/* The arena outlives the list. */
void sp_resources_init(sp_resources *resources, sp_arena *arena);

/*
 * The list of one version: the same resources with the same numbers as `declared`, all without a
 * value.  `declared` outlives it; no more resources can be declared in it.
 */
SP_MUST_CHECK sp_status sp_resources_init_as(sp_resources *resources, const sp_resources *declared,
					     sp_arena *arena, sp_error *err);

/*
 * The index of the resource of that kind, container and name, which is declared on first use.
 * SP_INVALID when it was declared before with other element types, or as an embedding with another
 * row width.
 */
SP_MUST_CHECK sp_status sp_resources_declare(sp_resources *resources, sp_resource_kind kind,
					     sp_bytes container, const char *name, sp_dtype dtype,
					     sp_dtype key_dtype, const sp_partial_shape *shape,
					     uint64_t *index, sp_error *err);

/* Elements of an embedding's row; 0 when its declaration leaves them open. */
size_t sp_resource_row_width(const sp_resource *resource);

/*
 * While a graph is prepared: requires a column (storage/table/table.h) of the embedding that
 * `handle` leads to, or of all embeddings if the handle is not known (NULL).  SP_INVALID when it
 * leads to something else.
 */
SP_MUST_CHECK sp_status sp_resources_ask_column(sp_resources *resources, const sp_tensor *handle,
						unsigned column, sp_error *err);

/* The resource of a handle.  SP_INVALID when it is not a handle, or one of another kind. */
SP_MUST_CHECK sp_status sp_resources_get(const sp_resources *resources, const sp_tensor *handle,
					 sp_resource_kind kind, sp_resource **out, sp_error *err);

/*
 * Gives a variable a value: a copy of `value` in the list's arena, or the bytes of `value` itself
 * if they are numbers in that arena or in base_arena (RestoreV2 puts them there).  The bytes of a
 * variable never change; they are only replaced.  SP_INVALID when dtype or shape contradict the
 * declaration.
 */
SP_MUST_CHECK sp_status sp_resource_assign(sp_resources *resources, sp_resource *resource,
					   const sp_tensor *value, sp_error *err);

#endif
