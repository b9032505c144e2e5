#ifndef SP_API_HOST_PREDICT_SIGNATURE_H
#define SP_API_HOST_PREDICT_SIGNATURE_H

#include <stddef.h>

#include "api/serving_processor.h"
#include "base/bytes.h"

/*
 * The signatures that a request may ask for: those of the version that will
 * answer it, as long as its handle is held.
 *
 * Threads: immutable.
 */
typedef serving_processor_signature sp_host_signature;

typedef struct sp_host_signatures {
	const sp_host_signature *signatures; /* [count] by name */
	size_t count;
	const sp_host_signature *fallback; /* of a request without a signature name; or NULL */
} sp_host_signatures;

/* NULL when there is none of that name. */
const sp_host_signature *sp_host_signature_find(const sp_host_signatures *set, sp_bytes name);

/* Those of a version.  `fallback` is the one for requests that name none; NULL: the configured one.
 */
sp_host_signatures sp_host_signatures_of(const serving_processor_handle *version,
					 const char *fallback);

#endif
