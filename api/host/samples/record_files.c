#include "api/host/samples/record_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "api/host/samples/record_frame.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

enum { MAX_PATH = 4096, MAX_TRIES = 1000 };

struct sp_record_files {
	const char *prefix;
	sp_record_limits limits;
	bool recovered;
	unsigned number; /* in the next file's name */

	int fd;              /* -1: no file is open */
	char path[MAX_PATH]; /* that the open file gets when it is closed */
	uint64_t records, bytes;
	int64_t began_ns;

	bool failing;
	uint64_t dropped; /* records that could not be written since `failing` is set */
};

sp_record_files *sp_record_files_create(const char *prefix, const sp_record_limits *limits)
{
	sp_record_files *files = sp_alloc_zero(1, sizeof(*files));

	if (files == NULL)
		return NULL;
	files->prefix = prefix;
	files->limits = *limits;
	files->fd = -1;
	return files;
}

/* ------------------------------------------------------------------- failures */

/* Logs the first failure after a record that could be written. */
static void note_failure(sp_record_files *files, const char *what)
{
	char reason[128];

	if (!files->failing)
		sp_log(SP_LOG_WARNING,
		       "the log of requests %s: cannot %s: %s; requests are left out of it until "
		       "that works",
		       files->prefix, what, strerror_r(errno, reason, sizeof(reason)));
	files->failing = true;
}

static void note_success(sp_record_files *files)
{
	if (files->failing)
		sp_log(SP_LOG_INFO,
		       "the log of requests %s is written again; %llu requests are missing",
		       files->prefix, (unsigned long long)files->dropped);
	files->failing = false;
	files->dropped = 0;
}

/* ----------------------------------------------------------------- open, close */

/* The name of the file while it grows; false: it is too long. */
static bool name_open(char out[MAX_PATH], const sp_record_files *files)
{
	return snprintf(out, MAX_PATH, "%s" SP_RECORD_OPEN, files->path) < MAX_PATH;
}

/* Makes a name that nothing has yet, and the file under it; -1: errno says why not. */
static int create_file(sp_record_files *files)
{
	char part[MAX_PATH], when[32];
	time_t now = time(NULL);
	struct tm utc;
	int fd;

	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
	if (snprintf(files->path, MAX_PATH, "%s-%s-%d-%u" SP_RECORD_CLOSED, files->prefix, when,
		     (int)getpid(), files->number++) >= MAX_PATH ||
	    !name_open(part, files)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (access(files->path, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	fd = open(part, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	/* A process that finishes abandoned files may lock the new file before this one does. */
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		close(fd);
		errno = EEXIST;
		return -1;
	}
	return fd;
}

static bool open_file(sp_record_files *files)
{
	if (!files->recovered) {
		unsigned count = sp_record_files_recover(files->prefix);

		if (count != 0)
			sp_log(SP_LOG_INFO,
			       "the log of requests %s: %u files that were left open are finished",
			       files->prefix, count);
		files->recovered = true;
	}
	for (int i = 0; i < MAX_TRIES; i++) {
		files->fd = create_file(files);
		if (files->fd >= 0 || errno != EEXIST)
			break;
	}
	if (files->fd < 0) {
		note_failure(files, "create a file");
		return false;
	}
	files->records = files->bytes = 0;
	files->began_ns = sp_clock_now_ns();
	return true;
}

static void close_file(sp_record_files *files)
{
	char part[MAX_PATH];

	if (files->fd < 0 || !name_open(part, files))
		return;
	if (files->records == 0)
		(void)unlink(part);
	else if (fdatasync(files->fd) != 0 || rename(part, files->path) != 0)
		note_failure(files, "finish a file");
	close(files->fd); /* unlocks the file, which must have its new name by then */
	files->fd = -1;
}

void sp_record_files_destroy(sp_record_files *files)
{
	if (files == NULL)
		return;
	close_file(files);
	sp_free(files);
}

/* --------------------------------------------------------------------- writing */

/* Writes the whole record or nothing; if it returns false, errno says why. */
static bool write_record(sp_record_files *files, sp_bytes record)
{
	unsigned char head[SP_RECORD_HEAD], tail[SP_RECORD_TAIL];
	const struct iovec parts[] = {{head, sizeof(head)},
				      {(void *)(uintptr_t)record.data, record.size},
				      {tail, sizeof(tail)}};
	ssize_t size = (ssize_t)(sizeof(head) + record.size + sizeof(tail)), written;
	int reason;

	sp_record_frame(head, tail, record);
	written = writev(files->fd, parts, 3);
	if (written == size) {
		files->bytes += (uint64_t)size;
		files->records++;
		return true;
	}
	reason = written < 0 ? errno : ENOSPC;
	/* If a part of a record cannot be cut off now, a later process does it (record_recovery.h).
	 */
	if (written > 0 && ftruncate(files->fd, (off_t)files->bytes) != 0) {
		close(files->fd);
		files->fd = -1;
	}
	errno = reason;
	return false;
}

static bool add(sp_record_files *files, sp_bytes record)
{
	uint64_t size = SP_RECORD_HEAD + record.size + SP_RECORD_TAIL;

	if (files->fd >= 0 && files->records != 0 && files->bytes + size > files->limits.bytes)
		close_file(files);
	if (files->fd < 0 && !open_file(files))
		return false;
	if (write_record(files, record))
		return true;
	note_failure(files, "write");
	return false;
}

bool sp_record_files_add(sp_record_files *files, sp_bytes record)
{
	if (!add(files, record)) {
		files->dropped++;
		return false;
	}
	note_success(files);
	sp_record_files_tick(files, sp_clock_now_ns());
	return true;
}

void sp_record_files_tick(sp_record_files *files, int64_t now_ns)
{
	if (files->fd >= 0 &&
	    (files->records >= files->limits.records || files->bytes >= files->limits.bytes ||
	     now_ns - files->began_ns >= files->limits.ns))
		close_file(files);
}
