#ifndef SP_ENGINE_SESSION_INTERNAL_H
#define SP_ENGINE_SESSION_INTERNAL_H

#include "engine/runtime/program_internal.h"

/* A session for any plans, such as the snapshot's. */
SP_MUST_CHECK sp_status sp_session__create(sp_session **out, const sp_program *program,
					   const sp_plan *plans, size_t plan_count,
					   size_t workspace_limit, sp_error *err);

/* sp_session_run() with a list for the version's objects; `err` is not NULL. */
SP_MUST_CHECK sp_status sp_session__run_plan(sp_session *session, const sp_run *run,
					     sp_object_list *objects, const sp_tensor **fetches,
					     sp_error *err);

#endif
