#include "engine/reduce_strength.h"

#include <string.h>

#include "engine/constants.h"
#include "engine/op.h"
#include "engine/optimizer_names.h"
#include "engine/static_shapes.h"

typedef struct reduction {
	sp_graph *graph;
	const bool *fed, *kept;
	bool *constant;    /* [nodes] known before any request */
	bool *was_power;   /* [nodes] a root that was a Pow */
	bool *live;        /* [nodes] something that is wanted needs it */
	uint32_t *edges;   /* [nodes] that leave the node for a live one */
	uint32_t *readers; /* [nodes] the first live node that one of these leads to */
	bool *awaited;     /* [nodes] one of these only waits for it */
	sp_static_shapes shapes;
	sp_optimizer_names names;
	sp_error *err;
} reduction;

static bool is_op(const sp_node *node, const char *name)
{
	return strcmp(node->op_name, name) == 0;
}

static void replace(sp_node *node, const char *op_name, size_t inputs)
{
	node->op_name = op_name;
	node->op = sp_op_find(op_name);
	node->input_count = inputs;
}

static bool is_reduced(const sp_node *node, sp_dtype *dtype)
{
	return sp_node_attr_type(node, "T", SP_INVALID_DTYPE, dtype, NULL) == SP_OK &&
	       (*dtype == SP_FLOAT || *dtype == SP_HALF || *dtype == SP_BFLOAT16 ||
		*dtype == SP_COMPLEX64);
}

/*
 * Whether `node` can do without reading `from`: the optimizer sees that, and what it waits for, the
 * node can wait for itself.
 */
static bool can_leave_out(const reduction *r, const sp_node *node, uint32_t from)
{
	const sp_node *left_out = &r->graph->nodes[from];

	return sp_optimizer_sees(&r->names, node, (sp_port){from, 0}) &&
	       (left_out->control_count == 0 ||
		(left_out->control_count <= SP_MOST_CONTROLS && left_out->region == node->region));
}

static bool reads_constant(const reduction *r, const sp_node *node, size_t k)
{
	return sp_node_reads_constant(&r->names, node, k, r->constant);
}

/* The node waits for what a node waits for that it does not read any more. */
static sp_status take_controls(reduction *r, sp_node *node, uint32_t from)
{
	const sp_node *left_out = &r->graph->nodes[from];
	size_t count = node->control_count + left_out->control_count;
	uint32_t *controls;

	if (left_out->control_count == 0)
		return SP_OK;
	controls = sp_arena_array(r->graph->arena, count, sizeof(*controls));
	if (controls == NULL)
		return sp_error_set(r->err, SP_NO_MEMORY, "no memory for the graph");
	if (node->control_count != 0)
		memcpy(controls, node->controls, node->control_count * sizeof(*controls));
	for (size_t k = 0; k < left_out->control_count; k++) {
		controls[node->control_count + k] = left_out->controls[k];
		r->edges[left_out->controls[k]]++;
	}
	node->controls = controls;
	node->control_count = count;
	return SP_OK;
}

/* What is given to a function has its own name by the time that powers are looked at. */
static const char *name_of_base(const reduction *r, const sp_node *power, sp_port x)
{
	return r->fed[x.node] && r->graph->nodes[x.node].region == power->region
		       ? r->graph->nodes[x.node].name
		       : sp_optimizer_name_of(&r->names, power, x);
}

/*
 * Whether c * x^3 is (c x^2) x and not (c x) x^2.  TensorFlow's optimizer sorts x and x^2 by the
 * names that it gives them: c goes to the first if it knows how many dimensions x has, else to the
 * second.
 */
static sp_status scales_square(reduction *r, const sp_node *cube, bool *out)
{
	sp_port x = cube->inputs[0];
	const char *name = name_of_base(r, cube, x);
	const char *own = r->names.own[cube - r->graph->nodes], *base = strrchr(own, '/');
	int scope = base != NULL ? (int)(base + 1 - own) : 0;
	int32_t rank = sp_static_shape_of(&r->shapes, x).rank;
	char *square = sp_arena_printf(r->names.arena,
				       "%.*sArithmeticOptimizer/ConvertPow__inner_%s", scope, own,
				       own + scope);

	if (name == NULL || square == NULL)
		return sp_error_set(r->err, SP_NO_MEMORY, "no memory for the graph");
	*out = rank != SP_RANK_UNKNOWN && (strcmp(name, square) < 0) == (rank == SP_RANK_OPEN);
	return SP_OK;
}

