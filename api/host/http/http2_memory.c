#include "api/host/http/http2_memory.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

/* Blocks have 64 << class bytes; larger ones have a size of their own and are not kept. */
enum { SMALLEST = 64, CHARGE_STEP = 16 << 10, MAX_SPARE_BYTES = 512 << 10 };

struct sp_http_block {
	size_t capacity;            /* of what follows */
	struct sp_http_block *next; /* in loop->spare_blocks */
};

_Static_assert(sizeof(struct sp_http_block) % 16 == 0, "blocks are aligned as malloc()'s are");

void sp_http2_memory_init(sp_http2_memory *memory, sp_http_loop *loop, sp_budget *budget,
			  size_t limit)
{
	*memory = (sp_http2_memory){.loop = loop, .budget = budget, .limit = limit};
}

void sp_http2_memory_fini(sp_http2_memory *memory)
{
	sp_budget_shrink(memory->budget, memory->charged, 0);
	memory->charged = 0;
}

/* ------------------------------------------------------------------ counting */

static size_t in_steps(size_t size)
{
	return (size + CHARGE_STEP - 1) / CHARGE_STEP * CHARGE_STEP;
}

bool sp_http2_memory_count(sp_http2_memory *memory, size_t size)
{
	size_t charge;

	if (size > memory->limit - memory->used)
		return false;
	charge = in_steps(memory->used + size);
	if (charge > memory->charged) {
		if (sp_budget_grow(memory->budget, memory->charged, charge, charge) == 0)
			return false;
		memory->charged = charge;
	}
	memory->used += size;
	return true;
}

void sp_http2_memory_uncount(sp_http2_memory *memory, size_t size)
{
	memory->used -= size;
}

void sp_http2_memory_settle(sp_http2_memory *memory)
{
	size_t charge = in_steps(memory->used);

	if (charge == memory->charged)
		return;
	sp_budget_shrink(memory->budget, memory->charged, charge);
	memory->charged = charge;
}

/* -------------------------------------------------------------------- blocks */

/* SP_HTTP_BLOCK_CLASSES for a block that is not kept. */
static size_t class_of(size_t size)
{
	size_t class = 0;

	while (class < SP_HTTP_BLOCK_CLASSES && (size_t)SMALLEST << class < size)
		class ++;
	return class;
}

void *sp_http2_memory_alloc(sp_http2_memory *memory, size_t size)
{
	size_t class = class_of(size);
	size_t capacity = class < SP_HTTP_BLOCK_CLASSES ? (size_t)SMALLEST << class : size;
	struct sp_http_block *block = NULL;
	sp_http_loop *loop = memory->loop;

	if (capacity > SIZE_MAX / 2 || !sp_http2_memory_count(memory, capacity))
		return NULL;
	if (class < SP_HTTP_BLOCK_CLASSES)
		block = loop->spare_blocks[class];
	if (block != NULL) {
		loop->spare_blocks[class] = block->next;
		loop->spare_bytes -= capacity;
	} else {
		block = sp_alloc(sizeof(*block) + capacity);
	}
	if (block == NULL) {
		sp_http2_memory_uncount(memory, capacity);
		return NULL;
	}
	block->capacity = capacity;
	return block + 1;
}

void sp_http2_memory_free(sp_http2_memory *memory, void *data)
{
	sp_http_loop *loop = memory->loop;
	struct sp_http_block *block;
	size_t class;

	if (data == NULL)
		return;
	block = (struct sp_http_block *)data - 1;
	sp_http2_memory_uncount(memory, block->capacity);
	class = class_of(block->capacity);
	if (class == SP_HTTP_BLOCK_CLASSES ||
	    block->capacity > MAX_SPARE_BYTES - loop->spare_bytes) {
		sp_free(block);
		return;
	}
	block->next = loop->spare_blocks[class];
	loop->spare_blocks[class] = block;
	loop->spare_bytes += block->capacity;
}

void sp_http2_memory_drop_spare(sp_http_loop *loop)
{
	for (size_t class = 0; class < SP_HTTP_BLOCK_CLASSES; class ++) {
		struct sp_http_block *block, *next;

		for (block = loop->spare_blocks[class]; block != NULL; block = next) {
			next = block->next;
			sp_free(block);
		}
		loop->spare_blocks[class] = NULL;
	}
	loop->spare_bytes = 0;
}

/* ------------------------------------------------------------- what nghttp2 calls */

static void *allocate(size_t size, void *memory)
{
	return sp_http2_memory_alloc(memory, size);
}

static void *allocate_zero(size_t count, size_t size, void *memory)
{
	size_t bytes;
	void *data;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	data = sp_http2_memory_alloc(memory, bytes);
	if (data != NULL)
		memset(data, 0, bytes);
	return data;
}

static void release(void *data, void *memory)
{
	sp_http2_memory_free(memory, data);
}

static void *resize(void *data, size_t size, void *memory)
{
	const struct sp_http_block *block;
	void *copy;

	if (data == NULL)
		return sp_http2_memory_alloc(memory, size);
	block = (const struct sp_http_block *)data - 1;
	if (size <= block->capacity)
		return data;
	copy = sp_http2_memory_alloc(memory, size);
	if (copy != NULL) {
		memcpy(copy, data, block->capacity);
		sp_http2_memory_free(memory, data);
	}
	return copy;
}

nghttp2_mem sp_http2_memory_functions(sp_http2_memory *memory)
{
	return (nghttp2_mem){memory, allocate, release, allocate_zero, resize};
}
