#ifndef SP_ENGINE_OPS_PROTO_MESSAGE_H
#define SP_ENGINE_OPS_PROTO_MESSAGE_H

#include "base/map.h"
#include "engine/kernels/descriptor_set.h"
#include "engine/graph/op.h"

/*
 * The message type of a DecodeProtoV2 node, by its attributes message_type and descriptor_source:
 *
 *   "bytes://..."   a serialized FileDescriptorSet
 *   "local://", ""  types that the program was linked with (engine/ops/parse/proto_linked.h)
 *
 * Anything else is a file name, which was replaced by "bytes://" while the model was read
 * (model_loader/saved_model/descriptor_files.h); SP_INVALID if it could not be read.  TensorFlow
 * links more types, which differ between programs.
 */
typedef struct sp_proto_message {
	sp_bytes name;
	sp_bytes set;
	const sp_proto_field *fields;
	sp_map by_name; /* -> index into fields */
} sp_proto_message;

SP_MUST_CHECK sp_status sp_proto_message__open(sp_prepare *prepare, sp_proto_message *out,
					       sp_error *err);

/* The field of that name or, if extensions are accepted, the extension of that full name. */
SP_MUST_CHECK sp_status sp_proto_message__field(const sp_proto_message *message, sp_bytes name,
						bool or_extension, sp_proto_field *out,
						sp_error *err);

/* SP_INVALID unless a tensor of that type can hold the field. */
SP_MUST_CHECK sp_status sp_proto_message__check(const sp_proto_field *field, sp_dtype dtype,
						sp_error *err);

/* The value of an absent field: an element of `dtype`, or a string. */
typedef struct sp_proto_default {
	char element[8];
	sp_bytes text;
} sp_proto_default;

SP_MUST_CHECK sp_status sp_proto_message__default(const sp_proto_message *message,
						  const sp_proto_field *field, sp_dtype dtype,
						  sp_arena *arena, sp_proto_default *out,
						  sp_error *err);

/* The wire types of groups. */
enum { SP_PROTO_WIRE_GROUP = 3, SP_PROTO_WIRE_GROUP_END = 4 };
uint32_t sp_proto_message__wire(sp_proto_type type);

#endif
