#ifndef SP_BASE_JSON_TEXT_H
#define SP_BASE_JSON_TEXT_H

#include "base/buffer.h"

/*
 * Appends `text` as a JSON string, with quotes.  Each byte that is not part of valid UTF-8 becomes
 * U+FFFD: where the bytes matter, check sp_utf8_valid() first.
 */
void sp_json_text_append(sp_buffer *json, sp_bytes text);

#endif
