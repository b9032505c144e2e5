#include "session_group/slots.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/alloc.h"
#include "base/thread.h"

/*
 * `balance` is the number of idle slots that no thread has a claim on, less the number of waiting
 * threads.
 *
 * Acquire decrements it, but never below -max_waiting.  If it was positive, the thread has a claim:
 * an idle slot exists for it, and it searches for one.  Otherwise the thread queues until a release
 * gives it a claim.  While any thread waits the balance is at most zero, so new threads cannot
 * overtake.
 *
 * A thread whose deadline has passed increments the balance again and leaves the queue, but only
 * while the balance is negative: then there are more waiters than claims being given.  Otherwise
 * one of these claims is meant for this thread, and it waits for it.
 *
 * Release marks its slot idle before it increments the balance, so there are never fewer idle slots
 * than claims.  A search may still find no idle slot in one pass if other threads with claims take
 * slots meanwhile; it goes on and finds another.
 */

enum { CACHE_LINE = 64, NS_PER_S = 1000000000 };

/* On its own cache line, because other threads write its neighbours. */
typedef struct slot {
	_Alignas(CACHE_LINE) atomic_bool busy;
} slot;

/* A waiting thread; on that thread's stack. */
typedef struct waiter {
	struct waiter *next;
	pthread_cond_t woken;
	bool has_claim;
} waiter;

struct sp_slots {
	_Alignas(CACHE_LINE) atomic_int_least64_t balance;

	/* Protects first, last, waiting, early_claims, and the waiters' has_claim. */
	_Alignas(CACHE_LINE) pthread_mutex_t lock;
	waiter *first;
	waiter **last;
	size_t waiting;
	size_t early_claims; /* for threads that have decremented `balance` and not queued yet */

	int64_t max_waiting;
	size_t count;
	slot slots[];
};

sp_status sp_slots_create(sp_slots **out, size_t count, size_t max_waiting, sp_error *err)
{
	sp_slots *slots = NULL;

	assert(count >= 1);
	if (count <= (SIZE_MAX - sizeof(*slots)) / sizeof(slots->slots[0]))
		slots = sp_alloc_aligned(CACHE_LINE,
					 sizeof(*slots) + count * sizeof(slots->slots[0]));
	SP_NEED_MEMORY(slots, err, "%zu slots", count);
	atomic_init(&slots->balance, (int64_t)count);
	pthread_mutex_init(&slots->lock, NULL);
	slots->first = NULL;
	slots->last = &slots->first;
	slots->waiting = 0;
	slots->early_claims = 0;
	slots->max_waiting = max_waiting < INT64_MAX ? (int64_t)max_waiting : INT64_MAX;
	slots->count = count;
	for (size_t i = 0; i < count; i++)
		atomic_init(&slots->slots[i].busy, false);
	*out = slots;
	return SP_OK;
}

void sp_slots_destroy(sp_slots *slots)
{
	if (slots == NULL)
		return;
	assert(atomic_load(&slots->balance) == (int64_t)slots->count);
	pthread_mutex_destroy(&slots->lock);
	sp_free(slots);
}

size_t sp_slots_waiting(sp_slots *slots)
{
	size_t waiting;

	pthread_mutex_lock(&slots->lock);
	waiting = slots->waiting;
	pthread_mutex_unlock(&slots->lock);
	return waiting;
}

static bool take(sp_slots *slots, size_t i)
{
	atomic_bool *busy = &slots->slots[i].busy;

	return !atomic_load_explicit(busy, memory_order_relaxed) &&
	       !atomic_exchange_explicit(busy, true, memory_order_acquire);
}

/* The calling thread has a claim, so an idle slot exists. */
static size_t take_idle(sp_slots *slots, sp_slots_wish wish)
{
	size_t i = wish.first % slots->count;

	for (size_t k = 0; wish.numbers != NULL && k < wish.count; k++) {
		i = wish.numbers[(wish.first % wish.count + k) % wish.count];
		if (take(slots, i))
			return i;
	}
	while (!take(slots, i))
		i = i + 1 == slots->count ? 0 : i + 1;
	return i;
}

