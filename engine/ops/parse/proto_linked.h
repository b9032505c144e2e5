#ifndef SP_ENGINE_OPS_PROTO_LINKED_H
#define SP_ENGINE_OPS_PROTO_LINKED_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The message types that DecodeProtoV2 knows without descriptors (tensorflow.Example,
 * tensorflow.SequenceExample and their parts) as a FileDescriptorSet in the arena. SP_UNSUPPORTED
 * for any other type.
 *
 * Source: tensorflow/core/example/{example,feature}.proto.
 */
SP_MUST_CHECK sp_status sp_proto_linked(sp_bytes message_type, sp_arena *arena, sp_bytes *set,
					sp_error *err);

#endif
