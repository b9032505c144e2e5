#ifndef SP_STORAGE_CACHE_CACHE_SET_H
#define SP_STORAGE_CACHE_CACHE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One set of the cache: the keys that its sixteen ways hold, and the worth of each, by which rows
 * are admitted and evicted.
 *
 * A way is found by an eight-bit tag of its key's hash.  Beside the ways there are sixteen ghosts:
 * recently used keys that are not held, known by sixteen bits of their hash.  For three bytes each
 * they count the uses of keys that may be admitted and keep the worth of evicted ones.
 *
 * Worth is one byte:
 *   lfu   uses, all halved as an epoch ends
 *   lru   255 in the tick of the last use, and one less with every tick since
 *
 * Threads: a sequence lock.  One writer owns the set between begin_write and end_write; a second
 * one is refused.  Readers do not wait: what they have read is valid if the sequence number was
 * even and has not changed.  All words are atomic; keys and rows are read with acquire and written
 * with release, so that they stay between the two reads of the number.
 * Source: ghosts as in N. Megiddo, D. Modha, "ARC", FAST 2003, with counts.
 */
enum {
	SP_CACHE_SET_WAYS = 16,
	SP_CACHE_SET_GHOSTS = 16,
	SP_CACHE_SET_NONE = SP_CACHE_SET_WAYS, /* no way, no ghost */
	SP_CACHE_SET_MOST = 255,               /* worth */
};

typedef struct sp_cache_set {
	_Atomic uint32_t sequence; /* odd: a writer is at work */
	_Atomic uint16_t time;     /* epoch or tick at which the worths were last aged */
	_Atomic uint16_t absent;   /* one bit per way: its key is known not to exist */
	_Atomic uint64_t tags[2];  /* one byte per way; 0: the way is empty */
	_Atomic uint8_t worth[SP_CACHE_SET_WAYS];
	_Atomic uint16_t ghosts[SP_CACHE_SET_GHOSTS]; /* 0: none */
	_Atomic uint8_t ghost_worth[SP_CACHE_SET_GHOSTS];
} sp_cache_set;

_Static_assert(sizeof(sp_cache_set) == 88, "slots of eight-byte words follow");

/*
 * Compares the tags of a half's eight ways with `tag`, which is not 0: the highest bit of a way's
 * byte is set where they are equal.  Empty ways, whose tag is 0, never match.
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

static inline unsigned sp_cache_set_worth(const sp_cache_set *set, unsigned way)
{
	return atomic_load_explicit(&set->worth[way], memory_order_relaxed);
}

static inline void sp_cache_set_put_worth(sp_cache_set *set, unsigned way, unsigned worth)
{
	atomic_store_explicit(&set->worth[way], (uint8_t)worth, memory_order_relaxed);
}

/* False: another writer owns the set. */
bool sp_cache_set_begin_write(sp_cache_set *set);
void sp_cache_set_end_write(sp_cache_set *set);

/* By the writer: sets the key of a way. */
void sp_cache_set_put(sp_cache_set *set, unsigned way, unsigned tag, bool absent);

/* Ages all worth to the epoch or tick `now`; one of several threads does it. */
void sp_cache_set_halve(sp_cache_set *set, uint32_t now);
void sp_cache_set_tick(sp_cache_set *set, uint32_t now);

/* An empty way, or the one of the least worth. */
unsigned sp_cache_set_cheapest(const sp_cache_set *set);

/*
 * By the writer, lfu: counts one use of a key that is not held and returns its worth.  *ghost: the
 * key's ghost; if it had none, it has replaced the ghost of the least worth.
 */
unsigned sp_cache_set_miss(sp_cache_set *set, uint64_t hash, unsigned *ghost);

/* By the writer: sets the key and worth of a ghost; worth 0: none. */
void sp_cache_set_put_ghost(sp_cache_set *set, unsigned ghost, uint64_t hash, unsigned worth);

/*
 * lru: the worth that puts a new row above `older` - 1 ways, empty ones included; the greatest
 * worth in an empty set.
 */
unsigned sp_cache_set_middle(const sp_cache_set *set, unsigned older);

#endif
