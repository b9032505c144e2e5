#ifndef SP_API_HOST_ROUTES_PROFILE_H
#define SP_API_HOST_ROUTES_PROFILE_H

#include "api/host/routes/serving.h"

/*
 * A profile is the answer to a request that waits for the next run of a model, up to its deadline:
 * the stages and steps of the request that was run, in the format of Chrome's tracing.  One request
 * of a model waits at a time.
 *
 * Threads: any, several at once.
 */

/* Called for each answered request: if its steps were noted, they answer the one that waits. */
void sp_profile_note(sp_model *model, const sp_call_record *record);

/* The host ends: answers all that wait. */
void sp_profile_end(const sp_serving *serving);

#endif
