#include "api/host/model/models_internal.h"
#include "base/log.h"

static bool copy_text(const char **to, const char *text, sp_arena *arena)
{
	if (text == NULL)
		return true;
	*to = sp_arena_text(arena, sp_bytes_of(text));
	return *to != NULL;
}

/* Sets why the model has no version: the error of a load, also before the next attempt. */
static bool fill_why(sp_table_entry *entry, const sp_managed_model *model, sp_arena *arena)
{
	if (entry->served_count != 0)
		return true;
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->wanted && unit->attempts != 0)
			return copy_text(&entry->why, unit->error.text, arena);
	return true;
}

/* The versions that are available, newest first; of equal ones the wanted one. */
static bool fill_served(sp_table_entry *entry, const sp_managed_model *model, sp_arena *arena)
{
	size_t count = 0;

	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		count++;
	entry->served = sp_arena_array(arena, count, sizeof(entry->served[0]));
	if (entry->served == NULL)
		return false;
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next) {
		size_t at = entry->served_count;

		entry->loading |= unit->wanted && (sp_unit_state(unit) == SP_VERSION_START ||
						   unit->state == SP_VERSION_LOADING);
		if (unit->state != SP_VERSION_AVAILABLE)
			continue;
		for (; at > 0 &&
		       (entry->served[at - 1]->version < unit->served->version ||
			(entry->served[at - 1]->version == unit->served->version && unit->wanted));
		     at--)
			entry->served[at] = entry->served[at - 1];
		entry->served[at] = unit->served;
		entry->served_count++;
	}
	return true;
}

static bool fill_labels(sp_table_entry *entry, const sp_managed_model *model, sp_arena *arena)
{
	entry->labels = sp_arena_array(arena, model->label_count, sizeof(entry->labels[0]));
	if (entry->labels == NULL)
		return false;
	for (size_t i = 0; i < model->label_count; i++) {
		sp_bytes label = sp_bytes_of(model->labels[i].label);

		label.data = sp_arena_text(arena, label);
		if (label.data == NULL)
			return false;
		entry->labels[i] = (sp_version_label){label, model->labels[i].version};
	}
	entry->label_count = model->label_count;
	return true;
}

/* The version of a share; -1 if its label is of none in particular, or not there. */
static int64_t version_of_share(const sp_managed_model *model, const sp_configured_share *share)
{
	int64_t version = -1;

	if (share->label == NULL)
		return share->version;
	return sp_models__find_label(model, sp_bytes_of(share->label), &version) ? version : -1;
}

static bool fill_traffic(sp_table_entry *entry, const sp_managed_model *model, sp_arena *arena)
{
	const sp_configured_traffic *configured = &model->config->traffic;
	sp_traffic *traffic = &entry->traffic;

	for (size_t i = 0; i < configured->share_count; i++) {
		int64_t version = version_of_share(model, &configured->shares[i]);

		if (version >= 0)
			sp_traffic_add(traffic, version, configured->shares[i].percent);
	}
	traffic->shadow_version = version_of_share(model, &configured->shadow);
	if (traffic->shadow_version >= 0)
		traffic->shadow_below = sp_traffic_threshold(configured->shadow.percent);
	traffic->tolerance = configured->tolerance;
	return copy_text(&traffic->field, configured->field, arena) &&
	       copy_text(&traffic->header, configured->header, arena);
}

static bool fill_table(sp_model_table *table, const sp_models *models)
{
	sp_table_entry *entry = table->entries;

	for (const sp_managed_model *model = models->first; model != NULL; model = model->next) {
		if (model->config == NULL)
			continue;
		entry->model = (sp_model *)(uintptr_t)&model->public;
		/* A model that was not looked at yet may have versions. */
		entry->loading = !model->polled;
		entry->by_order = model->config->by_order;
		if (!fill_served(entry, model, table->arena) ||
		    !fill_why(entry, model, table->arena) ||
		    !fill_labels(entry, model, table->arena) ||
		    !fill_traffic(entry, model, table->arena))
			return false;
		entry++;
	}
	sp_model_table_finish(table);
	return true;
}

bool sp_models__publish(sp_models *models)
{
	sp_model_table *table;
	size_t count = 0;

	for (const sp_managed_model *model = models->first; model != NULL; model = model->next)
		count += model->config != NULL;
	table = sp_model_table_create(count);
	if (table == NULL || !fill_table(table, models)) {
		sp_model_table_destroy(table);
		sp_log(SP_LOG_ERROR, "no memory for the table of models");
		return false;
	}
	sp_table_publish(models->readers, table);
	return true;
}
