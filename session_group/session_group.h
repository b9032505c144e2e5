#ifndef SP_SESSION_GROUP_SESSION_GROUP_H
#define SP_SESSION_GROUP_SESSION_GROUP_H

#include <stddef.h>

#include "base/status.h"
#include "engine/program.h"

/*
 * N sessions over one program: N requests run at once, and the parameters
 * exist once.
 *
 * Which session a request gets (select_session_policy):
 *
 *   MOD  the same one for every request of a thread, so that its memory is warm
 *        in that core's caches: a hash of the thread's identity, modulo N
 *   RR   the next one
 *
 * If that session is busy the request takes an idle one; if all are busy it
 * waits in line, first come first served.  Taking an idle session and giving it
 * back takes no lock and makes no system call.
 *
 * Threads: thread-safe, but for create and destroy.
 */
typedef struct sp_session_group sp_session_group;

typedef enum sp_session_policy {
	SP_SESSION_POLICY_MOD,
	SP_SESSION_POLICY_RR,
} sp_session_policy;

typedef struct sp_session_group_options {
	size_t session_count; /* >= 1 */
	sp_session_policy policy;
	size_t workspace_limit; /* bytes that one request may use */
} sp_session_group_options;

/* `program` must outlive the group. */
SP_MUST_CHECK sp_status sp_session_group_create(sp_session_group **out, const sp_program *program,
						const sp_session_group_options *options,
						sp_error *err);

/* No session is acquired any more.  NULL is fine. */
void sp_session_group_destroy(sp_session_group *group);

size_t sp_session_group_count(const sp_session_group *group);

/* A session of one's own, by its number; waits while all are busy. */
size_t sp_session_group_acquire(sp_session_group *group);

/* The caller has reset the session. */
void sp_session_group_release(sp_session_group *group, size_t number);

/* Session `number` < count: for who has acquired it, or has the whole group to itself. */
sp_session *sp_session_group_session(const sp_session_group *group, size_t number);

#endif
