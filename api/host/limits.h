#ifndef SP_API_HOST_LIMITS_H
#define SP_API_HOST_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the system lets this process have.
 * Threads: pure, but for raising.
 */

/*
 * Raises the number of descriptors that the process may have open to the most
 * that it may raise it to; returns how many that are now.
 */
size_t sp_limits_raise_descriptors(void);

/*
 * Of `limit` descriptors those that connections leave to the rest of the process:
 * folders, files of checkpoints and of tables on an SSD, sockets of its own.
 */
size_t sp_limits_reserve(size_t limit);

/* How many connections fit beside what is open now and the reserve; at least 1. */
size_t sp_limits_connections(size_t limit);

/*
 * Bytes of memory: the machine's, or what the cgroup of the process (version 1 or
 * 2) or one above it may have, if that is less.  `root` is put in front of /proc
 * and /sys: "" for the system's own.
 */
uint64_t sp_limits_memory(const char *root);

#endif
