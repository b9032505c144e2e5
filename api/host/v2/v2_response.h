#ifndef SP_API_HOST_V2_V2_RESPONSE_H
#define SP_API_HOST_V2_V2_RESPONSE_H

#include "api/host/v2/v2_request.h"
#include "base/buffer.h"

/*
 * Appends the answer of the Open Inference Protocol's "infer": JSON, and behind it the values of
 * the outputs that are asked for as binary data.
 *
 * outputs    [count]
 * json_size  set to the length of the JSON if binary data follow it, for the header
 *            Inference-Header-Content-Length; else to 0
 *
 * Errors: SP_INVALID for values that JSON cannot represent: FP16, BF16, complex numbers, bytes that
 *         are not UTF-8; SP_UNSUPPORTED for a type without a datatype.  The caller checks
 * out->failed.
 */
SP_MUST_CHECK sp_status sp_v2_response_write(sp_buffer *out, size_t *json_size,
					     const serving_processor_tensor *outputs, size_t count,
					     const sp_v2_parsed *request, const char *model,
					     int64_t version, sp_error *err);

#endif
