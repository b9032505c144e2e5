#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/model/models_internal.h"
#include "api/host/model/version_policy.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/folder.h"
#include "base/log.h"

/* ------------------------------------------------------------------------- units */

void sp_models__retry(sp_unit *unit)
{
	unit->state = SP_VERSION_START;
	unit->attempts = 0;
	unit->due_ns = 0;
}

static void remember(sp_managed_model *model, const sp_unit *unit)
{
	sp_past_version *past = &model->past[model->past_count % SP_PAST_VERSIONS];
	bool failed = unit->state == SP_VERSION_END;

	if (unit->version < 0 || unit->state == SP_VERSION_START)
		return;
	*past = (sp_past_version){.version = unit->version,
				  .code = failed ? sp_tensorflow_code(unit->error.status) : 0};
	if (failed)
		snprintf(past->why, sizeof(past->why), "%.*s", (int)sizeof(past->why) - 1,
			 unit->error.text);
	model->past_count++;
}

void sp_models__drop_unit(sp_managed_model *model, sp_unit *unit)
{
	sp_unit **link = &model->units;

	while (*link != unit)
		link = &(*link)->next;
	*link = unit->next;
	remember(model, unit);
	sp_served_model_destroy(unit->served);
	sp_free(unit->path);
	sp_free(unit);
}

bool sp_models__is_settled(const sp_managed_model *model)
{
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->wanted && unit->attempts == 0 &&
		    (unit->state == SP_VERSION_START || unit->state == SP_VERSION_LOADING))
			return false;
	return model->polled;
}

void sp_models__tell_missing(const sp_managed_model *model, char out[SP_UNREADY_SIZE])
{
	const sp_error *why = &model->poll_error;

	out[0] = '\0';
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->wanted || unit->state == SP_VERSION_AVAILABLE)
			return;
	if (!model->polled || model->config == NULL || model->config->base_path == NULL)
		return;
	if (why->status == SP_OK || why->status == SP_NOT_FOUND)
		snprintf(out, SP_UNREADY_SIZE, "no version to serve has been found in %s yet",
			 model->config->base_path);
	else
		snprintf(out, SP_UNREADY_SIZE, "no version to serve has been found yet: %s",
			 why->text);
}

bool sp_models__is_available(const sp_managed_model *model, int64_t version)
{
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next) {
		serving_processor_handle *live;
		bool found;

		if (unit->state != SP_VERSION_AVAILABLE)
			continue;
		live = serving_processor_acquire(unit->served->processor);
		found = version < 0 || sp_served_model_version_of(unit->served, live) == version;
		serving_processor_release(live);
		if (found)
			return true;
	}
	return false;
}

/* ----------------------------------------------------------------------- the folder */

typedef struct found_version {
	int64_t version;
	char name[NAME_MAX + 1];
} found_version;

typedef struct found_versions {
	bool is_model;        /* the folder is a SavedModel itself, with the version items[0] */
	found_version *items; /* [count], newest first */
	size_t count;
} found_versions;

static int compare_versions(const void *a, const void *b)
{
	const found_version *one = a, *other = b;

	return (one->version < other->version) - (one->version > other->version);
}

static sp_status add_found(found_versions *out, int64_t version, const char *name, sp_error *err)
{
	found_version *larger;

	if ((out->count & (out->count - 1)) == 0) {
		larger = sp_alloc_resize(out->items, out->count != 0 ? 2 * out->count : 1,
					 sizeof(*larger));
		if (larger == NULL)
			return sp_no_memory(err, "the versions");
		out->items = larger;
	}
	out->items[out->count].version = version;
	snprintf(out->items[out->count].name, sizeof(out->items[0].name), "%s", name);
	out->count++;
	return SP_OK;
}

/* The folders whose names are numbers; the first of those with equal numbers counts. */
static sp_status list_numbered(found_versions *out, const char *base, sp_error *err)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_status status;
	sp_folder folder;
	size_t kept = 0;

	SP_NEED_MEMORY(arena, err, "the versions");
	status = sp_folder_list(&folder, base, arena, err);
	for (size_t i = 0; status == SP_OK && i < folder.count; i++) {
		int64_t version = sp_version_of_folder(base, folder.names[i]);

		if (version >= 0)
			status = add_found(out, version, folder.names[i], err);
	}
	sp_arena_destroy(arena);
	if (out->count != 0)
		qsort(out->items, out->count, sizeof(out->items[0]), compare_versions);
	for (size_t i = 0; i < out->count; i++)
		if (kept == 0 || out->items[kept - 1].version != out->items[i].version)
			out->items[kept++] = out->items[i];
	out->count = kept;
	return status;
}

