#ifndef SP_SESSION_GROUP_SLOTS_H
#define SP_SESSION_GROUP_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * N numbered slots, each held by one thread at a time.  Threads that find none idle wait, first
 * come first served, until their deadline; a bounded number of them.
 *
 * Acquiring an idle slot, and releasing one while no thread waits, is a few atomic instructions: no
 * lock, no system call.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_slots sp_slots;

/* `count` >= 1; `max_waiting`: how many threads may wait at once. */
SP_MUST_CHECK sp_status sp_slots_create(sp_slots **out, size_t count, size_t max_waiting,
					sp_error *err);

/* No thread may hold or wait for a slot.  NULL is fine. */
void sp_slots_destroy(sp_slots *slots);

/* Number of threads that wait now. */
size_t sp_slots_waiting(sp_slots *slots);

/* Which slots are preferred: numbers[first % count], the others of `numbers`, then any. */
typedef struct sp_slots_wish {
	size_t first;
	const uint16_t *numbers; /* NULL: all slots in order */
	size_t count;            /* of `numbers` */
} sp_slots_wish;

/*
 * Acquires the idle slot that is preferred most, or else waits for the first that is released once
 * all earlier waiters have theirs.  SP_DEADLINE when deadline_ns, a time of sp_clock_now_ns(),
 * passes first; 0: no deadline.  SP_BUSY at once when max_waiting threads wait already.
 */
SP_MUST_CHECK sp_status sp_slots_acquire(size_t *out, sp_slots *slots, sp_slots_wish wish,
					 int64_t deadline_ns);

/* Acquires the idle slot that is preferred most; false at once when none is idle. */
bool sp_slots_try_acquire(size_t *out, sp_slots *slots, sp_slots_wish wish);

/* Releases a slot; any thread may. */
void sp_slots_release(sp_slots *slots, size_t slot);

#endif
