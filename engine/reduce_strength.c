#include "engine/reduce_strength.h"

#include <string.h>

#include "engine/op.h"

typedef struct reduction {
	sp_graph *graph;
	const bool *fed, *kept;
	bool *constant;  /* [nodes] known before any request */
	uint32_t *edges; /* [nodes] that leave the node */
	sp_error *err;
} reduction;

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

static bool is_constant(const sp_node *node, const bool *constant)
{
	const unsigned apart = SP_OP_STATEFUL | SP_OP_LOAD_ONLY | SP_OP_TAKES_DEAD |
			       SP_OP_MAKES_DEAD | SP_OP_PER_REQUEST;

	if (node->op == NULL || (node->op->flags & apart) != 0 || node->region_count != 0 ||
	    node->control_count != 0)
		return false;
	for (size_t k = 0; k < node->input_count; k++)
		if (!constant[node->inputs[k].node])
			return false;
	return node->input_count != 0 || is_op(node, "Const");
}

/* The first element; false for other types. */
static bool number_of(const sp_tensor *tensor, float *out)
{
	if (tensor->dtype == SP_FLOAT)
		*out = sp_tensor_f32(tensor)[0];
	else if (tensor->dtype == SP_HALF)
		*out = sp_half_to_float(*(const uint16_t *)tensor->data);
	else if (tensor->dtype == SP_BFLOAT16)
		*out = sp_bfloat16_to_float(*(const uint16_t *)tensor->data);
	else
		return false;
	return true;
}

/* The operator that takes x to a constant power, or NULL. */
static const char *power_of(const sp_node *exponent)
{
	static const struct {
		float exponent;
		const char *op;
	} powers[] = {
		{2, "Square"}, {3, "_Cube"}, {0.5F, "Sqrt"}, {-0.5F, "Rsqrt"}, {-1, "Reciprocal"}};
	const sp_attr *value = sp_node_attr(exponent, "value");
	float number;

	if (!is_op(exponent, "Const") || value == NULL || value->kind != SP_ATTR_TENSOR ||
	    value->tensor->shape.rank != 0 || !number_of(value->tensor, &number))
		return NULL;
	for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++)
		if (number == powers[i].exponent)
			return powers[i].op;
	return NULL;
}

static void replace(sp_node *node, const char *op_name, size_t inputs)
{
	node->op_name = op_name;
	node->op = sp_op_find(op_name);
	node->input_count = inputs;
}

static bool is_reduced(const sp_node *node)
{
	sp_dtype dtype;

	return sp_node_attr_type(node, "T", SP_INVALID_DTYPE, &dtype, NULL) == SP_OK &&
	       (dtype == SP_FLOAT || dtype == SP_HALF || dtype == SP_BFLOAT16);
}

/* c * x^3 for the side of a product that is a cube nobody else reads. */
static sp_status scale_cube(reduction *r, sp_node *node, size_t side)
{
	uint32_t cube = node->inputs[side].node;
	const sp_node *from = &r->graph->nodes[cube];
	sp_port *inputs;

	if (!is_op(from, "_Cube") || from->control_count != 0 || r->kept[cube] ||
	    r->edges[cube] != 1 || !r->constant[node->inputs[1 - side].node])
		return SP_OK;
	inputs = sp_arena_array(r->graph->arena, 2, sizeof(*inputs));
	if (inputs == NULL)
		return sp_error_set(r->err, SP_NO_MEMORY, "no memory for the graph");
	inputs[0] = from->inputs[0];
	inputs[1] = node->inputs[1 - side];
	node->inputs = inputs;
	replace(node, "_ScaledCube", 2);
	return SP_OK;
}

static sp_status look_at(reduction *r, sp_node *node)
{
	const char *power;

	if (node->op == NULL || node->input_count != 2 || !is_reduced(node))
		return SP_OK;
	for (size_t side = 0; side < 2 && is_op(node, "Mul"); side++)
		SP_TRY(scale_cube(r, node, side));
	if (r->constant[node->inputs[0].node] || !r->constant[node->inputs[1].node])
		return SP_OK;
	if (is_op(node, "RealDiv") || is_op(node, "Div")) {
		replace(node, "_TimesReciprocal", 2);
	} else if (is_op(node, "Pow")) {
		power = power_of(&r->graph->nodes[node->inputs[1].node]);
		if (power != NULL)
			replace(node, power, 1);
	}
	return SP_OK;
}

static void count_edges(reduction *r)
{
	for (size_t i = 0; i < r->graph->node_count; i++) {
		const sp_node *node = &r->graph->nodes[i];

		for (size_t k = 0; k < node->input_count; k++)
			r->edges[node->inputs[k].node]++;
		for (size_t k = 0; k < node->control_count; k++)
			r->edges[node->controls[k]]++;
	}
}

static sp_status walk(reduction *r)
{
	for (size_t i = 0; i < r->graph->node_count; i++) {
		sp_node *node = &r->graph->nodes[i];

		if (r->fed[i])
			continue;
		r->constant[i] = is_constant(node, r->constant);
		SP_TRY(look_at(r, node));
	}
	return SP_OK;
}

sp_status sp_graph_reduce_strength(sp_graph *graph, const bool *fed, const bool *kept,
				   sp_error *err)
{
	reduction r = {.graph = graph, .fed = fed, .kept = kept, .err = err};
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_status status;

	if (scratch != NULL) {
		r.constant = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.constant));
		r.edges = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.edges));
	}
	if (r.constant != NULL && r.edges != NULL) {
		count_edges(&r);
		status = walk(&r);
	} else {
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	}
	sp_arena_destroy(scratch);
	return status;
}
