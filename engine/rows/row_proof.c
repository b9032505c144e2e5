#include "engine/rows/row_proof.h"

#include "engine/rows/row_fact.h"
#include "engine/runtime/program_internal.h"

/*
 * Runs the plan on facts instead of tensors.
 *
 * An Assert must hold in all parts exactly if it holds in the whole: its condition is fixed, or an
 * ALL.  A guard around it (Switch) must be decided by that same condition.
 */
typedef struct prover {
	const sp_program *program;
	const sp_plan *plan;
	const sp_snapshot *snapshot;
	sp_row_fact *feeds; /* [feed_count] */
	sp_row_fact *slots; /* [slot_count] */
	sp_row_fact *fixed; /* [most inputs] what a step reads from constants and the snapshot */
	const sp_row_fact **in;
	sp_row_fact *out; /* [most outputs] */
	sp_error *err;
} prover;

enum { DEAD_BY_MANY = UINT32_MAX };

/* ------------------------------------------------------------------------ inputs */

static sp_row_fact fact_of(const sp_tensor *tensor)
{
	sp_row_fact fact = {.kind = SP_ROW_FIXED, .rank = tensor->shape.rank, .value = tensor};

	for (int d = 0; d < fact.rank; d++)
		fact.dims[d] = sp_row_known(tensor->shape.dims[d]);
	return fact;
}

/* What is known at a reference; `room` is for a fact that is made here. */
static const sp_row_fact *fact_at(const prover *p, sp_ref ref, sp_row_fact *room)
{
	switch (ref.kind) {
	case SP_REF_CONSTANT:
		*room = fact_of(p->program->values[ref.index].constant);
		return room;
	case SP_REF_SNAPSHOT:
		*room = fact_of(&p->snapshot->values[ref.index]);
		return room;
	case SP_REF_FEED:
		return &p->feeds[ref.index];
	case SP_REF_SLOT:
		return &p->slots[ref.index];
	}
	return NULL;
}

static sp_status take_feeds(prover *p, const sp_partial_shape *inputs)
{
	for (size_t i = 0; i < p->plan->feed_count; i++) {
		sp_row_fact *fact = &p->feeds[i];

		*fact = (sp_row_fact){.kind = SP_ROW_ROWS, .rank = inputs[i].rank};
		if (inputs[i].rank < 1 || inputs[i].dims[0] >= 0)
			return sp_error_set(p->err, SP_UNSUPPORTED,
					    "input '%s' is declared without a dimension for rows",
					    p->plan->feed_names[i]);
		fact->dims[0] = sp_row_rows(1);
		for (int d = 1; d < fact->rank; d++)
			fact->dims[d] = sp_row_known(inputs[i].dims[d] >= 0 ? inputs[i].dims[d]
									    : SP_ROW_ANY);
	}
	return SP_OK;
}

/* ------------------------------------------------------------------------- steps */

static uint32_t both_dead(uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0 || a == b)
		return a != 0 ? a : b;
	return DEAD_BY_MANY;
}

/* Inputs that do not matter: what an Assert prints, counts of keys that only training uses. */
static bool is_read(const sp_step *step, size_t i)
{
	sp_opcode opcode = step->node->opcode;

	return !(opcode == SP_OPCODE_Assert && i > 0) &&
	       !(opcode == SP_OPCODE_KvResourceGatherV1 && i == 3);
}

static void apply_rule(const prover *p, const sp_step *step, uint32_t number)
{
	sp_row_step rule = {.node = step->node,
			    .resources = p->snapshot->resources,
			    .in = p->in,
			    .in_count = step->in_count,
			    .out = p->out,
			    .out_count = step->out_count,
			    .fresh = number};
	sp_row_rule *fn = step->control == NULL ? sp_row_rule_of(step->node->opcode) : NULL;
	const sp_node *why = step->node;
	bool known = true, uniform = true;

	for (size_t i = 0; i < step->in_count; i++) {
		if (p->in[i]->kind == SP_ROW_UNKNOWN && is_read(step, i) && known) {
			known = false;
			why = p->in[i]->why;
		}
		uniform &= p->in[i]->kind == SP_ROW_FIXED || p->in[i]->kind == SP_ROW_NUMBERS ||
			   (p->in[i]->kind == SP_ROW_ROWS && p->in[i]->uniform);
	}
	for (uint32_t k = 0; k < step->out_count; k++)
		p->out[k] = (sp_row_fact){.kind = SP_ROW_UNKNOWN};
	if (fn != NULL && known && step->in_count != 0)
		fn(&rule);
	for (uint32_t k = 0; k < step->out_count; k++) {
		p->out[k].why = why;
		p->out[k].uniform = p->out[k].kind == SP_ROW_ROWS && (uniform || rule.uniform);
	}
}

/* A value that is there only if a condition holds is not known, unless it is that condition. */
static void apply_switch(const prover *p, const sp_step *step, uint32_t dead_by)
{
	const sp_ref *refs = p->plan->refs + step->first_in;
	const sp_row_fact *condition = p->in[1];
	bool itself = refs[0].kind == refs[1].kind && refs[0].index == refs[1].index;

	for (uint32_t k = 0; k < step->out_count; k++) {
		p->out[k] = (sp_row_fact){.kind = SP_ROW_UNKNOWN, .why = step->node};
		if (itself && condition->kind == SP_ROW_ALL)
			p->out[k] = *condition;
		p->out[k].dead_by = both_dead(
			dead_by, condition->kind == SP_ROW_ALL ? condition->id : DEAD_BY_MANY);
	}
}

