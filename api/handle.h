#ifndef SP_API_HANDLE_H
#define SP_API_HANDLE_H

#include "base/log_limit.h"
#include "processor/config/config.h"
#include "processor/processor.h"

/*
 * What the `void *` of a model points at.
 *
 * Threads: thread-safe, but for open and close.
 */
typedef struct sp_handle {
	sp_processor *processor;
	sp_config about;            /* parsed leniently, only for the name in log lines */
	sp_log_limit wrong, failed; /* of log lines: client errors, server errors */
} sp_handle;

SP_MUST_CHECK sp_status sp_handle_open(sp_handle **out, const char *model_config, sp_error *err);

/* NULL is fine. */
void sp_handle_close(sp_handle *handle);

/*
 * process() for any signature; NULL is the configured one.  Returns 200, or another code (the key
 * `status_codes`) with an error text, which is logged as well.
 */
int sp_handle_process(sp_handle *handle, const char *signature, const void *input_data,
		      int input_size, void **output_data, int *output_size);

#endif
