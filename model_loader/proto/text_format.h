#ifndef SP_MODEL_LOADER_PROTO_TEXT_FORMAT_H
#define SP_MODEL_LOADER_PROTO_TEXT_FORMAT_H

#include <protobuf-c/protobuf-c.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Protobuf's text format (saved_model.pbtxt, graph.pbtxt) to the bytes of the
 * same message, which model_loader/proto/message.h then reads like any other.
 *
 * Fields that `type` does not have are skipped, as they are in binary messages.
 * An object graph, which is a bytes field here and unpacked only when it is needed, is
 * encoded too.  Enumerators are those of DataType, the only ones in these messages.
 *
 * `out` is initialised here, and is the caller's, after a failure too.
 *
 * SP_CORRUPT with the line where the text is no such message, or where its
 * braces nest deeper than 100; SP_NO_MEMORY, also where the bytes would be
 * more than SP_MESSAGE_MAX_SIZE.
 *
 * Source: the text format's language specification (protobuf.dev).
 *
 * Threads: pure.
 */
SP_MUST_CHECK sp_status sp_text_format_encode(sp_buffer *out,
					      const ProtobufCMessageDescriptor *type, sp_bytes text,
					      sp_error *err);

#endif
