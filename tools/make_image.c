#include "incremental/discover.h"
#include "processor/version/version.h"
#include "tools/configuration.h"

/*
 * Loading a version writes its image.  This command loads as the processor does, so that a
 * processor with the same configuration finds the image.
 */

static sp_status load_and_report(sp_tool *tool, const sp_config *config, sp_version **version,
				 sp_error *err)
{
	sp_discovery found;
	const char *path;

	if (config->checkpoint_dir != NULL)
		SP_TRY(sp_discover_version(&found, config->checkpoint_dir, NULL, tool->arena, err));
	SP_TRY(sp_version_open(version, NULL, config,
			       config->checkpoint_dir != NULL ? &found.version : NULL, 0, err));
	path = sp_weights_image((*version)->weights);
	if (path == NULL)
		return sp_error_set(err, SP_IO, "no image was made in %s: %s",
				    config->embeddings.image_folder,
				    "the log says why, or the model has no embeddings");
	sp_report_open(&tool->report, NULL);
	sp_report_text(&tool->report, "image", sp_bytes_of(path));
	sp_report_close(&tool->report);
	return SP_OK;
}

sp_status sp_tool_image(sp_tool *tool, sp_error *err)
{
	sp_config config = {0};
	sp_version *version = NULL;
	sp_status status;

	if (tool->location.path != NULL && tool->location.kind != SP_LOCATION_CHECKPOINT_DIR &&
	    tool->location.kind != SP_LOCATION_SAVED_MODEL) {
		tool->wrong_usage = true;
		return sp_error_set(err, SP_INVALID,
				    "image needs a configuration file, a SavedModel, or a folder "
				    "of checkpoints with --model");
	}
	SP_TRY(sp_configuration_read(&config, tool, err));
	if (tool->out != NULL)
		config.embeddings.image_folder = tool->out;
	if (config.embeddings.image_folder == NULL) {
		tool->wrong_usage = true;
		status = sp_error_set(err, SP_INVALID, "--out=FOLDER is missing");
	} else {
		status = load_and_report(tool, &config, &version, err);
	}
	sp_version_close(version);
	sp_config_fini(&config);
	return status;
}
