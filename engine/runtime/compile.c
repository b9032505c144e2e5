#include <string.h>

#include "base/alloc.h"
#include "base/float_mode.h"
#include "engine/runtime/move_variants.h"
#include "engine/runtime/program_internal.h"

/*
 * One walk over the nodes in topological order, which prepares the operator of each, finds when its
 * value is known, and computes constants (constant folding).
 *
 * A node that cannot run makes its readers fail, not the program: entries that do not reach it
 * work.
 */

/* Bytes of memory for folding one node, and of all folded constants. */
enum { FOLD_LIMIT = 64 << 20, FOLD_TOTAL = 256 << 20 };

/* What the nodes of a region have in common. */
typedef struct region_facts {
	bool may_die;    /* one reads a value from around the region that may be dead */
	bool has_effect; /* one changes or checks something */
	bool is_branch;  /* they are a branch of an If or a Case */
} region_facts;

typedef struct compiler {
	sp_program *program;
	region_facts *regions;
	sp_resources *resources;
	sp_workspace *workspace; /* for folding */
	size_t folded;           /* bytes of folded constants */
	size_t value_capacity;
	sp_dtype *in_dtypes;
	const sp_tensor **in_values;
	const sp_tensor **in;
	sp_tensor *out;
	sp_tensor **out_pointers;
	size_t in_capacity;
	size_t out_capacity;
	sp_error *err;
} compiler;

static sp_status no_memory(compiler *co)
{
	return sp_error_set(co->err, SP_NO_MEMORY, "no memory for the program");
}

/* Records why a node cannot run; fails with SP_NO_MEMORY only. */
static sp_status note_error(compiler *co, sp_prepared *node, const sp_error *why)
{
	sp_error *error = sp_arena_alloc(co->program->arena, sizeof(*error));

	if (error == NULL || why->status == SP_NO_MEMORY)
		return no_memory(co);
	*error = *why;
	node->error = error;
	node->broken = true;
	return SP_OK;
}

/* ------------------------------------------------------------- the inputs */

static sp_status grow_inputs(compiler *co, size_t count)
{
	sp_arena *arena = co->program->arena;

	if (count <= co->in_capacity)
		return SP_OK;
	co->in_capacity = 2 * count;
	co->in_dtypes = sp_arena_array(arena, co->in_capacity, sizeof(*co->in_dtypes));
	co->in_values = sp_arena_array(arena, co->in_capacity, sizeof(*co->in_values));
	co->in = sp_arena_array(arena, co->in_capacity, sizeof(*co->in));
	if (co->in_dtypes == NULL || co->in_values == NULL || co->in == NULL)
		return no_memory(co);
	return SP_OK;
}

static bool is_inside(const sp_graph *graph, uint32_t region, uint32_t around)
{
	while (region > around)
		region = graph->around[region];
	return region == around;
}

/*
 * A node that reads a value that may be dead may be dead itself.  If the value is from around the
 * node's region, the whole region does not run.  A result of a region that the node owns does not
 * count: it is checked when the region has run.
 */
static void note_may_die(compiler *co, sp_prepared *to, uint32_t home)
{
	const sp_graph *graph = co->program->graph;
	uint32_t region = to->node->region;

	if (!is_inside(graph, region, home))
		return;
	to->may_die = true;
	for (; region != home; region = graph->around[region])
		co->regions[region].may_die = true;
}

/* What a node that owns regions inherits from them. */
static void take_regions(compiler *co, sp_prepared *to)
{
	const sp_node *node = to->node;

	for (uint32_t i = 0; i < node->region_count; i++) {
		const region_facts *facts = &co->regions[node->first_region + i];

		/* The body of a loop lies in the region of its condition. */
		if (co->program->graph->around[node->first_region + i] == node->region)
			to->may_die |= facts->may_die;
		to->has_effect |= facts->has_effect;
	}
	if (node->op != NULL && (node->op->flags & (SP_OP_STATEFUL | SP_OP_LOAD_ONLY)) != 0)
		to->has_effect = true;
	co->regions[node->region].has_effect |= to->has_effect;
}

