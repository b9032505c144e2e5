#ifndef SP_BASE_JSON_TEXT_H
#define SP_BASE_JSON_TEXT_H

#include "base/buffer.h"

/* Appends `text` as a JSON string, with quotes. */
void sp_json_text_append(sp_buffer *json, const char *text);

#endif
