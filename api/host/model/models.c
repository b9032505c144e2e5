#include "api/host/model/models.h"

#include <string.h>

#include "api/host/model/model_table.h"
#include "base/alloc.h"

struct sp_models {
	const sp_flags *flags;
	sp_table_readers *readers;
	sp_model *model;
	sp_served_model served;
};

/* ---------------------------------------------------------------- selection */

static sp_status fail_not_found(const sp_model_selector *s, sp_status status, sp_error *err)
{
	int size = s->name.size < 512 ? (int)s->name.size : 512;

	if (s->has_version)
		return sp_error_set(err, status,
				    "Servable not found for request: Specific(%.*s, %lld)", size,
				    s->name.data, (long long)s->version);
	return sp_error_set(err, status, "Servable not found for request: Latest(%.*s)", size,
			    s->name.data);
}

static sp_status fail_label(sp_bytes label, sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "Unrecognized servable version label: %.*s",
			    label.size < 512 ? (int)label.size : 512, label.data);
}

/* Holds the version if it is the one with that number; SP_ANY_VERSION: whichever it is. */
static bool hold(sp_served_model *served, int64_t version, sp_servable *out)
{
	serving_processor_handle *handle = serving_processor_acquire(served->processor);
	int64_t own = sp_served_model_version_of(served, handle);

	if (version != SP_ANY_VERSION && version != own) {
		serving_processor_release(handle);
		return false;
	}
	atomic_fetch_add(&served->users, 1);
	out->served = served;
	out->handle = handle;
	out->version = own;
	return true;
}

/* Replaces a label by its version. */
static sp_status resolve(const sp_table_entry *entry, sp_model_selector *selector, sp_error *err)
{
	const sp_version_label *label;

	if (selector->label.size == 0)
		return SP_OK;
	label = sp_table_entry_label(entry, selector->label);
	if (label == NULL)
		return fail_label(selector->label, err);
	selector->has_version = label->version != SP_ANY_VERSION;
	selector->version = label->version;
	return SP_OK;
}

static sp_status select_version(const sp_table_entry *entry, const sp_model_selector *asked,
				sp_servable *out, sp_error *err)
{
	sp_model_selector selector = *asked;

	if (entry == NULL)
		return fail_not_found(&selector, SP_NOT_FOUND, err);
	SP_TRY(resolve(entry, &selector, err));
	out->model = entry->model; /* also where it has no version */
	for (size_t i = 0; i < entry->served_count; i++)
		if (hold(entry->served[i],
			 selector.has_version ? selector.version : (int64_t)SP_ANY_VERSION, out))
			return SP_OK;
	return fail_not_found(&selector,
			      entry->loading && entry->served_count == 0 ? SP_BUSY : SP_NOT_FOUND,
			      err);
}

sp_status sp_models_acquire(sp_models *models, const sp_model_selector *selector, sp_servable *out,
			    sp_error *err)
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	sp_status status;

	*out = (sp_servable){0};
	status = select_version(sp_model_table_find(table, selector->name), selector, out, err);
	sp_table_leave(models->readers, seat);
	return status;
}

sp_status sp_models_acquire_processor(sp_models *models, sp_bytes name, sp_servable *out,
				      sp_error *err)
{
	sp_model_selector selector = {.name = name};
	sp_status status = sp_models_acquire(models, &selector, out, err);

	serving_processor_release(out->handle);
	out->handle = NULL;
	out->version = 0;
	return status;
}

void sp_servable_release(sp_servable *servable)
{
	if (servable->served == NULL)
		return;
	serving_processor_release(servable->handle);
	atomic_fetch_sub(&servable->served->users, 1);
	*servable = (sp_servable){0};
}

/* ------------------------------------------------------------------ questions */

sp_model *sp_models_find(sp_models *models, sp_bytes name)
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	const sp_table_entry *entry = sp_model_table_find(table, name);
	sp_model *model = entry != NULL ? entry->model : NULL;

	sp_table_leave(models->readers, seat);
	return model;
}

sp_model *sp_models_at(sp_models *models, uint32_t number)
{
	return number == models->model->number ? models->model : NULL;
}

bool sp_models_are_ready(sp_models *models)
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	bool ready = true;

	for (size_t i = 0; i < table->count; i++)
		ready &= table->entries[i].served_count != 0;
	sp_table_leave(models->readers, seat);
	return ready;
}

sp_status sp_models_list(sp_models *models, const sp_model_summary **out, size_t *count,
			 sp_arena *arena, sp_error *err)
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	sp_model_summary *list = sp_arena_array(arena, table->count, sizeof(*list));

	*count = table->count;
	for (size_t i = 0; list != NULL && i < table->count; i++)
		list[i] = (sp_model_summary){table->entries[i].model,
					     table->entries[i].served_count != 0};
	sp_table_leave(models->readers, seat);
	*out = list;
	return list != NULL ? SP_OK : sp_no_memory(err, "the list of models");
}

/* ------------------------------------------------------------------- statuses */

static sp_status fail_no_status(const sp_model_selector *s, sp_error *err)
{
	int size = s->name.size < 512 ? (int)s->name.size : 512;

	if (s->has_version)
		return sp_error_set(err, SP_NOT_FOUND, "Could not find version %lld of model %.*s",
				    (long long)s->version, size, s->name.data);
	return sp_error_set(err, SP_NOT_FOUND, "Could not find any versions of model %.*s", size,
			    s->name.data);
}

