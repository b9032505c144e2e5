#include "engine/push_constants.h"

#include <string.h>

#include "engine/constants.h"
#include "engine/op.h"
#include "engine/optimizer_names.h"

enum {
	MOST_STEPS = 16, /* that a constant sinks */
	MOST_DEPTH = 4,  /* of what a constant is made of */
};

typedef struct pushing {
	sp_graph *graph;
	const bool *fed, *kept;
	bool *constant;    /* [nodes] */
	bool *live;        /* [nodes] something that is wanted needs it */
	uint32_t *readers; /* [nodes] how often live nodes read it */
	bool *awaited;     /* [nodes] a live node waits for it */
	sp_optimizer_names names;
	sp_error *err;
} pushing;

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

static sp_status no_memory(sp_error *err)
{
	return sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
}

static sp_dtype dtype_of(const sp_node *node)
{
	sp_dtype dtype;

	if (sp_node_attr_type(node, "T", SP_INVALID_DTYPE, &dtype, NULL) != SP_OK)
		return SP_INVALID_DTYPE;
	return dtype;
}

static bool reads_constant(const pushing *p, const sp_node *node, size_t k)
{
	return sp_node_reads_constant(&p->names, node, k, p->constant);
}

/* --------------------------------------------------------------- quotients */

static bool is_quotient(const pushing *p, uint32_t i)
{
	const sp_node *node = &p->graph->nodes[i];
	sp_dtype dtype = dtype_of(node);

	return (is_op(node, "RealDiv") || is_op(node, "Div")) && node->op != NULL &&
	       node->input_count == 2 && !p->fed[i] && !reads_constant(p, node, 0) &&
	       reads_constant(p, node, 1) &&
	       (dtype == SP_FLOAT || dtype == SP_DOUBLE || dtype == SP_HALF ||
		dtype == SP_BFLOAT16);
}

/* The reciprocal runs where the divisor does. */
static sp_status take_reciprocal(pushing *p, uint32_t i)
{
	sp_arena *arena = p->graph->arena;
	uint32_t at = (uint32_t)p->graph->node_count;
	sp_node *node = &p->graph->nodes[i], *reciprocal = &p->graph->nodes[at];
	sp_port *inputs = sp_arena_array(arena, 3, sizeof(*inputs));
	uint32_t *given = sp_arena_array(arena, 2, sizeof(*given));
	char *name = sp_arena_printf(arena, "%s/reciprocal", node->name);

	if (inputs == NULL || given == NULL || name == NULL)
		return no_memory(p->err);
	inputs[0] = node->inputs[0];
	inputs[1] = (sp_port){at, 0};
	inputs[2] = node->inputs[1];
	given[0] = sp_node_given(node, 0);
	given[1] = SP_NOT_GIVEN;
	*reciprocal = (sp_node){.name = name,
				.op_name = "Reciprocal",
				.op = sp_op_find("Reciprocal"),
				.inputs = &inputs[2],
				.input_count = 1,
				.attrs = node->attrs,
				.attr_count = node->attr_count,
				.region = p->graph->nodes[inputs[2].node].region};
	node->op_name = "Mul";
	node->op = sp_op_find("Mul");
	node->inputs = inputs;
	node->given = given;
	p->constant[at] = true;
	p->live[at] = p->live[i];
	p->readers[at] = p->live[i];
	p->graph->node_count++;
	return SP_OK;
}

/* ------------------------------------------------------------- what can move */

static bool is_sum(const sp_node *node)
{
	return is_op(node, "Add") || is_op(node, "AddV2");
}

static bool is_symmetric(const sp_node *node)
{
	return is_sum(node) || is_op(node, "Mul");
}

/* Add and Sub go together, and Mul and Div. */
static bool is_of_kind(const sp_node *node, bool sums)
{
	return sums ? is_sum(node) || is_op(node, "Sub") : is_op(node, "Mul") || is_op(node, "Div");
}

