#ifndef SP_PROCESSOR_UPDATER_FOUND_H
#define SP_PROCESSOR_UPDATER_FOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "incremental/discover.h"

/*
 * The name of a version: its full checkpoint and its delta, by path and by step.
 *
 * Threads: pure.
 */

/* Whether both have the same full checkpoint and delta, by their paths. */
bool sp_found_is_same(const sp_found_version *a, const sp_found_version *b);

/* A copy with texts in `arena`, or on the heap if that is NULL; false when out of memory. */
bool sp_found_copy(sp_found_version *out, const sp_found_version *from, sp_arena *arena);

/* A copy on the heap, for sp_found_drop(); empty when out of memory. */
bool sp_found_keep(sp_found_version *out, const sp_found_version *from);
void sp_found_drop(sp_found_version *version);

/* "100" or "100+110", as in log lines.  Returns `out`. */
enum { SP_FOUND_STEPS_SIZE = 48 };
const char *sp_found_steps(char out[SP_FOUND_STEPS_SIZE], int64_t full_step, int64_t delta_step);

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
