#ifndef SP_ENGINE_PLAN_INTERNAL_H
#define SP_ENGINE_PLAN_INTERNAL_H

#include "engine/runtime/program_internal.h"

/* Making a plan: plan.c finds the nodes that an entry needs, plan_steps.c their steps and slots. */

static const uint32_t SP_PLAN_NONE = UINT32_MAX;

typedef struct sp_planner {
	sp_program *program;
	const sp_entry_spec *entry;
	sp_level level;
	sp_plan *plan;
	sp_arena *scratch;
	uint64_t *value;   /* [nodes] bits of the fetches that read the node's value */
	uint64_t *reach;   /* [nodes] bits of the fetches and targets that depend on it otherwise */
	bool *is_step;     /* [nodes] it becomes a step */
	uint32_t *feed_of; /* [values] number of the feed that gives the value, or NONE */
	uint64_t *fed;     /* [feeds] bits of the fetches that read it */
	sp_error *err;
} sp_planner;

static inline sp_status sp_plan__no_memory(const sp_planner *pl)
{
	return sp_error_set(pl->err, SP_NO_MEMORY, "no memory for the plan");
}

/* Fills steps, references, slots and fetches of the plan: plan_steps.c. */
SP_MUST_CHECK sp_status sp_plan__add_steps(sp_planner *pl);

#endif
