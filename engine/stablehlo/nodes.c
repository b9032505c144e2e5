#include "engine/stablehlo/translate_internal.h"

/* Makes nodes of TensorFlow's operators, and common small subgraphs. */

const char *sp_hlo__no_memory(sp_hlo *hlo)
{
	if (hlo->status == SP_OK)
		hlo->status = sp_error_set(hlo->err, SP_NO_MEMORY, "no memory for the module");
	return NULL;
}

sp_status sp_hlo__out_of_memory(sp_hlo *hlo)
{
	(void)sp_hlo__no_memory(hlo);
	return hlo->status;
}

sp_status sp_hlo__refuse(sp_hlo *hlo, const sp_mlir_op *op, const char *why)
{
	if (hlo->status == SP_OK)
		hlo->status = sp_error_set(hlo->err, SP_UNSUPPORTED, "operation %s: %s", op->name,
					   why);
	return hlo->status;
}

/* ------------------------------------------------------------ making a node */

void sp_hlo__begin(sp_hlo_body *body, sp_hlo_node *node, const char *op, size_t inputs)
{
	*node = (sp_hlo_node){.op = op};
	node->inputs = sp_arena_array(body->hlo->arena, inputs, sizeof(*node->inputs));
	node->input_capacity = node->inputs != NULL ? inputs : 0;
}

/* Too many inputs, or a NULL input, prevent the node from being written. */
void sp_hlo__input(sp_hlo_node *node, const char *ref)
{
	if (node->input_count < node->input_capacity)
		node->inputs[node->input_count] = ref;
	node->input_count++;
}

static sp_attr *add_attr(sp_hlo_node *node, const char *name, sp_attr_kind kind)
{
	sp_attr *attr = &node->attrs[node->attr_count++];

	*attr = (sp_attr){.name = name, .kind = kind};
	return attr;
}

void sp_hlo__type(sp_hlo_node *node, const char *name, sp_dtype dtype)
{
	add_attr(node, name, SP_ATTR_TYPE)->type = dtype;
}

void sp_hlo__begin_with(sp_hlo_body *body, sp_hlo_node *node, const char *op, sp_dtype dtype,
			const char *const *inputs, size_t count)
{
	sp_hlo__begin(body, node, op, count);
	for (size_t i = 0; i < count; i++)
		sp_hlo__input(node, inputs[i]);
	sp_hlo__type(node, "T", dtype);
}

void sp_hlo__bool(sp_hlo_node *node, const char *name, bool value)
{
	add_attr(node, name, SP_ATTR_BOOL)->b = value;
}

void sp_hlo__int(sp_hlo_node *node, const char *name, int64_t value)
{
	add_attr(node, name, SP_ATTR_INT)->i = value;
}

void sp_hlo__text(sp_hlo_node *node, const char *name, sp_bytes text)
{
	add_attr(node, name, SP_ATTR_BYTES)->bytes = text;
}

void sp_hlo__function(sp_hlo_node *node, const char *name, const char *function)
{
	add_attr(node, name, SP_ATTR_FUNC)->text = function;
}

void sp_hlo__functions(sp_hlo_node *node, const char *name, const char *const *functions,
		       size_t count)
{
	sp_attr *attr = add_attr(node, name, SP_ATTR_LIST);

	attr->element = SP_ATTR_FUNC;
	attr->count = count;
	attr->text_list = functions;
}

void sp_hlo__types(sp_hlo_node *node, const char *name, const sp_dtype *dtypes, size_t count)
{
	sp_attr *attr = add_attr(node, name, SP_ATTR_LIST);

	attr->element = SP_ATTR_TYPE;
	attr->count = count;
	attr->type_list = dtypes;
}

void sp_hlo__ints_attr(sp_hlo_node *node, const char *name, const int64_t *values, size_t count)
{
	sp_attr *attr = add_attr(node, name, SP_ATTR_LIST);

	attr->element = SP_ATTR_INT;
	attr->count = count;
	attr->i_list = values;
}

