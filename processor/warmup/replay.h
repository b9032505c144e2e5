#ifndef SP_PROCESSOR_WARMUP_REPLAY_H
#define SP_PROCESSOR_WARMUP_REPLAY_H

#include "base/arena.h"
#include "base/status.h"
#include "processor/request/request.h"
#include "processor/version/runtime.h"

/*
 * How much the answers to recorded requests change from one version to another; checked before a
 * version is published.
 *
 * file    a serialized PredictRequest, or a TFRecord file of at most SP_WARMUP_MAX_RECORDS
 *         PredictionLog messages, as of recorded_request.h
 * change  the mean of |new - old| over all floating-point elements of all
 *         outputs of all requests; not finite if any element is not
 *
 * Each version reads a request by its own signature: that of the target, or the one which a record
 * names.  Records of other requests than Predict are passed over.  SP_INVALID when the two answers
 * differ in shape or have no such elements.  Strings and integers are not compared.
 *
 * Threads: one; it must own the sessions.
 */
typedef struct sp_replay {
	const char *file;
	sp_request_target old;
	sp_request_target new;
	const sp_runtime *old_runtime, *new_runtime;
} sp_replay;

SP_MUST_CHECK sp_status sp_replay_run(const sp_replay *replay, double *change, sp_arena *arena,
				      sp_error *err);

#endif
