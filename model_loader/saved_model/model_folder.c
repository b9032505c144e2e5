#include "model_loader/saved_model/model_folder.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

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

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Whether it is not a model: a hidden file, or one that TensorFlow writes beside saved_model.pb. */
static bool is_beside(const char *name)
{
	return name[0] == '.' || strcmp(name, "fingerprint.pb") == 0 ||
	       strcmp(name, "keras_metadata.pb") == 0;
}

/* KINDS: it is no model. */
static size_t kind_of(const char *name)
{
	size_t kind = is_beside(name) ? KINDS : 0;

	while (kind < KINDS && !sp_bytes_ends_with(sp_bytes_of(name), kinds[kind].ending))
		kind++;
	return kind;
}

/* Finds another model in the folder, and its kind. */
static size_t find_other(const char *directory, char name[NAME_MAX + 1])
{
	DIR *folder = opendir(directory);
	const struct dirent *entry;
	size_t found = KINDS;

	if (folder == NULL)
		return KINDS;
	while ((entry = readdir(folder)) != NULL) {
		size_t kind = kind_of(entry->d_name);

		if (kind == KINDS || kind > found ||
		    (kind == found && strcmp(entry->d_name, name) > 0))
			continue;
		found = kind;
		snprintf(name, NAME_MAX + 1, "%s", entry->d_name);
	}
	closedir(folder);
	return found;
}

static bool holds(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
	       sp_file_exists(path);
}

sp_status sp_model_folder_check(const char *directory, sp_error *err)
{
	char name[NAME_MAX + 1];
	size_t kind;

	if (holds(directory, "saved_model.pb") || holds(directory, "saved_model.pbtxt"))
		return SP_OK;
	kind = find_other(directory, name);
	if (kind == KINDS)
		return sp_error_set(err, SP_NOT_FOUND, "no saved_model.pb in '%s'", directory);
	return sp_error_set(err, SP_UNSUPPORTED, "no saved_model.pb in '%s', but '%s', %s: %s",
			    directory, name, kinds[kind].what, kinds[kind].advice);
}
