#include "base/alloc.h"
#include "base/log.h"
#include "model_loader/embedding/embedding_set_internal.h"

/* Replaces tables that were read by tables from the image made of them. */

/* Loads everything that has a table in `old` again; false if any of it fails. */
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

/* Destroys the tables that no note uses any more. */
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

/* The old tables stay until all new ones are loaded. */
static void move_to_image(sp_embedding_set *set)
{
	sp_table **old = sp_alloc_zero(set->count + 1, sizeof(sp_table *));
	bool *had_whole = sp_alloc_zero(set->count + 1, sizeof(bool));

	for (size_t i = 0; old != NULL && had_whole != NULL && i < set->count; i++) {
		sp_embedding_note *note = &set->notes[i];

		if (note->origin != SP_EMBEDDING_IN_CHECKPOINT || note->resource->table == NULL ||
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
