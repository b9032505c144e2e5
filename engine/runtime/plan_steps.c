#include <string.h>

#include "engine/runtime/plan_internal.h"

/*
 * From the nodes that are steps to steps with slots.  The steps of a region
 * stand in a row, and regions share no slots.
 *
 * What a region reads from around it is captured: the step that owns the region
 * refers to it, too, behind its inputs, so that it lives until that step is done.
 * A branch runs once at most: there the last reader of a capture that dies with
 * the condition may have it for itself.
 *
 * A variable of a loop lives in the body; the condition only looks at it.
 */

static const uint32_t NONE = UINT32_MAX;

typedef struct item {
	struct item *next;
	uint32_t number; /* of a value */
} item;

typedef struct writer {
	sp_planner *pl;
	sp_plan *plan;
	const sp_program *program;
	item **captures;      /* [regions] values from around it */
	uint32_t *captured;   /* [values] the region that last noted it, or NONE */
	item **dying;         /* [regions] captures that the branch may release */
	uint32_t *dies_in;    /* [values] the branch that is being placed, or NONE */
	uint32_t *owner_step; /* [regions] */
	uint32_t *next_step;  /* [regions] */
	uint32_t *life;       /* [values] the region at whose end it is gone */
	uint32_t *slot_of;    /* [values] */
	uint32_t *last_use;   /* [values] step number + 1; 0 never; NONE until the end */
	uint32_t *free_slots; /* a stack */
	size_t free_count;
	uint32_t *ends; /* what the region that is being placed releases at its end */
	size_t end_count;
	size_t release_count;
	size_t ref_capacity;
	size_t out_capacity;
} writer;

/* ---------------------------------------------------------------- reading */

/* Values known per version are computed outside of all regions. */
static uint32_t region_of(const writer *w, uint32_t region)
{
	return w->pl->level == SP_LEVEL_REQUEST ? region : 0;
}

static uint32_t home_of(const writer *w, uint32_t number)
{
	return region_of(w, w->program->values[number].region);
}

static const sp_control_layout *layout_of(const sp_prepared *node)
{
	return (node->node->op->flags & SP_OP_CONTROL) != 0 ? node->state : NULL;
}

/* Inputs that the step itself reads; behind them is what its regions return. */
static uint32_t own_inputs(const sp_prepared *node)
{
	const sp_control_layout *layout = layout_of(node);

	return layout != NULL ? layout->plain_count + layout->argument_count
			      : (uint32_t)node->node->input_count;
}

/* The value of input k: for a variable of a loop what it holds at first. */
static uint32_t input_value(const writer *w, const sp_prepared *node, uint32_t k)
{
	const sp_control_layout *layout = layout_of(node);
	sp_port port = node->node->inputs[k];

	if (layout != NULL && k >= layout->plain_count && k < own_inputs(node))
		port = w->program->prepared[port.node].node->inputs[0];
	return sp_program__value(w->program, port);
}

/* The region in which the k-th input is read. */
static uint32_t reading_region(const sp_prepared *node, uint32_t k)
{
	const sp_control_layout *layout = layout_of(node);
	uint32_t own = own_inputs(node), first = node->node->first_region;

	if (k < own)
		return node->node->region;
	switch (layout->kind) {
	case SP_CONTROL_IF:
	case SP_CONTROL_CASE:
		return first + (k - own) / (layout->return_count / node->node->region_count);
	case SP_CONTROL_WHILE:
		return first + (k != own);
	case SP_CONTROL_FOR:
		return first + 1;
	}
	return first;
}

/* A slot's number is filled in later. */
static sp_ref ref_to(writer *w, uint32_t number)
{
	sp_program *program = w->pl->program;
	const sp_value *value = &program->values[number];

	if (value->constant != NULL)
		return (sp_ref){SP_REF_CONSTANT, number};
	if (w->pl->feed_of[number] != SP_PLAN_NONE)
		return (sp_ref){SP_REF_FEED, w->pl->feed_of[number]};
	if (value->level == SP_LEVEL_SNAPSHOT && w->pl->level == SP_LEVEL_REQUEST) {
		if (program->snapshot_index[number] == NONE)
			program->snapshot_index[number] = program->snapshot_count++;
		return (sp_ref){SP_REF_SNAPSHOT, program->snapshot_index[number]};
	}
	return (sp_ref){SP_REF_SLOT, number};
}

