#include "storage/image/image_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/log.h"

enum {
	PATH_SIZE = 4096,
	LOCK_POLL_MS = 20,
};

static uint64_t hash(sp_bytes bytes)
{
	return sp_fingerprint64(bytes.data, bytes.size);
}

static sp_status image_path(char out[PATH_SIZE], const sp_image_place *place, sp_error *err)
{
	/* Room for ".tmp" is left. */
	if (snprintf(out, PATH_SIZE - 8, "%s/%016" PRIx64 "-%016" PRIx64 ".image", place->folder,
		     hash(place->model), hash(place->identity)) >= PATH_SIZE - 8)
		return sp_error_set(err, SP_INVALID, "ev_image_path is too long: %.100s...",
				    place->folder);
	return SP_OK;
}

/* ---------------------------------------------------------------------- lock */

static sp_status open_lock(int *out, const sp_image_place *place, sp_error *err)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%016" PRIx64 ".lock", place->folder, hash(place->model));
	if (mkdir(place->folder, 0755) != 0 && errno != EEXIST)
		return sp_file_failed(err, SP_IO, "create", place->folder);
	*out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	return *out >= 0 ? SP_OK : sp_file_failed(err, SP_IO, "open", path);
}

static sp_status wait_for_lock(const sp_image_place *place, int fd, sp_error *err)
{
	bool told = false;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		struct timespec pause = {.tv_nsec = LOCK_POLL_MS * 1000000L};

		if (errno != EWOULDBLOCK && errno != EINTR)
			return sp_file_failed(err, SP_IO, "lock the images in", place->folder);
		if (place->give_up != NULL && place->give_up(place->context))
			return sp_error_set(err, SP_BUSY,
					    "another process is making an image in %s",
					    place->folder);
		if (!told)
			sp_log(SP_LOG_INFO, "waiting for another process to make an image in %s",
			       place->folder);
		told = true;
		nanosleep(&pause, NULL);
	}
	return SP_OK;
}

static sp_status take_lock(sp_image_place *place, sp_error *err)
{
	sp_status status;
	int fd = -1;

	SP_TRY(open_lock(&fd, place, err));
	status = wait_for_lock(place, fd, err);
	if (status == SP_OK)
		place->lock = fd;
	else
		close(fd);
	return status;
}

void sp_image_place_close(sp_image_place *place)
{
	if (place->lock > 0)
		close(place->lock);
	place->lock = 0;
}

/* ------------------------------------------------------------------- opening */

/* Marks the image as used: tidy() keeps the most recently used ones. */
static void touch(const char *path)
{
	(void)!utimensat(AT_FDCWD, path, NULL, 0);
}

/* As sp_image_open(), but a bad file is logged and gives SP_NOT_FOUND. */
static sp_status try_open(const sp_image_place *place, const char *path, sp_image **out,
			  sp_error *err)
{
	sp_error why;
	sp_status status = sp_image_open(out, path, place->identity, &why);

	if (status == SP_OK)
		touch(path);
	else if (status == SP_CORRUPT || status == SP_INVALID)
		sp_log(SP_LOG_WARNING, "%s: it will be made again", why.text);
	else if (status != SP_NOT_FOUND)
		return sp_error_set(err, status, "%s", why.text);
	return status == SP_OK ? SP_OK
			       : sp_error_set(err, SP_NOT_FOUND, "there is no image %s", path);
}

sp_status sp_image_place_open(sp_image_place *place, sp_image **out, sp_error *err)
{
	char path[PATH_SIZE];
	sp_status status;

	*out = NULL;
	SP_TRY(image_path(path, place, err));
	/* Opening an existing image needs neither the lock nor permission to write. */
	status = try_open(place, path, out, err);
	if (status != SP_NOT_FOUND)
		return status;
	SP_TRY(take_lock(place, err));
	status = try_open(place, path, out, err);
	if (status != SP_NOT_FOUND)
		sp_image_place_close(place);
	return status;
}

/* ------------------------------------------------------------------- storing */

typedef struct old_image {
	const char *path;
	struct timespec used;
} old_image;

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const old_image *)a)->used;
	const struct timespec *y = &((const old_image *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return x->tv_nsec == y->tv_nsec ? 0 : x->tv_nsec < y->tv_nsec ? 1 : -1;
}

/* Whether `name` is a file of this model with this ending. */
static bool is_ours(const sp_image_place *place, const char *name, const char *ending)
{
	char start[32];
	size_t size = strlen(name), end = strlen(ending);

	snprintf(start, sizeof(start), "%016" PRIx64 "-", hash(place->model));
	return strncmp(name, start, strlen(start)) == 0 && size == 33 + end &&
	       strcmp(name + size - end, ending) == 0;
}

static void remove_file(const char *path)
{
	if (path != NULL && unlink(path) == 0)
		sp_log(SP_LOG_INFO, "removed %s", path);
}

/* Removes files of killed processes, and the oldest images beyond `keep`. */
static void tidy_in(const sp_image_place *place, size_t keep, sp_arena *arena)
{
	size_t count = 0;
	old_image *images;
	sp_folder files;

	if (sp_folder_list(&files, place->folder, arena, NULL) != SP_OK ||
	    (images = sp_arena_array(arena, files.count, sizeof(*images))) == NULL)
		return;
	for (size_t i = 0; i < files.count; i++) {
		const char *name = files.names[i];
		const char *path = sp_arena_printf(arena, "%s/%s", place->folder, name);
		struct stat info;

		if (is_ours(place, name, ".image.tmp"))
			remove_file(path);
		else if (is_ours(place, name, ".image") && path != NULL && stat(path, &info) == 0)
			images[count++] = (old_image){path, info.st_mtim};
	}
	if (count > keep)
		qsort(images, count, sizeof(*images), newest_first);
	for (size_t i = keep; i < count; i++)
		remove_file(images[i].path);
}

/* Failures are ignored: they cost only disk space. */
static void tidy(const sp_image_place *place, size_t keep)
{
	sp_arena *arena = sp_arena_create(4096);

	if (arena != NULL)
		tidy_in(place, keep, arena);
	sp_arena_destroy(arena);
}

sp_status sp_image_place_store(sp_image_place *place, const sp_image_table *tables, size_t count,
			       sp_image **out, sp_error *err)
{
	char path[PATH_SIZE];

	*out = NULL;
	SP_TRY(image_path(path, place, err));
	/* Before the new one is written, which counts as one of `keep`. */
	unlink(path);
	tidy(place, place->keep > 1 ? place->keep - 1 : 0);
	SP_TRY(sp_image_write(path, place->identity, tables, count, err));
	return sp_image_open(out, path, place->identity, err);
}
