#ifndef SP_STORAGE_CACHE_CACHE_SET_H
#define SP_STORAGE_CACHE_CACHE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The head of one set of the cache: the tags of its sixteen ways, and the score of each way, which
 * decides about admission and eviction.
 *
 * A way's tag is eight bits of its key's hash.  A set also has sixteen ghosts: recently used keys
 * whose rows are not held, identified by sixteen bits of their hash.  A ghost takes three bytes. It
 * counts the uses of a key that may be admitted, or keeps the score of an evicted one.
 *
 * A score is one byte:
 *   lfu   number of uses; halved at the end of each epoch
 *   lru   255 in the tick of the last use, one less with every tick since
 *
 * Threads: a sequence lock.  One writer owns the set between begin_write and end_write; a second
 * writer is refused.  A reader does not wait: what it has read is valid if the sequence number was
 * even before and has not changed.  All words are atomic; keys and rows are read with acquire and
 * written with release, so that these accesses stay between the two reads of the number.
 * Source: ghosts as in N. Megiddo, D. Modha, "ARC", FAST 2003, with counts.
 */
enum {
	SP_CACHE_SET_WAYS = 16,
	SP_CACHE_SET_GHOSTS = 16,
	SP_CACHE_SET_NONE = SP_CACHE_SET_WAYS, /* no way, no ghost */
	SP_CACHE_SET_MAX_SCORE = 255,          /* score */
};

typedef struct sp_cache_set {
	_Atomic uint32_t sequence; /* odd: a writer owns the set */
	_Atomic uint16_t time;     /* epoch or tick up to which the scores are aged */
	_Atomic uint16_t absent;   /* one bit per way: its key is known not to exist */
	_Atomic uint64_t tags[2];  /* one byte per way; 0: the way is empty */
	_Atomic uint8_t score[SP_CACHE_SET_WAYS];
	_Atomic uint16_t ghosts[SP_CACHE_SET_GHOSTS]; /* 0: none */
	_Atomic uint8_t ghost_score[SP_CACHE_SET_GHOSTS];
} sp_cache_set;

_Static_assert(sizeof(sp_cache_set) == 88, "slots of eight-byte words follow");

/*
 * Compares the tags of the eight ways of a half with `tag`, which is not 0.  The highest bit of a
 * way's byte is set if they are equal.  Empty ways have tag 0, so they never match.
 */
static inline uint64_t sp_cache_set_matches(const sp_cache_set *set, unsigned half, unsigned tag)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7fu; /* a sum of these stays in its byte */
	uint64_t tags = atomic_load_explicit(&set->tags[half], memory_order_acquire);
	uint64_t differences = tags ^ (tag * 0x0101010101010101u);

	return ~(((differences & low) + low) | differences | low);
}

/* The lowest matching way of a half; `matches` is not 0. */
static inline unsigned sp_cache_set_first(unsigned half, uint64_t matches)
{
	return half * 8 + (unsigned)__builtin_ctzll(matches) / 8;
}

static inline unsigned sp_cache_set_tag(const sp_cache_set *set, unsigned way)
{
	uint64_t tags = atomic_load_explicit(&set->tags[way / 8], memory_order_acquire);

	return (unsigned)(tags >> (way % 8 * 8)) & 0xff;
}

static inline bool sp_cache_set_is_absent(const sp_cache_set *set, unsigned way)
{
	return atomic_load_explicit(&set->absent, memory_order_acquire) >> way & 1;
}

static inline unsigned sp_cache_set_score(const sp_cache_set *set, unsigned way)
{
	return atomic_load_explicit(&set->score[way], memory_order_relaxed);
}

static inline void sp_cache_set_put_score(sp_cache_set *set, unsigned way, unsigned score)
{
	atomic_store_explicit(&set->score[way], (uint8_t)score, memory_order_relaxed);
}

/* False: another writer owns the set. */
bool sp_cache_set_begin_write(sp_cache_set *set);
void sp_cache_set_end_write(sp_cache_set *set);

/* By the writer: sets the tag of a way. */
void sp_cache_set_put(sp_cache_set *set, unsigned way, unsigned tag, bool absent);

/* Ages all scores to the epoch (lfu) or the tick (lru) `now`.  Of several threads one does it. */
void sp_cache_set_halve(sp_cache_set *set, uint32_t now);
void sp_cache_set_tick(sp_cache_set *set, uint32_t now);

/* The way to replace: an empty one, else the one with the lowest score. */
unsigned sp_cache_set_victim(const sp_cache_set *set);

/*
 * By the writer, lfu: counts one use of a key that is not held, and returns the key's score.
 * *ghost: the key's ghost, which has replaced the one with the lowest score if it is new.
 */
unsigned sp_cache_set_miss(sp_cache_set *set, uint64_t hash, unsigned *ghost);

/* By the writer: sets the key and score of a ghost; score 0: none. */
void sp_cache_set_put_ghost(sp_cache_set *set, unsigned ghost, uint64_t hash, unsigned score);

/*
 * lru: the score for a new row, which puts it above `older` - 1 ways, empty ones included; in an
 * empty set the greatest score.
 */
unsigned sp_cache_set_insertion_score(const sp_cache_set *set, unsigned older);

#endif
