#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/size.h"

/* An object whose release() the arena calls when it is destroyed. */
typedef struct owned owned;

struct owned {
	owned *older;
	void (*release)(void *object);
	void *object;
};

/*
 * A list of chunks; blocks are carved from the newest one, and a block that does not fit starts
 * another.  After a reset the first chunk is as large as all previous chunks together, so that
 * after a few rounds one chunk is enough.
 *
 * For memory checkers every block is a chunk of its own, exactly as large as requested.
 */
#ifdef SP_ARENA_DEBUG
enum { SINGLE_BLOCKS = true };
#else
enum { SINGLE_BLOCKS = false };
#endif

enum { LINE = 64 };

typedef struct chunk chunk;

struct chunk {
	chunk *older;
	void *block; /* that it is in */
	size_t size; /* of the bytes after this header */
	size_t used;
	char pad[LINE - sizeof(chunk *) - sizeof(void *) - 2 * sizeof(size_t)];
};

struct sp_arena {
	void *block; /* that it is in */
	chunk *newest;
	size_t chunk_size;
	size_t first_size; /* of the first chunk after a reset */
	size_t footprint;
	sp_budget *budget; /* bounds the footprint; NULL: no bound */
	owned *newest_owned;
};

/*
 * `size` bytes from the begin of a cache line on, in a *block to be freed.  malloc() keeps small
 * blocks for the thread's next call, as posix_memalign() does not; but a checker sees the end of a
 * block only where nothing is left behind it.
 */
static void *alloc_lines(size_t size, void **block)
{
	size_t total;

	if (SINGLE_BLOCKS)
		return *block = sp_alloc_aligned(LINE, size);
	*block = sp_size_add(&total, size, LINE - 1) ? sp_alloc(total) : NULL;
	return *block != NULL ? (char *)*block + (-(uintptr_t)*block & (LINE - 1)) : NULL;
}

sp_arena *sp_arena_create(size_t chunk_size)
{
	void *block;
	sp_arena *arena = alloc_lines(LINE, &block);

	_Static_assert(sizeof(*arena) <= LINE, "an arena is one line");
	if (arena != NULL)
		*arena = (sp_arena){
			.block = block, .chunk_size = chunk_size, .first_size = chunk_size};
	return arena;
}

static void shrink_footprint(sp_arena *arena, size_t footprint)
{
	sp_budget_shrink(arena->budget, arena->footprint, footprint);
	arena->footprint = footprint;
}

static void free_chunks(sp_arena *arena)
{
	for (chunk *c = arena->newest, *older; c != NULL; c = older) {
		older = c->older;
		sp_free(c->block);
	}
	arena->newest = NULL;
	shrink_footprint(arena, 0);
}

static void release_owned(sp_arena *arena)
{
	for (owned *o = arena->newest_owned; o != NULL; o = o->older)
		o->release(o->object);
}

void sp_arena_destroy(sp_arena *arena)
{
	if (arena == NULL)
		return;
	release_owned(arena);
	free_chunks(arena);
	sp_free(arena->block);
}

/* NULL if the chunk has no room for `size` bytes. */
static void *carve(chunk *c, size_t size)
{
	size_t align = size >= 64 ? 64 : 16;
	size_t start;

	if (!sp_size_round_up(&start, c->used, align) || start > c->size || size > c->size - start)
		return NULL;
	c->used = start + size;
	return (char *)(c + 1) + start;
}

static chunk *add_chunk(sp_arena *arena, size_t size)
{
	size_t least = arena->newest == NULL ? arena->first_size : arena->chunk_size;
	size_t body = size, total, footprint;
	void *block;
	chunk *c;

	if ((!SINGLE_BLOCKS && !sp_size_round_up(&body, size > least ? size : least, 64)) ||
	    !sp_size_add(&total, body, sizeof(*c)) ||
	    !sp_size_add(&footprint, arena->footprint, total) ||
	    sp_budget_grow(arena->budget, arena->footprint, footprint, footprint) == 0)
		return NULL;
	c = alloc_lines(total, &block);
	if (c == NULL) {
		sp_budget_shrink(arena->budget, footprint, arena->footprint);
		return NULL;
	}
	*c = (chunk){.older = arena->newest, .block = block, .size = body};
	arena->newest = c;
	arena->footprint = footprint;
	return c;
}

void *sp_arena_alloc(sp_arena *arena, size_t size)
{
	void *block = NULL;
	chunk *c;

	if (!SINGLE_BLOCKS && arena->newest != NULL)
		block = carve(arena->newest, size);
	if (block != NULL)
		return block;
	c = add_chunk(arena, size);
	return c != NULL ? carve(c, size) : NULL;
}

