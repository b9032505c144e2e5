#ifndef SP_ENGINE_OPS_PROTO_REWRITE_H
#define SP_ENGINE_OPS_PROTO_REWRITE_H

#include "engine/op.h"
#include "engine/ops/proto_layout.h"

/*
 * Messages parsed and written again, as DecodeProtoV2 with `sanitize` has it: what a
 * parser of all of the message's type would keep, in the order of the fields'
 * numbers, and what it does not know behind that, in the order it came.
 *
 *   a field that is not repeated   its last value; messages are merged
 *   a repeated one                 all values, packed or not as the type says
 *   of a oneof                     the member that was set last
 *   of a message set               messages by their numbers, each in a group of its own; what is
 *                                  none goes
 *   of a map                       all entries, each with a key and a value, if only a zero
 *   proto3                         a field that is zero or empty and has no presence goes; texts
 *                                  must be UTF-8
 *   proto2                         an enumerator that the enum lacks is an unknown field; a message
 *                                  without a required field is malformed
 *
 * Source: protobuf's encoding; protobuf 3.21, which TensorFlow 2.15 has.
 */
/*
 * *out is among the request's bytes.  *good is false where the message is malformed, or
 * its messages lie deeper in each other than 100.
 */
SP_MUST_CHECK sp_status sp_proto_rewrite(const sp_call *call, const sp_proto_layout *layout,
					 sp_bytes message, sp_bytes *out, bool *good);

#endif
