#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"

void sp_buffer_init(sp_buffer *buffer, size_t max_size)
{
	*buffer = (sp_buffer){.max_size = max_size};
}

void sp_buffer_set_budget(sp_buffer *buffer, sp_budget *budget)
{
	buffer->budget = budget;
}

static void forget(sp_buffer *buffer)
{
	sp_budget *budget = buffer->budget;

	sp_budget_shrink(budget, buffer->capacity, 0);
	sp_buffer_init(buffer, buffer->max_size);
	buffer->budget = budget;
}

void sp_buffer_fini(sp_buffer *buffer)
{
	sp_free(buffer->data);
	forget(buffer);
}

void sp_buffer_clear(sp_buffer *buffer)
{
	buffer->size = 0;
	buffer->failed = false;
	if (buffer->data != NULL)
		buffer->data[0] = '\0';
}

static size_t next_capacity(const sp_buffer *buffer, size_t need)
{
	size_t capacity = buffer->capacity < 64 ? 64 : buffer->capacity;

	while (capacity < need)
		capacity = capacity > SIZE_MAX / 2 ? need : 2 * capacity;
	return capacity - 1 > buffer->max_size ? buffer->max_size + 1 : capacity;
}

static bool grow(sp_buffer *buffer, size_t size)
{
	size_t need, capacity;
	char *data;

	if (buffer->failed || size > buffer->max_size - buffer->size ||
	    !sp_size_add(&need, buffer->size, size) || !sp_size_add(&need, need, 1)) {
		buffer->failed = true;
		return false;
	}
	capacity = sp_budget_grow(buffer->budget, buffer->capacity, need,
				  next_capacity(buffer, need));
	data = capacity != 0 ? sp_alloc_resize(buffer->data, capacity, 1) : NULL;
	if (data == NULL) {
		if (capacity != 0)
			sp_budget_shrink(buffer->budget, capacity, buffer->capacity);
		buffer->failed = true;
		return false;
	}
	buffer->data = data;
	buffer->capacity = capacity;
	return true;
}

/* Room for `size` bytes and a NUL behind them. */
static inline bool make_room(sp_buffer *buffer, size_t size)
{
	if (!buffer->failed && size < buffer->capacity - buffer->size &&
	    size <= buffer->max_size - buffer->size)
		return true;
	return grow(buffer, size);
}

char *sp_buffer_reserve(sp_buffer *buffer, size_t size)
{
	char *at;

	if (!make_room(buffer, size))
		return NULL;
	at = buffer->data + buffer->size;
	buffer->size += size;
	at[size] = '\0';
	return at;
}

void sp_buffer_append(sp_buffer *buffer, const void *data, size_t size)
{
	char *at = sp_buffer_reserve(buffer, size);

	if (at != NULL && size != 0)
		memcpy(at, data, size);
}

void sp_buffer_append_char(sp_buffer *buffer, char c)
{
	sp_buffer_append(buffer, &c, 1);
}

void sp_buffer_printf(sp_buffer *buffer, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || !make_room(buffer, (size_t)n)) {
		buffer->failed = true;
		return;
	}
	va_start(args, fmt);
	vsnprintf(buffer->data + buffer->size, (size_t)n + 1, fmt, args);
	va_end(args);
	buffer->size += (size_t)n;
}

char *sp_buffer_take(sp_buffer *buffer, size_t *size)
{
	char *data;

	/* An empty buffer also needs a block that the caller can free. */
	if (!make_room(buffer, 0))
		return NULL;
	buffer->data[buffer->size] = '\0';
	data = buffer->data;
	*size = buffer->size;
	forget(buffer);
	return data;
}
