#include "storage/ssd/ssd_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#define PREFIX   "sp-ssd-"
#define BUILDING ".building-"
#define REMOVED  ".removed-"

enum {
	MAX_LABEL = 65536,
	LOCK_TRIES = 1000, /* of 10 ms: the holder of the root's lock only renames */
	MAX_OPEN_FOLDERS = 8,
};

static sp_status system_error(sp_error *err, const char *what, const char *path)
{
	int number = errno;
	char reason[128];

	return sp_error_set(err, SP_IO, "cannot %s %s: %s", what, path,
			    strerror_r(number, reason, sizeof(reason)));
}

/* "<a>/<b><c>", for sp_free(). */
static char *join(const char *a, const char *b, const char *c)
{
	size_t size = strlen(a) + strlen(b) + strlen(c) + 2;
	char *text = sp_alloc(size);

	if (text != NULL)
		snprintf(text, size, "%s/%s%s", a, b, c);
	return text;
}

static sp_status no_memory(sp_error *err)
{
	return sp_no_memory(err, "a path");
}

/* ---- locks ---- */

static sp_status lock_root(int *out, const char *root, sp_error *err)
{
	char *path = join(root, "sp-ssd.lock", "");
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	sp_status status = SP_OK;
	int tries = 0;

	if (path == NULL)
		return no_memory(err);
	*out = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (*out < 0)
		status = system_error(err, "open", path);
	while (status == SP_OK && flock(*out, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			status = system_error(err, "lock", path);
		else if (++tries == LOCK_TRIES)
			status = sp_error_set(err, SP_BUSY, "%s has been locked for ten seconds",
					      path);
		else
			nanosleep(&pause, NULL);
	}
	if (status != SP_OK && *out >= 0)
		close(*out);
	sp_free(path);
	return status;
}

/* Opens and locks the folder's in_use; SP_BUSY while another process holds it. */
static sp_status lock_folder(int *out, const char *path, int flags, int how, sp_error *err)
{
	char *file = join(path, "in_use", "");
	sp_status status = SP_OK;

	if (file == NULL)
		return no_memory(err);
	*out = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
	if (*out < 0)
		status = system_error(err, "open", file);
	else if (flock(*out, how | LOCK_NB) != 0)
		status = sp_error_set(err, SP_BUSY, "%s is locked", file);
	if (status != SP_OK && *out >= 0)
		close(*out);
	if (status != SP_OK)
		*out = -1;
	sp_free(file);
	return status;
}

/* ---- deleting ---- */

static int delete_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)where;
	if ((kind == FTW_DP ? rmdir(path) : unlink(path)) != 0 && errno != ENOENT)
		sp_log(SP_LOG_WARNING, "cannot delete %s", path);
	return 0;
}

