#ifndef SP_API_HOST_MODEL_SERVED_MODEL_H
#define SP_API_HOST_MODEL_SERVED_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/flags.h"
#include "api/serving_processor.h"
#include "base/status.h"

/*
 * The model that is served: where it is, then open in the processor.
 * Threads: immutable once open.
 */
typedef struct sp_served_model {
	char *config;    /* for the processor */
	int64_t version; /* of the folder; -1 where the processor says it */
	bool numbered;   /* the processor takes newer ones by itself */
	void *processor;
} sp_served_model;

/*
 * Finds the model that the flags mean and writes its configuration; quick.  Log lines have
 * the level and the form that flags and configuration say from now on.
 *
 * session_num  for a model that is given by its folder
 *
 * Errors: SP_NOT_FOUND, SP_IO, SP_INVALID; each names the path.
 */
SP_MUST_CHECK sp_status sp_served_model_find(sp_served_model *out, const sp_flags *flags,
					     int64_t session_num, sp_error *err);

/* Opens what was found; may take minutes. */
SP_MUST_CHECK sp_status sp_served_model_open(sp_served_model *model, const sp_flags *flags,
					     sp_error *err);

/* Closes what is open.  All zero is fine. */
void sp_served_model_close(sp_served_model *model);

/*
 * The version for URLs and answers, once the model is open: the number of the
 * model's folder (1 when its name is none), or the step of the full checkpoint
 * that is served now.
 */
int64_t sp_served_model_version(const sp_served_model *model);

/* The same of a version that is held. */
int64_t sp_served_model_version_of(const sp_served_model *model,
				   const serving_processor_handle *version);

#endif
