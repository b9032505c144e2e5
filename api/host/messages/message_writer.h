#ifndef SP_API_HOST_MESSAGES_MESSAGE_WRITER_H
#define SP_API_HOST_MESSAGES_MESSAGE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/bytes.h"

/*
 * Writes fields of protocol buffers to the end of a buffer, for messages that are not on the path
 * of predictions.  Numbers of fields are below 16 for nested messages and texts.
 *
 * Threads: pure.
 */

/* Zero and an empty text are not written, as proto3 has it. */
void sp_message_put_number(sp_buffer *out, uint32_t number, uint64_t value);
void sp_message_put_text(sp_buffer *out, uint32_t number, sp_bytes text);

/* Writes the text even if it is empty. */
void sp_message_put_bytes(sp_buffer *out, uint32_t number, sp_bytes bytes);

/* Writes a packed field; nothing if there are no numbers. */
void sp_message_put_numbers(sp_buffer *out, uint32_t number, const int64_t *values, size_t count);

/* What is written between open and close is the content of a message in field `number`. */
size_t sp_message_open(sp_buffer *out, uint32_t number);
void sp_message_close(sp_buffer *out, size_t opened);

#endif
