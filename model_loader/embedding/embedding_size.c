#include "model_loader/embedding/embedding_size.h"

#include "base/size.h"
#include "storage/rows/rows.h"

enum {
	/* Slots that stay empty, per cent of those that do not. */
	SPARE_PERCENT = 4,
	/* Of each key beside its slot: what finds it, and what is there while it is placed. */
	KEY_BYTES = 10,
};

size_t sp_embedding_expected_size(const sp_embedding *embedding, const sp_embedding_spec *spec,
				  const sp_load_policy *policy)
{
	sp_row_format format = (sp_row_format)sp_name_rules_find(&policy->row_formats,
								 embedding->base, SP_ROW_FP32);
	size_t slot = sp_rows_slot_size(SP_ROWS_KEY_IN_FRONT, format, spec->dim);
	size_t rows = 0, bytes, spare, defaults;

	for (size_t i = 0; i < embedding->full.part_count; i++)
		rows += embedding->full.parts[i].row_count + embedding->full.parts[i].ssd_count;
	if (sp_load_policy_shards(policy, embedding->base) && policy->slice_count > 1)
		rows = rows / (size_t)policy->slice_count + 1;
	if (!sp_size_mul(&bytes, rows, slot + KEY_BYTES) ||
	    !sp_size_mul(&spare, rows / 100 + 1, SPARE_PERCENT * slot) ||
	    !sp_size_add(&bytes, bytes, spare))
		return SIZE_MAX;
	if (policy->ssd != NULL && bytes > sp_ssd_store_cache_bytes(policy->ssd))
		bytes = sp_ssd_store_cache_bytes(policy->ssd);
	defaults = spec->default_row_count * spec->dim * sizeof(float); /* they are in memory */
	return sp_size_add(&bytes, bytes, defaults) ? bytes : SIZE_MAX;
}
