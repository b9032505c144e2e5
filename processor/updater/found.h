#ifndef SP_PROCESSOR_UPDATER_FOUND_H
#define SP_PROCESSOR_UPDATER_FOUND_H

#include <stdbool.h>

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

#endif
