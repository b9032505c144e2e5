#ifndef SP_STORAGE_SCRATCH_H
#define SP_STORAGE_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/size.h"

/*
 * Divides scratch memory into arrays, each at 64 bytes' alignment.  Without memory
 * (`base` NULL) only the size is counted, so the same code sizes the scratch and lays it out.
 */
enum { SP_SCRATCH_ALIGN = 64 };

typedef struct sp_scratch {
	char *base;  /* at SP_SCRATCH_ALIGN; NULL: only counts */
	size_t used; /* SIZE_MAX when it is more than can be counted */
} sp_scratch;

/* `count` elements of `size` bytes; NULL while it only counts. */
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