/* A control edge from something that may have no value, unless from a region of its own. */
static bool is_read_control(const writer *w, const sp_prepared *node, size_t k)
{
	const sp_prepared *from = &w->program->prepared[node->node->controls[k]];
	uint32_t region = node->node->region;

	if (!node->may_die || !from->may_die)
		return false;
	while (region > from->node->region)
		region = w->program->graph->around[region];
	return region == from->node->region;
}

static uint32_t control_value(const writer *w, const sp_prepared *node, size_t k)
{
	const sp_prepared *from = &w->program->prepared[node->node->controls[k]];

	return w->program->values[from->first_value].alias;
}

/* -------------------------------------------------------------- captures */

static bool add_item(writer *w, item **list, uint32_t number)
{
	item *new = sp_arena_alloc(w->pl->scratch, sizeof(*new));

	if (new == NULL)
		return false;
	*new = (item){*list, number};
	*list = new;
	return true;
}

/* `number` is read in `region`. */
static bool capture(writer *w, uint32_t region, uint32_t number)
{
	uint32_t home = home_of(w, number);

	if (region == home || w->captured[number] == region)
		return true;
	if (ref_to(w, number).kind != SP_REF_SLOT)
		return true;
	w->captured[number] = region;
	for (; region != home; region = w->program->graph->around[region])
		if (!add_item(w, &w->captures[region], number))
			return false;
	return true;
}

static bool find_captures(writer *w)
{
	const sp_program *program = w->program;

	for (size_t i = 0; i < program->graph->node_count; i++) {
		const sp_prepared *node = &program->prepared[i];

		if (!sp_plan__is_step(w->pl, i))
			continue;
		for (uint32_t k = 0; k < node->node->input_count; k++)
			if (!capture(w, region_of(w, reading_region(node, k)),
				     input_value(w, node, k)))
				return false;
		for (size_t k = 0; k < node->node->control_count; k++)
			if (is_read_control(w, node, k) &&
			    !capture(w, region_of(w, node->node->region),
				     control_value(w, node, k)))
				return false;
	}
	return true;
}

/* The next owned region that lies in the owner's own; the body of a loop lies in its condition. */
static bool is_direct(const writer *w, const sp_prepared *node, uint32_t r)
{
	return w->program->graph->around[node->node->first_region + r] == node->node->region;
}

/* ----------------------------------------------------------------- steps */

static void add_ref(writer *w, uint32_t number)
{
	w->plan->refs[w->plan->ref_count++] = ref_to(w, number);
}

static void add_refs(writer *w, sp_step *step, const sp_prepared *node)
{
	uint32_t first = (uint32_t)w->plan->ref_count;

	step->first_in = first;
	step->in_count = own_inputs(node);
	for (uint32_t k = 0; k < step->in_count; k++)
		add_ref(w, input_value(w, node, k));
	for (size_t k = 0; k < node->node->control_count; k++)
		if (is_read_control(w, node, k))
			add_ref(w, control_value(w, node, k));
	for (uint32_t r = 0; r < node->node->region_count; r++)
		for (item *c = w->captures[node->node->first_region + r];
		     c != NULL && is_direct(w, node, r); c = c->next)
			add_ref(w, c->number);
	step->control_count = (uint32_t)w->plan->ref_count - first - step->in_count;
}

