#include "engine/passes/fuse_columns.h"

#include <string.h>

#include "engine/graph/op.h"
#include "engine/graph/pattern.h"
#include "engine/passes/match_column.h"

typedef struct column {
	sp_column_match match;
	uint32_t anchor; /* the node that this column replaces */
	uint32_t group;
	uint32_t place; /* the output of the group's node */
} column;

/*
 * The columns of one new node.  All of them are needed by the same outputs, so that none is
 * computed in vain, and have the same depth, so that none depends on another.
 */
typedef struct group {
	uint64_t reach;
	uint32_t depth;
	uint32_t size;
	uint32_t node; /* the EmbeddingColumns node */
} group;

typedef struct fusion {
	sp_graph *graph;
	const sp_graph_boundary *ends;
	bool *early;         /* [nodes] its value is fixed by the model version */
	bool *may_die;       /* [nodes] depends on a Switch */
	uint32_t *column_of; /* [nodes] number + 1 of the column that ends here, or 0 */
	uint64_t *reach;     /* [nodes] bits of the entry outputs that depend on the node */
	uint32_t *depth;     /* [nodes] columns on the longest path to it */
	column *columns;
	size_t count;
	size_t capacity;
	group groups[SP_FUSE_COLUMNS_MOST_GROUPS];
	size_t group_count;
	sp_arena *scratch;
	sp_error *err;
} fusion;

static sp_status no_memory(fusion *fu)
{
	return sp_error_set(fu->err, SP_NO_MEMORY, "no memory for the graph");
}

/* ---------------------------------------------------------------- finding */

/* Sets early[i] and may_die[i]. */
static void classify(fusion *fu, uint32_t i)
{
	const sp_node *node = &fu->graph->nodes[i];

	fu->early[i] = !fu->ends->fed[i] && sp_pattern_is_early(fu->graph, fu->early, i);
	fu->may_die[i] = node->op != NULL && (node->op->flags & SP_OP_MAKES_DEAD) != 0;
	for (size_t k = 0; k < node->input_count; k++)
		fu->may_die[i] |= fu->may_die[node->inputs[k].node];
	for (size_t k = 0; k < node->control_count; k++)
		fu->may_die[i] |= fu->may_die[node->controls[k]];
}

static sp_status add_column(fusion *fu, const column *found)
{
	if (!SP_ARENA_GROW(fu->scratch, fu->columns, fu->capacity, fu->count, 1))
		return no_memory(fu);
	fu->columns[fu->count++] = *found;
	fu->column_of[found->anchor] = (uint32_t)fu->count;
	return SP_OK;
}

/* A column that ends in node i: a new match, or a column found before with a reshape after it. */
static bool find(const fusion *fu, uint32_t i, column *found)
{
	const sp_node *node = &fu->graph->nodes[i];
	uint32_t of;

	found->anchor = i;
	if (sp_column_find(fu->graph, fu->early, i, &found->match))
		return true;
	of = node->opcode == SP_OPCODE_Reshape && node->input_count == 2 ? node->inputs[0].node : 0;
	if (of == 0 || fu->column_of[of] == 0)
		return false;
	found->match = fu->columns[fu->column_of[of] - 1].match;
	return sp_column_take_reshape(fu->graph, i, of, &found->match);
}

static sp_status find_all(fusion *fu)
{
	for (uint32_t i = 0; i < fu->graph->node_count; i++) {
		column found;

		classify(fu, i);
		/* Nodes of branches and loops may not run, or run many times. */
		if (fu->ends->fed[i] || fu->may_die[i] || fu->early[i] ||
		    fu->graph->nodes[i].region != 0)
			continue;
		if (find(fu, i, &found))
			SP_TRY(add_column(fu, &found));
	}
	return SP_OK;
}

/* --------------------------------------------------------------- grouping */

/* The inputs of a node; for the end of a column, those of the whole column. */
static const sp_port *needs(const fusion *fu, uint32_t i, size_t *count)
{
	const sp_column_match *match;

	if (fu->column_of[i] == 0) {
		*count = fu->graph->nodes[i].input_count;
		return fu->graph->nodes[i].inputs;
	}
	match = &fu->columns[fu->column_of[i] - 1].match;
	*count = sp_column_input_count(&match->spec);
	return match->inputs;
}

static void find_reach(fusion *fu)
{
	for (size_t i = fu->graph->node_count; i-- > 0;) {
		const sp_node *node = &fu->graph->nodes[i];
		const sp_port *inputs;
		size_t count;

		fu->reach[i] |= fu->ends->wanted[i];
		inputs = needs(fu, (uint32_t)i, &count);
		for (size_t k = 0; k < count; k++)
			fu->reach[inputs[k].node] |= fu->reach[i];
		for (size_t k = 0; k < node->control_count; k++)
			fu->reach[node->controls[k]] |= fu->reach[i];
	}
}

/* Puts a column into the group of its reach and depth; false when there are too many groups. */
static bool join_group(fusion *fu, column *co, uint32_t depth)
{
	uint64_t reach = fu->reach[co->anchor];
	size_t g = 0;

	while (g < fu->group_count &&
	       (fu->groups[g].reach != reach || fu->groups[g].depth != depth))
		g++;
	if (g == SP_FUSE_COLUMNS_MOST_GROUPS)
		return false;
	if (g == fu->group_count)
		fu->groups[fu->group_count++] = (group){.reach = reach, .depth = depth};
	co->group = (uint32_t)g;
	co->place = fu->groups[g].size++;
	return true;
}

