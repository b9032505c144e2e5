#include "engine/passes/fuse_dense.h"

#include <string.h>

#include "engine/graph/op.h"

static const uint32_t NONE = UINT32_MAX;

typedef struct fusion {
	sp_graph *graph;
	const bool *kept;
	bool *early;       /* [nodes] known once per model version */
	uint32_t *readers; /* [nodes] data readers, and one more per control edge */
	uint32_t *reader;  /* [nodes] the last reader: the only one where readers is 1 */
	uint32_t *head;    /* [nodes] the MatMul whose chain ends here, or NONE */
	bool *swallowed;   /* [nodes] inside a chain, not its end */
	uint32_t *moved;   /* [nodes] in the new list */
	sp_node *nodes;    /* the new list */
	size_t count;
	sp_error *err;
} fusion;

/* A chain: MatMul, perhaps BiasAdd, perhaps Relu. */
typedef struct chain {
	uint32_t product;
	uint32_t bias; /* the BiasAdd, or NONE */
	uint32_t relu; /* the Relu, or NONE */
	uint32_t end;
} chain;

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

static bool known_early(const fusion *fu, size_t i)
{
	const sp_node *node = &fu->graph->nodes[i];
	const unsigned late = SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_TAKES_DEAD |
			      SP_OP_MAKES_DEAD | SP_OP_PER_REQUEST;

	if (node->op == NULL || fu->kept[i] || (node->op->flags & late) != 0)
		return false;
	for (size_t k = 0; k < node->input_count; k++)
		if (!fu->early[node->inputs[k].node])
			return false;
	for (size_t k = 0; k < node->control_count; k++)
		if (!fu->early[node->controls[k]])
			return false;
	return true;
}

static void look_at_edges(fusion *fu)
{
	for (size_t i = 0; i < fu->graph->node_count; i++) {
		const sp_node *node = &fu->graph->nodes[i];

		for (size_t k = 0; k < node->input_count; k++) {
			fu->readers[node->inputs[k].node]++;
			fu->reader[node->inputs[k].node] = (uint32_t)i;
		}
		for (size_t k = 0; k < node->control_count; k++)
			fu->readers[node->controls[k]] += 2; /* never the only reader */
		fu->early[i] = known_early(fu, i);
	}
}

/* ------------------------------------------------------- finding a chain */

/* The only reader of a node nobody else looks at, if it is an `op` that reads it first. */
static uint32_t only_reader(const fusion *fu, uint32_t i, const char *op)
{
	const sp_node *node;

	if (fu->kept[i] || fu->readers[i] != 1)
		return NONE;
	node = &fu->graph->nodes[fu->reader[i]];
	return is_op(node, op) && node->input_count != 0 && node->inputs[0].node == i
		       ? fu->reader[i]
		       : NONE;
}

static sp_dtype dtype_of(const sp_node *product)
{
	sp_dtype dtype;

	if (sp_node_attr_type(product, "T", SP_INVALID_DTYPE, &dtype, NULL) != SP_OK)
		return SP_INVALID_DTYPE;
	return dtype;
}

static bool is_narrow(sp_dtype dtype)
{
	return dtype == SP_HALF || dtype == SP_BFLOAT16;
}

static bool is_packable_product(const fusion *fu, uint32_t i)
{
	const sp_node *node = &fu->graph->nodes[i];
	sp_dtype dtype = dtype_of(node);
	bool transpose_a;

	return is_op(node, "MatMul") && node->input_count == 2 && fu->early[node->inputs[1].node] &&
	       !fu->early[node->inputs[0].node] &&
	       sp_node_attr_bool(node, "transpose_a", false, &transpose_a, NULL) == SP_OK &&
	       !transpose_a && (dtype == SP_FLOAT || is_narrow(dtype));
}

static bool is_early_bias(const fusion *fu, uint32_t i)
{
	const sp_node *node = &fu->graph->nodes[i];

	return node->input_count == 2 && fu->early[node->inputs[1].node];
}

