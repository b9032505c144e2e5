#include "processor/version.h"

#include "base/alloc.h"

static sp_status load(sp_version *version, const sp_config *config, const sp_found_version *found,
		      sp_error *err)
{
	sp_model_options model = {.savedmodel_dir = config->savedmodel_dir,
				  .checkpoint_prefix = found != NULL ? found->full_prefix : NULL,
				  .delta_prefix = found != NULL ? found->delta_prefix : NULL,
				  .signature_name = config->signature_name,
				  .signature_fallback = config->signature_fallback,
				  .reference = config->reference_kernels};
	sp_session_group_options group = {
		.session_count = (size_t)config->session_num,
		.policy = (sp_session_policy)config->select_session_policy,
		.workspace_limit = (size_t)config->session_workspace_bytes};

	version->full_step = found != NULL ? found->full_step : -1;
	version->delta_step = found != NULL ? found->delta_step : -1;
	version->checkpoint_prefix = sp_alloc_text(found != NULL ? found->full_prefix : "");
	if (version->checkpoint_prefix == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version's name");
	SP_TRY(sp_model_load(&version->model, &model, err));
	return sp_session_group_create(&version->sessions, sp_model_program(version->model), &group,
				       err);
}

sp_status sp_version_open(sp_version **out, const sp_config *config, const sp_found_version *found,
			  sp_error *err)
{
	sp_version *version = sp_alloc_zero(1, sizeof(*version));
	sp_status status;

	if (version == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version");
	status = load(version, config, found, err);
	if (status != SP_OK) {
		sp_version_close(version);
		return status;
	}
	*out = version;
	return SP_OK;
}

void sp_version_close(sp_version *version)
{
	if (version == NULL)
		return;
	sp_session_group_destroy(version->sessions);
	sp_model_destroy(version->model);
	sp_free(version->checkpoint_prefix);
	sp_free(version);
}
