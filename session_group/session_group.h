#ifndef SP_SESSION_GROUP_SESSION_GROUP_H
#define SP_SESSION_GROUP_SESSION_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "session_group/session_homes.h"

/*
 * Limits the number of concurrent requests to N.  Each request acquires a number below N, and with
 * it the session (session_set.h) and the hazard pointer slot (published.h) of that number.
 *
 * select_session_policy decides which number a request prefers:
 *
 *   MOD  always the same for a thread (a hash of its identity modulo N), so that the
 *        memory of the session stays in the caches of its core
 *   RR   round robin
 *
 * Both choose among the sessions near the caller's processor, if sessions have homes.  If the
 * preferred number is busy, the request takes an idle one near, then any idle one; if all are busy,
 * it waits, first come first served, unless too many wait already.  Acquiring an idle number and
 * releasing it takes no lock and makes no system call.
 *
 * Threads: thread-safe, except create and destroy.
 */
typedef struct sp_session_group sp_session_group;

typedef enum sp_session_policy {
	SP_SESSION_POLICY_MOD,
	SP_SESSION_POLICY_RR,
} sp_session_policy;

typedef struct sp_session_group_options {
	size_t count; /* >= 1 */
	sp_session_policy policy;
	size_t max_waiting;            /* requests that may wait at once */
	const sp_session_homes *homes; /* of `count` sessions; outlives the group; may be NULL */
} sp_session_group_options;

SP_MUST_CHECK sp_status sp_session_group_create(sp_session_group **out,
						const sp_session_group_options *options,
						sp_error *err);

/* All numbers must have been released.  NULL is fine. */
void sp_session_group_destroy(sp_session_group *group);

size_t sp_session_group_count(const sp_session_group *group);

/*
 * Acquires a number below count; waits while all are busy.  SP_DEADLINE when deadline_ns, a time of
 * sp_clock_now_ns(), passes first; 0: no deadline.  SP_BUSY at once when max_waiting wait already.
 */
SP_MUST_CHECK sp_status sp_session_group_acquire(size_t *out, sp_session_group *group,
						 int64_t deadline_ns, sp_error *err);

/* Acquires an idle number below count; false at once when there is none. */
bool sp_session_group_try_acquire(size_t *out, sp_session_group *group);

/* The caller must no longer use the session and the version of this number. */
void sp_session_group_release(sp_session_group *group, size_t number);

#endif