void sp_hlo__shape(sp_hlo_node *node, const char *name, const sp_partial_shape *shape)
{
	add_attr(node, name, SP_ATTR_SHAPE)->shape = shape;
}

static sp_node_def *add_node(sp_hlo_body *body)
{
	if (!SP_ARENA_GROW(body->hlo->arena, body->nodes, body->capacity, body->count, 1))
		return NULL;
	return &body->nodes[body->count++];
}

const char *sp_hlo__write(sp_hlo_body *body, sp_hlo_node *node)
{
	sp_hlo *hlo = body->hlo;
	sp_attr *attrs;
	sp_node_def *def;

	if (hlo->status != SP_OK)
		return NULL;
	if (node->input_count > node->input_capacity)
		return sp_hlo__no_memory(hlo);
	for (size_t i = 0; i < node->input_count; i++)
		if (node->inputs[i] == NULL)
			return NULL;
	attrs = sp_arena_copy(hlo->arena, node->attrs, node->attr_count, node->attr_count,
			      sizeof(*attrs));
	node->name = sp_arena_printf(hlo->arena, "%s_%zu", body->stem, body->count);
	def = add_node(body);
	if (attrs == NULL || node->name == NULL || def == NULL)
		return sp_hlo__no_memory(hlo);
	*def = (sp_node_def){.name = node->name,
			     .op = node->op,
			     .inputs = node->inputs,
			     .input_count = node->input_count,
			     .attrs = attrs,
			     .attr_count = node->attr_count};
	return sp_hlo__output(body, node, 0);
}

const char *sp_hlo__output(sp_hlo_body *body, const sp_hlo_node *node, size_t i)
{
	const char *ref;

	if (node->name == NULL)
		return NULL;
	ref = sp_arena_printf(body->hlo->arena, "%s:%zu", node->name, i);
	return ref != NULL ? ref : sp_hlo__no_memory(body->hlo);
}

/* ------------------------------------------------------------- small nodes */

const char *sp_hlo__unary(sp_hlo_body *body, const char *op, const char *x, sp_dtype dtype)
{
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, op, dtype, x);
	return sp_hlo__write(body, &node);
}

const char *sp_hlo__binary(sp_hlo_body *body, const char *op, const char *x, const char *y,
			   sp_dtype dtype)
{
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, op, dtype, x, y);
	return sp_hlo__write(body, &node);
}

const char *sp_hlo__select(sp_hlo_body *body, const char *condition, const char *x, const char *y,
			   sp_dtype dtype)
{
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, "SelectV2", dtype, condition, x, y);
	return sp_hlo__write(body, &node);
}

const char *sp_hlo__constant(sp_hlo_body *body, const sp_tensor *tensor)
{
	sp_hlo_node node;

	sp_hlo__begin(body, &node, "Const", 0);
	sp_hlo__type(&node, "dtype", tensor->dtype);
	add_attr(&node, "value", SP_ATTR_TENSOR)->tensor = tensor;
	return sp_hlo__write(body, &node);
}

static sp_tensor *make_tensor(sp_hlo_body *body, sp_dtype dtype, const sp_shape *shape)
{
	sp_hlo *hlo = body->hlo;
	sp_tensor *tensor = sp_arena_zeros(hlo->arena, 1, sizeof(*tensor));

	if (hlo->status != SP_OK)
		return NULL;
	if (tensor == NULL) {
		sp_hlo__no_memory(hlo);
		return NULL;
	}
	hlo->status = sp_tensor_create(tensor, hlo->arena, dtype, shape, hlo->err);
	return hlo->status == SP_OK ? tensor : NULL;
}

