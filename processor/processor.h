#ifndef SP_PROCESSOR_PROCESSOR_H
#define SP_PROCESSOR_PROCESSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "incremental/discover.h"
#include "processor/request/typed_request.h"
#include "processor/version/version.h"

/*
 * A served model: configuration in, answers out.
 *
 * Threads: thread-safe, but for open and close.
 */
typedef struct sp_processor sp_processor;

/*
 * Opens what the configuration (processor/config/config.h) names, warmed up and ready
 * to answer.  May wait; see init_timeout_minutes.
 */
SP_MUST_CHECK sp_status sp_processor_open(sp_processor **out, const char *config, sp_error *err);

/* No call on it is under way.  Joins the thread that looks for versions.  NULL is fine. */
void sp_processor_close(sp_processor *processor);

/*
 * Answers a serialized PredictRequest with a serialized PredictResponse, a
 * block for sp_free() with a NUL behind it.  The version that is live when the
 * request begins reads it, by its own signature, and answers it.  `signature`
 * NULL is the configured one; SP_NOT_FOUND when there is none of that name.
 *
 * After a few requests of the largest kind, the answer is all that is
 * allocated, and no lock is taken unless all sessions are busy.
 */
SP_MUST_CHECK sp_status sp_processor_predict(sp_processor *processor, const char *signature,
					     sp_bytes request, void **out, size_t *out_size,
					     sp_error *err);

/* The same on typed tensors: see processor/request/typed_request.h.  The answer is in `arena`. */
SP_MUST_CHECK sp_status sp_processor_run(sp_processor *processor, const char *signature,
					 const sp_typed_request *request, sp_arena *arena,
					 sp_typed_answer *out, sp_error *err);

/*
 * A handle on the version that is live: it stays in memory, with its graph and
 * its signatures (version->runtime), until the handle is released, however many
 * come after it meanwhile.  Many may hold one version; all are released before
 * the processor is closed.
 *
 * Takes no lock unless a dozen threads do the same at the same moment, and
 * allocates nothing.
 */
sp_version *sp_processor_acquire(sp_processor *processor);
void sp_processor_release(sp_version *version);

/* As sp_processor_predict() and sp_processor_run(), by a version that the caller holds. */
SP_MUST_CHECK sp_status sp_processor_predict_with(const sp_version *version, const char *signature,
						  sp_bytes request, void **out, size_t *out_size,
						  sp_error *err);
SP_MUST_CHECK sp_status sp_processor_run_with(const sp_version *version, const char *signature,
					      const sp_typed_request *request, sp_arena *arena,
					      sp_typed_answer *out, sp_error *err);

/* What the model of a version is called in log lines. */
const char *sp_processor_name_of(const sp_version *version);

/* The version that is live, its texts in `arena`; full_prefix is "" without a checkpoint. */
SP_MUST_CHECK sp_status sp_processor_live(const sp_processor *processor, sp_found_version *out,
					  sp_arena *arena, sp_error *err);

/*
 * The versions there are and were (processor/updater/catalog.h), and behind them of the live
 * one as "memory" the bytes that it takes and as "tables" its tables
 * (processor/version/table_report.h): one JSON text for sp_free(); NULL when out of memory.
 */
char *sp_processor_versions(sp_processor *processor);

/* Orders: see processor/updater/updater.h. */
SP_MUST_CHECK sp_status sp_processor_reload(sp_processor *processor, const char *by, sp_error *err);
SP_MUST_CHECK sp_status sp_processor_rollback(sp_processor *processor, const char *by,
					      sp_error *err);
SP_MUST_CHECK sp_status sp_processor_pin(sp_processor *processor, int64_t full_step,
					 int64_t delta_step, const char *by, sp_error *err);

#endif
