#ifndef SP_MODEL_LOADER_PROTO_UNPACK_H
#define SP_MODEL_LOADER_PROTO_UNPACK_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Unpacks protobuf messages from untrusted bytes.
 *
 * protobuf-c has no limits of its own: two bytes of input can cost hundreds of bytes of structures,
 * and a repeated occurrence of a singular message is merged each time.  So its memory comes from an
 * arena, at most SP_MESSAGE_EXPANSION times the input plus SP_MESSAGE_SLACK.  The nesting is
 * bounded by the schemas in model_loader/proto, which are not recursive.
 *
 * Threads: one thread at a time per arena.
 */
#define SP_MESSAGE_MAX_SIZE  ((size_t)INT32_MAX)
#define SP_MESSAGE_EXPANSION 32
#define SP_MESSAGE_SLACK     ((size_t)1 << 20)

/*
 * The message and everything in it live in `scratch`; nothing is freed.  SP_CORRUPT when the bytes
 * are no such message or need too much memory.
 */
SP_MUST_CHECK sp_status sp_message_unpack(ProtobufCMessage **out,
					  const ProtobufCMessageDescriptor *type, sp_bytes bytes,
					  sp_arena *scratch, sp_error *err);

/*
 * A NUL-terminated copy of a text field.  SP_CORRUPT if it contains a NUL; `what` names the field.
 */
SP_MUST_CHECK sp_status sp_message_text(const char **out, const ProtobufCBinaryData *field,
					const char *what, sp_arena *arena, sp_error *err);

/* The bytes of a field, which stay in the message. */
static inline sp_bytes sp_message_bytes(const ProtobufCBinaryData *field)
{
	return (sp_bytes){(const char *)field->data, field->len};
}

#endif
