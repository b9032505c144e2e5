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
typedef struct sp_signature {
	const char *name;
	const char *method; /* "tensorflow/serving/predict"; may be "" */
	const serving_processor_tensor_info *const *inputs; /* [input_count] by alias */
	size_t input_count;
	const serving_processor_tensor_info *const *outputs; /* [output_count] by alias */
	size_t output_count;
} sp_signature;

typedef struct sp_signature_set {
	const sp_signature *signatures; /* [count] by name */
	size_t count;
	const sp_signature *fallback; /* for a request that names none; NULL: it must */
} sp_signature_set;

/* NULL when there is none of that name. */
const sp_signature *sp_signature_find(const sp_signature_set *set, sp_bytes name);

/*
 * Lists the signatures of an open model, which must outlive the set.
 *
 * fallback  the one for requests that name none; NULL takes serving_default
 *           or, without one, the only signature with the predict method
 *
 * Errors: SP_NOT_FOUND when `fallback` is not there; SP_NO_MEMORY.
 */
SP_MUST_CHECK sp_status sp_signature_set_create(sp_signature_set **out, void *model,
						const char *fallback, sp_error *err);
void sp_signature_set_destroy(sp_signature_set *set);

#endif
