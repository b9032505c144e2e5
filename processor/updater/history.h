#ifndef SP_PROCESSOR_UPDATER_HISTORY_H
#define SP_PROCESSOR_UPDATER_HISTORY_H

#include <stddef.h>

#include "incremental/discover.h"

/*
 * The names of versions that were live, each once, the latest last: the targets of a rollback.
 * Beyond SP_HISTORY_KEPT the oldest is dropped.
 *
 * Threads: one thread at a time.
 */
enum { SP_HISTORY_KEPT = 64 };

typedef struct sp_history {
	sp_found_version versions[SP_HISTORY_KEPT]; /* owns its texts */
	size_t count;
} sp_history;

/* Appends it.  When out of memory it is left out. */
void sp_history_add(sp_history *history, const sp_found_version *version);

/* The last one; NULL: none. */
const sp_found_version *sp_history_last(const sp_history *history);

void sp_history_remove(sp_history *history, const sp_found_version *version);
void sp_history_clear(sp_history *history);

#endif
