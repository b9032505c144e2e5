#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static atomic_uint_least64_t allocation_count;
static atomic_bool failing;
static atomic_int_least64_t successes_left;

static bool may_allocate(void)
{
	atomic_fetch_add_explicit(&allocation_count, 1, memory_order_relaxed);
	if (!atomic_load_explicit(&failing, memory_order_relaxed))
		return true;
	return atomic_fetch_sub(&successes_left, 1) > 0;
}

void *sp_alloc(size_t size)
{
	return may_allocate() ? malloc(size != 0 ? size : 1) : NULL;
}

void *sp_alloc_zero(size_t count, size_t size)
{
	size_t total;

	if (!sp_size_mul(&total, count, size) || !may_allocate())
		return NULL;
	return calloc(total != 0 ? total : 1, 1);
}

void *sp_alloc_resize(void *old, size_t count, size_t size)
{
	size_t total;

	if (!sp_size_mul(&total, count, size) || !may_allocate())
		return NULL;
	return realloc(old, total != 0 ? total : 1);
}

void *sp_alloc_aligned(size_t align, size_t size)
{
	void *block;

	if (!may_allocate())
		return NULL;
	return posix_memalign(&block, align, size != 0 ? size : 1) == 0 ? block : NULL;
}

char *sp_alloc_text(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = sp_alloc(size);

	return copy != NULL ? memcpy(copy, text, size) : NULL;
}

void sp_free(void *block)
{
	free(block);
}

uint64_t sp_alloc_count(void)
{
	return atomic_load_explicit(&allocation_count, memory_order_relaxed);
}

void sp_alloc_fail_after(int64_t successes)
{
	atomic_store(&successes_left, successes);
	atomic_store(&failing, successes >= 0);
}
