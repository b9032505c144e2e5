#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_INTERNAL_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_INTERNAL_H

#include "model_loader/checkpoint/part_name.h"
#include "model_loader/embedding/bucket_offsets.h"
#include "model_loader/embedding/embedding_variable.h"
#include "storage/shards/shard_rule.h"
#include "storage/table/table_builder.h"

/* Which rows of a variable a handle reads, for loading rows and columns. */

/* C's remainder, as in DeepRec: negative keys route to no part, and DeepRec never stores them. */
static inline bool sp_embedding__routes_to(int64_t key, int64_t part, int64_t parts)
{
	return key % SP_BUCKETS % parts == part;
}

/* Whether the key belongs to the selected part and slice. */
static inline bool sp_embedding__selects(const sp_row_selection *s, int64_t key)
{
	return (s->part_count <= 1 || sp_embedding__routes_to(key, s->part, s->part_count)) &&
	       (s->slice_count <= 1 || sp_shard_of_key(key, (uint32_t)s->slice_count) == s->slice);
}

/*
 * After the rows are found: decides which rows of the full checkpoint a handle reads, and then
 * which of the delta.
 */
SP_MUST_CHECK sp_status sp_embedding__place_full(sp_embedding *embedding, const sp_part_name *name,
						 const sp_embedding_spec *spec, sp_error *err);
SP_MUST_CHECK sp_status sp_embedding__place_delta(sp_embedding *embedding,
						  const sp_embedding_spec *spec, sp_error *err);

/*
 * The parts of `rows`, which belong to the embedding, that make up a handle's table: only the part
 * of its number if that has all of its rows.  A delta may lack that part.
 */
sp_embedding_rows sp_embedding__own_rows(const sp_embedding *embedding,
					 const sp_embedding_spec *spec,
					 const sp_embedding_rows *rows);

/* The selection of these rows by part and slice; frequencies are not set. */
sp_row_selection sp_embedding__choose_rows(const sp_embedding *embedding,
					   const sp_embedding_spec *spec,
					   const sp_embedding_rows *rows,
					   const sp_load_policy *policy);

/* Upper bound of the rows of all parts, by the index; SIZE_MAX on overflow. */
size_t sp_embedding__count_rows(const sp_embedding_rows *rows);

/* Of a table named `name`; it points to the spec's default rows. */
sp_table_options sp_embedding__table_options(const sp_embedding_spec *spec,
					     const sp_load_policy *policy, const char *name);

#endif