/* What a step that runs regions needs beyond its inputs. */
static bool add_control(writer *w, sp_step *step, const sp_prepared *node)
{
	const sp_control_layout *layout = layout_of(node);
	sp_control *control = sp_arena_alloc(w->program->arena, sizeof(*control));
	uint32_t own = own_inputs(node), region = node->node->first_region;

	if (control == NULL)
		return false;
	*control = (sp_control){.kind = layout->kind,
				.first_region = region,
				.region_count = node->node->region_count,
				.plain_count = layout->plain_count,
				.first_argument = (uint32_t)w->plan->out_count,
				.argument_count = layout->argument_count,
				.first_return = (uint32_t)w->plan->ref_count,
				.return_count = layout->return_count,
				.scalar_only = layout->scalar_only};
	step->control = control;
	for (uint32_t k = 0; k < layout->argument_count; k++) {
		sp_port port = node->node->inputs[layout->plain_count + k];
		uint32_t number = sp_program__value(w->program, port);

		w->plan->out_slots[w->plan->out_count++] = number;
		w->life[number] = region + 1;
	}
	for (uint32_t k = own; k < node->node->input_count; k++)
		add_ref(w, input_value(w, node, k));
	for (uint32_t r = 0; r < control->region_count; r++)
		w->owner_step[region + r] = (uint32_t)(step - w->plan->steps);
	return true;
}

static sp_status refuse_change(const sp_call *call)
{
	return sp_error_set(call->err, SP_UNSUPPORTED, "a request cannot change the model's state");
}

static sp_status refuse_reading(const sp_call *call)
{
	return sp_error_set(call->err, SP_UNSUPPORTED,
			    "a request cannot read a file, which only what loads the model may do");
}

static bool add_step(writer *w, size_t i)
{
	const sp_prepared *node = &w->program->prepared[i];
	sp_plan *plan = w->plan;
	uint32_t region = region_of(w, node->node->region);
	sp_step *step = &plan->steps[w->next_step[region]++];
	const sp_op *op = node->node->op;
	bool refused = (op->flags & SP_OP_LOAD_ONLY) != 0 && !w->program->loading;

	*step = (sp_step){.run = !refused                               ? node->run
				 : (op->flags & SP_OP_READS_FILES) != 0 ? refuse_reading
									: refuse_change,
			  .state = node->state,
			  .node = node->node,
			  .wanted_by = w->pl->value[i] | w->pl->reach[i],
			  .first_out = (uint32_t)plan->out_count,
			  .out_count = node->out_count,
			  .may_die = node->may_die,
			  .life_sign = node->may_die && node->out_count == 0,
			  .takes_dead = (op->flags & SP_OP_TAKES_DEAD) != 0};
	add_refs(w, step, node);
	for (uint32_t k = 0; k < node->out_count + step->life_sign; k++) {
		plan->out_slots[plan->out_count++] = node->first_value + k;
		w->life[node->first_value + k] = region;
	}
	return layout_of(node) == NULL || add_control(w, step, node);
}

/* How many steps, references and outputs there will be. */
static void count_steps(writer *w)
{
	const sp_program *program = w->program;
	sp_plan *plan = w->plan;

	for (size_t i = 0; i < program->graph->node_count; i++) {
		const sp_prepared *node = &program->prepared[i];

		if (!sp_plan__is_step(w->pl, i))
			continue;
		plan->step_count++;
		plan->regions[region_of(w, node->node->region)].step_count++;
		w->ref_capacity += node->node->input_count + node->node->control_count;
		w->out_capacity += node->out_count + 1;
		if (layout_of(node) == NULL)
			continue;
		w->out_capacity += layout_of(node)->argument_count;
		for (uint32_t r = 0; r < node->node->region_count; r++)
			for (item *c = w->captures[node->node->first_region + r]; c != NULL;
			     c = c->next)
				w->ref_capacity++;
	}
}

static bool write_steps(writer *w)
{
	const sp_program *program = w->program;
	sp_arena *arena = program->arena;
	sp_plan *plan = w->plan;
	uint32_t first = 0;

	plan->steps = sp_arena_array(arena, plan->step_count, sizeof(*plan->steps));
	plan->refs = sp_arena_array(arena, w->ref_capacity, sizeof(*plan->refs));
	plan->out_slots = sp_arena_array(arena, w->out_capacity, sizeof(*plan->out_slots));
	plan->releases = sp_arena_array(arena, w->ref_capacity + 2 * w->out_capacity,
					sizeof(*plan->releases));
	w->free_slots = sp_arena_array(w->pl->scratch, w->out_capacity, sizeof(*w->free_slots));
	w->ends = sp_arena_array(w->pl->scratch, w->out_capacity, sizeof(*w->ends));
	if (plan->steps == NULL || plan->refs == NULL || plan->out_slots == NULL ||
	    plan->releases == NULL || w->free_slots == NULL || w->ends == NULL)
		return false;
	for (size_t r = 0; r < program->graph->region_count; r++) {
		plan->regions[r].first_step = w->next_step[r] = first;
		first += plan->regions[r].step_count;
	}
	for (size_t i = 0; i < program->graph->node_count; i++)
		if (sp_plan__is_step(w->pl, i) && !add_step(w, i))
			return false;
	return true;
}

