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
#include "storage/table/key_column.h"
#include "storage/table/table.h"

/*
 * The embeddings of one load: first what its load programs declare about each, then their tables.
 * Programs also declare embeddings that no signature reads, such as slots of an optimizer; so a
 * fault in a declaration is kept, and reported only when the table is needed.
 *
 * Handles E/part_0, E/part_1 ... of a partitioned EmbeddingVariable share one table when the parts
 * are one set of rows (model_loader/embedding/embedding_variable.h) and all of these handles answer
 * absent keys alike.  If the parts have different default rows, each handle gets a table of the
 * rows that route to it.
 *
 * Threads: one thread at a time.
 */
typedef enum sp_embedding_origin {
	SP_EMBEDDING_UNKNOWN,
	SP_EMBEDDING_IN_CHECKPOINT,
	SP_EMBEDDING_IN_TENSORS, /* the graph gives its rows */
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
	const sp_error *bad_defaults, *bad_rows; /* faults in the declarations; NULL: none */
	bool has_whole;                          /* its table has the rows of all parts */

	/* The variable as its table was loaded, for later deltas. */
	sp_embedding found;
	sp_key_column *row_versions; /* owned by the note; NULL: not needed, or another's */

	/* Columns of its table, while tables are loaded. */
	sp_key_column *columns[SP_TABLE_COLUMNS];
} sp_embedding_note;

typedef struct sp_embedding_set {
	sp_arena *arena; /* of the model version */
	const sp_bundle *full;
	const sp_bundle *delta; /* NULL: none */
	const sp_load_policy *policy;
	const sp_map *by_key;     /* handles whose lookups the graph routes by key; NULL: unknown */
	const char *model_dir;    /* the SavedModel's, for the image; NULL: no image */
	sp_embedding_image image; /* of the full checkpoint, if the policy wants one */
	bool image_opened;

	/*
	 * The set of the full checkpoint without a delta, made by the same programs.  Its tables
	 * were taken; the current ones are in base_resources.  NULL: the full checkpoint is read.
	 */
	const struct sp_embedding_set *base;
	const sp_resources *base_resources;

	const sp_resources *resources; /* of the notes, once tables are loaded */

	sp_embedding_note *notes;
	size_t count;
	size_t capacity;
	sp_table **tables;
	size_t table_count;
} sp_embedding_set;

/* Destroys the tables that were not taken. */
void sp_embedding_set_fini(sp_embedding_set *set);

/* The calls of sp_environment with these names; they fail only for lack of memory. */
SP_MUST_CHECK sp_status sp_embedding_set_declare(sp_embedding_set *set, sp_resource *resource,
						 const sp_embedding_options *options,
						 sp_error *err);
SP_MUST_CHECK sp_status sp_embedding_set_import(sp_embedding_set *set, sp_resource *resource,
						const sp_embedding_import *import, sp_error *err);
SP_MUST_CHECK sp_status sp_embedding_set_import_rows(sp_embedding_set *set, sp_resource *resource,
						     const sp_tensor *keys, const sp_tensor *values,
						     const sp_tensor *versions, sp_error *err);

/*
 * After the load programs: SP_INVALID when the policy slices a variable that no program has
 * imported.
 */
SP_MUST_CHECK sp_status sp_embedding_set_check_policy(const sp_embedding_set *set, sp_error *err);

/*
 * After the tables are loaded: makes the image if one is wanted and missing, and then takes the
 * tables from it.  Failures are logged and have no other effect.
 */
void sp_embedding_set_use_image(sp_embedding_set *set);

/*
 * Hands over the tables: an array for sp_free(), each for sp_table_destroy().  Resources still
 * refer to them.
 */
void sp_embedding_set_take_tables(sp_embedding_set *set, sp_table ***out, size_t *count);

/* Bytes kept for later deltas. */
size_t sp_embedding_set_footprint(const sp_embedding_set *set);

/*
 * Before tables are loaded: the memory that the tables of the variable behind the handle `resource`
 * will take (model_loader/embedding/embedding_variable.h), and its name, which all of its handles
 * share.  Errors as sp_embedding_set_load().
 */
SP_MUST_CHECK sp_status sp_embedding_set_expect(sp_embedding_set *set, const sp_resource *resource,
						const char **variable, size_t *bytes,
						sp_error *err);

/*
 * Loads the missing tables of the embeddings among set->resources->items[indices[i]], as many at
 * once as threads and memory allow.  Returns the error of the first that fails; tables loaded until
 * then are kept.
 */
SP_MUST_CHECK sp_status sp_embedding_set_load(sp_embedding_set *set, const uint32_t *indices,
					      size_t count, sp_error *err);

#endif
