#include "base/file.h"
#include "base/log.h"
#include "incremental/identity.h"
#include "processor/updater/updater_internal.h"
#include "processor/version/rows_of_peers.h"
#include "processor/warmup/replay.h"
#include "processor/warmup/warmup.h"
#include "processor/warmup/warmup_recorded.h"

/* -------------------------------------------------------------------- loading */

/* Loads the full checkpoint, or the SavedModel with its weights, without a delta. */
static sp_status load_full(sp_update_state *u, const sp_found_version *found, sp_version **out,
			   sp_error *err)
{
	const char *prefix = sp_source_weights_prefix(&u->source, found);
	sp_runtime *runtime = NULL;
	uint64_t content, files;
	sp_manifest manifest;
	sp_status status = SP_OK;

	SP_NEED_MEMORY(prefix, err, "a version");
	/* Count only memory that stays in use: wait for requests on older versions. */
	if (u->versions.memory_limit != 0)
		SP_TRY(sp_versions_wait_for_requests(&u->versions, err));
	/* Identify files before reading them, so that the next look sees later changes. */
	SP_TRY(sp_source_list_files(&u->source, found, &manifest, err));
	if (!u->source.numbered && sp_source_has_graph(u->versions.live, &manifest))
		runtime = u->versions.live->runtime;
	else
		sp_manifest_read_contents(&manifest);
	content = sp_identity_of_content(prefix, u->source.arena);
	files = sp_identity_of_files(prefix, u->source.arena);
	SP_TRY(sp_version_open(out, runtime, u->source.config, found,
			       sp_versions_memory_left(&u->versions), err));
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
static sp_status load_delta(sp_update_state *u, const sp_found_version *found, sp_version **out,
			    sp_error *err)
{
	sp_version *live = u->versions.live, *full;
	sp_status status = sp_version_open_on(out, live, u->source.config, found, err);

	if (status != SP_NOT_FOUND || !sp_weights_are_folded(sp_weights_base(live->weights)))
		return status;
	sp_log(SP_LOG_INFO, "%s is read again: %s", found->full_prefix, err->text);
	SP_TRY(load_full(u, found, &full, err));
	if (found->delta_prefix == NULL) {
		*out = full;
		return SP_OK;
	}
	status = sp_version_open_on(out, full, u->source.config, found, err);
	sp_version_close(full);
	return status;
}

/* A version loaded from files, not published yet. */
typedef struct loaded {
	sp_version *version; /* NULL after a failure */
	sp_version *full; /* for SP_ACTION_LOAD_BOTH: the full checkpoint alone, if it was read */
} loaded;

/*
 * Loads the version that `found` names by the action `how`, SP_ACTION_LOAD_...  The caller owns
 * both versions, `full` even after a failure.  SP_NO_MEMORY when it does not fit in memory beside
 * the others, SP_BUSY when closing.
 */
static sp_status load_version(loaded *out, sp_action_kind how, sp_update_state *u,
			      const sp_found_version *found, sp_error *err)
{
	*out = (loaded){.version = NULL};
	if (how == SP_ACTION_LOAD_DELTA)
		return load_delta(u, found, &out->version, err);
	if (how == SP_ACTION_LOAD_FULL)
		return load_full(u, found, &out->version, err);
	SP_TRY(load_full(u, found, &out->full, err));
	return sp_version_open_on(&out->version, out->full, u->source.config, found, err);
}

/* -------------------------------------------------------------------- warm-up */

/* Recorded requests for a delta: a few suffice, as its full checkpoint is warm. */
enum { DELTA_RECORDS = 10 };

/* The SavedModel's warm-up file for TensorFlow Serving; NULL: it has none. */
static const char *recorded_requests(const sp_update_state *u, const sp_version *version)
{
	const char *folder = u->source.numbered ? version->checkpoint_prefix
						: u->source.config->savedmodel_dir;
	const char *file = sp_arena_printf(u->source.arena, "%s/" SP_WARMUP_RECORDED_FILE, folder);

	return file != NULL && sp_file_exists(file) ? file : NULL;
}

static sp_status warm_up(sp_update_state *u, const sp_version *version, sp_error *err)
{
	const char *file = u->source.config->warmup_file_name;
	const char *recorded = file == NULL ? recorded_requests(u, version) : NULL;
	bool is_first = u->versions.live == NULL;
	bool is_delta = !is_first && sp_versions_is_on_live(&u->versions, version);
	size_t count = (size_t)u->source.config->session_num;
	sp_warmup_target target = {.sessions = version->runtime->sessions,
				   .first = is_first ? 0 : count,
				   .count = is_first ? count : 1,
				   .snapshot = sp_weights_snapshot(version->weights),
				   .endpoint = version->runtime->configured,
				   .closing = u->versions.closing};

	return recorded != NULL ? sp_warmup_recorded(&target, version->runtime, recorded,
						     is_delta ? DELTA_RECORDS : SIZE_MAX, err)
				: sp_warmup(&target, file, err);
}

/* A target on the session that requests do not use. */
static sp_request_target spare_target(const sp_update_state *u, const sp_version *version)
{
	return (sp_request_target){
		.session = sp_session_set_get(version->runtime->sessions,
					      (size_t)u->source.config->session_num),
		.snapshot = sp_weights_snapshot(version->weights),
		.endpoint = version->runtime->configured};
}

/* Checks that the answers to recorded requests are close to those of the live version. */
static sp_status replay(sp_update_state *u, const sp_version *version, sp_error *err)
{
	const sp_config *config = u->source.config;
	sp_replay r = {.file = config->update_replay_file};
	double change = 0;

	if (r.file == NULL || u->versions.live == NULL)
		return SP_OK;
	r.old = spare_target(u, u->versions.live);
	r.new = spare_target(u, version);
	r.old_runtime = u->versions.live->runtime;
	r.new_runtime = version->runtime;
	SP_TRY(sp_replay_run(&r, &change, u->source.arena, err));
	sp_log(SP_LOG_INFO, "the answer to %s changes by %g on average", r.file, change);
	if (config->update_max_score_change == 0 || change <= config->update_max_score_change)
		return SP_OK;
	return sp_error_set(err, SP_CORRUPT,
			    "the answer to %s changes by %g on average, more than the %g of "
			    "update_max_score_change",
			    r.file, change, config->update_max_score_change);
}

/*
 * Sends a version its first requests before it is published, and checks its answers.  The first
 * version is warmed up on every session, later ones on the session that requests do not use.
 * SP_CORRUPT when answers change by more than update_max_score_change; SP_BUSY when closing; else
 * the error of a request.
 */
static sp_status warm_version(sp_update_state *u, const sp_version *version, sp_error *err)
{
	SP_TRY(warm_up(u, version, err));
	return replay(u, version, err);
}

/* ------------------------------------------------------------------ publishing */

static void publish(sp_update_state *u, sp_version *version)
{
	sp_versions_publish(&u->versions, version);
	sp_rows_of_peers_publish(u->source.config, version);
	sp_fold_schedule(&u->fold, u->source.config, &u->versions);
}

static void refuse(sp_update_state *u, uint64_t number, const sp_error *err)
{
	bool is_closing = atomic_load(u->versions.closing);

	sp_catalog_move(u->versions.catalog, number,
			is_closing ? SP_VERSION_DISCOVERED : SP_VERSION_REFUSED, err);
}

/* So that the rows of a new full checkpoint are not older than those of the live version. */
static void catch_up(const sp_update_state *u, const sp_version *version)
{
	int64_t seconds = u->source.config->row_stream_catch_up_seconds;
	const sp_version *live = u->versions.live;

	if (version->stream == NULL || (live != NULL && live->stream == version->stream) ||
	    sp_row_stream_catch_up(version->stream, seconds * 1000, u->versions.closing))
		return;
	sp_log(SP_LOG_WARNING,
	       "%s is served before all rows that were streamed for it have been read",
	       version->checkpoint_prefix);
}

/* Takes ownership of `version`, which becomes live or is closed. */
static sp_status warm_and_publish(sp_update_state *u, sp_version *version, uint64_t number,
				  sp_error *err)
{
	sp_status status;

	version->number = number;
	sp_catalog_move(u->versions.catalog, number, SP_VERSION_WARMING, NULL);
	status = warm_version(u, version, err);
	if (status != SP_OK) {
		refuse(u, number, err);
		sp_version_close(version);
		return status;
	}
	catch_up(u, version);
	publish(u, version);
	return SP_OK;
}

static uint64_t begin_loading(sp_update_state *u, const sp_found_version *found)
{
	uint64_t number = sp_catalog_number(u->versions.catalog, found);

	sp_catalog_move(u->versions.catalog, number, SP_VERSION_LOADING, NULL);
	return number;
}

sp_status sp_update__bring_up(sp_update_state *u, const sp_action *action, sp_error *err)
{
	const sp_found_version *found = &action->target->version;
	sp_found_version alone = *found;
	uint64_t number = begin_loading(u, found);
	loaded made;
	sp_status status, stand_in;
	sp_error why;

	sp_fold_stop(&u->fold);
	status = load_version(&made, action->kind, u, found, err);
	if (status == SP_OK)
		status = warm_and_publish(u, made.version, number, err);
	else
		refuse(u, number, err);
	if (made.full == NULL)
		return status;
	if (status == SP_OK || action->exact) {
		sp_version_close(made.full);
		return status;
	}
	alone.delta_prefix = NULL;
	alone.delta_step = -1;
	number = begin_loading(u, &alone);
	stand_in = warm_and_publish(u, made.full, number, &why);
	return stand_in == SP_OK ? status : stand_in;
}

void sp_update__republish(sp_update_state *u, const sp_found_version *name)
{
	sp_version *version = sp_versions_take_previous(&u->versions);

	/* In the catalog it gets a new number. */
	sp_catalog_move(u->versions.catalog, version->number, SP_VERSION_RETIRED, NULL);
	version->number = begin_loading(u, name);
	sp_catalog_move(u->versions.catalog, version->number, SP_VERSION_WARMING, NULL);
	publish(u, version);
}
