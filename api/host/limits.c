#include "api/host/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* -------------------------------------------------------------- descriptors */

enum { LEAST_RESERVE = 64, RESERVE_SHARE = 8 };

size_t sp_limits_raise_descriptors(void)
{
	struct rlimit limit, most;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return INT_MAX;
	most = (struct rlimit){limit.rlim_max, limit.rlim_max};
	if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0)
		limit = most;
	/* RLIM_INFINITY and the like: a descriptor is an int. */
	return limit.rlim_cur > INT_MAX ? (size_t)INT_MAX : (size_t)limit.rlim_cur;
}

size_t sp_limits_reserve(size_t limit)
{
	size_t reserve = limit / RESERVE_SHARE;

	if (reserve < LEAST_RESERVE)
		reserve = LEAST_RESERVE;
	return reserve < limit / 2 ? reserve : limit / 2;
}

/* The lowest free number approximates how many are open. */
static size_t open_descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == EMFILE ? INT_MAX : 0;
	close(fd);
	return (size_t)fd;
}

size_t sp_limits_connections(size_t limit)
{
	size_t taken = sp_limits_reserve(limit) + open_descriptors();

	return taken < limit ? limit - taken : 1;
}

/* ------------------------------------------------------------------- memory */

/* The first number in a file; UINT64_MAX if there is none ("max"). */
static uint64_t read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long value;

	if (file == NULL)
		return UINT64_MAX;
	if (fscanf(file, "%llu", &value) != 1)
		value = ULLONG_MAX;
	fclose(file);
	return value;
}

/*
 * The least limit of a cgroup and its ancestors.  In a container /proc may give a path that does
 * not exist there, and the container's cgroup is the root; so the root is always read.
 */
static uint64_t least_limit(const char *mount, char *group, const char *name)
{
	uint64_t least = UINT64_MAX;

	for (char *end = NULL;; *end = '\0') {
		char path[8192];
		uint64_t limit;

		snprintf(path, sizeof(path), "%s%s/%s", mount, group, name);
		limit = read_number(path);
		if (limit < least)
			least = limit;
		end = strrchr(group, '/');
		if (end == NULL)
			return least;
	}
}

/* Whether a comma-separated list, which ends at a colon, contains "memory". */
static bool is_memory(const char *list)
{
	const char *end = strchr(list, ':');

	while (list < end) {
		size_t size = strcspn(list, ",:");

		if (size == 6 && memcmp(list, "memory", 6) == 0)
			return true;
		list += size + 1;
	}
	return false;
}

/* Parses "number:controllers:/path", a line of /proc/self/cgroup; version 2: "0::/path". */
static uint64_t limit_of_line(const char *root, char *line)
{
	char mount[4096], *controllers = strchr(line, ':'), *group;

	line[strcspn(line, "\n")] = '\0';
	group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
	if (group++ == NULL)
		return UINT64_MAX;
	if (controllers[1] == ':') {
		snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
		return least_limit(mount, group, "memory.max");
	}
	if (!is_memory(controllers + 1))
		return UINT64_MAX;
	snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/memory", root);
	return least_limit(mount, group, "memory.limit_in_bytes");
}

static uint64_t cgroup_memory(const char *root)
{
	uint64_t least = UINT64_MAX;
	char line[4096];
	FILE *file;

	snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
	file = fopen(line, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		uint64_t limit = limit_of_line(root, line);

		if (limit < least)
			least = limit;
	}
	if (file != NULL)
		fclose(file);
	return least;
}

/* "MemTotal: 16316412 kB", the first line of /proc/meminfo. */
static uint64_t machine_memory(const char *root)
{
	unsigned long long kilobytes = 0;
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	file = fopen(path, "re");
	if (file != NULL) {
		if (fscanf(file, "MemTotal: %llu", &kilobytes) != 1)
			kilobytes = 0;
		fclose(file);
	}
	return kilobytes != 0 ? kilobytes * 1024
			      : (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t sp_limits_memory(const char *root)
{
	uint64_t machine = machine_memory(root), group = cgroup_memory(root);

	return group < machine ? group : machine;
}
