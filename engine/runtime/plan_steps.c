#include <string.h>

#include "engine/runtime/plan_internal.h"

/*
 * Steps with slots for their values.  The steps of a region are consecutive, and regions share no
 * slots.
 *
 * A region captures the values that it reads from around it: the step that owns the region lists
 * them after its inputs, so that they live until that step is done.  A branch runs at most once, so
 * the last reader in a branch may take over a capture that is not used after the condition.
 *
 * A variable of a loop belongs to the body; the condition only reads it.
 */

static const uint32_t NONE = UINT32_MAX;

typedef struct item {
	struct item *next;
	uint32_t number; /* of a value */
} item;

/* A list whose capacity is an upper bound that was computed before. */
typedef struct list {
	uint32_t *items;
	size_t count, capacity;
} list;

typedef struct writer {
	sp_planner *pl;
	sp_plan *plan;
	const sp_program *program;
	item **captures;      /* [regions] values that it captures */
	uint32_t *captured;   /* [values] the region that captured it last, or NONE */
	item **dying;         /* [regions] captures that the branch may release */
	uint32_t *dies_in;    /* [values] the branch that is being placed, or NONE */
	uint32_t *owner_step; /* [regions] */
	uint32_t *next_step;  /* [regions] */
	uint32_t *life;       /* [values] the region at whose end it dies */
	uint32_t *slot_of;    /* [values] */
	uint32_t *last_use;   /* [values] step number + 1; 0: none; NONE: lives to the end */
	list free_slots;      /* of the current region: a stack */
	list ends;            /* slots that the current region releases at its end */
	list releases;        /* plan->releases */
	list outs;            /* plan->out_slots */
	size_t ref_capacity;
	bool overflows; /* a capacity was too small: the plan is not usable */
} writer;

/* ---------------------------------------------------------------- reading */

/* The snapshot's plan has no regions. */
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

/* How many inputs the step itself reads; the results of its regions follow. */
static uint32_t own_inputs(const sp_prepared *node)
{
	const sp_control_layout *layout = layout_of(node);

	if (layout == NULL)
		return (uint32_t)node->node->input_count;
	return layout->kind == SP_CONTROL_WHILE ? layout->argument_count : 1;
}

/* The value of input k; for a loop variable, its initial value. */
static uint32_t input_value(const writer *w, const sp_prepared *node, uint32_t k)
{
	const sp_control_layout *layout = layout_of(node);
	sp_port port = node->node->inputs[k];

	if (layout != NULL && k < layout->argument_count)
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
	}
	return first;
}

/* The index of a slot is the value's number until slots are placed. */
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

/* Whether the step must check that the node of control edge k ran. */
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

static bool add_item(writer *w, item **head, uint32_t number)
{
	item *new = sp_arena_alloc(w->pl->scratch, sizeof(*new));

	if (new == NULL)
		return false;
	*new = (item){*head, number};
	*head = new;
	return true;
}

/* Records that `region` reads value `number`. */
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

		if (!w->pl->is_step[i])
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

/*
 * Whether region r lies directly in the owner's region; the body of a loop lies in its condition.
 */
static bool is_direct(const writer *w, const sp_prepared *node, uint32_t r)
{
	return w->program->graph->around[node->node->first_region + r] == node->node->region;
}

/* ----------------------------------------------------------------- steps */

static void push(writer *w, list *l, uint32_t number)
{
	if (l->count < l->capacity)
		l->items[l->count++] = number;
	else
		w->overflows = true;
}

static void add_ref(writer *w, uint32_t number)
{
	if (w->plan->ref_count < w->ref_capacity)
		w->plan->refs[w->plan->ref_count++] = ref_to(w, number);
	else
		w->overflows = true;
}

