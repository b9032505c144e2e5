#ifndef SP_ENGINE_PLAN_INTERNAL_H
#define SP_ENGINE_PLAN_INTERNAL_H

#include "engine/runtime/program_internal.h"

/*
 * The making of a plan: plan.c finds what must be done, plan_steps.c writes the
 * steps and hands out slots.
 */

static const uint32_t SP_PLAN_NONE = UINT32_MAX;

typedef struct sp_planner {
	sp_program *program;
	const sp_entry_spec *entry;
	sp_level level;
	sp_plan *plan;
	sp_arena *scratch;
	uint64_t *value;   /* [nodes] outputs that read the node */
	uint64_t *reach;   /* [nodes] outputs that the node stands behind */
	uint32_t *feed_of; /* [values] number of the feed that gives the value, or NONE */
	uint64_t *fed;     /* [feeds] outputs that read it */
	bool *resource_seen;
	sp_error *err;
} sp_planner;

sp_status sp_plan__no_memory(sp_planner *pl);

/* Whether node i becomes a step. */
bool sp_plan__is_step(const sp_planner *pl, size_t i);

/* Fills steps, references, slots and fetches of the plan. */
SP_MUST_CHECK sp_status sp_plan__add_steps(sp_planner *pl);

#endif
