#include "processor/updater_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "incremental/identity.h"

static bool is_newer(const sp_updater *u, const sp_found_version *found)
{
	const sp_version *live = u->live;

	return live == NULL || live->mixed ||
	       strcmp(found->full_prefix, live->checkpoint_prefix) != 0 ||
	       found->delta_step > live->delta_step || sp_updater__is_rewritten(u);
}

static uint64_t name_hash(const sp_found_version *found)
{
	uint64_t name = sp_fingerprint64(found->full_prefix, strlen(found->full_prefix));

	return found->delta_prefix == NULL
		       ? name
		       : sp_fingerprint64_join(name, sp_fingerprint64(found->delta_prefix,
								      strlen(found->delta_prefix)));
}

static uint64_t numbered_hash(const sp_updater *u, const sp_found_version *found)
{
	const char *graph = sp_arena_printf(u->arena, "%s/saved_model", found->savedmodel_dir);
	const char *weights = sp_arena_printf(u->arena, "%s/variables/variables",
					      found->savedmodel_dir);

	return sp_fingerprint64_join(graph != NULL ? sp_identity_of_files(graph, u->arena) : 0,
				     weights != NULL ? sp_identity_of_files(weights, u->arena) : 0);
}

static uint64_t files_hash(const sp_updater *u, const sp_found_version *found)
{
	uint64_t files;

	if (found->savedmodel_dir != NULL)
		return numbered_hash(u, found);
	files = sp_identity_of_files(found->full_prefix, u->arena);
	return found->delta_prefix == NULL
		       ? files
		       : sp_fingerprint64_join(files,
					       sp_identity_of_files(found->delta_prefix, u->arena));
}

/* Whether all files are there; of what is in memory they may be gone. */
static sp_status find_files(const sp_updater *u, const sp_found_version *found, sp_error *err)
{
	sp_weights_options files = {.checkpoint_prefix = found->full_prefix,
				    .delta_prefix = found->delta_prefix};

	if (found->savedmodel_dir != NULL) {
		const char *variables = sp_arena_printf(u->arena, "%s/variables",
							found->savedmodel_dir);

		/* A model of constants has none. */
		if (variables == NULL || !sp_file_is_directory(variables))
			return SP_OK;
		files.checkpoint_prefix = sp_arena_printf(u->arena, "%s/variables", variables);
	} else if (sp_updater__has_full(u, found)) {
		files.checkpoint_prefix = NULL;
	}
	return sp_weights_find_files(&files, err);
}

/*
 * Tries what has not failed with these files already.  SP_BUSY: not now;
 * u->reason still says why it failed.
 */
static sp_status try(sp_updater *u, const sp_found_version *found)
{
	uint64_t name = name_hash(found), trace = files_hash(u, found);
	sp_error why;
	sp_status status;

	if (!sp_attempts_is_due(&u->attempts, name, trace, sp_clock_now_ns()))
		return SP_BUSY;
	sp_catalog_note_files(u->catalog, sp_catalog_number(u->catalog, found), trace);
	status = find_files(u, found, &why);
	if (status != SP_OK) {
		uint64_t number = sp_catalog_number(u->catalog, found);

		sp_catalog_move(u->catalog, number, SP_VERSION_DISCOVERED, &why);
		sp_attempts_note(&u->attempts, name, trace, status, sp_clock_now_ns());
		u->reason = why;
		return SP_NOT_FOUND;
	}
	status = sp_updater__bring_up(u, found, false, &why);
	if (status == SP_OK) {
		u->reason = (sp_error){.status = SP_OK};
		return SP_OK;
	}
	sp_attempts_note(&u->attempts, name, trace, status, sp_clock_now_ns());
	u->reason = why;
	return status;
}

/* When the delta is what keeps a version back, the full checkpoint alone will do. */
static sp_status try_without_delta(sp_updater *u, const sp_found_version *found)
{
	sp_found_version full = {
		.full_prefix = found->full_prefix, .full_step = found->full_step, .delta_step = -1};

	return is_newer(u, &full) ? try(u, &full) : SP_BUSY;
}

sp_status sp_updater__find(const sp_updater *u, sp_found_version *out, int64_t full_step,
			   int64_t delta_step, sp_error *err)
{
	if (u->numbered && delta_step >= 0)
		return sp_error_set(err, SP_NOT_FOUND, "numbered SavedModels have no deltas");
	if (u->numbered)
		return sp_discover_numbered(out, u->folder, full_step, u->arena, err);
	if (full_step < 0)
		return sp_discover_version(out, u->folder, u->arena, err);
	return sp_discover_steps(out, u->folder, full_step, delta_step, u->arena, err);
}

/* One line when the folder goes, one when it comes back, however long that takes. */
static void tell_of_folder(sp_updater *u, sp_status status)
{
	bool blind = u->live != NULL && status != SP_OK;

	if (blind && !u->blind)
		sp_log(SP_LOG_WARNING, "no newer version can be found, the old one stays live: %s",
		       u->reason.text);
	if (!blind && u->blind)
		sp_log(SP_LOG_INFO, "newer versions can be looked for again in '%s'", u->folder);
	u->blind = blind;
}

