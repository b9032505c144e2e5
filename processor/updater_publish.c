#include "processor/updater_internal.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "incremental/identity.h"
#include "processor/replay.h"
#include "processor/warmup.h"
#include "processor/warmup_recorded.h"

/* --------------------------------------------------------- after publishing */

/* A version on the full checkpoint that is live costs a delta; another one costs a model. */
static bool is_worth_keeping(const sp_updater *u, const sp_version *version)
{
	return sp_weights_base(version->weights) == sp_weights_base(u->live->weights);
}

static void leave(sp_updater *u, sp_version *version)
{
	version->next = u->draining;
	u->draining = version;
}

void sp_updater__drop_previous(sp_updater *u)
{
	if (u->previous != NULL)
		leave(u, u->previous);
	u->previous = NULL;
}

static bool has_name_of(const sp_version *a, const sp_version *b)
{
	return strcmp(a->checkpoint_prefix, b->checkpoint_prefix) == 0 &&
	       sp_updater__same(a->delta_prefix, b->delta_prefix);
}

/* Whether it is the one that a rollback goes to. */
static bool is_remembered(const sp_updater *u, const sp_version *version)
{
	const sp_found_version *last = u->history.count > 0
					       ? &u->history.versions[u->history.count - 1]
					       : NULL;

	return last != NULL && sp_updater__same(last->full_prefix, version->checkpoint_prefix) &&
	       sp_updater__same(last->delta_prefix, version->delta_prefix);
}

void sp_updater__publish(sp_updater *u, sp_version *version)
{
	sp_version *old = u->live;

	sp_published_swap(u->published, version);
	u->live = version;
	sp_updater__expect_fold(u);
	sp_catalog_move(u->catalog, version->number, SP_VERSION_LIVE, NULL);
	if (old == NULL)
		return;
	sp_catalog_move(u->catalog, old->number, SP_VERSION_DRAINING, NULL);
	sp_updater__drop_previous(u);
	/* What is read anew takes the place of itself: a rollback goes past both. */
	if (has_name_of(old, version)) {
		leave(u, old);
		return;
	}
	sp_updater__remember(u, old);
	sp_updater__unremember(u, version);
	u->previous = is_remembered(u, old) && is_worth_keeping(u, old) ? old : NULL;
	if (u->previous == NULL)
		leave(u, old);
}

void sp_updater__replace_live(sp_updater *u, sp_version *version)
{
	sp_version *old = u->live;

	version->number = old->number;
	old->number = 0; /* the catalog knows one version, and that goes on living */
	sp_published_swap(u->published, version);
	u->live = version;
	leave(u, old);
}

/*
 * Every version but the live one that some request or handle still uses is
 * draining.  Whoever acquires a handle has it pinned meanwhile, so pins come first.
 */
static bool is_over(const sp_updater *u, const sp_version *version)
{
	if (sp_published_is_pinned(u->published, version) || atomic_load(&version->holders) != 0)
		return false;
	sp_catalog_move(u->catalog, version->number, SP_VERSION_RETIRED, NULL);
	return true;
}

bool sp_updater__drain(sp_updater *u)
{
	for (sp_version **at = &u->draining; *at != NULL;) {
		sp_version *version = *at;

		if (!is_over(u, version)) {
			at = &version->next;
			continue;
		}
		*at = version->next;
		sp_version_close(version);
	}
	return (u->previous != NULL && !is_over(u, u->previous)) || u->draining != NULL;
}

void sp_updater__close_versions(sp_updater *u)
{
	while (u->draining != NULL) {
		sp_version *version = u->draining;

		u->draining = version->next;
		sp_version_close(version);
	}
	sp_version_close(u->previous);
	sp_version_close(u->live);
	sp_updater__forget_history(u);
}

/* ------------------------------------------------------------------- loading */

/* Requests of a delta's warm-up: it shall be live soon, and its full checkpoint is warm. */
enum { DELTA_RECORDS = 10 };

/* What the SavedModel brings for TensorFlow Serving; NULL: nothing. */
static const char *recorded_requests(const sp_updater *u, const sp_version *version)
{
	const char *folder = u->numbered ? version->checkpoint_prefix : u->config->savedmodel_dir;
	const char *file = sp_arena_printf(u->arena, "%s/" SP_WARMUP_RECORDED_FILE, folder);

	return file != NULL && sp_file_exists(file) ? file : NULL;
}