/* Whether a constant certainly does not need node i: nothing that it is made of comes after i. */
static bool comes_before(const pushing *p, uint32_t constant, uint32_t i, int depth)
{
	const sp_node *node = &p->graph->nodes[constant];

	if (constant < i)
		return true;
	if (constant == i || depth == 0 ||
	    node->input_count + node->control_count > SP_MOST_CONTROLS)
		return false;
	for (size_t k = 0; k < node->input_count; k++)
		if (!comes_before(p, node->inputs[k].node, i, depth - 1))
			return false;
	for (size_t k = 0; k < node->control_count; k++)
		if (!comes_before(p, node->controls[k], i, depth - 1))
			return false;
	return true;
}

/* An operator of two numbers, one of which a constant can be brought to. */
static bool takes_constant(const pushing *p, const sp_node *parent, sp_port port, sp_port constant)
{
	const sp_node *child = &p->graph->nodes[port.node];
	sp_dtype dtype = dtype_of(parent);

	return port.port == 0 && child->op != NULL && child->input_count == 2 &&
	       is_of_kind(child, !is_of_kind(parent, false)) && child->region == parent->region &&
	       (dtype == SP_FLOAT || dtype == SP_DOUBLE) && dtype_of(child) == dtype &&
	       p->readers[port.node] == 1 && !p->awaited[port.node] && !p->fed[port.node] &&
	       !p->kept[port.node] && comes_before(p, constant.node, port.node, MOST_DEPTH);
}

static bool first_comes_first(const pushing *p, const sp_node *node)
{
	const char *first = sp_optimizer_first_name_of(&p->names, node, 0);
	const char *second = sp_optimizer_first_name_of(&p->names, node, 1);

	return first == NULL || second == NULL || strcmp(first, second) <= 0;
}

/* ------------------------------------------------------------------ one step */

typedef struct operand {
	sp_port port;
	uint32_t given;
} operand;

static operand operand_of(const sp_node *node, size_t k)
{
	return (operand){node->inputs[k], sp_node_given(node, k)};
}

/* c op (x op y), with the signs that the three have as terms of a sum, or as factors. */
typedef struct terms {
	operand c, x, y, inner;
	bool minus_c, minus_x, minus_y;
} terms;

/* False if no constant meets an operator that takes it. */
static bool find_inner(const pushing *p, const sp_node *parent, terms *t)
{
	bool left, right;

	if (parent->op == NULL || parent->input_count != 2 ||
	    !(is_of_kind(parent, true) || is_of_kind(parent, false)))
		return false;
	left = reads_constant(p, parent, 0);
	right = reads_constant(p, parent, 1);
	t->c = operand_of(parent, left ? 0 : 1);
	t->inner = operand_of(parent, left ? 1 : 0);
	t->minus_c = right && !is_symmetric(parent);
	return left != right && takes_constant(p, parent, t->inner.port, t->c.port);
}

static bool find_terms(const pushing *p, const sp_node *parent, terms *t)
{
	const sp_node *child;
	bool left, right, turned, minus;
	size_t x;

	if (!find_inner(p, parent, t))
		return false;
	child = &p->graph->nodes[t->inner.port.node];
	left = reads_constant(p, child, 0);
	right = reads_constant(p, child, 1);
	if (left && right)
		return false;
	turned = is_symmetric(child) && !left && !right && !first_comes_first(p, child);
	x = left || turned;
	minus = !is_symmetric(parent) && !t->minus_c;
	t->x = operand_of(child, x);
	t->y = operand_of(child, 1 - x);
	t->minus_x = (!is_symmetric(child) && x == 1) != minus;
	t->minus_y = (!is_symmetric(child) && x == 0) != minus;
	return true;
}

/* The node becomes a op b, or a minus b; an operator that fits already stays as it is spelt. */
static sp_status write(pushing *p, sp_node *node, bool sums, bool minus, operand a, operand b)
{
	sp_port *inputs = sp_arena_array(p->graph->arena, 2, sizeof(*inputs));
	uint32_t *given = sp_arena_array(p->graph->arena, 2, sizeof(*given));

	if (inputs == NULL || given == NULL)
		return no_memory(p->err);
	inputs[0] = a.port;
	inputs[1] = b.port;
	given[0] = a.given;
	given[1] = b.given;
	node->inputs = inputs;
	node->given = given;
	if (minus == !is_symmetric(node))
		return SP_OK;
	node->op_name = minus ? (sums ? "Sub" : "Div") : (sums ? "AddV2" : "Mul");
	node->op = sp_op_find(node->op_name);
	return SP_OK;
}

