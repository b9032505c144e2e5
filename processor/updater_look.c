#include "processor/updater_internal.h"

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

/* Of the SavedModel's files, and those of a checkpoint for it. */
static uint64_t files_hash(const sp_updater *u, const sp_found_version *found,
			   const sp_manifest *savedmodel)
{
	uint64_t files = savedmodel->hash;

	if (found->savedmodel_dir == NULL && found->full_prefix[0] != '\0')
		files = sp_fingerprint64_join(files,
					      sp_identity_of_files(found->full_prefix, u->arena));
	if (found->delta_prefix != NULL)
		files = sp_fingerprint64_join(files,
					      sp_identity_of_files(found->delta_prefix, u->arena));
	return files;
}

/* The SavedModel's own, of which this is the prefix: their folder is there, or their index. */
static bool may_have_weights(const sp_updater *u, const char *prefix)
{
	sp_bytes folder = {prefix, (size_t)(strrchr(prefix, '/') - prefix)};
	const char *path = u->config->graph_file != NULL
				   ? sp_arena_printf(u->arena, "%s.index", prefix)
				   : sp_arena_text(u->arena, folder);

	return path != NULL && sp_file_exists(path);
}

/* Whether all files are there; of what is in memory they may be gone. */
static sp_status find_files(const sp_updater *u, const sp_found_version *found, sp_error *err)
{
	sp_weights_options files = {.checkpoint_prefix = sp_updater__weights_prefix(u, found),
				    .delta_prefix = found->delta_prefix};

	if (files.checkpoint_prefix == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a version's name");
	if (files.checkpoint_prefix != found->full_prefix) {
		/* A model of constants has no weights; the first one is not waited for. */
		if (!may_have_weights(u, files.checkpoint_prefix) ||
		    (u->folder == NULL && u->live == NULL))
			return SP_OK;
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
	uint64_t name = name_hash(found), trace, number;
	sp_manifest files;
	sp_error why;
	sp_status status;

	SP_TRY(sp_updater__list_files(u, found, &files, &u->reason));
	trace = files_hash(u, found, &files);
	if (!sp_attempts_is_due(&u->attempts, name, trace, sp_clock_now_ns()))
		return SP_BUSY;
	if (sp_updater__settle(u, found, &files, &why) != SP_OK) {
		number = sp_catalog_number(u->catalog, found);
		sp_catalog_move(u->catalog, number, SP_VERSION_DISCOVERED, &why);
		u->reason = why;
		return SP_BUSY;
	}
	status = find_files(u, found, &why);
	if (status != SP_OK) {
		number = sp_catalog_number(u->catalog, found);
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
	if (u->folder == NULL) {
		*out = (sp_found_version){.full_prefix = "", .full_step = -1, .delta_step = -1};
		return SP_OK;
	}
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

sp_status sp_updater__look(sp_updater *u)
{
	sp_found_version found;
	sp_status status;

	sp_arena_reset(u->arena);
	u->look_ms = INT64_MAX;
	sp_updater__watch(u);
	status = sp_updater__find(u, &found, -1, -1, &u->reason);
	tell_of_folder(u, status);
	if (status != SP_OK)
		return status == SP_NO_MEMORY ? SP_NO_MEMORY : SP_NOT_FOUND;
	if (!is_newer(u, &found))
		return SP_OK;
	status = try(u, &found);
	if (status != SP_OK && found.delta_prefix != NULL && u->look_ms == INT64_MAX) {
		sp_status alone = try_without_delta(u, &found);

		if (alone != SP_BUSY)
			status = alone;
	}
	return status;
}

void sp_updater__refuse(sp_updater *u, const sp_found_version *found)
{
	sp_manifest files;

	if (sp_updater__list_files(u, found, &files, NULL) == SP_OK)
		sp_attempts_note(&u->attempts, name_hash(found), files_hash(u, found, &files),
				 SP_BUSY, sp_clock_now_ns());
}
