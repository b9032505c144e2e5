#ifndef SP_SESSION_GROUP_SESSION_SET_H
#define SP_SESSION_GROUP_SESSION_SET_H

#include <stddef.h>

#include "base/status.h"
#include "engine/runtime/program.h"
#include "session_group/session_homes.h"

/*
 * N sessions of one program: the scratch memory of N concurrent requests.  They serve every version
 * of the program's weights.
 *
 * Threads: a session belongs to the holder of its number (session_group.h).
 */
typedef struct sp_session_set sp_session_set;

/*
 * `program` and `homes`, which may be NULL, must outlive the set.  `workspace_limit`: bytes that
 * one request may use.
 */
SP_MUST_CHECK sp_status sp_session_set_create(sp_session_set **out, const sp_program *program,
					      size_t count, size_t workspace_limit,
					      const sp_session_homes *homes, sp_error *err);

/* NULL is fine. */
void sp_session_set_destroy(sp_session_set *set);

/* Session `number` < count. */
sp_session *sp_session_set_get(const sp_session_set *set, size_t number);

/* Bytes of memory of all sessions (sp_session_footprint()); any thread, at any time. */
size_t sp_session_set_footprint(const sp_session_set *set);

/*
 * From enter to leave the calling thread takes new memory from the node of session `number`, as far
 * as it has one: so its first requests place the session's memory.
 */
void sp_session_set_enter_home(const sp_session_set *set, size_t number);
void sp_session_set_leave_home(const sp_session_set *set, size_t number);

#endif