static chain find_chain(const fusion *fu, uint32_t product)
{
	chain c = {product, NONE, NONE, product};
	uint32_t next = only_reader(fu, product, "BiasAdd");

	if (next != NONE && is_early_bias(fu, next))
		c.bias = c.end = next;
	next = only_reader(fu, c.end, "Relu");
	if (next != NONE)
		c.relu = c.end = next;
	return c;
}

static void mark_chains(fusion *fu)
{
	for (uint32_t i = 0; i < fu->graph->node_count; i++) {
		chain c;

		if (!is_packable_product(fu, i))
			continue;
		c = find_chain(fu, i);
		fu->head[c.end] = i;
		for (uint32_t k = i; k != c.end; k = fu->reader[k])
			fu->swallowed[k] = true;
	}
}

/* ------------------------------------------------------ writing the list */

static sp_status no_memory(fusion *fu)
{
	return sp_error_set(fu->err, SP_NO_MEMORY, "no memory for the graph");
}

static sp_port moved_port(const fusion *fu, sp_port port)
{
	return (sp_port){fu->moved[port.node], port.port};
}

static uint32_t add(fusion *fu, const sp_node *node)
{
	fu->nodes[fu->count] = *node;
	return (uint32_t)fu->count++;
}

static sp_status move_node(fusion *fu, uint32_t i)
{
	sp_node node = fu->graph->nodes[i];
	sp_port *inputs = sp_arena_array(fu->graph->arena, node.input_count, sizeof(*inputs));
	uint32_t *controls = sp_arena_array(fu->graph->arena, node.control_count,
					    sizeof(*controls));

	if (inputs == NULL || controls == NULL)
		return no_memory(fu);
	for (size_t k = 0; k < node.input_count; k++)
		inputs[k] = moved_port(fu, node.inputs[k]);
	for (size_t k = 0; k < node.control_count; k++)
		controls[k] = fu->moved[node.controls[k]];
	node.inputs = inputs;
	node.controls = controls;
	fu->moved[i] = add(fu, &node);
	return SP_OK;
}

/* The control edges of the whole chain. */
static sp_status gather_controls(fusion *fu, const chain *c, sp_node *node)
{
	uint32_t members[] = {c->product, c->bias, c->relu};
	size_t count = 0;
	uint32_t *controls;

	for (size_t m = 0; m < 3; m++)
		if (members[m] != NONE)
			count += fu->graph->nodes[members[m]].control_count;
	controls = sp_arena_array(fu->graph->arena, count, sizeof(*controls));
	if (controls == NULL)
		return no_memory(fu);
	node->controls = controls;
	for (size_t m = 0; m < 3; m++) {
		const sp_node *from = members[m] != NONE ? &fu->graph->nodes[members[m]] : NULL;

		for (size_t k = 0; from != NULL && k < from->control_count; k++)
			controls[node->control_count++] = fu->moved[from->controls[k]];
	}
	return SP_OK;
}

static sp_status add_layer(fusion *fu, const chain *c, uint32_t *at)
{
	const sp_node *product = &fu->graph->nodes[c->product];
	const sp_attr *transpose = sp_node_attr(product, "transpose_b");
	sp_arena *arena = fu->graph->arena;
	sp_port *inputs = sp_arena_array(arena, 2, sizeof(*inputs));
	sp_attr *attrs = sp_arena_zeros(arena, 2, sizeof(*attrs));
	const char *op = is_narrow(dtype_of(product)) ? "_NarrowLayer" : "_DenseLayer";
	sp_node layer = {.op_name = op,
			 .region = product->region,
			 .op = sp_op_find(op),
			 .inputs = inputs,
			 .input_count = c->bias != NONE ? 2 : 1,
			 .attrs = attrs,
			 .attr_count = 2};

	layer.name = sp_arena_printf(arena, "%s/layer", product->name);
	if (inputs == NULL || attrs == NULL || layer.name == NULL)
		return no_memory(fu);
	inputs[0] = moved_port(fu, product->inputs[1]);
	if (c->bias != NONE)
		inputs[1] = moved_port(fu, fu->graph->nodes[c->bias].inputs[1]);
	attrs[0] = (sp_attr){.name = "relu", .kind = SP_ATTR_BOOL, .b = c->relu != NONE};
	attrs[1] = transpose != NULL ? *transpose
				     : (sp_attr){.name = "transpose_b", .kind = SP_ATTR_BOOL};
	*at = add(fu, &layer);
	return SP_OK;
}