static sp_status check_effect(const prover *p, const sp_step *step, uint32_t dead_by)
{
	const sp_prepared *node = &p->program->prepared[step->node - p->program->graph->nodes];
	const sp_row_fact *condition = step->in_count > 0 ? p->in[0] : NULL;
	bool holds = step->node->opcode == SP_OPCODE_Assert && condition != NULL;

	if (!node->has_effect)
		return SP_OK;
	if (holds && condition->kind == SP_ROW_FIXED && dead_by == 0)
		return SP_OK;
	if (holds && condition->kind == SP_ROW_ALL && (dead_by == 0 || dead_by == condition->id))
		return SP_OK;
	return sp_error_set(p->err, SP_UNSUPPORTED,
			    "node '%s' (%s) has an effect or checks something across rows",
			    step->node->name, step->node->op_name);
}

static sp_status run_step(const prover *p, const sp_step *step, uint32_t number)
{
	const sp_ref *refs = p->plan->refs + step->first_in;
	sp_opcode opcode = step->node->opcode;
	uint32_t dead_by = 0;

	for (uint32_t k = 0; k < step->in_count + step->control_count; k++) {
		p->in[k] = fact_at(p, refs[k], &p->fixed[k]);
		dead_by = both_dead(dead_by, p->in[k]->dead_by);
	}
	SP_TRY(check_effect(p, step, dead_by));
	if (opcode == SP_OPCODE_Merge || opcode == SP_OPCODE_RefMerge)
		dead_by = 0;
	if (opcode == SP_OPCODE_Switch || opcode == SP_OPCODE_RefSwitch)
		apply_switch(p, step, dead_by);
	else
		apply_rule(p, step, number);
	for (uint32_t k = 0; k < step->out_count + step->token; k++) {
		sp_row_fact *to = &p->slots[p->plan->out_slots[step->first_out + k]];

		*to = k < step->out_count ? p->out[k] : (sp_row_fact){.why = step->node};
		to->dead_by = both_dead(to->dead_by, dead_by);
		if (to->dead_by != 0 && to->kind != SP_ROW_ALL)
			to->kind = SP_ROW_UNKNOWN;
	}
	return SP_OK;
}

static sp_status check_fetches(const prover *p)
{
	for (size_t i = 0; i < p->plan->fetch_count; i++) {
		sp_row_fact room;
		const sp_row_fact *fact = fact_at(p, p->plan->fetches[i], &room);

		/* No input reaches a constant or a value of the snapshot. */
		if (fact == &room ||
		    (fact->kind == SP_ROW_ROWS && sp_row_is(fact->dims[0], 1, true)))
			continue;
		if (fact->kind == SP_ROW_UNKNOWN && fact->why != NULL)
			return sp_error_set(p->err, SP_UNSUPPORTED,
					    "an output depends on node '%s' (%s), which may mix "
					    "rows",
					    fact->why->name, fact->why->op_name);
		return sp_error_set(p->err, SP_UNSUPPORTED,
				    "output %zu does not have a row for each row of the inputs",
				    i + 1);
	}
	return SP_OK;
}

/* --------------------------------------------------------------------- the proof */

static sp_status make_room(prover *p, sp_arena *arena)
{
	const sp_plan *plan = p->plan;
	size_t in = 0, out = 0;

	for (size_t i = 0; i < plan->step_count; i++) {
		size_t refs = plan->steps[i].in_count + plan->steps[i].control_count;

		in = refs > in ? refs : in;
		out = plan->steps[i].out_count > out ? plan->steps[i].out_count : out;
	}
	p->feeds = sp_arena_zeros(arena, plan->feed_count, sizeof(*p->feeds));
	p->slots = sp_arena_zeros(arena, plan->slot_count, sizeof(*p->slots));
	p->fixed = sp_arena_zeros(arena, in, sizeof(*p->fixed));
	p->in = sp_arena_zeros(arena, in, sizeof(*p->in));
	p->out = sp_arena_zeros(arena, out, sizeof(*p->out));
	if (p->feeds == NULL || p->slots == NULL || p->fixed == NULL || p->in == NULL ||
	    p->out == NULL)
		return sp_no_memory(p->err, "the proof that rows are independent");
	return SP_OK;
}

static sp_status prove(prover *p, const sp_partial_shape *inputs, sp_arena *arena)
{
	const sp_plan_region *region = p->plan->regions;

	SP_TRY(make_room(p, arena));
	SP_TRY(take_feeds(p, inputs));
	for (uint32_t i = 0; i < region->step_count; i++)
		SP_TRY(run_step(p, &p->plan->steps[region->first_step + i], i + 1));
	return check_fetches(p);
}

sp_status sp_program_prove_rows(const sp_program *program, size_t entry,
				const sp_snapshot *snapshot, const sp_partial_shape *inputs,
				sp_error *err)
{
	sp_error ignored;
	prover p = {.program = program,
		    .plan = &program->plans[entry],
		    .snapshot = snapshot,
		    .err = err != NULL ? err : &ignored};
	sp_arena *arena;
	sp_status status;

	if (p.plan->error != NULL)
		return sp_error_set(p.err, p.plan->error->status, "%s", p.plan->error->text);
	arena = sp_arena_create(64 << 10);
	if (arena == NULL)
		return sp_no_memory(p.err, "the proof that rows are independent");
	status = prove(&p, inputs, arena);
	sp_arena_destroy(arena);
	return status;
}
