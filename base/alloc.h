#ifndef SP_BASE_ALLOC_H
#define SP_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/*
 * All heap memory of the project is allocated here, so that a test can count allocations and
 * make the n-th one fail.
 *
 * The blocks come from malloc(): a host may free() what it gets through the C ABI.
 *
 * Threads: thread-safe.  Errors: NULL when memory is out, never an abort.
 */

void *sp_alloc(size_t size);

/* count * size bytes, all zero; NULL also when the product overflows. */
void *sp_alloc_zero(size_t count, size_t size);

/* As realloc() with count * size bytes; on overflow NULL, and `old` is kept. */
void *sp_alloc_resize(void *old, size_t count, size_t size);

/* `align` is a power of two and at least sizeof(void *); sp_free() frees it. */
void *sp_alloc_aligned(size_t align, size_t size);

/*
 * Zeros on cache lines of their own: for what one thread writes in every request while others write
 * their own of the same kind.
 */
void *sp_alloc_apart(size_t size);

/* A terminated copy. */
char *sp_alloc_text(const char *text);

/* NULL is fine. */
void sp_free(void *block);

/* How many allocations were requested since the process started. */
uint64_t sp_alloc_count(void);

/*
 * For tests: after `successes` more allocations all further ones fail; a negative number ends
 * that.
 */
void sp_alloc_fail_after(int64_t successes);

#endif
