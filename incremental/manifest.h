#ifndef SP_INCREMENTAL_MANIFEST_H
#define SP_INCREMENTAL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * The files that a SavedModel is read from, as the file system has them:
 *
 *   saved_model.pb, saved_model.pbtxt     or the graph file in their place
 *   assets/, assets.extra/                all files below them
 *   variables/variables.*                 the weights, where they are its own
 *
 * Graphs and assets have no checksum.  A size and times of change tell that one
 * may be another, and then its bytes whether it is: so a file that was only
 * touched, linked or copied over itself is the same.  Inodes do not count: some
 * file systems number a file anew every so often.  Hidden files are none of a
 * SavedModel.
 *
 * Threads: pure, but for what the file system says.
 */
typedef enum sp_manifest_kind {
	SP_MANIFEST_GRAPH,
	SP_MANIFEST_ASSET,
	SP_MANIFEST_WEIGHTS,
} sp_manifest_kind;

typedef struct sp_manifest_file {
	uint64_t name;
	uint64_t size;
	uint64_t trace;   /* of its size and times of change */
	uint64_t content; /* hash of its bytes; 0: not read */
	const char *path; /* NULL in a copy */
	sp_manifest_kind kind;
} sp_manifest_file;

typedef struct sp_manifest {
	sp_manifest_file *files; /* [count] by name */
	size_t count;
	uint64_t hash; /* one number for all; it differs once any is written, comes or goes */
	bool has_assets;
	int64_t age_ms; /* since the last change of any of them; negative: it lies in the future */
} sp_manifest;

/*
 * Of the SavedModel in `folder`; graph_file NULL is the usual one.  A folder
 * that is not there, or cannot be read, holds no files.  Only SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_manifest_read(sp_manifest *out, const char *folder,
					 const char *graph_file, bool own_weights, sp_arena *arena,
					 sp_error *err);

/* Hashes the bytes of graph and assets; to be called before they are loaded. */
void sp_manifest_read_contents(sp_manifest *manifest);

/* Without the paths. */
SP_MUST_CHECK sp_status sp_manifest_copy(sp_manifest *out, const sp_manifest *from, sp_arena *arena,
					 sp_error *err);

/*
 * Whether a graph or an asset that was read `then` is another one `now`.  A file
 * that is gone has not changed, and an asset that was not there was not read; weights
 * have checksums, by which incremental/identity.h compares them.  `then` is updated for
 * files with other times and the same bytes, so that they are not read again.
 */
bool sp_manifest_has_changed(sp_manifest *then, const sp_manifest *now);

/* Where the weights of a SavedModel are: "FOLDER/variables/variables".  NULL when out of memory. */
const char *sp_manifest_own_prefix(const char *folder, const char *graph_file, sp_arena *arena);

#endif
