#include "engine/import/lower.h"

#include <string.h>

#include "engine/graph/op.h"

/*
 * One walk over the sorted list that writes a new one.  For every old node two
 * numbers are kept: where it went, and where the value of the variable is read
 * if it is one.
 */

static const uint32_t NONE = UINT32_MAX;

typedef struct lowering {
	sp_graph *graph;
	sp_node *nodes; /* the new list */
	size_t count;
	size_t capacity;
	uint32_t *moved; /* [old nodes] */
	uint32_t *reads; /* [old nodes] the ReadVariableOp of a variable, or NONE */
	sp_error *err;
} lowering;

typedef struct renaming {
	const char *from;
	const char *to;
} renaming;

/* Operators that want the variable itself as input 0, and what they become. */
static const renaming on_reference[] = {
	{"Assign", "AssignVariableOp"},
	{"AssignAdd", "AssignAddVariableOp"},
	{"AssignSub", "AssignSubVariableOp"},
	{"IsVariableInitialized", "VarIsInitializedOp"},
};

/* Operators that read through a handle, and what they become on the value. */
static const renaming on_handle[] = {
	{"ResourceGather", "GatherV2"},
	{"ResourceGatherNd", "GatherNd"},
};

static const char *renamed(const renaming *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].from, name) == 0)
			return list[i].to;
	return NULL;
}

#define RENAMED(list, name) renamed(list, sizeof(list) / sizeof(list[0]), name)

static bool is_reference_variable(const sp_node *node)
{
	return strcmp(node->op_name, "VariableV2") == 0 || strcmp(node->op_name, "Variable") == 0;
}

static sp_status no_memory(lowering *lo)
{
	return sp_error_set(lo->err, SP_NO_MEMORY, "no memory for the graph");
}

static sp_status add(lowering *lo, const sp_node *node, uint32_t *at)
{
	if (lo->count == lo->capacity) {
		size_t capacity = 2 * lo->capacity;
		sp_node *nodes = sp_arena_array(lo->graph->arena, capacity, sizeof(*nodes));

		if (nodes == NULL)
			return no_memory(lo);
		memcpy(nodes, lo->nodes, lo->count * sizeof(*nodes));
		lo->nodes = nodes;
		lo->capacity = capacity;
	}
	*at = (uint32_t)lo->count;
	lo->nodes[lo->count++] = *node;
	return SP_OK;
}

static void set_op(sp_node *node, const char *name)
{
	node->op_name = name;
	node->op = sp_op_find(name);
}

/* `node` with one more attribute. */
static sp_status add_attr(lowering *lo, sp_node *node, const sp_attr *attr)
{
	sp_attr *attrs = sp_arena_array(lo->graph->arena, node->attr_count + 1, sizeof(*attrs));

	if (attrs == NULL)
		return no_memory(lo);
	if (node->attr_count != 0)
		memcpy(attrs, node->attrs, node->attr_count * sizeof(*attrs));
	attrs[node->attr_count++] = *attr;
	node->attrs = attrs;
	return SP_OK;
}

/* A ReadVariableOp on port `handle` that yields `dtype`, for `node`. */
static sp_status add_read(lowering *lo, const sp_node *node, sp_port handle, sp_dtype dtype,
			  uint32_t *at)
{
	sp_node read = {.input_count = 1, .region = node->region};
	sp_attr attr = {.name = "dtype", .kind = SP_ATTR_TYPE, .type = dtype};
	sp_port *input = sp_arena_array(lo->graph->arena, 1, sizeof(*input));

	if (input == NULL)
		return no_memory(lo);
	*input = handle;
	read.inputs = input;
	read.name = sp_arena_printf(lo->graph->arena, "%s/value", node->name);
	if (read.name == NULL)
		return no_memory(lo);
	set_op(&read, "ReadVariableOp");
	SP_TRY(add_attr(lo, &read, &attr));
	return add(lo, &read, at);
}

