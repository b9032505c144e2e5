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

/* ---- score ---- */

static unsigned ghost_score(const sp_cache_set *set, unsigned ghost)
{
	return atomic_load_explicit(&set->ghost_score[ghost], memory_order_relaxed);
}

static void put_ghost_score(sp_cache_set *set, unsigned ghost, unsigned score)
{
	atomic_store_explicit(&set->ghost_score[ghost], (uint8_t)score, memory_order_relaxed);
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
		sp_cache_set_put_score(set, way, sp_cache_set_score(set, way) >> passed);
	for (unsigned ghost = 0; ghost < SP_CACHE_SET_GHOSTS; ghost++)
		put_ghost_score(set, ghost, ghost_score(set, ghost) >> passed);
}

void sp_cache_set_tick(sp_cache_set *set, uint32_t now)
{
	unsigned passed = move_time(set, now);

	if (passed == 0)
		return;
	for (unsigned way = 0; way < SP_CACHE_SET_WAYS; way++) {
		unsigned score = sp_cache_set_score(set, way);

		sp_cache_set_put_score(set, way, score > passed ? score - passed : 0);
	}
}

/* Copies sixteen bytes as two words; they are written as single bytes or pairs. */
static void copy_sixteen(void *out, const void *from)
{
	const _Atomic uint64_t *words = from;
	const uint64_t both[2] = {atomic_load_explicit(&words[0], memory_order_relaxed),
				  atomic_load_explicit(&words[1], memory_order_relaxed)};

	memcpy(out, both, sizeof(both));
}

/* Without a jump, so that the compiler vectorises loops of it. */
static int16_t min16(int16_t a, int16_t b)
{
	return b < a ? b : a;
}

unsigned sp_cache_set_victim(const sp_cache_set *set)
{
	uint8_t tags[SP_CACHE_SET_WAYS], scores[SP_CACHE_SET_WAYS];
	int16_t best = INT16_MAX; /* rank * 16 + way */

	copy_sixteen(tags, set->tags);
	copy_sixteen(scores, set->score);
	for (int way = 0; way < SP_CACHE_SET_WAYS; way++) {
		int16_t rank = tags[way] == 0 ? 0 : (int16_t)(scores[way] + 1);

		best = min16(best, (int16_t)(rank * SP_CACHE_SET_WAYS + way));
	}
	return (unsigned)best % SP_CACHE_SET_WAYS;
}

/* Sixteen bits of the hash that neither the set nor the way's tag uses; not 0. */
static uint16_t ghost_tag(uint64_t hash)
{
	uint16_t tag = (uint16_t)(hash >> 16);

	return tag != 0 ? tag : 1;
}

void sp_cache_set_put_ghost(sp_cache_set *set, unsigned ghost, uint64_t hash, unsigned score)
{
	atomic_store_explicit(&set->ghosts[ghost], score != 0 ? ghost_tag(hash) : 0,
			      memory_order_relaxed);
	put_ghost_score(set, ghost, score);
}

unsigned sp_cache_set_miss(sp_cache_set *set, uint64_t hash, unsigned *ghost)
{
	uint16_t ghosts[SP_CACHE_SET_GHOSTS], tag = ghost_tag(hash);
	uint8_t scores[SP_CACHE_SET_GHOSTS];
	int16_t least = INT16_MAX, own = SP_CACHE_SET_GHOSTS; /* least: score * 16 + ghost */
	unsigned score;

	copy_sixteen(ghosts, &set->ghosts[0]);
	copy_sixteen(ghosts + 8, &set->ghosts[8]);
	copy_sixteen(scores, set->ghost_score);
	for (int g = 0; g < SP_CACHE_SET_GHOSTS; g++) {
		int16_t other = ghosts[g] == tag ? 0 : SP_CACHE_SET_GHOSTS;

		least = min16(least, (int16_t)(scores[g] * SP_CACHE_SET_GHOSTS + g));
		own = min16(own, (int16_t)(other + g));
	}
	if (own >= SP_CACHE_SET_GHOSTS) {
		*ghost = (unsigned)least % SP_CACHE_SET_GHOSTS;
		sp_cache_set_put_ghost(set, *ghost, hash, 1);
		return 1;
	}
	*ghost = (unsigned)own;
	score = ghost_score(set, *ghost);
	if (score < SP_CACHE_SET_MAX_SCORE)
		score++;
	put_ghost_score(set, *ghost, score);
	return score;
}

unsigned sp_cache_set_insertion_score(const sp_cache_set *set, unsigned older)
{
	unsigned scores[SP_CACHE_SET_WAYS], used = 0, empty, rank = 0;

	for (unsigned way = 0; way < SP_CACHE_SET_WAYS; way++) {
		unsigned at = used, score = sp_cache_set_score(set, way);

		if (sp_cache_set_tag(set, way) == 0)
			continue;
		for (; at > 0 && scores[at - 1] > score; at--)
			scores[at] = scores[at - 1];
		scores[at] = score;
		used++;
	}
	if (used == 0)
		return SP_CACHE_SET_MAX_SCORE;
	empty = SP_CACHE_SET_WAYS - used;
	if (empty < older)
		rank = older - 1 - empty;
	if (rank >= used)
		rank = used - 1;
	return scores[rank] > 0 ? scores[rank] - 1 : 0;
}
