#ifndef SP_BASE_BUFFER_H
#define SP_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/budget.h"
#include "base/bytes.h"

/*
 * A byte buffer that grows at its end, up to a maximum.
 *
 * Appending returns no error: the first failure (out of memory, maximum or budget exceeded)
 * sets `failed`, and everything appended after it is ignored.  A writer checks once, at the
 * end.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_buffer {
	char *data; /* from sp_alloc; NULL or followed by a NUL byte */
	size_t size;
	size_t capacity;
	size_t max_size;
	bool failed;
	sp_budget *budget; /* bounds the capacity; NULL: no bound */
} sp_buffer;

void sp_buffer_init(sp_buffer *buffer, size_t max_size);

/* Its memory counts against the budget; call it while the buffer has none. */
void sp_buffer_set_budget(sp_buffer *buffer, sp_budget *budget);

/* Frees the bytes; the buffer is empty and usable again. */
void sp_buffer_fini(sp_buffer *buffer);

/* Drops the bytes, keeps the memory, clears `failed`. */
void sp_buffer_clear(sp_buffer *buffer);

void sp_buffer_append(sp_buffer *buffer, const void *data, size_t size);
static inline void sp_buffer_append_text(sp_buffer *buffer, const char *text)
{
	sp_buffer_append(buffer, text, strlen(text)); /* a constant for most callers */
}
void sp_buffer_append_char(sp_buffer *buffer, char c);
void sp_buffer_printf(sp_buffer *buffer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends `size` uninitialised bytes and returns them; NULL on failure. */
char *sp_buffer_reserve(sp_buffer *buffer, size_t size);

/* The caller takes over the bytes; the buffer is then empty.  NULL if it has failed. */
char *sp_buffer_take(sp_buffer *buffer, size_t *size);

#endif
