#include "processor/updater/source.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "incremental/identity.h"
#include "model_loader/saved_model/model_folder.h"

enum { NS_PER_MS = 1000000 };

sp_status sp_source_init(sp_source *out, const sp_config *config, sp_arena *arena, sp_error *err)
{
	sp_discovery any;
	sp_status status = SP_OK;

	*out = (sp_source){.config = config, .arena = arena, .folder = config->checkpoint_dir};
	if (config->graph_file != NULL)
		return SP_OK; /* checked when it is opened */
	status = sp_model_folder_check(config->savedmodel_dir, err);
	if (status == SP_OK)
		return SP_OK;
	sp_error_prefix(err, status, "savedmodel_dir");
	if (config->checkpoint_dir != NULL ||
	    sp_discover_numbered(&any, config->savedmodel_dir, -1, arena, NULL) != SP_OK)
		return status;
	out->folder = config->savedmodel_dir;
	out->numbered = true;
	return SP_OK;
}

/* Whether it is the SavedModel with its own weights. */
static bool is_own(const sp_found_version *found)
{
	return found->full_prefix[0] == '\0';
}

static const char *savedmodel_of(const sp_source *source, const sp_found_version *found)
{
	return found->savedmodel_dir != NULL ? found->savedmodel_dir
					     : source->config->savedmodel_dir;
}

void sp_source_refresh(const sp_source *source)
{
	sp_folder_refresh(source->config->savedmodel_dir);
	if (source->folder != NULL)
		sp_folder_refresh(source->folder);
}

void sp_source_watch(const sp_source *source, const sp_version *live, sp_watch *watch)
{
	const sp_config *config = source->config;

	if (source->folder != NULL)
		sp_watch_checkpoints(watch, source->folder);
	if (!source->numbered)
		sp_watch_savedmodel(watch, config->savedmodel_dir, config->graph_file);
	else if (live != NULL)
		sp_watch_savedmodel(watch, live->checkpoint_prefix, NULL);
}

/* ------------------------------------------------------- which versions there are */

sp_status sp_source_discover(const sp_source *source, sp_discovery *out, sp_error *err)
{
	sp_discover_options options = {
		.quiet_ms = (int64_t)(source->config->update_wait_for_full_seconds * 1000)};

	*out = (sp_discovery){.version = {.full_prefix = "", .full_step = -1, .delta_step = -1}};
	if (source->folder == NULL)
		return SP_OK; /* the only version is the SavedModel with its own weights */
	return source->numbered
		       ? sp_discover_numbered(out, source->folder, -1, source->arena, err)
		       : sp_discover_version(out, source->folder, &options, source->arena, err);
}

sp_status sp_source_find(const sp_source *source, sp_found_version *out, int64_t full_step,
			 int64_t delta_step, sp_error *err)
{
	sp_discovery found;

	if (!source->numbered)
		return sp_discover_steps(out, source->folder, full_step, delta_step, source->arena,
					 err);
	if (delta_step >= 0)
		return sp_error_set(err, SP_NOT_FOUND, "numbered SavedModels have no deltas");
	SP_TRY(sp_discover_numbered(&found, source->folder, full_step, source->arena, err));
	*out = found.version;
	return SP_OK;
}

sp_status sp_source_find_older(const sp_source *source, sp_found_version *out,
			       const sp_found_version *than, sp_error *err)
{
	if (source->numbered)
		return sp_discover_older_numbered(out, source->folder, than->full_step,
						  source->arena, err);
	return sp_discover_older(out, source->folder, than, source->arena, err);
}

static bool is_missing(const char *path)
{
	return path != NULL && sp_file_is_missing(path);
}

bool sp_source_is_gone(const sp_source *source, const sp_found_version *found)
{
	const char *full = found->full_prefix;

	if (source->folder == NULL)
		return false;
	if (source->numbered)
		return is_missing(sp_arena_printf(source->arena, "%s/saved_model.pb", full)) &&
		       is_missing(sp_arena_printf(source->arena, "%s/saved_model.pbtxt", full));
	return is_missing(sp_arena_printf(source->arena, "%s.index", full)) ||
	       (found->delta_prefix != NULL &&
		is_missing(sp_arena_printf(source->arena, "%s.index", found->delta_prefix)));
}

/* ------------------------------------------------------------------- files */

sp_status sp_source_list_files(const sp_source *source, const sp_found_version *found,
			       sp_manifest *out, sp_error *err)
{
	bool own_weights = found->savedmodel_dir != NULL || is_own(found);

	return sp_manifest_read(out, savedmodel_of(source, found), source->config->graph_file,
				own_weights, source->arena, err);
}

const char *sp_source_weights_prefix(const sp_source *source, const sp_found_version *found)
{
	if (found->savedmodel_dir == NULL && !is_own(found))
		return found->full_prefix;
	return sp_manifest_own_prefix(savedmodel_of(source, found), source->config->graph_file,
				      source->arena);
}

bool sp_source_has_graph(sp_version *live, const sp_manifest *files)
{
	return live != NULL && !sp_manifest_has_changed(&live->runtime->files, files);
}

uint64_t sp_source_name_hash(const sp_found_version *found)
{
	uint64_t name = sp_fingerprint64(found->full_prefix, strlen(found->full_prefix));

	return found->delta_prefix == NULL
		       ? name
		       : sp_fingerprint64_join(name, sp_fingerprint64(found->delta_prefix,
								      strlen(found->delta_prefix)));
}

