#ifndef SP_ENGINE_SESSION_INTERNAL_H
#define SP_ENGINE_SESSION_INTERNAL_H

#include "engine/runtime/keeper.h"
#include "engine/runtime/program_internal.h"

/* A plan with places for its values. */
typedef struct sp_lane {
	const sp_plan *plan;
	sp_tensor *feeds;
	sp_tensor *slots;
	const sp_tensor **in; /* one per ref of the plan */
	sp_tensor **out;      /* one per output of the plan */
	uint64_t bound;       /* number of the snapshot that `in` points into; 0 none */
} sp_lane;

/* One request under way. */
typedef struct sp_running {
	sp_lane *lane;
	sp_workspace *workspace;
	uint64_t wanted;
	int64_t deadline_ns; /* 0: none */
	int64_t loop_ns;     /* of each loop; 0: any */
	const atomic_bool *stop;
	uint32_t steps; /* since the clock was last looked at */
	sp_call call;   /* what all steps are given */
} sp_running;

/* Runs the steps of a region, in order; they stop at the first failure, whose node is named. */
SP_MUST_CHECK sp_status sp_session__run_region(sp_running *run, uint32_t region);

/* Runs a step that owns regions: engine/runtime/control.c. */
SP_MUST_CHECK sp_status sp_session__run_control(sp_running *run, const sp_step *step);

/* SP_DEADLINE when the request's time is over, SP_BUSY when it is to stop. */
SP_MUST_CHECK sp_status sp_session__check_time(const sp_running *run);

/* A session over plans of `program` that need not be its entries. */
SP_MUST_CHECK sp_status sp_session__create(sp_session **out, const sp_program *program,
					   const sp_plan *plans, size_t plan_count,
					   size_t workspace_limit, sp_error *err);

/* sp_session_run() with a keeper for what its operators leave behind; `err` is not NULL. */
SP_MUST_CHECK sp_status sp_session__run_plan(sp_session *session, const sp_run *run,
					     sp_keeper *keeper, const sp_tensor **fetches,
					     sp_error *err);

#endif
