#include "tools/location.h"

#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "incremental/discover.h"
#include "storage/image/image.h"

const char *sp_location_kind_name(sp_location_kind kind)
{
	static const char *const names[] = {"saved_model", "checkpoint", "checkpoint_dir", "image"};

	return names[kind];
}

static bool is_image(const char *path)
{
	char magic[sizeof(SP_IMAGE_MAGIC)];
	sp_file file;
	bool is;

	if (sp_file_open(&file, path, NULL) != SP_OK)
		return false;
	is = sp_file_read_at(&file, 0, magic, sizeof(magic), NULL) == SP_OK &&
	     memcmp(magic, SP_IMAGE_MAGIC, sizeof(magic)) == 0;
	sp_file_close(&file);
	return is;
}

/* "<path><tail>" if that file exists; NULL if not, or when out of memory. */
static const char *existing(const char *path, const char *tail, sp_arena *arena)
{
	const char *file = sp_arena_printf(arena, "%s%s", path, tail);

	return file != NULL && sp_file_exists(file) ? file : NULL;
}

static const char *without_index(const char *path, sp_arena *arena)
{
	sp_bytes text = sp_bytes_of(path);

	if (sp_bytes_ends_with(text, ".index"))
		text.size -= strlen(".index");
	return sp_arena_text(arena, text);
}

static sp_status find_version(sp_location *out, const char *path, sp_arena *arena, sp_error *err)
{
	sp_discovery found;
	struct stat info;
	bool is_folder;

	/* A store that refuses to tell, or is away, is no folder without a checkpoint. */
	SP_TRY(sp_folder_find(&is_folder, &info, path, S_IFDIR, err));
	if (!is_folder)
		return sp_error_set(err, SP_NOT_FOUND,
				    "%s is no SavedModel, checkpoint, folder of checkpoints, or "
				    "image",
				    path);
	SP_TRY(sp_discover_version(&found, path, NULL, arena, err));
	out->kind = SP_LOCATION_CHECKPOINT_DIR;
	out->full_prefix = found.version.full_prefix;
	out->delta_prefix = found.version.delta_prefix;
	return SP_OK;
}

sp_status sp_location_find(sp_location *out, const char *path, sp_arena *arena, sp_error *err)
{
	const char *prefix = without_index(path, arena);

	*out = (sp_location){.path = path};
	SP_NEED_MEMORY(prefix, err, "a path");
	if (existing(prefix, ".index", arena) != NULL) {
		out->kind = SP_LOCATION_CHECKPOINT;
		out->full_prefix = prefix;
	} else if (is_image(path)) {
		out->kind = SP_LOCATION_IMAGE;
	} else if (existing(path, "/saved_model.pb", arena) != NULL ||
		   existing(path, "/saved_model.pbtxt", arena) != NULL) {
		out->kind = SP_LOCATION_SAVED_MODEL;
		if (existing(path, "/variables/variables.index", arena) != NULL)
			out->full_prefix = sp_arena_printf(arena, "%s/variables/variables", path);
	} else {
		return find_version(out, path, arena, err);
	}
	return SP_OK;
}
