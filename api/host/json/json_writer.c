#include "api/host/json/json_writer.h"

#include "api/host/json/json_print.h"

void sp_json_write_key(sp_buffer *out, const char *key)
{
	sp_buffer_append_char(out, ',');
	sp_json_text_append(out, sp_bytes_of(key));
	sp_buffer_append_char(out, ':');
}

void sp_json_write_f32(sp_buffer *out, float value)
{
	char text[SP_JSON_PRINT_BYTES];

	sp_buffer_append(out, text, (size_t)(sp_json_print_f32(text, value) - text));
}

void sp_json_write_i64(sp_buffer *out, int64_t value)
{
	char text[SP_JSON_PRINT_BYTES];

	sp_buffer_append(out, text, (size_t)(sp_json_print_i64(text, value) - text));
}

void sp_json_write_u64(sp_buffer *out, uint64_t value)
{
	char text[SP_JSON_PRINT_BYTES];

	sp_buffer_append(out, text, (size_t)(sp_json_print_u64(text, value) - text));
}
