#ifndef SP_STORAGE_CACHE_ROW_SET_H
#define SP_STORAGE_CACHE_ROW_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * One set of a cache of rows: which keys its sixteen ways hold, and what each
 * is worth.
 *
 * A way is found by an eight-bit tag of its key's hash.  Beside the ways there
 * are sixteen ghosts: keys that were asked for lately and are not held, by sixteen
 * bits of their hash.  So what is worth a row is known before the row is held, for
 * three bytes instead of a row, and a row that is pushed out keeps its worth.
 *
 * Worth is one byte:
 *   lfu   uses, all halved as an epoch ends
 *   lru   255 in the tick of the last use, and one less with every tick since
 *
 * Threads: a writer has the set between begin_write and end_write; of two one is
 * turned away.  Readers look meanwhile, and what they saw counts only when the
 * sequence number is even and the same after as before.  All words are atomic,
 * and what holds a key is read as acquire and written as release, so that the
 * number's two reads enclose the words between.
 * Source: ghosts as in N. Megiddo, D. Modha, "ARC", FAST 2003, with counts.
 */
enum {
	SP_ROW_SET_WAYS = 16,
	SP_ROW_SET_GHOSTS = 16,
	SP_ROW_SET_NONE = SP_ROW_SET_WAYS, /* no way, no ghost */
	SP_ROW_SET_MOST = 255,             /* worth */
};

typedef struct sp_row_set {
	_Atomic uint32_t sequence; /* odd: a writer is at work */
	_Atomic uint16_t time;     /* epoch or tick that worths are of */
	_Atomic uint16_t absent;   /* one bit per way: its key is known not to exist */
	_Atomic uint64_t tags[2];  /* one byte per way; 0: the way is empty */
	_Atomic uint8_t worth[SP_ROW_SET_WAYS];
	_Atomic uint16_t ghosts[SP_ROW_SET_GHOSTS]; /* 0: none */
	_Atomic uint8_t ghost_worth[SP_ROW_SET_GHOSTS];
} sp_row_set;

_Static_assert(sizeof(sp_row_set) == 88, "slots of eight-byte words follow");

/*
 * One bit, the highest of its byte, for each way of a half that has the tag, which is not 0:
 * never for an empty way, whose slot holds anything.
 */
static inline uint64_t sp_row_set_matches(const sp_row_set *set, unsigned half, unsigned tag)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7fu; /* a sum of these stays in its byte */
	uint64_t tags = atomic_load_explicit(&set->tags[half], memory_order_acquire);
	uint64_t differences = tags ^ (tag * 0x0101010101010101u);

	return ~(((differences & low) + low) | differences | low);
}

/* The lowest way of a half's matches, which are not 0. */
static inline unsigned sp_row_set_first(unsigned half, uint64_t matches)
{
	return half * 8 + (unsigned)__builtin_ctzll(matches) / 8;
}

static inline unsigned sp_row_set_tag(const sp_row_set *set, unsigned way)
{
	uint64_t tags = atomic_load_explicit(&set->tags[way / 8], memory_order_acquire);

	return (unsigned)(tags >> (way % 8 * 8)) & 0xff;
}

static inline bool sp_row_set_is_absent(const sp_row_set *set, unsigned way)
{
	return atomic_load_explicit(&set->absent, memory_order_acquire) >> way & 1;
}

static inline unsigned sp_row_set_worth(const sp_row_set *set, unsigned way)
{
	return atomic_load_explicit(&set->worth[way], memory_order_relaxed);
}

static inline void sp_row_set_put_worth(sp_row_set *set, unsigned way, unsigned worth)
{
	atomic_store_explicit(&set->worth[way], (uint8_t)worth, memory_order_relaxed);
}

/* False: another writer is at work on the set. */
bool sp_row_set_begin_write(sp_row_set *set);
void sp_row_set_end_write(sp_row_set *set);

/* By the writer: the way holds another key. */
void sp_row_set_put(sp_row_set *set, unsigned way, unsigned tag, bool absent);

/* Brings all worth to the epoch or tick `now`; of several threads one does. */
void sp_row_set_halve(sp_row_set *set, uint32_t now);
void sp_row_set_tick(sp_row_set *set, uint32_t now);

/* An empty way, else the one worth least. */
unsigned sp_row_set_cheapest(const sp_row_set *set);

/*
 * By the writer, lfu: counts one use of a key that is not held.  Gives what it is
 * worth with this one; *ghost is the ghost that it is now, and has taken from the
 * one worth least if need be.
 */
unsigned sp_row_set_miss(sp_row_set *set, uint64_t hash, unsigned *ghost);

/* By the writer: the ghost is this key instead; worth 0: nobody. */
void sp_row_set_put_ghost(sp_row_set *set, unsigned ghost, uint64_t hash, unsigned worth);

/*
 * lru: what a newcomer is worth: one less than the way that has `older` - 1 ways below,
 * empty ones among them; the most in a set of fewer.
 */
unsigned sp_row_set_middle(const sp_row_set *set, unsigned older);

#endif