/* Adds an output of the current step; its value dies at the end of region `life`. */
static void add_output(writer *w, uint32_t number, uint32_t life)
{
	push(w, &w->outs, number);
	w->life[number] = life;
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

/* The control part of a step that runs regions. */
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
				.first_argument = (uint32_t)w->outs.count,
				.argument_count = layout->argument_count,
				.first_return = (uint32_t)w->plan->ref_count,
				.return_count = layout->return_count,
				.scalar_only = layout->scalar_only};
	step->control = control;
	for (uint32_t k = 0; k < layout->argument_count; k++) {
		sp_port port = node->node->inputs[k];

		add_output(w, sp_program__value(w->program, port), region + 1);
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
			  .first_out = (uint32_t)w->outs.count,
			  .out_count = node->out_count,
			  .may_die = node->may_die,
			  .token = node->may_die && node->out_count == 0,
			  .takes_dead = (op->flags & SP_OP_TAKES_DEAD) != 0};
	add_refs(w, step, node);
	for (uint32_t k = 0; k < node->out_count + step->token; k++)
		add_output(w, node->first_value + k, region);
	return layout_of(node) == NULL || add_control(w, step, node);
}

/* Counts the steps, and upper bounds of their references and (returned) outputs. */
static size_t count_steps(writer *w)
{
	const sp_program *program = w->program;
	sp_plan *plan = w->plan;
	size_t outs = 0;

	for (size_t i = 0; i < program->graph->node_count; i++) {
		const sp_prepared *node = &program->prepared[i];

		if (!w->pl->is_step[i])
			continue;
		plan->step_count++;
		plan->regions[region_of(w, node->node->region)].step_count++;
		w->ref_capacity += node->node->input_count + node->node->control_count;
		outs += node->out_count + 1;
		if (layout_of(node) == NULL)
			continue;
		outs += layout_of(node)->argument_count;
		for (uint32_t r = 0; r < node->node->region_count; r++)
			for (item *c = w->captures[node->node->first_region + r]; c != NULL;
			     c = c->next)
				w->ref_capacity++;
	}
	return outs;
}

static bool make_list(list *l, sp_arena *arena, size_t capacity)
{
	*l = (list){.items = sp_arena_array(arena, capacity, sizeof(*l->items)),
		    .capacity = capacity};
	return l->items != NULL;
}

static bool write_steps(writer *w)
{
	const sp_program *program = w->program;
	sp_arena *arena = program->arena;
	sp_plan *plan = w->plan;
	size_t outs = count_steps(w);
	uint32_t first = 0;

	plan->steps = sp_arena_array(arena, plan->step_count, sizeof(*plan->steps));
	plan->refs = sp_arena_array(arena, w->ref_capacity, sizeof(*plan->refs));
	if (plan->steps == NULL || plan->refs == NULL || !make_list(&w->outs, arena, outs) ||
	    !make_list(&w->releases, arena, w->ref_capacity + 2 * outs) ||
	    !make_list(&w->free_slots, w->pl->scratch, outs) ||
	    !make_list(&w->ends, w->pl->scratch, outs))
		return false;
	plan->out_slots = w->outs.items;
	plan->releases = w->releases.items;
	for (size_t r = 0; r < program->graph->region_count; r++) {
		plan->regions[r].first_step = w->next_step[r] = first;
		first += plan->regions[r].step_count;
	}
	for (size_t i = 0; i < program->graph->node_count; i++)
		if (w->pl->is_step[i] && !add_step(w, i))
			return false;
	plan->out_count = w->outs.count;
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

/* Results of a step's regions, and condition values that the body captures, live to the end. */
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
	if (w->free_slots.count != 0)
		return w->free_slots.items[--w->free_slots.count];
	return (uint32_t)w->plan->slot_count++;
}

static void add_release(writer *w, sp_step *step, uint32_t slot)
{
	push(w, &w->releases, slot);
	step->release_count++;
}

/* Only values of the region's own steps leave a slot to later steps of the region. */
static bool is_made_in(const writer *w, uint32_t number, uint32_t region)
{
	return home_of(w, number) == region && w->life[number] == region;
}

