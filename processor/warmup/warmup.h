#ifndef SP_PROCESSOR_WARMUP_WARMUP_H
#define SP_PROCESSOR_WARMUP_WARMUP_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/status.h"
#include "engine/runtime/program.h"
#include "processor/request/endpoint.h"
#include "session_group/session_set.h"

/*
 * Sends a version its first requests.  Afterwards these sessions have allocated their memory, and
 * the version's pages are in memory.  Five rounds on sessions [first, first + count), none of which
 * may be in use.
 *
 * file  a serialized PredictRequest; an error when it cannot be read or
 *       answered.  NULL: every input is filled with ones, unknown dimensions
 *       are 1; nothing is done if an input is a string, and a failure is only
 *       logged, because a model may rightly refuse ones.
 *
 * Each request has the time limit of a client's request.
 */
typedef struct sp_warmup_target {
	const sp_session_set *sessions;
	size_t first;
	size_t count;
	const sp_snapshot *snapshot;
	const sp_endpoint *endpoint;
	const atomic_bool *closing; /* true: no further requests, SP_BUSY; NULL: never */
} sp_warmup_target;

/* SP_BUSY once target->closing is true. */
SP_MUST_CHECK sp_status sp_warmup_check_closing(const sp_warmup_target *target, sp_error *err);

SP_MUST_CHECK sp_status sp_warmup(const sp_warmup_target *target, const char *file, sp_error *err);

#endif
