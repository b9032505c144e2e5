#ifndef SP_API_HANDLE_H
#define SP_API_HANDLE_H

#include <pthread.h>
#include <stddef.h>

#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/log_limit.h"
#include "processor/config/config.h"
#include "processor/processor.h"

/* Signatures that callers have been told of: they stay until the model is closed. */
typedef struct sp_told_signatures {
	struct sp_told_signatures *next;
	uint64_t runtime; /* the last one that had them, by its number */
	const sp_public_signature *signatures;
	size_t count;
	const sp_public_signature *configured;
} sp_told_signatures;

/*
 * What the `void *` of a model points at.
 *
 * Threads: thread-safe, but for open and close.
 */
typedef struct sp_handle {
	sp_processor *processor;
	sp_config about;            /* a glance: the name in log lines */
	sp_log_limit wrong, failed; /* of lines about requests, for the client's fault and ours */
	pthread_mutex_t lock;       /* protects the rest */
	sp_arena *arena;            /* holds what callers have been told */
	sp_told_signatures *told;   /* a set of signatures is there once; the newest first */
} sp_handle;

SP_MUST_CHECK sp_status sp_handle_open(sp_handle **out, const char *model_config, sp_error *err);

/* NULL is fine. */
void sp_handle_close(sp_handle *handle);

/* The signatures of the version that is live; NULL when out of memory. */
const sp_told_signatures *sp_handle_tell(sp_handle *handle);

/*
 * process() for any signature; NULL is the configured one.  Returns 200, or 500
 * with a text, which the log has, too.
 */
int sp_handle_process(sp_handle *handle, const char *signature, const void *input_data,
		      int input_size, void **output_data, int *output_size);

/* The same by a version that the caller holds; NULL is an error. */
int sp_handle_process_with(const sp_version *version, const char *signature, const void *input_data,
			   int input_size, void **output_data, int *output_size);

#endif
