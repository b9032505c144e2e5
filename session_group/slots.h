#ifndef SP_SESSION_GROUP_SLOTS_H
#define SP_SESSION_GROUP_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * N numbered places, each for one thread at a time; threads that find none
 * idle wait in line, first come first served, for as long as they have time.
 *
 * Taking an idle place and giving one back when nobody waits is a few atomic
 * instructions: no lock, no system call.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_slots sp_slots;

/* `count` >= 1. */
SP_MUST_CHECK sp_status sp_slots_create(sp_slots **out, size_t count, sp_error *err);

/* Nobody holds or waits for a slot any more.  NULL is fine. */
void sp_slots_destroy(sp_slots *slots);

/* Threads in line at this moment. */
size_t sp_slots_waiting(sp_slots *slots);

/*
 * A slot of one's own: number `preferred` % count if it is idle, else the next
 * idle one after it, else the first that comes free once those who came before
 * have theirs.  False, and no slot, when deadline_ns on sp_clock_now_ns()'s clock
 * passes before that; 0: never.
 */
bool sp_slots_acquire(size_t *out, sp_slots *slots, size_t preferred, int64_t deadline_ns);

/* Gives back what sp_slots_acquire() returned; any thread may. */
void sp_slots_release(sp_slots *slots, size_t slot);

#endif
