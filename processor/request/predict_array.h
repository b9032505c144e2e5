#ifndef SP_PROCESSOR_REQUEST_PREDICT_ARRAY_H
#define SP_PROCESSOR_REQUEST_PREDICT_ARRAY_H

#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/workspace.h"

/*
 * Decodes the ArrayProto `message` to a tensor in the workspace.  `request` is the whole request:
 * floats and doubles that are packed and aligned in it are used in place.  Errors name the input by
 * `alias`; they are those of processor/request/predict_codec.h.
 */
SP_MUST_CHECK sp_status sp_predict__array_decode(sp_tensor *out, const char *alias,
						 sp_bytes message, sp_bytes request,
						 sp_workspace *workspace, sp_error *err);

#endif
