#include "incremental/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"

/* Depth of nested asset folders; symbolic links may form a cycle. */
enum { MAX_DEPTH = 8 };

/* State of sp_manifest_read(). */
typedef struct listing {
	sp_manifest_file *files;
	size_t count, room;
	int64_t changed_ms; /* latest mtime or ctime */
	bool has_assets;
	bool failed; /* out of memory */
	const char *folder;
	sp_arena *arena;
} listing;

typedef struct trace {
	int64_t size;
	int64_t written[2]; /* seconds, nanoseconds */
	int64_t changed[2]; /* ctime: also changed by linking and by utime() */
} trace;

/* Clamped so that the result does not overflow. */
static int64_t ms_of(struct timespec time)
{
	const int64_t most = INT64_C(1) << 40;
	int64_t seconds = time.tv_sec > most ? most : time.tv_sec < -most ? -most : time.tv_sec;

	return seconds * 1000 + time.tv_nsec / 1000000;
}

static sp_manifest_file *add(listing *l)
{
	return SP_ARENA_GROW(l->arena, l->files, l->room, l->count, 1) ? &l->files[l->count++]
								       : NULL;
}

static void list_folder(listing *l, const char *name, sp_manifest_kind kind, const char *prefix,
			int depth);

static void add_file(listing *l, const char *name, const char *path, const struct stat *info,
		     sp_manifest_kind kind)
{
	const trace t = {.size = info->st_size,
			 .written = {info->st_mtim.tv_sec, info->st_mtim.tv_nsec},
			 .changed = {info->st_ctim.tv_sec, info->st_ctim.tv_nsec}};
	int64_t written = ms_of(info->st_mtim), changed = ms_of(info->st_ctim);
	sp_manifest_file *file = add(l);

	if (file == NULL) {
		l->failed = true;
		return;
	}
	*file = (sp_manifest_file){.name = sp_fingerprint64(name, strlen(name)),
				   .size = (uint64_t)info->st_size,
				   .trace = sp_fingerprint64(&t, sizeof(t)),
				   .path = path,
				   .kind = kind};
	/* A copy may keep the mtime of the original; then its ctime is later. */
	if (written < changed)
		written = changed;
	if (l->changed_ms < written)
		l->changed_ms = written;
	l->has_assets |= kind == SP_MANIFEST_ASSET && strncmp(name, "assets/", 7) == 0;
}

/* `name` is relative to the SavedModel's folder. */
static void list_entry(listing *l, const char *name, sp_manifest_kind kind, int depth)
{
	const char *path = sp_arena_printf(l->arena, "%s/%s", l->folder, name);
	struct stat info;
	bool found;

	if (path == NULL)
		l->failed = true;
	else if (sp_folder_find(&found, &info, path, S_IFREG, NULL) == SP_OK && found)
		add_file(l, name, path, &info, kind);
	else if (depth < MAX_DEPTH && sp_file_is_directory(path))
		list_folder(l, name, kind, "", depth + 1);
}

/* Lists the entries that begin with `prefix`. */
static void list_folder(listing *l, const char *name, sp_manifest_kind kind, const char *prefix,
			int depth)
{
	const char *path = sp_arena_printf(l->arena, "%s/%s", l->folder, name);
	sp_folder entries = {.count = 0};

	if (path == NULL || sp_folder_list(&entries, path, l->arena, NULL) == SP_NO_MEMORY)
		l->failed = true;
	for (size_t i = 0; i < entries.count; i++) {
		const char *inner;

		if (entries.names[i][0] == '.' ||
		    strncmp(entries.names[i], prefix, strlen(prefix)) != 0)
			continue;
		inner = sp_arena_printf(l->arena, "%s/%s", name, entries.names[i]);
		if (inner == NULL)
			l->failed = true;
		else
			list_entry(l, inner, kind, depth);
	}
}

/* The weights of the graph X.meta have the prefix X. */
static const char *own_stem(const char *graph_file, sp_arena *arena)
{
	sp_bytes stem = sp_bytes_of(graph_file != NULL ? graph_file : "variables/variables");

	if (graph_file != NULL && sp_bytes_ends_with(stem, ".meta"))
		stem.size -= strlen(".meta");
	return sp_arena_text(arena, stem);
}

const char *sp_manifest_own_prefix(const char *folder, const char *graph_file, sp_arena *arena)
{
	const char *stem = own_stem(graph_file, arena);

	return stem != NULL ? sp_arena_printf(arena, "%s/%s", folder, stem) : NULL;
}