static void add_fetches(writer *w)
{
	const sp_entry_spec *entry = w->pl->entry;

	for (size_t i = 0; i < entry->fetch_count; i++) {
		uint32_t number = sp_program__value(w->program, entry->fetches[i]);

		w->plan->fetches[i] = ref_to(w, number);
		if (w->plan->fetches[i].kind == SP_REF_SLOT)
			w->last_use[number] = NONE;
	}
}

/* -------------------------------------------------------------- last uses */

static void use(writer *w, sp_ref ref, uint32_t region, uint32_t when)
{
	if (ref.kind == SP_REF_SLOT && w->life[ref.index] == region &&
	    w->last_use[ref.index] != NONE)
		w->last_use[ref.index] = when;
}

static uint32_t refs_of(const sp_step *step)
{
	return step->in_count + step->control_count;
}

/* What the regions of a step return, and what the condition leaves to the body. */
static void keep_to_the_end(writer *w, const sp_control *control)
{
	uint32_t last = control->first_region + control->region_count;

	for (uint32_t k = 0; k < control->return_count; k++) {
		sp_ref ref = w->plan->refs[control->first_return + k];

		if (ref.kind == SP_REF_SLOT && w->life[ref.index] >= control->first_region &&
		    w->life[ref.index] < last)
			w->last_use[ref.index] = NONE;
	}
	if (control->argument_count == 0 && control->kind != SP_CONTROL_WHILE)
		return;
	for (item *c = w->captures[control->first_region + 1]; c != NULL; c = c->next)
		if (w->life[c->number] == control->first_region)
			w->last_use[c->number] = NONE;
	for (uint32_t k = 0; k < control->argument_count; k++) {
		uint32_t number = w->plan->out_slots[control->first_argument + k];

		if (w->last_use[number] == 0)
			w->last_use[number] = NONE;
	}
}

static void find_last_uses(writer *w)
{
	const sp_plan *plan = w->plan;

	for (uint32_t r = 0; r < w->program->graph->region_count; r++) {
		const sp_plan_region *region = &plan->regions[r];

		for (uint32_t s = region->first_step; s < region->first_step + region->step_count;
		     s++)
			for (uint32_t k = 0; k < refs_of(&plan->steps[s]); k++)
				use(w, plan->refs[plan->steps[s].first_in + k], r, s + 1);
	}
	for (size_t s = 0; s < plan->step_count; s++)
		if (plan->steps[s].control != NULL)
			keep_to_the_end(w, plan->steps[s].control);
}

/* ----------------------------------------------------------------- slots */

static uint32_t take_slot(writer *w)
{
	if (w->free_count != 0)
		return w->free_slots[--w->free_count];
	return (uint32_t)w->plan->slot_count++;
}

static void add_release(writer *w, sp_step *step, uint32_t slot)
{
	w->plan->releases[w->release_count++] = slot;
	step->release_count++;
}

/* Only what the region's own steps make leaves a slot for others of them. */
static bool is_made_in(const writer *w, uint32_t number, uint32_t region)
{
	return home_of(w, number) == region && w->life[number] == region;
}

/*
 * Slot numbers for what a step reads; what it reads last is free after it.  For
 * a condition the numbers of the captures that die are noted for its branches.
 */