/* Decrements the balance unless that makes it less than `least`; *before is what it was. */
static bool decrement(sp_slots *slots, int64_t least, int_least64_t *before)
{
	*before = atomic_load_explicit(&slots->balance, memory_order_relaxed);
	while (*before > least)
		if (atomic_compare_exchange_weak(&slots->balance, before, *before - 1))
			return true;
	return false;
}

/* The lock is held. */
static void leave_queue(sp_slots *slots, const waiter *self)
{
	waiter **at = &slots->first;

	while (*at != self)
		at = &(*at)->next;
	*at = self->next;
	if (slots->last == &self->next)
		slots->last = at;
	slots->waiting--;
}

/* Increments the balance for a thread that gives up; false if a claim is being given to it. */
static bool withdraw(sp_slots *slots)
{
	int_least64_t balance = atomic_load(&slots->balance);

	while (balance < 0)
		if (atomic_compare_exchange_weak(&slots->balance, &balance, balance + 1))
			return true;
	return false;
}

/* The lock is held.  False if the deadline has passed first; the thread has then left the queue. */
static bool wait_in_queue(sp_slots *slots, waiter *self, int64_t deadline_ns)
{
	const struct timespec until = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};
	bool timed = deadline_ns != 0;

	while (!self->has_claim) {
		if (!timed) {
			pthread_cond_wait(&self->woken, &slots->lock);
		} else if (pthread_cond_timedwait(&self->woken, &slots->lock, &until) != 0 &&
			   !self->has_claim) {
			if (withdraw(slots)) {
				leave_queue(slots, self);
				return false;
			}
			timed = false;
		}
	}
	return true;
}

static bool wait_for_claim(sp_slots *slots, int64_t deadline_ns)
{
	waiter self = {.next = NULL, .has_claim = false};
	bool has_claim;

	pthread_mutex_lock(&slots->lock);
	if (slots->early_claims > 0) {
		slots->early_claims--;
		pthread_mutex_unlock(&slots->lock);
		return true;
	}
	sp_condition_init(&self.woken);
	*slots->last = &self;
	slots->last = &self.next;
	slots->waiting++;
	has_claim = wait_in_queue(slots, &self, deadline_ns);
	pthread_mutex_unlock(&slots->lock);
	pthread_cond_destroy(&self.woken);
	return has_claim;
}

/* Gives a claim to one waiting thread, which may not have queued yet. */
static void give_claim(sp_slots *slots)
{
	waiter *head;

	pthread_mutex_lock(&slots->lock);
	head = slots->first;
	if (head == NULL) {
		slots->early_claims++;
	} else {
		slots->first = head->next;
		if (slots->first == NULL)
			slots->last = &slots->first;
		slots->waiting--;
		head->has_claim = true;
		/* While the lock is held: afterwards the waiter may no longer exist. */
		pthread_cond_signal(&head->woken);
	}
	pthread_mutex_unlock(&slots->lock);
}

sp_status sp_slots_acquire(size_t *out, sp_slots *slots, sp_slots_wish wish, int64_t deadline_ns)
{
	int_least64_t before;

	if (!decrement(slots, -slots->max_waiting, &before))
		return SP_BUSY;
	if (before <= 0 && !wait_for_claim(slots, deadline_ns))
		return SP_DEADLINE;
	*out = take_idle(slots, wish);
	return SP_OK;
}

bool sp_slots_try_acquire(size_t *out, sp_slots *slots, sp_slots_wish wish)
{
	int_least64_t before;

	if (!decrement(slots, 0, &before))
		return false;
	*out = take_idle(slots, wish);
	return true;
}

void sp_slots_release(sp_slots *slots, size_t i)
{
	assert(i < slots->count && atomic_load(&slots->slots[i].busy));
	atomic_store_explicit(&slots->slots[i].busy, false, memory_order_release);
	if (atomic_fetch_add(&slots->balance, 1) < 0)
		give_claim(slots);
}
