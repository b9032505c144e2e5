#ifndef SP_BASE_MAPPING_H
#define SP_BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/status.h"

/*
 * A file mapped for reading, guarded against SIGBUS.
 *
 * Reading a page of a mapped file that no longer exists, because the file was truncated or
 * its disk fails, raises SIGBUS in the reading thread.  While any mapping is open, a handler
 * is installed.  For an address in one of our mappings it marks the mapping broken, maps
 * zeros from that page to the mapping's end, and lets the read continue.  Every other SIGBUS
 * is passed to the handler installed before, or has its default effect.
 *
 * A reader therefore reads first, then calls sp_mapping_is_broken(), and only then trusts what
 * it has read:
 *
 *     sum = add_up(mapping.data, mapping.size);
 *     if (sp_mapping_is_broken(&mapping))
 *             return sp_error_set(err, SP_IO, ...);
 *
 * Until that check any byte may be a false zero, so values used as offsets must be validated
 * even in files that this library has written.  A file that changes without getting shorter
 * is not detected here: that takes checksums.
 *
 * For the host: closing the last mapping restores the previous handler.  A handler that the
 * host installs while mappings are open must pass on foreign addresses to the action that it
 * replaced, and the library must stay loaded.  If the host restores the default action
 * instead, mappings are unguarded until the next one is opened.  In a thread that blocks
 * SIGBUS the kernel ends the process.
 *
 * Threads: all functions are thread-safe; nobody may read a mapping when it is closed.
 */
typedef struct sp_mapping {
	const char *data; /* NULL when size is 0 */
	size_t size;
	struct sp_mapping_guard *guard; /* NULL when size is 0 */
} sp_mapping;

/* How many mappings of a process may be open at once. */
#define SP_MAPPING_LIMIT 4096

/*
 * Maps `file` with the size that it had when it was opened; the file may be closed
 * afterwards.  An object of a store is read into memory instead.  SP_IO when the system refuses,
 * SP_BUSY beyond SP_MAPPING_LIMIT.
 */
SP_MUST_CHECK sp_status sp_mapping_open(sp_mapping *out, const sp_file *file, sp_error *err);

/* Closing a closed one, {0}, is fine. */
void sp_mapping_close(sp_mapping *mapping);

/* Whether any byte read so far may be a false zero.  Costs one load. */
bool sp_mapping_is_broken(const sp_mapping *mapping);

/* How a part of the mapping will be used; the system may ignore it. */
typedef enum sp_mapping_advice {
	SP_MAPPING_RANDOM,
	SP_MAPPING_WILL_NEED, /* start reading it from disk, don't wait */
	SP_MAPPING_HUGE,      /* on huge pages where the file system has them */
} sp_mapping_advice;

/* The part is clipped to the mapping. */
void sp_mapping_advise(const sp_mapping *mapping, size_t offset, size_t size,
		       sp_mapping_advice advice);

/*
 * Reads a part, clipped to the mapping, into memory and the page tables, and waits for it.
 * False when the mapping is broken.
 */
SP_MUST_CHECK bool sp_mapping_populate(const sp_mapping *mapping, size_t offset, size_t size);

#endif
