#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/host/samples/record_files.h"
#include "api/host/samples/record_frame.h"

enum { MAX_PATH = 4096, CHUNK = 64 << 10 };

/* Whether `size` bytes from `at` on have the checksum that is stored behind them. */
static bool is_intact(int fd, uint64_t at, uint64_t size)
{
	char chunk[CHUNK];
	uint32_t crc = 0, stored;

	while (size != 0) {
		size_t wanted = size < CHUNK ? (size_t)size : CHUNK;

		if (pread(fd, chunk, wanted, (off_t)at) != (ssize_t)wanted)
			return false;
		crc = sp_crc32c(crc, chunk, wanted);
		at += wanted;
		size -= wanted;
	}
	return pread(fd, &stored, sizeof(stored), (off_t)at) == sizeof(stored) &&
	       stored == sp_crc32c_mask(crc);
}

/* Bytes of the whole records with which the file begins. */
static uint64_t whole_size(int fd, uint64_t size)
{
	uint64_t at = 0, length;

	for (;;) {
		if (size - at < SP_RECORD_HEAD + SP_RECORD_TAIL ||
		    pread(fd, &length, sizeof(length), (off_t)at) != sizeof(length) ||
		    !is_intact(fd, at, sizeof(length)) ||
		    length > size - at - SP_RECORD_HEAD - SP_RECORD_TAIL ||
		    !is_intact(fd, at + SP_RECORD_HEAD, length))
			return at;
		at += SP_RECORD_HEAD + length + SP_RECORD_TAIL;
	}
}

/* Finishes the file if no process has locked it. */
static bool finish(int fd, const char *path)
{
	char closed[MAX_PATH];
	struct stat info;
	uint64_t whole;

	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return false;
	whole = whole_size(fd, (uint64_t)info.st_size);
	if (whole == 0)
		return unlink(path) == 0;
	snprintf(closed, sizeof(closed), "%.*s", (int)(strlen(path) - strlen(SP_RECORD_OPEN)),
		 path);
	return ftruncate(fd, (off_t)whole) == 0 && access(closed, F_OK) != 0 &&
	       rename(path, closed) == 0;
}

unsigned sp_record_files_recover(const char *prefix)
{
	const char *slash = strrchr(prefix, '/'), *base = slash != NULL ? slash + 1 : prefix;
	int folder_size = (int)(base - prefix);
	char path[MAX_PATH];
	const struct dirent *entry;
	unsigned count = 0;
	DIR *folder;

	if (snprintf(path, sizeof(path), "%.*s.", folder_size, prefix) >= (int)sizeof(path) ||
	    (folder = opendir(path)) == NULL)
		return 0;
	while ((entry = readdir(folder)) != NULL) {
		int fd;

		if (strncmp(entry->d_name, base, strlen(base)) != 0 ||
		    !sp_bytes_ends_with(sp_bytes_of(entry->d_name),
					SP_RECORD_CLOSED SP_RECORD_OPEN) ||
		    snprintf(path, sizeof(path), "%.*s%s", folder_size, prefix, entry->d_name) >=
			    (int)sizeof(path))
			continue;
		fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			continue;
		count += finish(fd, path);
		close(fd);
	}
	closedir(folder);
	return count;
}