/* The hash of the SavedModel's files, and of the files of a checkpoint for it. */
static uint64_t hash_files(const sp_source *source, const sp_found_version *found,
			   const sp_manifest *savedmodel)
{
	uint64_t files = savedmodel->hash;

	if (found->savedmodel_dir == NULL && !is_own(found))
		files = sp_fingerprint64_join(
			files, sp_identity_of_files(found->full_prefix, source->arena));
	if (found->delta_prefix != NULL)
		files = sp_fingerprint64_join(
			files, sp_identity_of_files(found->delta_prefix, source->arena));
	return files;
}

uint64_t sp_source_files_hash(const sp_source *source, const sp_found_version *found)
{
	sp_manifest files;

	return sp_source_list_files(source, found, &files, NULL) == SP_OK
		       ? hash_files(source, found, &files)
		       : 0;
}

/* ------------------------------------------------------------------- facts */

/* Whether the content of the weights has changed.  Deleted files do not count as a change. */
static bool has_other_weights(const sp_source *source, sp_version *live, const char *prefix)
{
	uint64_t files = sp_identity_of_files(prefix, source->arena), content;

	/* Content is read only if size, time or inode differ. */
	if (files == live->files)
		return false;
	content = sp_identity_of_content(prefix, source->arena);
	if (content == live->content)
		live->files = files;
	return content != 0 && content != live->content;
}

static bool is_rewritten(const sp_source *source, sp_version *live, const sp_found_version *name)
{
	const char *prefix = sp_source_weights_prefix(source, name);
	sp_manifest files;

	/* An image that fails its checks is broken even if no file has changed. */
	if (sp_weights_are_broken(live->weights))
		return true;
	if (prefix != NULL && has_other_weights(source, live, prefix))
		return true;
	return sp_source_list_files(source, name, &files, NULL) == SP_OK &&
	       !sp_source_has_graph(live, &files);
}

sp_live_facts sp_source_live_facts(const sp_source *source, sp_version *live)
{
	sp_live_facts facts = {.is_there = live != NULL};

	if (live != NULL) {
		facts.version = sp_version_name(live);
		facts.is_rewritten = is_rewritten(source, live, &facts.version);
	}
	return facts;
}

/* How long it must still stay unchanged; 0: it may be loaded. */
static int64_t left_to_settle(sp_source *source, const char *folder, const sp_manifest *files,
			      int64_t now_ms)
{
	int64_t settle = source->config->savedmodel_settle_ms, left;
	uint64_t name = sp_fingerprint64(folder, strlen(folder));

	if (!files->has_assets || files->age_ms >= settle)
		return 0;
	if (source->settling.folder != name || source->settling.files != files->hash ||
	    source->settling.since_ms > now_ms) {
		source->settling.folder = name;
		source->settling.files = files->hash;
		source->settling.since_ms = now_ms;
	}
	/* The writer's clock may be ahead of ours: what we have observed counts as well. */
	left = settle - (now_ms - source->settling.since_ms);
	if (files->age_ms >= 0 && settle - files->age_ms < left)
		left = settle - files->age_ms;
	return left > 0 ? left : 0;
}

/* Whether there may be weights of the SavedModel with this prefix: their folder or index exists. */
static bool may_have_weights(const sp_source *source, const char *prefix)
{
	sp_bytes folder = {prefix, (size_t)(strrchr(prefix, '/') - prefix)};
	const char *path = source->config->graph_file != NULL
				   ? sp_arena_printf(source->arena, "%s.index", prefix)
				   : sp_arena_text(source->arena, folder);

	return path != NULL && sp_file_exists(path);
}

/* Whether all files exist; the full checkpoint in memory may have been deleted. */
static sp_status find_files(const sp_source *source, const sp_found_version *found,
			    const sp_live_facts *live, sp_error *err)
{
	sp_weights_options files = {.checkpoint_prefix = sp_source_weights_prefix(source, found),
				    .delta_prefix = found->delta_prefix};

	SP_NEED_MEMORY(files.checkpoint_prefix, err, "a version's name");
	if (files.checkpoint_prefix != found->full_prefix) {
		/* A model of constants has no weights; the first version does not wait for any. */
		if (!may_have_weights(source, files.checkpoint_prefix) ||
		    (source->folder == NULL && !live->is_there))
			return SP_OK;
	} else if (live->is_there && !live->is_rewritten &&
		   strcmp(found->full_prefix, live->version.full_prefix) == 0) {
		files.checkpoint_prefix = NULL;
	}
	return sp_weights_find_files(&files, err);
}

void sp_source_examine(sp_source *source, sp_candidate *out, const sp_found_version *found,
		       sp_situation *situation, sp_version *live)
{
	bool is_look = situation->order == SP_ORDER_NONE;
	sp_manifest files;

	*out = (sp_candidate){.version = *found, .name = sp_source_name_hash(found)};
	out->is_gone = !is_look && sp_source_is_gone(source, found);
	out->found = sp_source_list_files(source, found, &files, &out->why);
	if (out->found != SP_OK)
		return;
	out->files = hash_files(source, found, &files);
	if (!sp_attempts_is_due(situation->attempts, out->name, out->files, situation->now_ns))
		return;
	/* A checkpoint for the graph in memory does not read the SavedModel. */
	if (is_look &&
	    (found->savedmodel_dir != NULL || is_own(found) || !sp_source_has_graph(live, &files)))
		out->settle_ms = left_to_settle(source, savedmodel_of(source, found), &files,
						situation->now_ns / NS_PER_MS);
	if (out->settle_ms > 0)
		sp_error_set(
			&out->why, SP_BUSY,
			"a file of %s has just changed: waiting until all are unchanged for the "
			"%lld ms of savedmodel_settle_ms",
			savedmodel_of(source, found),
			(long long)source->config->savedmodel_settle_ms);
	else
		out->complete = find_files(source, found, &situation->live, &out->why);
}
