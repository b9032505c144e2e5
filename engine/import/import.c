#include <string.h>

#include "base/alloc.h"
#include "engine/import/import_internal.h"

/*
 * A depth-first walk from the wanted names to what they depend on, with an explicit stack, because
 * a hostile file may chain a million nodes.  A node is written after all that it needs, so the list
 * is in topological order.
 *
 * The body of a call is walked from its returns.  In the list a call is one IdentityN of the
 * returns, which has the call's control edges.  A condition or a loop is its own node after the
 * nodes of its regions.
 */

typedef enum need_role {
	NEED_FIRST, /* the initial value of a variable */
	NEED_INPUT,
	NEED_CONTROL,
} need_role;

typedef struct sp_need {
	sp_scope *in;
	const char *ref;
	need_role role;
} sp_need;

/* ---------------------------------------------------------- what is needed */

static void add_need(sp_frame *frame, sp_scope *in, const char *ref, need_role role)
{
	frame->needs[frame->need_count++] = (sp_need){in, ref, ref[0] == '^' ? NEED_CONTROL : role};
}

static void need_controls(sp_frame *frame, const sp_owner *owner)
{
	const sp_node_def *def = &frame->in->nodes[frame->node];

	for (size_t i = 0; i < def->input_count; i++)
		if (def->inputs[i][0] == '^')
			add_need(frame, frame->in, def->inputs[i], NEED_CONTROL);
	for (size_t i = 0; i < owner->control_count; i++)
		add_need(frame, owner->in, owner->controls[i], NEED_CONTROL);
	for (size_t b = 0; b < owner->body_count; b++)
		for (size_t i = 0; i < owner->bodies[b]->function->control_return_count; i++)
			add_need(frame, owner->bodies[b],
				 owner->bodies[b]->function->control_returns[i], NEED_CONTROL);
}

static void need_returns(sp_frame *frame, sp_scope *body)
{
	for (size_t i = 0; i < body->function->output_count; i++)
		add_need(frame, body, body->function->returns[i].ref, NEED_INPUT);
}

/* Initial values of the variables, then further inputs, then next values of the variables. */
static void need_loop(sp_frame *frame, const sp_owner *owner)
{
	const sp_node_def *def = &owner->in->nodes[owner->node];
	sp_scope *body = owner->body_count != 0 ? owner->bodies[owner->body_count - 1] : owner->in;

	for (size_t i = 0; i < owner->variable_count; i++)
		if (!owner->variables[i].is_constant)
			add_need(frame, owner->in, owner->variables[i].first, NEED_FIRST);
	if (owner->kind == SP_OWNER_WHILE)
		need_returns(frame, owner->bodies[0]);
	if (owner->kind == SP_OWNER_LOOP && sp_import__data_input(def, 0) != NULL)
		add_need(frame, owner->in, def->inputs[0], NEED_INPUT);
	for (size_t i = 0; i < owner->variable_count; i++)
		if (!owner->variables[i].is_constant)
			add_need(frame, body, owner->variables[i].next, NEED_INPUT);
}

static size_t most_needs(const sp_node_def *def, const sp_owner *owner)
{
	size_t count = def->input_count;

	if (owner == NULL)
		return count;
	count += 2 * owner->variable_count + owner->control_count + 1;
	for (size_t b = 0; b < owner->body_count; b++)
		count += owner->bodies[b]->function->output_count +
			 owner->bodies[b]->function->control_return_count;
	return count;
}

/* Without the arguments of a call, which the body visits when it reads them. */
static sp_status list_needs(sp_importer *im, sp_frame *frame)
{
	const sp_node_def *def = &frame->in->nodes[frame->node];
	const sp_owner *owner = frame->in->places[frame->node].owner;

	/* The back edge of a loop that was not recognised. */
	if (owner == NULL && strcmp(def->op, "NextIteration") == 0)
		return SP_OK;
	frame->needs = sp_arena_array(im->scratch, most_needs(def, owner), sizeof(sp_need));
	if (frame->needs == NULL)
		return sp_import__no_memory(im);
	if (owner == NULL) {
		/* What a PrintV2 would print is not computed. */
		bool is_print = strcmp(def->op, "PrintV2") == 0;

		for (size_t i = 0; i < def->input_count; i++)
			if (!is_print || def->inputs[i][0] == '^')
				add_need(frame, frame->in, def->inputs[i], NEED_INPUT);
		return SP_OK;
	}
	if (owner->kind == SP_OWNER_IF || owner->kind == SP_OWNER_CASE)
		add_need(frame, frame->in, def->inputs[0], NEED_INPUT);
	if (owner->variables != NULL)
		need_loop(frame, owner);
	else
		for (size_t b = 0; b < owner->body_count; b++)
			need_returns(frame, owner->bodies[b]);
	need_controls(frame, owner);
	return SP_OK;
}

