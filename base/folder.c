#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/store.h"

static sp_status no_memory(const char *path, sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory to list the folder %s", path);
}

static sp_status cannot_read(const char *path, int number, sp_error *err)
{
	char reason[128];

	return sp_error_set(err, number == ENOENT || number == ENOTDIR ? SP_NOT_FOUND : SP_IO,
			    "cannot read the folder %s: %s", path,
			    strerror_r(number, reason, sizeof(reason)));
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static sp_status read_names(sp_folder *out, DIR *dir, const char *path, sp_arena *arena,
			    sp_error *err)
{
	size_t room = 0;
	const struct dirent *entry;

	while ((errno = 0, entry = readdir(dir)) != NULL) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (!SP_ARENA_GROW(arena, out->names, room, out->count, 1))
			return no_memory(path, err);
		out->names[out->count] = sp_arena_text(arena, sp_bytes_of(name));
		if (out->names[out->count++] == NULL)
			return no_memory(path, err);
	}
	return errno == 0 ? SP_OK : cannot_read(path, errno, err);
}

sp_status sp_folder_list(sp_folder *out, const char *path, sp_arena *arena, sp_error *err)
{
	const sp_store *store;
	sp_status status;
	DIR *dir;

	*out = (sp_folder){NULL, 0};
	if (sp_store_is_remote(path)) {
		SP_TRY(sp_store_get(&store, path, err));
		return store->list(out, path, arena, err);
	}
	dir = opendir(path);
	if (dir == NULL)
		return cannot_read(path, errno, err);
	status = read_names(out, dir, path, arena, err);
	closedir(dir);
	if (status != SP_OK)
		out->count = 0;
	else if (out->count > 1)
		qsort(out->names, out->count, sizeof(*out->names), by_bytes);
	return status;
}

static sp_status find_in_store(bool *out, struct stat *info, const char *path, mode_t type,
			       sp_error *err)
{
	const sp_store *store;
	sp_status status;

	*out = false;
	SP_TRY(sp_store_get(&store, path, err));
	status = store->find(info, path, type, err);
	*out = status == SP_OK && (info->st_mode & S_IFMT) == type;
	return status == SP_NOT_FOUND ? SP_OK : status;
}

sp_status sp_folder_find(bool *out, struct stat *info, const char *path, mode_t type, sp_error *err)
{
	char reason[128];

	if (sp_store_is_remote(path))
		return find_in_store(out, info, path, type, err);
	errno = 0;
	*out = stat(path, info) == 0 && (info->st_mode & S_IFMT) == type;
	if (*out || errno == 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES ||
	    errno == ELOOP)
		return SP_OK;
	return sp_error_set(err, SP_IO, "cannot look at %s: %s", path,
			    strerror_r(errno, reason, sizeof(reason)));
}

void sp_folder_refresh(const char *path)
{
	const sp_store *store;

	if (sp_store_is_remote(path) && sp_store_get(&store, path, NULL) == SP_OK)
		store->refresh(path);
}