/* *inner: the node that the constant went to. */
static sp_status push(pushing *p, uint32_t i, bool *pushed, uint32_t *inner)
{
	sp_node *parent = &p->graph->nodes[i], *child;
	bool sums = !is_of_kind(parent, false), minus;
	terms t;

	*pushed = find_terms(p, parent, &t);
	if (!*pushed)
		return SP_OK;
	*inner = t.inner.port.node;
	child = &p->graph->nodes[*inner];
	minus = t.minus_x || (t.minus_c && t.minus_y);
	SP_TRY(write(p, parent, sums, minus, t.minus_x ? t.inner : t.x, t.minus_x ? t.x : t.inner));
	minus = t.minus_c != t.minus_y;
	SP_TRY(write(p, child, sums, minus, t.minus_c ? t.y : t.c, t.minus_c ? t.c : t.y));
	p->constant[*inner] = sp_node_is_constant(&p->names, child, p->constant);
	return SP_OK;
}

static sp_status settle(pushing *p, uint32_t i)
{
	bool pushed = true;

	for (int step = 0; step < MOST_STEPS && pushed && !p->constant[i]; step++)
		SP_TRY(push(p, i, &pushed, &i));
	return SP_OK;
}

/* ------------------------------------------------------------------ the walk */

static void count_readers(pushing *p)
{
	for (size_t i = p->graph->node_count; i-- > 0;) {
		const sp_node *node = &p->graph->nodes[i];

		p->live[i] |= p->kept[i];
		for (size_t k = 0; k < node->input_count && p->live[i]; k++) {
			p->live[node->inputs[k].node] = true;
			p->readers[node->inputs[k].node]++;
		}
		for (size_t k = 0; k < node->control_count && p->live[i]; k++) {
			p->live[node->controls[k]] = true;
			p->awaited[node->controls[k]] = true;
		}
	}
}

static sp_status walk(pushing *p, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* What nobody needs may read what others do, and must not change that. */
		if (p->fed[i] || !p->live[i])
			continue;
		p->constant[i] = sp_node_is_constant(&p->names, &p->graph->nodes[i], p->constant);
		if (p->constant[i])
			continue;
		if (is_quotient(p, i))
			SP_TRY(take_reciprocal(p, i));
		SP_TRY(settle(p, i));
	}
	return SP_OK;
}

/* The same nodes, with room for as many more. */
static sp_status make_room(sp_graph *graph, sp_error *err)
{
	sp_node *nodes = sp_arena_array(graph->arena, 2 * graph->node_count, sizeof(*nodes));

	if (nodes == NULL)
		return no_memory(err);
	memcpy(nodes, graph->nodes, graph->node_count * sizeof(*nodes));
	graph->nodes = nodes;
	return SP_OK;
}

sp_status sp_graph_push_constants(sp_graph *graph, const bool *fed, const bool *kept, sp_error *err)
{
	size_t count = graph->node_count, most = 2 * count;
	pushing p = {.graph = graph, .fed = fed, .kept = kept, .err = err};
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_status status;

	if (scratch != NULL) {
		p.constant = sp_arena_zeros(scratch, most, sizeof(*p.constant));
		p.live = sp_arena_zeros(scratch, most, sizeof(*p.live));
		p.readers = sp_arena_zeros(scratch, most, sizeof(*p.readers));
		p.awaited = sp_arena_zeros(scratch, most, sizeof(*p.awaited));
	}
	if (p.constant != NULL && p.live != NULL && p.readers != NULL && p.awaited != NULL) {
		count_readers(&p);
		status = sp_optimizer_names_make(&p.names, graph, scratch, err);
		if (status == SP_OK)
			status = make_room(graph, err);
		if (status == SP_OK)
			status = walk(&p, count);
	} else {
		status = no_memory(err);
	}
	sp_arena_destroy(scratch);
	return status;
}