/* c * x^3 for the side of a product that is a cube nobody else reads. */
static sp_status scale_cube(reduction *r, sp_node *node, size_t side)
{
	uint32_t cube = node->inputs[side].node;
	const sp_node *from = &r->graph->nodes[cube];
	sp_port *inputs;
	bool square = false;

	if (!is_op(from, "_Cube") || !can_leave_out(r, node, cube) || r->kept[cube] ||
	    r->edges[cube] != 1 || !reads_constant(r, node, 1 - side))
		return SP_OK;
	inputs = sp_arena_array(r->graph->arena, 2, sizeof(*inputs));
	if (inputs == NULL)
		return sp_error_set(r->err, SP_NO_MEMORY, "no memory for the graph");
	inputs[0] = from->inputs[0];
	inputs[1] = node->inputs[1 - side];
	node->inputs = inputs;
	SP_TRY(scales_square(r, from, &square));
	replace(node, square ? "_ScaledSquare" : "_ScaledCube", 2);
	return take_controls(r, node, cube);
}

/* The node behind an input, if it is an `op` that can be passed over; else NULL. */
static const sp_node *behind(const reduction *r, const sp_node *node, size_t side, const char *op,
			     size_t inputs)
{
	sp_port port = node->inputs[side];
	const sp_node *from = &r->graph->nodes[port.node];

	return !r->fed[port.node] && port.port == 0 && from->input_count == inputs &&
			       is_op(from, op) && can_leave_out(r, node, port.node)
		       ? from
		       : NULL;
}

/* The value of a constant that `node` can do without; NULL for anything else. */
static const sp_tensor *constant_of(const reduction *r, const sp_node *node, sp_port port)
{
	const sp_node *from = &r->graph->nodes[port.node];
	const sp_attr *value = sp_node_attr(from, "value");

	return !r->fed[port.node] && is_op(from, "Const") && can_leave_out(r, node, port.node) &&
			       value != NULL && value->kind == SP_ATTR_TENSOR
		       ? value->tensor
		       : NULL;
}

/* The node reads `port` as input `side` from now on. */
static sp_status reroute(reduction *r, sp_node *node, size_t side, sp_port port)
{
	sp_port *inputs = sp_arena_array(r->graph->arena, node->input_count, sizeof(*inputs));

	if (inputs == NULL)
		return sp_error_set(r->err, SP_NO_MEMORY, "no memory for the graph");
	memcpy(inputs, node->inputs, node->input_count * sizeof(*inputs));
	inputs[side] = port;
	node->inputs = inputs;
	return SP_OK;
}

static bool is_one(const reduction *r, const sp_node *node, sp_port port)
{
	const sp_tensor *value = constant_of(r, node, port);

	return value != NULL && value->dtype == SP_FLOAT && value->shape.rank == 0 &&
	       sp_tensor_f32(value)[0] == 1;
}

/* TensorFlow's optimizer leaves some operators alone where it knows nothing of the shape. */
static bool is_open(const reduction *r, sp_port port)
{
	return sp_static_shape_is_open(&r->shapes, port);
}

/* The same at its second look, when x * x is a square. */
static bool stays_open(const reduction *r, sp_port port)
{
	const sp_node *node = &r->graph->nodes[port.node];

	if (!r->fed[port.node] && is_op(node, "Mul") && node->input_count == 2 &&
	    node->inputs[0].node == node->inputs[1].node &&
	    node->inputs[0].port == node->inputs[1].port)
		port = node->inputs[0];
	return is_open(r, port);
}

/* Log(x + 1) of a sum whose other side is `one`. */
static sp_status take_log1p(reduction *r, sp_node *node, const sp_node *sum, size_t one)
{
	SP_TRY(take_controls(r, node, node->inputs[0].node));
	SP_TRY(take_controls(r, node, sum->inputs[one].node));
	replace(node, "Log1p", 1);
	return reroute(r, node, 0, sum->inputs[1 - one]);
}

/*
 * Whether TensorFlow's optimizer joins the logarithm with the function of one number that alone
 * takes it before it looks at what is behind.
 */