static sp_status add_dense(fusion *fu, uint32_t end)
{
	chain c = find_chain(fu, fu->head[end]);
	const sp_node *product = &fu->graph->nodes[c.product];
	const char *op = is_narrow(dtype_of(product)) ? "_NarrowDense" : "_Dense";
	sp_port *inputs = sp_arena_array(fu->graph->arena, 2, sizeof(*inputs));
	sp_node dense = {.name = fu->graph->nodes[end].name,
			 .region = fu->graph->nodes[end].region,
			 .op_name = op,
			 .op = sp_op_find(op),
			 .inputs = inputs,
			 .input_count = 2};
	uint32_t layer = NONE;

	if (inputs == NULL)
		return no_memory(fu);
	SP_TRY(add_layer(fu, &c, &layer));
	SP_TRY(gather_controls(fu, &c, &dense));
	inputs[0] = moved_port(fu, product->inputs[0]);
	inputs[1] = (sp_port){layer, 0};
	fu->moved[end] = add(fu, &dense);
	return SP_OK;
}

static sp_status rewrite(fusion *fu)
{
	for (uint32_t i = 0; i < fu->graph->node_count; i++) {
		if (fu->swallowed[i])
			continue;
		if (fu->head[i] != NONE)
			SP_TRY(add_dense(fu, i));
		else
			SP_TRY(move_node(fu, i));
	}
	return SP_OK;
}

/* Names of nodes that are gone now stand for the end of their chain. */
static void move_names(fusion *fu)
{
	sp_map *names = &fu->graph->names;

	for (size_t i = 0; i < names->count; i++) {
		uint32_t node = (uint32_t)names->entries[i].value;

		while (fu->swallowed[node])
			node = fu->reader[node];
		names->entries[i].value = fu->moved[node];
	}
}

sp_status sp_graph_fuse_dense(sp_graph *graph, const bool *kept, sp_error *err)
{
	size_t count = graph->node_count;
	fusion fu = {.graph = graph, .kept = kept, .err = err};
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_status status = SP_OK;

	if (scratch == NULL)
		return no_memory(&fu);
	fu.early = sp_arena_zeros(scratch, count, sizeof(*fu.early));
	fu.readers = sp_arena_zeros(scratch, count, sizeof(*fu.readers));
	fu.reader = sp_arena_zeros(scratch, count, sizeof(*fu.reader));
	fu.head = sp_arena_array(scratch, count, sizeof(*fu.head));
	fu.swallowed = sp_arena_zeros(scratch, count, sizeof(*fu.swallowed));
	fu.moved = sp_arena_array(scratch, count, sizeof(*fu.moved));
	fu.nodes = sp_arena_array(graph->arena, 2 * count, sizeof(*fu.nodes));
	if (fu.early == NULL || fu.readers == NULL || fu.reader == NULL || fu.head == NULL ||
	    fu.swallowed == NULL || fu.moved == NULL || fu.nodes == NULL) {
		sp_arena_destroy(scratch);
		return no_memory(&fu);
	}
	memset(fu.head, 0xff, count * sizeof(*fu.head));
	look_at_edges(&fu);
	mark_chains(&fu);
	status = rewrite(&fu);
	if (status == SP_OK) {
		move_names(&fu);
		graph->nodes = fu.nodes;
		graph->node_count = fu.count;
	}
	sp_arena_destroy(scratch);
	return status;
}
