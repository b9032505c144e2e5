#ifndef SP_BASE_BYTES_H
#define SP_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * A view of bytes that something else owns; not terminated, and may contain any byte.  {NULL, 0}
 * and {"", 0} are both empty.
 *
 * It is also the element of a string tensor (engine/tensor/tensor.h), and has the layout of
 * serving_processor_bytes in the public header.
 */
typedef struct sp_bytes {
	const char *data;
	size_t size;
} sp_bytes;

/* A view of a terminated string.  `text` must not be NULL. */
static inline sp_bytes sp_bytes_of(const char *text)
{
	return (sp_bytes){text, strlen(text)};
}

static inline bool sp_bytes_equal(sp_bytes a, sp_bytes b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool sp_bytes_equal_text(sp_bytes a, const char *text)
{
	return sp_bytes_equal(a, sp_bytes_of(text));
}

/* Whether `a` equals `lower`, a word of lower-case letters, ignoring case. */
static inline bool sp_bytes_is_word(sp_bytes a, const char *lower)
{
	if (a.size != strlen(lower))
		return false;
	for (size_t i = 0; i < a.size; i++)
		if ((a.data[i] | 0x20) != lower[i])
			return false;
	return true;
}

static inline bool sp_bytes_starts_with(sp_bytes a, const char *prefix)
{
	size_t n = strlen(prefix);

	return a.size >= n && (n == 0 || memcmp(a.data, prefix, n) == 0);
}

static inline bool sp_bytes_ends_with(sp_bytes a, const char *suffix)
{
	size_t n = strlen(suffix);

	return a.size >= n && (n == 0 || memcmp(a.data + a.size - n, suffix, n) == 0);
}

/* How many bytes of a text an error or a log line shows: the precision for "%.*s". */
static inline int sp_bytes_shown(sp_bytes text, int most)
{
	return text.size < (size_t)most ? (int)text.size : most;
}

#endif
