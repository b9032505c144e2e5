#include <malloc.h>
#include <string.h>

#include "api/host/model/models_internal.h"
#include "api/host/model/version_policy.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

/* How often the users of a version that is to go are looked at. */
static const int64_t drain_ns = 5 * INT64_C(1000000);

static const int64_t second_ns = INT64_C(1000000000);

enum { MAX_FILE_BYTES = 16 << 20 };

/* Waits for a change or that time. */
static void wait_until(sp_models *models, int64_t until_ns)
{
	struct timespec until = {until_ns / second_ns, until_ns % second_ns};

	if (until_ns == INT64_MAX)
		pthread_cond_wait(&models->changed, &models->lock);
	else
		pthread_cond_timedwait(&models->changed, &models->lock, &until);
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --------------------------------------------------------------------- what is next */

/* As sp_version_policy_next().  *due_ns becomes earlier if a load waits for its time. */
static sp_unit *next_step(const sp_managed_model *model, int64_t *due_ns)
{
	int64_t now_ns = sp_clock_now_ns();

	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->wanted && unit->state == SP_VERSION_START && unit->due_ns > now_ns)
			*due_ns = earlier(*due_ns, unit->due_ns);
	return sp_version_policy_next(model->units, now_ns);
}

/* Takes a version away from requests.  Those that have it go on; the manager closes it. */
static void retire(sp_models *models, sp_unit *unit)
{
	serving_processor_handle *live = serving_processor_acquire(unit->served->processor);

	/* It is remembered by the version that it served last. */
	unit->version = sp_served_model_version_of(unit->served, live);
	serving_processor_release(live);
	unit->state = SP_VERSION_UNLOADING;
	if (!sp_models__publish(models))
		unit->state = SP_VERSION_AVAILABLE; /* requests may still find it */
	pthread_cond_broadcast(&models->changed);
}

/* Retires the versions that may go; returns the unit to load next, or NULL. */
static sp_unit *next_load(sp_models *models, sp_managed_model **of, int64_t *due_ns)
{
	for (sp_managed_model *model = models->first; model != NULL; model = model->next) {
		sp_unit *unit;

		while ((unit = next_step(model, due_ns)) != NULL &&
		       unit->state == SP_VERSION_AVAILABLE) {
			retire(models, unit);
			if (unit->state != SP_VERSION_UNLOADING)
				return NULL;
		}
		if (unit != NULL && model->config != NULL) {
			*of = model;
			return unit;
		}
	}
	return NULL;
}

/* -------------------------------------------------------------------------- loading */

static sp_status make_served(const sp_models *models, const sp_managed_model *model,
			     const sp_unit *unit, sp_served_model **out, sp_error *err)
{
	const sp_model_config *config = model->config;
	const sp_flags *flags = models->flags;
	const sp_served_source source = {
		.model_name = model->public.name,
		.path = unit->path,
		.processor_config = config->processor_config,
		.signature_name = config->signature_name,
		.saved_model_tags = config->saved_model_tags,
		.log_format = flags->log_format,
		.log_level = flags->log_level,
		.session_num = config->session_num != 0 ? config->session_num : models->session_num,
		.timeout_ms = flags->rest_api_timeout_in_ms,
		.batching = config->batching != NULL ? config->batching : models->batching,
	};

	return sp_served_model_create(out, &source, unit->follows ? -1 : unit->version, err);
}

/*
 * A version that has failed is loaded again after a while, a limited number of times.  For a
 * processor_config there is no limit, since no newer version replaces it.
 */
static void note_failure(const sp_models *models, const sp_managed_model *model, sp_unit *unit)
{
	const sp_flags *flags = models->flags;
	bool again = !models->strict &&
		     (unit->path == NULL || unit->attempts < flags->max_num_load_retries);
	const char *outer;

	unit->attempts++;
	unit->state = again ? SP_VERSION_START : SP_VERSION_END;
	unit->due_ns = sp_clock_now_ns() + flags->load_retry_interval_micros * 1000;
	if (models->strict)
		return;
	outer = sp_log_set_subject(model->public.name);
	sp_log(SP_LOG_ERROR, "%s: %s%s", unit->path != NULL ? unit->path : "its configuration",
	       unit->error.text, again ? "; it will be tried again" : "");
	sp_log_set_subject(outer);
}

/* Gives the lock up while the version is opened, or is closed after a failure. */
static void load(sp_models *models, sp_managed_model *model, sp_unit *unit)
{
	sp_served_model *served = NULL;
	sp_error err = {SP_OK, ""};
	sp_status status = make_served(models, model, unit, &served, &err);

	unit->state = SP_VERSION_LOADING;
	atomic_fetch_add(&models->loading, 1);
	pthread_mutex_unlock(&models->lock);
	if (status == SP_OK)
		status = sp_served_model_open(served, &err);
	if (status != SP_OK) {
		sp_served_model_destroy(served);
		malloc_trim(0);
	}
	pthread_mutex_lock(&models->lock);
	atomic_fetch_sub(&models->loading, 1);
	if (status == SP_OK) {
		unit->served = served;
		unit->state = SP_VERSION_AVAILABLE;
		unit->attempts = 0;
		unit->error.status = SP_OK;
	} else {
		unit->error = err;
		unit->error.status = status;
		note_failure(models, model, unit);
	}
	sp_models__drop_unwanted(model);
	/* Without memory for a table the version is in the next one that is made. */
	(void)sp_models__publish(models);
	pthread_cond_broadcast(&models->changed);
}

