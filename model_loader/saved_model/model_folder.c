#include "model_loader/saved_model/model_folder.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/folder.h"

#define EXPORT     "export it as a SavedModel"
#define GRAPH_FILE "configuration key 'graph_file' serves it"

typedef struct model_kind {
	const char *ending; /* suffix of the file's name */
	const char *what;
	const char *advice;
} model_kind;

/* If a folder has several kinds, the first of these is reported. */
static const model_kind kinds[] = {
	{"saved_model.cpb", "a SavedModel in chunks", "export it as saved_model.pb"},
	{".keras", "a Keras archive", EXPORT},
	{".h5", "a Keras model or its weights in HDF5", EXPORT},
	{".hdf5", "a Keras model or its weights in HDF5", EXPORT},
	{".tflite", "a model of TensorFlow Lite", "export what it was made of as a SavedModel"},
	{".onnx", "an ONNX model", "export what it was made of as a SavedModel"},
	{".meta", "a MetaGraphDef", GRAPH_FILE},
	{".pb", "a graph", GRAPH_FILE},
	{".pbtxt", "a graph as text", GRAPH_FILE},
};

/* Whether it is not a model: a hidden file, or one that TensorFlow writes beside saved_model.pb. */
static bool is_beside(const char *name)
{
	return name[0] == '.' || strcmp(name, "fingerprint.pb") == 0 ||
	       strcmp(name, "keras_metadata.pb") == 0;
}

static sp_status name_other(const char *directory, const sp_folder *files, sp_error *err)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t i = 0; i < files->count; i++) {
			const char *name = files->names[i];

			if (!is_beside(name) &&
			    sp_bytes_ends_with(sp_bytes_of(name), kinds[k].ending))
				return sp_error_set(err, SP_UNSUPPORTED,
						    "no saved_model.pb in '%s', but '%s', %s: %s",
						    directory, name, kinds[k].what,
						    kinds[k].advice);
		}
	return sp_error_set(err, SP_NOT_FOUND, "no saved_model.pb in '%s'", directory);
}

static sp_status find_in(bool *found, const char *directory, const char *name, sp_error *err)
{
	char path[PATH_MAX];
	struct stat info;

	*found = false;
	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return SP_OK;
	return sp_folder_find(found, &info, path, S_IFREG, err);
}

sp_status sp_model_folder_check(const char *directory, sp_error *err)
{
	sp_arena *arena;
	sp_folder files;
	sp_status status;
	bool found;

	SP_TRY(find_in(&found, directory, "saved_model.pb", err));
	if (!found)
		SP_TRY(find_in(&found, directory, "saved_model.pbtxt", err));
	if (found)
		return SP_OK;
	arena = sp_arena_create(4096);
	SP_NEED_MEMORY(arena, err, "the files of a folder");
	if (sp_folder_list(&files, directory, arena, NULL) != SP_OK)
		files.count = 0;
	status = name_other(directory, &files, err);
	sp_arena_destroy(arena);
	return status;
}
