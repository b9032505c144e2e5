#ifndef SP_PROCESSOR_VERSION_ROWS_KEPT_H
#define SP_PROCESSOR_VERSION_ROWS_KEPT_H

#include <stdint.h>

#include "processor/config/config.h"
#include "processor/version/version.h"

/*
 * Puts off that the rows of a version that is served expire.  Does something only when it is due,
 * and logs a failure.  Called from time to time by the thread that loads versions.
 *
 * due_ns   when it is due, on sp_clock_now_ns()'s clock; at first 0
 * content  sp_identity_of_rows() of the full checkpoint (incremental/identity.h)
 */
void sp_rows_kept(int64_t *due_ns, const sp_config *config, int64_t full_step, uint64_t content);

/*
 * If requests to a version that is served have met rows that Redis has lost, because it was emptied
 * or has evicted them, logs that, and publishes them again if the configuration allows it and the
 * files are still those of the version; after pauses of 1, 2, 4 ... 60 seconds if that goes on.
 * Called as the above.
 *
 * prefix  of its weights, of which `is_own` says whether they are the SavedModel's own
 */
void sp_rows_restored(sp_version *live, const sp_config *config, const char *prefix, bool is_own);

#endif