/* Collects types and values of a node's inputs; fails if an input cannot run. */
static sp_status take_inputs(compiler *co, sp_prepared *to, sp_error *why)
{
	const sp_program *program = co->program;
	const sp_node *node = to->node;

	SP_TRY(grow_inputs(co, node->input_count + 1));
	for (size_t i = 0; i < node->input_count; i++) {
		sp_port port = node->inputs[i];
		const sp_prepared *from = &program->prepared[port.node];
		const sp_value *value;

		if (from->broken) {
			to->broken = true;
			continue;
		}
		if (port.port >= from->out_count)
			return sp_error_set(why, SP_INVALID, "'%s' has no output %u",
					    from->node->name, port.port);
		value = &program->values[sp_program__value(program, port)];
		co->in_dtypes[i] = value->dtype;
		co->in_values[i] = value->constant;
		if (value->level > to->level)
			to->level = value->level;
		if (value->may_die)
			note_may_die(co, to, value->region);
	}
	for (size_t i = 0; i < node->control_count; i++) {
		const sp_prepared *from = &program->prepared[node->controls[i]];

		to->broken |= from->broken;
		if (from->may_die)
			note_may_die(co, to, from->node->region);
	}
	take_regions(co, to);
	return SP_OK;
}

/* ------------------------------------------------------------- the values */

static sp_status add_values(compiler *co, sp_prepared *node, const sp_dtype *dtypes, size_t count)
{
	sp_program *program = co->program;

	if (!SP_ARENA_GROW(program->arena, program->values, co->value_capacity,
			   program->value_count, count) ||
	    co->value_capacity > UINT32_MAX)
		return no_memory(co);
	node->first_value = (uint32_t)program->value_count;
	node->out_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		uint32_t number = (uint32_t)program->value_count++;

		program->values[number] = (sp_value){.dtype = dtypes[i],
						     .level = node->level,
						     .region = node->node->region,
						     .may_die = node->may_die,
						     .alias = number};
	}
	return SP_OK;
}

/* The outputs of an identity are aliases of its inputs. */
static sp_status add_aliases(compiler *co, sp_prepared *to)
{
	sp_program *program = co->program;
	const sp_node *node = to->node;

	SP_TRY(add_values(co, to, co->in_dtypes, node->input_count));
	to->is_alias = true;
	for (size_t i = 0; i < node->input_count; i++) {
		uint32_t number = sp_program__value(program, node->inputs[i]);
		sp_value *value = &program->values[to->first_value + i];

		*value = program->values[number];
		value->alias = number;
	}
	return SP_OK;
}

/* ---------------------------------------------------------------- folding */

static sp_status keep_folded(compiler *co, const sp_prepared *node)
{
	sp_program *program = co->program;

	for (size_t i = 0; i < node->out_count; i++) {
		sp_tensor *constant = sp_arena_alloc(program->arena, sizeof(*constant));

		if (constant == NULL)
			return no_memory(co);
		*constant = co->out[i];
		/* Without a block the bytes are the graph's own, except those of strings. */
		if (constant->block != NULL || constant->dtype == SP_STRING) {
			SP_TRY(sp_tensor_copy(constant, program->arena, &co->out[i], co->err));
			co->folded += constant->count * sp_dtype_size(constant->dtype);
		}
		program->values[node->first_value + i].constant = constant;
	}
	return SP_OK;
}

/*
 * Computes a node whose inputs are constants.  If the result is too large, it is computed per
 * version instead; if it fails, per request, where the error shows only if the node is reached, as
 * in TensorFlow.
 */
