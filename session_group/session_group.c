#include "session_group/session_group.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/alloc.h"
#include "session_group/slots.h"

struct sp_session_group {
	sp_slots *slots;
	sp_session_policy policy;
	atomic_uint_least64_t turn; /* for RR */
	size_t count;
};

sp_status sp_session_group_create(sp_session_group **out, size_t count, sp_session_policy policy,
				  sp_error *err)
{
	sp_session_group *group = sp_alloc_zero(1, sizeof(*group));
	sp_status status;

	assert(count >= 1);
	if (group == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu sessions", count);
	group->policy = policy;
	group->count = count;
	status = sp_slots_create(&group->slots, count, err);
	if (status != SP_OK) {
		sp_free(group);
		return status;
	}
	*out = group;
	return SP_OK;
}

void sp_session_group_destroy(sp_session_group *group)
{
	if (group == NULL)
		return;
	sp_slots_destroy(group->slots);
	sp_free(group);
}

size_t sp_session_group_count(const sp_session_group *group)
{
	return group->count;
}

/*
 * pthread_self() is an address, constant for the life of the thread, and needs no thread-local
 * variable.  The addresses of several threads have regular distances, so they are mixed (finalizer
 * of SplitMix64: Steele, Lea, Flood, 2014).
 */
static size_t thread_number(void)
{
	uint64_t x = (uint64_t)(uintptr_t)pthread_self();

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (size_t)(x ^ (x >> 31));
}

static size_t preferred_by(sp_session_group *group)
{
	if (group->count == 1)
		return 0;
	if (group->policy == SP_SESSION_POLICY_MOD)
		return thread_number();
	return (size_t)(atomic_fetch_add_explicit(&group->turn, 1, memory_order_relaxed) %
			group->count);
}

sp_status sp_session_group_acquire(size_t *out, sp_session_group *group, int64_t deadline_ns,
				   sp_error *err)
{
	if (sp_slots_acquire(out, group->slots, preferred_by(group), deadline_ns))
		return SP_OK;
	return sp_error_set(err, SP_DEADLINE,
			    "the deadline of the request has passed: all of %zu sessions are busy",
			    group->count);
}

void sp_session_group_release(sp_session_group *group, size_t number)
{
	sp_slots_release(group->slots, number);
}
