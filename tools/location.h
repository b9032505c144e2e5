#ifndef SP_TOOLS_LOCATION_H
#define SP_TOOLS_LOCATION_H

#include "base/arena.h"
#include "base/status.h"

/*
 * The kinds of paths that commands take:
 *
 *   SavedModel      a folder with saved_model.pb or .pbtxt
 *   checkpoint      PREFIX, or PREFIX.index
 *   checkpoint_dir  a folder of version folders (incremental/discover.h)
 *   image           a file of storage/image/image.h
 */
typedef enum sp_location_kind {
	SP_LOCATION_SAVED_MODEL,
	SP_LOCATION_CHECKPOINT,
	SP_LOCATION_CHECKPOINT_DIR,
	SP_LOCATION_IMAGE,
} sp_location_kind;

typedef struct sp_location {
	sp_location_kind kind;
	const char *path;
	const char *full_prefix;  /* NULL: a SavedModel without variables, or an image */
	const char *delta_prefix; /* NULL without a delta */
} sp_location;

/* Texts are in `arena`.  SP_NOT_FOUND if the path is none of these. */
SP_MUST_CHECK sp_status sp_location_find(sp_location *out, const char *path, sp_arena *arena,
					 sp_error *err);

/* "saved_model", "checkpoint", "checkpoint_dir", "image". */
const char *sp_location_kind_name(sp_location_kind kind);

#endif
