#ifndef SP_ENGINE_EXECUTE_H
#define SP_ENGINE_EXECUTE_H

#include "engine/runtime/program_internal.h"

/* A plan with memory for its values. */
typedef struct sp_plan_frame {
	const sp_plan *plan;
	sp_tensor *feeds;
	sp_tensor *slots;
	const sp_tensor **in; /* [plan->ref_count] */
	sp_tensor **out;      /* [plan->out_count] */
	uint64_t bound;       /* number of the snapshot that `in` points into; 0: none */
} sp_plan_frame;

/* A request that is being run. */
typedef struct sp_execution {
	sp_plan_frame *frame;
	sp_workspace *workspace;
	uint64_t wanted;     /* bits of the fetches that are computed: sp_step.wanted_by */
	int64_t deadline_ns; /* 0: none */
	int64_t loop_ns;     /* the most time for each loop; 0: no limit */
	const atomic_bool *stop;
	sp_run_trace *trace; /* NULL: none */
	uint32_t steps;      /* since the clock was last read */
	sp_call call;        /* what all steps are given */
} sp_execution;

/*
 * Runs the steps of region 0, which run those of the other regions.  The first failure ends it and
 * names the innermost node.  SP_DEADLINE when the deadline has passed, SP_CANCELLED when
 * stopped.
 */
SP_MUST_CHECK sp_status sp_execute(sp_execution *ex);

#endif
