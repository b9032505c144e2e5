#ifndef SP_PROCESSOR_REQUEST_PREDICT_CODEC_H
#define SP_PROCESSOR_REQUEST_PREDICT_CODEC_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/workspace.h"
#include "processor/request/endpoint.h"

/*
 * tensorflow.eas.PredictRequest, PredictResponse and ServingModelInfo
 * (api/predict.proto): bytes to typed tensors and back.
 *
 * Which value field holds a tensor:
 *
 *   DT_FLOAT                        float_val
 *   DT_HALF, DT_BFLOAT16            float_val, one per element, converted
 *   DT_DOUBLE                       double_val
 *   DT_INT32 and narrower integers  int_val; what does not fit is cut to the width
 *   DT_INT64                        int64_val
 *   DT_BOOL                         bool_val
 *   DT_STRING                       string_val
 *
 * It must hold exactly as many values as the shape says; other value fields
 * are checked, as all of a message is, and not read.  What protobuf's parsers
 * refuse is refused wherever it stands: varints, tags or lengths that are too
 * long or cut off, groups without an end, names that are no UTF-8.
 *
 * Threads: pure, but for the workspace: one thread at a time.
 */

/* An output that a client wants, and what it calls it. */
typedef struct sp_predict_output {
	size_t index; /* in the signature */
	sp_bytes name;
	const sp_tensor *tensor; /* for the response */
	size_t values_size;      /* scratch of sp_predict_response_encode() */
} sp_predict_output;

typedef struct sp_predict_request {
	sp_tensor *inputs; /* [the signature's input_count]; unset: not given */
	sp_predict_output *outputs;
	size_t output_count;
} sp_predict_request;

/*
 * Reads a request for `endpoint` into the workspace.  String elements, and
 * numbers where their place allows it, are views into the message, which must
 * live as long as they.
 *
 * A repeated name counts once: of an input the last one is taken, as the map
 * it is; of an output the first.  An empty output_filter is all outputs by
 * their alias.
 *
 * SP_INVALID for whatever is wrong with it, SP_UNSUPPORTED for a type or rank
 * we do not serve, both naming the input; SP_NO_MEMORY past the workspace's
 * limit.
 */
SP_MUST_CHECK sp_status sp_predict_request_decode(sp_predict_request *out,
						  const sp_endpoint *endpoint, sp_bytes message,
						  sp_workspace *workspace, sp_error *err);

/*
 * A PredictResponse in one block from sp_alloc(), a NUL behind its last byte.
 * Outputs are written in their order.
 *
 * SP_UNSUPPORTED when an output's type has no place in the message, or when
 * the message would not fit the int that carries its size.
 */
SP_MUST_CHECK sp_status sp_predict_response_encode(void **out, size_t *out_size,
						   sp_predict_output *outputs, size_t count,
						   sp_error *err);

/* A ServingModelInfo, in a block as above. */
SP_MUST_CHECK sp_status sp_model_info_encode(void **out, size_t *out_size, const char *model_path,
					     sp_error *err);

#endif
