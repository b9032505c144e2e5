#include "processor/updater/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "processor/updater/found.h"

enum { MAX_BYTES = 4096 };

sp_pin sp_pin_of(int64_t full_step, int64_t delta_step, const char *by)
{
	sp_pin pin = {.holds = true, .full_step = full_step, .delta_step = delta_step};

	snprintf(pin.by, sizeof(pin.by), "%s", by);
	return pin;
}

void sp_pin_set(sp_pin *out, const sp_pin *pin, sp_catalog *catalog)
{
	sp_found_version named = {.full_step = pin->full_step, .delta_step = pin->delta_step};

	*out = *pin;
	sp_catalog_pin(catalog, pin->holds ? &named : NULL, pin->by);
}

static sp_status fail(const char *path, const char *what, sp_error *err)
{
	char reason[128];

	return sp_error_set(err, SP_IO, "cannot %s the pin_file '%s': %s", what, path,
			    strerror_r(errno, reason, sizeof(reason)));
}

/* -------------------------------------------------------------------- reading */

/* Parses digits of an int64 and moves *at past them. */
static bool take_step(const char **at, int64_t *out)
{
	const char *begin = *at;

	for (*out = 0; **at >= '0' && **at <= '9'; (*at)++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, **at - '0', out))
			return false;
	return *at != begin;
}

/* Parses a line that is only "100" or "100+110". */
static bool take_steps(const char *text, size_t size, int64_t *full_step, int64_t *delta_step)
{
	const char *at = text;

	*delta_step = -1;
	if (!take_step(&at, full_step))
		return false;
	if (*at == '+') {
		at++;
		if (!take_step(&at, delta_step))
			return false;
	}
	at += *at == '\r';
	at += *at == '\n';
	return at == text + size;
}

sp_status sp_pin_load(sp_pin *pin, const char *path, sp_error *err)
{
	char *text;
	size_t size;
	sp_status status;

	*pin = (sp_pin){.holds = false};
	if (path == NULL)
		return SP_OK;
	status = sp_file_read(&text, &size, path, MAX_BYTES, err);
	if (status == SP_NOT_FOUND)
		return SP_OK;
	if (status != SP_OK)
		return sp_error_prefix(err, status, "pin_file");
	pin->holds = take_steps(text, size, &pin->full_step, &pin->delta_step);
	if (!pin->holds)
		status = sp_error_set(err, SP_INVALID,
				      "the pin_file '%s' holds no version such as 100 or 100+110, "
				      "but '%.40s'",
				      path, text);
	snprintf(pin->by, sizeof(pin->by), "the pin_file '%.200s'", path);
	sp_free(text);
	return status;
}

/* -------------------------------------------------------------------- writing */

/* A new name is durable only when its folder is synced. */
static sp_status sync_folder(const char *path, sp_error *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;
	bool done;

	if (slash == NULL)
		snprintf(folder, sizeof(folder), ".");
	else
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	done = fd >= 0 && fsync(fd) == 0;
	if (!done)
		(void)fail(path, "write", err);
	if (fd >= 0)
		close(fd);
	return done ? SP_OK : SP_IO;
}

static sp_status write_whole(const char *path, const char *text, sp_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	ssize_t size = (ssize_t)strlen(text);
	bool done;

	if (fd < 0)
		return fail(path, "write", err);
	done = write(fd, text, (size_t)size) == size && fsync(fd) == 0;
	if (!done)
		(void)fail(path, "write", err);
	close(fd);
	return done ? SP_OK : SP_IO;
}

sp_status sp_pin_store(const sp_pin *pin, const char *path, sp_error *err)
{
	char fresh[PATH_MAX], steps[SP_FOUND_STEPS_SIZE], text[SP_FOUND_STEPS_SIZE + 1];
	sp_status status;

	if (path == NULL)
		return SP_OK;
	if (!pin->holds && unlink(path) != 0)
		return errno == ENOENT ? SP_OK : fail(path, "remove", err);
	if (!pin->holds)
		return sync_folder(path, err);
	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return sp_error_set(err, SP_IO, "the name of the pin_file '%.100s...' is too long",
				    path);
	snprintf(text, sizeof(text), "%s\n",
		 sp_found_steps(steps, pin->full_step, pin->delta_step));
	status = write_whole(fresh, text, err);
	if (status == SP_OK && rename(fresh, path) != 0)
		status = fail(path, "write", err);
	if (status != SP_OK) {
		unlink(fresh);
		return status;
	}
	return sync_folder(path, err);
}
