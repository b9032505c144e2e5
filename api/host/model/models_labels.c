
#include "api/host/model/models_internal.h"
#include "base/alloc.h"

bool sp_models__find_label(const sp_managed_model *model, sp_bytes label, int64_t *version)
{
	for (size_t i = 0; i < model->label_count; i++)
		if (sp_bytes_equal_text(label, model->labels[i].label)) {
			*version = model->labels[i].version;
			return true;
		}
	return false;
}

sp_status sp_models__check_label(const sp_models *models, const sp_managed_model *model,
				 const sp_configured_label *label, sp_error *err)
{
	int64_t current = label->version;
	bool allowed = models->flags->allow_version_labels_for_unavailable_models &&
		       (!sp_models__find_label(model, sp_bytes_of(label->label), &current) ||
			current == label->version);

	if (label->version < 0 || allowed || sp_models__is_available(model, label->version))
		return SP_OK;
	return sp_error_set(err, SP_NOT_FOUND,
			    "Request to assign label %s to {name: %s version: %lld}, which is not "
			    "currently available for inference",
			    label->label, model->public.name, (long long)label->version);
}

sp_status sp_models__check_labels(const sp_models *models, const sp_managed_model *only,
				  sp_error *err)
{
	for (const sp_managed_model *model = models->first; model != NULL; model = model->next)
		for (size_t i = 0;
		     sp_models__is_selected(model, only) && i < model->config->label_count; i++)
			SP_TRY(sp_models__check_label(models, model, &model->config->labels[i],
						      err));
	return SP_OK;
}

void sp_models__clear_labels(sp_managed_model *model)
{
	for (size_t i = 0; i < model->label_count; i++)
		sp_free((void *)(uintptr_t)model->labels[i].label);
	sp_free(model->labels);
	model->labels = NULL;
	model->label_count = 0;
}

static bool copy_labels(sp_managed_model *model)
{
	const sp_model_config *config = model->config;

	sp_models__clear_labels(model);
	model->labels = sp_alloc_zero(config->label_count, sizeof(model->labels[0]));
	for (size_t i = 0; model->labels != NULL && i < config->label_count; i++) {
		sp_configured_label *label = &model->labels[i];

		label->version = config->labels[i].version;
		label->label = sp_alloc_text(config->labels[i].label);
		if (label->label == NULL)
			return false;
		model->label_count++;
	}
	return model->labels != NULL || config->label_count == 0;
}

sp_status sp_models__set_labels(sp_models *models, const sp_managed_model *only, sp_error *err)
{
	for (sp_managed_model *model = models->first; model != NULL; model = model->next)
		if (sp_models__is_selected(model, only) && !copy_labels(model))
			return sp_no_memory(err, "the labels");
	return sp_models__publish(models) ? SP_OK : sp_no_memory(err, "the table of models");
}
