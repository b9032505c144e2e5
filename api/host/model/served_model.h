#ifndef SP_API_HOST_MODEL_SERVED_MODEL_H
#define SP_API_HOST_MODEL_SERVED_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/host/model/server_configs.h"
#include "api/serving_processor.h"
#include "base/status.h"

/*
 * A processor of the library: one version of a model, or the newest of a folder that the library
 * follows.
 *
 * Threads: once open it does not change, but for `users`.
 */

/* What there is to be served at a path. */
typedef struct sp_model_folder {
	bool follows;    /* a folder of numbered ones; else a SavedModel itself */
	int64_t version; /* the newest number in it; its own number, 1 if it is not named by one */
} sp_model_folder;

/* The number that is the name of a folder in `base`; -1 if it is no number, or no folder. */
int64_t sp_version_of_folder(const char *base, const char *name);

/* Errors: SP_NOT_FOUND if there is no model; SP_IO, SP_INVALID; each names the path. */
SP_MUST_CHECK sp_status sp_model_folder_find(sp_model_folder *out, const char *path, sp_error *err);

/* What a processor is made from.  NULL: not given. */
typedef struct sp_served_source {
	const char *model_name;
	const char *path;             /* NULL: processor_config says where */
	const char *processor_config; /* JSON */
	const char *signature_name;
	const char *saved_model_tags;
	const char *log_format, *log_level; /* instead of what the configuration says */
	int64_t session_num, timeout_ms;    /* for a path */
	const sp_batching_config *batching;
} sp_served_source;

typedef struct sp_served_model {
	char *config;         /* JSON for serving_processor_create() */
	char *signature_name; /* for requests that name none; NULL: the configured one */
	int64_t version;      /* of a SavedModel; -1: given by the library, and may change */
	uint64_t number;      /* no other has it */
	void *processor;
	sp_batching_config batching; /* not enabled unless the source has some */
	atomic_size_t users;         /* who holds a handle of the processor */
	atomic_uint_least64_t runs;  /* requests that it computed, for whoever counts them */
} sp_served_model;

/* Turns an error of the library into *err, and frees it. */
static inline sp_status sp_library_error(serving_processor_code code,
					 serving_processor_error *error, sp_error *err)
{
	sp_error_set(err, (sp_status)code, "%s", serving_processor_error_text(error));
	serving_processor_error_free(error);
	return (sp_status)code;
}

/* Sets level and format of log lines. */
void sp_served_model_configure_log(const sp_served_source *source);

/*
 * Makes the configuration; does not read any file.
 *
 * version  -1: of a folder that the library follows, or by a configuration
 *
 * Errors: SP_INVALID, SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_served_model_create(sp_served_model **out,
					       const sp_served_source *source, int64_t version,
					       sp_error *err);

/* Opens it; may take minutes. */
SP_MUST_CHECK sp_status sp_served_model_open(sp_served_model *model, sp_error *err);

/* NULL is fine. */
void sp_served_model_destroy(sp_served_model *model);

/* Whether the version may change while the model is open. */
bool sp_served_model_follows(const sp_served_model *model);

/* The version for URLs and answers: its own number, or the step of the full checkpoint of
 * `version`. */
int64_t sp_served_model_version_of(const sp_served_model *model,
				   const serving_processor_handle *version);

#endif
