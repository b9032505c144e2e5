#ifndef SP_PROCESSOR_VERSION_RUNTIME_H
#define SP_PROCESSOR_VERSION_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "incremental/manifest.h"
#include "model_loader/version/model.h"
#include "processor/config/config.h"
#include "processor/request/endpoint.h"
#include "session_group/session_set.h"

/*
 * Signatures for the public header: the structs of api/serving_processor.h have the same members,
 * so these are passed without conversion.
 *
 * Threads: immutable once made.
 */
typedef struct sp_public_tensor {
	const char *alias;
	const char *tensor_name;
	int dtype;
	int rank; /* -1: unknown */
	const int64_t *dims;
} sp_public_tensor;

typedef struct sp_public_signature {
	const char *name;
	const char *method;
	const sp_public_tensor *const *inputs; /* [input_count] by alias */
	size_t input_count;
	const sp_public_tensor *const *outputs; /* [output_count] by alias */
	size_t output_count;
} sp_public_signature;

/*
 * A SavedModel ready to run with any weights: its program, the sessions over it, its signatures as
 * clients see them.  All versions of one graph share it, so new weights need no memory for
 * sessions.  It lives as long as any version uses it.
 *
 * Threads: immutable once opened; a session belongs to the holder of its number.
 */
typedef struct sp_runtime {
	sp_model *model;
	sp_session_set *sessions; /* one per session number, and one for warm-up */
	sp_arena *arena;          /* holds the members below */
	sp_endpoint *endpoints;   /* in the order of the model's signatures */
	size_t endpoint_count;
	const sp_endpoint *configured;
	const sp_public_signature *public_signatures; /* [endpoint_count] */

	/* Used only by the thread that opens and closes versions. */
	size_t users;      /* versions that use it */
	sp_manifest files; /* the files it was read from, before reading */
} sp_runtime;

/* Takes ownership of `model`, whose first weights are loaded; not after a failure. */
SP_MUST_CHECK sp_status sp_runtime_open(sp_runtime **out, const sp_config *config, sp_model *model,
					sp_error *err);

/* NULL is fine. */
void sp_runtime_close(sp_runtime *runtime);

/* The signature of that name, NULL: the configured one.  NULL when there is none. */
const sp_endpoint *sp_runtime_endpoint(const sp_runtime *runtime, const char *signature);

#endif
