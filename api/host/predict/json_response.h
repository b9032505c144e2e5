#ifndef SP_API_HOST_PREDICT_JSON_RESPONSE_H
#define SP_API_HOST_PREDICT_JSON_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/serving_processor.h"
#include "base/buffer.h"
#include "base/status.h"

/*
 * Writes tensors as the body of TensorFlow Serving's answer to ":predict":
 *
 *	row       {"predictions": [one value per example, ...]}
 *	columnar  {"outputs": ...}
 *
 * A single output is written without its name, several as objects keyed by
 * name.  Strings of an output whose name ends in "_bytes", and strings that are
 * not UTF-8, are {"b64": "..."}.
 *
 * Errors: SP_INVALID when there is no output, or, for rows, when the outputs do
 *         not share their first dimension, or for a type that JSON cannot represent.
 *         The caller checks out->failed.
 */
SP_MUST_CHECK sp_status sp_json_response_write(sp_buffer *out,
					       const serving_processor_tensor *tensors,
					       size_t count, bool row, sp_error *err);

/* {"results": [score, ...]}, the answer to ":regress". */
void sp_json_response_write_scores(sp_buffer *out, const float *scores, size_t count);

/*
 * {"results": [[[label, score], ...], ...]}, the answer to ":classify".
 *
 * labels, scores  [example_count][class_count]; NULL: empty labels, scores of 0
 */
void sp_json_response_write_classes(sp_buffer *out, const serving_processor_bytes *labels,
				    const float *scores, size_t example_count, size_t class_count);

#endif
