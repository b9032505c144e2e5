#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_INTERNAL_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_INTERNAL_H

#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/bucket_offsets.h"
#include "model_loader/embedding/embedding_variable.h"

/* What loading the rows of an embedding and the numbers of its keys have in common. */

/* C's remainder, as DeepRec's: a negative key routes nowhere, and is never stored by it. */
static inline bool sp_embedding__routes_to(int64_t key, int64_t part, int64_t parts)
{
	return key % SP_BUCKETS % parts == part;
}

/* Whether its part and its slice are wanted. */
static inline bool sp_embedding__selects(const sp_row_selection *s, int64_t key)
{
	return (s->part_count <= 1 || sp_embedding__routes_to(key, s->part, s->part_count)) &&
	       (s->slice_count <= 1 || sp_embedding__routes_to(key, s->slice, s->slice_count));
}

/* Numbers of parts to which rows may have been dealt by their keys; ascending. */
typedef struct sp_embedding__deals {
	size_t parts[SP_BUCKETS];
	size_t count;
} sp_embedding__deals;

/* Takes out those by which a key of the rows' part `i` would lie in another part. */
SP_MUST_CHECK sp_status sp_embedding__rule_out(sp_embedding__deals *deals,
					       const sp_embedding_rows *rows, size_t i,
					       sp_error *err);

/* Once its rows are found: which of the full checkpoint's a handle reads, and then of the delta's.
 */
SP_MUST_CHECK sp_status sp_embedding__place_full(sp_embedding *embedding, const sp_part_name *name,
						 const sp_embedding_spec *spec, sp_error *err);
SP_MUST_CHECK sp_status sp_embedding__place_delta(sp_embedding *embedding,
						  const sp_embedding_spec *spec, sp_error *err);

/*
 * Of `rows`, which are the embedding's, the parts that have what a handle's table is made of.
 * Where all of its rows lie in the part of its number, the others need not be read; there may be
 * no such part in a delta.
 */
sp_embedding_rows sp_embedding__own_rows(const sp_embedding *embedding,
					 const sp_embedding_spec *spec, bool only_own_part,
					 const sp_embedding_rows *rows);

/* Which keys of these are wanted, by part and slice; nothing of frequencies yet. */
sp_row_selection sp_embedding__choose_rows(const sp_embedding *embedding,
					   const sp_embedding_spec *spec, bool only_own_part,
					   const sp_embedding_rows *rows,
					   const sp_load_policy *policy);

#endif
