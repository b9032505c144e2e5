#ifndef SP_ENGINE_OPS_PROTO_MESSAGE_H
#define SP_ENGINE_OPS_PROTO_MESSAGE_H

#include "base/map.h"
#include "engine/kernels/descriptor_set.h"
#include "engine/graph/op.h"

/*
 * The message type that DecodeProtoV2 is about: attributes
 * message_type and descriptor_source.
 *
 *   "bytes://..."   a serialized FileDescriptorSet
 *   "local://", ""  what the program was linked with (engine/ops/parse/proto_linked.h)
 *
 * Anything else is the name of a file that was not there when the model was read
 * (model_loader/saved_model/descriptor_files.h), and SP_INVALID.  Of the linked types TensorFlow
 * has more, which differ from one program to the next.
 */
typedef struct sp_proto_message {
	sp_bytes name;
	sp_bytes set;
	const sp_proto_field *fields;
	sp_map by_name; /* -> index into fields */
} sp_proto_message;

SP_MUST_CHECK sp_status sp_proto_message__open(sp_prepare *prepare, sp_proto_message *out,
					       sp_error *err);

/* The field of that name, or the extension of that full name where those are taken. */
SP_MUST_CHECK sp_status sp_proto_message__field(const sp_proto_message *message, sp_bytes name,
						bool or_extension, sp_proto_field *out,
						sp_error *err);

/* SP_INVALID unless a tensor of that type holds such a field. */
SP_MUST_CHECK sp_status sp_proto_message__check(const sp_proto_field *field, sp_dtype dtype,
						sp_error *err);

/* The value of an absent field: an element of `dtype`, or a text. */
typedef struct sp_proto_default {
	char element[8];
	sp_bytes text;
} sp_proto_default;

SP_MUST_CHECK sp_status sp_proto_message__default(const sp_proto_message *message,
						  const sp_proto_field *field, sp_dtype dtype,
						  sp_arena *arena, sp_proto_default *out,
						  sp_error *err);

/* How a field is encoded when it is not packed; groups are 3. */
enum { SP_PROTO_WIRE_GROUP = 3, SP_PROTO_WIRE_GROUP_END = 4 };
uint32_t sp_proto_message__wire(sp_proto_type type);

#endif
