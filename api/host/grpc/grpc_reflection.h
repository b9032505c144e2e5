#ifndef SP_API_HOST_GRPC_GRPC_REFLECTION_H
#define SP_API_HOST_GRPC_GRPC_REFLECTION_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Server reflection (proto/reflection_v1.proto; v1alpha is the same): which services there are, and
 * the files that describe their messages.
 *
 * Threads: pure.
 */

/* Appends the ServerReflectionResponse to a ServerReflectionRequest; SP_INVALID: malformed. */
SP_MUST_CHECK sp_status sp_grpc_reflect(sp_buffer *out, sp_bytes request, sp_error *err);

/* A FileDescriptorSet of all files in proto/, made when the host is built. */
extern const unsigned char sp_grpc_descriptors[];
extern const size_t sp_grpc_descriptors_size;

#endif