/* A constant int32 scalar for `user`. */
static sp_status add_scalar(lowering *lo, const sp_node *user, int64_t value, uint32_t *at)
{
	sp_arena *arena = lo->graph->arena;
	sp_shape shape = sp_shape_scalar();
	sp_tensor *tensor = sp_arena_zeros(arena, 1, sizeof(*tensor));
	sp_node node = {.name = sp_arena_printf(arena, "%s/axis", user->name),
			.region = user->region};
	sp_attr dtype = {.name = "dtype", .kind = SP_ATTR_TYPE, .type = SP_INT32};
	sp_attr attr = {.name = "value", .kind = SP_ATTR_TENSOR, .tensor = tensor};

	if (tensor == NULL || node.name == NULL)
		return no_memory(lo);
	SP_TRY(sp_tensor_create(tensor, arena, SP_INT32, &shape, lo->err));
	sp_tensor_i32(tensor)[0] = (int32_t)value;
	set_op(&node, "Const");
	SP_TRY(add_attr(lo, &node, &dtype));
	SP_TRY(add_attr(lo, &node, &attr));
	return add(lo, &node, at);
}

/* The new numbers of a node's inputs; variables are read unless `keep_reference`. */
static sp_status move_edges(lowering *lo, sp_node *node, bool keep_reference)
{
	sp_arena *arena = lo->graph->arena;
	sp_port *inputs = sp_arena_array(arena, node->input_count + 1, sizeof(*inputs));
	uint32_t *controls = sp_arena_array(arena, node->control_count, sizeof(*controls));

	if (inputs == NULL || controls == NULL)
		return no_memory(lo);
	for (size_t i = 0; i < node->input_count; i++) {
		sp_port from = node->inputs[i];
		bool read = lo->reads[from.node] != NONE && !(keep_reference && i == 0);

		inputs[i] = (sp_port){read ? lo->reads[from.node] : lo->moved[from.node],
				      from.port};
	}
	for (size_t i = 0; i < node->control_count; i++)
		controls[i] = lo->moved[node->controls[i]];
	node->inputs = inputs;
	node->controls = controls;
	return SP_OK;
}

static sp_status lower_variable(lowering *lo, sp_node *node, size_t old)
{
	sp_dtype dtype;

	SP_TRY(sp_node_attr_type(node, "dtype", SP_INVALID_DTYPE, &dtype, lo->err));
	set_op(node, "VarHandleOp");
	SP_TRY(add(lo, node, &lo->moved[old]));
	return add_read(lo, node, (sp_port){lo->moved[old], 0}, dtype, &lo->reads[old]);
}

static sp_status lower_assign(lowering *lo, sp_node *node, const char *name)
{
	const sp_attr *type = sp_node_attr(node, "T");
	sp_attr dtype;

	set_op(node, name);
	if (type == NULL)
		return SP_OK;
	dtype = *type;
	dtype.name = "dtype";
	return add_attr(lo, node, &dtype);
}

/* A gather through a handle: read first, then gather along axis batch_dims. */
static sp_status lower_gather(lowering *lo, sp_node *node, const char *name)
{
	sp_port *inputs = (sp_port *)node->inputs; /* move_edges left room for one more */
	sp_dtype dtype;
	int64_t batch_dims;
	uint32_t at;

	if (node->input_count != 2)
		return sp_error_set(lo->err, SP_INVALID, "node '%s' takes 2 inputs, not %zu",
				    node->name, node->input_count);
	SP_TRY(sp_node_attr_type(node, "dtype", SP_INVALID_DTYPE, &dtype, lo->err));
	SP_TRY(sp_node_attr_int(node, "batch_dims", 0, &batch_dims, lo->err));
	SP_TRY(add_read(lo, node, inputs[0], dtype, &at));
	inputs[0] = (sp_port){at, 0};
	if (strcmp(name, "GatherV2") == 0) {
		SP_TRY(add_scalar(lo, node, batch_dims, &at));
		inputs[node->input_count++] = (sp_port){at, 0};
	}
	set_op(node, name);
	return SP_OK;
}

/* The rank that the file notes for a value; -1 when it notes none. */
static int noted_rank(const lowering *lo, sp_port port)
{
	const sp_attr *shapes = sp_node_attr(&lo->nodes[port.node], "_output_shapes");

	if (shapes == NULL || shapes->kind != SP_ATTR_LIST || shapes->element != SP_ATTR_SHAPE ||
	    port.port >= shapes->count)
		return -1;
	return shapes->shape_list[port.port].rank;
}

