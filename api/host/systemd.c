#include "api/host/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

/* ------------------------------------------------------------ notifications */

/* The address of NOTIFY_SOCKET and its size; 0: there is none.  "@" begins an abstract name. */
static socklen_t notify_address(struct sockaddr_un *out)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t size = name != NULL ? strlen(name) : 0;

	if (size < 2 || size >= sizeof(out->sun_path) || (name[0] != '/' && name[0] != '@'))
		return 0;
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(out->sun_path, name, size);
	if (name[0] == '@')
		out->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
}

void sp_systemd_notify(const char *lines)
{
	struct sockaddr_un address;
	socklen_t size = notify_address(&address);
	int fd;

	if (size == 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		     size);
	close(fd);
}

void sp_systemd_notify_reloading(void)
{
	char lines[64];

	snprintf(lines, sizeof(lines), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		 sp_clock_now_ns() / 1000);
	sp_systemd_notify(lines);
}

/* A whole number of the environment, from 1 on; 0: there is none. */
static int64_t read_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long long value;

	if (text == NULL || *text == '\0')
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && value > 0 ? value : 0;
}

/* Whether the variable is there and names another process, for which the other variables are. */
static bool is_for_another(const char *name)
{
	return getenv(name) != NULL && read_number(name) != getpid();
}

void sp_systemd_keep_alive(void)
{
	static int64_t last_ns;
	int64_t wait_us = read_number("WATCHDOG_USEC"), now_ns = sp_clock_now_ns();

	if (wait_us == 0 || is_for_another("WATCHDOG_PID"))
		return;
	if (last_ns != 0 && (now_ns - last_ns) / 1000 < wait_us / 2)
		return;
	last_ns = now_ns;
	sp_systemd_notify("WATCHDOG=1");
}

/* ------------------------------------------------------------------ sockets */

enum { FIRST_PASSED = 3, MAX_PASSED = 64 };

typedef union socket_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
} socket_name;

/* Where a socket listens. */
static sp_status read_name(int fd, socket_name *out, sp_error *err)
{
	socklen_t name_size = sizeof(*out), size = sizeof(int);
	int listens = 0;

	memset(out, 0, sizeof(*out));
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0 ||
	    getsockname(fd, &out->any, &name_size) != 0)
		return sp_error_set(err, SP_INVALID,
				    "descriptor %d, of LISTEN_FDS, is no socket that listens", fd);
	return SP_OK;
}

/* The port of a name; 0 where it has none. */
static uint16_t port_of(const socket_name *name)
{
	if (name->any.sa_family == AF_INET)
		return ntohs(name->v4.sin_port);
	return name->any.sa_family == AF_INET6 ? ntohs(name->v6.sin6_port) : 0;
}

static bool is_meant(const sp_http_address *address, const socket_name *name)
{
	const char *path = sp_http_address_path(address);

	if (path != NULL)
		return name->any.sa_family == AF_UNIX &&
		       strncmp(path, name->path.sun_path, sizeof(name->path.sun_path)) == 0;
	return address->port != 0 && address->port == port_of(name);
}

static sp_status take_socket(int fd, int *out, const sp_http_address *addresses, size_t count,
			     sp_error *err)
{
	socket_name name;

	SP_TRY(read_name(fd, &name, err));
	for (size_t i = 0; i < count; i++)
		if (out[i] == 0 && is_meant(&addresses[i], &name)) {
			fcntl(fd, F_SETFD, FD_CLOEXEC);
			fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
			out[i] = fd;
			return SP_OK;
		}
	if (name.any.sa_family == AF_UNIX)
		return sp_error_set(
			err, SP_INVALID,
			"the service manager listens on the path %.*s, which is that of "
			"no flag",
			(int)sizeof(name.path.sun_path), name.path.sun_path);
	return sp_error_set(
		err, SP_INVALID,
		"the service manager listens on port %u, which is that of no flag, or of "
		"one that has a socket already",
		(unsigned)port_of(&name));
}

sp_status sp_systemd_take_sockets(int *out, const sp_http_address *addresses, size_t count,
				  sp_error *err)
{
	int64_t passed = read_number("LISTEN_FDS");

	if (passed == 0 || read_number("LISTEN_PID") != getpid())
		return SP_OK;
	if (passed > MAX_PASSED)
		return sp_error_set(err, SP_INVALID, "LISTEN_FDS is more than %d", MAX_PASSED);
	for (int i = 0; i < (int)passed; i++)
		SP_TRY(take_socket(FIRST_PASSED + i, out, addresses, count, err));
	return SP_OK;
}
