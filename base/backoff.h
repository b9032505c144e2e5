#ifndef SP_BASE_BACKOFF_H
#define SP_BASE_BACKOFF_H

#include <stdint.h>

/*
 * Exponential backoff with jitter: the pause before the next attempt, in nanoseconds.
 *
 * A random part, half to all, of first_ms * 2^failures, but at most max_ms.  *random is the state
 * of a generator (xorshift64), not 0 at first.
 *
 * Threads: pure, but for *random.
 */
static inline int64_t sp_backoff_ns(uint32_t failures, int64_t first_ms, int64_t max_ms,
				    uint64_t *random)
{
	int64_t pause_ms = first_ms, half_ns;

	for (uint32_t i = 0; i < failures && pause_ms < max_ms; i++)
		pause_ms *= 2;
	if (pause_ms > max_ms)
		pause_ms = max_ms;
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	half_ns = pause_ms * 1000000 / 2;
	return half_ns + (int64_t)(*random % (uint64_t)(half_ns + 1));
}

#endif