static bool is_float(const sp_node *node, const char *attr)
{
	const sp_attr *type = sp_node_attr(node, attr);

	return type != NULL && type->kind == SP_ATTR_TYPE && type->type == SP_FLOAT;
}

/*
 * A product of two matrices of float, for whose weights MatMul has a layout of its own.  Dimension
 * numbers say what contracts: dimension 1 of the first, 0 or (transposed) 1 of the second.
 */
static sp_status lower_dot(lowering *lo, sp_node *node)
{
	static const char plain[] = "\x0a\x01\x01\x12\x01\x00",
			  turned[] = "\x0a\x01\x01\x12\x01\x01";
	bool second = strcmp(node->op_name, "XlaDotV2") == 0;
	const sp_attr *numbers = sp_node_attr(node, "dimension_numbers");
	sp_attr type = {.name = "T", .kind = SP_ATTR_TYPE, .type = SP_FLOAT};
	sp_attr transpose = {.name = "transpose_b", .kind = SP_ATTR_BOOL};

	if ((!second && strcmp(node->op_name, "XlaDot") != 0) || node->input_count != 2 ||
	    numbers == NULL || numbers->kind != SP_ATTR_BYTES || numbers->bytes.size != 6)
		return SP_OK;
	if (second ? !is_float(node, "LhsT") || !is_float(node, "RhsT") ||
			     !is_float(node, "preferred_element_type")
		   : !is_float(node, "T"))
		return SP_OK;
	transpose.b = memcmp(numbers->bytes.data, turned, 6) == 0;
	if ((!transpose.b && memcmp(numbers->bytes.data, plain, 6) != 0) ||
	    noted_rank(lo, node->inputs[0]) != 2 || noted_rank(lo, node->inputs[1]) != 2)
		return SP_OK;
	set_op(node, "MatMul");
	if (second)
		SP_TRY(add_attr(lo, node, &type));
	return add_attr(lo, node, &transpose);
}

static sp_status lower_node(lowering *lo, size_t old)
{
	sp_node node = lo->graph->nodes[old];
	const char *assign = RENAMED(on_reference, node.op_name);
	const char *gather = RENAMED(on_handle, node.op_name);

	SP_TRY(move_edges(lo, &node, assign != NULL));
	if (is_reference_variable(&node))
		return lower_variable(lo, &node, old);
	if (assign != NULL)
		SP_TRY(lower_assign(lo, &node, assign));
	if (gather != NULL)
		SP_TRY(lower_gather(lo, &node, gather));
	SP_TRY(lower_dot(lo, &node));
	return add(lo, &node, &lo->moved[old]);
}

sp_status sp_graph_lower(sp_graph *graph, sp_error *err)
{
	size_t count = graph->node_count;
	lowering lo = {.graph = graph, .capacity = count + count / 4 + 16, .err = err};

	lo.nodes = sp_arena_array(graph->arena, lo.capacity, sizeof(*lo.nodes));
	lo.moved = sp_arena_array(graph->arena, count, sizeof(*lo.moved));
	lo.reads = sp_arena_array(graph->arena, count, sizeof(*lo.reads));
	if (lo.nodes == NULL || lo.moved == NULL || lo.reads == NULL)
		return no_memory(&lo);
	memset(lo.reads, 0xff, count * sizeof(*lo.reads));
	for (size_t i = 0; i < count; i++) {
		sp_status status = lower_node(&lo, i);

		if (status != SP_OK)
			return sp_error_prefix(err, status, "node '%s' (%s)", graph->nodes[i].name,
					       graph->nodes[i].op_name);
	}
	/* A name stands for the value: what reads a variable by name gets it read. */
	for (size_t i = 0; i < graph->names.count; i++) {
		uint64_t *value = &graph->names.entries[i].value;

		*value = lo.reads[*value] != NONE ? lo.reads[*value] : lo.moved[*value];
	}
	graph->nodes = lo.nodes;
	graph->node_count = lo.count;
	return SP_OK;
}
