#include "api/host/model/models.h"

#include <stdio.h>

#include "api/host/model/models_internal.h"

/* ---------------------------------------------------------------- selection */

/* With TensorFlow Serving's text. */
static sp_status fail_not_found(const sp_model_selector *s, sp_status status, sp_error *err)
{
	int size = sp_bytes_shown(s->name, 512);

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
			    sp_bytes_shown(label, 512), label.data);
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

static bool hold_any(const sp_table_entry *entry, int64_t version, sp_servable *out)
{
	for (size_t i = 0; i < entry->served_count; i++)
		if (hold(entry->served[i], version, out))
			return true;
	return false;
}

static uint32_t point_of(const sp_table_entry *entry, const sp_model_selector *selector)
{
	const char *header = entry->traffic.header;
	sp_bytes key = {NULL, 0};

	if (header != NULL && selector->header != NULL)
		key = selector->header(selector->context, header);
	return key.size != 0 ? sp_traffic_point(entry->model->name, key) : sp_traffic_random();
}

/* Holds the version whose share has the point, else the newest one without a share. */
static bool hold_by_share(const sp_table_entry *entry, uint32_t point, sp_servable *out)
{
	const sp_traffic *traffic = &entry->traffic;
	int64_t version = sp_traffic_choose(traffic, point);

	if (version >= 0 && hold_any(entry, version, out))
		return true;
	for (size_t i = 0; i < entry->served_count; i++)
		if (!sp_traffic_has(traffic, entry->served[i]->version) &&
		    hold(entry->served[i], SP_ANY_VERSION, out))
			return true;
	return false;
}

static void choose_shadow(const sp_table_entry *entry, sp_servable *out)
{
	const sp_traffic *traffic = &entry->traffic;

	if (traffic->shadow_below == 0 || out->version == traffic->shadow_version ||
	    sp_traffic_random() >= traffic->shadow_below)
		return;
	out->shadow_version = traffic->shadow_version;
	out->shadow_tolerance = traffic->tolerance;
}

static void choose_sampling(const sp_models *models, sp_servable *out)
{
	const sp_sampling *sampling = atomic_load_explicit(&out->model->sampling,
							   memory_order_acquire);

	if (sampling == NULL || sp_traffic_random() >= sampling->below)
		return;
	out->sampling = sampling;
	out->samples = models->samples;
}

/* Sets by which batcher the request runs, whether a shadow runs it, and whether it is logged. */
static void complete(const sp_models *models, const sp_table_entry *entry, sp_servable *out)
{
	if (out->served->batching.enabled)
		out->batcher = models->batcher;
	if (models->shadow != NULL) {
		choose_shadow(entry, out);
		out->shadow = models->shadow;
	}
	if (models->samples != NULL)
		choose_sampling(models, out);
}

static sp_status select_version(const sp_table_entry *entry, const sp_model_selector *asked,
				sp_servable *out, sp_error *err)
{
	sp_model_selector selector = *asked;
	int64_t version = SP_ANY_VERSION;

	if (entry == NULL)
		return fail_not_found(&selector, SP_NOT_FOUND, err);
	SP_TRY(resolve(entry, &selector, err));
	out->model = entry->model; /* also where it has no version */
	if (selector.has_version)
		version = selector.version;
	else if (selector.label.size == 0 && entry->traffic.share_count != 0 &&
		 hold_by_share(entry, point_of(entry, &selector), out)) {
		out->follows_field = entry->traffic.field != NULL;
		return SP_OK;
	}
	if (hold_any(entry, version, out))
		return SP_OK;
	return fail_not_found(&selector,
			      entry->loading && entry->served_count == 0 ? SP_BUSY : SP_NOT_FOUND,
			      err);
}

