#include "processor/updater/load.h"

#include "base/log.h"
#include "incremental/identity.h"

/* Loads the full checkpoint, or the SavedModel with its weights, without a delta. */
static sp_status load_full(const sp_source *source, sp_versions *versions,
			   const sp_found_version *found, sp_version **out, sp_error *err)
{
	const char *prefix = sp_source_weights_prefix(source, found);
	sp_runtime *runtime = NULL;
	uint64_t content, files;
	sp_manifest manifest;
	sp_status status = SP_OK;

	if (prefix == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version");
	/* Count only memory that stays in use: wait for requests on older versions. */
	if (versions->memory_limit != 0)
		SP_TRY(sp_versions_wait_for_requests(versions, err));
	/* Identify files before reading them, so that the next look sees later changes. */
	SP_TRY(sp_source_list_files(source, found, &manifest, err));
	if (!source->numbered && sp_source_has_graph(versions->live, &manifest))
		runtime = versions->live->runtime;
	else
		sp_manifest_read_contents(&manifest);
	content = sp_identity_of_content(prefix, source->arena);
	files = sp_identity_of_files(prefix, source->arena);
	SP_TRY(sp_version_open(out, runtime, source->config, found,
			       sp_versions_memory_left(versions), err));
	(*out)->content = content;
	(*out)->files = files;
	if (runtime == NULL)
		status = sp_manifest_copy(&(*out)->runtime->files, &manifest,
					  (*out)->runtime->arena, err);
	if (status != SP_OK) {
		sp_version_close(*out);
		*out = NULL;
	}
	return status;
}

/*
 * Loads a delta on the full checkpoint in memory, which is read again if earlier folding prevents
 * that.
 */
static sp_status load_delta(const sp_source *source, sp_versions *versions,
			    const sp_found_version *found, sp_version **out, sp_error *err)
{
	sp_version *live = versions->live, *full;
	sp_status status = sp_version_open_on(out, live, source->config, found, err);

	if (status != SP_NOT_FOUND || !sp_weights_are_folded(sp_weights_base(live->weights)))
		return status;
	sp_log(SP_LOG_INFO, "%s is read again: %s", found->full_prefix, err->text);
	SP_TRY(load_full(source, versions, found, &full, err));
	if (found->delta_prefix == NULL) {
		*out = full;
		return SP_OK;
	}
	status = sp_version_open_on(out, full, source->config, found, err);
	sp_version_close(full);
	return status;
}

sp_status sp_load_version(sp_loaded *out, sp_action_kind how, const sp_source *source,
			  sp_versions *versions, const sp_found_version *found, sp_error *err)
{
	*out = (sp_loaded){.version = NULL};
	if (how == SP_ACTION_LOAD_DELTA)
		return load_delta(source, versions, found, &out->version, err);
	if (how == SP_ACTION_LOAD_FULL)
		return load_full(source, versions, found, &out->version, err);
	SP_TRY(load_full(source, versions, found, &out->full, err));
	return sp_version_open_on(&out->version, out->full, source->config, found, err);
}
