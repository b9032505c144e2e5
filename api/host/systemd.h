#ifndef SP_API_HOST_SYSTEMD_H
#define SP_API_HOST_SYSTEMD_H

#include <stddef.h>

#include "api/host/http/http_server.h"
#include "base/status.h"

/*
 * What a service manager and a service tell each other by environment variables, as sd_notify(3)
 * and sd_listen_fds(3) say.  Without these variables the functions do nothing.
 *
 * Threads: for the main thread only.
 */

/*
 * Sends lines such as "READY=1" or "STATUS=text", separated by "\n".  A manager that cannot be
 * reached is ignored: the service goes on.
 */
void sp_systemd_notify(const char *lines);

/* "RELOADING=1", with the time that Type=notify-reload wants; "READY=1" ends it. */
void sp_systemd_notify_reloading(void);

/* Sends "WATCHDOG=1" once half of the time that the manager waits has passed.  Call it once a
 * second or more often. */
void sp_systemd_keep_alive(void);

/*
 * Sets out[i] to the socket that the manager has passed for addresses[i], which is found by its
 * port or its path.  An address for which none was passed keeps its 0.
 *
 * Errors: SP_INVALID if a descriptor is no socket that listens, or no address is meant.
 */
SP_MUST_CHECK sp_status sp_systemd_take_sockets(int *out, const sp_http_address *addresses,
						size_t count, sp_error *err);

#endif
