#ifndef SP_API_HOST_JSON_JSON_INDENT_H
#define SP_API_HOST_JSON_JSON_INDENT_H

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Appends a JSON value that has no white space between its tokens, laid out as protobuf does: each
 * member and element on a line of its own, a blank for each level, and a newline at the end.
 * Threads: one thread at a time per buffer.
 */
void sp_json_indent(sp_buffer *out, sp_bytes value);

#endif
