#include "engine/passes/fuse_dense.h"

#include <string.h>

#include "engine/graph/pattern.h"
#include "engine/graph/rewrite.h"

static const uint32_t NONE = UINT32_MAX;

typedef struct fusion {
	sp_rewrite rw;
	const sp_graph *graph;
	const bool *kept;
	bool *early;       /* [nodes] its value is fixed by the model version */
	uint32_t *readers; /* [nodes] data readers, and two per control edge */
	uint32_t *reader;  /* [nodes] the last reader: the only one where `readers` is 1 */
	uint32_t *head;    /* [nodes] the MatMul of the chain that ends here, or NONE */
	bool *fused;       /* [nodes] in a chain, but not its end: removed */
} fusion;

/* A chain: MatMul, perhaps BiasAdd, perhaps Relu. */
typedef struct chain {
	uint32_t product;
	uint32_t bias; /* the BiasAdd, or NONE */
	uint32_t relu; /* the Relu, or NONE */
	uint32_t end;
} chain;

static void find_readers(fusion *fu)
{
	for (size_t i = 0; i < fu->graph->node_count; i++) {
		const sp_node *node = &fu->graph->nodes[i];

		for (size_t k = 0; k < node->input_count; k++) {
			fu->readers[node->inputs[k].node]++;
			fu->reader[node->inputs[k].node] = (uint32_t)i;
		}
		for (size_t k = 0; k < node->control_count; k++)
			fu->readers[node->controls[k]] += 2; /* never the only reader */
		fu->early[i] = !fu->kept[i] && sp_pattern_is_early(fu->graph, fu->early, i);
	}
}

/* ------------------------------------------------------- finding a chain */

/* The only reader of a node, if it has that opcode and the node is its input 0; else NONE. */
static uint32_t only_reader(const fusion *fu, uint32_t i, sp_opcode opcode)
{
	const sp_node *node;

	if (fu->kept[i] || fu->readers[i] != 1)
		return NONE;
	node = &fu->graph->nodes[fu->reader[i]];
	return node->opcode == opcode && node->input_count != 0 && node->inputs[0].node == i
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

static bool is_packable_product(const fusion *fu, uint32_t i)
{
	const sp_node *node = &fu->graph->nodes[i];
	sp_dtype dtype = dtype_of(node);
	bool transpose_a, transpose_b;

	return node->opcode == SP_OPCODE_MatMul && node->input_count == 2 &&
	       fu->early[node->inputs[1].node] && !fu->early[node->inputs[0].node] &&
	       sp_node_attr_bool(node, "transpose_a", false, &transpose_a, NULL) == SP_OK &&
	       !transpose_a &&
	       sp_node_attr_bool(node, "transpose_b", false, &transpose_b, NULL) == SP_OK &&
	       (dtype == SP_FLOAT || dtype == SP_HALF || dtype == SP_BFLOAT16);
}

static bool is_early_bias(const fusion *fu, uint32_t i)
{
	const sp_node *node = &fu->graph->nodes[i];

	return node->input_count == 2 && fu->early[node->inputs[1].node];
}

static chain find_chain(const fusion *fu, uint32_t product)
{
	chain c = {product, NONE, NONE, product};
	uint32_t next = only_reader(fu, product, SP_OPCODE_BiasAdd);

	if (next != NONE && is_early_bias(fu, next))
		c.bias = c.end = next;
	next = only_reader(fu, c.end, SP_OPCODE_Relu);
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
			fu->fused[k] = true;
	}
}

/* ------------------------------------------------------ writing the list */

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
		return sp_rewrite_no_memory(&fu->rw);
	node->controls = controls;
	for (size_t m = 0; m < 3; m++) {
		const sp_node *from = members[m] != NONE ? &fu->graph->nodes[members[m]] : NULL;

		for (size_t k = 0; from != NULL && k < from->control_count; k++)
			controls[node->control_count++] = fu->rw.moved[from->controls[k]];
	}
	return SP_OK;
}

