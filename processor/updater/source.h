#ifndef SP_PROCESSOR_UPDATER_SOURCE_H
#define SP_PROCESSOR_UPDATER_SOURCE_H

#include "base/arena.h"
#include "incremental/manifest.h"
#include "incremental/watch.h"
#include "processor/config/config.h"
#include "processor/updater/decide.h"
#include "processor/version/version.h"

/*
 * Where versions come from, and the facts about them that a decision needs.
 *
 * The index of weights has checksums; for the SavedModel's graph and assets we compute one
 * (incremental/manifest.h).  Both are recorded before the files are read, so that the next look
 * sees a change during the load.
 *
 * Threads: the updater's.
 */
typedef struct sp_source {
	const sp_config *config;
	const char *folder; /* the folder of versions; NULL: only the SavedModel itself */
	bool numbered;      /* versions are SavedModels of their own */
	sp_arena *arena;    /* of one look or order: holds the texts found */

	/* A SavedModel that was too new at the last look. */
	struct {
		uint64_t folder;
		uint64_t files;
		int64_t since_ms; /* since when it has been unchanged, on our clock */
	} settling;
} sp_source;

/* One SavedModel, with or without checkpoints for it; or a folder of numbered ones. */
SP_MUST_CHECK sp_status sp_source_init(sp_source *out, const sp_config *config, sp_arena *arena,
				       sp_error *err);

/* The next look at the files asks object stores again (base/folder.h). */
void sp_source_refresh(const sp_source *source);

/* Watches the source of versions, and the files that `live` (or NULL) was read from. */
void sp_source_watch(const sp_source *source, const sp_version *live, sp_watch *watch);

/* ------------------------------------------------------- which versions there are */

/* The newest version, and the one expected next. */
SP_MUST_CHECK sp_status sp_source_discover(const sp_source *source, sp_discovery *out,
					   sp_error *err);

/* The version of these steps. */
SP_MUST_CHECK sp_status sp_source_find(const sp_source *source, sp_found_version *out,
				       int64_t full_step, int64_t delta_step, sp_error *err);

/* The next version older than `than`. */
SP_MUST_CHECK sp_status sp_source_find_older(const sp_source *source, sp_found_version *out,
					     const sp_found_version *than, sp_error *err);

/* Whether its files were deleted. */
bool sp_source_is_gone(const sp_source *source, const sp_found_version *found);

/* ------------------------------------------------------------------- facts */

/* The facts about `live`, which may be NULL. */
sp_live_facts sp_source_live_facts(const sp_source *source, sp_version *live);

/*
 * Fills in a candidate's facts about `found` as far as needed: only name and files for one that is
 * not tried now.  For a rollback files need not settle.
 */
void sp_source_examine(sp_source *source, sp_candidate *out, const sp_found_version *found,
		       sp_situation *situation, sp_version *live);

/* Hashes a version's name and its present files, for attempts.h; 0: out of memory. */
uint64_t sp_source_name_hash(const sp_found_version *found);
uint64_t sp_source_files_hash(const sp_source *source, const sp_found_version *found);

/* --------------------------------------------------------------- for loading */

/* The files of `found` that are read beside a checkpoint, in the arena. */
SP_MUST_CHECK sp_status sp_source_list_files(const sp_source *source, const sp_found_version *found,
					     sp_manifest *out, sp_error *err);

/* The prefix of the weights of `found`, without its delta.  NULL when out of memory. */
const char *sp_source_weights_prefix(const sp_source *source, const sp_found_version *found);

/* Whether the graph of `live` and its assets are those in these files. */
bool sp_source_has_graph(sp_version *live, const sp_manifest *files);

#endif
