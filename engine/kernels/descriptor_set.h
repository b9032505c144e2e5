#ifndef SP_ENGINE_KERNELS_DESCRIPTOR_SET_H
#define SP_ENGINE_KERNELS_DESCRIPTOR_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Lookup of message types in a serialized FileDescriptorSet.
 *
 * Only the parts that a lookup needs are read and checked.  All strings are views of the set. Names
 * are full names: "package.Message.Nested".
 *
 * Threads: pure.
 * Source: descriptor.proto of protobuf.
 */
typedef enum sp_proto_type {
	SP_PROTO_DOUBLE = 1,
	SP_PROTO_FLOAT = 2,
	SP_PROTO_INT64 = 3,
	SP_PROTO_UINT64 = 4,
	SP_PROTO_INT32 = 5,
	SP_PROTO_FIXED64 = 6,
	SP_PROTO_FIXED32 = 7,
	SP_PROTO_BOOL = 8,
	SP_PROTO_STRING = 9,
	SP_PROTO_GROUP = 10,
	SP_PROTO_MESSAGE = 11,
	SP_PROTO_BYTES = 12,
	SP_PROTO_UINT32 = 13,
	SP_PROTO_ENUM = 14,
	SP_PROTO_SFIXED32 = 15,
	SP_PROTO_SFIXED64 = 16,
	SP_PROTO_SINT32 = 17,
	SP_PROTO_SINT64 = 18,
} sp_proto_type;

#define SP_PROTO_MAX_NUMBER ((1 << 29) - 1)

typedef struct sp_proto_field {
	sp_bytes name;
	uint32_t number; /* 1 ... SP_PROTO_MAX_NUMBER; of an extension of a message set up to
			  * INT32_MAX */
	sp_proto_type type;
	bool is_repeated;
	sp_bytes default_value; /* as written; empty without a default */
	sp_bytes type_name;     /* of a message or enum field: ".package.Name" */
	sp_bytes extendee;      /* of an extension: ".package.Message" */
} sp_proto_field;

/* The serialized DescriptorProto of a message.  SP_INVALID if it is not found or malformed. */
SP_MUST_CHECK sp_status sp_descriptor_message(sp_bytes set, sp_bytes name, sp_bytes *out,
					      sp_error *err);

/* The extension `name` of message `extended`; errors as above. */
SP_MUST_CHECK sp_status sp_descriptor_extension(sp_bytes set, sp_bytes extended, sp_bytes name,
						sp_proto_field *out, sp_error *err);

/* The fields of a DescriptorProto in the order of declaration, allocated in the arena. */
SP_MUST_CHECK sp_status sp_descriptor_fields(sp_bytes message, sp_arena *arena,
					     sp_proto_field **out, size_t *count, sp_error *err);

/*
 * The number of `value` in enum `name`.  With an empty `value` that of the first value, or 0 for an
 * enum without values.
 */
SP_MUST_CHECK sp_status sp_descriptor_enum(sp_bytes set, sp_bytes name, sp_bytes value,
					   int32_t *out, sp_error *err);

#endif
