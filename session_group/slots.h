#ifndef SP_SESSION_GROUP_SLOTS_H
#define SP_SESSION_GROUP_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * N numbered slots, each held by one thread at a time.  Threads that find none idle wait, first
 * come first served, until their deadline.
 *
 * Acquiring an idle slot, and releasing one while no thread waits, is a few atomic instructions: no
 * lock, no system call.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_slots sp_slots;

/* `count` >= 1. */
SP_MUST_CHECK sp_status sp_slots_create(sp_slots **out, size_t count, sp_error *err);

/* No thread may hold or wait for a slot.  NULL is fine. */
void sp_slots_destroy(sp_slots *slots);

/* Number of threads that wait now. */
size_t sp_slots_waiting(sp_slots *slots);

/*
 * Acquires slot `preferred` % count if it is idle, else the next idle one after it, else waits for
 * the first that is released once all earlier waiters have theirs.  False when deadline_ns, a time
 * of sp_clock_now_ns(), passes first; 0: no deadline.
 */
bool sp_slots_acquire(size_t *out, sp_slots *slots, size_t preferred, int64_t deadline_ns);

/* Releases a slot; any thread may. */
void sp_slots_release(sp_slots *slots, size_t slot);

#endif
