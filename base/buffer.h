#ifndef SP_BASE_BUFFER_H
#define SP_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/bytes.h"

/*
 * Bytes that grow at the end, up to a maximum stated at birth.
 *
 * Appending never fails by itself: the first failure (out of memory, the maximum
 * or the budget passed) is remembered and everything after it is ignored, so that
 * a writer checks once, at the end.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_buffer {
	char *data; /* from sp_alloc; one NUL behind data[size - 1] once not NULL */
	size_t size;
	size_t capacity;
	size_t max_size;
	bool failed;
	sp_budget *budget; /* that the capacity is of; NULL: none */
} sp_buffer;

void sp_buffer_init(sp_buffer *buffer, size_t max_size);

/* Of a buffer without bytes: its memory counts from now on. */
void sp_buffer_set_budget(sp_buffer *buffer, sp_budget *budget);

/* Frees the bytes; the buffer is empty and usable again. */
void sp_buffer_fini(sp_buffer *buffer);

/* Forgets the bytes, keeps the memory, clears `failed`. */
void sp_buffer_clear(sp_buffer *buffer);

void sp_buffer_append(sp_buffer *buffer, const void *data, size_t size);
void sp_buffer_append_text(sp_buffer *buffer, const char *text);
void sp_buffer_append_char(sp_buffer *buffer, char c);
void sp_buffer_printf(sp_buffer *buffer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Room for `size` more bytes at data + size; NULL (and failed) if there is none. */
char *sp_buffer_reserve(sp_buffer *buffer, size_t size);

/* Hands the bytes over: the caller frees them, the buffer is empty.  NULL if it failed. */
char *sp_buffer_take(sp_buffer *buffer, size_t *size);

#endif