static const char *int_constant(sp_hlo_body *body, const int64_t *values, const sp_shape *shape,
				size_t count)
{
	sp_dtype dtype = SP_INT32;
	sp_tensor *tensor;

	for (size_t i = 0; i < count; i++)
		if (values[i] != (int32_t)values[i])
			dtype = SP_INT64;
	tensor = make_tensor(body, dtype, shape);
	if (tensor == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (dtype == SP_INT32)
			sp_tensor_i32(tensor)[i] = (int32_t)values[i];
		else
			sp_tensor_i64(tensor)[i] = values[i];
	return sp_hlo__constant(body, tensor);
}

const char *sp_hlo__ints(sp_hlo_body *body, const int64_t *values, size_t count)
{
	sp_shape shape = sp_shape_vector((int64_t)count);

	return int_constant(body, values, &shape, count);
}

const char *sp_hlo__int_scalar(sp_hlo_body *body, int64_t value)
{
	sp_shape shape = sp_shape_scalar();

	return int_constant(body, &value, &shape, 1);
}

const char *sp_hlo__number(sp_hlo_body *body, double value, sp_dtype dtype)
{
	sp_shape shape = sp_shape_scalar();
	sp_dtype wide = dtype == SP_DOUBLE || dtype == SP_COMPLEX128 ? SP_DOUBLE : SP_FLOAT;
	sp_tensor *tensor;

	if (sp_dtype_is_integer(dtype)) {
		tensor = make_tensor(body, SP_INT64, &shape);
		if (tensor == NULL)
			return NULL;
		*sp_tensor_i64(tensor) = (int64_t)value;
		return sp_hlo__cast(body, sp_hlo__constant(body, tensor), SP_INT64, dtype);
	}
	tensor = make_tensor(body, wide, &shape);
	if (tensor == NULL)
		return NULL;
	if (wide == SP_DOUBLE)
		*sp_tensor_f64(tensor) = value;
	else
		*sp_tensor_f32(tensor) = (float)value;
	return sp_hlo__cast(body, sp_hlo__constant(body, tensor), wide, dtype);
}

const char *sp_hlo__cast(sp_hlo_body *body, const char *x, sp_dtype from, sp_dtype to)
{
	sp_hlo_node node;

	if (from == to)
		return x;
	sp_hlo__begin(body, &node, "Cast", 1);
	sp_hlo__input(&node, x);
	sp_hlo__type(&node, "SrcT", from);
	sp_hlo__type(&node, "DstT", to);
	return sp_hlo__write(body, &node);
}

const char *sp_hlo__reshape(sp_hlo_body *body, const char *x, const int64_t *dims, int32_t rank,
			    sp_dtype dtype)
{
	return sp_hlo__binary(body, "Reshape", x, sp_hlo__ints(body, dims, (size_t)rank), dtype);
}

const char *sp_hlo__transpose(sp_hlo_body *body, const char *x, const int64_t *permutation,
			      int32_t rank, sp_dtype dtype)
{
	bool moves = false;

	for (int32_t i = 0; i < rank; i++)
		moves |= permutation[i] != i;
	return moves ? sp_hlo__binary(body, "Transpose", x,
				      sp_hlo__ints(body, permutation, (size_t)rank), dtype)
		     : x;
}

const char *sp_hlo__element(sp_hlo_body *body, const char *vector, int64_t i, sp_dtype dtype)
{
	int64_t end = i + 1, step = 1;
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, "StridedSlice", dtype, vector, sp_hlo__ints(body, &i, 1),
		     sp_hlo__ints(body, &end, 1), sp_hlo__ints(body, &step, 1));
	sp_hlo__type(&node, "Index", SP_INT32);
	sp_hlo__int(&node, "shrink_axis_mask", 1);
	return sp_hlo__write(body, &node);
}

const char *sp_hlo__dimension(sp_hlo_body *body, const char *x, int32_t i, sp_dtype dtype)
{
	sp_hlo_node node;

	SP_HLO_BEGIN(body, &node, "Shape", dtype, x);
	sp_hlo__type(&node, "out_type", SP_INT32);
	return sp_hlo__element(body, sp_hlo__write(body, &node), i, SP_INT32);
}