/* --------------------------------------------------------------- writing */

/* A new node at the end of the list; NULL without memory. */
static sp_node *add_node(sp_importer *im, uint32_t *at)
{
	sp_graph *graph = im->graph;

	if (!SP_ARENA_GROW(im->arena, graph->nodes, im->capacity, graph->node_count, 1))
		return NULL;
	*at = (uint32_t)graph->node_count;
	return &graph->nodes[graph->node_count++];
}

static bool is_written(const sp_target *to)
{
	return to->variable != NULL ? to->variable->is_written
				    : to->in->places[to->node].state == SP_VISIT_DONE;
}

static sp_port port_of(const sp_target *to)
{
	if (to->variable != NULL)
		return (sp_port){to->variable->flat, 0};
	return (sp_port){to->in->places[to->node].flat, to->port};
}

static sp_status write_argument(sp_importer *im, const sp_owner *owner, size_t i)
{
	sp_variable *v = &owner->variables[i];
	sp_port *input = sp_arena_array(im->arena, 1, sizeof(*input));
	sp_target first;
	sp_node *flat;

	SP_TRY(sp_import__locate(im, owner->in, v->first, &first));
	flat = add_node(im, &v->flat);
	if (flat == NULL || input == NULL)
		return sp_import__no_memory(im);
	*input = port_of(&first);
	*flat = (sp_node){.inputs = input, .input_count = 1, .region = owner->first_region};
	sp_node_set_op(flat, SP_OPCODE_LoopVariable);
	flat->name = v->merge != NULL
			     ? sp_arena_printf(im->arena, "%s%s", owner->in->prefix, v->merge)
			     : sp_arena_printf(im->arena, "%s%s/variable_%zu", owner->in->prefix,
					       owner->in->nodes[owner->node].name, i);
	v->is_written = true;
	return flat->name != NULL ? SP_OK : sp_import__no_memory(im);
}

/* Called when all initial values are written. */
static sp_status write_arguments(sp_importer *im, sp_owner *owner)
{
	for (size_t i = 0; i < owner->variable_count && !owner->is_begun; i++)
		if (!owner->variables[i].is_constant)
			SP_TRY(write_argument(im, owner, i));
	owner->is_begun = true;
	return SP_OK;
}

/* The variables are a loop's first inputs. */
static void add_variables(const sp_owner *owner, sp_port *inputs, size_t *count)
{
	for (size_t i = 0; i < owner->variable_count; i++)
		if (!owner->variables[i].is_constant)
			inputs[(*count)++] = (sp_port){owner->variables[i].flat, 0};
}

static sp_status write_edges(sp_importer *im, const sp_frame *frame, sp_node *flat)
{
	const sp_owner *owner = frame->in->places[frame->node].owner;
	size_t variables = owner != NULL ? owner->variable_count : 0;
	sp_port *inputs = sp_arena_array(im->arena, frame->need_count + variables, sizeof(*inputs));
	uint32_t *controls = sp_arena_array(im->arena, frame->need_count, sizeof(*controls));
	size_t count = 0;

	if (inputs == NULL || controls == NULL)
		return sp_import__no_memory(im);
	if (variables != 0)
		add_variables(owner, inputs, &count);
	for (size_t i = 0; i < frame->need_count; i++) {
		const sp_need *need = &frame->needs[i];
		sp_target to;

		if (need->role == NEED_FIRST)
			continue;
		SP_TRY(sp_import__locate(im, need->in, need->ref, &to));
		if (need->role == NEED_CONTROL) {
			controls[flat->control_count++] = port_of(&to).node;
			continue;
		}
		inputs[count++] = port_of(&to);
	}
	flat->inputs = inputs;
	flat->input_count = count;
	flat->controls = controls;
	return SP_OK;
}