static sp_status fold(compiler *co, sp_prepared *node)
{
	sp_error why;
	sp_call call = {.state = node->state,
			.in = co->in,
			.in_count = node->node->input_count,
			.out_count = node->out_count,
			.workspace = co->workspace,
			.err = &why};
	sp_status status;
	unsigned mode;

	if (node->out_count > co->out_capacity) {
		co->out_capacity = 2 * node->out_count;
		co->out = sp_arena_array(co->program->arena, co->out_capacity, sizeof(*co->out));
		co->out_pointers = sp_arena_array(co->program->arena, co->out_capacity,
						  sizeof(*co->out_pointers));
		if (co->out == NULL || co->out_pointers == NULL)
			return no_memory(co);
	}
	for (size_t i = 0; i < node->out_count; i++) {
		co->out[i] = (sp_tensor){0};
		co->out_pointers[i] = &co->out[i];
	}
	memcpy(co->in, co->in_values, call.in_count * sizeof(*co->in));
	call.out = co->out_pointers;
	mode = sp_float_mode_flush();
	status = co->folded < FOLD_TOTAL ? node->run(&call) : SP_NO_MEMORY;
	sp_float_mode_restore(mode);
	if (status == SP_OK)
		status = keep_folded(co, node);
	else if (status == SP_NO_MEMORY && !co->program->loading)
		node->level = SP_LEVEL_SNAPSHOT;
	else
		node->level = SP_LEVEL_REQUEST;
	sp_workspace_reset(co->workspace);
	if (node->level == SP_LEVEL_CONSTANT)
		return status;
	for (size_t i = 0; i < node->out_count; i++)
		co->program->values[node->first_value + i].level = node->level;
	return SP_OK;
}

/* --------------------------------------------------------------- one node */

/* When the value of a node is known; node->level says when its inputs are. */
static sp_level level_of(const compiler *co, const sp_prepared *node)
{
	unsigned flags = node->node->op->flags;

	if (node->is_fed || node->may_die || (flags & SP_OP_AT_REQUEST) != 0)
		return SP_LEVEL_REQUEST;
	if ((flags & SP_OP_READS_VARIABLE) != 0 && node->level == SP_LEVEL_CONSTANT)
		return co->program->loading ? SP_LEVEL_REQUEST : SP_LEVEL_SNAPSHOT;
	return node->level;
}

/* Whether a condition or a Switch decides if the node runs. */
static bool is_in_branch(const compiler *co, const sp_prepared *node)
{
	for (uint32_t r = node->node->region; r != 0; r = co->program->graph->around[r])
		if (co->regions[r].is_branch)
			return true;
	return node->may_die;
}

/*
 * An operator that changes the model's state.  Inference graphs have them in branches that requests
 * do not take (updates of training, initialisation by a first call), so its step fails only when it
 * runs.
 */
static sp_status prepare_change(compiler *co, sp_prepared *to, sp_error *why)
{
	size_t inputs = to->node->input_count;
	bool is_on_handle = inputs > 0 && co->in_dtypes[0] == SP_RESOURCE;

	if (!is_in_branch(co, to) || (!is_on_handle && inputs != 2))
		return sp_error_set(why, SP_UNSUPPORTED, "operator %s changes the model's state",
				    to->node->op->name);
	to->level = SP_LEVEL_REQUEST;
	/* An assignment to a reference behind a Switch, which lowering made a value, returns the
	 * value. */
	return add_values(co, to, &co->in_dtypes[1], is_on_handle ? 0 : 1);
}

static bool takes_variants(const sp_prepare *prepare)
{
	for (size_t i = 0; i < prepare->in_count; i++)
		if (prepare->in_dtypes[i] == SP_VARIANT)
			return true;
	return false;
}

