#ifndef SP_API_HOST_PREDICT_SIGNATURE_H
#define SP_API_HOST_PREDICT_SIGNATURE_H

#include <stddef.h>

#include "api/serving_processor.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The signatures of the version that answers a request; valid while its handle is held.
 * Threads: immutable.
 */
typedef serving_processor_signature sp_host_signature;

typedef struct sp_host_signatures {
	const sp_host_signature *signatures; /* [count] by name */
	size_t count;
	const sp_host_signature *fallback; /* for requests without a signature name; may be NULL */
} sp_host_signatures;

/* The signature of that name, or the default one if it is empty; NULL: none. */
const sp_host_signature *sp_host_signature_find(const sp_host_signatures *set, sp_bytes name);

/* As sp_host_signature_find(); SP_NOT_FOUND, with TensorFlow Serving's text, instead of NULL. */
SP_MUST_CHECK sp_status sp_host_signature_get(const sp_host_signature **out,
					      const sp_host_signatures *set, sp_bytes name,
					      sp_error *err);

#endif