static sp_status write_node(sp_importer *im, const sp_frame *frame)
{
	sp_scope *in = frame->in;
	const sp_node_def *def = &in->nodes[frame->node];
	sp_import_progress *place = &in->places[frame->node];
	sp_owner *owner = place->owner;
	bool is_call = owner != NULL && owner->kind == SP_OWNER_CALL;
	bool is_loop = owner != NULL && owner->kind == SP_OWNER_LOOP;
	sp_node *flat;

	if (owner != NULL)
		SP_TRY(write_arguments(im, owner));
	flat = add_node(im, &place->flat);
	if (flat == NULL)
		return sp_import__no_memory(im);
	*flat = (sp_node){.op_name = def->op,
			  .attrs = is_call ? NULL : def->attrs,
			  .attr_count = is_call ? 0 : def->attr_count,
			  .library = in->library,
			  .region = sp_import__region_of(in, frame->node),
			  .first_region = owner != NULL ? owner->first_region : 0,
			  .region_count = owner != NULL ? owner->region_count : 0};
	if (is_call)
		sp_node_set_op(flat, SP_OPCODE_IdentityN);
	else
		flat->opcode = is_loop ? SP_OPCODE_While : sp_opcode_find(def->op);
	flat->op = sp_op_of(flat->opcode);
	flat->refused = sp_import__is_loop_op(def->op) ? in->loops_error : place->refused;
	flat->name = in->caller == NULL ? def->name
					: sp_arena_printf(im->arena, "%s%s", in->prefix, def->name);
	if (flat->name == NULL)
		return sp_import__no_memory(im);
	SP_TRY(sp_import__write_constants(im, flat));
	SP_TRY(write_edges(im, frame, flat));
	place->state = SP_VISIT_DONE;
	return SP_OK;
}

/* ------------------------------------------------------------- the walk */

static sp_status push(sp_importer *im, sp_scope *in, uint32_t node)
{
	sp_frame *top;

	if (im->stack_size == im->stack_capacity) {
		size_t capacity = im->stack_capacity != 0 ? 2 * im->stack_capacity : 256;
		sp_frame *stack = sp_alloc_resize(im->stack, capacity, sizeof(*stack));

		if (stack == NULL)
			return sp_import__no_memory(im);
		im->stack = stack;
		im->stack_capacity = capacity;
	}
	in->places[node].state = SP_VISIT_OPEN;
	SP_TRY(sp_import__open(im, in, node));
	top = &im->stack[im->stack_size++];
	*top = (sp_frame){.in = in, .node = node};
	return list_needs(im, top);
}

/* Visits the next need of the frame on top of the stack. */
static sp_status step(sp_importer *im)
{
	sp_frame *top = &im->stack[im->stack_size - 1];
	const sp_node_def *def = &top->in->nodes[top->node];
	const sp_need *need;
	sp_target to;

	if (top->next == top->need_count) {
		im->stack_size--;
		return write_node(im, top);
	}
	need = &top->needs[top->next++];
	if (need->role != NEED_FIRST && top->in->places[top->node].owner != NULL)
		SP_TRY(write_arguments(im, top->in->places[top->node].owner));
	SP_TRY(sp_import__locate(im, need->in, need->ref, &to));
	if (is_written(&to))
		return SP_OK;
	if (to.variable == NULL && to.in->places[to.node].state == SP_VISIT_NEW)
		return push(im, to.in, to.node);
	return sp_error_set(im->err, SP_UNSUPPORTED, "node '%s%s' (%s) is part of a cycle",
			    top->in->prefix, def->name, def->op);
}

static sp_status visit(sp_importer *im, const sp_target *to)
{
	if (is_written(to))
		return SP_OK;
	SP_TRY(push(im, to->in, to->node));
	while (im->stack_size != 0)
		SP_TRY(step(im));
	return SP_OK;
}

/* ------------------------------------------------------------- the roots */

/*
 * How many outputs of a node are replaced by other values, which an IdentityN of its name gathers.
 */
static size_t renamed_outputs(const sp_scope *outer, uint32_t node)
{
	const sp_owner *owner = outer->places[node].owner;
	sp_loop_meaning ignored;

	if (outer->loops != NULL && sp_import__loop_meaning(outer, node, false, &ignored))
		return 1;
	if (sp_import__decided_side(outer, node) != NULL)
		return 1;
	return owner != NULL && owner->kind == SP_OWNER_WHILE ? owner->variable_count : 0;
}

