#include "processor/updater/warm.h"

#include "base/file.h"
#include "base/log.h"
#include "processor/warmup/replay.h"
#include "processor/warmup/warmup.h"
#include "processor/warmup/warmup_recorded.h"

/* Recorded requests for a delta: a few suffice, as its full checkpoint is warm. */
enum { DELTA_RECORDS = 10 };

/* The SavedModel's warm-up file for TensorFlow Serving; NULL: it has none. */
static const char *recorded_requests(const sp_source *source, const sp_version *version)
{
	const char *folder = source->numbered ? version->checkpoint_prefix
					      : source->config->savedmodel_dir;
	const char *file = sp_arena_printf(source->arena, "%s/" SP_WARMUP_RECORDED_FILE, folder);

	return file != NULL && sp_file_exists(file) ? file : NULL;
}

static sp_status warm_up(const sp_source *source, const sp_versions *versions,
			 const sp_version *version, sp_error *err)
{
	const char *file = source->config->warmup_file_name;
	const char *recorded = file == NULL ? recorded_requests(source, version) : NULL;
	bool is_first = versions->live == NULL;
	bool is_delta = !is_first && sp_versions_is_on_live(versions, version);
	size_t count = (size_t)source->config->session_num;
	sp_warmup_target target = {.sessions = version->runtime->sessions,
				   .first = is_first ? 0 : count,
				   .count = is_first ? count : 1,
				   .snapshot = sp_version_snapshot(version),
				   .endpoint = version->runtime->configured,
				   .closing = versions->closing};

	return recorded != NULL ? sp_warmup_recorded(&target, version->runtime, recorded,
						     is_delta ? DELTA_RECORDS : SIZE_MAX, err)
				: sp_warmup(&target, file, err);
}

/* A target on the session that requests do not use. */
static sp_request_target spare_target(const sp_source *source, const sp_version *version)
{
	return (sp_request_target){
		.session = sp_session_set_get(version->runtime->sessions,
					      (size_t)source->config->session_num),
		.snapshot = sp_version_snapshot(version),
		.endpoint = version->runtime->configured};
}

/* Checks that the answer to a recorded request is close to that of the live version. */
static sp_status replay(const sp_source *source, const sp_versions *versions,
			const sp_version *version, sp_error *err)
{
	const sp_config *config = source->config;
	sp_replay r = {.file = config->update_replay_file};
	double change = 0;

	if (r.file == NULL || versions->live == NULL)
		return SP_OK;
	r.old = spare_target(source, versions->live);
	r.new = spare_target(source, version);
	SP_TRY(sp_replay_run(&r, &change, source->arena, err));
	sp_log(SP_LOG_INFO, "the answer to %s changes by %g on average", r.file, change);
	if (config->update_max_score_change == 0 || change <= config->update_max_score_change)
		return SP_OK;
	return sp_error_set(err, SP_CORRUPT,
			    "the answer to %s changes by %g on average, more than the %g of "
			    "update_max_score_change",
			    r.file, change, config->update_max_score_change);
}

sp_status sp_warm_version(const sp_source *source, const sp_versions *versions,
			  const sp_version *version, sp_error *err)
{
	SP_TRY(warm_up(source, versions, version, err));
	return replay(source, versions, version, err);
}