/* Adds what a model without a version waits for. */
static sp_status add_missing(sp_models *models, const sp_model *model, sp_status status,
			     sp_error *err)
{
	const sp_managed_model *managed = (const sp_managed_model *)model; /* its first member */
	char why[SP_UNREADY_SIZE];
	sp_error said;

	pthread_mutex_lock(&models->lock);
	sp_models__tell_missing(managed, why);
	pthread_mutex_unlock(&models->lock);
	if (why[0] == '\0' || err == NULL)
		return status;
	said = *err;
	return sp_error_set(err, status, "%s: %s", said.text, why);
}

sp_status sp_models_acquire(sp_models *models, const sp_model_selector *selector, sp_servable *out,
			    sp_error *err)
{
	bool has_none;
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	const sp_table_entry *entry;
	sp_status status;

	*out = (sp_servable){.shadow_version = -1};
	entry = sp_model_table_find(table, selector->name);
	status = select_version(entry, selector, out, err);
	if (status == SP_OK)
		complete(models, entry, out);
	has_none = entry != NULL && entry->served_count == 0;
	/* Before the lock is taken: its holder may wait for the readers of the table. */
	sp_table_leave(models->readers, seat);
	return has_none ? add_missing(models, out->model, status, err) : status;
}

/* The field that the split of the model follows; false: none any more. */
static bool read_field(char out[SP_MAX_FIELD + 1], sp_models *models, const sp_model *model)
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	const sp_table_entry *entry = sp_model_table_find(table, sp_bytes_of(model->name));
	bool found = entry != NULL && entry->traffic.field != NULL;

	if (found)
		snprintf(out, SP_MAX_FIELD + 1, "%s", entry->traffic.field);
	sp_table_leave(models->readers, seat);
	return found;
}

/* `find` may take long, so the table is left before: who publishes one waits for its readers. */
void sp_models_follow_field(sp_models *models, sp_servable *servable, sp_field_finder *find,
			    void *context)
{
	sp_servable other = {.shadow_version = -1, .model = servable->model};
	const sp_model_table *table;
	const sp_table_entry *entry;
	char field[SP_MAX_FIELD + 1];
	sp_bytes key;
	size_t seat;

	if (!servable->follows_field || !read_field(field, models, servable->model))
		return;
	key = find(context, field);
	if (key.size == 0)
		return;
	table = sp_table_enter(models->readers, &seat);
	entry = sp_model_table_find(table, sp_bytes_of(servable->model->name));
	if (entry != NULL &&
	    hold_by_share(entry, sp_traffic_point(servable->model->name, key), &other)) {
		complete(models, entry, &other);
		sp_servable_release(servable);
		*servable = other;
	}
	sp_table_leave(models->readers, seat);
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
	return number != 0 && number <= SP_MAX_MODELS ? atomic_load(&models->by_number[number - 1])
						      : NULL;
}

/* Of the models that have not failed. */
static void tell_unready(sp_models *models, char why[SP_UNREADY_SIZE])
{
	char missing[SP_UNREADY_SIZE] = "";
	const sp_managed_model *model;

	pthread_mutex_lock(&models->lock);
	for (model = models->first; model != NULL && missing[0] == '\0'; model = model->next) {
		sp_models__tell_missing(model, missing);
		if (missing[0] != '\0')
			snprintf(why, SP_UNREADY_SIZE, "model %.256s: %.2048s", model->public.name,
				 missing);
	}
	pthread_mutex_unlock(&models->lock);
	if (missing[0] == '\0')
		snprintf(why, SP_UNREADY_SIZE, "the model is loading");
}

bool sp_models_are_ready(sp_models *models, char why[SP_UNREADY_SIZE])
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	const sp_table_entry *failed = NULL;
	bool ready = true;

	for (size_t i = 0; i < table->count; i++) {
		const sp_table_entry *entry = &table->entries[i];

		ready &= entry->served_count != 0;
		if (failed == NULL && entry->why != NULL)
			failed = entry;
	}
	if (why != NULL)
		why[0] = '\0';
	if (why != NULL && failed != NULL)
		snprintf(why, SP_UNREADY_SIZE, "model %.256s has failed to load: %s",
			 failed->model->name, failed->why);
	sp_table_leave(models->readers, seat);
	if (why != NULL && !ready && why[0] == '\0')
		tell_unready(models, why);
	return ready;
}

