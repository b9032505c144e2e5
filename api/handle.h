#ifndef SP_API_HANDLE_H
#define SP_API_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/log_limit.h"
#include "processor/config/config.h"
#include "processor/processor.h"

/* Signatures whose addresses callers may hold, so they live as long as the model. */
typedef struct sp_kept_signatures {
	struct sp_kept_signatures *next;
	uint64_t runtime; /* number of the latest runtime with these signatures */
	const sp_public_signature *signatures;
	size_t count;
	const sp_public_signature *configured;
} sp_kept_signatures;

/*
 * What the `void *` of a model points at.
 *
 * Threads: thread-safe, but for open and close.
 */
typedef struct sp_handle {
	sp_processor *processor;
	sp_config about;            /* parsed leniently, only for the name in log lines */
	sp_log_limit wrong, failed; /* of log lines: client errors, server errors */
	pthread_mutex_t lock;       /* protects the members below */
	sp_arena *arena;            /* holds `kept` */
	sp_kept_signatures *kept;   /* each distinct set once, newest first */
} sp_handle;

SP_MUST_CHECK sp_status sp_handle_open(sp_handle **out, const char *model_config, sp_error *err);

/* NULL is fine. */
void sp_handle_close(sp_handle *handle);

/* The signatures of the live version; NULL when out of memory. */
const sp_kept_signatures *sp_handle_signatures(sp_handle *handle);

/* The version that answers a request: the live one of a model, or one that the caller holds. */
typedef struct sp_version_ref {
	sp_handle *model;
	const sp_version *held; /* NULL: the live version of `model` */
} sp_version_ref;

/* False if both are NULL. */
static inline bool sp_version_ref_is_set(const sp_version_ref *ref)
{
	return ref->model != NULL || ref->held != NULL;
}

/* The model's name for log lines; may be NULL. */
const char *sp_version_ref_name(const sp_version_ref *ref);

/*
 * process() for any signature; NULL is the configured one.  Returns 200, or 500 with an error
 * text, which is logged as well.
 */
int sp_version_ref_process(const sp_version_ref *ref, const char *signature, const void *input_data,
			   int input_size, void **output_data, int *output_size);

#endif
