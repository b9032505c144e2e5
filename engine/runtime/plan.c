#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "engine/runtime/plan_internal.h"

/*
 * Walks backwards from the fetches and targets of an entry to the nodes that they need;
 * plan_steps.c then goes forwards.
 *
 * A node is needed in one of two ways.  `value`: its value is read, so the node becomes a step.
 * `reach`: only a value that is computed earlier or a control edge depends on it, so it becomes a
 * step if it has an effect (an Assert).  Both hold the fetches that need the node as bits, so that
 * a request for some fetches can skip the steps of the others.
 */

static uint64_t output_bit(size_t i)
{
	return (uint64_t)1 << (i < 63 ? i : 63);
}

static bool is_argument(const sp_prepared *node)
{
	return node->node->op != NULL && (node->node->op->flags & SP_OP_ARGUMENT) != 0;
}

/* The number of the feed that gives the value at a port, or NONE. */
static uint32_t feed_at(const sp_planner *pl, sp_port port)
{
	const sp_prepared *node = &pl->program->prepared[port.node];

	if (!node->is_fed || node->broken || port.port >= node->out_count)
		return SP_PLAN_NONE;
	return pl->feed_of[node->first_value + port.port];
}

/* Whether this entry feeds any output of the node. */
static bool is_fed_here(const sp_planner *pl, uint32_t node)
{
	for (uint32_t k = 0; k < pl->program->prepared[node].out_count; k++)
		if (feed_at(pl, (sp_port){node, k}) != SP_PLAN_NONE)
			return true;
	return false;
}

/* ------------------------------------------------------------- backwards */

static bool is_step(const sp_planner *pl, size_t i)
{
	const sp_prepared *node = &pl->program->prepared[i];

	if (node->broken || node->is_alias || is_argument(node) || node->level != pl->level)
		return false;
	return pl->value[i] != 0 || (pl->reach[i] != 0 && pl->level == SP_LEVEL_REQUEST &&
				     node->has_effect && !is_fed_here(pl, (uint32_t)i));
}

/*
 * Marks the producer of a value that is read.  Identities are skipped, but their control edges
 * count. A value that is fed needs no producer.
 */
static void need_value(sp_planner *pl, sp_port port, uint64_t mask)
{
	const sp_prepared *node = &pl->program->prepared[port.node];
	uint32_t feed;

	while (!node->broken && node->is_alias && port.port < node->node->input_count) {
		pl->reach[port.node] |= mask;
		port = node->node->inputs[port.port];
		node = &pl->program->prepared[port.node];
	}
	feed = feed_at(pl, port);
	if (feed == SP_PLAN_NONE)
		pl->value[port.node] |= mask;
	else
		pl->fed[feed] |= mask;
}

/* Marks what node i needs. */
static void pass_on(sp_planner *pl, size_t i)
{
	const sp_prepared *node = &pl->program->prepared[i];
	uint64_t mask = pl->value[i] | pl->reach[i];
	bool reads = !node->broken && (is_argument(node) ? pl->value[i] != 0 : is_step(pl, i));

	for (size_t k = 0; k < node->node->input_count; k++) {
		if (reads)
			need_value(pl, node->node->inputs[k], mask);
		else
			pl->reach[node->node->inputs[k].node] |= mask;
	}
	for (size_t k = 0; k < node->node->control_count; k++) {
		uint32_t from = node->node->controls[k];

		/* The step reads whether the node of a control edge ran. */
		if (reads && pl->program->prepared[from].may_die)
			need_value(pl, (sp_port){from, 0}, mask);
		pl->reach[from] |= mask;
	}
}

/* Lists the resource if the node is a constant handle. */
static void note_resource(sp_planner *pl, const sp_prepared *node, bool *is_listed)
{
	const sp_value *value = &pl->program->values[node->first_value];
	sp_plan *plan = pl->plan;
	uint64_t index;

	if (node->out_count != 1 || value->dtype != SP_RESOURCE || value->constant == NULL ||
	    value->constant->count != 1)
		return;
	index = *(const uint64_t *)value->constant->data;
	if (index >= pl->program->resource_count || is_listed[index])
		return;
	is_listed[index] = true;
	plan->resources[plan->resource_count++] = (uint32_t)index;
}

static sp_status walk_back(sp_planner *pl)
{
	size_t nodes = pl->program->graph->node_count;
	bool *is_listed = sp_arena_zeros(pl->scratch, pl->program->resource_count,
					 sizeof(*is_listed));

	pl->is_step = sp_arena_zeros(pl->scratch, nodes, sizeof(*pl->is_step));
	pl->plan->resources = sp_arena_array(pl->program->arena, pl->program->resource_count,
					     sizeof(uint32_t));
	if (is_listed == NULL || pl->is_step == NULL || pl->plan->resources == NULL)
		return sp_plan__no_memory(pl);
	for (size_t i = nodes; i-- > 0;) {
		const sp_prepared *node = &pl->program->prepared[i];

		if (pl->value[i] == 0 && (pl->reach[i] == 0 || is_fed_here(pl, (uint32_t)i)))
			continue;
		if (!node->broken)
			note_resource(pl, node, is_listed);
		pl->is_step[i] = is_step(pl, i);
		pass_on(pl, i);
	}
	return SP_OK;
}

