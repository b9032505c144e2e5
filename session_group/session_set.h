#ifndef SP_SESSION_GROUP_SESSION_SET_H
#define SP_SESSION_GROUP_SESSION_SET_H

#include <stddef.h>

#include "base/status.h"
#include "engine/runtime/program.h"

/*
 * N sessions of one program: the scratch memory of N concurrent requests.  They serve every version
 * of the program's weights.
 *
 * Threads: a session belongs to the holder of its number (session_group.h).
 */
typedef struct sp_session_set sp_session_set;

/* `program` must outlive the set.  `workspace_limit`: bytes that one request may use. */
SP_MUST_CHECK sp_status sp_session_set_create(sp_session_set **out, const sp_program *program,
					      size_t count, size_t workspace_limit, sp_error *err);

/* NULL is fine. */
void sp_session_set_destroy(sp_session_set *set);

/* Session `number` < count. */
sp_session *sp_session_set_get(const sp_session_set *set, size_t number);

#endif