static void load_all(void *context)
{
	sp_models *models = context;

	pthread_mutex_lock(&models->lock);
	while (!atomic_load(&models->closing)) {
		int64_t due_ns = INT64_MAX;
		sp_managed_model *model;
		sp_unit *unit = next_load(models, &model, &due_ns);

		if (unit != NULL)
			load(models, model, unit);
		else
			wait_until(models, due_ns);
	}
	pthread_mutex_unlock(&models->lock);
}

/* -------------------------------------------------------- polling and unloading */

/* Closes a version that no request has any more, without the lock. */
static void close_unit(sp_models *models, sp_managed_model *model, sp_unit *unit)
{
	sp_served_model *served = unit->served;

	unit->served = NULL;
	pthread_mutex_unlock(&models->lock);
	sp_served_model_destroy(served);
	malloc_trim(0); /* the memory goes back to the system */
	pthread_mutex_lock(&models->lock);
	sp_log(SP_LOG_INFO, "model %s: version %lld is unloaded", model->public.name,
	       (long long)unit->version);
	sp_models__drop_unit(model, unit);
	pthread_cond_broadcast(&models->changed);
}

/*
 * Polls the folder or closes a version, if one of them is due.  False: neither is; *due_ns becomes
 * earlier if one will be.
 */
static bool tend(sp_models *models, sp_managed_model *model, int64_t *due_ns)
{
	if (model->config != NULL && model->poll_ns <= sp_clock_now_ns()) {
		sp_models__poll(models, model);
		return true;
	}
	if (model->config != NULL)
		*due_ns = earlier(*due_ns, model->poll_ns);
	for (sp_unit *unit = model->units; unit != NULL; unit = unit->next) {
		if (unit->state != SP_VERSION_UNLOADING)
			continue;
		if (atomic_load(&unit->served->users) == 0) {
			close_unit(models, model, unit);
			return true;
		}
		*due_ns = earlier(*due_ns, sp_clock_now_ns() + drain_ns);
	}
	return false;
}

static void manage(void *context)
{
	sp_models *models = context;

	pthread_mutex_lock(&models->lock);
	while (!atomic_load(&models->closing)) {
		int64_t due_ns = INT64_MAX;
		bool done = false;

		for (sp_managed_model *model = models->first; model != NULL; model = model->next)
			done |= tend(models, model, &due_ns);
		if (!done)
			wait_until(models, due_ns);
	}
	pthread_mutex_unlock(&models->lock);
}

/* -------------------------------------------------------- the configuration file */

/* Takes over the file if it has changed, or by order. */
static sp_status read_again(sp_models *models, bool ordered, sp_error *err)
{
	const char *path = models->flags->model_config_file;
	size_t size;
	char *text;
	bool same;

	SP_TRY(sp_file_read(&text, &size, path, MAX_FILE_BYTES, err));
	same = models->file_text != NULL && strcmp(models->file_text, text) == 0;
	sp_free(models->file_text);
	models->file_text = text;
	if (same && !ordered)
		return SP_OK;
	SP_TRY(sp_models_reload(models, (sp_bytes){text, size}, err));
	sp_log(SP_LOG_INFO, "%s is in effect", path);
	return SP_OK;
}

/* Waits until the file is to be read; *ordered says by whom. */
static bool wait_for_turn(sp_models *models, bool *ordered)
{
	int64_t wait_s = models->flags->model_config_file_poll_wait_seconds;
	int64_t due_ns = wait_s > 0 ? sp_clock_now_ns() + wait_s * second_ns : INT64_MAX;
	bool closing;

	pthread_mutex_lock(&models->lock);
	while (!models->reload_file && !atomic_load(&models->closing) && sp_clock_now_ns() < due_ns)
		wait_until(models, due_ns);
	*ordered = models->reload_file;
	models->reload_file = false;
	closing = atomic_load(&models->closing);
	pthread_mutex_unlock(&models->lock);
	return !closing;
}

static void watch(void *context)
{
	sp_models *models = context;
	bool ordered;
	sp_error err;

	while (wait_for_turn(models, &ordered))
		if (read_again(models, ordered, &err) != SP_OK)
			sp_log(SP_LOG_ERROR, "%s: %s", models->flags->model_config_file, err.text);
}

/* -------------------------------------------------------------------------- threads */

sp_status sp_models__start_threads(sp_models *models, sp_error *err)
{
	int64_t loaders = models->flags->num_load_threads;

	SP_TRY(sp_thread_group_create(&models->loaders, loaders > 0 ? (size_t)loaders : 1, "loader",
				      load_all, models, err));
	SP_TRY(sp_thread_group_create(&models->manager, 1, "models", manage, models, err));
	if (models->flags->model_config_file == NULL)
		return SP_OK;
	return sp_thread_group_create(&models->watcher, 1, "config", watch, models, err);
}

void sp_models__join_threads(sp_models *models)
{
	pthread_mutex_lock(&models->lock);
	atomic_store(&models->closing, true);
	pthread_cond_broadcast(&models->changed);
	pthread_mutex_unlock(&models->lock);
	sp_thread_group_destroy(models->watcher);
	sp_thread_group_destroy(models->loaders);
	sp_thread_group_destroy(models->manager);
}
