#ifndef SP_BASE_ARENA_H
#define SP_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/bytes.h"

/*
 * Memory that is given back all at once.
 *
 * One arena per lifetime: a model version, a session's plan, a request.
 * Blocks are 64-byte aligned when 64 bytes or more, else 16-byte aligned, and
 * uninitialised.
 *
 * Built with SP_ARENA_DEBUG (configure --enable-arena-debug) every block is
 * its own malloc(), so a memory checker sees each one; the calls and their
 * meaning stay the same.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_arena sp_arena;

/*
 * `chunk` is how much to ask of the system at a time, in bytes; a block that
 * is larger gets a chunk of its own.  NULL when out of memory.
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

/* Of an arena without blocks: its memory counts from now on, as one block. */
void sp_arena_set_budget(sp_arena *arena, sp_budget *budget);

/* NULL when out of memory.  Owned by the arena.  size 0 gives a valid pointer. */
void *sp_arena_alloc(sp_arena *arena, size_t size);

/* count * size bytes; NULL also when the product overflows. */
void *sp_arena_array(sp_arena *arena, size_t count, size_t size);

/* The same, all zero. */
void *sp_arena_zeros(sp_arena *arena, size_t count, size_t size);

/* A terminated copy of the bytes; NULL when out of memory. */
char *sp_arena_text(sp_arena *arena, sp_bytes bytes);

/* "fmt ..." printed into the arena; NULL when out of memory. */
char *sp_arena_printf(sp_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Forgets every block.  The next round finds as much memory as this one took:
 * after a few rounds of the same kind nothing is asked of the system any more.
 */
void sp_arena_reset(sp_arena *arena);

/* Forgets every block and gives all memory back: the next round is as the first. */
void sp_arena_trim(sp_arena *arena);

/* A moment in an arena's life, until the next reset. */
typedef struct sp_arena_mark {
	void *newest;
	size_t used;
} sp_arena_mark;

sp_arena_mark sp_arena_here(const sp_arena *arena);

/* Forgets every block made since. */
void sp_arena_rewind(sp_arena *arena, sp_arena_mark mark);

/* Whether `block` points into the arena's memory.  It visits every chunk: for load time only. */
bool sp_arena_holds(const sp_arena *arena, const void *block);

/* Bytes held from the system. */
size_t sp_arena_footprint(const sp_arena *arena);

#endif
