#ifndef SP_BASE_MAPPING_H
#define SP_BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/status.h"

/*
 * A file mapped for reading that cannot take the host down.
 *
 * Touching a page of a mapped file that is no longer there, because somebody
 * truncated the file or its disk fails, raises SIGBUS in the thread that reads.
 * While any mapping is open a handler of ours is installed.  For an address in
 * one of our mappings it marks that mapping broken, puts zeros from that page
 * to the mapping's end, and lets the read go on.  Every other SIGBUS goes to
 * the handler that was there before, or does what it would have done.
 *
 * So a reader reads, then asks sp_mapping_is_broken(), and only then trusts
 * what it read:
 *
 *     sum = add_up(mapping.data, mapping.size);
 *     if (sp_mapping_is_broken(&mapping))
 *             return sp_error_set(err, SP_IO, ...);
 *
 * What it read until then may be zeros in any place; values that become
 * offsets have to be checked even in files of our own.  A file that changes
 * without getting shorter raises nothing: bytes that must be right have a
 * checksum of their own.
 *
 * For the host: closing the last mapping puts the former handler back.  A
 * handler that the host installs while mappings are open has to pass on what is
 * not its own (to sigaction()'s old action), and then the library has to stay
 * loaded.  Where it puts back the default instead, no mapping is safe before the
 * next one is opened.  A thread that blocks SIGBUS cannot be saved: the kernel ends the
 * process.
 *
 * Threads: opening, closing and asking are thread-safe; a mapping is closed
 * when nobody reads it any more.
 */
typedef struct sp_mapping {
	const char *data; /* NULL when size is 0 */
	size_t size;
	struct sp_mapping_guard *guard; /* NULL when size is 0 */
} sp_mapping;

/* How many mappings of a process may be open at once. */
#define SP_MAPPING_LIMIT 4096

/*
 * Maps `file` as large as it was when it was opened; the file may be closed
 * right after.  SP_IO when the system refuses, SP_BUSY beyond SP_MAPPING_LIMIT.
 */
SP_MUST_CHECK sp_status sp_mapping_open(sp_mapping *out, const sp_file *file, sp_error *err);

/* Closing a closed one, {0}, is fine. */
void sp_mapping_close(sp_mapping *mapping);

/* Whether any byte read so far may have been a zero of ours.  Costs one load. */
bool sp_mapping_is_broken(const sp_mapping *mapping);

/* What will be done with a part of the mapping; the system may ignore it. */
typedef enum sp_mapping_advice {
	SP_MAPPING_RANDOM,
	SP_MAPPING_WILL_NEED, /* start reading it from disk, don't wait */
	SP_MAPPING_HUGE,      /* on huge pages where the file system has them */
} sp_mapping_advice;

/* The part is clipped to the mapping. */
void sp_mapping_advise(const sp_mapping *mapping, size_t offset, size_t size,
		       sp_mapping_advice advice);

/*
 * Brings a part, clipped to the mapping, into memory and into this process's
 * page tables, and waits for it.  False when the mapping is broken.
 */
SP_MUST_CHECK bool sp_mapping_populate(const sp_mapping *mapping, size_t offset, size_t size);

#endif
