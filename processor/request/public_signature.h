#ifndef SP_PROCESSOR_REQUEST_PUBLIC_SIGNATURE_H
#define SP_PROCESSOR_REQUEST_PUBLIC_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "processor/request/endpoint.h"

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

/* Of the signatures of `endpoints`, whose texts and dims they share.  NULL when out of memory. */
const sp_public_signature *sp_public_signatures_of(const sp_endpoint *endpoints, size_t count,
						   sp_arena *arena);

#endif
