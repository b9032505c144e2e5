#include "engine/passes/reduce_strength.h"

#include <string.h>

#include "engine/graph/op.h"

typedef struct reduction {
	sp_graph *graph;
	const bool *fed, *kept;
	uint32_t *readers; /* [nodes] edges that leave the node */
	sp_error *err;
} reduction;

/* ---------------------------------------------------------------- looking up */

/* The producer of an input, if it has that opcode and `inputs` inputs and `node` may bypass it. */
static const sp_node *producer(const reduction *r, const sp_node *node, size_t side,
			       sp_opcode opcode, size_t inputs)
{
	sp_port port = node->inputs[side];
	const sp_node *from = &r->graph->nodes[port.node];

	return !r->fed[port.node] && port.port == 0 && from->control_count == 0 &&
			       from->region == node->region && from->input_count == inputs &&
			       from->opcode == opcode
		       ? from
		       : NULL;
}

/* The value of a Const; NULL for any other node. */
static const sp_tensor *constant_of(const reduction *r, sp_port port)
{
	const sp_node *from = &r->graph->nodes[port.node];
	const sp_attr *value = sp_node_attr(from, "value");

	return !r->fed[port.node] && from->opcode == SP_OPCODE_Const && from->control_count == 0 &&
			       value != NULL && value->kind == SP_ATTR_TENSOR
		       ? value->tensor
		       : NULL;
}

/* The one element of a constant; false for anything else. */
static bool number_of(const reduction *r, sp_port port, float *out)
{
	const sp_tensor *tensor = constant_of(r, port);

	if (tensor == NULL || tensor->count != 1)
		return false;
	switch (tensor->dtype) {
	case SP_FLOAT:
		*out = sp_tensor_f32(tensor)[0];
		return true;
	case SP_HALF:
		*out = sp_half_to_float(*(const uint16_t *)tensor->data);
		return true;
	case SP_BFLOAT16:
		*out = sp_bfloat16_to_float(*(const uint16_t *)tensor->data);
		return true;
	default:
		return false;
	}
}

/* Whether it is a scalar constant 1, which does not broadcast the other operand. */
static bool is_one(const reduction *r, sp_port port)
{
	float number;

	return number_of(r, port, &number) && number == 1 && constant_of(r, port)->shape.rank == 0;
}

/* ----------------------------------------------------------------- replacing */

/* `node` becomes an operator of one input. */
static sp_status replace(reduction *r, sp_node *node, sp_opcode opcode, sp_port input)
{
	sp_port *inputs = sp_arena_array(r->graph->arena, 1, sizeof(*inputs));

	SP_NEED_MEMORY(inputs, r->err, "the graph");
	inputs[0] = input;
	node->inputs = inputs;
	node->input_count = 1;
	sp_node_set_op(node, opcode);
	return SP_OK;
}

static sp_status reduce_power(reduction *r, sp_node *node)
{
	static const struct {
		float exponent;
		sp_opcode opcode;
	} powers[] = {{2, SP_OPCODE_Square},
		      {3, SP_OPCODE_Cube},
		      {0.5F, SP_OPCODE_Sqrt},
		      {-0.5F, SP_OPCODE_Rsqrt},
		      {-1, SP_OPCODE_Reciprocal}};
	float exponent;

	if (!number_of(r, node->inputs[1], &exponent) ||
	    constant_of(r, node->inputs[1])->shape.rank != 0)
		return SP_OK;
	for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++)
		if (exponent == powers[i].exponent)
			return replace(r, node, powers[i].opcode, node->inputs[0]);
	return SP_OK;
}

static sp_status reduce_logarithm(reduction *r, sp_node *node)
{
	static const sp_opcode sums[] = {SP_OPCODE_AddV2, SP_OPCODE_Add};
	uint32_t read = node->inputs[0].node;
	const sp_node *from = producer(r, node, 0, SP_OPCODE_Softmax, 1);

	if (from != NULL && !r->kept[read] && r->readers[read] == 1)
		return replace(r, node, SP_OPCODE_LogSoftmax, from->inputs[0]);
	for (size_t i = 0; i < 2; i++) {
		from = producer(r, node, 0, sums[i], 2);
		for (size_t side = 0; from != NULL && side < 2; side++)
			if (is_one(r, from->inputs[1 - side]))
				return replace(r, node, SP_OPCODE_Log1p, from->inputs[side]);
	}
	return SP_OK;
}

static sp_status reduce_difference(reduction *r, sp_node *node)
{
	const sp_node *from = producer(r, node, 0, SP_OPCODE_Exp, 1);

	return from != NULL && is_one(r, node->inputs[1])
		       ? replace(r, node, SP_OPCODE_Expm1, from->inputs[0])
		       : SP_OK;
}

/* ------------------------------------------------------------------ products */

