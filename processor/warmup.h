#ifndef SP_PROCESSOR_WARMUP_H
#define SP_PROCESSOR_WARMUP_H

#include "base/status.h"
#include "engine/program.h"
#include "processor/endpoint.h"
#include "session_group/session_group.h"

/*
 * Requests before the first request: afterwards every session has the memory
 * it needs, and the model's pages are in place.  Five rounds on every session,
 * none of which may be in use.
 *
 * file  a serialized PredictRequest; an error when it cannot be read or
 *       answered.  NULL: every input is filled with ones, unknown dimensions
 *       are 1; nothing is done when an input is a string, and a failure is only
 *       logged, because a model may rightly refuse ones.
 */
SP_MUST_CHECK sp_status sp_warmup(const sp_session_group *sessions, const sp_snapshot *snapshot,
				  const sp_endpoint *endpoint, const char *file, sp_error *err);

#endif
