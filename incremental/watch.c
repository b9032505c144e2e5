#include "incremental/watch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/store.h"

/* inotify allows a user some thousands of watches; a trainer keeps a few folders. */
enum { MAX_FOLDERS = 256 };

/* IN_ATTRIB: touching a file `checkpoint` makes its folder the newest. */
#define CHANGES                                                                             \
	(IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | \
	 IN_ONLYDIR)

struct sp_watch {
	int changes_fd; /* of inotify; -1: not available */
	int wake_fd;
};

sp_status sp_watch_create(sp_watch **out, sp_error *err)
{
	sp_watch *watch = sp_alloc(sizeof(*watch));
	char reason[128];

	if (watch == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to watch a folder");
	watch->changes_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	watch->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (watch->wake_fd < 0) {
		sp_error_set(err, SP_IO, "cannot make an eventfd: %s",
			     strerror_r(errno, reason, sizeof(reason)));
		sp_watch_destroy(watch);
		return SP_IO;
	}
	*out = watch;
	return SP_OK;
}

void sp_watch_destroy(sp_watch *watch)
{
	if (watch == NULL)
		return;
	if (watch->changes_fd >= 0)
		close(watch->changes_fd);
	if (watch->wake_fd >= 0)
		close(watch->wake_fd);
	sp_free(watch);
}

/* Adding a folder twice has no effect; errors are ignored. */
static void watch_folder(const sp_watch *watch, const char *path)
{
	inotify_add_watch(watch->changes_fd, path, CHANGES);
}

static void watch_version(const sp_watch *watch, const char *root, const char *name)
{
	static const char *const below[] = {"", "/.incremental_checkpoint", "/.incremental_ckpt"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (snprintf(path, sizeof(path), "%s/%s%s", root, name, below[i]) <
		    (int)sizeof(path))
			watch_folder(watch, path);
}

void sp_watch_checkpoints(sp_watch *watch, const char *checkpoint_dir)
{
	const struct dirent *entry;
	int count = 0;
	DIR *dir;

	if (watch->changes_fd < 0 || sp_store_is_remote(checkpoint_dir))
		return;
	watch_folder(watch, checkpoint_dir);
	dir = opendir(checkpoint_dir);
	while (dir != NULL && count < MAX_FOLDERS && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' ||
		    (entry->d_type != DT_DIR && entry->d_type != DT_LNK &&
		     entry->d_type != DT_UNKNOWN))
			continue;
		watch_version(watch, checkpoint_dir, entry->d_name);
		count++;
	}
	if (dir != NULL)
		closedir(dir);
}

void sp_watch_savedmodel(sp_watch *watch, const char *folder, const char *graph_file)
{
	static const char *const below[] = {"", "/assets", "/assets.extra", "/variables"};
	const char *slash = graph_file != NULL ? strrchr(graph_file, '/') : NULL;
	char path[PATH_MAX];

	if (watch->changes_fd < 0 || sp_store_is_remote(folder))
		return;
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (snprintf(path, sizeof(path), "%s%s", folder, below[i]) < (int)sizeof(path))
			watch_folder(watch, path);
	if (slash != NULL && snprintf(path, sizeof(path), "%s/%.*s", folder,
				      (int)(slash - graph_file), graph_file) < (int)sizeof(path))
		watch_folder(watch, path);
}

/* Discards what there is to read, so that the next poll() waits. */
static void drain(int fd)
{
	char bytes[4096];

	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

bool sp_watch_wait(sp_watch *watch, int64_t timeout_ms)
{
	struct pollfd pollers[] = {{.fd = watch->wake_fd, .events = POLLIN},
				   {.fd = watch->changes_fd, .events = POLLIN}};
	bool woken = poll(pollers, 2, timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX) > 0;

	drain(watch->wake_fd);
	drain(watch->changes_fd);
	return woken;
}

void sp_watch_wake(sp_watch *watch)
{
	uint64_t one = 1;

	/* write() fails only if the counter is full; then the waiter wakes anyway. */
	if (write(watch->wake_fd, &one, sizeof(one)) < 0)
		return;
}