static sp_status warm_up(sp_updater *u, const sp_version *version, sp_error *err)
{
	bool is_delta = u->live != NULL && is_worth_keeping(u, version);
	const char *recorded = recorded_requests(u, version);
	const sp_runtime *runtime = version->runtime;
	size_t count = (size_t)u->config->session_num;
	/* All sessions before the first request, then the one that no request has. */
	sp_warmup_target target = {.sessions = runtime->sessions,
				   .first = u->live == NULL ? 0 : count,
				   .count = u->live == NULL ? count : 1,
				   .snapshot = sp_version_snapshot(version),
				   .endpoint = runtime->configured,
				   .closing = &u->stopped};

	if (u->config->warmup_file_name == NULL && recorded != NULL)
		return sp_warmup_recorded(&target, runtime, recorded,
					  is_delta ? DELTA_RECORDS : SIZE_MAX, err);
	return sp_warmup(&target, u->config->warmup_file_name, err);
}

/* Its files are noted before they are read: what is written meanwhile has to be read again. */
static sp_status read_full(sp_updater *u, const sp_found_version *found, sp_version **out,
			   sp_error *err)
{
	const char *prefix = sp_updater__weights_prefix(u, found);
	sp_runtime *runtime = NULL;
	uint64_t content, files;
	sp_manifest manifest;
	sp_status status = SP_OK;

	if (prefix == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version");
	SP_TRY(sp_updater__list_files(u, found, &manifest, err));
	if (!u->numbered && sp_updater__has_graph(u, &manifest))
		runtime = u->live->runtime;
	else
		sp_manifest_read_contents(&manifest);
	content = sp_identity_of_content(prefix, u->arena);
	files = sp_identity_of_files(prefix, u->arena);
	SP_TRY(sp_version_open(out, runtime, u->config, found, sp_updater__room(u), err));
	(*out)->content = content;
	(*out)->files = files;
	if (runtime == NULL)
		status = sp_manifest_copy(&(*out)->runtime->files, &manifest,
					  (*out)->runtime->arena, err);
	if (status != SP_OK)
		sp_version_close(*out);
	return status;
}

/* The full checkpoint alone, read beside what is live. */
static sp_status load_full(sp_updater *u, const sp_found_version *found, sp_version **out,
			   sp_error *err)
{
	/* What requests are about to leave is no reason for memory to be short. */
	if (u->config->model_update_memory_mb != 0)
		SP_TRY(sp_updater__wait_for_requests(u, err));
	return read_full(u, found, out, err);
}

/* Of a version, with the session that no request has. */
static sp_request_target spare_target(const sp_updater *u, const sp_version *version)
{
	return (sp_request_target){.session = sp_session_set_get(version->runtime->sessions,
								 (size_t)u->config->session_num),
				   .snapshot = sp_version_snapshot(version),
				   .endpoint = version->runtime->configured};
}

/* Whether the answer to a recorded request stays near that of the live version. */
static sp_status replay(const sp_updater *u, const sp_version *version, sp_error *err)
{
	const sp_config *config = u->config;
	sp_replay r = {.file = config->update_replay_file};
	double change = 0;

	if (r.file == NULL || u->live == NULL)
		return SP_OK;
	r.old = spare_target(u, u->live);
	r.new = spare_target(u, version);
	SP_TRY(sp_replay_run(&r, &change, u->arena, err));
	sp_log(SP_LOG_INFO, "the answer to %s changes by %g on average", r.file, change);
	if (config->update_max_score_change == 0 || change <= config->update_max_score_change)
		return SP_OK;
	return sp_error_set(err, SP_CORRUPT,
			    "the answer to %s changes by %g on average, more than the %g of "
			    "update_max_score_change",
			    r.file, change, config->update_max_score_change);
}

void sp_updater__fail(sp_updater *u, uint64_t number, const sp_error *err)
{
	sp_catalog_move(u->catalog, number,
			atomic_load(&u->stopped) ? SP_VERSION_DISCOVERED : SP_VERSION_REFUSED, err);
}

sp_status sp_updater__warm_and_publish(sp_updater *u, sp_version *version, uint64_t number,
				       sp_error *err)
{
	sp_status status;

	version->number = number;
	sp_catalog_move(u->catalog, number, SP_VERSION_WARMING, NULL);
	status = warm_up(u, version, err);
	if (status == SP_OK)
		status = replay(u, version, err);
	if (status != SP_OK) {
		sp_updater__fail(u, number, err);
		sp_version_close(version);
		return status;
	}
	sp_updater__publish(u, version);
	return SP_OK;
}

/* In place of the live version, where memory does not hold both. */
static sp_status bring_up_full(sp_updater *u, const sp_found_version *found, sp_error *err)
{
	uint64_t number = sp_catalog_number(u->catalog, found);
	sp_version *version;
	sp_status status;

	sp_catalog_move(u->catalog, number, SP_VERSION_LOADING, NULL);
	status = load_full(u, found, &version, err);
	if (status == SP_OK)
		return sp_updater__warm_and_publish(u, version, number, err);
	sp_updater__fail(u, number, err);
	return status;
}

static sp_found_version without_delta(const sp_found_version *found)
{
	return (sp_found_version){
		.full_prefix = found->full_prefix, .full_step = found->full_step, .delta_step = -1};
}

/* On a full checkpoint that is read again, beside the live one. */
static sp_status open_beside(sp_updater *u, const sp_found_version *found, sp_version **out,
			     sp_error *err)
{
	sp_version *full;
	sp_status status;

	SP_TRY(load_full(u, found, &full, err));
	if (found->delta_prefix == NULL) {
		*out = full;
		return SP_OK;
	}
	status = sp_version_open_on(out, full, u->config, found, err);
	sp_version_close(full);
	return status;
}

/*
 * On the full checkpoint of `full`, which stays the caller's.  When what was
 * folded into it stands in the way, it is read again.
 */
static sp_status open_on(sp_updater *u, const sp_version *full, const sp_found_version *found,
			 sp_version **out, sp_error *err)
{
	sp_status status = sp_version_open_on(out, full, u->config, found, err);

	if (status != SP_NOT_FOUND || !sp_weights_are_folded(sp_weights_base(full->weights)))
		return status;
	sp_log(SP_LOG_INFO, "%s is read again: %s", found->full_prefix, err->text);
	return open_beside(u, found, out, err);
}

static sp_status bring_up_on(sp_updater *u, const sp_version *full, uint64_t number,
			     const sp_found_version *found, sp_error *err)
{
	sp_version *version;
	sp_status status = open_on(u, full, found, &version, err);

	if (status == SP_OK)
		return sp_updater__warm_and_publish(u, version, number, err);
	sp_updater__fail(u, number, err);
	return status;
}

/*
 * A full checkpoint with its delta, published together.  When the delta is what
 * is broken, the full checkpoint is published alone, if nothing is live that is
 * as good; the status is still the delta's.
 */
static sp_status bring_up_both(sp_updater *u, const sp_found_version *found, sp_error *err)
{
	uint64_t number = sp_catalog_number(u->catalog, found);
	sp_found_version alone = without_delta(found);
	sp_version *full;
	sp_status status;
	sp_error why;

	sp_catalog_move(u->catalog, number, SP_VERSION_LOADING, NULL);
	status = load_full(u, found, &full, err);
	if (status != SP_OK) {
		sp_updater__fail(u, number, err);
		return status;
	}
	status = bring_up_on(u, full, number, found, err);
	if (status == SP_OK) {
		sp_version_close(full);
		return SP_OK;
	}
	if (u->exact) {
		sp_version_close(full);
		return status;
	}
	number = sp_catalog_number(u->catalog, &alone);
	sp_catalog_move(u->catalog, number, SP_VERSION_LOADING, NULL);
	return sp_updater__warm_and_publish(u, full, number, &why) == SP_OK ? status : why.status;
}

bool sp_updater__has_full(const sp_updater *u, const sp_found_version *found)
{
	return u->live != NULL && strcmp(found->full_prefix, u->live->checkpoint_prefix) == 0 &&
	       !sp_updater__is_rewritten(u);
}

sp_status sp_updater__bring_up(sp_updater *u, const sp_found_version *found, bool afresh,
			       sp_error *err)
{
	uint64_t number;

	sp_updater__stop_fold(u);
	if (!afresh && sp_updater__has_full(u, found)) {
		number = sp_catalog_number(u->catalog, found);
		sp_catalog_move(u->catalog, number, SP_VERSION_LOADING, NULL);
		return bring_up_on(u, u->live, number, found, err);
	}
	if (found->delta_prefix == NULL)
		return bring_up_full(u, found, err);
	return bring_up_both(u, found, err);
}
