#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

enum { CACHE_LINE = 64, COUNTERS = 16 };

/* One counter for all threads would move between the processors with every answer they allocate. */
static struct {
	_Alignas(CACHE_LINE) atomic_uint_least64_t count;
} counters[COUNTERS];

static _Alignas(CACHE_LINE) atomic_bool failing;
static atomic_int_least64_t successes_left;

/* Threads' addresses have regular distances of a page or more; a multiplication mixes them. */
static atomic_uint_least64_t *own_counter(void)
{
	uint64_t mixed = (uint64_t)(uintptr_t)pthread_self() * UINT64_C(0x9e3779b97f4a7c15);

	return &counters[mixed >> 60].count;
}

static bool may_allocate(void)
{
	atomic_fetch_add_explicit(own_counter(), 1, memory_order_relaxed);
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

void *sp_alloc_apart(size_t size)
{
	void *block = NULL;

	if (sp_size_round_up(&size, size, CACHE_LINE))
		block = sp_alloc_aligned(CACHE_LINE, size);
	return block != NULL ? memset(block, 0, size) : NULL;
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
	uint64_t sum = 0;

	for (int i = 0; i < COUNTERS; i++)
		sum += atomic_load_explicit(&counters[i].count, memory_order_relaxed);
	return sum;
}

void sp_alloc_fail_after(int64_t successes)
{
	atomic_store(&successes_left, successes);
	atomic_store(&failing, successes >= 0);
}