static uint32_t depth_of(const fusion *fu, uint32_t i)
{
	const sp_node *node = &fu->graph->nodes[i];
	const sp_port *inputs;
	uint32_t depth = 0;
	size_t count;

	inputs = needs(fu, i, &count);
	for (size_t k = 0; k < count; k++)
		if (fu->depth[inputs[k].node] > depth)
			depth = fu->depth[inputs[k].node];
	for (size_t k = 0; k < node->control_count; k++)
		if (fu->depth[node->controls[k]] > depth)
			depth = fu->depth[node->controls[k]];
	return depth;
}

/* Drops columns without readers and those without a group. */
static void make_groups(fusion *fu)
{
	for (uint32_t i = 0; i < fu->graph->node_count; i++) {
		fu->depth[i] = depth_of(fu, i);
		if (fu->column_of[i] == 0)
			continue;
		if (fu->reach[i] != 0 &&
		    join_group(fu, &fu->columns[fu->column_of[i] - 1], fu->depth[i])) {
			fu->depth[i]++;
			continue;
		}
		fu->column_of[i] = 0;
		fu->depth[i] = depth_of(fu, i);
	}
}

/* ---------------------------------------------------------------- writing */

/* Appends the node of group g. */
static sp_status write_group(fusion *fu, size_t g)
{
	sp_arena *arena = fu->graph->arena;
	size_t size = fu->groups[g].size, used = 0;
	sp_column_spec *specs = sp_arena_array(arena, size, sizeof(*specs));
	sp_port *inputs = sp_arena_array(arena, size, SP_COLUMN_MAX_INPUTS * sizeof(*inputs));
	sp_embedding_columns *columns = sp_arena_alloc(arena, sizeof(*columns));
	sp_node node = {.name = sp_arena_printf(arena, "_columns_%zu", g),
			.inputs = inputs,
			.columns = columns};

	if (specs == NULL || inputs == NULL || columns == NULL || node.name == NULL)
		return no_memory(fu);
	for (size_t i = 0; i < fu->count; i++) {
		const column *co = &fu->columns[i];

		if (fu->column_of[co->anchor] != i + 1 || co->group != g)
			continue;
		specs[co->place] = co->match.spec;
		for (size_t k = 0; k < sp_column_input_count(&co->match.spec); k++)
			inputs[used++] = co->match.inputs[k];
	}
	node.input_count = used;
	*columns = (sp_embedding_columns){specs, size};
	sp_node_set_op(&node, SP_OPCODE_EmbeddingColumns);
	fu->groups[g].node = (uint32_t)fu->graph->node_count;
	fu->graph->nodes[fu->graph->node_count++] = node;
	return SP_OK;
}

/* The last node of a column becomes an Identity of the group's output. */
static sp_status rewrite_anchor(fusion *fu, const column *co)
{
	sp_node *anchor = &fu->graph->nodes[co->anchor];
	sp_port *input = sp_arena_array(fu->graph->arena, 1, sizeof(*input));

	if (input == NULL)
		return no_memory(fu);
	*input = (sp_port){fu->groups[co->group].node, co->place};
	*anchor = (sp_node){.name = anchor->name, .inputs = input, .input_count = 1};
	sp_node_set_op(anchor, SP_OPCODE_Identity);
	return SP_OK;
}

static sp_status write(fusion *fu)
{
	size_t count = fu->graph->node_count;
	sp_node *nodes = sp_arena_array(fu->graph->arena, count + fu->group_count, sizeof(*nodes));

	if (count + fu->group_count > fu->ends->capacity)
		return sp_error_set(fu->err, SP_INTERNAL, "no room for fused columns");
	if (nodes == NULL)
		return no_memory(fu);
	memcpy(nodes, fu->graph->nodes, count * sizeof(*nodes));
	fu->graph->nodes = nodes;
	for (size_t g = 0; g < fu->group_count; g++)
		SP_TRY(write_group(fu, g));
	for (size_t i = 0; i < fu->count; i++)
		if (fu->column_of[fu->columns[i].anchor] == i + 1)
			SP_TRY(rewrite_anchor(fu, &fu->columns[i]));
	return SP_OK;
}

static sp_status run(fusion *fu)
{
	size_t count = fu->graph->node_count;

	fu->early = sp_arena_zeros(fu->scratch, count, sizeof(*fu->early));
	fu->may_die = sp_arena_zeros(fu->scratch, count, sizeof(*fu->may_die));
	fu->column_of = sp_arena_zeros(fu->scratch, count, sizeof(*fu->column_of));
	fu->reach = sp_arena_zeros(fu->scratch, count, sizeof(*fu->reach));
	fu->depth = sp_arena_zeros(fu->scratch, count, sizeof(*fu->depth));
	if (fu->early == NULL || fu->may_die == NULL || fu->column_of == NULL ||
	    fu->reach == NULL || fu->depth == NULL)
		return no_memory(fu);
	SP_TRY(find_all(fu));
	if (fu->count == 0)
		return SP_OK;
	find_reach(fu);
	make_groups(fu);
	return write(fu);
}

sp_status sp_graph_fuse_columns(sp_graph *graph, const sp_graph_boundary *ends, sp_error *err)
{
	fusion fu = {.graph = graph, .ends = ends, .err = err};
	sp_status status;

	fu.scratch = sp_arena_create(64 << 10);
	status = fu.scratch != NULL ? run(&fu) : no_memory(&fu);
	sp_arena_destroy(fu.scratch);
	return status;
}
