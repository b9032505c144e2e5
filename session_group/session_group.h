#ifndef SP_SESSION_GROUP_SESSION_GROUP_H
#define SP_SESSION_GROUP_SESSION_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * N numbers that requests take in turn: N requests run at once, each with the
 * session of its number (session_set.h) and with one version of the model
 * pinned under it (published.h).
 *
 * Which number a request gets (select_session_policy):
 *
 *   MOD  the same one for every request of a thread, so that its session's
 *        memory is warm in that core's caches: a hash of the thread's identity,
 *        modulo N
 *   RR   the next one
 *
 * If that one is busy the request takes an idle one; if all are busy it
 * waits in line, first come first served.  Taking an idle number and giving it
 * back takes no lock and makes no system call.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_session_group sp_session_group;

typedef enum sp_session_policy {
	SP_SESSION_POLICY_MOD,
	SP_SESSION_POLICY_RR,
} sp_session_policy;

/* `count` >= 1. */
SP_MUST_CHECK sp_status sp_session_group_create(sp_session_group **out, size_t count,
						sp_session_policy policy, sp_error *err);

/* No number is acquired any more.  NULL is fine. */
void sp_session_group_destroy(sp_session_group *group);

size_t sp_session_group_count(const sp_session_group *group);

/*
 * A number below count of one's own; waits while all are busy.  SP_DEADLINE when
 * deadline_ns on sp_clock_now_ns()'s clock passes before that; 0: never.
 */
SP_MUST_CHECK sp_status sp_session_group_acquire(size_t *out, sp_session_group *group,
						 int64_t deadline_ns, sp_error *err);

/* The same without a deadline. */
size_t sp_session_group_wait(sp_session_group *group);

/* The caller is done with the session and the version that go with the number. */
void sp_session_group_release(sp_session_group *group, size_t number);

#endif
