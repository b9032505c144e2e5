#include "tests/support/model_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_loader/version/model.h"
#include "model_loader/version/weights.h"
#include "tests/support/small_model.h"

sp_model_double sp_the_model_double;

struct sp_model {
	sp_small_model small;
};

struct sp_weights {
	sp_model *model;
	sp_snapshot *snapshot;
	sp_weights *base;
	size_t users;
};

static void note(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
}

/* ------------------------------------------------------------------- model */

sp_status sp_model_open(sp_model **out, const sp_model_options *options, sp_error *err)
{
	sp_model_double *the = &sp_the_model_double;

	*out = NULL;
	note(the->savedmodel_dir, sizeof(the->savedmodel_dir), options->savedmodel_dir);
	note(the->signature_name, sizeof(the->signature_name), options->signature_name);
	the->reference = options->reference;
	if (strcmp(options->signature_name, "nobody") == 0)
		return sp_error_set(err, SP_INVALID, "the model has no signature 'nobody'");
	*out = malloc(sizeof(**out));
	if (*out == NULL)
		abort();
	sp_small_model_init(&(*out)->small);
	the->opens++;
	the->alive++;
	return SP_OK;
}

void sp_model_destroy(sp_model *model)
{
	if (model == NULL)
		return;
	sp_small_model_fini(&model->small);
	free(model);
	sp_the_model_double.alive--;
}

size_t sp_model_default_signature(const sp_model *model)
{
	size_t i = 0;

	while (i + 1 < sp_model_signature_count(model) &&
	       strcmp(sp_model_signature(model, i)->name, sp_the_model_double.signature_name) != 0)
		i++;
	return i;
}

size_t sp_model_footprint(const sp_model *model)
{
	(void)model;
	return 0;
}

const sp_map *sp_model_features(const sp_model *model)
{
	static const sp_map none;

	(void)model;
	return &none;
}

const sp_program *sp_model_program(const sp_model *model)
{
	return model->small.program;
}

size_t sp_model_signature_count(const sp_model *model)
{
	(void)model;
	return 2;
}

const sp_error *sp_model_signature_error(const sp_model *model, size_t i)
{
	(void)model;
	(void)i;
	return NULL;
}

const sp_signature *sp_model_signature(const sp_model *model, size_t i)
{
	return &model->small.endpoints[i].signature;
}

/* As if each input took one feature from records. */
const sp_example_features *sp_model_example_features(const sp_model *model, size_t signature,
						     size_t input)
{
	static const sp_example_feature feature = {{"f", 1}, SP_INT64, SP_FEATURE_RAGGED};
	static const sp_example_features features = {&feature, 1};

	(void)model;
	(void)signature;
	(void)input;
	return &features;
}

/* ----------------------------------------------------------------- weights */

static sp_status make(sp_weights **out, sp_model *model, sp_weights *base, sp_error *err)
{
	sp_model_double *the = &sp_the_model_double;
	void (*hook)(void) = the->while_loading;
	sp_status status = SP_OK;

	*out = NULL;
	the->while_loading = NULL;
	if (hook != NULL)
		hook();
	if (the->loads < the->status_count)
		status = the->statuses[the->loads];
	the->loads++;
	if (status != SP_OK)
		return sp_error_set(err, status, "load %zu says %s", the->loads,
				    sp_status_name(status));
	*out = malloc(sizeof(**out));
	if (*out == NULL)
		abort();
	**out = (sp_weights){.model = model, .users = 1};
	if (sp_snapshot_build(&(*out)->snapshot, model->small.program, &model->small.resources,
			      err) != SP_OK)
		abort();
	the->alive++;
	if (base != NULL)
		(*out)->base = sp_weights_share(base);
	return SP_OK;
}

sp_status sp_weights_load(sp_weights **out, sp_model *model, const sp_weights_options *options,
			  sp_error *err)
{
	sp_model_double *the = &sp_the_model_double;

	note(the->checkpoint_prefix, sizeof(the->checkpoint_prefix), options->checkpoint_prefix);
	the->fulls++;
	return make(out, model, NULL, err);
}

sp_status sp_weights_load_delta(sp_weights **out, sp_weights *full,
				const sp_weights_options *options, sp_error *err)
{
	sp_model_double *the = &sp_the_model_double;

	note(the->delta_prefix, sizeof(the->delta_prefix), options->delta_prefix);
	return make(out, full->model, full, err);
}

size_t sp_weights_footprint(const sp_weights *weights)
{
	(void)weights;
	return 0;
}

sp_weights *sp_weights_base(sp_weights *weights)
{
	return weights->base != NULL ? weights->base : weights;
}

sp_weights *sp_weights_share(sp_weights *weights)
{
	weights->users++;
	return weights;
}

/* It has no embeddings, so there is nothing to fold. */
size_t sp_weights_table_count(const sp_weights *weights)
{
	(void)weights;
	return 0;
}

const sp_table *sp_weights_table(const sp_weights *weights, size_t i)
{
	(void)weights;
	(void)i;
	return NULL;
}

sp_status sp_weights_fold(sp_weights **out, sp_weights *weights, size_t i, const sp_table *folded,
			  sp_error *err)
{
	(void)out;
	(void)weights;
	(void)i;
	(void)folded;
	return sp_error_set(err, SP_INTERNAL, "there is nothing to fold");
}

bool sp_weights_are_folded(const sp_weights *weights)
{
	(void)weights;
	return false;
}

bool sp_weights_are_broken(const sp_weights *weights)
{
	(void)weights;
	return false;
}

sp_status sp_weights_find_files(const sp_weights_options *options, sp_error *err)
{
	sp_status status = sp_the_model_double.files;

	if (status == SP_OK)
		return SP_OK;
	return sp_error_set(err, status, "a shard of %s is missing", options->checkpoint_prefix);
}

void sp_weights_destroy(sp_weights *weights)
{
	if (weights == NULL || --weights->users != 0)
		return;
	sp_weights_destroy(weights->base);
	sp_snapshot_destroy(weights->snapshot);
	free(weights);
	sp_the_model_double.alive--;
}

const sp_snapshot *sp_weights_snapshot(const sp_weights *weights)
{
	return weights->snapshot;
}
