#include "session_group/session_group.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/alloc.h"
#include "session_group/slots.h"

struct sp_session_group {
	sp_slots *slots;
	sp_session_group_options options;
	atomic_uint_least64_t turn; /* for RR */
};

sp_status sp_session_group_create(sp_session_group **out, const sp_session_group_options *options,
				  sp_error *err)
{
	sp_session_group *group = sp_alloc_zero(1, sizeof(*group));
	sp_status status;

	assert(options->count >= 1);
	SP_NEED_MEMORY(group, err, "%zu sessions", options->count);
	group->options = *options;
	status = sp_slots_create(&group->slots, options->count, options->max_waiting, err);
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
	return group->options.count;
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

static sp_slots_wish wish_for(sp_session_group *group)
{
	sp_slots_wish wish = {0};
	sp_session_list near;

	if (group->options.count == 1)
		return wish;
	if (group->options.homes != NULL) {
		near = sp_session_homes_near(group->options.homes);
		wish.numbers = near.numbers;
		wish.count = near.count;
	}
	if (group->options.policy == SP_SESSION_POLICY_MOD)
		wish.first = thread_number();
	else
		wish.first = (size_t)atomic_fetch_add_explicit(&group->turn, 1,
							       memory_order_relaxed);
	return wish;
}

sp_status sp_session_group_acquire(size_t *out, sp_session_group *group, int64_t deadline_ns,
				   sp_error *err)
{
	sp_status status = sp_slots_acquire(out, group->slots, wish_for(group), deadline_ns);

	if (status == SP_BUSY)
		return sp_error_set(err, SP_BUSY,
				    "all of %zu sessions are busy, and %zu requests wait already",
				    group->options.count, group->options.max_waiting);
	if (status == SP_DEADLINE)
		return sp_error_set(
			err, SP_DEADLINE,
			"the deadline of the request has passed: all of %zu sessions are busy",
			group->options.count);
	return status;
}

bool sp_session_group_try_acquire(size_t *out, sp_session_group *group)
{
	return sp_slots_try_acquire(out, group->slots, wish_for(group));
}

void sp_session_group_release(sp_session_group *group, size_t number)
{
	sp_slots_release(group->slots, number);
}
