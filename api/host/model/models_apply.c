#include <string.h>

#include "api/host/model/models_internal.h"
#include "base/alloc.h"
#include "base/log.h"

/* -------------------------------------------------------------------- taking over */

sp_managed_model *sp_models__find(const sp_models *models, sp_bytes name)
{
	sp_managed_model *model = models->first;

	while (model != NULL && !sp_bytes_equal_text(name, model->public.name))
		model = model->next;
	return model;
}

/* The model of that name, made if it was never configured before; NULL when out of memory. */
static sp_managed_model *find_or_add(sp_models *models, const char *name)
{
	sp_managed_model *model = sp_models__find(models, sp_bytes_of(name)), **last;

	if (model != NULL)
		return model;
	model = sp_alloc_zero(1, sizeof(*model));
	if (model == NULL || (model->public.name = sp_alloc_text(name)) == NULL) {
		sp_free(model);
		return NULL;
	}
	/* Models beyond the last number are served, but not counted. */
	if (models->count < SP_MAX_MODELS) {
		model->public.number = ++models->count;
		atomic_store(&models->by_number[model->public.number - 1], &model->public);
	}
	/* At the end: models are loaded in the order of the configuration. */
	for (last = &models->first; *last != NULL; last = &(*last)->next)
		;
	*last = model;
	return model;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether versions loaded by one configuration must be loaded again for the other. */
static bool must_reload(const sp_model_config *a, const sp_model_config *b)
{
	bool same_batching = a->batching == NULL || b->batching == NULL
				     ? a->batching == b->batching
				     : sp_batching_configs_are_same(a->batching, b->batching);

	return !same_batching || a->session_num != b->session_num ||
	       !is_same_text(a->processor_config, b->processor_config) ||
	       !is_same_text(a->signature_name, b->signature_name) ||
	       !is_same_text(a->saved_model_tags, b->saved_model_tags);
}

static sp_status check_platforms(const sp_models *models, const sp_model_configs *configs,
				 sp_error *err)
{
	for (size_t i = 0; i < configs->count; i++) {
		const sp_model_config *new = &configs->items[i];
		const sp_managed_model *model = sp_models__find(models, sp_bytes_of(new->name));
		const sp_model_config *old = model != NULL ? model->config : NULL;

		if (old != NULL && *old->platform != '\0' && *new->platform != '\0' &&
		    strcmp(old->platform, new->platform) != 0)
			return sp_error_set(err, SP_INVALID,
					    "model %s: the model_platform cannot change from %s "
					    "to %s",
					    new->name, old->platform, new->platform);
	}
	return SP_OK;
}

/* One with these values, made if there never was one before; NULL when out of memory. */
static const sp_sampling *find_sampling(sp_managed_model *model,
					const sp_configured_samples *samples)
{
	sp_sampling *sampling = model->samplings;

	while (sampling != NULL &&
	       (sampling->rate != samples->rate || strcmp(sampling->prefix, samples->prefix) != 0))
		sampling = sampling->next;
	if (sampling != NULL)
		return sampling;
	sampling = sp_alloc_zero(1, sizeof(*sampling));
	if (sampling == NULL || (sampling->prefix = sp_alloc_text(samples->prefix)) == NULL) {
		sp_free(sampling);
		return NULL;
	}
	sampling->rate = samples->rate;
	sampling->below = (uint64_t)(samples->rate * 4294967296.0);
	sampling->next = model->samplings;
	model->samplings = sampling;
	return sampling;
}

/* Why no log can be written by this configuration; NULL: one can. */
static const char *why_no_log(const sp_configured_samples *samples)
{
	const char *type = samples->type != NULL ? samples->type : "";

	if (*type != '\0' && strcmp(type, "file") != 0 && strcmp(type, "tfrecord") != 0)
		return "the type of its log_collector_config is not \"file\"";
	if (samples->prefix == NULL || *samples->prefix == '\0')
		return "its log_collector_config has no filename_prefix";
	return NULL;
}

/* A log that cannot be written is only a warning, as TensorFlow Serving starts without it. */
static void set_sampling(sp_managed_model *model, const sp_configured_samples *samples)
{
	const char *why = samples->rate > 0 ? why_no_log(samples) : NULL;
	const sp_sampling *sampling = NULL;

	if (samples->rate > 0 && why == NULL && (sampling = find_sampling(model, samples)) == NULL)
		why = "there is no memory for it";
	if (why != NULL)
		sp_log(SP_LOG_WARNING, "model %s: no requests are logged: %s", model->public.name,
		       why);
	atomic_store_explicit(&model->public.sampling, sampling, memory_order_release);
}

static void configure(sp_managed_model *model, const sp_model_config *config)
{
	/* They are unloaded once the versions that replace them are available. */
	if (model->config != NULL && must_reload(model->config, config))
		for (sp_unit *unit = model->units; unit != NULL; unit = unit->next)
			unit->is_outdated = true;
	model->polled = false;
	/* Every configuration gives a version that has failed another chance. */
	for (sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		if (unit->state == SP_VERSION_END)
			sp_models__retry(unit);
	model->config = config;
	atomic_store(&model->public.max_requests, (uint64_t)config->max_requests);
	if (!config->samples.stays)
		set_sampling(model, &config->samples);
	model->poll_ns = 0;
	model->changes++;
}

static void clear_samplings(sp_managed_model *model)
{
	sp_sampling *next;

	for (sp_sampling *sampling = model->samplings; sampling != NULL; sampling = next) {
		next = sampling->next;
		sp_free(sampling->prefix);
		sp_free(sampling);
	}
}

static void remove_model(sp_managed_model *model)
{
	for (sp_unit *unit = model->units; unit != NULL; unit = unit->next)
		unit->wanted = false;
	sp_models__drop_unwanted(model);
	sp_models__clear_labels(model);
	model->config = NULL;
	model->changes++;
}

static bool is_listed(const sp_model_configs *configs, const char *name)
{
	const sp_model_config *config = sp_model_configs_find(configs, sp_bytes_of(name));

	return config != NULL && !config->is_unloaded;
}

sp_status sp_models__take_over(sp_models *models, sp_model_configs *configs, const char *only,
			       sp_error *err)
{
	SP_TRY(check_platforms(models, configs, err));
	for (size_t i = 0; i < configs->count; i++)
		if (find_or_add(models, configs->items[i].name) == NULL)
			return sp_no_memory(err, "a model");
	for (sp_managed_model *model = models->first; model != NULL; model = model->next)
		if (model->config != NULL && !is_listed(configs, model->public.name)) {
			sp_log(SP_LOG_INFO, "model %s is not configured any more",
			       model->public.name);
			remove_model(model);
		}
	for (size_t i = 0; i < configs->count; i++) {
		const sp_model_config *config = &configs->items[i];
		sp_managed_model *model = sp_models__find(models, sp_bytes_of(config->name));

		if (config->is_unloaded)
			continue;
		if (only == NULL || strcmp(only, config->name) == 0)
			configure(model, config);
		else
			model->config = config; /* a copy of the one before */
	}
	models->configs = configs;
	if (!sp_models__publish(models))
		return sp_no_memory(err, "the table of models");
	pthread_cond_broadcast(&models->changed);
	return SP_OK;
}

/* ------------------------------------------------------------------------- reload */

sp_status sp_models__wait_settled(sp_models *models, const sp_managed_model *only, sp_error *err)
{
	while (!atomic_load(&models->closing)) {
		const sp_managed_model *model = models->first;

		while (model != NULL &&
		       (!sp_models__is_selected(model, only) || sp_models__is_settled(model)))
			model = model->next;
		if (model == NULL)
			return SP_OK;
		pthread_cond_wait(&models->changed, &models->lock);
	}
	return sp_error_set(err, SP_BUSY, "the host ends");
}

sp_status sp_models__fail_available(const sp_managed_model *model, const sp_unit *failed,
				    sp_error *err)
{
	const char *path = model->config->base_path;

	if (failed != NULL)
		return sp_error_set(err, SP_IO, "model %s did not become available: %s",
				    model->public.name, failed->error.text);
	return sp_error_set(err, SP_IO,
			    "model %s did not become available: %s has no version of it",
			    model->public.name, path != NULL ? path : "its configuration");
}

/* SP_IO if a configured model has no available version. */
static sp_status check_available(const sp_models *models, sp_error *err)
{
	for (const sp_managed_model *model = models->first; model != NULL; model = model->next) {
		const sp_unit *failed = model->units;

		if (model->config == NULL || sp_models__is_available(model, -1))
			continue;
		while (failed != NULL && failed->error.status == SP_OK)
			failed = failed->next;
		return sp_models__fail_available(model, failed, err);
	}
	return SP_OK;
}

sp_status sp_models__complete(const sp_models *models, sp_model_configs *configs, sp_error *err)
{
	const sp_flags *flags = models->flags;

	SP_TRY(sp_model_configs_add_traffic(
		configs, flags->traffic_split, flags->traffic_sticky_field,
		flags->traffic_sticky_header, flags->traffic_shadow, err));
	return sp_model_configs_check(configs, err);
}

static sp_status apply_locked(sp_models *models, sp_model_configs *configs, sp_error *err)
{
	sp_status available, labels;
	sp_error other;

	SP_TRY(sp_models__take_over(models, configs, NULL, err));
	SP_TRY(sp_models__wait_settled(models, NULL, err));
	available = check_available(models, err);
	labels = sp_models__check_labels(models, NULL, available == SP_OK ? err : &other);
	if (labels == SP_OK)
		labels = sp_models__set_labels(models, NULL, available == SP_OK ? err : &other);
	return available != SP_OK ? available : labels;
}

/* Names the models whose orders the new configuration replaces. */
static void log_end_of_orders(const sp_model_configs *before)
{
	for (size_t i = 0; i < before->count; i++)
		if (before->items[i].by_order)
			sp_log(SP_LOG_INFO,
			       "model %s: the configuration takes the place of the orders about it",
			       before->items[i].name);
}

sp_status sp_models_apply(sp_models *models, sp_model_configs *configs, sp_error *err)
{
	sp_status status = sp_models__complete(models, configs, err);
	sp_model_configs *before;

	if (status != SP_OK) {
		sp_model_configs_destroy(configs);
		return status;
	}
	pthread_mutex_lock(&models->applying);
	pthread_mutex_lock(&models->lock);
	before = models->configs;
	status = apply_locked(models, configs, err);
	if (models->configs == configs)
		log_end_of_orders(before);
	sp_model_configs_destroy(models->configs == configs ? before : configs);
	pthread_mutex_unlock(&models->lock);
	pthread_mutex_unlock(&models->applying);
	return status;
}

sp_status sp_models_reload(sp_models *models, sp_bytes text, sp_error *err)
{
	sp_model_configs *configs;

	SP_TRY(sp_model_configs_parse(&configs, text, err));
	return sp_models_apply(models, configs, err);
}

bool sp_models_reload_file(sp_models *models)
{
	if (models->watcher == NULL)
		return false;
	pthread_mutex_lock(&models->lock);
	models->reload_file = true;
	pthread_cond_broadcast(&models->changed);
	pthread_mutex_unlock(&models->lock);
	return true;
}

/* ------------------------------------------------------------------------ creation */

/* The labels of --version_labels, which are those of whatever version is served. */
static sp_status add_flag_labels(sp_model_config *config, const char *list, sp_arena *arena,
				 sp_error *err)
{
	sp_configured_label *labels = sp_arena_array(arena, strlen(list) + 1, sizeof(*labels));

	for (; labels != NULL && *list != '\0'; list += *list == ',') {
		size_t size = strcspn(list, ",");

		if (size == 0)
			continue;
		labels[config->label_count].version = -1;
		labels[config->label_count].label = sp_arena_text(arena, (sp_bytes){list, size});
		if (labels[config->label_count++].label == NULL)
			return sp_no_memory(err, "the labels");
		list += size;
	}
	config->labels = labels;
	return labels != NULL ? SP_OK : sp_no_memory(err, "the labels");
}

/* The one model of --model_base_path or --processor_config. */
static sp_status make_config(sp_model_configs **out, const sp_flags *flags, sp_error *err)
{
	sp_model_configs *configs = sp_model_configs_create(1);
	sp_status status;

	if (configs == NULL)
		return sp_no_memory(err, "the configuration of models");
	configs->items[0].name = flags->model_name;
	configs->items[0].base_path = flags->model_base_path;
	configs->items[0].saved_model_tags = flags->saved_model_tags;
	configs->items[0].signature_name = flags->signature_name;
	status = add_flag_labels(&configs->items[0], flags->version_labels, configs->arena, err);
	if (status == SP_OK && flags->processor_config != NULL)
		status = sp_model_config_read_processor(&configs->items[0].processor_config,
							flags->processor_config, configs->arena,
							err);
	if (status != SP_OK) {
		sp_model_configs_destroy(configs);
		return status;
	}
	*out = configs;
	return SP_OK;
}

static sp_status read_configs(sp_models *models, sp_model_configs **out, sp_error *err)
{
	const sp_flags *flags = models->flags;
	sp_model_folder folder;

	if (flags->model_config_file != NULL)
		return sp_model_configs_read(out, &models->file_text, flags->model_config_file,
					     err);
	if (models->strict && flags->model_base_path != NULL)
		SP_TRY(sp_model_folder_find(&folder, flags->model_base_path, err));
	return make_config(out, flags, err);
}

static sp_status create(sp_models *models, sp_error *err)
{
	const sp_flags *flags = models->flags;
	sp_served_source log = {.model_name = flags->model_name,
				.log_format = flags->log_format,
				.log_level = flags->log_level};
	sp_model_configs *configs;
	sp_status status;

	models->readers = sp_table_readers_create();
	if (models->readers == NULL)
		return sp_no_memory(err, "the models");
	sp_served_model_configure_log(&log);
	SP_TRY(read_configs(models, &configs, err));
	if (flags->processor_config != NULL) {
		log.processor_config = configs->items[0].processor_config;
		sp_served_model_configure_log(&log);
	}
	status = sp_models__complete(models, configs, err);
	pthread_mutex_lock(&models->lock);
	if (status == SP_OK)
		status = sp_models__take_over(models, configs, NULL, err);
	if (status == SP_OK)
		status = sp_models__set_labels(models, NULL, err);
	if (models->configs != configs)
		sp_model_configs_destroy(configs);
	pthread_mutex_unlock(&models->lock);
	return status;
}

sp_status sp_models_create(sp_models **out, const sp_flags *flags, int64_t session_num,
			   sp_error *err)
{
	sp_models *models = sp_alloc_zero(1, sizeof(*models));
	sp_status status;

	if (models == NULL)
		return sp_no_memory(err, "the models");
	models->flags = flags;
	models->session_num = session_num;
	models->strict = flags->model_config_file == NULL && !flags->wait_for_models;
	pthread_mutex_init(&models->applying, NULL);
	pthread_mutex_init(&models->lock, NULL);
	sp_condition_init(&models->changed);
	status = create(models, err);
	if (status != SP_OK) {
		sp_models_destroy(models);
		return status;
	}
	*out = models;
	return SP_OK;
}

/* Why the only model, given by flags, does not open. */
static sp_status first_failure(const sp_models *models, sp_error *err)
{
	for (const sp_unit *unit = models->first->units; unit != NULL; unit = unit->next)
		if (unit->state == SP_VERSION_END)
			return sp_error_set(err, unit->error.status, "%s", unit->error.text);
	return SP_OK;
}

sp_status sp_models_load(sp_models *models, sp_error *err)
{
	sp_status status;
	sp_error label;

	SP_TRY(sp_models__start_threads(models, err));
	pthread_mutex_lock(&models->lock);
	status = sp_models__wait_settled(models, NULL, err);
	if (status == SP_OK && models->strict)
		status = first_failure(models, err);
	else if (status == SP_OK && sp_models__check_labels(models, NULL, &label) != SP_OK)
		sp_log(SP_LOG_WARNING, "%s", label.text);
	models->strict = false; /* what a reload brings may fail, and be tried again */
	pthread_mutex_unlock(&models->lock);
	return status;
}

bool sp_models_are_loading(const sp_models *models)
{
	return atomic_load(&models->loading) != 0;
}

void sp_models_destroy(sp_models *models)
{
	sp_managed_model *next;

	if (models == NULL)
		return;
	sp_models__join_threads(models);
	sp_table_readers_destroy(models->readers);
	for (sp_managed_model *model = models->first; model != NULL; model = next) {
		next = model->next;
		while (model->units != NULL)
			sp_models__drop_unit(model, model->units);
		sp_models__clear_labels(model);
		clear_samplings(model);
		sp_free((void *)(uintptr_t)model->public.name);
		sp_free(model);
	}
	sp_model_configs_destroy(models->configs);
	sp_free(models->file_text);
	pthread_cond_destroy(&models->changed);
	pthread_mutex_destroy(&models->lock);
	pthread_mutex_destroy(&models->applying);
	sp_free(models);
}
