#ifndef SP_BASE_JSON_TEXT_H
#define SP_BASE_JSON_TEXT_H

#include "base/buffer.h"

/* Appends `text` as a JSON string, with quotes; invalid UTF-8 becomes U+FFFD. */
void sp_json_text_append(sp_buffer *json, sp_bytes text);

#endif
