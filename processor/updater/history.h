#ifndef SP_PROCESSOR_UPDATER_HISTORY_H
#define SP_PROCESSOR_UPDATER_HISTORY_H

#include <stddef.h>

#include "incremental/discover.h"

/*
 * The names of versions that were live, the last one at the end, each once: where a rollback
 * goes.  Beyond SP_HISTORY_KEPT the oldest is forgotten.
 *
 * Threads: one thread at a time.
 */
enum { SP_HISTORY_KEPT = 64 };

typedef struct sp_history {
	sp_found_version versions[SP_HISTORY_KEPT]; /* owns its texts */
	size_t count;
} sp_history;

/* Puts it at the end.  Without memory it is left out. */
void sp_history_add(sp_history *history, const sp_found_version *version);

/* The last one; NULL when there is none. */
const sp_found_version *sp_history_last(const sp_history *history);

void sp_history_remove(sp_history *history, const sp_found_version *version);
void sp_history_clear(sp_history *history);

#endif
