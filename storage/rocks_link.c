#include "storage/rocks_link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

enum { MAX_SMALL = 64 << 20 }; /* bytes of a file that is copied */

static sp_status system_error(sp_error *err, const char *what, const char *path)
{
	int number = errno;
	char reason[128];

	return sp_error_set(err, SP_IO, "cannot %s %s: %s", what, path,
			    strerror_r(number, reason, sizeof(reason)));
}

/* "<folder>/<name>", for sp_free(). */
static char *join(const char *folder, const char *name)
{
	size_t size = strlen(folder) + strlen(name) + 2;
	char *path = sp_alloc(size);

	if (path != NULL)
		snprintf(path, size, "%s/%s", folder, name);
	return path;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
	while (size != 0) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
	}
	return true;
}

static sp_status copy_file(const char *from, const char *to, sp_error *err)
{
	char *bytes = NULL;
	size_t size = 0;
	sp_status status = SP_OK;
	int fd;

	SP_TRY(sp_file_read(&bytes, &size, from, MAX_SMALL, err));
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || !write_all(fd, bytes, size))
		status = system_error(err, "write", to);
	if (fd >= 0)
		close(fd);
	sp_free(bytes);
	return status;
}

static bool has_rows(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(".sst") && strcmp(name + length - strlen(".sst"), ".sst") == 0;
}

/* RocksDB makes them itself wherever it opens a folder. */
static bool is_of_no_use(const char *name)
{
	return name[0] == '.' || strcmp(name, "LOCK") == 0 || strncmp(name, "LOG", 3) == 0;
}

static sp_status take_file(const char *from, const char *to, const char *name, sp_error *err)
{
	char *source = join(from, name), *target = join(to, name);
	sp_status status = SP_OK;

	if (source == NULL || target == NULL)
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for a path");
	else if (!has_rows(name))
		status = copy_file(source, target, err);
	else if (link(source, target) != 0)
		status = system_error(err, "link to", source);
	sp_free(source);
	sp_free(target);
	return status;
}

sp_status sp_rocks_link(const char *from, const char *to, sp_error *err)
{
	const struct dirent *entry;
	sp_status status = SP_OK;
	DIR *list;

	if (mkdir(to, 0755) != 0)
		return system_error(err, "make", to);
	list = opendir(from);
	if (list == NULL)
		return system_error(err, "read", from);
	while (status == SP_OK && (entry = readdir(list)) != NULL)
		if (!is_of_no_use(entry->d_name))
			status = take_file(from, to, entry->d_name, err);
	closedir(list);
	return status;
}