static sp_status write_gatherer(sp_importer *im, sp_scope *outer, uint32_t node, size_t count)
{
	const char *name = outer->nodes[node].name;
	sp_port *inputs = sp_arena_array(im->arena, count, sizeof(*inputs));
	sp_node *flat;
	uint32_t at;

	if (inputs == NULL)
		return sp_import__no_memory(im);
	for (size_t i = 0; i < count; i++) {
		const char *ref = sp_arena_printf(im->scratch, "%s:%zu", name, i);
		sp_target to;

		if (ref == NULL)
			return sp_import__no_memory(im);
		SP_TRY(sp_import__locate(im, outer, ref, &to));
		SP_TRY(visit(im, &to));
		inputs[i] = port_of(&to);
	}
	flat = add_node(im, &at);
	if (flat == NULL)
		return sp_import__no_memory(im);
	*flat = (sp_node){.name = name, .inputs = inputs, .input_count = count};
	sp_node_set_op(flat, SP_OPCODE_IdentityN);
	return sp_map_put(&im->graph->names, sp_bytes_of(name), at) == SP_MAP_NO_MEMORY
		       ? sp_import__no_memory(im)
		       : SP_OK;
}

static sp_status visit_root(sp_importer *im, sp_scope *outer, const char *name)
{
	sp_bytes node_name, ignored;
	uint32_t number;
	uint64_t node;
	size_t renamed;
	sp_target to;

	SP_TRY(sp_import__locate(im, outer, name, &to)); /* reports what is wrong with the name */
	sp_import__split_reference(name, false, &node_name, &ignored, &number);
	if (!sp_map_get(outer->names, node_name, &node))
		return SP_OK;
	if (sp_import__in_loop(outer, (uint32_t)node))
		return sp_error_set(im->err, SP_INVALID,
				    "'%s' lies inside a loop: it has no one value", name);
	renamed = renamed_outputs(outer, (uint32_t)node);
	if (renamed != 0)
		return sp_map_get(&im->graph->names, node_name, NULL)
			       ? SP_OK
			       : write_gatherer(im, outer, (uint32_t)node, renamed);
	return visit(im, &to);
}

/* Nodes of the outermost graph that were written can be looked up by name. */
static sp_status name_nodes(sp_importer *im, const sp_scope *outer)
{
	for (size_t i = 0; i < outer->node_count; i++) {
		sp_bytes name = sp_bytes_of(outer->nodes[i].name);

		if (outer->places[i].state == SP_VISIT_DONE &&
		    !sp_import__in_loop(outer, (uint32_t)i) &&
		    sp_map_add(&im->graph->names, name, outer->places[i].flat) == SP_MAP_NO_MEMORY)
			return sp_import__no_memory(im);
	}
	return SP_OK;
}

static sp_status walk(sp_importer *im, const sp_import_roots *roots)
{
	sp_scope outer = {.library = im->def,
			  .nodes = im->def->nodes,
			  .node_count = im->def->node_count,
			  .prefix = ""};
	sp_map names;
	uint32_t region;

	sp_map_init(&names, im->scratch);
	outer.names = &names;
	for (size_t i = 0; i < outer.node_count; i++)
		SP_TRY(sp_import__add_name(im, &names, outer.nodes[i].name, i));
	SP_TRY(sp_import__make_scope(im, &outer));
	SP_TRY(sp_import__add_regions(im, 0, 1, &region));
	SP_TRY(sp_import__find_loops(im, &outer, roots->names, roots->count));
	for (size_t i = 0; i < roots->count; i++)
		SP_TRY(visit_root(im, &outer, roots->names[i]));
	return name_nodes(im, &outer);
}

sp_status sp_graph_import(sp_graph *out, const sp_graph_def *def, const sp_import_roots *roots,
			  sp_arena *arena, sp_error *err)
{
	sp_importer im = {.def = def, .arena = arena, .graph = out, .err = err};
	sp_status status;

	*out = (sp_graph){.arena = arena};
	sp_map_init(&out->names, arena);
	im.scratch = sp_arena_create(64 << 10);
	if (im.scratch == NULL)
		return sp_import__no_memory(&im);
	status = sp_import__index(&im);
	if (status == SP_OK)
		status = walk(&im, roots);
	sp_free(im.stack);
	sp_arena_destroy(im.scratch);
	return status;
}
