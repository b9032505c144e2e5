#ifndef SP_INCREMENTAL_MANIFEST_H
#define SP_INCREMENTAL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/*
 * The files of a SavedModel on disk:
 *
 *   saved_model.pb, saved_model.pbtxt     or another graph file in their place
 *   assets/, assets.extra/                all files below them
 *   variables/variables.*                 the weights, if the SavedModel's own are used
 *
 * Graphs and assets have no checksums.  A file counts as changed if its size or times have changed
 * and then its bytes differ: one that was only touched, linked or overwritten with the same bytes
 * has not.  Inodes are ignored, because some file systems renumber files.  Hidden files are
 * ignored.
 *
 * Threads: pure, apart from reading the file system.
 */
typedef enum sp_manifest_kind {
	SP_MANIFEST_GRAPH,
	SP_MANIFEST_ASSET,
	SP_MANIFEST_WEIGHTS,
} sp_manifest_kind;

typedef struct sp_manifest_file {
	uint64_t name; /* hash of the path below the folder */
	uint64_t size;
	uint64_t trace;   /* hash of size, mtime and ctime */
	uint64_t content; /* hash of its bytes; 0: not read */
	const char *path; /* NULL in a copy */
	sp_manifest_kind kind;
} sp_manifest_file;

typedef struct sp_manifest {
	sp_manifest_file *files; /* [count] sorted by name */
	size_t count;
	uint64_t hash; /* of all names and traces */
	bool has_assets;
	int64_t age_ms; /* since the last change of any file; negative if that is in the future */
} sp_manifest;

/*
 * Lists the files of the SavedModel in `folder`.  graph_file NULL: saved_model.pb or .pbtxt.  A
 * folder that is missing or cannot be read has no files.  The only error is SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_manifest_read(sp_manifest *out, const char *folder,
					 const char *graph_file, bool own_weights, sp_arena *arena,
					 sp_error *err);

/* Hashes the bytes of graph and assets.  Call it before they are loaded. */
void sp_manifest_read_contents(sp_manifest *manifest);

/* Copies everything but the paths. */
SP_MUST_CHECK sp_status sp_manifest_copy(sp_manifest *out, const sp_manifest *from, sp_arena *arena,
					 sp_error *err);

/*
 * Whether the graph or an asset has changed between `then` and `now`.  Removed files, new assets
 * and weights (compared by incremental/identity.h) are ignored.  For files with new times and the
 * same bytes `then` takes the new times, so that they are not read again.
 */
bool sp_manifest_has_changed(sp_manifest *then, const sp_manifest *now);

/* Prefix of the weights of a SavedModel: "FOLDER/variables/variables".  NULL when out of memory. */
const char *sp_manifest_own_prefix(const char *folder, const char *graph_file, sp_arena *arena);

#endif
