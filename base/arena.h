#ifndef SP_BASE_ARENA_H
#define SP_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/bytes.h"

/*
 * A bump allocator whose blocks are freed together.
 *
 * One arena per lifetime: a model version, a session's plan, a request.  Blocks are
 * uninitialised, and aligned to 64 bytes if they have 64 bytes or more, else to 16.
 *
 * Built with SP_ARENA_DEBUG (configure --enable-arena-debug) every block is a malloc() of its
 * own, so that memory checkers see each one; nothing else changes.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_arena sp_arena;

/*
 * chunk  bytes to allocate at a time; a larger block gets a chunk of its own
 *
 * NULL when out of memory.
 */
sp_arena *sp_arena_create(size_t chunk);

/* NULL is allowed. */
void sp_arena_destroy(sp_arena *arena);

/*
 * Calls release(object) when the arena is destroyed, the latest object first: for memory that a
 * foreign library owns.  Not for an arena that is reset, trimmed or rewound.  False when out of
 * memory; the object is then still the caller's.
 */
bool sp_arena_own(sp_arena *arena, void (*release)(void *object), void *object);

/* Its memory counts against the budget, as one block; call it before the first allocation. */
void sp_arena_set_budget(sp_arena *arena, sp_budget *budget);

/* NULL: no bound. */
sp_budget *sp_arena_budget(const sp_arena *arena);

/* NULL when out of memory.  Owned by the arena.  size 0 gives a valid pointer. */
void *sp_arena_alloc(sp_arena *arena, size_t size);

/* count * size bytes; NULL also when the product overflows. */
void *sp_arena_array(sp_arena *arena, size_t count, size_t size);

/* The same, all zero. */
void *sp_arena_zeros(sp_arena *arena, size_t count, size_t size);

/* A copy of `count` elements in an array of `room`, which are at least as many; the rest is zero.
 */
void *sp_arena_copy(sp_arena *arena, const void *from, size_t count, size_t room, size_t size);

/*
 * Makes room for `more` elements of `size` bytes behind the `count` of a list: `list` is the
 * address of the pointer to them.  A full list moves to one of at least twice the room; the room is
 * zero. False when out of memory; the list is then as it was.
 */
bool sp_arena_grow(sp_arena *arena, void *list, size_t *capacity, size_t count, size_t more,
		   size_t size);

#define SP_ARENA_GROW(arena, list, capacity, count, more) \
	sp_arena_grow((arena), &(list), &(capacity), (count), (more), sizeof(*(list)))

/* A terminated copy of the bytes; NULL when out of memory. */
char *sp_arena_text(sp_arena *arena, sp_bytes bytes);

/* A formatted text; NULL when out of memory. */
char *sp_arena_printf(sp_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Frees every block but keeps as much memory as was used since the last reset: after a few similar
 * rounds nothing is allocated from the system.
 */
void sp_arena_reset(sp_arena *arena);

/* Frees every block and returns all memory to the system. */
void sp_arena_trim(sp_arena *arena);

/* A position to rewind to; invalid after a reset. */
typedef struct sp_arena_mark {
	void *newest;
	size_t used;
} sp_arena_mark;

sp_arena_mark sp_arena_here(const sp_arena *arena);

/* Frees every block allocated after the mark. */
void sp_arena_rewind(sp_arena *arena, sp_arena_mark mark);

/* Whether `block` points into the arena.  Visits every chunk: for load time only. */
bool sp_arena_holds(const sp_arena *arena, const void *block);

/* Bytes held from the system. */
size_t sp_arena_footprint(const sp_arena *arena);

/* Bytes of them that were handed out since the last reset: the system gives pages for no others. */
size_t sp_arena_used(const sp_arena *arena);

#endif
