#ifndef SP_PROCESSOR_UPDATER_ATTEMPTS_H
#define SP_PROCESSOR_UPDATER_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * Which versions could not be had, so that a broken one is refused once and not
 * every second: it is tried again when its files change.  Where the reason may
 * go away by itself (SP_IO, SP_NO_MEMORY, SP_DEADLINE) it is also tried again after ever
 * longer pauses; and any is tried once more after a few seconds, for file
 * systems whose times of change are coarse.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_attempt {
	uint64_t name; /* of the version; 0: none */
	uint64_t files;
	int64_t due_ns; /* INT64_MAX: when the files change */
	int64_t pause_ns;
	uint64_t age;
} sp_attempt;

/* As many versions as one goes back over, and some more. */
enum { SP_ATTEMPTS_KEPT = 256 };

typedef struct sp_attempts {
	sp_attempt kept[SP_ATTEMPTS_KEPT];
	uint64_t age;
} sp_attempts;

/* Whether version `name`, made of these files, should be tried now. */
bool sp_attempts_is_due(const sp_attempts *attempts, uint64_t name, uint64_t files, int64_t now_ns);

/* It was tried and failed so; SP_BUSY: it waits for its files or for somebody's word. */
void sp_attempts_note(sp_attempts *attempts, uint64_t name, uint64_t files, sp_status status,
		      int64_t now_ns);

/* That one may be tried again. */
void sp_attempts_allow(sp_attempts *attempts, uint64_t name);

/* Everything may be tried again. */
void sp_attempts_forget(sp_attempts *attempts);

#endif
