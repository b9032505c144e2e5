#include <stdio.h>

#include "api/host/model/models_internal.h"
#include "base/arena_list.h"
#include "base/log.h"
#include "base/utf8.h"

/*
 * An order changes a copy of the configuration in effect, which is then taken over as any other is
 * (models_apply.c).  If the order cannot be carried out, the former one is taken over again.
 */

enum { MAX_ORDERED = 1000 };

/* What an order changes. */
typedef struct change {
	const sp_model_order *order;
	const sp_managed_model *managed; /* NULL: the model was never configured */
	sp_model_configs *configs;       /* the copy */
	sp_model_config *config;         /* the model in it; NULL: it is not in it */
} change;

static const char *name_of(const change *c)
{
	return c->managed->public.name;
}

/* ------------------------------------------------------------------------ versions */

/* A version but this one that is available and will stay so; NULL: none is. */
static const sp_unit *find_other(const sp_managed_model *model, int64_t version)
{
	const sp_unit *unit = model->units;

	while (unit != NULL &&
	       (!unit->wanted || unit->version == version || unit->state != SP_VERSION_AVAILABLE))
		unit = unit->next;
	return unit;
}

/* The unit of a version; NULL: the model has none, or it is about to be unloaded. */
static const sp_unit *find_version(const sp_managed_model *model, int64_t version)
{
	const sp_unit *unit = model->units;

	while (unit != NULL && (!unit->wanted || unit->version != version))
		unit = unit->next;
	return unit;
}

static sp_status fail_version(const sp_managed_model *model, int64_t version, sp_error *err)
{
	return sp_error_set(err, SP_NOT_FOUND, "Could not find version %lld of model %s",
			    (long long)version, model->public.name);
}

/* SP_INVALID for a model that serves one version at a time, which the library chooses. */
static sp_status check_side_by_side(const change *c, sp_error *err)
{
	const sp_version_policy *policy = &c->config->policy;

	if (policy->kind != SP_POLICY_LATEST || policy->latest != 1)
		return SP_OK;
	return sp_error_set(err, SP_INVALID,
			    "model %s serves one version, the newest; the orders :pin and "
			    ":rollback have it serve another one",
			    name_of(c));
}

/* A version must stay while a label names it, and while no other one is available. */
static sp_status check_may_go(const change *c, sp_error *err)
{
	int64_t version = c->order->version;

	if (find_version(c->managed, version) == NULL)
		return fail_version(c->managed, version, err);
	for (size_t i = 0; i < c->config->label_count; i++)
		if (c->config->labels[i].version == version)
			return sp_error_set(err, SP_INVALID,
					    "model %s: version %lld has the label %s, which is to "
					    "be moved or removed first",
					    name_of(c), (long long)version,
					    c->config->labels[i].label);
	if (find_other(c->managed, version) == NULL)
		return sp_error_set(err, SP_INVALID,
				    "model %s has no available version besides %lld", name_of(c),
				    (long long)version);
	return SP_OK;
}

static sp_status order_version(const change *c, bool wanted, sp_error *err)
{
	sp_version_policy *policy = &c->config->policy;
	sp_ordered_version *ordered;

	for (size_t i = 0; i < policy->ordered_count; i++) {
		ordered = (sp_ordered_version *)(uintptr_t)&policy->ordered[i];
		if (ordered->version == c->order->version) {
			ordered->wanted = wanted;
			return SP_OK;
		}
	}
	if (policy->ordered_count == MAX_ORDERED)
		return sp_error_set(err, SP_INVALID,
				    "model %s: there are orders about %d versions already",
				    name_of(c), (int)MAX_ORDERED);
	ordered = sp_arena_append(c->configs->arena, &policy->ordered, &policy->ordered_count,
				  sizeof(*ordered));
	if (ordered == NULL)
		return sp_no_memory(err, "the configuration");
	*ordered = (sp_ordered_version){c->order->version, wanted};
	return SP_OK;
}

/* ------------------------------------------------------------------------- changes */

/* Replaces the configuration by the order's; without one an unloaded model is served again. */
static sp_status load_model(change *c, sp_error *err)
{
	sp_arena *arena = c->configs->arena;
	const char *name = sp_arena_text(arena, c->order->model);
	const char *text = sp_arena_text(arena, c->order->config);

	if (name == NULL || text == NULL)
		return sp_no_memory(err, "the configuration");
	if (c->order->config.size != 0) {
		if (c->config == NULL)
			SP_TRY(sp_model_configs_add(&c->config, c->configs, err));
		SP_TRY(sp_model_config_parse(c->config, name,
					     (sp_bytes){text, c->order->config.size}, arena, err));
		c->config->by_order = true;
	} else if (c->config == NULL) {
		return sp_error_set(err, SP_NOT_FOUND,
				    "model %.*s is not known; the order is to have its "
				    "configuration: {\"base_path\": ...}",
				    sp_bytes_shown(c->order->model, 512), c->order->model.data);
	}
	c->config->is_unloaded = false;
	return SP_OK;
}