/* The node that packs the weights, once per model version. */
static sp_status add_layer(fusion *fu, const chain *c, uint32_t *at)
{
	const sp_node *product = &fu->graph->nodes[c->product];
	sp_arena *arena = fu->graph->arena;
	sp_port *inputs = sp_arena_array(arena, 2, sizeof(*inputs));
	sp_node layer = {.name = sp_arena_printf(arena, "%s/layer", product->name),
			 .region = product->region,
			 .inputs = inputs,
			 .input_count = c->bias != NONE ? 2 : 1,
			 .dense.relu = c->relu != NONE};

	if (inputs == NULL || layer.name == NULL)
		return sp_rewrite_no_memory(&fu->rw);
	SP_TRY(sp_node_attr_bool(product, "transpose_b", false, &layer.dense.transposed,
				 fu->rw.err));
	inputs[0] = sp_rewrite_port(&fu->rw, product->inputs[1]);
	if (c->bias != NONE)
		inputs[1] = sp_rewrite_port(&fu->rw, fu->graph->nodes[c->bias].inputs[1]);
	sp_node_set_op(&layer, SP_OPCODE_DenseLayer);
	return sp_rewrite_add(&fu->rw, &layer, at);
}

static sp_status add_dense(fusion *fu, uint32_t end)
{
	chain c = find_chain(fu, fu->head[end]);
	const sp_node *product = &fu->graph->nodes[c.product];
	sp_port *inputs = sp_arena_array(fu->graph->arena, 2, sizeof(*inputs));
	sp_node dense = {.name = fu->graph->nodes[end].name,
			 .region = fu->graph->nodes[end].region,
			 .inputs = inputs,
			 .input_count = 2};
	uint32_t layer = NONE;

	if (inputs == NULL)
		return sp_rewrite_no_memory(&fu->rw);
	SP_TRY(add_layer(fu, &c, &layer));
	SP_TRY(gather_controls(fu, &c, &dense));
	inputs[0] = sp_rewrite_port(&fu->rw, product->inputs[0]);
	inputs[1] = (sp_port){layer, 0};
	sp_node_set_op(&dense, SP_OPCODE_Dense);
	return sp_rewrite_add(&fu->rw, &dense, &fu->rw.moved[end]);
}

static sp_status rewrite(fusion *fu)
{
	for (uint32_t i = 0; i < fu->graph->node_count; i++) {
		if (fu->fused[i])
			continue;
		if (fu->head[i] != NONE)
			SP_TRY(add_dense(fu, i));
		else
			SP_TRY(sp_rewrite_move(&fu->rw, i));
	}
	return SP_OK;
}

sp_status sp_graph_fuse_dense(sp_graph *graph, const bool *kept, sp_error *err)
{
	size_t count = graph->node_count;
	fusion fu = {.graph = graph, .kept = kept};
	sp_arena *arena = graph->arena;

	SP_TRY(sp_rewrite_begin(&fu.rw, graph, err));
	fu.early = sp_arena_zeros(arena, count, sizeof(*fu.early));
	fu.readers = sp_arena_zeros(arena, count, sizeof(*fu.readers));
	fu.reader = sp_arena_zeros(arena, count, sizeof(*fu.reader));
	fu.head = sp_arena_array(arena, count, sizeof(*fu.head));
	fu.fused = sp_arena_zeros(arena, count, sizeof(*fu.fused));
	if (fu.early == NULL || fu.readers == NULL || fu.reader == NULL || fu.head == NULL ||
	    fu.fused == NULL)
		return sp_rewrite_no_memory(&fu.rw);
	memset(fu.head, 0xff, count * sizeof(*fu.head));
	find_readers(&fu);
	mark_chains(&fu);
	SP_TRY(rewrite(&fu));
	/* A fused node's name refers to the end of its chain. */
	for (size_t i = count; i-- > 0;)
		if (fu.fused[i])
			fu.rw.moved[i] = fu.rw.moved[fu.reader[i]];
	sp_rewrite_finish(&fu.rw);
	return SP_OK;
}
