#ifndef SP_API_HOST_WORKER_H
#define SP_API_HOST_WORKER_H

#include <stdint.h>

#include "api/host/http/http_request.h"
#include "api/host/messages/message.h"
#include "api/host/predict/json_examples.h"
#include "api/host/predict/json_request.h"
#include "api/host/v2/v2_request.h"
#include "base/arena.h"
#include "base/budget.h"
#include "base/status.h"

/*
 * What a thread that computes keeps from request to request, so that requests allocate nothing
 * after a few similar ones.
 *
 * Threads: each worker thread has its own.
 */
typedef struct sp_worker {
	sp_json_request *json;
	sp_json_examples *examples;
	sp_v2_request *v2;
	sp_arena *arena;                        /* for any codec; reset after every job */
	uint16_t input_order[SP_MESSAGE_ORDER]; /* sp_message_memory.order */
} sp_worker;

struct sp_serving;

/*
 * Work on a queued request: runs on a worker thread after sp_http_request_begin() and answers the
 * request.
 */
typedef void sp_job(struct sp_serving *serving, sp_worker *worker, sp_http_request *request);

/* Its memory counts against the budget. */
SP_MUST_CHECK sp_status sp_worker_init(sp_worker *worker, sp_budget *budget, sp_error *err);

/* Frees the memory of a large request. */
void sp_worker_trim(sp_worker *worker);

/* All zero is fine. */
void sp_worker_fini(sp_worker *worker);

#endif
