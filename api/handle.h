#ifndef SP_API_HANDLE_H
#define SP_API_HANDLE_H

#include <stddef.h>

#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/log_limit.h"
#include "processor/config.h"
#include "processor/processor.h"

/* A signature's tensors in the public header's words. */
typedef struct sp_handle_signature {
	const serving_processor_tensor_info *inputs;
	const serving_processor_tensor_info *outputs;
} sp_handle_signature;

/*
 * What the `void *` of a model points at.
 *
 * Threads: immutable once opened; the processor is thread-safe.
 */
typedef struct sp_handle {
	sp_processor *processor;
	sp_arena *arena;                 /* holds the signatures */
	sp_handle_signature *signatures; /* in the order of the processor's endpoints */
	sp_config about;                 /* a glance: the name in log lines */
	sp_log_limit wrong, failed; /* of lines about requests, for the client's fault and ours */
} sp_handle;

SP_MUST_CHECK sp_status sp_handle_open(sp_handle **out, const char *model_config, sp_error *err);

/* NULL is fine. */
void sp_handle_close(sp_handle *handle);

/*
 * process() for any signature; NULL is the configured one.  Returns 200, or 500
 * with a text, which the log has, too.
 */
int sp_handle_process(sp_handle *handle, const char *signature, const void *input_data,
		      int input_size, void **output_data, int *output_size);

#endif