static sp_status assign_label(const change *c, sp_error *err)
{
	sp_arena *arena = c->configs->arena;
	const sp_configured_label label = {sp_arena_text(arena, c->order->label),
					   c->order->version};

	if (label.label == NULL)
		return sp_no_memory(err, "a label");
	return sp_model_config_set_label(c->config, &label, arena, err);
}

static sp_status remove_label(const change *c, sp_error *err)
{
	sp_configured_label *labels = (sp_configured_label *)(uintptr_t)c->config->labels;
	size_t count = c->config->label_count, kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!sp_bytes_equal_text(c->order->label, labels[i].label))
			labels[kept++] = labels[i];
	c->config->label_count = kept;
	if (kept != count)
		return SP_OK;
	return sp_error_set(err, SP_NOT_FOUND, "model %s has no label %.*s", name_of(c),
			    sp_bytes_shown(c->order->label, 512), c->order->label.data);
}

/* Sets the labels in effect, which differ from a configuration whose labels were refused. */
static sp_status use_labels(const change *c, sp_error *err)
{
	c->config->label_count = 0;
	for (size_t i = 0; i < c->managed->label_count; i++) {
		sp_configured_label label = c->managed->labels[i];

		label.label = sp_arena_text(c->configs->arena, sp_bytes_of(label.label));
		if (label.label == NULL)
			return sp_no_memory(err, "a label");
		SP_TRY(sp_model_config_set_label(c->config, &label, c->configs->arena, err));
	}
	return SP_OK;
}

static sp_status make_change(change *c, sp_error *err)
{
	bool is_served = c->config != NULL && !c->config->is_unloaded;
	bool one_version = c->order->version >= 0;

	if (is_served)
		SP_TRY(use_labels(c, err));
	if (c->order->kind == SP_MODEL_ORDER_LOAD && !one_version)
		return load_model(c, err);
	if (!is_served)
		return sp_error_set(err, SP_NOT_FOUND, "Could not find any versions of model %.*s",
				    sp_bytes_shown(c->order->model, 512), c->order->model.data);
	c->config->by_order = true;
	switch (c->order->kind) {
	case SP_MODEL_ORDER_LOAD:
		if (c->order->config.size != 0)
			return sp_error_set(err, SP_INVALID,
					    "an order about one version has no configuration");
		SP_TRY(check_side_by_side(c, err));
		return order_version(c, true, err);
	case SP_MODEL_ORDER_UNLOAD:
		c->config->is_unloaded = !one_version;
		if (!one_version)
			return SP_OK;
		SP_TRY(check_side_by_side(c, err));
		SP_TRY(check_may_go(c, err));
		return order_version(c, false, err);
	case SP_MODEL_ORDER_ASSIGN:
		return assign_label(c, err);
	case SP_MODEL_ORDER_REMOVE:
		return remove_label(c, err);
	}
	return SP_OK;
}

/* -------------------------------------------------------------------------- effects */

/* While a folder cannot be looked at, its versions stay as they are. */
static sp_status check_folder(const sp_managed_model *model, sp_error *err)
{
	if (model->poll_error.status == SP_OK)
		return SP_OK;
	return sp_error_set(err, SP_IO, "model %s: %s cannot be read, or has no version",
			    model->public.name, model->config->base_path);
}

/* What is served must be what the configuration names: no version of another folder. */
static sp_status check_model(const sp_managed_model *model, sp_error *err)
{
	const sp_unit *failed = NULL;

	SP_TRY(check_folder(model, err));
	for (const sp_unit *unit = model->units; unit != NULL; unit = unit->next) {
		if (!unit->wanted)
			continue;
		if (!unit->is_outdated && unit->state == SP_VERSION_AVAILABLE)
			return SP_OK;
		if (failed == NULL && unit->error.status != SP_OK)
			failed = unit;
	}
	return sp_models__fail_available(model, failed, err);
}

static sp_status check_version(const sp_managed_model *model, int64_t version, sp_error *err)
{
	const sp_unit *unit = find_version(model, version);

	SP_TRY(check_folder(model, err));
	if (sp_models__is_available(model, version))
		return SP_OK;
	if (unit == NULL)
		return fail_version(model, version, err);
	return sp_error_set(err, SP_IO, "model %s: version %lld did not become available: %s",
			    model->public.name, (long long)version, unit->error.text);
}

/* The loaders take a version away from requests once another one is there to answer them. */
static sp_status wait_unloaded(sp_models *models, const sp_managed_model *model, int64_t version,
			       sp_error *err)
{
	SP_TRY(check_folder(model, err));
	while (sp_models__is_available(model, version)) {
		if (atomic_load(&models->closing))
			return sp_error_set(err, SP_BUSY, "the host ends");
		if (find_other(model, version) == NULL)
			return sp_error_set(err, SP_INVALID,
					    "model %s: no other version than %lld is available any "
					    "more",
					    model->public.name, (long long)version);
		pthread_cond_wait(&models->changed, &models->lock);
	}
	return SP_OK;
}

