#ifndef SP_API_HOST_MODEL_SERVED_MODEL_H
#define SP_API_HOST_MODEL_SERVED_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/host/flags.h"
#include "api/serving_processor.h"
#include "base/status.h"

/*
 * The served model.  It is found on disk first and then opened by the library.
 *
 * Threads: once open it does not change, but for `users`.
 */
typedef struct sp_served_model {
	char *config;               /* JSON for serving_processor_create() */
	const char *signature_name; /* for requests that name none; NULL: the configured one */
	int64_t version;            /* number of its folder; -1: given by the library */
	bool numbered;              /* numbered folders; the library follows newer ones */
	void *processor;
	atomic_size_t users; /* who holds a handle of the processor */
} sp_served_model;

/*
 * Finds the model that the flags name and makes its configuration; does not load anything.  Sets
 * level and format of log lines from flags and configuration.
 *
 * session_num  for a model given by --model_base_path
 *
 * Errors: SP_NOT_FOUND, SP_IO, SP_INVALID; each names the path.
 */
SP_MUST_CHECK sp_status sp_served_model_find(sp_served_model *out, const sp_flags *flags,
					     int64_t session_num, sp_error *err);

/* Opens the model that was found; may take minutes. */
SP_MUST_CHECK sp_status sp_served_model_open(sp_served_model *model, const sp_flags *flags,
					     sp_error *err);

/* All zero is fine. */
void sp_served_model_close(sp_served_model *model);

/* Whether the version may change while the model is open, because the library follows a folder. */
bool sp_served_model_follows(const sp_served_model *model);

/*
 * The version for URLs and answers: the number of the model's folder (1 if its name is not a
 * number), or the step of the full checkpoint of `version`.
 */
int64_t sp_served_model_version_of(const sp_served_model *model,
				   const serving_processor_handle *version);

#endif