static bool place_inputs(writer *w, sp_step *step, uint32_t region, uint32_t s)
{
	sp_ref *refs = w->plan->refs + step->first_in;
	bool branches = step->control != NULL && step->control->argument_count == 0 &&
			step->control->kind != SP_CONTROL_WHILE;

	for (uint32_t k = 0; k < refs_of(step); k++) {
		uint32_t number = refs[k].index;

		if (refs[k].kind != SP_REF_SLOT)
			continue;
		refs[k].index = w->slot_of[number];
		if (w->last_use[number] != s + 1)
			continue;
		w->last_use[number] = 0; /* a second reading by this step must not release twice */
		add_release(w, step, refs[k].index);
		if (is_made_in(w, number, region))
			w->free_slots[w->free_count++] = refs[k].index;
		if (k < 64 && k < step->in_count)
			step->in_dies |= (uint64_t)1 << k;
		for (uint32_t r = 0;
		     branches && k >= step->in_count && r < step->control->region_count; r++)
			if (!add_item(w, &w->dying[step->control->first_region + r], number))
				return false;
	}
	return true;
}

/* An input that the step reads twice does not die at the first reading. */
static void keep_repeated(writer *w, sp_step *step)
{
	const sp_ref *refs = w->plan->refs + step->first_in;

	for (uint32_t k = 0; k < step->in_count && k < 64; k++)
		for (uint32_t j = 0; j < refs_of(step) && (step->in_dies >> k & 1) != 0; j++)
			if (j != k && refs[j].kind == SP_REF_SLOT && refs[j].index == refs[k].index)
				step->in_dies &= ~((uint64_t)1 << k);
}

/* The variables of a loop have slots for themselves. */
static void place_arguments(writer *w, const sp_control *control)
{
	uint32_t *slots = w->plan->out_slots + control->first_argument;

	for (uint32_t k = 0; k < control->argument_count; k++)
		w->slot_of[slots[k]] = (uint32_t)w->plan->slot_count++;
}

/*
 * Outputs get their slots before the inputs give theirs back: a step's output
 * never lies over its input.
 */
static bool place_step(writer *w, uint32_t region, uint32_t s)
{
	sp_step *step = &w->plan->steps[s];
	uint32_t *outs = w->plan->out_slots + step->first_out;
	uint32_t out_count = step->out_count + step->life_sign;

	step->first_release = (uint32_t)w->release_count;
	for (uint32_t k = 0; k < out_count; k++)
		w->slot_of[outs[k]] = take_slot(w);
	if (step->control != NULL)
		place_arguments(w, step->control);
	if (!place_inputs(w, step, region, s))
		return false;
	keep_repeated(w, step);
	for (uint32_t k = 0; k < out_count; k++) {
		uint32_t number = outs[k];

		outs[k] = w->slot_of[number];
		if (w->last_use[number] == NONE && region != 0)
			w->ends[w->end_count++] = outs[k];
		if (w->last_use[number] != 0)
			continue;
		add_release(w, step, outs[k]);
		w->free_slots[w->free_count++] = outs[k];
	}
	return true;
}

/* When a branch is done with the captures that it may release. */
static void find_last_uses_in_branch(writer *w, uint32_t r)
{
	const sp_plan *plan = w->plan;
	const sp_plan_region *region = &plan->regions[r];
	const sp_control *control;

	for (item *d = w->dying[r]; d != NULL; d = d->next)
		w->dies_in[d->number] = r;
	for (uint32_t s = region->first_step; s < region->first_step + region->step_count; s++)
		for (uint32_t k = 0; k < refs_of(&plan->steps[s]); k++) {
			sp_ref ref = plan->refs[plan->steps[s].first_in + k];

			if (ref.kind == SP_REF_SLOT && w->dies_in[ref.index] == r)
				w->last_use[ref.index] = s + 1;
		}
	control = plan->steps[w->owner_step[r]].control;
	for (uint32_t k = 0; k < control->return_count; k++) {
		sp_ref ref = plan->refs[control->first_return + k];

		if (ref.kind == SP_REF_SLOT && w->dies_in[ref.index] == r)
			w->last_use[ref.index] = 0; /* returned: not to be released */
	}
}

/* The variables that the body has not released come last. */
static void add_variable_ends(writer *w, uint32_t r)
{
	const sp_control *control = w->plan->steps[w->owner_step[r]].control;
	uint32_t *slots = w->plan->out_slots + control->first_argument;

	if (r == control->first_region)
		return;
	for (uint32_t k = 0; k < control->argument_count; k++)
		if (w->last_use[slots[k]] == NONE)
			w->ends[w->end_count++] = w->slot_of[slots[k]];
}

