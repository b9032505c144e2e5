#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_SET_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "engine/graph/environment.h"
#include "engine/tensor/resource.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/embedding/embedding_image.h"
#include "model_loader/embedding/embedding_variable.h"
#include "model_loader/embedding/row_versions.h"
#include "storage/table/key_column.h"
#include "storage/table/table.h"

/*
 * The embeddings of one load: what its load programs declare about each, then their
 * tables.  Programs also declare embeddings that no signature reads, such as slots of an
 * optimizer: so a fault in a declaration is kept, and reported when its table is needed.
 *
 * Handles E/part_0, E/part_1 ... of a partitioned EmbeddingVariable share one
 * table when the parts are one set of rows (model_loader/embedding/embedding_variable.h) and all
 * of these handles answer alike for an absent key.  Where each part has
 * default rows of its own, each handle gets a table of the rows that route to
 * it.
 *
 * Threads: one thread at a time.
 */
typedef enum sp_embedding_origin {
	SP_EMBEDDING_UNKNOWN,
	SP_EMBEDDING_IN_CHECKPOINT,
	SP_EMBEDDING_IN_TENSORS, /* the graph itself gives its rows */
} sp_embedding_origin;

typedef struct sp_embedding_note {
	sp_resource *resource;
	bool created;
	sp_embedding_spec spec; /* default_rows belong to the note */
	sp_embedding_origin origin;
	const char *base; /* spec.name without its part */
	sp_tensor keys;   /* of SP_EMBEDDING_IN_TENSORS */
	sp_tensor values;
	sp_tensor versions;
	const sp_error *bad_defaults, *bad_rows; /* NULL: nothing is wrong with them */
	bool has_whole;                          /* its table is that of the whole variable */

	/* How its table was loaded, for the deltas that come later. */
	sp_embedding found;
	bool own_part;
	sp_row_versions *row_versions; /* the note's; NULL: not needed, or another note has them */

	/* While tables are loaded: their columns. */
	sp_key_column *columns[SP_TABLE_COLUMNS];
} sp_embedding_note;

typedef struct sp_embedding_set {
	sp_arena *arena; /* of the model version */
	const sp_bundle *full;
	const sp_bundle *delta; /* NULL: none */
	const sp_load_policy *policy;
	const sp_map *by_key;     /* handles that the graph asks by key; NULL: not known */
	const char *model_dir;    /* the SavedModel's, for the image; NULL: there is none */
	sp_embedding_image image; /* of the full checkpoint, where the policy wants one */
	bool image_opened;

	/* Of the full checkpoint without a delta, by the same programs; its tables were loaded,
	 * and those that count now are base_resources'.
	 * NULL: there is none, and the full checkpoint is read. */
	const struct sp_embedding_set *base;
	const sp_resources *base_resources;

	const sp_resources *resources; /* those that notes are about; once tables are loaded */

	sp_embedding_note *notes;
	size_t count;
	size_t capacity;
	sp_table **tables;
	size_t table_count;
} sp_embedding_set;

/* Destroys the tables that are still in it. */
void sp_embedding_set_fini(sp_embedding_set *set);

/* sp_environment's calls of these names; they fail only for lack of memory. */
SP_MUST_CHECK sp_status sp_embedding_set_declare(sp_embedding_set *set, sp_resource *resource,
						 const sp_embedding_options *options,
						 sp_error *err);
SP_MUST_CHECK sp_status sp_embedding_set_import(sp_embedding_set *set, sp_resource *resource,
						const sp_embedding_import *import, sp_error *err);
SP_MUST_CHECK sp_status sp_embedding_set_import_rows(sp_embedding_set *set, sp_resource *resource,
						     const sp_tensor *keys, const sp_tensor *values,
						     const sp_tensor *versions, sp_error *err);

/*
 * After the load programs: SP_INVALID when the policy slices a variable that no
 * program has imported.
 */
SP_MUST_CHECK sp_status sp_embedding_set_check_policy(const sp_embedding_set *set, sp_error *err);

/*
 * After the tables are loaded: makes the image where one is wanted and missing,
 * and then takes the tables from it.  Its failures are logged, and change
 * nothing.
 */
void sp_embedding_set_use_image(sp_embedding_set *set);

/* Hands over the tables: an array for sp_free(), each for sp_table_destroy(); resources keep them.
 */
void sp_embedding_set_take_tables(sp_embedding_set *set, sp_table ***out, size_t *count);

/* Bytes that are kept for the deltas to come. */
size_t sp_embedding_set_footprint(const sp_embedding_set *set);

/*
 * Before any is loaded: how much memory the tables of the variable that
 * `resource` is a handle of will take (model_loader/embedding/embedding_variable.h), and its
 * name, which all of its handles have in common.  Errors as sp_embedding_set_load().
 */
SP_MUST_CHECK sp_status sp_embedding_set_expect(sp_embedding_set *set, const sp_resource *resource,
						const char **variable, size_t *bytes,
						sp_error *err);

/*
 * Loads the tables of those of set->resources->items[indices[i]] that are embeddings and have
 * none yet, several at once as far as threads and memory go.  The failure of the first that
 * fails is returned; what is loaded by then stays.
 */
SP_MUST_CHECK sp_status sp_embedding_set_load(sp_embedding_set *set, const uint32_t *indices,
					      size_t count, sp_error *err);

#endif
