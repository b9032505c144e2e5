#ifndef SP_PROCESSOR_UPDATER_ATTEMPTS_H
#define SP_PROCESSOR_UPDATER_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Versions whose load or warm-up failed, so that a broken one is not tried every second.  A version
 * is tried again when its files change.  After an error that may be temporary (SP_IO, SP_NO_MEMORY,
 * SP_DEADLINE) it is also tried again after pauses that double, from one second to a minute.  After
 * any other error it is tried once more after three seconds, because some file systems have coarse
 * modification times.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_attempt {
	uint64_t name; /* of the version; 0: none */
	uint64_t files;
	int64_t due_ns; /* INT64_MAX: not before the files change */
	int64_t pause_ns;
	uint64_t age;
} sp_attempt;

/* More than a rollback skips.  The least recently used entry is replaced. */
enum { SP_ATTEMPTS_KEPT = 256 };

typedef struct sp_attempts {
	sp_attempt kept[SP_ATTEMPTS_KEPT];
	uint64_t age;
} sp_attempts;

/* Whether version `name` with these files should be tried now. */
bool sp_attempts_is_due(const sp_attempts *attempts, uint64_t name, uint64_t files, int64_t now_ns);

/* Records a failure with `status`; SP_BUSY: no attempt before its files change, or an order. */
void sp_attempts_note(sp_attempts *attempts, uint64_t name, uint64_t files, sp_status status,
		      int64_t now_ns);

/* Forgets one version. */
void sp_attempts_allow(sp_attempts *attempts, uint64_t name);

/* Forgets all. */
void sp_attempts_forget(sp_attempts *attempts);

#endif
