#ifndef SP_STORAGE_SCRATCH_H
#define SP_STORAGE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/size.h"

/*
 * Divides scratch memory into arrays, each 64-byte aligned.  With `base` NULL it only counts the
 * size, so that the same code sizes the scratch and lays it out.
 */
enum { SP_SCRATCH_ALIGN = 64 };

typedef struct sp_scratch {
	char *base;  /* at SP_SCRATCH_ALIGN; NULL: only count */
	size_t used; /* SIZE_MAX after an overflow */
} sp_scratch;

/* `count` elements of `size` bytes; NULL while only counting. */
static inline void *sp_scratch_take(sp_scratch *s, size_t count, size_t size)
{
	size_t start = s->used, end;

	if (start == SIZE_MAX || !sp_size_mul(&size, count, size) ||
	    !sp_size_round_up(&size, size, SP_SCRATCH_ALIGN) || !sp_size_add(&end, start, size)) {
		s->used = SIZE_MAX;
		return NULL;
	}
	s->used = end;
	return s->base != NULL ? s->base + start : NULL;
}

#endif
