#ifndef SP_PROCESSOR_REQUEST_PREDICT_CODEC_H
#define SP_PROCESSOR_REQUEST_PREDICT_CODEC_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/workspace.h"
#include "processor/request/endpoint.h"

/*
 * tensorflow.eas.PredictRequest, PredictResponse and ServingModelInfo (api/predict.proto): bytes to
 * typed tensors and back.
 *
 * The value field of a tensor:
 *
 *   DT_FLOAT                        float_val
 *   DT_HALF, DT_BFLOAT16            float_val, one per element, converted
 *   DT_DOUBLE                       double_val
 *   DT_INT32 and narrower integers  int_val, truncated to the width
 *   DT_INT64                        int64_val
 *   DT_BOOL                         bool_val
 *   DT_STRING                       string_val
 *
 * It must have exactly as many values as the shape says; other value fields are validated but not
 * used.  Whatever protobuf's parsers refuse is refused in all parts of a message: varints, tags or
 * lengths that are too long or truncated, groups without an end, names that are not UTF-8.
 *
 * Threads: pure except for the workspace: one thread at a time.
 */

/* An output that a client wants, and the name it uses. */
typedef struct sp_predict_output {
	size_t index; /* in the signature */
	sp_bytes name;
	const sp_tensor *tensor; /* for the response */
	size_t values_size;      /* scratch of sp_predict_response_encode() */
} sp_predict_output;

typedef struct sp_predict_request {
	sp_tensor *inputs; /* [the signature's input_count]; not given: unset */
	sp_predict_output *outputs;
	size_t output_count;
} sp_predict_request;

/*
 * Reads a request for `endpoint` into the workspace.  String elements, and numbers where alignment
 * allows it, are views into the message, which must live as long.
 *
 * Repeated names count once: of an input the last one, as in any protobuf map; of an output the
 * first.  An empty output_filter means all outputs by their aliases.
 *
 * SP_INVALID for a wrong request, SP_UNSUPPORTED for a type or rank that is not served, both naming
 * the input; SP_NO_MEMORY beyond the workspace's limit.
 */
SP_MUST_CHECK sp_status sp_predict_request_decode(sp_predict_request *out,
						  const sp_endpoint *endpoint, sp_bytes message,
						  sp_workspace *workspace, sp_error *err);

/*
 * Encodes a PredictResponse into one block from sp_alloc(), followed by a NUL.  Outputs are written
 * in their order.
 *
 * SP_UNSUPPORTED when the message has no field for an output's type, or its size does not fit in an
 * int.
 */
SP_MUST_CHECK sp_status sp_predict_response_encode(void **out, size_t *out_size,
						   sp_predict_output *outputs, size_t count,
						   sp_error *err);

/* Encodes a ServingModelInfo, in a block as above. */
SP_MUST_CHECK sp_status sp_model_info_encode(void **out, size_t *out_size, const char *model_path,
					     sp_error *err);

#endif
