#include "storage/cache/cache_set.h"

#include <string.h>

bool sp_cache_set_begin_write(sp_cache_set *set)
{
	uint32_t even = atomic_load_explicit(&set->sequence, memory_order_relaxed);

	return even % 2 == 0 &&
	       atomic_compare_exchange_strong_explicit(&set->sequence, &even, even + 1,
						       memory_order_acq_rel, memory_order_relaxed);
}

void sp_cache_set_end_write(sp_cache_set *set)
{
	uint32_t odd = atomic_load_explicit(&set->sequence, memory_order_relaxed);

	atomic_store_explicit(&set->sequence, odd + 1, memory_order_release);
}

void sp_cache_set_put(sp_cache_set *set, unsigned way, unsigned tag, bool absent)
{
	unsigned bits = atomic_load_explicit(&set->absent, memory_order_relaxed);
	unsigned shift = way % 8 * 8;
	uint64_t tags = atomic_load_explicit(&set->tags[way / 8], memory_order_relaxed);

	bits = (bits & ~(1u << way)) | (unsigned)absent << way;
	atomic_store_explicit(&set->absent, (uint16_t)bits, memory_order_release);
	tags = (tags & ~((uint64_t)0xff << shift)) | (uint64_t)tag << shift;
	atomic_store_explicit(&set->tags[way / 8], tags, memory_order_release);
}

/* ---- worth ---- */

static unsigned ghost_worth(const sp_cache_set *set, unsigned ghost)
{
	return atomic_load_explicit(&set->ghost_worth[ghost], memory_order_relaxed);
}

static void put_ghost_worth(sp_cache_set *set, unsigned ghost, unsigned worth)
{
	atomic_store_explicit(&set->ghost_worth[ghost], (uint8_t)worth, memory_order_relaxed);
}

/* Sets the time and returns how many epochs or ticks have passed; 0 for all but one thread. */
static unsigned move_time(sp_cache_set *set, uint32_t now)
{
	uint16_t old = atomic_load_explicit(&set->time, memory_order_relaxed);
	uint16_t passed = (uint16_t)(now - old);

	/* A late thread must not set the time back. */
	if (passed == 0 || passed > UINT16_MAX / 2 ||
	    !atomic_compare_exchange_strong_explicit(&set->time, &old, (uint16_t)now,
						     memory_order_relaxed, memory_order_relaxed))
		return 0;
	return passed;
}

void sp_cache_set_halve(sp_cache_set *set, uint32_t now)
{
	unsigned passed = move_time(set, now);

	if (passed == 0)
		return;
	if (passed > 8)
		passed = 8;
	for (unsigned way = 0; way < SP_CACHE_SET_WAYS; way++)
		sp_cache_set_put_worth(set, way, sp_cache_set_worth(set, way) >> passed);
	for (unsigned ghost = 0; ghost < SP_CACHE_SET_GHOSTS; ghost++)
		put_ghost_worth(set, ghost, ghost_worth(set, ghost) >> passed);
}

void sp_cache_set_tick(sp_cache_set *set, uint32_t now)
{
	unsigned passed = move_time(set, now);

	if (passed == 0)
		return;
	for (unsigned way = 0; way < SP_CACHE_SET_WAYS; way++) {
		unsigned worth = sp_cache_set_worth(set, way);

		sp_cache_set_put_worth(set, way, worth > passed ? worth - passed : 0);
	}
}

/* Copies as two words what is written by one or two bytes. */
static void copy_sixteen(void *out, const void *from)
{
	const _Atomic uint64_t *words = from;
	const uint64_t both[2] = {atomic_load_explicit(&words[0], memory_order_relaxed),
				  atomic_load_explicit(&words[1], memory_order_relaxed)};

	memcpy(out, both, sizeof(both));
}

/* The lesser one: loops of this, without a jump, become instructions on many elements. */
static int16_t earlier(int16_t a, int16_t b)
{
	return b < a ? b : a;
}

unsigned sp_cache_set_cheapest(const sp_cache_set *set)
{
	uint8_t tags[SP_CACHE_SET_WAYS], worths[SP_CACHE_SET_WAYS];
	int16_t best = INT16_MAX; /* rank * 16 + way */

	copy_sixteen(tags, set->tags);
	copy_sixteen(worths, set->worth);
	for (int way = 0; way < SP_CACHE_SET_WAYS; way++) {
		int16_t rank = tags[way] == 0 ? 0 : (int16_t)(worths[way] + 1);

		best = earlier(best, (int16_t)(rank * SP_CACHE_SET_WAYS + way));
	}
	return (unsigned)best % SP_CACHE_SET_WAYS;
}

/* Sixteen bits of the hash that choose neither the set nor the tag. */
static uint16_t mark_of(uint64_t hash)
{
	uint16_t mark = (uint16_t)(hash >> 16);

	return mark != 0 ? mark : 1;
}

void sp_cache_set_put_ghost(sp_cache_set *set, unsigned ghost, uint64_t hash, unsigned worth)
{
	atomic_store_explicit(&set->ghosts[ghost], worth != 0 ? mark_of(hash) : 0,
			      memory_order_relaxed);
	put_ghost_worth(set, ghost, worth);
}

unsigned sp_cache_set_miss(sp_cache_set *set, uint64_t hash, unsigned *ghost)
{
	uint16_t ghosts[SP_CACHE_SET_GHOSTS], mark = mark_of(hash);
	uint8_t worths[SP_CACHE_SET_GHOSTS];
	int16_t least = INT16_MAX, own = SP_CACHE_SET_GHOSTS; /* least: worth * 16 + ghost */
	unsigned worth;

	copy_sixteen(ghosts, &set->ghosts[0]);
	copy_sixteen(ghosts + 8, &set->ghosts[8]);
	copy_sixteen(worths, set->ghost_worth);
	for (int g = 0; g < SP_CACHE_SET_GHOSTS; g++) {
		int16_t other = ghosts[g] == mark ? 0 : SP_CACHE_SET_GHOSTS;

		least = earlier(least, (int16_t)(worths[g] * SP_CACHE_SET_GHOSTS + g));
		own = earlier(own, (int16_t)(other + g));
	}
	if (own >= SP_CACHE_SET_GHOSTS) {
		*ghost = (unsigned)least % SP_CACHE_SET_GHOSTS;
		sp_cache_set_put_ghost(set, *ghost, hash, 1);
		return 1;
	}
	*ghost = (unsigned)own;
	worth = ghost_worth(set, *ghost);
	if (worth < SP_CACHE_SET_MOST)
		worth++;
	put_ghost_worth(set, *ghost, worth);
	return worth;
}

unsigned sp_cache_set_middle(const sp_cache_set *set, unsigned older)
{
	unsigned worths[SP_CACHE_SET_WAYS], used = 0, empty, rank = 0;

	for (unsigned way = 0; way < SP_CACHE_SET_WAYS; way++) {
		unsigned at = used, worth = sp_cache_set_worth(set, way);

		if (sp_cache_set_tag(set, way) == 0)
			continue;
		for (; at > 0 && worths[at - 1] > worth; at--)
			worths[at] = worths[at - 1];
		worths[at] = worth;
		used++;
	}
	if (used == 0)
		return SP_CACHE_SET_MOST;
	empty = SP_CACHE_SET_WAYS - used;
	if (empty < older)
		rank = older - 1 - empty;
	if (rank >= used)
		rank = used - 1;
	return worths[rank] > 0 ? worths[rank] - 1 : 0;
}
