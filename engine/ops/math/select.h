#ifndef SP_ENGINE_OPS_SELECT_H
#define SP_ENGINE_OPS_SELECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Elementwise selection: condition ? yes : no.  It may run in place.
 *
 * Threads: pure.
 */
typedef struct sp_select_run {
	const bool *condition;
	const void *yes, *no;
	void *out;
	size_t count;
	const size_t *step; /* of condition, yes and no: 0 or 1 */
} sp_select_run;

typedef void sp_select_fn(const sp_select_run *run);

/* The kernel for elements of `size` bytes; NULL when that size is not supported. */
sp_select_fn *sp_select__find(size_t size);

#endif