static void list_weights(listing *l, const char *graph_file)
{
	const char *stem = own_stem(graph_file, l->arena);
	const char *slash = stem != NULL ? strrchr(stem, '/') : NULL;
	const char *folder = slash != NULL ? sp_arena_text(l->arena,
							   (sp_bytes){stem, (size_t)(slash - stem)})
					   : ".";
	const char *base = slash != NULL ? slash + 1 : stem;
	const char *prefix = stem != NULL ? sp_arena_printf(l->arena, "%s.", base) : NULL;

	if (folder == NULL || prefix == NULL)
		l->failed = true;
	else
		list_folder(l, folder, SP_MANIFEST_WEIGHTS, prefix, 0);
}

static int by_name(const void *a, const void *b)
{
	const sp_manifest_file *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static uint64_t hash_all(const listing *l)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < l->count; i++)
		hash = sp_fingerprint64_join(sp_fingerprint64_join(hash, l->files[i].name),
					     l->files[i].trace);
	return hash;
}

sp_status sp_manifest_read(sp_manifest *out, const char *folder, const char *graph_file,
			   bool own_weights, sp_arena *arena, sp_error *err)
{
	listing l = {.folder = folder, .arena = arena, .changed_ms = INT64_MIN};
	struct timespec now;

	if (graph_file != NULL) {
		list_entry(&l, graph_file, SP_MANIFEST_GRAPH, MAX_DEPTH);
	} else {
		list_entry(&l, "saved_model.pb", SP_MANIFEST_GRAPH, MAX_DEPTH);
		list_entry(&l, "saved_model.pbtxt", SP_MANIFEST_GRAPH, MAX_DEPTH);
	}
	list_folder(&l, "assets", SP_MANIFEST_ASSET, "", 0);
	list_folder(&l, "assets.extra", SP_MANIFEST_ASSET, "", 0);
	if (own_weights)
		list_weights(&l, graph_file);
	if (l.failed)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to list the files of '%s'",
				    folder);
	clock_gettime(CLOCK_REALTIME, &now);
	if (l.count != 0)
		qsort(l.files, l.count, sizeof(*l.files), by_name);
	*out = (sp_manifest){.files = l.files,
			     .count = l.count,
			     .hash = hash_all(&l),
			     .has_assets = l.has_assets,
			     .age_ms = l.count != 0 ? ms_of(now) - l.changed_ms : INT64_MAX};
	return SP_OK;
}

/* ------------------------------------------------------------------ contents */

enum { CHUNK = 1 << 20 };

static uint64_t hash_file(const sp_file *file, char *chunk)
{
	uint64_t hash = file->size + 1;

	for (uint64_t at = 0; at < file->size;) {
		size_t size = file->size - at < CHUNK ? (size_t)(file->size - at) : CHUNK;

		if (sp_file_read_at(file, at, chunk, size, NULL) != SP_OK)
			return 0;
		hash = sp_fingerprint64_join(hash, sp_fingerprint64(chunk, size));
		at += size;
	}
	return hash;
}

/* 0 when it cannot be read. */
static uint64_t hash_content(const char *path)
{
	char *chunk = sp_alloc(CHUNK);
	uint64_t hash = 0;
	sp_file file;

	if (chunk != NULL && sp_file_open(&file, path, NULL) == SP_OK) {
		hash = hash_file(&file, chunk);
		sp_file_close(&file);
	}
	sp_free(chunk);
	return hash;
}

void sp_manifest_read_contents(sp_manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++)
		if (manifest->files[i].kind != SP_MANIFEST_WEIGHTS)
			manifest->files[i].content = hash_content(manifest->files[i].path);
}

sp_status sp_manifest_copy(sp_manifest *out, const sp_manifest *from, sp_arena *arena,
			   sp_error *err)
{
	sp_manifest_file *files = sp_arena_array(arena, from->count, sizeof(*files));

	if (files == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to list the files of a version");
	for (size_t i = 0; i < from->count; i++) {
		files[i] = from->files[i];
		files[i].path = NULL;
	}
	*out = *from;
	out->files = files;
	return SP_OK;
}

/* ---------------------------------------------------------------- comparison */

static sp_manifest_file *find(const sp_manifest *manifest, const sp_manifest_file *file)
{
	return manifest->count != 0
		       ? bsearch(file, manifest->files, manifest->count, sizeof(*file), by_name)
		       : NULL;
}

static bool is_changed(sp_manifest_file *old, const sp_manifest_file *file)
{
	if (old->trace == file->trace)
		return false;
	if (old->size != file->size || old->content == 0 ||
	    hash_content(file->path) != old->content)
		return true;
	old->trace = file->trace;
	return false;
}

bool sp_manifest_has_changed(sp_manifest *then, const sp_manifest *now)
{
	for (size_t i = 0; i < now->count; i++) {
		const sp_manifest_file *file = &now->files[i];
		sp_manifest_file *old = find(then, file);

		if (file->kind == SP_MANIFEST_WEIGHTS)
			continue;
		if (old != NULL ? is_changed(old, file) : file->kind == SP_MANIFEST_GRAPH)
			return true;
	}
	return false;
}
