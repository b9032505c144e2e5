#ifndef SP_PROCESSOR_UPDATER_SOURCE_H
#define SP_PROCESSOR_UPDATER_SOURCE_H

#include "base/arena.h"
#include "incremental/manifest.h"
#include "incremental/watch.h"
#include "processor/config/config.h"
#include "processor/updater/decide.h"
#include "processor/version/version.h"

/*
 * Where versions come from, and what is there now: the facts that a decision needs.
 *
 * Weights have checksums in their index; of the SavedModel's graph and assets we make one
 * (incremental/manifest.h).  Both are noted before they are read: so a change while a version is
 * loaded is seen by the next look.
 *
 * Threads: the updater's.
 */
typedef struct sp_source {
	const sp_config *config;
	const char *folder; /* where versions come; NULL: there is the SavedModel itself */
	bool numbered;      /* they are SavedModels of their own */
	sp_arena *arena;    /* of one look or one order: holds the texts that are found */

	/* A SavedModel that was not old enough when it was looked at. */
	struct {
		uint64_t folder;
		uint64_t files;
		int64_t since_ms; /* on our clock, how long they have been as they are */
	} settling;
} sp_source;

/* One SavedModel, with or without checkpoints for it; or a folder of numbered ones. */
SP_MUST_CHECK sp_status sp_source_init(sp_source *out, const sp_config *config, sp_arena *arena,
				       sp_error *err);

/* Wakes for changes of where versions come from, and of what `live` (or NULL) was read from. */
void sp_source_watch(const sp_source *source, const sp_version *live, sp_watch *watch);

/* ------------------------------------------------------- which versions there are */

/* The newest, and what is to come. */
SP_MUST_CHECK sp_status sp_source_discover(const sp_source *source, sp_discovery *out,
					   sp_error *err);

/* The one of these steps. */
SP_MUST_CHECK sp_status sp_source_find(const sp_source *source, sp_found_version *out,
				       int64_t full_step, int64_t delta_step, sp_error *err);

/* The next older one than `than`. */
SP_MUST_CHECK sp_status sp_source_find_older(const sp_source *source, sp_found_version *out,
					     const sp_found_version *than, sp_error *err);

/* Whether its files were deleted. */
bool sp_source_is_gone(const sp_source *source, const sp_found_version *found);

/* ------------------------------------------------------------------- facts */

/* Of `live`, which may be NULL. */
sp_live_facts sp_source_live_facts(const sp_source *source, sp_version *live);

/*
 * All of a candidate's facts about `found`, as far as they matter: of one that is not to be
 * tried now only name and files.  For a rollback nothing has to settle.
 */
void sp_source_examine(sp_source *source, sp_candidate *out, const sp_found_version *found,
		       sp_situation *situation, sp_version *live);

/* Names a version for attempts.h, and what its files are made of now; 0: there is no memory. */
uint64_t sp_source_name_hash(const sp_found_version *found);
uint64_t sp_source_files_hash(const sp_source *source, const sp_found_version *found);

/* --------------------------------------------------------------- for loading */

/* What `found` is read from beside a checkpoint, in the arena. */
SP_MUST_CHECK sp_status sp_source_list_files(const sp_source *source, const sp_found_version *found,
					     sp_manifest *out, sp_error *err);

/* The bundle that `found`, without its delta, has its weights from.  NULL when out of memory. */
const char *sp_source_weights_prefix(const sp_source *source, const sp_found_version *found);

/* Whether the graph of `live`, and the assets that it read, are those in these files. */
bool sp_source_has_graph(sp_version *live, const sp_manifest *files);

#endif
