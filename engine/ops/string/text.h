#ifndef SP_ENGINE_OPS_TEXT_H
#define SP_ENGINE_OPS_TEXT_H

#include "base/bytes.h"
#include "engine/graph/op.h"

/*
 * Helpers of the string operators.  Elements of a string output may be views of the call's inputs
 * or of a text pool: both live until the end of the request.
 */

/* A required string attribute. */
SP_MUST_CHECK sp_status sp_text_attr(const sp_prepare *prepare, const char *name, sp_bytes *out,
				     sp_error *err);

/* The attribute `unit`: BYTE, or UTF8_CHAR for characters. */
SP_MUST_CHECK sp_status sp_text_attr_unit(const sp_prepare *prepare, bool *characters,
					  sp_error *err);

/* Memory for new strings of one call, cut from larger blocks.  Initialize with {.call = call}. */
typedef struct sp_text_pool {
	const sp_call *call;
	char *next;
	size_t left;
} sp_text_pool;

/* `size` uninitialised bytes; NULL past the request's limit. */
char *sp_text_pool_take(sp_text_pool *pool, size_t size);

/* White space in TensorFlow's string operators. */
static inline bool sp_text_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline sp_bytes sp_text_skip_space(sp_bytes text)
{
	while (text.size > 0 && sp_text_is_space(text.data[0])) {
		text.data++;
		text.size--;
	}
	return text;
}

static inline sp_bytes sp_text_strip(sp_bytes text)
{
	text = sp_text_skip_space(text);
	while (text.size > 0 && sp_text_is_space(text.data[text.size - 1]))
		text.size--;
	return text;
}

/* Whether the byte is a UTF-8 continuation byte. */
static inline bool sp_text_is_trail(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

#endif