/* Adds what the library reports of the versions in a folder that it follows. */
static sp_status put_report(sp_version_statuses *out, const sp_served_model *served,
			    sp_arena *arena, sp_error *err)
{
	char *json = serving_processor_versions(served->processor);
	char *copy = json != NULL ? sp_arena_text(arena, sp_bytes_of(json)) : NULL;
	sp_versions_report report;

	serving_processor_free(json);
	if (copy == NULL)
		return sp_no_memory(err, "the versions");
	SP_TRY(sp_versions_report_read(&report, copy, arena, err));
	sp_version_statuses_put_report(out, &report);
	return SP_OK;
}

static sp_status put_all(sp_models *models, sp_version_statuses *out, const sp_servable *servable,
			 sp_arena *arena, sp_error *err)
{
	sp_version_status own = {.version = models->served.version, .state = SP_VERSION_LOADING};

	if (servable->served != NULL) {
		own = (sp_version_status){servable->version, SP_VERSION_AVAILABLE, 0, {NULL, 0}};
		if (sp_served_model_follows(servable->served))
			SP_TRY(put_report(out, servable->served, arena, err));
	}
	if (own.version >= 0)
		sp_version_statuses_put(out, &own);
	return SP_OK;
}

/* Leaves only the selected version; a label is one of the version that is held. */
static sp_status narrow(const sp_model_selector *selector, sp_version_statuses *list,
			const sp_servable *servable, sp_error *err)
{
	int64_t version = selector->label.size != 0 ? servable->version : selector->version;
	const sp_version_status *one;

	if (list->count == 0)
		return fail_no_status(selector, err);
	if (selector->label.size == 0 && !selector->has_version)
		return SP_OK;
	one = sp_version_statuses_find(list, version);
	if (one == NULL)
		return fail_no_status(selector, err);
	list->items[0] = *one;
	list->count = 1;
	return SP_OK;
}

sp_status sp_models_statuses(sp_models *models, const sp_model_selector *selector,
			     sp_version_statuses *out, sp_arena *arena, sp_error *err)
{
	sp_model_selector newest = {.name = selector->name, .label = selector->label};
	sp_servable servable;
	sp_status status = sp_models_acquire(models, &newest, &servable, err);

	out->count = 0;
	if (status == SP_NOT_FOUND)
		return fail_no_status(selector, err);
	if (status == SP_OK || status == SP_BUSY)
		status = put_all(models, out, &servable, arena, err);
	if (status == SP_OK)
		status = narrow(selector, out, &servable, err);
	sp_servable_release(&servable);
	return status;
}

/* ------------------------------------------------------------------- creation */

static bool add_label(sp_model_table *table, sp_table_entry *entry, const char *label, size_t size)
{
	char *copy = sp_arena_text(table->arena, (sp_bytes){label, size});

	if (copy == NULL)
		return false;
	entry->labels[entry->label_count++] = (sp_version_label){{copy, size},
								 (int64_t)SP_ANY_VERSION};
	return true;
}

/* The labels of --version_labels, which are those of whatever version is live. */
static bool add_labels(sp_model_table *table, sp_table_entry *entry, const char *list)
{
	entry->labels = sp_arena_array(table->arena, strlen(list) + 1, sizeof(entry->labels[0]));
	if (entry->labels == NULL)
		return false;
	while (*list != '\0') {
		size_t size = strcspn(list, ",");

		if (size != 0 && !add_label(table, entry, list, size))
			return false;
		list += size + (list[size] == ',');
	}
	return true;
}

static bool fill_table(sp_models *models, sp_model_table *table, bool open)
{
	sp_table_entry *entry = &table->entries[0];

	entry->model = models->model;
	entry->loading = !open;
	entry->served = sp_arena_array(table->arena, 1, sizeof(entry->served[0]));
	if (entry->served == NULL || !add_labels(table, entry, models->flags->version_labels))
		return false;
	entry->served[0] = &models->served;
	entry->served_count = open;
	sp_model_table_finish(table);
	return true;
}

static sp_status publish(sp_models *models, bool open, sp_error *err)
{
	sp_model_table *table = sp_model_table_create(1);

	if (table == NULL || !fill_table(models, table, open)) {
		sp_model_table_destroy(table);
		return sp_no_memory(err, "the models");
	}
	sp_table_publish(models->readers, table);
	return SP_OK;
}

static sp_status create(sp_models *models, int64_t session_num, sp_error *err)
{
	models->readers = sp_table_readers_create();
	models->model = sp_alloc_zero(1, sizeof(*models->model));
	if (models->readers == NULL || models->model == NULL)
		return sp_no_memory(err, "the models");
	models->model->name = models->flags->model_name;
	models->model->number = 1;
	SP_TRY(sp_served_model_find(&models->served, models->flags, session_num, err));
	return publish(models, false, err);
}

sp_status sp_models_create(sp_models **out, const sp_flags *flags, int64_t session_num,
			   sp_error *err)
{
	sp_models *models = sp_alloc_zero(1, sizeof(*models));
	sp_status status;

	if (models == NULL)
		return sp_no_memory(err, "the models");
	models->flags = flags;
	status = create(models, session_num, err);
	if (status != SP_OK) {
		sp_models_destroy(models);
		return status;
	}
	*out = models;
	return SP_OK;
}

sp_status sp_models_load(sp_models *models, sp_error *err)
{
	SP_TRY(sp_served_model_open(&models->served, models->flags, err));
	return publish(models, true, err);
}

void sp_models_destroy(sp_models *models)
{
	if (models == NULL)
		return;
	sp_table_readers_destroy(models->readers);
	sp_served_model_close(&models->served);
	sp_free(models->model);
	sp_free(models);
}
