#ifndef SP_API_API_INTERNAL_H
#define SP_API_API_INTERNAL_H

#include "api/serving_processor.h"
#include "base/status.h"
#include "processor/version/version.h"

/* Copies the error to *out unless that is NULL; returns its code. */
serving_processor_code sp_api__return_error(const sp_error *error, serving_processor_error **out);

/* A handle is the version itself, so that acquiring one allocates nothing. */
static inline const sp_version *sp_api__version_of(const serving_processor_handle *handle)
{
	return (const sp_version *)handle;
}

#endif