static bool is_joined(const reduction *r, const sp_node *log)
{
	static const char *const functions[] = {
		"Abs",   "Acos",    "Acosh",      "Asin", "Asinh", "Atan",   "Atanh", "Ceil",
		"Cos",   "Cosh",    "Elu",        "Exp",  "Expm1", "Floor",  "Inv",   "Log",
		"Log1p", "Neg",     "Reciprocal", "Relu", "Relu6", "Rint",   "Round", "Rsqrt",
		"Selu",  "Sigmoid", "Sin",        "Sinh", "Sqrt",  "Square", "Tan",   "Tanh"};
	size_t at = (size_t)(log - r->graph->nodes);
	uint32_t reader = r->readers[at];

	if (r->kept[at] || r->edges[at] != 1 || r->awaited[at] || r->kept[reader])
		return false;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (is_op(&r->graph->nodes[reader], functions[i]))
			return true;
	return false;
}

static sp_status look_at_log(reduction *r, sp_node *node)
{
	static const char *const sums[] = {"AddV2", "Add"};
	const sp_node *from = behind(r, node, 0, "Softmax", 1);

	if (is_joined(r, node))
		return SP_OK;
	if (from != NULL && !r->kept[node->inputs[0].node] && r->edges[node->inputs[0].node] == 1) {
		SP_TRY(take_controls(r, node, node->inputs[0].node));
		replace(node, "LogSoftmax", 1);
		return reroute(r, node, 0, from->inputs[0]);
	}
	for (size_t i = 0; i < 2; i++) {
		from = behind(r, node, 0, sums[i], 2);
		for (size_t side = 0; from != NULL && side < 2; side++)
			if (is_one(r, node, from->inputs[1 - side]) &&
			    !stays_open(r, from->inputs[side]))
				return take_log1p(r, node, from, 1 - side);
	}
	return SP_OK;
}

/* An exponential that alone reads a square is joined with it before the second look. */
static sp_status look_at_difference(reduction *r, sp_node *node)
{
	const sp_node *from = behind(r, node, 0, "Exp", 1);
	sp_port power;

	if (from == NULL || !is_one(r, node, node->inputs[1]))
		return SP_OK;
	power = from->inputs[0];
	if (is_open(r, power) && (r->edges[power.node] == 1 || stays_open(r, power)))
		return SP_OK;
	SP_TRY(take_controls(r, node, node->inputs[0].node));
	SP_TRY(take_controls(r, node, node->inputs[1].node));
	replace(node, "Expm1", 1);
	return reroute(r, node, 0, from->inputs[0]);
}

static sp_status flip(reduction *r, sp_node *node, const char *name)
{
	sp_attr *attrs = sp_arena_array(r->graph->arena, node->attr_count + 1, sizeof(*attrs));
	const sp_attr *old = sp_node_attr(node, name);
	size_t at = old != NULL ? (size_t)(old - node->attrs) : node->attr_count;

	if (attrs == NULL)
		return sp_error_set(r->err, SP_NO_MEMORY, "no memory for the graph");
	if (node->attr_count != 0)
		memcpy(attrs, node->attrs, node->attr_count * sizeof(*attrs));
	attrs[at] = (sp_attr){.name = name, .kind = SP_ATTR_BOOL, .b = old == NULL || !old->b};
	node->attrs = attrs;
	node->attr_count += old == NULL;
	return SP_OK;
}

/*
 * 1 / x, and x / Sqrt(y) with a root that nobody else reads.  TensorFlow comes to a root that was a
 * power in its last round only.
 */
static sp_status look_at_quotient(reduction *r, sp_node *node)
{
	uint32_t root = node->inputs[1].node;

	if (is_one(r, node, node->inputs[0]) &&
	    sp_static_shape_of(&r->shapes, node->inputs[1]).rank != SP_RANK_OPEN) {
		SP_TRY(take_controls(r, node, node->inputs[0].node));
		replace(node, "Reciprocal", 1);
		return reroute(r, node, 0, node->inputs[1]);
	}
	if (is_op(&r->graph->nodes[root], "Sqrt") && !r->kept[root] && r->edges[root] == 1 &&
	    sp_optimizer_sees(&r->names, node, node->inputs[1])) {
		replace(&r->graph->nodes[root], "Rsqrt", 1);
		replace(node, "Mul", 2);
		if (r->was_power[root])
			return flip(r, node, SP_LATE_PRODUCT);
	}
	return SP_OK;
}

