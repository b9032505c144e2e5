#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "model_loader/embedding/embedding_set_internal.h"

/* The image of a set's embeddings: which it is, and the way from tables that were read to it. */

/* Everything but the checkpoint that decides which rows the note's table holds, and how. */
static void describe(sp_buffer *text, const sp_embedding_set *set, const sp_embedding_note *note)
{
	const sp_embedding_spec *spec = &note->spec;
	const sp_load_policy *policy = set->policy;
	bool alike = true;

	for (size_t i = 0; i < set->count; i++)
		if (sp_embedding_set__are_siblings(note, &set->notes[i]))
			alike = alike && sp_embedding_set__answer_alike(spec, &set->notes[i].spec);
	sp_buffer_printf(text, "table %s %s %s dim %zu part %lld of %lld filter %d %lld alike %d",
			 spec->name, sp_dtype_name(spec->key_dtype), sp_dtype_name(spec->dtype),
			 spec->dim, (long long)spec->partition_id, (long long)spec->partition_num,
			 (int)spec->filter, (long long)spec->filter_freq, alike);
	sp_buffer_printf(
		text, " format %lld threshold %lld",
		(long long)sp_name_rules_find(&policy->row_formats, note->base, SP_ROW_FP32),
		(long long)sp_name_rules_find(&policy->frequency_thresholds, note->base, 0));
	if (policy->only_finite) /* rows of an image are not looked at again */
		sp_buffer_append_text(text, " finite");
	if (sp_load_policy_shards(policy, note->base))
		sp_buffer_printf(text, " slice %lld of %lld", (long long)policy->slice,
				 (long long)policy->slice_count);
	if (policy->ssd != NULL) /* what is larger is not in the image */
		sp_buffer_printf(text, " memory %zu", sp_ssd_store_cache_bytes(policy->ssd));
	sp_buffer_append_char(text, '\n');
}

void sp_embedding_set__open_image(sp_embedding_set *set)
{
	sp_buffer settings;

	if (set->image_opened || set->policy == NULL || set->policy->image_folder == NULL ||
	    set->model_dir == NULL)
		return;
	set->image_opened = true;
	sp_buffer_init(&settings, (size_t)1 << 30);
	for (size_t i = 0; i < set->count; i++)
		if (set->notes[i].origin == SP_EMBEDDING_IN_CHECKPOINT && set->notes[i].created)
			describe(&settings, set, &set->notes[i]);
	if (!settings.failed)
		sp_embedding_image_open(&set->image, set->policy, set->model_dir, set->full,
					(sp_bytes){settings.data, settings.size});
	sp_buffer_fini(&settings);
}

sp_routing sp_embedding_set__known_routing(const sp_embedding_set *set,
					   const sp_embedding_note *note)
{
	bool routed;

	if (!sp_embedding_image_knows(&set->image, note->base, &routed) &&
	    !sp_embedding_image_knows(&set->image, note->spec.name, &routed))
		return SP_ROUTING_UNKNOWN;
	return routed ? SP_ROUTED : SP_NOT_ROUTED;
}

static bool is_from_checkpoint(const sp_embedding_note *note)
{
	return note->origin == SP_EMBEDDING_IN_CHECKPOINT && note->resource->table != NULL;
}

/* Loads what has a table in `old` once more; false when some of it cannot be. */
static bool load_again(sp_embedding_set *set, sp_table *const *old)
{
	uint32_t *indices = sp_alloc_zero(set->count + 1, sizeof(*indices));
	sp_status status;
	size_t count = 0;
	sp_error why;

	if (indices == NULL)
		return false;
	for (size_t i = 0; i < set->count; i++)
		if (old[i] != NULL)
			indices[count++] = (uint32_t)(set->notes[i].resource -
						      set->resources->items);
	status = sp_embedding_set_load(set, indices, count, &why);
	sp_free(indices);
	if (status != SP_OK)
		sp_log(SP_LOG_WARNING, "embeddings stay in memory: %s", why.text);
	return status == SP_OK;
}

/* Destroys the tables that no note has any more. */
static void drop_unused(sp_embedding_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->table_count; i++) {
		bool used = false;

		for (size_t k = 0; k < set->count; k++)
			used = used || set->notes[k].resource->table == set->tables[i];
		if (used)
			set->tables[kept++] = set->tables[i];
		else
			sp_table_destroy(set->tables[i]);
	}
	set->table_count = kept;
}

/* The old tables stay until all of the new ones are there. */
static void move_to_image(sp_embedding_set *set)
{
	sp_table **old = sp_alloc_zero(set->count + 1, sizeof(sp_table *));
	bool *had_whole = sp_alloc_zero(set->count + 1, sizeof(bool));

	for (size_t i = 0; old != NULL && had_whole != NULL && i < set->count; i++) {
		sp_embedding_note *note = &set->notes[i];

		if (!is_from_checkpoint(note) ||
		    sp_embedding_set__known_routing(set, note) == SP_ROUTING_UNKNOWN)
			continue;
		old[i] = (sp_table *)note->resource->table;
		had_whole[i] = note->has_whole;
		note->resource->table = NULL;
		note->has_whole = false;
	}
	if (old != NULL && had_whole != NULL && !load_again(set, old))
		for (size_t i = 0; i < set->count; i++)
			if (old[i] != NULL) {
				set->notes[i].resource->table = old[i];
				set->notes[i].has_whole = had_whole[i];
			}
	drop_unused(set);
	sp_free(old);
	sp_free(had_whole);
}

void sp_embedding_set_use_image(sp_embedding_set *set)
{
	if (sp_embedding_image_write(&set->image))
		move_to_image(set);
	sp_embedding_set__drop_columns(set);
}
