#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/store.h"

sp_status sp_file_failed(sp_error *err, sp_status status, const char *what, const char *path)
{
	char reason[128];

	/* The GNU strerror_r() returns the text, which need not be in `reason`. */
	return sp_error_set(err, status, "cannot %s %s: %s", what, path,
			    strerror_r(errno, reason, sizeof(reason)));
}

static sp_status system_error(sp_error *err, const char *what, const char *path)
{
	return sp_file_failed(err, errno == ENOENT || errno == ENOTDIR ? SP_NOT_FOUND : SP_IO, what,
			      path);
}

static sp_status open_object(sp_file *out, const char *path, sp_error *err)
{
	const sp_store *store;

	SP_TRY(sp_store_get(&store, path, err));
	return store->open(&out->object, &out->size, path, err);
}

/* That of an open object, which is there as long as the object is. */
static const sp_store *store_of_object(void)
{
	const sp_store *store = NULL;

	(void)!sp_store_get(&store, "an object", NULL);
	return store;
}

sp_status sp_file_open(sp_file *out, const char *path, sp_error *err)
{
	struct stat info;
	int fd;

	*out = (sp_file){.fd = -1};
	if (sp_store_is_remote(path))
		return open_object(out, path, err);
	/* O_NONBLOCK: opening a FIFO without a writer must not hang. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return system_error(err, "open", path);
	if (fstat(fd, &info) != 0) {
		sp_status status = system_error(err, "stat", path);

		close(fd);
		return status;
	}
	if (!S_ISREG(info.st_mode)) {
		close(fd);
		return sp_error_set(err, SP_IO, "cannot open %s: not a regular file", path);
	}
	*out = (sp_file){.fd = fd, .size = (uint64_t)info.st_size};
	return SP_OK;
}

void sp_file_close(sp_file *file)
{
	if (file->object != NULL)
		store_of_object()->close(file->object);
	if (file->fd >= 0)
		close(file->fd);
	*file = (sp_file){.fd = -1};
}

sp_status sp_file_read_at(const sp_file *file, uint64_t offset, void *buffer, size_t size,
			  sp_error *err)
{
	char *to = buffer;

	if (file->object != NULL && (offset > file->size || size > file->size - offset))
		return sp_error_set(
			err, SP_CORRUPT, "the object of %llu bytes ends before byte %llu + %zu",
			(unsigned long long)file->size, (unsigned long long)offset, size);
	if (file->object != NULL)
		return store_of_object()->read(file->object, offset, buffer, size, err);
	while (size != 0) {
		size_t piece = size < (1u << 30) ? size : (1u << 30);
		ssize_t n = pread(file->fd, to, piece, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return system_error(err, "read", "an open file");
		if (n == 0)
			return sp_error_set(err, SP_CORRUPT,
					    "the file ends at byte %llu, %zu bytes too early",
					    (unsigned long long)offset, size);
		to += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return SP_OK;
}

/* Whether this byte is in the page cache; false if unknown. */
static bool is_cached(const sp_file *file, uint64_t offset)
{
	char byte;
	struct iovec to = {.iov_base = &byte, .iov_len = 1};

	return preadv2(file->fd, &to, 1, (off_t)offset, RWF_NOWAIT) == 1;
}

/* Skips cached pages, for which the advice costs almost as much as reading them. */
void sp_file_fetch(const sp_file *file, uint64_t offset, uint64_t size, bool once)
{
	enum { STEP = 1 << 20 };

	if (file->object != NULL) {
		store_of_object()->fetch(file->object, offset, size, once);
		return;
	}
	for (uint64_t at = 0; at < size; at += STEP) {
		uint64_t count = size - at < STEP ? size - at : STEP;

		if (!is_cached(file, offset + at))
			(void)posix_fadvise(file->fd, (off_t)(offset + at), (off_t)count,
					    POSIX_FADV_WILLNEED);
	}
}

size_t sp_file_ahead(const sp_file *file)
{
	return file->object != NULL ? store_of_object()->ahead : (size_t)64 << 20;
}

sp_status sp_file_read(char **out, size_t *out_size, const char *path, size_t max_size,
		       sp_error *err)
{
	sp_file file;
	sp_status status;
	char *data;

	SP_TRY(sp_file_open(&file, path, err));
	if (file.size > max_size) {
		status = sp_error_set(err, SP_INVALID, "%s has %llu bytes, more than %zu", path,
				      (unsigned long long)file.size, max_size);
		sp_file_close(&file);
		return status;
	}
	data = sp_alloc((size_t)file.size + 1);
	if (data == NULL)
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for %s", path);
	else
		status = sp_file_read_at(&file, 0, data, (size_t)file.size, err);
	if (status != SP_OK) {
		sp_free(data);
		sp_file_close(&file);
		return status;
	}
	data[file.size] = '\0';
	*out = data;
	*out_size = (size_t)file.size;
	sp_file_close(&file);
	return SP_OK;
}

/* What stat() tells; SP_NOT_FOUND if there is nothing of that name. */
static sp_status find(struct stat *info, const char *path, mode_t type)
{
	const sp_store *store;

	if (sp_store_is_remote(path)) {
		SP_TRY(sp_store_get(&store, path, NULL));
		return store->find(info, path, type, NULL);
	}
	return stat(path, info) == 0 ? SP_OK : system_error(NULL, "look at", path);
}

bool sp_file_is_directory(const char *path)
{
	struct stat info;

	return find(&info, path, S_IFDIR) == SP_OK && S_ISDIR(info.st_mode);
}

bool sp_file_exists(const char *path)
{
	struct stat info;

	return find(&info, path, 0) == SP_OK;
}

bool sp_file_is_missing(const char *path)
{
	struct stat info;

	return find(&info, path, 0) == SP_NOT_FOUND;
}

bool sp_file_write_all(int fd, const char *data, size_t size)
{
	while (size != 0) {
		ssize_t written = write(fd, data, size);

		if (written < 0 && errno != EINTR)
			return false;
		if (written > 0) {
			data += written;
			size -= (size_t)written;
		}
	}
	return true;
}
