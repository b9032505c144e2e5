#include "incremental/identity.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "model_loader/checkpoint/checkpoint_name.h"

enum { MAX_INDEX_SIZE = 1 << 30 };

/* What stat() says of a file and changes when it does. */
typedef struct trace {
	uint64_t name;
	uint64_t size;
	uint64_t inode;
	int64_t seconds;
	int64_t nanoseconds;
} trace;

static uint64_t trace_file(const char *path)
{
	struct stat info;
	trace t;

	if (stat(path, &info) != 0)
		return 0;
	t = (trace){.name = sp_fingerprint64(path, strlen(path)),
		    .size = (uint64_t)info.st_size,
		    .inode = (uint64_t)info.st_ino,
		    .seconds = info.st_mtim.tv_sec,
		    .nanoseconds = info.st_mtim.tv_nsec};
	return sp_fingerprint64(&t, sizeof(t));
}

/* The folder and the last part of a path; false when out of memory. */
static bool split(const char *path, const char **folder, const char **base, sp_arena *arena)
{
	const char *slash = strrchr(path, '/');

	*base = slash != NULL ? slash + 1 : path;
	*folder = slash != NULL ? sp_arena_text(arena, (sp_bytes){path, (size_t)(slash - path)})
				: ".";
	return *folder != NULL;
}

/* What one entry of a folder adds to a sum; 0: nothing. */
typedef uint64_t weigh_entry(const char *folder, const char *name, const char *base,
			     sp_arena *arena);

/* A sum, because a folder has no order. */
static uint64_t sum_entries(const char *folder, const char *base, weigh_entry *weigh,
			    sp_arena *arena)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	uint64_t sum = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, base, strlen(base)) == 0)
			sum += weigh(folder, entry->d_name, base, arena);
	if (dir != NULL)
		closedir(dir);
	return sum;
}

/* Of a checkpoint, or of a graph, which is saved_model.pb or .pbtxt. */
static bool is_file_of(const char *base, const char *name)
{
	const char *behind = name + strlen(base);

	return sp_checkpoint_is_file_of(base, name) || strcmp(behind, ".pb") == 0 ||
	       strcmp(behind, ".pbtxt") == 0;
}

static uint64_t weigh_file(const char *folder, const char *name, const char *base, sp_arena *arena)
{
	const char *path = sp_arena_printf(arena, "%s/%s", folder, name);

	return path != NULL && is_file_of(base, name) ? trace_file(path) : 0;
}

uint64_t sp_identity_of_files(const char *prefix, sp_arena *arena)
{
	const char *folder, *base;

	return split(prefix, &folder, &base, arena) ? sum_entries(folder, base, weigh_file, arena)
						    : 0;
}

/* ---- content ---- */

static bool ends_with(const char *text, const char *ending)
{
	size_t size = strlen(text), tail = strlen(ending);

	return size >= tail && strcmp(text + size - tail, ending) == 0;
}

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

/* Records have no checksum anywhere: a file of them is what stat() says. */
static uint64_t weigh_records(const char *folder, const char *name, const char *base,
			      sp_arena *arena)
{
	const char *path = sp_arena_printf(arena, "%s/%s", folder, name);

	(void)base;
	return path != NULL && sp_checkpoint_is_row_file(name) ? trace_file(path) : 0;
}

/* What a tier of storage has left beside the checkpoint: PREFIX-NAME-... */
static uint64_t weigh_side(const char *folder, const char *name, const char *base, sp_arena *arena)
{
	const char *path = sp_arena_printf(arena, "%s/%s", folder, name);
	uint64_t parts[2];

	if (path == NULL || name[strlen(base)] != '-')
		return 0;
	if (ends_with(name, "-emb_files"))
		return sum_entries(path, "", weigh_records, arena);
	if (!ends_with(name, "-ssd_record.index"))
		return 0;
	parts[0] = sp_fingerprint64(name, strlen(name));
	parts[1] = hash_file(path);
	return sp_fingerprint64(parts, sizeof(parts));
}

uint64_t sp_identity_of_content(const char *prefix, sp_arena *arena)
{
	uint64_t number = hash_file(sp_arena_printf(arena, "%s.index", prefix));
	const char *folder, *base;

	if (number == 0 || !split(prefix, &folder, &base, arena))
		return 0;
	return number + sum_entries(folder, base, weigh_side, arena);
}
