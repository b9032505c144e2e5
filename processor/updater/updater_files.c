#include "base/clock.h"
#include "base/hash.h"
#include "incremental/identity.h"
#include "processor/updater/updater_internal.h"

/*
 * What a version is read from, and whether it is still what was read.  Weights
 * have checksums in their index; of the SavedModel's graph and assets we make
 * one (incremental/manifest.h).  Both are noted before they are read: so a change
 * while a version is loaded is seen by the next look.
 */

enum { NS_PER_MS = 1000000 };

/* The SavedModel with its own weights. */
static bool is_own(const sp_found_version *found)
{
	return found->full_prefix[0] == '\0';
}

static const char *savedmodel_of(const sp_updater *u, const sp_found_version *found)
{
	return found->savedmodel_dir != NULL ? found->savedmodel_dir : u->config->savedmodel_dir;
}

/* Its texts are those of the version. */
static sp_found_version name_of(const sp_updater *u, const sp_version *version)
{
	return (sp_found_version){.savedmodel_dir = u->numbered ? version->checkpoint_prefix : NULL,
				  .full_prefix = version->checkpoint_prefix,
				  .full_step = version->full_step,
				  .delta_step = -1};
}

void sp_updater__watch(const sp_updater *u)
{
	const sp_config *config = u->config;
	sp_found_version live;

	if (u->folder != NULL)
		sp_watch_checkpoints(u->watch, u->folder);
	if (!u->numbered)
		sp_watch_savedmodel(u->watch, config->savedmodel_dir, config->graph_file);
	if (u->numbered && u->live != NULL) {
		live = name_of(u, u->live);
		sp_watch_savedmodel(u->watch, savedmodel_of(u, &live), NULL);
	}
}

sp_status sp_updater__list_files(const sp_updater *u, const sp_found_version *found,
				 sp_manifest *out, sp_error *err)
{
	bool own_weights = found->savedmodel_dir != NULL || is_own(found);

	return sp_manifest_read(out, savedmodel_of(u, found), u->config->graph_file, own_weights,
				u->arena, err);
}

const char *sp_updater__weights_prefix(const sp_updater *u, const sp_found_version *found)
{
	if (found->savedmodel_dir == NULL && !is_own(found))
		return found->full_prefix;
	return sp_manifest_own_prefix(savedmodel_of(u, found), u->config->graph_file, u->arena);
}

bool sp_updater__has_graph(const sp_updater *u, const sp_manifest *files)
{
	return u->live != NULL && !sp_manifest_has_changed(&u->live->runtime->files, files);
}

/* Whether weights are other ones; those that are gone are not. */
static bool has_other_weights(const sp_updater *u, const char *prefix)
{
	sp_version *live = u->live;
	uint64_t files = sp_identity_of_files(prefix, u->arena), content;

	/* The content is read only when the files have changed. */
	if (files == live->files)
		return false;
	content = sp_identity_of_content(prefix, u->arena);
	if (content == live->content)
		live->files = files;
	return content != 0 && content != live->content;
}

bool sp_updater__is_rewritten(const sp_updater *u)
{
	sp_found_version live = name_of(u, u->live);
	const char *prefix = sp_updater__weights_prefix(u, &live);
	sp_manifest files;

	/* Not the files, but what was made of them. */
	if (sp_weights_are_broken(u->live->weights))
		return true;
	if (prefix != NULL && has_other_weights(u, prefix))
		return true;
	return sp_updater__list_files(u, &live, &files, NULL) == SP_OK &&
	       !sp_updater__has_graph(u, &files);
}

/* ------------------------------------------------------------------ settling */

/* For how long it still has to be as it is; 0: it may be loaded. */
static int64_t left_to_settle(sp_updater *u, const char *folder, const sp_manifest *files)
{
	int64_t settle = u->config->savedmodel_settle_ms, now = sp_clock_now_ns() / NS_PER_MS, left;
	uint64_t name = sp_fingerprint64(folder, strlen(folder));

	if (!files->has_assets || files->age_ms >= settle)
		return 0;
	if (u->settling.folder != name || u->settling.files != files->hash ||
	    u->settling.since_ms > now) {
		u->settling.folder = name;
		u->settling.files = files->hash;
		u->settling.since_ms = now;
	}
	/* Another machine's clock may be ahead of ours: what we have seen counts, too. */
	left = settle - (now - u->settling.since_ms);
	if (files->age_ms >= 0 && settle - files->age_ms < left)
		left = settle - files->age_ms;
	return left > 0 ? left : 0;
}

sp_status sp_updater__settle(sp_updater *u, const sp_found_version *found, const sp_manifest *files,
			     sp_error *err)
{
	int64_t left;

	/* Of a checkpoint for the graph in memory nothing of the SavedModel is new. */
	if (found->savedmodel_dir == NULL && !is_own(found) && sp_updater__has_graph(u, files))
		return SP_OK;
	left = left_to_settle(u, savedmodel_of(u, found), files);
	if (left == 0)
		return SP_OK;
	u->look_ms = sp_clock_now_ns() / NS_PER_MS + left;
	return sp_error_set(err, SP_BUSY,
			    "a file of %s has just changed, it waits until all have been as they "
			    "are for the %lld ms of savedmodel_settle_ms",
			    savedmodel_of(u, found), (long long)u->config->savedmodel_settle_ms);
}