/* ------------------------------------------------------- unsupported nodes */

/* The most bytes of an error message for names; the rest is for the message itself. */
enum { MOST_TEXT = SP_ERROR_TEXT_SIZE * 3 / 4 };

/* At most the last `most` characters of the node's name. */
static void name_operator(sp_buffer *text, const sp_node *node, bool first, size_t most)
{
	size_t length = strlen(node->name);
	bool cut = length > most;

	sp_buffer_printf(text, "%s%s", first ? "operators that are not supported: " : ", ",
			 node->op_name);
	if (most != 0)
		sp_buffer_printf(text, " (node '%s%s')", cut ? "..." : "",
				 node->name + (cut ? length - most : 0));
}

/* "operators that are not supported: A (node 'x'), B (node 'y')" */
static void name_missing(sp_planner *pl, sp_buffer *text, size_t most)
{
	const char *names[64];
	size_t count = 0;

	for (size_t i = 0; i < pl->program->graph->node_count; i++) {
		const sp_prepared *node = &pl->program->prepared[i];
		size_t k = 0;

		if ((pl->value[i] | pl->reach[i]) == 0 || node->error == NULL ||
		    node->node->op != NULL || node->node->refused != NULL)
			continue;
		while (k < count && strcmp(names[k], node->node->op_name) != 0)
			k++;
		if (k < count || count == sizeof(names) / sizeof(names[0]))
			continue;
		names[count++] = node->node->op_name;
		name_operator(text, node->node, count == 1, most);
	}
}

/* Names of nodes are shortened until all operators fit. */
static void name_all_missing(sp_planner *pl, sp_buffer *text)
{
	static const size_t lengths[] = {400, 80, 20, 0};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		text->size = 0;
		name_missing(pl, text, lengths[i]);
		if (text->size < MOST_TEXT)
			return;
	}
}

static void name_first_error(sp_planner *pl, sp_buffer *text, sp_status *status)
{
	for (size_t i = 0; i < pl->program->graph->node_count; i++) {
		const sp_prepared *node = &pl->program->prepared[i];

		if ((pl->value[i] | pl->reach[i]) == 0 || node->error == NULL)
			continue;
		*status = node->error->status;
		sp_buffer_printf(text, "node '%s' (%s): %s", node->node->name, node->node->op_name,
				 node->error->text);
		return;
	}
}

static sp_status set_plan_error(sp_planner *pl, sp_status status, const char *text)
{
	sp_error *error = sp_arena_alloc(pl->program->arena, sizeof(*error));

	if (error == NULL)
		return sp_plan__no_memory(pl);
	sp_error_set(error, status, "%s", text);
	pl->plan->error = error;
	return SP_OK;
}

static sp_status collect_errors(sp_planner *pl)
{
	sp_status status = SP_UNSUPPORTED;
	sp_buffer text;
	sp_status result = SP_OK;

	sp_buffer_init(&text, 64 << 10);
	name_all_missing(pl, &text);
	if (text.size == 0)
		name_first_error(pl, &text, &status);
	if (text.failed)
		result = sp_plan__no_memory(pl);
	else if (text.size != 0)
		result = set_plan_error(pl, status, text.data);
	sp_buffer_fini(&text);
	return result;
}

/* ------------------------------------------------------------- the entry */

/* The constant default of a placeholder, or NULL. */
static const sp_tensor *default_of(const sp_planner *pl, const sp_node *node)
{
	const sp_prepared *from;

	if (node->opcode != SP_OPCODE_PlaceholderWithDefault || node->input_count != 1)
		return NULL;
	from = &pl->program->prepared[node->inputs[0].node];
	if (from->broken || node->inputs[0].port >= from->out_count)
		return NULL;
	return pl->program->values[from->first_value + node->inputs[0].port].constant;
}

static sp_status take_feeds(sp_planner *pl)
{
	sp_plan *plan = pl->plan;
	sp_arena *arena = pl->program->arena;
	size_t count = pl->entry->feed_count;

	plan->feed_count = count;
	plan->feed_dtypes = sp_arena_zeros(arena, count, sizeof(*plan->feed_dtypes));
	plan->feed_names = sp_arena_zeros(arena, count, sizeof(*plan->feed_names));
	plan->feed_defaults = sp_arena_zeros(arena, count, sizeof(*plan->feed_defaults));
	plan->feed_wanted_by = sp_arena_zeros(arena, count, sizeof(*plan->feed_wanted_by));
	if (plan->feed_dtypes == NULL || plan->feed_names == NULL || plan->feed_defaults == NULL ||
	    plan->feed_wanted_by == NULL)
		return sp_plan__no_memory(pl);
	for (size_t i = 0; i < count; i++) {
		sp_port port = pl->entry->feeds[i];
		const sp_prepared *node = &pl->program->prepared[port.node];
		uint32_t number;

		plan->feed_names[i] = node->node->name;
		if (node->broken || port.port >= node->out_count)
			continue; /* its readers are broken, too */
		number = node->first_value + port.port;
		plan->feed_dtypes[i] = pl->program->values[number].dtype;
		plan->feed_defaults[i] = default_of(pl, node->node);
		pl->feed_of[number] = (uint32_t)i;
	}
	return SP_OK;
}

