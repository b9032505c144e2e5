#ifndef SP_PROCESSOR_REQUEST_PREDICT_ARRAY_H
#define SP_PROCESSOR_REQUEST_PREDICT_ARRAY_H

#include "base/bytes.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"
#include "engine/tensor/workspace.h"

/*
 * The ArrayProto `message` as a tensor in the workspace.  `request` is the
 * whole request: floats and doubles that are packed and aligned in it are used where they are.
 * Errors
 * name the input by `alias`; see processor/request/predict_codec.h for which there are.
 */
SP_MUST_CHECK sp_status sp_predict__array_decode(sp_tensor *out, const char *alias,
						 sp_bytes message, sp_bytes request,
						 sp_workspace *workspace, sp_error *err);

#endif
