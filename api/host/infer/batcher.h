#ifndef SP_API_HOST_INFER_BATCHER_H
#define SP_API_HOST_INFER_BATCHER_H

#include <stddef.h>

#include "api/host/infer/infer_call.h"
#include "api/host/model/models.h"
#include "base/budget.h"
#include "base/status.h"

/*
 * Dynamic batching: joins requests that wait at the same time to one run, by the rules of the
 * model (servable->served->batching), and splits its outputs.
 *
 * There are so many runners, for all models together.  A request that finds an idle one runs at
 * once, by its own thread.  Others wait; when a runner becomes idle, the thread of the oldest
 * waiting request runs it and all that may be joined with it.  With batch_timeout_micros a batch
 * that is not full also waits for that time.
 *
 * Only requests to one version are joined that have the same signature, outputs, types and shapes
 * but for the first dimension (batch_join.h).  The first time that requests of a signature could be
 * joined, they are run alone, and then joined as well: if any answer differs, or an output has not
 * the rows of the inputs, this signature of the version is never joined.  If a joined run fails,
 * each of its requests is run alone.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_batcher sp_batcher;

/* What a thread calls before it waits, and after it has; each may be NULL. */
typedef struct sp_batcher_hooks {
	void (*pause)(void *context), (*resume)(void *context);
	void *context;
} sp_batcher_hooks;

/* The memory of joined inputs counts against the budget.  hooks  NULL: none. */
SP_MUST_CHECK sp_status sp_batcher_create(sp_batcher **out, size_t runners, sp_budget *budget,
					  const sp_batcher_hooks *hooks, sp_error *err);

/* No request may be in it.  NULL is fine. */
void sp_batcher_destroy(sp_batcher *batcher);

/*
 * Runs a request; returns when it is done.  *result must be all zero, and stays so on failure.
 *
 * Errors: those of sp_infer_call(); SP_INVALID for more rows than max_batch_size, unless large
 *         requests are split; SP_BUSY if max_enqueued_batches of the signature wait; SP_DEADLINE
 *         and SP_CANCELLED, also while it waits.
 */
SP_MUST_CHECK sp_status sp_batcher_run(sp_batcher *batcher, const sp_servable *servable,
				       const sp_infer_request *request,
				       const sp_infer_limits *limits, sp_infer_result *result,
				       sp_error *err);

/* How many requests wait.  For tests. */
size_t sp_batcher_waiting(sp_batcher *batcher);

#endif