/* Waits until what was ordered is so. */
static sp_status wait_for(sp_models *models, const sp_managed_model *model,
			  const sp_model_order *order, sp_error *err)
{
	sp_configured_label label = {NULL, order->version};
	char name[1024];

	if (model->config == NULL) /* it is unloaded */
		return SP_OK;
	SP_TRY(sp_models__wait_settled(models, model, err));
	switch (order->kind) {
	case SP_MODEL_ORDER_LOAD:
		if (order->version >= 0)
			return check_version(model, order->version, err);
		SP_TRY(check_model(model, err));
		return sp_models__check_labels(models, model, err);
	case SP_MODEL_ORDER_UNLOAD:
		return wait_unloaded(models, model, order->version, err);
	case SP_MODEL_ORDER_ASSIGN:
		snprintf(name, sizeof(name), "%.*s", sp_bytes_shown(order->label, 512),
			 order->label.data);
		label.label = name;
		return sp_models__check_label(models, model, &label, err);
	case SP_MODEL_ORDER_REMOVE:
		break;
	}
	return SP_OK;
}

static sp_status carry_out(sp_models *models, const sp_model_order *order, sp_error *err)
{
	sp_model_configs *before = models->configs;
	change c = {.order = order, .managed = sp_models__find(models, order->model)};
	const sp_managed_model *model;
	const char *name;
	sp_status status;
	sp_error ignored;

	SP_TRY(sp_model_configs_copy(&c.configs, before, err));
	c.config = sp_model_configs_find(c.configs, order->model);
	status = make_change(&c, err);
	if (status == SP_OK)
		status = sp_models__complete(models, c.configs, err);
	if (status != SP_OK) {
		sp_model_configs_destroy(c.configs);
		return status;
	}
	name = c.config->name;
	status = sp_models__take_over(models, c.configs, name, err);
	model = sp_models__find(models, order->model);
	if (status == SP_OK)
		status = wait_for(models, model, order, err);
	if (status == SP_OK)
		status = sp_models__set_labels(models, model, err);
	if (status != SP_OK)
		(void)sp_models__take_over(models, before, name, &ignored);
	sp_model_configs_destroy(models->configs == before ? c.configs : before);
	return status;
}

/* Logs an order that was carried out, and who gave it; why one has failed, its answer says. */
static void log_order(const sp_model_order *order)
{
	static const char *const names[] = {[SP_MODEL_ORDER_LOAD] = "load",
					    [SP_MODEL_ORDER_UNLOAD] = "unload",
					    [SP_MODEL_ORDER_ASSIGN] = "assign",
					    [SP_MODEL_ORDER_REMOVE] = "remove"};
	char version[40] = "", label[600] = "";

	if (order->version >= 0)
		snprintf(version, sizeof(version), " version %lld", (long long)order->version);
	if (order->label.size != 0)
		snprintf(label, sizeof(label), " label %.*s", sp_bytes_shown(order->label, 512),
			 order->label.data);
	sp_log(SP_LOG_INFO, "model %.*s: %s%s%s by order of %s", sp_bytes_shown(order->model, 512),
	       order->model.data, names[order->kind], label, version, order->by);
}

sp_status sp_models_order(sp_models *models, const sp_model_order *order, sp_error *err)
{
	sp_status status;

	if (!sp_utf8_valid(order->model) || !sp_utf8_valid(order->label))
		return sp_error_set(err, SP_INVALID, "a name in the order is not UTF-8");
	pthread_mutex_lock(&models->applying);
	pthread_mutex_lock(&models->lock);
	status = carry_out(models, order, err);
	pthread_mutex_unlock(&models->lock);
	pthread_mutex_unlock(&models->applying);
	if (status == SP_OK)
		log_order(order);
	return status;
}

sp_status sp_models_list_unloaded(sp_models *models, const char *const **out, size_t *count,
				  sp_arena *arena, sp_error *err)
{
	const char **names = NULL;
	bool fits = true;

	*count = 0;
	pthread_mutex_lock(&models->lock);
	for (size_t i = 0; fits && i < models->configs->count; i++) {
		const sp_model_config *config = &models->configs->items[i];
		const char **name;

		if (!config->is_unloaded)
			continue;
		name = sp_arena_append(arena, &names, count, sizeof(*name));
		fits = name != NULL &&
		       (*name = sp_arena_text(arena, sp_bytes_of(config->name))) != NULL;
	}
	pthread_mutex_unlock(&models->lock);
	*out = names;
	return fits ? SP_OK : sp_no_memory(err, "the models");
}