/* Whether a Transpose that `reader` can do without exchanges the last two dimensions. */
static bool exchanges_inner(const reduction *r, const sp_node *reader, const sp_node *transpose)
{
	const sp_tensor *perm = constant_of(r, reader, transpose->inputs[1]);
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

/*
 * A side that is transposed for the product only; the rows of layers are left alone.  Operators on
 * batches conjugate what they transpose.
 */
static sp_status multiply_transposed(reduction *r, sp_node *node, sp_dtype dtype)
{
	static const char *const matrix_flags[] = {"transpose_a", "transpose_b"};
	static const char *const batch_flags[] = {"adj_x", "adj_y"};
	bool batch = !is_op(node, "MatMul");
	const char *op = batch && dtype == SP_COMPLEX64 ? "ConjugateTranspose" : "Transpose";

	for (size_t side = batch ? 0 : 1; side < 2; side++) {
		const sp_node *from = behind(r, node, side, op, 2);

		if (from == NULL || reads_constant(r, node, side) ||
		    !exchanges_inner(r, node, from))
			continue;
		SP_TRY(take_controls(r, node, node->inputs[side].node));
		SP_TRY(take_controls(r, node, from->inputs[1].node));
		SP_TRY(flip(r, node, batch ? batch_flags[side] : matrix_flags[side]));
		SP_TRY(reroute(r, node, side, from->inputs[0]));
	}
	return SP_OK;
}

/* -------------------------------------------------- joined with a layer */

static bool is_normalisation(const sp_node *node)
{
	bool training;

	return (is_op(node, "FusedBatchNorm") || is_op(node, "FusedBatchNormV2") ||
		is_op(node, "FusedBatchNormV3")) &&
	       sp_node_attr_bool(node, "is_training", true, &training, NULL) == SP_OK && !training;
}

static bool waits(const reduction *r, uint32_t i)
{
	return r->graph->nodes[i].control_count != 0 || r->awaited[i];
}

/* What a node reads first, if nobody else looks at that and it waits for nothing; else NULL. */
static const sp_node *own_input(const reduction *r, const sp_node *node)
{
	uint32_t from;

	if (node->input_count == 0 || node->inputs[0].port != 0)
		return NULL;
	from = node->inputs[0].node;
	return !r->kept[from] && r->edges[from] == 1 && !waits(r, from) &&
			       r->graph->nodes[from].region == node->region
		       ? &r->graph->nodes[from]
		       : NULL;
}

/* A product with a bias, or a convolution with a bias or normalised. */
static bool is_layer(const reduction *r, const sp_node *node)
{
	bool normalised = is_normalisation(node);
	const sp_node *product;

	if (!normalised && !is_op(node, "BiasAdd"))
		return false;
	product = own_input(r, node);
	return product != NULL &&
	       (is_op(product, "Conv2D") || (is_op(product, "MatMul") && !normalised));
}

/* A product by a matrix as it lies, or transposed, that TensorFlow joins with its bias. */
static sp_status look_at_bias(reduction *r, const sp_node *bias)
{
	const sp_node *product = own_input(r, bias);
	bool transposed;

	if (waits(r, (uint32_t)(bias - r->graph->nodes)) || product == NULL ||
	    !is_op(product, "MatMul") || reads_constant(r, bias, 0) ||
	    sp_node_attr_bool(product, "transpose_a", false, &transposed, NULL) != SP_OK ||
	    transposed || sp_node_attr(product, SP_BIASED_PRODUCT) != NULL)
		return SP_OK;
	return flip(r, &r->graph->nodes[bias->inputs[0].node], SP_BIASED_PRODUCT);
}

/* Elu that TensorFlow joins with the layer it reads. */
static void look_at_elu(const reduction *r, sp_node *node)
{
	uint32_t i = (uint32_t)(node - r->graph->nodes);
	const sp_node *layer;

	if (node->input_count != 1 || r->constant[i] || waits(r, i))
		return;
	layer = own_input(r, node);
	if (layer != NULL && is_layer(r, layer))
		replace(node, "_RowElu", 1);
}

/* -------------------------------------------------------------- the walk */

static bool is_quotient(const sp_node *node)
{
	return is_op(node, "RealDiv") || is_op(node, "Div");
}

static bool is_product(const sp_node *node)
{
	return is_op(node, "MatMul") || is_op(node, "BatchMatMul") || is_op(node, "BatchMatMulV2");
}

/* What is made of float32 alone; *done when the node is one of these. */
static sp_status look_at_float(reduction *r, sp_node *node, bool *done)
{
	*done = true;
	if (is_op(node, "Log"))
		return look_at_log(r, node);
	if (is_op(node, "Sub") && node->input_count == 2)
		return look_at_difference(r, node);
	if (is_op(node, "BiasAdd"))
		return look_at_bias(r, node);
	if (is_op(node, "Elu"))
		look_at_elu(r, node);
	if (is_quotient(node) && node->input_count == 2 && !reads_constant(r, node, 1))
		return look_at_quotient(r, node);
	*done = false;
	return SP_OK;
}

static sp_status look_at(reduction *r, sp_node *node)
{
	const char *power;
	sp_dtype dtype;
	bool done = false;

	if (node->op == NULL || node->input_count == 0 || !is_reduced(node, &dtype))
		return SP_OK;
	if ((dtype == SP_FLOAT || dtype == SP_COMPLEX64) && is_product(node) &&
	    node->input_count == 2)
		return multiply_transposed(r, node, dtype);
	if (dtype == SP_FLOAT)
		SP_TRY(look_at_float(r, node, &done));
	if (done || node->input_count != 2 || dtype == SP_COMPLEX64)
		return SP_OK;
	for (size_t side = 0; side < 2 && is_op(node, "Mul"); side++)
		SP_TRY(scale_cube(r, node, side));
	if (reads_constant(r, node, 0) || !reads_constant(r, node, 1))
		return SP_OK;
	if (is_op(node, "Pow")) {
		uint32_t exponent = node->inputs[1].node;

		power = sp_power_op(&r->graph->nodes[exponent]);
		if (power == NULL || !can_leave_out(r, node, exponent))
			return SP_OK;
		replace(node, power, 1);
		r->was_power[node - r->graph->nodes] = true;
		return take_controls(r, node, exponent);
	}
	return SP_OK;
}

static void count_edge(reduction *r, uint32_t from, uint32_t reader)
{
	r->live[from] = true;
	r->edges[from]++;
	r->readers[from] = reader;
}

static void count_edges(reduction *r)
{
	for (size_t i = r->graph->node_count; i-- > 0;) {
		const sp_node *node = &r->graph->nodes[i];

		r->live[i] |= r->kept[i];
		for (size_t k = 0; k < node->input_count && r->live[i]; k++)
			count_edge(r, node->inputs[k].node, (uint32_t)i);
		for (size_t k = 0; k < node->control_count && r->live[i]; k++) {
			count_edge(r, node->controls[k], (uint32_t)i);
			r->awaited[node->controls[k]] = true;
		}
	}
}

static sp_status walk(reduction *r)
{
	for (size_t i = 0; i < r->graph->node_count; i++) {
		sp_node *node = &r->graph->nodes[i];

		/* What nobody needs may read what others do, and must not change that. */
		if (r->fed[i] || !r->live[i])
			continue;
		r->constant[i] = sp_node_is_constant(&r->names, node, r->constant);
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
		r.was_power = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.was_power));
		r.live = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.live));
		r.edges = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.edges));
		r.readers = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.readers));
		r.awaited = sp_arena_zeros(scratch, graph->node_count, sizeof(*r.awaited));
	}
	if (r.constant != NULL && r.was_power != NULL && r.live != NULL && r.edges != NULL &&
	    r.readers != NULL && r.awaited != NULL) {
		count_edges(&r);
		status = sp_static_shapes_infer(graph, fed, scratch, &r.shapes, err);
		if (status == SP_OK)
			status = sp_optimizer_names_make(&r.names, graph, scratch, err);
		if (status == SP_OK)
			status = walk(&r);
	} else {
		status = sp_error_set(err, SP_NO_MEMORY, "no memory for the graph");
	}
	sp_arena_destroy(scratch);
	return status;
}