static void delete_folder(const char *path)
{
	nftw(path, delete_entry, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/*
 * Under the root's lock: renames a folder that is to be deleted; *out: its new path, NULL on
 * failure.
 */
static void hide(char **out, const char *root, const char *path, const char *name)
{
	char *hidden = join(root, name, REMOVED "XXXXXX");

	/* mkdtemp() finds a new name; rename() may replace an empty folder. */
	if (hidden != NULL && (mkdtemp(hidden) == NULL || rename(path, hidden) != 0)) {
		sp_log(SP_LOG_WARNING, "cannot rename %s", path);
		sp_free(hidden);
		hidden = NULL;
	}
	*out = hidden;
}

void sp_ssd_folder_discard(sp_ssd_folder *folder, const char *root)
{
	const char *name = folder->path != NULL ? strrchr(folder->path, '/') + 1 : NULL;
	char *hidden = NULL;
	int lock;

	if (name == NULL)
		return;
	if (strstr(name, BUILDING) == NULL && lock_root(&lock, root, NULL) == SP_OK) {
		hide(&hidden, root, folder->path, name);
		close(lock);
		if (hidden != NULL)
			delete_folder(hidden);
	} else {
		delete_folder(folder->path);
	}
	sp_free(hidden);
	sp_ssd_folder_close(folder);
}

/* ---- the root ---- */

sp_status sp_ssd_root_prepare(const char *root, sp_error *err)
{
	if (mkdir(root, 0755) != 0 && errno != EEXIST)
		return system_error(err, "make", root);
	if (!sp_file_is_directory(root))
		return sp_error_set(err, SP_INVALID, "%s is not a folder", root);
	return SP_OK;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether this entry of the root may be deleted if nobody uses it. */
static bool is_garbage(const char *name, const char *family, const char *current)
{
	if (!starts_with(name, PREFIX))
		return false;
	if (strstr(name, BUILDING) != NULL || strstr(name, REMOVED) != NULL)
		return true;
	name += strlen(PREFIX);
	return family != NULL && starts_with(name, family) && !starts_with(name, current);
}

/*
 * Under the root's lock: renames an entry that nobody uses, so that nobody can begin to use it.
 * Returns its new path, or NULL.
 */
static char *claim(const char *root, const char *name)
{
	char *path = join(root, name, ""), *hidden = NULL;
	int lock;

	if (path == NULL)
		return NULL;
	/* O_CREAT: a killed process may have left a folder without this file. */
	if (lock_folder(&lock, path, O_CREAT, LOCK_EX, NULL) == SP_OK) {
		if (strstr(name, REMOVED) != NULL)
			hidden = sp_alloc_text(path);
		else
			hide(&hidden, root, path, name);
		close(lock);
	}
	sp_free(path);
	return hidden;
}

static sp_status delete_next(DIR *entries, const char *root, const char *family,
			     const char *current, bool *more, sp_error *err)
{
	const struct dirent *entry;
	char *victim = NULL;
	int lock;

	SP_TRY(lock_root(&lock, root, err));
	while (victim == NULL && (entry = readdir(entries)) != NULL)
		if (is_garbage(entry->d_name, family, current))
			victim = claim(root, entry->d_name);
	close(lock);
	*more = victim != NULL;
	if (victim != NULL)
		delete_folder(victim);
	sp_free(victim);
	return SP_OK;
}

sp_status sp_ssd_root_clean(const char *root, const char *family, const char *current,
			    sp_error *err)
{
	DIR *entries = opendir(root);
	sp_status status = SP_OK;
	bool more = true;

	if (entries == NULL)
		return system_error(err, "read", root);
	while (status == SP_OK && more)
		status = delete_next(entries, root, family, current, &more, err);
	closedir(entries);
	return status;
}

/* ---- one folder ---- */

static bool label_is(const char *path, const char *label)
{
	char *file = join(path, "label", ""), *text = NULL;
	size_t size = 0;
	bool same = false;

	if (file != NULL && sp_file_read(&text, &size, file, MAX_LABEL, NULL) == SP_OK)
		same = size == strlen(label) && memcmp(text, label, size) == 0;
	sp_free(text);
	sp_free(file);
	return same;
}

sp_status sp_ssd_folder_open(sp_ssd_folder *out, const char *root, const char *name,
			     const char *label, sp_error *err)
{
	sp_ssd_folder folder = {.path = join(root, PREFIX, name), .lock = -1};
	int lock;
	sp_status status;

	if (folder.path == NULL)
		return no_memory(err);
	status = lock_root(&lock, root, err);
	if (status == SP_OK) {
		sp_status locked = lock_folder(&folder.lock, folder.path, 0, LOCK_SH, err);

		close(lock);
		if (locked == SP_NO_MEMORY)
			status = locked;
		else if (locked != SP_OK || !label_is(folder.path, label))
			status = sp_error_set(err, SP_NOT_FOUND, "there is no %s", folder.path);
	}
	if (status != SP_OK) {
		sp_ssd_folder_close(&folder);
		return status;
	}
	*out = folder;
	return SP_OK;
}

/* Under the root's lock. */
static sp_status make_folder(sp_ssd_folder *folder, sp_error *err)
{
	sp_status status;

	if (mkdtemp(folder->path) == NULL)
		return system_error(err, "make", folder->path);
	status = lock_folder(&folder->lock, folder->path, O_CREAT, LOCK_EX, err);
	if (status != SP_OK)
		delete_folder(folder->path);
	return status;
}

sp_status sp_ssd_folder_begin(sp_ssd_folder *out, const char *root, const char *name, sp_error *err)
{
	sp_ssd_folder folder = {.lock = -1};
	char *full_name = join("", PREFIX, name);
	int lock;
	sp_status status;

	if (full_name != NULL)
		folder.path = join(root, full_name + 1, BUILDING "XXXXXX");
	sp_free(full_name);
	if (folder.path == NULL)
		return no_memory(err);
	status = lock_root(&lock, root, err);
	if (status == SP_OK) {
		status = make_folder(&folder, err);
		close(lock);
	}
	if (status != SP_OK) {
		sp_ssd_folder_close(&folder);
		return status;
	}
	*out = folder;
	return SP_OK;
}

static sp_status sync_path(const char *path, sp_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	sp_status status = SP_OK;

	if (fd < 0 || fsync(fd) != 0)
		status = system_error(err, "make durable", path);
	if (fd >= 0)
		close(fd);
	return status;
}

static sp_status write_label(const char *path, const char *label, sp_error *err)
{
	char *file = join(path, "label", "");
	size_t size = strlen(label);
	sp_status status = SP_OK;
	int fd;

	if (file == NULL)
		return no_memory(err);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, label, size) != (ssize_t)size || fsync(fd) != 0)
		status = system_error(err, "write", file);
	if (fd >= 0)
		close(fd);
	sp_free(file);
	return status;
}

/* Under the root's lock. */
static sp_status rename_folder(sp_ssd_folder *folder, char **replaced, const char *root,
			       const char *final, sp_error *err)
{
	char *path;

	if (sp_file_exists(final))
		hide(replaced, root, final, strrchr(final, '/') + 1);
	if (rename(folder->path, final) != 0)
		return system_error(err, "rename", folder->path);
	path = sp_alloc_text(final);
	if (path == NULL)
		return no_memory(err);
	sp_free(folder->path);
	folder->path = path;
	/* From here on others may use the folder, too. */
	flock(folder->lock, LOCK_SH | LOCK_NB);
	return sync_path(root, err);
}

sp_status sp_ssd_folder_publish(sp_ssd_folder *folder, const char *root, const char *name,
				const char *label, sp_error *err)
{
	char *final, *replaced = NULL;
	sp_status status;
	int lock;

	SP_TRY(write_label(folder->path, label, err));
	SP_TRY(sync_path(folder->path, err));
	final = join(root, PREFIX, name);
	if (final == NULL)
		return no_memory(err);
	status = lock_root(&lock, root, err);
	if (status == SP_OK) {
		status = rename_folder(folder, &replaced, root, final, err);
		close(lock);
	}
	if (replaced != NULL)
		delete_folder(replaced);
	sp_free(replaced);
	sp_free(final);
	return status;
}

void sp_ssd_folder_distrust(const sp_ssd_folder *folder)
{
	char *file = join(folder->path, "label", "");

	if (file == NULL || unlink(file) != 0)
		sp_log(SP_LOG_WARNING, "cannot delete the label of %s", folder->path);
	sp_free(file);
}

char *sp_ssd_folder_file(const sp_ssd_folder *folder, const char *name)
{
	return join(folder->path, name, "");
}

void sp_ssd_folder_close(sp_ssd_folder *folder)
{
	if (folder->lock >= 0)
		close(folder->lock);
	sp_free(folder->path);
	*folder = (sp_ssd_folder){.lock = -1};
}
