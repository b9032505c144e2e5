#ifndef SP_PROCESSOR_PROCESSOR_H
#define SP_PROCESSOR_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/thread_pool.h"
#include "base/status.h"
#include "processor/config/config.h"
#include "processor/request/request.h"
#include "processor/updater/updater.h"
#include "processor/version/version.h"

/*
 * A served model: created from a configuration, it answers requests.
 *
 * Threads: thread-safe, except open and close.
 */
typedef struct sp_processor sp_processor;

/*
 * Opens the model that the configuration (processor/config/config.h) names, warmed up and ready to
 * answer.  May wait up to init_timeout_minutes.
 */
SP_MUST_CHECK sp_status sp_processor_open(sp_processor **out, const char *config, sp_error *err);

/* Only when no call is running.  Cancels jobs, and joins all threads.  NULL is fine. */
void sp_processor_close(sp_processor *processor);

/*
 * Answers a serialized PredictRequest with a serialized PredictResponse, a block for sp_free()
 * followed by a NUL.  With a version that the caller holds, this one reads and answers it by its
 * own signature; NULL: the one that is live when the request begins.  `signature` NULL is the
 * configured one; SP_NOT_FOUND when there is no such signature.  The deadline bounds the wait for a
 * session as well; that of the configuration holds, too.  `limits` may be NULL.
 *
 * After a few requests of the largest size only the answer is allocated, and no lock is taken
 * unless all sessions are busy.
 */
SP_MUST_CHECK sp_status sp_processor_predict(sp_processor *processor, const sp_version *held,
					     const char *signature, sp_bytes request,
					     const sp_request_limits *limits, void **out,
					     size_t *out_size, sp_error *err);

/*
 * A handle on the live version, which stays in memory with its graph and its signatures
 * (version->runtime) until the handle is released, however many versions follow.  A version may
 * have many handles; all must be released before the processor is closed.
 *
 * Takes no lock unless a dozen threads acquire at once, and allocates nothing.
 */
sp_version *sp_processor_acquire(sp_processor *processor);
void sp_processor_release(sp_version *version);

/* One more handle on a version that the caller holds. */
void sp_processor_hold(sp_version *version);

const sp_config *sp_processor_config(const sp_processor *processor);

/* The processor of a version that the caller holds. */
sp_processor *sp_processor_of(const sp_version *version);

/*
 * As sp_processor_predict(), for typed tensors (processor/request/request.h): the answer is in
 * `arena`.
 */
SP_MUST_CHECK sp_status sp_processor_run(sp_processor *processor, const sp_version *held,
					 const char *signature, const sp_typed_request *request,
					 const sp_request_limits *limits, sp_arena *arena,
					 sp_typed_answer *out, sp_error *err);

/*
 * Sets limits->deadline_ns to the model's request_timeout_ms from now unless it is earlier;
 * SP_DEADLINE if it has passed.
 */
SP_MUST_CHECK sp_status sp_processor_limit(const sp_processor *processor, sp_request_limits *limits,
					   sp_error *err);

/*
 * Runs a job on a thread of the library, of which the first job starts as many as there are
 * sessions.  SP_BUSY at once when max_waiting jobs wait, or the processor is being closed; closing
 * cancels those that wait (base/thread_pool.h).
 */
SP_MUST_CHECK sp_status sp_processor_submit(sp_processor *processor, sp_thread_pool_job *job,
					    sp_error *err);

/*
 * The versions (processor/updater/catalog.h), and of the live one as "memory" its bytes and as
 * "tables" its tables (api/serving_processor.h): a JSON text for sp_free(); NULL when out of
 * memory.
 */
char *sp_processor_versions(sp_processor *processor);

/* For orders about versions. */
sp_updater *sp_processor_updater(const sp_processor *processor);

#endif
