#include "tests/support/model_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_loader/model.h"
#include "tests/support/small_model.h"

sp_model_double sp_the_model_double;

struct sp_model {
	sp_small_model small;
};

static void note(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text != NULL ? text : "");
}

sp_status sp_model_load(sp_model **out, const sp_model_options *options, sp_error *err)
{
	sp_model_double *the = &sp_the_model_double;
	sp_status status = SP_OK;

	note(the->savedmodel_dir, sizeof(the->savedmodel_dir), options->savedmodel_dir);
	note(the->checkpoint_prefix, sizeof(the->checkpoint_prefix), options->checkpoint_prefix);
	note(the->delta_prefix, sizeof(the->delta_prefix), options->delta_prefix);
	note(the->signature_name, sizeof(the->signature_name), options->signature_name);
	the->reference = options->reference;
	if (the->loads < the->status_count)
		status = the->statuses[the->loads];
	the->loads++;
	if (status != SP_OK)
		return sp_error_set(err, status, "load %zu says %s", the->loads,
				    sp_status_name(status));
	*out = malloc(sizeof(**out));
	if (*out == NULL)
		abort();
	sp_small_model_init(&(*out)->small);
	the->alive++;
	if (strcmp(options->signature_name, "nobody") != 0)
		return SP_OK;
	sp_model_destroy(*out);
	*out = NULL;
	return sp_error_set(err, SP_INVALID, "the model has no signature 'nobody'");
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

const sp_program *sp_model_program(const sp_model *model)
{
	return model->small.program;
}

const sp_snapshot *sp_model_snapshot(const sp_model *model)
{
	return model->small.snapshot;
}

size_t sp_model_signature_count(const sp_model *model)
{
	(void)model;
	return 2;
}

const sp_signature *sp_model_signature(const sp_model *model, size_t i)
{
	return &model->small.endpoints[i].signature;
}
