#include "incremental/identity.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "model_loader/checkpoint/checkpoint_name.h"

enum { MAX_INDEX_SIZE = 1 << 30 };

typedef struct file_traits {
	uint64_t name;
	uint64_t size;
	uint64_t inode;
	int64_t seconds;
	int64_t nanoseconds;
} file_traits;

/* A fingerprint of name and size only, which all copies of a file have in common. */
static uint64_t fingerprint_copy(const char *folder, const char *name, sp_arena *arena)
{
	const char *path = sp_arena_printf(arena, "%s/%s", folder, name);
	uint64_t parts[] = {sp_fingerprint64(name, strlen(name)), 0};
	struct stat info;

	if (path == NULL || stat(path, &info) != 0)
		return 0;
	parts[1] = (uint64_t)info.st_size;
	return sp_fingerprint64(parts, sizeof(parts));
}

static uint64_t fingerprint_file(const char *folder, const char *name, sp_arena *arena)
{
	const char *path = sp_arena_printf(arena, "%s/%s", folder, name);
	struct stat info;
	bool found;
	file_traits t;

	if (path == NULL || sp_folder_find(&found, &info, path, S_IFREG, NULL) != SP_OK || !found)
		return 0;
	t = (file_traits){.name = sp_fingerprint64(path, strlen(path)),
			  .size = (uint64_t)info.st_size,
			  .inode = (uint64_t)info.st_ino,
			  .seconds = info.st_mtim.tv_sec,
			  .nanoseconds = info.st_mtim.tv_nsec};
	return sp_fingerprint64(&t, sizeof(t));
}

/* False when out of memory. */
static bool split(const char *path, const char **folder, const char **base, sp_arena *arena)
{
	const char *slash = strrchr(path, '/');

	*base = slash != NULL ? slash + 1 : path;
	*folder = slash != NULL ? sp_arena_text(arena, (sp_bytes){path, (size_t)(slash - path)})
				: ".";
	return *folder != NULL;
}

/* Whether `name` is a file of the checkpoint or of the graph (.pb, .pbtxt). */
static bool is_file_of(const char *base, const char *name)
{
	size_t size = strlen(base);

	return sp_checkpoint_is_file_of(base, name) ||
	       (strncmp(name, base, size) == 0 &&
		(strcmp(name + size, ".pb") == 0 || strcmp(name + size, ".pbtxt") == 0));
}

uint64_t sp_identity_of_files(const char *prefix, sp_arena *arena)
{
	const char *folder, *base;
	sp_folder entries;
	uint64_t sum = 0;

	if (!split(prefix, &folder, &base, arena) ||
	    sp_folder_list(&entries, folder, arena, NULL) != SP_OK)
		return 0;
	for (size_t i = 0; i < entries.count; i++)
		if (is_file_of(base, entries.names[i]))
			sum += fingerprint_file(folder, entries.names[i], arena);
	return sum;
}

/* -------------------------------------------------------------------- content */

/* 0 when it cannot be read. */
static uint64_t hash_file(const char *path)
{
	uint64_t number;
	size_t size;
	char *bytes;

	if (path == NULL || sp_file_read(&bytes, &size, path, MAX_INDEX_SIZE, NULL) != SP_OK)
		return 0;
	number = sp_fingerprint64(bytes, size);
	sp_free(bytes);
	return number;
}

typedef uint64_t fingerprint_fn(const char *folder, const char *name, sp_arena *arena);

/* Row files have no checksums, so their attributes stand for their content. */
static uint64_t fingerprint_row_files(const char *folder, fingerprint_fn *by, sp_arena *arena)
{
	sp_folder entries;
	uint64_t sum = 0;

	if (folder == NULL || sp_folder_list(&entries, folder, arena, NULL) != SP_OK)
		return 0;
	for (size_t i = 0; i < entries.count; i++)
		if (sp_checkpoint_is_row_file(entries.names[i]))
			sum += by(folder, entries.names[i], arena);
	return sum;
}

/* A fingerprint of PREFIX-NAME-emb_files or PREFIX-NAME-ssd_record.index; 0 for other names. */
static uint64_t fingerprint_ssd_file(const char *folder, const char *name, fingerprint_fn *by,
				     sp_arena *arena)
{
	const char *path = sp_arena_printf(arena, "%s/%s", folder, name);
	uint64_t parts[] = {sp_fingerprint64(name, strlen(name)), 0};

	if (sp_bytes_ends_with(sp_bytes_of(name), "-emb_files"))
		return fingerprint_row_files(path, by, arena);
	if (!sp_bytes_ends_with(sp_bytes_of(name), "-ssd_record.index"))
		return 0;
	parts[1] = hash_file(path);
	return sp_fingerprint64(parts, sizeof(parts));
}

static uint64_t identify(const char *prefix, fingerprint_fn *by, sp_arena *arena)
{
	uint64_t number = hash_file(sp_arena_printf(arena, "%s.index", prefix));
	const char *folder, *base;
	sp_folder entries;

	if (number == 0 || !split(prefix, &folder, &base, arena))
		return 0;
	if (sp_folder_list(&entries, folder, arena, NULL) != SP_OK)
		return number;
	for (size_t i = 0; i < entries.count; i++) {
		const char *name = entries.names[i];
		size_t size = strlen(base);

		if (strncmp(name, base, size) == 0 && name[size] == '-')
			number += fingerprint_ssd_file(folder, name, by, arena);
	}
	return number;
}

uint64_t sp_identity_of_content(const char *prefix, sp_arena *arena)
{
	return identify(prefix, fingerprint_file, arena);
}

uint64_t sp_identity_of_rows(const char *prefix, sp_arena *arena)
{
	return identify(prefix, fingerprint_copy, arena);
}
