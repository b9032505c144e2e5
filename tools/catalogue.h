#ifndef SP_TOOLS_CATALOGUE_H
#define SP_TOOLS_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * The embedding tables of a bundle, found by the names of its tensors
 * (model_loader/embedding/embedding_variable.h says which there are), and all other tensors.
 */
typedef struct sp_catalogue_part {
	const char *name; /* "user_emb/part_0" */
	const sp_bundle_entry *keys;
	const sp_bundle_entry *values;
	/* NULL where there is none */
	const sp_bundle_entry *freqs;
	const sp_bundle_entry *versions;
	const sp_bundle_entry *offsets;
	const sp_bundle_entry *filtered; /* keys that were not admitted */
	const char *problem;             /* keys and values contradict each other; NULL: fine */
	size_t rows;
} sp_catalogue_part;

typedef struct sp_catalogue_table {
	const char *name;               /* without its part */
	const sp_catalogue_part *parts; /* in the order of their numbers */
	size_t part_count;
	bool partitioned;
	bool delta;          /* rows that overwrite and add */
	const char *slot_of; /* an optimizer's state of that table; NULL: a table of its own */
	size_t rows;
	size_t dim;     /* of part 0 */
	uint64_t bytes; /* stored bytes of all its tensors */
} sp_catalogue_table;

typedef struct sp_catalogue {
	const sp_catalogue_table *tables; /* by name */
	size_t table_count;
	const sp_bundle_entry **tensors; /* what belongs to no table, by name */
	size_t tensor_count;
} sp_catalogue;

/* All of it lives in `arena`, names of entries in the bundle. */
SP_MUST_CHECK sp_status sp_catalogue_make(sp_catalogue *out, const sp_bundle *bundle,
					  sp_arena *arena, sp_error *err);

/* NULL when there is none of that name. */
const sp_catalogue_table *sp_catalogue_find(const sp_catalogue *catalogue, const char *name);

#endif