static bool place_region(writer *w, uint32_t r)
{
	sp_plan_region *region = &w->plan->regions[r];
	uint32_t last = region->first_step + region->step_count;

	w->free_count = 0;
	w->end_count = 0;
	if (w->dying[r] != NULL)
		find_last_uses_in_branch(w, r);
	for (uint32_t s = region->first_step; s < last; s++)
		if (!place_step(w, r, s))
			return false;
	for (item *d = w->dying[r]; d != NULL; d = d->next) {
		w->dies_in[d->number] = NONE;
		w->last_use[d->number] = 0;
	}
	if (r != 0 && w->owner_step[r] != NONE)
		add_variable_ends(w, r);
	region->first_release = (uint32_t)w->release_count;
	region->release_count = (uint32_t)w->end_count;
	for (size_t i = 0; i < w->end_count; i++)
		w->plan->releases[w->release_count++] = w->ends[i];
	return true;
}

/* Numbers of values become numbers of slots where that has waited for all regions. */
static void place_the_rest(writer *w)
{
	sp_plan *plan = w->plan;

	for (size_t s = 0; s < plan->step_count; s++) {
		const sp_control *control = plan->steps[s].control;

		for (uint32_t k = 0; control != NULL && k < control->return_count; k++) {
			sp_ref *ref = &plan->refs[control->first_return + k];

			if (ref->kind == SP_REF_SLOT)
				ref->index = w->slot_of[ref->index];
		}
		for (uint32_t k = 0; control != NULL && k < control->argument_count; k++) {
			uint32_t *slot = &plan->out_slots[control->first_argument + k];

			*slot = w->slot_of[*slot];
		}
	}
	for (size_t i = 0; i < plan->fetch_count; i++)
		if (plan->fetches[i].kind == SP_REF_SLOT)
			plan->fetches[i].index = w->slot_of[plan->fetches[i].index];
}

/* ------------------------------------------------------------------- all */

static bool make_room(writer *w)
{
	size_t regions = w->program->graph->region_count, values = w->program->value_count;
	sp_arena *scratch = w->pl->scratch;

	w->captures = sp_arena_zeros(scratch, regions, sizeof(item *));
	w->dying = sp_arena_zeros(scratch, regions, sizeof(item *));
	w->owner_step = sp_arena_array(scratch, regions, sizeof(uint32_t));
	w->next_step = sp_arena_zeros(scratch, regions, sizeof(uint32_t));
	w->captured = sp_arena_array(scratch, values, sizeof(uint32_t));
	w->dies_in = sp_arena_array(scratch, values, sizeof(uint32_t));
	w->life = sp_arena_zeros(scratch, values, sizeof(uint32_t));
	w->slot_of = sp_arena_zeros(scratch, values, sizeof(uint32_t));
	w->last_use = sp_arena_zeros(scratch, values, sizeof(uint32_t));
	w->plan->regions = sp_arena_zeros(w->program->arena, regions, sizeof(*w->plan->regions));
	if (w->captures == NULL || w->dying == NULL || w->owner_step == NULL ||
	    w->next_step == NULL || w->captured == NULL || w->dies_in == NULL || w->life == NULL ||
	    w->slot_of == NULL || w->last_use == NULL || w->plan->regions == NULL)
		return false;
	memset(w->owner_step, 0xff, regions * sizeof(uint32_t));
	memset(w->captured, 0xff, values * sizeof(uint32_t));
	memset(w->dies_in, 0xff, values * sizeof(uint32_t));
	return true;
}

sp_status sp_plan__add_steps(sp_planner *pl)
{
	writer w = {.pl = pl, .plan = pl->plan, .program = pl->program};
	uint32_t regions = (uint32_t)pl->program->graph->region_count;

	if (!make_room(&w) || !find_captures(&w))
		return sp_plan__no_memory(pl);
	count_steps(&w);
	if (!write_steps(&w))
		return sp_plan__no_memory(pl);
	add_fetches(&w);
	find_last_uses(&w);
	for (uint32_t r = 0; r < regions; r++)
		if (!place_region(&w, r))
			return sp_plan__no_memory(pl);
	place_the_rest(&w);
	return SP_OK;
}