static sp_status prepare(compiler *co, sp_prepared *to, sp_error *why)
{
	const sp_op *op = to->node->op;
	sp_prepare prepare = {.node = to->node,
			      .in_dtypes = co->in_dtypes,
			      .in_values = co->in_values,
			      .in_count = to->node->input_count,
			      .arena = co->program->arena,
			      .resources = co->resources,
			      .loading = co->program->loading};

	if ((op->flags & SP_OP_LOAD_ONLY) != 0 && !co->program->loading) {
		if ((op->flags & SP_OP_READS_FILES) == 0)
			return prepare_change(co, to, why);
		if (!is_in_branch(co, to))
			return sp_error_set(why, SP_UNSUPPORTED,
					    "operator %s reads a file, which only loading may do",
					    op->name);
	}
	if ((op->flags & SP_OP_MOVES) != 0 && takes_variants(&prepare)) {
		SP_TRY(sp_move_variants__prepare(&prepare, op, why));
		to->run = sp_move_variants__run;
	} else {
		SP_TRY(op->prepare(&prepare, why));
		to->run = op->run;
	}
	to->state = prepare.state;
	to->may_die |= (op->flags & SP_OP_MAKES_DEAD) != 0;
	to->level = level_of(co, to);
	return add_values(co, to, prepare.out_dtypes, prepare.out_count);
}

static sp_status compile_node(compiler *co, sp_prepared *to)
{
	const sp_node *node = to->node;
	sp_error why = {.status = SP_OK};
	sp_status status = take_inputs(co, to, &why);

	if (status == SP_OK && node->refused != NULL)
		status = sp_error_set(&why, SP_UNSUPPORTED, "%s", node->refused);
	else if (status == SP_OK && node->op == NULL)
		status = sp_error_set(&why, SP_UNSUPPORTED, "operator %s is not supported",
				      node->op_name);
	if (status != SP_OK)
		return note_error(co, to, &why);
	if (to->broken)
		return SP_OK;
	if ((node->op->flags & SP_OP_IDENTITY) != 0 && !to->is_fed && !to->may_die)
		return add_aliases(co, to);
	status = prepare(co, to, &why);
	if (status != SP_OK)
		return note_error(co, to, &why);
	if (to->level == SP_LEVEL_CONSTANT && to->out_count != 0)
		return fold(co, to);
	return SP_OK;
}

/* A node without outputs that may die gets a value that says whether it ran. */
static sp_status add_token(compiler *co, sp_prepared *node)
{
	static const sp_dtype dtype = SP_BOOL;

	if (node->broken || node->out_count != 0 || !node->may_die)
		return SP_OK;
	SP_TRY(add_values(co, node, &dtype, 1));
	node->out_count = 0;
	return SP_OK;
}

static sp_status compile_nodes(compiler *co)
{
	const sp_graph *graph = co->program->graph;

	for (size_t i = 0; i < graph->node_count; i++) {
		sp_prepared *node = &co->program->prepared[i];

		node->node = &graph->nodes[i];
		SP_TRY(compile_node(co, node));
		SP_TRY(add_token(co, node));
	}
	return SP_OK;
}

/* ---------------------------------------------------------------- entries */

static void mark_feeds(sp_program *program, const sp_entry_spec *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < entries[i].feed_count; j++)
			program->prepared[entries[i].feeds[j].node].is_fed = true;
}

/* The snapshot's plan fetches every value of its level that an entry reads. */
static sp_status plan_snapshot(compiler *co)
{
	sp_program *program = co->program;
	sp_entry_spec spec = {.name = "snapshot"};
	sp_port *fetches = sp_arena_array(program->arena, program->value_count, sizeof(*fetches));

	if (fetches == NULL)
		return no_memory(co);
	for (size_t i = 0; i < program->graph->node_count; i++) {
		const sp_prepared *node = &program->prepared[i];

		for (uint32_t k = 0; !node->broken && !node->is_alias && k < node->out_count; k++) {
			uint32_t number = program->snapshot_index[node->first_value + k];

			if (number == UINT32_MAX)
				continue;
			fetches[number] = (sp_port){(uint32_t)i, k};
			spec.fetch_count++;
		}
	}
	spec.fetches = fetches;
	return sp_plan__make(&program->snapshot_plan, program, &spec, SP_LEVEL_SNAPSHOT, co->err);
}

