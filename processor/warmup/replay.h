#ifndef SP_PROCESSOR_WARMUP_REPLAY_H
#define SP_PROCESSOR_WARMUP_REPLAY_H

#include "base/arena.h"
#include "base/status.h"
#include "processor/request/request.h"

/*
 * How much the answer to a recorded request changes from one version to another; checked before a
 * version is published.
 *
 * file    a serialized PredictRequest
 * change  the mean of |new - old| over all floating-point elements of all
 *         outputs; not finite if any element is not
 *
 * Each version reads the request by its own signature.  SP_INVALID when the two answers differ in
 * shape or have no such elements.  Strings and integers are not compared.
 *
 * Threads: one; it must own the sessions.
 */
typedef struct sp_replay {
	const char *file;
	sp_request_target old;
	sp_request_target new;
} sp_replay;

SP_MUST_CHECK sp_status sp_replay_run(const sp_replay *replay, double *change, sp_arena *arena,
				      sp_error *err);

#endif