static sp_status read_folder(found_versions *out, const char *base, sp_error *err)
{
	sp_model_folder folder;

	*out = (found_versions){0};
	sp_folder_refresh(base);
	SP_TRY(sp_model_folder_find(&folder, base, err));
	out->is_model = !folder.follows;
	return out->is_model ? add_found(out, folder.version, "", err)
			     : list_numbered(out, base, err);
}

/* -------------------------------------------------------------------- reconciliation */

static sp_unit *find_unit(const sp_managed_model *model, const char *path, bool follows)
{
	sp_unit *unit = model->units;

	while (unit != NULL &&
	       (unit->is_outdated || unit->follows != follows ||
		unit->state == SP_VERSION_UNLOADING ||
		(path == NULL || unit->path == NULL ? path != unit->path
						    : strcmp(path, unit->path) != 0)))
		unit = unit->next;
	return unit;
}

/* Makes that version wanted; false when out of memory. */
static bool want(sp_managed_model *model, const char *path, bool follows, int64_t version)
{
	sp_unit *unit = find_unit(model, path, follows);

	if (unit == NULL) {
		unit = sp_alloc_zero(1, sizeof(*unit));
		if (unit == NULL || (path != NULL && (unit->path = sp_alloc_text(path)) == NULL)) {
			sp_free(unit);
			return false;
		}
		unit->follows = follows;
		unit->state = SP_VERSION_START;
		unit->next = model->units;
		model->units = unit;
	} else if (unit->state == SP_VERSION_END && unit->version != version) {
		sp_models__retry(unit); /* there is another version in the folder */
	}
	unit->version = version;
	unit->wanted = true;
	return true;
}

static bool want_numbered(sp_managed_model *model, const char *base, const found_versions *found)
{
	bool fits = true;

	for (size_t i = 0; fits && i < found->count; i++) {
		const found_version *item = &found->items[i];
		char path[PATH_MAX];

		if (sp_version_policy_wants(&model->config->policy, item->version, i) &&
		    snprintf(path, sizeof(path), "%s/%s", base, item->name) < (int)sizeof(path))
			fits = want(model, path, false, item->version);
	}
	return fits;
}

/* Units that are served are unloaded later (version_policy.h). */
void sp_models__drop_unwanted(sp_managed_model *model)
{
	sp_unit *next;

	for (sp_unit *unit = model->units; unit != NULL; unit = next) {
		next = unit->next;
		if (!unit->wanted &&
		    (unit->state == SP_VERSION_START || unit->state == SP_VERSION_END))
			sp_models__drop_unit(model, unit);
	}
}

static void reconcile(sp_managed_model *model, const char *base, const found_versions *found)
{
	const sp_version_policy *policy = &model->config->policy;
	bool fits;

	for (sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		unit->wanted = false;
	if (base == NULL)
		fits = want(model, NULL, true, -1);
	else if (found->is_model)
		fits = want(model, base, false, found->items[0].version);
	else if (policy->kind == SP_POLICY_LATEST && policy->latest == 1)
		fits = want(model, base, true, found->items[0].version);
	else
		fits = want_numbered(model, base, found);
	if (!fits)
		sp_log(SP_LOG_ERROR, "model %s: no memory for its versions", model->public.name);
	sp_models__drop_unwanted(model);
}

/* Logs why the folder cannot be read, once until the reason changes. */
static void note_status(sp_managed_model *model, sp_status status, const sp_error *err)
{
	if (status != SP_OK && status != model->poll_error.status)
		sp_log(SP_LOG_WARNING, "model %s: %s; what is served of it stays",
		       model->public.name, err->text);
	if (status != SP_OK)
		model->poll_error = *err;
	model->poll_error.status = status;
}

/*
 * Reads the folder without the lock.  If it cannot be read or has no version, all units stay as
 * they are, so that models are served on while their storage is away.
 */
void sp_models__poll(sp_models *models, sp_managed_model *model)
{
	bool has_path = model->config->base_path != NULL;
	char *base = has_path ? sp_alloc_text(model->config->base_path) : NULL;
	uint64_t changes = model->changes;
	int64_t wait_s = models->flags->file_system_poll_wait_seconds;
	found_versions found = {0};
	sp_status status = SP_OK;
	sp_error err;

	if (has_path && base == NULL)
		return;
	pthread_mutex_unlock(&models->lock);
	if (has_path)
		status = read_folder(&found, base, &err);
	pthread_mutex_lock(&models->lock);
	if (model->changes == changes) {
		note_status(model, status, &err);
		if (status == SP_OK)
			reconcile(model, base, &found);
		model->poll_ns = wait_s > 0 && has_path
					 ? sp_clock_now_ns() + wait_s * INT64_C(1000000000)
					 : INT64_MAX;
		model->polled = true;
		pthread_cond_broadcast(&models->changed);
	}
	sp_free(found.items);
	sp_free(base);
}