/*
 * Places the inputs of a step and frees the slots that it is the last to read.  Captures that die
 * with a condition are listed for its branches.
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
		w->last_use[number] = 0; /* released once even if the step reads it twice */
		add_release(w, step, refs[k].index);
		if (is_made_in(w, number, region))
			push(w, &w->free_slots, refs[k].index);
		if (k < 64 && k < step->in_count)
			step->in_dies |= (uint64_t)1 << k;
		for (uint32_t r = 0;
		     branches && k >= step->in_count && r < step->control->region_count; r++)
			if (!add_item(w, &w->dying[step->control->first_region + r], number))
				return false;
	}
	return true;
}

/* An input that the step reads twice must not be overwritten. */
static void keep_repeated(writer *w, sp_step *step)
{
	const sp_ref *refs = w->plan->refs + step->first_in;

	for (uint32_t k = 0; k < step->in_count && k < 64; k++)
		for (uint32_t j = 0; j < refs_of(step) && (step->in_dies >> k & 1) != 0; j++)
			if (j != k && refs[j].kind == SP_REF_SLOT && refs[j].index == refs[k].index)
				step->in_dies &= ~((uint64_t)1 << k);
}

/* Variables of loops share their slots with nothing. */
static void place_arguments(writer *w, const sp_control *control)
{
	uint32_t *slots = w->plan->out_slots + control->first_argument;

	for (uint32_t k = 0; k < control->argument_count; k++)
		w->slot_of[slots[k]] = (uint32_t)w->plan->slot_count++;
}

/* Outputs get their slots before the inputs release theirs, so that the two never overlap. */
static bool place_step(writer *w, uint32_t region, uint32_t s)
{
	sp_step *step = &w->plan->steps[s];
	uint32_t *outs = w->plan->out_slots + step->first_out;
	uint32_t out_count = step->out_count + step->token;

	step->first_release = (uint32_t)w->releases.count;
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
			push(w, &w->ends, outs[k]);
		if (w->last_use[number] != 0)
			continue;
		add_release(w, step, outs[k]);
		push(w, &w->free_slots, outs[k]);
	}
	return true;
}

/* The last uses in a branch of the captures that it may release. */
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
			w->last_use[ref.index] = 0; /* a result of the branch: not released */
	}
}

/* Variables that no step of the body releases are released at its end. */
static void add_variable_ends(writer *w, uint32_t r)
{
	const sp_control *control = w->plan->steps[w->owner_step[r]].control;
	uint32_t *slots = w->plan->out_slots + control->first_argument;

	if (r == control->first_region)
		return;
	for (uint32_t k = 0; k < control->argument_count; k++)
		if (w->last_use[slots[k]] == NONE)
			push(w, &w->ends, w->slot_of[slots[k]]);
}

static bool place_region(writer *w, uint32_t r)
{
	sp_plan_region *region = &w->plan->regions[r];
	uint32_t last = region->first_step + region->step_count;

	w->free_slots.count = 0;
	w->ends.count = 0;
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
	region->first_release = (uint32_t)w->releases.count;
	region->release_count = (uint32_t)w->ends.count;
	for (size_t i = 0; i < w->ends.count; i++)
		push(w, &w->releases, w->ends.items[i]);
	return true;
}

/* References that cross regions get slots once all regions are placed. */
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

static sp_status too_small(const sp_planner *pl)
{
	return sp_error_set(pl->err, SP_INTERNAL, "the plan is larger than was counted");
}

sp_status sp_plan__add_steps(sp_planner *pl)
{
	writer w = {.pl = pl, .plan = pl->plan, .program = pl->program};
	uint32_t regions = (uint32_t)pl->program->graph->region_count;

	if (!make_room(&w) || !find_captures(&w) || !write_steps(&w))
		return sp_plan__no_memory(pl);
	if (w.overflows)
		return too_small(pl);
	add_fetches(&w);
	find_last_uses(&w);
	for (uint32_t r = 0; r < regions; r++)
		if (!place_region(&w, r))
			return sp_plan__no_memory(pl);
	place_the_rest(&w);
	return w.overflows ? too_small(pl) : SP_OK;
}