void sp_arena_reset(sp_arena *arena)
{
	if (arena->newest == NULL)
		return;
	if (!SINGLE_BLOCKS && arena->newest->older == NULL &&
	    arena->newest->size >= arena->first_size) {
		arena->newest->used = 0;
		return;
	}
	if (arena->first_size < arena->footprint)
		arena->first_size = arena->footprint;
	free_chunks(arena);
}

void sp_arena_trim(sp_arena *arena)
{
	free_chunks(arena);
	arena->first_size = arena->chunk_size;
}

sp_arena_mark sp_arena_here(const sp_arena *arena)
{
	chunk *c = arena->newest;

	return (sp_arena_mark){c, c != NULL ? c->used : 0};
}

/* Keeps the first chunk; the next first chunk will be as large as all of them. */
void sp_arena_rewind(sp_arena *arena, sp_arena_mark mark)
{
	if (arena->newest != NULL && arena->newest->older != NULL &&
	    arena->first_size < arena->footprint)
		arena->first_size = arena->footprint;
	while (arena->newest != mark.newest && (SINGLE_BLOCKS || arena->newest->older != NULL)) {
		chunk *c = arena->newest;

		arena->newest = c->older;
		shrink_footprint(arena, arena->footprint - c->size - sizeof(*c));
		sp_free(c->block);
	}
	if (arena->newest != NULL)
		arena->newest->used = mark.used;
}

bool sp_arena_holds(const sp_arena *arena, const void *block)
{
	uintptr_t at = (uintptr_t)block;

	for (const chunk *c = arena->newest; c != NULL; c = c->older)
		if (at - (uintptr_t)(c + 1) < c->size)
			return true;
	return false;
}

void sp_arena_set_budget(sp_arena *arena, sp_budget *budget)
{
	arena->budget = budget;
}

sp_budget *sp_arena_budget(const sp_arena *arena)
{
	return arena->budget;
}

bool sp_arena_own(sp_arena *arena, void (*release)(void *object), void *object)
{
	owned *o = sp_arena_alloc(arena, sizeof(*o));

	if (o == NULL)
		return false;
	*o = (owned){arena->newest_owned, release, object};
	arena->newest_owned = o;
	return true;
}

void *sp_arena_array(sp_arena *arena, size_t count, size_t size)
{
	size_t total;

	return sp_size_mul(&total, count, size) ? sp_arena_alloc(arena, total) : NULL;
}

void *sp_arena_zeros(sp_arena *arena, size_t count, size_t size)
{
	void *block = sp_arena_array(arena, count, size);

	return block != NULL ? memset(block, 0, count * size) : NULL;
}

void *sp_arena_copy(sp_arena *arena, const void *from, size_t count, size_t room, size_t size)
{
	char *copy = sp_arena_array(arena, room, size);

	if (copy == NULL)
		return NULL;
	if (count != 0)
		memcpy(copy, from, count * size);
	if (room != count)
		memset(copy + count * size, 0, (room - count) * size);
	return copy;
}

bool sp_arena_grow(sp_arena *arena, void *list, size_t *capacity, size_t count, size_t more,
		   size_t size)
{
	enum { LEAST = 16 };
	size_t room = 2 * *capacity;
	void *items;

	if (count + more <= *capacity)
		return true;
	room = room < count + more ? count + more : room;
	room = room < LEAST ? LEAST : room;
	memcpy(&items, list, sizeof(items));
	items = sp_arena_copy(arena, items, count, room, size);
	if (items == NULL)
		return false;
	memcpy(list, &items, sizeof(items));
	*capacity = room;
	return true;
}

char *sp_arena_text(sp_arena *arena, sp_bytes bytes)
{
	char *text;
	size_t total;

	if (!sp_size_add(&total, bytes.size, 1) || (text = sp_arena_alloc(arena, total)) == NULL)
		return NULL;
	if (bytes.size != 0)
		memcpy(text, bytes.data, bytes.size);
	text[bytes.size] = '\0';
	return text;
}

char *sp_arena_printf(sp_arena *arena, const char *fmt, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || (text = sp_arena_alloc(arena, (size_t)n + 1)) == NULL)
		return NULL;
	va_start(args, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, args);
	va_end(args);
	return text;
}

size_t sp_arena_footprint(const sp_arena *arena)
{
	return arena->footprint;
}

size_t sp_arena_used(const sp_arena *arena)
{
	size_t bytes = 0;

	for (const chunk *c = arena->newest; c != NULL; c = c->older)
		bytes += sizeof(*c) + c->used;
	return bytes;
}