/* ------------------------------------------------------------ what is gone */

static bool is_gone(const char *path)
{
	struct stat info;

	return path != NULL && stat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

static bool are_files_gone(const sp_updater *u, const sp_found_version *found)
{
	const char *full = found->full_prefix;

	if (u->numbered)
		return is_gone(sp_arena_printf(u->arena, "%s/saved_model.pb", full)) &&
		       is_gone(sp_arena_printf(u->arena, "%s/saved_model.pbtxt", full));
	return is_gone(sp_arena_printf(u->arena, "%s.index", full)) ||
	       (found->delta_prefix != NULL &&
		is_gone(sp_arena_printf(u->arena, "%s.index", found->delta_prefix)));
}

/* Nobody needs to be told any more of what was deleted before it was ever served. */
static void forget_deleted(sp_updater *u)
{
	char name[SP_UPDATER_NAME_SIZE];
	sp_found_version found;
	uint64_t number = 0;

	while ((number = sp_catalog_next_waiting(u->catalog, number, &found, u->arena)) != 0) {
		if (!are_files_gone(u, &found))
			continue;
		sp_log(SP_LOG_INFO, "version %s is forgotten, its files are gone: %s",
		       sp_updater__name(name, found.full_step, found.delta_step),
		       found.delta_prefix != NULL ? found.delta_prefix : found.full_prefix);
		sp_catalog_forget(u->catalog, number);
	}
}

/* ----------------------------------------------------------------- one look */

/* The newest there is, served or not. */
static void tell_newest(sp_updater *u, const sp_found_version *found)
{
	char name[SP_UPDATER_NAME_SIZE];
	const char *pinned = NULL;

	if (u->pin.holds &&
	    (found->full_step != u->pin.full_step || found->delta_step != u->pin.delta_step))
		pinned = sp_arena_printf(
			u->arena, "%s is pinned by order of %s",
			sp_updater__name(name, u->pin.full_step, u->pin.delta_step), u->pin.by);
	sp_catalog_see(u->catalog, is_newer(u, found) ? found : NULL, pinned);
}

/* What is pinned is loaded at the start, and again only when its files have changed. */
static sp_status look_for_pinned(sp_updater *u)
{
	char name[SP_UPDATER_NAME_SIZE];
	sp_found_version found;
	sp_status status;

	if (u->live != NULL && !u->live->mixed && !sp_updater__is_rewritten(u))
		return SP_OK;
	status = sp_updater__find(u, &found, u->pin.full_step, u->pin.delta_step, &u->reason);
	if (status == SP_OK)
		status = try(u, &found);
	if (status != SP_OK && status != SP_BUSY)
		sp_error_prefix(&u->reason, status, "version %s is pinned by order of %s",
				sp_updater__name(name, u->pin.full_step, u->pin.delta_step),
				u->pin.by);
	return status;
}

static sp_status look_for_newest(sp_updater *u, const sp_found_version *found)
{
	sp_status status;

	if (!is_newer(u, found))
		return SP_OK;
	status = try(u, found);
	if (status != SP_OK && found->delta_prefix != NULL) {
		sp_status alone = try_without_delta(u, found);

		if (alone != SP_BUSY)
			status = alone;
	}
	return status;
}

sp_status sp_updater__look(sp_updater *u)
{
	sp_found_version found;
	sp_status status;

	sp_arena_reset(u->arena);
	sp_watch_checkpoints(u->watch, u->folder);
	status = sp_updater__find(u, &found, -1, -1, &u->reason);
	tell_of_folder(u, status);
	if (status == SP_OK)
		tell_newest(u, &found);
	if (status == SP_OK || (status == SP_NOT_FOUND && sp_file_is_directory(u->folder)))
		forget_deleted(u);
	sp_catalog_end_look(u->catalog);
	if (u->pin.holds)
		return look_for_pinned(u);
	if (status != SP_OK)
		return status == SP_NO_MEMORY ? SP_NO_MEMORY : SP_NOT_FOUND;
	return look_for_newest(u, &found);
}

/* ------------------------------------------------------------ of one version */

void sp_updater__note_files(sp_updater *u, const sp_found_version *found)
{
	sp_catalog_note_files(u->catalog, sp_catalog_number(u->catalog, found),
			      files_hash(u, found));
}

void sp_updater__note_failure(sp_updater *u, const sp_found_version *found, sp_status status)
{
	sp_attempts_note(&u->attempts, name_hash(found), files_hash(u, found), status,
			 sp_clock_now_ns());
}

void sp_updater__allow(sp_updater *u, const sp_found_version *found)
{
	sp_attempts_allow(&u->attempts, name_hash(found));
}

bool sp_updater__may_serve(sp_updater *u, const sp_found_version *found)
{
	return !are_files_gone(u, found) && find_files(u, found, NULL) == SP_OK &&
	       sp_attempts_is_due(&u->attempts, name_hash(found), files_hash(u, found),
				  sp_clock_now_ns());
}
