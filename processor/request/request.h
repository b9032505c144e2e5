#ifndef SP_PROCESSOR_REQUEST_REQUEST_H
#define SP_PROCESSOR_REQUEST_REQUEST_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/runtime/program.h"
#include "processor/request/endpoint.h"
#include "processor/request/predict_codec.h"

/*
 * One request on a session, which the caller owns until it resets it.
 *
 * Threads: one thread at a time per session.
 */
typedef struct sp_request_target {
	sp_session *session;
	const sp_snapshot *snapshot;
	const sp_endpoint *endpoint;
	bool rehearsal; /* engine/runtime/program.h */

	/* 0: the endpoint's timeout, counted from the start of the run. */
	int64_t deadline_ns;
} sp_request_target;

/* Runs `request`: outputs[i].tensor is set for every output, valid until the session is reset. */
SP_MUST_CHECK sp_status sp_request_run(const sp_request_target *target, sp_predict_request *request,
				       sp_error *err);

/* Answers a PredictRequest with a PredictResponse: see sp_predict_response_encode(). */
SP_MUST_CHECK sp_status sp_request_answer(const sp_request_target *target, sp_bytes message,
					  void **out, size_t *out_size, sp_error *err);

#endif
