#ifndef SP_API_HOST_LIMITS_H
#define SP_API_HOST_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* The system's limits for this process.  Threads: thread-safe. */

/* Raises the soft limit of open descriptors to the hard limit; returns the limit. */
size_t sp_limits_raise_descriptors(void);

/*
 * How many of `limit` descriptors are reserved for other uses than connections: folders, files of
 * checkpoints and of tables on an SSD, the host's own sockets.
 */
size_t sp_limits_reserve(size_t limit);

/* How many connections are possible besides open descriptors and the reserve; at least 1. */
size_t sp_limits_connections(size_t limit);

/*
 * Bytes of memory of the machine, or the limit of the process's cgroup (version 1 or 2) or one of
 * its ancestors, if that is less.  `root` is prefixed to /proc and /sys; "" outside tests.
 */
uint64_t sp_limits_memory(const char *root);

#endif