/* Whether a Transpose exchanges the last two dimensions and leaves the others. */
static bool exchanges_inner(const reduction *r, const sp_node *transpose)
{
	const sp_tensor *perm = constant_of(r, transpose->inputs[1]);
	int64_t last;

	if (perm == NULL || perm->count < 2 || perm->count > SP_MAX_RANK ||
	    (perm->dtype != SP_INT32 && perm->dtype != SP_INT64))
		return false;
	last = (int64_t)perm->count - 1;
	for (int64_t d = 0; d <= last; d++)
		if (sp_tensor_index(perm, (size_t)d) != (d < last - 1 ? d : 2 * last - 1 - d))
			return false;
	return true;
}

/* Negates a bool attribute, which is false when absent. */
static sp_status flip(reduction *r, sp_node *node, const char *name)
{
	sp_attr *attrs = sp_arena_copy(r->graph->arena, node->attrs, node->attr_count,
				       node->attr_count + 1, sizeof(*attrs));
	const sp_attr *old = sp_node_attr(node, name);
	size_t at = old != NULL ? (size_t)(old - node->attrs) : node->attr_count;

	SP_NEED_MEMORY(attrs, r->err, "the graph");
	attrs[at] = (sp_attr){.name = name, .kind = SP_ATTR_BOOL, .b = old == NULL || !old->b};
	node->attrs = attrs;
	node->attr_count += old == NULL;
	return SP_OK;
}

/*
 * A product reads the operand that was transposed.  transpose_a of MatMul is not set, because dense
 * layers (fuse_dense.h) do not have it.
 */
static sp_status multiply_transposed(reduction *r, sp_node *node)
{
	static const char *const batch_flags[] = {"adj_x", "adj_y"};
	bool batch = node->opcode != SP_OPCODE_MatMul;

	for (size_t side = batch ? 0 : 1; side < 2; side++) {
		const sp_node *from = producer(r, node, side, SP_OPCODE_Transpose, 2);
		sp_port *inputs;

		if (from == NULL || !exchanges_inner(r, from))
			continue;
		inputs = sp_arena_array(r->graph->arena, 2, sizeof(*inputs));
		SP_NEED_MEMORY(inputs, r->err, "the graph");
		inputs[side] = from->inputs[0];
		inputs[1 - side] = node->inputs[1 - side];
		node->inputs = inputs;
		SP_TRY(flip(r, node, batch ? batch_flags[side] : "transpose_b"));
	}
	return SP_OK;
}

/* ------------------------------------------------------------------- the walk */

static bool is_product(const sp_node *node)
{
	return node->opcode == SP_OPCODE_MatMul || node->opcode == SP_OPCODE_BatchMatMul ||
	       node->opcode == SP_OPCODE_BatchMatMulV2;
}

static sp_status reduce(reduction *r, sp_node *node)
{
	sp_dtype dtype;

	if (node->op == NULL ||
	    sp_node_attr_type(node, "T", SP_INVALID_DTYPE, &dtype, NULL) != SP_OK)
		return SP_OK;
	if (node->opcode == SP_OPCODE_Pow && node->input_count == 2 &&
	    (dtype == SP_FLOAT || dtype == SP_HALF || dtype == SP_BFLOAT16))
		return reduce_power(r, node);
	if (dtype != SP_FLOAT)
		return SP_OK;
	if (node->opcode == SP_OPCODE_Log && node->input_count == 1)
		return reduce_logarithm(r, node);
	if (node->opcode == SP_OPCODE_Sub && node->input_count == 2)
		return reduce_difference(r, node);
	return is_product(node) && node->input_count == 2 ? multiply_transposed(r, node) : SP_OK;
}

static void count_readers(reduction *r)
{
	for (size_t i = 0; i < r->graph->node_count; i++) {
		const sp_node *node = &r->graph->nodes[i];

		for (size_t k = 0; k < node->input_count; k++)
			r->readers[node->inputs[k].node]++;
		for (size_t k = 0; k < node->control_count; k++)
			r->readers[node->controls[k]]++;
	}
}

static sp_status walk(reduction *r)
{
	for (size_t i = 0; i < r->graph->node_count; i++)
		if (!r->fed[i])
			SP_TRY(reduce(r, &r->graph->nodes[i]));
	return SP_OK;
}

sp_status sp_graph_reduce_strength(sp_graph *graph, const bool *fed, const bool *kept,
				   sp_error *err)
{
	reduction r = {.graph = graph, .fed = fed, .kept = kept, .err = err};
	sp_arena *scratch = sp_arena_create(64 << 10);
	sp_status status;

	if (scratch != NULL)
		r.readers = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.readers));
	if (r.readers != NULL) {
		count_readers(&r);
		status = walk(&r);
	} else {
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	}
	sp_arena_destroy(scratch);
	return status;
}
