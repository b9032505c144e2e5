#ifndef SP_PROCESSOR_REQUEST_ROW_SPLIT_H
#define SP_PROCESSOR_REQUEST_ROW_SPLIT_H

#include <stddef.h>

#include "base/status.h"
#include "engine/runtime/program.h"
#include "processor/request/endpoint.h"
#include "session_group/session_group.h"
#include "session_group/session_set.h"

/*
 * Runs large requests in parts: the first on the request's own session and thread, the others on
 * sessions that are idle at that moment, by threads of its own.  A request never waits for one.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_splitter sp_splitter;

/*
 * Of requests with `least_rows` rows or more; a part has at least half as many.  `group`, whose
 * sessions are used, outlives it.
 */
SP_MUST_CHECK sp_status sp_splitter_create(sp_splitter **out, sp_session_group *group,
					   size_t least_rows, sp_error *err);

/* Only when no request is running.  NULL is fine. */
void sp_splitter_destroy(sp_splitter *splitter);

/* What a request is split over. */
typedef struct sp_split_target {
	sp_splitter *splitter; /* NULL: it is not split */
	const sp_session_set *sessions;
} sp_split_target;

/*
 * sp_session_run() on `session`, in parts if there are idle sessions and every input has as many
 * rows and the shape that the signature declares.  `endpoint` must be one that splits.
 *
 * The first part that fails fails the request.  Outputs of parts are joined in the workspace of
 * `session`; after a few requests nothing is allocated and no lock is taken but to hand parts over.
 */
SP_MUST_CHECK sp_status sp_split_run(const sp_split_target *target, sp_session *session,
				     const sp_endpoint *endpoint, const sp_run *run,
				     const sp_tensor **fetches, sp_error *err);

#endif
