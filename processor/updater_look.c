#include "processor/updater_internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "incremental/identity.h"

enum { REMINDER_MS = 60000 }; /* the catalog says again what waits */

static bool is_newer(const sp_updater *u, const sp_found_version *found)
{
	const sp_version *live = u->live;

	return live == NULL || strcmp(found->full_prefix, live->checkpoint_prefix) != 0 ||
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

static void keep_waiting(sp_updater *u, uint64_t number)
{
	if (number != 0 && u->waits.count < SP_UPDATER_WAITS)
		u->waits.numbers[u->waits.count++] = number;
}

/* Listed with its reason until it is loaded, or a look does not find it waiting any more. */
static void wait_for(sp_updater *u, const sp_found_version *found, const sp_error *why)
{
	uint64_t number = sp_catalog_number(u->catalog, found);

	sp_catalog_move(u->catalog, number, SP_VERSION_DISCOVERED, why);
	keep_waiting(u, number);
}

/*
 * Tries what has not failed with these files already; u->reason still says why
 * it failed.  Only missing files are waited for: what is wrong with files that
 * are all there, loading finds and refuses.
 */
static sp_look try(sp_updater *u, const sp_found_version *found)
{
	uint64_t name = name_hash(found), trace;
	sp_manifest files;
	sp_error why;
	sp_status status;

	status = sp_updater__list_files(u, found, &files, &u->reason);
	if (status != SP_OK)
		return SP_LOOK_REFUSED;
	trace = files_hash(u, found, &files);
	if (!sp_attempts_is_due(&u->attempts, name, trace, sp_clock_now_ns())) {
		keep_waiting(u, sp_catalog_remind(u->catalog, found));
		return SP_LOOK_KNOWN;
	}
	if (sp_updater__settle(u, found, &files, &why) != SP_OK) {
		wait_for(u, found, &why);
		u->reason = why;
		return SP_LOOK_INCOMPLETE;
	}
	sp_catalog_note_files(u->catalog, sp_catalog_number(u->catalog, found), trace);
	status = find_files(u, found, &why);
	if (status != SP_OK && status != SP_UNSUPPORTED) {
		wait_for(u, found, &why);
		sp_attempts_note(&u->attempts, name, trace, status, sp_clock_now_ns());
		u->reason = why;
		return SP_LOOK_INCOMPLETE;
	}
	status = sp_updater__bring_up(u, found, false, &why);
	if (status == SP_OK) {
		u->reason = (sp_error){.status = SP_OK};
		return SP_LOOK_DONE;
	}
	sp_attempts_note(&u->attempts, name, trace, status, sp_clock_now_ns());
	u->reason = why;
	return SP_LOOK_REFUSED;
}

/* When the delta is what keeps a version back, the full checkpoint alone will do. */
static sp_look try_without_delta(sp_updater *u, const sp_found_version *found)
{
	sp_found_version full = {
		.full_prefix = found->full_prefix, .full_step = found->full_step, .delta_step = -1};

	return is_newer(u, &full) ? try(u, &full) : SP_LOOK_KNOWN;
}

static sp_status discover(const sp_updater *u, sp_discovery *out, sp_error *err)
{
	sp_discover_options options = {
		.quiet_ms = (int64_t)(u->config->update_wait_for_full_seconds * 1000)};

	/* The SavedModel with its own weights is the one version there is. */
	if (u->folder == NULL) {
		*out = (sp_discovery){
			.version = {.full_prefix = "", .full_step = -1, .delta_step = -1}};
		return SP_OK;
	}
	return u->numbered ? sp_discover_numbered(out, u->folder, -1, u->arena, err)
			   : sp_discover_version(out, u->folder, &options, u->arena, err);
}

sp_status sp_updater__find(const sp_updater *u, sp_found_version *out, int64_t full_step,
			   int64_t delta_step, sp_error *err)
{
	sp_discovery found;

	if (u->numbered && delta_step >= 0)
		return sp_error_set(err, SP_NOT_FOUND, "numbered SavedModels have no deltas");
	if (full_step >= 0 && !u->numbered)
		return sp_discover_steps(out, u->folder, full_step, delta_step, u->arena, err);
	if (full_step >= 0)
		SP_TRY(sp_discover_numbered(&found, u->folder, full_step, u->arena, err));
	else
		SP_TRY(discover(u, &found, err));
	*out = found.version;
	return SP_OK;
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

	if (u->folder == NULL)
		return false;
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

/* -------------------------------------------------------------- what is told */

static bool is_told(const sp_updater_notes *notes, uint64_t line)
{
	for (size_t i = 0; i < notes->count; i++)
		if (notes->lines[i] == line)
			return true;
	return false;
}

/* Beyond SP_UPDATER_NOTES at once nothing is said. */
static void tell_notes(sp_updater *u, const sp_discover_note *notes)
{
	sp_updater_notes before = u->notes;

	u->notes.count = 0;
	for (; notes != NULL && u->notes.count < SP_UPDATER_NOTES; notes = notes->next) {
		uint64_t line = sp_fingerprint64(notes->text, strlen(notes->text));

		if (!is_told(&before, line))
			sp_log(SP_LOG_WARNING, "%s", notes->text);
		u->notes.lines[u->notes.count++] = line;
	}
}

static void note_what_is_to_come(sp_updater *u, const sp_discovery *found)
{
	sp_error why;

	if (found->why == NULL || !is_newer(u, &found->waiting))
		return;
	sp_error_set(&why, SP_NOT_FOUND, "%s", found->why);
	wait_for(u, &found->waiting, &why);
	u->waits.end_ms = found->wait_ms;
}

/* What waited at the last look, and does not any more, is not listed any longer. */
static void forget_the_rest(sp_updater *u, const sp_updater_waits *before)
{
	for (size_t i = 0; i < before->count; i++) {
		bool waits = false;

		for (size_t k = 0; k < u->waits.count; k++)
			waits |= u->waits.numbers[k] == before->numbers[i];
		if (!waits &&
		    sp_catalog_state(u->catalog, before->numbers[i]) == SP_VERSION_DISCOVERED)
			sp_catalog_forget(u->catalog, before->numbers[i]);
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
static sp_look look_for_pinned(sp_updater *u)
{
	char name[SP_UPDATER_NAME_SIZE];
	sp_look look = SP_LOOK_INCOMPLETE;
	sp_found_version found;
	sp_status status;

	if (u->live != NULL && !sp_updater__is_rewritten(u))
		return SP_LOOK_DONE;
	status = sp_updater__find(u, &found, u->pin.full_step, u->pin.delta_step, &u->reason);
	if (status == SP_OK)
		look = try(u, &found);
	else if (status == SP_NO_MEMORY)
		look = SP_LOOK_REFUSED;
	if (look != SP_LOOK_DONE && look != SP_LOOK_KNOWN)
		sp_error_prefix(&u->reason, u->reason.status, "version %s is pinned by order of %s",
				sp_updater__name(name, u->pin.full_step, u->pin.delta_step),
				u->pin.by);
	return look;
}

static sp_look take_newest(sp_updater *u, const sp_found_version *found)
{
	sp_look look, alone;

	if (!is_newer(u, found))
		return SP_LOOK_DONE;
	look = try(u, found);
	/* What has just changed is waited for, with its delta. */
	if (look == SP_LOOK_DONE || found->delta_prefix == NULL || u->look_ms != INT64_MAX)
		return look;
	alone = try_without_delta(u, found);
	return alone == SP_LOOK_KNOWN ? look : alone;
}

sp_look sp_updater__look(sp_updater *u)
{
	sp_updater_waits before = u->waits;
	sp_look look = SP_LOOK_INCOMPLETE;
	sp_discovery found;
	sp_status status;

	sp_arena_reset(u->arena);
	u->look_ms = INT64_MAX;
	sp_updater__watch(u);
	status = discover(u, &found, &u->reason);
	tell_of_folder(u, status);
	u->waits = (sp_updater_waits){.count = 0};
	note_what_is_to_come(u, &found);
	if (status == SP_OK) {
		tell_notes(u, found.notes);
		tell_newest(u, &found.version);
	}
	if (u->pin.holds)
		look = look_for_pinned(u);
	else if (status == SP_OK)
		look = take_newest(u, &found.version);
	else if (status == SP_NO_MEMORY)
		look = SP_LOOK_REFUSED;
	forget_the_rest(u, &before);
	if (status == SP_OK || (status == SP_NOT_FOUND && sp_file_is_directory(u->folder)))
		forget_deleted(u);
	sp_catalog_end_look(u->catalog);
	return look;
}

int64_t sp_updater__next_look_ms(const sp_updater *u)
{
	int64_t next = u->config->update_poll_interval_ms;

	if (u->waits.count != 0 && next > REMINDER_MS)
		next = REMINDER_MS;
	return u->waits.end_ms != 0 && next > u->waits.end_ms ? u->waits.end_ms : next;
}

/* ------------------------------------------------------------ of one version */

/* What its files are made of now; 0 when there is no memory to say so. */
static uint64_t trace_of(const sp_updater *u, const sp_found_version *found)
{
	sp_manifest files;

	return sp_updater__list_files(u, found, &files, NULL) == SP_OK
		       ? files_hash(u, found, &files)
		       : 0;
}

void sp_updater__note_files(sp_updater *u, const sp_found_version *found)
{
	sp_catalog_note_files(u->catalog, sp_catalog_number(u->catalog, found), trace_of(u, found));
}

void sp_updater__note_failure(sp_updater *u, const sp_found_version *found, sp_status status)
{
	sp_attempts_note(&u->attempts, name_hash(found), trace_of(u, found), status,
			 sp_clock_now_ns());
}

void sp_updater__allow(sp_updater *u, const sp_found_version *found)
{
	sp_attempts_allow(&u->attempts, name_hash(found));
}

bool sp_updater__may_serve(sp_updater *u, const sp_found_version *found)
{
	return !are_files_gone(u, found) && find_files(u, found, NULL) == SP_OK &&
	       sp_attempts_is_due(&u->attempts, name_hash(found), trace_of(u, found),
				  sp_clock_now_ns());
}