static sp_status plan_entries(compiler *co, const sp_entry_spec *entries, size_t count)
{
	sp_program *program = co->program;

	program->plan_count = count;
	program->plans = sp_arena_zeros(program->arena, count, sizeof(*program->plans));
	program->snapshot_index = sp_arena_array(program->arena, program->value_count,
						 sizeof(*program->snapshot_index));
	if (program->plans == NULL || program->snapshot_index == NULL)
		return no_memory(co);
	memset(program->snapshot_index, 0xff,
	       program->value_count * sizeof(*program->snapshot_index));
	for (size_t i = 0; i < count; i++)
		SP_TRY(sp_plan__make(&program->plans[i], program, &entries[i], SP_LEVEL_REQUEST,
				     co->err));
	return plan_snapshot(co);
}

/* The second region of a loop lies in the first; all other regions are branches. */
static void mark_branches(compiler *co)
{
	const sp_graph *graph = co->program->graph;

	for (size_t i = 0; i < graph->node_count; i++) {
		uint32_t first = graph->nodes[i].first_region, count = graph->nodes[i].region_count;
		bool is_loop = count == 2 && graph->around[first + 1] == first;

		for (uint32_t k = 0; k < count; k++)
			co->regions[first + k].is_branch = !is_loop;
	}
}

static sp_status compile(compiler *co, const sp_entry_spec *entries, size_t entry_count)
{
	sp_program *program = co->program;

	program->prepared = sp_arena_zeros(program->arena, program->graph->node_count,
					   sizeof(*program->prepared));
	co->regions = sp_arena_zeros(program->arena, program->graph->region_count,
				     sizeof(*co->regions));
	co->workspace = sp_workspace_create(FOLD_LIMIT);
	if (program->prepared == NULL || co->regions == NULL || co->workspace == NULL)
		return no_memory(co);
	mark_feeds(program, entries, entry_count);
	mark_branches(co);
	SP_TRY(compile_nodes(co));
	program->resource_count = co->resources->count;
	program->stream_count = co->resources->stream_count;
	program->session_variable_count = co->resources->session_variable_count;
	return plan_entries(co, entries, entry_count);
}

sp_status sp_program_compile(sp_program **out, const sp_graph *graph, const sp_entry_spec *entries,
			     size_t entry_count, sp_resources *resources,
			     const sp_program_options *options, sp_error *err)
{
	sp_program *program = sp_alloc_zero(1, sizeof(*program));
	compiler co = {.program = program, .resources = resources, .err = err};
	sp_status status;

	*out = NULL;
	if (program == NULL)
		return no_memory(&co);
	program->arena = sp_arena_create(256 << 10);
	program->graph = graph;
	program->loading = options != NULL && options->loading;
	status = program->arena != NULL ? compile(&co, entries, entry_count) : no_memory(&co);
	sp_workspace_destroy(co.workspace);
	if (status != SP_OK) {
		sp_program_destroy(program);
		return status;
	}
	*out = program;
	return SP_OK;
}

void sp_program_destroy(sp_program *program)
{
	if (program == NULL)
		return;
	sp_arena_destroy(program->arena);
	sp_free(program);
}

size_t sp_program_footprint(const sp_program *program)
{
	return sizeof(*program) + sp_arena_used(program->arena);
}

const sp_error *sp_program_entry_error(const sp_program *program, size_t entry)
{
	return program->plans[entry].error;
}

size_t sp_program_step_count(const sp_program *program, size_t entry)
{
	return program->plans[entry].step_count;
}

size_t sp_program_entry_resources(const sp_program *program, size_t entry, const uint32_t **indices)
{
	*indices = program->plans[entry].resources;
	return program->plans[entry].resource_count;
}
