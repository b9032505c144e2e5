#ifndef SP_API_HOST_GRPC_GRPC_INFER_H
#define SP_API_HOST_GRPC_GRPC_INFER_H

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Makes *out a message of gRPC: the ModelStreamInferResponse to a request with that id which has
 * failed.  out->failed if memory is out.
 *
 * Threads: pure.
 */
void sp_grpc__stream_error(sp_buffer *out, sp_bytes id, const char *text);

#endif