static bool copy_labels(sp_model_summary *out, const sp_table_entry *entry, sp_arena *arena)
{
	sp_version_label *labels = sp_arena_array(arena, entry->label_count, sizeof(*labels));

	if (labels == NULL)
		return false;
	for (size_t i = 0; i < entry->label_count; i++) {
		labels[i] = entry->labels[i];
		labels[i].label.data = sp_arena_text(arena, labels[i].label);
		if (labels[i].label.data == NULL)
			return false;
	}
	out->labels = labels;
	out->label_count = entry->label_count;
	return true;
}

/* The versions that do not change, and how often each was asked. */
static bool summarize(sp_model_summary *out, const sp_table_entry *entry, sp_arena *arena)
{
	int64_t *versions = sp_arena_array(arena, entry->served_count, sizeof(*versions));
	uint64_t *runs = sp_arena_array(arena, entry->served_count, sizeof(*runs));

	*out = (sp_model_summary){.model = entry->model,
				  .ready = entry->served_count != 0,
				  .by_order = entry->by_order,
				  .versions = versions,
				  .runs = runs};
	if (versions == NULL || runs == NULL || !copy_labels(out, entry, arena))
		return false;
	for (size_t i = 0; i < entry->served_count; i++) {
		const sp_served_model *served = entry->served[i];

		if (sp_served_model_follows(served))
			continue;
		versions[out->version_count] = served->version;
		runs[out->version_count++] = atomic_load(&served->runs);
	}
	return true;
}

sp_status sp_models_list(sp_models *models, const sp_model_summary **out, size_t *count,
			 sp_arena *arena, sp_error *err)
{
	size_t seat;
	const sp_model_table *table = sp_table_enter(models->readers, &seat);
	sp_model_summary *list = sp_arena_array(arena, table->count, sizeof(*list));
	bool fits = list != NULL;

	*count = table->count;
	for (size_t i = 0; fits && i < table->count; i++)
		fits = summarize(&list[i], &table->entries[i], arena);
	sp_table_leave(models->readers, seat);
	*out = list;
	return fits ? SP_OK : sp_no_memory(err, "the list of models");
}

void sp_models_set_shadow(sp_models *models, const sp_shadow_sink *shadow)
{
	models->shadow = shadow;
}

void sp_models_set_samples(sp_models *models, const sp_sample_sink *samples)
{
	models->samples = samples;
}

void sp_models_set_batcher(sp_models *models, struct sp_batcher *batcher,
			   const sp_batching_config *config)
{
	models->batcher = batcher;
	models->batching = config;
}

/* ------------------------------------------------------------------- statuses */

/* `why`: the reason why the model's processor cannot be opened; NULL: none. */
static sp_status fail_no_status(const sp_model_selector *s, const char *why, sp_error *err)
{
	int size = sp_bytes_shown(s->name, 512);

	if (s->has_version)
		return sp_error_set(err, SP_NOT_FOUND, "Could not find version %lld of model %.*s",
				    (long long)s->version, size, s->name.data);
	return sp_error_set(err, SP_NOT_FOUND, "Could not find any versions of model %.*s%s%s",
			    size, s->name.data, why != NULL ? ": " : "", why != NULL ? why : "");
}

/* Texts are copied into the arena, since the lock does not protect them afterwards. */
static bool put_one(sp_version_statuses *out, int64_t version, sp_version_state state, int code,
		    const char *why, sp_arena *arena)
{
	sp_version_status status = {version, state, code, {"", 0}};

	if (code != 0) {
		status.message = sp_bytes_of(why);
		status.message.data = sp_arena_text(arena, status.message);
	}
	if (status.message.data == NULL)
		return false;
	sp_version_statuses_put(out, &status);
	return true;
}

