#ifndef SP_MODEL_LOADER_PROTO_TEXT_FORMAT_H
#define SP_MODEL_LOADER_PROTO_TEXT_FORMAT_H

#include <protobuf-c/protobuf-c.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Converts protobuf's text format (saved_model.pbtxt, graph.pbtxt) to the bytes of the same
 * message, for model_loader/proto/unpack.h.
 *
 * Fields that `type` does not have are skipped, as in binary messages.  An object graph, which is a
 * bytes field in these schemas and unpacked only when needed, is encoded, too.  Enumerators are
 * those of DataType, the only ones in these messages.
 *
 * `out` is initialised here; the caller must free it, also after a failure.
 *
 * SP_CORRUPT, with the line, for malformed text and for braces nested deeper than 100;
 * SP_NO_MEMORY, also for more than SP_MESSAGE_MAX_SIZE bytes.
 *
 * Source: the text format's language specification (protobuf.dev).
 *
 * Threads: pure.
 */
SP_MUST_CHECK sp_status sp_text_format_encode(sp_buffer *out,
					      const ProtobufCMessageDescriptor *type, sp_bytes text,
					      sp_error *err);

#endif
