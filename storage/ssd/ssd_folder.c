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

/* "<a>/<b><c>"; empty, so that it cannot be opened, if it does not fit, as our names do. */
static sp_ssd_path join(const char *a, const char *b, const char *c)
{
	sp_ssd_path path;

	if (snprintf(path.text, sizeof(path.text), "%s/%s%s", a, b, c) >= SP_SSD_PATH)
		path.text[0] = '\0';
	return path;
}

/* ---- locks ---- */

static sp_status lock_root(int *out, const char *root, sp_error *err)
{
	const sp_ssd_path path = join(root, "sp-ssd.lock", "");
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	sp_status status = SP_OK;
	int tries = 0;

	*out = open(path.text, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (*out < 0)
		return sp_file_failed(err, SP_IO, "open", path.text);
	while (status == SP_OK && flock(*out, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			status = sp_file_failed(err, SP_IO, "lock", path.text);
		else if (++tries == LOCK_TRIES)
			status = sp_error_set(err, SP_BUSY, "%s has been locked for ten seconds",
					      path.text);
		else
			nanosleep(&pause, NULL);
	}
	if (status != SP_OK)
		close(*out);
	return status;
}

/* Opens and locks the folder's in_use; SP_BUSY while another process holds it. */
static sp_status lock_folder(int *out, const char *path, int flags, int how, sp_error *err)
{
	const sp_ssd_path file = join(path, "in_use", "");

	*out = open(file.text, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0644);
	if (*out < 0)
		return sp_file_failed(err, SP_IO, "open", file.text);
	if (flock(*out, how | LOCK_NB) == 0)
		return SP_OK;
	close(*out);
	*out = -1;
	return sp_error_set(err, SP_BUSY, "%s is locked", file.text);
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

/* Under the root's lock: renames a folder that is to be deleted; false: it could not. */
static bool hide(sp_ssd_path *out, const char *root, const char *path, const char *name)
{
	*out = join(root, name, REMOVED "XXXXXX");
	/* mkdtemp() finds a new name; rename() may replace an empty folder. */
	if (mkdtemp(out->text) != NULL && rename(path, out->text) == 0)
		return true;
	sp_log(SP_LOG_WARNING, "cannot rename %s", path);
	return false;
}

void sp_ssd_folder_discard(sp_ssd_folder *folder, const char *root)
{
	const char *path = folder->path.text, *name = strrchr(path, '/');
	sp_ssd_path hidden;
	bool is_hidden;
	int lock;

	if (name == NULL)
		return;
	if (strstr(name, BUILDING) == NULL && lock_root(&lock, root, NULL) == SP_OK) {
		is_hidden = hide(&hidden, root, path, name + 1);
		close(lock);
		if (is_hidden)
			delete_folder(hidden.text);
	} else {
		delete_folder(path);
	}
	sp_ssd_folder_close(folder);
}

/* ---- the root ---- */

sp_status sp_ssd_root_prepare(const char *root, sp_error *err)
{
	if (strlen(root) >= SP_SSD_ROOT)
		return sp_error_set(err, SP_INVALID, "the path %.100s... is too long", root);
	if (mkdir(root, 0755) != 0 && errno != EEXIST)
		return sp_file_failed(err, SP_IO, "make", root);
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
 * Under the root's lock: renames an entry that nobody uses, so that nobody can begin to use it;
 * *out: its new path.
 */
static bool claim(sp_ssd_path *out, const char *root, const char *name)
{
	const sp_ssd_path path = join(root, name, "");
	bool claimed = true;
	int lock;

	/* O_CREAT: a killed process may have left a folder without this file. */
	if (lock_folder(&lock, path.text, O_CREAT, LOCK_EX, NULL) != SP_OK)
		return false;
	if (strstr(name, REMOVED) != NULL)
		*out = path;
	else
		claimed = hide(out, root, path.text, name);
	close(lock);
	return claimed;
}

static sp_status delete_next(DIR *entries, const char *root, const char *family,
			     const char *current, bool *more, sp_error *err)
{
	const struct dirent *entry;
	sp_ssd_path victim;
	int lock;

	*more = false;
	SP_TRY(lock_root(&lock, root, err));
	while (!*more && (entry = readdir(entries)) != NULL)
		*more = is_garbage(entry->d_name, family, current) &&
			claim(&victim, root, entry->d_name);
	close(lock);
	if (*more)
		delete_folder(victim.text);
	return SP_OK;
}

sp_status sp_ssd_root_clean(const char *root, const char *family, const char *current,
			    sp_error *err)
{
	DIR *entries = opendir(root);
	sp_status status = SP_OK;
	bool more = true;

	if (entries == NULL)
		return sp_file_failed(err, SP_IO, "read", root);
	while (status == SP_OK && more)
		status = delete_next(entries, root, family, current, &more, err);
	closedir(entries);
	return status;
}

/* ---- one folder ---- */

static bool label_is(const char *path, const char *label)
{
	const sp_ssd_path file = join(path, "label", "");
	char *text = NULL;
	size_t size = 0;
	bool same = false;

	if (sp_file_read(&text, &size, file.text, MAX_LABEL, NULL) == SP_OK)
		same = size == strlen(label) && memcmp(text, label, size) == 0;
	sp_free(text);
	return same;
}

sp_status sp_ssd_folder_open(sp_ssd_folder *out, const char *root, const char *name,
			     const char *label, sp_error *err)
{
	sp_ssd_folder folder = {.path = join(root, PREFIX, name), .lock = -1};
	bool found;
	int lock;

	SP_TRY(lock_root(&lock, root, err));
	found = lock_folder(&folder.lock, folder.path.text, 0, LOCK_SH, NULL) == SP_OK;
	close(lock);
	if (!found || !label_is(folder.path.text, label)) {
		sp_error_set(err, SP_NOT_FOUND, "there is no %s", folder.path.text);
		sp_ssd_folder_close(&folder);
		return SP_NOT_FOUND;
	}
	*out = folder;
	return SP_OK;
}

/* Under the root's lock. */
static sp_status make_folder(sp_ssd_folder *folder, sp_error *err)
{
	sp_status status;

	if (mkdtemp(folder->path.text) == NULL)
		return sp_file_failed(err, SP_IO, "make", folder->path.text);
	status = lock_folder(&folder->lock, folder->path.text, O_CREAT, LOCK_EX, err);
	if (status != SP_OK)
		delete_folder(folder->path.text);
	return status;
}

sp_status sp_ssd_folder_begin(sp_ssd_folder *out, const char *root, const char *name, sp_error *err)
{
	sp_ssd_folder folder = {.lock = -1};
	char full_name[128];
	int lock;
	sp_status status;

	snprintf(full_name, sizeof(full_name), PREFIX "%s", name);
	folder.path = join(root, full_name, BUILDING "XXXXXX");
	SP_TRY(lock_root(&lock, root, err));
	status = make_folder(&folder, err);
	close(lock);
	if (status == SP_OK)
		*out = folder;
	return status;
}

static sp_status sync_path(const char *path, sp_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	sp_status status = SP_OK;

	if (fd < 0 || fsync(fd) != 0)
		status = sp_file_failed(err, SP_IO, "make durable", path);
	if (fd >= 0)
		close(fd);
	return status;
}

static sp_status write_label(const char *path, const char *label, sp_error *err)
{
	const sp_ssd_path file = join(path, "label", "");
	size_t size = strlen(label);
	sp_status status = SP_OK;
	int fd = open(file.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, label, size) != (ssize_t)size || fsync(fd) != 0)
		status = sp_file_failed(err, SP_IO, "write", file.text);
	if (fd >= 0)
		close(fd);
	return status;
}

/* Under the root's lock; *replaced: the new path of the folder of that name, if *is_replaced. */
static sp_status rename_folder(sp_ssd_folder *folder, sp_ssd_path *replaced, bool *is_replaced,
			       const char *root, const char *name, sp_error *err)
{
	const sp_ssd_path final = join(root, PREFIX, name);

	*is_replaced = sp_file_exists(final.text) &&
		       hide(replaced, root, final.text, strrchr(final.text, '/') + 1);
	if (rename(folder->path.text, final.text) != 0)
		return sp_file_failed(err, SP_IO, "rename", folder->path.text);
	folder->path = final;
	/* From here on others may use the folder, too. */
	flock(folder->lock, LOCK_SH | LOCK_NB);
	return sync_path(root, err);
}

sp_status sp_ssd_folder_publish(sp_ssd_folder *folder, const char *root, const char *name,
				const char *label, sp_error *err)
{
	sp_ssd_path replaced;
	bool is_replaced;
	sp_status status;
	int lock;

	SP_TRY(write_label(folder->path.text, label, err));
	SP_TRY(sync_path(folder->path.text, err));
	SP_TRY(lock_root(&lock, root, err));
	status = rename_folder(folder, &replaced, &is_replaced, root, name, err);
	close(lock);
	if (is_replaced)
		delete_folder(replaced.text);
	return status;
}

void sp_ssd_folder_distrust(const sp_ssd_folder *folder)
{
	if (unlink(join(folder->path.text, "label", "").text) != 0)
		sp_log(SP_LOG_WARNING, "cannot delete the label of %s", folder->path.text);
}

sp_ssd_path sp_ssd_folder_file(const sp_ssd_folder *folder, const char *name)
{
	return join(folder->path.text, name, "");
}

void sp_ssd_folder_close(sp_ssd_folder *folder)
{
	if (folder->lock >= 0)
		close(folder->lock);
	*folder = (sp_ssd_folder){.lock = -1};
}