static bool put_units(sp_version_statuses *out, const sp_managed_model *model, sp_arena *arena)
{
	size_t kept = model->past_count < SP_PAST_VERSIONS ? model->past_count : SP_PAST_VERSIONS;
	bool fits = true;

	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next) {
		sp_version_state state = sp_unit_state(unit);
		bool failed = state == SP_VERSION_END;

		if (unit->version >= 0 && (!unit->follows || unit->state != SP_VERSION_AVAILABLE))
			fits &= put_one(out, unit->version, state,
					failed ? sp_tensorflow_code(unit->error.status) : 0,
					unit->error.text, arena);
	}
	for (size_t i = 0; i < kept; i++)
		fits &= put_one(out, model->past[i].version, SP_VERSION_END, model->past[i].code,
				model->past[i].why, arena);
	return fits;
}

/* Why a processor that has no version yet has failed; NULL: none has. */
static const char *why_without_version(const sp_managed_model *model, sp_arena *arena)
{
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->version < 0 && unit->error.status != SP_OK)
			return sp_arena_text(arena, sp_bytes_of(unit->error.text));
	return NULL;
}

/* Holds the processor of the unit that follows a folder; NULL: none is open. */
static sp_served_model *hold_following(const sp_managed_model *model)
{
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->follows && unit->state == SP_VERSION_AVAILABLE) {
			atomic_fetch_add(&unit->served->users, 1);
			return unit->served;
		}
	return NULL;
}

/*
 * Adds what a processor reports of the folder that it follows; its live version is available,
 * whatever the report calls it.
 */
static sp_status put_following(sp_version_statuses *out, const sp_served_model *served,
			       sp_arena *arena, sp_error *err)
{
	serving_processor_handle *live = serving_processor_acquire(served->processor);
	const sp_version_status status = {.version = sp_served_model_version_of(served, live),
					  .state = SP_VERSION_AVAILABLE};
	sp_versions_report report;

	serving_processor_release(live);
	SP_TRY(sp_versions_report_ask(&report, served->processor, arena, err));
	sp_version_statuses_put_report(out, &report);
	sp_version_statuses_put(out, &status);
	return SP_OK;
}

/* Leaves only that version; SP_ANY_VERSION: the newest that is available, or else the newest. */
static bool narrow(sp_version_statuses *list, int64_t version)
{
	const sp_version_status *one = NULL;

	for (size_t i = 0; i < list->count && one == NULL; i++)
		if (version != SP_ANY_VERSION ? list->items[i].version == version
					      : list->items[i].state == SP_VERSION_AVAILABLE)
			one = &list->items[i];
	if (one == NULL && version == SP_ANY_VERSION && list->count != 0)
		one = &list->items[0];
	if (one == NULL)
		return false;
	list->items[0] = *one;
	list->count = 1;
	return true;
}

sp_status sp_models_statuses(sp_models *models, const sp_model_selector *selector,
			     sp_version_statuses *out, sp_arena *arena, sp_error *err)
{
	bool all = !selector->has_version && selector->label.size == 0;
	int64_t version = selector->version;
	sp_served_model *served = NULL;
	const sp_managed_model *model;
	const char *why = NULL;
	sp_status status = SP_OK;

	out->count = 0;
	pthread_mutex_lock(&models->lock);
	model = sp_models__find(models, selector->name);
	if (model != NULL && selector->label.size != 0 &&
	    !sp_models__find_label(model, selector->label, &version)) {
		status = fail_label(selector->label, err);
	} else if (model != NULL && !put_units(out, model, arena)) {
		status = sp_no_memory(err, "the versions");
	} else if (model != NULL) {
		served = hold_following(model);
		why = why_without_version(model, arena);
	}
	pthread_mutex_unlock(&models->lock);
	if (served != NULL) {
		status = put_following(out, served, arena, err);
		atomic_fetch_sub(&served->users, 1);
	}
	if (status == SP_OK && (out->count == 0 || (!all && !narrow(out, version))))
		status = fail_no_status(selector, why, err);
	return status;
}
