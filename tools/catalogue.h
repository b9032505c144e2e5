#ifndef SP_TOOLS_CATALOGUE_H
#define SP_TOOLS_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * The embedding tables of a bundle, recognised by the names of their tensors
 * (model_loader/embedding/embedding_variable.h), and all other tensors.
 */
typedef struct sp_catalogue_part {
	const char *name; /* "user_emb/part_0" */
	const sp_bundle_entry *keys;
	const sp_bundle_entry *values;
	/* each NULL if missing */
	const sp_bundle_entry *freqs;
	const sp_bundle_entry *versions;
	const sp_bundle_entry *offsets;
	const sp_bundle_entry *filtered; /* keys that were not admitted */
	const char *problem;             /* why keys and values do not fit; NULL: they do */
	size_t rows;
} sp_catalogue_part;

typedef struct sp_catalogue_table {
	const char *name;               /* without "/part_N" */
	const sp_catalogue_part *parts; /* in the order of their numbers */
	size_t part_count;
	bool partitioned;
	bool delta;          /* its rows replace and extend those of a full checkpoint */
	const char *slot_of; /* the table whose optimizer state this is; NULL: none */
	size_t rows;
	size_t dim;     /* of part 0 */
	uint64_t bytes; /* stored bytes of all its tensors */
} sp_catalogue_table;

typedef struct sp_catalogue {
	const sp_catalogue_table *tables; /* by name */
	size_t table_count;
	const sp_bundle_entry **tensors; /* tensors outside tables, sorted by name */
	size_t tensor_count;
} sp_catalogue;

/* Everything is in `arena`, except names of entries, which belong to the bundle. */
SP_MUST_CHECK sp_status sp_catalogue_make(sp_catalogue *out, const sp_bundle *bundle,
					  sp_arena *arena, sp_error *err);

/* NULL if there is no table of that name. */
const sp_catalogue_table *sp_catalogue_find(const sp_catalogue *catalogue, const char *name);

#endif
