#ifndef SP_API_HOST_SIGNATURE_H
#define SP_API_HOST_SIGNATURE_H

#include <stddef.h>

#include "api/serving_processor.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * What the host knows of a model's signatures: a copy of the lists behind
 * serving_processor_input() and its like, so that a request need not ask.
 *
 * Threads: immutable once built.
 */
typedef struct sp_host_signature {
	const char *name;
	const char *method; /* "tensorflow/serving/predict"; may be "" */
	const serving_processor_tensor_info *const *inputs; /* [input_count] by alias */
	size_t input_count;
	const serving_processor_tensor_info *const *outputs; /* [output_count] by alias */
	size_t output_count;
} sp_host_signature;

typedef struct sp_host_signatures {
	const sp_host_signature *signatures; /* [count] by name */
	size_t count;
	const sp_host_signature *fallback; /* for a request that names none */
} sp_host_signatures;

/* NULL when there is none of that name. */
const sp_host_signature *sp_host_signature_find(const sp_host_signatures *set, sp_bytes name);

/*
 * Lists the signatures of an open model, which must outlive the set.
 *
 * fallback  the one for requests that name none; NULL is the model's configured one
 *
 * Errors: SP_NOT_FOUND when `fallback` is not there; SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_host_signatures_create(sp_host_signatures **out, void *model,
						  const char *fallback, sp_error *err);
void sp_host_signatures_destroy(sp_host_signatures *set);

#endif