/* Marks the fetches and targets. */
static sp_status mark_ends(sp_planner *pl)
{
	const sp_entry_spec *entry = pl->entry;
	sp_plan *plan = pl->plan;

	plan->fetch_count = entry->fetch_count;
	plan->fetches = sp_arena_zeros(pl->program->arena, entry->fetch_count,
				       sizeof(*plan->fetches));
	if (plan->fetches == NULL)
		return sp_plan__no_memory(pl);
	for (size_t i = 0; i < entry->fetch_count; i++)
		need_value(pl, entry->fetches[i], output_bit(i));
	for (size_t i = 0; i < entry->target_count; i++)
		pl->reach[entry->targets[i]] = ~(uint64_t)0;
	return SP_OK;
}

/* Handles, lists and objects are internal to the engine. */
static bool can_leave(sp_dtype dtype)
{
	return dtype != SP_RESOURCE && dtype != SP_VARIANT && dtype != SP_OBJECT;
}

static sp_status check_fetch(sp_planner *pl, sp_port port)
{
	const sp_prepared *node = &pl->program->prepared[port.node];
	sp_dtype dtype;
	sp_error why;

	if (node->broken)
		return SP_OK;
	if (port.port >= node->out_count) {
		sp_error_set(&why, SP_INVALID, "'%s' has no output %u", node->node->name,
			     port.port);
		return set_plan_error(pl, SP_INVALID, why.text);
	}
	dtype = pl->program->values[node->first_value + port.port].dtype;
	if (can_leave(dtype))
		return SP_OK;
	sp_error_set(&why, SP_UNSUPPORTED, "'%s' cannot be an output: it is %s", node->node->name,
		     sp_dtype_name(dtype));
	return set_plan_error(pl, SP_UNSUPPORTED, why.text);
}

/* Refuses fetches that do not exist, and feeds and fetches of types that no message can hold. */
static sp_status check_ends(sp_planner *pl)
{
	sp_plan *plan = pl->plan;
	sp_error why;

	for (size_t i = 0; i < pl->entry->fetch_count && plan->error == NULL; i++)
		SP_TRY(check_fetch(pl, pl->entry->fetches[i]));
	for (size_t i = 0; i < plan->feed_count && plan->error == NULL; i++) {
		if (can_leave(plan->feed_dtypes[i]))
			continue;
		sp_error_set(&why, SP_UNSUPPORTED, "'%s' cannot be an input: it is %s",
			     plan->feed_names[i], sp_dtype_name(plan->feed_dtypes[i]));
		SP_TRY(set_plan_error(pl, SP_UNSUPPORTED, why.text));
	}
	return SP_OK;
}

static sp_status make(sp_planner *pl)
{
	size_t nodes = pl->program->graph->node_count, values = pl->program->value_count;

	pl->value = sp_arena_zeros(pl->scratch, nodes, sizeof(*pl->value));
	pl->reach = sp_arena_zeros(pl->scratch, nodes, sizeof(*pl->reach));
	pl->feed_of = sp_arena_array(pl->scratch, values, sizeof(*pl->feed_of));
	pl->fed = sp_arena_zeros(pl->scratch, pl->entry->feed_count, sizeof(*pl->fed));
	if (pl->value == NULL || pl->reach == NULL || pl->feed_of == NULL || pl->fed == NULL)
		return sp_plan__no_memory(pl);
	memset(pl->feed_of, 0xff, values * sizeof(*pl->feed_of));
	SP_TRY(take_feeds(pl));
	SP_TRY(mark_ends(pl));
	SP_TRY(walk_back(pl));
	SP_TRY(collect_errors(pl));
	if (pl->level == SP_LEVEL_REQUEST) /* a snapshot may hold objects */
		SP_TRY(check_ends(pl));
	if (pl->plan->error != NULL)
		return SP_OK;
	SP_TRY(sp_plan__add_steps(pl));
	for (size_t i = 0; i < pl->entry->feed_count; i++) { /* two names may be of one feed */
		uint32_t feed = feed_at(pl, pl->entry->feeds[i]);

		pl->plan->feed_wanted_by[i] = feed != SP_PLAN_NONE ? pl->fed[feed] : 0;
	}
	return SP_OK;
}

sp_status sp_plan__make(sp_plan *out, sp_program *program, const sp_entry_spec *entry,
			sp_level level, sp_error *err)
{
	sp_planner pl = {.program = program,
			 .entry = entry,
			 .level = level,
			 .plan = out,
			 .scratch = sp_arena_create(256 << 10),
			 .err = err};
	sp_status status;

	*out = (sp_plan){0};
	if (pl.scratch == NULL)
		return sp_plan__no_memory(&pl);
	status = make(&pl);
	sp_arena_destroy(pl.scratch);
	return status;
}
