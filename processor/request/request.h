#ifndef SP_PROCESSOR_REQUEST_REQUEST_H
#define SP_PROCESSOR_REQUEST_REQUEST_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "engine/runtime/program.h"
#include "engine/tensor/tensor.h"
#include "processor/request/endpoint.h"
#include "processor/request/predict_codec.h"
#include "processor/request/row_split.h"

/*
 * One request on a session, which the caller owns until it resets it.
 *
 * Threads: one thread at a time per session.
 */
typedef struct sp_request_limits {
	int64_t deadline_ns;          /* on the clock of base/clock.h; 0: none */
	const atomic_bool *cancelled; /* ends the request once true: SP_CANCELLED; NULL: never */
	sp_run_trace *trace;          /* NULL: none */
} sp_request_limits;

typedef struct sp_request_target {
	sp_session *session;
	const sp_snapshot *snapshot;
	const sp_endpoint *endpoint;
	sp_split_target split;
	bool rehearsal; /* engine/runtime/program.h */

	/* Without a deadline: the endpoint's timeout, counted from the start of the run. */
	sp_request_limits limits;

	sp_run_trace *trace; /* NULL: none */

	/* Which of the rows that came after the checkpoint it reads; NULL: none. */
	const struct sp_fresh_view *fresh;
} sp_request_target;

/* Runs `request`: outputs[i].tensor is set for every output, valid until the session is reset. */
SP_MUST_CHECK sp_status sp_request_run(const sp_request_target *target, sp_predict_request *request,
				       sp_error *err);

/* Answers a PredictRequest with a PredictResponse: see sp_predict_response_encode(). */
SP_MUST_CHECK sp_status sp_request_answer(const sp_request_target *target, sp_bytes message,
					  void **out, size_t *out_size, sp_error *err);

/* ------------------------------------------------------------- typed tensors */

/*
 * A request whose tensors are in the caller's memory, without protobuf.
 *
 * Inputs are views that are read only during the call.  They need no alignment, and are validated:
 * a count that is not the product of the dims, or text without an address, is refused like any
 * other wrong request.
 *
 * Threads: one thread at a time per session.
 */
typedef struct sp_named_tensor {
	const char *name;
	sp_tensor tensor;
} sp_named_tensor;

typedef struct sp_typed_request {
	const sp_named_tensor *inputs;
	size_t input_count;
	const char *const *outputs; /* names of the outputs to compute */
	size_t output_count;        /* 0: all of the signature */
} sp_typed_request;

/* A tensor for each name, in their order; or all outputs by their aliases. */
typedef struct sp_typed_answer {
	sp_named_tensor *outputs;
	size_t count;
} sp_typed_answer;

/* The answer is a copy in `arena`. */
SP_MUST_CHECK sp_status sp_request_run_typed(const sp_request_target *target,
					     const sp_typed_request *typed, sp_arena *arena,
					     sp_typed_answer *out, sp_error *err);

#endif
