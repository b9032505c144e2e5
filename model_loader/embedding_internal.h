#ifndef SP_MODEL_LOADER_EMBEDDING_INTERNAL_H
#define SP_MODEL_LOADER_EMBEDDING_INTERNAL_H

#include "model_loader/embedding.h"

/* What loading the rows of an embedding and the numbers of its keys have in common. */

/* DeepRec's kSavedPartitionNum: parts are made of whole buckets. */
enum { SP_EMBEDDING__BUCKETS = 1000 };

/* C's remainder, as DeepRec's: a negative key routes nowhere, and is never stored by it. */
static inline bool sp_embedding__routes_to(int64_t key, int64_t part, int64_t parts)
{
	return key % SP_EMBEDDING__BUCKETS % parts == part;
}

/* Whether its part and its slice are wanted. */
static inline bool sp_embedding__selects(const sp_row_selection *s, int64_t key)
{
	return (s->part_count <= 1 || sp_embedding__routes_to(key, s->part, s->part_count)) &&
	       (s->slice_count <= 1 || sp_embedding__routes_to(key, s->slice, s->slice_count));
}

/* Whether all keys of part `part` would route to it if there were so many parts. */
SP_MUST_CHECK sp_status sp_embedding__check_routing(bool *routed, const sp_embedding_rows *rows,
						    size_t part, size_t parts, sp_error *err);

/* Where all of a handle's rows lie in the part of its number, the others need not be read. */
sp_embedding_rows sp_embedding__own_rows(const sp_embedding *embedding,
					 const sp_embedding_spec *spec, bool only_own_part,
					 const sp_embedding_rows *rows);

/* Which parts and slices are wanted; nothing of frequencies yet. */
sp_row_selection sp_embedding__choose_rows(const sp_embedding *embedding,
					   const sp_embedding_spec *spec, bool only_own_part,
					   const sp_load_policy *policy);

#endif
