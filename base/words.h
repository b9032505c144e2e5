#ifndef SP_BASE_WORDS_H
#define SP_BASE_WORDS_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"

/* Words of protocols such as HTTP, whose case does not matter.  Threads: pure. */

/* Without blanks and tabs at both ends. */
static inline sp_bytes sp_words_trim(sp_bytes text)
{
	while (text.size != 0 && (*text.data == ' ' || *text.data == '\t'))
		text = (sp_bytes){text.data + 1, text.size - 1};
	while (text.size != 0 &&
	       (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
		text.size--;
	return text;
}

static inline bool sp_words_equal(sp_bytes text, const char *word)
{
	return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

/* Takes the word off the front of the text; false if it does not begin with it. */
static inline bool sp_words_take(sp_bytes *text, const char *word)
{
	size_t size = strlen(word);

	if (text->size < size || strncasecmp(text->data, word, size) != 0)
		return false;
	*text = (sp_bytes){text->data + size, text->size - size};
	return true;
}

#endif
